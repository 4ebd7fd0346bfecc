/* SPDX-License-Identifier: BSD-3-Clause */
/* wait_test.c: waits that spin, yield and sleep; no wake-up is lost. */
#include "fake_link.h"

#include "os/os.h"
#include "progress/progress.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <pthread.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <cmocka.h>

/* A rank on a host of which the test sets the crowd. */
typedef struct rank {
    pen_progress progress;
    fake_link link;
    pen_counters counters;
    _Atomic uint32_t sleeping, wake, *polling;
} rank;

static _Atomic uint32_t polling_total;

/* fd: of a link that rings, -1: one that does not */
static void open_rank_with(rank *r, pen_concurrency concurrency, uint32_t others, uint32_t cores,
                           int fd)
{
    static const pen_progress_config defaults = { 50e-6, 1e-3, true };
    memset(r, 0, sizeof *r);
    atomic_store(&polling_total, others);
    pen_sleeper sleeper = { &r->sleeping, &r->wake, &polling_total, NULL, cores, NULL };
    fake_open(&r->link, 0);
    r->link.base.wait = fd >= 0 ? &fake_wait : NULL;
    r->link.base.due = fd >= 0 ? &fake_due : NULL;
    r->link.fd = fd;
    r->link.until_ns = UINT64_MAX;
    pen_progress_init(&r->progress, concurrency, &defaults, &sleeper, &pen_machine_clock,
                      &r->counters);
    pen_progress_add(&r->progress, &r->link.base);
}

static void open_rank(rank *r, pen_concurrency concurrency, uint32_t others, uint32_t cores)
{
    open_rank_with(r, concurrency, others, cores, -1);
}

static void steps(pen_waiter *waiter, unsigned count)
{
    while (count-- > 0)
        pen_wait_step(waiter);
}

/* Steps until the rank has slept so often, for seconds at most. */
static void wait_until_slept(rank *r, pen_waiter *waiter, uint64_t sleeps)
{
    uint64_t until = pen_now_ns() + 20000000000u;
    while (r->counters.wait_sleep < sleeps && pen_now_ns() < until)
        pen_wait_step(waiter);
    assert_int_equal(r->counters.wait_sleep, sleeps);
}

static void with_cores_enough_a_waiter_first_spins(void **state)
{
    (void)state;
    static rank r;
    open_rank(&r, PEN_ALONE, 1, 2);
    r.progress.spin_ns = 10000000000u;
    pen_waiter waiter = pen_waiter_of(&r.progress, true);
    steps(&waiter, 2000);
    assert_int_equal(r.link.polls, 2000);
    assert_int_equal(r.counters.wait_yield, 0);
    assert_int_equal(r.counters.wait_sleep, 0);
    pen_progress_close(&r.progress);
}

static void then_it_yields_now_and_then(void **state)
{
    (void)state;
    static rank r;
    open_rank(&r, PEN_ALONE, 1, 2);
    r.progress.spin_ns = 0;
    r.progress.sleep_after_ns = 10000000000u;
    pen_waiter waiter = pen_waiter_of(&r.progress, true);
    for (unsigned i = 0; i < 640; i++) {
        atomic_store(&r.progress.core_shared, false); /* unaffected by other programs on this
                                                       * machine */
        pen_wait_step(&waiter);
    }
    assert_int_equal(r.counters.wait_yield, 640 / 64 - 1); /* the first polls do not look */
    pen_progress_close(&r.progress);
}

static void at_last_it_sleeps_but_not_before_a_fifth_of_a_millisecond(void **state)
{
    (void)state;
    static const pen_progress_config hasty = { 0, 0, true };
    static rank r;
    open_rank(&r, PEN_ALONE, 1, 2);
    pen_progress progress;
    pen_progress_init(&progress, PEN_ALONE, &hasty, NULL, &pen_machine_clock, &r.counters);
    assert_int_equal(progress.sleep_after_ns, 200000);
    pen_progress_close(&progress);
    pen_waiter waiter = pen_waiter_of(&r.progress, true);
    uint64_t before = pen_now_ns();
    wait_until_slept(&r, &waiter, 1);
    assert_true(pen_now_ns() - before >= 200000);
    assert_int_equal(atomic_load(&r.sleeping), 0); /* awake again, it asks nobody to wake it */
    pen_progress_close(&r.progress);
}

