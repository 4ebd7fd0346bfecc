/* SPDX-License-Identifier: BSD-3-Clause */
/* transfers_test.c: puts, gets and fences of a card that reports as transfers.h describes: what
 * ends when; a card without room; bounce buffers; known memory. */
#include "link/known.h"
#include "link/transfers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { PEERS = 2, BOUNCES = 2, BOUNCE_LEN = 64 };

typedef struct card {
    pen_transfers transfers;
    pen_transfers_ended ended;
    pen_host host;
    int blocks;
    bool is_full;
    unsigned fences, numbers;
    uint64_t address, number, delivered;
    unsigned freed;
    char bounce[BOUNCES * BOUNCE_LEN];
} card;

static void *take_memory(void *ctx, size_t len, size_t align)
{
    card *c = (card *)ctx;
    return c->blocks-- > 0 ? aligned_alloc(align, (len + align - 1) / align * align) : NULL;
}

static void give_memory(void *ctx, void *block)
{
    (void)ctx;
    free(block);
}

static bool post_fence(void *ctx, pen_peer peer, uint64_t address)
{
    card *c = (card *)ctx;
    assert_int_equal(peer, 1);
    c->address = address;
    c->fences += !c->is_full;
    return !c->is_full;
}

static bool post_number(void *ctx, pen_peer peer, uint64_t number)
{
    card *c = (card *)ctx;
    assert_int_equal(peer, 1);
    c->number = number;
    c->numbers += !c->is_full;
    return !c->is_full;
}

static void on_held(void *ctx, pen_peer from, pen_lane lane)
{
    card *c = (card *)ctx;
    assert_int_equal(from, 1);
    assert_int_equal(lane, PEN_LANE_REPLY);
    c->freed++;
}

static void deliver(void *ctx, pen_peer from, pen_lane lane, const void *head, uint32_t head_len,
                    void *body, uint32_t body_len)
{
    card *c = (card *)ctx;
    (void)from, (void)lane, (void)head_len, (void)body, (void)body_len;
    c->delivered = *(const uint64_t *)head;
}

static void card_open(card *c)
{
    *c = (card){ .blocks = 100 };
    c->host =
        (pen_host){ .ctx = c, .alloc = take_memory, .release = give_memory, .deliver = deliver };
    c->transfers = (pen_transfers){ .card = c,
                                    .post_fence = post_fence,
                                    .post_number = post_number,
                                    .on_held = on_held,
                                    .bounce = c->bounce,
                                    .bounce_len = BOUNCE_LEN,
                                    .bounce_free = (1u << BOUNCES) - 1 };
    assert_true(pen_transfers_open(&c->transfers, &c->host, PEERS));
}

/* Counts an operation as the engine does before it posts. */
static pen_op op_of(bool is_local)
{
    return (pen_op){ .source_busy = 1, .incomplete = 1, .local = is_local };
}

static pen_post put(card *c, pen_op *op, uint64_t address, bool is_copied)
{
    static char source[BOUNCE_LEN];
    pen_transfer *transfer = pen_transfers_take(&c->transfers, op, source, sizeof source);
    assert_non_null(transfer);
    return pen_transfers_put(&c->transfers, 1, transfer, PEN_POST_DONE, address, is_copied);
}

/* Reports what has ended; returns how much. */
static unsigned report(card *c)
{
    pen_transfers_post(&c->transfers);
    pen_transfers_sweep(&c->transfers, &c->ended);
    const unsigned count = c->ended.count;
    pen_transfers_report(&c->ended);
    c->ended.count = 0;
    return count;
}

static void a_put_ends_when_its_fence_has_come(void **state)
{
    (void)state;
    card c;
    card_open(&c);
    pen_op first = op_of(false), second = op_of(false);
    assert_false(pen_transfers_has_work(&c.transfers));
    assert_int_equal(put(&c, &first, 0x10, false), PEN_POST_PENDING);
    assert_true(pen_transfers_has_work(&c.transfers));
    assert_int_equal(report(&c), 0);
    assert_int_equal(c.fences, 1);
    assert_true(c.address == 0x10);
    pen_transfers_on_sent(&c.transfers, 1, &c.ended);
    assert_int_equal(report(&c), 1);
    assert_int_equal(first.source_busy, 0);
    assert_int_equal(first.incomplete, 1);
    assert_int_equal(put(&c, &second, 0x20, false), PEN_POST_PENDING);
    assert_int_equal(report(&c), 0); /* one fence at a time */
    assert_int_equal(c.fences, 1);
    pen_transfers_on_got(&c.transfers, 1, &c.ended);
    assert_int_equal(report(&c), 1);
    assert_int_equal(first.incomplete, 0);
    assert_int_equal(second.incomplete, 1); /* its fence is another */
    assert_int_equal(c.fences, 2);
    pen_transfers_on_got(&c.transfers, 1, &c.ended); /* sooner than the source is free */
    assert_int_equal(report(&c), 0);
    pen_transfers_on_sent(&c.transfers, 1, &c.ended);
    assert_int_equal(report(&c) + report(&c), 2);
    assert_int_equal(second.source_busy, 0);
    assert_int_equal(second.incomplete, 0);
    assert_false(pen_transfers_has_work(&c.transfers));
    pen_transfers_close(&c.transfers);
}

