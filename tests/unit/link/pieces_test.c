/* SPDX-License-Identifier: BSD-3-Clause */
/* pieces_test.c: frames that are cut into pieces of any length come together again; begin words
 * have the bits that pieces.h describes; pieces that no sender writes are refused. */
#include "link/host.h"
#include "link/pieces.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { BODY_MAX = 1000 };

static int blocks; /* allocations that are still allowed */

static void *take_memory(void *ctx, size_t len, size_t align)
{
    (void)ctx;
    return blocks-- > 0 ? aligned_alloc(align, len) : NULL;
}

static void give_memory(void *ctx, void *block)
{
    (void)ctx;
    free(block);
}

static const pen_host host = { .alloc = take_memory, .release = give_memory };

/* ---- begin words ----------------------------------------------------------------------------- */

static void begin_words_say_lengths(void **state)
{
    (void)state;
    for (uint32_t words = 1; words <= PEN_PIECE_HEAD_WORDS; words++)
        for (uint32_t body_len = 0; body_len <= 8192; body_len += 1 + body_len / 3) {
            const uint64_t word = pen_piece_begin(words * 8, body_len, false);
            assert_true(word == ((uint64_t)body_len << 32 | words));
            assert_int_equal(pen_piece_head_len(word), words * 8);
            assert_int_equal(pen_piece_body_len(word), body_len);
            assert_false(pen_piece_is_after_puts(word));
            assert_true(pen_piece_is_sound(word, 8192));
            assert_true(body_len == 0 || !pen_piece_is_sound(word, body_len - 1));
            assert_true(pen_piece_is_after_puts(pen_piece_begin(words * 8, 0, true)));
            assert_true(pen_piece_is_sound(pen_piece_begin(words * 8, 0, true), 8192));
        }
}

static void begin_words_that_nobody_writes_are_not_sound(void **state)
{
    (void)state;
    const uint64_t good = pen_piece_begin(16, 100, false);
    for (unsigned bit = 5; bit < 32; bit++)
        assert_false(pen_piece_is_sound(good | UINT64_C(1) << bit, 8192));
    assert_false(pen_piece_is_sound(pen_piece_begin(16, 1, true), 8192)); /* its data came by RMA */
    for (uint64_t words = 0; words < 16; words++)
        assert_int_equal(pen_piece_is_sound(words, 8192),
                         words >= 1 && words <= PEN_PIECE_HEAD_WORDS);
    assert_false(pen_piece_is_sound(pen_piece_begin(8, UINT32_MAX, false), 8192));
}

/* ---- whole frames ---------------------------------------------------------------------------- */

static uint64_t head[PEN_PIECE_HEAD_WORDS];
static unsigned char body[BODY_MAX];

static void fill(void)
{
    for (unsigned i = 0; i < PEN_PIECE_HEAD_WORDS; i++)
        head[i] = 1000 + i;
    for (unsigned i = 0; i < BODY_MAX; i++)
        body[i] = (unsigned char)(i * 7 + (i >> 8));
}

/* Sends a frame in pieces of at most len bytes. After `before` of them its rest is kept. */
static void send(pen_piece_pool *pool, const pen_frame *frame, uint64_t number, uint32_t len,
                 unsigned before, pen_in *in)
{
    uint64_t lead[PEN_PIECE_LEAD_WORDS];
    unsigned char piece[BODY_MAX];
    pen_out_queue queue = { 0 };
    pen_out first = pen_out_begin(frame, false, number, lead), *out = &first;
    for (unsigned i = 0; pen_out_left(out) != 0; i++) {
        if (i == before) {
            assert_int_equal(pen_out_keep(pool, &queue, PEN_LANE_REPLY, first), PEN_POST_DONE);
            memset(lead, 0xaa, sizeof lead); /* it is a copy */
            out = &queue.first->out;
        }
        const pen_piece kind = (pen_piece)out->kind;
        const uint32_t left = pen_out_left(out);
        assert_int_equal(kind, i == 0 ? PEN_PIECE_BEGIN : PEN_PIECE_MORE);
        const uint32_t piece_len = pen_piece_join(piece, pen_out_cut(out, left < len ? left : len));
        assert_int_equal(pen_out_left(out), left - piece_len);
        assert_null(pen_in_add(pool, in, kind, piece, piece_len));
    }
    pen_piece_free(&host, queue.first);
}

static void frames_come_together_again(void **state)
{
    (void)state;
    fill();
    blocks = 1000000;
    pen_piece_pool pool = { &host, BODY_MAX, NULL };
    for (uint32_t words = 1; words <= PEN_PIECE_HEAD_WORDS; words += 3)
        for (uint32_t body_len = 0; body_len <= BODY_MAX; body_len += 1 + body_len / 2)
            for (uint32_t len = 8; len <= 120; len += 56)
                for (unsigned before = 0; before < 3; before++) {
                    const uint64_t told = body_len == 0 ? before : 0;
                    const pen_frame frame = { head, body_len != 0 ? body : NULL, words * 8,
                                              body_len };
                    pen_in in = { 0 };
                    pen_frame got;
                    uint64_t number = 77;
                    send(&pool, &frame, told, len, before, &in);
                    assert_int_equal(in.left, 0);
                    pen_piece_buffer *buffer = pen_in_end(&in, &got, &number);
                    assert_null(in.buffer);
                    assert_true(number == told);
                    assert_int_equal(got.head_len, words * 8);
                    assert_memory_equal(got.head, head, words * 8);
                    assert_int_equal(got.body_len, body_len);
                    assert_true(body_len == 0 || (uintptr_t)got.body % 16 == 0);
                    assert_memory_equal(got.body, body, body_len);
                    pen_piece_give(&pool, buffer);
                }
    pen_piece_free(&host, pool.first);
}

