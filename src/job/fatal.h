/* SPDX-License-Identifier: BSD-3-Clause */
/* fatal.h: ends of the job that its own code decides: no memory, fatal errors, forked processes. */
#ifndef PEN_JOB_FATAL_H
#define PEN_JOB_FATAL_H

#include "base/compiler.h"
#include "base/status.h"

#include <stddef.h>

typedef struct pen_job pen_job;

/* calloc: returns zeroed memory for a table of the job. If there is no memory, prints "cannot
 * make " and `what`, and returns NULL. no_memory: prints the same for a failed call of the
 * caller, with that call's name and errno, and returns PEN_ERR_MEMORY. */
void *pen_job_calloc(pen_job *job, size_t count, size_t len, const char *what);
PEN_COLD pen_status pen_job_no_memory(pen_job *job, const char *what, const char *call);

/* Ends the job because of a fatal error in the library or the client. Prints one line (cause and
 * remedy), notes it for the supervisor, and exits with status 1 (checked builds: abort()). May
 * be called anywhere. */
PEN_COLD _Noreturn void pen_job_fatal(pen_job *job, const char *format, ...) PEN_PRINTF(2, 3);

/* Called in a process that a rank has forked. After this, no call there has an effect on the
 * job. A call that would communicate prints a line and ends the process. Async-signal-safe. */
void pen_job_orphan(pen_job *job);
/* call: the operation that the process may not use. */
PEN_COLD _Noreturn void pen_job_refuse_orphan(pen_job *job, const char *call);

#endif
