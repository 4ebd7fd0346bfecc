/* SPDX-License-Identifier: BSD-3-Clause */
/* wire_test.c: the header of the reliable link: a written header is read back, and every other one
 * is refused. */
#include "reliable/wire.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static pen_rel_head some_head(void)
{
    pen_rel_head head = { .kind = PEN_REL_FRAME,
                          .lane = PEN_LANE_REPLY,
                          .flags = PEN_REL_ACK | PEN_REL_ASK,
                          .head_len = 24,
                          .session = 0x01020304,
                          .sequence = 7,
                          .transmission = 9 };
    head.ack = (pen_rel_ack){ .base = 5,
                              .transmission = 8,
                              .delay_us = 11,
                              .limit = { 100, 200, 300 },
                              .range_count = 3,
                              .ranges = { { 1, 2 }, { 4, 1 }, { 1000, 24 } } };
    return head;
}

static void what_is_written_is_read(void **state)
{
    unsigned char bytes[PEN_FRAME_HEAD_MAX];
    pen_rel_head in = some_head(), out;
    size_t used = 0;
    (void)state;
    size_t len = pen_rel_encode(&in, bytes);
    assert_int_equal(len, 24 + 24 + 16);
    assert_true(pen_rel_decode(bytes, len, &out, &used));
    assert_int_equal(used, len);
    assert_int_equal(out.kind, in.kind);
    assert_int_equal(out.lane, in.lane);
    assert_int_equal(out.flags, in.flags);
    assert_int_equal(out.head_len, in.head_len);
    assert_int_equal(out.session, in.session);
    assert_int_equal(out.sequence, in.sequence);
    assert_int_equal(out.transmission, in.transmission);
    assert_int_equal(out.ack.base, in.ack.base);
    assert_int_equal(out.ack.transmission, in.ack.transmission);
    assert_int_equal(out.ack.delay_us, in.ack.delay_us);
    assert_memory_equal(out.ack.limit, in.ack.limit, sizeof in.ack.limit);
    assert_int_equal(out.ack.range_count, 3);
    assert_memory_equal(out.ack.ranges, in.ack.ranges, 3 * sizeof in.ack.ranges[0]);
}

static void every_shorter_header_is_malformed(void **state)
{
    unsigned char bytes[PEN_FRAME_HEAD_MAX];
    pen_rel_head in = some_head(), out;
    size_t used;
    (void)state;
    size_t len = pen_rel_encode(&in, bytes);
    for (size_t shorter = 0; shorter < len; shorter++)
        assert_false(pen_rel_decode(bytes, shorter, &out, &used));
}

static bool is_read(const pen_rel_head *head)
{
    unsigned char bytes[PEN_FRAME_HEAD_MAX] = { 0 };
    pen_rel_head out;
    size_t used;
    size_t len = pen_rel_encode(head, bytes);
    return pen_rel_decode(bytes, len, &out, &used);
}

static void every_field_out_of_its_bounds_is_malformed(void **state)
{
    static const struct {
        uint32_t kind, lane, flags, head_len;
    } rows[] = {
        { 0, 1, 1, 24 },  { 3, 1, 1, 24 }, { 1, 3, 1, 24 }, { 1, 1, 8, 24 }, { 1, 1, 1, 0 },
        { 1, 1, 1, 112 }, { 2, 2, 1, 8 },  { 2, 2, 2, 0 },  { 2, 2, 5, 0 },
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        pen_rel_head head = some_head();
        head.kind = rows[i].kind;
        head.lane = rows[i].lane;
        head.flags = rows[i].flags;
        head.head_len = rows[i].head_len;
        assert_false(is_read(&head));
    }
    pen_rel_head head = some_head();
    assert_true(is_read(&head));
    head.kind = PEN_REL_NOTE;
    head.head_len = 0;
    assert_true(is_read(&head));
}

static void ranges_that_touch_or_leave_the_window_are_malformed(void **state)
{
    static const pen_rel_range rows[][2] = {
        { { 0, 1 }, { 5, 1 } },    { { 1, 0 }, { 5, 1 } },         { { 1, 2 }, { 3, 1 } },
        { { 1, 2 }, { 2, 1 } },    { { 4, 1 }, { 1, 1 } },         { { 1, 1 }, { 1023, 2 } },
        { { 1, 1 }, { 1024, 1 } }, { { 1, 1 }, { 65535, 65535 } },
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        pen_rel_head head = some_head();
        head.ack.range_count = 2;
        memcpy(head.ack.ranges, rows[i], sizeof rows[i]);
        assert_false(is_read(&head));
    }
}

static void one_changed_bit_changes_the_sum(void **state)
{
    unsigned char head[64], body[37];
    (void)state;
    for (size_t i = 0; i < sizeof head; i++)
        head[i] = (unsigned char)(i * 7);
    for (size_t i = 0; i < sizeof body; i++)
        body[i] = (unsigned char)(i * 5);
    uint64_t sum = pen_rel_sum(head, sizeof head, body, sizeof body);
    for (size_t bit = 0; bit < 8 * (sizeof head + sizeof body); bit++) {
        bool is_in_head = bit < 8 * sizeof head;
        unsigned char *byte = is_in_head ? &head[bit / 8] : &body[bit / 8 - sizeof head];
        bool is_sum = is_in_head && bit / 8 >= 4 && bit / 8 < 12;
        *byte ^= (unsigned char)(1u << bit % 8);
        assert_true((pen_rel_sum(head, sizeof head, body, sizeof body) == sum) == is_sum);
        *byte ^= (unsigned char)(1u << bit % 8);
    }
    assert_true(pen_rel_sum(head, sizeof head, body, sizeof body - 1) != sum);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(every_shorter_header_is_malformed),
        cmocka_unit_test(every_field_out_of_its_bounds_is_malformed),
        cmocka_unit_test(ranges_that_touch_or_leave_the_window_are_malformed),
        cmocka_unit_test(one_changed_bit_changes_the_sum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
