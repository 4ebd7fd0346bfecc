/* SPDX-License-Identifier: BSD-3-Clause */
/* firehose_test.c: requests are found and joined, the right region makes room, and the limits
 * hold. */
#include "firehose/firehose.h"

#include "unit/firehose/device.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

enum { REGIONS = 8, REGION_PAGES = 16, MEMORY_PAGES = 64, BASE_PAGE = 1000 };

typedef struct bench {
    device device;
    pen_firehose *cache;
} bench;

static void bench_open(bench *b)
{
    const pen_firehose_limits limits = { .memory_len = (size_t)MEMORY_PAGES * PAGE_LEN,
                                         .region_len = (size_t)REGION_PAGES * PAGE_LEN,
                                         .regions = REGIONS };
    device_open(&b->device);
    assert_int_equal(pen_firehose_open(&b->device.ops, &limits, PAGE_LEN, PEN_ALONE, &b->cache),
                     PEN_OK);
}

static void bench_close(bench *b)
{
    pen_firehose_close(b->cache);
    assert_int_equal(b->device.count, 0);
    assert_int_equal(b->device.len, 0);
}

static void *at(uintptr_t page, size_t offset)
{
    return (void *)((BASE_PAGE + page) * PAGE_LEN + offset);
}

/* Uses pages first to last. */
static const pen_firehose_region *use(bench *b, uintptr_t first, uintptr_t last)
{
    const pen_firehose_region *region = NULL;
    assert_int_equal(
        pen_firehose_use(b->cache, at(first, 5), (last - first) * PAGE_LEN + 10, &region), PEN_OK);
    assert_true(region->begin <= (uintptr_t)at(first, 0));
    assert_true(region->end >= (uintptr_t)at(last + 1, 0));
    assert_int_equal(region->region->begin, region->begin);
    assert_int_equal(region->region->end, region->end);
    return region;
}

static void touch(bench *b, uintptr_t first, uintptr_t last)
{
    pen_firehose_release(b->cache, use(b, first, last));
}

static bool is_known(bench *b, uintptr_t first, uintptr_t last)
{
    const pen_firehose_region *region =
        pen_firehose_find(b->cache, at(first, 0), (last - first + 1) * PAGE_LEN);
    if (region != NULL)
        pen_firehose_release(b->cache, region);
    return region != NULL;
}

static pen_firehose_counters counts(bench *b)
{
    pen_firehose_counters counters;
    pen_firehose_count(b->cache, &counters);
    assert_int_equal(counters.regions, b->device.count);
    assert_int_equal(counters.registered_len, b->device.len);
    return counters;
}

static void a_buffer_is_registered_once(void **state)
{
    (void)state;
    bench b;
    bench_open(&b);
    for (unsigned i = 0; i < 10; i++)
        touch(&b, 3, 5);
    touch(&b, 4, 4);
    assert_int_equal(b.device.calls, 1);
    pen_firehose_counters c = counts(&b);
    assert_int_equal(c.hits, 10);
    assert_int_equal(c.misses, 1);
    assert_int_equal(c.in_use, 0);
    bench_close(&b);
}

static void find_registers_nothing(void **state)
{
    (void)state;
    bench b;
    bench_open(&b);
    assert_false(is_known(&b, 0, 0));
    assert_int_equal(b.device.calls, 0);
    touch(&b, 1, 2);
    assert_true(is_known(&b, 1, 2) && is_known(&b, 2, 2));
    assert_false(is_known(&b, 0, 1) || is_known(&b, 2, 3));
    bench_close(&b);
}

static void a_walk_through_memory_ends_in_few_regions(void **state)
{
    (void)state;
    for (unsigned backwards = 0; backwards < 2; backwards++) {
        bench b;
        bench_open(&b);
        for (unsigned i = 0; i < 4 * REGION_PAGES; i++) {
            unsigned page = backwards ? 4 * REGION_PAGES - 1 - i : i;
            touch(&b, page, page);
        }
        pen_firehose_counters c = counts(&b);
        assert_int_equal(c.regions, 4);
        assert_int_equal(c.registered_len, (size_t)4 * REGION_PAGES * PAGE_LEN);
        assert_int_equal(c.evicted, 0);
        bench_close(&b);
    }
}