static void without_cores_enough_the_first_empty_poll_yields(void **state)
{
    (void)state;
    static rank r;
    open_rank(&r, PEN_ALONE, 2, 2);
    pen_waiter waiter = pen_waiter_of(&r.progress, true);
    steps(&waiter, 1);
    assert_int_equal(r.counters.wait_yield, 1);
    steps(&waiter, 15);
    assert_int_equal(r.counters.wait_yield, 16);
    assert_int_equal(r.counters.wait_sleep, 0);
    wait_until_slept(&r, &waiter, 1);
    assert_true(r.counters.wait_yield >= 16);
    pen_progress_close(&r.progress);
}

static void crowds_come_and_go(void **state)
{
    (void)state;
    static rank r;
    open_rank(&r, PEN_ALONE, 1, 2);
    r.progress.spin_ns = 10000000000u;
    pen_waiter waiter = pen_waiter_of(&r.progress, true);
    steps(&waiter, 100);
    assert_int_equal(r.counters.wait_yield, 0);
    pen_progress_enter_thread(&r.progress);
    steps(&waiter, 10);
    assert_int_equal(r.counters.wait_yield, 10);
    pen_progress_leave_thread(&r.progress);
    steps(&waiter, 100);
    assert_int_equal(r.counters.wait_yield, 10);
    pen_progress_close(&r.progress);
}

static void after_an_event_the_waiter_starts_afresh(void **state)
{
    (void)state;
    static rank r;
    open_rank(&r, PEN_ALONE, 2, 2);
    pen_waiter waiter = pen_waiter_of(&r.progress, true);
    for (unsigned i = 0; i < 100; i++) {
        steps(&waiter, 15);
        r.link.events = 1;
        steps(&waiter, 1);
    }
    assert_int_equal(r.counters.wait_yield, 1500 + 100 / 16); /* see the next test */
    assert_int_equal(r.counters.wait_sleep, 0);
    pen_progress_close(&r.progress);
}

static void who_is_kept_busy_gives_its_core_away_all_the_same(void **state)
{
    (void)state;
    static rank r;
    open_rank(&r, PEN_ALONE, 2, 2);
    pen_waiter waiter = pen_waiter_of(&r.progress, true);
    for (unsigned i = 0; i < 160; i++) {
        r.link.events = 1;
        steps(&waiter, 1);
    }
    assert_int_equal(r.counters.wait_yield, 10);
    pen_progress_close(&r.progress);
    open_rank(&r, PEN_ALONE, 1, 2); /* a core for each: no rank waits for this one */
    waiter = pen_waiter_of(&r.progress, true);
    for (unsigned i = 0; i < 160; i++) {
        r.link.events = 1;
        steps(&waiter, 1);
    }
    assert_int_equal(r.counters.wait_yield, 0);
    pen_progress_close(&r.progress);
}

static void poll(rank *r, pen_poller *poller)
{
    pen_poller_count(&r->progress, poller, pen_progress_poll(&r->progress));
}

static void a_client_that_waits_in_a_loop_of_polls_gives_its_core_away(void **state)
{
    (void)state;
    static rank r;
    open_rank(&r, PEN_ALONE, 2, 2);
    pen_poller poller = { 0 };
    for (unsigned i = 0; i < 800; i++)
        poll(&r, &poller);
    assert_int_equal(r.link.polls, 800);
    assert_in_range(r.counters.wait_yield, 90,
                    100); /* but for the first, and if we are disturbed */
    pen_progress_close(&r.progress);
}

static void a_client_that_computes_between_polls_keeps_its_core(void **state)
{
    (void)state;
    static rank r;
    open_rank(&r, PEN_ALONE, 2, 2);
    pen_poller poller = { 0 };
    for (unsigned i = 0; i < 200; i++) {
        uint64_t until = pen_now_ns() + 10000;
        while (pen_now_ns() < until)
            continue;
        poll(&r, &poller);
    }
    assert_int_equal(r.counters.wait_yield, 0);
    pen_progress_close(&r.progress);
}

