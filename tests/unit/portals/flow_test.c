/* SPDX-License-Identifier: BSD-3-Clause */
/* flow_test.c: full queues without flow control, flow control with its three causes, disabling by
 * hand, order, faults on purpose. */
#include "unit/portals/nodes.h"

static unsigned char source[4096], target[65536];

static void full_queue_loses_the_oldest_event(void **state)
{
    (void)state;
    nodes n;
    pen_portals_config_default(&n.config);
    nodes_open_with(&n, 2, LE_LOGICAL, 0, 4, NULL);
    (void)listen_at(&n, 1, target, 4096, PTL_ME_EVENT_CT_COMM, PTL_PRIORITY_LIST);
    ptl_handle_md_t md = bind(use(&n, 0), source, 4096, PTL_MD_EVENT_SEND_DISABLE);
    for (unsigned i = 0; i < 100; i++) {
        assert_int_equal(put(&n, 0, 1, md, 0, i, PTL_NO_ACK_REQ, 0, 0), PTL_OK);
        work(&n);
    }
    counted(&n, 1, 100, 0);
    for (unsigned i = 0; i < 4; i++) {
        ptl_event_t event;
        assert_int_equal(PtlEQGet(n.at[1].eq, &event), i == 0 ? PTL_EQ_DROPPED : PTL_OK);
        assert_int_equal(event.mlength, 96 + i);
    }
    no_event(&n, 1);
    nodes_close(&n);
}

/* Sends `count` acked messages one after another. Returns how many were accepted. */
static unsigned send_and_see(nodes *n, ptl_handle_md_t md, unsigned count)
{
    unsigned accepted = 0;
    for (unsigned i = 0; i < count; i++) {
        assert_int_equal(put(n, 0, 1, md, 0, 8, PTL_ACK_REQ, 0, i), PTL_OK);
        ptl_event_t ack = next_event(n, 0, PTL_EVENT_ACK);
        if (ack.ni_fail_type == PTL_NI_OK)
            accepted++;
        else
            assert_int_equal(ack.ni_fail_type, PTL_NI_PT_DISABLED);
        assert_true(accepted == i + 1 || ack.ni_fail_type != PTL_NI_OK);
    }
    return accepted;
}

static void portal_is_disabled_when_the_queue_is_full(void **state)
{
    (void)state;
    nodes n;
    pen_portals_config_default(&n.config);
    nodes_open_with(&n, 2, LE_LOGICAL, PTL_PT_FLOWCTRL, 8, NULL);
    ptl_pt_index_t second;
    assert_int_equal(PtlPTAlloc(use(&n, 1)->ni, PTL_PT_FLOWCTRL, n.at[1].eq, 7, &second), PTL_OK);
    (void)listen_at(&n, 1, target, 4096, 0, PTL_PRIORITY_LIST);
    ptl_handle_md_t md = bind(use(&n, 0), source, 4096, PTL_MD_EVENT_SEND_DISABLE);
    assert_int_equal(send_and_see(&n, md, 16), 8);
    status_is(&n, 1, 8, 0, 0);
    /* Another portal with the same queue: its notice has room of its own. */
    assert_int_equal(PtlPut((use(&n, 0), md), 0, 8, PTL_ACK_REQ, n.at[1].id, 7, 0, 0, NULL, 0),
                     PTL_OK);
    assert_int_equal(next_event(&n, 0, PTL_EVENT_ACK).ni_fail_type, PTL_NI_PT_DISABLED);
    for (int i = 0; i < 8; i++)
        (void)good_event(&n, 1, PTL_EVENT_PUT);
    ptl_event_t event = next_event(&n, 1, PTL_EVENT_PT_DISABLED);
    assert_int_equal(event.pt_index, 0);
    assert_int_equal(event.ni_fail_type, PTL_NI_PT_DISABLED);
    assert_int_equal(next_event(&n, 1, PTL_EVENT_PT_DISABLED).pt_index, 7);
    no_event(&n, 1);
    assert_int_equal(put(&n, 0, 1, md, 0, 8, PTL_NO_ACK_REQ, 0, 0), PTL_OK); /* lost in silence */
    status_is(&n, 1, 10, 0, 0);
    assert_int_equal(PtlPTEnable(use(&n, 1)->ni, 0), PTL_OK);
    assert_int_equal(send_and_see(&n, md, 8), 8);
    nodes_close(&n);
}

