/* SPDX-License-Identifier: BSD-3-Clause */
/* backlog_test.c: replies that find no room wait as copies, in order, and hold requests back. */
#include "fake_link.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <pthread.h>
#include <cmocka.h>

typedef struct rig {
    pen_progress progress;
    pen_port *port;
    fake_link link;
    pen_counters counters;
} rig;

static rig the_rig;

static int open_rig(void **state)
{
    static const pen_progress_config defaults = { 50e-6, 1e-3, true };
    rig *r = *state = &the_rig;
    memset(r, 0, sizeof *r);
    fake_open(&r->link, 0);
    pen_progress_init(&r->progress, PEN_ALONE, &defaults, NULL, &pen_machine_clock, &r->counters);
    r->port = pen_progress_add(&r->progress, &r->link.base);
    return 0;
}

static int close_rig(void **state)
{
    rig *r = *state;
    pen_progress_close(&r->progress);
    return 0;
}

static pen_status reply(rig *r, pen_peer to, uint64_t tag)
{
    return fake_reply(r->port, &r->counters, to, PEN_LANE_REPLY, tag, 8);
}

static void a_reply_with_room_goes_at_once(void **state)
{
    rig *r = *state;
    assert_int_equal(reply(r, 1, 5), PEN_OK);
    assert_int_equal(r->link.sent_count, 1);
    assert_int_equal(r->counters.again_backlog, 0);
}

static void a_reply_without_room_is_copied_and_sent_by_a_later_poll(void **state)
{
    rig *r = *state;
    r->link.full[1] = true;
    assert_int_equal(reply(r, 1, 5), PEN_OK);
    assert_int_equal(r->counters.again_backlog, 1);
    assert_int_equal(pen_progress_poll(&r->progress), 0);
    assert_int_equal(r->link.sent_count, 0);
    r->link.full[1] = false;
    assert_int_equal(pen_progress_poll(&r->progress), 1); /* sending it is progress */
    assert_int_equal(r->link.sent_count, 1);
    assert_int_equal(r->link.sent[0].tag, 5);
    assert_int_equal(r->link.sent[0].body_len, 8);
    assert_int_equal(r->link.sent[0].body_last, 5);
    assert_int_equal(pen_progress_poll(&r->progress), 0);
}

static void requests_stay_away_while_a_reply_is_queued(void **state)
{
    rig *r = *state;
    r->link.full[1] = true;
    assert_int_equal(reply(r, 1, 5), PEN_OK);
    (void)pen_progress_poll(&r->progress);
    assert_int_equal(r->link.lanes, PEN_LANES_ALL & ~PEN_LANE_BIT(PEN_LANE_REQUEST));
    r->link.full[1] = false;
    (void)pen_progress_poll(&r->progress);
    assert_int_equal(r->link.lanes, PEN_LANES_ALL);
}

static void order_is_kept_to_each_peer_and_nobody_waits_for_another_s_room(void **state)
{
    rig *r = *state;
    r->link.full[1] = r->link.full[2] = true;
    for (uint64_t tag = 0; tag < 10; tag++)
        assert_int_equal(reply(r, 1 + tag % 2, tag), PEN_OK);
    r->link.full[2] = false;
    assert_int_equal(reply(r, 2, 10), PEN_OK); /* behind its elders, though there is room */
    assert_int_equal(r->link.sent_count, 0);
    (void)pen_progress_poll(&r->progress);
    assert_int_equal(r->link.sent_count, 6);
    for (unsigned i = 0; i < 5; i++)
        assert_int_equal(r->link.sent[i].tag, 2 * i + 1);
    assert_int_equal(r->link.sent[5].tag, 10);
    assert_int_equal(reply(r, 2, 11), PEN_OK); /* nothing of peer 2 waits any more */
    assert_int_equal(r->link.sent_count, 7);
    r->link.full[1] = false;
    (void)pen_progress_poll(&r->progress);
    assert_int_equal(r->link.sent_count, 12);
    for (unsigned i = 0; i < 5; i++)
        assert_int_equal(r->link.sent[7 + i].tag, 2 * i);
}

static void lanes_do_not_wait_for_each_other(void **state)
{
    rig *r = *state;
    r->link.full[1] = true;
    assert_int_equal(reply(r, 1, 1), PEN_OK);
    r->link.full[1] = false;
    assert_int_equal(fake_reply(r->port, &r->counters, 1, PEN_LANE_CONTROL, 2, 0), PEN_OK);
    assert_int_equal(r->link.sent_count, 1);
    assert_int_equal(r->link.sent[0].lane, PEN_LANE_CONTROL);
}

static void a_full_peer_is_asked_once_a_poll(void **state)
{
    rig *r = *state;
    r->link.full[1] = true;
    for (uint64_t tag = 0; tag < 20; tag++)
        assert_int_equal(reply(r, 1, tag), PEN_OK);
    r->link.posts = 0;
    (void)pen_progress_poll(&r->progress);
    assert_int_equal(r->link.posts, 1);
}

static void frames_to_a_lost_peer_are_dropped(void **state)
{
    rig *r = *state;
    r->link.full[1] = true;
    assert_int_equal(reply(r, 1, 1), PEN_OK);
    assert_int_equal(reply(r, 1, 2), PEN_OK);
    r->link.lost[1] = true;
    assert_int_equal(pen_progress_poll(&r->progress), 2);
    assert_int_equal(reply(r, 1, 3), PEN_ERR_PEER_LOST);
    assert_int_equal(r->link.sent_count, 0);
    (void)pen_progress_poll(&r->progress);
    assert_int_equal(r->link.lanes, PEN_LANES_ALL);
}

