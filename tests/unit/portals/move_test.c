/* SPDX-License-Identifier: BSD-3-Clause */
/* move_test.c: puts and gets of the software Portals card: data, events and their fields, counts,
 * acks, truncation, pieces, refused messages. */
#include "unit/portals/nodes.h"

#include <sys/mman.h>
#include <unistd.h>

enum { LEN = 100000 };

static unsigned char source[LEN], target[LEN];

static void fill(void)
{
    for (unsigned i = 0; i < LEN; i++)
        source[i] = (unsigned char)(i * 7 + i / 251);
    memset(target, 0xee, LEN);
}

static void put_moves_data_on_every_kind(void **state)
{
    (void)state;
    static const ptl_size_t lens[] = { 0, 1, 16, 17, 64, 8127, 8128, 8129, 50001, LEN };
    for (unsigned kind = 0; kind < 4; kind++) {
        nodes n;
        nodes_open(&n, 2, every_kind[kind]);
        (void)listen_at(&n, 1, target, LEN, PTL_ME_EVENT_CT_COMM, PTL_PRIORITY_LIST);
        ptl_handle_md_t md =
            bind(use(&n, 0), source, LEN, PTL_MD_EVENT_CT_SEND | PTL_MD_EVENT_CT_ACK);
        for (unsigned i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
            fill();
            assert_int_equal(put(&n, 0, 1, md, 0, lens[i], PTL_ACK_REQ, 5, 0), PTL_OK);
            ptl_event_t sent = good_event(&n, 0, PTL_EVENT_SEND);
            assert_ptr_equal(sent.user_ptr, &n.at[0]);
            ptl_event_t ack = good_event(&n, 0, PTL_EVENT_ACK);
            assert_int_equal(ack.mlength, lens[i]);
            assert_int_equal(ack.ptl_list, PTL_PRIORITY_LIST);
            ptl_event_t got = good_event(&n, 1, PTL_EVENT_PUT);
            assert_int_equal(got.mlength, lens[i]);
            assert_int_equal(got.rlength, lens[i]);
            assert_int_equal(got.hdr_data, 15);
            assert_int_equal(got.match_bits, (every_kind[kind] & PTL_NI_MATCHING) ? 5 : 0);
            assert_ptr_equal(got.start, target);
            assert_ptr_equal(got.user_ptr, target);
            assert_int_equal(got.uid, geteuid());
            if ((every_kind[kind] & PTL_NI_LOGICAL) != 0)
                assert_int_equal(got.initiator.rank, 0);
            else
                assert_int_equal(got.initiator.phys.pid, 1);
            assert_memory_equal(source, target, lens[i]);
            counted(&n, 0, 2 * (i + 1), 0);
            counted(&n, 1, i + 1, 0);
            no_event(&n, 0);
            no_event(&n, 1);
        }
        assert_int_equal(PtlMDRelease((use(&n, 0), md)), PTL_OK);
        nodes_close(&n);
    }
}

static void get_moves_data_and_truncates(void **state)
{
    (void)state;
    static const ptl_size_t lens[] = { 0, 1, 8128, 8129, 30000, 60000 };
    nodes n;
    nodes_open(&n, 2, ME_LOGICAL);
    (void)listen_at(&n, 1, source, 40000, 0, PTL_PRIORITY_LIST);
    ptl_handle_md_t md =
        bind(use(&n, 0), target, LEN, PTL_MD_EVENT_CT_REPLY | PTL_MD_EVENT_CT_BYTES);
    ptl_size_t sum = 0;
    for (unsigned i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
        fill();
        (void)use(&n, 0);
        assert_int_equal(PtlGet(md, 10, lens[i], n.at[1].id, 0, 1, 100, &n), PTL_OK);
        ptl_size_t expected = lens[i] > 39900 ? 39900 : lens[i];
        ptl_event_t reply = good_event(&n, 0, PTL_EVENT_REPLY);
        assert_int_equal(reply.mlength, expected);
        assert_int_equal(reply.remote_offset, 100);
        ptl_event_t got = good_event(&n, 1, PTL_EVENT_GET);
        assert_int_equal(got.rlength, lens[i]);
        assert_int_equal(got.mlength, expected);
        assert_ptr_equal(got.start, source + 100);
        assert_memory_equal(target + 10, source + 100, expected);
        assert_int_equal(target[10 + expected], 0xee);
        assert_int_equal(target[9], 0xee);
        counted(&n, 0, sum += expected, 0);
    }
    assert_int_equal(PtlGet((use(&n, 0), md), 0, 8, n.at[1].id, 0, 1, 50000, &n), PTL_OK);
    assert_int_equal(good_event(&n, 0, PTL_EVENT_REPLY).mlength, 0);
    nodes_close(&n);
}

