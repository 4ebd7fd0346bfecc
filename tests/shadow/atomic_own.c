/* SPDX-License-Identifier: BSD-3-Clause */
/* atomic_own.c: remote atomics of every type and operation on cells that one thread owns, so that
 * each result and each final value is known. A cell has one operation under way at a time, because
 * operations have no order among them. */
#include "shadow.h"

#include <inttypes.h>
#include <string.h>

static gex_AD_t domains[CELL_TYPES];
static const uint64_t untouched = 0xA5A5A5A5A5A5A5A5u;

static const gex_OP_t operations[] = {
    GEX_OP_ADD,  GEX_OP_SUB,  GEX_OP_MULT, GEX_OP_MIN,  GEX_OP_MAX,   GEX_OP_INC,  GEX_OP_DEC,
    GEX_OP_SET,  GEX_OP_CAS,  GEX_OP_FADD, GEX_OP_FSUB, GEX_OP_FMULT, GEX_OP_FMIN, GEX_OP_FMAX,
    GEX_OP_FINC, GEX_OP_FDEC, GEX_OP_SWAP, GEX_OP_FCAS, GEX_OP_GET,   GEX_OP_AND,  GEX_OP_OR,
    GEX_OP_XOR,  GEX_OP_FAND, GEX_OP_FOR,  GEX_OP_FXOR
};
enum {
    OPERATIONS = sizeof operations / sizeof *operations,
    OPERATIONS_OF_FLOATS = OPERATIONS - 6,
    FLOATS_FROM = 4 /* first type of floats */
};

/* One call about to be made. */
typedef struct own_call {
    gex_AD_t domain;
    void *result, *there;
    gex_Rank_t target;
    gex_OP_t op;
    gex_Flags_t flags;
    bool by_nbi;
    gex_Event_t event;
    uint64_t a, b;   /* operands, as bytes */
    uint64_t *model; /* likewise */
} own_call;

static bool fetches(gex_OP_t op) { return op >= GEX_OP_FAND; }
static gex_OP_t plain(gex_OP_t op)
{
    return fetches(op) && op != GEX_OP_GET ? GEX_OP_TO_NONFETCHING(op) : op;
}

/* Applies the operation to a value. Integers wrap, so they are computed without sign. Of two zeros
 * of different sign neither is less: the older one stays. */
#define ARITHMETIC(NAME, T, U)                          \
    static T arithmetic_##NAME(gex_OP_t op, T old, T a) \
    {                                                   \
        switch (op) {                                   \
        case GEX_OP_ADD:                                \
            return (T)((U)old + (U)a);                  \
        case GEX_OP_SUB:                                \
            return (T)((U)old - (U)a);                  \
        case GEX_OP_MULT:                               \
            return (T)((U)old * (U)a);                  \
        case GEX_OP_MIN:                                \
            return a < old ? a : old;                   \
        case GEX_OP_MAX:                                \
            return a > old ? a : old;                   \
        case GEX_OP_INC:                                \
            return (T)((U)old + (U)1);                  \
        case GEX_OP_DEC:                                \
            return (T)((U)old - (U)1);                  \
        case GEX_OP_SET:                                \
            return a;                                   \
        default:                                        \
            return old;                                 \
        }                                               \
    }
#define MODEL(NAME, T)                                    \
    static void model_##NAME(own_call *c)                 \
    {                                                     \
        T old, a;                                         \
        memcpy(&old, c->model, sizeof old);               \
        memcpy(&a, &c->a, sizeof a);                      \
        T made = arithmetic_##NAME(plain(c->op), old, a); \
        memcpy(c->model, &made, sizeof made);             \
    }
