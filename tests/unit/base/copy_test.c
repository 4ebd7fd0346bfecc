/* SPDX-License-Identifier: BSD-3-Clause */
/* copy_test.c: every way of copying that this processor has, and the moves past the caches, move
 * what memcpy would, and nothing beside it, at every alignment; the table decides the way; slow
 * copies go past the caches. */
#include "base/copy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

enum { ROOM = 256, UNTOUCHED = 0xa5 };

typedef struct bench {
    unsigned char *from, *to; /* ROOM bytes, len bytes, ROOM bytes each */
    size_t len;
} bench;

static bench bench_open(size_t len)
{
    bench self = { malloc(len + 2 * ROOM), malloc(len + 2 * ROOM), len };
    assert_non_null(self.from);
    assert_non_null(self.to);
    for (size_t i = 0; i < len + 2 * ROOM; i++) /* no period that a move's length divides */
        self.from[i] = (unsigned char)(i % 251 ^ i / 251);
    return self;
}

static void bench_close(bench *self)
{
    free(self->from);
    free(self->to);
}

typedef void copy_fn(void *to, const void *from, size_t len);

static void check_by(bench *self, copy_fn *copy, size_t to_off, size_t from_off, size_t len)
{
    memset(self->to, UNTOUCHED, self->len + 2 * ROOM);
    copy(self->to + to_off, self->from + from_off, len);
    assert_memory_equal(self->to + to_off, self->from + from_off, len);
    for (size_t i = 0; i < to_off; i++)
        assert_int_equal(self->to[i], UNTOUCHED);
    for (size_t i = to_off + len; i < self->len + 2 * ROOM; i++)
        assert_int_equal(self->to[i], UNTOUCHED);
}

/* A table that copies everything by one way. */
static pen_copy_table table_of(pen_copy_way way)
{
    pen_copy_table table = { 0 };
    memset(table.own, way, sizeof table.own);
    memset(table.other, way, sizeof table.other);
    memset(table.past, true, sizeof table.past);
    return table;
}

static void by_libc(void *to, const void *from, size_t len)
{
    const pen_copy_table table = table_of(PEN_COPY_LIBC);
    pen_copy(&table, to, from, len);
}

static void by_moves_32(void *to, const void *from, size_t len)
{
    const pen_copy_table table = table_of(PEN_COPY_MOVES_32);
    pen_copy(&table, to, from, len);
}

static void by_moves_64(void *to, const void *from, size_t len)
{
    const pen_copy_table table = table_of(PEN_COPY_MOVES_64);
    pen_copy(&table, to, from, len);
}

static void by_string(void *to, const void *from, size_t len)
{
    const pen_copy_table table = table_of(PEN_COPY_STRING);
    pen_copy(&table, to, from, len);
}

static void check(bench *self, size_t to_off, size_t from_off, size_t len)
{
    check_by(self, by_libc, to_off, from_off, len);
    check_by(self, by_moves_32, to_off, from_off, len);
    check_by(self, by_moves_64, to_off, from_off, len);
    check_by(self, by_string, to_off, from_off, len);
    check_by(self, pen_copy_stream, to_off, from_off, len);
}

static void every_alignment_of_both_sides(void **state)
{
    (void)state;
    bench pair = bench_open(PEN_COPY_LONG_MIN + ROOM);
    for (size_t to_off = 0; to_off < 64; to_off++)
        for (size_t from_off = 0; from_off < 64; from_off += to_off % 8 == 0 ? 1 : 7)
            check(&pair, to_off, from_off, PEN_COPY_LONG_MIN + to_off % 5);
    bench_close(&pair);
}

static void every_length_about_the_first_long_one(void **state)
{
    (void)state;
    bench pair = bench_open(PEN_COPY_LONG_MIN + ROOM);
    for (size_t len = PEN_COPY_LONG_MIN - 130; len < PEN_COPY_LONG_MIN + ROOM; len++)
        for (size_t to_off = 0; to_off < 33; to_off += 11)
            check(&pair, to_off, 8, len);
    for (size_t len = 0; len < 130; len++)
        check(&pair, 3, 5, len);
    bench_close(&pair);
}

