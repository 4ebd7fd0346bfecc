/* SPDX-License-Identifier: BSD-3-Clause */
/* local.c: the local side of puts and gets over a played interface: descriptors are bound when they
 * have to be, and live as long as the operation. */
#include "conduits/portals/portals.h"

#include "portals/play.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static char far_memory[8192]; /* in no segment */

static pen_post put_from(portals_link *link, const void *local, size_t len, pen_op *op)
{
    return portals_rma.put(&link->base, 1, 0, 77, local, NULL, len, op);
}

static pen_post get_to(portals_link *link, void *local, size_t len, pen_op *op)
{
    return portals_rma.get(&link->base, 1, 0, 77, local, NULL, len, op);
}

/* Checks that the last operation uses this memory through a descriptor that was bound. */
static void expect_bound(const void *local, size_t len)
{
    assert_true(fake.last_md < fake.binds && fake.mds[fake.last_md].is_bound);
    assert_ptr_equal(fake.mds[fake.last_md].start + fake.last_at, local);
    assert_true(fake.last_at + len <= fake.mds[fake.last_md].len);
}

static void a_put_with_all_memory_binds_nothing(void **state)
{
    (void)state;
    portals_link link;
    link_init(&link);
    pen_op op = new_op();
    assert_int_equal(put_from(&link, far_memory, 8, &op), PEN_POST_PENDING);
    assert_int_equal(fake.last_md, MEMORY_MD);
    assert_true(fake.last_at == (uintptr_t)far_memory);
    assert_int_equal(fake.binds, 0);
}

static void a_temporary_registration_ends_with_the_last_event(void **state)
{
    (void)state;
    portals_link link;
    link_init(&link);
    link.way = PORTALS_LOCAL_TEMPORARY;
    pen_op op = new_op(), op2 = new_op();
    portals_token *token = next_token(&link, PORTALS_MEMORY);
    assert_int_equal(put_from(&link, far_memory + 100, 1000, &op), PEN_POST_PENDING);
    expect_bound(far_memory + 100, 1000);
    assert_int_equal(fake.mds[0].len, 1000);
    end(&link, token, PTL_EVENT_ACK);
    assert_int_equal(fake.bound, 1);
    end(&link, token, PTL_EVENT_SEND);
    assert_int_equal(fake.bound, 0);
    token = next_token(&link, PORTALS_MEMORY);
    assert_int_equal(get_to(&link, far_memory, 10, &op2), PEN_POST_PENDING);
    expect_bound(far_memory, 10);
    assert_int_equal(fake.binds, 2);
    end(&link, token, PTL_EVENT_REPLY);
    assert_int_equal(fake.bound, 0);
    assert_int_equal(link.counters->local_registered, 2);
    assert_int_equal(link.counters->local_known, 0);
}

static void a_put_that_is_not_accepted_leaves_nothing_registered(void **state)
{
    (void)state;
    portals_link link;
    link_init(&link);
    link.way = PORTALS_LOCAL_TEMPORARY;
    pen_op op = new_op();
    fake.result = PTL_NO_SPACE;
    for (unsigned i = 0; i < 3 * TOKENS; i++)
        assert_int_equal(put_from(&link, far_memory, 8, &op), PEN_POST_AGAIN);
    assert_int_equal(fake.binds, 3 * TOKENS);
    assert_int_equal(fake.bound, 0);
    fake.result = PTL_OK;
    fake.bind_result = PTL_NO_SPACE; /* the card has no descriptors */
    for (unsigned i = 0; i < 3 * TOKENS; i++)
        assert_int_equal(put_from(&link, far_memory, 8, &op), PEN_POST_AGAIN);
    assert_int_equal(fake.puts, 3 * TOKENS); /* nothing was bound, so nothing was put */
    fake.bind_result = PTL_ARG_INVALID;      /* the card refuses the memory */
    assert_int_equal(put_from(&link, far_memory, 8, &op), PEN_POST_FAILED);
    (void)portals_poll(&link.base, 0, 9);
    assert_int_equal(fake.lost[1], 1);
}

static void a_bounced_put_has_copied_its_source(void **state)
{
    (void)state;
    portals_link link;
    link_init(&link);
    link.way = PORTALS_LOCAL_BOUNCE;
    pen_op op = new_op();
    memset(far_memory, 3, 200);
    const portals_token *token = next_token(&link, PORTALS_MEMORY);
    assert_int_equal(put_from(&link, far_memory, 200, &op), PEN_POST_PENDING);
    memset(far_memory, 4, 200);
    assert_int_equal(fake.last_md, FRAMES_MD);
    assert_ptr_equal(link.buffers + fake.last_at, token->buffer);
    for (unsigned i = 0; i < 200; i++)
        assert_int_equal(token->buffer[i], 3);
    assert_int_equal(fake.binds, 0);
    assert_int_equal(link.counters->local_copied, 1);
}