static void a_put_that_a_frame_reports_ends_when_its_source_is_free(void **state)
{
    (void)state;
    card c;
    card_open(&c);
    pen_op op = op_of(true);
    assert_int_equal(pen_transfers_number(&c.transfers, 1), 0);
    assert_int_equal(put(&c, &op, 1, true), PEN_POST_DONE); /* the source is in the command */
    assert_int_equal(put(&c, &op, 1, false), PEN_POST_PENDING);
    assert_int_equal(report(&c), 0);
    assert_int_equal(c.fences, 0);
    pen_transfers_on_sent(&c.transfers, 1, &c.ended);
    assert_int_equal(report(&c), 1);
    assert_int_equal(op.incomplete, 0);
    c.is_full = true;
    assert_int_equal(pen_transfers_number(&c.transfers, 1), 1);
    assert_int_equal(pen_transfers_number(&c.transfers, 1), 1); /* no put between */
    assert_int_equal(c.numbers, 0);
    c.is_full = false;
    assert_int_equal(report(&c), 0);
    assert_int_equal(c.numbers, 1);
    assert_true(c.number == 1);
    assert_false(pen_transfers_has_work(&c.transfers));
    pen_transfers_on_number(&c.transfers, 1, 7);
    pen_transfers_on_number(&c.transfers, 1, 5);
    assert_true(c.transfers.peer[1].heard == 7);
    pen_transfers_close(&c.transfers);
}

static void a_full_card_gets_its_fences_later(void **state)
{
    (void)state;
    card c;
    card_open(&c);
    pen_op op = op_of(false);
    c.is_full = true;
    assert_int_equal(put(&c, &op, 1, true), PEN_POST_PENDING);
    assert_int_equal(op.source_busy, 0);
    assert_int_equal(report(&c), 0);
    assert_int_equal(c.fences, 0);
    c.is_full = false;
    assert_int_equal(report(&c), 0);
    assert_int_equal(c.fences, 1);
    pen_transfers_on_got(&c.transfers, 1, &c.ended);
    assert_int_equal(report(&c), 1);
    assert_int_equal(op.incomplete, 0);
    pen_transfers_close(&c.transfers);
}

static void bounced_memory_is_copied_and_its_buffer_returns(void **state)
{
    (void)state;
    card c;
    char to[BOUNCE_LEN];
    card_open(&c);
    pen_op op = op_of(false);
    pen_transfer *got = pen_transfers_take(&c.transfers, &op, to, sizeof to);
    pen_transfer *one = pen_transfers_take(&c.transfers, &op, to, sizeof to);
    pen_transfer *two = pen_transfers_take(&c.transfers, &op, to, sizeof to);
    char *buffer = pen_transfers_bounce(&c.transfers, got);
    assert_non_null(buffer);
    assert_non_null(pen_transfers_bounce(&c.transfers, one));
    assert_null(pen_transfers_bounce(&c.transfers, two));
    assert_int_equal(pen_transfers_get(&c.transfers, 1, one, PEN_POST_AGAIN), PEN_POST_AGAIN);
    assert_non_null(pen_transfers_bounce(&c.transfers, two)); /* it is the one given back */
    assert_int_equal(pen_transfers_put(&c.transfers, 1, two, PEN_POST_FAILED, 1, false),
                     PEN_POST_FAILED);
    assert_int_equal(pen_transfers_get(&c.transfers, 1, got, PEN_POST_DONE), PEN_POST_PENDING);
    memset(buffer, 'x', BOUNCE_LEN);
    memset(to, 0, sizeof to);
    pen_transfers_on_got(&c.transfers, 1, &c.ended);
    assert_memory_equal(to, buffer, sizeof to);
    assert_int_equal(report(&c), 1);
    assert_int_equal(op.incomplete, 0);
    assert_int_equal(c.transfers.bounce_free, (1u << BOUNCES) - 1);
    pen_transfers_on_got(&c.transfers, 1, &c.ended); /* nobody waits for it */
    pen_transfers_on_sent(&c.transfers, 1, &c.ended);
    assert_int_equal(report(&c), 0);
    pen_transfers_close(&c.transfers);
}

