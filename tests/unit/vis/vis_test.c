/* SPDX-License-Identifier: BSD-3-Clause */
/* vis_test.c: transfers in pieces of random shape, by every way, checked against a shadow copy,
 * with completion in every form; refused ones; the message to a put's target; what the client may
 * not do.
 */
#include "vis/vis.h"

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
#include "shapes.h"
#include "support/rma_shadow.h"

enum { OUTSTANDING = 6, SEGMENT_LEN = OUTSTANDING * AREA_LEN, ROUNDS = 1500 };

/* ---- random transfers ------------------------------------------------------------------------ */

typedef struct operation {
    pen_event *event;
    char *local, *expected; /* areas; expected: of a get */
} operation;

typedef struct trial {
    rma_shadow shadow;
    operation operations[OUTSTANDING];
    uint32_t count;
} trial;

static void settle(trial *t)
{
    for (uint32_t i = 0; i < t->count; i++)
        pen_event_wait(t->shadow.thread->job, t->operations[i].event, PEN_CALL_EVENT_WAIT);
    pen_nbi_wait(t->shadow.thread, PEN_EC_GET | PEN_EC_PUT | PEN_EC_LC);
    for (uint32_t i = 0; i < t->count; i++) {
        operation *op = &t->operations[i];
        if (op->expected != NULL)
            assert_memory_equal(op->local, op->expected, AREA_LEN);
        free(op->local);
        free(op->expected);
    }
    t->count = 0;
    rma_shadow_compare(&t->shadow);
}

static void start(trial *t, operation *op, const pen_vis_call *call)
{
    pen_event *leaf;
    switch (pick(&t->shadow.world, 4)) {
    case 0:
        assert_int_equal(pen_vis_blocking(t->shadow.thread, call), 0);
        if (call->is_put)
            memset(op->local, 0xdd, AREA_LEN);
        break;
    case 1:
        op->event = pen_vis_nb(t->shadow.thread, call);
        break;
    case 2:
        op->event = pen_vis_nb(t->shadow.thread, call);
        leaf = pen_event_leaf(op->event);
        pen_event_wait(t->shadow.thread->job, leaf, PEN_CALL_EVENT_WAIT);
        if (call->is_put)
            memset(op->local, 0xee, AREA_LEN);
        break;
    default:
        assert_int_equal(pen_vis_nbi(t->shadow.thread, call), 0);
    }
}

static void random_transfer(trial *t)
{
    uint32_t rank = ranks_random(&t->shadow.world, RMA_SHADOW_RANKS);
    size_t stripe = t->count * AREA_LEN;
    operation *op = &t->operations[t->count++];
    shape *s = malloc(sizeof *s); /* gone when the call returns: it is not read again */
    char *remote = t->shadow.world.segments[rank] + stripe;
    const bool is_put = pick(&t->shadow.world, 2) != 0;
    *op = (operation){ .local = malloc(AREA_LEN) };
    for (size_t i = 0; i < AREA_LEN; i++)
        op->local[i] = (char)pick(&t->shadow.world, 256);
    char *dest = is_put ? remote : op->local, *source = is_put ? op->local : remote;
    random_shape(&t->shadow.world, s, dest, source);
    if (is_put) {
        shape_apply(s, t->shadow.copies[rank] + stripe, op->local);
    } else {
        op->expected = malloc(AREA_LEN);
        memcpy(op->expected, op->local, AREA_LEN);
        shape_apply(s, op->expected, t->shadow.copies[rank] + stripe);
    }
    pen_vis_call call = shape_call(s, dest, source);
    call.team = &t->shadow.world.jobs[0].world;
    call.rank = rank;
    call.is_put = is_put;
    start(t, op, &call);
    free(s);
}

