/* SPDX-License-Identifier: BSD-3-Clause */
/* start_test.c: starting and ending, interfaces, limits, maps, the portal table, handles. */
#include "unit/portals/nodes.h"

static void all_are_refused(const int *results, size_t count)
{
    for (size_t i = 0; i < count; i++)
        assert_int_equal(results[i], PTL_NO_INIT);
}

static void calls_on_tables_need_init(void)
{
    ptl_process_t to = { .rank = 0 };
    ptl_handle_any_t handle;
    ptl_size_t size = 0;
    ptl_le_t le = { 0 };
    ptl_me_t me = { 0 };
    ptl_md_t md = { 0 };
    ptl_pt_index_t index;
    ptl_uid_t uid;
    int status;
    const int results[] = { PtlNIInit(PTL_IFACE_DEFAULT, ME_LOGICAL, PTL_PID_ANY, NULL, NULL,
                                      &handle),
                            PtlNIFini(0),
                            PtlNIStatus(0, PTL_SR_DROP_COUNT, &status),
                            PtlNIHandle(0, &handle),
                            PtlSetMap(0, 1, &to),
                            PtlGetMap(0, 1, &to, &size),
                            PtlGetUid(0, &uid),
                            PtlGetId(0, &to),
                            PtlGetPhysId(0, &to),
                            PtlStartBundle(0),
                            PtlEndBundle(0),
                            PtlPTAlloc(0, 0, PTL_EQ_NONE, PTL_PT_ANY, &index),
                            PtlPTFree(0, 0),
                            PtlPTDisable(0, 0),
                            PtlPTEnable(0, 0),
                            PtlMDBind(0, &md, &handle),
                            PtlMDRelease(0),
                            PtlLEAppend(0, 0, &le, 0, NULL, &handle),
                            PtlLEUnlink(0),
                            PtlLESearch(0, 0, &le, 0, NULL),
                            PtlMEAppend(0, 0, &me, 0, NULL, &handle),
                            PtlMEUnlink(0),
                            PtlMESearch(0, 0, &me, 0, NULL) };
    all_are_refused(results, sizeof(results) / sizeof(results[0]));
}

static void calls_that_move_and_wait_need_init(void)
{
    ptl_process_t to = { .rank = 0 };
    ptl_ct_event_t value = { 0, 0 };
    ptl_event_t event;
    ptl_handle_any_t handle;
    ptl_size_t size = 0;
    unsigned which;
    const int results[] = {
        PtlCTAlloc(0, &handle),
        PtlCTFree(0),
        PtlCTCancelTriggered(0),
        PtlCTGet(0, &value),
        PtlCTWait(0, 0, &value),
        PtlCTPoll(&handle, &size, 1, 0, &value, &which),
        PtlCTSet(0, value),
        PtlCTInc(0, value),
        PtlEQAlloc(0, 1, &handle),
        PtlEQFree(0),
        PtlEQGet(0, &event),
        PtlEQWait(0, &event),
        PtlEQPoll(&handle, 1, 0, &event, &which),
        PtlPut(0, 0, 0, 0, to, 0, 0, 0, NULL, 0),
        PtlGet(0, 0, 0, to, 0, 0, 0, NULL),
        PtlAtomic(0, 0, 0, 0, to, 0, 0, 0, NULL, 0, PTL_SUM, PTL_INT8_T),
        PtlFetchAtomic(0, 0, 0, 0, 0, to, 0, 0, 0, NULL, 0, PTL_SUM, PTL_INT8_T),
        PtlSwap(0, 0, 0, 0, 0, to, 0, 0, 0, NULL, 0, NULL, PTL_SWAP, PTL_INT8_T),
        PtlAtomicSync(),
        PtlTriggeredPut(0, 0, 0, 0, to, 0, 0, 0, NULL, 0, 0, 0),
        PtlTriggeredGet(0, 0, 0, to, 0, 0, 0, NULL, 0, 0),
        PtlTriggeredAtomic(0, 0, 0, 0, to, 0, 0, 0, NULL, 0, PTL_SUM, PTL_INT8_T, 0, 0),
        PtlTriggeredFetchAtomic(0, 0, 0, 0, 0, to, 0, 0, 0, NULL, 0, PTL_SUM, PTL_INT8_T, 0, 0),
        PtlTriggeredSwap(0, 0, 0, 0, 0, to, 0, 0, 0, NULL, 0, NULL, PTL_SWAP, PTL_INT8_T, 0, 0),
        PtlTriggeredCTInc(0, value, 0, 0),
        PtlTriggeredCTSet(0, value, 0, 0)
    };
    all_are_refused(results, sizeof(results) / sizeof(results[0]));
}