static void a_head_alone_is_one_piece(void **state)
{
    (void)state;
    fill();
    const pen_frame frame = { head, NULL, 24, 0 };
    pen_out out = pen_out_begin(&frame, true, 0, NULL);
    assert_int_equal(out.kind, PEN_PIECE_HEAD);
    const pen_piece_parts parts = pen_out_cut(&out, 24);
    assert_ptr_equal(parts.lead, head);
    assert_int_equal(parts.lead_len, 24);
    assert_int_equal(parts.body_len, 0);
    assert_int_equal(pen_out_left(&out), 0);
}

static void one_request_or_two_other_frames_wait(void **state)
{
    (void)state;
    fill();
    for (pen_lane lane = PEN_LANE_REQUEST; lane <= PEN_LANE_REPLY; lane++) {
        pen_piece_pool pool = { &host, BODY_MAX, NULL };
        pen_out_queue queue = { 0 };
        const pen_out out = { .lead = head, .body = (char *)body, .lead_left = 8, .body_left = 9 };
        blocks = 2;
        assert_int_equal(pen_out_keep(&pool, &queue, lane, out), PEN_POST_DONE);
        assert_int_equal(atomic_load(&queue.is_full), lane == PEN_LANE_REQUEST);
        assert_int_equal(pen_out_keep(&pool, &queue, lane, out), PEN_POST_DONE);
        assert_true(atomic_load(&queue.is_full));
        blocks = 1;
        assert_int_equal(pen_out_keep(&pool, &queue, lane, out), PEN_POST_AGAIN);
        assert_int_equal(blocks, 1);
        pen_piece_free(&host, queue.first);
    }
}

static void no_memory_is_reported(void **state)
{
    (void)state;
    pen_piece_pool pool = { &host, BODY_MAX, NULL };
    pen_out_queue queue = { 0 };
    pen_in in = { 0 };
    const uint64_t begin = pen_piece_begin(8, 8, false);
    blocks = 0;
    assert_false(pen_piece_has_buffer(&pool));
    assert_int_equal(pen_out_keep(&pool, &queue, PEN_LANE_REPLY, (pen_out){ 0 }), PEN_POST_AGAIN);
    assert_non_null(pen_in_add(&pool, &in, PEN_PIECE_BEGIN, &begin, 8));
    assert_null(in.buffer);
    blocks = 1;
    assert_true(pen_piece_has_buffer(&pool));
    assert_int_equal(blocks, 0);
    assert_null(pen_in_add(&pool, &in, PEN_PIECE_BEGIN, &begin, 8)); /* it is the free one */
    assert_null(pool.first);
    pen_host_release(&host, in.buffer);
}

static void pieces_that_no_sender_writes_are_refused(void **state)
{
    (void)state;
    fill();
    blocks = 10;
    pen_piece_pool pool = { &host, BODY_MAX, NULL };
    pen_in in = { 0 };
    const uint64_t good[3] = { pen_piece_begin(8, 8, false), 1, 2 },
                   long_one = pen_piece_begin(8, BODY_MAX + 1, false);
    assert_non_null(pen_in_add(&pool, &in, PEN_PIECE_MORE, good, 8));
    assert_non_null(pen_in_add(&pool, &in, PEN_PIECE_BEGIN, good, 7));
    assert_non_null(pen_in_add(&pool, &in, PEN_PIECE_BEGIN, &long_one, 8));
    assert_null(pen_in_add(&pool, &in, PEN_PIECE_BEGIN, good, 16));
    assert_int_equal(in.left, 8);
    assert_non_null(pen_in_add(&pool, &in, PEN_PIECE_BEGIN, good, 8)); /* a second one */
    assert_non_null(pen_in_add(&pool, &in, PEN_PIECE_MORE, good, 0));
    assert_non_null(pen_in_add(&pool, &in, PEN_PIECE_MORE, good, 9));
    assert_null(pen_in_add(&pool, &in, PEN_PIECE_MORE, good + 2, 8));
    assert_int_equal(in.left, 0);
    pen_host_release(&host, in.buffer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(begin_words_say_lengths),
        cmocka_unit_test(begin_words_that_nobody_writes_are_not_sound),
        cmocka_unit_test(frames_come_together_again),
        cmocka_unit_test(a_head_alone_is_one_piece),
        cmocka_unit_test(one_request_or_two_other_frames_wait),
        cmocka_unit_test(no_memory_is_reported),
        cmocka_unit_test(pieces_that_no_sender_writes_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