static void with_cores_enough_a_loop_of_polls_only_looks_who_wants_its_core(void **state)
{
    (void)state;
    static rank r;
    open_rank(&r, PEN_ALONE, 1, 2);
    pen_poller poller = { 0 };
    uint64_t begin_ns = pen_now_ns(), now_ns = begin_ns;
    /* not by time alone, which may pass while a different program has the core */
    for (unsigned round = 0; round < 100 || now_ns < begin_ns + 3000000; round++) {
        for (unsigned i = 0; i < 100; i++)
            poll(&r, &poller);
        atomic_store(&r.progress.core_shared, false); /* unaffected by other programs on this
                                                       * machine */
        now_ns = pen_now_ns();
    }
    assert_in_range(r.counters.wait_yield, 1, (now_ns - begin_ns) / 200000);
    pen_progress_close(&r.progress);
}

static void who_may_not_sleep_only_yields(void **state)
{
    (void)state;
    static rank r;
    open_rank(&r, PEN_ALONE, 2, 2);
    r.progress.spin_ns = 0;
    pen_waiter waiter = pen_waiter_of(&r.progress, false);
    steps(&waiter, 200);
    assert_int_equal(r.counters.wait_yield, 200);
    r.progress.may_sleep = false; /* PENSTOCK_WAIT_SLEEP=no */
    waiter = pen_waiter_of(&r.progress, true);
    steps(&waiter, 200);
    assert_int_equal(r.counters.wait_yield, 400);
    assert_int_equal(r.counters.wait_sleep, 0);
    assert_int_equal(atomic_load(&r.sleeping), 0);
    pen_progress_close(&r.progress);
}

static void a_reply_that_waits_for_room_keeps_its_rank_awake(void **state)
{
    (void)state;
    static rank r;
    open_rank(&r, PEN_ALONE, 2, 2);
    r.progress.spin_ns = 0;
    r.link.full[1] = true;
    (void)fake_reply(&r.progress.ports[0], &r.counters, 1, PEN_LANE_REPLY, 1, 0);
    pen_waiter waiter = pen_waiter_of(&r.progress, true);
    steps(&waiter, 200);
    assert_int_equal(r.counters.wait_sleep, 0);
    r.link.full[1] = false;
    wait_until_slept(&r, &waiter, 1);
    assert_int_equal(r.link.sent_count, 1);
    pen_progress_close(&r.progress);
}

static void whatever_else_waits_for_room_keeps_its_rank_awake_too(void **state)
{
    (void)state;
    static rank r;
    open_rank(&r, PEN_ALONE, 2, 2);
    r.progress.spin_ns = 0;
    pen_progress_wait_for_room(&r.progress, 1);
    pen_progress_wait_for_room(&r.progress, 1);
    pen_progress_wait_for_room(&r.progress, -1);
    pen_waiter waiter = pen_waiter_of(&r.progress, true);
    steps(&waiter, 200);
    assert_int_equal(r.counters.wait_sleep, 0);
    pen_progress_wait_for_room(&r.progress, -1);
    assert_int_equal(atomic_load(&r.progress.source_work), 0);
    wait_until_slept(&r, &waiter, 1);
    pen_progress_close(&r.progress);
}

static void blocking_wait_modes_yield_instead_of_spinning(void **state)
{
    (void)state;
    static rank r;
    open_rank(&r, PEN_ALONE, 0, 2);
    r.progress.wait_mode = PEN_WAIT_BLOCK;
    pen_waiter waiter = pen_waiter_of(&r.progress, true);
    steps(&waiter, 10);
    assert_int_equal(r.counters.wait_yield, 10);
    r.progress.wait_mode = PEN_WAIT_SPINBLOCK;
    r.progress.spin_ns = 0;
    r.progress.sleep_after_ns = 10000000000u;
    waiter = pen_waiter_of(&r.progress, true);
    steps(&waiter, 100);
    assert_int_equal(r.counters.wait_yield, 110);
    assert_int_equal(r.counters.wait_sleep, 0);
    pen_progress_close(&r.progress);
}

