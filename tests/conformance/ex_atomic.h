/* SPDX-License-Identifier: BSD-3-Clause */
/* ex_atomic.h: code that the programs about remote atomics share: domains of each type, and one
 * call for
 * all types and forms, by constants (which headers may do themselves) or not (which the library
 * does). Values are bits, 32-bit ones in the low half. After <gasnet.h>, "check.h" and "ex.h". */
#ifndef PEN_TESTS_CONFORMANCE_EX_ATOMIC_H
#define PEN_TESTS_CONFORMANCE_EX_ATOMIC_H

#include "support/atomic_model.h"

#include <gasnet_ratomic.h>

/* How a call is made and waited for. */
enum { ATOMIC_NB, ATOMIC_NBI, ATOMIC_REGION, ATOMIC_FORMS };

typedef struct atomic_try {
    gex_AD_t domain;
    uint32_t type;
    gex_Rank_t rank;
    void *target;
    gex_OP_t op;
    gex_Flags_t flags;
    uint64_t operands[2];
    int form;
    int constant; /* the operation is known when this is compiled */
} atomic_try;

/* clang-format off */
#define ATOMIC_OPS(X) \
    X(AND) X(OR) X(XOR) X(ADD) X(SUB) X(MULT) X(MIN) \
    X(MAX) X(INC) X(DEC) X(SET) X(CAS) X(FAND) X(FOR) \
    X(FXOR) X(FADD) X(FSUB) X(FMULT) X(FMIN) X(FMAX) X(FINC) \
    X(FDEC) X(SWAP) X(FCAS) X(GET)
/* clang-format on */

#define ATOMIC_CASE(name)                                                                     \
case GEX_OP_##name:                                                                           \
    if (try->form == ATOMIC_NB)                                                               \
        *event = ATOMIC_NB_CALL(try->domain, at, try->rank, try->target, GEX_OP_##name, a, b, \
                                try->flags);                                                  \
    else                                                                                      \
        return ATOMIC_NBI_CALL(try->domain, at, try->rank, try->target, GEX_OP_##name, a, b,  \
                               try->flags);                                                   \
    break;

#define ATOMIC_BEGIN(suffix, c_type)                                                            \
    CHECK_MAYBE_UNUSED static int atomic_begin_##suffix(const atomic_try *try, void *result,    \
                                                        gex_Event_t *event)                     \
    {                                                                                           \
        c_type a, b, *at = (c_type *)result;                                                    \
        memcpy(&a, &try->operands[0], sizeof a);                                                \
        memcpy(&b, &try->operands[1], sizeof b);                                                \
        volatile gex_OP_t any = try->op;                                                        \
        switch (try->constant ? try->op : 0) {                                                  \
            ATOMIC_OPS(ATOMIC_CASE)                                                             \
        default:                                                                                \
            if (try->form != ATOMIC_NB)                                                         \
                return ATOMIC_NBI_CALL(try->domain, at, try->rank, try->target, any, a, b,      \
                                       try->flags);                                             \
            *event =                                                                            \
                ATOMIC_NB_CALL(try->domain, at, try->rank, try->target, any, a, b, try->flags); \
        }                                                                                       \
        return 0;                                                                               \
    }

#define ATOMIC_NB_CALL  gex_AD_OpNB_I32
#define ATOMIC_NBI_CALL gex_AD_OpNBI_I32
ATOMIC_BEGIN(I32, int32_t)
#undef ATOMIC_NB_CALL
#undef ATOMIC_NBI_CALL
#define ATOMIC_NB_CALL  gex_AD_OpNB_U32
#define ATOMIC_NBI_CALL gex_AD_OpNBI_U32
ATOMIC_BEGIN(U32, uint32_t)
#undef ATOMIC_NB_CALL
#undef ATOMIC_NBI_CALL
#define ATOMIC_NB_CALL  gex_AD_OpNB_I64
#define ATOMIC_NBI_CALL gex_AD_OpNBI_I64
ATOMIC_BEGIN(I64, int64_t)
#undef ATOMIC_NB_CALL
#undef ATOMIC_NBI_CALL
#define ATOMIC_NB_CALL  gex_AD_OpNB_U64
#define ATOMIC_NBI_CALL gex_AD_OpNBI_U64
ATOMIC_BEGIN(U64, uint64_t)
#undef ATOMIC_NB_CALL
#undef ATOMIC_NBI_CALL
#define ATOMIC_NB_CALL  gex_AD_OpNB_FLT
#define ATOMIC_NBI_CALL gex_AD_OpNBI_FLT
ATOMIC_BEGIN(FLT, float)
#undef ATOMIC_NB_CALL
#undef ATOMIC_NBI_CALL
#define ATOMIC_NB_CALL  gex_AD_OpNB_DBL
#define ATOMIC_NBI_CALL gex_AD_OpNBI_DBL
ATOMIC_BEGIN(DBL, double)

/* Begins it; non-zero: an immediate one was refused. */
CHECK_MAYBE_UNUSED static int atomic_begin(const atomic_try *try, void *result, gex_Event_t *event)
{
    *event = GEX_EVENT_INVALID;
    switch (try->type) {
    case GEX_DT_I32:
        return atomic_begin_I32(try, result, event);
    case GEX_DT_U32:
        return atomic_begin_U32(try, result, event);
    case GEX_DT_I64:
        return atomic_begin_I64(try, result, event);
    case GEX_DT_U64:
        return atomic_begin_U64(try, result, event);
    case GEX_DT_FLT:
        return atomic_begin_FLT(try, result, event);
    default:
        return atomic_begin_DBL(try, result, event);
    }
}

static gex_EC_t atomic_category(gex_OP_t op)
{
    return op == GEX_OP_SET ? GEX_EC_PUT : op == GEX_OP_GET ? GEX_EC_GET : GEX_EC_RMW;
}

/* Does it; answers the old value when it fetches, else what was in the result's place. Immediate
 * ones are repeated until they are taken. */
CHECK_MAYBE_UNUSED static uint64_t atomic_do(const atomic_try *try, uint64_t result)
{
    gex_Event_t event;
    if (try->form == ATOMIC_REGION)
        gex_NBI_BeginAccessRegion(0);
    while (atomic_begin(try, &result, &event) != 0 || event == GEX_EVENT_NO_OP) {
        CHECK(try->flags & GEX_FLAG_IMMEDIATE, "GASNet-EX Atomics: only IMMEDIATE is refused");
        gasnet_AMPoll();
    }
    if (try->form == ATOMIC_NB)
        gex_Event_Wait(event);
    else if (try->form == ATOMIC_NBI)
        gex_NBI_Wait(atomic_category(try->op), 0);
    else
        gex_Event_Wait(gex_NBI_EndAccessRegion(0));
    return result;
}

#endif
