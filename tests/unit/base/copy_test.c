/* SPDX-License-Identifier: BSD-3-Clause */
/* copy_test.c: pen_copy, and the wide moves that it takes on some processors only, move what memcpy
 * would, and nothing beside it, at every alignment. */
#include "base/copy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

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

static void check(bench *self, size_t to_off, size_t from_off, size_t len)
{
    check_by(self, pen_copy, to_off, from_off, len);
    if (len >= PEN_COPY_LONG_MIN)
        check_by(self, pen_copy_wide, to_off, from_off, len);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_alignment_of_both_sides),
        cmocka_unit_test(every_length_about_the_first_long_one),
        cmocka_unit_test(lengths_about_the_last_long_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
