/* SPDX-License-Identifier: BSD-3-Clause */
/* line_test.c: runs at one stride, copied without a box: against a model for every length that has
 * code of its own, in both directions; and what has to be left to the box. */
#include "vis/vis_internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>

enum { MEMORY_LEN = 32768, GAP = 3, COUNT_MAX = 9 };

static char peer[MEMORY_LEN], own[MEMORY_LEN], expected[MEMORY_LEN];
static pen_mapped rows[2];
static pen_job job;
static pen_team team;

/* The peer's memory is mapped here `delta` above its own addresses. */
static char *peer_address(size_t offset) { return (char *)rows[1].base + offset; }

static void map(void)
{
    const uintptr_t elsewhere = 0x10000;
    rows[1] = (pen_mapped){ elsewhere, MEMORY_LEN, (intptr_t)((uintptr_t)peer - elsewhere), 0 };
    team =
        (pen_team){ .job = &job,
                    .view = { .size = 3, .mapped_first = 1, .mapped_count = 2, .mapped = rows } };
    team.view.rank = 1;
}

typedef struct line {
    size_t len, count;
    ptrdiff_t peer_stride, own_stride;
    size_t peer_at, own_at; /* where the first run begins */
} line;

static bool copy_line(const line *l, bool is_put)
{
    const pen_vis_side far = { .base = peer_address(l->peer_at), .strides = &l->peer_stride };
    const pen_vis_side near = { .base = own + l->own_at, .strides = &l->own_stride };
    const pen_vis_call call = { .name = "test",
                                .team = &team,
                                .rank = 2,
                                .is_put = is_put,
                                .shape = PEN_VIS_STRIDED,
                                .dest = is_put ? far : near,
                                .source = is_put ? near : far,
                                .elem_len = l->len,
                                .counts = &l->count,
                                .levels = 1 };
    return vis_line_copy(&call);
}

static void fill(void)
{
    for (size_t i = 0; i < MEMORY_LEN; i++) {
        peer[i] = (char)(i * 7 + (i >> 8));
        own[i] = (char)(i * 13 + 5 + (i >> 7));
    }
}

static void check_line(const line *l, bool is_put)
{
    fill();
    memcpy(expected, is_put ? peer : own, MEMORY_LEN);
    for (size_t i = 0; i < l->count; i++) {
        size_t far = l->peer_at + i * (size_t)l->peer_stride;
        size_t near = l->own_at + i * (size_t)l->own_stride;
        memcpy(expected + (is_put ? far : near), is_put ? own + near : peer + far, l->len);
    }
    assert_true(copy_line(l, is_put));
    assert_memory_equal(is_put ? peer : own, expected, MEMORY_LEN);
}

static void runs_of_every_kind_arrive_where_they_belong(void **state)
{
    (void)state;
    static const size_t lens[] = { 1, 2, 3, 4, 7, 8, 16, 24, 32, 63, 64, 65, 128, 300 };
    map();
    for (size_t i = 0; i < sizeof lens / sizeof lens[0]; i++)
        for (size_t count = 1; count <= COUNT_MAX; count++) {
            line l = { lens[i], count, (ptrdiff_t)lens[i] + GAP, (ptrdiff_t)lens[i], 1, 2 };
            check_line(&l, true);
            check_line(&l, false);
            l.own_stride = 2 * (ptrdiff_t)lens[i] + 1;
            check_line(&l, true);
            check_line(&l, false);
            l.own_stride = -l.own_stride; /* our side may run backwards */
            l.own_at = MEMORY_LEN - lens[i];
            check_line(&l, true);
            check_line(&l, false);
        }
}

static void a_line_up_to_the_last_byte_of_the_segment_is_copied_and_no_further(void **state)
{
    (void)state;
    map();
    line l = { 64, 5, 100, 64, MEMORY_LEN - 464, 0 };
    check_line(&l, true);
    l.peer_at++;
    assert_false(copy_line(&l, true));
    l.peer_at = 0;
    l.peer_stride = PTRDIFF_MAX / 2; /* times the count it wraps */
    assert_false(copy_line(&l, true));
    l.peer_stride = MEMORY_LEN;
    assert_false(copy_line(&l, false));
}

static void other_shapes_are_left_to_the_box(void **state)
{
    (void)state;
    map();
    const line plain = { 64, 4, 100, 64, 0, 0 };
    line l = plain;
    l.peer_stride = 64; /* one run */
    assert_false(copy_line(&l, true));
    l.peer_stride = 0;
    assert_false(copy_line(&l, true));
    l.peer_stride = -100;
    l.peer_at = 1000;
    assert_false(copy_line(&l, true));
    l = plain;
    l.count = 0;
    assert_false(copy_line(&l, true));
    l = plain;
    l.len = 0;
    assert_false(copy_line(&l, true));
    l = plain;
    rows[1].len = 0; /* the peer has no segment */
    assert_false(copy_line(&l, true));
    map();
    team.view.mapped_count = 1; /* it is not mapped here */
    assert_false(copy_line(&l, true));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_of_every_kind_arrive_where_they_belong),
        cmocka_unit_test(a_line_up_to_the_last_byte_of_the_segment_is_copied_and_no_further),
        cmocka_unit_test(other_shapes_are_left_to_the_box),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
