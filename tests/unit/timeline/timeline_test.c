/* SPDX-License-Identifier: BSD-3-Clause */
/* timeline_test.c: the reader of traces puts two hosts on one clock within the error that it
 * states, pairs messages that overtook each other, sums up a known job, and survives files that are
 * cut. */
#include "timeline/timeline.h"

#include "base/status.h"
#include "boot/wait_state.h"
#include "timeline/sum.h"
#include "trace/event.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { FILE_MAX = 1 << 16 };

/* A file in the making. */
typedef struct maker {
    char bytes[FILE_MAX];
    size_t len;
    uint64_t next[4]; /* by rank: the number of its next event */
} maker;
static maker file;

static void append(const void *bytes, size_t len)
{
    assert_true(file.len + len <= FILE_MAX);
    memcpy(file.bytes + file.len, bytes, len);
    file.len += len;
}

static void begin(uint32_t ranks, uint32_t hosts)
{
    pen_trace_head head = { .version = PEN_TRACE_VERSION,
                            .event_len = sizeof(pen_trace_event),
                            .ranks = ranks,
                            .hosts = hosts };
    memcpy(head.magic, PEN_TRACE_MAGIC, sizeof head.magic);
    file = (maker){ .len = 0 };
    append(&head, sizeof head);
}

static void put_host(uint32_t host_i, uint32_t first, uint32_t size, uint64_t ticks,
                     uint64_t mono_ns)
{
    const pen_trace_record record = { .kind = PEN_TRACE_RECORD_HOST,
                                      .len = sizeof(pen_trace_host),
                                      .which = host_i };
    pen_trace_host host = {
        .first = first, .size = size, .ticks = ticks, .mono_ns = mono_ns, .wall_ns = 1000000000
    };
    memcpy(host.name, "h<1>", 5);
    append(&record, sizeof record);
    append(&host, sizeof host);
}

static void put_event(uint32_t rank, pen_trace_event event)
{
    const pen_trace_record record = { .kind = PEN_TRACE_RECORD_EVENTS,
                                      .len = sizeof event,
                                      .which = rank,
                                      .count = 1,
                                      .first = file.next[rank]++ };
    append(&record, sizeof record);
    append(&event, sizeof event);
}

static void put_frame(uint32_t rank, pen_trace_kind kind, uint32_t peer, uint32_t number,
                      uint16_t handler, uint64_t at)
{
    pen_trace_event event = pen_trace_frame(kind, handler, peer, number, 8);
    event.at = at;
    put_event(rank, event);
}

static void parse(pen_timeline *out)
{
    const char *why = NULL;
    assert_int_equal(pen_timeline_parse(file.bytes, file.len, out, &why), PEN_OK);
}

/* Host 1's clock is 5 s ahead, and its ticks are twice as fast. */
static void clocks_of_two_hosts_are_aligned_within_the_stated_error(void **state)
{
    (void)state;
    pen_timeline t;
    begin(2, 2);
    put_host(0, 0, 1, 1000, 1000);
    put_host(0, 0, 1, 1001000, 1001000);
    put_host(1, 1, 1, 10000000000, 5000000000);
    put_host(1, 1, 1, 10002000000, 5001000000);
    /* By host 0's clock: sent at 10000, handled at 13000; sent back at 20000, handled at 22000.
     * Host 1's clock counts from its first reading, and shows 5 s - 5 s + 400 us more. */
    put_frame(0, PEN_TRACE_SENT, 1, 0, 200, 1000 + 10000);
    put_frame(1, PEN_TRACE_HANDLED, 0, 0, 200, 10000000000 + 2 * (413000));
    put_frame(1, PEN_TRACE_SENT, 0, 0, 200, 10000000000 + 2 * (420000));
    put_frame(0, PEN_TRACE_HANDLED, 1, 0, 200, 1000 + 22000);
    parse(&t);
    const pen_timeline_host *host = &t.hosts[1];
    assert_true(host->offset_error_ns > 0);
    assert_true(host->offset_error_ns <= 2500 + 1); /* (3000 + 2000) / 2 */
    assert_true(host->offset_ns - 400000 <= host->offset_error_ns);
    assert_true(400000 - host->offset_ns <= host->offset_error_ns);
    assert_string_equal(host->name, "h?1?");
    int64_t there = t.ranks[1].moments[0].at_ns - t.ranks[0].moments[0].at_ns;
    int64_t back = t.ranks[0].moments[1].at_ns - t.ranks[1].moments[1].at_ns;
    assert_in_range(there, 0, 5000);
    assert_in_range(back, 0, 5000);
    assert_in_range(there + back, 4998, 5002);
    pen_timeline_close(&t);
}

