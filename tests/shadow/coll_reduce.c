/* SPDX-License-Identifier: BSD-3-Clause */
/* coll_reduce.c: reductions and scans of every type and operation. Members fold all contributions
 * in the order of ranks, and compare. */
#include "coll.h"

#include <string.h>

enum { WORD = 8, TYPES = 7 };

static const gex_DT_t types[TYPES] = { GEX_DT_I32, GEX_DT_U32, GEX_DT_I64, GEX_DT_U64,
                                       GEX_DT_FLT, GEX_DT_DBL, GEX_DT_USER };
static const gex_OP_t integer_ops[] = { GEX_OP_ADD, GEX_OP_MULT, GEX_OP_MIN, GEX_OP_MAX,
                                        GEX_OP_AND, GEX_OP_OR,   GEX_OP_XOR };
static const gex_OP_t float_ops[] = { GEX_OP_ADD, GEX_OP_MIN, GEX_OP_MAX }; /* exact */

/* How elements are combined: right becomes left combined with it. */
typedef struct reduction {
    gex_DT_t type;
    gex_OP_t op;
    size_t element_len, count;
} reduction;

#define FOLD(NAME, T, U)                                         \
    static void fold_##NAME(gex_OP_t op, const void *l, void *r) \
    {                                                            \
        T a, b;                                                  \
        memcpy(&a, l, sizeof a);                                 \
        memcpy(&b, r, sizeof b);                                 \
        if (op == GEX_OP_ADD)                                    \
            b = (T)((U)a + (U)b);                                \
        else if (op == GEX_OP_MULT)                              \
            b = (T)((U)a * (U)b);                                \
        else if (op == GEX_OP_MIN)                               \
            b = a < b ? a : b;                                   \
        else                                                     \
            b = a > b ? a : b;                                   \
        memcpy(r, &b, sizeof b);                                 \
    }
FOLD(i32, int32_t, uint32_t)
FOLD(u32, uint32_t, uint32_t)
FOLD(i64, int64_t, uint64_t)
FOLD(u64, uint64_t, uint64_t)
FOLD(flt, float, float)
FOLD(dbl, double, double)

typedef void (*fold_fn)(gex_OP_t op, const void *l, void *r);
static const fold_fn folds[TYPES - 1] = {
    fold_i32, fold_u32, fold_i64, fold_u64, fold_flt, fold_dbl
};

static void fold_bits(gex_OP_t op, const unsigned char *l, unsigned char *r, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (op == GEX_OP_AND)
            r[i] &= l[i];
        else if (op == GEX_OP_OR)
            r[i] |= l[i];
        else
            r[i] ^= l[i];
}

/* A client's operation: composes x -> a x + b, so that the order matters. */
static void fold_maps(const void *left, void *right_and_result, size_t count, const void *unused)
{
    const unsigned char *l = left;
    unsigned char *r = right_and_result;
    (void)unused;
    for (size_t i = 0; i < count; i++) {
        uint32_t one[2], two[2];
        memcpy(one, l + i * sizeof one, sizeof one);
        memcpy(two, r + i * sizeof two, sizeof two);
        two[1] += two[0] * one[1];
        two[0] *= one[0];
        memcpy(r + i * sizeof two, two, sizeof two);
    }
}

static void fold(const reduction *how, const unsigned char *l, unsigned char *r)
{
    if (how->type == GEX_DT_USER) {
        fold_maps(l, r, how->count, NULL);
        return;
    }
    if ((how->op & (GEX_OP_AND | GEX_OP_OR | GEX_OP_XOR)) != 0) {
        fold_bits(how->op, l, r, how->count * how->element_len);
        return;
    }
    unsigned type_i = 0;
    while (types[type_i] != how->type)
        type_i++;
    for (size_t i = 0; i < how->count; i++)
        folds[type_i](how->op, l + i * how->element_len, r + i * how->element_len);
}

