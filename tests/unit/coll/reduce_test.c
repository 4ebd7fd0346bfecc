/* SPDX-License-Identifier: BSD-3-Clause */
/* reduce_test.c: reductions and scans, on teams of any order and size, against one made by adding
 * up member by member. */
#include "unit/coll/crowd.h"

enum { CALLS = 40, OP_USER = 1 << 30, TYPE_USER = 64, LONG_LEN = 200000 };
#define OP_USER_NC (1u << 31)

static const uint32_t type_lens[] = { 4, 4, 8, 8, 4, 8 };
static const uint32_t operations[] = { 8, 32, 64, 128, 1, 2, 4 }; /* floats have the first four */

/* x -> scale * x + shift, applied in turn: associative, and not commutative. */
typedef struct map {
    uint32_t scale, shift;
} map;

static void compose(const void *left, void *right, size_t count, const void *cdata)
{
    assert_ptr_equal(cdata, operations);
    for (size_t i = 0; i < count; i++) {
        map first, then;
        memcpy(&first, (const char *)left + i * sizeof(map), sizeof first);
        memcpy(&then, (char *)right + i * sizeof(map), sizeof then);
        map both = { first.scale * then.scale, first.shift * then.scale + then.shift };
        memcpy((char *)right + i * sizeof(map), &both, sizeof both);
    }
}

/* Elements of any length: the left one's last byte is put in front, or so: f(f(a, b), c) is
 * f(a, f(b, c)). */
static void keep_ends(const void *left, void *right, size_t count, const void *cdata)
{
    size_t len = *(const size_t *)cdata;
    for (size_t i = 0; i < count; i++)
        memcpy((char *)right + i * len, (const char *)left + i * len, len / 2);
}

static crowd_call draw_reduction(ranks *world, uint32_t size, size_t len_max)
{
    static const size_t odd_len = 77, huge_len = 90000;
    crowd_call call = { .kind = ranks_random(world, 3) == 0 ? PEN_COLL_SCAN : PEN_COLL_REDUCE,
                        .root = ranks_random(world, size),
                        .in_place = ranks_random(world, 2) == 0,
                        .exclusive = ranks_random(world, 2) == 0 };
    pen_reduction *reduction = &call.reduction;
    uint32_t type = ranks_random(world, 9);
    if (type < 6)
        *reduction =
            (pen_reduction){ .type = 1u << type,
                             .operation = operations[ranks_random(world, type < 4 ? 7 : 4)],
                             .element_len = type_lens[type] };
    else if (type == 6)
        *reduction = (pen_reduction){ .type = TYPE_USER,
                                      .operation = OP_USER_NC,
                                      .element_len = sizeof(map),
                                      .function = compose,
                                      .context = operations };
    else
        *reduction = (pen_reduction){ .type = TYPE_USER,
                                      .operation = OP_USER,
                                      .function = keep_ends,
                                      .context = type == 7 ? &odd_len : &huge_len };
    if (type > 6)
        reduction->element_len = *(const size_t *)reduction->context;
    static const size_t counts[] = { 0, 1, 3, 100, 1000 };
    reduction->count = ranks_random(world, 6) == 0 ? len_max / reduction->element_len
                                                   : counts[ranks_random(world, 5)];
    if (reduction->count * reduction->element_len > len_max)
        reduction->count = len_max / reduction->element_len;
    call.len = reduction->count * reduction->element_len;
    if (call.kind == PEN_COLL_SCAN || ranks_random(world, 2) == 0)
        call.root = PEN_COLL_ALL;
    return call;
}

static void walk(uint32_t size, uint64_t seed, crowd_way way)
{
    crowd all = { 0 };
    ranks_params params = { .size = size + (uint32_t)(seed % 3),
                            .seed = seed,
                            .threads = true,
                            .frame_max = seed % 2 ? 512 : 16384,
                            .room = seed % 4 < 2 ? 3 : 0,
                            .again_percent = seed % 5 == 0 ? 40 : 0,
                            .concurrency = PEN_ALONE };
    crowd_set_way(&all, &params, way);
    crowd_open_world(&all, &params);
    crowd_draw_team(&all, size);
    crowd_call calls[CALLS];
    for (uint32_t i = 0; i < CALLS; i++)
        calls[i] = draw_reduction(&all.world, size, seed % 3 == 0 ? LONG_LEN : 4000);
    crowd_walk(&all, calls, CALLS, 1 + (uint32_t)(seed % 7));
    crowd_close(&all);
}

