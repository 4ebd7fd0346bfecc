/* SPDX-License-Identifier: BSD-3-Clause */
/* combine.c: the operations of reductions on the types we know. Signed integers wrap: they are
 * added and multiplied as unsigned ones. */
#include "coll/engine.h"

#include <strings.h>

typedef void (*combine_fn)(const void *left, const void *right, void *out, size_t count);

/* One loop for each row: name, type, value made of a (left) and b (right). */
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

#define COMBINE_DEFINE(name, type, value)                                                       \
    static void name(const void *left_elements, const void *right_elements, void *out_elements, \
                     size_t count)                                                              \
    {                                                                                           \
        const type *left = left_elements, *right = right_elements;                              \
        type *out = out_elements;                                                               \
        for (size_t i = 0; i < count; i++) {                                                    \
            type a = left[i], b = right[i];                                                     \
            out[i] = (value);                                                                   \
        }                                                                                       \
    }
COMBINE_ROWS(COMBINE_DEFINE)

enum { AND, OR, XOR, ADD, MULT = 5, MIN, MAX, OPERATIONS };

/* By bit of GEX_DT_..., then of GEX_OP_... */
static const combine_fn functions[][OPERATIONS] = {
    { [AND] = and_32,
      [OR] = or_32,
      [XOR] = xor_32,
      [ADD] = add_32,
      [MULT] = mult_32,
      [MIN] = min_i32,
      [MAX] = max_i32 },
    { [AND] = and_32,
      [OR] = or_32,
      [XOR] = xor_32,
      [ADD] = add_32,
      [MULT] = mult_32,
      [MIN] = min_u32,
      [MAX] = max_u32 },
    { [AND] = and_64,
      [OR] = or_64,
      [XOR] = xor_64,
      [ADD] = add_64,
      [MULT] = mult_64,
      [MIN] = min_i64,
      [MAX] = max_i64 },
    { [AND] = and_64,
      [OR] = or_64,
      [XOR] = xor_64,
      [ADD] = add_64,
      [MULT] = mult_64,
      [MIN] = min_u64,
      [MAX] = max_u64 },
    { [ADD] = add_flt, [MULT] = mult_flt, [MIN] = min_flt, [MAX] = max_flt },
    { [ADD] = add_dbl, [MULT] = mult_dbl, [MIN] = min_dbl, [MAX] = max_dbl },
};
enum { TYPES = sizeof functions / sizeof *functions };

static combine_fn function_of(uint32_t type, uint32_t operation)
{
    uint32_t type_i = (uint32_t)ffs((int)type) - 1, operation_i = (uint32_t)ffs((int)operation) - 1;
    return type_i < TYPES && operation_i < OPERATIONS ? functions[type_i][operation_i] : NULL;
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
