/* SPDX-License-Identifier: BSD-3-Clause */
/* long.c: moves the payload of a Long to its destination before the handler runs. The methods, best
 * first: a store by this rank; in the frame, while it is short; by the kernel; by the link's own
 * put; in the frame, if it fits; in acknowledged pieces. reach/ says which of the ways that need no
 * message serve the destination. flight.c does those that take more than one call.
 *
 * An immediate Long reserves its frame before anything moves, if the link can reserve frames.
 * Otherwise it uses a method in which only the first step can be refused: in the frame, or in
 * pieces. */
#include "am/am_internal.h"
#include "base/compiler.h"
#include "base/copy.h"
#include "base/status.h"
#include "conduit/conduit.h"
#include "job/fatal.h"
#include "job/job.h"
#include "mem/mem.h"
#include "os/lock.h"
#include "progress/progress.h"
#include "reach/reach.h"

#include <errno.h>
#include <string.h>

/* Up to this length, copying a body twice is faster than a system call or a put. */
enum { LONG_BODY_LEN_MAX = 16384 };

pen_frame pen_am_long_frame(pen_am_long *message, pen_wire_place place, uint32_t body_len)
{
    unsigned tail = PEN_AM_WORDS(message->arg_count);
    uint32_t payload_len = place == PEN_WIRE_OPAQUE ? 0 : (uint32_t)message->len;
    message->words[0] = pen_wire_head(pen_wire_kind(PEN_AM_LONG, message->lane, place),
                                      message->handler, message->arg_count, payload_len);
    message->words[tail] = message->segment == NULL ? 0 : message->segment->number;
    message->words[tail + 1] = message->offset;
    uint32_t head_len = (tail + PEN_WIRE_LONG_WORDS) * (uint32_t)sizeof(uint64_t);
    return (pen_frame){ message->words, NULL, head_len, body_len };
}

static int long_send_frame(pen_am_long *message, pen_wire_place place, const void *body,
                           uint32_t body_len, uint32_t flags)
{
    pen_frame frame = pen_am_long_frame(message, place, body_len);
    frame.body = body;
    if (pen_likely(body_len <= message->route->port->link->caps.frame_copy_max)) {
        if (pen_likely(pen_am_post(message->job, message->route, message->lane, &frame) !=
                       PEN_POST_AGAIN))
            return 0;
        return pen_am_push(message->job, message->route, message->lane, &frame, flags);
    }
    return pen_am_push_for(message->job, message->route, message->lane, &frame, flags, message->op);
}

bool pen_am_long_last(pen_am_long *message)
{
    pen_frame frame = pen_am_long_frame(message, PEN_WIRE_PLACED, 0);
    if (pen_am_post_any(message->job, message->route, message->lane, &frame) != PEN_POST_AGAIN)
        return true;
    if (message->lane == PEN_LANE_REQUEST)
        return false;
    pen_am_queue(message->job, message->route, message->lane, &frame);
    return true;
}

bool pen_am_long_last_behind(pen_am_long *message)
{
    pen_frame frame = pen_am_long_frame(message, PEN_WIRE_PLACED, 0);
    pen_port *port = message->route->port;
    pen_lock_take(&port->post_lock);
    pen_post result = port->link->behind->post(port->link, message->route->peer, message->lane,
                                               frame.head, frame.head_len);
    pen_lock_drop(&port->post_lock);
    return result != PEN_POST_AGAIN;
}

static int long_in_body(pen_am_long *message)
{
    return long_send_frame(message, PEN_WIRE_BODY, message->source, (uint32_t)message->len,
                           message->flags);
}

/* The payload is at its destination. */
static int long_placed(pen_am_long *message)
{
    pen_job_count_by(message->job, &message->job->counters.long_bytes_shm, message->len);
    return long_send_frame(message, PEN_WIRE_PLACED, NULL, 0, 0);
}

void pen_am_no_memory(const pen_am_long *message)
{
    pen_job_fatal(message->job,
                  "cannot send a Long of %zu bytes to rank %u: malloc: %s; send smaller ones or "
                  "start fewer ranks",
                  message->len, message->jobrank, strerror(errno));
}

/* ---- our own store, the kernel --------------------------------------------------------------- */

static void long_store(const pen_am_long *message, char *alias)
{
    if (alias != message->source) /* a Long onto itself only notifies */
        pen_copy(&message->job->copies, alias, message->source, message->len);
}

/* Chooses the way to a destination that is not mapped. */
static void long_reach(const pen_am_long *message, pen_reach *out)
{
    const pen_reach_ask ask = { .job = message->job,
                                .jobrank = message->jobrank,
                                .remote = message->dest,
                                .local = (char *)(uintptr_t)message->source,
                                .len = message->len };
    pen_reach_far(&ask, out);
}

/* Returns false if the kernel refused. */
static bool long_by_kernel(const pen_am_long *message)
{
    return pen_reach_by_kernel(message->job, message->jobrank, true,
                               (void *)(uintptr_t)message->source, message->dest,
                               message->len) == PEN_OK;
}

