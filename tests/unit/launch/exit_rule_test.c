/* SPDX-License-Identifier: BSD-3-Clause */
/* exit_rule_test.c: the exit rule as a table: what happens, in which order, and what the job's
 * status is then. */
#include "launch/exit_rule.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { SIZE = 4, EVENTS_MAX = 14 };
#define MS               UINT64_C(1000000)
#define EXIT_TIMEOUT     (1000 * MS)
#define LEAVE_LIMIT      (60000 * MS)
#define ALL              SIZE       /* as a rank: the event happens to each */
#define BATCH            (SIZE + 1) /* as a rank of JOINED: what follows arrives together */
#define EVENT(kind, ...) { PEN_EXIT_##kind, __VA_ARGS__ }

typedef struct fault {
    const char *name;
    int status, raise;
    pen_exit_kind cause;               /* JOINED: no fault, the job ends well */
    uint32_t rank;                     /* that is named */
    pen_exit_event events[EVENTS_MAX]; /* ended by a row of zeros */
} fault;

#define JOINED_ALL EVENT(JOINED, ALL, 1)
#define TOGETHER   EVENT(JOINED, BATCH, 1)

static const fault faults[] = {
    { "all leave with 0 and end",
      0,
      0,
      PEN_EXIT_JOINED,
      0,
      { JOINED_ALL, EVENT(LEFT, ALL, 0), EVENT(ENDED, ALL, 0) } },
    { "programs that never join end with 0", 0, 0, PEN_EXIT_JOINED, 0, { EVENT(ENDED, ALL, 0) } },
    { "killed by SIGKILL", 137, 0, PEN_EXIT_DIED, 2, { JOINED_ALL, EVENT(DIED, 2, SIGKILL) } },
    { "killed by SIGSEGV", 139, 0, PEN_EXIT_DIED, 0, { JOINED_ALL, EVENT(DIED, 0, SIGSEGV) } },
    { "killed by SIGABRT", 134, 0, PEN_EXIT_DIED, 3, { JOINED_ALL, EVENT(DIED, 3, SIGABRT) } },
    { "killed before it joined", 137, 0, PEN_EXIT_DIED, 1, { EVENT(DIED, 1, SIGKILL) } },
    { "killed when others have left",
      137,
      0,
      PEN_EXIT_DIED,
      1,
      { JOINED_ALL, EVENT(LEFT, 0, 0), EVENT(LEFT, 2, 0), EVENT(DIED, 1, SIGKILL) } },
    { "killed after it has left with 0",
      139,
      0,
      PEN_EXIT_DIED,
      1,
      { JOINED_ALL, EVENT(LEFT, ALL, 0), EVENT(ENDED, 0, 0), EVENT(DIED, 1, SIGSEGV) } },
    { "killed, then others exit with errors",
      137,
      0,
      PEN_EXIT_DIED,
      1,
      { JOINED_ALL, EVENT(DIED, 1, SIGKILL), EVENT(LEFT, 0, 1), EVENT(CALLED, 2, 4) } },
    { "others exit with errors in the round of the death",
      137,
      0,
      PEN_EXIT_DIED,
      1,
      { JOINED_ALL, TOGETHER, EVENT(CALLED, 2, 4), EVENT(LEFT, 0, 1), EVENT(DIED, 1, SIGKILL) } },
    { "others die of errors in the round of the signal",
      137,
      0,
      PEN_EXIT_DIED,
      3,
      { JOINED_ALL, TOGETHER, EVENT(ENDED, 0, 1), EVENT(DIED, 3, SIGKILL) } },
    { "its own word stands before its death",
      3,
      0,
      PEN_EXIT_CALLED,
      1,
      { JOINED_ALL, TOGETHER, EVENT(DIED, 1, SIGSEGV), EVENT(CALLED, 1, 3) } },
    { "all resign and end with 0",
      0,
      0,
      PEN_EXIT_JOINED,
      0,
      { JOINED_ALL, EVENT(RESIGNED, ALL, 0), EVENT(ENDED, ALL, 0) } },
    { "one ends before the others are heard to resign",
      0,
      0,
      PEN_EXIT_JOINED,
      0,
      { JOINED_ALL, EVENT(RESIGNED, 1, 0), EVENT(ENDED, 1, 0), EVENT(RESIGNED, ALL, 0),
        EVENT(ENDED, ALL, 0) } },
    { "one has resigned and ended before another is heard to join",
      0,
      0,
      PEN_EXIT_JOINED,
      0,
      { EVENT(JOINED, 1, 1), EVENT(RESIGNED, 1, 0), EVENT(ENDED, 1, 0), JOINED_ALL,
        EVENT(RESIGNED, ALL, 0), EVENT(ENDED, ALL, 0) } },
    { "all resign, join again, and leave",
      0,
      0,
      PEN_EXIT_JOINED,
      0,
      { JOINED_ALL, EVENT(RESIGNED, ALL, 0), JOINED_ALL, EVENT(LEFT, ALL, 0),
        EVENT(ENDED, ALL, 0) } },
    { "one ends with 3 after all resigned",
      3,
      0,
      PEN_EXIT_LEFT,
      2,
      { JOINED_ALL, EVENT(RESIGNED, ALL, 0), EVENT(ENDED, 0, 0), EVENT(ENDED, 2, 3) } },
    { "killed after all resigned",
      137,
      0,
      PEN_EXIT_DIED,
      1,
      { JOINED_ALL, EVENT(RESIGNED, ALL, 0), EVENT(ENDED, 0, 0), EVENT(DIED, 1, SIGKILL) } },
    { "one ends with 0 when others have joined again",
      1,
      0,
      PEN_EXIT_ENDED,
      2,
      { JOINED_ALL, EVENT(RESIGNED, ALL, 0), EVENT(JOINED, 0, 1), EVENT(ENDED, 2, 0) } },
    { "others join again when one has ended with 0",
      1,
      0,
      PEN_EXIT_ENDED,
      2,
      { JOINED_ALL, EVENT(RESIGNED, ALL, 0), EVENT(ENDED, 2, 0), EVENT(JOINED, 0, 1) } },
    { "_exit(0) in the second time owes a handshake, too",
      1,
      0,
      PEN_EXIT_ENDED,
      3,
      { JOINED_ALL, EVENT(RESIGNED, ALL, 0), JOINED_ALL, EVENT(ENDED, 3, 0) } },
    { "_exit(9)", 9, 0, PEN_EXIT_ENDED, 1, { JOINED_ALL, EVENT(ENDED, 1, 9) } },
    { "_exit(0) counts as 1", 1, 0, PEN_EXIT_ENDED, 1, { JOINED_ALL, EVENT(ENDED, 1, 0) } },
    { "_exit(0) in the round of joining",
      1,
      0,
      PEN_EXIT_ENDED,
      1,
      { TOGETHER, EVENT(ENDED, 1, 0), EVENT(JOINED, 1, 1) } },
    { "ended without joining, then others join",
      1,
      0,
      PEN_EXIT_ENDED,
      2,
      { EVENT(ENDED, 2, 0), EVENT(JOINED, 0, 1) } },
    { "ended with 0 without joining after others joined",
      1,
      0,
      PEN_EXIT_ENDED,
      2,
      { EVENT(JOINED, 0, 1), EVENT(ENDED, 2, 0) } },
    { "a program that never joins ends with 6",
      6,
      0,
      PEN_EXIT_ENDED,
      2,
      { EVENT(ENDED, 0, 0), EVENT(ENDED, 2, 6) } },
    { "exit(7)", 7, 0, PEN_EXIT_LEFT, 2, { JOINED_ALL, EVENT(LEFT, 2, 7) } },
    { "exit(7) when others have left",
      7,
      0,
      PEN_EXIT_LEFT,
      2,
      { JOINED_ALL, EVENT(LEFT, 0, 0), EVENT(LEFT, 2, 7) } },
    { "rank 0 exits with 3, others with 5",
      3,
      0,
      PEN_EXIT_LEFT,
      0,
      { JOINED_ALL, EVENT(LEFT, 0, 3), EVENT(LEFT, 1, 5), EVENT(LEFT, 2, 5) } },
    { "waits for one that has left with 0",
      1,
      0,
      PEN_EXIT_BLOCKED,
      0,
      { JOINED_ALL, EVENT(LEFT, 2, 0), EVENT(BLOCKED, 0, 2) } },
    { "waits for one that has left with 0, heard in one round",
      1,
      0,
      PEN_EXIT_BLOCKED,
      0,
      { JOINED_ALL, TOGETHER, EVENT(BLOCKED, 0, 2), EVENT(LEFT, 2, 0) } },
    { "says to wait for one that has not left",
      0,
      0,
      PEN_EXIT_JOINED,
      0,
      { JOINED_ALL, EVENT(BLOCKED, 0, 2), EVENT(LEFT, ALL, 0), EVENT(ENDED, ALL, 0) } },
    { "says to wait for a rank that does not exist",
      0,
      0,
      PEN_EXIT_JOINED,
      0,
      { JOINED_ALL, EVENT(LEFT, 2, 0), EVENT(BLOCKED, 0, SIZE), EVENT(BLOCKED, 0, -1) } },
    { "waits for one that has left, and then exits with 3",
      1,
      0,
      PEN_EXIT_BLOCKED,
      0,
      { JOINED_ALL, EVENT(LEFT, 2, 0), EVENT(BLOCKED, 0, 2), EVENT(LEFT, 0, 3) } },
    { "a death in the round in which another waits in vain",
      139,
      0,
      PEN_EXIT_DIED,
      1,
      { JOINED_ALL, EVENT(LEFT, 2, 0), TOGETHER, EVENT(BLOCKED, 0, 2), EVENT(DIED, 1, SIGSEGV) } },
    { "another status than announced",
      4,
      0,
      PEN_EXIT_ENDED,
      1,
      { JOINED_ALL, EVENT(LEFT, ALL, 0), EVENT(ENDED, 1, 4) } },
    { "gasnet_exit(5)", 5, 0, PEN_EXIT_CALLED, 1, { JOINED_ALL, EVENT(CALLED, 1, 5) } },
    { "gasnet_exit(5), then a death",
      5,
      0,
      PEN_EXIT_CALLED,
      1,
      { JOINED_ALL, EVENT(CALLED, 1, 5), EVENT(DIED, 2, SIGKILL) } },
    { "gasnet_exit(0)", 0, 0, PEN_EXIT_CALLED, 1, { JOINED_ALL, EVENT(CALLED, 1, 0) } },
    { "gasnet_exit(0), of which those who are told die",
      0,
      0,
      PEN_EXIT_CALLED,
      1,
      { JOINED_ALL, EVENT(CALLED, 1, 0), EVENT(DIED, 2, SIGQUIT), EVENT(ENDED, 3, 9) } },
    { "gasnet_exit(0), then exit(3) elsewhere",
      0,
      0,
      PEN_EXIT_CALLED,
      1,
      { JOINED_ALL, EVENT(CALLED, 1, 0), EVENT(LEFT, 2, 3) } },
    { "dies after its gasnet_exit(0)",
      139,
      0,
      PEN_EXIT_DIED,
      1,
      { JOINED_ALL, EVENT(CALLED, 1, 0), EVENT(DIED, 1, SIGSEGV) } },
    { "gasnet_exit(256)", 1, 0, PEN_EXIT_CALLED, 1, { JOINED_ALL, EVENT(CALLED, 1, 256) } },
    { "gasnet_exit(-1)", 255, 0, PEN_EXIT_CALLED, 1, { JOINED_ALL, EVENT(CALLED, 1, -1) } },
    { "Ctrl-C", 130, SIGINT, PEN_EXIT_SIGNALLED, 0, { JOINED_ALL, EVENT(SIGNALLED, 0, SIGINT) } },
    { "SIGTERM", 143, SIGTERM, PEN_EXIT_SIGNALLED, 0, { EVENT(SIGNALLED, 0, SIGTERM) } },
    { "Ctrl-C in the round of the deaths it causes",
      130,
      SIGINT,
      PEN_EXIT_SIGNALLED,
      0,
      { JOINED_ALL, TOGETHER, EVENT(DIED, 0, SIGINT), EVENT(SIGNALLED, 0, SIGINT) } },
    { "time limit", 124, 0, PEN_EXIT_TIME_LIMIT, 0, { JOINED_ALL, EVENT(TIME_LIMIT, 0, 0) } },
    { "program not found", 127, 0, PEN_EXIT_NOT_STARTED, 0, { EVENT(NOT_STARTED, 0, ENOENT) } },
    { "program not executable",
      126,
      0,
      PEN_EXIT_NOT_STARTED,
      0,
      { EVENT(NOT_STARTED, 0, EACCES) } },
    { "nobody reads the output",
      141,
      SIGPIPE,
      PEN_EXIT_OUTPUT,
      0,
      { JOINED_ALL, EVENT(OUTPUT, 0, EPIPE) } },
    { "the disk is full", 1, 0, PEN_EXIT_OUTPUT, 0, { JOINED_ALL, EVENT(OUTPUT, 0, ENOSPC) } },
    { "cannot start ranks", 1, 0, PEN_EXIT_LAUNCH_FAILED, 0, { EVENT(LAUNCH_FAILED, 0, 0) } },
};

