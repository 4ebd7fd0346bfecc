/* SPDX-License-Identifier: BSD-3-Clause */
/* trigger_test.c: counters and triggered operations. */
#include "unit/portals/nodes.h"

static unsigned char source[64], target[64];
static const ptl_ct_event_t one = { 1, 0 }, failed = { 0, 1 };

static void counters_are_set_raised_and_waited_for(void **state)
{
    (void)state;
    nodes n;
    nodes_open(&n, 1, LE_LOGICAL);
    ptl_handle_ct_t cts[2], none[1] = { PTL_CT_NONE };
    ptl_ct_event_t value, both = { 1, 1 }, minus = { 0, ~(ptl_size_t)0 };
    ptl_size_t tests[2] = { 5, 2 };
    unsigned which = 9;
    node *at = use(&n, 0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(PtlCTAlloc(at->ni, &cts[i]), PTL_OK);
    assert_int_equal(PtlCTInc(cts[0], both), PTL_ARG_INVALID);
    assert_int_equal(PtlCTPoll(cts, tests, 2, 0, &value, &which), PTL_CT_NONE_REACHED);
    assert_int_equal(PtlCTPoll(cts, tests, 2, 5, &value, &which), PTL_CT_NONE_REACHED);
    assert_int_equal(PtlCTPoll(cts, tests, 0, 0, &value, &which), PTL_ARG_INVALID);
    assert_int_equal(PtlCTPoll(none, tests, 1, 0, &value, &which), PTL_ARG_INVALID);
    assert_int_equal(PtlCTSet(cts[1], (ptl_ct_event_t){ 2, 0 }), PTL_OK);
    assert_int_equal(PtlCTPoll(cts, tests, 2, PTL_TIME_FOREVER, &value, &which), PTL_OK);
    assert_int_equal(which, 1);
    assert_int_equal(value.success, 2);
    assert_int_equal(PtlCTInc(cts[0], failed), PTL_OK);
    assert_int_equal(PtlCTWait(cts[0], 100, &value), PTL_OK); /* any failure ends it */
    assert_int_equal(value.failure, 1);
    assert_int_equal(PtlCTInc(cts[0], minus), PTL_OK);
    assert_int_equal(PtlCTGet(cts[0], &value), PTL_OK);
    assert_int_equal(value.failure, 0);
    ptl_event_t event;
    ptl_handle_eq_t eqs[2] = { at->eq, at->eq };
    assert_int_equal(PtlEQPoll(eqs, 2, 3, &event, &which), PTL_EQ_EMPTY);
    assert_int_equal(PtlEQPoll(eqs, 0, 3, &event, &which), PTL_ARG_INVALID);
    assert_int_equal(PtlEQGet(at->eq, NULL), PTL_ARG_INVALID);
    nodes_close(&n);
}

static void operations_fire_by_threshold(void **state)
{
    (void)state;
    nodes n;
    nodes_open(&n, 2, LE_LOGICAL);
    (void)listen_at(&n, 1, target, 64, PTL_ME_EVENT_CT_COMM, PTL_PRIORITY_LIST);
    node *at = use(&n, 0);
    ptl_handle_ct_t trigger;
    ptl_handle_md_t md = bind(at, source, 64, PTL_MD_EVENT_SUCCESS_DISABLE | PTL_MD_VOLATILE);
    assert_int_equal(PtlCTAlloc(at->ni, &trigger), PTL_OK);
    static const ptl_size_t order[] = { 3, 1, 2, 1 };
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(PtlTriggeredPut(md, i, 1, PTL_NO_ACK_REQ, n.at[1].id, 0, 0, i, NULL, i,
                                         trigger, order[i]),
                         PTL_OK);
    for (unsigned i = 0; i < 4; i++) /* read when they fire */
        source[i] = (unsigned char)('a' + i);
    assert_int_equal(PtlMDRelease(md), PTL_IN_USE);
    counted(&n, 1, 0, 0);
    assert_int_equal(PtlCTInc((use(&n, 0), trigger), one), PTL_OK);
    assert_int_equal(good_event(&n, 1, PTL_EVENT_PUT).hdr_data, 1); /* equal ones in order */
    assert_int_equal(good_event(&n, 1, PTL_EVENT_PUT).hdr_data, 3);
    no_event(&n, 1);
    assert_int_equal(PtlCTInc((use(&n, 0), trigger), failed), PTL_OK); /* failures count, too */
    assert_int_equal(good_event(&n, 1, PTL_EVENT_PUT).hdr_data, 2);
    assert_int_equal(PtlCTSet((use(&n, 0), trigger), (ptl_ct_event_t){ 9, 0 }), PTL_OK);
    assert_int_equal(good_event(&n, 1, PTL_EVENT_PUT).hdr_data, 0);
    assert_memory_equal(target, "abcd", 4);
    assert_int_equal(
        PtlTriggeredGet((use(&n, 0), md), 10, 4, n.at[1].id, 0, 0, 0, NULL, trigger, 9),
        PTL_OK); /* reached already */
    (void)good_event(&n, 1, PTL_EVENT_GET);
    work(&n);
    assert_memory_equal(source + 10, "abcd", 4);
    assert_int_equal(PtlMDRelease((use(&n, 0), md)), PTL_OK);
    nodes_close(&n);
}

static void chains_run_inside_the_call(void **state)
{
    (void)state;
    nodes n;
    enum { LINKS = 3000 };
    ptl_handle_ct_t ct[LINKS + 1];
    ptl_ct_event_t value;
    nodes_open(&n, 1, ME_LOGICAL);
    node *at = use(&n, 0);
    for (int i = 0; i <= LINKS; i++)
        assert_int_equal(PtlCTAlloc(at->ni, &ct[i]), PTL_OK);
    for (int i = 0; i < LINKS; i++)
        assert_int_equal(i % 2 ? PtlTriggeredCTInc(ct[i + 1], one, ct[i], 1)
                               : PtlTriggeredCTSet(ct[i + 1], one, ct[i], 1),
                         PTL_OK);
    assert_int_equal(PtlCTInc(ct[0], one), PTL_OK);
    assert_int_equal(PtlCTGet(ct[LINKS], &value), PTL_OK);
    assert_int_equal(value.success, 1);
    assert_int_equal(PtlTriggeredCTInc(ct[1], one, PTL_CT_NONE, 1), PTL_ARG_INVALID);
    assert_int_equal(PtlTriggeredCTInc(PTL_CT_NONE, one, ct[0], 1), PTL_ARG_INVALID);
    nodes_close(&n);
}

static void waiting_operations_are_bounded_and_cancelled(void **state)
{
    (void)state;
    nodes n;
    nodes_open(&n, 1, LE_LOGICAL);
    node *at = use(&n, 0);
    ptl_handle_ct_t trigger;
    ptl_handle_md_t md = bind(at, source, 64, PTL_MD_EVENT_SUCCESS_DISABLE);
    for (int round = 0; round < 3; round++) {
        assert_int_equal(PtlCTAlloc(at->ni, &trigger), PTL_OK);
        for (int i = 0; i <= at->limits.max_triggered_ops; i++) {
            int wanted = i < at->limits.max_triggered_ops ? PTL_OK : PTL_NO_SPACE;
            ptl_process_t to = at->id;
            switch (i == at->limits.max_triggered_ops ? round : i % 5) {
            case 0:
                assert_int_equal(PtlTriggeredPut(md, 0, 8, 0, to, 0, 0, 0, NULL, 0, trigger, 5),
                                 wanted);
                break;
            case 1:
                assert_int_equal(PtlTriggeredGet(md, 0, 8, to, 0, 0, 0, NULL, trigger, 5), wanted);
                break;
            case 2:
                assert_int_equal(PtlTriggeredAtomic(md, 0, 8, 0, to, 0, 0, 0, NULL, 0, PTL_SUM,
                                                    PTL_INT64_T, trigger, 5),
                                 wanted);
                break;
            case 3:
                assert_int_equal(PtlTriggeredFetchAtomic(md, 0, md, 8, 8, to, 0, 0, 0, NULL, 0,
                                                         PTL_SUM, PTL_INT64_T, trigger, 5),
                                 wanted);
                break;
            default:
                assert_int_equal(PtlTriggeredSwap(md, 0, md, 8, 8, to, 0, 0, 0, NULL, 0, source,
                                                  PTL_SWAP, PTL_INT64_T, trigger, 5),
                                 wanted);
                break;
            }
        }
        assert_int_equal(PtlMDRelease(md), PTL_IN_USE);
        if (round == 0)
            assert_int_equal(PtlCTCancelTriggered(trigger), PTL_OK);
        assert_int_equal(PtlCTFree(trigger), PTL_OK); /* drops what waits, too */
        work(&n);
        status_is(&n, 0, 0, 0, 0); /* nothing was sent */
    }
    assert_int_equal(PtlMDRelease(md), PTL_OK);
    nodes_close(&n);
}

static void operand_of_a_triggered_swap_is_kept(void **state)
{
    (void)state;
    nodes n;
    nodes_open(&n, 1, LE_LOGICAL);
    (void)listen_at(&n, 0, target, 64, 0, PTL_PRIORITY_LIST);
    node *at = use(&n, 0);
    ptl_handle_md_t md = bind(at, source, 64, PTL_MD_EVENT_SUCCESS_DISABLE);
    uint32_t operand = 7;
    memset(target, 0, 8);
    target[0] = 7;
    memset(source, 0, 64);
    source[0] = 99;
    assert_int_equal(PtlTriggeredSwap(md, 16, md, 0, 4, at->id, 0, 0, 0, NULL, 0, &operand,
                                      PTL_CSWAP, PTL_UINT32_T, at->ct, 1),
                     PTL_OK);
    operand = 8;
    assert_int_equal(PtlCTInc(at->ct, one), PTL_OK);
    (void)good_event(&n, 0, PTL_EVENT_FETCH_ATOMIC);
    assert_int_equal(target[0], 99);
    assert_int_equal(source[16], 7);
    nodes_close(&n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counters_are_set_raised_and_waited_for),
        cmocka_unit_test(operations_fire_by_threshold),
        cmocka_unit_test(chains_run_inside_the_call),
        cmocka_unit_test(waiting_operations_are_bounded_and_cancelled),
        cmocka_unit_test(operand_of_a_triggered_swap_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
