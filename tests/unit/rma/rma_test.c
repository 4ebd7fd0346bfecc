/* SPDX-License-Identifier: BSD-3-Clause */
/* rma_test.c: put, get and set by every way, checked against a shadow copy, with completion
 * reported in every form; what a peer may send instead of an answer; what the client may not do. */
#include "rma/rma.h"

#include "rma/rma_internal.h"
#include "support/rma_ranks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "am/am.h"
#include "support/rma_shadow.h"

enum { SEGMENT_LEN = 40000, LEN_MAX = 9000, ROUNDS = 1500, OUTSTANDING = 8 };

/* ---- random operations ----------------------------------------------------------------------- */

/* An operation under way: a put's source may be scribbled over as soon as the client may. */
typedef struct operation {
    pen_event *event, *leaf;
    char *local;
    char *expected; /* expected result of a get */
    size_t len;
} operation;

typedef struct trial {
    rma_shadow shadow;
    operation operations[OUTSTANDING];
    uint32_t count;
    pen_team *team;
} trial;

static void settle(trial *t)
{
    for (uint32_t i = 0; i < t->count; i++) {
        operation *op = &t->operations[i];
        pen_event_wait(t->shadow.thread->job, op->leaf, PEN_CALL_EVENT_WAIT);
        if (op->leaf != PEN_EVENT_DONE)
            memset(op->local, 0xee, op->len);
        pen_event_wait(t->shadow.thread->job, op->event, PEN_CALL_EVENT_WAIT);
    }
    pen_nbi_wait(t->shadow.thread, PEN_EC_GET | PEN_EC_PUT | PEN_EC_LC);
    for (uint32_t i = 0; i < t->count; i++) {
        operation *op = &t->operations[i];
        if (op->expected != NULL)
            assert_memory_equal(op->local, op->expected, op->len);
        free(op->local);
        free(op->expected);
    }
    t->count = 0;
    rma_shadow_compare(&t->shadow);
}

static void random_put(trial *t, uint32_t rank, size_t offset, size_t len)
{
    operation op = { .local = malloc(len + 1), .len = len };
    char *dest = t->shadow.world.segments[rank] + offset;
    for (size_t i = 0; i < len; i++)
        op.local[i] = (char)ranks_random(&t->shadow.world, 256);
    memcpy(t->shadow.copies[rank] + offset, op.local, len);
    pen_local local = (pen_local)ranks_random(&t->shadow.world, 4);
    switch (ranks_random(&t->shadow.world, 3)) {
    case 0:
        assert_int_equal(pen_rma_put(t->shadow.thread, t->team, rank, dest, op.local, len, 0), 0);
        memset(op.local, 0xdd, len);
        break;
    case 1:
        local = local == PEN_LOCAL_GROUP ? PEN_LOCAL_DEFER : local;
        op.event = pen_rma_put_nb(t->shadow.thread, t->team, rank, dest, op.local, len, local,
                                  &op.leaf, 0);
        break;
    default:
        local = local == PEN_LOCAL_LEAF ? PEN_LOCAL_GROUP : local;
        assert_int_equal(
            pen_rma_put_nbi(t->shadow.thread, t->team, rank, dest, op.local, len, local, 0), 0);
    }
    if (local == PEN_LOCAL_NOW)
        memset(op.local, 0xcc, len);
    t->operations[t->count++] = op;
}

static void random_get(trial *t, uint32_t rank, size_t offset, size_t len)
{
    operation op = { .local = malloc(len + 1), .expected = malloc(len + 1), .len = len };
    char *source = t->shadow.world.segments[rank] + offset;
    memcpy(op.expected, t->shadow.copies[rank] + offset, len);
    switch (ranks_random(&t->shadow.world, 3)) {
    case 0:
        assert_int_equal(pen_rma_get(t->shadow.thread, t->team, op.local, rank, source, len, 0), 0);
        assert_memory_equal(op.local, op.expected, len);
        break;
    case 1:
        op.event = pen_rma_get_nb(t->shadow.thread, t->team, op.local, rank, source, len, 0);
        break;
    default:
        assert_int_equal(pen_rma_get_nbi(t->shadow.thread, t->team, op.local, rank, source, len, 0),
                         0);
    }
    t->operations[t->count++] = op;
}

