/* SPDX-License-Identifier: BSD-3-Clause */
/* rates_test.c: that each kind of impairment hits as many frames as asked for, no other frame, and
 * the same ones each time. */
#include "impair_bench.h"

enum { MANY = 100000 };
#define BODY_LEN(tag) ((uint32_t)((tag) % 20))

/* One in ten of MANY: five standard deviations of the binomial distribution. */
static void assert_a_tenth(uint64_t count)
{
    assert_in_range(count, MANY / 10 - 475, MANY / 10 + 475);
}

static void send_many(bench *b)
{
    for (uint64_t tag = 0; tag < MANY; tag++)
        assert_int_equal(send(b, (pen_peer)(tag % 3), tag, BODY_LEN(tag)), PEN_POST_DONE);
    b->inner.now_ns += UINT64_C(10000000000);
    (void)poll(b);
}

/* ---- rates ----------------------------------------------------------------------------------- */

static void nothing_asked_is_nothing_done(void **state)
{
    (void)state;
    bench b;
    pen_impair_config config = { .seed = 1 };
    assert_false(pen_impair_is_on(&config));
    bench_open(&b, 1, &config);
    send_many(&b);
    assert_int_equal(b.inner.frame_count, MANY);
    for (uint64_t tag = 0; tag < MANY; tag++)
        assert_arrived(&b, tag, (pen_peer)(tag % 3), tag, BODY_LEN(tag));
    assert_int_equal(b.link->caps.flags, b.inner.base.caps.flags);
    pen_impair_counts counts = pen_impair_read(b.link);
    assert_int_equal(counts.frames, MANY);
    assert_int_equal(counts.dropped + counts.duplicated + counts.reordered + counts.delayed +
                         counts.corrupted + counts.spared,
                     0);
    bench_close(&b);
}

static void frames_are_dropped_at_the_rate_asked_for(void **state)
{
    (void)state;
    bench b;
    pen_impair_config config = { .drop = 0.1, .seed = 1 };
    bench_open(&b, 1, &config);
    send_many(&b);
    uint64_t dropped = pen_impair_read(b.link).dropped;
    assert_a_tenth(dropped);
    assert_int_equal(b.inner.frame_count, MANY - dropped);
    for (size_t i = 0; i < b.inner.frame_count; i++)
        assert_int_equal(damage(&b.inner.frames[i], b.inner.frames[i].head[0]), 0);
    bench_close(&b);
}

static void doubled_frames_arrive_twice_and_others_once(void **state)
{
    (void)state;
    bench b;
    pen_impair_config config = { .duplicate = 0.1, .seed = 1 };
    bench_open(&b, 1, &config);
    send_many(&b);
    uint64_t duplicated = pen_impair_read(b.link).duplicated, seen = 0;
    assert_a_tenth(duplicated);
    assert_int_equal(b.inner.frame_count, MANY + duplicated);
    for (uint64_t tag = 0, i = 0; tag < MANY; tag++, i++) {
        assert_arrived(&b, i, (pen_peer)(tag % 3), tag, BODY_LEN(tag));
        if (i + 1 < b.inner.frame_count && b.inner.frames[i + 1].head[0] == tag) {
            assert_arrived(&b, ++i, (pen_peer)(tag % 3), tag, BODY_LEN(tag));
            seen++;
        }
    }
    assert_int_equal(seen, duplicated);
    bench_close(&b);
}

