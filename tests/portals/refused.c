/* SPDX-License-Identifier: BSD-3-Clause */
/* refused.c: frames without credits over a played interface: the card of the receiver refuses those
 * that it has no room for, and they are sent again until it takes them. */
#include "conduits/portals/portals.h"

#include "portals/play.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { PAUSE_NS = 5000, PAUSE_MOST_NS = PAUSE_NS << 7 };

static void link_init_without_credits(portals_link *link)
{
    link_init(link);
    link->policy = PORTALS_DISABLE;
}

static portals_token *post_request(portals_link *link)
{
    static const uint64_t head[HEAD_LEN / 8] = { 1, 2, 3 };
    static const char body[BODY_LEN] = "body";
    const pen_frame frame = {
        .head = head, .head_len = HEAD_LEN, .body = body, .body_len = BODY_LEN
    };
    portals_token *token = next_token(link, PEN_LANE_REQUEST);
    assert_int_equal(portals_post(&link->base, 2, PEN_LANE_REQUEST, &frame, NULL), PEN_POST_DONE);
    return token;
}

static void poll(portals_link *link) { (void)portals_poll(&link->base, PEN_LANES_ALL, 9); }

/* The frame has left, and the receiver's card has refused it. */
static void refuse(portals_link *link, portals_token *token)
{
    event_add(QUEUE_ENDED, (ptl_event_t){ .type = PTL_EVENT_SEND, .user_ptr = token });
    event_add(QUEUE_ENDED, (ptl_event_t){ .type = PTL_EVENT_ACK,
                                          .user_ptr = token,
                                          .ni_fail_type = PTL_NI_PT_DISABLED });
    poll(link);
}

static void a_frame_keeps_its_token_until_it_is_acknowledged(void **state)
{
    (void)state;
    for (unsigned ack_first = 0; ack_first < 2; ack_first++) {
        portals_link link;
        link_init_without_credits(&link);
        portals_token *token = post_request(&link);
        assert_int_equal(fake.last_ack, PTL_ACK_REQ);
        end(&link, token, ack_first ? PTL_EVENT_ACK : PTL_EVENT_SEND);
        assert_ptr_not_equal(next_token(&link, PEN_LANE_REQUEST), token);
        end(&link, token, ack_first ? PTL_EVENT_SEND : PTL_EVENT_ACK);
        assert_ptr_equal(next_token(&link, PEN_LANE_REQUEST), token);
        assert_int_equal(fake.puts, 1);
    }
}

static void a_frame_with_credits_is_not_acknowledged(void **state)
{
    (void)state;
    portals_link link;
    link_init(&link);
    portals_token *token = post_request(&link);
    assert_int_equal(fake.last_ack, PTL_NO_ACK_REQ);
    end(&link, token, PTL_EVENT_SEND);
    assert_ptr_equal(next_token(&link, PEN_LANE_REQUEST), token);
}

/* A refused frame is sent again, too, in a poll that handles an event of another kind. Such a poll
 * wakes no peer by itself, so the frame has to. */
static void a_frame_that_is_sent_again_wakes_its_receiver(void **state)
{
    (void)state;
    static const uint64_t head[HEAD_LEN / 8] = { 1, 2, 3 };
    const pen_frame frame = { .head = head, .head_len = HEAD_LEN };
    portals_link link;
    link_init_without_credits(&link);
    refuse(&link, post_request(&link));
    portals_token *other = next_token(&link, PEN_LANE_REPLY);
    assert_int_equal(portals_post(&link.base, 0, PEN_LANE_REPLY, &frame, NULL), PEN_POST_DONE);
    fake.now_ns += PAUSE_NS;
    const unsigned wakes = fake.wakes[2], puts = fake.puts;
    event_add(QUEUE_ENDED, (ptl_event_t){ .type = PTL_EVENT_SEND, .user_ptr = other });
    poll(&link);
    assert_int_equal(fake.puts, puts + 1);
    assert_int_equal(fake.wakes[2], wakes + 1);
}

static void a_refused_frame_is_sent_again_as_it_was(void **state)
{
    (void)state;
    portals_link link;
    link_init_without_credits(&link);
    portals_token *token = post_request(&link);
    const ptl_size_t at = fake.last_at, len = fake.last_len;
    const ptl_hdr_data_t data = fake.last_data;
    fake.last_at = fake.last_len = 0;
    fake.last_data = 0;
    refuse(&link, token);
    assert_int_equal(fake.puts, 1); /* not yet */
    assert_ptr_not_equal(next_token(&link, PEN_LANE_REQUEST), token);
    assert_true(portals_due.due_ns(&link.base) != UINT64_MAX);
    fake.now_ns += PAUSE_NS;
    poll(&link);
    assert_int_equal(fake.puts, 2);
    assert_int_equal(fake.last_at, at);
    assert_int_equal(fake.last_len, len);
    assert_true(fake.last_data == data);
    assert_int_equal(link.counters->frame_resent, 1);
    end(&link, token, PTL_EVENT_SEND);
    end(&link, token, PTL_EVENT_ACK);
    assert_ptr_equal(next_token(&link, PEN_LANE_REQUEST), token);
    fake.now_ns += PAUSE_MOST_NS;
    poll(&link);
    assert_int_equal(fake.puts, 2);
    assert_int_equal(fake.lost_any + fake.lost[2], 0);
}

