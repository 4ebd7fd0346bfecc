/* SPDX-License-Identifier: BSD-3-Clause */
/* message_test.c: messages of collectives that come early, in any order, too often, malformed, or
 * from members who disagree; credit; threads. */
#include "unit/coll/crowd_threads.h"

enum { MEMBERS = 3, LEN = 100, KIND_BROADCAST = PEN_COLL_BROADCAST, ARG_FROM = 3, ARG_NUMBER = 4 };

static void open_crowd(crowd *all, uint32_t frame_max, pen_concurrency concurrency)
{
    *all = (crowd){ 0 };
    crowd_open_world(all, &(ranks_params){ .size = MEMBERS,
                                           .seed = 7,
                                           .threads = true,
                                           .frame_max = frame_max,
                                           .concurrency = concurrency });
    all->size = MEMBERS;
    for (uint32_t i = 0; i < MEMBERS; i++)
        all->jobranks[i] = i;
}

static void poll_all(crowd *all)
{
    for (unsigned round = 0; round < 40; round++)
        for (uint32_t rank = 0; rank < all->world.params.size; rank++)
            (void)pen_progress_poll(&all->world.jobs[rank].progress);
}

static void wait_for(crowd *all, pen_event *event)
{
    for (unsigned round = 0; round < 100; round++) {
        if (pen_event_test(event))
            return;
        poll_all(all);
    }
    fail();
}

/* The arguments of a piece of a broadcast of LEN bytes from rank 1 to rank 0. */
typedef struct piece {
    int32_t args[PEN_COLL_ARGS];
} piece;

static piece piece_of(uint32_t number, uint64_t len, uint32_t index)
{
    return (piece){ { (int32_t)(CROWD_TEAM_ID & UINT32_MAX), (int32_t)(CROWD_TEAM_ID >> 32), 0, 1,
                      (int32_t)number, KIND_BROADCAST, 1, (int32_t)len, 0, 0, (int32_t)index } };
}

static void inject(crowd *all, const piece *what, const void *body, uint32_t body_len)
{
    ranks_inject(&all->world, 1, 0, PEN_LANE_REQUEST, PEN_AM_INT_COLL_DATA, PEN_COLL_ARGS,
                 what->args, body, body_len);
}

static pen_event *broadcast(crowd *all, uint32_t rank, uint32_t root, char *memory, size_t len)
{
    pen_team *team = &all->teams[rank];
    return pen_coll_broadcast_nb(&team->job->first_thread, team, root, memory, memory, len);
}

/* ---- early, and in any order ----------------------------------------------------------------- */

static void pieces_may_come_in_any_order_and_twice(void **state)
{
    (void)state;
    enum { FRAME = 512, PIECES = 5, LONG = 4 * FRAME + 100 };
    static const uint32_t orders[][PIECES] = {
        { 0, 1, 2, 3, 4 }, { 4, 3, 2, 1, 0 }, { 0, 3, 1, 4, 2 }, { 2, 0, 4, 3, 1 }
    };
    for (unsigned order = 0; order < sizeof orders / sizeof *orders; order++) {
        crowd all;
        char sent[LONG], got[LONG + 1];
        open_crowd(&all, FRAME, PEN_ALONE);
        crowd_open_member(&all, 0);
        for (unsigned i = 0; i < LONG; i++)
            sent[i] = (char)(i * 7 + i / FRAME);
        memset(got, 0x55, sizeof got);
        pen_event *event = broadcast(&all, 0, 1, got, LONG);
        unsigned dropped = 0;
        for (unsigned i = 0; i < PIECES; i++) {
            uint32_t index = orders[order][i];
            piece one = piece_of(0, LONG, index);
            uint32_t len = index == PIECES - 1 ? LONG - (PIECES - 1) * FRAME : FRAME;
            assert_false(pen_event_test(event));
            inject(&all, &one, sent + index * FRAME, len);
            inject(&all, &one, "again", 5);                /* with a wrong length */
            inject(&all, &one, sent + index * FRAME, len); /* once more */
            dropped += 2;
            (void)pen_progress_poll(&all.world.jobs[0].progress);
        }
        wait_for(&all, event);
        assert_memory_equal(got, sent, LONG);
        assert_int_equal(got[LONG], 0x55);
        assert_int_equal(all.world.jobs[0].counters.frame_dropped, dropped);
        all.world.jobs[0].counters.frame_dropped = 0;
        all.world.jobs[1].counters.frame_dropped = 0; /* READY that it did not expect */
        crowd_close(&all);
    }
}

