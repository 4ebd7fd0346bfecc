/* SPDX-License-Identifier: BSD-3-Clause */
/* malformed_test.c: frames of a hostile peer crash nothing: a well-formed frame is run, every other
 * frame is counted and dropped. */
#include "pair.h"

enum { SEGMENT_LEN = 4096, ROUNDS = 300000 };

static char segment[SEGMENT_LEN];
static unsigned handled;

static void on_any(pen_token *token)
{
    (void)token;
    handled++;
}

static int open_rig(void **state)
{
    pair *p = pair_open();
    for (unsigned index = PEN_AM_HANDLER_FIRST; index < PEN_AM_HANDLERS; index++)
        pair_register(p, (uint8_t)index, on_any);
    pair_publish(p, segment, sizeof segment, true);
    handled = 0;
    *state = p;
    return 0;
}

static int close_rig(void **state)
{
    pair_close(*state);
    return 0;
}

typedef struct arrival {
    uint64_t head[PEN_FRAME_HEAD_MAX / 8];
    uint32_t head_len, body_len;
    pen_peer from;
    pen_lane lane;
} arrival;

/* Delivers from exact copies, so that a read past either end is seen. True: dropped. */
static bool is_dropped(pair *p, const arrival *frame)
{
    pen_job *job = &p->jobs[1];
    uint64_t dropped = job->counters.frame_dropped,
             run = job->counters.am_handled + job->counters.am_self;
    uint64_t *head = malloc(frame->head_len);
    void *body = NULL;
    assert_non_null(head);
    memcpy(head, frame->head, frame->head_len);
    if (frame->body_len != 0)
        assert_int_equal(posix_memalign(&body, 16, frame->body_len), 0);
    if (body != NULL)
        memset(body, 'b', frame->body_len);
    pen_am_deliver(job, frame->from, frame->lane, head, frame->head_len, body, frame->body_len);
    free(head);
    free(body);
    assert_int_equal(job->counters.frame_dropped + job->counters.am_handled + job->counters.am_self,
                     dropped + run + 1);
    return job->counters.frame_dropped != dropped;
}

/* A Long of 8 bytes in the frame, to offset 16 of segment 1. */
static arrival good_long(void)
{
    uint32_t kind = pen_wire_kind(PEN_AM_LONG, PEN_LANE_REQUEST, PEN_WIRE_BODY);
    return (arrival){ { pen_wire_head(kind, 200, 0, 8), 1, 16 }, 24, 8, 0, PEN_LANE_REQUEST };
}

static arrival good_short(void)
{
    uint32_t kind = pen_wire_kind(PEN_AM_SHORT, PEN_LANE_REQUEST, PEN_WIRE_BODY);
    return (arrival){ { pen_wire_head(kind, 200, 0, 0) }, 8, 0, 0, PEN_LANE_REQUEST };
}

static void what_is_well_formed_is_run(void **state)
{
    arrival frame = good_long();
    assert_false(is_dropped(*state, &frame));
    assert_int_equal(segment[16], 'b');
    frame = good_short();
    assert_false(is_dropped(*state, &frame));
    assert_int_equal(handled, 2);
}

static void a_length_that_does_not_fit_is_dropped(void **state)
{
    arrival frame = good_short();
    frame.head_len = 16;
    assert_true(is_dropped(*state, &frame));
    frame = good_short();
    frame.head[0] |= 2 << PEN_WIRE_ARGS_SHIFT; /* more arguments than the head holds */
    assert_true(is_dropped(*state, &frame));
    frame.head[0] = good_short().head[0] | 17 << PEN_WIRE_ARGS_SHIFT;
    frame.head_len = 80;
    assert_true(is_dropped(*state, &frame));
    frame = good_short();
    frame.body_len = 1;
    assert_true(is_dropped(*state, &frame));
    frame.head[0] |= 1ull << PEN_WIRE_LEN_SHIFT; /* a Short with a body that it admits to */
    assert_true(is_dropped(*state, &frame));
    frame = good_long();
    frame.body_len = 7;
    assert_true(is_dropped(*state, &frame));
    frame.body_len = 0;
    assert_true(is_dropped(*state, &frame));
    assert_int_equal(handled, 0);
}

/* A frame of that kind whose lengths are right for its category and placement. */
static arrival frame_of(pen_am_category category, pen_lane lane, unsigned place)
{
    uint32_t kind = pen_wire_kind(category, lane, (pen_wire_place)place);
    bool is_long = category == PEN_AM_LONG;
    uint32_t len = category == PEN_AM_SHORT || (is_long && place == PEN_WIRE_OPAQUE) ? 0 : 8;
    uint32_t body_len = is_long && place != PEN_WIRE_BODY ? 0 : len;
    arrival frame = { { pen_wire_head(kind, 200, 0, len) }, 8, body_len, 0, lane };
    if (is_long) {
        frame.head_len = 24;
        frame.head[1] = place == PEN_WIRE_OPAQUE ? 0 : 1;
        frame.head[2] = 16;
    }
    return frame;
}

static void a_kind_is_run_on_its_lanes_and_placements_only(void **state)
{
    for (unsigned category = PEN_AM_SHORT; category <= PEN_AM_LONG; category++)
        for (unsigned lane = 0; lane < PEN_LANES; lane++)
            for (unsigned place = 0; place < 4; place++) {
                arrival frame = frame_of((pen_am_category)category, (pen_lane)lane, place);
                bool has_place = place == PEN_WIRE_BODY || (category == PEN_AM_LONG && place < 3);
                assert_int_equal(is_dropped(*state, &frame),
                                 lane == PEN_LANE_CONTROL || !has_place);
            }
    assert_int_equal(handled, 2 * (1 + 1 + 3));
}

