/* SPDX-License-Identifier: BSD-3-Clause */
/* time.h: the clock that a rank lends to its modules: the machine's, or a virtual one under
 * `penstock sim`. */
#ifndef PEN_API_TIME_H
#define PEN_API_TIME_H

#include "base/status.h"
#include "job/job.h"
#include "os/os.h"

/* If the process was started by `penstock sim`, joins the world (virtual/virtual.h), waits for its
 * first turn, and makes the job wait by turns. Called when job->boot is open. On failure prints the
 * reason. */
pen_status pen_api_time_begin(pen_job *job);

/* Returns the clock for the job. */
pen_clock pen_api_time_clock(void);

/* Whether time is virtual, or will be when the job has begun. */
bool pen_api_time_is_virtual(void);

/* The rank begins to leave the job, or ends it for all. Without virtual time, this and the next
 * call do nothing. */
void pen_api_time_note_end(bool for_all);

/* The rank gives its turn away for good. Safe to call again, and without the turn. */
void pen_api_time_end(void);

#endif
