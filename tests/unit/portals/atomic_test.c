/* SPDX-License-Identifier: BSD-3-Clause */
/* atomic_test.c: all operations on all types, results against plain C, legal and illegal. */
#include "unit/portals/nodes.h"

#include <complex.h>
#include <stdio.h>

enum { LEN = 512 };

static _Alignas(64) unsigned char source[LEN], target[LEN], fetched[LEN], operand[64];
static unsigned char expected[LEN];
static const size_t lens[] = {
    1, 1, 2, 2, 4, 4, 4, 8, 8, 8, 8, 16, sizeof(long double), sizeof(long double _Complex)
};

static bool is_integer(int type)
{
    return type < PTL_FLOAT || type == PTL_INT64_T || type == PTL_UINT64_T;
}

static bool is_complex(int type)
{
    return type == PTL_FLOAT_COMPLEX || type == PTL_DOUBLE_COMPLEX ||
           type == PTL_LONG_DOUBLE_COMPLEX;
}

/* The matrix, written down again: 'a' all types, 'i' integers, 'o' types with an order. */
static bool is_legal(int op, int type)
{
    static const char classes[] = "ooaaiiiiiiaaaooooi";
    return classes[op] == 'a' || (classes[op] == 'i' ? is_integer(type) : !is_complex(type));
}

/* One item by plain C, for a type whose values are v[0..2]: target, source, operand. */
#define ORDER(T)                       \
    case PTL_MIN:                      \
        r = v[1] < v[0] ? v[1] : v[0]; \
        break;                         \
    case PTL_MAX:                      \
        r = v[1] > v[0] ? v[1] : v[0]; \
        break;                         \
    case PTL_CSWAP_LE:                 \
        if (v[2] <= v[0])              \
            r = v[1];                  \
        break;                         \
    case PTL_CSWAP_LT:                 \
        if (v[2] < v[0])               \
            r = v[1];                  \
        break;                         \
    case PTL_CSWAP_GE:                 \
        if (v[2] >= v[0])              \
            r = v[1];                  \
        break;                         \
    case PTL_CSWAP_GT:                 \
        if (v[2] > v[0])               \
            r = v[1];                  \
        break;
#define BITS(T)                                     \
    case PTL_LOR:                                   \
        r = v[0] || v[1];                           \
        break;                                      \
    case PTL_LAND:                                  \
        r = v[0] && v[1];                           \
        break;                                      \
    case PTL_LXOR:                                  \
        r = !v[0] != !v[1];                         \
        break;                                      \
    case PTL_BOR:                                   \
        r = (T)(v[0] | v[1]);                       \
        break;                                      \
    case PTL_BAND:                                  \
        r = (T)(v[0] & v[1]);                       \
        break;                                      \
    case PTL_BXOR:                                  \
        r = (T)(v[0] ^ v[1]);                       \
        break;                                      \
    case PTL_MSWAP:                                 \
        r = (T)((v[2] & v[1]) | (v[0] & (T)~v[2])); \
        break;
#define NONE(T)
#define MODEL(NAME, T, ORDERED, INTEGER)                                     \
    static void NAME(int op, const unsigned char *at[3], unsigned char *out) \
    {                                                                        \
        T v[3], r;                                                           \
        for (int i = 0; i < 3; i++)                                          \
            memcpy(&v[i], at[i], sizeof(T));                                 \
        r = v[0];                                                            \
        switch (op) {                                                        \
        case PTL_SUM:                                                        \
            r = (T)(v[0] + v[1]);                                            \
            break;                                                           \
        case PTL_PROD:                                                       \
            r = (T)(v[0] * v[1]);                                            \
            break;                                                           \
        case PTL_SWAP:                                                       \
            r = v[1];                                                        \
            break;                                                           \
        case PTL_CSWAP:                                                      \
            if (v[2] == v[0])                                                \
                r = v[1];                                                    \
            break;                                                           \
        case PTL_CSWAP_NE:                                                   \
            if (v[2] != v[0])                                                \
                r = v[1];                                                    \
            break;                                                           \
            ORDERED(T) INTEGER(T) default : break;                           \
        }                                                                    \
        memcpy(out, &r, sizeof(T));                                          \
    }
MODEL(m0, int8_t, ORDER, BITS)
MODEL(m1, uint8_t, ORDER, BITS)
MODEL(m2, int16_t, ORDER, BITS)
MODEL(m3, uint16_t, ORDER, BITS)
MODEL(m4, int32_t, ORDER, BITS)
MODEL(m5, uint32_t, ORDER, BITS)
MODEL(m6, float, ORDER, NONE)
MODEL(m7, int64_t, ORDER, BITS)
MODEL(m8, uint64_t, ORDER, BITS)
MODEL(m9, double, ORDER, NONE)
MODEL(m10, float _Complex, NONE, NONE)
MODEL(m11, double _Complex, NONE, NONE)
MODEL(m12, long double, ORDER, NONE)
MODEL(m13, long double _Complex, NONE, NONE)
typedef void model(int op, const unsigned char *at[3], unsigned char *out);
static model *const models[] = { m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13 };