static void portal_is_disabled_when_nothing_matches(void **state)
{
    (void)state;
    nodes n;
    pen_portals_config_default(&n.config);
    nodes_open_with(&n, 2, LE_PHYSICAL, PTL_PT_FLOWCTRL, QUEUE, NULL);
    for (unsigned i = 0; i < 16; i++)
        (void)listen_at(&n, 1, target + i, 1,
                        PTL_ME_USE_ONCE | PTL_ME_EVENT_COMM_DISABLE | PTL_ME_EVENT_UNLINK_DISABLE,
                        PTL_OVERFLOW_LIST);
    ptl_handle_md_t md = bind(use(&n, 0), source, 4096, PTL_MD_EVENT_SEND_DISABLE);
    assert_int_equal(send_and_see(&n, md, 33), 16);
    (void)next_event(&n, 1, PTL_EVENT_PT_DISABLED);
    no_event(&n, 1);
    ptl_me_t me = entry_of(&n, use(&n, 1), target, 8, 0); /* an append works meanwhile */
    ptl_handle_any_t handle;
    assert_int_equal(append(&n, &n.at[1], &me, PTL_PRIORITY_LIST, NULL, &handle), PTL_OK);
    for (int i = 0; i < 16; i++)
        (void)good_event(&n, 1, PTL_EVENT_PUT_OVERFLOW);
    (void)good_event(&n, 1, PTL_EVENT_LINK);
    assert_int_equal(PtlPTEnable(n.at[1].ni, 0), PTL_OK);
    assert_int_equal(send_and_see(&n, md, 5), 5);
    nodes_close(&n);
}

static void portal_is_disabled_when_headers_run_out(void **state)
{
    (void)state;
    nodes n;
    ptl_ni_limits_t wish;
    memset(&wish, 0x7f, sizeof(wish));
    wish.max_unexpected_headers = 5;
    pen_portals_config_default(&n.config);
    for (int has_control = 0; has_control < 2; has_control++) {
        nodes_open_with(&n, 2, ME_LOGICAL, has_control ? PTL_PT_FLOWCTRL : 0, QUEUE, &wish);
        (void)listen_at(&n, 1, target, 4096, PTL_ME_EVENT_COMM_DISABLE, PTL_OVERFLOW_LIST);
        ptl_handle_md_t md = bind(use(&n, 0), source, 4096, PTL_MD_EVENT_SEND_DISABLE);
        for (int i = 0; i < 7; i++) {
            assert_int_equal(put(&n, 0, 1, md, 0, 8, PTL_ACK_REQ, 0, 0), PTL_OK);
            assert_int_equal(next_event(&n, 0, PTL_EVENT_ACK).ni_fail_type, i < 5 ? PTL_NI_OK
                                                                            : has_control
                                                                                ? PTL_NI_PT_DISABLED
                                                                                : PTL_NI_DROPPED);
        }
        if (has_control)
            (void)next_event(&n, 1, PTL_EVENT_PT_DISABLED);
        no_event(&n, 1);
        status_is(&n, 1, 2, 0, 0);
        nodes_close(&n);
    }
}