static void lengths_about_the_last_long_one(void **state)
{
    (void)state;
    bench pair = bench_open(PEN_COPY_LONG_END + 1);
    for (size_t len = PEN_COPY_LONG_END - 1; len <= PEN_COPY_LONG_END + 1; len++)
        check(&pair, 9, 1, len);
    bench_close(&pair);
}

/* Copies memory whose pages are not there yet, and memory in the caches. */
static void only_slow_copies_go_past_the_caches(void **state)
{
    (void)state;
    enum { LEN = 64 << 10, PERIOD = 16, TRIES = 100 };
    static unsigned char from[LEN], near_by[LEN];
    unsigned char *far_off =
        mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(far_off, MAP_FAILED);
    memset(from, 7, LEN);
    memset(near_by, 1, LEN);
    pen_copy_pace pace = { 0 };
    const pen_copy_table table = table_of(PEN_COPY_LIBC);
    pen_copy_out(&table, &pace, far_off, from, LEN);
    assert_memory_equal(far_off, from, LEN);
#if PEN_COPY_PACED
    assert_true(pace.streams);
#endif
    for (unsigned i = 1; i < PERIOD; i++) { /* till the next that is timed */
        memset(near_by, 1, LEN);
        pen_copy_out(&table, &pace, near_by, from, LEN);
        assert_memory_equal(near_by, from, LEN);
    }
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) /* there all are slow */
    unsigned tries = 0;
    do { /* another program may have had the core meanwhile */
        pace.count = 0;
        memset(near_by, 1, LEN);
        pen_copy_out(&table, &pace, near_by, from, LEN);
        assert_memory_equal(near_by, from, LEN);
    } while (pace.streams && ++tries < TRIES);
    assert_false(pace.streams);
#endif
    assert_int_equal(munmap(far_off, LEN), 0);
}

#if PEN_COPY_PACED
/* Whether a slow copy lets the next ones go past the caches. measured: the ticks in the table. */
static bool slow_copy_streams(bool past, uint32_t measured)
{
    enum { LEN = 64 << 10 };
    static unsigned char from[LEN];
    pen_copy_table table = table_of(PEN_COPY_LIBC);
    memset(table.past, past, sizeof table.past);
    for (unsigned class = 0; class < PEN_COPY_CLASSES; class ++)
        table.ticks[class] = measured;
    unsigned char *new_pages =
        mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(new_pages, MAP_FAILED);
    pen_copy_pace pace = { 0 };
    pen_copy_out(&table, &pace, new_pages, from, LEN);
    assert_int_equal(munmap(new_pages, LEN), 0);
    return pace.streams;
}

static void table_decides_whether_slow_copies_go_past_the_caches(void **state)
{
    (void)state;
    assert_true(slow_copy_streams(true, UINT32_MAX));
    assert_false(slow_copy_streams(false, UINT32_MAX));
    /* The reader is farther away than when the host was measured. */
    assert_true(slow_copy_streams(false, 1));
}
#endif

static void table_decides_the_way_by_length(void **state)
{
    (void)state;
    pen_copy_table table = { 0 };
    assert_int_equal(pen_copy_class(PEN_COPY_LONG_MIN), 0);
    assert_int_equal(pen_copy_class(2 * PEN_COPY_LONG_MIN - 1), 0);
    assert_int_equal(pen_copy_class(2 * PEN_COPY_LONG_MIN), 1);
    assert_int_equal(pen_copy_class(PEN_COPY_LONG_END - 1), PEN_COPY_CLASSES - 1);
    assert_false(pen_copy_is_long(PEN_COPY_LONG_MIN - 1));
    assert_false(pen_copy_is_long(PEN_COPY_LONG_END));
    bench pair = bench_open(PEN_COPY_LONG_END);
    for (unsigned class = 0; class < PEN_COPY_CLASSES; class ++) {
        table.own[class] =
            (uint8_t)(class % (PEN_COPY_WAYS + 1)); /* one that does not exist, too */
        pen_copy(&table, pair.to, pair.from, PEN_COPY_LONG_MIN << class);
        assert_memory_equal(pair.to, pair.from, PEN_COPY_LONG_MIN << class);
    }
    bench_close(&pair);
    assert_true(pen_copy_usable(PEN_COPY_LIBC));
    assert_false(pen_copy_usable(PEN_COPY_WAYS));
}

