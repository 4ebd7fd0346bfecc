/* SPDX-License-Identifier: BSD-3-Clause */
/* ex_atomic_contention.h: all ranks, and in PAR all of their threads, work on the same words of
 * rank 0, and the sums prove that no operation was lost or torn: sums of integers and doubles;
 * tickets, each of which is handed out once; bits that are set and cleared in pairs; a list that
 * grows by compare-and-swap; a maximum. SEQ and PARSYNC have one thread at a time, which waits for
 * each operation or for many. */
#ifndef PEN_TESTS_CONFORMANCE_EX_ATOMIC_CONTENTION_H
#define PEN_TESTS_CONFORMANCE_EX_ATOMIC_CONTENTION_H

#include <gasnet.h>

#include "conformance/check.h"
#include "conformance/ex.h"

#include <gasnet_ratomic.h>

enum { ROUNDS = 500, WORKERS_MAX = 8 * CHECK_THREADS, NODES = WORKERS_MAX * ROUNDS };

typedef struct shared_words {
    uint64_t sum, implicit_sum, ticket, bits, head, maximum;
    int32_t narrow, narrow_minimum;
    double fraction;
    float narrow_fraction;
    uint32_t product;         /* odd numbers: order does not matter, and no number is lost */
    uint64_t next[NODES + 1]; /* predecessors of the list's nodes */
    uint64_t taken[NODES];    /* by ticket: 1 + who got it */
} shared_words;

static shared_words *words; /* rank 0's address */
static gex_AD_t u64, i32, u32, dbl, flt;

static uint64_t do_u64(uint64_t *target, gex_OP_t op, uint64_t a, uint64_t b)
{
    uint64_t old = 0;
    gex_Event_Wait(gex_AD_OpNB_U64(u64, &old, 0, target, op, a, b, 0));
    return old;
}

/* Puts a node of this rank in front of the list; the swap proves that no other node came
 * between. */
static void push(uint64_t node)
{
    uint64_t head = do_u64(&words->head, GEX_OP_GET, 0, 0), seen;
    for (;;) {
        gex_Event_Wait(gex_AD_OpNB_U64(u64, NULL, 0, &words->next[node], GEX_OP_SET, head, 0, 0));
        seen = 0;
        gex_Event_Wait(gex_AD_OpNB_U64(u64, &seen, 0, &words->head, GEX_OP_FCAS, head, node,
                                       GEX_FLAG_AD_REL | GEX_FLAG_AD_ACQ));
        if (seen == head)
            return;
        head = seen;
    }
}

static void work(unsigned thread_i)
{
    const unsigned worker = (unsigned)check_rank * CHECK_THREADS + thread_i;
    for (unsigned i = 0; i < ROUNDS; i++) {
        uint64_t ticket = 0;
        gex_Event_Wait(gex_AD_OpNB_U64(u64, &ticket, 0, &words->ticket, GEX_OP_FINC, 0, 0, 0));
        CHECK(ticket < NODES, "GASNet-EX Atomics: no increment is made twice");
        CHECK_EQ(do_u64(&words->taken[ticket], GEX_OP_FADD, 1 + worker, 0), 0,
                 "GASNet-EX Atomics: nobody fetches the same value of a counter twice");
        gex_Event_Wait(gex_AD_OpNB_U64(u64, NULL, 0, &words->sum, GEX_OP_ADD, worker + i, 0, 0));
        gex_AD_OpNBI_U64(u64, NULL, 0, &words->implicit_sum, GEX_OP_SUB, 7, 0, 0);
        gex_AD_OpNBI_U64(u64, NULL, 0, &words->bits, GEX_OP_XOR, UINT64_C(1) << (worker + i) % 64,
                         0, 0);
        gex_AD_OpNBI_U64(u64, NULL, 0, &words->maximum, GEX_OP_MAX, i * 1000 + worker, 0, 0);
        gex_AD_OpNBI_I32(i32, NULL, 0, &words->narrow, GEX_OP_DEC, 0, 0, 0);
        gex_AD_OpNBI_I32(i32, NULL, 0, &words->narrow_minimum, GEX_OP_MIN, -(int32_t)(i + worker),
                         0, 0);
        gex_AD_OpNBI_U32(u32, NULL, 0, &words->product, GEX_OP_MULT, 3 + 2 * (i % 4), 0, 0);
        gex_AD_OpNBI_DBL(dbl, NULL, 0, &words->fraction, GEX_OP_ADD, 0.25, 0, 0);
        gex_AD_OpNBI_FLT(flt, NULL, 0, &words->narrow_fraction, GEX_OP_INC, 0, 0, 0);
        push(1 + (uint64_t)worker * ROUNDS + i);
        if (i % 16 == 0)
            gex_NBI_Wait(GEX_EC_ALL, 0);
    }
    gex_NBI_Wait(GEX_EC_RMW, 0);
}