static void frames_wait_for_the_puts_before_them(void **state)
{
    (void)state;
    card c;
    pen_lock lock;
    card_open(&c);
    pen_lock_init(&lock, (pen_concurrency){ 0 });
    for (uint64_t number = 2; number > 0; number--) {
        const uint64_t head = 10 + number;
        const pen_frame frame = { .head = &head, .head_len = sizeof head };
        assert_true(pen_transfers_hold(&c.transfers, 1, PEN_LANE_REPLY, &frame, number));
    }
    assert_true(pen_transfers_holds(&c.transfers));
    assert_int_equal(pen_transfers_deliver(&c.transfers, &lock, PEN_LANES_ALL, 9), 0);
    pen_transfers_on_number(&c.transfers, 1, 1);
    assert_int_equal(pen_transfers_deliver(&c.transfers, &lock, PEN_LANE_BIT(PEN_LANE_REQUEST), 9),
                     0);
    assert_int_equal(pen_transfers_deliver(&c.transfers, &lock, PEN_LANES_ALL, 9), 1);
    assert_true(c.delivered == 11);
    assert_int_equal(c.freed, 1);
    pen_transfers_on_number(&c.transfers, 1, 2);
    assert_true(pen_transfers_holds(&c.transfers));
    assert_int_equal(pen_transfers_deliver(&c.transfers, &lock, PEN_LANES_ALL, 9), 1);
    assert_true(c.delivered == 12);
    assert_false(pen_transfers_holds(&c.transfers));
    pen_transfers_close(&c.transfers);
}

static void no_memory_is_reported(void **state)
{
    (void)state;
    card c;
    card_open(&c);
    c.blocks = 0;
    assert_null(pen_transfers_take(&c.transfers, NULL, NULL, 0));
    pen_transfers_close(&c.transfers);
    for (int blocks = 0; blocks < 3; blocks++) {
        c.blocks = blocks;
        assert_false(pen_transfers_open(&c.transfers, &c.host, PEERS));
        pen_transfers_close(&c.transfers);
    }
}

static void known_memory_is_found_by_any_part_of_it(void **state)
{
    (void)state;
    char memory[100] = { 0 };
    size_t offset = 0;
    pen_known low = { .begin = (uintptr_t)memory, .len = 40 },
              high = { .begin = (uintptr_t)memory + 40, .len = 60 }, *list = NULL;
    assert_null(pen_known_find(list, memory, 1, &offset));
    pen_known_add(&list, &low);
    pen_known_add(&list, &high);
    assert_ptr_equal(pen_known_find(list, memory, 40, &offset), &low);
    assert_int_equal(offset, 0);
    assert_ptr_equal(pen_known_find(list, memory + 41, 59, &offset), &high);
    assert_int_equal(offset, 1);
    assert_null(pen_known_find(list, memory + 41, 60, &offset));
    assert_null(pen_known_find(list, memory + 39, 2, &offset)); /* in two pieces */
    pen_known_remove(&list, &low);
    pen_known_remove(&list, &low);
    assert_null(pen_known_find(list, memory, 1, &offset));
    pen_known_remove(&list, &high);
    assert_null(list);
    const uint64_t blob = 0x0123456789abcdef;
    pen_rkey key = 0;
    assert_int_equal(pen_known_import(NULL, 0, &blob, &key), PEN_OK);
    assert_true(key == blob);
    pen_known_release(NULL, 0, key);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_put_ends_when_its_fence_has_come),
        cmocka_unit_test(a_put_that_a_frame_reports_ends_when_its_source_is_free),
        cmocka_unit_test(a_full_card_gets_its_fences_later),
        cmocka_unit_test(bounced_memory_is_copied_and_its_buffer_returns),
        cmocka_unit_test(frames_wait_for_the_puts_before_them),
        cmocka_unit_test(no_memory_is_reported),
        cmocka_unit_test(known_memory_is_found_by_any_part_of_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