static void what_comes_before_the_team_is_made_is_taken_up_by_it(void **state)
{
    (void)state;
    crowd all;
    char memory[MEMBERS][LEN];
    pen_event *events[MEMBERS];
    open_crowd(&all, 512, PEN_ALONE);
    for (uint32_t rank = 0; rank < MEMBERS; rank++)
        memset(memory[rank], (int)rank + 1, LEN);
    crowd_open_member(&all, 1);
    events[1] = broadcast(&all, 1, 1, memory[1], LEN);
    poll_all(&all);
    assert_int_not_equal(pen_coll_orphans_count(all.world.jobs[0].coll), 0);
    for (uint32_t rank = 0; rank < MEMBERS; rank += 2) {
        crowd_open_member(&all, rank);
        assert_int_equal(pen_coll_orphans_count(all.world.jobs[rank].coll), 0);
        events[rank] = broadcast(&all, rank, 1, memory[rank], LEN);
        assert_ptr_equal(events[rank], PEN_EVENT_DONE); /* all was here */
        assert_memory_equal(memory[rank], memory[1], LEN);
    }
    wait_for(&all, events[1]);
    crowd_close(&all);
}

static void no_peer_is_kept_more_for_than_the_bounds_say(void **state)
{
    (void)state;
    crowd all;
    char body[LEN] = { 0 };
    open_crowd(&all, 512, PEN_ALONE);
    pen_job *job = &all.world.jobs[0];
    piece one = piece_of(0, LEN, 0);
    for (unsigned i = 0; i < PEN_COLL_ORPHANS_MAX + 5; i++)
        inject(&all, &one, body, LEN);
    poll_all(&all);
    assert_int_equal(job->counters.frame_dropped, 5);
    crowd_open_member(&all, 0); /* keeps what a member may have sent before we begin, no more */
    enum { KEPT_MAX = PEN_COLL_WINDOW * PEN_COLL_UNSOLICITED_MAX };
    assert_int_equal(all.teams[0].coll->peers[1].kept, KEPT_MAX);
    assert_int_equal(job->counters.frame_dropped, 5 + PEN_COLL_ORPHANS_MAX - KEPT_MAX);
    job->counters.frame_dropped = 0;
    wait_for(&all, broadcast(&all, 0, 1, body, LEN)); /* the first serves, the rest are too many */
    assert_int_equal(job->counters.frame_dropped, KEPT_MAX - 1);
    assert_int_equal(all.teams[0].coll->peers[1].kept, 0);
    job->counters.frame_dropped = 0;
    crowd_close(&all);
}

/* ---- malformed ------------------------------------------------------------------------------- */