static void a_bounced_get_is_copied_when_its_reply_comes(void **state)
{
    (void)state;
    portals_link link;
    link_init(&link);
    link.way = PORTALS_LOCAL_BOUNCE;
    pen_op op = new_op();
    memset(far_memory, 1, 201);
    portals_token *token = next_token(&link, PORTALS_MEMORY);
    assert_int_equal(get_to(&link, far_memory, 200, &op), PEN_POST_PENDING);
    assert_ptr_equal(link.buffers + fake.last_at, token->buffer);
    memset(token->buffer, 5, 201);
    assert_int_equal(far_memory[0], 1);
    end(&link, token, PTL_EVENT_REPLY);
    expect_put(&op, 0, 0);
    for (unsigned i = 0; i < 200; i++)
        assert_int_equal(far_memory[i], 5);
    assert_int_equal(far_memory[200], 1);
    /* A put that uses the token next copies nothing back. */
    pen_op op2 = new_op();
    assert_int_equal(put_from(&link, far_memory, 8, &op2), PEN_POST_PENDING);
    memset(token->buffer, 6, 201);
    end(&link, token, PTL_EVENT_ACK);
    end(&link, token, PTL_EVENT_SEND);
    assert_int_equal(far_memory[0], 5);
}

static void segments_are_known_in_every_way(void **state)
{
    (void)state;
    static const portals_local_way ways[] = { PORTALS_LOCAL_TEMPORARY, PORTALS_LOCAL_BOUNCE };
    for (unsigned i = 0; i < 2; i++) {
        portals_link link;
        link_init(&link);
        link.way = ways[i];
        pen_region *region, *region2;
        pen_op ops[4] = { new_op(), new_op(), new_op(), new_op() };
        assert_int_equal(portals_rma.register_region(&link.base, far_memory + 8, 100, &region),
                         PEN_OK);
        assert_int_equal(portals_rma.register_region(&link.base, far_memory + 2000, 50, &region2),
                         PEN_OK);
        static const struct {
            size_t at, len;
            bool is_known;
        } asks[] = { { 8, 100, true },  { 107, 1, true },  { 2001, 49, true }, { 7, 10, false },
                     { 8, 101, false }, { 108, 1, false }, { 1999, 2, false } };
        for (unsigned k = 0; k < sizeof asks / sizeof asks[0]; k++) {
            const uint64_t known = link.counters->local_known;
            portals_token *token = next_token(&link, PORTALS_MEMORY);
            ops[0] = new_op();
            assert_int_equal(put_from(&link, far_memory + asks[k].at, asks[k].len, &ops[0]),
                             PEN_POST_PENDING);
            assert_int_equal(link.counters->local_known, known + asks[k].is_known);
            if (asks[k].is_known)
                expect_bound(far_memory + asks[k].at, asks[k].len);
            end(&link, token, PTL_EVENT_SEND);
            end(&link, token, PTL_EVENT_ACK);
            assert_int_equal(fake.bound, 2);
        }
        portals_rma.deregister_region(&link.base, region);
        assert_int_equal(fake.bound, 1);
        const uint64_t known = link.counters->local_known;
        assert_int_equal(put_from(&link, far_memory + 8, 8, &ops[1]), PEN_POST_PENDING);
        assert_int_equal(link.counters->local_known, known);
        portals_rma.deregister_region(&link.base, region2);
    }
}

static portals_token all_tokens[PEN_LANES * TOKENS + PORTALS_OPS];

/* Opens the firehose with the fewest regions that it allows. */
static void firehose_init(portals_link *link)
{
    link_init(link);
    link->way = PORTALS_LOCAL_FIREHOSE;
    link->config.tokens = TOKENS;
    link->config.firehose.victim_regions = 32;
    link->tokens = all_tokens;
    assert_int_equal(portals_local_open(link, PEN_ALONE, 4096), PTL_OK);
}

static void firehose_end(portals_link *link)
{
    portals_local_close(link);
    assert_int_equal(fake.bound, 0);
}

/* Puts from a page of its own, which need not exist, and ends the put. */
static void put_from_page(portals_link *link, uintptr_t page)
{
    pen_op op = new_op();
    portals_token *token = next_token(link, PORTALS_MEMORY);
    const void *local = (const void *)(0x10000000 + page * 2 * 4096);
    assert_int_equal(put_from(link, local, 100, &op), PEN_POST_PENDING);
    expect_bound(local, 100);
    end(link, token, PTL_EVENT_SEND);
    end(link, token, PTL_EVENT_ACK);
}

