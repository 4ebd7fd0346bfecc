/* SPDX-License-Identifier: BSD-3-Clause */
/* longs.c: the payload of a Long and its header, which are joined by a number, over an interface
 * that this file plays: they come in every order, in numbers that wrap, and some not at all. */
#include "conduits/portals/portals.h"
#include "link/lanes.h"

#include "portals/play.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { TO = 1 };

static pen_post put(portals_link *link, pen_op *op)
{
    return portals_rma.put(&link->base, TO, 0, 77, block_memory, NULL, 8, op);
}

/* Puts a payload, and lets its events come. */
static void put_all(portals_link *link)
{
    pen_op op = new_op();
    op.local = true;
    portals_token *token = next_token(link, PORTALS_MEMORY);
    assert_int_equal(put(link, &op), PEN_POST_PENDING);
    end(link, token, PTL_EVENT_SEND);
    end(link, token, PTL_EVENT_ACK);
}

static pen_post post_behind(portals_link *link, pen_lane lane)
{
    static const uint64_t head[HEAD_LEN / 8] = { 1, 2, 3 };
    return portals_behind.post(&link->base, TO, lane, head, HEAD_LEN);
}

/* ---- the sender ------------------------------------------------------------------------------ */

static void a_payload_is_numbered_and_its_header_names_it(void **state)
{
    (void)state;
    portals_link link;
    link_init(&link);
    link.base.self = 2;
    for (uint32_t i = 1; i <= 3; i++) {
        put_all(&link);
        assert_int_equal(fake.last_portal, 20 + PORTALS_DATA);
        assert_int_equal(fake.last_key, 77);
        assert_int_equal(fake.last_ack, PTL_ACK_REQ);
        assert_true(fake.last_data == (UINT64_C(2) << 40 | i));
    }
    portals_token *token = next_token(&link, PEN_LANE_REPLY);
    assert_int_equal(post_behind(&link, PEN_LANE_REPLY), PEN_POST_DONE);
    assert_int_equal(fake.last_portal, 20 + PEN_LANE_REPLY);
    assert_int_equal(fake.last_len, 32);
    assert_true(fake.last_data ==
                (UINT64_C(2) << 40 | PORTALS_BEHIND | (uint64_t)HEAD_LEN << 32 | 3));
    end(&link, token, PTL_EVENT_SEND);
}

static void a_put_that_is_no_payload_has_no_number(void **state)
{
    (void)state;
    portals_link link;
    link_init(&link);
    pen_op op = new_op();
    assert_int_equal(put(&link, &op), PEN_POST_PENDING);
    assert_int_equal(fake.last_portal, 20 + PORTALS_MEMORY);
    assert_int_equal(post_behind(&link, PEN_LANE_REQUEST), PEN_POST_DONE);
    assert_int_equal((uint32_t)fake.last_data, 0);
}

static void a_payload_ends_with_the_first_of_its_events(void **state)
{
    (void)state;
    portals_link link;
    link_init(&link);
    for (unsigned ack_first = 0; ack_first < 2; ack_first++) {
        pen_op op = new_op();
        op.local = true;
        portals_token *token = next_token(&link, PORTALS_MEMORY);
        assert_int_equal(put(&link, &op), PEN_POST_PENDING);
        expect_put(&op, 1, 1);
        end(&link, token, ack_first ? PTL_EVENT_ACK : PTL_EVENT_SEND);
        expect_put(&op, 0, 0);
        memset(&op, 0x5a, sizeof op); /* the client's from now on */
        const pen_op gone = op;
        assert_ptr_not_equal(next_token(&link, PORTALS_MEMORY), token);
        end(&link, token, ack_first ? PTL_EVENT_SEND : PTL_EVENT_ACK);
        assert_ptr_equal(next_token(&link, PORTALS_MEMORY), token);
        assert_memory_equal(&op, &gone, sizeof op);
    }
}

static void a_payload_that_was_not_taken_uses_no_number(void **state)
{
    (void)state;
    portals_link link;
    link_init(&link);
    pen_op op = new_op();
    op.local = true;
    fake.result = PTL_NO_SPACE;
    assert_int_equal(put(&link, &op), PEN_POST_AGAIN);
    fake.result = PTL_OK;
    put_all(&link);
    assert_int_equal((uint32_t)fake.last_data, 1);
}

static ptl_event_t note(uint32_t number)
{
    return (ptl_event_t){ .type = PTL_EVENT_PUT,
                          .initiator.phys = { .nid = 5, .pid = 100 + TO },
                          .hdr_data = (uint64_t)TO << 40 | UINT64_C(1) << 32 | number };
}

