/* SPDX-License-Identifier: BSD-3-Clause */
/* frames.c: the ofi conduit over a libfabric that this file plays: it has no room at random, ends
 * sends late and in any order, fails, reports buffers as used up in entries of their own, and
 * brings messages of strangers.
 *
 *     ofi.frames [SEED]    plays one seed of the random test */
#include "conduits/ofi/ofi.h"
#include "diag/counters.h"

#include <rdma/fi_errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum {
    PEERS = 3,
    TOKEN = 0x5eed1234,
    HEAD_LEN = 24,
    BUFFER_LEN = 2048,
    INJECT_LEN = 64,
    BODY_MAX = 400,
    MOST = 512, /* frames of one run */
    SEEDS = 10000,
    STEPS = 120,
};

/* ---- the network ----------------------------------------------------------------------------- */

typedef struct sent_frame {
    const void *bytes; /* libfabric reads them until it reports the end */
    void *context;
    size_t len;
    unsigned char copy[1024];
} sent_frame;

static struct fake {
    uint64_t dice;
    unsigned refuse_in_8; /* chance that a call has no room */
    int fail;             /* error of the next sends */
    int end_error;        /* error with which sends end */
    sent_frame under_way[MOST];
    unsigned under_way_count, sends, injects;
    unsigned posted;         /* serials of posted frames are 0 to posted - 1 */
    uint8_t went[MOST];      /* by serial: times that libfabric got the frame */
    uint8_t delivered[MOST]; /* by serial: times that the engine got the frame */
    unsigned delivered_total, lost[PEERS], allocs, receives;
    struct fi_cq_data_entry arrivals[MOST];
    unsigned arrival_first, arrival_count;
    bool has_arrival_error;
    struct {
        void *context;
        unsigned char *memory;
        size_t at;
    } room[OFI_BUFFERS]; /* posted buffers, oldest first */
    unsigned room_count;
} fake;

static uint32_t dice(uint32_t bound)
{
    fake.dice = fake.dice * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (uint32_t)(fake.dice >> 33) % bound;
}

static bool is_refused(void) { return dice(8) < fake.refuse_in_8; }

/* A frame carries its serial in its head, and its body follows from it. */
static void fill_body(unsigned char *body, uint32_t len, uint32_t serial)
{
    for (uint32_t i = 0; i < len; i++)
        body[i] = (unsigned char)(serial * 31 + i);
}

static uint32_t serial_of(const void *head)
{
    uint64_t word;
    memcpy(&word, head, sizeof word);
    return (uint32_t)word;
}

static void note_sent(const unsigned char *bytes, size_t len)
{
    pen_net_word word;
    memcpy(&word, bytes, sizeof word);
    assert_int_equal(len, pen_net_len(HEAD_LEN, word.body_len));
    assert_int_equal(word.token, TOKEN);
    const uint32_t serial = serial_of(bytes + sizeof word);
    static const unsigned char zeros[PEN_NET_ALIGN];
    const size_t head_end = sizeof word + HEAD_LEN, body_at = pen_net_len(HEAD_LEN, 0);
    assert_memory_equal(bytes + head_end, zeros, body_at - head_end); /* no old bytes leave */
    assert_memory_equal(bytes + body_at + word.body_len, zeros, len - body_at - word.body_len);
    unsigned char body[BODY_MAX];
    fill_body(body, word.body_len, serial);
    assert_memory_equal(bytes + pen_net_len(HEAD_LEN, 0), body, word.body_len);
    assert_true(serial < fake.posted);
    fake.went[serial]++;
}

static ssize_t play_send(struct fid_ep *ep, const void *buffer, size_t len, void *desc,
                         fi_addr_t to, void *context)
{
    (void)ep, (void)desc, (void)to;
    if (fake.fail != 0)
        return fake.fail;
    if (is_refused())
        return -FI_EAGAIN;
    assert_true(fake.under_way_count < MOST && len <= sizeof fake.under_way[0].copy);
    sent_frame *frame = &fake.under_way[fake.under_way_count++];
    *frame = (sent_frame){ .bytes = buffer, .context = context, .len = len };
    memcpy(frame->copy, buffer, len);
    note_sent(buffer, len);
    fake.sends++;
    return 0;
}

static ssize_t play_inject(struct fid_ep *ep, const void *buffer, size_t len, fi_addr_t to)
{
    (void)ep, (void)to;
    assert_true(len <= INJECT_LEN);
    if (fake.fail != 0)
        return fake.fail;
    if (is_refused())
        return -FI_EAGAIN;
    note_sent(buffer, len);
    fake.injects++;
    return 0;
}