typedef struct rig {
    pen_exit_rule rule;
    pen_exit_rank ranks[SIZE];
    pen_exit_event batch[EVENTS_MAX * SIZE];
    size_t batch_count;
    bool batching;
    uint64_t now_ns;
    unsigned todo; /* everything that was to be done so far */
} rig;

static rig rig_open(void) { return (rig){ .now_ns = 5000 * MS }; }

static unsigned deliver(rig *r, pen_exit_event *events, size_t count)
{
    unsigned todo = pen_exit_rule_events(&r->rule, events, count, r->now_ns);
    for (uint32_t rank = 0; (todo & PEN_EXIT_DO_TELL) != 0 && rank < SIZE; rank++) {
        if (!r->ranks[rank].gone && pen_exit_rule_tell(&r->rule, rank) != 0)
            r->ranks[rank].told = true; /* as the supervisor does */
    }
    r->todo |= todo;
    r->now_ns += 10 * MS;
    return todo;
}

static void happen(rig *r, pen_exit_event event)
{
    uint32_t first = event.rank == ALL ? 0 : event.rank,
             last = event.rank == ALL ? SIZE - 1 : first;
    for (event.rank = first; event.rank <= last; event.rank++) {
        if (r->batching)
            r->batch[r->batch_count++] = event;
        else
            deliver(r, &event, 1);
    }
}