static void a_rank_asks_to_be_woken_before_its_last_look(void **state)
{
    (void)state;
    static rank r;
    open_rank(&r, PEN_ALONE, 2, 2);
    r.progress.spin_ns = 0;
    pen_waiter waiter = pen_waiter_of(&r.progress, true);
    while (!waiter.armed)
        steps(&waiter, 1);
    assert_int_equal(atomic_load(&r.sleeping), 1);
    assert_int_equal(r.counters.wait_sleep, 0); /* the caller may now look at its condition */
    unsigned polls = r.link.polls;
    pen_progress_wake(&r.sleeping, &r.wake); /* a sender in between */
    assert_int_equal(atomic_load(&r.sleeping), 0);
    assert_int_equal(atomic_load(&r.wake), 1);
    steps(&waiter, 1);
    assert_int_equal(r.link.polls, polls + 1);
    assert_int_equal(r.counters.wait_sleep, 1);
    assert_int_equal(waiter.naps, 0);        /* it did not sleep through it */
    pen_progress_wake(&r.sleeping, &r.wake); /* no rank asks: no rank is woken */
    assert_int_equal(atomic_load(&r.wake), 1);
    pen_progress_close(&r.progress);
}

static void who_sleeps_long_does_not_count_as_polling(void **state)
{
    (void)state;
    static rank r;
    open_rank(&r, PEN_ALONE, 2, 2);
    r.progress.spin_ns = 0;
    pen_waiter waiter = pen_waiter_of(&r.progress, true);
    wait_until_slept(&r, &waiter, 4);
    assert_true(waiter.naps >= 3);
    assert_int_equal(atomic_load(&polling_total), 3); /* back while awake */
    pen_progress_close(&r.progress);
}

/* ---- links that ring ------------------------------------------------------------------------- */

static void in_a_crowd_who_is_rung_for_sleeps_once_it_has_spun(void **state)
{
    (void)state;
    static rank r;
    open_rank_with(&r, PEN_ALONE, 2, 2, eventfd(0, EFD_NONBLOCK));
    r.progress.spin_ns = 0;
    pen_waiter waiter = pen_waiter_of(&r.progress, true);
    steps(&waiter, 1);
    assert_int_equal(r.counters.wait_yield, 1);
    assert_int_equal(r.counters.wait_sleep, 1);
    assert_int_equal(atomic_load(&r.sleeping), 0); /* no rank is asked to wake it */
    steps(&waiter, 3);                             /* still nothing: it sleeps on */
    assert_int_equal(r.counters.wait_yield, 1);
    assert_int_equal(r.counters.wait_sleep, 4);
    assert_int_equal(waiter.naps, 4);
    assert_int_equal(r.link.arms, 4);
    (void)close(r.link.fd);
    pen_progress_close(&r.progress);
}

static void who_has_a_core_and_is_rung_for_sleeps_after_a_fifth_of_a_millisecond(void **state)
{
    (void)state;
    static rank r;
    open_rank_with(&r, PEN_ALONE, 1, 2, eventfd(0, EFD_NONBLOCK));
    r.progress.sleep_after_ns = 10000000000u;
    pen_waiter waiter = pen_waiter_of(&r.progress, true);
    uint64_t before = pen_now_ns();
    wait_until_slept(&r, &waiter, 1);
    uint64_t after = pen_now_ns() - before;
    assert_true(after >= 200000 && after < 10000000000u);
    (void)close(r.link.fd);
    pen_progress_close(&r.progress);
}

static void the_bell_ends_its_sleep_and_so_does_what_is_due(void **state)
{
    (void)state;
    static rank r;
    uint64_t least_ns = UINT64_MAX, one = 1;
    open_rank_with(&r, PEN_ALONE, 2, 2, eventfd(0, EFD_NONBLOCK));
    r.progress.spin_ns = 0;
    pen_waiter waiter = pen_waiter_of(&r.progress, true);
    for (unsigned i = 0; i < 20; i++) { /* takes the shortest of many, because the kernel may give
                                         * this process its core late */
        uint64_t before = pen_now_ns();
        r.link.until_ns = before + 500000;
        steps(&waiter, 1);
        uint64_t took_ns = pen_now_ns() - before;
        if (waiter.naps != 0) /* else it was due before we got there */
            least_ns = took_ns < least_ns ? took_ns : least_ns;
    }
    assert_in_range(least_ns, 400000, 2000000);
    r.link.until_ns = pen_now_ns() - 1; /* due: no sleep, and new hope */
    steps(&waiter, 1);
    assert_int_equal(waiter.naps, 0);
    r.link.until_ns = UINT64_MAX;
    steps(&waiter, 1);
    assert_int_equal(waiter.naps, 1);
    assert_int_equal(write(r.link.fd, &one, sizeof one), sizeof one);
    steps(&waiter, 1);
    assert_int_equal(waiter.naps, 0);
    assert_int_equal(read(r.link.fd, &one, sizeof one), sizeof one);
    r.link.busy = true; /* it says so itself */
    steps(&waiter, 1);
    assert_int_equal(waiter.naps, 0);
    (void)close(r.link.fd);
    pen_progress_close(&r.progress);
}

