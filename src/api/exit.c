/* SPDX-License-Identifier: BSD-3-Clause */
/* exit.c: the end of a process: gasnet_exit, exit(), return from main, and an end that the
 * supervisor asks for.
 *
 * The thread that begins the end first tells the supervisor, then leaves through exit(), so that
 * buffered output, coverage and leak data are kept. If an exit handler waits for a peer, or another
 * thread has locked a stream, the process is stuck; a deadline then ends it. */
#include "api/api.h"
#include "api/time.h"

#include "base/status.h"
#include "boot/boot.h"
#include "boot/departed.h"
#include "boot/host_page.h"
#include "coll/coll.h"
#include "diag/log.h"
#include "job/config.h"
#include "job/job.h"
#include "pen_config.h"
#include "progress/progress.h"

#include <errno.h>
#include <gasnetex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { POLLS_PER_LOOK = 4 };

/* Returns true for the first caller only. */
static bool begin_end(int code)
{
    int end = atomic_load_explicit(&pen_api_root.end, memory_order_relaxed);
    do {
        if (end >= PEN_END_BEGUN)
            return false;
    } while (!atomic_compare_exchange_weak_explicit(&pen_api_root.end, &end, PEN_END_BEGUN,
                                                    memory_order_relaxed, memory_order_relaxed));
    pen_api_ends_here = true;
    /* relaxed: signal handlers read it, and need no other data with it */
    atomic_store_explicit(&pen_api_root.end_code, code, memory_order_relaxed);
    return true;
}

double pen_api_exit_timeout(const pen_job *job)
{
    const pen_job_config *config = &job->config;
    if (config->exit_timeout > 0)
        return config->exit_timeout;
    double seconds = config->exit_timeout_min + config->exit_timeout_factor * job->size;
    return seconds < config->exit_timeout_max ? seconds : config->exit_timeout_max;
}

static void say_goodbye(pen_job *job)
{
    /* relaxed: peers that are lost from now on need no report */
    atomic_store_explicit(&job->ending, true, memory_order_relaxed);
    if (job->config.stats)
        pen_job_print_counters(job);
}

void pen_api_finish(int code)
{
    pen_job *job = pen_api_root.job;
    say_goodbye(job);
    pen_api_set_deadline(pen_api_exit_timeout(job));
    (void)fflush(stdout); /* before exit handlers, which may get stuck */
    exit(code);
}

/* The end was begun before: by this thread, whose exit handlers called this again, or by another
 * thread, which will end this one. */
static _Noreturn void end_again(void)
{
    while (!pen_api_ends_here)
        (void)pause();
    (void)fflush(stdout);
    _exit(atomic_load_explicit(&pen_api_root.end_code, memory_order_relaxed));
}

void gasnet_exit(int code)
{
    pen_job *job = pen_api_root.job;
    if (job == NULL || getpid() != pen_api_root.pid)
        exit(code); /* no rank, or a child process of a rank */
    if (PEN_CHECKED &&
        atomic_load_explicit(&pen_api_root.end, memory_order_relaxed) < PEN_END_BEGUN)
        code = pen_api_check_end(job, code, "gasnet_exit(0) is called");
    if (!begin_end(code))
        end_again();
    pen_api_time_note_end(true);
    pen_boot_exit_job(&job->boot, code);
    pen_api_finish(code);
}

void pen_api_told_to_end(pen_job *job, int code)
{
    (void)job;
    if (!begin_end(code))
        end_again();
    pen_api_finish(code);
}

void pen_api_end_with_job(void)
{
    int code = EXIT_FAILURE;
    if (pen_api_root.job == NULL)
        exit(EXIT_FAILURE);
    (void)pen_boot_await_end(&pen_api_root.job->boot, &code); /* the job may end with 0 */
    pen_api_told_to_end(pen_api_root.job, code);
}

void pen_api_idle(void *ctx)
{
    int end = atomic_load_explicit(&pen_api_root.end, memory_order_relaxed);
    if (end == PEN_END_ASKED) {
        int asked = atomic_load_explicit(&pen_api_root.end_asked, memory_order_relaxed);
        pen_api_told_to_end(ctx, asked - 1);
    }
    if (end >= PEN_END_BEGUN && pen_api_ends_here) {
        if (pen_api_root
                .leaves) /* the thread that waits for other threads receives all reports itself */
            return;
        end_again(); /* an exit handler waits for peers that end as well */
    }
    pen_api_root.idle(ctx);
}

/* ---- exit() and return from main ------------------------------------------------------------ */

/* Serves peers while this rank waits for them to leave, and sleeps as any wait does. */
static bool serve(void *ctx)
{
    pen_waiter *waiter = ctx;
    pen_job *job = pen_api_root.job;
    /* exit() was called in a handler: nested polls are illegal. Checked builds track the depth. */
    if (!pen_progress_may_poll(&job->progress) || pen_api_thread(job)->handler_depth != 0)
        return false;
    unsigned polls = 0;
    do {
        pen_wait_step(waiter);
    } while (!waiter->armed && ++polls < POLLS_PER_LOOK);
    return true;
}

/* Peers in a collective that this rank has not entered can stop waiting for it. */
static void depart(pen_job *job)
{
    pen_departed *record = pen_departed_row(job->boot.page, job->rank);
    pen_host_rank *row = pen_host_row(job->boot.page, job->rank);
    if (record == NULL || job->coll == NULL)
        return;
    /* relaxed: only this thread writes it */
    record->meetings = atomic_load_explicit(&row->meetings, memory_order_relaxed);
    pen_coll_depart(job, record);
}

/* Registered when the job starts, so that exit handlers which the client registered later have
 * already run: they could still communicate. */
static void leave(int status, void *unused)
{
    (void)unused;
    pen_job *job = pen_api_root.job;
    if (job == NULL || getpid() != pen_api_root.pid || !begin_end(status))
        return;
    int owed = PEN_CHECKED ? pen_api_check_return(job, status) : status;
    pen_waiter waiter = pen_waiter_of(&job->progress, true);
    depart(job);
    pen_api_time_note_end(owed != 0);
    pen_api_root.leaves = true;
    pen_boot_leave(&job->boot, pen_api_root.catch_exit ? owed & 0xff : 0, serve, &waiter);
    pen_api_root.leaves = false;
    pen_api_time_end();
    say_goodbye(job);
    /* the launcher of others knows the job's status from those of its processes */
    int code = 0;
    if (job->boot.in_process && owed == 0 && pen_boot_check(&job->boot, &code))
        owed = code;
    if (owed != status) { /* exit() alone would not release it */
        (void)fflush(NULL);
        _exit(owed);
    }
}

#if !PEN_HAVE_ON_EXIT
/* musl does not tell handlers the status. The launcher learns it when the process has ended. */
static void leave_unseen(void) { leave(0, NULL); }
#endif

/* Lets the process leave the job when it exits. False: no memory. */
static bool register_leave(void)
{
#if PEN_HAVE_ON_EXIT
    return on_exit(leave, NULL) == 0;
#else
    return atexit(leave_unseen) == 0;
#endif
}

pen_status pen_api_catch_exit(void)
{
    pen_job *job = pen_api_root.job;
    if (!pen_api_root.exit_caught && !register_leave()) {
        pen_log_error(&job->log, "cannot register an exit handler: %s: %s; free some memory",
                      PEN_HAVE_ON_EXIT ? "on_exit" : "atexit", strerror(ENOMEM));
        return PEN_ERR_MEMORY;
    }
    pen_api_root.exit_caught = true;
    pen_api_root.idle = job->progress.on_idle;
    job->progress.on_idle = pen_api_idle;
    return PEN_OK;
}
