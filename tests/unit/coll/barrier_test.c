/* SPDX-License-Identifier: BSD-3-Clause */
/* barrier_test.c: both barriers, by flag lines and by messages, in interleavings drawn from seeds
 * and with a thread per rank; the mismatch rules for every combination three ranks can make;
 * misuse. */
#include "coll/barrier.h"

#include "am/am.h"
#include "coll/coll.h"
#include "coll/coll_internal.h"
#include "rma/rma.h"
#include "support/ranks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { ANONYMOUS = 1, MISMATCH = 2, UNNAMED = ANONYMOUS | 8 };

static const uint32_t sizes[] = { 1, 2, 3, 4, 5, 8, 9, 17, 70 };
enum { SIZES = sizeof sizes / sizeof *sizes };

static void open_world(ranks *world, uint32_t size, uint64_t seed, bool by_flags,
                       pen_concurrency concurrency)
{
    ranks_open(world, &(ranks_params){ .size = size,
                                       .seed = seed,
                                       .same_host = by_flags,
                                       .threads = true,
                                       .concurrency = concurrency });
    for (uint32_t rank = 0; rank < size; rank++) {
        assert_int_equal(pen_rma_open(&world->jobs[rank]), PEN_OK);
        assert_int_equal(pen_coll_open(&world->jobs[rank]), PEN_OK);
        pen_meet_way way = by_flags ? PEN_MEET_BY_FLAGS : PEN_MEET_BY_MESSAGES;
        assert_true(size == 1 || world->jobs[rank].coll->meets[0].way == way);
    }
}

static void close_world(ranks *world)
{
    for (uint32_t rank = 0; rank < world->params.size; rank++) {
        assert_int_equal(world->jobs[rank].counters.frame_dropped, 0);
        assert_int_equal(atomic_load(&world->jobs[rank].progress.source_work), 0);
        pen_coll_close(&world->jobs[rank]);
        pen_rma_close(&world->jobs[rank]);
    }
    ranks_close(world);
}

/* ---- interleavings --------------------------------------------------------------------------- */

typedef struct walker {          /* one rank of the stepped worlds */
    uint32_t notified, finished; /* GASNet-1 barriers */
    uint32_t begun, ended;       /* GASNet-EX barriers */
    pen_event *events[8];        /* event of barrier i at i % 8; those of ended .. begun - 1 */
} walker;

static uint32_t least(const walker *walkers, uint32_t size, bool plain)
{
    uint32_t low = UINT32_MAX;
    for (uint32_t rank = 0; rank < size; rank++) {
        uint32_t at = plain ? walkers[rank].begun : walkers[rank].notified;
        low = at < low ? at : low;
    }
    return low;
}

/* One step of one rank. No barrier ends before every rank has come to it. */
static void step(ranks *world, walker *walkers, uint32_t rank)
{
    pen_job *job = &world->jobs[rank];
    walker *mine = &walkers[rank];
    switch (ranks_random(world, 5)) {
    case 0:
        if (mine->notified == mine->finished)
            pen_barrier_notify(job, (int)mine->notified++, 0);
        break;
    case 1:
        if (mine->notified != mine->finished) {
            pen_status status = pen_barrier_try(job, (int)mine->finished, 0);
            assert_true(status == PEN_OK || status == PEN_ERR_AGAIN);
            if (status == PEN_OK)
                assert_true(least(walkers, world->params.size, false) >= ++mine->finished);
        }
        break;
    case 2:
        if (mine->begun - mine->ended < 8) {
            /* Counted first: it may end at once. */
            uint32_t i = mine->begun++;
            mine->events[i % 8] = pen_coll_barrier_nb(&job->first_thread, &job->world);
        }
        break;
    case 3:
        if (mine->begun != mine->ended && pen_event_test(mine->events[mine->ended % 8]))
            assert_true(least(walkers, world->params.size, true) >= ++mine->ended);
        break;
    default:
        (void)pen_progress_poll(&job->progress);
    }
}

