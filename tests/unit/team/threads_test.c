/* SPDX-License-Identifier: BSD-3-Clause */
/* threads_test.c: threads of a rank divide teams of their own at the same time, meet in the new
 * teams and end them, on a link that sometimes refuses; also under the thread sanitizer. */
#include "team/team.h"

#include "coll/barrier.h"
#include "coll/coll.h"
#include "rma/rma.h"
#include "support/ranks.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

enum { RANKS = 3, THREADS = 3, WORKERS = RANKS * THREADS, ROUNDS = 40 };

typedef struct worker {
    pen_thread thread;
    pen_team *team; /* team of this thread and its counterparts on all ranks */
    uint64_t ids[ROUNDS];
    pthread_t id;
    pthread_barrier_t *start;
    _Atomic uint32_t *working;
} worker;

static void *make_parent(void *ctx)
{
    worker *mine = ctx;
    pen_job *job = mine->thread.job;
    mine->team = pen_team_split(&mine->thread, &job->world, true, 0, -(int)job->rank, "a test");
    return NULL;
}

static void *divide(void *ctx)
{
    worker *mine = ctx;
    pen_job *job = mine->thread.job;
    pthread_barrier_wait(mine->start);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        pen_team *team = pen_team_split(&mine->thread, mine->team, true, 0,
                                        (int)(job->rank * round % RANKS), "a test");
        mine->ids[round] = team->id;
        pen_event_wait(job, pen_coll_barrier_nb(&mine->thread, team), PEN_CALL_EVENT_WAIT);
        pen_team_destroy(&mine->thread, team, false);
    }
    /* Ranks serve their peers until all are done. */
    atomic_fetch_sub(mine->working, 1);
    while (atomic_load(mine->working) != 0) {
        (void)pen_progress_poll(&job->progress);
        sched_yield();
    }
    return NULL;
}

static void run(worker *workers, uint32_t first, uint32_t count, void *(*play)(void *))
{
    for (uint32_t i = first; i < first + count; i++)
        assert_int_equal(pthread_create(&workers[i].id, NULL, play, &workers[i]), 0);
    for (uint32_t i = first; i < first + count; i++)
        (void)pthread_join(workers[i].id, NULL);
}

static void ids_agree(const worker *workers)
{
    for (uint32_t i = 0; i < WORKERS * ROUNDS; i++) {
        uint64_t id = workers[i / ROUNDS].ids[i % ROUNDS];
        uint32_t same = 0;
        for (uint32_t other = 0; other < WORKERS * ROUNDS; other++)
            same += workers[other / ROUNDS].ids[other % ROUNDS] == id;
        assert_int_equal(same, RANKS);
        assert_int_equal(workers[i / ROUNDS / RANKS * RANKS].ids[i % ROUNDS], id);
    }
}

static void threads_make_and_end_teams_at_the_same_time(void **state)
{
    (void)state;
    ranks world;
    _Atomic uint32_t working = WORKERS;
    pthread_barrier_t start;
    pthread_barrier_init(&start, NULL, WORKERS);
    worker *workers = calloc(WORKERS, sizeof *workers);
    ranks_open(&world, &(ranks_params){ .size = RANKS,
                                        .seed = 5,
                                        .segment_len = 4096,
                                        .mapped = true,
                                        .same_host = true,
                                        .again_percent = 10,
                                        .threads = true,
                                        .concurrency = PEN_CONCURRENT });
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        assert_int_equal(pen_rma_open(&world.jobs[rank]), PEN_OK);
        assert_int_equal(pen_coll_open(&world.jobs[rank]), PEN_OK);
    }
    for (uint32_t i = 0; i < WORKERS; i++) { /* in the same order on all ranks */
        pen_job *job = &world.jobs[i % RANKS];
        workers[i].thread = (pen_thread){ .job = job, .next = job->first_thread.next };
        job->first_thread.next = &workers[i].thread;
        workers[i].start = &start;
        workers[i].working = &working;
    }
    for (uint32_t thread = 0; thread < THREADS; thread++)
        run(workers, thread * RANKS, RANKS, make_parent);
    run(workers, 0, WORKERS, divide);
    ids_agree(workers);
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        pen_job *job = &world.jobs[rank];
        assert_int_equal(job->counters.frame_dropped, 0);
        pen_team_close_all(job);
        pen_coll_close(job);
        pen_rma_close(job);
    }
    ranks_close(&world);
    pthread_barrier_destroy(&start);
    free(workers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_make_and_end_teams_at_the_same_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