static void one_bit_of_a_corrupted_frame_is_flipped_anywhere(void **state)
{
    (void)state;
    bench b;
    pen_impair_config config = { .corrupt = 0.1, .seed = 1 };
    bench_open(&b, 1, &config);
    send_many(&b);
    uint64_t corrupted = pen_impair_read(b.link).corrupted, seen = 0;
    bool in_head[2] = { false, false }, in_body_end = false;
    assert_a_tenth(corrupted);
    assert_int_equal(b.inner.frame_count, MANY);
    for (uint64_t tag = 0; tag < MANY; tag++) {
        const inner_frame *frame = &b.inner.frames[tag];
        assert_true(damage(frame, tag) <= 1);
        seen += damage(frame, tag);
        in_head[0] = in_head[0] || frame->head[0] != tag;
        in_head[1] = in_head[1] || frame->head[1] != ~tag;
        if (frame->body_len == 19)
            in_body_end = in_body_end || frame->body[18] != body_byte(tag, 18);
    }
    assert_int_equal(seen, corrupted);
    assert_true(in_head[0] && in_head[1] && in_body_end);
    bench_close(&b);
}

/* Every frame arrives exactly once, in any order. */
static void assert_each_once(const bench *b)
{
    bool *seen = (bool *)calloc(MANY, sizeof(bool));
    assert_non_null(seen);
    assert_int_equal(b->inner.frame_count, MANY);
    for (size_t i = 0; i < MANY; i++) {
        uint64_t tag = b->inner.frames[i].head[0];
        assert_true(tag < MANY && !seen[tag]);
        seen[tag] = true;
        assert_arrived(b, i, (pen_peer)(tag % 3), tag, BODY_LEN(tag));
    }
    free(seen);
}

static void reordered_frames_arrive_once_behind_the_next_of_their_lane(void **state)
{
    (void)state;
    bench b;
    pen_impair_config config = { .reorder = 0.1, .seed = 1 };
    uint64_t inversions = 0, newest[3] = { 0 };
    bench_open(&b, 1, &config);
    send_many(&b);
    assert_a_tenth(pen_impair_read(b.link).reordered);
    assert_each_once(&b);
    for (size_t i = 0; i < MANY; i++) {
        uint64_t tag = b.inner.frames[i].head[0];
        inversions += tag < newest[tag % 3];
        newest[tag % 3] = tag > newest[tag % 3] ? tag : newest[tag % 3];
    }
    /* All but those behind which nothing came. */
    assert_in_range(inversions, pen_impair_read(b.link).reordered - 9,
                    pen_impair_read(b.link).reordered);
    bench_close(&b);
}

static void delayed_frames_arrive_once(void **state)
{
    (void)state;
    bench b;
    pen_impair_config config = { .delay = 0.1, .delay_s = 1e-3, .seed = 1 };
    bench_open(&b, 1, &config);
    for (uint64_t tag = 0; tag < MANY; tag++) {
        assert_int_equal(send(&b, (pen_peer)(tag % 3), tag, BODY_LEN(tag)), PEN_POST_DONE);
        b.inner.now_ns += 1000;
    }
    b.inner.now_ns += 1000000;
    assert_true(poll(&b) != 0);
    assert_a_tenth(pen_impair_read(b.link).delayed);
    assert_int_equal(pen_impair_read(b.link).spared, 0);
    assert_each_once(&b);
    bench_close(&b);
}

static void all_at_once_each_keep_their_rate(void **state)
{
    (void)state;
    bench b;
    pen_impair_config config = { .drop = 0.1,
                                 .duplicate = 0.1,
                                 .reorder = 0.1,
                                 .delay = 0.1,
                                 .corrupt = 0.1,
                                 .delay_s = 1e-3,
                                 .seed = 9 };
    bench_open(&b, 1, &config);
    for (uint64_t tag = 0; tag < MANY; tag++) {
        assert_int_equal(send(&b, (pen_peer)(tag % 3), tag, BODY_LEN(tag)), PEN_POST_DONE);
        b.inner.now_ns += 20000;
    }
    b.inner.now_ns += 1000000;
    (void)poll(&b);
    pen_impair_counts counts = pen_impair_read(b.link);
    assert_a_tenth(counts.dropped);
    assert_in_range(counts.duplicated, MANY * 0.09 - 475, MANY * 0.09 + 475);
    assert_in_range(counts.corrupted, MANY * 0.09 - 475, MANY * 0.09 + 475);
    assert_in_range(counts.delayed, MANY * 0.09 - 475, MANY * 0.09 + 475);
    assert_in_range(counts.reordered, MANY * 0.081 - 475, MANY * 0.081 + 475);
    assert_int_equal(b.inner.frame_count, MANY - counts.dropped + counts.duplicated);
    bench_close(&b);
}