static void random_set(trial *t, uint32_t rank, size_t offset, size_t len)
{
    operation op = { .len = 0 };
    int value = (int)ranks_random(&t->shadow.world, 256);
    char *dest = t->shadow.world.segments[rank] + offset;
    memset(t->shadow.copies[rank] + offset, value, len);
    if (ranks_random(&t->shadow.world, 2) != 0)
        op.event = pen_rma_set_nb(t->shadow.thread, t->team, rank, dest, value, len);
    else
        assert_int_equal(pen_rma_set_nbi(t->shadow.thread, t->team, rank, dest, value, len), 0);
    t->operations[t->count++] = op;
}

static void random_operation(trial *t)
{
    const size_t stripe_len = SEGMENT_LEN / OUTSTANDING;
    ranks *world = &t->shadow.world;
    uint32_t rank = ranks_random(world, RMA_SHADOW_RANKS);
    size_t start = t->count * stripe_len + ranks_random(world, 64);
    size_t len = ranks_random(world, 4) == 0 ? ranks_random(world, 16)
                                             : ranks_random(world, (uint32_t)stripe_len - 64);
    uint32_t kind = ranks_random(world, 5);
    if (kind < 2)
        random_put(t, rank, start, len);
    else if (kind < 4)
        random_get(t, rank, start, len);
    else
        random_set(t, rank, start, len);
}

/* Rank 0 works on all segments, its own too. Operations in flight together do not overlap:
 * each has a stripe of its own. */
static void compare_with_shadow(unsigned seeds, ranks_params params)
{
    params.segment_len = SEGMENT_LEN;
    for (params.seed = 1; params.seed <= seeds; params.seed++) {
        trial *t = calloc(1, sizeof *t);
        rma_shadow_open(&t->shadow, params);
        t->team = &t->shadow.world.jobs[0].world;
        for (uint32_t i = 0; i < ROUNDS; i++) {
            random_operation(t);
            if (t->count == OUTSTANDING)
                settle(t);
        }
        settle(t);
        rma_shadow_close(&t->shadow);
        free(t);
    }
}

static void by_messages_memory_ends_up_as_in_a_shadow_copy(void **state)
{
    (void)state;
    compare_with_shadow(3, (ranks_params){ .room = 0 });
}

static void by_messages_without_room_memory_ends_up_as_in_a_shadow_copy(void **state)
{
    (void)state;
    compare_with_shadow(3, (ranks_params){ .frame_max = 600, .room = 2, .again_percent = 40 });
}

static void by_messages_with_threads_declared_memory_ends_up_as_in_a_shadow_copy(void **state)
{
    (void)state;
    compare_with_shadow(1, (ranks_params){ .room = 3, .concurrency = PEN_CONCURRENT });
}

static void by_the_link_memory_ends_up_as_in_a_shadow_copy(void **state)
{
    (void)state;
    compare_with_shadow(1, (ranks_params){ .link_moves = true, .again_percent = 20 });
    compare_with_shadow(2,
                        (ranks_params){ .link_moves = true, .move_max = 700, .again_percent = 20 });
}

static void by_mapped_memory_memory_ends_up_as_in_a_shadow_copy(void **state)
{
    (void)state;
    compare_with_shadow(1, (ranks_params){ .mapped = true, .same_host = true });
}

static void by_the_kernel_memory_ends_up_as_in_a_shadow_copy(void **state)
{
    (void)state;
    compare_with_shadow(1, (ranks_params){ .everything = true, .same_host = true });
}

/* ---- each way is taken where it should be ---------------------------------------------------- */

typedef rma_pair pair;

static void open_pair(pair *p, ranks_params params)
{
    params.segment_len = SEGMENT_LEN;
    rma_pair_open(p, params);
}

