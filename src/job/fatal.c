/* SPDX-License-Identifier: BSD-3-Clause */
/* fatal.c: the end of a job that cannot go on, and the counters at any end. */
#include "job/job.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { FATAL_LINE_LEN_MAX = 512, COUNTERS_LEN_MAX = 1024 };

void pen_job_fatal(pen_job *job, const char *format, ...)
{
    char cause[FATAL_LINE_LEN_MAX];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(cause, sizeof cause, format, args);
    va_end(args);
    /* relaxed: see host_peer_lost in host.c; nothing else is passed with it */
    atomic_store_explicit(&job->ending, true, memory_order_relaxed);
    pen_log_error(&job->log, "%s", cause);
    if (job->on_fatal != NULL) /* before the supervisor hears of it, and ends everybody */
        job->on_fatal(job);
    pen_boot_abort_note(&job->boot, cause);
    if (PEN_CHECKED)
        abort(); /* a stack for the debugger, which the crash handlers print */
    pen_boot_exit_job(&job->boot, EXIT_FAILURE);
    /* The supervisor kills who gets stuck in here; without one, the user does. */
    (void)fflush(NULL);
    _exit(EXIT_FAILURE);
}

void pen_job_print_counters(const pen_job *job)
{
    static const char *const names[] = {
#define FATAL_COUNTER_NAME(name, text) #name,
        PEN_COUNTER_LIST(FATAL_COUNTER_NAME)
#undef FATAL_COUNTER_NAME
    };
    const pen_counters *counters = &job->counters;
    const uint64_t values[] = {
#define FATAL_COUNTER_VALUE(name, text) counters->name,
        PEN_COUNTER_LIST(FATAL_COUNTER_VALUE)
#undef FATAL_COUNTER_VALUE
    };
    char line[COUNTERS_LEN_MAX];
    int len = snprintf(line, sizeof line, "penstock[rank %" PRIu32 "] counters:", job->rank);
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
        if (values[i] != 0 && len > 0 && (size_t)len < sizeof line)
            len += snprintf(line + len, sizeof line - (size_t)len, " %s=%" PRIu64, names[i],
                            values[i]);
    if (len < 0 || job->log.fd < 0)
        return;
    if ((size_t)len > sizeof line - 2)
        len = sizeof line - 2;
    line[len++] = '\n';
    if (write(job->log.fd, line, (size_t)len) < 0) /* one write: lines of ranks do not mix */
        return;                                    /* nobody is left to tell */
}
