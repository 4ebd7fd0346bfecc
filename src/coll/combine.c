/* SPDX-License-Identifier: BSD-3-Clause */
/* combine.c: the operations of reductions on built-in types. Signed integers wrap around,
 * because they are added and multiplied as unsigned integers. The loops are written for the
 * compiler to vectorise, and compiled a second time for processors with wider registers than the
 * baseline. */
#include "coll/engine.h"

#include <strings.h>

/* At -O2 GCC vectorises only loops where vectorising cannot cost anything. */
#if defined(__GNUC__) && !defined(__clang__) && defined(__OPTIMIZE__)
#    pragma GCC optimize("tree-vectorize", "vect-cost-model=dynamic")
#endif

typedef void (*combine_fn)(const void *left, const void *right, void *out, size_t count);

/* Makes one loop per row: name, type, and the value computed from a (left) and b (right). */
#define COMBINE_ROWS(X)                 \
    X(and_32, uint32_t, a &b)           \
    X(or_32, uint32_t, a | b)           \
    X(xor_32, uint32_t, a ^ b)          \
    X(add_32, uint32_t, a + b)          \
    X(mult_32, uint32_t, a *b)          \
    X(min_i32, int32_t, a < b ? a : b)  \
    X(max_i32, int32_t, a > b ? a : b)  \
    X(min_u32, uint32_t, a < b ? a : b) \
    X(max_u32, uint32_t, a > b ? a : b) \
    X(and_64, uint64_t, a &b)           \
    X(or_64, uint64_t, a | b)           \
    X(xor_64, uint64_t, a ^ b)          \
    X(add_64, uint64_t, a + b)          \
    X(mult_64, uint64_t, a *b)          \
    X(min_i64, int64_t, a < b ? a : b)  \
    X(max_i64, int64_t, a > b ? a : b)  \
    X(min_u64, uint64_t, a < b ? a : b) \
    X(max_u64, uint64_t, a > b ? a : b) \
    X(add_flt, float, a + b)            \
    X(mult_flt, float, a *b)            \
    X(min_flt, float, a < b ? a : b)    \
    X(max_flt, float, a > b ? a : b)    \
    X(add_dbl, double, a + b)           \
    X(mult_dbl, double, a *b)           \
    X(min_dbl, double, a < b ? a : b)   \
    X(max_dbl, double, a > b ? a : b)

#define COMBINE_DEFINE(name, attribute, type, value)                                  \
    static attribute void name(const void *left_elements, const void *right_elements, \
                               void *out_elements, size_t count)                      \
    {                                                                                 \
        const type *left = left_elements, *right = right_elements;                    \
        type *out = out_elements;                                                     \
        for (size_t i = 0; i < count; i++) {                                          \
            type a = left[i], b = right[i];                                           \
            out[i] = (value);                                                         \
        }                                                                             \
    }

enum { AND, OR, XOR, ADD, MULT = 5, MIN, MAX, OPERATIONS };

/* Indexed by the bit of GEX_DT_..., then by the bit of GEX_OP_... */
#define COMBINE_INTEGERS(ways, bits, sign)                                                       \
    { [AND] = ways##and_##bits,      [OR] = ways##or_##bits,     [XOR] = ways##xor_##bits,       \
      [ADD] = ways##add_##bits,      [MULT] = ways##mult_##bits, [MIN] = ways##min_##sign##bits, \
      [MAX] = ways##max_##sign##bits }
#define COMBINE_FLOATS(ways, name) \
    { [ADD] = ways##add_##name,    \
      [MULT] = ways##mult_##name,  \
      [MIN] = ways##min_##name,    \
      [MAX] = ways##max_##name }
#define COMBINE_TABLE(ways)                                               \
    static const combine_fn                                               \
        ways##functions[][OPERATIONS] = {                                 \
            COMBINE_INTEGERS(ways, 32, i), COMBINE_INTEGERS(ways, 32, u), \
            COMBINE_INTEGERS(ways, 64, i), COMBINE_INTEGERS(ways, 64, u), \
            COMBINE_FLOATS(ways, flt),     COMBINE_FLOATS(ways, dbl),     \
        };

#define COMBINE_BASE(name, type, value) COMBINE_DEFINE(base_##name, , type, value)
COMBINE_ROWS(COMBINE_BASE)
COMBINE_TABLE(base_)
enum { TYPES = sizeof base_functions / sizeof *base_functions };

#if defined(__x86_64__)
#    define COMBINE_WIDE(name, type, value) \
        COMBINE_DEFINE(wide_##name, __attribute__((target("avx2"))), type, value)
COMBINE_ROWS(COMBINE_WIDE)
COMBINE_TABLE(wide_)
static bool has_wide(void) { return __builtin_cpu_supports("avx2") != 0; }
#else
#    define wide_functions base_functions
static bool has_wide(void) { return false; }
#endif

static combine_fn function_of(uint32_t type, uint32_t operation)
{
    uint32_t type_i = (uint32_t)ffs((int)type) - 1, operation_i = (uint32_t)ffs((int)operation) - 1;
    if (type_i >= TYPES || operation_i >= OPERATIONS)
        return NULL;
    return has_wide() ? wide_functions[type_i][operation_i] : base_functions[type_i][operation_i];
}

bool pen_coll_can_combine(uint32_t type, uint32_t operation)
{
    return (type & (type - 1)) == 0 && (operation & (operation - 1)) == 0 &&
           function_of(type, operation) != NULL;
}

void pen_coll_combine_elements(const pen_reduction *reduction, const void *left, void *right,
                               size_t count)
{
    function_of(reduction->type, reduction->operation)(left, right, right, count);
}

void pen_coll_combine_into(const pen_reduction *reduction, const void *left, const void *right,
                           void *out, size_t count)
{
    function_of(reduction->type, reduction->operation)(left, right, out, count);
}
