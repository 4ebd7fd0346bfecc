/* SPDX-License-Identifier: BSD-3-Clause */
/* match_test.c: matching, the overflow list, unexpected headers, search, managed offsets, use once,
 * automatic unlink and free. */
#include "unit/portals/nodes.h"

static unsigned char source[4096], target[65536], extra[4096];
static ptl_handle_md_t md;

static void open_two(nodes *n, unsigned options)
{
    nodes_open(n, 2, options);
    for (unsigned i = 0; i < sizeof(source); i++)
        source[i] = (unsigned char)(i + 1);
    memset(target, 0, sizeof(target));
    md = bind(use(n, 0), source, sizeof(source), PTL_MD_EVENT_SUCCESS_DISABLE);
}

/* Sends a message whose failure node 0 hears of. */
static void send(nodes *n, ptl_size_t length, ptl_match_bits_t bits)
{
    assert_int_equal(put(n, 0, 1, md, 0, length, PTL_ACK_REQ, bits, 0), PTL_OK);
}

static ptl_handle_any_t add(nodes *n, const ptl_me_t *me, ptl_list_t list, void *user_ptr)
{
    ptl_handle_any_t handle;
    assert_int_equal(append(n, use(n, 1), me, list, user_ptr, &handle), PTL_OK);
    return handle;
}

static void first_entry_that_matches_takes_the_message(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < 2; kind++) {
        nodes n;
        open_two(&n, every_kind[kind]);
        bool is_logical = (every_kind[kind] & PTL_NI_LOGICAL) != 0;
        int tags[7];
        for (int i = 0; i < 7; i++) {
            ptl_me_t me = entry_of(&n, &n.at[1], target, 64, PTL_ME_EVENT_LINK_DISABLE);
            me.match_bits = 0x10;
            me.ignore_bits = 0;
            if (i == 0 && is_logical)
                me.match_id.rank = 1; /* the sender is 0 */
            if (i == 0 && !is_logical)
                me.match_id.phys.pid = 2;
            if (i == 1)
                me.match_bits = 0x11;
            if (i == 2) { /* too short, and may not truncate */
                me.options |= PTL_ME_NO_TRUNCATE;
                me.length = 31;
            }
            if (i == 3)
                me.match_id = n.at[0].id;
            if (i == 5)
                me.ignore_bits = 0xf;
            (void)add(&n, &me, i == 6 ? PTL_OVERFLOW_LIST : PTL_PRIORITY_LIST, &tags[i]);
        }
        send(&n, 32, 0x10);
        assert_ptr_equal(good_event(&n, 1, PTL_EVENT_PUT).user_ptr, &tags[3]);
        send(&n, 31, 0x10);
        assert_ptr_equal(good_event(&n, 1, PTL_EVENT_PUT).user_ptr, &tags[2]);
        send(&n, 32, 0x11);
        assert_ptr_equal(good_event(&n, 1, PTL_EVENT_PUT).user_ptr, &tags[1]);
        send(&n, 32, 0x1f);
        assert_ptr_equal(good_event(&n, 1, PTL_EVENT_PUT).user_ptr, &tags[5]);
        send(&n, 32, 0x20);
        assert_int_equal(next_event(&n, 0, PTL_EVENT_ACK).ni_fail_type, PTL_NI_DROPPED);
        no_event(&n, 1);
        nodes_close(&n);
    }
}

static void use_once_entries_take_one_message_each_in_order(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < 4; kind++) {
        nodes n;
        open_two(&n, every_kind[kind]);
        int tags[3];
        ptl_handle_any_t handles[3];
        for (int i = 0; i < 3; i++) {
            ptl_me_t me = entry_of(&n, &n.at[1], target + 8 * i, 8, PTL_ME_USE_ONCE);
            handles[i] = add(&n, &me, PTL_PRIORITY_LIST, &tags[i]);
            assert_ptr_equal(good_event(&n, 1, PTL_EVENT_LINK).user_ptr, &tags[i]);
        }
        for (int i = 0; i < 3; i++) {
            send(&n, 8, 0);
            assert_ptr_equal(good_event(&n, 1, PTL_EVENT_PUT).user_ptr, &tags[i]);
            assert_ptr_equal(good_event(&n, 1, PTL_EVENT_AUTO_UNLINK).user_ptr, &tags[i]);
            assert_int_equal(unlink_entry(&n, (use(&n, 1), handles[i])), PTL_ARG_INVALID);
        }
        send(&n, 8, 0);
        assert_int_equal(next_event(&n, 0, PTL_EVENT_ACK).ni_fail_type, PTL_NI_DROPPED);
        no_event(&n, 1);
        nodes_close(&n);
    }
}

