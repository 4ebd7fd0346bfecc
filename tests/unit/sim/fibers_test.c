/* SPDX-License-Identifier: BSD-3-Clause */
/* fibers_test.c: fibers take turns as the stage resumes them, and each keeps its stack. */
#include "sim/fibers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

enum { FIBERS = 5, TURNS = 1000 };

typedef struct walker {
    pen_sim_fiber fiber;
    unsigned turns, wrong;
    uintptr_t place; /* the address of a variable on its stack */
} walker;

/* Each level of the recursion keeps a number on the stack over a yield. */
static void walk(walker *w, unsigned depth)
{
    const volatile unsigned kept = depth * 3 + w->turns;
    const unsigned expected = kept;
    w->place = (uintptr_t)&kept;
    w->turns++;
    pen_sim_fiber_yield(&w->fiber);
    w->wrong += kept != expected;
    if (depth < 20)
        walk(w, depth + 1);
}

static void walk_on(void *argument)
{
    for (;;)
        walk(argument, 0);
}

static void fibers_take_turns_and_keep_their_stacks(void **state)
{
    (void)state;
    static walker walkers[FIBERS];
    pen_sim_stage stage = { 0 };
    for (unsigned i = 0; i < FIBERS; i++)
        pen_sim_fiber_make(&walkers[i].fiber, &stage, walk_on, &walkers[i]);
    for (unsigned i = 0; i < FIBERS; i++)
        assert_int_equal(walkers[i].turns, 0); /* none runs before it is resumed */
    for (unsigned turn = 0; turn < TURNS; turn++)
        for (unsigned i = 0; i < FIBERS; i++) {
            pen_sim_fiber_resume(&walkers[i].fiber);
            assert_int_equal(walkers[i].turns, turn + 1);
        }
    for (unsigned i = 0; i < FIBERS; i++) {
        assert_int_equal(walkers[i].wrong, 0);
        for (unsigned k = 0; k < i; k++)
            assert_true(walkers[i].place != walkers[k].place);
        pen_sim_fiber_free(&walkers[i].fiber);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fibers_take_turns_and_keep_their_stacks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
