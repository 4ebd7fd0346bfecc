/* SPDX-License-Identifier: BSD-3-Clause */
/* api_poll.c: progress, waiting for a condition, wait modes, sections without interrupts. */
#include "api/api.h"

#include "boot/wait_state.h"
#include "job/checks.h"
#include "job/job.h"
#include "job/thread.h"
#include "pen_config.h"
#include "progress/progress.h"

#include <gasnet.h>
#include <gasnetex.h>

_Static_assert(sizeof(pen_waiter) <= sizeof(pen_block), "GASNET_BLOCKUNTIL has room for a waiter");
_Static_assert(PEN_WAIT_SPIN == GASNET_WAIT_SPIN && PEN_WAIT_BLOCK == GASNET_WAIT_BLOCK &&
                   PEN_WAIT_SPINBLOCK == GASNET_WAIT_SPINBLOCK,
               "wait modes are passed on as they are");

int pen_api_poll(void)
{
    pen_job *job = pen_api_job("gasnet_AMPoll");
    if (PEN_CHECKED)
        pen_api_check_context("gasnet_AMPoll");
    pen_thread *thread = pen_api_thread(job);
    if (PEN_CHECKED)
        pen_api_occupy(job, "gasnet_AMPoll");
    pen_poller_count(&job->progress, &thread->poller, pen_progress_poll(&job->progress));
    if (PEN_CHECKED)
        pen_api_vacate(job);
    return GASNET_OK;
}

void pen_api_take_turn(pen_job *job)
{
    pen_job_count_by(job, &job->counters.rma_begun, PEN_GO_ON_EVERY);
    pen_stores = PEN_GO_ON_EVERY;
    if (job->mode != PEN_MODE_PAR) /* threads would take the cache line from each other */
        pen_poll.stores = PEN_GO_ON_EVERY;
    if (pen_progress_may_poll(&job->progress))
        (void)pen_progress_poll(&job->progress);
    pen_progress_publish(&job->progress);
}

void pen_api_block(pen_block *block)
{
    pen_job *job = pen_api_job("GASNET_BLOCKUNTIL");
    if (PEN_CHECKED)
        pen_api_check_context("GASNET_BLOCKUNTIL");
    pen_thread *thread = pen_api_thread(job);
    pen_waiter *waiter = (pen_waiter *)(void *)block;
    /* Zero, as the macro sets it, marks the first step. A put of a peer into memory that it maps
     * wakes no thread. If everything arrives through the link's socket, the wait may sleep on the
     * socket. */
    if (waiter->progress == NULL) {
        pen_wait_trace_loop_end(&job->progress, &thread->block);
        thread->block =
            pen_wait_for(PEN_CALL_BLOCKUNTIL, PEN_AWAITED_UNKNOWN, PEN_WAIT_NOBODY, NULL);
        *waiter = pen_waiter_for(&job->progress, job->progress.rings_alone, &thread->block);
    }
    if (PEN_CHECKED)
        pen_api_occupy(job, "GASNET_BLOCKUNTIL");
    pen_wait_step(waiter);
    pen_wait_trace_loop(&thread->block);
    if (PEN_CHECKED)
        pen_api_vacate(job);
}

int gasnet_set_waitmode(int mode)
{
    if (mode != GASNET_WAIT_SPIN && mode != GASNET_WAIT_BLOCK && mode != GASNET_WAIT_SPINBLOCK)
        return pen_api_refuse(GASNET_ERR_BAD_ARG, "gasnet_set_waitmode", "there is no mode %d",
                              mode);
    pen_api_job("gasnet_set_waitmode")->progress.wait_mode = (pen_wait_mode)mode;
    return GASNET_OK;
}

void *pen_api_thread_info(void) { return pen_api_thread(pen_api_job("GASNET_GET_THREADINFO")); }

/* Handlers run only in calls that poll, so there is nothing to hold back; checked builds report
 * misuse. */
void gasnet_hold_interrupts(void)
{
    if (!PEN_CHECKED)
        return;
    pen_api_check_context("gasnet_hold_interrupts");
    pen_api_no_interrupts = true;
}

void gasnet_resume_interrupts(void)
{
    if (!PEN_CHECKED)
        return;
    if (!pen_api_no_interrupts && pen_api_checks(PEN_CHECK_LOCK))
        pen_api_misuse("gasnet_resume_interrupts", "called without gasnet_hold_interrupts");
    pen_api_no_interrupts = false;
}
