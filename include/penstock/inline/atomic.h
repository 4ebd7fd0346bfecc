/* SPDX-License-Identifier: BSD-3-Clause */
/* Bodies of <penstock/atomic.h>. If the target is mapped here and the operation is known when the
 * client is compiled, the operation is one instruction of the CPU, or a short loop around one. The
 * library uses the same instructions, so all operations are atomic to one another. All further
 * calls go to the library: for peers elsewhere, operations whose inline code would be too large,
 * and flags with a meaning. If the library checks calls, it publishes nothing as mapped and so
 * receives all calls.
 *
 * Values are passed as bits; 32-bit types use the low half. Type and operation are constants
 * wherever inline code runs, so the client's code contains one of the cases. */
#ifndef PENSTOCK_INLINE_ATOMIC_H
#define PENSTOCK_INLINE_ATOMIC_H

#include <penstock/atomic.h>

#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The client declares its words with its own type. */
typedef uint32_t __attribute__((__may_alias__)) pen_atomic_word32;
typedef uint64_t __attribute__((__may_alias__)) pen_atomic_word64;

typedef struct pen_atomic_operands {
    uint64_t op1, op2;
} pen_atomic_operands;

#define PEN_ATOMIC_INLINE_MOVES (GEX_OP_SET | GEX_OP_CAS | GEX_OP_GET | GEX_OP_SWAP | GEX_OP_FCAS)
#define PEN_ATOMIC_INLINE_SUMS  (GEX_OP_ADD | GEX_OP_SUB | GEX_OP_INC | GEX_OP_DEC)
#define PEN_ATOMIC_INLINE_BITS  (GEX_OP_AND | GEX_OP_OR | GEX_OP_XOR)
#define PEN_ATOMIC_INLINE_FLOATS \
    (PEN_ATOMIC_INLINE_MOVES | GEX_OP_ADD | GEX_OP_SUB | GEX_OP_FADD | GEX_OP_FSUB)
#define PEN_ATOMIC_INLINE_INTEGERS                                               \
    (PEN_ATOMIC_INLINE_MOVES | PEN_ATOMIC_INLINE_SUMS | PEN_ATOMIC_INLINE_BITS | \
     GEX_OP_TO_FETCHING(PEN_ATOMIC_INLINE_SUMS | PEN_ATOMIC_INLINE_BITS))

/* A compare-and-swap that fails stores nothing, and so may not release. On x86 it is a barrier in
 * both cases. */
#if defined(__x86_64__) || defined(__i386__)
#    define PEN_ATOMIC_CAS_RELEASES 1
#else
#    define PEN_ATOMIC_CAS_RELEASES 0
#endif

static __inline__ void pen_atomic_release(gex_OP_t op, gex_Flags_t flags)
{
    if (!PEN_ATOMIC_CAS_RELEASES && (op & (GEX_OP_CAS | GEX_OP_FCAS)) != 0 &&
        (flags & GEX_FLAG_AD_REL) != 0)
        __sync_synchronize();
}

/* Whether inline code can perform the operation, and the local address of the target. Every
 * operation is acquire and release, except that a load is only acquire and a store only release.
 * Calls whose flags ask for more go to the library. */
static __inline__ int pen_atomic_mapped(gex_AD_t domain, gex_Rank_t rank, const void *target,
                                        size_t len, gex_OP_t op, gex_Flags_t flags, void **alias)
{
    const pen_atomic_view *view = (const pen_atomic_view *)(const void *)domain;
    const gex_Flags_t order = op == GEX_OP_SET   ? GEX_FLAG_AD_REL
                              : op == GEX_OP_GET ? GEX_FLAG_AD_ACQ
                                                 : GEX_FLAG_AD_REL | GEX_FLAG_AD_ACQ;
    return PEN_LIKELY(((uintptr_t)target & (len - 1)) == 0) &&
           pen_rma_mapped(view->team, rank, target, len,
                          flags & ~(order | GEX_FLAG_AD_MY_RANK | GEX_FLAG_AD_MY_NBRHD), alias);
}

/* ---- words of either width ------------------------------------------------------------------- */