static void mapped_memory_and_the_kernel_need_no_event_and_no_frame(void **state)
{
    (void)state;
    for (unsigned by_kernel = 0; by_kernel < 2; by_kernel++) {
        pair p;
        uint64_t word = 0x1122334455667788, back = 0;
        open_pair(
            &p, (ranks_params){ .mapped = !by_kernel, .everything = by_kernel, .same_host = true });
        pen_event *leaf = PEN_EVENT_NO_OP;
        assert_null(pen_rma_put_nb(p.thread, &p.job->world, 1, p.remote, &word, 8, PEN_LOCAL_LEAF,
                                   &leaf, 0));
        assert_null(leaf);
        assert_null(pen_rma_get_nb(p.thread, &p.job->world, &back, 1, p.remote, 8, 0));
        assert_true(back == word);
        assert_null(p.thread->rma); /* not even a pool */
        assert_int_equal(p.world.frames_posted, 0);
        assert_int_equal(p.job->counters.put_shm, 1);
        assert_int_equal(p.job->counters.get_shm, 1);
        rma_ranks_close(&p.world);
    }
}

static void a_kernel_that_refuses_is_asked_once_and_messages_serve(void **state)
{
    (void)state;
    pair p;
    uint64_t word = 42;
    open_pair(&p, (ranks_params){ .everything = true, .same_host = true });
    atomic_store(&p.job->boot.page->ranks[1].pid, 0x7ffffff0); /* a process that does not exist */
    assert_int_equal(pen_rma_put(p.thread, &p.job->world, 1, p.remote, &word, 8, 0), 0);
    assert_memory_equal(p.remote, &word, 8);
    assert_int_equal(p.job->counters.put_net, 1);
    assert_true(atomic_load(&p.job->kernel_refuses));
    rma_ranks_close(&p.world);
}

static void nothing_to_move_is_done_at_any_address(void **state)
{
    (void)state;
    pair p;
    open_pair(&p, (ranks_params){ .frame_max = 0 });
    void *anywhere = (void *)8;
    assert_null(pen_rma_put_nb(p.thread, &p.job->world, 1, anywhere, NULL, 0, PEN_LOCAL_DEFER, NULL,
                               PEN_RMA_IMMEDIATE));
    assert_int_equal(pen_rma_get(p.thread, &p.job->world, NULL, 1, anywhere, 0, 0), 0);
    assert_null(pen_rma_set_nb(p.thread, &p.job->world, 1, anywhere, 0, 0));
    assert_int_equal(p.world.frames_posted, 0);
    rma_ranks_close(&p.world);
}

static void an_immediate_call_without_room_has_no_effect(void **state)
{
    (void)state;
    for (unsigned moves = 0; moves < 2; moves++) {
        pair p;
        char local[SEGMENT_LEN] = { 1 };
        open_pair(&p, (ranks_params){ .link_moves = moves });
        p.world.params.again_percent = 100;
        pen_team *team = &p.job->world;
        const uint32_t now = PEN_RMA_IMMEDIATE;
        for (pen_local local_when = PEN_LOCAL_NOW; local_when <= PEN_LOCAL_DEFER; local_when++)
            assert_ptr_equal(pen_rma_put_nb(p.thread, team, 1, p.remote, local, SEGMENT_LEN,
                                            local_when, NULL, now),
                             PEN_EVENT_NO_OP);
        assert_ptr_equal(pen_rma_get_nb(p.thread, team, local, 1, p.remote, 8, now),
                         PEN_EVENT_NO_OP);
        assert_int_not_equal(
            pen_rma_put_nbi(p.thread, team, 1, p.remote, local, 8, PEN_LOCAL_NOW, now), 0);
        assert_int_not_equal(pen_rma_get_nbi(p.thread, team, local, 1, p.remote, 8, now), 0);
        assert_int_not_equal(pen_rma_put(p.thread, team, 1, p.remote, local, 8, now), 0);
        assert_true(pen_nbi_test(p.thread, ~0u));
        uint32_t events = 0; /* all of the first slab are back */
        for (pen_event_root *root = p.thread->rma->pool.free; root != NULL; root = root->next)
            events++;
        assert_int_equal(events, 255);
        assert_int_equal(p.world.frames_posted, 0);
        assert_int_equal(p.remote[0], 0);
        assert_int_equal(p.job->counters.put_net + p.job->counters.get_net, 0);
        p.world.params.again_percent = 0;
        assert_int_equal(pen_rma_put(p.thread, team, 1, p.remote, local, SEGMENT_LEN, now), 0);
        assert_memory_equal(p.remote, local, SEGMENT_LEN);
        rma_ranks_close(&p.world);
    }
}