static void where_yields_take_long_the_next_waits_sleep_at_once(void **state)
{
    (void)state;
    static rank r;
    open_rank_with(&r, PEN_ALONE, 2, 2, eventfd(0, EFD_NONBLOCK));
    r.progress.spin_ns = 10000000000u;
    atomic_store(&r.progress.no_yield, 2); /* as after a yield that another program has used up */
    for (unsigned i = 0; i < 3; i++) {
        pen_waiter waiter = pen_waiter_of(&r.progress, true);
        steps(&waiter, 1);
        assert_int_equal(r.counters.wait_sleep, i < 2 ? i + 1 : 2);
        assert_int_equal(r.counters.wait_yield, i < 2 ? 0 : 1);
    }
    atomic_store(&r.progress.no_yield, 2);
    pen_waiter sleepless = pen_waiter_of(&r.progress, false);
    steps(&sleepless, 5);
    assert_int_equal(r.counters.wait_sleep, 2);
    assert_int_equal(r.counters.wait_yield, 6);
    (void)close(r.link.fd);
    pen_progress_close(&r.progress);
}

/* Another thread may have polled what we wait for: it tells us through memory. */
static void with_threads_a_wake_up_before_the_sleep_is_seen(void **state)
{
    (void)state;
    static rank r;
    open_rank_with(&r, PEN_CONCURRENT, 2, 2, eventfd(0, EFD_NONBLOCK));
    r.progress.spin_ns = 0;
    pen_waiter waiter = pen_waiter_of(&r.progress, true);
    while (!waiter.armed)
        steps(&waiter, 1);
    assert_int_equal(atomic_load(&r.sleeping), 1);
    pen_progress_wake(&r.sleeping, &r.wake);
    steps(&waiter, 1);
    assert_int_equal(r.counters.wait_sleep, 1);
    assert_int_equal(waiter.naps, 0);
    (void)close(r.link.fd);
    pen_progress_close(&r.progress);
}

static void note_idle(void *ctx) { ++*(unsigned *)ctx; }

static void errands_are_run_while_waiting_but_not_often(void **state)
{
    (void)state;
    static rank r;
    open_rank(&r, PEN_ALONE, 2, 2);
    unsigned errands = 0;
    r.progress.on_idle = note_idle;
    r.progress.on_idle_ctx = &errands;
    pen_waiter waiter = pen_waiter_of(&r.progress, true);
    uint64_t before = pen_now_ns();
    wait_until_slept(&r, &waiter, 5);
    uint64_t took_ns = pen_now_ns() - before;
    assert_true(errands >= 1);
    assert_true(errands <= 2 + took_ns / 100000000u);
    pen_progress_close(&r.progress);
}

/* ---- wake-ups between threads ---------------------------------------------------------------- */

enum { ROUNDS = 300, NAP_NS = 4000000 /* as long as wait.c sleeps if no rank wakes it */ };

typedef struct pair {
    rank ranks[2];
    _Atomic unsigned turn;       /* a flag in memory, which no poll reports */
    _Atomic uint64_t through_ns; /* when who set it was through with waking ... */
    _Atomic unsigned through;    /* ... and for which turn */
    _Atomic unsigned lost;       /* wake-ups that did not come */
} pair;

static pair the_pair;

/* We asked to be woken before begin_ns and for NAP_NS after it: who looked meanwhile had to. */
static bool was_passed_over(unsigned turn, uint64_t begin_ns)
{
    return atomic_load_explicit(&the_pair.through, memory_order_acquire) == turn &&
           atomic_load(&the_pair.through_ns) < begin_ns + NAP_NS;
}

