/* SPDX-License-Identifier: BSD-3-Clause */
/* words.c: operations on words of peers, over an interface that this file plays: which of the
 * card's operations each becomes, and when it ends. */
#include "conduits/portals/portals.h"

#include "portals/play.h"

#include <penstock/types.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { TO = 2, KEY = 77 };

static pen_post post(portals_link *link, const pen_amo *amo, pen_op *op)
{
    return portals_amo.post(&link->base, TO, 16, KEY, amo, op);
}

static uint64_t bits_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static uint64_t low_bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

enum { ATOMIC, FETCH, SWAP };

static void each_operation_has_one_of_the_card(void **state)
{
    (void)state;
    const struct {
        uint32_t type, op;
        uint64_t operand;
        unsigned which;
        ptl_op_t operation;
        ptl_datatype_t card_type;
        uint64_t source;
    } rows[] = {
        { GEX_DT_U64, GEX_OP_ADD, 5, ATOMIC, PTL_SUM, PTL_UINT64_T, 5 },
        { GEX_DT_U64, GEX_OP_FADD, 5, FETCH, PTL_SUM, PTL_UINT64_T, 5 },
        { GEX_DT_I64, GEX_OP_SUB, 5, ATOMIC, PTL_SUM, PTL_INT64_T, -UINT64_C(5) },
        { GEX_DT_I32, GEX_OP_FSUB, 5, FETCH, PTL_SUM, PTL_INT32_T, (uint32_t)-5 },
        { GEX_DT_U32, GEX_OP_INC, 9, ATOMIC, PTL_SUM, PTL_UINT32_T, 1 },
        { GEX_DT_U32, GEX_OP_FDEC, 9, FETCH, PTL_SUM, PTL_UINT32_T, UINT32_MAX },
        { GEX_DT_DBL, GEX_OP_DEC, 9, ATOMIC, PTL_SUM, PTL_DOUBLE, bits_of(-1) },
        { GEX_DT_FLT, GEX_OP_INC, 9, ATOMIC, PTL_SUM, PTL_FLOAT, low_bits_of(1) },
        { GEX_DT_DBL, GEX_OP_SUB, bits_of(3), ATOMIC, PTL_SUM, PTL_DOUBLE, bits_of(-3) },
        { GEX_DT_FLT, GEX_OP_SUB, low_bits_of(3), ATOMIC, PTL_SUM, PTL_FLOAT, low_bits_of(-3) },
        { GEX_DT_DBL, GEX_OP_FMULT, bits_of(3), FETCH, PTL_PROD, PTL_DOUBLE, bits_of(3) },
        { GEX_DT_I64, GEX_OP_MIN, 5, ATOMIC, PTL_MIN, PTL_INT64_T, 5 },
        { GEX_DT_U32, GEX_OP_FMAX, 5, FETCH, PTL_MAX, PTL_UINT32_T, 5 },
        { GEX_DT_I64, GEX_OP_AND, 5, ATOMIC, PTL_BAND, PTL_UINT64_T, 5 },
        { GEX_DT_I32, GEX_OP_FOR, 5, FETCH, PTL_BOR, PTL_UINT32_T, 5 },
        { GEX_DT_U64, GEX_OP_XOR, 5, ATOMIC, PTL_BXOR, PTL_UINT64_T, 5 },
        { GEX_DT_DBL, GEX_OP_GET, 5, FETCH, PTL_BOR, PTL_UINT64_T, 0 },
        { GEX_DT_FLT, GEX_OP_SET, 5, SWAP, PTL_SWAP, PTL_UINT32_T, 5 },
        { GEX_DT_I32, GEX_OP_SWAP, 5, SWAP, PTL_SWAP, PTL_UINT32_T, 5 },
        { GEX_DT_DBL, GEX_OP_CAS, 5, SWAP, PTL_CSWAP, PTL_UINT64_T, 6 },
        { GEX_DT_U32, GEX_OP_FCAS, 5, SWAP, PTL_CSWAP, PTL_UINT32_T, 6 },
    };
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        portals_link link;
        uint64_t old = 0;
        pen_op op = { .incomplete = 1 };
        const pen_amo amo = { .type = rows[i].type,
                              .op = rows[i].op,
                              .operands = { rows[i].operand, 6 },
                              .result = &old };
        link_init(&link);
        assert_true(portals_amo.serves(&link.base, amo.type, amo.op));
        assert_int_equal(post(&link, &amo, &op), PEN_POST_PENDING);
        for (unsigned which = 0; which < 3; which++)
            assert_int_equal(fake.atomics[which], which == rows[i].which);
        assert_int_equal(fake.last_operation, rows[i].operation);
        assert_int_equal(fake.last_type, rows[i].card_type);
        assert_true(fake.sources[0] == rows[i].source);
        assert_int_equal(fake.sources[1], rows[i].operation == PTL_CSWAP ? 5 : 0);
        assert_int_equal(fake.last_key, KEY);
        assert_int_equal(fake.wakes[TO], 1);
        assert_true(rows[i].which != ATOMIC || fake.last_ack == PTL_ACK_REQ);
    }
}