static void every_call_needs_init(void **state)
{
    (void)state;
    nodes n;
    ptl_handle_any_t handle;
    pen_portals_config_default(&n.config);
    n.memory = make_fabric(&n.config);
    assert_int_equal(
        pen_portals_open(n.memory, pen_portals_len(&n.config), &n.config, 0, &n.at[0].card),
        PEN_OK);
    pen_portals_use(n.at[0].card);
    for (int round = 0; round < 2; round++) { /* before PtlInit, and after PtlFini */
        calls_on_tables_need_init();
        calls_that_move_and_wait_need_init();
        PtlAbort();
        assert_int_equal(PtlInit(), PTL_OK);
        assert_int_equal(PtlInit(), PTL_OK);
        PtlFini();
        assert_int_equal(PtlNIInit(0, LE_LOGICAL, PTL_PID_ANY, NULL, NULL, &handle), PTL_OK);
        PtlFini(); /* with a live interface */
    }
    assert_true(PtlHandleIsEqual(7, 7));
    assert_false(PtlHandleIsEqual(7, 8));
    PtlFini();
    pen_portals_close(n.at[0].card);
    free(n.memory);
}

static void interfaces_are_apart(void **state)
{
    (void)state;
    nodes n;
    nodes_open(&n, 1, ME_LOGICAL);
    node *at = use(&n, 0);
    ptl_handle_ni_t nis[4] = { 0 }, again;
    for (unsigned options = 0; options < 32; options++) {
        unsigned pairs = options & 15;
        bool is_right = options < 16 && (pairs == 5 || pairs == 6 || pairs == 9 || pairs == 10);
        assert_int_equal(PtlNIInit(PTL_IFACE_DEFAULT, options, PTL_PID_ANY, NULL, NULL, &again),
                         is_right ? PTL_OK : PTL_ARG_INVALID);
    }
    assert_int_equal(PtlNIInit(77, ME_LOGICAL, PTL_PID_ANY, NULL, NULL, &again), PTL_ARG_INVALID);
    for (int i = 0; i < 4; i++)
        assert_int_equal(PtlNIInit(0, every_kind[i], 1, NULL, NULL, &nis[i]), PTL_OK);
    assert_int_equal(nis[0], at->ni);
    ptl_ni_limits_t wish = at->limits, actual;
    wish.max_mds = 3; /* ignored, since the interface is open */
    assert_int_equal(PtlNIInit(0, ME_LOGICAL, PTL_PID_ANY, &wish, &actual, &again), PTL_OK);
    assert_int_equal(again, at->ni);
    assert_int_equal(actual.max_mds, at->limits.max_mds);
    for (int i = 1; i < 4; i++) { /* the same portal, and another interface's entry */
        ptl_pt_index_t pt;
        assert_int_equal(PtlPTAlloc(nis[i], 0, PTL_EQ_NONE, PTL_PT_ANY, &pt), PTL_OK);
        assert_int_equal(pt, 0);
    }
    static char memory[8];
    (void)listen_at(&n, 0, memory, 8, PTL_ME_EVENT_CT_COMM, PTL_PRIORITY_LIST);
    ptl_md_t md = { memory, 8, 0, PTL_EQ_NONE, PTL_CT_NONE };
    ptl_handle_md_t handle;
    ptl_process_t self;
    assert_int_equal(PtlMDBind(nis[1], &md, &handle), PTL_OK);
    assert_int_equal(PtlGetPhysId(nis[1], &self), PTL_OK);
    assert_int_equal(PtlPut(handle, 0, 8, PTL_NO_ACK_REQ, self, 0, 0, 0, NULL, 0), PTL_OK);
    counted(&n, 0, 0, 0);
    int dropped = 0;
    assert_int_equal(PtlNIStatus(nis[1], PTL_SR_DROP_COUNT, &dropped), PTL_OK);
    assert_int_equal(dropped, 1);
    assert_int_equal(PtlNIHandle(handle, &again), PTL_OK);
    assert_int_equal(again, nis[1]);
    assert_int_equal(PtlNIHandle(at->eq, &again), PTL_OK);
    assert_int_equal(again, at->ni);
    assert_int_equal(PtlNIHandle(PTL_INVALID_HANDLE, &again), PTL_ARG_INVALID);
    nodes_close(&n);
}

