/* SPDX-License-Identifier: BSD-3-Clause */
/* apply.c: performs one operation on memory of this process, by an atomic instruction of the CPU if
 * there is one; otherwise by a compare-and-swap loop, until no other change comes between. */
#include "atomic/atomic.h"

#include <penstock/types.h>
#include <string.h>

/* The client declares its words with its own type. */
typedef uint32_t __attribute__((__may_alias__)) word32;
typedef uint64_t __attribute__((__may_alias__)) word64;

enum { FETCHING_SHIFT = 15 };
#define OPS_PLAIN                                                                   \
    ((GEX_OP_CAS << 1) - 1) /* operations without the fetching bit; GET is separate \
                             */
#define OPS_BITWISE (GEX_OP_AND | GEX_OP_OR | GEX_OP_XOR)
#define OPS_ALL     (OPS_PLAIN | GEX_OP_TO_FETCHING(OPS_PLAIN) | GEX_OP_GET)

/* ---- what there is --------------------------------------------------------------------------- */

bool pen_atomic_type_is_valid(uint32_t type)
{
    return type != 0 && type < GEX_DT_USER && (type & (type - 1)) == 0;
}

static bool type_is_float(uint32_t type) { return (type & (GEX_DT_FLT | GEX_DT_DBL)) != 0; }

uint32_t pen_atomic_ops_of(uint32_t type)
{
    return type_is_float(type) ? OPS_ALL & ~(OPS_BITWISE | GEX_OP_TO_FETCHING(OPS_BITWISE))
                               : OPS_ALL;
}

size_t pen_atomic_len(uint32_t type)
{
    return (type & (GEX_DT_I32 | GEX_DT_U32 | GEX_DT_FLT)) != 0 ? sizeof(uint32_t)
                                                                : sizeof(uint64_t);
}

bool pen_atomic_fetches(uint32_t op) { return op > GEX_OP_CAS; }

/* ---- words of either width ----------------------------------------------------------------------
 * All are acq_rel (loads acquire, stores release): see atomic.h. They pair with one another, on any
 * rank that reaches this memory. */

static uint64_t word_load(void *at, bool wide)
{
    return wide ? __atomic_load_n((word64 *)at, __ATOMIC_ACQUIRE)
                : __atomic_load_n((word32 *)at, __ATOMIC_ACQUIRE);
}

static void word_store(void *at, bool wide, uint64_t value)
{
    if (wide)
        __atomic_store_n((word64 *)at, value, __ATOMIC_RELEASE);
    else
        __atomic_store_n((word32 *)at, (uint32_t)value, __ATOMIC_RELEASE);
}

static uint64_t word_swap(void *at, bool wide, uint64_t value)
{
    return wide ? __atomic_exchange_n((word64 *)at, value, __ATOMIC_ACQ_REL)
                : __atomic_exchange_n((word32 *)at, (uint32_t)value, __ATOMIC_ACQ_REL);
}

static uint64_t word_add(void *at, bool wide, uint64_t value)
{
    return wide ? __atomic_fetch_add((word64 *)at, value, __ATOMIC_ACQ_REL)
                : __atomic_fetch_add((word32 *)at, (uint32_t)value, __ATOMIC_ACQ_REL);
}

/* Returns true if it swapped. *expected becomes the old value. A failure acquires, too: it is a
 * read. */
