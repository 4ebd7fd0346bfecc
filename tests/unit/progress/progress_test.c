/* SPDX-License-Identifier: BSD-3-Clause */
/* progress_test.c: polling one port and several, sources, locks, and the launcher's report. */
#include "fake_link.h"

#include "os/os.h"
#include "progress/progress.h"

#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
#    include "counts/steps.h"
#endif

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

static const pen_progress_config defaults = { 50e-6, 1e-3, true };

static void every_port_is_polled_once(void **state)
{
    (void)state;
    static pen_progress progress;
    static fake_link one, two;
    pen_counters counters = { 0 };
    fake_open(&one, 0);
    fake_open(&two, 0);
    pen_progress_init(&progress, PEN_ALONE, &defaults, NULL, &pen_machine_clock, &counters);
    assert_int_equal(pen_progress_poll(&progress), 0); /* no ports yet */
    pen_progress_add(&progress, &one.base);
    one.events = 3;
    assert_int_equal(pen_progress_poll(&progress), 3);
    assert_int_equal(one.lanes, PEN_LANES_ALL);
    pen_progress_add(&progress, &two.base);
    one.events = 1;
    two.events = 2;
    assert_int_equal(pen_progress_poll(&progress), 3);
    assert_int_equal(one.polls, 2);
    assert_int_equal(two.polls, 1);
    pen_progress_close(&progress);
}

static unsigned source_events(void *ctx) { return *(unsigned *)ctx; }

static void a_source_is_polled_while_it_has_work(void **state)
{
    (void)state;
    static pen_progress progress;
    static fake_link link;
    pen_counters counters = { 0 };
    unsigned events = 5;
    fake_open(&link, 0);
    pen_progress_init(&progress, PEN_ALONE, &defaults, NULL, &pen_machine_clock, &counters);
    pen_progress_add(&progress, &link.base);
    pen_progress_add_source(&progress, source_events, &events);
    assert_int_equal(pen_progress_poll(&progress), 0);
    atomic_store(&progress.source_work, 1);
    link.events = 1;
    assert_int_equal(pen_progress_poll(&progress), 6);
    pen_progress_close(&progress);
}

static void threads_are_counted_for_the_host(void **state)
{
    (void)state;
    static pen_progress progress;
    pen_counters counters = { 0 };
    _Atomic uint32_t sleeping = 0, wake = 0, polling = 7;
    pen_sleeper sleeper = { &sleeping, &wake, &polling, NULL, 2, NULL };
    pen_progress_init(&progress, PEN_CONCURRENT, &defaults, &sleeper, &pen_machine_clock,
                      &counters);
    assert_int_equal(atomic_load(&polling), 8);
    pen_progress_enter_thread(&progress);
    assert_int_equal(atomic_load(&polling), 9);
    pen_progress_leave_thread(&progress);
    pen_progress_close(&progress);
    assert_int_equal(atomic_load(&polling), 7);
}

static void events_are_reported_now_and_then(void **state)
{
    (void)state;
    static pen_progress progress;
    static fake_link link;
    pen_counters counters = { 0 };
    _Atomic uint32_t sleeping = 0, wake = 0, polling = 0;
    _Atomic uint64_t report = 0;
    pen_sleeper sleeper = { &sleeping, &wake, &polling, &report, 2, NULL };
    fake_open(&link, 0);
    pen_progress_init(&progress, PEN_ALONE, &defaults, &sleeper, &pen_machine_clock, &counters);
    pen_progress_add(&progress, &link.base);
    for (unsigned i = 0; i < 1000; i++) {
        link.events = 1;
        assert_int_equal(pen_progress_poll(&progress), 1);
    }
    assert_true(atomic_load(&report) >= 1000 - 256);
    pen_progress_publish(&progress);
    assert_int_equal(atomic_load(&report), 1000);
    pen_progress_close(&progress);
}

static void poll_again(fake_link *link) { (void)pen_progress_poll(link->ctx); }