static ssize_t play_recvmsg(struct fid_ep *ep, const struct fi_msg *message, uint64_t flags)
{
    (void)ep;
    assert_true((flags & FI_MULTI_RECV) != 0);
    if (is_refused())
        return -FI_EAGAIN;
    assert_true(fake.room_count < OFI_BUFFERS);
    assert_int_equal(message->msg_iov[0].iov_len, BUFFER_LEN);
    fake.room[fake.room_count].context = message->context;
    fake.room[fake.room_count].memory = message->msg_iov[0].iov_base;
    fake.room[fake.room_count++].at = 0;
    fake.receives++;
    return 0;
}

static ssize_t play_read_sent(struct fid_cq *queue, void *out, size_t count)
{
    (void)queue;
    struct fi_cq_data_entry *entries = out;
    size_t n = 0;
    if (fake.under_way_count != 0 && fake.end_error != 0)
        return -FI_EAVAIL;
    while (n < count && fake.under_way_count != 0 && dice(2) == 0) {
        const unsigned i = dice(fake.under_way_count);
        sent_frame *frame = &fake.under_way[i];
        assert_memory_equal(frame->bytes, frame->copy, frame->len); /* nobody has written there */
        entries[n++] = (struct fi_cq_data_entry){ .op_context = frame->context, .flags = FI_SEND };
        *frame = fake.under_way[--fake.under_way_count];
    }
    return n == 0 ? -FI_EAGAIN : (ssize_t)n;
}

static ssize_t play_sent_error(struct fid_cq *queue, struct fi_cq_err_entry *out, uint64_t flags)
{
    (void)queue, (void)flags;
    if (fake.under_way_count == 0)
        return -FI_EAGAIN;
    *out = (struct fi_cq_err_entry){ .op_context = fake.under_way[--fake.under_way_count].context,
                                     .err = fake.end_error };
    return 1;
}

static ssize_t play_read_arrived(struct fid_cq *queue, void *out, size_t count)
{
    (void)queue;
    size_t n = 0;
    if (fake.has_arrival_error)
        return -FI_EAVAIL;
    for (; n < count && fake.arrival_first < fake.arrival_count; n++)
        ((struct fi_cq_data_entry *)out)[n] = fake.arrivals[fake.arrival_first++];
    return n == 0 ? -FI_EAGAIN : (ssize_t)n;
}

static ssize_t play_arrived_error(struct fid_cq *queue, struct fi_cq_err_entry *out, uint64_t flags)
{
    (void)queue, (void)flags;
    fake.has_arrival_error = false;
    *out = (struct fi_cq_err_entry){ .err = FI_ETRUNC };
    return 1;
}

static void entry_add(void *context, uint64_t flags, void *data, size_t len)
{
    assert_true(fake.arrival_count < MOST);
    fake.arrivals[fake.arrival_count++] =
        (struct fi_cq_data_entry){ .op_context = context, .flags = flags, .buf = data, .len = len };
}

/* Puts a message into the oldest buffer, as a peer's would come. Returns false if no buffer is
 * posted. The buffer is used up when the next message may not fit: that is told with this message
 * or in an entry of its own. */
static bool arrive(const void *bytes, size_t len)
{
    if (fake.room_count == 0)
        return false;
    unsigned char *at = fake.room[0].memory + fake.room[0].at;
    void *context = fake.room[0].context;
    memcpy(at, bytes, len);
    fake.room[0].at += len;
    const bool is_used_up = BUFFER_LEN - fake.room[0].at < 1024;
    const bool is_apart = is_used_up && dice(2) == 0;
    entry_add(context, FI_RECV | FI_MSG | (is_used_up && !is_apart ? FI_MULTI_RECV : 0), at, len);
    if (is_apart)
        entry_add(context, FI_MULTI_RECV, NULL, 0);
    if (is_used_up)
        memmove(&fake.room[0], &fake.room[1], --fake.room_count * sizeof fake.room[0]);
    return true;
}

/* ---- the host -------------------------------------------------------------------------------- */

static unsigned lanes_asked;

static void *take(void *ctx, size_t len, size_t align)
{
    (void)ctx;
    fake.allocs++;
    return aligned_alloc(align, (len + align - 1) / align * align);
}

