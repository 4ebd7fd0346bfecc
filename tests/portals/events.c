/* SPDX-License-Identifier: BSD-3-Clause */
/* events.c: the portals conduit over an interface that this file plays: events come in each order
 * that the interface allows, calls have no room or fail, and messages are not what they say. */
#include "conduits/portals/portals.h"

#include "portals/play.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- puts and gets --------------------------------------------------------------------------- */

static pen_post put(portals_link *link, pen_op *op)
{
    return portals_rma.put(&link->base, 1, 0, 77, block_memory, NULL, 8, op);
}

static void a_put_ends_when_its_data_has_landed(void **state)
{
    (void)state;
    portals_link link;
    link_init(&link);
    for (unsigned ack_first = 0; ack_first < 2; ack_first++) {
        pen_op op = new_op();
        portals_token *token = next_token(&link, PORTALS_MEMORY);
        assert_int_equal(put(&link, &op), PEN_POST_PENDING);
        assert_int_equal(fake.last_key, 77);
        expect_put(&op, 1, 1);
        end(&link, token, ack_first ? PTL_EVENT_ACK : PTL_EVENT_SEND);
        expect_put(&op, 0, ack_first ? 0 : 1);
        assert_true(portals_due.due_ns(&link.base) != UINT64_MAX); /* one event is missing */
        assert_ptr_not_equal(next_token(&link, PORTALS_MEMORY), token);
        end(&link, token, ack_first ? PTL_EVENT_SEND : PTL_EVENT_ACK);
        expect_put(&op, 0, 0);
        assert_true(portals_due.due_ns(&link.base) == UINT64_MAX);
        assert_ptr_equal(next_token(&link, PORTALS_MEMORY), token);
    }
}

static void a_get_ends_with_its_reply(void **state)
{
    (void)state;
    portals_link link;
    link_init(&link);
    pen_op op = new_op();
    portals_token *token = next_token(&link, PORTALS_MEMORY);
    assert_int_equal(portals_rma.get(&link.base, 2, 0, 78, block_memory, NULL, 8, &op),
                     PEN_POST_PENDING);
    assert_int_equal(fake.last_key, 78);
    end(&link, token, PTL_EVENT_REPLY);
    expect_put(&op, 0, 0);
    assert_ptr_equal(next_token(&link, PORTALS_MEMORY), token);
}

static void puts_without_a_token_or_room_are_tried_again(void **state)
{
    (void)state;
    portals_link link;
    link_init(&link);
    pen_op ops[TOKENS + 1] = { 0 };
    fake.result = PTL_NO_SPACE;
    for (unsigned i = 0; i < 3 * TOKENS; i++)
        assert_int_equal(put(&link, &ops[0]), PEN_POST_AGAIN);
    assert_int_equal(fake.puts, 3 * TOKENS); /* the tokens came back */
    fake.result = PTL_OK;
    for (unsigned i = 0; i < TOKENS; i++)
        assert_int_equal(put(&link, &ops[i]), PEN_POST_PENDING);
    assert_int_equal(put(&link, &ops[TOKENS]), PEN_POST_AGAIN);
    assert_int_equal(fake.puts, 4 * TOKENS);
}

static void each_region_has_a_key_of_its_own(void **state)
{
    (void)state;
    portals_link link;
    link_init(&link);
    pen_region *regions[3];
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(portals_rma.register_region(&link.base, block_memory, 64, &regions[i]),
                         PEN_OK);
    for (unsigned i = 0; i < 3; i++) {
        uint64_t key = 0;
        pen_rkey imported = 0;
        assert_int_equal(portals_rma.export_region(&link.base, regions[i], &key), PEN_OK);
        assert_int_equal(key, fake.keys[i]);
        assert_int_equal(key, fake.data_keys[i]);
        assert_int_equal(portals_rma.import_region(&link.base, 1, &key, &imported), PEN_OK);
        assert_int_equal(imported, key);
        for (unsigned k = 0; k < i; k++)
            assert_int_not_equal(fake.keys[k], key);
        portals_rma.deregister_region(&link.base, regions[i]);
    }
    assert_int_equal(fake.unlinks, 6);
    for (unsigned i = 1; i <= 2; i++) { /* if the second finds no room, the first is unlinked */
        fake = (struct fake){ .append_fails = i };
        assert_int_equal(portals_rma.register_region(&link.base, block_memory, 64, &regions[0]),
                         PEN_ERR_RESOURCE);
        assert_int_equal(fake.unlinks, i - 1);
    }
}

