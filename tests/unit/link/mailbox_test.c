/* SPDX-License-Identifier: BSD-3-Clause */
/* mailbox_test.c: credits of a mailbox: tags and words have the bits that mailbox.h describes; no
 * more packets are sent than the mailbox has slots; replies find credits that requests leave; a
 * peer that breaks the rules is found. */
#include "link/mailbox.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- bits ------------------------------------------------------------------------------------ */

static void tags_say_lane_credit_and_ride(void **state)
{
    (void)state;
    for (unsigned bits = 0; bits < 1u << 7; bits++) {
        const pen_lane lane = (pen_lane)(bits & 3u);
        const pen_credit_tag credit = { (bits & 4u) != 0, (uint8_t)(bits >> 3 & 7u) };
        if ((unsigned)lane >= PEN_LANES) {
            assert_false(pen_mailbox_tag_is_sound((uint8_t)bits));
            continue;
        }
        const uint8_t tag = pen_mailbox_tag(lane, credit, (bits & PEN_MAILBOX_RIDE) != 0);
        assert_int_equal(tag, bits);
        assert_true(pen_mailbox_tag_is_sound(tag));
        assert_false(pen_mailbox_tag_is_sound(tag | PEN_MAILBOX_ZERO));
        assert_int_equal(pen_mailbox_tag_lane(tag), lane);
        assert_int_equal(pen_mailbox_tag_credit(tag).urgent, credit.urgent);
        assert_int_equal(pen_mailbox_tag_credit(tag).need, credit.need);
    }
    assert_true(PEN_CREDIT_NEED_MAX <= 7);
}

static void credit_words_say_what_they_were_told(void **state)
{
    (void)state;
    static const uint32_t counts[] = { 0, 1, 255, 256, 65535, PEN_MAILBOX_COUNT_MAX };
    static const int32_t raised[] = { 0, 1, -1, 4000, -4000, INT32_MAX, INT32_MIN };
    for (unsigned bits = 0; bits < 16; bits++)
        for (unsigned count_i = 0; count_i < 6; count_i++)
            for (unsigned raised_i = 0; raised_i < 7; raised_i++) {
                const pen_credit_message told = { (pen_credit_kind)(bits & 3u), counts[count_i],
                                                  raised[raised_i], (bits & 8u) != 0 };
                const uint64_t word = pen_mailbox_word(&told, (bits & 4u) != 0);
                pen_credit_message heard = { PEN_CREDIT_GRANT, 77, 77, false };
                bool of_control = false;
                assert_int_equal(word & 0xff, bits);
                assert_int_equal(pen_mailbox_word_parse(word, &heard, &of_control),
                                 (bits & 3u) < 3);
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
                    assert_false(pen_mailbox_word_parse(word | 1u << bit, &heard, &of_control));
            }
}

/* ---- two ranks ------------------------------------------------------------------------------- */

enum { PACKET_LEN = 56, QUOTA = 12, BLOCKS = 5 };

typedef struct pair {
    pen_mailbox_plan plan;
    pen_mailbox box[2]; /* each has one source, which is the other */
    int blocks;         /* allocations that are still allowed */
    pen_host host;
} pair;

static void *take_memory(void *ctx, size_t len, size_t align)
{
    pair *p = (pair *)ctx;
    return p->blocks-- > 0 ? aligned_alloc(align, len) : NULL;
}

static void give_memory(void *ctx, void *block)
{
    (void)ctx;
    free(block);
}

static void pair_open(pair *p, const char *policy)
{
    const pen_credit_settings settings = { policy, QUOTA, 2, 4, 1.5, 1024, QUOTA, 176 };
    p->blocks = 2 * BLOCKS;
    p->host = (pen_host){ .ctx = p, .alloc = take_memory, .release = give_memory };
    assert_null(pen_mailbox_plan_make(&settings, 2, &p->plan));
    for (pen_peer self = 0; self < 2; self++) {
        assert_true(pen_mailbox_open(&p->box[self], &p->host, &p->plan, self));
        p->box[self].packet_len = PACKET_LEN;
    }
}

static void pair_close(pair *p)
{
    for (unsigned i = 0; i < 2; i++)
        pen_mailbox_close(&p->box[i], &p->host);
}

/* Hands the words of rank 0 to rank 1 or the reverse; returns how many there were. */
static unsigned exchange(pair *p, pen_peer from)
{
    unsigned count = 0;
    pen_peer to = 77;
    uint64_t word;
    while (pen_mailbox_next(&p->box[from], &to, &word)) {
        assert_int_equal(to, !from);
        assert_true(pen_mailbox_hear(&p->box[!from], 0, word));
        count++;
    }
    return count;
}

/* Sends a packet from rank 0 to rank 1. Returns false if there is no credit. */
static bool send(pair *p, pen_lane lane, bool keeps_slot)
{
    const int tag = pen_mailbox_take(&p->box[0], 0, lane, PACKET_LEN, true);
    if (tag < 0)
        return false;
    assert_int_equal(pen_mailbox_tag_lane((uint8_t)tag), lane);
    assert_true(pen_mailbox_count(&p->box[1], 0, (uint8_t)tag, keeps_slot));
    return true;
}

