/* SPDX-License-Identifier: BSD-3-Clause */
/* impair_test.c: that frames which wait, fly or are written in place go when they should, and that
 * neither they nor memory get lost. */
#include "impair_bench.h"

/* ---- frames that wait ------------------------------------------------------------------------ */

static void a_delayed_frame_goes_when_its_time_is_up(void **state)
{
    (void)state;
    bench b;
    pen_impair_config config = { .delay = 1, .delay_s = 0.25, .seed = 1 };
    bench_open(&b, 1, &config);
    assert_int_equal(send(&b, 2, 11, 20), PEN_POST_DONE);
    b.inner.now_ns = 249999999;
    assert_int_equal(poll(&b), 0);
    assert_int_equal(b.inner.frame_count, 0);
    b.inner.now_ns = 250000000;
    assert_int_equal(poll(&b), 1);
    assert_arrived(&b, 0, 2, 11, 20);
    assert_int_equal(poll(&b), 0);
    assert_int_equal(b.inner.frame_count, 1);
    assert_int_equal(b.inner.polls, 3);
    bench_close(&b);
}

/* Posts frames to that peer and lane until one has been held; answers its tag. */
static uint64_t send_until_held(bench *b, pen_peer to, pen_lane lane, uint64_t tag)
{
    uint64_t before = pen_impair_read(b->link).reordered;
    while (pen_impair_read(b->link).reordered == before)
        assert_int_equal(send_lane(b, to, lane, tag++, 0, NULL), PEN_POST_DONE);
    return tag - 1;
}

/* ... until one has gone. */
static void send_until_sent(bench *b, pen_peer to, pen_lane lane)
{
    size_t before = b->inner.frame_count;
    while (b->inner.frame_count == before)
        assert_int_equal(send_lane(b, to, lane, 999, 0, NULL), PEN_POST_DONE);
}

static void only_the_same_peer_and_lane_overtake_a_reordered_frame(void **state)
{
    (void)state;
    bench b;
    pen_impair_config config = { .reorder = 0.5, .seed = 4 };
    bench_open(&b, 1, &config);
    uint64_t tag = send_until_held(&b, 1, PEN_LANE_REPLY, 100);
    send_until_sent(&b, 2, PEN_LANE_REPLY);
    send_until_sent(&b, 1, PEN_LANE_REQUEST);
    for (size_t i = 0; i < b.inner.frame_count; i++)
        assert_int_not_equal(b.inner.frames[i].head[0], tag);
    size_t before = b.inner.frame_count;
    send_until_sent(&b, 1, PEN_LANE_REPLY);
    assert_int_equal(b.inner.frames[before].head[0], 999);
    assert_int_equal(b.inner.frames[before + 1].head[0], tag);
    bench_close(&b);
}

static void a_reordered_frame_that_nothing_overtakes_goes_after_a_millisecond(void **state)
{
    (void)state;
    bench b;
    pen_impair_config config = { .reorder = 1, .seed = 4 };
    bench_open(&b, 1, &config);
    assert_int_equal(send(&b, 2, 11, 0), PEN_POST_DONE);
    assert_int_equal(send(&b, 2, 12, 0), PEN_POST_DONE);
    assert_int_equal(poll(&b), 0);
    b.inner.now_ns = 1000000;
    assert_int_equal(poll(&b), 2);
    assert_arrived(&b, 0, 2, 11, 0);
    assert_arrived(&b, 1, 2, 12, 0);
    bench_close(&b);
}

static void no_more_frames_wait_than_said_and_the_rest_are_spared(void **state)
{
    (void)state;
    bench b;
    pen_impair_config config = { .delay = 1, .duplicate = 1, .delay_s = 3600, .seed = 1 };
    bench_open(&b, 1, &config);
    for (uint64_t tag = 0; tag < 1000; tag++) {
        assert_int_equal(send(&b, 0, tag, 20), PEN_POST_DONE);
        assert_true(b.inner.blocks <= 1 + PEN_IMPAIR_HELD_MAX);
    }
    pen_impair_counts counts = pen_impair_read(b.link);
    assert_int_equal(counts.delayed, PEN_IMPAIR_HELD_MAX - 1); /* one place is left for the twin */
    assert_true(counts.spared >= 1000 - counts.delayed);
    assert_int_equal(b.inner.frame_count, 1000 - counts.delayed + counts.duplicated);
    b.link->ops->close(b.link);
    assert_int_equal(b.inner.frame_count, 1000 + counts.duplicated);
    assert_int_equal(b.inner.blocks, 0);
    free(b.inner.frames);
}