static void limits_are_clamped_and_exact(void **state)
{
    (void)state;
    nodes n;
    ptl_ni_limits_t wish;
    memset(&wish, 0xff, sizeof(wish)); /* garbage: -1 and huge sizes */
    wish.max_mds = 3;
    wish.max_cts = 2;
    wish.max_eqs = 3;
    wish.max_entries = 4;
    wish.max_list_size = 3;
    wish.max_pt_index = 10;
    wish.max_unexpected_headers = 1;
    wish.max_atomic_size = 4;
    wish.max_volatile_size = 512;
    wish.features = 0;
    pen_portals_config_default(&n.config);
    nodes_open_with(&n, 1, LE_PHYSICAL, 0, QUEUE, &wish);
    node *at = use(&n, 0);
    const ptl_ni_limits_t *got = &at->limits;
    assert_int_equal(got->max_mds, 3);
    assert_int_equal(got->max_pt_index, 10);
    assert_int_equal(got->max_unexpected_headers, 1);
    assert_int_equal(got->max_atomic_size, 4);
    assert_int_equal(got->max_volatile_size, 512);
    assert_int_equal(got->features, 0);
    assert_true(got->max_iovecs == 0 && got->max_triggered_ops == 0);
    assert_true(got->max_msg_size >= (ptl_size_t)4 << 30 && got->max_waw_ordered_size >= 64);
    ptl_handle_any_t handles[5];
    ptl_md_t md = { handles, 8, 0, PTL_EQ_NONE, PTL_CT_NONE };
    for (int i = 0; i < 4; i++)
        assert_int_equal(PtlMDBind(at->ni, &md, &handles[i]), i < 3 ? PTL_OK : PTL_NO_SPACE);
    assert_int_equal(PtlMDRelease(handles[1]), PTL_OK);
    assert_int_equal(PtlMDRelease(handles[1]), PTL_ARG_INVALID);
    assert_int_equal(PtlMDBind(at->ni, &md, &handles[1]), PTL_OK);
    assert_int_equal(PtlCTAlloc(at->ni, &handles[0]), PTL_OK); /* nodes_open made one */
    assert_int_equal(PtlCTAlloc(at->ni, &handles[1]), PTL_NO_SPACE);
    assert_int_equal(PtlCTFree(handles[0]), PTL_OK);
    assert_int_equal(PtlCTAlloc(at->ni, &handles[0]), PTL_OK);
    for (int i = 1; i < 4; i++)
        assert_int_equal(PtlEQAlloc(at->ni, 4, &handles[i]), i < 3 ? PTL_OK : PTL_NO_SPACE);
    ptl_me_t me = entry_of(&n, at, handles, 8, 0);
    for (int i = 0; i < 4; i++)
        assert_int_equal(append(&n, at, &me, PTL_PRIORITY_LIST, NULL, &handles[i]),
                         i < 3 ? PTL_OK : PTL_NO_SPACE); /* the list */
    assert_int_equal(append(&n, at, &me, PTL_OVERFLOW_LIST, NULL, &handles[3]), PTL_OK);
    assert_int_equal(append(&n, at, &me, PTL_OVERFLOW_LIST, NULL, &handles[4]), PTL_NO_SPACE);
    assert_int_equal(unlink_entry(&n, handles[0]), PTL_OK);
    assert_int_equal(append(&n, at, &me, PTL_OVERFLOW_LIST, NULL, &handles[4]), PTL_OK);
    nodes_close(&n);
}

