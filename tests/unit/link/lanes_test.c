/* SPDX-License-Identifier: BSD-3-Clause */
/* lanes_test.c: kept frames come back whole, the last lane first, in order within a lane; a reserve
 * cannot fail; nothing is left behind. */
#include "link/host.h"
#include "link/lanes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct memory {
    int blocks;
    bool is_short; /* there is no more */
} memory;

static void *take_memory(void *ctx, size_t len, size_t align)
{
    memory *m = (memory *)ctx;
    if (m->is_short)
        return NULL;
    m->blocks++;
    return aligned_alloc(align, (len + align - 1) / align * align);
}

static void give_memory(void *ctx, void *block)
{
    ((memory *)ctx)->blocks--;
    free(block);
}

static bool keep(pen_lanes *lanes, pen_lane lane, uint64_t number, const char *body)
{
    const uint64_t head[2] = { number, ~number };
    const pen_frame frame = { head, body, sizeof head, (uint32_t)strlen(body) };
    return pen_lanes_keep(lanes, (pen_peer)number + 100, lane, &frame, number * 3);
}

static void look(pen_kept *kept, pen_lane lane, uint64_t number, const char *body)
{
    const uint64_t head[2] = { number, ~number };
    assert_non_null(kept);
    assert_int_equal(kept->lane, lane);
    assert_int_equal(kept->from, number + 100);
    assert_int_equal(kept->tag, number * 3);
    assert_int_equal(kept->head_len, sizeof head);
    assert_memory_equal(pen_kept_head(kept), head, sizeof head);
    assert_int_equal(kept->body_len, strlen(body));
    assert_int_equal((uintptr_t)pen_kept_head(kept) % 8, 0);
    assert_int_equal((uintptr_t)pen_kept_body(kept) % 16, 0);
    if (body[0] == '\0')
        assert_null(pen_kept_body(kept));
    else
        assert_memory_equal(pen_kept_body(kept), body, strlen(body));
}

static void later_lanes_come_first_and_each_in_order(void **state)
{
    memory m = { 0 };
    pen_lanes lanes;
    (void)state;
    pen_lanes_init(&lanes, take_memory, give_memory, &m);
    assert_true(keep(&lanes, PEN_LANE_REQUEST, 1, "one"));
    assert_true(keep(&lanes, PEN_LANE_CONTROL, 2, ""));
    assert_true(keep(&lanes, PEN_LANE_REQUEST, 3, "a longer body than the others"));
    assert_true(keep(&lanes, PEN_LANE_REPLY, 4, "x"));
    assert_int_equal(lanes.total, 4);
    assert_int_equal(lanes.count[PEN_LANE_REQUEST], 2);
    static const struct {
        unsigned asked;
        pen_lane lane;
        uint64_t number;
        const char *body;
    } wanted[] = { { PEN_LANE_BIT(PEN_LANE_REQUEST), PEN_LANE_REQUEST, 1, "one" },
                   { PEN_LANES_ALL, PEN_LANE_CONTROL, 2, "" },
                   { PEN_LANES_ALL, PEN_LANE_REPLY, 4, "x" },
                   { PEN_LANES_ALL, PEN_LANE_REQUEST, 3, "a longer body than the others" } };
    assert_null(pen_lanes_take(&lanes, 0));
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        pen_kept *kept = pen_lanes_take(&lanes, wanted[i].asked);
        look(kept, wanted[i].lane, wanted[i].number, wanted[i].body);
        pen_lanes_give(&lanes, kept);
    }
    assert_int_equal(lanes.total, 0);
    assert_int_equal(lanes.len, 0);
    assert_true(keep(&lanes, PEN_LANE_REPLY, 5, "left")); /* an emptied lane takes more */
    pen_lanes_close(&lanes);
    assert_int_equal(m.blocks, 0);
}

static void a_reserve_cannot_fail_and_is_used_again(void **state)
{
    memory m = { 0 };
    pen_lanes lanes;
    (void)state;
    pen_lanes_init(&lanes, take_memory, give_memory, &m);
    assert_true(pen_lanes_reserve(&lanes, 3, 40));
    m.is_short = true;
    for (unsigned round = 0; round < 4; round++) {
        for (uint64_t i = 0; i < 3; i++)
            assert_true(keep(&lanes, PEN_LANE_REPLY, i, "twenty-four bytes in all"));
        assert_false(keep(&lanes, PEN_LANE_REPLY, 9, "x")); /* there is room for three */
        for (uint64_t i = 0; i < 3; i++) {
            pen_kept *kept = pen_lanes_take(&lanes, PEN_LANES_ALL);
            look(kept, PEN_LANE_REPLY, i, "twenty-four bytes in all");
            pen_lanes_give(&lanes, kept);
        }
    }
    m.is_short = false;
    char longer[60] = { 0 };
    memset(longer, 'l', sizeof longer - 1);
    assert_true(keep(&lanes, PEN_LANE_REPLY, 1, longer)); /* longer than the reserve: by itself */
    assert_int_equal(m.blocks, 2);
    pen_lanes_close(&lanes);
    assert_int_equal(m.blocks, 0);
}

static bool is_even(void *ctx, const pen_kept *kept)
{
    (void)ctx;
    return kept->tag % 2 == 0;
}

static void only_what_is_ready_is_taken(void **state)
{
    memory m = { 0 };
    pen_lanes lanes;
    (void)state;
    pen_lanes_init(&lanes, take_memory, give_memory, &m);
    for (uint64_t i = 1; i <= 4; i++)
        assert_true(keep(&lanes, PEN_LANE_REQUEST, i, "b"));
    for (uint64_t i = 2; i <= 4; i += 2) {
        pen_kept *kept = pen_lanes_take_ready(&lanes, PEN_LANES_ALL, is_even, NULL);
        look(kept, PEN_LANE_REQUEST, i, "b");
        pen_lanes_give(&lanes, kept);
    }
    assert_null(pen_lanes_take_ready(&lanes, PEN_LANES_ALL, is_even, NULL));
    assert_true(keep(&lanes, PEN_LANE_REQUEST, 6, "b")); /* behind those that are left */
    pen_kept *kept = pen_lanes_take_ready(&lanes, PEN_LANES_ALL, is_even, NULL);
    look(kept, PEN_LANE_REQUEST, 6, "b");
    pen_lanes_give(&lanes, kept);
    assert_int_equal(lanes.count[PEN_LANE_REQUEST], 2);
    pen_lanes_close(&lanes);
    assert_int_equal(m.blocks, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(later_lanes_come_first_and_each_in_order),
        cmocka_unit_test(a_reserve_cannot_fail_and_is_used_again),
        cmocka_unit_test(only_what_is_ready_is_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
