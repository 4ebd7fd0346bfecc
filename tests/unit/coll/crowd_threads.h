/* SPDX-License-Identifier: BSD-3-Clause */
/* crowd_threads.h: a team whose members have two threads each: one begins reductions by a function
 * of the client's and compares their results, the second only polls, and so runs that function too.
 */
#ifndef PEN_TEST_CROWD_THREADS_H
#define PEN_TEST_CROWD_THREADS_H

#include "unit/coll/crowd.h"

#include <pthread.h>
#include <sched.h>

enum { CROWD_THREADS_MEMBERS_MAX = 4, CROWD_THREADS_COUNT_MAX = 20000, CROWD_THREADS_CALLS = 60 };

typedef struct crowd_play {
    uint32_t counts[4];  /* elements, of one call after the other */
    uint32_t meet_every; /* number of calls between two barriers */
} crowd_play;

typedef struct crowd_runner {
    crowd *all;
    const crowd_play *play;
    uint32_t rank;
    _Atomic bool over;
} crowd_runner;

static inline void crowd_add(const void *left, void *right, size_t count, const void *cdata)
{
    (void)cdata;
    for (size_t i = 0; i < count; i++)
        ((uint32_t *)right)[i] += ((const uint32_t *)left)[i];
}

static inline void *crowd_run_member(void *ctx)
{
    static uint32_t memory[CROWD_THREADS_MEMBERS_MAX][2][CROWD_THREADS_COUNT_MAX];
    crowd_runner *mine = ctx;
    pen_team *team = &mine->all->teams[mine->rank];
    pen_job *job = team->job;
    const uint32_t members = mine->all->size;
    for (uint32_t call = 0; call < CROWD_THREADS_CALLS; call++) {
        pen_event *events[2];
        uint32_t count = mine->play->counts[call % 4];
        const pen_reduction reduction = { .type = 64,
                                          .operation = 1u << 30,
                                          .element_len = sizeof(uint32_t),
                                          .count = count,
                                          .function = crowd_add };
        for (unsigned i = 0; i < 2; i++) {
            uint32_t *values = memory[mine->rank][i];
            for (uint32_t at = 0; at < count; at++)
                values[at] = call + mine->rank + at + i;
            events[i] = pen_coll_reduce_nb(&job->first_thread, team, PEN_COLL_ALL, values, values,
                                           &reduction);
        }
        for (unsigned i = 0; i < 2; i++) {
            pen_event_wait(job, events[i], PEN_CALL_EVENT_WAIT);
            for (uint32_t at = 0; at < count; at++)
                assert_int_equal(memory[mine->rank][i][at],
                                 members * (call + at + i) + members * (members - 1) / 2);
        }
        if (call % mine->play->meet_every == 0)
            pen_event_wait(job, pen_coll_barrier_nb(&job->first_thread, team), PEN_CALL_EVENT_WAIT);
    }
    atomic_store(&mine->over, true);
    return NULL;
}

static inline void *crowd_run_helper(void *ctx)
{
    crowd_runner *mine = ctx;
    while (!atomic_load(&mine->over)) {
        (void)pen_progress_poll(&mine->all->teams[mine->rank].job->progress);
        sched_yield();
    }
    return NULL;
}

/* Opens the members of a world with threads, and plays. */
static inline void crowd_play_threads(crowd *all, const crowd_play *play)
{
    pthread_t threads[2 * CROWD_THREADS_MEMBERS_MAX];
    crowd_runner runners[CROWD_THREADS_MEMBERS_MAX];
    assert_true(all->size <= CROWD_THREADS_MEMBERS_MAX);
    for (uint32_t rank = 0; rank < all->size; rank++)
        crowd_open_member(all, rank);
    for (uint32_t rank = 0; rank < all->size; rank++) {
        runners[rank] = (crowd_runner){ all, play, rank, false };
        assert_int_equal(pthread_create(&threads[2 * rank], NULL, crowd_run_member, &runners[rank]),
                         0);
        assert_int_equal(
            pthread_create(&threads[2 * rank + 1], NULL, crowd_run_helper, &runners[rank]), 0);
    }
    for (uint32_t i = 0; i < 2 * all->size; i++)
        pthread_join(threads[i], NULL);
}

#endif
