/* SPDX-License-Identifier: BSD-3-Clause */
/* ring_test.c: the reader of a ring gets every event that was not overwritten, whole, in order, and
 * with its number; lengths of time keep their value; names have numbers. */
#include "trace/ring.h"

#include "os/lock.h"
#include "trace/event.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { EVENTS = 256, STREAM = 200000, BATCH = 100 };

typedef struct rig {
    pen_trace trace;
    pen_trace_ring *ring;
    size_t len;
} rig;

static int open_rig(void **state)
{
    rig *r = calloc(1, sizeof *r);
    r->len = pen_trace_ring_len(EVENTS * sizeof(pen_trace_event));
    r->ring = aligned_alloc(64, pen_align_up(r->len, 64));
    memset(r->ring, 0, r->len);
    pen_trace_open(&r->trace, r->ring, r->len, UINT32_MAX, PEN_ALONE);
    *state = r;
    return 0;
}

static int close_rig(void **state)
{
    rig *r = *state;
    free(r->ring);
    free(r);
    return 0;
}

/* Every word of the event follows from its number. */
static pen_trace_event event_of(uint64_t number)
{
    return (pen_trace_event){ .at = number,
                              .span = (uint32_t)number,
                              .kind = (uint8_t)(number % PEN_TRACE_KINDS),
                              .what = (uint16_t)(number >> 3),
                              .peer = (uint32_t)(number * 3),
                              .number = (uint32_t)(number * 5),
                              .value = number * 7 };
}

static void write_events(pen_trace *trace, uint64_t from, uint64_t to)
{
    for (uint64_t number = from; number < to; number++) {
        const pen_trace_event event = event_of(number);
        pen_trace_write(trace, &event);
    }
}

static void expect(const pen_trace_event *events, uint64_t first, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const pen_trace_event right = event_of(first + i);
        assert_memory_equal(&events[i], &right, sizeof right);
    }
}

static void events_come_in_order_and_once(void **state)
{
    rig *r = *state;
    pen_trace_event out[EVENTS];
    uint64_t from = 0, first;
    assert_int_equal(pen_trace_ring_events(r->len), EVENTS);
    assert_int_equal(pen_trace_read(r->ring, EVENTS, &from, &first, out, EVENTS), 0);
    write_events(&r->trace, 0, 100);
    assert_int_equal(pen_trace_read(r->ring, EVENTS, &from, &first, out, 60), 60);
    expect(out, 0, 60);
    assert_int_equal(pen_trace_read(r->ring, EVENTS, &from, &first, out, 60), 40);
    assert_int_equal(first, 60);
    expect(out, 60, 40);
    assert_int_equal(pen_trace_read(r->ring, EVENTS, &from, &first, out, 60), 0);
}

static void the_oldest_events_are_dropped_and_counted(void **state)
{
    rig *r = *state;
    pen_trace_event out[EVENTS];
    uint64_t from = 0, first;
    write_events(&r->trace, 0, 1000);
    /* The slot of the next event may be written at any moment, so one less than the ring holds. */
    assert_int_equal(pen_trace_read(r->ring, EVENTS, &from, &first, out, EVENTS), EVENTS - 1);
    assert_int_equal(first, 1000 - EVENTS + 1);
    assert_int_equal(from, 1000);
    expect(out, first, EVENTS - 1);
}

static void a_head_of_nonsense_reads_nothing_outside(void **state)
{
    rig *r = *state;
    pen_trace_event out[EVENTS];
    uint64_t from = 5, first;
    atomic_store(&r->ring->head, 3);
    assert_int_equal(pen_trace_read(r->ring, EVENTS, &from, &first, out, EVENTS), 0);
    atomic_store(&r->ring->head, UINT64_MAX);
    assert_in_range(pen_trace_read(r->ring, EVENTS, &from, &first, out, EVENTS), 0, EVENTS);
}

static void *write_stream(void *arg)
{
    rig *r = arg;
    write_events(&r->trace, 0, STREAM);
    return NULL;
}

static void a_reader_beside_the_writer_gets_whole_events(void **state)
{
    rig *r = *state;
    pen_trace_event out[BATCH];
    uint64_t from = 0, first, got = 0, last = 0;
    pthread_t writer;
    assert_int_equal(pthread_create(&writer, NULL, write_stream, r), 0);
    while (from < STREAM) {
        size_t count = pen_trace_read(r->ring, EVENTS, &from, &first, out, BATCH);
        expect(out, first, count);
        assert_true(first >= last);
        last = first + count;
        got += count;
    }
    pthread_join(writer, NULL);
    assert_in_range(got, 1, STREAM);
}

static void lengths_keep_their_value(void **state)
{
    (void)state;
    for (uint64_t ticks = 0; ticks < 1000; ticks++)
        assert_int_equal(pen_trace_unpack(pen_trace_pack(ticks)), ticks);
    const uint64_t most = (uint64_t)((1u << PEN_TRACE_SPAN_BITS) - 1) << 31;
    for (uint64_t ticks = 1000; ticks < most - most / 4; ticks += ticks / 3) {
        uint64_t back = pen_trace_unpack(pen_trace_pack(ticks));
        assert_true(back <= ticks && ticks - back <= ticks >> 26);
    }
    assert_int_equal(pen_trace_unpack(pen_trace_pack(UINT64_MAX)), most);
}

static void names_have_numbers(void **state)
{
    rig *r = *state;
    char name[32];
    assert_int_equal(pen_trace_name(&r->trace, "exchange"), 0);
    assert_int_equal(pen_trace_name(&r->trace, "compute"), 1);
    (void)snprintf(name, sizeof name, "exchange"); /* a different pointer */
    assert_int_equal(pen_trace_name(&r->trace, name), 0);
    for (int i = 2; i < 300; i++) {
        (void)snprintf(name, sizeof name, "n%d", i);
        assert_int_equal(pen_trace_name(&r->trace, name), i < 255 ? i : 255);
    }
    assert_int_equal(atomic_load(&r->ring->name_count), PEN_TRACE_NAMES_MAX);
    assert_string_equal(r->ring->names[1], "compute");
    assert_string_equal(r->ring->names[255], "other");
    pen_trace again; /* the rank joins again */
    pen_trace_open(&again, r->ring, r->len, UINT32_MAX, PEN_ALONE);
    assert_int_equal(pen_trace_name(&again, "compute"), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(events_come_in_order_and_once, open_rig, close_rig),
        cmocka_unit_test_setup_teardown(the_oldest_events_are_dropped_and_counted, open_rig,
                                        close_rig),
        cmocka_unit_test_setup_teardown(a_head_of_nonsense_reads_nothing_outside, open_rig,
                                        close_rig),
        cmocka_unit_test_setup_teardown(a_reader_beside_the_writer_gets_whole_events, open_rig,
                                        close_rig),
        cmocka_unit_test(lengths_keep_their_value),
        cmocka_unit_test_setup_teardown(names_have_numbers, open_rig, close_rig),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
