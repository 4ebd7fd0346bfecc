/* SPDX-License-Identifier: BSD-3-Clause */
/* rma_noti_test.c: RMA of the software EXTOLL card: which notification a match takes, which may be
 * freed, and that each unit tells once. */
#include "unit/softnic/nodes.h"

static void notifications_are_matched_out_of_order(void **state)
{
    (void)state;
    pair p;
    pair_open(&p, small_config(2));
    node *a = &p.nodes[0], *b = &p.nodes[1];
    RMA2_Notification got;
    for (int i = 0; i < 3; i++)
        assert_int_equal(
            rma2_post_notification(a->port, &a->to, 1, (uint64_t)i, put_spec, RMA2_CMD_DEFAULT),
            RMA2_SUCCESS);
    assert_int_equal(
        rma2_post_put_bt(a->port, &a->to, a->region, 0, 5, b->nla, put_spec, RMA2_CMD_DEFAULT),
        RMA2_SUCCESS);
    const RMA2_Notification_Spec completer = RMA2_COMPLETER_NOTIFICATION;
    assert_int_equal(rma2_noti_match_block(b->port, RMA2_BT_PUT, completer, 0, 0, &got),
                     RMA2_SUCCESS);
    assert_int_equal(rma2_noti_get_size(&got), 5);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(rma2_noti_match(b->port, RMA2_NOTI_PUT, completer, 0, 0, &got),
                         RMA2_SUCCESS);
        assert_int_equal(rma2_noti_get_notiput_payload(&got), i);
    }
    assert_int_equal(rma2_noti_match(b->port, RMA2_NOTI_PUT, completer, 0, 0, &got), RMA2_NO_NOTI);
    pair_close(&p);
}

static void tell(RMA2_Port port, const RMA2_Handle *to, uint64_t payload,
                 RMA2_Notification_Spec spec)
{
    assert_int_equal(rma2_post_notification(port, to, 1, payload, spec, RMA2_CMD_DEFAULT),
                     RMA2_SUCCESS);
}

static void expect_match(node *n, RMA2_Notification_Spec type, uint16_t from, uint16_t vpid,
                         uint64_t payload)
{
    RMA2_Notification got;
    assert_int_equal(rma2_noti_match(n->port, RMA2_NOTI_PUT, type, from, vpid, &got), RMA2_SUCCESS);
    assert_int_equal(rma2_noti_get_notification_type(&got), type);
    assert_int_equal(rma2_noti_get_remote_nodeid(&got), from);
    assert_int_equal(rma2_noti_get_remote_vpid(&got), vpid);
    assert_int_equal(rma2_noti_get_notiput_payload(&got), payload);
}

/* Always asked for in the order in which they did not come. */
static void matching_looks_at_unit_node_and_port(void **state)
{
    (void)state;
    pair p;
    pen_card_config config = small_config(2);
    config.vpids = 2;
    pair_open(&p, config);
    node *a = &p.nodes[0], *b = &p.nodes[1];
    RMA2_Port second;
    RMA2_Handle from_second, itself;
    pen_card_use(a->card);
    assert_int_equal(rma2_open(&second), RMA2_SUCCESS);
    assert_int_equal(rma2_connect(second, 1, 0, RMA2_CONN_DEFAULT, &from_second), RMA2_SUCCESS);
    assert_int_equal(rma2_connect(b->port, 1, 0, RMA2_CONN_DEFAULT, &itself), RMA2_SUCCESS);
    tell(a->port, &a->to, 1, RMA2_COMPLETER_NOTIFICATION);
    tell(second, &from_second, 2, RMA2_COMPLETER_NOTIFICATION);
    expect_match(b, RMA2_COMPLETER_NOTIFICATION, 0, 1, 2);
    tell(b->port, &itself, 3, put_spec);
    expect_match(b, RMA2_COMPLETER_NOTIFICATION, 1, 0, 3);
    expect_match(b, RMA2_REQUESTER_NOTIFICATION, 1, 0, 3);
    expect_match(b, RMA2_COMPLETER_NOTIFICATION, 0, 0, 1);
    expect_none(b);
    assert_int_equal(rma2_close(second), RMA2_SUCCESS);
    pair_close(&p);
}

/* As many as a queue holds are set aside; the rest stays in the queue. */
static void matching_sets_aside_no_more_than_a_queue(void **state)
{
    (void)state;
    pair p;
    pair_open(&p, small_config(2)); /* a queue of 8 */
    node *a = &p.nodes[0], *b = &p.nodes[1];
    RMA2_Notification got;
    for (uint64_t payload = 0; payload < 16; payload++) {
        tell(a->port, &a->to, payload, RMA2_COMPLETER_NOTIFICATION);
        assert_int_equal(
            rma2_noti_match(b->port, RMA2_BT_PUT, RMA2_COMPLETER_NOTIFICATION, 0, 0, &got),
            RMA2_NO_NOTI);
    }
    assert_int_equal(rma2_flush(a->port), 0);
    for (uint64_t payload = 0; payload < 16; payload++)
        expect_match(b, RMA2_COMPLETER_NOTIFICATION, 0, 0, payload);
    expect_none(b);
    pair_close(&p);
}

static void only_what_was_probed_is_freed(void **state)
{
    (void)state;
    pair p;
    pair_open(&p, small_config(2));
    node *a = &p.nodes[0], *b = &p.nodes[1];
    tell(a->port, &a->to, 1, RMA2_COMPLETER_NOTIFICATION);
    RMA2_Notification *noti, copy;
    assert_int_equal(rma2_noti_probe(b->port, &noti), RMA2_SUCCESS);
    rma2_noti_dup(noti, &copy);
    assert_int_equal(rma2_noti_free(b->port, &copy), RMA2_INV_VALUE);
    assert_int_equal(rma2_noti_free(b->port, noti), RMA2_SUCCESS);
    expect_none(b);
    pair_close(&p);
}

/* A command that waits for room in one queue has already notified the second queue. */
static void waiting_commands_tell_each_unit_once(void **state)
{
    (void)state;
    pair p;
    pen_card_config config = small_config(2);
    config.notifications = 3;
    pair_open(&p, config);
    node *a = &p.nodes[0], *b = &p.nodes[1];
    for (uint64_t payload = 0; payload < 3; payload++)
        tell(a->port, &a->to, payload, RMA2_COMPLETER_NOTIFICATION);
    tell(a->port, &a->to, 3, put_spec);
    for (int tries = 0; tries < 2; tries++)
        assert_int_equal(rma2_flush(a->port), 1);
    expect_match(a, RMA2_REQUESTER_NOTIFICATION, 1, 0, 3);
    expect_none(a);
    for (uint64_t payload = 0; payload < 4; payload++) {
        expect_match(b, RMA2_COMPLETER_NOTIFICATION, 0, 0, payload);
        expect_none(a); /* with which the card goes on */
    }
    expect_none(b);
    pair_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(notifications_are_matched_out_of_order),
        cmocka_unit_test(matching_looks_at_unit_node_and_port),
        cmocka_unit_test(matching_sets_aside_no_more_than_a_queue),
        cmocka_unit_test(only_what_was_probed_is_freed),
        cmocka_unit_test(waiting_commands_tell_each_unit_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
