/* SPDX-License-Identifier: BSD-3-Clause */
/* event_test.c: events, arrays of them, pools shared by threads, implicit sets and access regions.
 */
#include "rma/event.h"

#include "rma/rma_internal.h"
#include "support/ranks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

typedef struct fixture {
    ranks world;
    pen_job *job;
    pen_thread *thread;
} fixture;

static void open_fixture(fixture *f, pen_concurrency concurrency)
{
    ranks_open(&f->world, &(ranks_params){ .size = 1, .seed = 1, .concurrency = concurrency });
    f->job = &f->world.jobs[0];
    f->thread = &f->job->first_thread;
    assert_int_equal(pen_rma_open(f->job), PEN_OK);
}

static int open_alone(void **state)
{
    static fixture f;
    open_fixture(&f, PEN_ALONE);
    *state = &f;
    return 0;
}

static int open_shared(void **state)
{
    static fixture f;
    open_fixture(&f, PEN_CONCURRENT);
    *state = &f;
    return 0;
}

static int close_any(void **state)
{
    fixture *f = *state;
    pen_rma_close(f->job);
    ranks_close(&f->world);
    return 0;
}

/* An operation whose source is still busy, as a link's put would leave it; *leaf names that. */
static pen_event *busy_put(fixture *f, pen_event **leaf, pen_event_root **root)
{
    *root = pen_event_take(&pen_rma_thread_of(f->thread)->pool);
    pen_count_raise(&(*root)->op.source_busy, (*root)->op.shared);
    pen_count_raise(&(*root)->op.incomplete, (*root)->op.shared);
    return pen_event_settle(*root, leaf);
}

static void an_event_is_done_when_it_has_been_finished(void **state)
{
    fixture *f = *state;
    pen_event *event = pen_event_new(f->thread);
    assert_false(pen_event_test(event));
    pen_event_finish(event);
    assert_true(pen_event_test(event));
    assert_true(pen_event_test(PEN_EVENT_DONE));
}

static void a_leaf_is_done_before_its_root_and_does_not_free_it(void **state)
{
    fixture *f = *state;
    pen_event *leaf;
    pen_event_root *root;
    pen_event *event = busy_put(f, &leaf, &root);
    assert_non_null(leaf);
    assert_ptr_equal(pen_event_leaf(event), leaf);
    assert_false(pen_event_test(leaf));
    pen_op_source_done(&root->op);
    assert_true(pen_event_test(leaf));
    assert_true(pen_event_test(leaf));
    assert_null(pen_event_leaf(event));
    assert_false(pen_event_test(event));
    pen_op_done(&root->op);
    assert_true(pen_event_test(event));
}

static void an_operation_that_ended_while_it_started_has_no_event(void **state)
{
    fixture *f = *state;
    pen_event *leaf = PEN_EVENT_NO_OP;
    pen_event_root *root = pen_event_take(&pen_rma_thread_of(f->thread)->pool);
    assert_null(pen_event_settle(root, &leaf));
    assert_null(leaf);
}

static void an_empty_array_and_one_of_done_events_are_done(void **state)
{
    (void)state;
    pen_event *done[2] = { PEN_EVENT_DONE, PEN_EVENT_DONE };
    assert_true(pen_event_test_all(NULL, 0));
    assert_true(pen_event_test_some(NULL, 0));
    assert_true(pen_event_test_all(done, 2));
    assert_true(pen_event_test_some(done, 2));
}

static void some_is_one_and_all_is_every_one(void **state)
{
    fixture *f = *state;
    pen_event *events[3] = { pen_event_new(f->thread), PEN_EVENT_DONE, pen_event_new(f->thread) };
    pen_event *second = events[2];
    assert_false(pen_event_test_some(events, 3));
    pen_event_finish(second);
    assert_false(pen_event_test_all(events, 3));
    assert_null(events[2]);
    assert_false(pen_event_test_some(events, 3)); /* no event since then */
    pen_event_finish(events[0]);
    assert_true(pen_event_test_some(events, 3));
    assert_true(pen_event_test_all(events, 3));
}

static void a_root_and_its_leaf_may_stand_in_an_array_in_any_order(void **state)
{
    fixture *f = *state;
    for (unsigned leaf_first = 0; leaf_first < 2; leaf_first++) {
        pen_event *leaf;
        pen_event_root *root;
        pen_event *event = busy_put(f, &leaf, &root);
        pen_event *events[2] = { leaf_first ? leaf : event, leaf_first ? event : leaf };
        assert_false(pen_event_test_some(events, 2));
        pen_op_source_done(&root->op);
        pen_op_done(&root->op);
        assert_true(pen_event_test_some(events, 2));
        assert_null(events[0]);
        assert_null(events[1]);
    }
}

