/* SPDX-License-Identifier: BSD-3-Clause */
/* pieces.c: a Long too long for a frame, to memory that we can reach by frames only. Its payload
 * goes in internal messages, each acknowledged; since frames keep no order, the frame that runs the
 * handler is sent when the last acknowledgement is there.
 *
 * A request waits for that. A reply may not: its pieces are queued where they find no room, and
 * the handler of the last acknowledgement sends the final frame. */
#include "am/am_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Arguments of a piece and of its acknowledgement. */
enum {
    PIECE_ID_LOW,
    PIECE_ID_HIGH,
    PIECE_SEGMENT,
    PIECE_OFFSET_LOW,
    PIECE_OFFSET_HIGH,
    PIECE_ARGS
};
enum { ACK_ARGS = PIECE_ID_HIGH + 1 };

typedef struct pen_am_pieces {
    struct pen_am_pieces *next;
    uint64_t id;
    uint32_t unacknowledged; /* and 1 more while sending; guarded by am->lock */
    bool sending;            /* the sender still looks at this; guarded by am->lock */
    pen_am_long message;
} pen_am_pieces;

static uint64_t pieces_u64(const int32_t *low_high)
{
    return (uint32_t)low_high[0] | (uint64_t)(uint32_t)low_high[1] << 32;
}

static pen_am_pieces *pieces_open(const pen_am_long *message)
{
    pen_am *am = message->job->am;
    pen_am_pieces *pieces = malloc(sizeof *pieces);
    if (pieces == NULL)
        pen_job_fatal(message->job,
                      "cannot send a Long of %zu bytes to rank %u: malloc: %s; send smaller ones "
                      "or start fewer ranks",
                      message->len, message->jobrank, strerror(errno));
    pieces->message = *message;
    pieces->unacknowledged = 1;
    pieces->sending = true;
    pen_lock_take(&am->lock);
    pieces->id = ++am->pieces_id;
    pieces->next = am->pieces;
    am->pieces = pieces;
    pen_lock_drop(&am->lock);
    return pieces;
}

/* Called under the lock. True: that was the last, and the entry is off the list. */
static bool pieces_drop(pen_am_pieces **link)
{
    pen_am_pieces *pieces = *link;
    if (--pieces->unacknowledged != 0)
        return false;
    *link = pieces->next;
    return true;
}

static pen_am_pieces **pieces_find(pen_am *am, uint64_t id)
{
    pen_am_pieces **link = &am->pieces;
    while (*link != NULL && (*link)->id != id)
        link = &(*link)->next;
    return link;
}

/* Drops the sender's own count; true: every piece has been acknowledged already. */
static bool pieces_sent(pen_am *am, uint64_t id)
{
    pen_lock_take(&am->lock);
    pen_am_pieces **link = pieces_find(am, id);
    (*link)->sending = false;
    bool last = pieces_drop(link);
    pen_lock_drop(&am->lock);
    return last;
}

static bool pieces_acknowledged(pen_am *am, const pen_am_pieces *pieces)
{
    pen_lock_take(&am->lock);
    bool done = pieces->unacknowledged == 1;
    pen_lock_drop(&am->lock);
    return done;
}

static void pieces_post(pen_am_pieces *pieces, size_t done, uint32_t len, pen_waiter *waiter)
{
    const pen_am_long *message = &pieces->message;
    pen_am *am = message->job->am;
    uint64_t offset = message->offset + done;
    int32_t args[PIECE_ARGS] = { (int32_t)(uint32_t)pieces->id, (int32_t)(pieces->id >> 32),
                                 (int32_t)message->segment->number, (int32_t)(uint32_t)offset,
                                 (int32_t)(offset >> 32) };
    pen_lock_take(&am->lock);
    pieces->unacknowledged++;
    pen_lock_drop(&am->lock);
    while (pen_am_send_internal(message->job, message->jobrank, message->lane,
                                PEN_AM_INT_LONG_PIECE, PIECE_ARGS, args,
                                (const char *)message->source + done, len) != 0)
        pen_wait_step(waiter); /* requests only: replies are queued */
}

void pen_am_pieces_send(pen_am_long *message)
{
    pen_job *job = message->job;
    pen_waiter waiter = pen_waiter_of(&job->progress, false);
    pen_am_pieces *pieces = pieces_open(message);
    uint64_t id = pieces->id;
    for (size_t done = 0; done < message->len;) {
        size_t left = message->len - done;
        uint32_t len = left < job->am->medium_max ? (uint32_t)left : (uint32_t)job->am->medium_max;
        pieces_post(pieces, done, len, &waiter);
        done += len;
    }
    if (message->lane == PEN_LANE_REQUEST)
        while (!pieces_acknowledged(job->am, pieces))
            pen_wait_step(&waiter);
    if (pieces_sent(job->am, id)) { /* else the last acknowledgement finishes and frees it */
        free(pieces);
        (void)pen_am_long_finish(message, PEN_WIRE_PLACED, NULL, 0, 0);
    }
}

static void pieces_malformed(pen_token *token) { token->job->counters.frame_dropped++; }

/* At the target. */
void pen_am_pieces_piece(pen_token *token, const int32_t *args, unsigned arg_count, void *body,
                         uint32_t body_len)
{
    pen_job *job = token->job;
    void *dest = NULL;
    if (arg_count == PIECE_ARGS && body_len != 0)
        dest = pen_mem_resolve(&job->mem, (uint32_t)args[PIECE_SEGMENT],
                               pieces_u64(&args[PIECE_OFFSET_LOW]), body_len);
    if (dest == NULL) {
        pieces_malformed(token);
        return;
    }
    memcpy(dest, body, body_len);
    pen_lane lane = token->is_request ? PEN_LANE_REPLY : PEN_LANE_CONTROL;
    (void)pen_am_send_internal(job, token->from, lane, PEN_AM_INT_LONG_ACK, ACK_ARGS, args, NULL,
                               0);
}

/* At the initiator. */
void pen_am_pieces_ack(pen_token *token, const int32_t *args, unsigned arg_count, void *body,
                       uint32_t body_len)
{
    pen_am *am = token->job->am;
    (void)body;
    if (arg_count != ACK_ARGS || body_len != 0) {
        pieces_malformed(token);
        return;
    }
    pen_lock_take(&am->lock);
    pen_am_pieces **link = pieces_find(am, pieces_u64(&args[PIECE_ID_LOW]));
    pen_am_pieces *pieces = *link;
    bool known = pieces != NULL && pieces->message.jobrank == token->from &&
                 pieces->unacknowledged > (pieces->sending ? 1 : 0); /* none too many */
    bool last = known && pieces_drop(link);
    pen_lock_drop(&am->lock);
    if (!known) {
        pieces_malformed(token);
    } else if (last) {
        (void)pen_am_long_finish(&pieces->message, PEN_WIRE_PLACED, NULL, 0, 0);
        free(pieces);
    }
}

void pen_am_pieces_close(pen_am *am)
{
    while (am->pieces != NULL) {
        pen_am_pieces *pieces = am->pieces;
        am->pieces = pieces->next;
        free(pieces);
    }
}
