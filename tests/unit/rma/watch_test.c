/* SPDX-License-Identifier: BSD-3-Clause */
/* watch_test.c: operations that may run beside outstanding ones, and operations that may not;
 * checked builds only. */
#include "rma/watch.h"

#include "job/fatal.h"
#include "rma/rma_internal.h"
#include "support/ranks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

enum { PLACE = 0x10000 }; /* somewhere in rank 1's memory: nothing is moved here */

static ranks world;
static pen_job *job;
static pen_thread *thread;
static char memory[256];

static int open_world(void **state)
{
    (void)state;
    ranks_open(&world, &(ranks_params){ .size = 2, .seed = 1 });
    job = &world.jobs[0];
    thread = &job->first_thread;
    memset(memory, 0, sizeof memory);
    return pen_rma_open(job) == PEN_OK ? 0 : -1;
}

static int close_world(void **state)
{
    (void)state;
    pen_rma_close(job);
    ranks_close(&world);
    return 0;
}

static pen_watch_call call_of(pen_watch_kind kind, uintptr_t remote, const char *local, size_t len)
{
    return (pen_watch_call){ .name = kind == PEN_WATCH_PUT ? "a put" : "a get",
                             .thread = thread,
                             .kind = kind,
                             .jobrank = 1,
                             .remote = (void *)remote,
                             .local = local,
                             .len = len,
                             .when = PEN_LOCAL_DEFER };
}

static pen_event *begin(pen_watch_kind kind, uintptr_t remote, char *local, size_t len)
{
    pen_watch_call call = call_of(kind, remote, local, len);
    pen_watch_begin(&call);
    return pen_watch_event(&call, PEN_EVENT_DONE, NULL);
}

static void begin_implicit(pen_watch_kind kind, uintptr_t remote, char *local, size_t len)
{
    pen_watch_call call = call_of(kind, remote, local, len);
    pen_watch_begin(&call);
    pen_watch_implicit(&call, kind == PEN_WATCH_PUT ? PEN_EC_PUT : PEN_EC_GET);
}

static void put_beside(void *ctx) { (void)begin(PEN_WATCH_PUT, PLACE + 8, ctx, 8); }

static void get_into(void *ctx) { (void)begin(PEN_WATCH_GET, PLACE + 800, ctx, 8); }

static void what_completed_at_once_is_outstanding_until_it_is_synchronised(void **state)
{
    (void)state;
    memory[0] = 1;
    pen_event *event = begin(PEN_WATCH_PUT, PLACE, memory, 16);
    assert_non_null(event);
    assert_true(ranks_dies(put_beside, memory + 32, job, "a put: the destination, 8 bytes at"));
    assert_true(
        ranks_dies(get_into, memory + 8, job, "overlaps the source of an outstanding a put"));
    assert_true(pen_event_test(event));
    assert_true(pen_event_test(begin(PEN_WATCH_PUT, PLACE + 8, memory + 32, 8)));
    assert_true(pen_event_test(begin(PEN_WATCH_GET, PLACE + 800, memory + 8, 8)));
}

static void neighbours_and_readers_do_not_disturb_each_other(void **state)
{
    (void)state;
    pen_event *events[] = {
        begin(PEN_WATCH_PUT, PLACE, memory, 8),
        begin(PEN_WATCH_PUT, PLACE + 8, memory, 8),
        begin(PEN_WATCH_GET, PLACE + 16, memory + 8, 8),
        begin(PEN_WATCH_GET, PLACE + 16, memory + 16, 8),
        begin(PEN_WATCH_PUT, PLACE + 24, memory + 4, 2),
    };
    for (unsigned i = 0; i < 5; i++)
        assert_true(pen_event_test(events[i]));
}

static void doing_the_same_again_is_let_pass(void **state)
{
    (void)state;
    pen_event *first = begin(PEN_WATCH_PUT, PLACE, memory, 8);
    pen_event *second = begin(PEN_WATCH_PUT, PLACE, memory + 8, 8); /* the same bytes */
    memory[32] = 1;
    assert_true(pen_event_test(second));
    assert_true(ranks_dies(put_beside, memory, job, "") == false);
    pen_event *get = begin(PEN_WATCH_GET, PLACE + 64, memory + 64, 8);
    assert_true(pen_event_test(begin(PEN_WATCH_GET, PLACE + 64, memory + 64, 8)));
    assert_true(pen_event_test(get));
    assert_true(pen_event_test(first));
}