static void managed_entries_pack_and_leave_when_little_is_free(void **state)
{
    (void)state;
    nodes n;
    open_two(&n, ME_PHYSICAL);
    ptl_me_t me = entry_of(&n, &n.at[1], target, 10,
                           PTL_ME_MANAGE_LOCAL | PTL_ME_MAY_ALIGN | PTL_ME_EVENT_LINK_DISABLE);
    me.min_free = 4;
    ptl_handle_me_t handle = add(&n, &me, PTL_PRIORITY_LIST, &n);
    send(&n, 6, 0); /* 4 bytes stay free: not fewer than min_free */
    assert_ptr_equal(good_event(&n, 1, PTL_EVENT_PUT).start, target);
    no_event(&n, 1);
    send(&n, 0, 0);
    assert_ptr_equal(good_event(&n, 1, PTL_EVENT_PUT).start, target + 6);
    assert_int_equal(PtlGet((use(&n, 0), md), 100, 1, n.at[1].id, 0, 0, 77, NULL), PTL_OK);
    ptl_event_t got = good_event(&n, 1, PTL_EVENT_GET);
    assert_ptr_equal(got.start, target + 6); /* the offset is shared, and the sender's ignored */
    assert_int_equal(got.remote_offset, 77);
    (void)good_event(&n, 1, PTL_EVENT_AUTO_UNLINK);
    no_event(&n, 1);
    assert_int_equal(unlink_entry(&n, (use(&n, 1), handle)), PTL_ARG_INVALID);
    assert_memory_equal(target, source, 6);
    me.min_free = 0; /* never: the rest is truncated */
    (void)add(&n, &me, PTL_PRIORITY_LIST, &n);
    send(&n, 9, 0);
    send(&n, 9, 0);
    assert_int_equal(good_event(&n, 1, PTL_EVENT_PUT).mlength, 9);
    got = good_event(&n, 1, PTL_EVENT_PUT);
    assert_ptr_equal(got.start, target + 9);
    assert_int_equal(got.mlength, 1);
    me.options &= ~(unsigned)PTL_ME_MANAGE_LOCAL; /* min_free has no meaning, and may be garbage */
    me.min_free = ~(ptl_size_t)0;
    me.match_bits = 7;
    me.ignore_bits = 0;
    nodes_close(&n);
}

static void unexpected_messages_wait_for_an_append(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < 4; kind++) {
        nodes n;
        open_two(&n, every_kind[kind]);
        int over, once;
        ptl_me_t me = entry_of(&n, &n.at[1], target, 64, PTL_ME_USE_ONCE);
        (void)add(&n, &me, PTL_OVERFLOW_LIST, &over);
        assert_ptr_equal(good_event(&n, 1, PTL_EVENT_LINK).user_ptr, &over);
        send(&n, 100, 9);
        ptl_event_t got = good_event(&n, 1, PTL_EVENT_PUT);
        assert_int_equal(got.ptl_list, PTL_OVERFLOW_LIST);
        assert_ptr_equal(got.user_ptr, &over);
        assert_ptr_equal(good_event(&n, 1, PTL_EVENT_AUTO_UNLINK).user_ptr, &over);
        no_event(&n, 1);
        me = entry_of(&n, &n.at[1], extra, 10, PTL_ME_USE_ONCE | PTL_ME_EVENT_CT_OVERFLOW);
        me.uid = 4711; /* not checked for headers */
        ptl_handle_any_t handle = add(&n, &me, PTL_PRIORITY_LIST, &once);
        got = good_event(&n, 1, PTL_EVENT_PUT_OVERFLOW);
        assert_ptr_equal(got.user_ptr, &once);
        assert_ptr_equal(got.start, target);
        assert_int_equal(got.rlength, 100);
        assert_int_equal(got.mlength, 64);
        assert_int_equal(got.hdr_data, 27);
        assert_int_equal(got.match_bits, (every_kind[kind] & PTL_NI_MATCHING) ? 9 : 0);
        assert_ptr_equal(good_event(&n, 1, PTL_EVENT_AUTO_FREE).user_ptr, &over);
        assert_ptr_equal(good_event(&n, 1, PTL_EVENT_AUTO_UNLINK).user_ptr, &once);
        no_event(&n, 1);
        counted(&n, 1, 1, 0);
        assert_int_equal(extra[0], 0);
        assert_int_equal(unlink_entry(&n, (use(&n, 1), handle)), PTL_ARG_INVALID);
        nodes_close(&n);
    }
}