static void acks_come_as_asked(void **state)
{
    (void)state;
    nodes n;
    nodes_open(&n, 2, LE_PHYSICAL);
    ptl_handle_le_t le = listen_at(&n, 1, target, 8, PTL_ME_EVENT_COMM_DISABLE, PTL_PRIORITY_LIST);
    ptl_handle_md_t md =
        bind(use(&n, 0), source, LEN,
             PTL_MD_EVENT_CT_ACK | PTL_MD_EVENT_CT_BYTES | PTL_MD_EVENT_SEND_DISABLE);
    assert_int_equal(put(&n, 0, 1, md, 0, 8, PTL_NO_ACK_REQ, 0, 0), PTL_OK);
    counted(&n, 0, 0, 0);
    assert_int_equal(put(&n, 0, 1, md, 0, 100, PTL_CT_ACK_REQ, 0, 0), PTL_OK);
    counted(&n, 0, 8, 0); /* truncated to 8, with success */
    assert_int_equal(put(&n, 0, 1, md, 0, 100, PTL_OC_ACK_REQ, 0, 0), PTL_OK);
    counted(&n, 0, 9, 0); /* never bytes */
    assert_int_equal(put(&n, 0, 1, md, 0, 8, PTL_ACK_REQ, 0, 0), PTL_OK);
    assert_int_equal(good_event(&n, 0, PTL_EVENT_ACK).mlength, 8);
    counted(&n, 0, 17, 0);
    assert_int_equal(unlink_entry(&n, (use(&n, 1), le)), PTL_OK);
    assert_int_equal(put(&n, 0, 1, md, 0, 8, PTL_OC_ACK_REQ, 0, 0), PTL_OK);
    counted(&n, 0, 18, 0); /* says nothing about its fate */
    assert_int_equal(put(&n, 0, 1, md, 0, 8, PTL_CT_ACK_REQ, 0, 0), PTL_OK);
    counted(&n, 0, 18, 1);
    no_event(&n, 0);
    status_is(&n, 1, 2, 0, 0);
    nodes_close(&n);
}

static void refused_messages_say_why(void **state)
{
    (void)state;
    nodes n;
    nodes_open(&n, 2, ME_LOGICAL);
    ptl_handle_me_t handle;
    ptl_handle_md_t md = bind(use(&n, 0), source, LEN, 0);
    static const struct {
        unsigned options;
        ptl_uid_t uid;
        bool is_get;
        ptl_ni_fail_t fail;
        int status[3];
    } rows[] = {
        { PTL_ME_OP_GET, PTL_UID_ANY, false, PTL_NI_OP_VIOLATION, { 0, 0, 1 } },
        { PTL_ME_OP_PUT, PTL_UID_ANY, true, PTL_NI_OP_VIOLATION, { 0, 0, 2 } },
        { PTL_ME_OP_PUT, 12345, false, PTL_NI_PERM_VIOLATION, { 0, 1, 2 } },
        { PTL_ME_OP_GET, 12345, true, PTL_NI_PERM_VIOLATION, { 0, 2, 2 } },
    };
    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        node *at = use(&n, 1);
        ptl_me_t me = entry_of(&n, at, target, 8, 0);
        me.options = rows[i].options | PTL_ME_EVENT_LINK_DISABLE | PTL_ME_USE_ONCE;
        me.uid = rows[i].uid;
        assert_int_equal(append(&n, at, &me, PTL_PRIORITY_LIST, NULL, &handle), PTL_OK);
        /* A second entry would take the message, but only the first match counts. */
        ptl_handle_any_t second = listen_at(&n, 1, target, 8, 0, PTL_PRIORITY_LIST);
        fill();
        if (rows[i].is_get) {
            assert_int_equal(PtlGet((use(&n, 0), md), 0, 8, n.at[1].id, 0, 1, 0, &n), PTL_OK);
            assert_int_equal(next_event(&n, 0, PTL_EVENT_REPLY).ni_fail_type, rows[i].fail);
        } else {
            assert_int_equal(put(&n, 0, 1, md, 0, 8, PTL_ACK_REQ, 1, 0), PTL_OK);
            (void)good_event(&n, 0, PTL_EVENT_SEND);
            ptl_event_t ack = next_event(&n, 0, PTL_EVENT_ACK);
            assert_int_equal(ack.ni_fail_type, rows[i].fail);
            assert_int_equal(ack.mlength, 0);
        }
        no_event(&n, 1);
        assert_int_equal(target[0], 0xee);
        status_is(&n, 1, rows[i].status[0], rows[i].status[1], rows[i].status[2]);
        assert_int_equal(unlink_entry(&n, (use(&n, 1), handle)), PTL_OK);
        assert_int_equal(unlink_entry(&n, second), PTL_OK);
    }
    (void)use(&n, 0); /* no such portal, no entry */
    assert_int_equal(PtlPut(md, 0, 8, PTL_ACK_REQ, n.at[1].id, 9, 0, 0, NULL, 0), PTL_OK);
    (void)good_event(&n, 0, PTL_EVENT_SEND);
    assert_int_equal(next_event(&n, 0, PTL_EVENT_ACK).ni_fail_type, PTL_NI_DROPPED);
    assert_int_equal(put(&n, 0, 1, md, 0, 8, PTL_ACK_REQ, 1, 0), PTL_OK);
    (void)good_event(&n, 0, PTL_EVENT_SEND);
    assert_int_equal(next_event(&n, 0, PTL_EVENT_ACK).ni_fail_type, PTL_NI_DROPPED);
    assert_int_equal(put(&n, 0, 1, md, 0, 8, PTL_NO_ACK_REQ, 1, 0), PTL_OK);
    (void)good_event(&n, 0, PTL_EVENT_SEND);
    no_event(&n, 0);
    status_is(&n, 1, 3, 2, 2);
    nodes_close(&n);
}

