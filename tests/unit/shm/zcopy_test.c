/* SPDX-License-Identifier: BSD-3-Clause */
/* zcopy_test.c: a body written in place takes no more of the receiver's memory than was asked for.
 */
#include "shm_job.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { FROM = 0, TO = 1, RANKS = 2, PAGE_BODY = 4096 };

static const shm_config config = { .channels = 32, .eager = 8, .park_polls = 16 };
static shm_job job;

static int open_job(void **state)
{
    (void)state;
    shm_job_open(&job, RANKS, &config);
    return 0;
}

static int close_job(void **state)
{
    (void)state;
    shm_job_close(&job);
    return 0;
}

static pen_link *from_link(void) { return &job.ranks[FROM].link->base; }
static shm_tx *tx(void) { return &job.ranks[FROM].link->to[TO].lanes[PEN_LANE_REQUEST]; }

static uint32_t chunks_taken(void)
{
    return atomic_load(&job.ranks[TO].link->page->lanes[PEN_LANE_REQUEST].chunks_taken);
}

static char *reserve(uint32_t len)
{
    return (char *)shm_zcopy.reserve(from_link(), TO, PEN_LANE_REQUEST, len);
}

static void commit(void *body, uint32_t len)
{
    static const uint64_t head[2];
    shm_zcopy.commit(from_link(), TO, PEN_LANE_REQUEST, body, head, sizeof head, len);
}

static void a_page_takes_a_page_of_the_ring_and_no_chunk(void **state)
{
    (void)state;
    unsigned count = 0;
    for (char *body; (body = reserve(PAGE_BODY)) != NULL && chunks_taken() == 0; count++) {
        memset(body, 1, PAGE_BODY);
        commit(body, PAGE_BODY);
    }
    assert_int_equal(count, job.ranks[FROM].link->layout.near_len / (PAGE_BODY + 64));
    while (shm_job_poll(&job, TO) != 0)
        ;
    assert_int_equal(job.ranks[TO].delivered, count);
    assert_int_equal(job.ranks[TO].sum, (uint64_t)count * PAGE_BODY);
}

static void what_is_not_used_is_given_back_at_once(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 20; i++) { /* 20 pages would not fit */
        char *body = reserve(PAGE_BODY);
        assert_int_equal(chunks_taken(), 0);
        uint32_t before = tx()->ring_next;
        commit(body, i % 2 * 100);
        assert_int_equal(tx()->ring_next - before, i % 2 * 128);
    }
    char *body = reserve(PAGE_BODY);
    uint32_t before = tx()->ring_next, room = tx()->express.room;
    shm_zcopy.cancel(from_link(), TO, PEN_LANE_REQUEST, body);
    assert_int_equal(tx()->ring_next, before);
    assert_int_equal(tx()->express.room, room + 2);
    assert_int_equal(tx()->reserved, 0);
}

static void others_take_chunks_while_the_ring_is_held(void **state)
{
    (void)state;
    char *first = reserve(PAGE_BODY), *second = reserve(PAGE_BODY);
    assert_non_null(second);
    assert_int_equal(chunks_taken(), 1);
    assert_int_equal(shm_job_post(&job, FROM, TO, PEN_LANE_REQUEST, 16, 1000), PEN_POST_DONE);
    assert_int_equal(chunks_taken(), 3);
    shm_job_poll(&job, TO);
    assert_int_equal(job.ranks[TO].delivered, 1);
    commit(second, PAGE_BODY);
    commit(first, PAGE_BODY);
    shm_job_poll(&job, TO);
    assert_int_equal(job.ranks[TO].delivered, 3);
    assert_int_equal(chunks_taken(), 0);
    assert_int_equal(shm_job_post(&job, FROM, TO, PEN_LANE_REQUEST, 16, 1000), PEN_POST_DONE);
    assert_int_equal(chunks_taken(), 0); /* the ring is free again */
}

static void a_long_body_takes_a_chunk_of_a_large_job(void **state)
{
    (void)state;
    shm_job_close(&job);
    shm_job_open(&job, SHM_FEW_RANKS + 1, &config);
    char *body = reserve(job.ranks[FROM].link->layout.ring_len / 4 + 1);
    assert_int_equal(chunks_taken(), 1);
    assert_false(tx()->ring_held);
    shm_zcopy.cancel(from_link(), TO, PEN_LANE_REQUEST, body);
    assert_int_equal(chunks_taken(), 0);
}

int main(void)
{
#define RIGGED(test) cmocka_unit_test_setup_teardown(test, open_job, close_job)
    const struct CMUnitTest tests[] = {
        RIGGED(a_page_takes_a_page_of_the_ring_and_no_chunk),
        RIGGED(what_is_not_used_is_given_back_at_once),
        RIGGED(others_take_chunks_while_the_ring_is_held),
        RIGGED(a_long_body_takes_a_chunk_of_a_large_job),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
