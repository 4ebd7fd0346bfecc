/* SPDX-License-Identifier: BSD-3-Clause */
/* protocol_test.c: two ranks whose frames the test hands over, one by one, under a clock that it
 * sets: what the simulation meets seldom, or cannot tell from good luck. */
#include "reliable/protocol.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { SENT_MAX = 64, BODY_MAX = 3000, SESSION = 77, MS = 1000000 };

typedef struct sent_frame {
    pen_lane lane;
    uint64_t head[PEN_FRAME_HEAD_MAX / 8];
    uint32_t head_len, body_len;
    _Alignas(16) unsigned char body[BODY_MAX];
} sent_frame;

typedef struct side {
    pen_rel_core core;
    sent_frame sent[SENT_MAX]; /* frames that are not read yet */
    unsigned sent_count;
    pen_post answer;
    unsigned delivered;
} side;

typedef struct pair {
    side sides[2];
    uint64_t now_ns;
} pair;

static pen_post side_send(void *ctx, pen_peer to, pen_lane lane, const pen_frame *frame, pen_op *op)
{
    side *from = (side *)ctx;
    (void)to, (void)op;
    if (from->answer != PEN_POST_DONE)
        return from->answer;
    assert_true(from->sent_count < SENT_MAX && frame->body_len <= BODY_MAX);
    sent_frame *sent = &from->sent[from->sent_count++];
    sent->lane = lane;
    sent->head_len = frame->head_len;
    sent->body_len = frame->body_len;
    memcpy(sent->head, frame->head, frame->head_len);
    if (frame->body_len != 0)
        memcpy(sent->body, frame->body, frame->body_len);
    return PEN_POST_DONE;
}

static void *side_alloc(void *ctx, size_t len, size_t align)
{
    (void)ctx;
    return aligned_alloc(align, (len + align - 1) / align * align);
}

static void side_release(void *ctx, void *memory)
{
    (void)ctx;
    free(memory);
}

static int pair_open(void **state)
{
    pair *both = (pair *)calloc(1, sizeof *both);
    assert_non_null(both);
    both->now_ns = 5 * MS;
    for (pen_peer self = 0; self < 2; self++) {
        pen_rel_config config = { .self = self,
                                  .peers = 2,
                                  .frame_max = 2048,
                                  .grain = 1,
                                  .inbox_len = 1,
                                  .memory_max = 1 << 20,
                                  .borrow_len = 4096,
                                  .session = SESSION + self };
        pen_rel_out out = { &both->sides[self], side_send, side_alloc, side_release };
        assert_int_equal(pen_rel_init(&both->sides[self].core, &config, &out), PEN_OK);
    }
    for (pen_peer self = 0; self < 2; self++)
        pen_rel_meet(&both->sides[self].core, !self, SESSION + !self);
    *state = both;
    return 0;
}

static int pair_close(void **state)
{
    pair *both = (pair *)*state;
    pen_rel_close(&both->sides[0].core);
    pen_rel_close(&both->sides[1].core);
    free(both);
    return 0;
}

static pen_post post(pair *both, pen_peer self, pen_lane lane, uint32_t body_len)
{
    static const unsigned char body[BODY_MAX];
    uint64_t head = 1;
    pen_frame frame = { &head, body, sizeof head, body_len };
    return pen_rel_post(&both->sides[self].core, both->now_ns, !self, lane, &frame, NULL);
}

/* The peer reads a frame and takes the delivered frames, unless their lanes are not asked for. */
static pen_rel_result read_frame(pair *both, pen_peer self, const sent_frame *sent, unsigned lanes)
{
    side *at = &both->sides[self];
    pen_rel_delivery in;
    pen_frame frame = { sent->head, sent->body_len != 0 ? sent->body : NULL, sent->head_len,
                        sent->body_len };
    pen_rel_result result = pen_rel_receive(&at->core, both->now_ns, !self, &frame, lanes, &in);
    if (result == PEN_REL_DELIVER) {
        at->delivered++;
        pen_rel_consumed(&at->core, both->now_ns, &in);
    }
    return result;
}