static void firehose_registers_a_buffer_once(void **state)
{
    (void)state;
    portals_link link;
    firehose_init(&link);
    for (unsigned i = 0; i < 10; i++)
        put_from_page(&link, i % 2);
    assert_int_equal(fake.binds, 2);
    assert_int_equal(fake.bound, 2);
    assert_int_equal(link.counters->local_registered, 2);
    assert_int_equal(link.counters->local_known, 8);
    /* A put or get of the greatest length fits in one region wherever in a page it begins. */
    const size_t len = link.base.caps.put_max;
    assert_int_equal(link.base.caps.get_max, len);
    pen_op op = new_op();
    const void *local = (const void *)(uintptr_t)0x20000fff;
    portals_token *token = next_token(&link, PORTALS_MEMORY);
    assert_int_equal(put_from(&link, local, len, &op), PEN_POST_PENDING);
    expect_bound(local, len);
    end(&link, token, PTL_EVENT_SEND);
    end(&link, token, PTL_EVENT_ACK);
    firehose_end(&link);
}

static void firehose_keeps_what_an_operation_uses(void **state)
{
    (void)state;
    portals_link link;
    firehose_init(&link);
    pen_op op = new_op();
    portals_token *token = next_token(&link, PORTALS_MEMORY);
    assert_int_equal(get_to(&link, far_memory, 10, &op), PEN_POST_PENDING);
    const ptl_handle_md_t md = fake.last_md;
    for (unsigned i = 0; i < 100; i++) {
        put_from_page(&link, 10 + i);
        assert_true(fake.bound <= 32); /* its limit */
        assert_true(fake.mds[md].is_bound);
    }
    end(&link, token, PTL_EVENT_REPLY);
    for (unsigned i = 0; i < 100; i++)
        put_from_page(&link, 10 + i);
    assert_false(fake.mds[md].is_bound);
    firehose_end(&link);
}

static void firehose_makes_room_if_the_card_has_little(void **state)
{
    (void)state;
    portals_link link;
    firehose_init(&link);
    for (unsigned i = 0; i < 4; i++)
        put_from_page(&link, i);
    pen_op op = new_op();
    fake.bind_result = PTL_NO_SPACE;
    assert_int_equal(put_from(&link, far_memory, 10, &op), PEN_POST_AGAIN);
    assert_int_equal(fake.bound, 0);
    fake.bind_result = PTL_ARG_INVALID;
    assert_int_equal(put_from(&link, far_memory, 10, &op), PEN_POST_FAILED);
    firehose_end(&link);
}

static void operations_of_lost_peers_do_not_keep_the_link_open(void **state)
{
    (void)state;
    portals_link link;
    firehose_init(&link);
    portals_token *token = &all_tokens[PEN_LANES * TOKENS + 7];
    *token = (portals_token){ .kind = PORTALS_MEMORY };
    link.free_tokens[PORTALS_MEMORY] = token;
    pen_op op = new_op();
    assert_int_equal(put_from(&link, far_memory, 10, &op), PEN_POST_PENDING);
    assert_int_equal(fake.bound, 1);
    firehose_end(&link);
}

static void names_of_ways_are_parsed(void **state)
{
    (void)state;
    portals_local_way way = PORTALS_LOCAL_BOUNCE;
    assert_true(portals_local_parse("all", &way) && way == PORTALS_LOCAL_ALL);
    assert_true(portals_local_parse("firehose", &way) && way == PORTALS_LOCAL_FIREHOSE);
    assert_true(portals_local_parse("temporary", &way) && way == PORTALS_LOCAL_TEMPORARY);
    assert_true(portals_local_parse("bounce", &way) && way == PORTALS_LOCAL_BOUNCE);
    assert_false(portals_local_parse("Firehose", &way));
    assert_false(portals_local_parse("", &way));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_put_with_all_memory_binds_nothing),
        cmocka_unit_test(a_temporary_registration_ends_with_the_last_event),
        cmocka_unit_test(a_put_that_is_not_accepted_leaves_nothing_registered),
        cmocka_unit_test(a_bounced_put_has_copied_its_source),
        cmocka_unit_test(a_bounced_get_is_copied_when_its_reply_comes),
        cmocka_unit_test(segments_are_known_in_every_way),
        cmocka_unit_test(firehose_registers_a_buffer_once),
        cmocka_unit_test(firehose_keeps_what_an_operation_uses),
        cmocka_unit_test(firehose_makes_room_if_the_card_has_little),
        cmocka_unit_test(operations_of_lost_peers_do_not_keep_the_link_open),
        cmocka_unit_test(names_of_ways_are_parsed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
