/* SPDX-License-Identifier: BSD-3-Clause */
/* move_test.c: collectives that move data, on teams of any order and size. */
#include "unit/coll/crowd.h"

static const size_t lens[] = { 0, 1, 8, 100, 511, 513, 3000, 9000 };
enum { LENS = sizeof lens / sizeof *lens, CALLS = 40 };

static crowd_call draw_call(ranks *world, uint32_t size, const pen_coll_kind *kinds, uint32_t count)
{
    crowd_call call = { .kind = kinds[ranks_random(world, count)],
                        .root = ranks_random(world, size),
                        .len = lens[ranks_random(world, LENS)] };
    if (call.kind == PEN_COLL_EXCHANGE ||
        (call.kind == PEN_COLL_GATHER && ranks_random(world, 2) == 0))
        call.root = PEN_COLL_ALL;
    if (call.kind == PEN_COLL_GATHER)
        call.root = PEN_COLL_ALL;
    if (call.kind == PEN_COLL_BARRIER)
        call.len = 0;
    return call;
}

static void walk(uint32_t size, uint64_t seed, const pen_coll_kind *kinds, uint32_t kind_count)
{
    crowd all = { 0 };
    crowd_open_world(&all, &(ranks_params){ .size = size + (uint32_t)(seed % 3),
                                            .seed = seed,
                                            .threads = true,
                                            .frame_max = seed % 2 ? 512 : 4096,
                                            .room = seed % 4 < 2 ? 3 : 0,
                                            .again_percent = seed % 5 == 0 ? 40 : 0,
                                            .concurrency = PEN_ALONE });
    crowd_draw_team(&all, size);
    crowd_call calls[CALLS];
    for (uint32_t i = 0; i < CALLS; i++)
        calls[i] = draw_call(&all.world, size, kinds, kind_count);
    crowd_walk(&all, calls, CALLS, 1 + (uint32_t)(seed % 7));
    crowd_close(&all);
}

static void walk_kinds(const pen_coll_kind *kinds, uint32_t kind_count)
{
    for (uint32_t size = 1; size <= 9; size++)
        for (uint64_t seed = 1; seed <= 10; seed++)
            walk(size, seed * 100 + size, kinds, kind_count);
}

static void every_member_gathers_every_part(void **state)
{
    (void)state;
    walk_kinds((const pen_coll_kind[]){ PEN_COLL_GATHER, PEN_COLL_BARRIER }, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_member_gathers_every_part),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