static void read_all(pair *both, pen_peer self)
{
    side *from = &both->sides[!self];
    for (unsigned i = 0; i < from->sent_count; i++)
        (void)read_frame(both, self, &from->sent[i], PEN_LANES_ALL);
    from->sent_count = 0;
}

static void pass(pair *both, uint64_t ns)
{
    both->now_ns += ns;
    for (pen_peer self = 0; self < 2; self++)
        pen_rel_tick(&both->sides[self].core, both->now_ns, true);
}

static void a_frame_arrives_once_and_is_forgotten_when_acknowledged(void **state)
{
    pair *both = (pair *)*state;
    assert_int_equal(post(both, 0, PEN_LANE_REQUEST, 100), PEN_POST_DONE);
    sent_frame copy = both->sides[0].sent[0];
    read_all(both, 1);
    assert_int_equal(read_frame(both, 1, &copy, PEN_LANES_ALL), PEN_REL_NOTHING);
    assert_int_equal(both->sides[1].delivered, 1);
    assert_int_equal(both->sides[1].core.counts.duplicates, 1);
    assert_true(both->sides[0].core.record_bytes != 0);
    pass(both, 1000);
    read_all(both, 0);
    assert_int_equal(both->sides[0].core.record_bytes, 0);
    pass(both, 1000);
    assert_false(pen_rel_has_work(&both->sides[0].core));
    assert_false(pen_rel_has_work(&both->sides[1].core));
}

static void a_lost_frame_is_probed_for_ever_more_slowly_and_never_given_up(void **state)
{
    pair *both = (pair *)*state;
    uint64_t last_ns = both->now_ns, gap_ns = 0;
    assert_int_equal(post(both, 0, PEN_LANE_REQUEST, 10), PEN_POST_DONE);
    both->sides[0].sent_count = 0;
    for (unsigned probes = 0; probes < 100; probes++) {
        while (both->sides[0].sent_count == 0)
            pass(both, MS);
        assert_true(both->now_ns - last_ns >= gap_ns);
        gap_ns = both->now_ns - last_ns;
        assert_true(gap_ns <= PEN_REL_PROBE_NS_MAX + MS);
        last_ns = both->now_ns;
        assert_int_equal(both->sides[0].sent_count, 1);
        if (probes < 99)
            both->sides[0].sent_count = 0;
    }
    assert_true(gap_ns >= PEN_REL_PROBE_NS_MAX);
    read_all(both, 1); /* it was stopped for minutes */
    assert_int_equal(both->sides[1].delivered, 1);
    pass(both, 1000);
    read_all(both, 0);
    assert_int_equal(both->sides[0].core.record_bytes, 0);
}

static void the_third_transmission_that_overtakes_a_frame_tells_of_its_loss(void **state)
{
    pair *both = (pair *)*state;
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(post(both, 0, PEN_LANE_REQUEST, 10), PEN_POST_DONE);
    for (unsigned i = 1; i < 4; i++) {
        assert_int_equal(read_frame(both, 1, &both->sides[0].sent[i], PEN_LANES_ALL),
                         PEN_REL_DELIVER);
        both->sides[1].sent_count = 0;
        pen_rel_tick(&both->sides[1].core, both->now_ns, false); /* a gap: at once */
        assert_int_equal(both->sides[1].sent_count, 1);
        unsigned before = both->sides[0].sent_count;
        read_all(both, 0);
        assert_int_equal(both->sides[0].sent_count - before, i == 3);
    }
    assert_int_equal(both->sides[0].core.counts.resent, 1);
}

/* Requests until one is refused: for want of credit, or of place in the window of bytes. */
static unsigned fill(pair *both)
{
    unsigned count = 0;
    while (post(both, 0, PEN_LANE_REQUEST, 300) == PEN_POST_DONE)
        assert_true(++count < 20);
    return count;
}

/* The peer keeps and acknowledges all frames, and takes none of them. */
static void spend_credit(pair *both)
{
    for (unsigned count = fill(both); count != 0; count = fill(both)) {
        for (unsigned i = 0; i < both->sides[0].sent_count; i++)
            (void)read_frame(both, 1, &both->sides[0].sent[i], 0);
        both->sides[0].sent_count = 0;
        pass(both, 1000);
        read_all(both, 0);
        assert_int_equal(both->sides[0].core.record_bytes, 0);
    }
    assert_true(both->sides[1].core.kept.len > 4 * 300);
}