static void without_memory_frames_are_spared(void **state)
{
    (void)state;
    bench b;
    pen_impair_config config = { .reorder = 1, .duplicate = 1, .corrupt = 1, .seed = 1 };
    bench_open(&b, 1, &config);
    b.inner.has_no_memory = true;
    assert_int_equal(send(&b, 0, 5, 20), PEN_POST_DONE);
    assert_int_equal(b.inner.frame_count, 1);
    assert_arrived(&b, 0, 0, 5, 20);
    pen_impair_counts counts = pen_impair_read(b.link);
    assert_int_equal(counts.spared, 2);
    assert_int_equal(counts.corrupted + counts.duplicated + counts.reordered, 0);
    bench_close(&b);
}

static void waiting_frames_that_find_no_room_stay(void **state)
{
    (void)state;
    bench b;
    pen_impair_config config = { .duplicate = 1, .delay = 1, .seed = 1 };
    bench_open(&b, 1, &config);
    b.inner.is_full = true;
    assert_int_equal(send(&b, 2, 1, 20), PEN_POST_DONE);
    assert_int_equal(poll(&b), 0);
    assert_int_equal(b.inner.frame_count, 0);
    b.inner.is_full = false;
    assert_int_equal(poll(&b), 2);
    assert_arrived(&b, 0, 2, 1, 20);
    assert_arrived(&b, 1, 2, 1, 20);
    bench_close(&b);
}

static void waiting_frames_to_a_lost_peer_are_forgotten(void **state)
{
    (void)state;
    bench b;
    pen_impair_config config = { .delay = 1, .seed = 1 };
    bench_open(&b, 1, &config);
    b.inner.is_full = true;
    assert_int_equal(send(&b, 2, 1, 20), PEN_POST_DONE);
    b.inner.is_lost = true;
    (void)poll(&b);
    assert_int_equal(b.inner.blocks, 1);
    bench_close(&b);
}

static void close_sends_what_waits_and_counts_what_it_cannot(void **state)
{
    (void)state;
    bench b;
    pen_impair_config config = { .delay = 1, .delay_s = 1, .seed = 1 };
    bench_open(&b, 1, &config);
    assert_int_equal(send(&b, 2, 1, 20), PEN_POST_DONE);
    bench_close(&b);
    assert_int_equal(b.inner.frame_count, 1);
    assert_non_null(strstr(b.inner.lines[0], "1 delayed"));
    assert_non_null(strstr(b.inner.lines[0], "0 lost"));

    bench_open(&b, 1, &config);
    assert_int_equal(send(&b, 2, 1, 20), PEN_POST_DONE);
    b.inner.is_full = true;
    bench_close(&b);
    assert_int_equal(b.inner.frame_count, 0);
    assert_non_null(strstr(b.inner.lines[0], "1 lost"));
}

/* ---- bodies that the wrapped link keeps busy ------------------------------------------------- */

static void a_copy_stays_until_the_wrapped_link_is_done_with_it(void **state)
{
    (void)state;
    bench b;
    pen_op op = { 0 };
    pen_impair_config config = { .delay = 1, .seed = 1 };
    bench_open(&b, 1, &config);
    b.inner.keeps_bodies = true;
    assert_int_equal(send_lane(&b, 2, PEN_LANE_REPLY, 7, 60, &op), PEN_POST_DONE);
    (void)poll(&b);
    assert_arrived(&b, 0, 2, 7, 60);
    assert_true(b.inner.pending != NULL && b.inner.pending != &op);
    assert_int_equal(b.inner.blocks, 2);
    assert_int_equal(*(const unsigned char *)b.inner.kept, body_byte(7, 0));
    pen_op_source_done(b.inner.pending);
    (void)poll(&b);
    assert_int_equal(b.inner.blocks, 2);
    pen_op_done(b.inner.pending);
    (void)poll(&b);
    assert_int_equal(b.inner.blocks, 1);
    bench_close(&b);
}

static void close_frees_what_still_flies(void **state)
{
    (void)state;
    bench b;
    pen_op op = { 0 };
    pen_impair_config config = { .corrupt = 1, .duplicate = 1, .seed = 1 };
    bench_open(&b, 1, &config);
    b.inner.keeps_bodies = true;
    /* The frame was copied to be damaged: the caller's op is not touched. */
    assert_int_equal(send_lane(&b, 2, PEN_LANE_REPLY, 7, 60, &op), PEN_POST_DONE);
    assert_int_equal(b.inner.frame_count, 2);
    assert_int_equal(b.inner.blocks, 3);
    bench_close(&b);
}