static void persistent_append_takes_all_headers_then_links(void **state)
{
    (void)state;
    nodes n;
    open_two(&n, ME_LOGICAL);
    int over, late;
    ptl_me_t me =
        entry_of(&n, &n.at[1], target, 1000,
                 PTL_ME_MANAGE_LOCAL | PTL_ME_EVENT_COMM_DISABLE | PTL_ME_EVENT_LINK_DISABLE);
    me.min_free = 976;
    (void)add(&n, &me, PTL_OVERFLOW_LIST, &over);
    for (ptl_match_bits_t i = 0; i < 4; i++)
        send(&n, 8, i % 2);
    assert_ptr_equal(good_event(&n, 1, PTL_EVENT_AUTO_UNLINK).user_ptr, &over);
    me = entry_of(&n, &n.at[1], extra, 10, 0);
    me.ignore_bits = 0;
    me.match_bits = 1;
    (void)add(&n, &me, PTL_PRIORITY_LIST, &late);
    assert_ptr_equal(good_event(&n, 1, PTL_EVENT_PUT_OVERFLOW).start, target + 8);
    assert_ptr_equal(good_event(&n, 1, PTL_EVENT_PUT_OVERFLOW).start, target + 24);
    assert_ptr_equal(good_event(&n, 1, PTL_EVENT_LINK).user_ptr, &late);
    send(&n, 8, 1);
    assert_ptr_equal(good_event(&n, 1, PTL_EVENT_PUT).start, extra);
    me.match_bits = 0;
    (void)add(&n, &me, PTL_PRIORITY_LIST, &late);
    (void)good_event(&n, 1, PTL_EVENT_PUT_OVERFLOW);
    (void)good_event(&n, 1, PTL_EVENT_PUT_OVERFLOW);
    assert_ptr_equal(good_event(&n, 1, PTL_EVENT_AUTO_FREE).user_ptr, &over);
    (void)good_event(&n, 1, PTL_EVENT_LINK);
    no_event(&n, 1);
    nodes_close(&n);
}

static void headers_can_be_declined(void **state)
{
    (void)state;
    nodes n;
    open_two(&n, ME_LOGICAL);
    ptl_me_t me = entry_of(&n, &n.at[1], target, 64,
                           PTL_ME_USE_ONCE | PTL_ME_EVENT_LINK_DISABLE |
                               PTL_ME_UNEXPECTED_HDR_DISABLE | PTL_ME_EVENT_CT_COMM);
    (void)add(&n, &me, PTL_OVERFLOW_LIST, NULL);
    send(&n, 8, 0);
    (void)good_event(&n, 1, PTL_EVENT_PUT);
    (void)good_event(&n, 1, PTL_EVENT_AUTO_UNLINK);
    (void)good_event(&n, 1, PTL_EVENT_AUTO_FREE);
    counted(&n, 1, 1, 0);
    me.options |= PTL_ME_EVENT_UNLINK_DISABLE | PTL_ME_EVENT_SUCCESS_DISABLE;
    (void)add(&n, &me, PTL_OVERFLOW_LIST, NULL);
    send(&n, 8, 0);
    no_event(&n, 1);
    counted(&n, 1, 2, 0);
    nodes_close(&n);
}

/* Searches, and checks the counts right after the call. */
static void search_counts(nodes *n, unsigned options, ptl_search_op_t op, ptl_size_t success,
                          ptl_size_t failure)
{
    node *at = use(n, 1);
    ptl_ct_event_t value = { 0, 0 };
    ptl_me_t me = entry_of(n, at, NULL, 0, options | PTL_ME_EVENT_CT_OVERFLOW);
    assert_int_equal(PtlCTSet(at->ct, value), PTL_OK);
    assert_int_equal(search(n, at, &me, op, &me), PTL_OK);
    assert_int_equal(PtlCTGet(at->ct, &value), PTL_OK);
    assert_int_equal(value.success, success);
    assert_int_equal(value.failure, failure);
}

