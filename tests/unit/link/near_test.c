/* SPDX-License-Identifier: BSD-3-Clause */
/* near_test.c: the links of a job on several hosts are chosen by what they can do; a link that
 * cannot serve beside the network's is closed. */
#include "link/near.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static pen_log silent_log(void)
{
    pen_log log;
    pen_log_init(&log, "test");
    log.fd = -1;
    return log;
}

static void the_far_conduit_reaches_other_hosts(void **state)
{
    (void)state;
    pen_log log = silent_log();
    pen_near_offers far;
    assert_int_equal(pen_near_list_far(&log, "smp", 4, 2, &far), PEN_ERR_UNUSABLE);
    assert_int_equal(pen_near_list_far(&log, "loop", 4, 2, &far), PEN_ERR_UNUSABLE);
    assert_int_equal(pen_near_list_far(&log, "nope", 4, 2, &far), PEN_ERR_UNUSABLE);
    assert_int_equal(log.line_count, 3);
    if (pen_conduit_find("udp") == NULL)
        return;
    assert_int_equal(pen_near_list_far(&log, "udp", 4, 2, &far), PEN_OK);
    assert_int_equal(far.count, 1);
    assert_true(far.is_named);
    assert_string_equal(far.conduits[0]->name, "udp");
    assert_int_equal(pen_near_list_far(&log, NULL, 4, 2, &far), PEN_OK);
    assert_false(far.is_named);
    for (size_t i = 0; i < far.count; i++) {
        assert_int_equal(pen_conduit_shared_len(far.conduits[i], 4), 0);
        assert_true(far.scores[i] > 0);
        assert_true(i == 0 || far.scores[i - 1] >= far.scores[i]);
    }
}

static void the_near_conduit_is_the_best_in_the_arena(void **state)
{
    (void)state;
    const char *why_not = NULL;
    const pen_conduit *near = pen_near_choose(4);
    assert_non_null(near);
    assert_int_not_equal(pen_conduit_shared_len(near, 4), 0);
    for (const pen_conduit *const *at = pen_builtin_conduits; *at != NULL; at++)
        if (pen_conduit_shared_len(*at, 4) != 0)
            assert_true((*at)->score(4, &why_not) <= near->score(4, &why_not));
}

/* ---- opening --------------------------------------------------------------------------------- */

static pen_link link_made;
static unsigned closes;
static pen_status open_status;

static void count_close(pen_link *link)
{
    assert_ptr_equal(link, &link_made);
    closes++;
}

static const pen_link_ops ops = { .close = count_close };

static pen_status open_link(const pen_link_params *params, pen_link **out)
{
    link_made.ops = &ops;
    link_made.host = params->host;
    *out = &link_made;
    return open_status;
}

static const pen_conduit conduit = { .abi = PEN_CONDUIT_ABI, .name = "test", .open = open_link };

static pen_peer heard_from;

static void hear(void *ctx, pen_peer from, pen_lane lane, const void *head, uint32_t head_len,
                 void *body, uint32_t body_len)
{
    (void)ctx, (void)lane, (void)head, (void)head_len, (void)body, (void)body_len;
    heard_from = from;
}

static pen_link *open_with(uint32_t flags, size_t inbox_len, pen_status status)
{
    static const pen_host host = { .deliver = hear };
    static pen_lender lender;
    static pen_host lent;
    pen_link_params params = { .self = 1, .peers = 2 };
    pen_link *out = &link_made;
    link_made = (pen_link){ .caps = { .flags = flags, .inbox_len = inbox_len } };
    open_status = status;
    closes = 0;
    assert_int_equal(pen_near_open(&conduit, &host, 40, &params, &lender, &lent, &out), status);
    return out;
}

static void a_link_that_cannot_serve_is_closed(void **state)
{
    (void)state;
    const uint32_t able = PEN_CAP_SAME_HOST | PEN_CAP_RELIABLE;
    assert_null(open_with(PEN_CAP_RELIABLE, 0, PEN_OK));
    assert_int_equal(closes, 1);
    assert_null(open_with(PEN_CAP_SAME_HOST, 0, PEN_OK));
    assert_int_equal(closes, 1);
    assert_null(open_with(able, 65536, PEN_OK)); /* no window goes around it */
    assert_int_equal(closes, 1);
    assert_null(open_with(able, 0, PEN_ERR_RESOURCE));
    assert_int_equal(closes, 0);
    assert_ptr_equal(open_with(able, 0, PEN_OK), &link_made);
    assert_int_equal(closes, 0);
    const pen_host *lent = link_made.host;
    lent->deliver(lent->ctx, 1, PEN_LANE_REPLY, NULL, 8, NULL, 0);
    assert_int_equal(heard_from, 41);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_far_conduit_reaches_other_hosts),
        cmocka_unit_test(the_near_conduit_is_the_best_in_the_arena),
        cmocka_unit_test(a_link_that_cannot_serve_is_closed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
