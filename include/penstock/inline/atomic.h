/* SPDX-License-Identifier: BSD-3-Clause */
/* Bodies of <penstock/atomic.h>. Where the target is mapped here and the operation is known when
 * the client is compiled, it is one instruction of the CPU's, or a short loop around one; the
 * library's are the same, so that all are atomic to one another. Everything else goes to the
 * library: peers elsewhere, operations that are not worth their place in the client, flags with a
 * meaning, and all calls when the library checks (it then publishes nothing as mapped). */
#ifndef PENSTOCK_INLINE_ATOMIC_H
#define PENSTOCK_INLINE_ATOMIC_H

#include <penstock/atomic.h>

#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The client's words are of whatever type it says. */
typedef uint32_t __attribute__((__may_alias__)) pen_atomic_word32;
typedef uint64_t __attribute__((__may_alias__)) pen_atomic_word64;

#define PEN_ATOMIC_INLINE_MOVES (GEX_OP_SET | GEX_OP_CAS | GEX_OP_GET | GEX_OP_SWAP | GEX_OP_FCAS)
#define PEN_ATOMIC_INLINE_SUMS  (GEX_OP_ADD | GEX_OP_SUB | GEX_OP_INC | GEX_OP_DEC)
#define PEN_ATOMIC_INLINE_BITS  (GEX_OP_AND | GEX_OP_OR | GEX_OP_XOR)
#define PEN_ATOMIC_INLINE_FLOATS \
    (PEN_ATOMIC_INLINE_MOVES | GEX_OP_ADD | GEX_OP_SUB | GEX_OP_FADD | GEX_OP_FSUB)
#define PEN_ATOMIC_INLINE_INTEGERS                                               \
    (PEN_ATOMIC_INLINE_MOVES | PEN_ATOMIC_INLINE_SUMS | PEN_ATOMIC_INLINE_BITS | \
     GEX_OP_TO_FETCHING(PEN_ATOMIC_INLINE_SUMS | PEN_ATOMIC_INLINE_BITS))

/* Whether the operation can be done here, and at which of our addresses. Every one is acquire and
 * release, but a load only the former and a store the latter, so the flags that ask for more are
 * the library's. */
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

/* ---- 32 bits: each answers the old value ----------------------------------------------------- */

