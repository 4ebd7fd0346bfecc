/* SPDX-License-Identifier: BSD-3-Clause */
/* packet_test.c: the bits of the extoll conduit's packets: a written packet can be read, its bits
 * stand where packet.h says, and packets that no sender writes are refused. */
#include "conduits/extoll/packet.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void begin_words_say_lengths(void **state)
{
    (void)state;
    for (uint32_t words = 1; words <= EXTOLL_HEAD_WORDS_MAX; words++)
        for (uint32_t body_len = 0; body_len <= 8192; body_len += 1 + body_len / 3) {
            const uint64_t word = extoll_begin(words * 8, body_len, false);
            assert_true(word == ((uint64_t)body_len << 32 | words));
            assert_int_equal(extoll_begin_head_len(word), words * 8);
            assert_int_equal(extoll_begin_body_len(word), body_len);
            assert_false(extoll_begin_is_after_puts(word));
            assert_true(extoll_begin_is_sound(word, 8192));
            assert_true(body_len == 0 || !extoll_begin_is_sound(word, body_len - 1));
            assert_true(extoll_begin_is_after_puts(extoll_begin(words * 8, 0, true)));
            assert_true(extoll_begin_is_sound(extoll_begin(words * 8, 0, true), 8192));
        }
}

static void begin_words_that_nobody_writes_are_not_sound(void **state)
{
    (void)state;
    const uint64_t good = extoll_begin(16, 100, false);
    for (unsigned bit = 5; bit < 32; bit++)
        assert_false(extoll_begin_is_sound(good | UINT64_C(1) << bit, 8192));
    assert_false(extoll_begin_is_sound(extoll_begin(16, 1, true), 8192)); /* its data came by RMA */
    for (uint64_t words = 0; words < 16; words++)
        assert_int_equal(extoll_begin_is_sound(words, 8192),
                         words >= 1 && words <= EXTOLL_HEAD_WORDS_MAX);
    assert_false(extoll_begin_is_sound(extoll_begin(8, UINT32_MAX, false), 8192));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(begin_words_say_lengths),
        cmocka_unit_test(begin_words_that_nobody_writes_are_not_sound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
