/* SPDX-License-Identifier: BSD-3-Clause */
/* waits.h: how modules describe their operations to reports of waits. */
#ifndef PEN_JOB_WAITS_H
#define PEN_JOB_WAITS_H

#include "boot/wait_state.h"

#include <stdbool.h>

typedef struct pen_job pen_job;

/* For reports of waits: if object is one of the module's operations, describes it: fills in
 * awaited, peer, number and team of the note. Called by waiting threads, without a lock. */
typedef bool (*pen_explain)(struct pen_job *job, const void *object, pen_wait_note *note);
enum { PEN_EXPLAINERS_MAX = 6 };

/* Not thread-safe: called while modules open. */
void pen_job_add_explainer(pen_job *job, pen_explain explain);

#endif