static void the_callers_op_goes_with_an_unharmed_frame(void **state)
{
    (void)state;
    bench b;
    pen_op op = { 0 };
    pen_impair_config config = { .drop = 1e-9, .seed = 1 };
    bench_open(&b, 1, &config);
    b.inner.keeps_bodies = true;
    assert_int_equal(send_lane(&b, 2, PEN_LANE_REPLY, 7, 60, &op), PEN_POST_PENDING);
    assert_ptr_equal(b.inner.pending, &op);
    bench_close(&b);
}

/* ---- bodies written in place ----------------------------------------------------------------- */

static void write_in_place(bench *b, uint64_t tag, uint32_t body_len)
{
    const pen_zcopy_ops *zcopy = b->link->zcopy;
    uint64_t head[2] = { tag, ~tag };
    unsigned char *body = (unsigned char *)zcopy->reserve(b->link, 2, PEN_LANE_REQUEST, body_len);
    assert_ptr_equal(body, b->inner.place);
    for (uint32_t i = 0; i < body_len; i++)
        body[i] = body_byte(tag, i);
    zcopy->commit(b->link, 2, PEN_LANE_REQUEST, body, head, sizeof head, body_len);
}

static void a_frame_written_in_place_meets_the_same_fates(void **state)
{
    (void)state;
    bench b;
    pen_impair_config drop = { .drop = 1 }, duplicate = { .duplicate = 1 };
    pen_impair_config delay = { .delay = 1, .delay_s = 1 }, corrupt = { .corrupt = 1 };

    bench_open(&b, 1, &drop);
    write_in_place(&b, 3, 40);
    assert_int_equal(b.inner.cancels, 1);
    assert_int_equal(b.inner.frame_count, 0);
    bench_close(&b);

    bench_open(&b, 1, &duplicate);
    write_in_place(&b, 3, 20);
    assert_int_equal(b.inner.commits, 1);
    assert_arrived(&b, 0, 2, 3, 20);
    assert_arrived(&b, 1, 2, 3, 20);
    bench_close(&b);

    bench_open(&b, 1, &delay);
    write_in_place(&b, 3, 20);
    assert_int_equal(b.inner.cancels, 1);
    assert_int_equal(b.inner.frame_count, 0);
    b.inner.now_ns = 1000000000;
    (void)poll(&b);
    assert_arrived(&b, 0, 2, 3, 20);
    bench_close(&b);

    bench_open(&b, 1, &corrupt);
    for (uint64_t tag = 0; tag < 100; tag++)
        write_in_place(&b, tag, 40);
    assert_int_equal(b.inner.commits, 100);
    for (uint64_t tag = 0; tag < 100; tag++)
        assert_int_equal(damage(&b.inner.frames[tag], tag), 1);
    bench_close(&b);
}

static void nothing_held_is_sent_while_a_body_is_written_in_place(void **state)
{
    (void)state;
    bench b;
    pen_impair_config config = { .delay = 1 };
    bench_open(&b, 1, &config);
    b.inner.is_full = true;
    assert_null(b.link->zcopy->reserve(b.link, 2, PEN_LANE_REQUEST, 8));
    b.inner.is_full = false;
    void *body = b.link->zcopy->reserve(b.link, 2, PEN_LANE_REQUEST, 8);
    assert_int_equal(send(&b, 1, 4, 0), PEN_POST_DONE);
    b.inner.now_ns = 1000000000;
    assert_int_equal(poll(&b), 0);
    b.link->zcopy->cancel(b.link, 2, PEN_LANE_REQUEST, body);
    assert_int_equal(b.inner.cancels, 1);
    assert_int_equal(poll(&b), 1);
    assert_arrived(&b, 0, 1, 4, 0);
    bench_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_delayed_frame_goes_when_its_time_is_up),
        cmocka_unit_test(only_the_same_peer_and_lane_overtake_a_reordered_frame),
        cmocka_unit_test(a_reordered_frame_that_nothing_overtakes_goes_after_a_millisecond),
        cmocka_unit_test(no_more_frames_wait_than_said_and_the_rest_are_spared),
        cmocka_unit_test(without_memory_frames_are_spared),
        cmocka_unit_test(waiting_frames_that_find_no_room_stay),
        cmocka_unit_test(waiting_frames_to_a_lost_peer_are_forgotten),
        cmocka_unit_test(close_sends_what_waits_and_counts_what_it_cannot),
        cmocka_unit_test(a_copy_stays_until_the_wrapped_link_is_done_with_it),
        cmocka_unit_test(close_frees_what_still_flies),
        cmocka_unit_test(the_callers_op_goes_with_an_unharmed_frame),
        cmocka_unit_test(a_frame_written_in_place_meets_the_same_fates),
        cmocka_unit_test(nothing_held_is_sent_while_a_body_is_written_in_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
