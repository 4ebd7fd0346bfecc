/* SPDX-License-Identifier: BSD-3-Clause */
/* shared_test.c: collectives of members that share memory: how far a member may run ahead, shares
 * that serve several teams in turn, members that disagree or write garbage, threads. That
 * every byte arrives is tested in move_test.c and reduce_test.c, for all ways. */
#include "unit/coll/crowd_threads.h"

#include "coll/shared.h"

#include <sys/mman.h>

enum { MEMBERS = 3, LEN = 100 };

static void open_crowd_of(crowd *all, uint32_t size, pen_concurrency concurrency)
{
    *all = (crowd){ 0 };
    ranks_params params = { .size = size, .seed = 7, .threads = true, .concurrency = concurrency };
    crowd_set_way(all, &params, CROWD_MEMORY);
    crowd_open_world(all, &params);
    all->size = size;
    for (uint32_t i = 0; i < size; i++) {
        all->jobranks[i] = i;
        pen_coll_offer_make(&all->world.jobs[i], &all->offers[i]);
    }
}

static void open_crowd(crowd *all, pen_concurrency concurrency)
{
    open_crowd_of(all, MEMBERS, concurrency);
}

static void poll_all(crowd *all)
{
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

static pen_event *broadcast(crowd *all, uint32_t rank, uint32_t root, char *memory, size_t len)
{
    pen_team *team = &all->teams[rank];
    return pen_coll_broadcast_nb(&team->job->first_thread, team, root, memory, memory, len);
}

static pen_event *barrier(crowd *all, uint32_t rank)
{
    pen_team *team = &all->teams[rank];
    return pen_coll_barrier_nb(&team->job->first_thread, team);
}

/* ---- ahead ----------------------------------------------------------------------------------- */

static void a_root_runs_ahead_of_members_that_have_no_team_yet_as_far_as_there_is_room(void **state)
{
    (void)state;
    enum { CALLS = 3 * PEN_SHARED_SLOTS };
    static pen_event *events[MEMBERS][CALLS];
    static char memory[MEMBERS][CALLS][LEN];
    crowd all;
    open_crowd(&all, PEN_ALONE);
    crowd_open_member(&all, 0);
    unsigned done = 0;
    for (unsigned call = 0; call < CALLS; call++) {
        memset(memory[0][call], (int)call + 1, LEN);
        events[0][call] = broadcast(&all, 0, 0, memory[0][call], LEN);
        done += events[0][call] == PEN_EVENT_DONE;
    }
    assert_int_equal(done, PEN_SHARED_SLOTS);
    for (uint32_t rank = 1; rank < MEMBERS; rank++) {
        crowd_open_member(&all, rank);
        for (unsigned call = 0; call < CALLS; call++)
            events[rank][call] = broadcast(&all, rank, 0, memory[rank][call], LEN);
    }
    for (uint32_t rank = 0; rank < MEMBERS; rank++)
        for (unsigned call = 0; call < CALLS; call++) {
            wait_for(&all, events[rank][call]);
            assert_memory_equal(memory[rank][call], memory[0][call], LEN);
        }
    crowd_close(&all);
}

static void long_pieces_wait_for_room_in_the_body(void **state)
{
    (void)state;
    enum { LONG = PEN_SHARED_BODY_LEN - PEN_CACHE_LINE };
    static char memory[MEMBERS][LONG];
    crowd all;
    open_crowd(&all, PEN_ALONE);
    for (uint32_t rank = 0; rank < MEMBERS; rank++) {
        all.world.jobs[rank].coll->cma_allowed = false;
        crowd_open_member(&all, rank);
    }
    for (unsigned call = 0; call < 5; call++) {
        pen_event *events[MEMBERS];
        for (uint32_t rank = 0; rank < MEMBERS; rank++) {
            memset(memory[rank], rank == 1 ? (int)call + 1 : 0, LONG);
            events[rank] = broadcast(&all, rank, 1, memory[rank], LONG);
        }
        for (uint32_t rank = 0; rank < MEMBERS; rank++)
            wait_for(&all, events[rank]);
        for (uint32_t rank = 0; rank < MEMBERS; rank++)
            assert_memory_equal(memory[rank], memory[1], LONG);
    }
    crowd_close(&all);
}

/* Returns how many of its broadcasts the root has ended before another member began. */
static unsigned root_runs_ahead(uint32_t cores)
{
    enum { CALLS = 3, LONG = PEN_SHARED_PIECE_MAX };
    static char memory[MEMBERS][CALLS][LONG];
    pen_event *events[MEMBERS][CALLS];
    unsigned done = 0;
    crowd all;
    open_crowd(&all, PEN_ALONE);
    all.world.jobs[0].boot.page->cores = cores;
    for (uint32_t rank = 0; rank < MEMBERS; rank++) {
        crowd_open_member(&all, rank);
        for (unsigned call = 0; call < CALLS; call++) {
            memset(memory[rank][call], rank == 0 ? (int)call + 1 : 0, LONG);
            events[rank][call] = broadcast(&all, rank, 0, memory[rank][call], LONG);
            done += rank == 0 && events[rank][call] == PEN_EVENT_DONE;
        }
    }
    for (uint32_t rank = 0; rank < MEMBERS; rank++)
        for (unsigned call = 0; call < CALLS; call++) {
            wait_for(&all, events[rank][call]);
            assert_memory_equal(memory[rank][call], memory[0][call], LONG);
        }
    crowd_close(&all);
    return done;
}

static void where_cores_are_shared_the_root_of_a_long_one_does_not_wait_for_readers(void **state)
{
    (void)state;
    assert_int_equal(root_runs_ahead(MEMBERS), 0); /* read where they are */
    assert_int_equal(root_runs_ahead(MEMBERS - 1), 3);
}

static void of_two_members_who_comes_second_to_a_sum_has_it_at_once(void **state)
{
    (void)state;
    enum { PAIR = 2, COUNT = PEN_SHARED_PIECE_MAX / sizeof(uint64_t) };
    static uint64_t sums[PAIR][COUNT];
    const pen_reduction sum = {
        .type = GEX_DT_U64, .operation = GEX_OP_ADD, .element_len = sizeof(uint64_t), .count = COUNT
    };
    pen_event *events[PAIR];
    crowd all;
    open_crowd_of(&all, PAIR, PEN_ALONE);
    all.world.jobs[0].boot.page->cores = PAIR;
    for (uint32_t rank = 0; rank < PAIR; rank++) {
        crowd_open_member(&all, rank);
        for (unsigned i = 0; i < COUNT; i++)
            sums[rank][i] = (i + 1) << rank;
        events[rank] = pen_coll_reduce_nb(&all.world.jobs[rank].first_thread, &all.teams[rank],
                                          PEN_COLL_ALL, sums[rank], sums[rank], &sum);
    }
    assert_ptr_equal(events[1], PEN_EVENT_DONE);
    wait_for(&all, events[0]);
    for (unsigned i = 0; i < COUNT; i++) {
        assert_int_equal(sums[0][i], 3 * (i + 1));
        assert_int_equal(sums[1][i], 3 * (i + 1));
    }
    crowd_close(&all);
}

/* How fast copies go is asked of a body's piece, not of its parts, which may be short. */
static void parts_for_many_members_are_paced_as_one_piece(void **state)
{
    (void)state;
    enum { PART = PEN_COPY_OUT_MIN / 2 };
    static char source[MEMBERS][MEMBERS][PART], dest[MEMBERS][MEMBERS][PART];
    pen_event *events[MEMBERS];
    crowd all;
    open_crowd(&all, PEN_ALONE);
    all.world.jobs[0].boot.page->cores = MEMBERS;
    for (uint32_t rank = 0; rank < MEMBERS; rank++) {
        crowd_open_member(&all, rank);
        for (uint32_t to = 0; to < MEMBERS; to++)
            memset(source[rank][to], (int)(rank * MEMBERS + to + 1), PART);
        events[rank] = pen_coll_exchange_nb(&all.world.jobs[rank].first_thread, &all.teams[rank],
                                            dest[rank], source[rank], PART);
    }
    for (uint32_t rank = 0; rank < MEMBERS; rank++) {
        wait_for(&all, events[rank]);
        for (uint32_t from = 0; from < MEMBERS; from++)
            assert_memory_equal(dest[rank][from], source[from][rank], PART);
        assert_int_equal(all.teams[rank].coll->shared->pace.count, PEN_COPY_PACED);
    }
    crowd_close(&all);
}

/* ---- one team after the other ---------------------------------------------------------------- */

static unsigned pages_there(const void *memory, size_t len)
{
    unsigned char there[PEN_HOST_SHARE_LEN / 4096];
    unsigned count = 0;
    assert_int_equal(mincore((void *)(uintptr_t)memory, len, there), 0);
    for (size_t i = 0; i < len / 4096; i++)
        count += there[i] & 1;
    return count;
}

static void a_slow_member_ends_although_others_use_their_shares_for_the_next_team(void **state)
{
    (void)state;
    crowd all;
    static char memory[MEMBERS][4 * LEN];
    open_crowd(&all, PEN_ALONE);
    for (uint32_t rank = 0; rank < MEMBERS; rank++)
        crowd_open_member(&all, rank);
    pen_event *events[MEMBERS], *slow = NULL;
    for (uint32_t rank = 0; rank < MEMBERS; rank++)
        events[rank] = broadcast(&all, rank, 0, memory[rank], sizeof memory[rank]);
    for (uint32_t rank = 0; rank < MEMBERS; rank++)
        wait_for(&all, events[rank]);
    slow = barrier(&all, 2); /* and does not look again */
    for (uint32_t rank = 0; rank < 2; rank++)
        events[rank] = barrier(&all, rank);
    for (uint32_t rank = 0; rank < 2; rank++) {
        while (!pen_event_test(events[rank]))
            (void)pen_progress_poll(&all.world.jobs[rank].progress);
        const char *body = (const char *)all.teams[rank].coll->shared->mine + PEN_SHARED_BODY_OFF;
        assert_int_equal(pages_there(body, PEN_SHARED_BODY_LEN) != 0, rank == 0);
        pen_coll_team_quiesced(&all.teams[rank]);
        assert_int_equal(pages_there(body, PEN_SHARED_BODY_LEN), 0);
        pen_coll_team_close(&all.teams[rank]);
    }
    /* the next team of these two has the same shares, and posts more turns than there are slots */
    crowd next = all;
    next.size = 2;
    memset(next.is_open, 0, sizeof next.is_open);
    for (uint32_t rank = 0; rank < 2; rank++) {
        pen_coll_offer_make(&all.world.jobs[rank], &next.offers[rank]);
        assert_int_equal(next.offers[rank].share, all.offers[rank].share);
    }
    for (uint32_t rank = 0; rank < 2; rank++)
        crowd_open_member(&next, rank);
    for (unsigned call = 0; call < 2 * PEN_SHARED_SLOTS; call++) {
        events[0] = barrier(&next, 0);
        wait_for(&next, barrier(&next, 1));
        wait_for(&next, events[0]);
    }
    wait_for(&all, slow);
    for (uint32_t rank = 0; rank < 2; rank++)
        pen_coll_team_close(&next.teams[rank]);
    all.is_open[0] = all.is_open[1] = false;
    crowd_close(&all);
}

static void who_has_no_share_left_makes_the_team_go_by_messages(void **state)
{
    (void)state;
    crowd all;
    open_crowd(&all, PEN_ALONE);
    pen_coll_offer offers[PEN_HOST_SHARES];
    pen_job *job = &all.world.jobs[1];
    unsigned given = 0;
    for (unsigned i = 0; i < PEN_HOST_SHARES; i++) {
        pen_coll_offer_make(job, &offers[i]);
        given += offers[i].share != 0;
    }
    assert_int_equal(given, PEN_HOST_SHARES - 2); /* the world's, and the crowd's */
    pen_team team = all.teams[0];
    team.view.size = MEMBERS;
    pen_coll_offer three[MEMBERS] = { all.offers[0], offers[PEN_HOST_SHARES - 1], all.offers[2] };
    assert_false(pen_shared_believable(&team, three));
    for (unsigned i = 0; i < PEN_HOST_SHARES; i++)
        pen_coll_offer_withdraw(job, &offers[i]);
    pen_coll_offer_make(job, &offers[0]);
    assert_int_not_equal(offers[0].share, 0);
    for (uint32_t rank = 0; rank < MEMBERS; rank++)
        crowd_open_member(&all, rank);
    crowd_close(&all);
}

/* ---- wrong ----------------------------------------------------------------------------------- */

static void begin_differently(void *ctx)
{
    crowd *all = ctx;
    char memory[LEN] = { 0 };
    (void)broadcast(all, 0, 0, memory, LEN);
    (void)broadcast(all, 1, 0, memory, LEN - 1);
}

static void begin_with_two_roots(void *ctx)
{
    crowd *all = ctx;
    char memory[LEN] = { 0 };
    (void)broadcast(all, 0, 0, memory, LEN);
    (void)broadcast(all, 1, 1, memory, LEN);
    (void)broadcast(all, 2, 0, memory, LEN);
    (void)barrier(all, 0);
    (void)barrier(all, 1);
    (void)barrier(all, 2);
    for (;;)
        poll_all(all);
}

static void members_that_disagree_end_the_job_with_a_line_that_names_both(void **state)
{
    (void)state;
    crowd all;
    open_crowd(&all, PEN_ALONE);
    for (uint32_t rank = 0; rank < MEMBERS; rank++)
        crowd_open_member(&all, rank);
    assert_true(ranks_dies(begin_differently, &all, &all.world.jobs[1],
                           "number 0 of the team is a broadcast of 100 bytes from rank 0 on team "
                           "rank 0 (job rank 0), but a broadcast of 99 bytes from rank 0"));
    assert_true(ranks_dies(begin_with_two_roots, &all, &all.world.jobs[0],
                           "number 0 of the team is a broadcast of 100 bytes from rank 1"));
    crowd_close(&all);
}

static void begin_garbled(void *ctx)
{
    crowd *all = ctx;
    static char memory[1 << 20];
    (void)broadcast(all, 0, 0, memory, LEN);
    pen_shared *shared = all->teams[0].coll->shared;
    atomic_store(&shared->mine->slots[0].place,
                 (uint64_t)PEN_SHARED_IN_BODY << PEN_SHARED_PLACE_SHIFT |
                     (PEN_SHARED_BODY_LEN - LEN + 1));
    (void)broadcast(all, 1, 0, memory, LEN);
}

static void memory_that_is_not_its_owners_is_not_read(void **state)
{
    (void)state;
    crowd all;
    open_crowd(&all, PEN_ALONE);
    for (uint32_t rank = 0; rank < MEMBERS; rank++)
        crowd_open_member(&all, rank);
    assert_true(ranks_dies(begin_garbled, &all, &all.world.jobs[1],
                           "team rank 0 (job rank 0) offers memory that is not its own"));
    crowd_close(&all);
}

/* ---- threads --------------------------------------------------------------------------------- */

static void threads_that_poll_go_on_with_collectives_that_others_began(void **state)
{
    (void)state;
    crowd all;
    open_crowd(&all, PEN_CONCURRENT);
    crowd_play_threads(&all, &(crowd_play){ { 20000, 3000, 3, 3 }, 3 });
    crowd_close(&all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            a_root_runs_ahead_of_members_that_have_no_team_yet_as_far_as_there_is_room),
        cmocka_unit_test(long_pieces_wait_for_room_in_the_body),
        cmocka_unit_test(where_cores_are_shared_the_root_of_a_long_one_does_not_wait_for_readers),
        cmocka_unit_test(of_two_members_who_comes_second_to_a_sum_has_it_at_once),
        cmocka_unit_test(parts_for_many_members_are_paced_as_one_piece),
        cmocka_unit_test(a_slow_member_ends_although_others_use_their_shares_for_the_next_team),
        cmocka_unit_test(who_has_no_share_left_makes_the_team_go_by_messages),
        cmocka_unit_test(members_that_disagree_end_the_job_with_a_line_that_names_both),
        cmocka_unit_test(memory_that_is_not_its_owners_is_not_read),
        cmocka_unit_test(threads_that_poll_go_on_with_collectives_that_others_began),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