static void an_access_region_folds_every_operation_in(void **state)
{
    (void)state;
    pair p;
    char local[LEN_MAX], back[LEN_MAX];
    memset(local, 5, sizeof local);
    open_pair(&p, (ranks_params){ .link_moves = true, .move_max = 1000 });
    pen_nbi_begin(p.thread);
    for (pen_local when = PEN_LOCAL_NOW; when <= PEN_LOCAL_GROUP; when++)
        assert_int_equal(
            pen_rma_put_nbi(p.thread, &p.job->world, 1, p.remote, local, LEN_MAX, when, 0), 0);
    pen_event *event = pen_nbi_end(p.thread);
    pen_event_wait(p.job, event, PEN_CALL_EVENT_WAIT);
    assert_memory_equal(p.remote, local, LEN_MAX);
    pen_nbi_begin(p.thread);
    assert_int_equal(pen_rma_get_nbi(p.thread, &p.job->world, back, 1, p.remote, LEN_MAX, 0), 0);
    pen_event_wait(p.job, pen_nbi_end(p.thread), PEN_CALL_EVENT_WAIT);
    assert_memory_equal(back, local, LEN_MAX);
    rma_ranks_close(&p.world);
}

static void a_get_asks_for_a_bounded_number_of_pieces_at_once(void **state)
{
    (void)state;
    pair p;
    char *local = malloc(SEGMENT_LEN);
    open_pair(&p, (ranks_params){ .frame_max = 512 });
    memset(p.remote, 3, SEGMENT_LEN);
    pen_event *event = pen_rma_get_nb(p.thread, &p.job->world, local, 1, p.remote, SEGMENT_LEN, 0);
    assert_int_equal(p.world.frames_posted, p.job->rma->window);
    assert_true(p.job->rma->window < SEGMENT_LEN / 512);
    assert_int_not_equal(atomic_load(&p.job->progress.source_work), 0);
    assert_int_not_equal(atomic_load(&p.job->progress.room_waits), 0);
    pen_event_wait(p.job, event, PEN_CALL_EVENT_WAIT);
    assert_int_equal(atomic_load(&p.job->progress.source_work), 0);
    assert_int_equal(atomic_load(&p.job->progress.room_waits), 0);
    assert_memory_equal(local, p.remote, SEGMENT_LEN);
    free(local);
    rma_ranks_close(&p.world);
}

/* ---- what does not come from a sound peer ---------------------------------------------------- */

static uint64_t dropped(const pen_job *job) { return job->counters.frame_dropped; }

