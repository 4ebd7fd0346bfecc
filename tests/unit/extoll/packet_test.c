/* SPDX-License-Identifier: BSD-3-Clause */
/* packet_test.c: the bits of the extoll conduit's packets: a written packet can be read, its bits
 * stand where packet.h says, and packets that no sender writes are refused. */
#include "conduits/extoll/packet.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void tags_say_lane_credit_and_ride(void **state)
{
    (void)state;
    for (unsigned bits = 0; bits < 1u << 7; bits++) {
        const pen_lane lane = (pen_lane)(bits & 3u);
        const pen_credit_tag credit = { (bits & 4u) != 0, (uint8_t)(bits >> 3 & 7u) };
        if ((unsigned)lane >= PEN_LANES) {
            assert_false(extoll_tag_is_sound((uint8_t)bits));
            continue;
        }
        const uint8_t tag = extoll_tag(lane, credit, (bits & EXTOLL_TAG_RIDE) != 0);
        assert_int_equal(tag, bits);
        assert_true(extoll_tag_is_sound(tag));
        assert_false(extoll_tag_is_sound(tag | EXTOLL_TAG_ZERO));
        assert_int_equal(extoll_tag_lane(tag), lane);
        assert_int_equal(extoll_tag_credit(tag).urgent, credit.urgent);
        assert_int_equal(extoll_tag_credit(tag).need, credit.need);
    }
    assert_true(PEN_CREDIT_NEED_MAX <= 7);
}

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

static void credit_words_say_what_they_were_told(void **state)
{
    (void)state;
    static const uint32_t counts[] = { 0, 1, 255, 256, 65535, EXTOLL_CREDIT_COUNT_MAX };
    static const int32_t raised[] = { 0, 1, -1, 4000, -4000, INT32_MAX, INT32_MIN };
    for (unsigned bits = 0; bits < 16; bits++)
        for (unsigned count_i = 0; count_i < 6; count_i++)
            for (unsigned raised_i = 0; raised_i < 7; raised_i++) {
                const pen_credit_message told = { (pen_credit_kind)(bits & 3u), counts[count_i],
                                                  raised[raised_i], (bits & 8u) != 0 };
                const uint64_t word = extoll_credit(&told, (bits & 4u) != 0);
                pen_credit_message heard = { PEN_CREDIT_GRANT, 77, 77, false };
                bool of_control = false;
                assert_int_equal(word & 0xff, bits);
                assert_int_equal(extoll_credit_parse(word, &heard, &of_control), (bits & 3u) < 3);
                if ((bits & 3u) == 3) {
                    assert_int_equal(heard.count, 77);
                    continue;
                }
                assert_int_equal(of_control, (bits & 4u) != 0);
                assert_int_equal(heard.kind, told.kind);
                assert_int_equal(heard.count, told.count);
                assert_int_equal(heard.raised, told.raised);
                assert_int_equal(heard.epoch, told.epoch);
                for (unsigned bit = 4; bit < 8; bit++)
                    assert_false(extoll_credit_parse(word | 1u << bit, &heard, &of_control));
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tags_say_lane_credit_and_ride),
        cmocka_unit_test(begin_words_say_lengths),
        cmocka_unit_test(begin_words_that_nobody_writes_are_not_sound),
        cmocka_unit_test(credit_words_say_what_they_were_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