static void packets_stop_when_the_slots_are_in_use(void **state)
{
    (void)state;
    pair p;
    pair_open(&p, "static");
    unsigned requests = 0, replies = 0, control = 0;
    while (send(&p, PEN_LANE_REQUEST, true))
        requests++;
    while (send(&p, PEN_LANE_REPLY, true))
        replies++;
    while (send(&p, PEN_LANE_CONTROL, true))
        control++;
    assert_int_equal(requests, QUOTA - 1); /* the last credit is not for requests */
    assert_int_equal(replies, 1);
    assert_int_equal(control, p.plan.control.quota);
    assert_int_equal(p.plan.data_slots, QUOTA);
    assert_int_equal(exchange(&p, 1), 0);
    p.box[1].is_due = false;
    for (unsigned i = 0; i < QUOTA; i++)
        pen_mailbox_free(&p.box[1], 0, i == 0 ? PEN_LANE_REPLY : PEN_LANE_REQUEST);
    assert_true(p.box[1].is_due);
    assert_int_equal(exchange(&p, 1), 1);
    assert_true(send(&p, PEN_LANE_REPLY, true));
    assert_false(send(&p, PEN_LANE_CONTROL, true));
    pen_mailbox_free(&p.box[1], 0, PEN_LANE_CONTROL);
    pen_mailbox_free(&p.box[1], 0, PEN_LANE_CONTROL);
    (void)exchange(&p, 1);
    assert_true(send(&p, PEN_LANE_CONTROL, true));
    pair_close(&p);
}

/* After credits have come, requests leave half of the quota to replies, for a bounded time. */
static void requests_leave_credits_to_replies(void **state)
{
    (void)state;
    pair p;
    pair_open(&p, "static");
    while (send(&p, PEN_LANE_REQUEST, true))
        ;
    for (unsigned i = 0; i < QUOTA - 1; i++)
        pen_mailbox_free(&p.box[1], 0, PEN_LANE_REQUEST);
    assert_true(exchange(&p, 1) != 0);
    unsigned requests = 0, refused = 0;
    while (send(&p, PEN_LANE_REQUEST, true))
        requests++;
    assert_true(requests <= QUOTA / 2);
    assert_true(send(&p, PEN_LANE_REPLY, true));
    while (refused < 1000 && !send(&p, PEN_LANE_REQUEST, true))
        refused++;
    assert_true(refused > 0 && refused < 1000);
    pair_close(&p);
}

static void grants_ride_on_packets_of_data(void **state)
{
    (void)state;
    pair p;
    pair_open(&p, "static");
    uint64_t word = 0;
    for (unsigned i = 0; i < QUOTA / 2; i++)
        assert_true(send(&p, PEN_LANE_REPLY, false));
    assert_true(pen_mailbox_is_worth_a_ride(&p.box[1], 0));
    assert_true(pen_mailbox_ride(&p.box[1], 0, &word));
    assert_false(pen_mailbox_ride(&p.box[1], 0, &word));
    assert_true(pen_mailbox_hear(&p.box[0], 0, word));
    assert_false(pen_mailbox_hear(&p.box[0], 0, word)); /* more than it can have */
    assert_false(pen_mailbox_is_worth_a_ride(&p.box[1], 0));
    pen_peer_counters counters = { 0 };
    pen_credits_count(p.box[1].data_sender, p.box[1].data_receiver, 0, &counters);
    assert_int_equal(counters.rides, 1);
    assert_int_equal(counters.packets_received, QUOTA / 2);
    pair_close(&p);
}

static void packets_without_credit_and_wrong_words_are_refused(void **state)
{
    (void)state;
    pair p;
    pair_open(&p, "loan");
    const pen_credit_message grant = { PEN_CREDIT_GRANT, 1, 0, false },
                             give = { PEN_CREDIT_GIVE, 1, 0, false };
    for (unsigned i = 0; i < QUOTA; i++)
        (void)pen_mailbox_count(&p.box[1], 0, PEN_LANE_REPLY, true);
    assert_false(pen_mailbox_count(&p.box[1], 0, PEN_LANE_REPLY, true));
    assert_false(pen_mailbox_pass(&p.box[1], p.box[1].data_receiver, 0));
    assert_true(pen_mailbox_pass(&p.box[1], pen_mailbox_receiver(&p.box[1], PEN_LANE_CONTROL), 0));
    assert_false(pen_mailbox_hear(&p.box[1], 0, pen_mailbox_word(&give, false))); /* no recall */
    assert_false(pen_mailbox_hear(&p.box[1], 0, pen_mailbox_word(&give, true)));
    assert_false(pen_mailbox_hear(&p.box[1], 0, pen_mailbox_word(&grant, true))); /* all are out */
    assert_false(pen_mailbox_hear(&p.box[1], 0, 3));
    pair_close(&p);
}

static void no_memory_is_reported(void **state)
{
    (void)state;
    pair p;
    pair_open(&p, "activity");
    pair_close(&p);
    for (int blocks = 0; blocks < BLOCKS; blocks++) {
        p.blocks = blocks;
        assert_false(pen_mailbox_open(&p.box[0], &p.host, &p.plan, 0));
        pen_mailbox_close(&p.box[0], &p.host);
    }
}

static void sources_are_peers_without_this_rank(void **state)
{
    (void)state;
    for (pen_peer self = 0; self < 4; self++) {
        const pen_mailbox box = { .self = self };
        uint32_t i = 0;
        for (pen_peer peer = 0; peer < 4; peer++) {
            if (peer == self)
                continue;
            assert_int_equal(pen_mailbox_source_i(&box, peer), i);
            assert_int_equal(pen_mailbox_peer(&box, i++), peer);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tags_say_lane_credit_and_ride),
        cmocka_unit_test(credit_words_say_what_they_were_told),
        cmocka_unit_test(packets_stop_when_the_slots_are_in_use),
        cmocka_unit_test(requests_leave_credits_to_replies),
        cmocka_unit_test(grants_ride_on_packets_of_data),
        cmocka_unit_test(packets_without_credit_and_wrong_words_are_refused),
        cmocka_unit_test(no_memory_is_reported),
        cmocka_unit_test(sources_are_peers_without_this_rank),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
