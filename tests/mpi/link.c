/* SPDX-License-Identifier: BSD-3-Clause */
/* link.c: links of the mpi conduit over an MPI that a library plays (played.c): messages of
 * strangers, slow messages, sends that fail, and the end of MPI. */
#include "conduits/mpi/mpi_link.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum {
    RANKS = 3,
    HEAD_LEN = 24,
    POLLS = 1000,
    SEEDS = 1000,     /* unless the argument says otherwise */
    SEEDS_OPEN = 100, /* seeds for which the links stay open */
    FRAMES = 40,
};

/* ---- the host and the links ------------------------------------------------------------------ */

typedef struct rank {
    pen_host host;
    pen_link *link;
    unsigned delivered, lost_any, lost[RANKS], errors;
    uint64_t last; /* first word of the last head */
    uint32_t last_len;
    unsigned asked; /* lanes of the present poll */
} rank;

static rank ranks[RANKS];

static struct { /* random traffic: frames that are under way, by their number */
    bool is_on;
    struct {
        pen_peer from, to;
        pen_lane lane;
        uint32_t body_len;
        bool is_sent, has_come;
    } frames[FRAMES];
    unsigned sent, come;
} traffic;

static void traffic_arrives(const rank *me, pen_peer from, pen_lane lane, uint64_t number,
                            const unsigned char *body, uint32_t body_len)
{
    assert_true(number < FRAMES && traffic.frames[number].is_sent &&
                !traffic.frames[number].has_come);
    assert_int_equal(traffic.frames[number].from, from);
    assert_ptr_equal(&ranks[traffic.frames[number].to], me);
    assert_int_equal(traffic.frames[number].lane, lane);
    assert_int_equal(traffic.frames[number].body_len, body_len);
    assert_true((me->asked & PEN_LANE_BIT(lane)) != 0);
    for (uint32_t i = 0; i < body_len; i++)
        assert_true(body[i] == (unsigned char)(number * 31 + i));
    traffic.frames[number].has_come = true;
    traffic.come++;
}

static uint64_t clock_ns;
static long allocs;
static bool is_orderly;

static void *take(void *ctx, size_t len, size_t align)
{
    (void)ctx;
    allocs++;
    return aligned_alloc(align, (len + align - 1) / align * align);
}

static void give(void *ctx, void *memory)
{
    (void)ctx;
    allocs--;
    free(memory);
}

static void deliver(void *ctx, pen_peer from, pen_lane lane, const void *head, uint32_t head_len,
                    void *body, uint32_t body_len)
{
    rank *me = ctx;
    assert_int_equal(head_len, HEAD_LEN);
    assert_int_equal((uintptr_t)body % 16, 0);
    memcpy(&me->last, head, sizeof me->last);
    me->last_len = body_len;
    me->delivered++;
    if (traffic.is_on)
        traffic_arrives(me, from, lane, me->last, body, body_len);
}

static void peer_lost(void *ctx, pen_peer peer, pen_status why)
{
    rank *me = ctx;
    assert_int_equal(why, PEN_ERR_PEER_LOST);
    if (peer == PEN_PEER_ANY)
        me->lost_any++;
    else
        me->lost[peer]++;
}

static uint64_t now_ns(void *ctx)
{
    (void)ctx;
    return clock_ns += 1000000;
}

static bool orderly(void *ctx)
{
    (void)ctx;
    return is_orderly;
}

static void say(void *ctx, int level, const char *format, ...)
{
    (void)level, (void)format;
    ((rank *)ctx)->errors++;
}

static void (*fail_to)(int rank);
static void (*hold)(int holds);
static void (*seed)(unsigned seed);
static unsigned seed_count;
static long (*requests)(void);

static int open_all(void **state)
{
    (void)state;
    const mpi_config config = { PLAYED_MPI, 256 * 1024 };
    mpi_address blobs[RANKS];
    void *library = dlopen(PLAYED_MPI, RTLD_NOW);
    assert_non_null(library);
    *(void **)(void *)&fail_to = dlsym(library, "played_fail_to");
    *(void **)(void *)&hold = dlsym(library, "played_hold");
    *(void **)(void *)&seed = dlsym(library, "played_seed");
    *(void **)(void *)&requests = dlsym(library, "played_requests");
    fail_to(-1);
    hold(0);
    assert_int_equal(setenv("PLAYED_MPI_RANKS", "3", 1), 0);
    memset(ranks, 0, sizeof ranks);
    allocs = 0;
    is_orderly = true;
    for (pen_peer self = 0; self < RANKS; self++) {
        rank *me = &ranks[self];
        me->host = (pen_host){ .ctx = me,
                               .alloc = take,
                               .release = give,
                               .deliver = deliver,
                               .peer_lost = peer_lost,
                               .now_ns = now_ns,
                               .log = say,
                               .orderly = orderly };
        const pen_link_params params = { .host = &me->host,
                                         .self = self,
                                         .peers = RANKS,
                                         .config = &config,
                                         .concurrency = PEN_CONCURRENT };
        assert_int_equal(mpi_open(&params, &me->link), PEN_OK);
        assert_int_equal(me->link->ops->address(me->link, &blobs[self]), PEN_OK);
    }
    for (pen_peer self = 0; self < RANKS; self++)
        assert_int_equal(ranks[self].link->ops->connect(ranks[self].link, blobs, RANKS), PEN_OK);
    return 0;
}