static void clocks_without_messages_have_no_known_error(void **state)
{
    (void)state;
    pen_timeline t;
    begin(2, 2);
    put_host(0, 0, 1, 0, 0);
    put_host(1, 1, 1, 0, 0);
    put_frame(0, PEN_TRACE_SENT, 1, 0, 200, 1000);
    put_frame(1, PEN_TRACE_HANDLED, 0, 0, 200, 2000);
    parse(&t);
    assert_true(t.hosts[1].offset_error_ns < 0);
    pen_timeline_close(&t);
}

typedef struct pairs {
    uint32_t sent[8], handled[8];
    size_t count;
} pairs;

static void note(void *ctx, const pen_letter *letter)
{
    pairs *p = ctx;
    p->sent[p->count] = letter->sent->number;
    p->handled[p->count++] = letter->handled->number;
}

static void messages_that_overtook_each_other_are_paired_by_what_they_are(void **state)
{
    (void)state;
    pen_timeline t;
    pairs found = { .count = 0 };
    begin(2, 1);
    put_host(0, 0, 2, 0, 0);
    for (uint32_t i = 0; i < 4; i++)
        put_frame(0, PEN_TRACE_SENT, 1, i, (uint16_t)(200 + i), 100 + i);
    const uint16_t order[] = { 201, 200, 202, 203 };
    for (uint32_t i = 0; i < 4; i++)
        put_frame(1, PEN_TRACE_HANDLED, 0, i, order[i], 200 + i);
    put_frame(1, PEN_TRACE_HANDLED, 0, 4, 250, 300); /* its SENT was dropped */
    parse(&t);
    assert_int_equal(pen_timeline_letters(&t, note, &found), PEN_OK);
    assert_int_equal(found.count, 4);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(200 + found.sent[i], order[found.handled[i]]);
    pen_timeline_close(&t);
}

static void put_enter(uint32_t rank, uint32_t number, uint64_t at)
{
    put_event(rank, (pen_trace_event){ .kind = PEN_TRACE_ENTER, .number = number, .at = at });
}

static void sums_name_the_late_rank_and_the_reason_of_waits(void **state)
{
    (void)state;
    pen_timeline t;
    pen_sum sum;
    begin(3, 1);
    put_host(0, 0, 3, 0, 0);
    for (uint32_t i = 0; i < 3; i++) {
        put_enter(0, i, 1000 * i);
        put_enter(1, i, 1000 * i + 100);
        put_enter(2, i, 1000 * i + 700);
    }
    put_event(0, (pen_trace_event){ .kind = PEN_TRACE_WAIT,
                                    .at = 0,
                                    .span = 700,
                                    .what = PEN_CALL_EVENT_WAIT,
                                    .detail = PEN_AWAITED_COLLECTIVE,
                                    .peer = 2 });
    put_event(1, (pen_trace_event){ .kind = PEN_TRACE_PUT, .at = 50, .peer = 0, .value = 4096 });
    parse(&t);
    assert_int_equal(pen_sum_make(&t, &sum), PEN_OK);
    assert_int_equal(sum.collectives, 3);
    assert_int_equal(sum.spread_rank, 2);
    assert_int_equal(sum.ranks[2].last, 3);
    assert_true(sum.ranks[2].late_ns > 1949 &&
                sum.ranks[2].late_ns < 1951); /* 3 * (700 + 600) / 2 */
    assert_true(sum.spread_most_ns > 699 && sum.spread_most_ns < 701);
    assert_true(sum.waits[PEN_CALL_EVENT_WAIT].total_ns > 699);
    assert_int_equal(sum.causes[PEN_AWAITED_COLLECTIVE].count, 1);
    assert_int_equal(sum.pair_count, 1);
    assert_int_equal(sum.pairs[0].len, 4096);
    pen_sum_close(&sum);
    pen_timeline_cut(&t, 1500, 2200);
    assert_int_equal(t.moments, 3); /* at 1700, 2000 and 2100 */
    pen_timeline_close(&t);
}

