/* SPDX-License-Identifier: BSD-3-Clause */
/* pieces.h: frames that are longer than a packet of the network are cut into pieces, and put
 * together again. The network keeps the packets of a pair in order and carries the kind of each, so
 * that the bytes of a frame need no numbers. Each lane of a pair has at most one frame under way.
 *
 *   HEAD    a whole frame that is only a head
 *   BEGIN   a begin word, then the first bytes of head and body, one behind the other
 *   MORE    the bytes that follow
 *
 *   begin   0..3 words of head | 4 after puts: a word with their number follows | 5..31 zero |
 *           32..63 bytes of body
 *
 * The ends of pieces have no meaning. If a frame cannot go on, its rest is copied into a buffer,
 * from which the owner continues it. The caller holds the lock that guards what it passes. */
#ifndef PEN_LINK_PIECES_H
#define PEN_LINK_PIECES_H

#include "base/compiler.h"
#include "conduit/conduit.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

typedef enum pen_piece { PEN_PIECE_HEAD, PEN_PIECE_BEGIN, PEN_PIECE_MORE, PEN_PIECES } pen_piece;

enum {
    PEN_PIECE_WORD = 8,
    PEN_PIECE_HEAD_WORDS = PEN_FRAME_HEAD_MAX / PEN_PIECE_WORD,
    PEN_PIECE_LEAD_WORDS = PEN_PIECE_HEAD_WORDS + 2, /* begin word, number of puts, head */
};

/* A frame that is being sent. Both parts shrink as pieces go. */
typedef struct pen_out {
    const uint64_t *lead; /* begin word, number of puts, head */
    const char *body;
    uint32_t lead_left, body_left; /* bytes */
    uint32_t args_len;             /* bytes of the head behind its first word */
    uint8_t kind;                  /* kind of the next piece; MORE: the frame has begun */
} pen_out;

/* Contents of a piece: words, and bytes behind them. */
typedef struct pen_piece_parts {
    const uint64_t *lead;
    const char *body;
    uint32_t lead_len, body_len;
} pen_piece_parts;

/* The rest of a frame that is being sent, or a frame of which pieces are missing. */
typedef struct pen_piece_buffer {
    struct pen_piece_buffer *next;
    pen_out out;
    _Alignas(16) uint64_t words[]; /* with two more: one to align a body, one behind it */
} pen_piece_buffer;

/* Free buffers. */
typedef struct pen_piece_pool {
    const pen_host *host;
    uint32_t body_max;
    pen_piece_buffer *first;
} pen_piece_pool;

typedef struct pen_out_queue { /* frames of one lane to one peer, which polls send */
    pen_piece_buffer *first;   /* at most two; one if it is a request */
    _Atomic bool is_full;      /* relaxed: it is a hint only */
} pen_out_queue;

typedef struct pen_in {       /* the frame of one lane that comes from one peer */
    pen_piece_buffer *buffer; /* NULL: no frame has begun */
    uint64_t begin;           /* its begin word */
    char *to;                 /* the place of the next byte */
    uint32_t left;            /* bytes to come */
} pen_in;

/* ---- begin words ----------------------------------------------------------------------------- */

static inline uint64_t pen_piece_begin(uint32_t head_len, uint32_t body_len, bool after_puts)
{
    return (uint64_t)body_len << 32 | (after_puts ? 1u << 4 : 0u) | head_len / PEN_PIECE_WORD;
}

static inline uint32_t pen_piece_head_len(uint64_t begin)
{
    return (uint32_t)(begin & 15u) * PEN_PIECE_WORD;
}

static inline uint32_t pen_piece_body_len(uint64_t begin) { return (uint32_t)(begin >> 32); }

static inline bool pen_piece_is_after_puts(uint64_t begin) { return (begin >> 4 & 1u) != 0; }

/* Whether the word begins a piece of len bytes that holds the whole frame and waits for no puts. */
static inline bool pen_piece_is_whole(uint64_t begin, uint32_t len)
{
    const uint64_t head_len = pen_piece_head_len(begin);
    return ((uint32_t)begin >> 4) == 0 && head_len - 1 < PEN_FRAME_HEAD_MAX &&
           PEN_PIECE_WORD + head_len + (begin >> 32) == len;
}

bool pen_piece_is_sound(uint64_t begin, uint32_t body_max);

/* ---- buffers --------------------------------------------------------------------------------- */