static void reductions_combine_in_the_order_of_ranks(void **state)
{
    (void)state;
    for (crowd_way way = 0; way < CROWD_WAYS; way++) {
        uint64_t seeds = PEN_TSAN ? 1 : way == CROWD_MESSAGES ? 6 : 3;
        for (uint32_t size = 1; size <= (PEN_TSAN ? 3 : 9);
             size++) /* one thread: little to see there */
            for (uint64_t seed = 1; seed <= seeds; seed++)
                walk(size, seed * 100 + size, way);
        walk(13, 3, way);
        walk(14, 4, way); /* of 16 */
    }
}

/* ---- every operation on every type ----------------------------------------------------------- */

/* By operation, as in `operations`: of these two, the left one first. */
static const int32_t i32_left[] = { -7, 2147483647 }, i32_right[] = { 3, 2 };
static const int32_t i32_results[7][2] = { { -4, -2147483647 }, { -21, -2 }, { -7, 2 },
                                           { 3, 2147483647 },   { 1, 2 },    { -5, 2147483647 },
                                           { -6, 2147483645 } };
static const uint32_t u32_left[] = { 0xfffffff9u, 5 }, u32_right[] = { 3, 6 };
static const uint32_t u32_results[7][2] = {
    { 0xfffffffcu, 11 }, { 0xffffffebu, 30 }, { 3, 5 }, { 0xfffffff9u, 6 }, { 1, 4 },
    { 0xfffffffbu, 7 },  { 0xfffffffau, 3 }
};
static const int64_t i64_left[] = { -7, INT64_MAX }, i64_right[] = { 3, 2 };
static const int64_t i64_results[7][2] = { { -4, INT64_MIN + 1 }, { -21, -2 }, { -7, 2 },
                                           { 3, INT64_MAX },      { 1, 2 },    { -5, INT64_MAX },
                                           { -6, INT64_MAX - 2 } };
static const uint64_t u64_left[] = { UINT64_MAX - 6, 5 }, u64_right[] = { 3, 6 };
static const uint64_t u64_results[7][2] = {
    { UINT64_MAX - 3, 11 }, { UINT64_MAX - 20, 30 }, { 3, 5 }, { UINT64_MAX - 6, 6 }, { 1, 4 },
    { UINT64_MAX - 4, 7 },  { UINT64_MAX - 5, 3 }
};
static const float flt_left[] = { -1.5f, 1e30f }, flt_right[] = { 0.25f, 2.0f };
static const float flt_results[4][2] = {
    { -1.25f, 1e30f }, { -0.375f, 2e30f }, { -1.5f, 2.0f }, { 0.25f, 1e30f }
};
static const double dbl_left[] = { -1.5, 1e300 }, dbl_right[] = { 0.25, 2.0 };
static const double dbl_results[4][2] = {
    { -1.25, 1e300 }, { -0.375, 2e300 }, { -1.5, 2.0 }, { 0.25, 1e300 }
};

static const struct {
    const void *left, *right, *results;
} by_hand[] = {
    { i32_left, i32_right, i32_results }, { u32_left, u32_right, u32_results },
    { i64_left, i64_right, i64_results }, { u64_left, u64_right, u64_results },
    { flt_left, flt_right, flt_results }, { dbl_left, dbl_right, dbl_results },
};

static void every_operation_on_every_type_gives_what_was_worked_out_by_hand(void **state)
{
    (void)state;
    for (unsigned type = 0; type < 6; type++) {
        for (unsigned i = 0; i < (type < 4 ? 7 : 4); i++) {
            pen_reduction reduction = { .type = 1u << type, .operation = operations[i] };
            size_t len = 2 * type_lens[type];
            char right[16];
            memcpy(right, by_hand[type].right, len);
            assert_true(pen_coll_can_combine(reduction.type, reduction.operation));
            pen_coll_combine_elements(&reduction, by_hand[type].left, right, 2);
            if (memcmp(right, (const char *)by_hand[type].results + i * len, len) != 0)
                fail_msg("type %u, operation %u", type, operations[i]);
        }
    }
}

static void what_no_type_has_is_told_apart(void **state)
{
    (void)state;
    for (unsigned type = 0; type < 32; type++) {
        for (unsigned operation = 0; operation < 32; operation++) {
            bool legal = type < 6 && operation < 8 && operation != 4 && (type < 4 || operation > 2);
            assert_int_equal(pen_coll_can_combine(1u << type, 1u << operation), legal);
        }
    }
    assert_false(pen_coll_can_combine(0, 8));
    assert_false(pen_coll_can_combine(1, 0));
    assert_false(pen_coll_can_combine(3, 8));
    assert_false(pen_coll_can_combine(1, 8 | 32));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_operation_on_every_type_gives_what_was_worked_out_by_hand),
        cmocka_unit_test(what_no_type_has_is_told_apart),
        cmocka_unit_test(reductions_combine_in_the_order_of_ranks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