/* Makes the call. Returns non-zero if it was refused. */
#define CALL(NAME, T)                                                                             \
    static int call_##NAME(own_call *c)                                                           \
    {                                                                                             \
        T a, b;                                                                                   \
        memcpy(&a, &c->a, sizeof a);                                                              \
        memcpy(&b, &c->b, sizeof b);                                                              \
        if (c->by_nbi)                                                                            \
            return gex_AD_OpNBI_##NAME(c->domain, c->result, c->target, c->there, c->op, a, b,    \
                                       c->flags);                                                 \
        c->event =                                                                                \
            gex_AD_OpNB_##NAME(c->domain, c->result, c->target, c->there, c->op, a, b, c->flags); \
        return c->event == GEX_EVENT_NO_OP;                                                       \
    }
#define TYPE(NAME, T, U)   \
    ARITHMETIC(NAME, T, U) \
    MODEL(NAME, T)         \
    CALL(NAME, T)
TYPE(I32, int32_t, uint32_t)
TYPE(U32, uint32_t, uint32_t)
TYPE(I64, int64_t, uint64_t)
TYPE(U64, uint64_t, uint64_t)
TYPE(FLT, float, float)
TYPE(DBL, double, double)

typedef struct cell_type {
    gex_DT_t type;
    size_t len;
    void (*model)(own_call *c);
    int (*call)(own_call *c);
} cell_type;

#define TYPE_ROW(NAME, T) { GEX_DT_##NAME, sizeof(T), model_##NAME, call_##NAME }
static const cell_type types[CELL_TYPES] = { TYPE_ROW(I32, int32_t), TYPE_ROW(U32, uint32_t),
                                             TYPE_ROW(I64, int64_t), TYPE_ROW(U64, uint64_t),
                                             TYPE_ROW(FLT, float),   TYPE_ROW(DBL, double) };

static void model_bits(own_call *c)
{
    const gex_OP_t op = plain(c->op);
    if (op == GEX_OP_AND)
        *c->model &= c->a;
    else if (op == GEX_OP_OR)
        *c->model |= c->a;
    else
        *c->model ^= c->a;
}

/* Compared bit by bit, floats too. */
static void model_cas(own_call *c, size_t len)
{
    if (memcmp(c->model, &c->a, len) == 0)
        memcpy(c->model, &c->b, len);
}

static bool is_bitwise(gex_OP_t op)
{
    return (plain(op) & (GEX_OP_AND | GEX_OP_OR | GEX_OP_XOR)) != 0;
}

/* ---- one operation --------------------------------------------------------------------------- */

static uint64_t draw_operand(worker *w, unsigned type, gex_OP_t op)
{
    uint64_t bytes = random_next(&w->random);
    if (type < FLOATS_FROM)
        return types[type].len == 4 ? (uint32_t)bytes : bytes;
    /* numbers that no operation makes infinite, and often a zero of either sign */
    static const float some[] = { -1.0F, -0.0F, 0.0F, 1.0F };
    const float small = plain(op) == GEX_OP_MULT || bytes % 8 == 0
                            ? some[bytes / 8 % 4]
                            : (float)(bytes % 2001) - 1000.0F;
    const double same = (double)small;
    bytes = 0;
    memcpy(&bytes, types[type].len == 4 ? (const void *)&small : (const void *)&same,
           types[type].len);
    return bytes;
}

static void own_check(worker *w, pending *p)
{
    const uint64_t found = w->results[p - w->pendings];
    if (found != p->number)
        mismatch(w, p->op,
                 "operation %x on an atomic cell of type %u on rank %u: expected the result "
                 "%016" PRIx64 ", found %016" PRIx64,
                 p->operation, p->cell, p->target, p->number, found);
}

