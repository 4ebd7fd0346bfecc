/* SPDX-License-Identifier: BSD-3-Clause */
/* pieces.c: buffers for frames that were begun, and putting frames together. */
#include "link/pieces.h"

#include "base/compiler.h"
#include "conduit/conduit.h"

#include <string.h>

bool pen_piece_is_sound(uint64_t begin, uint32_t body_max)
{
    const uint32_t head_words = (uint32_t)(begin & 15u);
    const uint32_t len_max = pen_piece_is_after_puts(begin) ? 0 : body_max;
    return ((uint32_t)begin >> 5) == 0 && head_words >= 1 && head_words <= PEN_PIECE_HEAD_WORDS &&
           pen_piece_body_len(begin) <= len_max;
}

/* ---- buffers --------------------------------------------------------------------------------- */

pen_piece_buffer *pen_piece_take(pen_piece_pool *pool)
{
    const pen_host *host = pool->host;
    pen_piece_buffer *buffer = pool->first;
    if (pen_likely(buffer != NULL)) {
        pool->first = buffer->next;
        return buffer;
    }
    const size_t len = (PEN_PIECE_LEAD_WORDS + 2) * PEN_PIECE_WORD + pool->body_max;
    return host->alloc(host->ctx, pen_align_up(sizeof *buffer + len, PEN_CACHE_LINE),
                       PEN_CACHE_LINE);
}

void pen_piece_free(const pen_host *host, pen_piece_buffer *first)
{
    while (first != NULL) {
        pen_piece_buffer *next = first->next;
        host->release(host->ctx, first);
        first = next;
    }
}

/* ---- sending --------------------------------------------------------------------------------- */

uint32_t pen_piece_join(void *room, pen_piece_parts parts)
{
    if (parts.lead_len != 0)
        memcpy(room, parts.lead, parts.lead_len);
    if (parts.body_len != 0)
        memcpy((char *)room + parts.lead_len, parts.body, parts.body_len);
    return parts.lead_len + parts.body_len;
}

void pen_out_set_full(pen_out_queue *queue, pen_lane lane)
{
    const bool is_full =
        queue->first != NULL && (lane == PEN_LANE_REQUEST || queue->first->next != NULL);
    atomic_store_explicit(&queue->is_full, is_full, memory_order_relaxed); /* see pen_out_queue */
}

pen_post pen_out_keep(pen_piece_pool *pool, pen_out_queue *queue, pen_lane lane, pen_out out)
{
    if (queue->first != NULL && queue->first->next != NULL)
        return PEN_POST_AGAIN;
    pen_piece_buffer *buffer = pen_piece_take(pool);
    if (buffer == NULL)
        return PEN_POST_AGAIN;
    buffer->next = NULL;
    buffer->out = out;
    buffer->out.lead = buffer->words;
    buffer->out.body = (const char *)buffer->words + out.lead_left;
    (void)pen_piece_join(buffer->words,
                         (pen_piece_parts){ out.lead, out.body, out.lead_left, out.body_left });
    *(queue->first == NULL ? &queue->first : &queue->first->next) = buffer;
    pen_out_set_full(queue, lane);
    return PEN_POST_DONE;
}

/* ---- receiving ------------------------------------------------------------------------------- */

/* The place of a frame in its buffer, where its body, if it has one, is aligned to 16. */
static uint64_t *start_of(const pen_in *in)
{
    return in->buffer->words + (pen_piece_head_len(in->begin) % 16 == 0);
}

const char *pen_in_begin(pen_piece_pool *pool, pen_in *in, const void *bytes, uint32_t len)
{
    uint64_t begin = 0;
    if (len >= sizeof begin)
        memcpy(&begin, bytes, sizeof begin);
    if (in->buffer != NULL || !pen_piece_is_sound(begin, pool->body_max))
        return "a frame has a malformed begin";
    in->buffer = pen_piece_take(pool);
    if (in->buffer == NULL)
        return "there is no memory for its message";
    in->begin = begin;
    in->to = (char *)start_of(in);
    in->left = (pen_piece_is_after_puts(begin) ? 2 : 1) * PEN_PIECE_WORD +
               pen_piece_head_len(begin) + pen_piece_body_len(begin);
    return NULL;
}

pen_piece_buffer *pen_in_end(pen_in *in, pen_frame *out, uint64_t *number)
{
    pen_piece_buffer *buffer = in->buffer;
    const uint64_t *start = start_of(in);
    const bool is_after_puts = pen_piece_is_after_puts(in->begin);
    const uint64_t *head = start + (is_after_puts ? 2 : 1);
    const uint32_t head_len = pen_piece_head_len(in->begin);
    *number = is_after_puts ? start[1] : 0;
    *out = (pen_frame){ .head = head,
                        .head_len = head_len,
                        .body = (const char *)head + head_len,
                        .body_len = pen_piece_body_len(in->begin) };
    in->buffer = NULL;
    return buffer;
}
