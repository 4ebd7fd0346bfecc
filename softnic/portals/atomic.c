/* SPDX-License-Identifier: BSD-3-Clause */
/* atomic.c: atomic operations, for each type the operations that it has. They run under the card's
 * lock, so they are atomic among each other whatever their types. Items may be unaligned. Aligned
 * items of 4 and 8 bytes are also atomic to the processors (PTL_COHERENT_ATOMICS). */
#include "softnic/portals/inner.h"

#include <complex.h>
#include <string.h>

#define INTEGERS(X)     \
    X(int8, int8_t)     \
    X(uint8, uint8_t)   \
    X(int16, int16_t)   \
    X(uint16, uint16_t) \
    X(int32, int32_t)   \
    X(uint32, uint32_t) \
    X(int64, int64_t)   \
    X(uint64, uint64_t)

#define REALS(X)      \
    X(float, float)   \
    X(double, double) \
    X(long_double, long double)

#define COMPLEXES(X)                   \
    X(float_complex, float _Complex)   \
    X(double_complex, double _Complex) \
    X(long_double_complex, long double _Complex)

/* Sums and products of integers wrap, so they are computed without sign. */
#define INTEGER_SUM(TYPE, a, b)  ((TYPE)((uint64_t)(a) + (uint64_t)(b)))
#define INTEGER_PROD(TYPE, a, b) ((TYPE)((uint64_t)(a) * (uint64_t)(b)))
#define PLAIN_SUM(TYPE, a, b)    ((TYPE)((a) + (b)))
#define PLAIN_PROD(TYPE, a, b)   ((TYPE)((a) * (b)))

/* Cases of types with an order: t is the target, s the source, o the operand. */
#define ORDERED_CASES(TYPE) \
    case PTL_MIN:           \
        t = s < t ? s : t;  \
        break;              \
    case PTL_MAX:           \
        t = s > t ? s : t;  \
        break;              \
    case PTL_CSWAP_LE:      \
        t = o <= t ? s : t; \
        break;              \
    case PTL_CSWAP_LT:      \
        t = o < t ? s : t;  \
        break;              \
    case PTL_CSWAP_GE:      \
        t = o >= t ? s : t; \
        break;              \
    case PTL_CSWAP_GT:      \
        t = o > t ? s : t;  \
        break;

#define COMMON_CASES(TYPE, KIND)     \
    case PTL_SUM:                    \
        t = KIND##_SUM(TYPE, t, s);  \
        break;                       \
    case PTL_PROD:                   \
        t = KIND##_PROD(TYPE, t, s); \
        break;                       \
    case PTL_CSWAP:                  \
        t = o == t ? s : t;          \
        break;                       \
    case PTL_CSWAP_NE:               \
        t = o != t ? s : t;          \
        break;

#define INTEGER_CASES(TYPE)               \
    case PTL_LOR:                         \
        t = (TYPE)(t != 0 || s != 0);     \
        break;                            \
    case PTL_LAND:                        \
        t = (TYPE)(t != 0 && s != 0);     \
        break;                            \
    case PTL_LXOR:                        \
        t = (TYPE)((t != 0) != (s != 0)); \
        break;                            \
    case PTL_BOR:                         \
        t = (TYPE)(t | s);                \
        break;                            \
    case PTL_BAND:                        \
        t = (TYPE)(t & s);                \
        break;                            \
    case PTL_BXOR:                        \
        t = (TYPE)(t ^ s);                \
        break;                            \
    case PTL_MSWAP:                       \
        t = (TYPE)((o & s) | (~o & t));   \
        break;

#define NO_CASES(TYPE)

/* Swaps copy all bytes, also the padding; other operations go by value. */
#define DEFINE(NAME, TYPE, KIND, ORDERED, INTEGER)                                      \
    static void NAME##_apply(ptl_op_t operation, unsigned char *target,                 \
                             const unsigned char *source, const unsigned char *operand) \
    {                                                                                   \
        TYPE t, s, o;                                                                   \
        memcpy(&t, target, sizeof(t));                                                  \
        memcpy(&s, source, sizeof(s));                                                  \
        memcpy(&o, operand, sizeof(o));                                                 \
        switch (operation) {                                                            \
            COMMON_CASES(TYPE, KIND)                                                    \
            ORDERED(TYPE)                                                               \
            INTEGER(TYPE)                                                               \
        default:                                                                        \
            memcpy(target, source, sizeof(t));                                          \
            return;                                                                     \
        }                                                                               \
        memcpy(target, &t, sizeof(t));                                                  \
    }

#define DEFINE_INTEGER(NAME, TYPE) DEFINE(NAME, TYPE, INTEGER, ORDERED_CASES, INTEGER_CASES)
#define DEFINE_REAL(NAME, TYPE)    DEFINE(NAME, TYPE, PLAIN, ORDERED_CASES, NO_CASES)
#define DEFINE_COMPLEX(NAME, TYPE) DEFINE(NAME, TYPE, PLAIN, NO_CASES, NO_CASES)

INTEGERS(DEFINE_INTEGER)
REALS(DEFINE_REAL)
COMPLEXES(DEFINE_COMPLEX)

typedef void apply_item(ptl_op_t operation, unsigned char *target, const unsigned char *source,
                        const unsigned char *operand);

typedef enum type_class { INTEGER, REAL, COMPLEX } type_class;

typedef struct type_row {
    uint32_t len;
    type_class class;
    apply_item *apply;
} type_row;

#define ROW(NAME, TYPE, CLASS) { sizeof(TYPE), CLASS, NAME##_apply }