/* Rows of our own that tell of joining carry a code, which the rule does not look at. */
static bool is_end(const pen_exit_event *event)
{
    return event->kind == PEN_EXIT_JOINED && event->rank == 0 && event->code == 0;
}

static void each_fault_has_its_status_and_its_cause(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
        const fault *f = &faults[i];
        rig r = rig_open();
        pen_exit_rule_init(&r.rule, r.ranks, SIZE, EXIT_TIMEOUT, LEAVE_LIMIT);
        for (const pen_exit_event *event = f->events; !is_end(event); event++) {
            if (event->kind == PEN_EXIT_JOINED && event->rank == BATCH)
                r.batching = true;
            else
                happen(&r, *event);
        }
        if (r.batching)
            deliver(&r, r.batch, r.batch_count);
        if (pen_exit_rule_status(&r.rule) != f->status || r.rule.verdict.raise != f->raise ||
            r.rule.verdict.decided != (f->cause != PEN_EXIT_JOINED) ||
            (r.rule.verdict.decided &&
             (r.rule.verdict.cause.kind != f->cause || r.rule.verdict.cause.rank != f->rank)))
            fail_msg("%s: status %d, raise %d, decided %d by kind %d of rank %u", f->name,
                     pen_exit_rule_status(&r.rule), r.rule.verdict.raise, r.rule.verdict.decided,
                     (int)r.rule.verdict.cause.kind, r.rule.verdict.cause.rank);
    }
}

