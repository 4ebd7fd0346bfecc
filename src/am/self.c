/* SPDX-License-Identifier: BSD-3-Clause */
/* self.c: messages of a rank to itself. Their handlers run inside the call that sends them, and so
 * does the handler of a reply: clients rely on that when they send to themselves and then wait
 * without polling. No link carries these messages, and no lock is held. */
#include "am/am_internal.h"

#include "base/compiler.h"
#include "conduit/conduit.h"
#include "job/fatal.h"
#include "job/job.h"
#include "os/lock.h"
#include "pen_config.h"
#include "progress/progress.h"
#include "trace/event.h"
#include "trace/ring.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { HERE_STACK_LEN = 1024 }; /* bodies up to here are copied to the stack */

/* Traces a message to this rank, as the links trace messages to other ranks. They have no numbers:
 * sending and handling are one call. */
static PEN_COLD void trace_frame(const pen_job *job, const pen_frame *frame, pen_trace_kind kind,
                                 uint64_t at, uint64_t now)
{
    pen_trace_event event =
        pen_trace_frame(kind, *(const uint64_t *)frame->head, job->rank, 0, frame->body_len);
    event.at = at;
    event.span = pen_trace_pack(now - at);
    pen_trace_write(job->trace, &event);
}

static PEN_COLD uint64_t trace_sent(const pen_job *job, const pen_frame *frame)
{
    uint64_t at = pen_trace_ticks();
    trace_frame(job, frame, PEN_TRACE_SENT, at, at);
    return at;
}

static PEN_COLD void trace_handled(const pen_job *job, const pen_frame *frame, uint64_t at)
{
    trace_frame(job, frame, PEN_TRACE_HANDLED, at, pen_trace_ticks());
}

/* If there is one thread, no code polls below a handler, not even at the end of the process. */
static void self_deliver(pen_job *job, pen_lane lane, const pen_frame *frame, void *body)
{
    const uint64_t at = pen_unlikely(job->trace != NULL) ? trace_sent(job, frame) : 0;
    pen_progress *progress = &job->progress;
    bool outer = progress->polling;
    if (progress->concurrency == PEN_ALONE)
        progress->polling = true;
    if (PEN_CHECKED) /* with the checks for frames from a link */
        job->host.deliver(job->host.ctx, job->rank, lane, frame->head, frame->head_len, body,
                          frame->body_len);
    else
        pen_am_deliver_slow(job, job->rank, lane, frame->head, frame->head_len, body,
                            frame->body_len);
    if (progress->concurrency == PEN_ALONE)
        progress->polling = outer;
    if (pen_unlikely(at != 0))
        trace_handled(job, frame, at);
}

int pen_am_run_in_place(pen_job *job, pen_lane lane, const pen_frame *frame)
{
    self_deliver(job, lane, frame, (void *)(uintptr_t)frame->body);
    return 0;
}

int pen_am_run_here(pen_job *job, pen_lane lane, const pen_frame *frame)
{
    _Alignas(64) char near[HERE_STACK_LEN];
    void *body = near;
    if (frame->body_len > sizeof near) {
        body = malloc(frame->body_len);
        if (body == NULL)
            pen_job_fatal(job,
                          "cannot send %u bytes to this rank itself: malloc: %s; send smaller "
                          "messages or start fewer ranks",
                          frame->body_len, strerror(errno));
    }
    if (frame->body_len != 0) /* the handler may write to the body, and the source must not
                               * change */
        memcpy(body, frame->body, frame->body_len);
    self_deliver(job, lane, frame, body);
    if (body != near)
        free(body);
    return 0;
}

int pen_am_run_long_here(pen_am_long *message)
{
    bool is_there = message->dest == message->source; /* a Long onto itself only notifies */
    pen_wire_place place = message->len == 0 ? PEN_WIRE_OPAQUE
                           : is_there        ? PEN_WIRE_PLACED
                                             : PEN_WIRE_BODY;
    uint32_t body_len = place == PEN_WIRE_BODY ? (uint32_t)message->len : 0;
    pen_frame frame = pen_am_long_frame(message, place, body_len);
    /* The target's functions only read it. */
    self_deliver(message->job, message->lane, &frame, (void *)(uintptr_t)message->source);
    return 0;
}