/* All operations but load and store are acq_rel, a failing comparison acquire: see
 * pen_atomic_mapped. They pair with one another, on any rank that reaches this memory. */

static __inline__ uint64_t pen_atomic_load(const void *at, int wide)
{
    return wide ? __atomic_load_n((const pen_atomic_word64 *)at, __ATOMIC_ACQUIRE)
                : __atomic_load_n((const pen_atomic_word32 *)at, __ATOMIC_ACQUIRE);
}

static __inline__ void pen_atomic_store(void *at, int wide, uint64_t value)
{
    if (wide)
        __atomic_store_n((pen_atomic_word64 *)at, value, __ATOMIC_RELEASE);
    else
        __atomic_store_n((pen_atomic_word32 *)at, (uint32_t)value, __ATOMIC_RELEASE);
}

static __inline__ uint64_t pen_atomic_swap(void *at, int wide, uint64_t value)
{
    return wide ? __atomic_exchange_n((pen_atomic_word64 *)at, value, __ATOMIC_ACQ_REL)
                : __atomic_exchange_n((pen_atomic_word32 *)at, (uint32_t)value, __ATOMIC_ACQ_REL);
}

/* Returns non-zero if it swapped. *expected becomes the old value. */
static __inline__ int pen_atomic_cas(void *at, int wide, uint64_t *expected, uint64_t desired)
{
    uint32_t seen = (uint32_t)*expected;
    int swapped;
    if (wide)
        return __atomic_compare_exchange_n((pen_atomic_word64 *)at, expected, desired, 0,
                                           __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
    swapped = __atomic_compare_exchange_n((pen_atomic_word32 *)at, &seen, (uint32_t)desired, 0,
                                          __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
    *expected = seen;
    return swapped;
}

/* ---- operations: each answers the old value -------------------------------------------------- */

/* for PEN_ATOMIC_INLINE_MOVES */
static __inline__ uint64_t pen_atomic_move(void *at, int wide, gex_OP_t op,
                                           pen_atomic_operands operands)
{
    uint64_t old = operands.op1;
    switch (op) {
    case GEX_OP_GET:
        return pen_atomic_load(at, wide);
    case GEX_OP_SET:
        pen_atomic_store(at, wide, operands.op1);
        return old;
    case GEX_OP_SWAP:
        return pen_atomic_swap(at, wide, operands.op1);
    default:
        (void)pen_atomic_cas(at, wide, &old, operands.op2);
        return old;
    }
}

/* for PEN_ATOMIC_INLINE_SUMS, fetching or not */
static __inline__ uint64_t pen_atomic_sum(void *at, int wide, gex_OP_t op, uint64_t op1)
{
    const gex_OP_t less = GEX_OP_SUB | GEX_OP_DEC, one = GEX_OP_INC | GEX_OP_DEC;
    const uint64_t by = (op & (one | GEX_OP_TO_FETCHING(one))) != 0 ? 1 : op1;
    if ((op & (less | GEX_OP_TO_FETCHING(less))) != 0)
        return wide ? __atomic_fetch_sub((pen_atomic_word64 *)at, by, __ATOMIC_ACQ_REL)
                    : __atomic_fetch_sub((pen_atomic_word32 *)at, (uint32_t)by, __ATOMIC_ACQ_REL);
    return wide ? __atomic_fetch_add((pen_atomic_word64 *)at, by, __ATOMIC_ACQ_REL)
                : __atomic_fetch_add((pen_atomic_word32 *)at, (uint32_t)by, __ATOMIC_ACQ_REL);
}

/* for PEN_ATOMIC_INLINE_BITS, fetching or not */
static __inline__ uint64_t pen_atomic_bits(void *at, int wide, gex_OP_t op, uint64_t op1)
{
    switch (op) {
    case GEX_OP_AND:
    case GEX_OP_FAND:
        return wide ? __atomic_fetch_and((pen_atomic_word64 *)at, op1, __ATOMIC_ACQ_REL)
                    : __atomic_fetch_and((pen_atomic_word32 *)at, (uint32_t)op1, __ATOMIC_ACQ_REL);
    case GEX_OP_OR:
    case GEX_OP_FOR:
        return wide ? __atomic_fetch_or((pen_atomic_word64 *)at, op1, __ATOMIC_ACQ_REL)
                    : __atomic_fetch_or((pen_atomic_word32 *)at, (uint32_t)op1, __ATOMIC_ACQ_REL);
    default:
        return wide ? __atomic_fetch_xor((pen_atomic_word64 *)at, op1, __ATOMIC_ACQ_REL)
                    : __atomic_fetch_xor((pen_atomic_word32 *)at, (uint32_t)op1, __ATOMIC_ACQ_REL);
    }
}

static __inline__ uint64_t pen_atomic_of_float(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static __inline__ uint64_t pen_atomic_of_double(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static __inline__ float pen_atomic_to_float(uint64_t bits)
{
    const uint32_t low = (uint32_t)bits;
    float value;
    memcpy(&value, &low, sizeof value);
    return value;
}

static __inline__ double pen_atomic_to_double(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* for PEN_ATOMIC_INLINE_FLOATS, operations that add */
static __inline__ uint64_t pen_atomic_sum_float(void *at, int wide, gex_OP_t op, uint64_t op1)
{
    const int less = (op & (GEX_OP_SUB | GEX_OP_FSUB)) != 0;
    uint64_t old = pen_atomic_load(at, wide), sum;
    do {
        if (wide) {
            const double left = pen_atomic_to_double(old), right = pen_atomic_to_double(op1);
            sum = pen_atomic_of_double(less ? left - right : left + right);
        } else {
            const float left = pen_atomic_to_float(old), right = pen_atomic_to_float(op1);
            sum = pen_atomic_of_float(less ? left - right : left + right);
        }
    } while (!pen_atomic_cas(at, wide, &old, sum));
    return old;
}

/* ---- the calls ------------------------------------------------------------------------------- */

static __inline__ void pen_atomic_answer(void *result, int wide, uint64_t old)
{
    const uint32_t low = (uint32_t)old;
    if (wide)
        memcpy(result, &old, sizeof old);
    else
        memcpy(result, &low, sizeof low);
}

/* Performs an operation that inline code supports. Returns 0 if the library must do it. */
static __inline__ int pen_atomic_try(gex_AD_t domain, gex_DT_t type, void *result, gex_Rank_t rank,
                                     void *target, gex_OP_t op, pen_atomic_operands operands,
                                     gex_Flags_t flags)
{
    const gex_OP_t bits = PEN_ATOMIC_INLINE_BITS | GEX_OP_TO_FETCHING(PEN_ATOMIC_INLINE_BITS);
    const int is_float = (type & (GEX_DT_FLT | GEX_DT_DBL)) != 0;
    const int wide = (type & (GEX_DT_I64 | GEX_DT_U64 | GEX_DT_DBL)) != 0;
    const gex_OP_t ops = is_float ? PEN_ATOMIC_INLINE_FLOATS : PEN_ATOMIC_INLINE_INTEGERS;
    void *at;
    uint64_t old;
    if (!__builtin_constant_p(op) || (op & ops) == 0 ||
        PEN_UNLIKELY(!pen_atomic_mapped(domain, rank, target, wide ? 8 : 4, op, flags, &at)))
        return 0;
    pen_atomic_release(op, flags);
    if ((op & PEN_ATOMIC_INLINE_MOVES) != 0)
        old = pen_atomic_move(at, wide, op, operands);
    else if (is_float)
        old = pen_atomic_sum_float(at, wide, op, operands.op1);
    else if ((op & bits) != 0)
        old = pen_atomic_bits(at, wide, op, operands.op1);
    else
        old = pen_atomic_sum(at, wide, op, operands.op1);
    if (op > GEX_OP_CAS)
        pen_atomic_answer(result, wide, old);
    return 1;
}

/* Describes an operation for the library. */
static __inline__ pen_atomic_call pen_atomic_call_of(gex_DT_t type, void *result, gex_Rank_t rank,
                                                     void *target, gex_OP_t op,
                                                     pen_atomic_operands operands,
                                                     gex_Flags_t flags)
{
    pen_atomic_call call;
    call.result = result;
    call.target = target;
    call.rank = rank;
    call.type = type;
    call.op = op;
    call.flags = flags;
    call.operands[0] = operands.op1;
    call.operands[1] = operands.op2;
    return call;
}

GEX_INLINE gex_Event_t gex_AD_OpNB_I32(gex_AD_t domain, int32_t *result, gex_Rank_t rank,
                                       void *target, gex_OP_t op, int32_t op1, int32_t op2,
                                       gex_Flags_t flags)
{
    const pen_atomic_operands operands = { (uint32_t)op1, (uint32_t)op2 };
    pen_atomic_call call;
    if (pen_atomic_try(domain, GEX_DT_I32, result, rank, target, op, operands, flags))
        return GEX_EVENT_INVALID;
    call = pen_atomic_call_of(GEX_DT_I32, result, rank, target, op, operands, flags);
    return pen_api_atomic_nb(domain, &call);
}

GEX_INLINE gex_Event_t gex_AD_OpNB_U32(gex_AD_t domain, uint32_t *result, gex_Rank_t rank,
                                       void *target, gex_OP_t op, uint32_t op1, uint32_t op2,
                                       gex_Flags_t flags)
{
    const pen_atomic_operands operands = { op1, op2 };
    pen_atomic_call call;
    if (pen_atomic_try(domain, GEX_DT_U32, result, rank, target, op, operands, flags))
        return GEX_EVENT_INVALID;
    call = pen_atomic_call_of(GEX_DT_U32, result, rank, target, op, operands, flags);
    return pen_api_atomic_nb(domain, &call);
}

GEX_INLINE gex_Event_t gex_AD_OpNB_I64(gex_AD_t domain, int64_t *result, gex_Rank_t rank,
                                       void *target, gex_OP_t op, int64_t op1, int64_t op2,
                                       gex_Flags_t flags)
{
    const pen_atomic_operands operands = { (uint64_t)op1, (uint64_t)op2 };
    pen_atomic_call call;
    if (pen_atomic_try(domain, GEX_DT_I64, result, rank, target, op, operands, flags))
        return GEX_EVENT_INVALID;
    call = pen_atomic_call_of(GEX_DT_I64, result, rank, target, op, operands, flags);
    return pen_api_atomic_nb(domain, &call);
}

GEX_INLINE gex_Event_t gex_AD_OpNB_U64(gex_AD_t domain, uint64_t *result, gex_Rank_t rank,
                                       void *target, gex_OP_t op, uint64_t op1, uint64_t op2,
                                       gex_Flags_t flags)
{
    const pen_atomic_operands operands = { op1, op2 };
    pen_atomic_call call;
    if (pen_atomic_try(domain, GEX_DT_U64, result, rank, target, op, operands, flags))
        return GEX_EVENT_INVALID;
    call = pen_atomic_call_of(GEX_DT_U64, result, rank, target, op, operands, flags);
    return pen_api_atomic_nb(domain, &call);
}

GEX_INLINE gex_Event_t gex_AD_OpNB_FLT(gex_AD_t domain, float *result, gex_Rank_t rank,
                                       void *target, gex_OP_t op, float op1, float op2,
                                       gex_Flags_t flags)
{
    const pen_atomic_operands operands = { pen_atomic_of_float(op1), pen_atomic_of_float(op2) };
    pen_atomic_call call;
    if (pen_atomic_try(domain, GEX_DT_FLT, result, rank, target, op, operands, flags))
        return GEX_EVENT_INVALID;
    call = pen_atomic_call_of(GEX_DT_FLT, result, rank, target, op, operands, flags);
    return pen_api_atomic_nb(domain, &call);
}

GEX_INLINE gex_Event_t gex_AD_OpNB_DBL(gex_AD_t domain, double *result, gex_Rank_t rank,
                                       void *target, gex_OP_t op, double op1, double op2,
                                       gex_Flags_t flags)
{
    const pen_atomic_operands operands = { pen_atomic_of_double(op1), pen_atomic_of_double(op2) };
    pen_atomic_call call;
    if (pen_atomic_try(domain, GEX_DT_DBL, result, rank, target, op, operands, flags))
        return GEX_EVENT_INVALID;
    call = pen_atomic_call_of(GEX_DT_DBL, result, rank, target, op, operands, flags);
    return pen_api_atomic_nb(domain, &call);
}

GEX_INLINE int gex_AD_OpNBI_I32(gex_AD_t domain, int32_t *result, gex_Rank_t rank, void *target,
                                gex_OP_t op, int32_t op1, int32_t op2, gex_Flags_t flags)
{
    const pen_atomic_operands operands = { (uint32_t)op1, (uint32_t)op2 };
    pen_atomic_call call;
    if (pen_atomic_try(domain, GEX_DT_I32, result, rank, target, op, operands, flags))
        return 0;
    call = pen_atomic_call_of(GEX_DT_I32, result, rank, target, op, operands, flags);
    return pen_api_atomic_nbi(domain, &call);
}

GEX_INLINE int gex_AD_OpNBI_U32(gex_AD_t domain, uint32_t *result, gex_Rank_t rank, void *target,
                                gex_OP_t op, uint32_t op1, uint32_t op2, gex_Flags_t flags)
{
    const pen_atomic_operands operands = { op1, op2 };
    pen_atomic_call call;
    if (pen_atomic_try(domain, GEX_DT_U32, result, rank, target, op, operands, flags))
        return 0;
    call = pen_atomic_call_of(GEX_DT_U32, result, rank, target, op, operands, flags);
    return pen_api_atomic_nbi(domain, &call);
}

GEX_INLINE int gex_AD_OpNBI_I64(gex_AD_t domain, int64_t *result, gex_Rank_t rank, void *target,
                                gex_OP_t op, int64_t op1, int64_t op2, gex_Flags_t flags)
{
    const pen_atomic_operands operands = { (uint64_t)op1, (uint64_t)op2 };
    pen_atomic_call call;
    if (pen_atomic_try(domain, GEX_DT_I64, result, rank, target, op, operands, flags))
        return 0;
    call = pen_atomic_call_of(GEX_DT_I64, result, rank, target, op, operands, flags);
    return pen_api_atomic_nbi(domain, &call);
}

GEX_INLINE int gex_AD_OpNBI_U64(gex_AD_t domain, uint64_t *result, gex_Rank_t rank, void *target,
                                gex_OP_t op, uint64_t op1, uint64_t op2, gex_Flags_t flags)
{
    const pen_atomic_operands operands = { op1, op2 };
    pen_atomic_call call;
    if (pen_atomic_try(domain, GEX_DT_U64, result, rank, target, op, operands, flags))
        return 0;
    call = pen_atomic_call_of(GEX_DT_U64, result, rank, target, op, operands, flags);
    return pen_api_atomic_nbi(domain, &call);
}

GEX_INLINE int gex_AD_OpNBI_FLT(gex_AD_t domain, float *result, gex_Rank_t rank, void *target,
                                gex_OP_t op, float op1, float op2, gex_Flags_t flags)
{
    const pen_atomic_operands operands = { pen_atomic_of_float(op1), pen_atomic_of_float(op2) };
    pen_atomic_call call;
    if (pen_atomic_try(domain, GEX_DT_FLT, result, rank, target, op, operands, flags))
        return 0;
    call = pen_atomic_call_of(GEX_DT_FLT, result, rank, target, op, operands, flags);
    return pen_api_atomic_nbi(domain, &call);
}

GEX_INLINE int gex_AD_OpNBI_DBL(gex_AD_t domain, double *result, gex_Rank_t rank, void *target,
                                gex_OP_t op, double op1, double op2, gex_Flags_t flags)
{
    const pen_atomic_operands operands = { pen_atomic_of_double(op1), pen_atomic_of_double(op2) };
    pen_atomic_call call;
    if (pen_atomic_try(domain, GEX_DT_DBL, result, rank, target, op, operands, flags))
        return 0;
    call = pen_atomic_call_of(GEX_DT_DBL, result, rank, target, op, operands, flags);
    return pen_api_atomic_nbi(domain, &call);
}

#ifdef __cplusplus
}
#endif
#endif
