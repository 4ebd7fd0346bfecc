/* SPDX-License-Identifier: BSD-3-Clause */
/* self.c: messages of a rank to itself. Their handlers run inside the call that sends them, and so
 * does the handler of a reply: clients rely on that when they send to themselves and then wait
 * without polling. No link carries these messages, and no lock is held. */
#include "am/am_internal.h"

#include "conduit/conduit.h"
#include "job/fatal.h"
#include "job/job.h"
#include "os/lock.h"
#include "pen_config.h"
#include "progress/progress.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { HERE_STACK_LEN = 1024 }; /* bodies up to here are copied to the stack */

/* If there is one thread, no code polls below a handler, not even at the end of the process. */
static void self_deliver(pen_job *job, pen_lane lane, const pen_frame *frame, void *body)
{
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
