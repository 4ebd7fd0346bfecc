/* SPDX-License-Identifier: BSD-3-Clause */
/* threads_test.c: several threads of several ranks put and get at once, by messages and by the
 * link; any of them may poll, and so complete what another waits for. */
#include "rma/rma.h"

#include "rma/rma_internal.h"
#include "support/ranks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { RANKS = 2, THREADS = 2, STRIPE_LEN = 6000, ROUNDS = 150, WORKERS = RANKS * THREADS };

typedef struct worker {
    pen_thread thread;
    ranks *world;
    uint32_t stripe; /* place in every rank's segment that only this worker uses */
    pthread_t id;
    _Atomic uint32_t *working;
} worker;

static uint32_t draw(uint32_t *state, uint32_t below)
{
    *state = *state * 1664525u + 1013904223u;
    return (*state >> 8) % below;
}

static void put_and_get(worker *mine, uint32_t i, uint32_t *random)
{
    pen_job *job = mine->thread.job;
    char local[STRIPE_LEN], back[STRIPE_LEN];
    uint32_t rank = (job->rank + i) % RANKS, len = 1 + draw(random, STRIPE_LEN - 1);
    char *remote = mine->world->segments[rank] + mine->stripe * STRIPE_LEN;
    memset(local, (int)draw(random, 256), len);
    switch (draw(random, 3)) {
    case 0:
        assert_int_equal(pen_rma_put(&mine->thread, &job->world, rank, remote, local, len, 0), 0);
        break;
    case 1: {
        pen_event *events[2];
        events[1] = pen_rma_put_nb(&mine->thread, &job->world, rank, remote, local, len,
                                   PEN_LOCAL_LEAF, &events[0], 0);
        pen_event_wait_all(job, events, 2);
        break;
    }
    default:
        (void)pen_rma_put_nbi(&mine->thread, &job->world, rank, remote, local, len, PEN_LOCAL_NOW,
                              0);
        pen_nbi_wait(&mine->thread, PEN_EC_PUT);
    }
    memset(back, 0, len);
    pen_event_wait(job, pen_rma_get_nb(&mine->thread, &job->world, back, rank, remote, len, 0),
                   PEN_CALL_EVENT_WAIT);
    assert_memory_equal(back, local, len);
}

static void *work(void *ctx)
{
    worker *mine = ctx;
    uint32_t random = mine->stripe + 1;
    for (uint32_t i = 0; i < ROUNDS; i++)
        put_and_get(mine, i, &random);
    /* Ranks serve their peers until all are done. */
    atomic_fetch_sub(mine->working, 1);
    while (atomic_load(mine->working) != 0) {
        (void)pen_progress_poll(&mine->thread.job->progress);
        sched_yield();
    }
    return NULL;
}

static void run(bool link_moves)
{
    ranks world;
    _Atomic uint32_t working = WORKERS;
    worker *workers = calloc(WORKERS, sizeof *workers);
    ranks_open(&world, &(ranks_params){ .size = RANKS,
                                        .seed = 3,
                                        .segment_len = WORKERS * STRIPE_LEN,
                                        .room = 4,
                                        .again_percent = 10,
                                        .link_moves = link_moves,
                                        .move_max = 1000,
                                        .threads = true,
                                        .concurrency = PEN_CONCURRENT });
    for (uint32_t rank = 0; rank < RANKS; rank++)
        assert_int_equal(pen_rma_open(&world.jobs[rank]), PEN_OK);
    for (uint32_t i = 0; i < WORKERS; i++) {
        pen_job *job = &world.jobs[i % RANKS];
        workers[i].thread = (pen_thread){ .job = job, .next = job->first_thread.next };
        job->first_thread.next = &workers[i].thread;
        workers[i].world = &world;
        workers[i].stripe = i;
        workers[i].working = &working;
    }
    for (uint32_t i = 0; i < WORKERS; i++)
        assert_int_equal(pthread_create(&workers[i].id, NULL, work, &workers[i]), 0);
    for (uint32_t i = 0; i < WORKERS; i++)
        pthread_join(workers[i].id, NULL);
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        pen_job *job = &world.jobs[rank];
        assert_int_equal(job->counters.frame_dropped, 0);
        assert_int_equal(job->counters.put_net, THREADS * ROUNDS / RANKS); /* the rest at home */
        pen_rma_close(job);
    }
    ranks_close(&world);
    free(workers);
}

static void threads_of_a_rank_share_messages(void **state)
{
    (void)state;
    run(false);
}

static void threads_of_a_rank_share_the_link(void **state)
{
    (void)state;
    run(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_of_a_rank_share_messages),
        cmocka_unit_test(threads_of_a_rank_share_the_link),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
