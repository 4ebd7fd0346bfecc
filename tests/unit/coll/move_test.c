/* SPDX-License-Identifier: BSD-3-Clause */
/* move_test.c: collectives that move data, on teams of any order and size. */
#include "unit/coll/crowd.h"

static const size_t lens[] = { 0, 1, 8, 100, 511, 513, 3000, 9000, 70000 };
enum { LENS = sizeof lens / sizeof *lens, CALLS = 20 };

static crowd_call draw_call(ranks *world, uint32_t size, const pen_coll_kind *kinds, uint32_t count)
{
    crowd_call call = { .kind = kinds[ranks_random(world, count)],
                        .root = ranks_random(world, size),
                        .len = lens[ranks_random(world, LENS)] };
    if (call.kind == PEN_COLL_EXCHANGE ||
        (call.kind == PEN_COLL_GATHER && ranks_random(world, 2) == 0))
        call.root = PEN_COLL_ALL;
    if (call.kind == PEN_COLL_BARRIER)
        call.len = 0;
    if (call.kind == PEN_COLL_BROADCAST || call.kind == PEN_COLL_EXCHANGE)
        call.in_place = ranks_random(world, 2) == 0;
    return call;
}

static void walk(uint32_t size, uint64_t seed, crowd_way way, const pen_coll_kind *kinds,
                 uint32_t kind_count)
{
    crowd all = { 0 };
    ranks_params params = { .size = size + (uint32_t)(seed % 3),
                            .seed = seed,
                            .threads = true,
                            .frame_max = seed % 2 ? 512 : 4096,
                            .room = seed % 4 < 2 ? 3 : 0,
                            .again_percent = seed % 5 == 0 ? 40 : 0,
                            .concurrency = PEN_ALONE };
    crowd_set_way(&all, &params, way);
    crowd_open_world(&all, &params);
    crowd_draw_team(&all, size);
    crowd_call calls[CALLS];
    for (uint32_t i = 0; i < CALLS; i++)
        calls[i] = draw_call(&all.world, size, kinds, kind_count);
    crowd_walk(&all, calls, CALLS, 1 + (uint32_t)(seed % 7));
    crowd_close(&all);
}

static void walk_kinds(const pen_coll_kind *kinds, uint32_t kind_count)
{
    for (uint32_t size = 1; size <= (PEN_TSAN ? 3 : 9);
         size++) /* one thread: little to see there */
        for (uint64_t seed = 1; seed <= (PEN_TSAN ? 1 : 4); seed++) {
            walk(size, seed * 100 + size, CROWD_MESSAGES, kinds, kind_count);
            walk(size, seed * 200 + size, CROWD_MEMORY + seed % (CROWD_WAYS - 1), kinds,
                 kind_count);
        }
}

static void gathers_put_every_part_in_its_place(void **state)
{
    (void)state;
    walk_kinds((const pen_coll_kind[]){ PEN_COLL_GATHER, PEN_COLL_BARRIER }, 2);
}

static void broadcasts_bring_the_roots_bytes_to_all(void **state)
{
    (void)state;
    walk_kinds((const pen_coll_kind[]){ PEN_COLL_BROADCAST }, 1);
}

static void scatters_bring_each_member_its_part(void **state)
{
    (void)state;
    walk_kinds((const pen_coll_kind[]){ PEN_COLL_SCATTER }, 1);
}

static void exchanges_transpose_the_parts(void **state)
{
    (void)state;
    walk_kinds((const pen_coll_kind[]){ PEN_COLL_EXCHANGE }, 1);
}

static void collectives_of_all_kinds_are_underway_together(void **state)
{
    (void)state;
    walk_kinds((const pen_coll_kind[]){ PEN_COLL_GATHER, PEN_COLL_BROADCAST, PEN_COLL_SCATTER,
                                        PEN_COLL_EXCHANGE, PEN_COLL_BARRIER },
               5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gathers_put_every_part_in_its_place),
        cmocka_unit_test(broadcasts_bring_the_roots_bytes_to_all),
        cmocka_unit_test(scatters_bring_each_member_its_part),
        cmocka_unit_test(exchanges_transpose_the_parts),
        cmocka_unit_test(collectives_of_all_kinds_are_underway_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
