/* SPDX-License-Identifier: BSD-3-Clause */
/* job_trace.c: a rank's part in a trace: its ring, the links that trace what is sent, and the
 * functions that get its frames, so that what is handled is traced as well. */
#include "job/job_internal.h"

#include "base/status.h"
#include "boot/host_page.h"
#include "boot/wait_state.h"
#include "conduit/conduit.h"
#include "job/fatal.h"
#include "job/job.h"
#include "link/traced.h"
#include "progress/progress.h"
#include "trace/event.h"
#include "trace/ring.h"

#include <stdlib.h>
#include <string.h>

#define GAP_NS       UINT64_C(1000000) /* the shortest time without polls that is written */
#define CALIBRATE_NS UINT64_C(200000)  /* for the rate of the ticks; 1 % is enough */

struct pen_job_trace {
    pen_trace ring;
    pen_host inner;    /* the functions that get frames of a rank that is not traced */
    uint32_t *handled; /* frames, by lane and sender; guarded by the poll lock of their port */
};

/* ---- frames that arrive ---------------------------------------------------------------------- */

/* A peer may change the head later, so it is read here for people only. */
static pen_trace_event arrival(pen_job *job, pen_peer from, pen_lane lane, const void *head,
                               uint32_t body_len)
{
    uint64_t first = *(const volatile uint64_t *)head;
    uint32_t *count = &job->traced->handled[(size_t)lane * job->size + from];
    pen_trace_event event = pen_trace_frame(PEN_TRACE_HANDLED, first, from, (*count)++, body_len);
    event.at = pen_trace_ticks();
    return event;
}

static void deliver(void *ctx, pen_peer from, pen_lane lane, const void *head, uint32_t head_len,
                    void *body, uint32_t body_len)
{
    pen_job *job = ctx;
    pen_trace_event event = arrival(job, from, lane, head, body_len);
    job->traced->inner.deliver(job, from, lane, head, head_len, body, body_len);
    pen_trace_write_span(job->trace, event);
}

static void deliver_request(void *ctx, pen_peer from, const void *head, uint32_t head_len)
{
    pen_job *job = ctx;
    pen_trace_event event = arrival(job, from, PEN_LANE_REQUEST, head, 0);
    job->traced->inner.deliver_head[PEN_LANE_REQUEST](job, from, head, head_len);
    pen_trace_write_span(job->trace, event);
}

static void deliver_reply(void *ctx, pen_peer from, const void *head, uint32_t head_len)
{
    pen_job *job = ctx;
    pen_trace_event event = arrival(job, from, PEN_LANE_REPLY, head, 0);
    job->traced->inner.deliver_head[PEN_LANE_REPLY](job, from, head, head_len);
    pen_trace_write_span(job->trace, event);
}

/* ---- waits ----------------------------------------------------------------------------------- */

static void describe_wait(void *ctx, pen_wait *wait)
{
    pen_wait_note note;
    pen_job_describe_wait(ctx, wait, &note);
    wait->traced_awaited = note.awaited;
    wait->traced_peer = note.peer;
    wait->traced_number = note.number;
}

/* ---- opening --------------------------------------------------------------------------------- */

pen_status pen_job_open_trace(pen_job *job)
{
    const pen_host_page *page = job->boot.page;
    if (page == NULL || page->trace_len == 0 || job->boot.arena == NULL)
        return PEN_OK;
    pen_job_trace *traced = pen_job_calloc(job, 1, sizeof *traced, "a trace");
    if (traced == NULL)
        return PEN_ERR_MEMORY;
    job->traced = traced;
    traced->handled =
        pen_job_calloc(job, (size_t)PEN_LANES * job->size, sizeof *traced->handled, "a trace");
    if (traced->handled == NULL)
        return PEN_ERR_MEMORY;
    char *ring = job->boot.arena + page->trace_off + (job->rank - page->first) * page->trace_stride;
    pen_trace_open(&traced->ring, ring, page->trace_len, (uint32_t)page->trace_kinds,
                   job->concurrency);
    job->trace = &traced->ring;
    job->progress.trace = job->trace;
    job->progress.on_traced = describe_wait;
    return PEN_OK;
}

void pen_job_trace_host(pen_job *job)
{
    if (job->trace == NULL)
        return;
    job->traced->inner = job->host;
    job->host.deliver = deliver;
    if (job->host.deliver_head[0] != NULL) {
        job->host.deliver_head[PEN_LANE_REQUEST] = deliver_request;
        job->host.deliver_head[PEN_LANE_REPLY] = deliver_reply;
    }
    job->host.poll_view = NULL; /* polls that inline code sees to be idle would not be traced */
}

/* Measures ticks for a moment. */
static uint64_t ticks_in(const pen_job *job, uint64_t ns)
{
    uint64_t begun_ns = job->clock.now_ns(job->clock.ctx), begun = pen_trace_ticks(), now_ns;
    do {
        now_ns = job->clock.now_ns(job->clock.ctx);
    } while (now_ns - begun_ns < CALIBRATE_NS);
    return (uint64_t)((double)(pen_trace_ticks() - begun) / (double)(now_ns - begun_ns) *
                      (double)ns);
}

pen_status pen_job_trace_link(pen_job *job, pen_peer first, pen_peer peers, pen_link **link)
{
    if (job->trace == NULL)
        return PEN_OK;
    const pen_traced_params params = { .host = &job->host,
                                       .trace = job->trace,
                                       .first = first,
                                       .peers = peers,
                                       .is_first = job->progress.port_count == 0,
                                       .gap_ticks = ticks_in(job, GAP_NS),
                                       .concurrency = job->concurrency };
    return pen_traced_open(&params, link);
}

void pen_job_close_trace(pen_job *job)
{
    for (pen_thread *thread = &job->first_thread; job->trace != NULL && thread != NULL;
         thread = thread->next)
        pen_wait_trace_loop_end(&job->progress, &thread->block);
    if (job->traced != NULL)
        free(job->traced->handled);
    free(job->traced);
    job->traced = NULL;
    job->trace = NULL;
}
