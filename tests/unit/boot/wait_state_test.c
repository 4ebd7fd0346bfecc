/* SPDX-License-Identifier: BSD-3-Clause */
/* wait_state_test.c: the wait state that a rank publishes is read as it was written, and
 * printed. */
#include "boot/wait_state.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define SECOND UINT64_C(1000000000)

static void what_is_published_is_read_until_it_is_withdrawn(void **state)
{
    (void)state;
    pen_wait_state shown;
    memset(&shown, 0, sizeof shown);
    pen_wait_note note, put = { PEN_CALL_EVENT_WAIT, PEN_AWAITED_PUT, 3, 0, 0, 5 * SECOND };
    assert_false(pen_wait_read(&shown, 6 * SECOND, &note));
    pen_wait_publish(&shown, &put, 6 * SECOND);
    assert_true(pen_wait_read(&shown, 999 * SECOND, &note)); /* it has not ended */
    assert_memory_equal(&note, &put, sizeof put);
    pen_wait_publish(&shown, NULL, 7 * SECOND);
    assert_false(pen_wait_read(&shown, 7 * SECOND, &note));
}

static void a_loop_of_polls_counts_while_it_is_refreshed(void **state)
{
    (void)state;
    pen_wait_state shown;
    memset(&shown, 0, sizeof shown);
    pen_wait_note note,
        loop = { PEN_CALL_POLL, PEN_AWAITED_UNKNOWN, PEN_WAIT_NOBODY, 0, 0, SECOND };
    pen_wait_publish(&shown, &loop, 6 * SECOND);
    assert_true(pen_wait_read(&shown, 6 * SECOND + PEN_WAIT_LOOP_NS, &note));
    assert_false(pen_wait_read(&shown, 6 * SECOND + PEN_WAIT_LOOP_NS + 1, &note));
}

static void a_record_that_is_being_written_is_not_believed(void **state)
{
    (void)state;
    pen_wait_state shown;
    memset(&shown, 0, sizeof shown);
    pen_wait_note note, put = { PEN_CALL_EVENT_WAIT, PEN_AWAITED_PUT, 3, 0, 0, SECOND };
    pen_wait_publish(&shown, &put, SECOND);
    atomic_store(&shown.sequence, atomic_load(&shown.sequence) + 1);
    assert_false(pen_wait_read(&shown, SECOND, &note));
}

static void waits_are_said_in_words(void **state)
{
    (void)state;
    static const struct {
        pen_wait_note note;
        const char *text;
    } rows[] = {
        { { PEN_CALL_EVENT_WAIT, PEN_AWAITED_PUT, 3, 0, 0, SECOND },
          "waits in gex_Event_Wait for 1.5 s, for a put to rank 3" },
        { { PEN_CALL_REQUEST, PEN_AWAITED_ROOM, 1, 0, 0, SECOND },
          "waits in gex_AM_Request for 1.5 s, for room for a message to rank 1" },
        { { PEN_CALL_BARRIER_WAIT, PEN_AWAITED_NAMED, PEN_WAIT_NOBODY, 7, 0, SECOND },
          "waits in gasnet_barrier_wait for 1.5 s, for barrier 7 of all ranks" },
        { { PEN_CALL_EVENT_WAIT, PEN_AWAITED_COLLECTIVE, 2, 4, 9, SECOND },
          "waits in gex_Event_Wait for 1.5 s, for collective 4 of team 9, and first for rank 2" },
        { { PEN_CALL_EVENT_WAIT, PEN_AWAITED_COLLECTIVE, PEN_WAIT_NOBODY, 4, 9, SECOND },
          "waits in gex_Event_Wait for 1.5 s, for collective 4 of team 9" },
        { { PEN_CALL_BLOCKUNTIL, PEN_AWAITED_UNKNOWN, PEN_WAIT_NOBODY, 0, 0, SECOND },
          "waits in GASNET_BLOCKUNTIL for 1.5 s" },
        { { PEN_CALL_POLL, PEN_AWAITED_UNKNOWN, PEN_WAIT_NOBODY, 0, 0, SECOND },
          "polls in a loop of gasnet_AMPoll for 1.5 s" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[256];
        pen_wait_text(&rows[i].note, SECOND * 5 / 2, text, sizeof text);
        assert_string_equal(text, rows[i].text);
    }
    assert_string_equal(pen_call_text((pen_call)9999), "a call"); /* a peer's memory is not this
                                                                   * rank's */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_published_is_read_until_it_is_withdrawn),
        cmocka_unit_test(a_loop_of_polls_counts_while_it_is_refreshed),
        cmocka_unit_test(a_record_that_is_being_written_is_not_believed),
        cmocka_unit_test(waits_are_said_in_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
