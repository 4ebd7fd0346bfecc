/* SPDX-License-Identifier: BSD-3-Clause */
/* rma_test.c: RMA of the software EXTOLL card: registration and protection, every command,
 * fragments, full queues, faults. */
#include "os/os.h"
#include "softnic/extoll/card.h"
#include "softnic/extoll/fabric.h"
#include "softnic/extoll/rma2.h"
#include "unit/softnic/nodes.h"

static void expect(node *n, RMA2_Command command, RMA2_Notification_Spec type, uint16_t remote,
                   RMA2_NLA address, uint32_t size)
{
    RMA2_Notification noti = next(n);
    assert_int_equal(rma2_noti_get_error(&noti), 0);
    assert_int_equal(rma2_noti_get_cmd(&noti), command);
    assert_int_equal(rma2_noti_get_notification_type(&noti), type);
    assert_int_equal(rma2_noti_get_remote_nodeid(&noti), remote);
    assert_int_equal(rma2_noti_get_remote_vpid(&noti), 0);
    assert_int_equal(rma2_noti_get_local_address(&noti), address);
    assert_int_equal(rma2_noti_get_size(&noti), size);
}

static void puts_and_gets_arrive_and_tell_of_their_last_fragment(void **state)
{
    (void)state;
    pair p;
    pen_card_config config = small_config(2);
    config.mtu = 64;
    pair_open(&p, config);
    node *a = &p.nodes[0], *b = &p.nodes[1];
    for (uint32_t size = 1; size < 300; size++) {
        uint32_t last = (size - 1) % 64 + 1;
        fill(a->memory, size, 1, size);
        assert_int_equal(rma2_post_put_bt(a->port, &a->to, a->region, 0, size, b->nla + 3, put_spec,
                                          RMA2_CMD_DEFAULT),
                         RMA2_SUCCESS);
        expect(a, RMA2_BT_PUT, RMA2_REQUESTER_NOTIFICATION, 1, a->nla + size - last, last);
        RMA2_Notification noti = next(b);
        assert_int_equal(rma2_noti_get_cmd(&noti), RMA2_BT_PUT);
        assert_int_equal(rma2_noti_get_notification_type(&noti), RMA2_COMPLETER_NOTIFICATION);
        assert_int_equal(rma2_noti_get_remote_nodeid(&noti), 0);
        assert_int_equal(rma2_noti_get_size(&noti), last);
        assert_int_equal(rma2_noti_get_total_size(b->nla + 3, &noti), size);
        assert_true(is_filled(b->memory + 3, size, 1, size));
        assert_int_equal(b->memory[3 + size], 0);

        fill(b->memory + 5000, size, 2, size);
        assert_int_equal(rma2_post_get_bt(a->port, &a->to, a->region, 9000, size, b->nla + 5000,
                                          ALL_UNITS, RMA2_CMD_DEFAULT),
                         RMA2_SUCCESS);
        expect(a, RMA2_BT_GET, RMA2_REQUESTER_NOTIFICATION, 1, a->nla + 9000 + size - last, last);
        expect(a, RMA2_BT_GET_RSP, RMA2_COMPLETER_NOTIFICATION, 1, a->nla + 9000 + size - last,
               last);
        expect(b, RMA2_BT_GET, RMA2_RESPONDER_NOTIFICATION, 0, b->nla + 5000 + size - last, last);
        assert_true(is_filled(a->memory + 9000, size, 2, size));
    }
    expect_none(a);
    expect_none(b);
    pair_close(&p);
}