static void descriptor_options_choose_events_and_counts(void **state)
{
    (void)state;
    nodes n;
    nodes_open(&n, 2, LE_LOGICAL);
    ptl_handle_any_t le = 0;
    static const unsigned bits[] = { PTL_MD_EVENT_CT_SEND, PTL_MD_EVENT_CT_ACK,
                                     PTL_MD_EVENT_CT_BYTES, PTL_MD_EVENT_SUCCESS_DISABLE,
                                     PTL_MD_EVENT_SEND_DISABLE };
    for (unsigned round = 0; round < 64; round++) {
        unsigned options = choose(round, bits, 5);
        bool is_good = (round & 32) == 0;
        if (is_good)
            le = listen_at(&n, 1, target, 40, PTL_ME_EVENT_COMM_DISABLE, PTL_PRIORITY_LIST);
        ptl_ct_event_t zero = { 0, 0 };
        assert_int_equal(PtlCTSet(use(&n, 0)->ct, zero), PTL_OK);
        ptl_handle_md_t md = bind(use(&n, 0), source, LEN, options);
        assert_int_equal(put(&n, 0, 1, md, 0, 50, PTL_ACK_REQ, 0, 0), PTL_OK);
        if ((round & 24) == 0)
            (void)good_event(&n, 0, PTL_EVENT_SEND);
        if (!is_good || (round & 8) == 0)
            assert_int_equal(next_event(&n, 0, PTL_EVENT_ACK).ni_fail_type,
                             is_good ? PTL_NI_OK : PTL_NI_DROPPED);
        no_event(&n, 0);
        bool in_bytes = (round & 4) != 0;
        ptl_size_t sends = gain((round & 1) != 0, in_bytes, 50);
        ptl_size_t acks = gain((round & 2) != 0 && is_good, in_bytes, 40);
        counted(&n, 0, sends + acks, (round & 2) != 0 && !is_good);
        assert_int_equal(PtlMDRelease((use(&n, 0), md)), PTL_OK);
        if (is_good)
            assert_int_equal(unlink_entry(&n, (use(&n, 1), le)), PTL_OK);
    }
    nodes_close(&n);
}