static void compare_with_shadow(unsigned seeds, ranks_params params)
{
    params.segment_len = SEGMENT_LEN;
    for (params.seed = 1; params.seed <= seeds; params.seed++) {
        trial *t = calloc(1, sizeof *t);
        rma_shadow_open(&t->shadow, params);
        for (uint32_t i = 0; i < ROUNDS; i++) {
            random_transfer(t);
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
    compare_with_shadow(2, (ranks_params){ .room = 0 });
}

static void by_messages_without_room_memory_ends_up_as_in_a_shadow_copy(void **state)
{
    (void)state;
    compare_with_shadow(
        1, (ranks_params){
               .frame_max = 600, .room = 2, .again_percent = 40, .concurrency = PEN_CONCURRENT });
}

static void by_the_link_memory_ends_up_as_in_a_shadow_copy(void **state)
{
    (void)state;
    compare_with_shadow(2, (ranks_params){ .link_moves = true, .again_percent = 20 });
}

static void by_mapped_memory_memory_ends_up_as_in_a_shadow_copy(void **state)
{
    (void)state;
    compare_with_shadow(4, (ranks_params){ .mapped = true, .same_host = true });
}

static void by_the_kernel_memory_ends_up_as_in_a_shadow_copy(void **state)
{
    (void)state;
    compare_with_shadow(2, (ranks_params){ .everything = true, .same_host = true });
}

/* ---- a fixed transfer ------------------------------------------------------------------------ */

enum { ROWS = 200, ROW_LEN = 16, PITCH = 40 }; /* more pieces than the kernel is given at once */
static const size_t row_counts[] = { ROWS };
static const ptrdiff_t tight[] = { ROW_LEN }, wide[] = { PITCH };

typedef struct pair {
    ranks world;
    pen_job *job;
    pen_thread *thread;
    char *remote, local[ROWS * ROW_LEN];
    pen_vis_call put, get;
} pair;

static void open_pair(pair *p, ranks_params params)
{
    params.size = 2;
    params.seed = 1;
    params.segment_len = SEGMENT_LEN;
    rma_ranks_open(&p->world, &params);
    p->job = &p->world.jobs[0];
    p->thread = &p->job->first_thread;
    p->remote = p->world.segments[1];
    for (size_t i = 0; i < sizeof p->local; i++)
        p->local[i] = (char)(1 + i % 127);
    p->put = (pen_vis_call){ .name = "rows",
                             .team = &p->job->world,
                             .rank = 1,
                             .is_put = true,
                             .shape = PEN_VIS_STRIDED,
                             .dest = { .base = p->remote, .strides = wide },
                             .source = { .base = p->local, .strides = tight },
                             .elem_len = ROW_LEN,
                             .counts = row_counts,
                             .levels = 1 };
    p->get = p->put;
    p->get.is_put = false;
    p->get.dest = p->put.source;
    p->get.source = p->put.dest;
}

static bool rows_arrived(const pair *p)
{
    for (size_t row = 0; row < ROWS; row++)
        if (memcmp(p->remote + row * PITCH, p->local + row * ROW_LEN, ROW_LEN) != 0)
            return false;
    return true;
}

static void mapped_memory_needs_no_event_no_memory_and_no_frame(void **state)
{
    (void)state;
    pair p;
    open_pair(&p, (ranks_params){ .mapped = true, .same_host = true });
    assert_null(pen_vis_nb(p.thread, &p.put));
    assert_null(pen_vis_nb(p.thread, &p.get));
    assert_int_equal(pen_vis_nbi(p.thread, &p.put), 0);
    assert_true(rows_arrived(&p));
    assert_null(p.thread->rma);
    assert_int_equal(p.world.frames_posted, 0);
    assert_int_equal(p.job->counters.put_shm, 2);
    assert_int_equal(p.job->counters.get_shm, 1);
    rma_ranks_close(&p.world);
}

static void mapped_lists_need_no_event_no_memory_and_no_frame(void **state)
{
    (void)state;
    pair p;
    open_pair(&p, (ranks_params){ .mapped = true, .same_host = true });
    void *remote[] = { p.remote + 8, p.remote }, *local[] = { p.local + 100, p.local };
    const gex_Memvec_t remote_vector[] = { { p.remote + 8, 8 }, { p.remote, 8 } };
    const gex_Memvec_t local_vector[] = { { p.local + 100, 1 }, { NULL, 0 }, { p.local, 15 } };
    for (unsigned kind = 0; kind < 2; kind++)
        for (unsigned is_put = 0; is_put < 2; is_put++) {
            pen_vis_side here = { .list = local, .count = 2, .len = 8 };
            pen_vis_side there = { .list = remote, .count = 2, .len = 8 };
            pen_vis_call call = is_put ? p.put : p.get;
            if (kind == PEN_VIS_VECTOR) {
                here = (pen_vis_side){ .vector = local_vector, .count = 3 };
                there = (pen_vis_side){ .vector = remote_vector, .count = 2 };
            }
            call.shape = (pen_vis_shape)kind;
            call.dest = is_put ? there : here;
            call.source = is_put ? here : there;
            assert_null(pen_vis_nb(p.thread, &call));
        }
    assert_null(p.thread->rma);
    assert_int_equal(p.world.frames_posted, 0);
    rma_ranks_close(&p.world);
}

static void the_kernel_is_given_many_pieces_at_once(void **state)
{
    (void)state;
    pair p;
    open_pair(&p, (ranks_params){ .everything = true, .same_host = true });
    assert_null(pen_vis_nb(p.thread, &p.put));
    assert_true(rows_arrived(&p));
    assert_int_equal(p.world.frames_posted, 0);
    assert_int_equal(p.job->counters.put_shm, (ROWS + 63) / 64);
    rma_ranks_close(&p.world);
}

static void a_kernel_that_refuses_is_replaced_by_messages(void **state)
{
    (void)state;
    pair p;
    open_pair(&p, (ranks_params){ .everything = true, .same_host = true });
    atomic_store(&p.job->boot.page->ranks[1].pid, 0x7ffffff0); /* a process that does not exist */
    assert_int_equal(pen_vis_blocking(p.thread, &p.put), 0);
    assert_true(rows_arrived(&p));
    assert_int_equal(p.job->counters.put_net, ROWS);
    rma_ranks_close(&p.world);
}

static void all_pieces_count_in_one_event(void **state)
{
    (void)state;
    pair p;
    open_pair(&p, (ranks_params){ .link_moves = true });
    pen_event *event = pen_vis_nb(p.thread, &p.put);
    assert_non_null(event);
    assert_false(pen_event_test(event));
    assert_true(pen_nbi_test(p.thread, ~0u)); /* no handle is an implicit one */
    pen_event_wait(p.job, event, PEN_CALL_EVENT_WAIT);
    assert_true(rows_arrived(&p));
    rma_ranks_close(&p.world);
}

static void an_access_region_goes_on_after_a_transfer_with_an_event(void **state)
{
    (void)state;
    pair p;
    open_pair(&p, (ranks_params){ .link_moves = true });
    pen_nbi_begin(p.thread);
    assert_int_equal(pen_vis_nbi(p.thread, &p.put), 0);
    pen_event *event = pen_vis_nb(p.thread, &p.get);
    pen_event_wait(p.job, event, PEN_CALL_EVENT_WAIT);
    assert_int_equal(pen_vis_nbi(p.thread, &p.get), 0);
    pen_event *region = pen_nbi_end(p.thread);
    assert_non_null(region);
    assert_true(pen_nbi_test(p.thread, ~0u));
    pen_event_wait(p.job, region, PEN_CALL_EVENT_WAIT);
    assert_true(rows_arrived(&p));
    uint32_t events = 0; /* all of the first slab are back: the region had one */
    for (pen_event_root *root = p.thread->rma->pool.free; root != NULL; root = root->next)
        events++;
    assert_int_equal(events, 255);
    rma_ranks_close(&p.world);
}

static void an_immediate_call_without_room_has_no_effect(void **state)
{
    (void)state;
    for (unsigned way = 0; way < 3; way++) {
        pair p;
        open_pair(&p, (ranks_params){ .link_moves = way == 1, .everything = way == 2 });
        p.world.params.again_percent = 100;
        p.put.flags = p.get.flags = PEN_RMA_IMMEDIATE;
        assert_ptr_equal(pen_vis_nb(p.thread, &p.put), PEN_EVENT_NO_OP);
        assert_ptr_equal(pen_vis_nb(p.thread, &p.get), PEN_EVENT_NO_OP);
        assert_int_not_equal(pen_vis_nbi(p.thread, &p.put), 0);
        assert_int_not_equal(pen_vis_blocking(p.thread, &p.get), 0);
        assert_true(pen_nbi_test(p.thread, ~0u));
        assert_int_equal(p.world.frames_posted, 0);
        assert_int_equal(p.remote[0], 0);
        p.world.params.again_percent = 50; /* later pieces wait for room */
        while (pen_vis_blocking(p.thread, &p.put) != 0) {
        }
        assert_true(rows_arrived(&p));
        rma_ranks_close(&p.world);
    }
}

static void nothing_to_move_is_done_at_any_address(void **state)
{
    (void)state;
    pair p;
    open_pair(&p, (ranks_params){ .frame_max = 0 });
    static const size_t none[] = { 5, 0 };
    static const ptrdiff_t strides[] = { 1, 1 };
    p.put.dest = p.put.source = (pen_vis_side){ .base = (char *)8, .strides = strides };
    p.put.counts = none;
    p.put.levels = 2;
    assert_null(pen_vis_nb(p.thread, &p.put));
    p.put.shape = PEN_VIS_VECTOR;
    p.put.dest = (pen_vis_side){ .vector = &(gex_Memvec_t){ NULL, 0 }, .count = 1 };
    p.put.source = (pen_vis_side){ .count = 0 };
    assert_int_equal(pen_vis_blocking(p.thread, &p.put), 0);
    assert_int_equal(p.world.frames_posted, 0);
    rma_ranks_close(&p.world);
}

/* ---- telling the target ---------------------------------------------------------------------- */

enum { HANDLER = 200 };

static struct {
    const pair *pair;
    unsigned count;
    size_t len;
    char payload[PEN_VIS_PAYLOAD_MAX];
    bool complete; /* when the handler ran, all of the put was there */
} told;

static void handle_arrival(pen_token *token, void *payload, size_t len)
{
    (void)token;
    told.count++;
    told.len = len;
    memcpy(told.payload, payload, len);
    told.complete = rows_arrived(told.pair);
}

static void poll_both(pair *p)
{
    for (unsigned i = 0; i < 100; i++) {
        (void)pen_progress_poll(&p->world.jobs[1].progress);
        (void)pen_progress_poll(&p->job->progress);
    }
}

static void the_target_is_told_once_when_all_has_arrived(void **state)
{
    (void)state;
    for (unsigned form = 0; form < 6; form++) {
        pair p;
        open_pair(&p, (ranks_params){ .link_moves = form % 2, .mapped = form < 2 });
        memset(&told, 0, sizeof told);
        told.pair = &p;
        pen_am_entry entry = { .index = HANDLER, .function = (void (*)(void))handle_arrival };
        assert_int_equal(pen_am_register(&p.world.jobs[1], &p.world.jobs[1].log, &entry, 1),
                         PEN_OK);
        pen_vis_set_peer_completion(p.thread, HANDLER, "arrived", 8);
        assert_int_equal(pen_vis_blocking(p.thread, &p.get), 0); /* not a put */
        for (size_t i = 0; i < sizeof p.local; i++)
            p.local[i] = (char)(1 + i % 127);
        pen_event *event = PEN_EVENT_DONE;
        if (form % 3 == 0)
            event = pen_vis_nb(p.thread, &p.put);
        else if (form % 3 == 1)
            assert_int_equal(pen_vis_nbi(p.thread, &p.put), 0);
        else
            assert_int_equal(pen_vis_blocking(p.thread, &p.put), 0);
        poll_both(&p);
        pen_event_wait(p.job, event, PEN_CALL_EVENT_WAIT);
        assert_int_equal(told.count, 1);
        assert_true(told.complete);
        assert_int_equal(told.len, 8);
        assert_string_equal(told.payload, "arrived");
        assert_int_equal(pen_vis_blocking(p.thread, &p.put), 0);
        poll_both(&p);
        assert_int_equal(told.count, 1);
        rma_ranks_close(&p.world);
    }
}

/* ---- the client's errors --------------------------------------------------------------------- */

static void do_call(void *ctx)
{
    pair *p = ctx;
    (void)pen_vis_blocking(p->thread, &p->put);
}

static void lists_of_different_length_are_named_with_both_lengths(void **state)
{
    (void)state;
    pair p;
    open_pair(&p, (ranks_params){ .mapped = true });
    const gex_Memvec_t dest[] = { { p.remote, 30 }, { p.remote + 50, 20 } };
    const gex_Memvec_t source[] = { { p.local, 49 } };
    p.put.name = "gex_VIS_VectorPutBlocking";
    p.put.shape = PEN_VIS_VECTOR;
    p.put.dest = (pen_vis_side){ .vector = dest, .count = 2 };
    p.put.source = (pen_vis_side){ .vector = source, .count = 1 };
    assert_true(ranks_dies(do_call, &p, p.job,
                           "gex_VIS_VectorPutBlocking: the source is 49 bytes in 1 pieces, the "
                           "destination 50 in 2"));
    rma_ranks_close(&p.world);
}

static void counts_that_overflow_are_refused(void **state)
{
    (void)state;
    pair p;
    open_pair(&p, (ranks_params){ .mapped = true });
    static const size_t counts[] = { (size_t)1 << 40, (size_t)1 << 40 };
    static const ptrdiff_t strides[] = { 0, 0 };
    p.put.dest.strides = p.put.source.strides = strides;
    p.put.counts = counts;
    p.put.levels = 2;
    assert_true(ranks_dies(do_call, &p, p.job, "more bytes than memory"));
    void *places[] = { p.remote };
    p.put.shape = PEN_VIS_INDEXED;
    p.put.dest = p.put.source =
        (pen_vis_side){ .list = places, .count = SIZE_MAX / 2, .len = SIZE_MAX / 2 };
    assert_true(ranks_dies(do_call, &p, p.job, "more bytes than memory"));
    rma_ranks_close(&p.world);
}

static void a_piece_outside_the_segment_ends_the_job(void **state)
{
    (void)state;
    for (unsigned mapped = 0; mapped < 2; mapped++) {
        pair p;
        open_pair(&p, (ranks_params){ .mapped = mapped });
        p.put.dest.base = p.remote + SEGMENT_LEN - (ROWS - 1) * PITCH - ROW_LEN + 1;
        assert_true(ranks_dies(do_call, &p, p.job, "is outside its segment"));
        p.put.dest.base--; /* the last row ends with the segment */
        assert_int_equal(pen_vis_blocking(p.thread, &p.put), 0);
        static const ptrdiff_t down[] = { -PITCH };
        p.put.is_put = false;
        p.put.dest = p.put.source;
        p.put.source = (pen_vis_side){ .base = p.remote + (ROWS - 1) * PITCH - 1, .strides = down };
        assert_true(ranks_dies(do_call, &p, p.job, "is outside its segment"));
        p.put.source.base++; /* the last row begins the segment */
        assert_int_equal(pen_vis_blocking(p.thread, &p.put), 0);
        rma_ranks_close(&p.world);
    }
}

static void a_rank_that_does_not_exist_ends_the_job(void **state)
{
    (void)state;
    pair p;
    open_pair(&p, (ranks_params){ .mapped = true });
    p.put.rank = 2;
    assert_true(ranks_dies(do_call, &p, p.job, "rows: there is no rank 2 in a team of 2"));
    rma_ranks_close(&p.world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_messages_memory_ends_up_as_in_a_shadow_copy),
        cmocka_unit_test(by_messages_without_room_memory_ends_up_as_in_a_shadow_copy),
        cmocka_unit_test(by_the_link_memory_ends_up_as_in_a_shadow_copy),
        cmocka_unit_test(by_mapped_memory_memory_ends_up_as_in_a_shadow_copy),
        cmocka_unit_test(by_the_kernel_memory_ends_up_as_in_a_shadow_copy),
        cmocka_unit_test(mapped_memory_needs_no_event_no_memory_and_no_frame),
        cmocka_unit_test(mapped_lists_need_no_event_no_memory_and_no_frame),
        cmocka_unit_test(the_kernel_is_given_many_pieces_at_once),
        cmocka_unit_test(a_kernel_that_refuses_is_replaced_by_messages),
        cmocka_unit_test(all_pieces_count_in_one_event),
        cmocka_unit_test(an_access_region_goes_on_after_a_transfer_with_an_event),
        cmocka_unit_test(an_immediate_call_without_room_has_no_effect),
        cmocka_unit_test(nothing_to_move_is_done_at_any_address),
        cmocka_unit_test(the_target_is_told_once_when_all_has_arrived),
        cmocka_unit_test(lists_of_different_length_are_named_with_both_lengths),
        cmocka_unit_test(counts_that_overflow_are_refused),
        cmocka_unit_test(a_piece_outside_the_segment_ends_the_job),
        cmocka_unit_test(a_rank_that_does_not_exist_ends_the_job),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