static void pauses_double_up_to_a_limit(void **state)
{
    (void)state;
    portals_link link;
    link_init_without_credits(&link);
    portals_token *token = post_request(&link);
    uint64_t pause = PAUSE_NS;
    for (unsigned i = 0; i < 20; i++) {
        refuse(&link, token);
        fake.now_ns += pause - 1;
        poll(&link);
        assert_int_equal(fake.puts, 1 + i);
        fake.now_ns++;
        poll(&link);
        assert_int_equal(fake.puts, 2 + i);
        pause = pause < PAUSE_MOST_NS ? 2 * pause : pause;
    }
    /* The next frame begins with the least pause. */
    end(&link, token, PTL_EVENT_SEND);
    end(&link, token, PTL_EVENT_ACK);
    assert_ptr_equal(post_request(&link), token);
    refuse(&link, token);
    fake.now_ns += PAUSE_NS;
    const unsigned puts = fake.puts;
    poll(&link);
    assert_int_equal(fake.puts, puts + 1);
}

static void all_refused_frames_are_sent_again(void **state)
{
    (void)state;
    portals_link link;
    link_init_without_credits(&link);
    portals_token *token[TOKENS];
    for (unsigned i = 0; i < TOKENS; i++)
        token[i] = post_request(&link);
    for (unsigned i = 0; i < TOKENS; i++)
        refuse(&link, token[i]);
    fake.now_ns += PAUSE_NS;
    fake.result = PTL_NO_SPACE; /* this card is full, too */
    poll(&link);
    poll(&link);
    fake.result = PTL_OK;
    const unsigned puts = fake.puts;
    poll(&link);
    assert_int_equal(fake.puts, puts + TOKENS);
    poll(&link);
    assert_int_equal(fake.puts, puts + TOKENS);
}

static void a_frame_that_cannot_be_sent_again_loses_the_peer(void **state)
{
    (void)state;
    portals_link link;
    link_init_without_credits(&link);
    portals_token *token = post_request(&link);
    refuse(&link, token);
    fake.now_ns += PAUSE_NS;
    fake.result = PTL_FAIL;
    poll(&link);
    poll(&link);
    assert_int_equal(fake.lost[2], 1);
    assert_ptr_equal(next_token(&link, PEN_LANE_REQUEST), token);
}

static void a_portal_without_room_is_enabled_when_it_has_some(void **state)
{
    (void)state;
    portals_link link;
    link_init_without_credits(&link);
    const ptl_event_t arrival = {
        .type = PTL_EVENT_PUT,
        .start = block_memory,
        .user_ptr = &block,
        .mlength = FRAME_LEN,
        .initiator.phys = { .nid = 5, .pid = 101 },
        .hdr_data = UINT64_C(1) << 40 | (uint64_t)HEAD_LEN << 32 | BODY_LEN,
    };
    for (unsigned i = 0; i < 3; i++)
        event_add(PEN_LANE_REPLY, arrival);
    event_add(PEN_LANE_REPLY,
              (ptl_event_t){ .type = PTL_EVENT_PT_DISABLED, .ni_fail_type = PTL_NI_PT_DISABLED });
    (void)portals_poll(&link.base, PEN_LANE_BIT(PEN_LANE_REQUEST), 9);
    assert_int_equal(fake.enables, 0); /* nobody has asked for replies */
    (void)portals_poll(&link.base, PEN_LANES_ALL, 3);
    assert_int_equal(fake.delivered, 3);
    assert_int_equal(fake.enables, 0);
    poll(&link);
    assert_int_equal(fake.enables, 1);
    assert_int_equal(fake.lost_any, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_frame_keeps_its_token_until_it_is_acknowledged),
        cmocka_unit_test(a_frame_with_credits_is_not_acknowledged),
        cmocka_unit_test(a_frame_that_is_sent_again_wakes_its_receiver),
        cmocka_unit_test(a_refused_frame_is_sent_again_as_it_was),
        cmocka_unit_test(pauses_double_up_to_a_limit),
        cmocka_unit_test(all_refused_frames_are_sent_again),
        cmocka_unit_test(a_frame_that_cannot_be_sent_again_loses_the_peer),
        cmocka_unit_test(a_portal_without_room_is_enabled_when_it_has_some),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