static int close_all(void **state)
{
    (void)state;
    for (pen_peer self = 0; self < RANKS; self++)
        ranks[self].link->ops->close(ranks[self].link);
    return 0;
}

static pen_post post(pen_peer from, pen_peer to, pen_lane lane, uint64_t word, uint32_t body_len)
{
    static const unsigned char body[MPI_CONDUIT_FRAME_MAX] = { 4 };
    const uint64_t head[HEAD_LEN / 8] = { word, 2, 3 };
    const pen_frame frame = { head, body, HEAD_LEN, body_len };
    return ranks[from].link->ops->post(ranks[from].link, to, lane, &frame, NULL);
}

static unsigned poll_many(pen_peer self, unsigned lanes, unsigned polls)
{
    unsigned count = 0;
    for (unsigned i = 0; i < polls; i++)
        count += ranks[self].link->ops->poll(ranks[self].link, lanes, 8);
    return count;
}

/* Sends bytes as a rank of the same job would that does not keep the rules. */
static void send_raw(pen_peer from, pen_peer to, const void *bytes, size_t len)
{
    mpi_link *link = mpi_of(ranks[from].link);
    MPI_Request request;
    int is_done = 0;
    assert_int_equal(link->mpi.isend(bytes, (int)len, link->mpi.byte, (int)to, 0,
                                     link->rings[PEN_LANE_REPLY].comm, &request),
                     MPI_SUCCESS);
    for (unsigned i = 0; i < POLLS && is_done == 0; i++) {
        (void)poll_many(to, PEN_LANES_ALL, 1);
        (void)link->mpi.test(&request, &is_done, MPI_STATUS_IGNORE);
    }
    assert_int_equal(is_done, 1);
    (void)poll_many(to, PEN_LANES_ALL, POLLS);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void frames_arrive_when_their_lane_is_asked_for(void **state)
{
    (void)state;
    for (unsigned lane = 0; lane < PEN_LANES; lane++)
        assert_int_equal(post(0, 1, (pen_lane)lane, 70 + lane, 100), PEN_POST_DONE);
    for (unsigned lane = 0; lane < PEN_LANES; lane++) {
        assert_int_equal(poll_many(1, PEN_LANE_BIT(lane), POLLS), 1);
        assert_int_equal(ranks[1].last, 70 + lane);
        assert_int_equal(ranks[1].last_len, 100);
    }
    assert_int_equal(post(2, 2, PEN_LANE_REQUEST, 9, MPI_CONDUIT_FRAME_MAX), PEN_POST_DONE);
    assert_int_equal(poll_many(2, PEN_LANES_ALL, POLLS), 1);
    assert_int_equal(ranks[2].last_len, MPI_CONDUIT_FRAME_MAX);
}

typedef struct wire {
    pen_net_word word;
    unsigned char rest[MPI_CONDUIT_FRAME_MAX + 512];
} wire;

static void what_is_no_frame_is_dropped(void **state)
{
    (void)state;
    static wire good, bad; /* their rest is zero */
    const pen_net *net = &mpi_of(ranks[1].link)->net;
    const size_t len = sizeof good.word + 32;
    good.word = (pen_net_word){
        .from = 0, .lane = PEN_LANE_REPLY, .head_words = HEAD_LEN / 8, .token = net->token
    };
    send_raw(0, 1, &good, len);
    assert_int_equal(ranks[1].delivered, 1);
    pen_counters counters = { 0 };
    ranks[1].host.counters = &counters;
    for (unsigned i = 0; i < 6; i++) {
        bad = good;
        bad.word.token ^= i == 0;
        bad.word.from = i == 1 ? 2 : i == 2 ? RANKS : 0; /* MPI knows who has sent it */
        bad.word.head_words = i == 3 ? 0 : HEAD_LEN / 8;
        send_raw(0, 1, &bad, i == 4 ? 7 : i == 5 ? sizeof bad : len); /* longer than a slot */
    }
    assert_int_equal(ranks[1].delivered, 1);
    assert_int_equal(counters.net_bad_source, 3);
    assert_int_equal(counters.net_bad_frame, 3);
    ranks[1].host.counters = NULL;
    assert_int_equal(post(0, 1, PEN_LANE_REPLY, 5, 0),
                     PEN_POST_DONE); /* every slot is still there */
    assert_int_equal(poll_many(1, PEN_LANES_ALL, POLLS), 1);
}

static void a_slow_message_holds_up_no_other(void **state)
{
    (void)state;
    hold(1);
    assert_int_equal(post(0, 1, PEN_LANE_REQUEST, 1, 0), PEN_POST_DONE);
    assert_int_equal(poll_many(1, PEN_LANES_ALL, POLLS), 0);
    for (unsigned i = 0; i < 100; i++) {
        assert_int_equal(post(2, 1, PEN_LANE_REQUEST, 100 + i, 0), PEN_POST_DONE);
        assert_int_equal(poll_many(1, PEN_LANES_ALL, POLLS), 1);
        assert_int_equal(ranks[1].last, 100 + i);
        (void)poll_many(2, 0, 1);
    }
    hold(0);
    assert_int_equal(poll_many(1, PEN_LANES_ALL, POLLS), 1);
    assert_int_equal(ranks[1].last, 1);
    for (unsigned i = 0; i < 100; i++)
        assert_int_equal(post(2, 1, PEN_LANE_REQUEST, 500 + i, 0), PEN_POST_DONE);
    assert_int_equal(poll_many(1, PEN_LANES_ALL, POLLS), 100);
}

static void frames_that_leave_late_use_bounded_memory(void **state)
{
    (void)state;
    long most = 0;
    for (unsigned round = 0; round < 200; round++) {
        for (unsigned i = 0; i < 10; i++)
            assert_int_equal(post(0, 1, PEN_LANE_REPLY, i, i % 2 == 0 ? 100 : 6000), PEN_POST_DONE);
        assert_int_equal(poll_many(1, PEN_LANES_ALL, POLLS / 4), 10);
        (void)poll_many(0, PEN_LANES_ALL, POLLS / 4);
        assert_int_equal(mpi_of(ranks[0].link)->net.pending, 0);
        most = round == 20 ? allocs : most;
    }
    assert_int_equal(allocs, most);
}

static void a_peer_that_cannot_be_sent_to_is_lost_once(void **state)
{
    (void)state;
    fail_to(2);
    assert_int_equal(post(0, 2, PEN_LANE_REQUEST, 1, 0), PEN_POST_FAILED);
    fail_to(-1);
    assert_int_equal(post(0, 2, PEN_LANE_REQUEST, 1, 0), PEN_POST_FAILED);
    assert_int_equal(post(0, 1, PEN_LANE_REQUEST, 7, 0), PEN_POST_DONE);
    (void)poll_many(0, PEN_LANES_ALL, 10);
    assert_int_equal(ranks[0].lost[2], 0); /* the launcher has yet to notice it */
    clock_ns += PEN_NET_GRACE_NS;
    (void)poll_many(0, PEN_LANES_ALL, 10);
    assert_int_equal(ranks[0].lost[2], 1);
    assert_int_equal(ranks[0].lost[1] + ranks[0].lost_any, 0);
    assert_int_equal(poll_many(1, PEN_LANES_ALL, POLLS), 1);
}

static void after_closing_nothing_is_left(void **state)
{
    (void)state;
    for (pen_peer to = 0; to < RANKS; to++)
        assert_int_equal(post(0, to, PEN_LANE_REQUEST, 1, 100), PEN_POST_DONE);
    (void)close_all(NULL);
    assert_int_equal(allocs, 0);
    assert_int_equal(requests(), 0);
    assert_int_equal(ranks[0].errors, 0);
}

/* A long frame stays with its sender until the receiver takes it. Its memory must outlive the link.
 */
static void memory_that_mpi_reads_stays(void **state)
{
    (void)state;
    is_orderly = false;
    assert_int_equal(post(0, 1, PEN_LANE_REQUEST, 1, 8000), PEN_POST_DONE);
    const uint64_t before_ns = clock_ns;
    ranks[0].link->ops->close(ranks[0].link);
    assert_true(clock_ns - before_ns < 100000000); /* there is nobody to wait for */
    assert_int_equal(poll_many(1, PEN_LANES_ALL, POLLS), 1);
    assert_int_equal(ranks[1].last_len, 8000);
    ranks[1].link->ops->close(ranks[1].link);
    ranks[2].link->ops->close(ranks[2].link);
}

/* ---- random traffic -------------------------------------------------------------------------- */

static unsigned draw(uint64_t *state, unsigned below)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(*state >> 33) % below;
}