static void search_finds_and_deletes_headers(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < 4; kind++) {
        nodes n;
        open_two(&n, every_kind[kind]);
        (void)listen_at(&n, 1, target, 4096, PTL_ME_EVENT_COMM_DISABLE, PTL_OVERFLOW_LIST);
        search_counts(&n, 0, PTL_SEARCH_ONLY, 0, 1);
        assert_int_equal(next_event(&n, 1, PTL_EVENT_SEARCH).ni_fail_type, PTL_NI_NO_MATCH);
        for (int i = 0; i < 5; i++)
            send(&n, 8, 0);
        work(&n);
        search_counts(&n, 0, PTL_SEARCH_ONLY, 5, 1);
        for (int i = 0; i < 5; i++)
            assert_int_equal(good_event(&n, 1, PTL_EVENT_SEARCH).mlength, 8);
        no_event(&n, 1);
        search_counts(&n, PTL_ME_USE_ONCE, PTL_SEARCH_ONLY, 1, 0);
        (void)good_event(&n, 1, PTL_EVENT_SEARCH);
        for (int i = 0; i < 2; i++) {
            search_counts(&n, PTL_ME_USE_ONCE, PTL_SEARCH_DELETE, 1, 0);
            (void)good_event(&n, 1, PTL_EVENT_PUT_OVERFLOW);
        }
        search_counts(&n, 0, PTL_SEARCH_DELETE, 3, 1);
        for (int i = 0; i < 3; i++)
            (void)good_event(&n, 1, PTL_EVENT_PUT_OVERFLOW);
        search_counts(&n, PTL_ME_USE_ONCE | PTL_ME_EVENT_SUCCESS_DISABLE, PTL_SEARCH_DELETE, 0, 1);
        assert_int_equal(next_event(&n, 1, PTL_EVENT_SEARCH).ni_fail_type, PTL_NI_NO_MATCH);
        search_counts(&n, PTL_ME_EVENT_OVER_DISABLE, PTL_SEARCH_DELETE, 0, 1);
        no_event(&n, 1);
        nodes_close(&n);
    }
}

static void headers_add_up_in_a_managed_append(void **state)
{
    (void)state;
    nodes n;
    open_two(&n, ME_LOGICAL);
    (void)listen_at(&n, 1, target, 4096, PTL_ME_EVENT_COMM_DISABLE, PTL_OVERFLOW_LIST);
    for (int i = 0; i < 5; i++)
        send(&n, 8, 0);
    work(&n);
    ptl_me_t me =
        entry_of(&n, &n.at[1], extra, 48, PTL_ME_MANAGE_LOCAL | PTL_ME_LOCAL_INC_UH_RLENGTH);
    me.min_free = 30;
    ptl_handle_me_t handle = add(&n, &me, PTL_PRIORITY_LIST, &me);
    for (int i = 0; i < 3; i++) /* 24 of 48 bytes: fewer than 30 stay free */
        (void)good_event(&n, 1, PTL_EVENT_PUT_OVERFLOW);
    (void)good_event(&n, 1, PTL_EVENT_AUTO_UNLINK);
    no_event(&n, 1);
    assert_int_equal(unlink_entry(&n, (use(&n, 1), handle)), PTL_IGNORED);
    assert_int_equal(unlink_entry(&n, handle), PTL_ARG_INVALID);
    search_counts(&n, 0, PTL_SEARCH_DELETE, 2, 1);
    me.options &= ~(unsigned)PTL_ME_LOCAL_INC_UH_RLENGTH;
    (void)good_event(&n, 1, PTL_EVENT_PUT_OVERFLOW);
    (void)good_event(&n, 1, PTL_EVENT_PUT_OVERFLOW);
    handle = add(&n, &me, PTL_PRIORITY_LIST, &me);
    (void)good_event(&n, 1, PTL_EVENT_LINK);
    assert_int_equal(unlink_entry(&n, (use(&n, 1), handle)), PTL_OK);
    nodes_close(&n);
}