static void a_wrong_lane_sender_or_reserved_bit_is_dropped(void **state)
{
    arrival frame = good_short();
    frame.lane = PEN_LANE_REPLY;
    assert_true(is_dropped(*state, &frame));
    frame.lane = PEN_LANE_CONTROL;
    assert_true(is_dropped(*state, &frame));
    frame.head[0] |= (uint64_t)PEN_LANE_CONTROL << (PEN_WIRE_KIND_SHIFT + PEN_WIRE_LANE_SHIFT);
    assert_true(is_dropped(*state, &frame)); /* only the engine's own may use it */
    frame = good_short();
    frame.from = 2;
    assert_true(is_dropped(*state, &frame));
    for (unsigned bit = PEN_WIRE_KIND_SHIFT + 4; bit < PEN_WIRE_LEN_SHIFT; bit++) {
        frame = good_short();
        frame.head[0] |= 1ull << bit;
        assert_true(is_dropped(*state, &frame));
    }
    frame = good_long();
    frame.head[0] |= (uint64_t)PEN_WIRE_PLACES << (PEN_WIRE_KIND_SHIFT + PEN_WIRE_PLACE_SHIFT);
    frame.body_len = 0;
    assert_true(is_dropped(*state, &frame));
    frame = good_short();
    frame.head[0] &= ~0x80ull; /* handler 72 */
    assert_true(is_dropped(*state, &frame));
    assert_int_equal(handled, 0);
}

static void a_long_outside_its_segment_is_dropped(void **state)
{
    static const uint64_t bad[][2] = {
        { 0, 16 },                /* everywhere, in a job that did not declare it */
        { 2, 16 },                /* a segment that does not exist */
        { PEN_SEGMENTS_MAX, 16 }, /* a segment number that does not exist */
        { 1ull << 32 | 1, 16 },   /* reserved bits */
        { 1, SEGMENT_LEN - 7 },   /* one byte too far */
        { 1, UINT64_MAX },        /* offset + len wraps */
        { 1, UINT64_MAX - 7 },
    };
    for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        arrival frame = good_long();
        frame.head[1] = bad[i][0];
        frame.head[2] = bad[i][1];
        assert_true(is_dropped(*state, &frame));
    }
    assert_int_equal(handled, 0);
}

static void an_unknown_internal_message_is_dropped(void **state)
{
    for (unsigned index = 0; index < 256; index++) {
        uint32_t kind = pen_wire_kind(PEN_AM_INTERNAL, PEN_LANE_REPLY, PEN_WIRE_BODY);
        arrival frame = { { pen_wire_head(kind, (uint8_t)index, 0, 0) }, 8, 0, 0, PEN_LANE_REPLY };
        assert_true(is_dropped(*state, &frame));
    }
}

static uint64_t next_random(uint64_t *seed)
{
    *seed ^= *seed << 13; /* xorshift64 */
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

/* Half of them pure noise, half a good frame with a few bits turned. */
static arrival random_arrival(uint64_t *seed)
{
    arrival frame = (next_random(seed) & 1) != 0 ? good_long() : good_short();
    if ((next_random(seed) & 1) != 0) {
        for (unsigned word = 0; word < PEN_FRAME_HEAD_MAX / 8; word++)
            frame.head[word] = next_random(seed);
        frame.head_len = 8 * (1 + (uint32_t)(next_random(seed) % (PEN_FRAME_HEAD_MAX / 8)));
        frame.body_len = (uint32_t)(next_random(seed) % 64);
        frame.head[0] &= next_random(seed) | 0xffff0000ffffull;
    }
    for (uint64_t flips = next_random(seed) % 4; flips != 0; flips--)
        frame.head[next_random(seed) % (frame.head_len / 8)] ^= 1ull << next_random(seed) % 64;
    frame.lane = (pen_lane)(next_random(seed) % PEN_LANES);
    frame.from = (pen_peer)(next_random(seed) % 3);
    return frame;
}

static void noise_is_run_or_counted_and_never_crashes(void **state)
{
    pair *p = *state;
    uint64_t seed = 0x9e3779b97f4a7c15;
    for (unsigned round = 0; round < ROUNDS; round++) {
        arrival frame = random_arrival(&seed);
        (void)is_dropped(p, &frame);
    }
    assert_true(handled > 1000); /* some were good */
    assert_true(p->jobs[1].counters.frame_dropped > ROUNDS / 2);
}

static void only_the_first_malformed_frame_makes_a_line(void **state)
{
    pair *p = *state;
    pen_log *log = &p->jobs[1].log;
    arrival frame = good_short();
    frame.head_len = 16;
    uint64_t lines = log->line_count;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    log->fd = ends[1];
    for (unsigned i = 0; i < 10; i++)
        assert_true(is_dropped(p, &frame));
    assert_int_equal(log->line_count, lines + 1);
    log->fd = -1;
    close(ends[0]);
    close(ends[1]);
}

#define RIGGED(test) cmocka_unit_test_setup_teardown(test, open_rig, close_rig)

int main(void)
{
    const struct CMUnitTest tests[] = {
        RIGGED(what_is_well_formed_is_run),
        RIGGED(a_length_that_does_not_fit_is_dropped),
        RIGGED(a_kind_is_run_on_its_lanes_and_placements_only),
        RIGGED(a_wrong_lane_sender_or_reserved_bit_is_dropped),
        RIGGED(a_long_outside_its_segment_is_dropped),
        RIGGED(an_unknown_internal_message_is_dropped),
        RIGGED(noise_is_run_or_counted_and_never_crashes),
        RIGGED(only_the_first_malformed_frame_makes_a_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
