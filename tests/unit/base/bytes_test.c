/* SPDX-License-Identifier: BSD-3-Clause */
/* bytes_test.c: the cursor never reads or writes beyond its end. */
#include "base/bytes.h"
#include "base/compiler.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void what_a_sink_wrote_a_cursor_reads(void **state)
{
    (void)state;
    uint8_t room[15];
    pen_sink out = pen_sink_of(room, sizeof room);
    pen_sink_u8(&out, 1);
    pen_sink_u16(&out, 0x0203);
    pen_sink_u32(&out, 0x04050607);
    pen_sink_u64(&out, 0x08090a0b0c0d0e0full);
    assert_false(out.failed);
    assert_int_equal(out.len, 15);
    assert_int_equal(room[1], 3); /* little-endian */
    pen_bytes in = pen_bytes_of(room, sizeof room);
    assert_int_equal(pen_bytes_u8(&in), 1);
    assert_int_equal(pen_bytes_u16(&in), 0x0203);
    assert_int_equal(pen_bytes_u32(&in), 0x04050607);
    assert_true(pen_bytes_u64(&in) == 0x08090a0b0c0d0e0full);
    assert_int_equal(pen_bytes_left(&in), 0);
    assert_false(pen_bytes_failed(&in));
}

static void a_read_past_the_end_answers_zero_and_fails_for_good(void **state)
{
    (void)state;
    uint8_t bytes[3] = { 1, 2, 3 };
    pen_bytes in = pen_bytes_of(bytes, sizeof bytes);
    assert_int_equal(pen_bytes_u32(&in), 0);
    assert_true(pen_bytes_failed(&in));
    assert_int_equal(pen_bytes_u8(&in), 0);
    assert_null(pen_bytes_take(&in, 0));
}

static void a_write_past_the_end_writes_nothing(void **state)
{
    (void)state;
    uint8_t room[4] = { 9, 9, 9, 9 };
    pen_sink out = pen_sink_of(room, 3);
    pen_sink_u32(&out, 0);
    pen_sink_u8(&out, 0);
    assert_true(out.failed);
    assert_int_equal(out.len, 0);
    for (size_t i = 0; i < sizeof room; i++)
        assert_int_equal(room[i], 9);
}

static void align_up_rounds_to_the_next_multiple(void **state)
{
    (void)state;
    assert_int_equal(pen_align_up(0, 16), 0);
    assert_int_equal(pen_align_up(1, 16), 16);
    assert_int_equal(pen_align_up(16, 16), 16);
    assert_int_equal(pen_align_up(17, 16), 32);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_sink_wrote_a_cursor_reads),
        cmocka_unit_test(a_read_past_the_end_answers_zero_and_fails_for_good),
        cmocka_unit_test(a_write_past_the_end_writes_nothing),
        cmocka_unit_test(align_up_rounds_to_the_next_multiple),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