/* ---- what is done, and when ------------------------------------------------------------------ */

static void open_joined(rig *r)
{
    *r = rig_open();
    pen_exit_rule_init(&r->rule, r->ranks, SIZE, EXIT_TIMEOUT, LEAVE_LIMIT);
    happen(r, (pen_exit_event)EVENT(JOINED, ALL, 1));
}

static void all_are_let_go_when_all_have_left(void **state)
{
    (void)state;
    rig r;
    open_joined(&r);
    for (uint32_t rank = 0; rank + 1 < SIZE; rank++)
        happen(&r, (pen_exit_event)EVENT(LEFT, rank, 0));
    happen(&r, (pen_exit_event)EVENT(LEFT, 0, 0)); /* twice is once */
    assert_int_equal(r.todo, 0);
    happen(&r, (pen_exit_event)EVENT(LEFT, SIZE - 1, 0));
    assert_int_equal(r.todo, PEN_EXIT_DO_GO);
    assert_int_equal(r.rule.deadline_ns, 0);
}

static void two_seconds_after_the_first_has_left_it_is_said_once_who_has_not(void **state)
{
    (void)state;
    rig r;
    open_joined(&r);
    uint64_t left_ns = r.now_ns;
    happen(&r, (pen_exit_event)EVENT(LEFT, 2, 0));
    happen(&r, (pen_exit_event)EVENT(LEFT, 3, 0));
    assert_int_equal(pen_exit_rule_next(&r.rule), left_ns + 2000 * MS);
    assert_int_equal(pen_exit_rule_tick(&r.rule, left_ns + 2000 * MS - 1, false), 0);
    assert_int_equal(pen_exit_rule_tick(&r.rule, left_ns + 2000 * MS, false), PEN_EXIT_DO_NOTICE);
    assert_int_equal(pen_exit_rule_tick(&r.rule, left_ns + 9000 * MS, false), 0);
    assert_int_equal(pen_exit_rule_next(&r.rule), left_ns + LEAVE_LIMIT);
}