static void a_wait_is_for_the_sender_of_the_message_that_ended_it(void **state)
{
    (void)state;
    pen_timeline t;
    pen_sum sum;
    begin(3, 1);
    put_host(0, 0, 3, 0, 0);
    put_frame(0, PEN_TRACE_HANDLED, 1, 0, 200, 150); /* before the wait */
    put_frame(0, PEN_TRACE_HANDLED, 1, 1, 200, 250);
    put_frame(0, PEN_TRACE_HANDLED, 2, 0, 200, 700);
    put_frame(0, PEN_TRACE_HANDLED, 1, 2, 200, 900); /* after it */
    put_event(
        0, (pen_trace_event){ .kind = PEN_TRACE_WAIT, .at = 200, .span = 600, .peer = UINT32_MAX });
    put_event(1, (pen_trace_event){ .kind = PEN_TRACE_WAIT, .at = 200, .span = 100, .peer = 2 });
    parse(&t);
    assert_int_equal(pen_sum_make(&t, &sum), PEN_OK);
    assert_int_equal((int)sum.ranks[1].awaited_ns, 0);
    assert_int_equal((int)sum.ranks[2].awaited_ns, 700);
    pen_sum_close(&sum);
    pen_timeline_close(&t);
}

static void missing_numbers_are_dropped_events(void **state)
{
    (void)state;
    pen_timeline t;
    begin(1, 1);
    put_host(0, 0, 1, 0, 0);
    put_enter(0, 0, 1);
    file.next[0] = 41;
    put_enter(0, 1, 2);
    parse(&t);
    assert_int_equal(t.ranks[0].dropped, 40);
    pen_timeline_close(&t);
}

/* Every prefix of a file is read up to its last whole record. */
static void files_that_end_early_are_read_up_to_there(void **state)
{
    (void)state;
    pen_timeline t;
    const char *why;
    begin(1, 1);
    put_host(0, 0, 1, 0, 0);
    size_t before = file.len;
    put_enter(0, 0, 1);
    for (size_t len = 0; len <= file.len; len++) {
        pen_status status = pen_timeline_parse(file.bytes, len, &t, &why);
        assert_int_equal(status, len < sizeof(pen_trace_head) ? PEN_ERR_PROTOCOL : PEN_OK);
        if (status != PEN_OK)
            continue;
        assert_int_equal(t.moments, len == file.len);
        assert_int_equal(t.cut, len != file.len && len != before && len != sizeof(pen_trace_head));
        pen_timeline_close(&t);
    }
}

static void events_that_make_no_sense_are_left_out(void **state)
{
    (void)state;
    pen_timeline t;
    begin(1, 1);
    put_host(0, 0, 1, 0, 0);
    put_event(0, (pen_trace_event){ .kind = PEN_TRACE_KINDS });
    put_event(0, (pen_trace_event){ .kind = PEN_TRACE_PUT, .peer = 1 });
    put_event(0, (pen_trace_event){ .kind = PEN_TRACE_PUT, .peer = UINT32_MAX });
    parse(&t);
    assert_int_equal(t.bad, 2);
    assert_int_equal(t.moments, 1);
    pen_timeline_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clocks_of_two_hosts_are_aligned_within_the_stated_error),
        cmocka_unit_test(clocks_without_messages_have_no_known_error),
        cmocka_unit_test(messages_that_overtook_each_other_are_paired_by_what_they_are),
        cmocka_unit_test(sums_name_the_late_rank_and_the_reason_of_waits),
        cmocka_unit_test(a_wait_is_for_the_sender_of_the_message_that_ended_it),
        cmocka_unit_test(missing_numbers_are_dropped_events),
        cmocka_unit_test(files_that_end_early_are_read_up_to_there),
        cmocka_unit_test(events_that_make_no_sense_are_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