static void set(int type, unsigned char *at, long value)
{
    memset(at, 0, lens[type]);
    if (is_integer(type)) {
        memcpy(at, &value, lens[type]);
    } else if (type == PTL_FLOAT || type == PTL_FLOAT_COMPLEX) {
        float parts[2] = { (float)value / 2, 3 };
        memcpy(at, parts, lens[type]);
    } else if (type == PTL_DOUBLE || type == PTL_DOUBLE_COMPLEX) {
        double parts[2] = { (double)value / 2, 3 };
        memcpy(at, parts, lens[type]);
    } else {
        long double part = (long double)value / 2;
        memcpy(at, &part, sizeof(part));
    }
}

/* Compares by value, since long double has padding. */
static void same(int type, const unsigned char *got, const unsigned char *wanted)
{
    if (type == PTL_LONG_DOUBLE) {
        long double a, b;
        memcpy(&a, got, sizeof(a));
        memcpy(&b, wanted, sizeof(b));
        assert_true(a == b);
    } else if (type == PTL_LONG_DOUBLE_COMPLEX) {
        long double _Complex a, b;
        memcpy(&a, got, sizeof(a));
        memcpy(&b, wanted, sizeof(b));
        assert_true(a == b);
    } else {
        assert_memory_equal(got, wanted, lens[type]);
    }
}

static void run_one(nodes *n, ptl_handle_md_t md, int op, int type, int items)
{
    ptl_size_t len = lens[type] * (size_t)items;
    ptl_process_t to = n->at[1].id;
    bool is_swap = op >= PTL_SWAP;
    for (int i = 0; i < items; i++) {
        size_t at = lens[type] * (size_t)i;
        const unsigned char *all[3] = { target + at, source + at, operand };
        models[type](op, all, expected + at);
    }
    unsigned char before[LEN];
    memcpy(before, target, LEN);
    (void)use(n, 0);
    if (is_swap) {
        assert_int_equal(PtlSwap(md, 2 * LEN, md, 0, len, to, 0, 0, 0, NULL, 4, operand,
                                 (ptl_op_t)op, (ptl_datatype_t)type),
                         PTL_OK);
    } else if (items % 2 == 0) {
        assert_int_equal(PtlAtomic(md, 0, len, PTL_ACK_REQ, to, 0, 0, 0, NULL, 4, (ptl_op_t)op,
                                   (ptl_datatype_t)type),
                         PTL_OK);
    } else {
        assert_int_equal(PtlFetchAtomic(md, 2 * LEN, md, 0, len, to, 0, 0, 0, NULL, 4, (ptl_op_t)op,
                                        (ptl_datatype_t)type),
                         PTL_OK);
    }
    bool is_fetching = is_swap || items % 2 != 0;
    (void)good_event(n, 0, PTL_EVENT_SEND);
    (void)good_event(n, 0, is_fetching ? PTL_EVENT_REPLY : PTL_EVENT_ACK);
    ptl_event_t got = good_event(n, 1, is_fetching ? PTL_EVENT_FETCH_ATOMIC : PTL_EVENT_ATOMIC);
    assert_int_equal(got.atomic_operation, op);
    assert_int_equal(got.atomic_type, type);
    assert_int_equal(got.hdr_data, 4);
    for (int i = 0; i < items; i++)
        same(type, target + lens[type] * (size_t)i, expected + lens[type] * (size_t)i);
    assert_memory_equal(target + len, before + len, LEN - len);
    if (is_fetching)
        assert_memory_equal(fetched, before, len);
}

/* Runs an operation on the values of one row. */
static void run_row(nodes *n, ptl_handle_md_t md, int op, int type, const long row[3])
{
    int items = op >= PTL_CSWAP ? 1 : op % 3 + 1;
    for (int i = 0; i < items; i++) {
        set(type, target + lens[type] * (size_t)i, row[0] + i);
        set(type, source + lens[type] * (size_t)i, row[1]);
    }
    set(type, operand, row[2]);
    run_one(n, md, op, type, items);
}