static void parts_of_a_piece_go_one_way(void **state)
{
    (void)state;
    const pen_copy_table table = table_of(PEN_COPY_LIBC);
    pen_copy_pace pace = { .count = 1, .streams = true }; /* not timed */
    pen_copy_piece shorter = pen_copy_begin(&table, &pace, PEN_COPY_OUT_MIN - 1);
    assert_false(shorter.streams);
    pen_copy_end(&shorter);
    assert_int_equal(pace.count, 1);
#if PEN_COPY_PACED
    enum { PARTS = 8, PART = 1000 };
    unsigned char from[PARTS * PART], to[PARTS * PART] = { 0 };
    for (size_t i = 0; i < sizeof from; i++)
        from[i] = (unsigned char)(i % 251);
    pen_copy_piece piece = pen_copy_begin(&table, &pace, sizeof from);
    assert_true(piece.streams);
    for (size_t i = 0; i < PARTS; i++)
        pen_copy_part(&piece, to + i * PART, from + i * PART, PART);
    pen_copy_end(&piece);
    assert_int_equal(pace.count, 2);
    assert_true(pace.streams);
    assert_memory_equal(to, from, sizeof from);
#endif
}

#if PEN_COPY_PACED && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#    include <x86intrin.h>

enum { LINE = 64, LINES = 512 };

/* Ticks that lines take to arrive that a piece was copied to, in an order that nothing foresees. */
static uint64_t read_back(bool streams)
{
    static _Alignas(4096) unsigned char from[LINES * LINE], to[LINES * LINE];
    memset(from, 7, sizeof from);
    memset(to, 1, sizeof to);
    const pen_copy_table table = table_of(PEN_COPY_LIBC);
    pen_copy_pace pace = { .count = 1, .streams = streams };
    pen_copy_out(&table, &pace, to, from, sizeof to);
    unsigned sum = 0;
    uint64_t before = __rdtsc();
    for (unsigned i = 0, at = 0; i < LINES; i++, at = (at + 211 + sum % 7) % LINES)
        sum += *(volatile unsigned char *)&to[at * LINE]; /* the next depends on it: 7 divides 7 */
    uint64_t took = __rdtsc() - before;
    assert_int_equal(sum, 7 * LINES);
    return took;
}

static int by_ticks(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

static void what_went_past_the_caches_is_in_none(void **state)
{
    (void)state;
    enum { TRIES = 51 };
    uint64_t cached[TRIES], streamed[TRIES];
    for (unsigned i = 0; i < TRIES; i++) {
        cached[i] = read_back(false);
        streamed[i] = read_back(true);
    }
    qsort(cached, TRIES, sizeof *cached, by_ticks);
    qsort(streamed, TRIES, sizeof *streamed, by_ticks);
    assert_true(streamed[TRIES / 2] > 2 * cached[TRIES / 2]);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_alignment_of_both_sides),
        cmocka_unit_test(every_length_about_the_first_long_one),
        cmocka_unit_test(lengths_about_the_last_long_one),
        cmocka_unit_test(only_slow_copies_go_past_the_caches),
        cmocka_unit_test(table_decides_the_way_by_length),
#if PEN_COPY_PACED
        cmocka_unit_test(table_decides_whether_slow_copies_go_past_the_caches),
#endif
        cmocka_unit_test(parts_of_a_piece_go_one_way),
#if PEN_COPY_PACED && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
        cmocka_unit_test(what_went_past_the_caches_is_in_none),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