static void a_gap_is_closed(void **state)
{
    (void)state;
    bench b;
    bench_open(&b);
    touch(&b, 0, 1);
    touch(&b, 4, 5);
    touch(&b, 2, 3); /* touches both */
    assert_true(is_known(&b, 0, 5));
    assert_int_equal(counts(&b).regions, 1);
    bench_close(&b);
}

static void regions_that_are_too_long_together_overlap(void **state)
{
    (void)state;
    bench b;
    bench_open(&b);
    touch(&b, 0, REGION_PAGES - 1);
    touch(&b, REGION_PAGES - 2, REGION_PAGES + 1);
    assert_true(is_known(&b, 0, REGION_PAGES - 1));
    assert_true(is_known(&b, REGION_PAGES - 2, REGION_PAGES + 1));
    touch(&b, 42, 42 + REGION_PAGES - 1);
    touch(&b, 40, 43);
    assert_true(is_known(&b, 42, 42 + REGION_PAGES - 1));
    assert_true(is_known(&b, 40, 43));
    assert_int_equal(counts(&b).regions, 4);
    bench_close(&b);
}

static void an_older_region_in_use_stays_until_it_is_released(void **state)
{
    (void)state;
    bench b;
    bench_open(&b);
    const pen_firehose_region *old = use(&b, 0, 1);
    touch(&b, 0, 3); /* contains it */
    assert_int_equal(counts(&b).regions, 2);
    pen_firehose_release(b.cache, old); /* nobody finds it any more */
    assert_int_equal(counts(&b).regions, 1);
    assert_true(is_known(&b, 0, 3));

    old = use(&b, 22, 23);
    touch(&b, 20, 23); /* contains it, and ends where it ends */
    assert_int_equal(counts(&b).regions, 3);
    pen_firehose_release(b.cache, old);
    assert_int_equal(counts(&b).regions, 2);
    bench_close(&b);
}

static void the_least_recently_used_region_makes_room(void **state)
{
    (void)state;
    bench b;
    bench_open(&b);
    for (uintptr_t i = 0; i < REGIONS; i++)
        touch(&b, i * 3, i * 3);
    touch(&b, 0, 0); /* now region 1 is the oldest */
    touch(&b, 100, 100);
    assert_false(is_known(&b, 3, 3));
    for (uintptr_t i = 2; i < REGIONS; i++)
        assert_true(is_known(&b, i * 3, i * 3));
    assert_true(is_known(&b, 0, 0) && is_known(&b, 100, 100));
    pen_firehose_counters c = counts(&b);
    assert_int_equal(c.regions, REGIONS);
    assert_int_equal(c.evicted, 1);
    bench_close(&b);
}

static void memory_is_a_limit_too(void **state)
{
    (void)state;
    bench b;
    bench_open(&b);
    for (uintptr_t i = 0; i < 10; i++) {
        touch(&b, i * 2 * REGION_PAGES, i * 2 * REGION_PAGES + REGION_PAGES - 1);
        assert_true(counts(&b).registered_len <= (size_t)MEMORY_PAGES * PAGE_LEN);
    }
    assert_int_equal(counts(&b).regions, MEMORY_PAGES / REGION_PAGES);
    bench_close(&b);
}

static void what_is_in_use_is_never_deregistered(void **state)
{
    (void)state;
    bench b;
    bench_open(&b);
    const pen_firehose_region *used[REGIONS], *more = NULL;
    for (uintptr_t i = 0; i < REGIONS; i++)
        used[i] = use(&b, i * 3, i * 3);
    assert_int_equal(pen_firehose_use(b.cache, at(100, 0), 1, &more), PEN_ERR_RESOURCE);
    assert_null(more);
    assert_int_equal(counts(&b).refused, 1);
    assert_int_equal(counts(&b).in_use, REGIONS);
    pen_firehose_release(b.cache, used[5]);
    used[5] = use(&b, 100, 100);
    for (unsigned i = 0; i < REGIONS; i++)
        pen_firehose_release(b.cache, used[i]);
    bench_close(&b);
}

static void a_request_that_is_too_long_is_refused(void **state)
{
    (void)state;
    bench b;
    bench_open(&b);
    const pen_firehose_region *region = NULL;
    size_t most = (size_t)REGION_PAGES * PAGE_LEN;
    assert_int_equal(pen_firehose_use(b.cache, at(0, 0), most + 1, &region), PEN_ERR_ARGUMENT);
    assert_int_equal(pen_firehose_use(b.cache, at(0, 1), most, &region), PEN_ERR_ARGUMENT);
    assert_int_equal(b.device.calls, 0);
    assert_int_equal(pen_firehose_use(b.cache, at(0, 0), most, &region), PEN_OK);
    pen_firehose_release(b.cache, region);
    bench_close(&b);
}