static void every_fragment_tells_when_asked(void **state)
{
    (void)state;
    pair p;
    pen_card_config config = small_config(2);
    config.mtu = 496;
    config.notifications = 64;
    pair_open(&p, config);
    node *a = &p.nodes[0], *b = &p.nodes[1];
    fill(a->memory, 1200, 1, 2);
    assert_int_equal(rma2_post_put_qw(a->port, &a->to, a->region, 0, 1200, b->nla,
                                      RMA2_COMPLETER_NOTIFICATION, RMA2_CMD_NTR),
                     RMA2_SUCCESS);
    expect(b, RMA2_QW_PUT, RMA2_COMPLETER_NOTIFICATION, 0, b->nla, 496);
    expect(b, RMA2_QW_PUT, RMA2_COMPLETER_NOTIFICATION, 0, b->nla + 496, 496);
    expect(b, RMA2_QW_PUT, RMA2_COMPLETER_NOTIFICATION, 0, b->nla + 992, 208);
    expect_none(b);
    assert_true(is_filled(b->memory, 1200, 1, 2));
    pen_card_counts counts;
    pen_card_count(a->card, &counts);
    assert_int_equal(counts.fragments, 3);
    assert_int_equal(counts.commands, 1);
    assert_int_equal(counts.copied_by_kernel, 1200);
    pair_close(&p);
}

static void immediate_and_notification_puts_and_descriptors(void **state)
{
    (void)state;
    pair p;
    pair_open(&p, small_config(2));
    node *a = &p.nodes[0], *b = &p.nodes[1];
    const uint64_t value = UINT64_C(0x1122334455667788);
    for (uint32_t count = 1; count <= 8; count++) {
        memset(b->memory, 0xee, 9);
        assert_int_equal(rma2_post_immediate_put(a->port, &a->to, count, value, b->nla,
                                                 RMA2_COMPLETER_NOTIFICATION, RMA2_CMD_DEFAULT),
                         RMA2_SUCCESS);
        expect(b, RMA2_IMM_PUT, RMA2_COMPLETER_NOTIFICATION, 0, b->nla, count);
        assert_memory_equal(b->memory, &value, count);
        assert_int_equal(b->memory[count], 0xee);
    }
    assert_int_equal(rma2_post_immediate_put(a->port, &a->to, 9, value, b->nla,
                                             RMA2_NO_NOTIFICATION, RMA2_CMD_DEFAULT),
                     RMA2_INV_VALUE);
    assert_int_equal(
        rma2_post_notification(a->port, &a->to, 0xfd, value, put_spec, RMA2_CMD_DEFAULT),
        RMA2_SUCCESS);
    RMA2_Notification noti = next(a);
    assert_int_equal(rma2_noti_get_cmd(&noti), RMA2_NOTI_PUT);
    noti = next(b);
    assert_int_equal(rma2_noti_get_cmd(&noti), RMA2_NOTI_PUT);
    assert_int_equal(rma2_noti_get_notiput_class(&noti), 0xfd);
    assert_int_equal(rma2_noti_get_notiput_payload(&noti), value);
    assert_int_equal(
        rma2_post_notification(a->port, &a->to, 0xfe, value, put_spec, RMA2_CMD_DEFAULT),
        RMA2_INV_VALUE);

    RMA2_Descriptor desc;
    fill(a->memory, 100, 7, 7);
    assert_int_equal(
        rma2_desc_put_bt(&desc, &a->to, a->nla, 100, b->nla, put_spec, RMA2_CMD_DEFAULT),
        RMA2_SUCCESS);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(rma2_post_descriptor(a->port, &a->to, &desc), RMA2_SUCCESS);
        expect(a, RMA2_BT_PUT, RMA2_REQUESTER_NOTIFICATION, 1, a->nla, 100);
        expect(b, RMA2_BT_PUT, RMA2_COMPLETER_NOTIFICATION, 0, b->nla, 100);
    }
    assert_true(is_filled(b->memory, 100, 7, 7));
    assert_int_equal(
        rma2_desc_notification(&desc, &a->to, 3, 4, RMA2_COMPLETER_NOTIFICATION, RMA2_CMD_DEFAULT),
        RMA2_SUCCESS);
    assert_int_equal(rma2_post_descriptor(a->port, &a->to, &desc), RMA2_SUCCESS);
    noti = next(b);
    assert_int_equal(rma2_noti_get_notiput_class(&noti), 3);
    assert_int_equal(rma2_noti_get_notiput_payload(&noti), 4);
    assert_int_equal(rma2_post_descriptor(b->port, &b->to, &desc), RMA2_INV_HANDLE);
    pair_close(&p);
}

