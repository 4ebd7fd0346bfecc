/* SPDX-License-Identifier: BSD-3-Clause */
/* threads_test.c: several threads of every rank send at once, and handlers run on all of them:
 * nothing is lost, doubled or torn. Meant for ThreadSanitizer above all. */
#include "am/am.h"
#include "support/ranks.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { RANKS = 3, THREADS = 2, MESSAGES = 300, LONG_LEN = 700 };
enum { LONGS = MESSAGES / 3, SEGMENT_LEN = RANKS * THREADS * LONGS * LONG_LEN };
enum { ASK = 200, ASK_MEDIUM, ASK_LONG, ANSWER };

static _Atomic unsigned answers[RANKS];
static _Atomic uint64_t sums[RANKS];
static ranks world;

static void answer(pen_token *token, int32_t value)
{
    uint64_t words[2] = { 0, (uint32_t)value };
    assert_int_equal(pen_am_reply_short(token, ANSWER, 0, 1, words), 0);
}

static void on_ask(pen_token *token, int32_t value) { answer(token, value); }

static void on_ask_medium(pen_token *token, void *payload, size_t len, int32_t value)
{
    const unsigned char *bytes = payload;
    for (size_t i = 0; i < len; i++)
        assert_int_equal(bytes[i], (unsigned char)value);
    answer(token, value);
}

static void on_ask_long(pen_token *token, void *dest, size_t len, int32_t value)
{
    on_ask_medium(token, dest, len, value);
}

static void on_answer(pen_token *token, int32_t value)
{
    uint32_t rank = token->job->rank;
    atomic_fetch_add(&sums[rank], (uint32_t)value);
    atomic_fetch_add(&answers[rank], 1);
}

static void send_one(pen_job *job, uint32_t to, uint32_t slot, int32_t value)
{
    unsigned char bytes[LONG_LEN];
    uint64_t words[2] = { 0, (uint32_t)value };
    memset(bytes, (unsigned char)value, sizeof bytes);
    char *dest = world.segments[to] + ((size_t)slot * LONGS + (size_t)value / 3) * LONG_LEN;
    int refused = 0;
    switch (value % 3) {
    case 0:
        refused = pen_am_request_short(&job->world, to, ASK, 0, 1, words);
        break;
    case 1:
        refused = pen_am_request_medium(&job->world, to, ASK_MEDIUM, bytes, 300, 0, 1, words);
        break;
    default:
        refused =
            pen_am_request_long(&job->world, to, ASK_LONG, bytes, sizeof bytes, dest, 0, 1, words);
    }
    assert_int_equal(refused, 0);
}

typedef struct sender {
    pthread_t thread;
    uint32_t rank, index;
} sender;

static void *send_all(void *arg)
{
    const sender *s = arg;
    pen_job *job = &world.jobs[s->rank];
    uint32_t slot = s->rank * THREADS + s->index;
    for (int32_t i = 0; i < MESSAGES; i++) {
        send_one(job, (s->rank + (uint32_t)i) % RANKS, slot, i);
        (void)pen_progress_poll(&job->progress);
    }
    while (atomic_load(&answers[s->rank]) < THREADS * MESSAGES)
        (void)pen_progress_poll(&job->progress);
    return NULL;
}

/* Other ranks need us until all of them are done. */
static void serve(void)
{
    bool is_done;
    do {
        is_done = true;
        for (uint32_t rank = 0; rank < RANKS; rank++) {
            (void)pen_progress_poll(&world.jobs[rank].progress);
            is_done = is_done && atomic_load(&answers[rank]) == THREADS * MESSAGES;
        }
    } while (!is_done);
}

static void register_all(pen_job *job)
{
    pen_am_entry table[] = {
        { ASK, (void (*)(void))on_ask, 0, 1, NULL, "ask" },
        { ASK_MEDIUM, (void (*)(void))on_ask_medium, 0, 1, NULL, "ask_medium" },
        { ASK_LONG, (void (*)(void))on_ask_long, 0, 1, NULL, "ask_long" },
        { ANSWER, (void (*)(void))on_answer, 0, 1, NULL, "answer" },
    };
    assert_int_equal(pen_am_register(job, &job->log, table, 4), PEN_OK);
}

static void check(bool mapped, uint32_t frame_max)
{
    sender senders[RANKS * THREADS];
    ranks_params params = { .size = RANKS,
                            .frame_max = frame_max,
                            .room = 16,
                            .segment_len = SEGMENT_LEN,
                            .mapped = mapped,
                            .same_host = true,
                            .threads = true,
                            .concurrency = PEN_CONCURRENT };
    ranks_open(&world, &params);
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        atomic_store(&answers[rank], 0);
        atomic_store(&sums[rank], 0);
        register_all(&world.jobs[rank]);
    }
    for (uint32_t i = 0; i < RANKS * THREADS; i++) {
        senders[i].rank = i / THREADS;
        senders[i].index = i % THREADS;
        assert_int_equal(pthread_create(&senders[i].thread, NULL, send_all, &senders[i]), 0);
    }
    serve();
    for (uint32_t i = 0; i < RANKS * THREADS; i++)
        assert_int_equal(pthread_join(senders[i].thread, NULL), 0);
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        assert_int_equal(atomic_load(&sums[rank]), THREADS * (MESSAGES * (MESSAGES - 1) / 2));
        assert_int_equal(world.jobs[rank].counters.frame_dropped, 0);
    }
    ranks_close(&world);
}

static void threads_send_all_categories_at_once(void **state)
{
    (void)state;
    check(true, 4096);
}

static void threads_send_longs_in_pieces_at_once(void **state)
{
    (void)state;
    check(false, 512);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_send_all_categories_at_once),
        cmocka_unit_test(threads_send_longs_in_pieces_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