static void give(void *ctx, void *memory)
{
    (void)ctx;
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
    if (body_len != 0) {
        assert_memory_equal(body, expected, body_len);
        memset(body, 0xa5, body_len); /* handlers may */
    }
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

static bool orderly(void *ctx)
{
    (void)ctx;
    return true;
}

static pen_counters counters;
static const pen_host host = { .alloc = take,
                               .release = give,
                               .deliver = deliver,
                               .peer_lost = peer_lost,
                               .now_ns = now_ns,
                               .orderly = orderly,
                               .counters = &counters };

static struct fi_ops_msg messages = {
    .size = sizeof messages, .send = play_send, .inject = play_inject, .recvmsg = play_recvmsg
};
static struct fi_ops_cq sent_ops = { .size = sizeof sent_ops,
                                     .read = play_read_sent,
                                     .readerr = play_sent_error };
static struct fi_ops_cq arrived_ops = { .size = sizeof arrived_ops,
                                        .read = play_read_arrived,
                                        .readerr = play_arrived_error };
static struct fid_ep endpoint = { .msg = &messages };
static struct fid_cq sent_queue = { .ops = &sent_ops }, arrived_queue = { .ops = &arrived_ops };

static void link_init(ofi_link *link)
{
    static fi_addr_t addresses[PEERS];
    const pen_link_params params = { .host = &host, .self = 0, .peers = PEERS };
    fake = (struct fake){ .dice = 1 };
    counters = (pen_counters){ 0 };
    *link = (ofi_link){ .has_fd = true,
                        .inject_len = INJECT_LEN,
                        .buffer_len = BUFFER_LEN,
                        .address = addresses,
                        .ep = &endpoint,
                        .sent = &sent_queue,
                        .arrived = &arrived_queue,
                        .unposted = OFI_BUFFERS };
    link->base.host = &host;
    link->last_waiting = &link->first_waiting;
    assert_true(pen_net_open(&link->net, &params, link, TOKEN, OFI_FRAME_MAX));
    pen_lanes_init(&link->stash, take, give, NULL);
    for (unsigned i = 0; i < OFI_BUFFERS; i++)
        link->buffers[i].memory = take(NULL, BUFFER_LEN, 4096);
    assert_int_equal(ofi_buffers_post(link), 0);
    assert_int_equal(fake.room_count, OFI_BUFFERS);
}

static void link_end(ofi_link *link)
{
    for (unsigned i = 0; i < OFI_BUFFERS; i++)
        free(link->buffers[i].memory);
    pen_lanes_close(&link->stash);
    pen_net_close(&link->net);
}

static pen_post post(ofi_link *link, pen_peer to, pen_lane lane, uint32_t body_len)
{
    const uint64_t head[HEAD_LEN / 8] = { fake.posted, 2, 3 };
    unsigned char body[BODY_MAX];
    fill_body(body, body_len, fake.posted);
    fake.posted++;
    const pen_frame frame = { head, body, HEAD_LEN, body_len };
    return ofi_post(&link->base, to, lane, &frame, NULL);
}

static unsigned poll_lanes(ofi_link *link, unsigned lanes, unsigned budget)
{
    lanes_asked = lanes;
    return ofi_poll(&link->base, lanes, budget);
}

/* Writes the bytes of a frame; returns their number. */
static size_t frame_bytes(unsigned char *out, pen_peer from, pen_lane lane, uint32_t serial,
                          uint32_t body_len)
{
    const pen_net_word word = { .from = from,
                                .lane = (uint8_t)lane,
                                .head_words = HEAD_LEN / 8,
                                .body_len = body_len,
                                .token = TOKEN };
    const uint64_t head[HEAD_LEN / 8] = { serial, 2, 3 };
    memset(out, 0, pen_net_len(HEAD_LEN, body_len));
    memcpy(out, &word, sizeof word);
    memcpy(out + sizeof word, head, sizeof head);
    fill_body(out + pen_net_len(HEAD_LEN, 0), body_len, serial);
    return pen_net_len(HEAD_LEN, body_len);
}

/* ---- sending --------------------------------------------------------------------------------- */

static void short_frames_are_injected_but_for_control(void **state)
{
    (void)state;
    ofi_link link;
    link_init(&link);
    assert_int_equal(post(&link, 1, PEN_LANE_REQUEST, 0), PEN_POST_DONE);
    assert_int_equal(post(&link, 1, PEN_LANE_REPLY, 16), PEN_POST_DONE);
    assert_int_equal(fake.injects, 2);
    assert_true(ofi_due.due_ns(&link.base) == UINT64_MAX); /* nothing waits for a poll */
    assert_int_equal(post(&link, 1, PEN_LANE_CONTROL, 0), PEN_POST_DONE);
    assert_int_equal(post(&link, 1, PEN_LANE_REQUEST, 17), PEN_POST_DONE);
    assert_int_equal(fake.injects, 2);
    assert_int_equal(fake.sends, 2);
    assert_true(ofi_due.due_ns(&link.base) != UINT64_MAX);
    ofi_drain(&link);
    assert_int_equal(fake.under_way_count, 0);
    assert_true(ofi_due.due_ns(&link.base) == UINT64_MAX);
    link_end(&link);
}

static void without_room_frames_wait_and_no_lane_is_refused(void **state)
{
    (void)state;
    ofi_link link;
    link_init(&link);
    fake.refuse_in_8 = 8;
    for (unsigned i = 0; i < 100; i++)
        assert_int_equal(post(&link, i % PEERS, (pen_lane)(i % PEN_LANES), i), PEN_POST_DONE);
    (void)poll_lanes(&link, 7, 9);
    assert_int_equal(fake.sends + fake.injects, 0);
    assert_true(ofi_due.due_ns(&link.base) != UINT64_MAX);
    fake.refuse_in_8 = 0;
    ofi_drain(&link);
    for (unsigned i = 0; i < 100; i++)
        assert_int_equal(fake.went[i], 1);
    link_end(&link);
}

static void memory_of_frames_is_used_again(void **state)
{
    (void)state;
    ofi_link link;
    link_init(&link);
    fake.allocs = 0;
    for (unsigned round = 0; round < 20; round++) {
        for (unsigned i = 0; i < 16; i++)
            assert_int_equal(post(&link, 2, PEN_LANE_REQUEST, i < 8 ? 200 : 0), PEN_POST_DONE);
        ofi_drain(&link);
    }
    assert_int_equal(fake.injects, 20 * 8);
    assert_int_equal(fake.allocs, 9); /* an injected frame needs memory only for the call */
    link_end(&link);
}

static void a_peer_that_fails_is_lost_once(void **state)
{
    (void)state;
    ofi_link link;
    link_init(&link);
    fake.fail = -FI_ENOTCONN;
    assert_int_equal(post(&link, 2, PEN_LANE_REQUEST, 0), PEN_POST_FAILED);
    fake.fail = 0;
    assert_int_equal(post(&link, 2, PEN_LANE_REQUEST, 0), PEN_POST_FAILED); /* not asked again */
    assert_int_equal(fake.injects, 0);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(post(&link, 1, PEN_LANE_REQUEST, 100), PEN_POST_DONE);
    fake.end_error = FI_ECONNRESET;
    for (unsigned i = 0; i < 5; i++)
        (void)poll_lanes(&link, 7, 9);
    assert_int_equal(fake.lost[1] + fake.lost[2], 0); /* the launcher has yet to notice it */
    assert_true(ofi_due.due_ns(&link.base) != UINT64_MAX);
    time_passes();
    for (unsigned i = 0; i < 5; i++)
        (void)poll_lanes(&link, 7, 9);
    assert_int_equal(fake.lost[0], 0);
    assert_int_equal(fake.lost[1], 1);
    assert_false(pen_net_has_news(&link.net));
    assert_int_equal(fake.lost[2], 1);
    fake.end_error = FI_ECANCELED; /* as when an endpoint closes */
    assert_int_equal(post(&link, 0, PEN_LANE_REQUEST, 100), PEN_POST_DONE);
    for (unsigned i = 0; i < 5; i++)
        (void)poll_lanes(&link, 7, 9);
    assert_int_equal(fake.lost[0], 0);
    assert_int_equal(link.net.pending, 0);
    link_end(&link);
}

/* ---- arriving -------------------------------------------------------------------------------- */

static void strangers_are_dropped_and_counted(void **state)
{
    (void)state;
    ofi_link link;
    unsigned char bytes[1024];
    link_init(&link);
    size_t len = frame_bytes(bytes, 1, PEN_LANE_REQUEST, 0, 40);
    bytes[12] ^= 1; /* the token */
    assert_true(arrive(bytes, len));
    len = frame_bytes(bytes, PEERS, PEN_LANE_REQUEST, 0, 40);
    assert_true(arrive(bytes, len));
    len = frame_bytes(bytes, 1, PEN_LANE_REQUEST, 0, 40);
    assert_true(arrive(bytes, len - PEN_NET_ALIGN));
    fake.has_arrival_error = true;
    for (unsigned i = 0; i < 3; i++)
        (void)poll_lanes(&link, 7, 9);
    assert_int_equal(counters.net_bad_source, 2);
    assert_int_equal(counters.net_bad_frame, 2); /* the short one, and the error */
    assert_int_equal(fake.delivered_total, 0);
    link_end(&link);
}

static void frames_wait_for_their_lane(void **state)
{
    (void)state;
    ofi_link link;
    unsigned char bytes[1024];
    link_init(&link);
    for (uint32_t serial = 0; serial < 4; serial++) {
        const pen_lane lane = serial < 3 ? PEN_LANE_REQUEST : PEN_LANE_REPLY;
        assert_true(arrive(bytes, frame_bytes(bytes, 1, lane, serial, 100)));
    }
    assert_int_equal(poll_lanes(&link, PEN_LANE_BIT(PEN_LANE_REPLY), 9), 1);
    assert_int_equal(fake.delivered[3], 1);
    assert_int_equal(poll_lanes(&link, PEN_LANE_BIT(PEN_LANE_REQUEST), 2), 2);
    assert_int_equal(poll_lanes(&link, PEN_LANE_BIT(PEN_LANE_REQUEST), 2), 1);
    link_end(&link);
}

static void frames_of_a_lost_peer_come_before_the_news(void **state)
{
    (void)state;
    ofi_link link;
    unsigned char bytes[1024];
    link_init(&link);
    assert_int_equal(post(&link, 1, PEN_LANE_REQUEST, 100), PEN_POST_DONE);
    fake.end_error = FI_ECONNRESET;
    assert_true(arrive(bytes, frame_bytes(bytes, 1, PEN_LANE_REQUEST, 0, 100)));
    assert_true(arrive(bytes, frame_bytes(bytes, 1, PEN_LANE_CONTROL, 1, 100)));
    while (link.net.lost == 0)
        (void)poll_lanes(&link, 0, 9);
    time_passes();
    assert_int_equal(poll_lanes(&link, 7, 1), 1);
    assert_int_equal(fake.lost[1], 0);
    assert_int_equal(poll_lanes(&link, 7, 9), 1);
    assert_int_equal(fake.lost[1], 1);
    link_end(&link);
}

/* ---- all together, by chance ----------------------------------------------------------------- */

static void step(ofi_link *link, uint32_t *arrived)
{
    static const uint32_t lens[] = { 0, 3, 16, 17, 200, BODY_MAX };
    unsigned char bytes[1024];
    const pen_peer peer = dice(PEERS);
    const pen_lane lane = (pen_lane)dice(PEN_LANES);
    const uint32_t body_len = lens[dice(6)];
    switch (dice(3)) {
    case 0:
        if (fake.posted < MOST)
            assert_int_equal(post(link, peer, lane, body_len), PEN_POST_DONE);
        break;
    case 1:
        if (*arrived < MOST / 2 &&
            arrive(bytes, frame_bytes(bytes, peer, lane, *arrived, body_len)))
            ++*arrived;
        break;
    default: {
        const unsigned budget = 1 + dice(20), lanes = dice(8);
        assert_true(poll_lanes(link, lanes, budget) <= budget);
    }
    }
}

static void play(uint64_t seed)
{
    ofi_link link;
    uint32_t arrived = 0;
    link_init(&link);
    fake.dice = seed;
    fake.refuse_in_8 = dice(8);
    for (unsigned i = 0; i < STEPS; i++)
        step(&link, &arrived);
    fake.refuse_in_8 = 0;
    ofi_drain(&link);
    for (unsigned i = 0; i < 50; i++)
        (void)poll_lanes(&link, 7, 100);
    for (uint32_t i = 0; i < fake.posted; i++)
        assert_int_equal(fake.went[i], 1);
    for (uint32_t i = 0; i < arrived; i++)
        assert_int_equal(fake.delivered[i], 1);
    assert_int_equal(fake.delivered_total, arrived);
    assert_int_equal(fake.room_count, OFI_BUFFERS); /* all buffers were posted again */
    assert_int_equal(link.net.pending, 0);
    assert_int_equal(counters.net_bad_frame + counters.net_bad_source, 0);
    link_end(&link);
}

static uint64_t first_seed = 1, seeds = SEEDS;

static void each_frame_goes_once_and_comes_once(void **state)
{
    (void)state;
    for (uint64_t seed = first_seed; seed < first_seed + seeds; seed++)
        play(seed);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(short_frames_are_injected_but_for_control),
        cmocka_unit_test(without_room_frames_wait_and_no_lane_is_refused),
        cmocka_unit_test(memory_of_frames_is_used_again),
        cmocka_unit_test(a_peer_that_fails_is_lost_once),
        cmocka_unit_test(strangers_are_dropped_and_counted),
        cmocka_unit_test(frames_wait_for_their_lane),
        cmocka_unit_test(frames_of_a_lost_peer_come_before_the_news),
        cmocka_unit_test(each_frame_goes_once_and_comes_once),
    };
    if (argc > 1) {
        first_seed = strtoull(argv[1], NULL, 10);
        seeds = 1;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