static void write_then_wait(void *ctx)
{
    memory[3] = 1;
    assert_true(pen_event_test(ctx));
}

static void a_source_that_changes_is_noticed_until_its_leaf_is_synchronised(void **state)
{
    (void)state;
    pen_event *leaf;
    pen_watch_call call = call_of(PEN_WATCH_PUT, PLACE, memory, 8);
    pen_watch_begin(&call);
    pen_event *event = pen_watch_event(&call, PEN_EVENT_DONE, &leaf);
    assert_true(ranks_dies(write_then_wait, event, job, "a put: the source, 8 bytes at"));
    assert_true(pen_event_test(leaf));
    write_then_wait(event);
}

static void leave_unsynchronised(void *ctx)
{
    (void)ctx;
    (void)begin(PEN_WATCH_PUT, PLACE, memory, 8);
    begin_implicit(PEN_WATCH_GET, PLACE + 8, memory + 8, 8);
    begin_implicit(PEN_WATCH_GET, PLACE + 8, memory + 8, 8);
    if (pen_watch_report(thread, "it ends") == 2)
        pen_job_fatal(job, "both were reported");
}

static void what_is_left_at_the_end_is_reported_by_call(void **state)
{
    (void)state;
    assert_true(
        ranks_dies(leave_unsynchronised, NULL, job, "a put: 1 not synchronised when it ends"));
    assert_true(
        ranks_dies(leave_unsynchronised, NULL, job, "a get: 2 not synchronised when it ends"));
    assert_true(ranks_dies(leave_unsynchronised, NULL, job, "both were reported"));
    assert_int_equal(pen_watch_report(thread, "it ends"), 0);
}

static void implicit_operations_end_by_category_and_by_region(void **state)
{
    (void)state;
    begin_implicit(PEN_WATCH_PUT, PLACE, memory, 8);
    pen_nbi_wait(thread, PEN_EC_GET);
    memory[32] = 1;
    assert_true(ranks_dies(put_beside, memory + 32, job, "") == false);
    assert_true(pen_nbi_test(thread, PEN_EC_PUT | PEN_EC_LC));
    pen_nbi_begin(thread);
    begin_implicit(PEN_WATCH_PUT, PLACE + 8, memory, 8);
    pen_event *region = pen_watch_region_end(thread, pen_nbi_end(thread));
    assert_non_null(region);
    assert_true(ranks_dies(put_beside, memory + 32, job, "overlaps the destination"));
    assert_true(pen_event_test(region));
    assert_true(pen_event_test(begin(PEN_WATCH_PUT, PLACE + 8, memory + 32, 8)));
    assert_int_equal(pen_watch_report(thread, "it ends"), 0);
}

static void a_handle_is_told_from_garbage(void **state)
{
    (void)state;
    pen_event *event = begin(PEN_WATCH_GET, PLACE, memory, 8);
    assert_int_equal(pen_event_look(job, event), PEN_EVENT_LIVE);
    assert_int_equal(pen_event_look(job, (pen_event *)(void *)memory), PEN_EVENT_UNKNOWN);
    assert_true(pen_event_test(event));
    assert_int_equal(pen_event_look(job, event), PEN_EVENT_STALE);
}

int main(void)
{
    if (!PEN_CHECKED)
        return 77;
#define WATCH_TEST(test) cmocka_unit_test_setup_teardown(test, open_world, close_world)
    const struct CMUnitTest tests[] = {
        WATCH_TEST(what_completed_at_once_is_outstanding_until_it_is_synchronised),
        WATCH_TEST(neighbours_and_readers_do_not_disturb_each_other),
        WATCH_TEST(doing_the_same_again_is_let_pass),
        WATCH_TEST(a_source_that_changes_is_noticed_until_its_leaf_is_synchronised),
        WATCH_TEST(what_is_left_at_the_end_is_reported_by_call),
        WATCH_TEST(implicit_operations_end_by_category_and_by_region),
        WATCH_TEST(a_handle_is_told_from_garbage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
