/* SPDX-License-Identifier: BSD-3-Clause */
/* random_test.c: random puts, gets and atomic operations by several ranks, compared with a model.
 * The target's events tell in which order the operations were carried out; the model repeats them
 * in that order, and predicts memory and replies. The same seed gives the same run.
 *
 *     unit.portals.random [operations] [seed] */
#include "unit/portals/nodes.h"

#include <inttypes.h>
#include <stdio.h>

enum { RANKS = 4, LEN = 512, FLIGHT = 64, DATA = 64 };

typedef enum kind { PUT, GET, ADD, FETCH, SWAP, KINDS } kind;

typedef struct flight {    /* an operation under way */
    bool is_busy, is_done; /* done: the target's event has come */
    kind kind;
    unsigned from, to;
    ptl_size_t offset, length;
    ptl_op_t operation;
    uint32_t operand;
    unsigned char source[DATA], expected[DATA], result[DATA];
} flight;

static unsigned char memory[RANKS][LEN], model[RANKS][LEN];
static flight flights[FLIGHT];
static uint64_t operations = 20000, seed = 1, state, replies;

static unsigned draw(unsigned below)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (unsigned)((state >> 20) % below);
}

static void stop(const char *what, uint64_t done)
{
    (void)fprintf(stderr,
                  "%s after %" PRIu64 " operations; repeat: unit.portals.random %" PRIu64
                  " %" PRIu64 "\n",
                  what, done, operations, seed);
    fail_msg("%s", what);
}

static uint32_t combine(ptl_op_t operation, uint32_t old, uint32_t source)
{
    bool both = old != 0 && source != 0, any = old != 0 || source != 0;
    const uint32_t results[] = {
        [PTL_MIN] = source < old ? source : old,
        [PTL_MAX] = source > old ? source : old,
        [PTL_SUM] = old + source,
        [PTL_PROD] = old * source,
        [PTL_LOR] = any,
        [PTL_LAND] = both,
        [PTL_BOR] = old | source,
        [PTL_BAND] = old & source,
        [PTL_LXOR] = any && !both,
        [PTL_BXOR] = old ^ source,
    };
    return results[operation];
}

static uint32_t swap(ptl_op_t operation, uint32_t old, uint32_t source, uint32_t operand)
{
    const bool swaps[] = { true, operand == old, operand != old, operand <= old,
                           operand<old, operand >= old, operand> old };
    if (operation == PTL_MSWAP)
        return (operand & source) | (~operand & old);
    return swaps[operation - PTL_SWAP] ? source : old;
}

/* Carries the operation out in the model. */
static void repeat(flight *f)
{
    unsigned char *at = model[f->to] + f->offset;
    memcpy(f->expected, at, f->length);
    if (f->kind == PUT)
        memcpy(at, f->source, f->length);
    for (ptl_size_t i = 0; f->kind >= ADD && i < f->length; i += 4) {
        uint32_t old, source;
        memcpy(&old, at + i, 4);
        memcpy(&source, f->source + i, 4);
        old = f->kind == SWAP ? swap(f->operation, old, source, f->operand)
                              : combine(f->operation, old, source);
        memcpy(at + i, &old, 4);
    }
    f->is_done = true;
}

/* Takes an event of the target's side: the model carries the operation out. */
static void take_arrival(unsigned i, const ptl_event_t *event, uint64_t done)
{
    flight *f = &flights[event->match_bits % FLIGHT];
    if (!f->is_busy || f->is_done || f->to != i || event->mlength != f->length)
        stop("the target tells of an operation that nobody made", done);
    repeat(f);
}

static void take_answer(unsigned i, const ptl_event_t *event, uint64_t done)
{
    flight *f = event->user_ptr;
    bool is_reply = event->type == PTL_EVENT_REPLY;
    if (!f->is_busy || !f->is_done || f->from != i || event->mlength != f->length)
        stop("an answer is wrong", done);
    if (is_reply && memcmp(f->result, f->expected, f->length) != 0)
        stop("a reply has wrong data", done);
    replies += is_reply;
    f->is_busy = false;
}

static void take_events(nodes *n, unsigned i, uint64_t done)
{
    ptl_event_t event;
    int result;
    while ((result = PtlEQGet(use(n, i)->eq, &event)) == PTL_OK) {
        if (event.ni_fail_type != PTL_NI_OK)
            stop("an operation failed", done);
        if (event.type == PTL_EVENT_REPLY || event.type == PTL_EVENT_ACK)
            take_answer(i, &event, done);
        else
            take_arrival(i, &event, done);
    }
    assert_int_equal(result, PTL_EQ_EMPTY);
}

