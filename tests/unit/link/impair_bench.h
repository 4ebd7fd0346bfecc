/* SPDX-License-Identifier: BSD-3-Clause */
/* impair_bench.h: an impairing link round an inner_link, and frames to send through it. */
#ifndef PEN_TEST_IMPAIR_BENCH_H
#define PEN_TEST_IMPAIR_BENCH_H

#include "link/impair.h"

#include "inner_link.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

typedef struct bench {
    inner_link inner;
    pen_link *link;
} bench;

static inline void bench_open(bench *b, pen_peer self, const pen_impair_config *config)
{
    inner_init(&b->inner, self);
    assert_int_equal(pen_impair_open(&b->inner.base, config, PEN_ALONE, &b->link), PEN_OK);
}

/* Nothing may be left that was lent. */
static inline void bench_close(bench *b)
{
    b->link->ops->close(b->link);
    assert_int_equal(b->inner.closes, 1);
    assert_int_equal(b->inner.blocks, 0);
    free(b->inner.frames);
}

static inline unsigned char body_byte(uint64_t tag, uint32_t i)
{
    return (unsigned char)(tag * 5 + i);
}

/* A frame with this tag, whose memory is overwritten as soon as post has returned. */
static inline pen_post send_lane(bench *b, pen_peer to, pen_lane lane, uint64_t tag,
                                 uint32_t body_len, pen_op *op)
{
    uint64_t head[2] = { tag, ~tag };
    unsigned char body[INNER_BODY_MAX];
    for (uint32_t i = 0; i < body_len; i++)
        body[i] = body_byte(tag, i);
    pen_frame frame = { head, body_len != 0 ? body : NULL, sizeof head, body_len };
    pen_post result = b->link->ops->post(b->link, to, lane, &frame, op);
    memset(head, 0xee, sizeof head);
    memset(body, 0xee, sizeof body);
    return result;
}

static inline pen_post send(bench *b, pen_peer to, uint64_t tag, uint32_t body_len)
{
    return send_lane(b, to, PEN_LANE_REQUEST, tag, body_len, NULL);
}

static inline unsigned poll(bench *b) { return b->link->ops->poll(b->link, PEN_LANES_ALL, 32); }

static inline unsigned bits_of(unsigned char byte) { return (unsigned)__builtin_popcount(byte); }

/* How many bits of a frame differ from what was sent with that tag. */
static inline unsigned damage(const inner_frame *frame, uint64_t tag)
{
    uint64_t head[2] = { tag, ~tag };
    unsigned bits = (unsigned)__builtin_popcountll(frame->head[0] ^ head[0]) +
                    (unsigned)__builtin_popcountll(frame->head[1] ^ head[1]);
    for (uint32_t i = 0; i < frame->body_len; i++)
        bits += bits_of((unsigned char)(frame->body[i] ^ body_byte(tag, i)));
    return bits;
}

static inline void assert_arrived(const bench *b, size_t i, pen_peer to, uint64_t tag,
                                  uint32_t body_len)
{
    assert_true(i < b->inner.frame_count);
    assert_int_equal(b->inner.frames[i].to, to);
    assert_int_equal(b->inner.frames[i].body_len, body_len);
    assert_int_equal(damage(&b->inner.frames[i], tag), 0);
}

#endif