/* One step towards the goals; true: both are reached. */
static bool catch_up(ranks *world, walker *walkers, uint32_t rank, uint32_t goal,
                     uint32_t goal_plain)
{
    walker *mine = &walkers[rank];
    pen_job *job = &world->jobs[rank];
    if (mine->notified == mine->finished && mine->notified < goal)
        pen_barrier_notify(job, (int)mine->notified++, 0);
    if (mine->notified != mine->finished)
        mine->finished += pen_barrier_try(job, (int)mine->finished, 0) == PEN_OK;
    if (mine->begun < goal_plain && mine->begun - mine->ended < 8) {
        mine->events[mine->begun % 8] = pen_coll_barrier_nb(&job->first_thread, &job->world);
        mine->begun++;
    }
    (void)pen_progress_poll(&job->progress);
    if (mine->begun != mine->ended)
        mine->ended += pen_event_test(mine->events[mine->ended % 8]);
    return mine->finished == goal && mine->ended == goal_plain;
}

static void walk(uint32_t size, uint64_t seed, bool by_flags)
{
    ranks world;
    walker *walkers = calloc(size, sizeof *walkers);
    open_world(&world, size, seed, by_flags, PEN_ALONE);
    for (uint32_t i = 0; i < 3000 + 600 * size; i++)
        step(&world, walkers, ranks_random(&world, size));
    assert_true(least(walkers, size, false) > 5);
    /* All members catch up, in turn, and every barrier that was begun ends. */
    uint32_t goal = 0, goal_plain = 0;
    for (uint32_t rank = 0; rank < size; rank++) {
        goal = walkers[rank].notified > goal ? walkers[rank].notified : goal;
        goal_plain = walkers[rank].begun > goal_plain ? walkers[rank].begun : goal_plain;
    }
    for (uint32_t there = 0; there != size;) {
        there = 0;
        for (uint32_t rank = 0; rank < size; rank++)
            there += catch_up(&world, walkers, rank, goal, goal_plain);
    }
    free(walkers);
    close_world(&world);
}

static void no_barrier_ends_before_every_rank_has_come_by_flags(void **state)
{
    (void)state;
    for (unsigned i = 0; i < SIZES; i++)
        for (uint64_t seed = 1; seed <= 4; seed++)
            walk(sizes[i], seed, true);
}

static void no_barrier_ends_before_every_rank_has_come_by_messages(void **state)
{
    (void)state;
    for (unsigned i = 0; i < SIZES; i++)
        for (uint64_t seed = 1; seed <= 4; seed++)
            walk(sizes[i], seed, false);
}

static void ranks_that_only_poll_hold_nobody_up(void **state)
{
    (void)state;
    for (unsigned way = 0; way < 2; way++) {
        for (unsigned i = 0; i < SIZES; i++) {
            ranks world;
            uint32_t size = sizes[i];
            open_world(&world, size, 1, way == 0, PEN_ALONE);
            for (uint32_t rank = 0; rank < size; rank++)
                pen_barrier_notify(&world.jobs[rank], 0, ANONYMOUS);
            /* With flags not even a poll is needed; with messages, one poll of every member for
             * each round. */
            for (unsigned round = 0; way == 1 && round < 8; round++)
                for (uint32_t rank = 0; rank < size; rank++)
                    (void)pen_progress_poll(&world.jobs[rank].progress);
            for (uint32_t rank = 0; rank < size; rank++)
                assert_int_equal(pen_barrier_try(&world.jobs[rank], 0, ANONYMOUS), PEN_OK);
            close_world(&world);
        }
    }
}

/* ---- mismatch -------------------------------------------------------------------------------- */

typedef struct notice {
    int name, flags;
} notice;

static const notice notices[] = {
    { 7, 0 },
    { -7, 0 },
    { 0, 0 },
    { 7, ANONYMOUS },
    { -7, UNNAMED },
    { 7, MISMATCH },
    { 0, ANONYMOUS | MISMATCH },
};
enum { NOTICES = sizeof notices / sizeof *notices };

/* The rule, written out the long way. */
static bool expect_mismatch(const notice *of, uint32_t size, bool *named, int *name)
{
    bool mismatch = false;
    *named = false;
    for (uint32_t i = 0; i < size; i++) {
        mismatch = mismatch || (of[i].flags & MISMATCH);
        if (of[i].flags & ANONYMOUS)
            continue;
        for (uint32_t j = 0; j < size; j++)
            mismatch = mismatch || (!(of[j].flags & ANONYMOUS) && of[j].name != of[i].name);
        *named = true;
        *name = of[i].name;
    }
    return mismatch;
}