static void messages_that_fit_nothing_are_counted_and_dropped(void **state)
{
    (void)state;
    crowd all;
    char body[LEN] = { 0 };
    open_crowd(&all, 512, PEN_ALONE);
    crowd_open_member(&all, 0);
    pen_job *job = &all.world.jobs[0];
    pen_event *event = broadcast(&all, 0, 1, body, LEN);
    piece good = piece_of(0, LEN, 0);
    static const struct {
        unsigned arg;
        int32_t value;
    } changes[] = {
        { ARG_FROM, 2 },                     /* not who sent it */
        { ARG_FROM, -1 },                    /* no member */
        { ARG_NUMBER, PEN_COLL_WINDOW + 1 }, /* beyond all credit */
        { ARG_NUMBER, -1 },                  /* long over */
        { 5, KIND_BROADCAST | 1 << 24 },     /* a tag that does not exist */
        { 9, 1 },                            /* a section that does not exist */
        { 9, -1 },
        { 10, 1 }, /* a piece that does not exist */
        { 10, -1 },
    };
    enum { CHANGES = sizeof changes / sizeof *changes };
    for (unsigned i = 0; i < CHANGES; i++) {
        piece bad = good;
        bad.args[changes[i].arg] = changes[i].value;
        inject(&all, &bad, body, LEN);
        poll_all(&all);
        assert_int_equal(job->counters.frame_dropped, i + 1);
    }
    ranks_inject(&all.world, 2, 0, PEN_LANE_REQUEST, PEN_AM_INT_COLL_DATA, PEN_COLL_ARGS, good.args,
                 body, LEN); /* in rank 1's name */
    poll_all(&all);
    uint64_t dropped = CHANGES + 1;
    assert_int_equal(job->counters.frame_dropped, dropped);
    assert_false(pen_event_test(event));
    piece early = piece_of(1, LEN, 1); /* for a later collective: nothing but a first piece */
    inject(&all, &early, body, LEN);
    static const pen_am_internal answers[] = { PEN_AM_INT_COLL_READY, PEN_AM_INT_COLL_ASK,
                                               PEN_AM_INT_COLL_CREDIT, PEN_AM_INT_COLL_DATA };
    for (unsigned i = 0; i < 4; i++) /* too few arguments; not a message of collectives */
        ranks_inject(&all.world, 1, 0, PEN_LANE_CONTROL, answers[i], 4, good.args, NULL, 0);
    ranks_inject(&all.world, 1, 0, PEN_LANE_CONTROL, PEN_AM_INT_COLL_READY, 7, good.args, NULL, 0);
    poll_all(&all);
    assert_int_equal(job->counters.frame_dropped, dropped + 6);
    assert_false(pen_event_test(event));
    inject(&all, &good, body, LEN);
    wait_for(&all, event);
    inject(&all, &good, body, LEN); /* it is over */
    poll_all(&all);
    assert_int_equal(job->counters.frame_dropped, dropped + 7);
    job->counters.frame_dropped = 0;
    crowd_close(&all);
}

/* ---- disagreement ---------------------------------------------------------------------------- */

typedef struct quarrel {
    crowd *all;
    bool begun; /* the message comes after rank 0 has begun; over: and ended */
    bool over;
} quarrel;

static void disagree(void *ctx)
{
    quarrel *mine = ctx;
    char body[LEN + 1] = { 0 };
    piece theirs = piece_of(0, LEN + 1, 0);
    if (!mine->begun)
        inject(mine->all, &theirs, body, LEN + 1);
    poll_all(mine->all);
    (void)broadcast(mine->all, 0, mine->over ? 0 : 1, body, mine->over ? LEN + 1 : LEN);
    if (mine->begun)
        inject(mine->all, &theirs, body, LEN + 1);
    poll_all(mine->all);
}

static void members_that_disagree_end_the_job_with_a_line_that_names_both(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        crowd all;
        open_crowd(&all, 512, PEN_ALONE);
        crowd_open_member(&all, 0);
        quarrel mine = { &all, i > 0, i > 1 };
        assert_true(ranks_dies(disagree, &mine, &all.world.jobs[0],
                               i > 1
                                   ? "is a broadcast of 101 bytes from rank 1 on team rank 1 (job "
                                     "rank 1), but a broadcast of 101 bytes from rank 0 on team "
                                     "rank 0 (this one)"
                                   : "is a broadcast of 101 bytes from rank 1 on team rank 1 (job "
                                     "rank 1), but a broadcast of 100 bytes from rank 1 on team "
                                     "rank 0 (this one)"));
        crowd_close(&all);
    }
}

/* ---- credit ---------------------------------------------------------------------------------- */

