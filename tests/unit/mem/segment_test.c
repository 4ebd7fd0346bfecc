/* SPDX-License-Identifier: BSD-3-Clause */
/* segment_test.c: making and giving back segments in a slice of shared memory, outside it, and when
 * memory is short. */
#include "mem/mem.h"

#include "os/os.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { UNITS = 16 };

typedef struct rig {
    pen_mem mem;
    pen_log log;
    int fd, lines[2];
    char *slice;
    size_t unit; /* the alignment and length unit of segments */
} rig;

static int open_rig(void **state)
{
    rig *r = calloc(1, sizeof *r);
    assert_non_null(r);
    r->unit = PEN_SEGMENT_GRAIN;
    const char *call;
    r->fd = pen_memfd("test", UNITS * r->unit, &call);
    assert_true(r->fd >= 0);
    r->slice = pen_map_grain(UNITS * r->unit, MAP_SHARED, r->fd);
    assert_ptr_not_equal(r->slice, MAP_FAILED);
    assert_int_equal(pipe(r->lines), 0);
    pen_log_init(&r->log, "");
    r->log.fd = r->lines[1];
    assert_int_equal(pen_mem_init(&r->mem, &r->log, PEN_ALONE, r->slice, UNITS * r->unit, 4, false,
                                  pen_memory_available()),
                     PEN_OK);
    *state = r;
    return 0;
}

static int close_rig(void **state)
{
    rig *r = *state;
    pen_mem_close(&r->mem);
    munmap(r->slice, UNITS * r->unit);
    close(r->fd);
    close(r->lines[0]);
    close(r->lines[1]);
    free(r);
    return 0;
}

static pen_segment *make(rig *r, size_t len)
{
    pen_segment *segment = NULL;
    assert_int_equal(pen_mem_create(&r->mem, &r->log, NULL, len, &segment), PEN_OK);
    return segment;
}

static void expect_line(rig *r, const char *words)
{
    char line[1024] = "";
    assert_true(read(r->lines[0], line, sizeof line - 1) > 0);
    if (strstr(line, words) == NULL)
        fail_msg("the line \"%s\" does not say \"%s\"", line, words);
}

static void segments_fill_the_slice_by_units(void **state)
{
    rig *r = *state;
    pen_segment *one = make(r, 1), *two = make(r, 2 * r->unit), *three = make(r, r->unit + 1);
    assert_ptr_equal(one->base, r->slice);
    assert_ptr_equal(two->base, r->slice + r->unit);
    assert_ptr_equal(three->base, r->slice + 3 * r->unit);
    assert_true(one->in_arena && one->owned);
    assert_int_equal(one->len, 1);
    assert_int_equal(r->mem.reserved, 5 * r->unit);
    assert_int_not_equal(one->number, two->number);
    assert_int_not_equal(one->number, 0);
}

static void memory_given_back_is_used_again_and_its_pages_are_freed(void **state)
{
    rig *r = *state;
    struct stat before, after;
    pen_segment *one = make(r, 4 * r->unit), *two = make(r, 12 * r->unit);
    memset(one->base, 1, one->len);
    assert_int_equal(fstat(r->fd, &before), 0);
    pen_mem_destroy(&r->mem, one);
    assert_int_equal(fstat(r->fd, &after), 0);
    assert_true(after.st_blocks < before.st_blocks);
    assert_int_equal(r->mem.reserved, 12 * r->unit);
    assert_ptr_equal(make(r, 3 * r->unit)->base, r->slice);
    assert_ptr_equal(make(r, r->unit)->base, r->slice + 3 * r->unit);
    pen_mem_destroy(&r->mem, two);
    assert_ptr_equal(make(r, 12 * r->unit)->base, r->slice + 4 * r->unit);
}

static void a_full_slice_is_said_with_what_was_wanted_and_what_to_do(void **state)
{
    rig *r = *state;
    pen_segment *segment = NULL;
    (void)make(r, 15 * r->unit);
    assert_int_equal(pen_mem_create(&r->mem, &r->log, NULL, 2 * r->unit, &segment), PEN_ERR_MEMORY);
    assert_null(segment);
    expect_line(r, "lower GASNET_MAX_SEGSIZE or start fewer ranks");
    assert_int_equal(r->mem.reserved, 15 * r->unit);
}