static void meet_once(ranks *world, const notice *of, uint32_t size)
{
    uint32_t first = ranks_random(world, size);
    bool named;
    int name = 0, got;
    bool mismatch = expect_mismatch(of, size, &named, &name);
    for (uint32_t i = 0; i < size; i++) {
        uint32_t rank = (first + i) % size;
        pen_barrier_notify(&world->jobs[rank], of[rank].name, of[rank].flags);
    }
    for (unsigned round = 0; round < 10; round++)
        for (uint32_t rank = 0; rank < size; rank++)
            (void)pen_progress_poll(&world->jobs[rank].progress);
    for (uint32_t rank = 0; rank < size; rank++) {
        pen_status status = pen_barrier_wait(&world->jobs[rank], of[rank].name, of[rank].flags);
        assert_int_equal(status, mismatch ? PEN_ERR_ARGUMENT : PEN_OK);
        bool has_name = pen_barrier_result(&world->jobs[rank], &got);
        assert_int_equal(has_name, named && !mismatch);
        if (has_name)
            assert_int_equal(got, name);
    }
}

static void every_combination_of_three_ranks_is_judged_by_the_rule(void **state)
{
    (void)state;
    for (unsigned way = 0; way < 2; way++) {
        ranks world;
        open_world(&world, 3, 5, way == 0, PEN_ALONE);
        for (unsigned i = 0; i < NOTICES * NOTICES * NOTICES; i++) {
            notice of[3] = { notices[i % NOTICES], notices[i / NOTICES % NOTICES],
                             notices[i / NOTICES / NOTICES] };
            meet_once(&world, of, 3);
        }
        close_world(&world);
    }
}

static void one_rank_among_many_is_enough_for_a_mismatch(void **state)
{
    (void)state;
    enum { MANY = 19 };
    for (unsigned way = 0; way < 2; way++) {
        ranks world;
        open_world(&world, MANY, 5, way == 0, PEN_ALONE);
        for (uint32_t odd = 0; odd < MANY; odd++) {
            for (unsigned kind = 0; kind < NOTICES; kind++) {
                notice of[MANY];
                for (uint32_t rank = 0; rank < MANY; rank++)
                    of[rank] =
                        rank == odd ? notices[kind] : (notice){ 7, rank % 3 ? 0 : ANONYMOUS };
                meet_once(&world, of, MANY);
            }
        }
        close_world(&world);
    }
}

static void waiting_for_another_name_is_a_local_mismatch(void **state)
{
    (void)state;
    const struct {
        notice notify, wait;
        pen_status status;
    } rows[] = {
        { { 3, 0 }, { 4, 0 }, PEN_ERR_ARGUMENT },
        { { 3, 0 }, { 3, ANONYMOUS }, PEN_OK },
        { { 4, ANONYMOUS }, { 3, 0 }, PEN_OK },
        { { 3, ANONYMOUS }, { 4, 0 }, PEN_ERR_ARGUMENT }, /* rank 1 has another name */
        { { 3, UNNAMED }, { 3, ANONYMOUS }, PEN_OK },
        { { 3, ANONYMOUS }, { 4, ANONYMOUS }, PEN_OK },
        { { 3, UNNAMED }, { 3, UNNAMED }, PEN_OK },
        { { 3, 0 }, { 3, MISMATCH }, PEN_ERR_ARGUMENT },
    };
    ranks world;
    open_world(&world, 2, 5, true, PEN_ALONE);
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
        pen_barrier_notify(&world.jobs[0], rows[i].notify.name, rows[i].notify.flags);
        pen_barrier_notify(&world.jobs[1], 3, 0);
        assert_int_equal(pen_barrier_wait(&world.jobs[0], rows[i].wait.name, rows[i].wait.flags),
                         rows[i].status);
        assert_int_equal(pen_barrier_wait(&world.jobs[1], 3, 0), PEN_OK); /* it is local */
    }
    close_world(&world);
}

/* ---- misuse ---------------------------------------------------------------------------------- */

static void notify_twice(void *job)
{
    pen_barrier_notify(job, 0, ANONYMOUS);
    pen_barrier_notify(job, 0, ANONYMOUS);
}

static void wait_first(void *job) { (void)pen_barrier_wait(job, 0, ANONYMOUS); }

static void try_again(void *job)
{
    pen_barrier_notify(job, 0, ANONYMOUS);
    (void)pen_barrier_try(job, 0, ANONYMOUS);
    (void)pen_barrier_try(job, 0, ANONYMOUS);
}

