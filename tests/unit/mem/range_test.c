/* SPDX-License-Identifier: BSD-3-Clause */
/* range_test.c: the two range checks, at their edges: what a peer may name here, and what we may
 * name at a peer. */
#include "mem/mem.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { LEN = 100, RANKS = 3 };

static pen_mem mem;
static pen_log log_off;
static pen_segment *segment;
static char around[1 + LEN + 1]; /* a byte on either side belongs to no segment */
static char *const own = around + 1;

static int open_rig(void **state)
{
    (void)state;
    pen_log_init(&log_off, "");
    log_off.fd = -1;
    segment = NULL;
    assert_int_equal(pen_mem_init(&mem, &log_off, PEN_ALONE, NULL, 0, RANKS, false, UINT64_MAX),
                     PEN_OK);
    assert_int_equal(pen_mem_create(&mem, &log_off, own, LEN, &segment), PEN_OK);
    assert_null(pen_mem_resolve(&mem, segment->number, 0, 1)); /* peers may not name it yet */
    pen_mem_expose(&mem, segment);
    mem.rank = 0;
    mem.remote[0][1] = (pen_remote_segment){ .base = 1000, .len = LEN, .number = 7 };
    mem.remote[0][2] = (pen_remote_segment){ .base = UINT64_MAX - LEN, .len = LEN, .number = 8 };
    return 0;
}

static int close_rig(void **state)
{
    (void)state;
    pen_mem_close(&mem);
    return 0;
}

static void what_lies_inside_is_found(void **state)
{
    (void)state;
    assert_ptr_equal(pen_mem_resolve(&mem, segment->number, 0, LEN), own);
    assert_ptr_equal(pen_mem_resolve(&mem, segment->number, LEN - 1, 1), own + LEN - 1);
    assert_ptr_equal(pen_mem_resolve(&mem, segment->number, LEN, 0), own + LEN);
    assert_ptr_equal(pen_mem_resolve(&mem, segment->number, 0, 0), own);
}

/* A link that wants the region of a local buffer gets that of the segment around all of it. */
static void the_region_of_a_local_buffer_is_found(void **state)
{
    (void)state;
    int link = 0, other = 0, handle = 0; /* no test looks inside */
    pen_link *knows = (pen_link *)(void *)&link;
    assert_null(pen_mem_region(&mem, knows, own, LEN)); /* no device knows the segment */
    segment->link = knows;
    segment->region = (pen_region *)(void *)&handle;
    assert_ptr_equal(pen_mem_region(&mem, knows, own, LEN), segment->region);
    assert_ptr_equal(pen_mem_region(&mem, knows, own + LEN - 1, 1), segment->region);
    assert_null(pen_mem_region(&mem, knows, own, LEN + 1));
    assert_null(pen_mem_region(&mem, knows, own - 1, 2));
    assert_null(pen_mem_region(&mem, knows, own + LEN, 1));
    assert_null(pen_mem_region(&mem, (pen_link *)(void *)&other, own, 1)); /* another link's */
    segment->region = NULL;
}

static void what_reaches_beyond_is_not(void **state)
{
    (void)state;
    assert_null(pen_mem_resolve(&mem, segment->number, 0, LEN + 1));
    assert_null(pen_mem_resolve(&mem, segment->number, 1, LEN));
    assert_null(pen_mem_resolve(&mem, segment->number, LEN, 1));
    assert_null(pen_mem_resolve(&mem, segment->number, LEN + 1, 0));
}

static void a_sum_that_wraps_is_not_inside(void **state)
{
    (void)state;
    assert_null(pen_mem_resolve(&mem, segment->number, UINT64_MAX, 1));
    assert_null(pen_mem_resolve(&mem, segment->number, UINT64_MAX - 49, 100));
    assert_null(pen_mem_resolve(&mem, segment->number, 50, UINT64_MAX - 20));
    assert_null(pen_mem_resolve(&mem, segment->number, 1, UINT64_MAX));
}

static void a_number_that_names_nothing_is_refused(void **state)
{
    (void)state;
    assert_null(pen_mem_resolve(&mem, segment->number + 1, 0, 1));
    assert_null(pen_mem_resolve(&mem, PEN_SEGMENTS_MAX, 0, 1));
    assert_null(pen_mem_resolve(&mem, UINT32_MAX, 0, 1));
    uint32_t number = segment->number;
    pen_mem_destroy(&mem, segment);
    assert_null(pen_mem_resolve(&mem, number, 0, 1));
}