static void maps_name_processes(void **state)
{
    (void)state;
    nodes n;
    nodes_open(&n, 3, ME_LOGICAL);
    ptl_process_t map[4], own;
    ptl_size_t len = 0;
    node *at = use(&n, 2);
    assert_int_equal(PtlGetMap(at->ni, 2, map, &len), PTL_OK);
    assert_int_equal(len, 3);
    assert_int_equal(PtlGetPhysId(at->ni, &own), PTL_OK);
    assert_int_equal(PtlGetMap(at->ni, 4, map, &len), PTL_OK);
    assert_int_equal(map[2].phys.pid, own.phys.pid);
    assert_true(own.phys.pid != 0xffff && own.phys.nid != 0xffff);
    assert_int_equal(at->id.rank, 2);
    ptl_process_t reversed[3] = { map[2], map[1], map[0] };
    assert_int_equal(PtlSetMap(at->ni, 3, reversed), PTL_IGNORED);
    ptl_handle_ni_t phys, le;
    assert_int_equal(PtlNIInit(0, ME_PHYSICAL, PTL_PID_ANY, NULL, NULL, &phys), PTL_OK);
    assert_int_equal(PtlSetMap(phys, 3, map), PTL_ARG_INVALID);
    assert_int_equal(PtlGetMap(phys, 3, map, &len), PTL_ARG_INVALID);
    assert_int_equal(PtlNIInit(0, LE_LOGICAL, PTL_PID_ANY, NULL, NULL, &le), PTL_OK);
    assert_int_equal(PtlGetMap(le, 3, map, &len), PTL_NO_SPACE);
    assert_int_equal(PtlSetMap(le, 2, map), PTL_ARG_INVALID); /* without the caller */
    ptl_process_t twice[3] = { map[2], map[1], map[2] };
    assert_int_equal(PtlSetMap(le, 3, twice), PTL_ARG_INVALID);
    assert_int_equal(PtlSetMap(le, 3, reversed), PTL_OK);
    assert_int_equal(PtlGetId(le, &own), PTL_OK);
    assert_int_equal(own.rank, 0);
    assert_int_equal(PtlNIInit(0, LE_PHYSICAL, 1, NULL, NULL, &phys), PTL_PID_IN_USE);
    assert_int_equal(PtlNIInit(0, LE_PHYSICAL, 3, NULL, NULL, &phys), PTL_OK);
    nodes_close(&n);
}

static void portal_table_follows_the_rules(void **state)
{
    (void)state;
    nodes n;
    ptl_ni_limits_t wish = { .max_pt_index = 5,
                             .max_eqs = 9,
                             .max_cts = 9,
                             .max_entries = 9,
                             .max_list_size = 9,
                             .max_unexpected_headers = 9,
                             .max_mds = 9,
                             .max_msg_size = 100 };
    pen_portals_config_default(&n.config);
    nodes_open_with(&n, 1, ME_LOGICAL, 0, QUEUE, &wish);
    node *at = use(&n, 0);
    ptl_pt_index_t index;
    assert_int_equal(PtlPTAlloc(at->ni, 0, at->eq, 5, &index), PTL_OK);
    assert_int_equal(PtlPTAlloc(at->ni, 0, at->eq, 5, &index), PTL_PT_IN_USE);
    assert_int_equal(PtlPTAlloc(at->ni, 0, at->eq, 6, &index), PTL_ARG_INVALID);
    assert_int_equal(PtlPTAlloc(at->ni, 32, at->eq, 1, &index), PTL_ARG_INVALID);
    assert_int_equal(PtlPTAlloc(at->ni, PTL_PT_FLOWCTRL, PTL_EQ_NONE, 1, &index), PTL_PT_EQ_NEEDED);
    assert_int_equal(PtlPTAlloc(at->ni, 0, at->ct, 1, &index), PTL_ARG_INVALID);
    for (unsigned i = 1; i < 5; i++) {
        assert_int_equal(PtlPTAlloc(at->ni, 0, at->eq, PTL_PT_ANY, &index), PTL_OK);
        assert_int_equal(index, i);
    }
    assert_int_equal(PtlPTAlloc(at->ni, 0, at->eq, PTL_PT_ANY, &index), PTL_PT_FULL);
    assert_int_equal(PtlPTFree(at->ni, 3), PTL_OK);
    assert_int_equal(PtlPTFree(at->ni, 3), PTL_ARG_INVALID);
    assert_int_equal(PtlPTDisable(at->ni, 3), PTL_ARG_INVALID);
    assert_int_equal(PtlPTEnable(at->ni, 3), PTL_ARG_INVALID);
    static char memory[16];
    ptl_handle_any_t over = listen_at(&n, 0, memory, 16, 0, PTL_OVERFLOW_LIST);
    assert_int_equal(PtlPTFree(at->ni, 0), PTL_PT_IN_USE);
    ptl_handle_md_t md = bind(at, memory, 8, 0);
    assert_int_equal(put(&n, 0, 0, md, 0, 8, PTL_NO_ACK_REQ, 0, 0), PTL_OK);
    (void)good_event(&n, 0, PTL_EVENT_SEND);
    (void)good_event(&n, 0, PTL_EVENT_PUT);
    assert_int_equal(unlink_entry(&n, over), PTL_IN_USE);
    ptl_me_t me = entry_of(&n, at, NULL, 0, PTL_ME_USE_ONCE);
    assert_int_equal(search(&n, at, &me, PTL_SEARCH_DELETE, NULL), PTL_OK);
    assert_int_equal(unlink_entry(&n, over), PTL_OK);
    assert_int_equal(unlink_entry(&n, over), PTL_ARG_INVALID);
    assert_int_equal(PtlPTFree(at->ni, 0), PTL_OK);
    nodes_close(&n);
}