static void a_peer_whose_operation_fails_is_lost_once(void **state)
{
    (void)state;
    portals_link link;
    link_init(&link);
    pen_op ops[TOKENS] = { new_op(), new_op() };
    for (unsigned i = 0; i < TOKENS; i++) {
        portals_token *token = next_token(&link, PORTALS_MEMORY);
        assert_int_equal(put(&link, &ops[i]), PEN_POST_PENDING);
        for (unsigned k = 0; k < 2; k++)
            event_add(QUEUE_ENDED, (ptl_event_t){ .type = PTL_EVENT_ACK,
                                                  .user_ptr = token,
                                                  .ni_fail_type = PTL_NI_UNDELIVERABLE });
    }
    for (unsigned i = 0; i < 4; i++)
        (void)portals_poll(&link.base, 0, 9);
    assert_int_equal(fake.lost[1], 1);
    assert_int_equal(fake.lost[0] + fake.lost[2] + fake.lost_any, 0);
    expect_put(&ops[0], 1, 1);
    assert_int_equal(put(&link, &ops[0]), PEN_POST_FAILED);
    assert_true(portals_due.due_ns(&link.base) == UINT64_MAX); /* both tokens came back */
}

/* ---- frames ---------------------------------------------------------------------------------- */

static void peers_that_owe_something_are_woken(void **state)
{
    (void)state;
    static const uint64_t head[HEAD_LEN / 8] = { 1, 2, 3 };
    const pen_frame frame = { .head = head, .head_len = HEAD_LEN };
    portals_link link;
    link_init(&link);
    portals_token *token = next_token(&link, PEN_LANE_REQUEST);
    assert_int_equal(portals_post(&link.base, 2, PEN_LANE_REQUEST, &frame, NULL), PEN_POST_DONE);
    assert_int_equal(fake.wakes[2], 1); /* for the frame */
    assert_int_equal(portals_poll(&link.base, 0, 9), 0);
    assert_int_equal(fake.wakes[2], 2); /* the frame has not left: that card has to work */
    end(&link, token, PTL_EVENT_SEND);
    assert_int_equal(fake.wakes[2], 3); /* it has arrived only now */
    assert_int_equal(portals_poll(&link.base, 0, 9), 0);
    assert_int_equal(fake.wakes[2], 3);
    assert_int_equal(fake.wakes[0] + fake.wakes[1], 0);
}

static void a_rank_keeps_awake_while_its_card_works(void **state)
{
    (void)state;
    portals_link link;
    link_init(&link);
    assert_true(portals_due.due_ns(&link.base) == UINT64_MAX);
    fake.moved = 3; /* a part of a message, which is no event */
    assert_true(portals_due.due_ns(&link.base) == 0);
    assert_true(portals_due.due_ns(&link.base) == UINT64_MAX);
}

static ptl_event_t arrival(void)
{
    return (ptl_event_t){ .type = PTL_EVENT_PUT,
                          .start = block_memory,
                          .user_ptr = &block,
                          .mlength = FRAME_LEN,
                          .initiator.phys = { .nid = 5, .pid = 101 },
                          .hdr_data = UINT64_C(1) << 40 | (uint64_t)HEAD_LEN << 32 | BODY_LEN };
}

static unsigned poll_reply(portals_link *link)
{
    return portals_poll(&link->base, PEN_LANE_BIT(PEN_LANE_REPLY), 9);
}