static void calls_out_of_turn_end_the_job_with_a_message(void **state)
{
    (void)state;
    ranks world;
    open_world(&world, 1, 1, true, PEN_ALONE);
    pen_job *job = &world.jobs[0];
    assert_true(ranks_dies(notify_twice, job, job, "gasnet_barrier_notify was called twice"));
    assert_true(ranks_dies(wait_first, job, job, "gasnet_barrier_wait was called without"));
    assert_true(ranks_dies(try_again, job, job, "gasnet_barrier_try was called without"));
    close_world(&world);
}

static void words_that_fit_no_phase_are_counted_and_dropped(void **state)
{
    (void)state;
    ranks world;
    open_world(&world, 4, 1, false, PEN_ALONE);
    pen_job *job = &world.jobs[0];
    const int32_t bad[][PEN_MEET_ARGS] = {
        { 9, 1, 0, 0, 0 },  /* no meeting */
        { -1, 1, 0, 0, 0 }, /* no meeting */
        { 0, 3, 0, 0, 0 },  /* too far ahead */
        { 0, 0, 0, 0, 0 },  /* over */
        { 0, 1, 2, 0, 0 },  /* no round */
        { 0, 1, -1, 0, 0 }, /* no round */
        { 0, 1, 1, 0, 0 },  /* not this peer's round */
    };
    enum { BAD = sizeof bad / sizeof *bad };
    for (unsigned i = 0; i < BAD; i++)
        ranks_inject(&world, 3, 0, PEN_LANE_CONTROL, PEN_AM_INT_BARRIER, PEN_MEET_ARGS, bad[i],
                     NULL, 0);
    const int32_t good[PEN_MEET_ARGS] = { 0, 1, 0, 0, 0 };
    for (unsigned i = 0; i < 2; i++) /* once is fine */
        ranks_inject(&world, 3, 0, PEN_LANE_CONTROL, PEN_AM_INT_BARRIER, PEN_MEET_ARGS, good, NULL,
                     0);
    (void)pen_progress_poll(&job->progress);
    assert_int_equal(job->counters.frame_dropped, BAD + 1);
    job->counters.frame_dropped = 0;
    close_world(&world);
}

static void the_way_to_meet_can_be_chosen_and_nonsense_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *value;
        bool same_host;
        pen_status status;
        pen_meet_way way;
    } rows[] = {
        { "auto", true, PEN_OK, PEN_MEET_BY_FLAGS },
        { "auto", false, PEN_OK, PEN_MEET_BY_MESSAGES },
        { "messages", true, PEN_OK, PEN_MEET_BY_MESSAGES },
        { "flags", true, PEN_OK, PEN_MEET_BY_FLAGS },
        { "flags", false, PEN_ERR_UNUSABLE, PEN_MEET_BY_FLAGS },
        { "runners", true, PEN_ERR_ARGUMENT, PEN_MEET_BY_FLAGS },
    };
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
        ranks world;
        ranks_open(&world, &(ranks_params){ .size = 2, .same_host = rows[i].same_host });
        pen_job *job = &world.jobs[0];
        job->log.fd = -1;
        setenv("PENSTOCK_BARRIER", rows[i].value, 1);
        assert_int_equal(pen_coll_open(job), rows[i].status);
        unsetenv("PENSTOCK_BARRIER");
        if (rows[i].status == PEN_OK)
            assert_int_equal(job->coll->meets[PEN_MEET_PLAIN].way, rows[i].way);
        pen_coll_close(job);
        ranks_close(&world);
    }
}

/* ---- threads --------------------------------------------------------------------------------- */

enum { BARRIERS = 300 };

typedef struct runner {
    ranks *world;
    uint32_t rank;
    uint32_t *arrived; /* by rank; plain memory: the barriers order it */
} runner;