static void handles_are_equal_everywhere_and_never_special(void **state)
{
    (void)state;
    nodes n;
    nodes_open(&n, 2, LE_LOGICAL);
    assert_int_equal(n.at[0].ni, n.at[1].ni);
    node *at = use(&n, 0);
    ptl_handle_ct_t before = PTL_INVALID_HANDLE, handle;
    for (int i = 0; i < 5000; i++) {
        assert_int_equal(PtlCTAlloc(at->ni, &handle), PTL_OK);
        assert_true(handle != PTL_INVALID_HANDLE && handle != PTL_EQ_NONE && handle != PTL_CT_NONE);
        assert_int_equal(PtlCTFree(before), PTL_ARG_INVALID);
        assert_int_equal(PtlCTFree(handle), PTL_OK);
        before = handle;
    }
    ptl_event_t event;
    ptl_ct_event_t value;
    assert_int_equal(PtlEQGet(PTL_EQ_NONE, &event), PTL_ARG_INVALID);
    assert_int_equal(PtlCTGet(PTL_CT_NONE, &value), PTL_ARG_INVALID);
    assert_int_equal(PtlEQGet(at->ct, &event), PTL_ARG_INVALID);
    assert_int_equal(PtlCTGet(at->eq, &value), PTL_ARG_INVALID);
    nodes_close(&n);
}

static void objects_may_outlive_what_they_name(void **state)
{
    (void)state;
    nodes n;
    nodes_open(&n, 1, LE_LOGICAL);
    static char memory[8];
    (void)listen_at(&n, 0, memory, 8, PTL_ME_EVENT_CT_COMM, PTL_PRIORITY_LIST);
    node *at = use(&n, 0);
    ptl_handle_md_t md = bind(at, memory, 8, PTL_MD_EVENT_CT_SEND | PTL_MD_EVENT_CT_ACK);
    assert_int_equal(put(&n, 0, 0, md, 0, 8, PTL_ACK_REQ, 0, 0), PTL_OK);
    assert_int_equal(PtlMDRelease(md), PTL_IN_USE);
    assert_int_equal(PtlEQFree(at->eq), PTL_OK);
    assert_int_equal(PtlCTFree(at->ct), PTL_OK);
    int status;
    for (int i = 0; i < 4; i++)
        assert_int_equal(PtlNIStatus(at->ni, PTL_SR_DROP_COUNT, &status), PTL_OK);
    assert_int_equal(PtlMDRelease(md), PTL_OK);
    nodes_close(&n); /* with a live entry and portal */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_call_needs_init),
        cmocka_unit_test(interfaces_are_apart),
        cmocka_unit_test(limits_are_clamped_and_exact),
        cmocka_unit_test(maps_name_processes),
        cmocka_unit_test(portal_table_follows_the_rules),
        cmocka_unit_test(handles_are_equal_everywhere_and_never_special),
        cmocka_unit_test(objects_may_outlive_what_they_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