static void a_body_that_the_link_keeps_lives_until_it_is_done(void **state)
{
    rig *r = *state;
    assert_int_equal(fake_reply(r->port, &r->counters, 1, PEN_LANE_REPLY, 7, 200), PEN_OK);
    assert_int_equal(r->link.sent_count, 1);
    assert_int_equal(r->link.sent[0].body_last, 7);
    pen_op *op = r->link.pending;
    assert_non_null(op);
    (void)pen_progress_poll(&r->progress);
    assert_int_equal(r->link.lanes, PEN_LANES_ALL); /* it flies, it does not wait */
    pen_op_source_done(op);
    (void)pen_progress_poll(&r->progress);
    pen_op_done(op); /* the sanitizer would see if it had been freed */
    (void)pen_progress_poll(&r->progress);
    assert_int_equal(atomic_load(&r->port->backlog.count), 0);
}

static void a_queued_body_that_the_link_keeps_flies_later(void **state)
{
    rig *r = *state;
    r->link.full[1] = true;
    assert_int_equal(fake_reply(r->port, &r->counters, 1, PEN_LANE_REPLY, 9, 200), PEN_OK);
    assert_null(r->link.pending);
    r->link.full[1] = false;
    (void)pen_progress_poll(&r->progress);
    assert_int_equal(r->link.sent_count, 1);
    assert_int_equal(r->link.sent[0].body_last, 9);
    pen_op_source_done(r->link.pending);
    pen_op_done(r->link.pending);
    (void)pen_progress_poll(&r->progress);
    assert_int_equal(atomic_load(&r->port->backlog.count), 0);
}

static void closing_frees_what_is_queued_and_what_flies(void **state)
{
    rig *r = *state;
    assert_int_equal(fake_reply(r->port, &r->counters, 1, PEN_LANE_REPLY, 1, 200), PEN_OK);
    r->link.full[1] = true;
    assert_int_equal(reply(r, 1, 2), PEN_OK); /* the leak checker looks after the test */
}

enum { REPLIERS = 3, REPLIES = 120 };

typedef struct replier {
    rig *rig;
    pen_peer to;
} replier;

static void *reply_often(void *at)
{
    replier *mine = at;
    for (uint64_t tag = 0; tag < REPLIES; tag++) {
        pen_counters counters = { 0 };
        pen_lock_take(&mine->rig->port->post_lock); /* the script belongs to the link */
        mine->rig->link.full[mine->to] = tag % 3 == 0;
        pen_lock_drop(&mine->rig->port->post_lock);
        (void)fake_reply(mine->rig->port, &counters, mine->to, PEN_LANE_REPLY, tag, 8);
        (void)pen_progress_poll(&mine->rig->progress);
    }
    return NULL;
}

static void threads_keep_the_order_of_their_replies(void **state)
{
    (void)state;
    static const pen_progress_config defaults = { 50e-6, 1e-3, true };
    static rig r;
    pthread_t threads[REPLIERS];
    replier repliers[REPLIERS];
    uint64_t next[REPLIERS] = { 0 };
    fake_open(&r.link, 0);
    pen_progress_init(&r.progress, PEN_CONCURRENT, &defaults, NULL, &pen_machine_clock,
                      &r.counters);
    r.port = pen_progress_add(&r.progress, &r.link.base);
    for (unsigned i = 0; i < REPLIERS; i++) {
        repliers[i] = (replier){ &r, i };
        assert_int_equal(pthread_create(&threads[i], NULL, reply_often, &repliers[i]), 0);
    }
    for (unsigned i = 0; i < REPLIERS; i++)
        pthread_join(threads[i], NULL);
    memset(r.link.full, 0, sizeof r.link.full);
    (void)pen_progress_poll(&r.progress);
    assert_int_equal(r.link.sent_count, REPLIERS * REPLIES);
    for (unsigned i = 0; i < r.link.sent_count; i++) {
        assert_int_equal(r.link.sent[i].tag, next[r.link.sent[i].to]);
        next[r.link.sent[i].to]++;
    }
    pen_progress_close(&r.progress);
}

int main(void)
{
#define IN_RIG(test) cmocka_unit_test_setup_teardown(test, open_rig, close_rig)
    const struct CMUnitTest tests[] = {
        IN_RIG(a_reply_with_room_goes_at_once),
        IN_RIG(a_reply_without_room_is_copied_and_sent_by_a_later_poll),
        IN_RIG(requests_stay_away_while_a_reply_is_queued),
        IN_RIG(order_is_kept_to_each_peer_and_nobody_waits_for_another_s_room),
        IN_RIG(lanes_do_not_wait_for_each_other),
        IN_RIG(a_full_peer_is_asked_once_a_poll),
        IN_RIG(frames_to_a_lost_peer_are_dropped),
        IN_RIG(a_body_that_the_link_keeps_lives_until_it_is_done),
        IN_RIG(a_queued_body_that_the_link_keeps_flies_later),
        IN_RIG(closing_frees_what_is_queued_and_what_flies),
        cmocka_unit_test(threads_keep_the_order_of_their_replies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