static void pieces_are_cut_anywhere(void **state)
{
    (void)state;
    nodes n;
    nodes_open(&n, 2, ME_PHYSICAL);
    ptl_iovec_t from[] = {
        { source, 10 }, { source + 50, 0 }, { source + 100, 9000 }, { source + 20000, 5 }
    };
    ptl_iovec_t to[] = { { target + 3, 4000 }, { target + 8000, 4000 }, { target + 30000, 4000 } };
    fill();
    node *at = use(&n, 1);
    ptl_handle_me_t handle;
    ptl_me_t me = entry_of(&n, at, to, 3, PTL_IOVEC | PTL_ME_EVENT_LINK_DISABLE);
    assert_int_equal(append(&n, at, &me, PTL_PRIORITY_LIST, NULL, &handle), PTL_OK);
    ptl_handle_md_t md = bind(use(&n, 0), from, 4, PTL_IOVEC);
    assert_int_equal(put(&n, 0, 1, md, 5, 9010, PTL_ACK_REQ, 0, 3999), PTL_OK);
    (void)good_event(&n, 0, PTL_EVENT_SEND);
    assert_int_equal(good_event(&n, 0, PTL_EVENT_ACK).mlength, 8001);
    assert_ptr_equal(good_event(&n, 1, PTL_EVENT_PUT).start, target + 3 + 3999);
    assert_int_equal(target[3 + 3999], source[5]);
    assert_memory_equal(target + 8000, source + 6, 4);
    assert_memory_equal(target + 8004, source + 100, 3996);
    assert_memory_equal(target + 30000, source + 100 + 3996, 4000);
    assert_int_equal(target[34000], 0xee);
    assert_int_equal(target[12000], 0xee);
    fill();
    memset(source, 0x11, 200);
    assert_int_equal(PtlGet((use(&n, 0), md), 0, 9015, n.at[1].id, 0, 0, 0, NULL), PTL_OK);
    (void)good_event(&n, 0, PTL_EVENT_REPLY);
    assert_int_equal(source[0], 0xee);
    assert_int_equal(source[10], 0x11);
    assert_int_equal(source[20004], 0xee);
    ptl_md_t many = { from, 5000, PTL_IOVEC, PTL_EQ_NONE, PTL_CT_NONE };
    assert_int_equal(PtlMDBind(n.at[0].ni, &many, &md), PTL_ARG_INVALID);
    nodes_close(&n);
}

static void arguments_are_checked(void **state)
{
    (void)state;
    nodes n;
    nodes_open(&n, 2, ME_LOGICAL);
    node *at = use(&n, 0);
    ptl_handle_md_t md = bind(at, source, 100, 0), bare, volatile_md, loose;
    ptl_md_t plain = { source, 100, 0, PTL_EQ_NONE, PTL_CT_NONE };
    assert_int_equal(PtlMDBind(at->ni, &plain, &bare), PTL_OK);
    plain.options = PTL_MD_VOLATILE;
    plain.length = LEN;
    assert_int_equal(PtlMDBind(at->ni, &plain, &volatile_md), PTL_OK);
    plain.options = PTL_MD_UNRELIABLE;
    plain.ct_handle = at->ct;
    assert_int_equal(PtlMDBind(at->ni, &plain, &loose), PTL_OK);
    plain.options = 0x8000;
    assert_int_equal(PtlMDBind(at->ni, &plain, &md), PTL_ARG_INVALID);
    ptl_process_t stranger = { .rank = 2 };
    assert_int_equal(put(&n, 0, 1, md, 1, 100, PTL_NO_ACK_REQ, 0, 0), PTL_ARG_INVALID);
    assert_int_equal(put(&n, 0, 1, md, ~(ptl_size_t)0, 2, PTL_NO_ACK_REQ, 0, 0), PTL_ARG_INVALID);
    assert_int_equal(put(&n, 0, 1, md, 0, 1, 4, 0, 0), PTL_ARG_INVALID);
    assert_int_equal(put(&n, 0, 1, bare, 0, 1, PTL_ACK_REQ, 0, 0), PTL_ARG_INVALID);
    assert_int_equal(put(&n, 0, 1, bare, 0, 1, PTL_CT_ACK_REQ, 0, 0), PTL_ARG_INVALID);
    assert_int_equal(put(&n, 0, 1, bare, 0, 1, PTL_OC_ACK_REQ, 0, 0), PTL_ARG_INVALID);
    assert_int_equal(put(&n, 0, 1, loose, 0, 1, PTL_CT_ACK_REQ, 0, 0), PTL_ARG_INVALID);
    assert_int_equal(put(&n, 0, 1, volatile_md, 0, at->limits.max_volatile_size, 0, 0, 0), PTL_OK);
    assert_int_equal(put(&n, 0, 1, volatile_md, 0, at->limits.max_volatile_size + 1, 0, 0, 0),
                     PTL_ARG_INVALID);
    assert_int_equal(put(&n, 0, 1, PTL_INVALID_HANDLE, 0, 1, 0, 0, 0), PTL_ARG_INVALID);
    assert_int_equal(PtlPut(md, 0, 1, 0, stranger, 0, 0, 0, NULL, 0), PTL_ARG_INVALID);
    nodes_close(&n);
}

