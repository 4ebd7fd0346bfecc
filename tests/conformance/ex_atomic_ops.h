/* SPDX-License-Identifier: BSD-3-Clause */
/* ex_atomic_ops.h: every operation, type, form and flag of remote atomics against the model; the
 * programs that include it differ in where the target's memory is. */
#ifndef PEN_TESTS_CONFORMANCE_EX_ATOMIC_OPS_H
#define PEN_TESTS_CONFORMANCE_EX_ATOMIC_OPS_H

#include <gasnet.h>
#include <malloc.h>

#include "conformance/check.h"
#include "conformance/ex.h"
#include "conformance/ex_atomic.h"

enum { PEERS_MAX = 3, VALUES = 6 };
#define UNTOUCHED UINT64_C(0xa5a5a5a5a5a5a5a5)

static uint64_t value_of(uint32_t type, unsigned i)
{
    static const double floats[VALUES] = { 0, 1, -2.5, 1000, 0.25, -7 };
    static const uint64_t integers[VALUES] = {
        0, 1, UINT64_MAX, INT64_MAX, UINT64_C(0x8000000080000000), UINT64_C(0x123456789abcdef1)
    };
    uint64_t value = integers[i % VALUES];
    return model_is_float(type)  ? model_float_bits(type, floats[i % VALUES])
           : model_is_wide(type) ? value
                                 : (uint32_t)value;
}

static uint64_t fetch(const atomic_try *like)
{
    atomic_try get = *like;
    get.op = GEX_OP_GET;
    get.form = ATOMIC_NB;
    get.flags = 0;
    return atomic_do(&get, 0);
}

/* One operation, seen through others of the same domain; the words around it stay. */
static void one(atomic_try *try, uint64_t old)
{
    const size_t len = model_len(try->type);
    atomic_try set = *try;
    set.op = GEX_OP_SET;
    set.operands[0] = old;
    set.form = ATOMIC_NB;
    set.flags = 0;
    (void)atomic_do(&set, UNTOUCHED);
    uint64_t wanted = UNTOUCHED;
    if (model_fetches(try->op))
        memcpy(&wanted, &old, len);
    CHECK(atomic_do(try, UNTOUCHED) == wanted,
          "GASNet-EX Atomics: a fetching operation returns the old value, others nothing");
    CHECK(fetch(try) == model_apply(try->type, try->op, old, try->operands),
          "GASNet-EX Atomics: an operation does what it is called");
}

static const gex_Flags_t flags_tried[] = {
    0,
    GEX_FLAG_IMMEDIATE,
    GEX_FLAG_AD_REL,
    GEX_FLAG_AD_ACQ,
    GEX_FLAG_AD_REL | GEX_FLAG_AD_ACQ | GEX_FLAG_IMMEDIATE,
    GEX_FLAG_RANK_IS_JOBRANK,
};
enum { FLAGS_TRIED = sizeof flags_tried / sizeof flags_tried[0] };

/* Everything on this rank's own word of a peer's. */
static void all_of(gex_AD_t domain, uint32_t type, gex_Rank_t peer, char *target)
{
    unsigned turn = (unsigned)check_rank;
    for (unsigned i = 0; i < MODEL_OPS; i++) {
        if (!model_exists(type, model_ops[i]))
            continue;
        for (unsigned form = 0; form < 2 * ATOMIC_FORMS; form++, turn++) {
            atomic_try try = { domain,
                               type,
                               peer,
                               target,
                               model_ops[i],
                               flags_tried[turn % FLAGS_TRIED],
                               { value_of(type, turn / 3), value_of(type, turn / 5) },
                               (int)(form / 2),
                               (int)(form % 2) };
            if (peer == (gex_Rank_t)check_rank)
                try.flags |= GEX_FLAG_AD_MY_RANK | GEX_FLAG_AD_MY_NBRHD;
            one(&try, value_of(type, turn));
            one(&try, try.operands[0]); /* a CAS that swaps */
        }
    }
}

static void queries(void)
{
    gex_AD_t domain = GEX_AD_INVALID;
    int mark;
    gex_AD_Create(&domain, ex_tm, GEX_DT_I64, GEX_OP_ADD | GEX_OP_FCAS, GEX_FLAG_AD_FAVOR_MY_NBRHD);
    CHECK(domain != GEX_AD_INVALID, "GASNet-EX Atomics: a domain is made");
    CHECK(gex_AD_QueryTM(domain) == ex_tm && gex_AD_QueryDT(domain) == GEX_DT_I64 &&
              gex_AD_QueryOps(domain) == (GEX_OP_ADD | GEX_OP_FCAS) &&
              gex_AD_QueryFlags(domain) == GEX_FLAG_AD_FAVOR_MY_NBRHD,
          "GASNet-EX Atomics: a domain knows what it was made with");
    CHECK(gex_AD_QueryCData(domain) == NULL, "GASNet-EX Objects: CData is NULL at first");
    gex_AD_SetCData(domain, &mark);
    CHECK(gex_AD_QueryCData(domain) == &mark, "GASNet-EX Objects: CData is what was set");
    gex_AD_Destroy(domain);
}

/* A destroyed domain gives its memory back; checked where malloc counts. A link that sends frames
 * again keeps some, and memory for them, which belongs to no domain: so the round in which least
 * memory is left counts. */
static void ends(void)
{
#ifdef __GLIBC__
    enum { DOMAINS = 20, ROUNDS = 6, BYTES_LEFT_MAX = 40 * DOMAINS };
    size_t least = SIZE_MAX;
    for (int round = 0; round < ROUNDS; round++) {
        const size_t before = mallinfo2().uordblks;
        for (int i = 0; i < DOMAINS; i++) {
            gex_AD_t domain;
            gex_AD_Create(&domain, ex_tm, GEX_DT_U64, GEX_OP_ADD, 0);
            gex_AD_Destroy(domain);
        }
        const size_t after = mallinfo2().uordblks, left = after > before ? after - before : 0;
        least = left < least ? left : least;
    }
    CHECK(least < BYTES_LEFT_MAX, "GASNet-EX Atomics: gex_AD_Destroy ends a domain");
#endif
}

/* Rank r's words: targets + r * stride, one for each rank that writes there. */
static void all_operations(char *const *targets)
{
    gex_AD_t domains[MODEL_TYPES];
    queries();
    ends();
    for (unsigned i = 0; i < MODEL_TYPES; i++) {
        const uint32_t all = GEX_OP_TO_FETCHING(GEX_OP_AND | GEX_OP_OR | GEX_OP_XOR);
        const uint32_t ops = (1u << 28) - 1 - (1u << 12) - (1u << 13) - (1u << 14);
        const uint32_t bitwise = all | GEX_OP_TO_NONFETCHING(all);
        gex_AD_Create(&domains[i], ex_tm, model_types[i],
                      model_is_float(model_types[i]) ? ops & ~bitwise : ops,
                      i % 2 ? 0 : GEX_FLAG_AD_FAVOR_REMOTE | GEX_FLAG_AD_FAVOR_MY_RANK);
        const unsigned peers = check_size < PEERS_MAX ? (unsigned)check_size : PEERS_MAX;
        for (unsigned step = 0; step < peers; step++) {
            const gex_Rank_t peer = check_next(step);
            all_of(domains[i], model_types[i], peer, targets[peer] + 24 * check_rank);
        }
    }
    ex_barrier();
    for (unsigned i = 0; i < MODEL_TYPES; i++)
        gex_AD_Destroy(domains[i]);
}

#endif