static pending *own_pending(worker *w, own_call *c, unsigned type, unsigned char *busy)
{
    static const pending_how hows[] = { BY_EVENT, BY_NBI };
    pending *wait = pending_add(w, hows[c->by_nbi]);
    wait->category = c->op == GEX_OP_SET   ? GEX_EC_PUT
                     : c->op == GEX_OP_GET ? GEX_EC_GET
                                           : GEX_EC_RMW;
    wait->check = own_check;
    wait->busy = busy;
    wait->target = c->target;
    wait->cell = type;
    wait->operation = c->op;
    wait->number = untouched; /* also in bytes that the result does not reach */
    if (fetches(c->op))
        memcpy(&wait->number, c->model, types[type].len);
    c->result = &w->results[wait - w->pendings];
    memcpy(c->result, &untouched, sizeof untouched);
    *busy = 1;
    return wait;
}

/* Finds a cell without an operation under way. */
static unsigned cell_draw(worker *w, gex_Rank_t target, unsigned type)
{
    unsigned cell = random_below(&w->random, CELLS_EACH);
    for (unsigned i = 0; i < CELLS_EACH; i++)
        if (!w->cells[target].busy[type][(cell + i) % CELLS_EACH])
            return (cell + i) % CELLS_EACH;
    pending_finish_all(w);
    return cell;
}

static void own_one(worker *w, gex_Rank_t target)
{
    const unsigned type = random_below(&w->random, CELL_TYPES);
    const unsigned cell = cell_draw(w, target, type);
    atomic_cells *cells = &w->cells[target];
    op_begin(w, target, types[type].len);
    own_call c = { .domain = domains[type], .target = target, .model = &cells->own[type][cell] };
    c.op = operations[random_below(&w->random,
                                   type < FLOATS_FROM ? OPERATIONS : OPERATIONS_OF_FLOATS)];
    c.there = cells_of(target, shadow.rank, w->index) + 8 * ((size_t)type * CELLS_EACH + cell);
    c.a = draw_operand(w, type, c.op);
    c.b = draw_operand(w, type, c.op);
    if (plain(c.op) == GEX_OP_CAS && random_chance(&w->random, 2))
        c.a = *c.model;
    c.by_nbi = random_chance(&w->random, 2);
    static const gex_Flags_t flags[] = { 0, GEX_FLAG_AD_REL, GEX_FLAG_AD_ACQ, GEX_FLAG_IMMEDIATE,
                                         GEX_FLAG_RANK_IS_JOBRANK };
    c.flags = flags[random_below(&w->random, 5)];
    pending *wait = own_pending(w, &c, type, &cells->busy[type][cell]);
    w->unchecked_until_end++;
    for (unsigned polls = 0; types[type].call(&c) != 0;)
        poll_once(&polls);
    if (plain(c.op) == GEX_OP_CAS)
        model_cas(&c, types[type].len);
    else if (is_bitwise(c.op))
        model_bits(&c);
    else
        types[type].model(&c);
    wait->event = c.event;
    if (!c.by_nbi && c.event == GEX_EVENT_INVALID)
        pending_done(w, wait);
}

void atomic_own(worker *w, unsigned most)
{
    burst b = burst_of(w, most, 0, 3);
    for (unsigned i = 0; i < b.count; i++)
        own_one(w, b.target);
}

void atomics_check_own(worker *w)
{
    for (gex_Rank_t target = 0; target < shadow.size; target++) {
        uint64_t found[CELL_TYPES][CELLS_EACH];
        (void)gex_RMA_GetBlocking(shadow.world, found, target,
                                  cells_of(target, shadow.rank, w->index), sizeof found, 0);
        compare(w, w->op, "atomic cells of one thread", found, w->cells[target].own, sizeof found);
    }
}

void atomics_own_open(void)
{
    for (unsigned type = 0; type < CELL_TYPES; type++) {
        gex_OP_t all = 0;
        for (unsigned i = 0; i < (type < FLOATS_FROM ? OPERATIONS : OPERATIONS_OF_FLOATS); i++)
            all |= operations[i];
        gex_AD_Create(&domains[type], shadow.world, types[type].type, all, 0);
    }
}

void atomics_own_close(void)
{
    for (unsigned type = 0; type < CELL_TYPES; type++)
        gex_AD_Destroy(domains[type]);
}