static void who_is_far_ahead_waits_and_goes_on_when_others_have_begun(void **state)
{
    (void)state;
    enum { AHEAD = 5 * PEN_COLL_WINDOW };
    static char memory[MEMBERS][AHEAD];
    static pen_event *events[AHEAD];
    crowd all;
    open_crowd(&all, 512, PEN_ALONE);
    for (uint32_t rank = 0; rank < MEMBERS; rank++)
        crowd_open_member(&all, rank);
    for (unsigned i = 0; i < AHEAD; i++) {
        memory[0][i] = (char)i;
        events[i] = broadcast(&all, 0, 0, &memory[0][i], 1);
    }
    poll_all(&all);
    assert_int_equal(all.teams[1].coll->peers[0].kept, PEN_COLL_WINDOW);
    assert_true(pen_event_test(events[PEN_COLL_WINDOW - 1]));
    assert_false(pen_event_test(events[PEN_COLL_WINDOW]));
    for (unsigned i = 0; i < AHEAD; i++) {
        for (uint32_t rank = 1; rank < MEMBERS; rank++)
            wait_for(&all, broadcast(&all, rank, 0, &memory[rank][i], 1));
        assert_true(all.teams[1].coll->peers[0].kept <= PEN_COLL_WINDOW);
    }
    for (unsigned i = 0; i < AHEAD; i++)
        if (i != PEN_COLL_WINDOW - 1)
            wait_for(&all, events[i]);
    for (uint32_t rank = 1; rank < MEMBERS; rank++)
        assert_memory_equal(memory[rank], memory[0], AHEAD);
    crowd_close(&all);
}

static void who_asks_for_credit_late_is_answered_at_once(void **state)
{
    (void)state;
    enum { AHEAD = 5 * PEN_COLL_WINDOW };
    static char memory[MEMBERS][AHEAD];
    static pen_event *events[MEMBERS][AHEAD];
    crowd all;
    open_crowd(&all, 512, PEN_ALONE);
    for (uint32_t rank = MEMBERS; rank-- > 0;) { /* the root comes last */
        crowd_open_member(&all, rank);
        for (unsigned i = 0; i < AHEAD; i++) {
            memory[rank][i] = (char)(rank + i);
            events[rank][i] = broadcast(&all, rank, 0, &memory[rank][i], 1);
        }
    }
    for (uint32_t rank = 0; rank < MEMBERS; rank++) {
        for (unsigned i = 0; i < AHEAD; i++)
            wait_for(&all, events[rank][i]);
        assert_memory_equal(memory[rank], memory[0], AHEAD);
    }
    crowd_close(&all);
}

static void the_longest_transfers_wait_for_whoever_has_not_begun(void **state)
{
    (void)state;
    enum { LONG = 100000 };
    static char memory[MEMBERS][LONG];
    crowd all;
    pen_event *events[MEMBERS];
    open_crowd(&all, 512, PEN_ALONE);
    memset(memory[1], 3, LONG);
    for (uint32_t rank = 0; rank < MEMBERS; rank++)
        crowd_open_member(&all, rank);
    events[1] = broadcast(&all, 1, 1, memory[1], LONG);
    uint64_t before = all.world.frames_posted;
    poll_all(&all);
    assert_int_equal(all.world.frames_posted, before); /* first pieces went, and no more */
    for (uint32_t rank = 0; rank < MEMBERS; rank += 2)
        events[rank] = broadcast(&all, rank, 1, memory[rank], LONG);
    for (uint32_t rank = 0; rank < MEMBERS; rank++) {
        wait_for(&all, events[rank]);
        assert_memory_equal(memory[rank], memory[1], LONG);
    }
    crowd_close(&all);
}

/* ---- threads --------------------------------------------------------------------------------- */

static void threads_that_poll_may_run_the_clients_function(void **state)
{
    (void)state;
    crowd all;
    open_crowd(&all, 512, PEN_CONCURRENT);
    crowd_play_threads(&all, &(crowd_play){ { 3000, 3000, 3000, 3000 }, 1 });
    poll_all(&all);
    crowd_close(&all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_may_come_in_any_order_and_twice),
        cmocka_unit_test(what_comes_before_the_team_is_made_is_taken_up_by_it),
        cmocka_unit_test(no_peer_is_kept_more_for_than_the_bounds_say),
        cmocka_unit_test(messages_that_fit_nothing_are_counted_and_dropped),
        cmocka_unit_test(members_that_disagree_end_the_job_with_a_line_that_names_both),
        cmocka_unit_test(who_is_far_ahead_waits_and_goes_on_when_others_have_begun),
        cmocka_unit_test(who_asks_for_credit_late_is_answered_at_once),
        cmocka_unit_test(the_longest_transfers_wait_for_whoever_has_not_begun),
        cmocka_unit_test(threads_that_poll_may_run_the_clients_function),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