static void polling_from_a_handler_is_caught_in_checked_builds(void **state)
{
    (void)state;
    if (!PEN_CHECKED)
        skip();
    pid_t pid = fork();
    if (pid == 0) {
        static pen_progress progress;
        static fake_link link;
        pen_counters counters = { 0 };
        signal(SIGABRT, SIG_DFL);
        close(STDERR_FILENO);
        fake_open(&link, 0);
        pen_progress_init(&progress, PEN_ALONE, &defaults, NULL, &pen_machine_clock, &counters);
        pen_progress_add(&progress, &link.base);
        link.in_poll = poll_again;
        link.ctx = &progress;
        (void)pen_progress_poll(&progress);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

static bool could_poll;

static void may_it_poll(fake_link *link)
{
    could_poll = pen_progress_may_poll((const pen_progress *)link->ctx);
}

static void within_a_poll_its_only_thread_may_not_poll(void **state)
{
    (void)state;
    static fake_link links[2];
    static pen_progress progress;
    pen_counters counters = { 0 };
    pen_progress_init(&progress, PEN_ALONE, &defaults, NULL, &pen_machine_clock, &counters);
    for (unsigned i = 0; i < 2; i++) { /* the short way through a poll, and the long one */
        fake_open(&links[i], i);
        pen_progress_add(&progress, &links[i].base);
        links[i].in_poll = may_it_poll;
        links[i].ctx = &progress;
        could_poll = true;
        assert_true(pen_progress_may_poll(&progress));
        (void)pen_progress_poll(&progress);
        assert_false(could_poll);
        assert_true(pen_progress_may_poll(&progress));
    }
    pen_progress_close(&progress);
}

enum { POLLERS = 3, POLLS = 3000 };

static _Atomic int inside, inside_max;

static void count_inside(fake_link *link)
{
    (void)link;
    int now = atomic_fetch_add(&inside, 1) + 1;
    if (now > atomic_load(&inside_max))
        atomic_store(&inside_max, now);
    sched_yield(); /* the other threads have every chance to come in */
    atomic_fetch_sub(&inside, 1);
}

static void *poll_often(void *progress)
{
    for (int i = 0; i < POLLS; i++)
        (void)pen_progress_poll(progress);
    return NULL;
}

static void one_thread_at_a_time_polls_a_link(void **state)
{
    (void)state;
    static pen_progress progress;
    static fake_link link;
    pen_counters counters = { 0 };
    pthread_t threads[POLLERS];
    fake_open(&link, 0);
    link.in_poll = count_inside;
    pen_progress_init(&progress, PEN_CONCURRENT, &defaults, NULL, &pen_machine_clock, &counters);
    pen_progress_add(&progress, &link.base);
    for (int i = 0; i < POLLERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, poll_often, &progress), 0);
    for (int i = 0; i < POLLERS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(atomic_load(&inside_max), 1);
    assert_true(link.polls > 0 && link.polls <= POLLERS * POLLS);
    pen_progress_close(&progress);
}

static void a_thread_that_handles_events_wakes_the_rank_s_sleepers(void **state)
{
    (void)state;
    static pen_progress progress;
    static fake_link link;
    pen_counters counters = { 0 };
    fake_open(&link, 0);
    pen_progress_init(&progress, PEN_CONCURRENT, &defaults, NULL, &pen_machine_clock, &counters);
    pen_progress_add(&progress, &link.base);
    atomic_store(progress.sleeper.sleeping, 1);
    (void)pen_progress_poll(&progress);
    assert_int_equal(atomic_load(progress.sleeper.wake), 0);
    link.events = 1;
    (void)pen_progress_poll(&progress);
    assert_int_equal(atomic_load(progress.sleeper.wake), 1);
    assert_int_equal(atomic_load(progress.sleeper.sleeping), 0); /* the request was taken */
    pen_progress_close(&progress);
}

static const uint32_t bell; /* target of a view's last word while there is no work */

/* A rank with one link, whose view is shown. */
typedef struct viewed {
    pen_progress progress;
    fake_link link;
    pen_counters counters;
    pen_poll_view view;
    pen_host host;
} viewed;

static void viewed_open(viewed *rank, pen_concurrency concurrency)
{
    memset(rank, 0, sizeof *rank);
    rank->view.words[PEN_POLL_WORDS - 1] = &bell;
    rank->host.poll_view = &rank->view;
    fake_open(&rank->link, 0);
    rank->link.base.host = &rank->host;
    pen_progress_init(&rank->progress, concurrency, &defaults, NULL, &pen_machine_clock,
                      &rank->counters);
    pen_progress_add(&rank->progress, &rank->link.base);
}

static void the_view_tells_of_work(void **state)
{
    (void)state;
    static viewed rank;
    const pen_concurrency all[] = { PEN_ALONE, PEN_CONCURRENT };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        viewed_open(&rank, all[i]);
        assert_ptr_equal(rank.view.words[PEN_POLL_WORDS - 1], &bell);
        pen_progress_add_work(&rank.progress, 1);
        assert_int_equal(*rank.view.words[PEN_POLL_WORDS - 1], 1);
        pen_progress_add_work(&rank.progress, -1);
        assert_ptr_equal(rank.view.words[PEN_POLL_WORDS - 1], &bell);
        pen_progress_close(&rank.progress);
    }
}

/* A fence would wait for earlier stores: at a barrier, for the line that a peer is reading. */
static void the_only_thread_adds_work_without_a_locked_instruction(void **state)
{
    (void)state;
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
    static viewed rank;
    viewed_open(&rank, PEN_ALONE);
    steps_open();
    steps_begin();
    pen_progress_add_work(&rank.progress, 1);
    pen_progress_add_work(&rank.progress, -1);
    steps counted = steps_end();
    assert_true(counted.instructions > 0);
    assert_int_equal(counted.locked, 0);
    pen_progress_close(&rank.progress);
#else
    skip();
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_port_is_polled_once),
        cmocka_unit_test(a_source_is_polled_while_it_has_work),
        cmocka_unit_test(threads_are_counted_for_the_host),
        cmocka_unit_test(events_are_reported_now_and_then),
        cmocka_unit_test(polling_from_a_handler_is_caught_in_checked_builds),
        cmocka_unit_test(within_a_poll_its_only_thread_may_not_poll),
        cmocka_unit_test(one_thread_at_a_time_polls_a_link),
        cmocka_unit_test(a_thread_that_handles_events_wakes_the_rank_s_sleepers),
        cmocka_unit_test(the_view_tells_of_work),
        cmocka_unit_test(the_only_thread_adds_work_without_a_locked_instruction),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
