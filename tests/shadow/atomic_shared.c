/* SPDX-License-Identifier: BSD-3-Clause */
/* atomic_shared.c: remote atomics on cells that all threads of all ranks change at once. The
 * result of one operation cannot be predicted, but all results together obey algebra: sums, the
 * set of values that an increment fetches, the values swapped in and out, each thread's own bit. */
#include "shadow.h"

#include <inttypes.h>
#include <string.h>

typedef enum shared_cell {
    CELL_SUM,    /* the sum of all that was added */
    CELL_XOR,    /* likewise */
    CELL_COUNT,  /* counts; each number is fetched once */
    CELL_SWAP,   /* all values that were put in come out again, except the last */
    CELL_CAS,    /* counts the compare-and-swaps that succeeded */
    CELL_BITS,   /* each thread has a bit that only it changes */
    CELL_LARGEST /* the extreme of all values that were offered */
} shared_cell;

enum { CELL_STRIDE = 64 };

static gex_AD_t domain;
static uint64_t counted,
    counted_sum; /* for each CELL_COUNT of this rank: progress, and the sum of digests */

static uint64_t my_bit(const worker *w)
{
    return (uint64_t)1 << (shadow.rank * shadow.options.threads + w->index) % 64;
}

/* The values that the thread learns when the operation is done. */
static void shared_check(worker *w, pending *p)
{
    atomic_cells *cells = &w->cells[p->target];
    const uint64_t found = w->results[p - w->pendings];
    switch ((shared_cell)p->cell) {
    case CELL_COUNT:
        cells->shared[CELL_COUNT] += random_mix(found + 1);
        break;
    case CELL_SWAP:
        cells->shared[CELL_SWAP] += random_mix(p->number) - random_mix(found);
        break;
    case CELL_CAS:
        cells->shared[CELL_CAS] += found == p->number;
        cells->last_seen = found == p->number ? found + 1 : found;
        break;
    case CELL_BITS:
        if (((found & my_bit(w)) != 0) != (p->number != 0))
            mismatch(w, p->op,
                     "a bit of an atomic cell on rank %u that only this thread changes: expected "
                     "%d, found %016" PRIx64 " with bit %016" PRIx64,
                     p->target, p->number != 0, found, my_bit(w));
        break;
    default:
        break;
    }
}

/* Draws operation and operands for a cell, and notes the values that are known already. */
typedef struct shared_call {
    gex_OP_t op;
    uint64_t a, b;
    uint64_t number; /* for the check */
} shared_call;

static shared_call draw_bits(worker *w, atomic_cells *cells)
{
    static const gex_OP_t ops[] = { GEX_OP_FOR, GEX_OP_FAND, GEX_OP_FXOR };
    const unsigned which = random_below(&w->random, 3);
    shared_call c = { .op = ops[which], .a = which == 1 ? ~my_bit(w) : my_bit(w) };
    c.number = cells->shared[CELL_BITS] & my_bit(w);
    if (which == 0)
        cells->shared[CELL_BITS] |= my_bit(w);
    else if (which == 1)
        cells->shared[CELL_BITS] &= ~my_bit(w);
    else
        cells->shared[CELL_BITS] ^= my_bit(w);
    return c;
}

static shared_call draw_sum(worker *w, atomic_cells *cells)
{
    static const gex_OP_t ops[] = { GEX_OP_ADD, GEX_OP_FADD, GEX_OP_SUB, GEX_OP_FSUB };
    const unsigned which = random_below(&w->random, 4);
    shared_call c = { .op = ops[which], .a = random_next(&w->random) };
    cells->shared[CELL_SUM] += which < 2 ? c.a : 0 - c.a;
    return c;
}

static shared_call draw_call(worker *w, shared_cell cell, atomic_cells *cells)
{
    uint64_t value = random_next(&w->random);
    switch (cell) {
    case CELL_SUM:
        return draw_sum(w, cells);
    case CELL_XOR:
        cells->shared[CELL_XOR] ^= value;
        return (shared_call){ .op = value % 2 ? GEX_OP_XOR : GEX_OP_FXOR, .a = value };
    case CELL_COUNT:
        cells->increments++;
        return (shared_call){ .op = value % 2 ? GEX_OP_FINC : GEX_OP_FADD, .a = 1 };
    case CELL_SWAP:
        return (shared_call){ .op = GEX_OP_SWAP, .a = value, .number = value };
    case CELL_CAS:
        return (shared_call){ .op = GEX_OP_FCAS,
                              .a = cells->last_seen,
                              .b = cells->last_seen + 1,
                              .number = cells->last_seen };
    case CELL_BITS:
        return draw_bits(w, cells);
    default:
        if (value > cells->shared[CELL_LARGEST])
            cells->shared[CELL_LARGEST] = value;
        return (shared_call){ .op = value % 2 ? GEX_OP_MAX : GEX_OP_FMAX, .a = value };
    }
}