static void hear(portals_link *link, ptl_event_t event)
{
    event_add(QUEUE_LANDED, event);
    (void)portals_poll(&link->base, PEN_LANES_ALL, 9);
}

static void payloads_wait_until_the_peer_has_handled_some(void **state)
{
    (void)state;
    portals_link link;
    link_init(&link);
    pen_op op = new_op();
    op.local = true;
    for (unsigned i = 0; i < PORTALS_DATA_MAX; i++)
        put_all(&link);
    assert_int_equal(put(&link, &op), PEN_POST_AGAIN);
    hear(&link, note(2));
    hear(&link, note(1)); /* an older one, which comes late, takes nothing back */
    put_all(&link);
    put_all(&link);
    assert_int_equal(put(&link, &op), PEN_POST_AGAIN);
    op.local = false;
    assert_int_equal(put(&link, &op), PEN_POST_PENDING); /* other puts do not wait */
    assert_int_equal(fake.lost_any, 0);
    hear(&link, note(1000));
    assert_int_equal(fake.lost_any, 1);
}

/* ---- the receiver ---------------------------------------------------------------------------- */

static ptl_event_t payload(uint32_t number)
{
    return (ptl_event_t){ .type = PTL_EVENT_PUT,
                          .mlength = 8,
                          .rlength = 8,
                          .initiator.phys = { .nid = 5, .pid = 100 + TO },
                          .hdr_data = (uint64_t)TO << 40 | number };
}

/* A header whose first word is `word`. Each has a place of its own. */
static ptl_event_t header(uint32_t number, uint64_t word)
{
    char *at = block_memory + word % 8 * 64;
    memcpy(at, &word, sizeof word);
    return (ptl_event_t){ .type = PTL_EVENT_PUT,
                          .start = at,
                          .user_ptr = &block,
                          .mlength = 32,
                          .initiator.phys = { .nid = 5, .pid = 100 + TO },
                          .hdr_data = (uint64_t)TO << 40 | PORTALS_BEHIND |
                                      (uint64_t)HEAD_LEN << 32 | number };
}

static void poll_all(portals_link *link) { (void)portals_poll(&link->base, PEN_LANES_ALL, 9); }

static void whichever_comes_first_waits_for_the_other(void **state)
{
    (void)state;
    for (unsigned header_first = 0; header_first < 2; header_first++) {
        portals_link link;
        link_init(&link);
        if (header_first)
            event_add(PEN_LANE_REQUEST, header(1, 11));
        else
            event_add(QUEUE_LANDED, payload(1));
        poll_all(&link);
        memset(block_memory, 0, 1024 * header_first); /* its memory may be used again */
        assert_int_equal(fake.delivered, 0);
        if (header_first)
            event_add(QUEUE_LANDED, payload(1));
        else
            event_add(PEN_LANE_REQUEST, header(1, 11));
        poll_all(&link);
        assert_int_equal(fake.delivered, 1);
        assert_int_equal(fake.heads[0], 11);
        assert_int_equal(fake.from, TO);
        assert_int_equal(fake.lane, PEN_LANE_REQUEST);
        assert_int_equal(fake.lost_any, 0);
        pen_lanes_close(&link.held);
    }
}

/* Payloads 1 to 3 land in each order; the header of each waits for those before it. */
static void a_header_waits_for_all_payloads_before_it(void **state)
{
    (void)state;
    static const uint32_t orders[6][3] = { { 1, 2, 3 }, { 1, 3, 2 }, { 2, 1, 3 },
                                           { 2, 3, 1 }, { 3, 1, 2 }, { 3, 2, 1 } };
    for (unsigned i = 0; i < 6 * 3; i++) {
        portals_link link;
        link_init(&link);
        const uint32_t *order = orders[i / 3], named = i % 3 + 1;
        event_add(PEN_LANE_REQUEST, header(named, named));
        poll_all(&link);
        uint32_t landed = 0;
        for (unsigned k = 0; k < 3; k++) {
            hear(&link, payload(order[k]));
            landed |= 1U << order[k];
            const uint32_t wanted = (2U << named) - 2;
            assert_int_equal(fake.delivered, (landed & wanted) == wanted ? 1 : 0);
        }
        assert_int_equal(fake.lost_any, 0);
        pen_lanes_close(&link.held);
    }
}