static void verify_list(uint64_t all)
{
    static char met[NODES + 1];
    uint64_t count = 0;
    for (uint64_t node = words->head; node != 0; node = words->next[node], count++) {
        CHECK(node <= NODES && !met[node], "GASNet-EX Atomics: a list made by FCAS has no loop");
        met[node] = 1;
    }
    CHECK_EQ(count, all, "GASNet-EX Atomics: a list made by FCAS loses no node");
}

/* Rank 0, when all is over: its own loads see it all. */
static void verify(void)
{
    const uint64_t workers = (uint64_t)check_size * CHECK_THREADS, all = workers * ROUNDS;
    uint64_t sum = 0, bits = 0, maximum = 0;
    uint32_t product = 1;
    for (unsigned worker = 0; worker < workers; worker++) {
        for (unsigned i = 0; i < ROUNDS; i++) {
            sum += worker + i;
            bits ^= UINT64_C(1) << (worker + i) % 64;
            product *= 3 + 2 * (i % 4);
            maximum = i * 1000 + worker > maximum ? i * 1000 + worker : maximum;
        }
    }
    CHECK(words->ticket == all && words->sum == sum && words->implicit_sum == 0 - 7 * all &&
              words->bits == bits && words->maximum == maximum && words->product == product,
          "GASNet-EX Atomics: operations on 64-bit words are atomic");
    CHECK(words->narrow == -(int32_t)all &&
              words->narrow_minimum == -(int32_t)(ROUNDS - 1 + workers - 1),
          "GASNet-EX Atomics: operations on 32-bit words are atomic");
    CHECK(words->fraction == 0.25 * (double)all && words->narrow_fraction == (float)all,
          "GASNet-EX Atomics: operations on floats are atomic");
    verify_list(all);
}

static void contend(void)
{
    gex_AD_Create(&u64, ex_tm, GEX_DT_U64,
                  GEX_OP_FADD | GEX_OP_ADD | GEX_OP_SUB | GEX_OP_XOR | GEX_OP_MAX | GEX_OP_FINC |
                      GEX_OP_SET | GEX_OP_GET | GEX_OP_FCAS,
                  0);
    gex_AD_Create(&i32, ex_tm, GEX_DT_I32, GEX_OP_DEC | GEX_OP_MIN, 0);
    gex_AD_Create(&u32, ex_tm, GEX_DT_U32, GEX_OP_MULT, 0);
    gex_AD_Create(&dbl, ex_tm, GEX_DT_DBL, GEX_OP_ADD, 0);
    gex_AD_Create(&flt, ex_tm, GEX_DT_FLT, GEX_OP_INC, 0);
    check_on_threads(work);
    ex_barrier();
    if (check_rank == 0)
        verify();
    gex_AD_Destroy(flt);
    gex_AD_Destroy(dbl);
    gex_AD_Destroy(u32);
    gex_AD_Destroy(i32);
    gex_AD_Destroy(u64);
}

#endif