static void a_device_without_room_gets_some(void **state)
{
    (void)state;
    bench b;
    bench_open(&b);
    b.device.count_max = 3;
    for (uintptr_t i = 0; i < 6; i++)
        touch(&b, i * 3, i * 3);
    assert_int_equal(counts(&b).regions, 3);
    assert_int_equal(counts(&b).evicted, 3);
    b.device.count_max = 0;
    const pen_firehose_region *region = NULL;
    assert_int_equal(pen_firehose_use(b.cache, at(100, 0), 1, &region), PEN_ERR_RESOURCE);
    bench_close(&b);
}

static void neighbours_that_are_no_longer_mapped_do_no_harm(void **state)
{
    (void)state;
    bench b;
    bench_open(&b);
    touch(&b, 0, 1);
    b.device.hole = (uintptr_t)at(0, 0); /* unmapped since; the device refuses what has it */
    touch(&b, 2, 2);
    assert_true(is_known(&b, 2, 2));
    const pen_firehose_region *region = NULL;
    assert_int_equal(pen_firehose_use(b.cache, at(0, 0), 3 * PAGE_LEN, &region), PEN_ERR_ARGUMENT);
    bench_close(&b);
}

static void memory_can_be_forgotten(void **state)
{
    (void)state;
    bench b;
    bench_open(&b);
    touch(&b, 0, 3);
    touch(&b, 8, 9);
    const pen_firehose_region *used = use(&b, 20, 23);
    pen_firehose_forget(b.cache, at(3, PAGE_LEN - 1), 1);
    pen_firehose_forget(b.cache, at(10, 0), 1); /* is not registered */
    pen_firehose_forget(b.cache, at(21, 0), PAGE_LEN);
    assert_false(is_known(&b, 0, 0) || is_known(&b, 20, 20));
    assert_true(is_known(&b, 8, 9));
    assert_int_equal(counts(&b).regions, 2); /* the used one is still registered */
    const pen_firehose_region *fresh = use(&b, 20, 23);
    assert_ptr_not_equal(fresh, used);
    pen_firehose_forget(b.cache, at(20, 0), 1); /* the fresh one only */
    pen_firehose_release(b.cache, used);
    pen_firehose_release(b.cache, fresh);
    assert_int_equal(counts(&b).regions, 1);
    bench_close(&b);
}

static void limits_of_nothing_are_refused(void **state)
{
    (void)state;
    device d;
    pen_firehose *cache = NULL;
    device_open(&d);
    static const pen_firehose_limits bad[] = {
        { .memory_len = PAGE_LEN - 1, .region_len = PAGE_LEN, .regions = 1 },
        { .memory_len = PAGE_LEN, .region_len = PAGE_LEN - 1, .regions = 1 },
        { .memory_len = PAGE_LEN, .region_len = PAGE_LEN, .regions = 0 },
    };
    for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(pen_firehose_open(&d.ops, &bad[i], PAGE_LEN, PEN_ALONE, &cache),
                         PEN_ERR_ARGUMENT);
    assert_null(cache);
    pen_firehose_close(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_buffer_is_registered_once),
        cmocka_unit_test(find_registers_nothing),
        cmocka_unit_test(a_walk_through_memory_ends_in_few_regions),
        cmocka_unit_test(a_gap_is_closed),
        cmocka_unit_test(regions_that_are_too_long_together_overlap),
        cmocka_unit_test(an_older_region_in_use_stays_until_it_is_released),
        cmocka_unit_test(the_least_recently_used_region_makes_room),
        cmocka_unit_test(memory_is_a_limit_too),
        cmocka_unit_test(what_is_in_use_is_never_deregistered),
        cmocka_unit_test(a_request_that_is_too_long_is_refused),
        cmocka_unit_test(a_device_without_room_gets_some),
        cmocka_unit_test(neighbours_that_are_no_longer_mapped_do_no_harm),
        cmocka_unit_test(memory_can_be_forgotten),
        cmocka_unit_test(limits_of_nothing_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