static void a_frame_is_delivered_when_its_lane_is_asked_for(void **state)
{
    (void)state;
    portals_link link;
    link_init(&link);
    event_add(PEN_LANE_REPLY, arrival());
    assert_int_equal(portals_poll(&link.base, PEN_LANE_BIT(PEN_LANE_REQUEST), 9), 0);
    assert_int_equal(poll_reply(&link), 1);
    assert_int_equal(fake.delivered, 1);
    assert_int_equal(fake.from, 1);
    assert_int_equal(fake.lane, PEN_LANE_REPLY);
    assert_int_equal(fake.lost_any, 0);
}

static void events_that_were_lost_end_the_job(void **state)
{
    (void)state;
    portals_link link;
    link_init(&link);
    fake.has_dropped = true;
    event_add(PEN_LANE_REPLY, arrival());
    (void)poll_reply(&link);
    assert_int_equal(fake.delivered, 1);
    assert_int_equal(fake.lost_any, 1);
}

static void a_message_that_contradicts_itself_ends_the_job(void **state)
{
    (void)state;
    ptl_event_t bad[8];
    for (unsigned i = 0; i < 8; i++)
        bad[i] = arrival();
    bad[0].mlength += 16;
    bad[1].mlength -= 16;
    bad[2].hdr_data = (uint64_t)PEERS << 40 | (uint64_t)HEAD_LEN << 32 | BODY_LEN;
    bad[3].hdr_data = UINT64_C(1) << 40 | BODY_LEN; /* no head */
    bad[3].mlength = 48;
    bad[4].hdr_data = UINT64_C(1) << 40 | (uint64_t)20 << 32 | BODY_LEN;
    bad[5].hdr_data = UINT64_C(1) << 40 | (uint64_t)HEAD_LEN << 32 | (PORTALS_FRAME_MAX + 1);
    bad[5].mlength = 32 + PORTALS_FRAME_MAX + 16;
    bad[6].initiator.phys.pid = 102; /* another process says that it is rank 1 */
    bad[7].ni_fail_type = PTL_NI_UNDELIVERABLE;
    for (unsigned i = 0; i < 8; i++) {
        portals_link link;
        link_init(&link);
        event_add(PEN_LANE_REPLY, bad[i]);
        (void)poll_reply(&link);
        (void)poll_reply(&link);
        assert_int_equal(fake.delivered, 0);
        assert_int_equal(fake.lost_any, 1);
    }
}

static void a_block_is_used_again_when_it_is_unlinked_and_empty(void **state)
{
    (void)state;
    const ptl_event_t unlinked = { .type = PTL_EVENT_AUTO_UNLINK, .user_ptr = &block };
    for (unsigned unlink_first = 0; unlink_first < 2; unlink_first++) {
        portals_link link;
        link_init(&link);
        block.used = PORTALS_BLOCK_LEN - PORTALS_LONGEST; /* the next frame is the last */
        event_add(PEN_LANE_REPLY, unlink_first ? unlinked : arrival());
        (void)poll_reply(&link);
        assert_int_equal(fake.appends, 0);
        event_add(PEN_LANE_REPLY, unlink_first ? arrival() : unlinked);
        (void)poll_reply(&link);
        assert_int_equal(fake.appends, 1);
        assert_int_equal(block.used, 0);
        event_add(PEN_LANE_REPLY, arrival());
        (void)poll_reply(&link);
        assert_int_equal(fake.appends, 1);
        assert_int_equal(fake.delivered, 2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_put_ends_when_its_data_has_landed),
        cmocka_unit_test(a_get_ends_with_its_reply),
        cmocka_unit_test(puts_without_a_token_or_room_are_tried_again),
        cmocka_unit_test(each_region_has_a_key_of_its_own),
        cmocka_unit_test(a_peer_whose_operation_fails_is_lost_once),
        cmocka_unit_test(peers_that_owe_something_are_woken),
        cmocka_unit_test(a_rank_keeps_awake_while_its_card_works),
        cmocka_unit_test(a_frame_is_delivered_when_its_lane_is_asked_for),
        cmocka_unit_test(events_that_were_lost_end_the_job),
        cmocka_unit_test(a_message_that_contradicts_itself_ends_the_job),
        cmocka_unit_test(a_block_is_used_again_when_it_is_unlinked_and_empty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