static void a_header_that_waited_is_delivered_when_its_lane_is_asked_for(void **state)
{
    (void)state;
    portals_link link;
    link_init(&link);
    event_add(PEN_LANE_REQUEST, header(1, 5));
    event_add(PEN_LANE_REQUEST, header(1, 6));
    poll_all(&link);
    event_add(QUEUE_LANDED, payload(1));
    (void)portals_poll(&link.base, PEN_LANE_BIT(PEN_LANE_REPLY), 9);
    assert_int_equal(fake.delivered, 0);
    (void)portals_poll(&link.base, PEN_LANES_ALL, 1); /* a budget holds for them, too */
    assert_int_equal(fake.delivered, 1);
    poll_all(&link);
    assert_int_equal(fake.delivered, 2);
    assert_int_equal(fake.heads[0], 5);
    assert_int_equal(fake.heads[1], 6);
    pen_lanes_close(&link.held);
}

static void numbers_wrap(void **state)
{
    (void)state;
    portals_link link;
    link_init(&link);
    portals_peer *peer = &link.peer[TO];
    peer->data_floor = peer->data_told = peer->data_last = peer->data_consumed = UINT32_MAX - 1;
    event_add(PEN_LANE_REQUEST, header(1, 9));
    poll_all(&link);
    hear(&link, payload(0));
    hear(&link, payload(1));
    assert_int_equal(fake.delivered, 0);
    hear(&link, payload(UINT32_MAX));
    assert_int_equal(fake.delivered, 1);
    for (unsigned i = 0; i < PORTALS_DATA_MAX; i++)
        put_all(&link);
    pen_op op = new_op();
    op.local = true;
    assert_int_equal(put(&link, &op), PEN_POST_AGAIN);
    hear(&link, note(1));
    put_all(&link);
    assert_int_equal(fake.lost_any, 0);
    pen_lanes_close(&link.held);
}

static void the_peer_is_told_what_was_handled(void **state)
{
    (void)state;
    portals_link link;
    link_init(&link);
    uint32_t number = 0;
    while (number < PORTALS_DATA_MAX / 2 - 1)
        hear(&link, payload(++number));
    assert_int_equal(fake.puts, 0);
    fake.result = PTL_NO_SPACE;
    hear(&link, payload(++number));
    assert_int_equal(fake.puts, 1);
    fake.result = PTL_OK;
    poll_all(&link); /* tries again */
    poll_all(&link);
    assert_int_equal(fake.puts, 2);
    assert_int_equal(fake.last_md, NOTES_MD);
    assert_int_equal(fake.last_portal, 20 + PORTALS_DATA);
    assert_int_equal(fake.last_len, 0);
    assert_true(fake.last_key == UINT64_MAX);
    assert_true(fake.last_data == (UINT64_C(1) << 32 | number));
    assert_int_equal(fake.wakes[TO], 1);
    assert_int_equal(fake.wakes[0] + fake.wakes[2], 0);
    hear(&link, payload(++number));
    assert_int_equal(fake.puts, 2); /* the next note comes after as many again */
}

static void a_payload_that_no_rank_puts_ends_the_job(void **state)
{
    (void)state;
    ptl_event_t bad[7];
    for (unsigned i = 0; i < 7; i++)
        bad[i] = payload(2);
    bad[0].hdr_data = (uint64_t)PEERS << 40 | 2;
    bad[1].initiator.phys.pid++;
    bad[2].mlength = 7; /* not all of it was put */
    bad[3].ni_fail_type = PTL_NI_UNDELIVERABLE;
    bad[4] = payload(1); /* has landed before */
    bad[5] = payload(PORTALS_DATA_MAX + 2);
    bad[6] = payload(4); /* has landed before one that is missing */
    for (unsigned i = 0; i < 7; i++) {
        portals_link link;
        link_init(&link);
        hear(&link, payload(1));
        hear(&link, payload(4));
        assert_int_equal(fake.lost_any, 0);
        hear(&link, bad[i]);
        assert_int_equal(fake.lost_any, 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_payload_is_numbered_and_its_header_names_it),
        cmocka_unit_test(a_put_that_is_no_payload_has_no_number),
        cmocka_unit_test(a_payload_ends_with_the_first_of_its_events),
        cmocka_unit_test(a_payload_that_was_not_taken_uses_no_number),
        cmocka_unit_test(payloads_wait_until_the_peer_has_handled_some),
        cmocka_unit_test(whichever_comes_first_waits_for_the_other),
        cmocka_unit_test(a_header_waits_for_all_payloads_before_it),
        cmocka_unit_test(a_header_that_waited_is_delivered_when_its_lane_is_asked_for),
        cmocka_unit_test(numbers_wrap),
        cmocka_unit_test(the_peer_is_told_what_was_handled),
        cmocka_unit_test(a_payload_that_no_rank_puts_ends_the_job),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