static void answers_that_fit_no_transfer_are_counted_and_dropped(void **state)
{
    (void)state;
    pair p;
    char local[2000], body[600] = { 9 };
    open_pair(&p, (ranks_params){ .frame_max = 600 });
    p.world.params.threads = true; /* only this thread polls, and the request stays
                                    * unanswered */
    pen_event *event = pen_rma_get_nb(p.thread, &p.job->world, local, 1, p.remote, 2000, 0);
    memset(local, 7, sizeof local);
    const int32_t bad[][5] = {
        { 1, 0, 0, 0, 0 },       /* a free number */
        { 1 << 20, 0, 0, 0, 0 }, /* no number */
        { -1, 0, 0, 0, 0 },      /* no number */
        { 0, 1, 0, 0, 0 },       /* another generation */
        { 0, 0, 300, 0, 0 },     /* not where a piece begins */
        { 0, 0, 2400, 0, 0 },    /* beyond the end */
        { 0, 0, 0, 1, 0 },       /* far beyond the end */
        { 0, 0, 0, INT32_MIN, 0 },
    };
    for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++)
        ranks_inject(&p.world, 1, 0, PEN_LANE_REPLY, PEN_AM_INT_GET_DATA, 5, bad[i], body, 600);
    const int32_t good[5] = { 0 };
    ranks_inject(&p.world, 1, 0, PEN_LANE_REPLY, PEN_AM_INT_GET_DATA, 5, good, body, 599);
    ranks_inject(&p.world, 1, 0, PEN_LANE_REPLY, PEN_AM_INT_GET_DATA, 4, good, body, 600);
    ranks_inject(&p.world, 0, 0, PEN_LANE_REPLY, PEN_AM_INT_GET_DATA, 5, good, body, 600);
    ranks_inject(&p.world, 1, 0, PEN_LANE_REPLY, PEN_AM_INT_PUT_DONE, 3, good, NULL, 0);
    ranks_inject(&p.world, 1, 0, PEN_LANE_REPLY, PEN_AM_INT_PUT_DONE, 2, good, NULL, 0);
    while (pen_progress_poll(&p.job->progress) != 0) {
    }
    assert_int_equal(dropped(p.job), sizeof bad / sizeof *bad + 5);
    for (unsigned i = 0; i < sizeof local; i++)
        assert_int_equal(local[i], 7);
    p.world.params.threads = false;
    pen_event_wait(p.job, event, PEN_CALL_EVENT_WAIT);
    assert_memory_equal(local, p.remote, sizeof local);
    /* The same answer again names a transfer that has ended. */
    ranks_inject(&p.world, 1, 0, PEN_LANE_REPLY, PEN_AM_INT_GET_DATA, 5, good, body, 600);
    while (pen_progress_poll(&p.job->progress) != 0) {
    }
    assert_int_equal(dropped(p.job), sizeof bad / sizeof *bad + 6);
    assert_int_equal(local[0], 0);
    rma_ranks_close(&p.world);
}

static void malformed_requests_are_counted_and_dropped(void **state)
{
    (void)state;
    pair p;
    const int32_t args[8] = { 0, 0, 1, 0, 0, 100000, 0, 0 };
    open_pair(&p, (ranks_params){ .frame_max = 512 });
    ranks_inject(&p.world, 0, 1, PEN_LANE_REQUEST, PEN_AM_INT_PUT, 4, args, "x", 1);
    ranks_inject(&p.world, 0, 1, PEN_LANE_REPLY, PEN_AM_INT_PUT, 5, args, "x", 1);
    ranks_inject(&p.world, 0, 1, PEN_LANE_REQUEST, PEN_AM_INT_GET, 8, args, NULL, 0);
    ranks_inject(&p.world, 0, 1, PEN_LANE_REQUEST, PEN_AM_INT_GET, 7, args, NULL, 0);
    ranks_inject(&p.world, 0, 1, PEN_LANE_REQUEST, PEN_AM_INT_MEMSET, 7, args, "x", 1);
    ranks_inject(&p.world, 0, 1, PEN_LANE_REQUEST, PEN_AM_INT_MEMSET, 6, args, NULL, 0);
    p.world.params.threads = true;
    while (pen_progress_poll(&p.peer->progress) != 0) {
    }
    assert_int_equal(dropped(p.peer), 6);
    assert_int_equal(p.remote[0], 0);
    rma_ranks_close(&p.world);
}

/* ---- what a client may not do ---------------------------------------------------------------- */

static void put_outside(void *ctx)
{
    pair *p = ctx;
    char byte = 1;
    (void)pen_rma_put(p->thread, &p->job->world, 1, p->remote + SEGMENT_LEN, &byte, 1, 0);
}