static void every_operation_works_on_every_type_that_has_it(void **state)
{
    (void)state;
    nodes n;
    nodes_open(&n, 2, LE_LOGICAL);
    (void)listen_at(&n, 1, target, LEN, 0, PTL_PRIORITY_LIST);
    /* One descriptor over source and results: pieces, so that both are found by offset. */
    static ptl_iovec_t pieces[] = { { source, LEN }, { NULL, 0 },     { operand, 64 },
                                    { operand, 64 }, { operand, 64 }, { operand, 64 },
                                    { operand, 64 }, { operand, 64 }, { operand, 64 },
                                    { operand, 64 }, { fetched, LEN } };
    ptl_handle_md_t md = bind(use(&n, 0), pieces, 11, PTL_IOVEC);
    static const long values[][3] = {
        { 3, 5, 3 }, { 5, 3, 4 }, { -7, 100, -7 }, { 0, 6, 1 }, { 127, 2, 127 }
    };
    for (int op = 0; op < PTL_OP_LAST; op++) {
        for (int type = 0; type < PTL_DATATYPE_LAST; type++) {
            for (unsigned row = 0; is_legal(op, type) && row < 5; row++)
                run_row(&n, md, op, type, values[row]);
        }
    }
    nodes_close(&n);
}

static void illegal_operations_are_refused(void **state)
{
    (void)state;
    nodes n;
    nodes_open(&n, 1, LE_LOGICAL);
    ptl_handle_md_t md = bind(use(&n, 0), source, LEN, 0);
    ptl_process_t to = n.at[0].id;
    for (int op = 0; op <= PTL_OP_LAST; op++) {
        for (int type = 0; type <= PTL_DATATYPE_LAST; type++) {
            bool legal = op < PTL_OP_LAST && type < PTL_DATATYPE_LAST && is_legal(op, type);
            ptl_size_t len = type < PTL_DATATYPE_LAST ? lens[type] : 1;
            ptl_op_t o = (ptl_op_t)op;
            ptl_datatype_t t = (ptl_datatype_t)type;
            int plain = legal && op < PTL_SWAP ? PTL_OK : PTL_ARG_INVALID;
            int swap = legal && op >= PTL_SWAP ? PTL_OK : PTL_ARG_INVALID;
            assert_int_equal(PtlAtomic(md, 0, len, 0, to, 0, 0, 0, NULL, 0, o, t), plain);
            assert_int_equal(PtlFetchAtomic(md, 0, md, 0, len, to, 0, 0, 0, NULL, 0, o, t), plain);
            assert_int_equal(PtlSwap(md, 0, md, 0, len, to, 0, 0, 0, NULL, 0, operand, o, t), swap);
            if (swap == PTL_OK && op > PTL_SWAP) {
                assert_int_equal(
                    PtlSwap(md, 0, md, 0, 2 * len, to, 0, 0, 0, NULL, 0, operand, o, t),
                    PTL_ARG_INVALID);
                assert_int_equal(PtlSwap(md, 0, md, 0, len, to, 0, 0, 0, NULL, 0, NULL, o, t),
                                 PTL_ARG_INVALID);
            }
        }
        work(&n);
    }
    assert_int_equal(PtlAtomic(md, 0, 6, 0, to, 0, 0, 0, NULL, 0, PTL_SUM, PTL_INT32_T),
                     PTL_ARG_INVALID);
    assert_int_equal(PtlSwap(md, 0, md, 0, 8, to, 0, 0, 0, NULL, 0, NULL, PTL_SWAP, PTL_INT32_T),
                     PTL_OK);
    assert_int_equal(PtlAtomicSync(), PTL_OK);
    nodes_close(&n);
}

static void swap_keeps_padding_and_unaligned_items_work(void **state)
{
    (void)state;
    nodes n;
    nodes_open(&n, 1, LE_PHYSICAL);
    (void)listen_at(&n, 0, target, LEN, PTL_ME_EVENT_COMM_DISABLE, PTL_PRIORITY_LIST);
    ptl_handle_md_t md = bind(use(&n, 0), source, LEN, PTL_MD_EVENT_SUCCESS_DISABLE);
    ptl_process_t to = n.at[0].id;
    memset(source, 0x3f, LEN);
    memset(target, 0, LEN);
    assert_int_equal(PtlSwap(md, 256, md, 0, sizeof(long double), to, 0, 0, 1, NULL, 0, NULL,
                             PTL_SWAP, PTL_LONG_DOUBLE),
                     PTL_OK);
    work(&n);
    assert_memory_equal(target + 1, source, sizeof(long double));
    assert_int_equal(target[0], 0);
    uint64_t one = 1, got = 0;
    memcpy(source, &one, 8);
    memset(target, 0, LEN);
    for (int i = 0; i < 5; i++)
        assert_int_equal(PtlAtomic(md, 0, 8, 0, to, 0, 0, 3, NULL, 0, PTL_SUM, PTL_UINT64_T),
                         PTL_OK);
    work(&n);
    memcpy(&got, target + 3, 8);
    assert_int_equal(got, 5);
    nodes_close(&n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_operation_works_on_every_type_that_has_it),
        cmocka_unit_test(illegal_operations_are_refused),
        cmocka_unit_test(swap_keeps_padding_and_unaligned_items_work),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
