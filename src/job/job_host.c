/* SPDX-License-Identifier: BSD-3-Clause */
/* job_host.c: the callbacks that the engine lends to a conduit, and the end of a job that has lost
 * a peer. */
#include "job/job_internal.h"

#include "base/compiler.h"
#include "base/status.h"
#include "boot/boot.h"
#include "boot/host_page.h"
#include "conduit/conduit.h"
#include "diag/log.h"
#include "job/fatal.h"
#include "progress/progress.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { HOST_LINE_LEN_MAX = 512 };

static void host_peer_lost(void *ctx, pen_peer peer, pen_status why)
{
    pen_job *job = ctx;
    /* relaxed: a rank that ends the job ignores peers that end as well */
    if (atomic_load_explicit(&job->ending, memory_order_relaxed))
        return;
    if (peer == PEN_PEER_ANY)
        pen_job_fatal(job, "lost the connection to all peers: %s; %s", pen_status_text(why),
                      pen_status_remedy(why));
    pen_job_fatal(job, "lost rank %u: %s; %s", peer, pen_status_text(why), pen_status_remedy(why));
}

static uint64_t host_now_ns(void *ctx)
{
    const pen_job *job = ctx;
    return job->clock.now_ns(job->clock.ctx);
}

static void host_log(void *ctx, int level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void host_log(void *ctx, int level, const char *format, ...)
{
    pen_job *job = ctx;
    char line[HOST_LINE_LEN_MAX];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(line, sizeof line, format, args);
    va_end(args);
    pen_log_line(&job->log, (pen_log_level)level, "%s", line);
}

/* A conduit that does not open need not end the job, so its errors are told at level info. */
static void host_log_softly(void *ctx, int level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void host_log_softly(void *ctx, int level, const char *format, ...)
{
    char line[HOST_LINE_LEN_MAX];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(line, sizeof line, format, args);
    va_end(args);
    host_log(ctx, level == PEN_LOG_ERROR ? PEN_LOG_INFO : level, "%s", line);
}

void pen_job_log_softly(pen_host *host) { host->log = host_log_softly; }

static void *host_alloc(void *ctx, size_t len, size_t align)
{
    (void)ctx;
    return aligned_alloc(align, pen_align_up(len, align));
}

static void host_release(void *ctx, void *memory)
{
    (void)ctx;
    free(memory);
}

static void *host_shared(void *ctx, size_t *len_out)
{
    pen_job *job = ctx;
    const pen_host_page *page = job->boot.page;
    *len_out = 0;
    if (page == NULL || job->boot.arena == NULL || page->conduit_len == 0)
        return NULL;
    *len_out = page->conduit_len;
    return job->boot.arena + page->conduit_off;
}

static pen_host_rank *host_rank(pen_job *job, pen_peer peer)
{
    return pen_host_row(job->boot.page, peer);
}

static void host_wake(void *ctx, pen_peer peer)
{
    pen_job *job = ctx;
    pen_host_rank *rank = host_rank(job, peer);
    if (rank == NULL)
        return;
    pen_progress_wake_fence(&job->progress);
    pen_progress_wake(&rank->sleeping, &rank->wake);
}

static const _Atomic uint32_t *host_sleeping(void *ctx, pen_peer peer)
{
    const pen_host_rank *rank = host_rank(ctx, peer);
    return rank != NULL ? &rank->sleeping : NULL;
}

static bool host_orderly(void *ctx) { return ((const pen_job *)ctx)->is_orderly; }

void pen_job_fill_host(pen_job *job, const pen_job_params *params)
{
    if (job->boot.page != NULL)
        job->copies = job->boot.page->copies;
    job->host = (pen_host){
        .ctx = job,
        .deliver = params->deliver,
        .deliver_head = { params->deliver_head[0], params->deliver_head[1] },
        .peer_lost = host_peer_lost,
        .now_ns = host_now_ns,
        .log = host_log,
        .alloc = host_alloc,
        .release = host_release,
        .shared = host_shared,
        .wake = host_wake,
        .sleeping = host_sleeping,
        .orderly = host_orderly,
        .copies = &job->copies,
        .poll_view = params->poll_view,
        .counters = &job->counters,
        .virtual = job->virtual,
    };
}

void pen_job_place(const pen_job *job, pen_link_params *params)
{
    const pen_host_page *page = job->boot.page;
    params->local_rank = page != NULL ? job->rank - page->first : 0;
    params->local_size = page != NULL ? page->size : 1;
    params->host_index = page != NULL ? page->host_i : 0;
}

void pen_job_idle(void *ctx)
{
    pen_job *job = ctx;
    int code;
    if (!pen_boot_check(&job->boot, &code))
        return;
    atomic_store_explicit(&job->ending, true, memory_order_relaxed); /* see host_peer_lost */
    if (job->end != NULL)
        job->end(job, code);
    _exit(code);
}