static void long_unexpected_message_is_told_when_complete(void **state)
{
    (void)state;
    nodes n;
    pen_portals_config_default(&n.config);
    n.config.ring_len = 4096; /* the message then needs many rounds */
    nodes_open_with(&n, 2, ME_LOGICAL, 0, QUEUE, NULL);
    static unsigned char data[60000];
    memset(data, 0x5a, sizeof(data));
    md = bind(use(&n, 0), data, sizeof(data), PTL_MD_EVENT_SUCCESS_DISABLE);
    ptl_me_t me =
        entry_of(&n, &n.at[1], target, 65536, PTL_ME_USE_ONCE | PTL_ME_EVENT_LINK_DISABLE);
    (void)add(&n, &me, PTL_OVERFLOW_LIST, &md);
    send(&n, sizeof(data), 0);
    ptl_event_t event;
    ptl_ct_event_t value;
    assert_int_equal(PtlCTGet(use(&n, 1)->ct, &value), PTL_OK);
    (void)add(&n, &me, PTL_PRIORITY_LIST, &me); /* the head has arrived, the data has not */
    assert_int_equal(PtlEQGet(use(&n, 1)->eq, &event), PTL_EQ_EMPTY);
    assert_int_equal(PtlPTFree(n.at[1].ni, 0), PTL_PT_IN_USE);
    for (int i = 0; i < 100; i++)
        work(&n);
    (void)good_event(&n, 1, PTL_EVENT_PUT);
    assert_ptr_equal(good_event(&n, 1, PTL_EVENT_AUTO_UNLINK).user_ptr, &md);
    event = good_event(&n, 1, PTL_EVENT_PUT_OVERFLOW);
    assert_ptr_equal(event.user_ptr, &me);
    assert_int_equal(event.mlength, sizeof(data));
    assert_memory_equal(target, data, sizeof(data));
    assert_ptr_equal(good_event(&n, 1, PTL_EVENT_AUTO_FREE).user_ptr, &md);
    assert_ptr_equal(good_event(&n, 1, PTL_EVENT_AUTO_UNLINK).user_ptr, &me);
    no_event(&n, 1);
    assert_int_equal(PtlPTFree(n.at[1].ni, 0), PTL_OK);
    nodes_close(&n);
}

static void entry_options_choose_events_and_counts(void **state)
{
    (void)state;
    nodes n;
    open_two(&n, LE_PHYSICAL);
    static const unsigned bits[] = { PTL_ME_EVENT_LINK_DISABLE,    PTL_ME_EVENT_COMM_DISABLE,
                                     PTL_ME_EVENT_SUCCESS_DISABLE, PTL_ME_EVENT_UNLINK_DISABLE,
                                     PTL_ME_EVENT_CT_COMM,         PTL_ME_EVENT_CT_BYTES };
    for (unsigned round = 0; round < 64; round++) {
        unsigned options = PTL_ME_USE_ONCE | choose(round, bits, 6);
        ptl_ct_event_t zero = { 0, 0 };
        node *at = use(&n, 1);
        assert_int_equal(PtlCTSet(at->ct, zero), PTL_OK);
        ptl_me_t me = entry_of(&n, at, target, 64, options);
        (void)add(&n, &me, PTL_PRIORITY_LIST, &me);
        if ((round & 1) == 0)
            (void)good_event(&n, 1, PTL_EVENT_LINK);
        send(&n, 20, 0);
        if ((round & 6) == 0)
            (void)good_event(&n, 1, PTL_EVENT_PUT);
        if ((round & 8) == 0)
            (void)good_event(&n, 1, PTL_EVENT_AUTO_UNLINK);
        no_event(&n, 1);
        counted(&n, 1, gain((round & 16) != 0, (round & 32) != 0, 20), 0);
    }
    nodes_close(&n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_entry_that_matches_takes_the_message),
        cmocka_unit_test(use_once_entries_take_one_message_each_in_order),
        cmocka_unit_test(managed_entries_pack_and_leave_when_little_is_free),
        cmocka_unit_test(unexpected_messages_wait_for_an_append),
        cmocka_unit_test(persistent_append_takes_all_headers_then_links),
        cmocka_unit_test(headers_can_be_declined),
        cmocka_unit_test(search_finds_and_deletes_headers),
        cmocka_unit_test(headers_add_up_in_a_managed_append),
        cmocka_unit_test(long_unexpected_message_is_told_when_complete),
        cmocka_unit_test(entry_options_choose_events_and_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
