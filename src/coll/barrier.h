/* SPDX-License-Identifier: BSD-3-Clause */
/* barrier.h: the GASNet-1 split-phase barrier (named, anonymous, mismatched) and the GASNet-EX
 * barrier, as two independent state machines driven by polling. Ranks of one host meet through flag
 * lines in the host arena (2 ranks: one store and one load each; from 5 on whoever arrives last
 * releases all); where a member is elsewhere, by dissemination with the engine's own messages. A
 * flag word carries phase, flags and the 32-bit name together, so mismatch semantics cost no second
 * line. */
#ifndef PEN_COLL_BARRIER_H
#define PEN_COLL_BARRIER_H

#include "coll/coll.h"

extern const pen_knob pen_coll_knobs[];
typedef struct pen_coll_config {
    const char *barrier; /* PENSTOCK_BARRIER: auto, flags or messages; the same on all ranks */
    const char *coll;    /* PENSTOCK_COLL: auto, memory or messages; likewise */
    bool cma;            /* PENSTOCK_COLL_CMA */
} pen_coll_config;

/* After pen_am_open and before any poll. Not collective. */
pen_status pen_coll_open(pen_job *job);
void pen_coll_close(pen_job *job);

/* GASNet-1: flags are GASNET_BARRIERFLAG_... values. wait and try answer PEN_OK, PEN_ERR_ARGUMENT
 * for GASNET_ERR_BARRIER_MISMATCH (the barrier is complete all the same), try, which polls once,
 * also PEN_ERR_AGAIN. notify and wait may be called by different threads; out of turn they are
 * fatal. */
void pen_barrier_notify(pen_job *job, int name, int flags);
pen_status pen_barrier_wait(pen_job *job, int name, int flags);
pen_status pen_barrier_try(pen_job *job, int name, int flags);
/* Between notify and wait? For checks. */
bool pen_barrier_is_notified(pen_job *job);
/* Of the last barrier waited for; false: none yet, all were anonymous, or a mismatch. */
bool pen_barrier_result(pen_job *job, int *name_out);

/* The same on any team; that of the primordial team is the one above. Each team has its own. */
void pen_team_barrier_notify(pen_thread *thread, pen_team *team, int name, int flags);
pen_status pen_team_barrier_wait(pen_team *team, int name, int flags);
pen_status pen_team_barrier_try(pen_team *team, int name, int flags);
bool pen_team_barrier_result(pen_team *team, int *name_out);

#endif