/* of PEN_ATOMIC_INLINE_MOVES */
static __inline__ uint32_t pen_atomic_move32(void *alias, gex_OP_t op, uint32_t op1, uint32_t op2)
{
    pen_atomic_word32 *at = (pen_atomic_word32 *)alias;
    uint32_t old = op1;
    switch (op) {
    case GEX_OP_GET:
        return __atomic_load_n(at, __ATOMIC_ACQUIRE);
    case GEX_OP_SET:
        __atomic_store_n(at, op1, __ATOMIC_RELEASE);
        return old;
    case GEX_OP_SWAP:
        return __atomic_exchange_n(at, op1, __ATOMIC_ACQ_REL);
    default:
        (void)__atomic_compare_exchange_n(at, &old, op2, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
        return old;
    }
}

/* of PEN_ATOMIC_INLINE_SUMS, fetching or not */
static __inline__ uint32_t pen_atomic_sum32(void *alias, gex_OP_t op, uint32_t op1)
{
    pen_atomic_word32 *at = (pen_atomic_word32 *)alias;
    switch (op) {
    case GEX_OP_ADD:
    case GEX_OP_FADD:
        return __atomic_fetch_add(at, op1, __ATOMIC_ACQ_REL);
    case GEX_OP_SUB:
    case GEX_OP_FSUB:
        return __atomic_fetch_sub(at, op1, __ATOMIC_ACQ_REL);
    case GEX_OP_INC:
    case GEX_OP_FINC:
        return __atomic_fetch_add(at, 1u, __ATOMIC_ACQ_REL);
    default:
        return __atomic_fetch_sub(at, 1u, __ATOMIC_ACQ_REL);
    }
}

/* of PEN_ATOMIC_INLINE_BITS, fetching or not */
static __inline__ uint32_t pen_atomic_bits32(void *alias, gex_OP_t op, uint32_t op1)
{
    pen_atomic_word32 *at = (pen_atomic_word32 *)alias;
    switch (op) {
    case GEX_OP_AND:
    case GEX_OP_FAND:
        return __atomic_fetch_and(at, op1, __ATOMIC_ACQ_REL);
    case GEX_OP_OR:
    case GEX_OP_FOR:
        return __atomic_fetch_or(at, op1, __ATOMIC_ACQ_REL);
    default:
        return __atomic_fetch_xor(at, op1, __ATOMIC_ACQ_REL);
    }
}

/* Of integers; what the old value is not wanted for, the compiler makes cheaper. */
static __inline__ void pen_atomic_integer32(void *alias, void *result, gex_OP_t op, uint32_t op1,
                                            uint32_t op2)
{
    const gex_OP_t plain = PEN_ATOMIC_INLINE_BITS | GEX_OP_TO_FETCHING(PEN_ATOMIC_INLINE_BITS);
    if (op > GEX_OP_CAS) {
        const uint32_t old = (op & PEN_ATOMIC_INLINE_MOVES) != 0
                                 ? pen_atomic_move32(alias, op, op1, op2)
                             : (op & plain) != 0 ? pen_atomic_bits32(alias, op, op1)
                                                 : pen_atomic_sum32(alias, op, op1);
        memcpy(result, &old, sizeof old);
    } else if ((op & PEN_ATOMIC_INLINE_MOVES) != 0) {
        (void)pen_atomic_move32(alias, op, op1, op2);
    } else if ((op & plain) != 0) {
        (void)pen_atomic_bits32(alias, op, op1);
    } else {
        (void)pen_atomic_sum32(alias, op, op1);
    }
}

/* ---- 64 bits: each answers the old value ----------------------------------------------------- */

/* of PEN_ATOMIC_INLINE_MOVES */
static __inline__ uint64_t pen_atomic_move64(void *alias, gex_OP_t op, uint64_t op1, uint64_t op2)
{
    pen_atomic_word64 *at = (pen_atomic_word64 *)alias;
    uint64_t old = op1;
    switch (op) {
    case GEX_OP_GET:
        return __atomic_load_n(at, __ATOMIC_ACQUIRE);
    case GEX_OP_SET:
        __atomic_store_n(at, op1, __ATOMIC_RELEASE);
        return old;
    case GEX_OP_SWAP:
        return __atomic_exchange_n(at, op1, __ATOMIC_ACQ_REL);
    default:
        (void)__atomic_compare_exchange_n(at, &old, op2, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
        return old;
    }
}

/* of PEN_ATOMIC_INLINE_SUMS, fetching or not */
static __inline__ uint64_t pen_atomic_sum64(void *alias, gex_OP_t op, uint64_t op1)
{
    pen_atomic_word64 *at = (pen_atomic_word64 *)alias;
    switch (op) {
    case GEX_OP_ADD:
    case GEX_OP_FADD:
        return __atomic_fetch_add(at, op1, __ATOMIC_ACQ_REL);
    case GEX_OP_SUB:
    case GEX_OP_FSUB:
        return __atomic_fetch_sub(at, op1, __ATOMIC_ACQ_REL);
    case GEX_OP_INC:
    case GEX_OP_FINC:
        return __atomic_fetch_add(at, 1u, __ATOMIC_ACQ_REL);
    default:
        return __atomic_fetch_sub(at, 1u, __ATOMIC_ACQ_REL);
    }
}

/* of PEN_ATOMIC_INLINE_BITS, fetching or not */
static __inline__ uint64_t pen_atomic_bits64(void *alias, gex_OP_t op, uint64_t op1)
{
    pen_atomic_word64 *at = (pen_atomic_word64 *)alias;
    switch (op) {
    case GEX_OP_AND:
    case GEX_OP_FAND:
        return __atomic_fetch_and(at, op1, __ATOMIC_ACQ_REL);
    case GEX_OP_OR:
    case GEX_OP_FOR:
        return __atomic_fetch_or(at, op1, __ATOMIC_ACQ_REL);
    default:
        return __atomic_fetch_xor(at, op1, __ATOMIC_ACQ_REL);
    }
}

/* Of integers; what the old value is not wanted for, the compiler makes cheaper. */
static __inline__ void pen_atomic_integer64(void *alias, void *result, gex_OP_t op, uint64_t op1,
                                            uint64_t op2)
{
    const gex_OP_t plain = PEN_ATOMIC_INLINE_BITS | GEX_OP_TO_FETCHING(PEN_ATOMIC_INLINE_BITS);
    if (op > GEX_OP_CAS) {
        const uint64_t old = (op & PEN_ATOMIC_INLINE_MOVES) != 0
                                 ? pen_atomic_move64(alias, op, op1, op2)
                             : (op & plain) != 0 ? pen_atomic_bits64(alias, op, op1)
                                                 : pen_atomic_sum64(alias, op, op1);
        memcpy(result, &old, sizeof old);
    } else if ((op & PEN_ATOMIC_INLINE_MOVES) != 0) {
        (void)pen_atomic_move64(alias, op, op1, op2);
    } else if ((op & plain) != 0) {
        (void)pen_atomic_bits64(alias, op, op1);
    } else {
        (void)pen_atomic_sum64(alias, op, op1);
    }
}

/* of PEN_ATOMIC_INLINE_FLOATS */
static __inline__ void pen_atomic_float(void *alias, void *result, gex_OP_t op, float op1,
                                        float op2)
{
    pen_atomic_word32 *at = (pen_atomic_word32 *)alias;
    uint32_t bits1, bits2, old;
    memcpy(&bits1, &op1, sizeof bits1);
    memcpy(&bits2, &op2, sizeof bits2);
    if ((op & PEN_ATOMIC_INLINE_MOVES) != 0) {
        old = pen_atomic_move32(alias, op, bits1, bits2);
    } else {
        old = __atomic_load_n(at, __ATOMIC_ACQUIRE);
        do {
            float value;
            memcpy(&value, &old, sizeof value);
            value = op == GEX_OP_SUB || op == GEX_OP_FSUB ? value - op1 : value + op1;
            memcpy(&bits1, &value, sizeof bits1);
        } while (
            !__atomic_compare_exchange_n(at, &old, bits1, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
    }
    if (op > GEX_OP_CAS)
        memcpy(result, &old, sizeof old);
}

/* of PEN_ATOMIC_INLINE_FLOATS */
static __inline__ void pen_atomic_double(void *alias, void *result, gex_OP_t op, double op1,
                                         double op2)
{
    pen_atomic_word64 *at = (pen_atomic_word64 *)alias;
    uint64_t bits1, bits2, old;
    memcpy(&bits1, &op1, sizeof bits1);
    memcpy(&bits2, &op2, sizeof bits2);
    if ((op & PEN_ATOMIC_INLINE_MOVES) != 0) {
        old = pen_atomic_move64(alias, op, bits1, bits2);
    } else {
        old = __atomic_load_n(at, __ATOMIC_ACQUIRE);
        do {
            double value;
            memcpy(&value, &old, sizeof value);
            value = op == GEX_OP_SUB || op == GEX_OP_FSUB ? value - op1 : value + op1;
            memcpy(&bits1, &value, sizeof bits1);
        } while (
            !__atomic_compare_exchange_n(at, &old, bits1, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
    }
    if (op > GEX_OP_CAS)
        memcpy(result, &old, sizeof old);
}

/* ---- the call for the library ---------------------------------------------------------------- */

static __inline__ pen_atomic_call pen_atomic_call_of(gex_DT_t type, void *result, gex_Rank_t rank,
                                                     void *target, gex_OP_t op, gex_Flags_t flags)
{
    pen_atomic_call call;
    call.result = result;
    call.target = target;
    call.rank = rank;
    call.type = type;
    call.op = op;
    call.flags = flags;
    call.operands[0] = call.operands[1] = 0;
    return call;
}

GEX_INLINE gex_Event_t gex_AD_OpNB_I32(gex_AD_t domain, int32_t *result, gex_Rank_t rank,
                                       void *target, gex_OP_t op, int32_t op1, int32_t op2,
                                       gex_Flags_t flags)
{
    pen_atomic_call call;
    void *alias;
    if (__builtin_constant_p(op) && (op & PEN_ATOMIC_INLINE_INTEGERS) != 0 &&
        PEN_LIKELY(pen_atomic_mapped(domain, rank, target, sizeof *result, op, flags, &alias))) {
        pen_atomic_integer32(alias, result, op, (uint32_t)op1, (uint32_t)op2);
        return GEX_EVENT_INVALID;
    }
    call = pen_atomic_call_of(GEX_DT_I32, result, rank, target, op, flags);
    call.operands[0] = (uint32_t)op1;
    call.operands[1] = (uint32_t)op2;
    return pen_api_atomic_nb(domain, &call);
}

GEX_INLINE gex_Event_t gex_AD_OpNB_U32(gex_AD_t domain, uint32_t *result, gex_Rank_t rank,
                                       void *target, gex_OP_t op, uint32_t op1, uint32_t op2,
                                       gex_Flags_t flags)
{
    pen_atomic_call call;
    void *alias;
    if (__builtin_constant_p(op) && (op & PEN_ATOMIC_INLINE_INTEGERS) != 0 &&
        PEN_LIKELY(pen_atomic_mapped(domain, rank, target, sizeof *result, op, flags, &alias))) {
        pen_atomic_integer32(alias, result, op, op1, op2);
        return GEX_EVENT_INVALID;
    }
    call = pen_atomic_call_of(GEX_DT_U32, result, rank, target, op, flags);
    call.operands[0] = op1;
    call.operands[1] = op2;
    return pen_api_atomic_nb(domain, &call);
}

GEX_INLINE gex_Event_t gex_AD_OpNB_I64(gex_AD_t domain, int64_t *result, gex_Rank_t rank,
                                       void *target, gex_OP_t op, int64_t op1, int64_t op2,
                                       gex_Flags_t flags)
{
    pen_atomic_call call;
    void *alias;
    if (__builtin_constant_p(op) && (op & PEN_ATOMIC_INLINE_INTEGERS) != 0 &&
        PEN_LIKELY(pen_atomic_mapped(domain, rank, target, sizeof *result, op, flags, &alias))) {
        pen_atomic_integer64(alias, result, op, (uint64_t)op1, (uint64_t)op2);
        return GEX_EVENT_INVALID;
    }
    call = pen_atomic_call_of(GEX_DT_I64, result, rank, target, op, flags);
    call.operands[0] = (uint64_t)op1;
    call.operands[1] = (uint64_t)op2;
    return pen_api_atomic_nb(domain, &call);
}

GEX_INLINE gex_Event_t gex_AD_OpNB_U64(gex_AD_t domain, uint64_t *result, gex_Rank_t rank,
                                       void *target, gex_OP_t op, uint64_t op1, uint64_t op2,
                                       gex_Flags_t flags)
{
    pen_atomic_call call;
    void *alias;
    if (__builtin_constant_p(op) && (op & PEN_ATOMIC_INLINE_INTEGERS) != 0 &&
        PEN_LIKELY(pen_atomic_mapped(domain, rank, target, sizeof *result, op, flags, &alias))) {
        pen_atomic_integer64(alias, result, op, op1, op2);
        return GEX_EVENT_INVALID;
    }
    call = pen_atomic_call_of(GEX_DT_U64, result, rank, target, op, flags);
    call.operands[0] = op1;
    call.operands[1] = op2;
    return pen_api_atomic_nb(domain, &call);
}

GEX_INLINE gex_Event_t gex_AD_OpNB_FLT(gex_AD_t domain, float *result, gex_Rank_t rank,
                                       void *target, gex_OP_t op, float op1, float op2,
                                       gex_Flags_t flags)
{
    pen_atomic_call call;
    void *alias;
    uint32_t bits[2];
    if (__builtin_constant_p(op) && (op & PEN_ATOMIC_INLINE_FLOATS) != 0 &&
        PEN_LIKELY(pen_atomic_mapped(domain, rank, target, sizeof *result, op, flags, &alias))) {
        pen_atomic_float(alias, result, op, op1, op2);
        return GEX_EVENT_INVALID;
    }
    call = pen_atomic_call_of(GEX_DT_FLT, result, rank, target, op, flags);
    memcpy(bits, &op1, sizeof op1);
    memcpy(bits + 1, &op2, sizeof op2);
    call.operands[0] = bits[0];
    call.operands[1] = bits[1];
    return pen_api_atomic_nb(domain, &call);
}

GEX_INLINE gex_Event_t gex_AD_OpNB_DBL(gex_AD_t domain, double *result, gex_Rank_t rank,
                                       void *target, gex_OP_t op, double op1, double op2,
                                       gex_Flags_t flags)
{
    pen_atomic_call call;
    void *alias;
    if (__builtin_constant_p(op) && (op & PEN_ATOMIC_INLINE_FLOATS) != 0 &&
        PEN_LIKELY(pen_atomic_mapped(domain, rank, target, sizeof *result, op, flags, &alias))) {
        pen_atomic_double(alias, result, op, op1, op2);
        return GEX_EVENT_INVALID;
    }
    call = pen_atomic_call_of(GEX_DT_DBL, result, rank, target, op, flags);
    memcpy(&call.operands[0], &op1, sizeof op1);
    memcpy(&call.operands[1], &op2, sizeof op2);
    return pen_api_atomic_nb(domain, &call);
}

GEX_INLINE int gex_AD_OpNBI_I32(gex_AD_t domain, int32_t *result, gex_Rank_t rank, void *target,
                                gex_OP_t op, int32_t op1, int32_t op2, gex_Flags_t flags)
{
    pen_atomic_call call;
    void *alias;
    if (__builtin_constant_p(op) && (op & PEN_ATOMIC_INLINE_INTEGERS) != 0 &&
        PEN_LIKELY(pen_atomic_mapped(domain, rank, target, sizeof *result, op, flags, &alias))) {
        pen_atomic_integer32(alias, result, op, (uint32_t)op1, (uint32_t)op2);
        return 0;
    }
    call = pen_atomic_call_of(GEX_DT_I32, result, rank, target, op, flags);
    call.operands[0] = (uint32_t)op1;
    call.operands[1] = (uint32_t)op2;
    return pen_api_atomic_nbi(domain, &call);
}

GEX_INLINE int gex_AD_OpNBI_U32(gex_AD_t domain, uint32_t *result, gex_Rank_t rank, void *target,
                                gex_OP_t op, uint32_t op1, uint32_t op2, gex_Flags_t flags)
{
    pen_atomic_call call;
    void *alias;
    if (__builtin_constant_p(op) && (op & PEN_ATOMIC_INLINE_INTEGERS) != 0 &&
        PEN_LIKELY(pen_atomic_mapped(domain, rank, target, sizeof *result, op, flags, &alias))) {
        pen_atomic_integer32(alias, result, op, op1, op2);
        return 0;
    }
    call = pen_atomic_call_of(GEX_DT_U32, result, rank, target, op, flags);
    call.operands[0] = op1;
    call.operands[1] = op2;
    return pen_api_atomic_nbi(domain, &call);
}

GEX_INLINE int gex_AD_OpNBI_I64(gex_AD_t domain, int64_t *result, gex_Rank_t rank, void *target,
                                gex_OP_t op, int64_t op1, int64_t op2, gex_Flags_t flags)
{
    pen_atomic_call call;
    void *alias;
    if (__builtin_constant_p(op) && (op & PEN_ATOMIC_INLINE_INTEGERS) != 0 &&
        PEN_LIKELY(pen_atomic_mapped(domain, rank, target, sizeof *result, op, flags, &alias))) {
        pen_atomic_integer64(alias, result, op, (uint64_t)op1, (uint64_t)op2);
        return 0;
    }
    call = pen_atomic_call_of(GEX_DT_I64, result, rank, target, op, flags);
    call.operands[0] = (uint64_t)op1;
    call.operands[1] = (uint64_t)op2;
    return pen_api_atomic_nbi(domain, &call);
}

GEX_INLINE int gex_AD_OpNBI_U64(gex_AD_t domain, uint64_t *result, gex_Rank_t rank, void *target,
                                gex_OP_t op, uint64_t op1, uint64_t op2, gex_Flags_t flags)
{
    pen_atomic_call call;
    void *alias;
    if (__builtin_constant_p(op) && (op & PEN_ATOMIC_INLINE_INTEGERS) != 0 &&
        PEN_LIKELY(pen_atomic_mapped(domain, rank, target, sizeof *result, op, flags, &alias))) {
        pen_atomic_integer64(alias, result, op, op1, op2);
        return 0;
    }
    call = pen_atomic_call_of(GEX_DT_U64, result, rank, target, op, flags);
    call.operands[0] = op1;
    call.operands[1] = op2;
    return pen_api_atomic_nbi(domain, &call);
}

GEX_INLINE int gex_AD_OpNBI_FLT(gex_AD_t domain, float *result, gex_Rank_t rank, void *target,
                                gex_OP_t op, float op1, float op2, gex_Flags_t flags)
{
    pen_atomic_call call;
    void *alias;
    uint32_t bits[2];
    if (__builtin_constant_p(op) && (op & PEN_ATOMIC_INLINE_FLOATS) != 0 &&
        PEN_LIKELY(pen_atomic_mapped(domain, rank, target, sizeof *result, op, flags, &alias))) {
        pen_atomic_float(alias, result, op, op1, op2);
        return 0;
    }
    call = pen_atomic_call_of(GEX_DT_FLT, result, rank, target, op, flags);
    memcpy(bits, &op1, sizeof op1);
    memcpy(bits + 1, &op2, sizeof op2);
    call.operands[0] = bits[0];
    call.operands[1] = bits[1];
    return pen_api_atomic_nbi(domain, &call);
}

GEX_INLINE int gex_AD_OpNBI_DBL(gex_AD_t domain, double *result, gex_Rank_t rank, void *target,
                                gex_OP_t op, double op1, double op2, gex_Flags_t flags)
{
    pen_atomic_call call;
    void *alias;
    if (__builtin_constant_p(op) && (op & PEN_ATOMIC_INLINE_FLOATS) != 0 &&
        PEN_LIKELY(pen_atomic_mapped(domain, rank, target, sizeof *result, op, flags, &alias))) {
        pen_atomic_double(alias, result, op, op1, op2);
        return 0;
    }
    call = pen_atomic_call_of(GEX_DT_DBL, result, rank, target, op, flags);
    memcpy(&call.operands[0], &op1, sizeof op1);
    memcpy(&call.operands[1], &op2, sizeof op2);
    return pen_api_atomic_nbi(domain, &call);
}

#ifdef __cplusplus
}
#endif
#endif
