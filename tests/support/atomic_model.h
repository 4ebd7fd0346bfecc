/* SPDX-License-Identifier: BSD-3-Clause */
/* atomic_model.h: computes each atomic operation in arithmetic so wide that no case is special:
 * integers in 128 bits, cut to their width at the end. */
#ifndef PEN_SUPPORT_ATOMIC_MODEL_H
#define PEN_SUPPORT_ATOMIC_MODEL_H

#include <math.h>
#include <penstock/types.h>
#include <stdbool.h>
#include <string.h>

__extension__ typedef __int128 model_int;
__extension__ typedef unsigned __int128 model_bits;

static const uint32_t
    __attribute__((unused)) model_types[] = { GEX_DT_I32, GEX_DT_U32, GEX_DT_I64,
                                              GEX_DT_U64, GEX_DT_FLT, GEX_DT_DBL };
static const uint32_t __attribute__((unused)) model_ops[] = {
    GEX_OP_AND,  GEX_OP_OR,   GEX_OP_XOR,  GEX_OP_ADD,   GEX_OP_SUB,  GEX_OP_MULT, GEX_OP_MIN,
    GEX_OP_MAX,  GEX_OP_INC,  GEX_OP_DEC,  GEX_OP_SET,   GEX_OP_CAS,  GEX_OP_FAND, GEX_OP_FOR,
    GEX_OP_FXOR, GEX_OP_FADD, GEX_OP_FSUB, GEX_OP_FMULT, GEX_OP_FMIN, GEX_OP_FMAX, GEX_OP_FINC,
    GEX_OP_FDEC, GEX_OP_SWAP, GEX_OP_FCAS, GEX_OP_GET,
};
enum { MODEL_TYPES = 6, MODEL_OPS = 25 };

static inline bool model_is_float(uint32_t type)
{
    return type == GEX_DT_FLT || type == GEX_DT_DBL;
}
static inline bool model_is_wide(uint32_t type)
{
    return type == GEX_DT_I64 || type == GEX_DT_U64 || type == GEX_DT_DBL;
}
static inline size_t model_len(uint32_t type) { return model_is_wide(type) ? 8 : 4; }

static inline uint32_t model_plain(uint32_t op) /* without its fetching bit; GET stays */
{
    return op == GEX_OP_GET || op <= GEX_OP_CAS ? op : op >> 15;
}
static inline bool model_fetches(uint32_t op) { return op == GEX_OP_GET || op != model_plain(op); }

static inline bool model_exists(uint32_t type, uint32_t op)
{
    uint32_t plain = model_plain(op);
    return !model_is_float(type) ||
           (plain != GEX_OP_AND && plain != GEX_OP_OR && plain != GEX_OP_XOR);
}

static inline model_int model_bitwise(uint32_t op, model_int old, model_int a)
{
    return op == GEX_OP_AND ? (old & a) : op == GEX_OP_OR ? (old | a) : (old ^ a);
}

static inline model_int model_extreme(uint32_t op, model_int old, model_int a)
{
    return (a < old) == (op == GEX_OP_MIN) ? a : old;
}

static inline model_int model_cas(model_int old, model_int a, model_int b)
{
    return old == a ? b : old;
}

static inline model_int model_integer(uint32_t op, model_int old, model_int a, model_int b)
{
    if (op == GEX_OP_GET)
        return old;
    switch (op) {
    case GEX_OP_INC:
        return old + 1;
    case GEX_OP_DEC:
        return old - 1;
    case GEX_OP_ADD:
        return old + a;
    case GEX_OP_SUB:
        return old - a;
    case GEX_OP_MULT:
        return (model_int)((model_bits)old * (model_bits)a);
    case GEX_OP_MIN:
    case GEX_OP_MAX:
        return model_extreme(op, old, a);
    case GEX_OP_SET:
        return a;
    case GEX_OP_CAS:
        return model_cas(old, a, b);
    default:
        return model_bitwise(op, old, a);
    }
}

/* Values of the tests are small, so that both kinds of float hold every result. */
static inline double model_double_cas(double old, double a, double b)
{
    return old == a && signbit(old) == signbit(a) ? b : old;
}

static inline double model_least(double a, double b) { return a < b ? a : b; }

static inline double model_double(uint32_t op, double old, double a, double b)
{
    switch (op) {
    case GEX_OP_ADD:
    case GEX_OP_INC:
        return old + (op == GEX_OP_ADD ? a : 1);
    case GEX_OP_SUB:
    case GEX_OP_DEC:
        return old - (op == GEX_OP_SUB ? a : 1);
    case GEX_OP_MULT:
        return old * a;
    case GEX_OP_MIN:
        return model_least(a, old);
    case GEX_OP_MAX:
        return -model_least(-a, -old);
    case GEX_OP_SET:
        return a;
    case GEX_OP_CAS:
        return model_double_cas(old, a, b);
    default:
        return old;
    }
}

static inline model_int model_value(uint32_t type, uint64_t bits)
{
    return type == GEX_DT_I32   ? (model_int)(int32_t)(uint32_t)bits
           : type == GEX_DT_I64 ? (model_int)(int64_t)bits
           : type == GEX_DT_U32 ? (model_int)(uint32_t)bits
                                : (model_int)bits;
}

static inline double model_float_value(uint32_t type, uint64_t bits)
{
    float narrow;
    double wide;
    uint32_t low = (uint32_t)bits;
    memcpy(&narrow, &low, sizeof narrow);
    memcpy(&wide, &bits, sizeof wide);
    return type == GEX_DT_FLT ? (double)narrow : wide;
}

static inline uint64_t model_float_bits(uint32_t type, double value)
{
    float narrow = (float)value;
    uint32_t low;
    uint64_t bits;
    memcpy(&low, &narrow, sizeof low);
    memcpy(&bits, &value, sizeof bits);
    return type == GEX_DT_FLT ? low : bits;
}

/* Returns the new value's bits. */
static inline uint64_t model_apply(uint32_t type, uint32_t op, uint64_t old,
                                   const uint64_t operands[2])
{
    const uint32_t plain = model_plain(op);
    if (model_is_float(type))
        return model_float_bits(type, model_double(plain, model_float_value(type, old),
                                                   model_float_value(type, operands[0]),
                                                   model_float_value(type, operands[1])));
    uint64_t bits =
        (uint64_t)model_integer(plain, model_value(type, old), model_value(type, operands[0]),
                                model_value(type, operands[1]));
    return model_is_wide(type) ? bits : (uint32_t)bits;
}

#endif