static const type_row types[PTL_DATATYPE_LAST] = {
    [PTL_INT8_T] = ROW(int8, int8_t, INTEGER),
    [PTL_UINT8_T] = ROW(uint8, uint8_t, INTEGER),
    [PTL_INT16_T] = ROW(int16, int16_t, INTEGER),
    [PTL_UINT16_T] = ROW(uint16, uint16_t, INTEGER),
    [PTL_INT32_T] = ROW(int32, int32_t, INTEGER),
    [PTL_UINT32_T] = ROW(uint32, uint32_t, INTEGER),
    [PTL_FLOAT] = ROW(float, float, REAL),
    [PTL_INT64_T] = ROW(int64, int64_t, INTEGER),
    [PTL_UINT64_T] = ROW(uint64, uint64_t, INTEGER),
    [PTL_DOUBLE] = ROW(double, double, REAL),
    [PTL_FLOAT_COMPLEX] = ROW(float_complex, float _Complex, COMPLEX),
    [PTL_DOUBLE_COMPLEX] = ROW(double_complex, double _Complex, COMPLEX),
    [PTL_LONG_DOUBLE] = ROW(long_double, long double, REAL),
    [PTL_LONG_DOUBLE_COMPLEX] = ROW(long_double_complex, long double _Complex, COMPLEX),
};

/* The classes that have an operation, as bits. */
static const uint8_t classes[PTL_OP_LAST] = {
    [PTL_MIN] = 1 << INTEGER | 1 << REAL,
    [PTL_MAX] = 1 << INTEGER | 1 << REAL,
    [PTL_SUM] = 1 << INTEGER | 1 << REAL | 1 << COMPLEX,
    [PTL_PROD] = 1 << INTEGER | 1 << REAL | 1 << COMPLEX,
    [PTL_LOR] = 1 << INTEGER,
    [PTL_LAND] = 1 << INTEGER,
    [PTL_BOR] = 1 << INTEGER,
    [PTL_BAND] = 1 << INTEGER,
    [PTL_LXOR] = 1 << INTEGER,
    [PTL_BXOR] = 1 << INTEGER,
    [PTL_SWAP] = 1 << INTEGER | 1 << REAL | 1 << COMPLEX,
    [PTL_CSWAP] = 1 << INTEGER | 1 << REAL | 1 << COMPLEX,
    [PTL_CSWAP_NE] = 1 << INTEGER | 1 << REAL | 1 << COMPLEX,
    [PTL_CSWAP_LE] = 1 << INTEGER | 1 << REAL,
    [PTL_CSWAP_LT] = 1 << INTEGER | 1 << REAL,
    [PTL_CSWAP_GE] = 1 << INTEGER | 1 << REAL,
    [PTL_CSWAP_GT] = 1 << INTEGER | 1 << REAL,
    [PTL_MSWAP] = 1 << INTEGER,
};

_Static_assert(sizeof(long double _Complex) <= P4_OPERAND_LEN, "an operand holds every type");

uint32_t p4_type_len(ptl_datatype_t type) { return type < PTL_DATATYPE_LAST ? types[type].len : 0; }

bool p4_atomic_is_legal(p4_kind kind, ptl_op_t operation, ptl_datatype_t type)
{
    if (operation >= PTL_OP_LAST || type >= PTL_DATATYPE_LAST ||
        (kind == P4_SWAP) != (operation >= PTL_SWAP))
        return false;
    return (classes[operation] & 1 << types[type].class) != 0;
}

/* Change one item in one step, also for processors that change it by atomic instructions: nobody's
 * change comes between load and store. acq_rel: they pair with such instructions. */
// NOLINTNEXTLINE(readability-non-const-parameter): the swap writes to target
static void apply_to_4(const type_row *row, ptl_op_t operation, uint32_t *target,
                       const unsigned char *source, const unsigned char *operand,
                       unsigned char *old)
{
    uint32_t seen = __atomic_load_n(target, __ATOMIC_ACQUIRE), value;
    do {
        value = seen;
        row->apply(operation, (unsigned char *)&value, source, operand);
    } while (!__atomic_compare_exchange_n(target, &seen, value, false, __ATOMIC_ACQ_REL,
                                          __ATOMIC_ACQUIRE));
    memcpy(old, &seen, sizeof seen);
}

// NOLINTNEXTLINE(readability-non-const-parameter): the swap writes to target
static void apply_to_8(const type_row *row, ptl_op_t operation, uint64_t *target,
                       const unsigned char *source, const unsigned char *operand,
                       unsigned char *old)
{
    uint64_t seen = __atomic_load_n(target, __ATOMIC_ACQUIRE), value;
    do {
        value = seen;
        row->apply(operation, (unsigned char *)&value, source, operand);
    } while (!__atomic_compare_exchange_n(target, &seen, value, false, __ATOMIC_ACQ_REL,
                                          __ATOMIC_ACQUIRE));
    memcpy(old, &seen, sizeof seen);
}

void p4_atomic_apply(ptl_op_t operation, ptl_datatype_t type, unsigned char *target,
                     const unsigned char *source, const unsigned char *operand, unsigned char *old,
                     size_t len)
{
    const type_row *row = &types[type];
    for (size_t at = 0; at + row->len <= len; at += row->len) {
        unsigned char *item = target + at;
        bool is_aligned = (uintptr_t)item % row->len == 0;
        if (is_aligned && row->len == sizeof(uint32_t)) {
            apply_to_4(row, operation, (uint32_t *)(void *)item, source + at, operand, old + at);
        } else if (is_aligned && row->len == sizeof(uint64_t)) {
            apply_to_8(row, operation, (uint64_t *)(void *)item, source + at, operand, old + at);
        } else {
            memcpy(old + at, item, row->len);
            row->apply(operation, item, source + at, operand);
        }
    }
}