static void notice_comes_after_the_messages_under_way(void **state)
{
    (void)state;
    nodes n;
    static unsigned char data[50000];
    pen_portals_config_default(&n.config);
    n.config.ring_len = 4096;
    nodes_open_with(&n, 3, LE_LOGICAL, PTL_PT_FLOWCTRL, QUEUE, NULL);
    ptl_handle_any_t handle = listen_at(&n, 1, target, 65536, PTL_ME_USE_ONCE, PTL_PRIORITY_LIST);
    ptl_handle_md_t md = bind(use(&n, 0), data, sizeof(data), 0);
    assert_int_equal(put(&n, 0, 1, md, 0, sizeof(data), PTL_ACK_REQ, 0, 0), PTL_OK);
    ptl_ct_event_t value;
    assert_int_equal(PtlCTGet(use(&n, 1)->ct, &value), PTL_OK);
    md = bind(use(&n, 2), source, 8, 0);
    assert_int_equal(put(&n, 2, 1, md, 0, 8, PTL_ACK_REQ, 0, 0), PTL_OK); /* no entry is left */
    ptl_event_t event;
    assert_int_equal(PtlEQGet(use(&n, 1)->eq, &event), PTL_EQ_EMPTY);
    assert_int_equal(unlink_entry(&n, handle), PTL_ARG_INVALID);
    for (int i = 0; i < 100; i++)
        work(&n);
    (void)good_event(&n, 1, PTL_EVENT_PUT);
    (void)good_event(&n, 1, PTL_EVENT_AUTO_UNLINK);
    (void)next_event(&n, 1, PTL_EVENT_PT_DISABLED);
    (void)good_event(&n, 2, PTL_EVENT_SEND);
    assert_int_equal(next_event(&n, 2, PTL_EVENT_ACK).ni_fail_type, PTL_NI_PT_DISABLED);
    nodes_close(&n);
}

static void portals_are_disabled_by_hand(void **state)
{
    (void)state;
    nodes n;
    pen_portals_config_default(&n.config);
    nodes_open_with(&n, 2, ME_PHYSICAL, PTL_PT_ALLOC_DISABLED, QUEUE, NULL);
    (void)listen_at(&n, 1, target, 4096, PTL_ME_EVENT_COMM_DISABLE, PTL_PRIORITY_LIST);
    ptl_handle_md_t md = bind(use(&n, 0), source, 4096, PTL_MD_EVENT_SEND_DISABLE);
    assert_int_equal(send_and_see(&n, md, 2), 0);
    assert_int_equal(PtlPTEnable(use(&n, 1)->ni, 0), PTL_OK);
    assert_int_equal(send_and_see(&n, md, 2), 2);
    assert_int_equal(PtlPTDisable(use(&n, 1)->ni, 0), PTL_OK);
    assert_int_equal(send_and_see(&n, md, 2), 0);
    assert_int_equal(PtlGet((use(&n, 0), md), 0, 8, n.at[1].id, 0, 0, 0, NULL), PTL_OK);
    assert_int_equal(next_event(&n, 0, PTL_EVENT_REPLY).ni_fail_type, PTL_NI_PT_DISABLED);
    no_event(&n, 1); /* no notice */
    assert_int_equal(PtlPTEnable(use(&n, 1)->ni, 0), PTL_OK);
    assert_int_equal(send_and_see(&n, md, 2), 2);
    nodes_close(&n);
}

static void messages_are_matched_in_the_order_of_the_calls(void **state)
{
    (void)state;
    nodes n;
    enum { COUNT = 2000 };
    static unsigned char data[20000], from[20000];
    pen_portals_config_default(&n.config);
    n.config.ring_len = 8192;
    nodes_open_with(&n, 2, ME_LOGICAL, 0, 4 * COUNT, NULL);
    (void)listen_at(&n, 1, data, sizeof(data), 0, PTL_PRIORITY_LIST);
    ptl_handle_md_t md = bind(use(&n, 0), from, sizeof(from), PTL_MD_EVENT_SEND_DISABLE);
    for (unsigned i = 0; i < COUNT; i++) {
        static const ptl_size_t lens[] = { 0, 8, 3000, 16, 15000, 64 };
        assert_int_equal(put(&n, 0, 1, md, 0, lens[i % 6], PTL_NO_ACK_REQ, i, 0), PTL_OK);
        if (i % 10 == 0)
            work(&n);
    }
    for (unsigned i = 0; i < COUNT; i++) {
        ptl_event_t event = { 0 };
        while (PtlEQGet(use(&n, 1)->eq, &event) == PTL_EQ_EMPTY)
            work(&n);
        assert_int_equal(event.match_bits, i);
    }
    /* A put, a get of the same place and a put: the get sees the first. */
    md = bind(use(&n, 0), from, sizeof(from), PTL_MD_EVENT_SEND_DISABLE);
    for (unsigned i = 0; i < 200; i++) {
        memset(from, (int)i, 64);
        memset(from + 64, (int)i + 1, 64);
        assert_int_equal(put(&n, 0, 1, md, 0, 64, PTL_NO_ACK_REQ, i, 8), PTL_OK);
        assert_int_equal(PtlGet(md, 1000, 64, n.at[1].id, 0, 0, 8, NULL), PTL_OK);
        assert_int_equal(put(&n, 0, 1, md, 64, 64, PTL_NO_ACK_REQ, i, 8), PTL_OK);
        (void)good_event(&n, 0, PTL_EVENT_REPLY);
        assert_memory_equal(from + 1000, from, 64);
        work(&n);
        assert_memory_equal(data + 8, from + 64, 64);
    }
    nodes_close(&n);
}