static void more_than_this_ranks_share_of_the_memory_is_refused(void **state)
{
    rig *r = *state;
    pen_segment *segment = NULL;
    r->mem.budget = 4 * r->unit;
    (void)make(r, 3 * r->unit);
    assert_int_equal(pen_mem_create(&r->mem, &r->log, NULL, 2 * r->unit, &segment), PEN_ERR_MEMORY);
    expect_line(r, "this rank's share");
    assert_int_equal(pen_mem_create(&r->mem, &r->log, NULL, r->unit, &segment), PEN_OK);
}

static void more_than_the_host_has_is_refused(void **state)
{
    rig *r = *state;
    pen_segment *segment = NULL;
    r->mem.budget = UINT64_MAX;
    assert_int_equal(pen_mem_create(&r->mem, &r->log, NULL, (size_t)1 << 60, &segment),
                     PEN_ERR_MEMORY);
    expect_line(r, "the host's available memory");
}

static void the_budget_is_a_ranks_part_of_what_is_available(void **state)
{
    rig *r = *state;
    assert_true(r->mem.budget > 0);
    assert_true(r->mem.budget <= pen_memory_physical() / 4);
}

static void memory_of_the_client_is_adopted_as_it_is(void **state)
{
    rig *r = *state;
    static char own[100];
    pen_segment *segment = NULL, *inside = NULL;
    assert_int_equal(pen_mem_create(&r->mem, &r->log, own + 1, 99, &segment), PEN_OK);
    assert_ptr_equal(segment->base, own + 1);
    assert_false(segment->in_arena || segment->owned);
    assert_int_equal(r->mem.reserved, 0);
    assert_int_equal(pen_mem_create(&r->mem, &r->log, r->slice + 10, 10, &inside), PEN_OK);
    assert_true(inside->in_arena);
    memset(r->slice, 5, r->unit);
    pen_mem_destroy(&r->mem, inside);
    assert_int_equal(r->slice[10], 5); /* not the library's to give back */
}

static void impossible_ranges_are_refused(void **state)
{
    rig *r = *state;
    pen_segment *segment = NULL;
    assert_int_equal(pen_mem_create(&r->mem, &r->log, NULL, 0, &segment), PEN_ERR_ARGUMENT);
    expect_line(r, "it is empty");
    assert_int_equal(pen_mem_create(&r->mem, &r->log, (void *)(UINTPTR_MAX - 5), 7, &segment),
                     PEN_ERR_ARGUMENT);
    expect_line(r, "beyond the address space");
    assert_int_equal(pen_mem_create(&r->mem, &r->log, NULL, SIZE_MAX, &segment), PEN_ERR_ARGUMENT);
    assert_null(segment);
}

static void there_is_a_last_number_and_numbers_come_back(void **state)
{
    rig *r = *state;
    static char own[PEN_SEGMENTS_MAX];
    pen_segment *segments[PEN_SEGMENTS_MAX], *more = NULL;
    for (unsigned i = 1; i < PEN_SEGMENTS_MAX; i++)
        assert_int_equal(pen_mem_create(&r->mem, &r->log, own + i, 1, &segments[i]), PEN_OK);
    assert_int_equal(pen_mem_create(&r->mem, &r->log, own, 1, &more), PEN_ERR_RESOURCE);
    expect_line(r, "1023 exist already");
    uint32_t number = segments[500]->number;
    pen_mem_destroy(&r->mem, segments[500]);
    assert_int_equal(pen_mem_create(&r->mem, &r->log, own, 1, &more), PEN_OK);
    assert_int_equal(more->number, number);
}

static void without_a_slice_memory_is_private(void **state)
{
    rig *r = *state;
    pen_mem alone;
    pen_segment *segment = NULL;
    assert_int_equal(
        pen_mem_init(&alone, &r->log, PEN_CONCURRENT, NULL, 0, 1, false, pen_memory_available()),
        PEN_OK);
    assert_int_equal(pen_mem_create(&alone, &r->log, NULL, 3 * r->unit, &segment), PEN_OK);
    assert_true(segment->owned && !segment->in_arena);
    memset(segment->base, 1, segment->len);
    pen_mem_destroy(&alone, segment);
    pen_mem_close(&alone);
}

