/* SPDX-License-Identifier: BSD-3-Clause */
/* long.c: how the payload of a Long gets to its destination before the handler runs, best way
 * first: our own store where the segment is mapped here; in the frame while it is short; by the
 * kernel (CMA) where any address of a same-host peer is legal; by the link's own put; in the frame
 * as long as it fits; else in acknowledged pieces. */
#include "am/am_internal.h"
#include "os/os.h"

#include <string.h>

/* Up to here a body that is copied twice beats a system call or a put of its own. */
enum { LONG_BODY_LEN_MAX = 16384 };

static pen_frame long_frame(pen_am_long *message, pen_wire_place place, uint32_t body_len)
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

int pen_am_long_finish(pen_am_long *message, pen_wire_place place, const void *body,
                       uint32_t body_len, uint32_t flags)
{
    pen_frame frame = long_frame(message, place, body_len);
    frame.body = body;
    if (pen_likely(body_len <= message->route->port->link->caps.frame_copy_max) &&
        pen_likely(pen_am_post(message->job, message->route, message->lane, &frame) !=
                   PEN_POST_AGAIN))
        return 0;
    return pen_am_push(message->job, message->route, message->lane, &frame, flags);
}

static int long_in_body(pen_am_long *message)
{
    return pen_am_long_finish(message, PEN_WIRE_BODY, message->source, (uint32_t)message->len,
                              message->flags);
}

/* ---- our own store ------------------------------------------------------------------------------
 */

static void long_store(const pen_am_long *message)
{
    char *alias = (char *)message->dest + message->segment->delta;
    if (alias != message->source) /* a Long onto itself is a way to say "look there" */
        memcpy(alias, message->source, message->len);
}

/* The frame's place is taken before the data moves, so that a refusal leaves no trace. */
static int long_store_reserved(pen_am_long *message)
{
    pen_port *port = message->route->port;
    pen_link *link = port->link;
    pen_peer to = message->route->peer;
    pen_lock_take(&port->post_lock);
    void *body = link->zcopy->reserve(link, to, message->lane, sizeof(uint64_t));
    pen_lock_drop(&port->post_lock);
    if (body == NULL)
        return 1;
    long_store(message);
    pen_frame frame = long_frame(message, PEN_WIRE_PLACED, 0);
    pen_lock_take(&port->post_lock);
    link->zcopy->commit(link, to, message->lane, body, frame.head, frame.head_len, 0);
    pen_lock_drop(&port->post_lock);
    pen_am_count_pushed(message->job, message->route);
    return 0;
}

static int long_mapped(pen_am_long *message)
{
    if (pen_unlikely((message->flags & PEN_AM_IMMEDIATE) != 0)) {
        if (message->route->port->link->zcopy != NULL)
            return long_store_reserved(message);
        if (message->len <= message->job->frame_max)
            return long_in_body(message); /* all or nothing as well */
    }
    long_store(message);
    /* The data is visible before the handler runs: the link publishes a frame with release. Once
     * the data has moved there is no way back, so an immediate Long without a reservation waits
     * here. */
    return pen_am_long_finish(message, PEN_WIRE_PLACED, NULL, 0, 0);
}

/* ---- the kernel, the link ----------------------------------------------------------------------
 */

/* In an EVERYTHING job only: elsewhere the target checks each address itself. */
static bool long_by_cma(const pen_am_long *message)
{
    pen_job *job = message->job;
    const pen_host_page *page = job->boot.page;
    if (message->segment->number != PEN_SEGMENT_EVERYWHERE || !message->route->same_host ||
        page == NULL || atomic_load_explicit(&job->am->cma_refused, memory_order_relaxed))
        return false;
    /* relaxed: written once before the ranks met at the start-up barrier */
    pid_t pid =
        (pid_t)atomic_load_explicit(&page->ranks[message->jobrank].pid, memory_order_relaxed);
    if (pid == 0)
        return false;
    if (pen_cma_write(pid, message->source, message->dest, message->len) == PEN_OK)
        return true;
    atomic_store_explicit(&job->am->cma_refused, true, memory_order_relaxed);
    return false;
}

static bool long_can_put(const pen_am_long *message)
{
    const pen_link *link = message->route->port->link;
    /* A reply may not wait for a put, and nobody registers a client's buffer for one message. */
    return link->rma != NULL && message->segment->has_key && message->lane == PEN_LANE_REQUEST &&
           (link->caps.flags & PEN_CAP_LOCAL_REGION) == 0;
}

static pen_post long_put_part(const pen_am_long *message, size_t done, size_t len, pen_op *op)
{
    pen_port *port = message->route->port;
    /* relaxed: the link's own release and acquire carry the data; these are only counts */
    atomic_fetch_add_explicit(&op->source_busy, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&op->incomplete, 1, memory_order_relaxed);
    pen_lock_take(&port->post_lock);
    pen_post result =
        port->link->rma->put(port->link, message->route->peer, message->offset + done,
                             message->segment->key, (const char *)message->source + done, len, op);
    pen_lock_drop(&port->post_lock);
    if (result != PEN_POST_PENDING) {
        (void)pen_count_drop(&op->source_busy, op->shared);
        (void)pen_count_drop(&op->incomplete, op->shared);
    }
    return result;
}

/* Returns when all of it has landed. */
static void long_put(const pen_am_long *message)
{
    pen_waiter waiter = pen_waiter_of(&message->job->progress, false);
    size_t put_max = message->route->port->link->caps.put_max;
    pen_op op = { .shared = message->job->concurrency != PEN_ALONE };
    for (size_t done = 0; done < message->len;) {
        size_t left = message->len - done, len = left < put_max ? left : put_max;
        pen_post result = long_put_part(message, done, len, &op);
        if (result == PEN_POST_FAILED)
            break; /* a lost peer; what is posted still has to be reported */
        if (result == PEN_POST_AGAIN)
            pen_wait_step(&waiter);
        else
            done += len;
    }
    /* acquire: pairs with the release of whoever lowers the count to 0 */
    while (atomic_load_explicit(&op.incomplete, memory_order_acquire) != 0)
        pen_wait_step(&waiter);
}

/* ---- deciding -----------------------------------------------------------------------------------
 */

static int long_unmapped(pen_am_long *message)
{
    if (message->len <= LONG_BODY_LEN_MAX && message->len <= message->job->frame_max)
        return long_in_body(message);
    if (long_by_cma(message))
        return pen_am_long_finish(message, PEN_WIRE_PLACED, NULL, 0, 0);
    if (long_can_put(message)) {
        long_put(message);
        return pen_am_long_finish(message, PEN_WIRE_PLACED, NULL, 0, 0);
    }
    if (message->len <= message->job->frame_max)
        return long_in_body(message);
    pen_am_pieces_send(message);
    return 0;
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

int pen_am_long_send(pen_am_long *message, const uint64_t *words)
{
    pen_job *job = message->job;
    message->route = &job->routes[message->jobrank];
    message->segment = NULL;
    unsigned word_count = PEN_AM_WORDS(message->arg_count);
    for (unsigned word = 1; word < word_count; word++)
        message->words[word] = words[word];
    if (message->len == 0) {
        message->offset = (uint64_t)(uintptr_t)message->dest;
        return pen_am_long_finish(message, PEN_WIRE_OPAQUE, NULL, 0, message->flags);
    }
    message->segment = pen_mem_remote(&job->mem, 0, message->jobrank, message->dest, message->len,
                                      &message->offset);
    if (pen_unlikely(message->segment == NULL))
        long_outside(message);
    return message->segment->mapped ? long_mapped(message) : long_unmapped(message);
}