static void send_one(uint64_t *state)
{
    static unsigned char body[MPI_CONDUIT_FRAME_MAX];
    static const uint32_t lens[] = { 0, 1, 100, 5000, MPI_CONDUIT_FRAME_MAX };
    const unsigned number = traffic.sent++;
    const pen_peer from = draw(state, RANKS), to = draw(state, RANKS);
    const pen_lane lane = (pen_lane)draw(state, PEN_LANES);
    const uint32_t body_len = lens[draw(state, sizeof lens / sizeof lens[0])];
    const uint64_t head[HEAD_LEN / 8] = { number, 2, 3 };
    const pen_frame frame = { head, body, HEAD_LEN, body_len };
    for (uint32_t i = 0; i < body_len; i++)
        body[i] = (unsigned char)(number * 31 + i);
    traffic.frames[number].from = from;
    traffic.frames[number].to = to;
    traffic.frames[number].lane = lane;
    traffic.frames[number].body_len = body_len;
    traffic.frames[number].is_sent = true;
    assert_int_equal(ranks[from].link->ops->post(ranks[from].link, to, lane, &frame, NULL),
                     PEN_POST_DONE);
    memset(body, 0, body_len); /* post has copied it */
}

static void poll_one(pen_peer self, unsigned lanes, unsigned budget)
{
    const unsigned before = traffic.come;
    ranks[self].asked = lanes;
    const unsigned told = ranks[self].link->ops->poll(ranks[self].link, lanes, budget);
    assert_int_equal(told, traffic.come - before);
    assert_true(told <= budget);
}

