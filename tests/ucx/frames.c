/* SPDX-License-Identifier: BSD-3-Clause */
/* frames.c: the ucx conduit over a UCX that this file plays. It sends at once, late or never, has
 * no room, fails, and hands over frames that a stranger may have made. */
#include "conduits/ucx/ucx.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { PEERS = 3, TOKEN = 0x5eed1234, HEAD_LEN = 24, BODY_LEN = 100, LATE_MAX = 16 };

/* ---- the host and UCX ------------------------------------------------------------------------ */

enum fake_mode { AT_ONCE, LATE, NO_ROOM, FAILS };

typedef struct fake_request {
    ucp_send_nbx_callback_t done;
    void *user;
} fake_request;

static struct fake {
    enum fake_mode mode;
    unsigned sends, frees, releases, allocs, deliveries, lost[PEERS];
    fake_request requests[LATE_MAX];
    unsigned request_count;
    unsigned char delivered[BODY_LEN];
    pen_lane lane;
} fake;

static void *take(void *ctx, size_t len, size_t align)
{
    (void)ctx;
    fake.allocs++;
    return aligned_alloc(align, len);
}

static void give(void *ctx, void *memory)
{
    (void)ctx;
    free(memory);
}

static void deliver(void *ctx, pen_peer from, pen_lane lane, const void *head, uint32_t head_len,
                    void *body, uint32_t body_len)
{
    (void)ctx, (void)head;
    assert_int_equal(from, 1);
    assert_int_equal(head_len, HEAD_LEN);
    assert_int_equal(body_len, BODY_LEN);
    memcpy(fake.delivered, body, body_len);
    fake.lane = lane;
    fake.deliveries++;
}

static void peer_lost(void *ctx, pen_peer peer, pen_status why)
{
    (void)ctx;
    assert_int_equal(why, PEN_ERR_PEER_LOST);
    fake.lost[peer]++;
}

static uint64_t clock_ns = 1000;

static uint64_t now_ns(void *ctx)
{
    (void)ctx;
    return clock_ns;
}

static const pen_host host = {
    .alloc = take, .release = give, .deliver = deliver, .peer_lost = peer_lost, .now_ns = now_ns
};

static unsigned progress(ucp_worker_h worker)
{
    (void)worker;
    return 0;
}

static ucs_status_ptr_t am_send(ucp_ep_h ep, unsigned id, const void *header, size_t header_len,
                                const void *buffer, size_t count, const ucp_request_param_t *param)
{
    (void)ep, (void)header, (void)buffer, (void)count;
    assert_int_equal(id, UCX_AM_ID);
    assert_int_equal(header_len, 0);
    assert_true((param->flags & UCP_AM_SEND_FLAG_EAGER) != 0);
    fake.sends++;
    if (fake.mode == NO_ROOM)
        return UCS_STATUS_PTR(fake.sends % 2 == 0 ? UCS_ERR_NO_RESOURCE : UCS_ERR_NO_MEMORY);
    if (fake.mode == FAILS)
        return UCS_STATUS_PTR(UCS_ERR_ENDPOINT_TIMEOUT);
    if (fake.mode == AT_ONCE)
        return NULL;
    assert_true(fake.request_count < LATE_MAX);
    fake_request *made = &fake.requests[fake.request_count++];
    *made = (fake_request){ param->cb.send, param->user_data };
    return made;
}

static void request_free(void *request)
{
    (void)request;
    fake.frees++;
}

static void am_data_release(ucp_worker_h worker, void *data)
{
    (void)worker, (void)data;
    fake.releases++;
}

static void complete_all(ucs_status_t status)
{
    for (unsigned i = 0; i < fake.request_count; i++)
        fake.requests[i].done(&fake.requests[i], status, fake.requests[i].user);
    fake.request_count = 0;
}

typedef struct frame {
    pen_net_word word;
    _Alignas(PEN_NET_ALIGN) unsigned char rest[512];
} frame;

static void link_init(ucx_link *link)
{
    fake = (struct fake){ .mode = AT_ONCE };
    const pen_link_params params = { .host = &host, .peers = PEERS };
    *link = (ucx_link){ .has_fd = true };
    assert_true(pen_net_open(&link->net, &params, link, TOKEN, UCX_FRAME_MAX));
    fake.allocs = 0;
    link->ucx.worker_progress = progress;
    link->ucx.am_send = am_send;
    link->ucx.request_free = request_free;
    link->ucx.am_data_release = am_data_release;
    link->base.host = &host;
    link->base.caps.frame_max = UCX_FRAME_MAX;
    for (unsigned lane = 0; lane < PEN_LANES; lane++)
        link->arrived[lane].last_next = &link->arrived[lane].first;
    link->ep = calloc(PEERS, sizeof(ucp_ep_h));
    assert_non_null(link->ep);
}

