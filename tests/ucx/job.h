/* SPDX-License-Identifier: BSD-3-Clause */
/* job.h: a rank whose ucx conduit is played with the UCX of fake_ucp.h: its host, and its peers. */
#ifndef PEN_TESTS_UCX_JOB_H
#define PEN_TESTS_UCX_JOB_H

#include "conduits/ucx/ucx.h"
#include "diag/counters.h"
#include "diag/log.h"
#include "ucx/fake_ucp.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

extern const pen_conduit pen_conduit_ucx;

/* ---- the host -------------------------------------------------------------------------------- */

static unsigned lanes_asked;

static void *take(void *ctx, size_t len, size_t align)
{
    (void)ctx;
    fake.blocks++;
    return aligned_alloc(align, (len + align - 1) / align * align);
}

static void give(void *ctx, void *memory)
{
    (void)ctx;
    fake.blocks -= memory != NULL;
    free(memory);
}

static void deliver(void *ctx, pen_peer from, pen_lane lane, const void *head, uint32_t head_len,
                    void *body, uint32_t body_len)
{
    (void)ctx;
    unsigned char expected[BODY_MAX];
    const uint32_t serial = serial_of(head);
    assert_true(from < PEERS && (lanes_asked & PEN_LANE_BIT(lane)) != 0 && serial < MOST);
    assert_int_equal(head_len, HEAD_LEN);
    assert_int_equal((uintptr_t)body % PEN_NET_ALIGN, 0);
    fill_body(expected, body_len, serial);
    if (body_len != 0)
        assert_memory_equal(body, expected, body_len);
    fake.delivered[serial]++;
    fake.delivered_total++;
}

static void peer_lost(void *ctx, pen_peer peer, pen_status why)
{
    (void)ctx;
    assert_int_equal(why, PEN_ERR_PEER_LOST);
    fake.lost[peer]++;
}

static uint64_t clock_ns;

static uint64_t now_ns(void *ctx)
{
    (void)ctx;
    return clock_ns += 1000000;
}

/* Lets the time pass that the launcher has to notice a lost peer. */
static void time_passes(void) { clock_ns += PEN_NET_GRACE_NS; }

static bool is_orderly; /* the end of the job */

static bool orderly(void *ctx)
{
    (void)ctx;
    return is_orderly;
}

static __attribute__((format(printf, 3, 4))) void log_line(void *ctx, int level, const char *format,
                                                           ...)
{
    (void)ctx;
    assert_true(level <= PEN_LOG_WARN && format[0] != '\0');
    fake.logged++;
}

static pen_counters counters;
static const pen_host host = { .alloc = take,
                               .release = give,
                               .deliver = deliver,
                               .peer_lost = peer_lost,
                               .now_ns = now_ns,
                               .orderly = orderly,
                               .log = log_line,
                               .counters = &counters };

static void fake_init(void)
{
    fake =
        (struct fake){ .dice = 1, .address_len = ADDRESS_LEN, .key_len = KEY_LEN, .has_fd = true };
    counters = (pen_counters){ 0 };
    for (unsigned i = 0; i < ADDRESS_LEN; i++)
        an_address[i] = (char)i;
}

static pen_status open_link(pen_link **out)
{
    static const ucx_config config = { "libucp.so.0", "tcp,self", "yes", 65536 };
    const pen_link_params params = { .host = &host, .peers = PEERS, .config = &config };
    *out = NULL;
    return pen_conduit_ucx.open(&params, out);
}

static bool differs_in_rma; /* the last peer */

/* Connects to peers whose addresses are this link's, but for the last one's number. */
static pen_status connect_link(pen_link *link, uint32_t frame_max_more)
{
    static ucx_address blobs[PEERS];
    for (unsigned i = 0; i < PEERS; i++)
        assert_int_equal(link->ops->address(link, &blobs[i]), PEN_OK);
    blobs[PEERS - 1].frame_max += frame_max_more;
    blobs[PEERS - 1].has_rma ^= differs_in_rma;
    return link->ops->connect(link, blobs, PEERS);
}

static pen_link *start(void)
{
    pen_link *link;
    fake_init();
    assert_int_equal(open_link(&link), PEN_OK);
    assert_int_equal(connect_link(link, 0), PEN_OK);
    assert_int_equal(fake.endpoints, PEERS);
    return link;
}

static void expect_nothing_left(void)
{
    assert_int_equal(fake.contexts + fake.workers + fake.configs + fake.addresses, 0);
    assert_int_equal(fake.held + fake.requests + fake.blocks, 0);
    assert_int_equal(fake.regions + fake.keys + fake.packed, 0);
}

static pen_post post(pen_link *link, pen_peer to, pen_lane lane, uint32_t body_len)
{
    const uint64_t head[HEAD_LEN / 8] = { fake.posted, 2, 3 };
    unsigned char body[BODY_MAX];
    const pen_frame frame = { head, body, HEAD_LEN, body_len };
    fill_body(body, body_len, fake.posted++);
    const pen_post result = link->ops->post(link, to, lane, &frame, NULL);
    if (result == PEN_POST_AGAIN)
        fake.posted--;
    return result;
}

static unsigned poll_lanes(pen_link *link, unsigned lanes, unsigned budget)
{
    lanes_asked = lanes;
    return link->ops->poll(link, lanes, budget);
}

/* A peer sends a frame. */
static void arrive(pen_peer from, pen_lane lane, uint32_t body_len)
{
    const pen_net_word word = {
        .from = from, .lane = (uint8_t)lane, .head_words = HEAD_LEN / 8, .body_len = body_len
    };
    const uint64_t head[HEAD_LEN / 8] = { fake.arrivals, 2, 3 };
    assert_true(fake.coming_count < MOST);
    message *out = &fake.coming[fake.coming_count++];
    *out = (message){ aligned_alloc(PEN_NET_ALIGN, ROOM_LEN), pen_net_len(HEAD_LEN, body_len) };
    assert_non_null(out->room);
    memset(out->room, 0, ROOM_LEN);
    memcpy(out->room, &word, sizeof word);
    memcpy(out->room + sizeof word, head, sizeof head);
    fill_body(out->room + pen_net_len(HEAD_LEN, 0), body_len, fake.arrivals++);
}

#endif