static void play(unsigned number)
{
    uint64_t state = number;
    memset(&traffic, 0, sizeof traffic);
    traffic.is_on = true;
    seed(number);
    while (traffic.sent < FRAMES) {
        if (draw(&state, 2) == 0)
            send_one(&state);
        else
            poll_one(draw(&state, RANKS), draw(&state, PEN_LANES_ALL + 1), 1 + draw(&state, 4));
    }
    for (unsigned i = 0; i < 4 * POLLS && traffic.come < FRAMES; i++)
        poll_one(i % RANKS, PEN_LANES_ALL, 8);
    if (traffic.come != FRAMES)
        (void)printf("seed %u: %u of %u frames have come\n", number, traffic.come, FRAMES);
    assert_int_equal(traffic.come, FRAMES);
    traffic.is_on = false;
}

static void every_frame_comes_once_and_intact(void **state)
{
    const long before = requests(); /* an earlier test leaves some */
    for (unsigned number = 1; number <= seed_count; number++) {
        if (number % SEEDS_OPEN == 1)
            (void)open_all(state);
        play(number);
        if (number % SEEDS_OPEN == 0) {
            (void)close_all(state);
            assert_int_equal(allocs, 0);
            assert_int_equal(requests(), before);
        }
    }
}

/* The last test: MPI does not start again. */
static void a_frame_after_the_end_of_mpi_is_refused(void **state)
{
    (void)state;
    assert_int_equal(post(0, 1, PEN_LANE_REQUEST, 1, 100), PEN_POST_DONE);
    assert_int_equal(mpi_of(ranks[0].link)->mpi.finalize(), MPI_SUCCESS);
    assert_int_equal(poll_many(0, PEN_LANES_ALL, 10), 0);
    assert_int_equal(ranks[0].lost_any, 0); /* the program may end MPI before it ends the job */
    assert_int_equal(post(0, 1, PEN_LANE_REQUEST, 1, 100), PEN_POST_FAILED);
    assert_int_equal(poll_many(0, PEN_LANES_ALL, 10), 0);
    assert_int_equal(ranks[0].lost_any, 1);
    assert_int_equal(ranks[0].errors, 1);
    (void)close_all(NULL);
    const mpi_config config = { PLAYED_MPI, 256 * 1024 };
    const pen_link_params params = { .host = &ranks[0].host, .peers = RANKS, .config = &config };
    pen_link *link = NULL;
    assert_int_equal(mpi_open(&params, &link), PEN_ERR_UNUSABLE);
    assert_int_equal(ranks[0].errors, 2);
}

int main(int argc, char **argv)
{
    seed_count = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : SEEDS;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(frames_arrive_when_their_lane_is_asked_for, open_all,
                                        close_all),
        cmocka_unit_test_setup_teardown(what_is_no_frame_is_dropped, open_all, close_all),
        cmocka_unit_test_setup_teardown(a_slow_message_holds_up_no_other, open_all, close_all),
        cmocka_unit_test_setup_teardown(frames_that_leave_late_use_bounded_memory, open_all,
                                        close_all),
        cmocka_unit_test_setup_teardown(a_peer_that_cannot_be_sent_to_is_lost_once, open_all,
                                        close_all),
        cmocka_unit_test_setup(after_closing_nothing_is_left, open_all),
        cmocka_unit_test_setup(memory_that_mpi_reads_stays, open_all),
        cmocka_unit_test(every_frame_comes_once_and_intact),
        cmocka_unit_test_setup(a_frame_after_the_end_of_mpi_is_refused, open_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