/* KiB of huge pages that this process has mapped of shared memory at addr. */
static unsigned long huge_kib_at(const char *addr)
{
    FILE *in = fopen("/proc/self/smaps", "re");
    assert_non_null(in);
    char line[512];
    unsigned long begin, end, kib, sum = 0;
    bool here = false;
    while (fgets(line, sizeof line, in) != NULL) {
        if (sscanf(line, "%lx-%lx ", &begin, &end) == 2)
            here = (uintptr_t)addr >= begin && (uintptr_t)addr < end;
        else if (here && sscanf(line, "ShmemPmdMapped: %lu kB", &kib) == 1)
            sum += kib;
    }
    fclose(in);
    return sum;
}

/* Whether this kernel can, asked without the code under test. */
static bool can_make_huge(void)
{
    char *room = aligned_alloc(PEN_HUGE_PAGE_LEN, PEN_HUGE_PAGE_LEN);
    assert_non_null(room);
    room[0] = 1;
    bool can = madvise(room, PEN_HUGE_PAGE_LEN, 25 /* MADV_COLLAPSE */) == 0;
    free(room);
    return can;
}

static void on_request_long_segments_are_huge_pages(void **state)
{
    rig *r = *state;
    const size_t slice_len = 5 * PEN_HUGE_PAGE_LEN;
    const char *call;
    int fd = pen_memfd("huge", slice_len, &call);
    assert_true(fd >= 0);
    char *room = pen_map_grain(slice_len, MAP_SHARED | MAP_NORESERVE, fd);
    assert_ptr_not_equal(room, MAP_FAILED);
    assert_int_equal((uintptr_t)room % PEN_HUGE_PAGE_LEN, 0);
    pen_mem mem;
    pen_segment *little = NULL, *first = NULL, *second = NULL;
    /* as of a rank whose slice begins within a huge page */
    assert_int_equal(pen_mem_init(&mem, &r->log, PEN_ALONE, room + r->unit, slice_len - r->unit, 1,
                                  false, pen_memory_available()),
                     PEN_OK);
    mem.huge = true;
    assert_int_equal(pen_mem_create(&mem, &r->log, NULL, r->unit, &little), PEN_OK);
    assert_ptr_equal(little->base, room + r->unit);
    assert_int_equal(pen_mem_create(&mem, &r->log, NULL, 2 * PEN_HUGE_PAGE_LEN, &first), PEN_OK);
    assert_ptr_equal(first->base, room + PEN_HUGE_PAGE_LEN);
    assert_int_equal(pen_mem_create(&mem, &r->log, NULL, PEN_HUGE_PAGE_LEN, &second), PEN_OK);
    assert_ptr_equal(second->base, room + 3 * PEN_HUGE_PAGE_LEN);
    memset(first->base, 1, first->len); /* mapped as such from the first touch on */
    memset(second->base, 1, second->len);
    if (can_make_huge())
        assert_int_equal(huge_kib_at(first->base), 3 * PEN_HUGE_PAGE_LEN / 1024);
    else
        expect_line(r, "GASNET_USE_HUGEUNITS");
    pen_mem_close(&mem);
    munmap(room, slice_len);
    close(fd);
}

#define RIGGED(test) cmocka_unit_test_setup_teardown(test, open_rig, close_rig)

int main(void)
{
    const struct CMUnitTest tests[] = {
        RIGGED(segments_fill_the_slice_by_units),
        RIGGED(memory_given_back_is_used_again_and_its_pages_are_freed),
        RIGGED(a_full_slice_is_said_with_what_was_wanted_and_what_to_do),
        RIGGED(more_than_this_ranks_share_of_the_memory_is_refused),
        RIGGED(more_than_the_host_has_is_refused),
        RIGGED(the_budget_is_a_ranks_part_of_what_is_available),
        RIGGED(memory_of_the_client_is_adopted_as_it_is),
        RIGGED(impossible_ranges_are_refused),
        RIGGED(there_is_a_last_number_and_numbers_come_back),
        RIGGED(without_a_slice_memory_is_private),
        RIGGED(on_request_long_segments_are_huge_pages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