static void link_end(ucx_link *link)
{
    ucx_arrivals_close(link);
    pen_net_close(&link->net);
    free(link->ep);
}

static frame good_frame(void)
{
    frame good = { .word = { .from = 1,
                             .lane = PEN_LANE_REPLY,
                             .head_words = HEAD_LEN / 8,
                             .body_len = BODY_LEN,
                             .token = TOKEN } };
    return good;
}

enum { GOOD_LEN = sizeof(pen_net_word) + 32 + 112 }; /* the head is padded to 32, the body to 112 */

static ucs_status_t arrive(ucx_link *link, frame *in, size_t len)
{
    const ucp_am_recv_param_t param = { 0 };
    return ucx_on_arrival(link, NULL, 0, &in->word, len, &param);
}

static size_t count_arrived(const ucx_link *link)
{
    size_t count = 0;
    for (unsigned lane = 0; lane < PEN_LANES; lane++)
        for (const ucx_arrival *at = link->arrived[lane].first; at != NULL; at = at->next)
            count++;
    return count;
}

static void a_right_frame_is_kept(void **state)
{
    (void)state;
    ucx_link link;
    link_init(&link);
    frame in = good_frame();
    assert_int_equal(arrive(&link, &in, GOOD_LEN), UCS_OK);
    assert_int_equal(count_arrived(&link), 1);
    const ucx_arrival *kept = link.arrived[PEN_LANE_REPLY].first;
    assert_non_null(kept);
    assert_int_equal(kept->word.from, 1);
    assert_int_equal(kept->word.head_words, HEAD_LEN / 8);
    assert_int_equal(kept->word.body_len, BODY_LEN);
    assert_memory_equal(kept->data, &in, GOOD_LEN);
    assert_true(link.net.bad_source == 0 && link.net.bad_frame == 0);
    link_end(&link);
}

static void a_stranger_is_not_heard(void **state)
{
    (void)state;
    ucx_link link;
    link_init(&link);
    for (unsigned bit = 0; bit < 32; bit++) {
        frame in = good_frame();
        in.word.token ^= 1u << bit;
        assert_int_equal(arrive(&link, &in, GOOD_LEN), UCS_OK);
    }
    frame in = good_frame();
    in.word.from = PEERS;
    assert_int_equal(arrive(&link, &in, GOOD_LEN), UCS_OK);
    assert_int_equal(link.net.bad_source, 33);
    assert_int_equal(count_arrived(&link), 0);
    link_end(&link);
}

static void a_frame_that_contradicts_itself_is_dropped(void **state)
{
    (void)state;
    ucx_link link;
    link_init(&link);
    uint64_t dropped = 0;
    for (size_t len = 0; len <= sizeof(frame); len++) {
        frame in = good_frame();
        if (len == GOOD_LEN)
            continue;
        assert_int_equal(arrive(&link, &in, len), UCS_OK);
        dropped++;
    }
    frame bad[5];
    for (unsigned i = 0; i < 5; i++)
        bad[i] = good_frame();
    bad[0].word.lane = PEN_LANES;
    bad[1].word.head_words = 0;
    bad[2].word.head_words = 255;
    bad[3].word.zero = 1;
    bad[4].word.body_len = UINT32_MAX - 15; /* its sum with the lengths before it is small again */
    const size_t lens[] = { GOOD_LEN, sizeof(pen_net_word) + 112, sizeof(pen_net_word) + 2048 + 112,
                            GOOD_LEN, 32 };
    unsigned char *room = calloc(1, 8192);
    assert_non_null(room);
    for (unsigned i = 0; i < 5; i++) {
        memcpy(room, &bad[i].word, sizeof(pen_net_word));
        const ucp_am_recv_param_t param = { 0 };
        assert_int_equal(ucx_on_arrival(&link, NULL, 0, room, lens[i], &param), UCS_OK);
        dropped++;
    }
    const ucp_am_recv_param_t large = { .recv_attr = UCP_AM_RECV_ATTR_FLAG_RNDV };
    frame in = good_frame();
    assert_int_equal(ucx_on_arrival(&link, NULL, 0, &in.word, GOOD_LEN, &large), UCS_OK);
    assert_int_equal(link.net.bad_frame, dropped + 1);
    assert_int_equal(link.net.bad_source, 0);
    assert_int_equal(count_arrived(&link), 0);
    free(room);
    link_end(&link);
}