static void *run_rank(void *ctx)
{
    runner *mine = ctx;
    pen_job *job = &mine->world->jobs[mine->rank];
    uint32_t size = mine->world->params.size;
    for (uint32_t i = 1; i <= BARRIERS; i++) {
        mine->arrived[mine->rank] = i;
        if (i % 2 == 0) {
            pen_barrier_notify(job, (int)i, 0);
            assert_int_equal(pen_barrier_wait(job, (int)i, 0), PEN_OK);
        } else {
            pen_event_wait(job, pen_coll_barrier_nb(&job->first_thread, &job->world),
                           PEN_CALL_EVENT_WAIT);
        }
        for (uint32_t rank = 0; rank < size; rank++)
            assert_int_equal(mine->arrived[rank], i);
        pen_event_wait(job, pen_coll_barrier_nb(&job->first_thread, &job->world),
                       PEN_CALL_EVENT_WAIT);
    }
    return NULL;
}

static void run_threads(uint32_t size, bool by_flags, pen_concurrency concurrency)
{
    ranks world;
    pthread_t threads[16];
    runner runners[16];
    uint32_t arrived[16] = { 0 };
    open_world(&world, size, 1, by_flags, concurrency);
    for (uint32_t rank = 0; rank < size; rank++) {
        runners[rank] = (runner){ &world, rank, arrived };
        assert_int_equal(pthread_create(&threads[rank], NULL, run_rank, &runners[rank]), 0);
    }
    for (uint32_t rank = 0; rank < size; rank++)
        pthread_join(threads[rank], NULL);
    close_world(&world);
}

static void what_was_written_before_a_barrier_is_read_after_it_by_flags(void **state)
{
    (void)state;
    static const uint32_t counts[] = { 2, 3, 4, 5, 11 };
    for (unsigned i = 0; i < sizeof counts / sizeof *counts; i++)
        run_threads(counts[i], true, PEN_ALONE);
}

static void what_was_written_before_a_barrier_is_read_after_it_by_messages(void **state)
{
    (void)state;
    static const uint32_t counts[] = { 2, 3, 5 };
    for (unsigned i = 0; i < sizeof counts / sizeof *counts; i++)
        run_threads(counts[i], false, PEN_CONCURRENT);
}

typedef struct baton { /* from the thread that notifies to the one that waits, and back */
    pen_job *job;
    _Atomic bool notified;
} baton;

static void *wait_elsewhere(void *ctx)
{
    baton *mine = ctx;
    for (int i = 0; i < BARRIERS; i++) {
        while (!atomic_load(&mine->notified))
            sched_yield();
        assert_int_equal(pen_barrier_wait(mine->job, i, 0), PEN_OK);
        atomic_store(&mine->notified, false);
    }
    return NULL;
}

static void one_thread_may_notify_and_another_wait(void **state)
{
    (void)state;
    ranks world;
    pthread_t threads[2];
    baton batons[2];
    open_world(&world, 2, 1, true, PEN_CONCURRENT);
    for (uint32_t rank = 0; rank < 2; rank++) {
        batons[rank] = (baton){ &world.jobs[rank], false };
        assert_int_equal(pthread_create(&threads[rank], NULL, wait_elsewhere, &batons[rank]), 0);
    }
    for (int i = 0; i < BARRIERS; i++) {
        for (uint32_t rank = 0; rank < 2; rank++) {
            pen_barrier_notify(&world.jobs[rank], i, 0);
            atomic_store(&batons[rank].notified, true);
        }
        for (uint32_t rank = 0; rank < 2; rank++)
            while (atomic_load(&batons[rank].notified))
                sched_yield();
    }
    for (uint32_t rank = 0; rank < 2; rank++)
        pthread_join(threads[rank], NULL);
    close_world(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_barrier_ends_before_every_rank_has_come_by_flags),
        cmocka_unit_test(no_barrier_ends_before_every_rank_has_come_by_messages),
        cmocka_unit_test(ranks_that_only_poll_hold_nobody_up),
        cmocka_unit_test(every_combination_of_three_ranks_is_judged_by_the_rule),
        cmocka_unit_test(one_rank_among_many_is_enough_for_a_mismatch),
        cmocka_unit_test(waiting_for_another_name_is_a_local_mismatch),
        cmocka_unit_test(calls_out_of_turn_end_the_job_with_a_message),
        cmocka_unit_test(words_that_fit_no_phase_are_counted_and_dropped),
        cmocka_unit_test(the_way_to_meet_can_be_chosen_and_nonsense_is_refused),
        cmocka_unit_test(what_was_written_before_a_barrier_is_read_after_it_by_flags),
        cmocka_unit_test(what_was_written_before_a_barrier_is_read_after_it_by_messages),
        cmocka_unit_test(one_thread_may_notify_and_another_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
