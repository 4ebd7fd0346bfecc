/* SPDX-License-Identifier: BSD-3-Clause */
/* am_internal.h: what the files of am/ share: posting a frame and everything that may come of it.
 */
#ifndef PEN_AM_AM_INTERNAL_H
#define PEN_AM_AM_INTERNAL_H

#include "am/wire.h"

/* By the holder of the port's post lock. count: 1, or -1 to take one back. */
static inline void pen_am_count_sent(pen_job *job, const pen_route *route, int count)
{
    if (pen_likely(route->same_host))
        job->counters.am_sent_shm += (uint64_t)(int64_t)count;
    else
        job->counters.am_sent_net += (uint64_t)(int64_t)count;
}

pen_post pen_am_post_locked(pen_job *job, const pen_route *route, pen_lane lane,
                            const pen_frame *frame);

/* Posts a client's frame whose body needs no copy of ours, and counts it: first, so that nothing
 * has to survive the call; AGAIN takes it back. */
static inline pen_post pen_am_post(pen_job *job, const pen_route *route, pen_lane lane,
                                   const pen_frame *frame)
{
    pen_port *port = route->port;
    if (pen_unlikely(port->post_lock.shared))
        return pen_am_post_locked(job, route, lane, frame);
    pen_am_count_sent(job, route, 1);
    pen_post result = port->link->ops->post(port->link, route->peer, lane, frame, NULL);
    if (pen_unlikely(result == PEN_POST_AGAIN))
        pen_am_count_sent(job, route, -1);
    return result;
}

/* Posts whatever the length: a body that the link would keep busy goes as a copy of ours, so that
 * no caller has to wait for it. Not counted. */
pen_post pen_am_post_any(pen_job *job, const pen_route *route, pen_lane lane,
                         const pen_frame *frame);

void pen_am_count_pushed(pen_job *job, const pen_route *route); /* takes that lock */

/* Sends a client's frame, come what may: a request polls until there is room, a reply is queued.
 * With PEN_AM_IMMEDIATE: non-zero when there is no room, and nothing has happened. */
int pen_am_push(pen_job *job, const pen_route *route, pen_lane lane, const pen_frame *frame,
                uint32_t flags);

/* ---- Longs ----------------------------------------------------------------------------------- */

typedef struct pen_am_long { /* one on its way out; words hold the head, arguments and destination
                              */
    pen_job *job;
    const pen_route *route;
    const pen_remote_segment *segment;
    const void *source;
    size_t len;
    void *dest; /* an address of the target */
    uint64_t offset;
    uint32_t jobrank, flags;
    pen_lane lane;
    uint8_t handler;
    unsigned arg_count;
    uint64_t words[PEN_WIRE_WORDS_MAX];
} pen_am_long;

/* words: the caller's, as for a request. Answers as pen_am_request_long does. */
int pen_am_long_send(pen_am_long *message, const uint64_t *words);

/* The frame that runs the handler. */
int pen_am_long_finish(pen_am_long *message, pen_wire_place place, const void *body,
                       uint32_t body_len, uint32_t flags);

/* pieces.c: for what nobody can put there and no frame holds. The handler runs when the target has
 * acknowledged every piece. */
void pen_am_pieces_send(pen_am_long *message);
void pen_am_pieces_piece(pen_token *token, const int32_t *args, unsigned arg_count, void *body,
                         uint32_t body_len);
void pen_am_pieces_ack(pen_token *token, const int32_t *args, unsigned arg_count, void *body,
                       uint32_t body_len);
void pen_am_pieces_close(pen_am *am);

#endif