enum { DROP, DISABLE, FULL, FAIL, LATE, FAULTS };

static pen_portals_faults faults_of(int fault)
{
    pen_portals_faults faults = { .seed = 3, .late_ns = 200000 };
    uint32_t *fields[FAULTS] = { &faults.drop_one_in, &faults.disable_one_in, &faults.full_one_in,
                                 &faults.fail_one_in, &faults.late_one_in };
    *fields[fault] = 5;
    return faults;
}

/* Sends an acked message. Returns how it ended. */
static ptl_ni_fail_t send_one(nodes *n, ptl_handle_md_t md)
{
    ptl_event_t event = { .type = PTL_EVENT_SEND };
    assert_int_equal(PtlPTEnable(use(n, 1)->ni, 0), PTL_OK);
    assert_int_equal(put(n, 0, 1, md, 0, 8, PTL_ACK_REQ, 0, 0), PTL_OK);
    while (event.type == PTL_EVENT_SEND && event.ni_fail_type == PTL_NI_OK) {
        work(n);
        (void)PtlEQGet(use(n, 0)->eq, &event);
    }
    ptl_ni_fail_t fail = event.ni_fail_type;
    while (PtlEQGet(use(n, 1)->eq, &event) == PTL_OK)
        continue;
    return fail;
}

static void faults_strike_as_often_as_asked(void **state)
{
    (void)state;
    static const ptl_ni_fail_t fails[] = { PTL_NI_DROPPED, PTL_NI_PT_DISABLED, PTL_NI_PT_DISABLED,
                                           PTL_NI_UNDELIVERABLE, PTL_NI_OK };
    for (int fault = 0; fault < FAULTS; fault++) {
        nodes n;
        pen_portals_config_default(&n.config);
        n.config.faults = faults_of(fault);
        bool has_control = fault == DISABLE || fault == FULL;
        nodes_open_with(&n, 2, LE_LOGICAL, has_control ? PTL_PT_FLOWCTRL : 0, QUEUE, NULL);
        (void)listen_at(&n, 1, target, 4096, PTL_ME_EVENT_CT_COMM, PTL_PRIORITY_LIST);
        ptl_handle_md_t md = bind(use(&n, 0), source, 4096, 0);
        unsigned failed = 0;
        for (int i = 0; i < 200; i++) {
            ptl_ni_fail_t fail = send_one(&n, md);
            failed += fail != PTL_NI_OK;
            assert_true(fail == PTL_NI_OK || fail == fails[fault]);
        }
        pen_portals_counts counts[2];
        pen_portals_count(n.at[0].card, &counts[0]);
        pen_portals_count(n.at[1].card, &counts[1]);
        assert_in_range(counts[0].faults + counts[1].faults, 15, 80);
        assert_int_equal(failed, fault == LATE ? 0 : counts[0].faults + counts[1].faults);
        counted(&n, 1, 200 - failed, 0);
        nodes_close(&n);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(full_queue_loses_the_oldest_event),
        cmocka_unit_test(portal_is_disabled_when_the_queue_is_full),
        cmocka_unit_test(portal_is_disabled_when_nothing_matches),
        cmocka_unit_test(portal_is_disabled_when_headers_run_out),
        cmocka_unit_test(notice_comes_after_the_messages_under_way),
        cmocka_unit_test(portals_are_disabled_by_hand),
        cmocka_unit_test(messages_are_matched_in_the_order_of_the_calls),
        cmocka_unit_test(faults_strike_as_often_as_asked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