static void requests_without_credit_leave_room_for_replies_and_control(void **state)
{
    pair *both = (pair *)*state;
    uint32_t max = pen_rel_frame_max(&both->sides[0].core.config);
    assert_true(fill(both) >= 4);
    assert_int_equal(post(both, 0, PEN_LANE_REPLY, 8), PEN_POST_DONE);
    assert_int_equal(post(both, 0, PEN_LANE_REPLY, max), PEN_POST_DONE);
    assert_int_equal(post(both, 0, PEN_LANE_CONTROL, 8), PEN_POST_DONE);
    assert_int_equal(post(both, 0, PEN_LANE_CONTROL, max), PEN_POST_DONE);
    assert_int_equal(post(both, 0, PEN_LANE_REQUEST, 300), PEN_POST_AGAIN);
}

static void a_sender_without_credit_asks_when_the_limit_was_lost(void **state)
{
    pair *both = (pair *)*state;
    spend_credit(both);
    both->sides[0].sent_count = 0; /* the question is lost */
    pen_rel_delivery in;
    for (pen_kept *held;
         (held = pen_rel_next_kept(&both->sides[1].core, PEN_LANES_ALL, &in)) != NULL;)
        pen_rel_kept_consumed(&both->sides[1].core, both->now_ns, held, &in);
    pass(both, 1000);
    assert_true(both->sides[1].sent_count != 0);
    both->sides[1].sent_count = 0; /* and so is the limit */
    for (unsigned i = 0; i < 100 && both->sides[0].sent_count == 0; i++)
        pass(both, MS);
    read_all(both, 1);
    pass(both, 1000);
    read_all(both, 0);
    assert_int_equal(post(both, 0, PEN_LANE_REQUEST, 300), PEN_POST_DONE);
}

/* Writes a frame again with the header changed, as a peer could. */
static sent_frame forged(const pair *both, const sent_frame *sent, void (*change)(pen_rel_head *))
{
    sent_frame copy = *sent;
    pen_rel_head head;
    size_t used = 0;
    (void)both;
    assert_true(pen_rel_decode(sent->head, sent->head_len, &head, &used));
    change(&head);
    unsigned char bytes[PEN_FRAME_HEAD_MAX];
    size_t len = pen_rel_encode(&head, bytes);
    memcpy(copy.head, bytes, len);
    memcpy((unsigned char *)copy.head + len, (const unsigned char *)sent->head + used,
           sent->head_len - used);
    copy.head_len = (uint32_t)(sent->head_len - used + len);
    pen_rel_sum_write(copy.head, pen_rel_sum(copy.head, copy.head_len, copy.body, copy.body_len));
    return copy;
}

static void of_another_life(pen_rel_head *head) { head->session++; }
static void beyond_the_window(pen_rel_head *head) { head->sequence += PEN_REL_WINDOW; }
static void longer_than_it_is(pen_rel_head *head) { head->head_len += 8; }
static void acknowledging_the_future(pen_rel_head *head)
{
    head->flags |= PEN_REL_ACK;
    head->ack = (pen_rel_ack){ .base = 1 };
}
static void acknowledging_no_transmission(pen_rel_head *head)
{
    head->flags |= PEN_REL_ACK;
    head->ack = (pen_rel_ack){ .transmission = 1 };
}

static void forged_frames_are_dropped_and_counted(void **state)
{
    pair *both = (pair *)*state;
    pen_rel_counts *counts = &both->sides[1].core.counts;
    const struct {
        void (*change)(pen_rel_head *);
        const uint64_t *count;
        uint64_t value;
    } rows[] = {
        { of_another_life, &counts->stale, 1 },
        { beyond_the_window, &counts->beyond, 1 },
        { longer_than_it_is, &counts->malformed, 1 },
        { acknowledging_the_future, &counts->malformed, 2 },
        { acknowledging_no_transmission, &counts->malformed, 3 },
    };
    assert_int_equal(post(both, 0, PEN_LANE_REQUEST, 100), PEN_POST_DONE);
    const sent_frame sent = both->sides[0].sent[0];
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        sent_frame copy = forged(both, &sent, rows[i].change);
        assert_int_equal(read_frame(both, 1, &copy, PEN_LANES_ALL), PEN_REL_NOTHING);
        assert_int_equal(*rows[i].count, rows[i].value);
    }
    sent_frame damaged = sent;
    damaged.body[99] ^= 1;
    assert_int_equal(read_frame(both, 1, &damaged, PEN_LANES_ALL), PEN_REL_NOTHING);
    assert_int_equal(counts->damaged, 1);
    assert_int_equal(read_frame(both, 1, &sent, PEN_LANES_ALL), PEN_REL_DELIVER);
}