static void get_across_the_end(void *ctx)
{
    pair *p = ctx;
    char bytes[16];
    (void)pen_rma_get(p->thread, &p->job->world, bytes, 1, p->remote + SEGMENT_LEN - 8, 16, 0);
}

static void put_to_nobody(void *ctx)
{
    pair *p = ctx;
    char byte = 1;
    (void)pen_rma_put(p->thread, &p->job->world, 2, p->remote, &byte, 1, 0);
}

static void addresses_outside_the_segment_end_the_job_with_its_bounds(void **state)
{
    (void)state;
    pair p;
    char line[200];
    open_pair(&p, (ranks_params){ .mapped = true });
    (void)snprintf(
        line, sizeof line, "put of 1 bytes at %p of rank 1 is outside its segment [%p, %p)",
        (void *)(p.remote + SEGMENT_LEN), (void *)p.remote, (void *)(p.remote + SEGMENT_LEN));
    assert_true(ranks_dies(put_outside, &p, p.job, line));
    assert_true(ranks_dies(get_across_the_end, &p, p.job, "get of 16 bytes"));
    assert_true(ranks_dies(put_to_nobody, &p, p.job, "no rank 2 in a team of 2"));
    p.job->mem.remote[0][1].len = 0;
    p.job->mapped[0][1].len = 0;
    assert_true(ranks_dies(put_outside, &p, p.job, "has no segment"));
    rma_ranks_close(&p.world);
}

static void what_the_target_refuses_ends_the_initiator_with_a_message(void **state)
{
    (void)state;
    pair p;
    open_pair(&p, (ranks_params){ .frame_max = 512 });
    p.job->mem.remote[0][1].len =
        SEGMENT_LEN + 100; /* as if the peer had published more than it has */
    assert_true(ranks_dies(put_outside, &p, p.job, "put of 1 bytes"));
    assert_true(ranks_dies(get_across_the_end, &p, p.job, "get of 16 bytes"));
    rma_ranks_close(&p.world);
}

static void an_address_that_nobody_has_ends_the_job_with_a_message(void **state)
{
    (void)state;
    pair p;
    open_pair(&p, (ranks_params){ .everything = true, .same_host = true });
    p.remote = (char *)4096;
    assert_true(ranks_dies(put_outside, &p, p.job, "that memory does not exist"));
    rma_ranks_close(&p.world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_messages_memory_ends_up_as_in_a_shadow_copy),
        cmocka_unit_test(by_messages_without_room_memory_ends_up_as_in_a_shadow_copy),
        cmocka_unit_test(by_messages_with_threads_declared_memory_ends_up_as_in_a_shadow_copy),
        cmocka_unit_test(by_the_link_memory_ends_up_as_in_a_shadow_copy),
        cmocka_unit_test(by_mapped_memory_memory_ends_up_as_in_a_shadow_copy),
        cmocka_unit_test(by_the_kernel_memory_ends_up_as_in_a_shadow_copy),
        cmocka_unit_test(mapped_memory_and_the_kernel_need_no_event_and_no_frame),
        cmocka_unit_test(a_kernel_that_refuses_is_asked_once_and_messages_serve),
        cmocka_unit_test(nothing_to_move_is_done_at_any_address),
        cmocka_unit_test(an_immediate_call_without_room_has_no_effect),
        cmocka_unit_test(an_access_region_folds_every_operation_in),
        cmocka_unit_test(a_get_asks_for_a_bounded_number_of_pieces_at_once),
        cmocka_unit_test(answers_that_fit_no_transfer_are_counted_and_dropped),
        cmocka_unit_test(malformed_requests_are_counted_and_dropped),
        cmocka_unit_test(addresses_outside_the_segment_end_the_job_with_its_bounds),
        cmocka_unit_test(what_the_target_refuses_ends_the_initiator_with_a_message),
        cmocka_unit_test(an_address_that_nobody_has_ends_the_job_with_a_message),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