static void a_poll_delivers_what_its_lanes_ask_for(void **state)
{
    (void)state;
    ucx_link link;
    link_init(&link);
    frame in = good_frame();
    memset(in.rest + 32, 7, BODY_LEN);
    assert_int_equal(arrive(&link, &in, GOOD_LEN), UCS_OK); /* a copy */
    const ucp_am_recv_param_t stays = { .recv_attr = UCP_AM_RECV_ATTR_FLAG_DATA };
    assert_int_equal(ucx_on_arrival(&link, NULL, 0, &in.word, GOOD_LEN, &stays), UCS_INPROGRESS);
    assert_int_equal(ucx_poll(&link.base, PEN_LANE_BIT(PEN_LANE_REQUEST), 9), 0);
    assert_int_equal(ucx_poll(&link.base, PEN_LANE_BIT(PEN_LANE_REPLY), 1), 1);
    assert_int_equal(fake.releases, 0);
    assert_int_equal(ucx_poll(&link.base, PEN_LANE_BIT(PEN_LANE_REPLY), 9), 1);
    assert_int_equal(fake.releases, 1); /* UCX's memory goes back, once */
    assert_int_equal(fake.deliveries, 2);
    assert_int_equal(fake.lane, PEN_LANE_REPLY);
    assert_memory_equal(fake.delivered, in.rest + 32, BODY_LEN);
    link_end(&link);
    assert_int_equal(fake.releases, 1);
}

/* ---- sending --------------------------------------------------------------------------------- */

static pen_post post(ucx_link *link, pen_peer to)
{
    static const uint64_t head[HEAD_LEN / 8] = { 1, 2, 3 };
    static const unsigned char body[BODY_LEN] = { 4 };
    const pen_frame out = { head, body, HEAD_LEN, BODY_LEN };
    return ucx_post(&link->base, to, PEN_LANE_REQUEST, &out, NULL);
}

static void frames_that_are_sent_late_use_bounded_memory(void **state)
{
    (void)state;
    ucx_link link;
    link_init(&link);
    fake.mode = LATE;
    for (unsigned round = 0; round < 100; round++) {
        assert_true(ucx_due.due_ns(&link.base) == UINT64_MAX); /* nothing waits for a poll */
        for (unsigned i = 0; i < LATE_MAX; i++)
            assert_int_equal(post(&link, 2), PEN_POST_DONE);
        assert_true(ucx_due.due_ns(&link.base) != UINT64_MAX);
        complete_all(round % 2 == 0 ? UCS_OK : UCS_ERR_CANCELED);
    }
    assert_int_equal(fake.allocs, LATE_MAX);
    assert_int_equal(fake.frees, 100 * LATE_MAX);
    assert_int_equal(ucx_poll(&link.base, 7, 9), 0);
    assert_int_equal(fake.lost[2], 0);
    link_end(&link);
}

static void without_room_the_caller_tries_again(void **state)
{
    (void)state;
    ucx_link link;
    link_init(&link);
    fake.mode = NO_ROOM;
    for (unsigned i = 0; i < 100; i++)
        assert_int_equal(post(&link, 0), PEN_POST_AGAIN);
    fake.mode = AT_ONCE;
    for (unsigned i = 0; i < 100; i++)
        assert_int_equal(post(&link, 0), PEN_POST_DONE);
    assert_int_equal(fake.allocs, 1);
    assert_int_equal(fake.sends, 200);
    assert_int_equal(ucx_poll(&link.base, 7, 9), 0);
    assert_int_equal(fake.lost[0], 0);
    link_end(&link);
}

static void a_peer_that_fails_is_lost_once(void **state)
{
    (void)state;
    ucx_link link;
    link_init(&link);
    fake.mode = FAILS;
    assert_int_equal(post(&link, 2), PEN_POST_FAILED);
    assert_int_equal(post(&link, 2), PEN_POST_FAILED);
    assert_int_equal(fake.sends, 1); /* UCX is not asked again */
    fake.mode = LATE;
    assert_int_equal(post(&link, 1), PEN_POST_DONE);
    complete_all(UCS_ERR_CONNECTION_RESET);
    assert_int_equal(ucx_poll(&link.base, 7, 9), 0);
    assert_int_equal(fake.lost[1] + fake.lost[2], 0); /* the launcher has yet to notice it */
    clock_ns += PEN_NET_GRACE_NS;
    for (unsigned i = 0; i < 5; i++)
        assert_int_equal(ucx_poll(&link.base, 7, 9), 0);
    assert_int_equal(fake.lost[0], 0);
    assert_int_equal(fake.lost[1], 1);
    assert_int_equal(fake.lost[2], 1);
    assert_int_equal(post(&link, 1), PEN_POST_FAILED);
    assert_int_equal(post(&link, 0), PEN_POST_DONE);
    complete_all(UCS_OK);
    link_end(&link);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_right_frame_is_kept),
        cmocka_unit_test(a_stranger_is_not_heard),
        cmocka_unit_test(a_frame_that_contradicts_itself_is_dropped),
        cmocka_unit_test(a_poll_delivers_what_its_lanes_ask_for),
        cmocka_unit_test(frames_that_are_sent_late_use_bounded_memory),
        cmocka_unit_test(without_room_the_caller_tries_again),
        cmocka_unit_test(a_peer_that_fails_is_lost_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