static void those_who_stay_beyond_the_leave_limit_fail_the_job(void **state)
{
    (void)state;
    rig r;
    open_joined(&r);
    uint64_t left_ns = r.now_ns;
    happen(&r, (pen_exit_event)EVENT(LEFT, 2, 0));
    (void)pen_exit_rule_tick(&r.rule, left_ns + 2000 * MS, false);
    assert_int_equal(pen_exit_rule_tick(&r.rule, left_ns + LEAVE_LIMIT - 1, false), 0);
    unsigned todo = pen_exit_rule_tick(&r.rule, left_ns + LEAVE_LIMIT, false);
    assert_int_equal(todo, PEN_EXIT_DO_EXPLAIN | PEN_EXIT_DO_TELL);
    assert_int_equal(pen_exit_rule_tell(&r.rule, 1), SIGQUIT);
    assert_int_equal(pen_exit_rule_tell(&r.rule, 2), 0);
    assert_int_equal(pen_exit_rule_status(&r.rule), 1);
    assert_int_equal(r.rule.verdict.cause.kind, PEN_EXIT_LEAVE_LIMIT);
    assert_int_equal(r.rule.verdict.cause.rank, 2);
    /* Their output must be delivered, so they get the time for an orderly end. */
    assert_int_equal(r.rule.deadline_ns, left_ns + LEAVE_LIMIT + EXIT_TIMEOUT);
}

static void without_a_leave_limit_the_others_are_waited_for(void **state)
{
    (void)state;
    rig r = rig_open();
    pen_exit_rule_init(&r.rule, r.ranks, SIZE, EXIT_TIMEOUT, 0);
    happen(&r, (pen_exit_event)EVENT(JOINED, ALL, 1));
    uint64_t left_ns = r.now_ns;
    happen(&r, (pen_exit_event)EVENT(LEFT, 2, 0));
    assert_int_equal(pen_exit_rule_tick(&r.rule, left_ns + 2000 * MS, false), PEN_EXIT_DO_NOTICE);
    assert_int_equal(pen_exit_rule_next(&r.rule), 0);
    assert_int_equal(pen_exit_rule_tick(&r.rule, left_ns + 1000000 * MS, false), 0);
}

static void stopped_ranks_and_slow_readers_restart_the_leave_limit(void **state)
{
    (void)state;
    rig r;
    open_joined(&r);
    happen(&r, (pen_exit_event)EVENT(LEFT, 2, 0));
    uint64_t late_ns = r.now_ns + 2 * LEAVE_LIMIT;
    assert_int_equal(pen_exit_rule_tick(&r.rule, late_ns, true), PEN_EXIT_DO_NOTICE);
    assert_int_equal(r.rule.deadline_ns, late_ns + LEAVE_LIMIT);
    pen_exit_rule_postpone(&r.rule, 5 * MS);
    assert_int_equal(r.rule.deadline_ns, late_ns + LEAVE_LIMIT + 5 * MS);
    assert_int_equal(pen_exit_rule_tick(&r.rule, late_ns + LEAVE_LIMIT + 5 * MS, false),
                     PEN_EXIT_DO_EXPLAIN | PEN_EXIT_DO_TELL);
}

static void nothing_excuses_a_rank_after_a_crash(void **state)
{
    (void)state;
    rig r;
    open_joined(&r);
    happen(&r, (pen_exit_event)EVENT(DIED, 0, SIGKILL));
    assert_int_equal(r.todo, PEN_EXIT_DO_EXPLAIN | PEN_EXIT_DO_TELL);
    assert_true(r.rule.deadline_ns <= r.now_ns + 500 * MS); /* all is gone within a second */
    assert_int_equal(pen_exit_rule_tick(&r.rule, r.rule.deadline_ns, true), PEN_EXIT_DO_KILL);
    assert_int_equal(pen_exit_rule_tick(&r.rule, r.now_ns + 99 * EXIT_TIMEOUT, false), 0);
}

