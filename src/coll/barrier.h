/* SPDX-License-Identifier: BSD-3-Clause */
/* barrier.h: the GASNet-1 split-phase barrier (named, anonymous, mismatched) and the GASNet-EX
 * barrier, two independent state machines driven by polling.
 *
 * Ranks of one host meet through flag lines in the host arena. With two ranks this costs one
 * store and one load each. From five ranks on, the last rank to arrive releases all. If a member
 * is on a different host, ranks meet by dissemination with the engine's own messages. A flag
 * word carries phase, flags and the 32-bit name together, so detecting a mismatch needs no
 * second line. */
#ifndef PEN_COLL_BARRIER_H
#define PEN_COLL_BARRIER_H

#include "base/status.h"
#include "job/job.h"
#include "job/team.h"
#include "job/thread.h"
#include "knob/knob.h"

#include <stdbool.h>

extern const pen_knob pen_coll_knobs[];
typedef struct pen_coll_config {
    const char *barrier; /* PENSTOCK_BARRIER: auto, flags or messages; the same on all ranks */
    const char *coll;    /* PENSTOCK_COLL: auto, memory or messages; the same on all ranks */
    bool cma;            /* PENSTOCK_COLL_CMA */
} pen_coll_config;

/* After pen_am_open and before any poll. Not collective. */
pen_status pen_coll_open(pen_job *job);
void pen_coll_close(pen_job *job);

/* GASNet-1 barrier. flags are GASNET_BARRIERFLAG_... values. wait and try return PEN_OK, or
 * PEN_ERR_ARGUMENT for GASNET_ERR_BARRIER_MISMATCH; both mean that the barrier is complete. try
 * polls once and may also return PEN_ERR_AGAIN. notify and wait may be called by different
 * threads. Calling them out of order ends the job. */
void pen_barrier_notify(pen_job *job, int name, int flags);
pen_status pen_barrier_wait(pen_job *job, int name, int flags);
pen_status pen_barrier_try(pen_job *job, int name, int flags);
/* Is this rank between notify and wait? For checks. */
bool pen_barrier_is_notified(pen_job *job);
/* Gets the name of the last barrier that was waited for. Returns false if there is no such
 * barrier, if all ranks were anonymous, or if the names did not match. */
bool pen_barrier_result(pen_job *job, int *name_out);

/* The GASNet-1 barrier of any team; each team has its own. For the primordial team these call
 * the functions above. */
void pen_team_barrier_notify(pen_thread *thread, pen_team *team, int name, int flags);
pen_status pen_team_barrier_wait(pen_team *team, int name, int flags);
pen_status pen_team_barrier_try(pen_team *team, int name, int flags);
bool pen_team_barrier_result(pen_team *team, int *name_out);

#endif