/* ---- the same again -------------------------------------------------------------------------- */

/* A sum over all that arrived; not over the order, in which it counts when there was room. */
static uint64_t outcome(pen_peer self, int64_t seed, unsigned full_every)
{
    bench b;
    pen_impair_config config = {
        .drop = 0.2, .duplicate = 0.2, .reorder = 0.2, .delay = 0.2, .corrupt = 0.2, .seed = seed
    };
    uint64_t sum = 0;
    bench_open(&b, self, &config);
    for (uint64_t tag = 0; tag < 2000; tag++) {
        b.inner.is_full = full_every != 0 && tag % full_every == 0;
        while (send(&b, (pen_peer)(tag % 3), tag, BODY_LEN(tag)) == PEN_POST_AGAIN)
            b.inner.is_full = false;
        b.inner.is_full = false;
        b.inner.now_ns += 5000000; /* the next poll passes held frames on */
        (void)poll(&b);
    }
    for (size_t i = 0; i < b.inner.frame_count; i++)
        sum += (b.inner.frames[i].head[0] * 257 + b.inner.frames[i].body[0]) *
               (b.inner.frames[i].head[0] + b.inner.frames[i].body[0] + 1);
    bench_close(&b);
    return sum;
}

static void a_seed_and_a_rank_decide_all(void **state)
{
    (void)state;
    uint64_t sum = outcome(1, 5, 0);
    assert_int_equal(outcome(1, 5, 0), sum);
    assert_int_not_equal(outcome(1, 6, 0), sum);
    assert_int_not_equal(outcome(2, 5, 0), sum);
}

static void a_post_that_finds_no_room_changes_nothing(void **state)
{
    (void)state;
    bench b;
    pen_impair_config config = { .duplicate = 0.5, .corrupt = 0.5, .seed = 3 };
    assert_int_equal(outcome(1, 5, 3), outcome(1, 5, 0));
    bench_open(&b, 1, &config);
    b.inner.is_full = true;
    for (uint64_t tag = 0; tag < 100; tag++)
        assert_int_equal(send(&b, 0, tag, 8), PEN_POST_AGAIN);
    assert_int_equal(b.inner.posts, 100);
    assert_int_equal(pen_impair_read(b.link).frames, 0);
    assert_int_equal(b.inner.blocks, 1); /* the link itself */
    bench_close(&b);
}

static void a_lost_peer_is_answered_and_nothing_stays(void **state)
{
    (void)state;
    bench b;
    pen_impair_config config = { .duplicate = 1, .corrupt = 1, .seed = 3 };
    bench_open(&b, 1, &config);
    b.inner.is_lost = true;
    assert_int_equal(send(&b, 0, 1, 8), PEN_POST_FAILED);
    assert_int_equal(b.inner.blocks, 1);
    b.inner.is_lost = false;
    assert_int_equal(send(&b, 0, 1, 8), PEN_POST_DONE);
    bench_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_asked_is_nothing_done),
        cmocka_unit_test(frames_are_dropped_at_the_rate_asked_for),
        cmocka_unit_test(doubled_frames_arrive_twice_and_others_once),
        cmocka_unit_test(one_bit_of_a_corrupted_frame_is_flipped_anywhere),
        cmocka_unit_test(reordered_frames_arrive_once_behind_the_next_of_their_lane),
        cmocka_unit_test(delayed_frames_arrive_once),
        cmocka_unit_test(all_at_once_each_keep_their_rate),
        cmocka_unit_test(a_seed_and_a_rank_decide_all),
        cmocka_unit_test(a_post_that_finds_no_room_changes_nothing),
        cmocka_unit_test(a_lost_peer_is_answered_and_nothing_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