static void number_0_is_everywhere_only_in_a_job_that_declared_it(void **state)
{
    (void)state;
    assert_null(pen_mem_resolve(&mem, PEN_SEGMENT_EVERYWHERE, (uint64_t)(uintptr_t)own, 1));
    mem.everything = true;
    assert_ptr_equal(pen_mem_resolve(&mem, PEN_SEGMENT_EVERYWHERE, (uint64_t)(uintptr_t)own, 1),
                     own);
    assert_null(pen_mem_resolve(&mem, PEN_SEGMENT_EVERYWHERE, UINT64_MAX - 1, 3));
    assert_null(pen_mem_resolve(&mem, PEN_SEGMENT_EVERYWHERE, 3, UINT64_MAX - 1));
}

static void *at(uint64_t address) { return (void *)(uintptr_t)address; }

static void an_address_in_a_peers_segment_becomes_an_offset(void **state)
{
    (void)state;
    uint64_t offset = 99;
    assert_ptr_equal(pen_mem_remote(&mem, 0, 1, at(1000), LEN, &offset), &mem.remote[0][1]);
    assert_int_equal(offset, 0);
    assert_ptr_equal(pen_mem_remote(&mem, 0, 1, at(1099), 1, &offset), &mem.remote[0][1]);
    assert_int_equal(offset, 99);
    assert_ptr_equal(pen_mem_remote(&mem, 0, 2, at(UINT64_MAX - 1), 1, &offset), &mem.remote[0][2]);
    assert_int_equal(offset, LEN - 1);
}

static void an_address_outside_a_peers_segment_is_refused(void **state)
{
    (void)state;
    uint64_t offset = 99;
    assert_null(pen_mem_remote(&mem, 0, 1, at(999), 1, &offset));
    assert_null(pen_mem_remote(&mem, 0, 1, at(1000), LEN + 1, &offset));
    assert_null(pen_mem_remote(&mem, 0, 1, at(1099), 2, &offset));
    assert_null(pen_mem_remote(&mem, 0, 1, at(1100), 1, &offset));
    assert_null(pen_mem_remote(&mem, 0, 1, at(1050), SIZE_MAX, &offset));
    assert_null(pen_mem_remote(&mem, 0, 2, at(UINT64_MAX - 1), 3, &offset));
    assert_null(pen_mem_remote(&mem, 0, 0, at(0), 1, &offset)); /* has none */
    assert_null(pen_mem_remote(&mem, 0, RANKS, at(1000), 1, &offset));
    assert_int_equal(offset, 99);
}

static void in_an_everything_job_any_address_will_do(void **state)
{
    (void)state;
    uint64_t offset = 0;
    mem.everything = true;
    const pen_remote_segment *row = pen_mem_remote(&mem, 0, 1, at(5), 10, &offset);
    assert_non_null(row);
    assert_int_equal(row->number, PEN_SEGMENT_EVERYWHERE);
    assert_int_equal(offset, 5);
    assert_false(row->mapped);
    row = pen_mem_remote(&mem, 0, 0, at(5), 10, &offset);
    assert_true(row->mapped && row->delta == 0);
    assert_ptr_equal(pen_mem_remote(&mem, 0, 1, at(1001), 10, &offset), &mem.remote[0][1]);
    assert_null(pen_mem_remote(&mem, 0, 1, at(UINT64_MAX), 2, &offset));
}

#define RIGGED(test) cmocka_unit_test_setup_teardown(test, open_rig, close_rig)

int main(void)
{
    const struct CMUnitTest tests[] = {
        RIGGED(what_lies_inside_is_found),
        RIGGED(the_region_of_a_local_buffer_is_found),
        RIGGED(what_reaches_beyond_is_not),
        RIGGED(a_sum_that_wraps_is_not_inside),
        RIGGED(a_number_that_names_nothing_is_refused),
        RIGGED(number_0_is_everywhere_only_in_a_job_that_declared_it),
        RIGGED(an_address_in_a_peers_segment_becomes_an_offset),
        RIGGED(an_address_outside_a_peers_segment_is_refused),
        RIGGED(in_an_everything_job_any_address_will_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