static void a_leaf_goes_with_its_root_even_when_the_link_forgot_its_source(void **state)
{
    fixture *f = *state;
    pen_event *leaf;
    pen_event_root *root;
    pen_event *event = busy_put(f, &leaf, &root);
    pen_event *events[2] = { event, leaf };
    pen_op_done(&root->op); /* as if the source's end were seen only after the leaf was looked at */
    assert_true(pen_event_test_all(events, 2));
    assert_null(events[1]);
}

static void more_events_live_at_once_than_sixteen_bits_count(void **state)
{
    fixture *f = *state;
    enum { COUNT = (1 << 16) + 100 };
    pen_event **events = calloc(COUNT, sizeof(pen_event *));
    for (uint32_t i = 0; i < COUNT; i++)
        events[i] = pen_event_new(f->thread);
    for (uint32_t i = 0; i < COUNT; i += 2)
        pen_event_finish(events[i]);
    assert_true(pen_event_test_some(events, COUNT));
    for (uint32_t i = 0; i < COUNT; i++)
        assert_true((events[i] == PEN_EVENT_DONE) == (i % 2 == 0));
    for (uint32_t i = 1; i < COUNT; i += 2)
        pen_event_finish(events[i]);
    assert_true(pen_event_test_all(events, COUNT));
    free(events);
}

static void test_again(void *ctx) { (void)pen_event_test(ctx); }

static void synchronising_an_event_twice_is_refused_by_name(void **state)
{
    fixture *f = *state;
    pen_event *event = pen_event_new(f->thread);
    pen_event_finish(event);
    assert_true(pen_event_test(event));
    if (PEN_CHECKED)
        assert_true(ranks_dies(test_again, event, f->job, "synchronised before"));
}

/* ---- several threads ------------------------------------------------------------------------- */

enum { HANDED = 20000 };

typedef struct handover {
    _Atomic(pen_event *) slot[2];
} handover;

static void *finish_and_free(void *ctx)
{
    handover *over = ctx;
    for (uint32_t i = 0; i < HANDED;) {
        /* acquire: pairs with the release of the thread that made the event */
        pen_event *event = atomic_exchange_explicit(&over->slot[i % 2], NULL, memory_order_acquire);
        if (event == NULL) {
            sched_yield();
            continue;
        }
        pen_event_finish(event);
        assert_true(pen_event_test(event));
        i++;
    }
    return NULL;
}

static void one_thread_may_free_what_another_takes(void **state)
{
    fixture *f = *state;
    handover over = { .slot = { NULL } };
    pthread_t other;
    assert_int_equal(pthread_create(&other, NULL, finish_and_free, &over), 0);
    for (uint32_t i = 0; i < HANDED;) {
        pen_event *none = NULL, *event = pen_event_new(f->thread);
        while (!atomic_compare_exchange_weak_explicit(&over.slot[i % 2], &none, event,
                                                      memory_order_release, memory_order_relaxed)) {
            none = NULL;
            sched_yield();
        }
        i++;
    }
    pthread_join(other, NULL);
    /* Two slots and one in each hand: the pool never had to grow beyond its first slab. */
    uint32_t free_count = 0;
    pen_event_pool *pool = &f->thread->rma->pool;
    for (pen_event_root *root = pool->free; root != NULL; root = root->next)
        free_count++;
    for (pen_event_root *root = atomic_load(&pool->returned); root != NULL; root = root->next)
        free_count++;
    assert_int_equal(free_count, 255);
}

/* ---- implicit operations --------------------------------------------------------------------- */

static void categories_are_waited_for_apart(void **state)
{
    fixture *f = *state;
    assert_true(pen_nbi_test(f->thread, ~0u));
    pen_op *get = pen_nbi_op(f->thread, PEN_EC_GET), *put = pen_nbi_op(f->thread, PEN_EC_PUT);
    pen_op *rmw = pen_nbi_op(f->thread, PEN_EC_RMW);
    pen_op *ops[] = { get, put, rmw };
    uint32_t bits[] = { PEN_EC_GET, PEN_EC_PUT, PEN_EC_RMW };
    for (unsigned i = 0; i < 3; i++) {
        pen_count_raise(&ops[i]->incomplete, ops[i]->shared);
        for (unsigned j = 0; j < 3; j++)
            assert_int_equal(pen_nbi_test(f->thread, bits[j]), i != j);
        assert_true(pen_nbi_test(f->thread, PEN_EC_LC));
        assert_false(pen_nbi_test(f->thread, ~0u));
        pen_op_done(ops[i]);
    }
    pen_count_raise(&put->source_busy, put->shared);
    assert_false(pen_nbi_test(f->thread, PEN_EC_LC));
    assert_false(pen_nbi_test(f->thread, PEN_EC_PUT)); /* a put includes its source */
    assert_true(pen_nbi_test(f->thread, PEN_EC_GET | PEN_EC_RMW));
    pen_op_source_done(put);
    assert_true(pen_nbi_test(f->thread, ~0u));
}