/* Moves the payload after reserving the frame: to alias, or, if that is NULL, by the kernel.
 * Returns false if no frame could be reserved, or, with *failed, if the kernel's copy failed. */
static bool long_place_reserved(pen_am_long *message, char *alias, bool *failed)
{
    pen_port *port = message->route->port;
    pen_link *link = port->link;
    pen_peer to = message->route->peer;
    pen_lock_take(&port->post_lock);
    void *body = link->zcopy->reserve(link, to, message->lane, 0);
    pen_lock_drop(&port->post_lock);
    if (body == NULL)
        return false;
    bool placed = alias != NULL || long_by_kernel(message);
    if (alias != NULL)
        long_store(message, alias);
    pen_frame frame = pen_am_long_frame(message, PEN_WIRE_PLACED, 0);
    pen_lock_take(&port->post_lock);
    if (placed) {
        link->zcopy->commit(link, to, message->lane, body, frame.head, frame.head_len, 0);
        pen_am_count_sent(message->job, message->route, 1, message->len);
    } else {
        link->zcopy->cancel(link, to, message->lane, body);
        *failed = true;
    }
    pen_lock_drop(&port->post_lock);
    return placed;
}

bool pen_am_copies(const pen_job *job, uint32_t jobrank, size_t len)
{
    return len <= LONG_BODY_LEN_MAX && len <= job->frame_max &&
           len <= job->routes[jobrank].port->link->caps.frame_copy_max;
}

/* ---- deciding -------------------------------------------------------------------------------- */

/* A reply may not wait for a put. */
static bool long_by_put(const pen_am_long *message, const pen_reach *reach)
{
    return reach->way == PEN_REACH_LINK && message->lane == PEN_LANE_REQUEST;
}

static int long_immediate(pen_am_long *message)
{
    char *alias = pen_reach_alias_in(message->segment, message->dest);
    pen_reach reach = { .way = PEN_REACH_MESSAGES };
    if (alias == NULL)
        long_reach(message, &reach);
    if (message->route->port->link->zcopy != NULL &&
        (alias != NULL || reach.way == PEN_REACH_KERNEL)) {
        bool failed = false;
        if (long_place_reserved(message, alias, &failed))
            return 0;
        if (!failed)
            return 1;
        long_reach(message, &reach);
    }
    if (message->len <= message->job->frame_max)
        return long_in_body(message);
    return pen_am_flight_send(message, long_by_put(message, &reach) ? &reach : NULL);
}

static int long_unmapped(pen_am_long *message)
{
    if (message->len <= LONG_BODY_LEN_MAX && message->len <= message->job->frame_max)
        return long_in_body(message);
    pen_reach reach;
    long_reach(message, &reach);
    if (reach.way == PEN_REACH_KERNEL) {
        if (long_by_kernel(message))
            return long_placed(message);
        long_reach(message, &reach);
    }
    if (long_by_put(message, &reach))
        return pen_am_flight_send(message, &reach);
    if (message->len <= message->job->frame_max)
        return long_in_body(message);
    return pen_am_flight_send(message, NULL);
}

static PEN_COLD _Noreturn void long_outside(const pen_am_long *message)
{
    const pen_remote_segment *remote = &message->job->mem.remote[0][message->jobrank];
    if (remote->len == 0)
        pen_job_fatal(message->job,
                      "a Long of %zu bytes goes to %p of rank %u, which has no segment: attach one "
                      "first (only an empty Long needs none)",
                      message->len, message->dest, message->jobrank);
    pen_job_fatal(message->job,
                  "a Long of %zu bytes goes to %p of rank %u, outside its segment of %llu bytes at "
                  "0x%llx; mend the address or attach a larger segment",
                  message->len, message->dest, message->jobrank, (unsigned long long)remote->len,
                  (unsigned long long)remote->base);
}

void pen_am_long_aim(pen_am_long *message, const uint64_t *words)
{
    pen_job *job = message->job;
    message->route = &job->routes[message->jobrank];
    message->segment = NULL;
    message->offset = (uint64_t)(uintptr_t)message->dest;
    unsigned word_count = PEN_AM_WORDS(message->arg_count);
    for (unsigned word = 1; word < word_count; word++)
        message->words[word] = words[word];
    if (message->len == 0)
        return;
    message->segment = pen_mem_remote(&job->mem, 0, message->jobrank, message->dest, message->len,
                                      &message->offset);
    if (pen_unlikely(message->segment == NULL))
        long_outside(message);
}

int pen_am_long_send(pen_am_long *message, const uint64_t *words)
{
    pen_am_long_aim(message, words);
    if (pen_unlikely(pen_am_is_self(message->job, message->route)))
        return pen_am_run_long_here(message);
    if (message->len == 0)
        return long_send_frame(message, PEN_WIRE_OPAQUE, NULL, 0, message->flags);
    if (pen_unlikely((message->flags & PEN_AM_IMMEDIATE) != 0))
        return long_immediate(message);
    char *alias = pen_reach_alias_in(message->segment, message->dest);
    if (alias == NULL)
        return long_unmapped(message);
    /* The data is visible before the handler runs: the link publishes a frame with release. */
    long_store(message, alias);
    return long_placed(message);
}