static void await_turn(rank *mine, unsigned turn)
{
    pen_waiter waiter = pen_waiter_of(&mine->progress, true);
    for (;;) {
        uint32_t wake =
            atomic_load(&mine->wake); /* before the flag, which is set before a wake-up */
        if (atomic_load_explicit(&the_pair.turn, memory_order_acquire) == turn)
            return;
        uint64_t sleeps = mine->counters.wait_sleep, begin_ns = pen_now_ns();
        pen_wait_step(&waiter);
        if (mine->counters.wait_sleep > sleeps && atomic_load(&mine->wake) == wake &&
            was_passed_over(turn, begin_ns))
            atomic_fetch_add(&the_pair.lost, 1);
    }
}

static void play(unsigned me)
{
    rank *mine = &the_pair.ranks[me], *other = &the_pair.ranks[1 - me];
    for (unsigned round = 0; round < ROUNDS; round++) {
        await_turn(mine, 2 * round + me);
        if (round % 8 == 0)
            for (int i = 0; i < 500 && atomic_load(&other->sleeping) == 0; i++)
                usleep(100); /* until the peer asks to be woken */
        const unsigned turn = 2 * round + me + 1;
        atomic_store_explicit(&the_pair.turn, turn, memory_order_release);
        pen_progress_wake_fence(&mine->progress);
        pen_progress_wake(&other->sleeping, &other->wake);
        atomic_store(&the_pair.through_ns, pen_now_ns());
        atomic_store_explicit(&the_pair.through, turn, memory_order_release);
    }
}

static void *play_second(void *unused)
{
    play(1);
    return unused;
}

static void no_wake_up_is_lost(void **state)
{
    (void)state;
    pthread_t thread;
    for (unsigned i = 0; i < 2; i++) {
        open_rank(&the_pair.ranks[i], PEN_ALONE, 10, 2); /* crowded: they sleep soon */
        the_pair.ranks[i].progress.spin_ns = 0;
    }
    atomic_store(&the_pair.turn, 0);
    assert_int_equal(pthread_create(&thread, NULL, play_second, NULL), 0);
    play(0);
    pthread_join(thread, NULL);
    uint64_t slept = 0;
    for (unsigned i = 0; i < 2; i++) {
        slept += the_pair.ranks[i].counters.wait_sleep;
        pen_progress_close(&the_pair.ranks[i].progress);
    }
    print_message("%u of %llu sleeps passed over\n", atomic_load(&the_pair.lost),
                  (unsigned long long)slept);
    assert_true(slept > 0);
    assert_int_equal(atomic_load(&the_pair.lost), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(with_cores_enough_a_waiter_first_spins),
        cmocka_unit_test(then_it_yields_now_and_then),
        cmocka_unit_test(at_last_it_sleeps_but_not_before_a_fifth_of_a_millisecond),
        cmocka_unit_test(without_cores_enough_the_first_empty_poll_yields),
        cmocka_unit_test(crowds_come_and_go),
        cmocka_unit_test(after_an_event_the_waiter_starts_afresh),
        cmocka_unit_test(who_is_kept_busy_gives_its_core_away_all_the_same),
        cmocka_unit_test(a_client_that_waits_in_a_loop_of_polls_gives_its_core_away),
        cmocka_unit_test(a_client_that_computes_between_polls_keeps_its_core),
        cmocka_unit_test(with_cores_enough_a_loop_of_polls_only_looks_who_wants_its_core),
        cmocka_unit_test(who_may_not_sleep_only_yields),
        cmocka_unit_test(a_reply_that_waits_for_room_keeps_its_rank_awake),
        cmocka_unit_test(whatever_else_waits_for_room_keeps_its_rank_awake_too),
        cmocka_unit_test(blocking_wait_modes_yield_instead_of_spinning),
        cmocka_unit_test(a_rank_asks_to_be_woken_before_its_last_look),
        cmocka_unit_test(who_sleeps_long_does_not_count_as_polling),
        cmocka_unit_test(in_a_crowd_who_is_rung_for_sleeps_once_it_has_spun),
        cmocka_unit_test(who_has_a_core_and_is_rung_for_sleeps_after_a_fifth_of_a_millisecond),
        cmocka_unit_test(the_bell_ends_its_sleep_and_so_does_what_is_due),
        cmocka_unit_test(where_yields_take_long_the_next_waits_sleep_at_once),
        cmocka_unit_test(with_threads_a_wake_up_before_the_sleep_is_seen),
        cmocka_unit_test(errands_are_run_while_waiting_but_not_often),
        cmocka_unit_test(no_wake_up_is_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