static void an_access_region_collects_its_operations_in_one_event(void **state)
{
    fixture *f = *state;
    pen_nbi_begin(f->thread);
    pen_op *put = pen_nbi_op(f->thread, PEN_EC_PUT), *get = pen_nbi_op(f->thread, PEN_EC_GET);
    assert_ptr_equal(put, get);
    pen_count_raise(&put->incomplete, put->shared);
    pen_event *event = pen_nbi_end(f->thread);
    assert_true(pen_nbi_test(f->thread, ~0u)); /* not in the implicit set */
    assert_false(pen_event_test(event));
    pen_op_done(put);
    assert_true(pen_event_test(event));
}

static void an_access_region_in_which_everything_is_done_has_no_event(void **state)
{
    fixture *f = *state;
    pen_nbi_begin(f->thread);
    assert_null(pen_nbi_end(f->thread));
    pen_nbi_begin(f->thread);
    pen_op *op = pen_nbi_op(f->thread, PEN_EC_PUT);
    pen_count_raise(&op->incomplete, op->shared);
    pen_op_done(op);
    assert_null(pen_nbi_end(f->thread));
}

static void each_access_region_has_an_event_of_its_own(void **state)
{
    fixture *f = *state;
    pen_event *events[2];
    pen_op *ops[2];
    for (unsigned i = 0; i < 2; i++) {
        pen_nbi_begin(f->thread);
        ops[i] = pen_nbi_op(f->thread, PEN_EC_PUT);
        pen_count_raise(&ops[i]->incomplete, ops[i]->shared);
        events[i] = pen_nbi_end(f->thread);
    }
    pen_op_done(ops[1]);
    assert_true(pen_event_test(events[1]));
    assert_false(pen_event_test(events[0]));
    pen_op_done(ops[0]);
    assert_true(pen_event_test(events[0]));
}

static void begin_twice(void *thread)
{
    pen_nbi_begin(thread);
    pen_nbi_begin(thread);
}

static void wait_inside(void *thread)
{
    pen_nbi_begin(thread);
    pen_nbi_wait(thread, PEN_EC_GET);
}

static void end_alone(void *thread) { (void)pen_nbi_end(thread); }

static void misused_access_regions_end_the_job_with_a_message(void **state)
{
    fixture *f = *state;
    assert_true(ranks_dies(begin_twice, f->thread, f->job, "do not nest"));
    assert_true(ranks_dies(wait_inside, f->thread, f->job, "end the region first"));
    assert_true(ranks_dies(end_alone, f->thread, f->job, "not begun"));
}

int main(void)
{
#define ALONE(test)  cmocka_unit_test_setup_teardown(test, open_alone, close_any)
#define SHARED(test) cmocka_unit_test_setup_teardown(test, open_shared, close_any)
    const struct CMUnitTest tests[] = {
        ALONE(an_event_is_done_when_it_has_been_finished),
        SHARED(an_event_is_done_when_it_has_been_finished),
        ALONE(a_leaf_is_done_before_its_root_and_does_not_free_it),
        ALONE(an_operation_that_ended_while_it_started_has_no_event),
        ALONE(an_empty_array_and_one_of_done_events_are_done),
        ALONE(some_is_one_and_all_is_every_one),
        SHARED(some_is_one_and_all_is_every_one),
        ALONE(a_root_and_its_leaf_may_stand_in_an_array_in_any_order),
        SHARED(a_root_and_its_leaf_may_stand_in_an_array_in_any_order),
        ALONE(a_leaf_goes_with_its_root_even_when_the_link_forgot_its_source),
        ALONE(more_events_live_at_once_than_sixteen_bits_count),
        SHARED(more_events_live_at_once_than_sixteen_bits_count),
        SHARED(synchronising_an_event_twice_is_refused_by_name),
        SHARED(one_thread_may_free_what_another_takes),
        ALONE(categories_are_waited_for_apart),
        ALONE(an_access_region_collects_its_operations_in_one_event),
        ALONE(an_access_region_in_which_everything_is_done_has_no_event),
        ALONE(each_access_region_has_an_event_of_its_own),
        ALONE(misused_access_regions_end_the_job_with_a_message),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
