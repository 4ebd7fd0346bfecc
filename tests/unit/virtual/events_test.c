/* SPDX-License-Identifier: BSD-3-Clause */
/* events_test.c: events come in the order of their times, and of equal times as they were added. */
#include "virtual/events.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static void events_come_in_order_of_time_and_then_of_adding(void **state)
{
    (void)state;
    enum { COUNT = 5000 };
    pen_virtual_events *events = pen_virtual_events_open(5000);
    pen_virtual_event event, before = { 0 };
    uint32_t random = 7;
    for (uint32_t i = 0; i < COUNT; i++) {
        random = random * 1664525 + 1013904223;
        assert_true(pen_virtual_events_add(events, random >> 24, i & 3, i));
    }
    for (uint32_t i = 0; i < COUNT; i++) {
        uint64_t next_ns = pen_virtual_events_next_ns(events);
        assert_true(pen_virtual_events_take(events, &event));
        assert_int_equal(next_ns, event.time_ns);
        assert_int_equal(events->now_ns, event.time_ns);
        assert_int_equal(event.kind, event.what & 3);
        if (i > 0)
            assert_true(before.time_ns < event.time_ns ||
                        (before.time_ns == event.time_ns && before.what < event.what));
        before = event;
    }
    assert_false(pen_virtual_events_take(events, &event));
    pen_virtual_events_close(events);
}

static void events_may_be_added_while_time_goes_on(void **state)
{
    (void)state;
    pen_virtual_events *events = pen_virtual_events_open(5000);
    pen_virtual_event event;
    uint64_t last = 0, taken = 0;
    assert_true(pen_virtual_events_add(events, 5, 0, 0));
    while (pen_virtual_events_take(events, &event) && taken++ < 1000) {
        assert_true(event.time_ns >= last);
        last = event.time_ns;
        assert_true(pen_virtual_events_add(events, last + (taken * 7) % 5, 0, 0));
    }
    assert_int_equal(taken, 1001);
    pen_virtual_events_close(events);
}

static void next_time_is_right_after_an_event_of_the_present(void **state)
{
    (void)state;
    pen_virtual_events *events = pen_virtual_events_open(8);
    pen_virtual_event event;
    assert_true(pen_virtual_events_next_ns(events) == UINT64_MAX);
    assert_true(pen_virtual_events_add(events, 100, 0, 0));
    assert_true(pen_virtual_events_add(events, 200, 0, 1));
    assert_true(pen_virtual_events_take(events, &event));
    assert_int_equal(pen_virtual_events_next_ns(events), 200);
    assert_true(pen_virtual_events_add(events, 100, 0, 2));
    assert_int_equal(pen_virtual_events_next_ns(events), 100);
    assert_true(pen_virtual_events_take(events, &event));
    assert_int_equal(event.what, 2);
    assert_int_equal(pen_virtual_events_next_ns(events), 200);
    assert_true(pen_virtual_events_add(events, 150, 0, 3));
    assert_int_equal(pen_virtual_events_next_ns(events), 150);
    pen_virtual_events_close(events);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_come_in_order_of_time_and_then_of_adding),
        cmocka_unit_test(events_may_be_added_while_time_goes_on),
        cmocka_unit_test(next_time_is_right_after_an_event_of_the_present),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
