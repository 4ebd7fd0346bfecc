/* SPDX-License-Identifier: BSD-3-Clause */
/* check_end.c: checked builds: finds what a program or a thread left open when it ended without an
 * error. */
#include "api/api.h"
#include "coll/barrier.h"
#include "diag/log.h"
#include "job/checks.h"
#include "job/job.h"
#include "job/thread.h"
#include "rma/watch.h"

#include <gasnetex.h>
#include <stdlib.h>

static unsigned report_lock(pen_job *job, const char *what)
{
    if (pen_api_locks == NULL)
        return 0;
    pen_log_error(&job->log, "gex_HSL_Lock: the lock at %p is held when %s; drop it",
                  (void *)pen_api_locks, what);
    return 1;
}

static unsigned report_section(pen_job *job, const char *what)
{
    if (!pen_api_no_interrupts)
        return 0;
    pen_log_error(&job->log,
                  "gasnet_hold_interrupts: interrupts are held when %s; call "
                  "gasnet_resume_interrupts",
                  what);
    return 1;
}

static unsigned report_barrier(pen_job *job, const char *what)
{
    if (!pen_barrier_is_notified(job))
        return 0;
    pen_log_error(&job->log,
                  "gasnet_barrier_notify: the barrier is not waited for when %s; call "
                  "gasnet_barrier_wait",
                  what);
    return 1;
}

/* A program that ends the job in a handler, or because of an error, need not tidy up. */
int pen_api_check_end(pen_job *job, int code, const char *what)
{
    pen_thread *thread = pen_api_thread(job);
    if (code != 0 || thread->handler_depth != 0 || !pen_api_checks(PEN_CHECK_END))
        return code;
    unsigned lines = pen_watch_report(thread, what) + report_barrier(job, what);
    return lines == 0 ? 0 : EXIT_FAILURE;
}

int pen_api_check_return(pen_job *job, int code)
{
    static const char what[] = "the program ends";
    if (code != 0 || !pen_api_checks(PEN_CHECK_END))
        return code;
    unsigned lines = report_lock(job, what) + report_section(job, what);
    code = pen_api_check_end(job, code, what);
    return lines == 0 ? code : EXIT_FAILURE;
}

void pen_api_check_thread_end(pen_thread *thread)
{
    static const char what[] = "its thread ends";
    /* relaxed: a thread that the end of the process cuts short need not close anything */
    if (atomic_load_explicit(&pen_api_root.end, memory_order_relaxed) != PEN_END_NONE ||
        !pen_api_checks(PEN_CHECK_END))
        return;
    pen_job *job = thread->job;
    if (report_lock(job, what) + report_section(job, what) +
            pen_watch_report_implicit(thread, what) !=
        0)
        gasnet_exit(EXIT_FAILURE);
}