static void all_memory_can_be_bound(void **state)
{
    (void)state;
    nodes n;
    nodes_open(&n, 2, LE_LOGICAL);
    fill();
    long page = sysconf(_SC_PAGESIZE);
    unsigned char *fixed = mmap(NULL, (size_t)page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(fixed, MAP_FAILED);
    (void)listen_at(&n, 1, NULL, PTL_SIZE_MAX, 0, PTL_PRIORITY_LIST);
    ptl_handle_md_t md = bind(use(&n, 0), NULL, PTL_SIZE_MAX, 0);
    assert_int_equal(put(&n, 0, 1, md, (uintptr_t)fixed, 10, PTL_ACK_REQ, 0, (uintptr_t)target),
                     PTL_OK);
    (void)good_event(&n, 0, PTL_EVENT_SEND);
    (void)good_event(&n, 0, PTL_EVENT_ACK);
    assert_ptr_equal(good_event(&n, 1, PTL_EVENT_PUT).start, target);
    assert_int_equal(target[9], 0);
    assert_int_equal(target[10], 0xee);
    assert_int_equal(put(&n, 0, 1, md, ~(ptl_size_t)0 - 3, 10, PTL_ACK_REQ, 0, 0), PTL_ARG_INVALID);
    (void)munmap(fixed, (size_t)page);
    nodes_close(&n);
}

static void volatile_buffer_can_change_at_once(void **state)
{
    (void)state;
    nodes n;
    pen_portals_config_default(&n.config);
    n.config.ring_len = 4096;
    nodes_open_with(&n, 2, LE_LOGICAL, 0, 1024, NULL);
    (void)listen_at(&n, 1, target, LEN, PTL_ME_EVENT_CT_COMM, PTL_PRIORITY_LIST);
    fill();
    ptl_handle_md_t md = bind(use(&n, 0), source, 500, PTL_MD_VOLATILE);
    for (unsigned i = 0; i < 100; i++) { /* far more than the ring holds */
        memset(source, (int)i, 500);
        assert_int_equal(put(&n, 0, 1, md, 0, 500, PTL_NO_ACK_REQ, 0, i * 500), PTL_OK);
    }
    memset(source, 0xaa, 500);
    for (unsigned i = 0; i < 100; i++)
        work(&n);
    counted(&n, 1, 100, 0);
    for (unsigned i = 0; i < 50000; i++)
        assert_int_equal(target[i], i / 500);
    nodes_close(&n);
}

static void entry_without_room_for_all_takes_what_fits(void **state)
{
    (void)state;
    nodes n;
    nodes_open(&n, 2, ME_LOGICAL);
    fill();
    (void)listen_at(&n, 1, target, 2048, PTL_ME_EVENT_CT_COMM | PTL_ME_EVENT_CT_BYTES,
                    PTL_PRIORITY_LIST);
    ptl_handle_md_t md =
        bind(use(&n, 0), source, LEN, PTL_MD_EVENT_CT_SEND | PTL_MD_EVENT_CT_BYTES);
    assert_int_equal(put(&n, 0, 1, md, 0, 40960, PTL_ACK_REQ, 0, 100), PTL_OK);
    (void)good_event(&n, 0, PTL_EVENT_SEND);
    ptl_event_t ack = good_event(&n, 0, PTL_EVENT_ACK);
    assert_int_equal(ack.mlength, 1948);
    assert_int_equal(ack.remote_offset, 100);
    ptl_event_t got = good_event(&n, 1, PTL_EVENT_PUT);
    assert_int_equal(got.mlength, 1948);
    assert_int_equal(got.rlength, 40960);
    assert_int_equal(got.remote_offset, 100);
    counted(&n, 0, 40960, 0);
    counted(&n, 1, 1948, 0);
    assert_memory_equal(target + 100, source, 1948);
    assert_int_equal(target[2048], 0xee);
    nodes_close(&n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(put_moves_data_on_every_kind),
        cmocka_unit_test(get_moves_data_and_truncates),
        cmocka_unit_test(acks_come_as_asked),
        cmocka_unit_test(refused_messages_say_why),
        cmocka_unit_test(descriptor_options_choose_events_and_counts),
        cmocka_unit_test(pieces_are_cut_anywhere),
        cmocka_unit_test(arguments_are_checked),
        cmocka_unit_test(all_memory_can_be_bound),
        cmocka_unit_test(volatile_buffer_can_change_at_once),
        cmocka_unit_test(entry_without_room_for_all_takes_what_fits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