static void shared_one(worker *w, gex_Rank_t target)
{
    shared_cell cell = (shared_cell)random_below(&w->random, CELLS_SHARED);
    atomic_cells *cells = &w->cells[target];
    if (cell == CELL_BITS && cells->bit_busy)
        cell = CELL_SUM; /* one at a time, since operations have no order */
    op_begin(w, target, sizeof(uint64_t));
    shared_call c = draw_call(w, cell, cells);
    bool by_nbi = random_chance(&w->random, 2);
    pending *wait = pending_add(w, by_nbi ? BY_NBI : BY_EVENT);
    wait->category = GEX_EC_RMW;
    wait->check = shared_check;
    wait->number = c.number;
    wait->target = target;
    wait->cell = cell;
    if (cell == CELL_BITS) {
        cells->bit_busy = 1;
        wait->busy = &cells->bit_busy;
    }
    w->unchecked_until_end++;
    uint64_t *result = &w->results[wait - w->pendings];
    void *there = shared_cells_of(target) + (size_t)cell * CELL_STRIDE;
    if (by_nbi) {
        (void)gex_AD_OpNBI_U64(domain, result, target, there, c.op, c.a, c.b, 0);
        return;
    }
    wait->event = gex_AD_OpNB_U64(domain, result, target, there, c.op, c.a, c.b, 0);
    if (wait->event == GEX_EVENT_INVALID)
        pending_done(w, wait);
}

void atomic_shared(worker *w, unsigned most)
{
    burst b = burst_of(w, most, 0, 3);
    for (unsigned i = 0; i < b.count; i++)
        shared_one(w, b.target);
}

/* ---- as the owner ---------------------------------------------------------------------------- */

static uint64_t cell_value(shared_cell cell)
{
    uint64_t value;
    memcpy(&value, shared_cells_of(shadow.rank) + (size_t)cell * CELL_STRIDE, sizeof value);
    return value;
}

static void expect(const char *what, uint64_t found, uint64_t expected)
{
    if (found != expected)
        mismatch_at(shadow.rank, 0, shadow.workers[0].op,
                    "atomic cell of all ranks: %s: expected %016" PRIx64 ", found %016" PRIx64,
                    what, expected, found);
}

static row contributions(void)
{
    row sum = { 0 };
    for (gex_Rank_t from = 0; from < shadow.size; from++)
        for (unsigned thread = 0; thread < shadow.options.threads; thread++) {
            row said;
            row_read(&said, from, thread);
            sum.shared[CELL_SUM] += said.shared[CELL_SUM];
            sum.shared[CELL_XOR] ^= said.shared[CELL_XOR];
            sum.shared[CELL_COUNT] += said.shared[CELL_COUNT];
            sum.shared[CELL_SWAP] += said.shared[CELL_SWAP];
            sum.shared[CELL_CAS] += said.shared[CELL_CAS];
            sum.shared[CELL_BITS] |= said.shared[CELL_BITS];
            sum.increments += said.increments;
            if (said.shared[CELL_LARGEST] > sum.shared[CELL_LARGEST])
                sum.shared[CELL_LARGEST] = said.shared[CELL_LARGEST];
        }
    return sum;
}

void atomics_check_shared(void)
{
    row all = contributions();
    expect("sum", cell_value(CELL_SUM), all.shared[CELL_SUM]);
    expect("exclusive or", cell_value(CELL_XOR), all.shared[CELL_XOR]);
    expect("number of increments", cell_value(CELL_COUNT), all.increments);
    for (; counted < all.increments; counted++)
        counted_sum += random_mix(counted + 1);
    expect("numbers fetched by increments", all.shared[CELL_COUNT], counted_sum);
    expect("values put in, less those fetched", random_mix(cell_value(CELL_SWAP)) - random_mix(0),
           all.shared[CELL_SWAP]);
    expect("number of compare-and-swaps that succeeded", cell_value(CELL_CAS),
           all.shared[CELL_CAS]);
    expect("bits", cell_value(CELL_BITS), all.shared[CELL_BITS]);
    expect("largest", cell_value(CELL_LARGEST), all.shared[CELL_LARGEST]);
}

void atomics_open(void)
{
    atomics_own_open();
    gex_AD_Create(&domain, shadow.world, GEX_DT_U64,
                  GEX_OP_ADD | GEX_OP_FADD | GEX_OP_SUB | GEX_OP_FSUB | GEX_OP_XOR | GEX_OP_FXOR |
                      GEX_OP_FINC | GEX_OP_SWAP | GEX_OP_FCAS | GEX_OP_FOR | GEX_OP_FAND |
                      GEX_OP_MAX | GEX_OP_FMAX,
                  0);
}

void atomics_close(void)
{
    gex_AD_Destroy(domain);
    atomics_own_close();
}