static void locks_fetch_compare_and_add(void **state)
{
    (void)state;
    pair p;
    pair_open(&p, small_config(2));
    node *a = &p.nodes[0], *b = &p.nodes[1];
    const struct {
        int32_t cmp, add, before;
        bool done;
    } steps[] = { { 0, 1, 0, true },   { 0, 1, 1, false }, { INT32_MAX, -1, 1, true },
                  { 0, 5, 0, true },   { 4, 1, 5, false }, { 5, -10, 5, true },
                  { -6, 1, -5, false } };
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        assert_int_equal(rma2_post_lock(a->port, &a->to, 0, 3, steps[i].cmp, steps[i].add,
                                        RMA2_COMPLETER_NOTIFICATION, RMA2_CMD_DEFAULT),
                         RMA2_SUCCESS);
        RMA2_Notification noti = next(a);
        assert_int_equal(rma2_noti_get_cmd(&noti), RMA2_LOCK_RSP);
        assert_int_equal(rma2_noti_get_lock_number(&noti), 3);
        assert_int_equal(rma2_noti_get_lock_value(&noti), steps[i].before);
        assert_int_equal(rma2_noti_get_lock_result(&noti), steps[i].done);
    }
    assert_int_equal(rma2_post_lock(a->port, &a->to, 1, 3, 0, 1, ALL_UNITS, RMA2_CMD_DEFAULT),
                     RMA2_SUCCESS); /* the second unit's cell */
    RMA2_Notification noti = next(a);
    assert_int_equal(rma2_noti_get_cmd(&noti), RMA2_LOCK);
    noti = next(a);
    assert_int_equal(rma2_noti_get_lock_value(&noti), 0);
    noti = next(b);
    assert_int_equal(rma2_noti_get_cmd(&noti), RMA2_LOCK_REQ);
    assert_int_equal(
        rma2_post_lock(a->port, &a->to, 0, RMA2_LOCKS, 0, 1, ALL_UNITS, RMA2_CMD_DEFAULT),
        RMA2_INV_VALUE);
    pair_close(&p);
}

/* The put of one byte to a bad address: an error at the target, and nothing else. */
static void expect_bad(pair *p, RMA2_NLA nla, uint32_t size)
{
    node *a = &p->nodes[0], *b = &p->nodes[1];
    assert_int_equal(rma2_post_put_bt(a->port, &a->to, a->region, 0, size, nla,
                                      RMA2_NO_NOTIFICATION, RMA2_CMD_DEFAULT),
                     RMA2_SUCCESS);
    RMA2_Notification noti = next(b);
    assert_int_equal(rma2_noti_get_error(&noti), RMA2_COMPLETER_NOTIFICATION);
    assert_int_equal(rma2_noti_get_remote_nodeid(&noti), 0);
    assert_int_equal(rma2_post_get_bt(a->port, &a->to, a->region, 0, size, nla,
                                      RMA2_NO_NOTIFICATION, RMA2_CMD_DEFAULT),
                     RMA2_SUCCESS);
    noti = next(a);
    assert_int_equal(rma2_noti_get_error(&noti), RMA2_RESPONDER_NOTIFICATION);
    assert_int_equal(rma2_noti_get_cmd(&noti), RMA2_BT_GET_RSP);
    assert_int_equal(rma2_post_put_bt_direct(b->port, &b->to, nla, size, a->nla,
                                             RMA2_NO_NOTIFICATION, RMA2_CMD_DEFAULT),
                     RMA2_SUCCESS); /* as a source */
    noti = next(b);
    assert_int_equal(rma2_noti_get_error(&noti), RMA2_REQUESTER_NOTIFICATION);
    expect_none(a);
    expect_none(b);
}