static bool word_cas(void *at, bool wide, uint64_t *expected, uint64_t desired)
{
    if (wide)
        return __atomic_compare_exchange_n((word64 *)at, expected, desired, false, __ATOMIC_ACQ_REL,
                                           __ATOMIC_ACQUIRE);
    uint32_t seen = (uint32_t)*expected;
    bool swapped = __atomic_compare_exchange_n((word32 *)at, &seen, (uint32_t)desired, false,
                                               __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
    *expected = seen;
    return swapped;
}

/* ---- new values ------------------------------------------------------------------------------ */

/* Returns the new value of the target. MIN and MAX keep the old value if it or the operand is a
 * NaN, or if both are zeros. Serves floats too: sum, difference and product of two floats become
 * the same float whether or not they are rounded to a double in between, which has more than twice
 * a float's bits. */
static double compute_real(uint32_t op, double old, double operand)
{
    switch (op) {
    case GEX_OP_ADD:
        return old + operand;
    case GEX_OP_SUB:
        return old - operand;
    case GEX_OP_MULT:
        return old * operand;
    case GEX_OP_MIN:
        return operand < old ? operand : old;
    case GEX_OP_MAX:
        return operand > old ? operand : old;
    case GEX_OP_INC:
        return old + 1.0;
    default:
        return old - 1.0;
    }
}

static bool less(uint32_t type, uint64_t left, uint64_t right)
{
    switch (type) {
    case GEX_DT_I32:
        return (int32_t)(uint32_t)left < (int32_t)(uint32_t)right;
    case GEX_DT_I64:
        return (int64_t)left < (int64_t)right;
    default:
        return left < right;
    }
}

/* Computes integers; low bits of a product do not depend on sign or width. */
static uint64_t compute_integer(uint32_t type, uint32_t op, uint64_t old, uint64_t operand)
{
    switch (op) {
    case GEX_OP_AND:
        return old & operand;
    case GEX_OP_OR:
        return old | operand;
    case GEX_OP_XOR:
        return old ^ operand;
    case GEX_OP_MULT:
        return old * operand;
    default:
        return less(type, operand, old) == (op == GEX_OP_MIN) ? operand : old;
    }
}

static uint64_t compute(uint32_t type, uint32_t op, uint64_t old, uint64_t operand)
{
    if (type == GEX_DT_FLT) {
        float values[2];
        uint32_t bits[2] = { (uint32_t)old, (uint32_t)operand };
        memcpy(values, bits, sizeof values);
        values[0] = (float)compute_real(op, (double)values[0], (double)values[1]);
        memcpy(bits, values, sizeof bits);
        return bits[0];
    }
    if (type == GEX_DT_DBL) {
        double values[2];
        uint64_t bits[2] = { old, operand };
        memcpy(values, bits, sizeof values);
        values[0] = compute_real(op, values[0], values[1]);
        memcpy(bits, values, sizeof bits);
        return bits[0];
    }
    return compute_integer(type, op, old, operand);
}

static uint64_t change(void *target, uint32_t type, uint32_t op, uint64_t operand)
{
    const bool wide = pen_atomic_len(type) == sizeof(uint64_t);
    uint64_t old = word_load(target, wide);
    while (!word_cas(target, wide, &old, compute(type, op, old, operand))) {
    }
    return old;
}

/* ---- the operations -------------------------------------------------------------------------- */

/* Operations that move bits, of any type. */
static uint64_t move(void *target, bool wide, uint32_t op, const uint64_t operands[2])
{
    uint64_t old = operands[0];
    switch (op) {
    case GEX_OP_GET:
        return word_load(target, wide);
    case GEX_OP_SET:
        word_store(target, wide, operands[0]);
        return 0;
    case GEX_OP_SWAP:
        return word_swap(target, wide, operands[0]);
    default:
        (void)word_cas(target, wide, &old, operands[1]);
        return old;
    }
}

uint64_t pen_atomic_apply(void *target, uint32_t type, uint32_t op, const uint64_t operands[2])
{
    enum { MOVES = GEX_OP_GET | GEX_OP_SET | GEX_OP_SWAP | GEX_OP_CAS | GEX_OP_FCAS };
    const bool wide = pen_atomic_len(type) == sizeof(uint64_t);
    if ((op & MOVES) != 0)
        return move(target, wide, op, operands);
    const uint32_t plain = pen_atomic_fetches(op) ? op >> FETCHING_SHIFT : op;
    if (type_is_float(type))
        return change(target, type, plain, operands[0]);
    switch (plain) {
    case GEX_OP_ADD:
        return word_add(target, wide, operands[0]);
    case GEX_OP_SUB:
        return word_add(target, wide, 0 - operands[0]);
    case GEX_OP_INC:
        return word_add(target, wide, 1);
    case GEX_OP_DEC:
        return word_add(target, wide, UINT64_MAX);
    default:
        return change(target, type, plain, operands[0]);
    }
}