static reduction reduction_draw(random_state *random, size_t len)
{
    reduction how = { .type = types[random_below(random, TYPES)] };
    const bool is_32 = (how.type & (GEX_DT_I32 | GEX_DT_U32 | GEX_DT_FLT)) != 0;
    how.element_len = is_32 ? WORD / 2 : WORD;
    how.count = len / WORD + 1;
    if (how.type == GEX_DT_USER)
        how.op = GEX_OP_USER_NC;
    else if ((how.type & (GEX_DT_FLT | GEX_DT_DBL)) != 0)
        how.op = float_ops[random_below(random, 3)];
    else
        how.op = integer_ops[random_below(random, 7)];
    return how;
}

/* Writes a member's contribution to buffer. Floats are small whole numbers, whose sums are exact.
 */
static void elements(const reduction *how, uint64_t key, gex_Rank_t member, unsigned char *buffer)
{
    const unsigned char *bytes = coll_bytes(key, member);
    memcpy(buffer, bytes, how->count * how->element_len);
    for (size_t i = 0; i < how->count; i++) {
        const float one = (float)bytes[i] - 128.0F;
        const double other = (double)one;
        if (how->type == GEX_DT_FLT)
            memcpy(buffer + i * sizeof one, &one, sizeof one);
        else if (how->type == GEX_DT_DBL)
            memcpy(buffer + i * sizeof other, &other, sizeof other);
    }
}

/* Folds the contributions of members first..last. */
static unsigned char *fold_members(worker *w, const reduction *how, uint64_t key, gex_Rank_t last)
{
    const size_t len = how->count * how->element_len;
    unsigned char *sum = desk_take(w, len), *next = desk_take(w, len);
    elements(how, key, 0, sum);
    for (gex_Rank_t member = 1; member <= last; member++) {
        elements(how, key, member, next);
        fold(how, sum, next);
        memcpy(sum, next, len);
    }
    return sum;
}

enum { TO_ONE, TO_ALL, SCAN, EXCLUSIVE, FORMS };

static void reduce_one(worker *w, random_state *random, size_t len)
{
    coll_call c = coll_begin(w, random, len, FORMS);
    c.numbers = true;
    const reduction how = reduction_draw(random, len);
    const size_t bytes = how.count * how.element_len;
    const bool gets = c.form == TO_ONE      ? c.root == shadow.rank
                      : c.form == EXCLUSIVE ? shadow.rank > 0
                                            : true;
    gex_Rank_t last = shadow.size - 1;
    if (c.form == SCAN || c.form == EXCLUSIVE)
        last = shadow.rank - (c.form == EXCLUSIVE && gets);
    unsigned char *mine = desk_take(w, bytes);
    elements(&how, c.key, shadow.rank, mine);
    coll_source(w, &c, mine, bytes);
    coll_result(w, &c, gets ? fold_members(w, &how, c.key, last) : NULL, bytes);
    gex_Event_t event;
    if (c.form == TO_ONE)
        event = gex_Coll_ReduceToOneNB(w->team, c.root, c.found, c.source, how.type,
                                       how.element_len, how.count, how.op, fold_maps, NULL, 0);
    else if (c.form == TO_ALL)
        event = gex_Coll_ReduceToAllNB(w->team, c.found, c.source, how.type, how.element_len,
                                       how.count, how.op, fold_maps, NULL, 0);
    else if (c.form == SCAN)
        event = pen_Coll_ScanNB(w->team, c.found, c.source, how.type, how.element_len, how.count,
                                how.op, fold_maps, NULL, 0);
    else
        event = pen_Coll_ExclusiveScanNB(w->team, c.found, c.source, how.type, how.element_len,
                                         how.count, how.op, fold_maps, NULL, 0);
    coll_begun(w, &c, event);
}

void coll_reduce(worker *w, unsigned most) { coll_many(w, most, 6, reduce_one); }