static void bad_addresses_give_errors_and_touch_nothing(void **state)
{
    (void)state;
    pair p;
    pair_open(&p, small_config(2));
    node *b = &p.nodes[1];
    memset(p.nodes[0].memory, 1, LEN);
    expect_bad(&p, 0, 1);
    expect_bad(&p, UINT64_MAX, 1);
    expect_bad(&p, (uintptr_t)b->memory, 1);
    expect_bad(&p, b->nla + UINT64_C(5) * RMA2_PAGE_LEN, 1);
    expect_bad(&p, b->nla + UINT64_C(5) * RMA2_PAGE_LEN - 1, 2);
    expect_bad(&p, b->nla + (UINT64_C(1) << 40), 1); /* the next row, which is empty */
    expect_bad(&p, b->nla + (UINT64_C(1) << 52), 1); /* another VPID's */
    expect_bad(&p, b->nla + (UINT64_C(1) << 60), 1);
    RMA2_Region *gone;
    RMA2_NLA stale;
    assert_int_equal(rma2_register(b->port, b->memory + (size_t)8 * RMA2_PAGE_LEN, 1, &gone),
                     RMA2_SUCCESS);
    assert_int_equal(rma2_get_nla(gone, 0, &stale), RMA2_SUCCESS);
    assert_int_equal(rma2_unregister(b->port, gone), RMA2_SUCCESS);
    expect_bad(&p, stale, 1);
    for (int i = 0; i < 5 * RMA2_PAGE_LEN; i++)
        assert_int_equal(b->memory[i], 0);

    void *hole = mmap(NULL, RMA2_PAGE_LEN, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(hole != MAP_FAILED);
    assert_int_equal(rma2_register(b->port, hole, 1, &gone), RMA2_SUCCESS);
    assert_int_equal(rma2_get_nla(gone, 0, &stale), RMA2_SUCCESS);
    node *a = &p.nodes[0];
    assert_int_equal(
        rma2_post_put_bt(a->port, &a->to, a->region, 0, 9, stale, put_spec, RMA2_CMD_DEFAULT),
        RMA2_SUCCESS); /* the kernel says so */
    RMA2_Notification noti = next(a);
    assert_int_equal(rma2_noti_get_error(&noti), 0);
    noti = next(b);
    assert_int_equal(rma2_noti_get_error(&noti), RMA2_COMPLETER_NOTIFICATION);
    assert_int_equal(munmap(hole, RMA2_PAGE_LEN), 0);

    RMA2_Port port_b = b->port;
    assert_int_equal(rma2_close(b->port), RMA2_SUCCESS);
    assert_int_equal(rma2_post_notification(a->port, &a->to, 1, 1, RMA2_COMPLETER_NOTIFICATION,
                                            RMA2_CMD_DEFAULT),
                     RMA2_SUCCESS); /* no node is there */
    noti = next(a);
    assert_int_equal(rma2_noti_get_error(&noti), RMA2_REQUESTER_NOTIFICATION);
    (void)port_b;
    pen_card_use(b->card);
    assert_int_equal(rma2_open(&b->port), RMA2_SUCCESS);
    assert_int_equal(rma2_register(b->port, b->memory, LEN, &b->region), RMA2_SUCCESS);
    expect_none(b);
    pair_close(&p);
}

static void what_is_posted_is_checked(void **state)
{
    (void)state;
    pair p;
    pair_open(&p, small_config(2));
    node *a = &p.nodes[0];
    RMA2_NLA nla = p.nodes[1].nla;
    const RMA2_Notification_Spec none = RMA2_NO_NOTIFICATION;
    const RMA2_Command_Modifier plain = RMA2_CMD_DEFAULT;
    assert_int_equal(rma2_post_put_bt(a->port, &a->to, a->region, 0, 0, nla, none, plain),
                     RMA2_INV_VALUE);
    assert_int_equal(rma2_post_put_bt(a->port, &a->to, a->region, LEN, 1, nla, none, plain),
                     RMA2_INV_VALUE);
    assert_int_equal(rma2_post_put_bt(a->port, &a->to, a->region, SIZE_MAX, 2, nla, none, plain),
                     RMA2_INV_VALUE);
    assert_int_equal(
        rma2_post_put_bt_direct(a->port, &a->to, a->nla, RMA2_SIZE_MAX + 1, nla, none, plain),
        RMA2_INV_VALUE);
    assert_int_equal(rma2_post_put_qw(a->port, &a->to, a->region, 4, 8, nla, none, plain),
                     RMA2_INV_VALUE);
    assert_int_equal(rma2_post_get_qw(a->port, &a->to, a->region, 0, 12, nla, none, plain),
                     RMA2_INV_VALUE);
    assert_int_equal(
        rma2_post_put_bt(a->port, &a->to, a->region, 0, 1, nla, (RMA2_Notification_Spec)8, plain),
        RMA2_INV_VALUE);
    assert_int_equal(rma2_post_put_bt(a->port, &a->to, a->region, 0, 1, nla, none, RMA2_CMD_MC),
                     RMA2_INV_VALUE);
    RMA2_Handle other;
    assert_int_equal(rma2_connect(a->port, 2, 0, RMA2_CONN_DEFAULT, &other), RMA2_NO_ROUTE);
    assert_int_equal(rma2_connect(a->port, 1, 1, RMA2_CONN_DEFAULT, &other), RMA2_NO_ROUTE);
    assert_int_equal(rma2_connect(a->port, 1, 0, RMA2_CONN_RRA, &other), RMA2_INV_VALUE);
    assert_int_equal(rma2_post_put_bt(a->port, &other, a->region, 0, 1, nla, none, plain),
                     RMA2_INV_HANDLE);
    pair_close(&p);
}

static void registrations_do_not_overlap_but_may_be_shared(void **state)
{
    (void)state;
    pair p;
    pen_card_config config = small_config(2);
    config.regions = 3;
    pair_open(&p, config);
    node *a = &p.nodes[0];
    RMA2_Region *region, *shared, *adhoc, in_place;
    unsigned char *end = a->memory + (size_t)5 * RMA2_PAGE_LEN;
    assert_int_equal(rma2_register(a->port, a->memory + 9, 1, &region), RMA2_INV_VALUE);
    assert_int_equal(rma2_register(a->port, end - 1, 2, &region), RMA2_INV_VALUE);
    assert_int_equal(rma2_register(a->port, NULL, 2, &region), RMA2_INV_VALUE);
    assert_int_equal(rma2_register(a->port, end, 0, &region), RMA2_INV_VALUE);
    assert_int_equal(rma2_register(a->port, end, SIZE_MAX - 5, &region), RMA2_INV_VALUE);
    assert_int_equal(rma2_register_adhoc(a->port, a->memory + 4090, 7, &adhoc), RMA2_INV_VALUE);
    assert_int_equal(rma2_register_adhoc(a->port, a->memory + 4090, 6, &adhoc), RMA2_SUCCESS);
    assert_int_equal(rma2_register_cached(a->port, a->memory + 8195, 10, &shared), RMA2_SUCCESS);
    RMA2_NLA nla;
    assert_int_equal(rma2_get_nla(shared, 2, &nla), RMA2_SUCCESS);
    assert_int_equal(nla, a->nla + 8197);
    assert_int_equal(rma2_get_nla(shared, 10, &nla), RMA2_INV_VALUE);
    assert_int_equal(rma2_register_nomalloc(a->port, end + 1, 2 * RMA2_PAGE_LEN, &in_place),
                     RMA2_SUCCESS);
    assert_int_equal(rma2_get_page_count(&in_place), 3);
    assert_true(rma2_region_contains(&in_place, end + 5, 100));
    assert_false(rma2_region_contains(&in_place, end, 1));
    assert_true(rma2_region_overlaps(&in_place, end, 2));
    assert_true(rma2_region_equals(&in_place, end + 1, 2 * RMA2_PAGE_LEN));
    unsigned char *far = end + (size_t)9 * RMA2_PAGE_LEN;
    assert_int_equal(rma2_register(a->port, far, 1, &region), RMA2_NO_MEM); /* no row */
    assert_int_equal(rma2_unregister(a->port, adhoc), RMA2_SUCCESS);
    assert_int_equal(rma2_unregister(a->port, adhoc), RMA2_INV_VALUE);
    assert_int_equal(rma2_register(a->port, far, 1, &region), RMA2_SUCCESS);
    assert_int_equal(rma2_unregister(a->port, &in_place), RMA2_SUCCESS);
    assert_int_equal(rma2_unregister(a->port, a->region), RMA2_SUCCESS);
    a->region = shared; /* still holds the pages */
    node *b = &p.nodes[1];
    memset(a->memory + 8195, 0x77, 10);
    assert_int_equal(rma2_post_put_bt(a->port, &a->to, shared, 0, 10, b->nla,
                                      RMA2_COMPLETER_NOTIFICATION, RMA2_CMD_DEFAULT),
                     RMA2_SUCCESS);
    expect(b, RMA2_BT_PUT, RMA2_COMPLETER_NOTIFICATION, 0, b->nla, 10);
    assert_int_equal(b->memory[9], 0x77);
    pair_close(&p);
}

static void registration_fails_when_told_to(void **state)
{
    (void)state;
    pen_card_config config = small_config(2);
    void *fabric = make_fabric(&config);
    for (int mlock = 0; mlock < 2; mlock++) {
        config.faults.register_one_in = 1;
        config.faults.register_mlock = mlock != 0;
        pen_card *card = plug_in(fabric, &config, 0);
        RMA2_Port port;
        RMA2_Region *region;
        assert_int_equal(rma2_open(&port), RMA2_SUCCESS);
        assert_int_equal(rma2_register(port, fabric, 1, &region),
                         mlock ? RMA2_MLOCK_LIMIT : RMA2_NO_MEM);
        assert_int_equal(rma2_close(port), RMA2_SUCCESS);
        pen_card_close(card);
    }
    free(fabric);
}

static void full_queue_keeps_commands_waiting_in_order(void **state)
{
    (void)state;
    pair p;
    pen_card_config config = small_config(2);
    config.notifications = 3;
    pair_open(&p, config);
    node *a = &p.nodes[0], *b = &p.nodes[1];
    uint32_t posted = 0;
    while (rma2_post_notification(a->port, &a->to, 1, posted, RMA2_COMPLETER_NOTIFICATION,
                                  RMA2_CMD_DEFAULT) == RMA2_SUCCESS)
        posted++;
    assert_int_equal(posted, 3 + RMA2_COMMANDS);
    assert_int_equal(rma2_flush(a->port), RMA2_COMMANDS);
    for (uint32_t i = 0; i < posted; i++) {
        RMA2_Notification *noti;
        while (rma2_noti_probe(b->port, &noti) == RMA2_NO_NOTI)
            expect_none(a); /* with which the card goes on */
        assert_int_equal(rma2_noti_get_notiput_payload(noti), i);
        assert_int_equal(rma2_noti_free(b->port, noti), RMA2_SUCCESS);
        assert_int_equal(rma2_noti_free(b->port, noti), RMA2_INV_VALUE);
    }
    assert_int_equal(rma2_flush(a->port), 0);
    expect_none(b);
    pen_card_counts counts;
    pen_card_count(a->card, &counts);
    assert_true(counts.queue_full > 0);
    pair_close(&p);
}

static uint32_t tell_numbers(node *from, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(rma2_post_notification(from->port, &from->to, 1, i,
                                                RMA2_COMPLETER_NOTIFICATION, RMA2_CMD_DEFAULT),
                         RMA2_SUCCESS);
    return rma2_flush(from->port);
}

/* Reading is told to the card once in a quarter of the queue, and when there is no more: else who
 * has read everything, and waits, would keep slots from those that it waits for. */
static void queue_found_empty_has_all_its_room(void **state)
{
    (void)state;
    pair p;
    pair_open(&p, small_config(2)); /* a queue of 8 */
    node *a = &p.nodes[0], *b = &p.nodes[1];
    for (uint32_t count = 1; count < 8; count++) {
        assert_int_equal(tell_numbers(a, count), 0);
        for (uint32_t i = 0; i < count; i++)
            (void)next(b);
        expect_none(b);
        assert_int_equal(tell_numbers(a, 8), 0);
        for (uint32_t i = 0; i < 8; i++)
            (void)next(b);
        expect_none(b);
    }
    pair_close(&p);
}

/* With late copies: the source is read late, so it must not be reused before the notification; and
 * data is there before the target is told, in order. */
static void late_commands_stay_in_order_and_read_their_source_late(void **state)
{
    (void)state;
    pair p;
    pen_card_config config = small_config(2);
    config.faults = (pen_card_faults){ .seed = 3, .late_one_in = 2, .full_one_in = 5 };
    config.mtu = 64;
    config.notifications = 32;
    pair_open(&p, config);
    node *a = &p.nodes[0], *b = &p.nodes[1];
    int late = 0;
    for (uint32_t round = 0; round < 200; round++) {
        fill(a->memory, 500, 1, round);
        assert_int_equal(rma2_post_put_bt(a->port, &a->to, a->region, 0, 500, b->nla,
                                          RMA2_NO_NOTIFICATION, RMA2_CMD_DEFAULT),
                         RMA2_SUCCESS);
        late += !is_filled(b->memory, 500, 1, round);
        assert_int_equal(rma2_post_notification(a->port, &a->to, 1, round,
                                                RMA2_COMPLETER_NOTIFICATION, RMA2_CMD_DEFAULT),
                         RMA2_SUCCESS);
        RMA2_Notification *noti;
        while (rma2_noti_probe(b->port, &noti) == RMA2_NO_NOTI)
            expect_none(a);
        assert_int_equal(rma2_noti_get_notiput_payload(noti), round);
        assert_int_equal(rma2_noti_free(b->port, noti), RMA2_SUCCESS);
        assert_true(is_filled(b->memory, 500, 1, round));
    }
    assert_true(late > 20);
    pair_close(&p);
}

static void mapped_memory_is_copied_directly(void **state)
{
    (void)state;
    pair p;
    pair_open(&p, small_config(2));
    node *a = &p.nodes[0], *b = &p.nodes[1];
    unsigned char *elsewhere = calloc(1, 100);
    assert_int_equal(pen_card_map(a->card, 1, 0, (uintptr_t)b->memory + 50, 100, elsewhere),
                     PEN_OK);
    fill(a->memory, 100, 1, 1);
    const uint32_t offsets[] = { 50, 49, 51 };
    for (int i = 0; i < 3; i++)
        assert_int_equal(rma2_post_put_bt(a->port, &a->to, a->region, 0, 100, b->nla + offsets[i],
                                          RMA2_NO_NOTIFICATION, RMA2_CMD_DEFAULT),
                         RMA2_SUCCESS);
    assert_true(is_filled(elsewhere, 100, 1, 1));
    assert_true(is_filled(b->memory + 51, 100, 1, 1));
    pen_card_counts counts;
    pen_card_count(a->card, &counts);
    assert_int_equal(counts.copied_directly, 100);
    assert_int_equal(counts.copied_by_kernel, 200);
    free(elsewhere);
    pair_close(&p);
}

static void notifications_come_when_the_machine_would_bring_them(void **state)
{
    (void)state;
    pair p;
    pen_card_config config = small_config(2);
    config.latency = pen_card_latency_machine();
    config.notifications = 64;
    pair_open(&p, config);
    node *a = &p.nodes[0], *b = &p.nodes[1];
    for (uint32_t size = 8; size <= LEN; size = size * 5) {
        uint64_t start = pen_now_ns();
        assert_int_equal(rma2_post_put_bt(a->port, &a->to, a->region, 0, size, b->nla,
                                          RMA2_COMPLETER_NOTIFICATION, RMA2_CMD_DEFAULT),
                         RMA2_SUCCESS);
        (void)next(b);
        uint64_t least = 120 + 350 + 200 + 300 + 170 + 150 + size * 8 / 5;
        assert_true(pen_now_ns() - start >= least);
    }
    pair_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(puts_and_gets_arrive_and_tell_of_their_last_fragment),
        cmocka_unit_test(every_fragment_tells_when_asked),
        cmocka_unit_test(immediate_and_notification_puts_and_descriptors),
        cmocka_unit_test(locks_fetch_compare_and_add),
        cmocka_unit_test(bad_addresses_give_errors_and_touch_nothing),
        cmocka_unit_test(what_is_posted_is_checked),
        cmocka_unit_test(registrations_do_not_overlap_but_may_be_shared),
        cmocka_unit_test(registration_fails_when_told_to),
        cmocka_unit_test(full_queue_keeps_commands_waiting_in_order),
        cmocka_unit_test(queue_found_empty_has_all_its_room),
        cmocka_unit_test(late_commands_stay_in_order_and_read_their_source_late),
        cmocka_unit_test(mapped_memory_is_copied_directly),
        cmocka_unit_test(notifications_come_when_the_machine_would_bring_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
