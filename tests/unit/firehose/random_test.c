/* SPDX-License-Identifier: BSD-3-Clause */
/* random_test.c: random requests against what must hold at every moment: a region contains its
 * request, what is in use stays registered, and no limit is exceeded. Then threads. */
#include "firehose/firehose.h"

#include "unit/firehose/device.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

enum { SEEDS = 2000, STEPS = 400, PAGES = 96, HELD_MAX = 12, THREADS = 4, ROUNDS = 20000 };

static uint64_t dice(uint64_t *seed)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *seed >> 33;
}

static void *at(uint64_t offset) { return (void *)(UINT64_C(4096000) + offset); }

typedef struct play {
    device device;
    pen_firehose *cache;
    const pen_firehose_region *held[HELD_MAX];
    pen_firehose_limits limits;
    uint64_t seed;
} play;

static void check(play *p)
{
    pen_firehose_counters c;
    pen_firehose_count(p->cache, &c);
    assert_int_equal(c.regions, p->device.count);
    assert_int_equal(c.registered_len, p->device.len);
    assert_true(c.regions <= p->limits.regions && c.registered_len <= p->limits.memory_len);
    for (unsigned i = 0; i < HELD_MAX; i++)
        if (p->held[i] != NULL) {
            assert_int_equal(p->held[i]->region->begin, p->held[i]->begin);
            assert_int_equal(p->held[i]->region->end, p->held[i]->end);
        }
}

static void step(play *p)
{
    unsigned i = (unsigned)(dice(&p->seed) % HELD_MAX);
    if (p->held[i] != NULL) {
        pen_firehose_release(p->cache, p->held[i]);
        p->held[i] = NULL;
        return;
    }
    uint64_t offset = dice(&p->seed) % ((uint64_t)PAGES * PAGE_LEN);
    size_t len = 1 + dice(&p->seed) % p->limits.region_len;
    uint64_t what = dice(&p->seed) % 16;
    if (what == 0) {
        pen_firehose_forget(p->cache, at(offset), len);
        return;
    }
    if (what < 4) {
        p->held[i] = pen_firehose_find(p->cache, at(offset), len);
    } else {
        pen_status status = pen_firehose_use(p->cache, at(offset), len, &p->held[i]);
        assert_true(status == PEN_OK || status == PEN_ERR_RESOURCE ||
                    (status == PEN_ERR_ARGUMENT && len + PAGE_LEN > p->limits.region_len));
    }
    if (p->held[i] != NULL) {
        assert_true(p->held[i]->begin <= (uintptr_t)at(offset));
        assert_true(p->held[i]->end >= (uintptr_t)at(offset) + len);
    }
}

static void random_requests_keep_the_rules(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        play p = { .seed = seed };
        device_open(&p.device);
        p.limits = (pen_firehose_limits){
            .memory_len = (size_t)PAGE_LEN * (8 + dice(&p.seed) % 60),
            .region_len = (size_t)PAGE_LEN * (1 + dice(&p.seed) % 8),
            .regions = (uint32_t)(1 + dice(&p.seed) % 20),
        };
        p.device.count_max = 1 + (uint32_t)(dice(&p.seed) % 24);
        assert_int_equal(pen_firehose_open(&p.device.ops, &p.limits, PAGE_LEN, PEN_ALONE, &p.cache),
                         PEN_OK);
        for (unsigned i = 0; i < STEPS; i++) {
            step(&p);
            check(&p);
        }
        for (unsigned i = 0; i < HELD_MAX; i++)
            if (p.held[i] != NULL)
                pen_firehose_release(p.cache, p.held[i]);
        pen_firehose_close(p.cache);
        assert_int_equal(p.device.count, 0);
    }
}

static void *one_thread(void *arg)
{
    pen_firehose *cache = arg;
    uint64_t seed = (uintptr_t)&seed;
    for (unsigned i = 0; i < ROUNDS; i++) {
        const pen_firehose_region *region = NULL;
        uint64_t offset = dice(&seed) % 8 * PAGE_LEN;
        if (pen_firehose_use(cache, at(offset), 2 * PAGE_LEN, &region) != PEN_OK)
            continue;
        if (region->region->end < (uintptr_t)at(offset) + 2 * PAGE_LEN)
            abort();
        pen_firehose_release(cache, region);
    }
    return NULL;
}

static void threads_use_the_same_pages(void **state)
{
    (void)state;
    const pen_firehose_limits limits = { .memory_len = (size_t)6 * PAGE_LEN,
                                         .region_len = (size_t)3 * PAGE_LEN,
                                         .regions = 4 };
    device d;
    pen_firehose *cache = NULL;
    pthread_t threads[THREADS];
    device_open(&d);
    assert_int_equal(pen_firehose_open(&d.ops, &limits, PAGE_LEN, PEN_CONCURRENT, &cache), PEN_OK);
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, one_thread, cache), 0);
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    pen_firehose_close(cache);
    assert_int_equal(d.count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_requests_keep_the_rules),
        cmocka_unit_test(threads_use_the_same_pages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