static void verdict_is_explained_once(void **state)
{
    (void)state;
    rig r;
    open_joined(&r);
    happen(&r, (pen_exit_event)EVENT(LEFT, 1, 7));
    r.todo = 0;
    happen(&r, (pen_exit_event)EVENT(LEFT, 2, 8));
    happen(&r, (pen_exit_event)EVENT(DIED, 3, SIGSEGV));
    assert_int_equal(r.todo, 0);
}

static void second_signal_kills_at_once_unless_it_follows_on_the_heels_of_the_first(void **state)
{
    (void)state;
    rig r;
    open_joined(&r);
    happen(&r, (pen_exit_event)EVENT(SIGNALLED, 0, SIGINT));
    r.todo = 0;
    happen(&r, (pen_exit_event)EVENT(SIGNALLED, 0, SIGINT)); /* 10 ms later */
    assert_int_equal(r.todo, 0);
    r.now_ns += 500 * MS;
    happen(&r, (pen_exit_event)EVENT(SIGNALLED, 0, SIGTERM));
    assert_int_equal(r.todo, PEN_EXIT_DO_KILL);
    assert_int_equal(r.rule.verdict.raise, SIGINT);
}

static void time_limit_while_ending_kills(void **state)
{
    (void)state;
    rig r;
    open_joined(&r);
    happen(&r, (pen_exit_event)EVENT(CALLED, 1, 5));
    r.todo = 0;
    happen(&r, (pen_exit_event)EVENT(TIME_LIMIT, 0, 0));
    assert_int_equal(r.todo, PEN_EXIT_DO_KILL);
    assert_int_equal(pen_exit_rule_status(&r.rule), 5);
}

static void ranks_are_told_in_the_way_they_understand(void **state)
{
    (void)state;
    rig r = rig_open();
    pen_exit_rule_init(&r.rule, r.ranks, SIZE, EXIT_TIMEOUT, LEAVE_LIMIT);
    happen(&r, (pen_exit_event)EVENT(JOINED, 1, 1));
    happen(&r, (pen_exit_event)EVENT(CALLED, 1, 0));
    happen(&r, (pen_exit_event)EVENT(JOINED, 2, 1));
    assert_int_equal(pen_exit_rule_tell(&r.rule, 0), SIGTERM); /* no handler: no core file */
    assert_int_equal(pen_exit_rule_tell(&r.rule, 1), 0);       /* on its way */
    assert_int_equal(pen_exit_rule_tell(&r.rule, 2), SIGQUIT);
    rig other;
    open_joined(&other);
    happen(&other, (pen_exit_event)EVENT(SIGNALLED, 0, SIGHUP));
    assert_int_equal(pen_exit_rule_tell(&other.rule, 2), SIGHUP);
}

static void job_is_over_when_each_rank_has_ended(void **state)
{
    (void)state;
    rig r;
    open_joined(&r);
    happen(&r, (pen_exit_event)EVENT(DIED, 0, SIGKILL));
    happen(&r, (pen_exit_event)EVENT(DIED, 0, SIGKILL)); /* the same one */
    for (uint32_t rank = 1; rank < SIZE; rank++) {
        assert_false(pen_exit_rule_over(&r.rule));
        happen(&r, (pen_exit_event)EVENT(ENDED, rank, 0));
    }
    assert_true(pen_exit_rule_over(&r.rule));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_fault_has_its_status_and_its_cause),
        cmocka_unit_test(all_are_let_go_when_all_have_left),
        cmocka_unit_test(two_seconds_after_the_first_has_left_it_is_said_once_who_has_not),
        cmocka_unit_test(those_who_stay_beyond_the_leave_limit_fail_the_job),
        cmocka_unit_test(without_a_leave_limit_the_others_are_waited_for),
        cmocka_unit_test(stopped_ranks_and_slow_readers_restart_the_leave_limit),
        cmocka_unit_test(nothing_excuses_a_rank_after_a_crash),
        cmocka_unit_test(verdict_is_explained_once),
        cmocka_unit_test(second_signal_kills_at_once_unless_it_follows_on_the_heels_of_the_first),
        cmocka_unit_test(time_limit_while_ending_kills),
        cmocka_unit_test(ranks_are_told_in_the_way_they_understand),
        cmocka_unit_test(job_is_over_when_each_rank_has_ended),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
