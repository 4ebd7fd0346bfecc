/* SPDX-License-Identifier: BSD-3-Clause */
/* finalize.c: leaves the job without ending the process. Everything that start-up made is undone in
 * reverse, so that it can be made again. Two things stay: a pair of descriptors by which a rank
 * under a supervisor joins again, and the exit handler, which does nothing without a job. */
#include "api/api.h"
#include "api/coll_images.h"

#include "base/status.h"
#include "boot/boot.h"
#include "boot/wait_state.h"
#include "coll/coll.h"
#include "job/job.h"
#include "job/thread.h"
#include "pen_config.h"
#include "progress/progress.h"
#include "rma/event.h"

#include <gasnetex.h>
#include <stdlib.h>
#include <unistd.h>

/* Meets the remaining ranks, so that no rank needs this one any more and all of its messages have
 * been sent. */
static void quiesce(pen_job *job)
{
    pen_thread *thread = pen_api_thread(job);
    pen_event_wait(job, pen_coll_barrier_nb(thread, &job->world), PEN_CALL_FINALIZE);
    pen_wait what = pen_wait_for(PEN_CALL_FINALIZE, PEN_AWAITED_UNKNOWN, PEN_WAIT_NOBODY, NULL);
    pen_waiter waiter = pen_waiter_for(&job->progress, false, &what);
    for (uint32_t i = 0; i < job->progress.port_count; i++) {
        /* relaxed: this thread polls until it sees it; no other data depends on it */
        while (atomic_load_explicit(&job->progress.ports[i].backlog.count, memory_order_relaxed) !=
               0)
            pen_wait_step(&waiter);
    }
    pen_wait_end(&waiter);
}

/* From here on this process is no rank. */
static void forget(pen_root *root)
{
    pen_world = &pen_api_nobody;
    pen_api_forget_threads(root->job);
    pen_api_uncatch_signals();
    pen_api_debug_close();
    free(root->nbrhd);
    root->nbrhd = NULL;
    root->nbrhd_count = root->nbrhd_mine = 0;
    root->host_count = root->host_mine = 0;
    root->attach_owed = root->threads_asked = false;
    pen_hsl_traced = PEN_CHECKED;
    root->host_kind_cdata = NULL;
    free(root->coll_functions);
    root->coll_functions = NULL;
    pen_api_images_close(root->images);
    root->images = NULL;
    free(root->job);
    root->job = NULL;
    root->started = false;
}

int pen_finalize(void)
{
    static const char call[] = "pen_finalize";
    pen_root *root = &pen_api_root;
    pen_job *job = root->job;
    if (job == NULL || (int)getpid() != root->pid)
        return pen_api_refuse(GASNET_ERR_NOT_INIT, call, "this process is no rank of a job");
    pen_api_check_context(call);
    if (PEN_CHECKED && pen_api_check_end(job, 0, "pen_finalize is called") != 0)
        gasnet_exit(EXIT_FAILURE);
    if (!pen_nbi_test(pen_api_thread(job), ~0u))
        pen_api_misuse(call, "implicit operations are under way; wait for them first");
    quiesce(job);
    /* relaxed: peers that are lost from now on need no report */
    atomic_store_explicit(&job->ending, true, memory_order_relaxed);
    if (job->config.stats)
        pen_job_print_counters(job);
    job->config.stats = false;   /* said */
    pen_world = &pen_api_nobody; /* before the data that inline code reads is freed */
    job->is_orderly = true;      /* all ranks have met above */
    pen_api_close_modules(job);
    if (pen_boot_resign(&job->boot) != PEN_OK)
        pen_api_end_with_job(); /* a rank ended in the meantime */
    root->resigned = job->boot;
    root->has_resigned = job->boot.control_fd >= 0;
    forget(root);
    return GASNET_OK;
}