/* Returns NULL if there is no memory. */
pen_piece_buffer *pen_piece_take(pen_piece_pool *pool);

static inline void pen_piece_give(pen_piece_pool *pool, pen_piece_buffer *buffer)
{
    buffer->next = pool->first;
    pool->first = buffer;
}

/* Makes sure that there is a free buffer. */
static inline bool pen_piece_has_buffer(pen_piece_pool *pool)
{
    if (pen_likely(pool->first != NULL))
        return true;
    pen_piece_buffer *buffer = pen_piece_take(pool);
    if (buffer != NULL)
        pen_piece_give(pool, buffer);
    return buffer != NULL;
}

/* Frees a list of buffers, such as a pool's, or those of a queue. */
void pen_piece_free(const pen_host *host, pen_piece_buffer *first);

/* ---- sending --------------------------------------------------------------------------------- */

static inline uint32_t pen_out_left(const pen_out *out) { return out->lead_left + out->body_left; }

/* Begins a frame that waits for `number` puts. lead: memory for all that comes before the body. */
static inline __attribute__((always_inline)) pen_out pen_out_begin(const pen_frame *frame,
                                                                   bool is_head, uint64_t number,
                                                                   uint64_t *lead)
{
    pen_out out = { .lead = frame->head,
                    .body = frame->body,
                    .lead_left = frame->head_len,
                    .body_left = frame->body_len,
                    .args_len = frame->head_len - PEN_PIECE_WORD,
                    .kind = PEN_PIECE_HEAD };
    if (is_head)
        return out;
    uint64_t *at = lead;
    *at++ = pen_piece_begin(frame->head_len, frame->body_len, number != 0);
    if (number != 0)
        *at++ = number;
    for (uint32_t i = 0; i < frame->head_len / PEN_PIECE_WORD; i++)
        *at++ = ((const uint64_t *)frame->head)[i];
    out.lead = lead;
    out.lead_left = (uint32_t)((char *)at - (char *)lead);
    out.kind = PEN_PIECE_BEGIN;
    return out;
}

/* Takes the next len bytes of the frame for a piece. */
static inline __attribute__((always_inline)) pen_piece_parts pen_out_cut(pen_out *out, uint32_t len)
{
    const uint32_t lead_len = len < out->lead_left ? len : out->lead_left;
    const pen_piece_parts parts = { out->lead, out->body, lead_len, len - lead_len };
    out->lead += lead_len / PEN_PIECE_WORD;
    out->lead_left -= lead_len;
    if (len != lead_len) /* the body may be NULL */
        out->body += len - lead_len;
    out->body_left -= len - lead_len;
    out->kind = PEN_PIECE_MORE;
    return parts;
}

/* Joins the parts in `room`, which has memory for them; returns their length. */
uint32_t pen_piece_join(void *room, pen_piece_parts parts);

void pen_out_set_full(pen_out_queue *queue, pen_lane lane);

/* Copies the rest of a frame into the queue. One further frame may wait behind the one that is
 * under way. Returns DONE, or AGAIN if there is no room. */
pen_post pen_out_keep(pen_piece_pool *pool, pen_out_queue *queue, pen_lane lane, pen_out out);

/* ---- receiving ------------------------------------------------------------------------------- */

const char *pen_in_begin(pen_piece_pool *pool, pen_in *in, const void *bytes, uint32_t len);

/* Adds a piece to its frame. Returns the error as a clause, or NULL; the frame is complete if
 * `left` is 0. */
static inline const char *pen_in_add(pen_piece_pool *pool, pen_in *in, pen_piece kind,
                                     const void *bytes, uint32_t len)
{
    const char *wrong = NULL;
    if (kind == PEN_PIECE_BEGIN)
        wrong = pen_in_begin(pool, in, bytes, len);
    else if (in->buffer == NULL || len == 0)
        wrong = "a packet continues a frame that has not begun";
    if (wrong == NULL && len > in->left)
        wrong = "a frame is longer than announced";
    if (wrong != NULL)
        return wrong;
    memcpy(in->to, bytes, len);
    in->to += len;
    in->left -= len;
    return NULL;
}

/* Ends a frame that is complete, and fills *out, whose memory is that of the buffer. Its body is
 * aligned to 16. number: that of the puts it waits for, or 0. The caller gives the buffer back. */
pen_piece_buffer *pen_in_end(pen_in *in, pen_frame *out, uint64_t *number);

#endif