static void the_order_of_floats_is_left_to_messages(void **state)
{
    (void)state;
    portals_link link;
    link_init(&link);
    static const uint32_t floats[] = { GEX_DT_FLT, GEX_DT_DBL };
    static const uint32_t ops[] = { GEX_OP_MIN, GEX_OP_MAX, GEX_OP_FMIN, GEX_OP_FMAX };
    for (unsigned i = 0; i < 8; i++)
        assert_false(portals_amo.serves(&link.base, floats[i / 4], ops[i % 4]));
}

static void an_operation_ends_with_its_answer(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        const bool is_fetching = i / 2 != 0, send_first = i % 2 != 0;
        portals_link link;
        link_init(&link);
        uint64_t old = UINT64_MAX;
        pen_op op = { .source_busy = 9, .incomplete = 1 };
        const pen_amo amo = { .type = GEX_DT_U32,
                              .op = is_fetching ? GEX_OP_FADD : GEX_OP_ADD,
                              .operands = { 1 },
                              .result = &old };
        const ptl_event_kind_t answer = is_fetching ? PTL_EVENT_REPLY : PTL_EVENT_ACK;
        portals_token *token = next_token(&link, PORTALS_MEMORY);
        assert_int_equal(post(&link, &amo, &op), PEN_POST_PENDING);
        token->words[1] = 0x1122334455667788;
        if (send_first)
            end(&link, token, PTL_EVENT_SEND);
        assert_int_equal(op.incomplete, 1);
        end(&link, token, answer);
        assert_int_equal(op.incomplete, 0);
        if (!send_first)
            end(&link, token, PTL_EVENT_SEND);
        assert_int_equal(op.source_busy, 9); /* there is no source */
        assert_ptr_equal(next_token(&link, PORTALS_MEMORY), token);
        uint32_t halves[2];
        memcpy(halves, &old, sizeof old);
        assert_true(is_fetching ? halves[1] == UINT32_MAX && halves[0] != UINT32_MAX
                                : old == UINT64_MAX);
    }
}

static void a_token_of_a_payload_serves_an_operation_next(void **state)
{
    (void)state;
    portals_link link;
    link_init(&link);
    pen_op ops[2] = { { .source_busy = 1, .incomplete = 1, .local = true }, { .incomplete = 1 } };
    portals_token *token = next_token(&link, PORTALS_MEMORY);
    assert_int_equal(portals_rma.put(&link.base, TO, 0, KEY, block_memory, NULL, 8, &ops[0]),
                     PEN_POST_PENDING);
    end(&link, token, PTL_EVENT_SEND);
    end(&link, token, PTL_EVENT_ACK);
    assert_ptr_equal(next_token(&link, PORTALS_MEMORY), token);
    const pen_amo amo = { .type = GEX_DT_U64, .op = GEX_OP_ADD, .operands = { 1 } };
    assert_int_equal(post(&link, &amo, &ops[1]), PEN_POST_PENDING);
    end(&link, token, PTL_EVENT_SEND);
    assert_int_equal(ops[1].incomplete, 1);
    end(&link, token, PTL_EVENT_ACK);
    assert_int_equal(ops[1].incomplete, 0);
}

static void an_old_value_that_nobody_wants_is_not_written(void **state)
{
    (void)state;
    portals_link link;
    link_init(&link);
    uint64_t old = UINT64_MAX;
    pen_op op = { .incomplete = 1 };
    const pen_amo amo = { .type = GEX_DT_U64, .op = GEX_OP_SET, .operands = { 1 }, .result = &old };
    portals_token *token = next_token(&link, PORTALS_MEMORY);
    assert_int_equal(post(&link, &amo, &op), PEN_POST_PENDING);
    end(&link, token, PTL_EVENT_REPLY);
    assert_int_equal(op.incomplete, 0);
    assert_true(old == UINT64_MAX);
}

static void operations_without_a_token_or_room_are_tried_again(void **state)
{
    (void)state;
    portals_link link;
    link_init(&link);
    pen_op op = { .incomplete = 1 };
    const pen_amo amo = { .type = GEX_DT_U64, .op = GEX_OP_ADD, .operands = { 1 } };
    fake.result = PTL_NO_SPACE;
    for (unsigned i = 0; i < 3 * TOKENS; i++)
        assert_int_equal(post(&link, &amo, &op), PEN_POST_AGAIN);
    fake.result = PTL_OK;
    for (unsigned i = 0; i < TOKENS; i++)
        assert_int_equal(post(&link, &amo, &op), PEN_POST_PENDING);
    assert_int_equal(post(&link, &amo, &op), PEN_POST_AGAIN);
    fake.result = PTL_ARG_INVALID;
    link_init(&link);
    fake.result = PTL_ARG_INVALID;
    assert_int_equal(post(&link, &amo, &op), PEN_POST_FAILED);
    assert_int_equal(post(&link, &amo, &op), PEN_POST_FAILED);
    assert_int_equal(fake.atomics[ATOMIC], 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_operation_has_one_of_the_card),
        cmocka_unit_test(the_order_of_floats_is_left_to_messages),
        cmocka_unit_test(an_operation_ends_with_its_answer),
        cmocka_unit_test(a_token_of_a_payload_serves_an_operation_next),
        cmocka_unit_test(an_old_value_that_nobody_wants_is_not_written),
        cmocka_unit_test(operations_without_a_token_or_room_are_tried_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