static uint32_t forged_sequence;
static void with_the_next_number(pen_rel_head *head) { head->sequence = forged_sequence++; }

static void frames_above_the_credit_are_dropped(void **state)
{
    pair *both = (pair *)*state;
    assert_int_equal(post(both, 0, PEN_LANE_REQUEST, 300), PEN_POST_DONE);
    const sent_frame sent = both->sides[0].sent[0];
    forged_sequence = 0;
    unsigned kept = 0;
    for (unsigned i = 0; i < 100; i++) {
        sent_frame copy = forged(both, &sent, with_the_next_number);
        kept += read_frame(both, 1, &copy, 0) == PEN_REL_KEPT;
    }
    assert_true(kept < 20);
    assert_int_equal(both->sides[1].core.counts.beyond, 100 - kept);
}

static void a_post_that_finds_no_room_below_leaves_nothing(void **state)
{
    pair *both = (pair *)*state;
    both->sides[0].answer = PEN_POST_AGAIN;
    assert_int_equal(post(both, 0, PEN_LANE_REQUEST, 100), PEN_POST_AGAIN);
    assert_int_equal(both->sides[0].core.record_bytes, 0);
    assert_false(pen_rel_has_work(&both->sides[0].core));
    both->sides[0].answer = PEN_POST_FAILED;
    assert_int_equal(post(both, 0, PEN_LANE_REQUEST, 100), PEN_POST_FAILED);
    assert_int_equal(both->sides[0].core.record_bytes, 0);
}

static void what_a_lost_peer_was_sent_is_forgotten(void **state)
{
    pair *both = (pair *)*state;
    assert_int_equal(post(both, 0, PEN_LANE_REQUEST, 100), PEN_POST_DONE);
    both->sides[0].answer = PEN_POST_FAILED;
    pass(both, 1000 * (uint64_t)MS);
    assert_int_equal(both->sides[0].core.record_bytes, 0);
    assert_true(pen_rel_is_settled(&both->sides[0].core));
    assert_int_equal(post(both, 0, PEN_LANE_CONTROL, 8), PEN_POST_FAILED);
}

static void an_answer_read_with_an_older_look_at_the_clock_took_no_time(void **state)
{
    pair *both = (pair *)*state;
    assert_int_equal(post(both, 0, PEN_LANE_REQUEST, 10), PEN_POST_DONE);
    both->now_ns -= 1000;
    read_all(both, 1);
    pass(both, 500);
    read_all(both, 0);
    assert_int_equal(both->sides[0].core.record_bytes, 0);
    assert_true(both->sides[0].core.peers[1].pace.smooth_ns < MS);
}

static void an_idle_peer_costs_less_than_a_kibibyte(void **state)
{
    (void)state;
    assert_true(sizeof(pen_rel_peer) < 1024);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, pair_open, pair_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_frame_arrives_once_and_is_forgotten_when_acknowledged),
        TEST(a_lost_frame_is_probed_for_ever_more_slowly_and_never_given_up),
        TEST(the_third_transmission_that_overtakes_a_frame_tells_of_its_loss),
        TEST(requests_without_credit_leave_room_for_replies_and_control),
        TEST(a_sender_without_credit_asks_when_the_limit_was_lost),
        TEST(forged_frames_are_dropped_and_counted),
        TEST(frames_above_the_credit_are_dropped),
        TEST(a_post_that_finds_no_room_below_leaves_nothing),
        TEST(what_a_lost_peer_was_sent_is_forgotten),
        TEST(an_answer_read_with_an_older_look_at_the_clock_took_no_time),
        TEST(an_idle_peer_costs_less_than_a_kibibyte),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