static void choose_one(flight *f)
{
    *f = (flight){
        .is_busy = true, .kind = (kind)draw(KINDS), .from = draw(RANKS), .to = draw(RANKS)
    };
    ptl_size_t words = f->kind == SWAP ? 1 : draw(DATA / 4) + 1;
    bool is_atomic = f->kind >= ADD;
    f->length = is_atomic ? 4 * words : draw(DATA + 1);
    f->offset = is_atomic ? 4 * draw(LEN / 4 - (unsigned)words + 1) : draw(LEN - DATA);
    f->operation = (ptl_op_t)(f->kind == SWAP ? PTL_SWAP + draw(8) : draw(10));
    f->operand = draw(8);
    for (unsigned i = 0; i < DATA; i++)
        f->source[i] = (unsigned char)(i % 4 == 0 ? draw(8) : draw(20) == 0);
}

static int send(nodes *n, flight *f, ptl_handle_md_t md)
{
    (void)use(n, f->from);
    ptl_match_bits_t bits = (ptl_match_bits_t)(f - flights);
    ptl_process_t to = n->at[f->to].id;
    ptl_size_t from = (uintptr_t)f->source, into = (uintptr_t)f->result;
    switch (f->kind) {
    case PUT:
        return PtlPut(md, from, f->length, PTL_ACK_REQ, to, 0, bits, f->offset, f, 0);
    case GET:
        return PtlGet(md, into, f->length, to, 0, bits, f->offset, f);
    case ADD:
        return PtlAtomic(md, from, f->length, PTL_ACK_REQ, to, 0, bits, f->offset, f, 0,
                         f->operation, PTL_UINT32_T);
    case FETCH:
        return PtlFetchAtomic(md, into, md, from, f->length, to, 0, bits, f->offset, f, 0,
                              f->operation, PTL_UINT32_T);
    default:
        return PtlSwap(md, into, md, from, f->length, to, 0, bits, f->offset, f, 0, &f->operand,
                       f->operation, PTL_UINT32_T);
    }
}

static void settle(nodes *n, uint64_t done)
{
    bool is_busy = true;
    for (int round = 0; is_busy && round < 100000; round++) {
        is_busy = false;
        for (unsigned i = 0; i < RANKS; i++)
            take_events(n, i, done);
        for (unsigned i = 0; i < FLIGHT; i++)
            is_busy = is_busy || flights[i].is_busy;
    }
    if (is_busy)
        stop("an operation does not end", done);
    if (memcmp(memory, model, sizeof(memory)) != 0)
        stop("memory differs from the model", done);
}

static void random_operations_agree_with_a_model(void **unused)
{
    (void)unused;
    nodes n;
    ptl_handle_md_t mds[RANKS];
    state = seed * UINT64_C(0x9e3779b97f4a7c15) | 1;
    pen_portals_config_default(&n.config);
    n.config.ring_len = 4096;
    nodes_open_with(&n, RANKS, ME_LOGICAL, 0, 4 * FLIGHT, NULL);
    for (unsigned i = 0; i < RANKS; i++) {
        (void)listen_at(&n, i, memory[i], LEN, 0, PTL_PRIORITY_LIST);
        mds[i] = bind(use(&n, i), NULL, PTL_SIZE_MAX, PTL_MD_EVENT_SEND_DISABLE);
    }
    for (uint64_t done = 0; done < operations; done++) {
        flight *f = &flights[draw(FLIGHT)];
        while (f->is_busy)
            take_events(&n, draw(RANKS), done);
        choose_one(f);
        assert_int_equal(send(&n, f, mds[f->from]), PTL_OK);
        if (draw(4) == 0)
            take_events(&n, draw(RANKS), done);
        if (draw(200) == 0)
            settle(&n, done);
    }
    settle(&n, operations);
    assert_true(replies > operations / 3); /* three kinds of five have a reply */
    nodes_close(&n);
}

int main(int argc, char **argv)
{
    if (argc > 1)
        operations = strtoull(argv[1], NULL, 10);
    if (argc > 2)
        seed = strtoull(argv[2], NULL, 10);
    const struct CMUnitTest tests[] = { cmocka_unit_test(random_operations_agree_with_a_model) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
