/* SPDX-License-Identifier: BSD-3-Clause */
/* turn_test.c: turns among real processes. Ranks run in the order of their clocks, whatever the
 * kernel does; a wait ends when a packet comes, when another rank ends it, or at its time; and a
 * world is the same after every run. With an argument, measures turns a second on one core. */
#include "virtual/virtual.h"

#include "os/os.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

enum { RANKS = 5, STEPS = 400, NOTES_MAX = RANKS * STEPS };

typedef struct note {
    uint64_t clock_ns;
    uint32_t rank, what;
} note;

typedef struct notes {
    uint32_t count, word;
    note rows[NOTES_MAX];
} notes;

static void say(notes *out, const pen_virtual *view, uint32_t what)
{
    out->rows[out->count++] = (note){ pen_virtual_now_ns(view), view->rank, what };
}

static pen_virtual_params params_of(uint32_t ranks)
{
    static uint32_t nodes[RANKS];
    char problem[256], path[512];
    pen_virtual_params params = { .ranks = ranks, .nodes = nodes };
    for (uint32_t rank = 0; rank < ranks; rank++)
        nodes[rank] = rank;
    const char *source = getenv("PENSTOCK_SOURCE_DIR");
    (void)snprintf(path, sizeof path, "%s/src/virtual/machines/extoll-r1",
                   source != NULL ? source : ".");
    if (!pen_virtual_machine_read(path, &params.machine, problem, sizeof problem) ||
        !pen_virtual_shape_parse("crossbar", ranks, &params.shape, problem, sizeof problem))
        fail_msg("%s", problem);
    return params;
}

/* Runs the function in one process for each rank, with a world of their own. */
static pen_virtual_figures play(uint32_t ranks, void (*run)(pen_virtual *, notes *), notes *out)
{
    int fd = -1;
    pen_virtual maker;
    const pen_virtual_params params = params_of(ranks);
    assert_null(pen_virtual_make(&params, &fd, &maker));
    for (uint32_t rank = 0; rank < ranks; rank++) {
        if (fork() != 0)
            continue;
        pen_virtual view;
        alarm(100); /* a rank without a turn would wait forever */
        if (pen_virtual_map(fd, rank, &view) != PEN_OK)
            _exit(1);
        pen_virtual_begin(&view);
        run(&view, out);
        pen_virtual_note_end(&view, false);
        pen_virtual_end(&view);
        _exit(0);
    }
    for (uint32_t rank = 0; rank < ranks; rank++) {
        int status = 0;
        (void)wait(&status);
        assert_int_equal(status, 0);
    }
    pen_virtual_figures figures = pen_virtual_read(&maker);
    assert_int_equal(figures.left, ranks);
    pen_virtual_unmap(&maker);
    (void)close(fd);
    return figures;
}

static notes *notes_open(void)
{
    notes *out = mmap(NULL, sizeof *out, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(out != MAP_FAILED);
    memset(out, 0, sizeof *out);
    return out;
}

static void notes_close(notes *out) { (void)munmap(out, sizeof *out); }

/* ---- order ----------------------------------------------------------------------------------- */

static void compute_and_look(pen_virtual *view, notes *out)
{
    uint32_t random = view->rank + 1;
    for (uint32_t i = 0; i < STEPS; i++) {
        random = random * 1664525 + 1013904223;
        pen_virtual_charge(view, random >> 25);
        (void)pen_virtual_observe(view);
        say(out, view, i);
    }
}

static void ranks_run_in_the_order_of_their_clocks(void **state)
{
    (void)state;
    notes *once = notes_open(), *again = notes_open();
    pen_virtual_figures figures = play(RANKS, compute_and_look, once);
    assert_int_equal(once->count, NOTES_MAX);
    for (uint32_t i = 1; i < once->count; i++) {
        const note *a = &once->rows[i - 1], *b = &once->rows[i];
        assert_true(a->clock_ns < b->clock_ns ||
                    (a->clock_ns == b->clock_ns && a->rank <= b->rank));
    }
    pen_virtual_figures second = play(RANKS, compute_and_look, again);
    assert_memory_equal(once, again, sizeof *once);
    assert_memory_equal(&figures, &second, sizeof figures);
    notes_close(once);
    notes_close(again);
}

/* ---- waits ----------------------------------------------------------------------------------- */

static void send_to(pen_virtual *view, uint32_t to)
{
    uint32_t number = pen_virtual_net_take(&view->net, view->rank);
    pen_virtual_packet *packet = pen_virtual_net_packet(&view->net, number);
    packet->to = to;
    packet->link_ns = 128;
    packet->card_ns = 100;
    pen_virtual_charge(view, 120);
    pen_virtual_net_send(&view->net, number, pen_virtual_now_ns(view));
}

static void await_packet(pen_virtual *view)
{
    for (;;) {
        (void)pen_virtual_observe(view);
        uint32_t number = pen_virtual_net_receive(&view->net, view->rank);
        if (number != 0) {
            pen_virtual_charge(view, 52);
            pen_virtual_net_free(&view->net, number);
            return;
        }
        pen_virtual_wait(view, PEN_VIRTUAL_NEVER);
    }
}

static uint32_t something_has_come(void *view_of_rank)
{
    const pen_virtual *view = view_of_rank;
    return pen_virtual_net_first(&view->net, view->rank) != 0;
}

static void send_and_answer(pen_virtual *view, notes *out)
{
    view->take = something_has_come;
    view->take_ctx = view;
    for (uint32_t i = 0; i < 100; i++) {
        if (view->rank == 0)
            send_to(view, 1);
        await_packet(view);
        if (view->rank == 1)
            send_to(view, 0);
    }
    say(out, view, 0);
}

static void half_round_trip_is_970_ns(void **state)
{
    (void)state;
    notes *out = notes_open();
    play(2, send_and_answer, out);
    for (uint32_t i = 0; i < 2; i++)
        if (out->rows[i].rank == 0)
            assert_int_equal(out->rows[i].clock_ns, 200 * 970);
    notes_close(out);
}

/* Rank 2 sends while a packet of rank 0 is under way, and rank 1 waits for both. */
static void send_in_between(pen_virtual *view, notes *out)
{
    view->take = something_has_come;
    view->take_ctx = view;
    if (view->rank == 2)
        pen_virtual_sleep(view, 100);
    if (view->rank != 1)
        send_to(view, 1);
    for (uint32_t i = 0; view->rank == 1 && i < 2; i++) {
        await_packet(view);
        say(out, view, i);
    }
}

static void events_wait_for_ranks_that_run_before_them(void **state)
{
    (void)state;
    notes *out = notes_open();
    play(3, send_in_between, out);
    assert_int_equal(out->count, 2);
    assert_int_equal(out->rows[0].clock_ns, 970);
    assert_int_equal(out->rows[1].clock_ns, 970 + 128); /* behind it on the link to rank 1 */
    notes_close(out);
}

/* Rank 0 changes memory and ends the waits of all others, at its own time. */
static void wait_for_memory(pen_virtual *view, notes *out)
{
    if (view->rank == 0) {
        pen_virtual_sleep(view, 5000);
        out->word = 1;
        pen_virtual_wake(view);
    }
    while (out->word == 0)
        pen_virtual_wait(view, PEN_VIRTUAL_NEVER);
    say(out, view, 0);
}

static void another_rank_ends_a_wait_at_its_own_time(void **state)
{
    (void)state;
    notes *out = notes_open();
    play(RANKS, wait_for_memory, out);
    assert_int_equal(out->count, RANKS);
    for (uint32_t i = 0; i < RANKS; i++)
        assert_int_equal(out->rows[i].clock_ns, 5000);
    notes_close(out);
}

static void wait_until(pen_virtual *view, notes *out)
{
    pen_virtual_wait(view, 1000 * (RANKS - view->rank));
    say(out, view, 0);
}

static void wait_ends_at_its_time(void **state)
{
    (void)state;
    notes *out = notes_open();
    play(RANKS, wait_until, out);
    for (uint32_t i = 0; i < RANKS; i++) {
        assert_int_equal(out->rows[i].rank, RANKS - 1 - i);
        assert_int_equal(out->rows[i].clock_ns, 1000 * (i + 1));
    }
    notes_close(out);
}

/* A client's loop of looks without end, which rank 1 ends after a long sleep. */
static void look_in_a_loop(pen_virtual *view, notes *out)
{
    if (view->rank == 1) {
        pen_virtual_sleep(view, 1000000000);
        send_to(view, 0);
        return;
    }
    for (;;) {
        (void)pen_virtual_observe(view);
        uint32_t number = pen_virtual_net_receive(&view->net, view->rank);
        if (number != 0)
            break;
        pen_virtual_look_was_empty(view);
    }
    say(out, view, 0);
}

static void loop_of_looks_costs_few_turns(void **state)
{
    (void)state;
    notes *out = notes_open();
    pen_virtual_figures figures = play(2, look_in_a_loop, out);
    assert_true(out->rows[0].clock_ns >= 1000000000 + 120 + 798);
    assert_true(out->rows[0].clock_ns < 1000000000 + 1000);
    assert_true(figures.looks < 40000);
    notes_close(out);
}

/* All ranks wait for what comes from outside, here a real time. */
static void wait_for_the_world(pen_virtual *view, notes *out)
{
    uint64_t until_ns = pen_now_ns() + 50000000;
    while (pen_now_ns() < until_ns)
        pen_virtual_wait(view, PEN_VIRTUAL_NEVER);
    say(out, view, 0);
}

static void ranks_look_around_while_everybody_waits(void **state)
{
    (void)state;
    notes *out = notes_open();
    pen_virtual_figures figures = play(RANKS, wait_for_the_world, out);
    assert_int_equal(out->count, RANKS);
    assert_true(figures.hand_overs < 20000); /* with pauses */
    notes_close(out);
}

static void bad_descriptors_are_refused(void **state)
{
    (void)state;
    pen_virtual view;
    int fd = -1;
    const pen_virtual_params params = params_of(2);
    assert_int_equal(pen_virtual_map(-1, 0, &view), PEN_ERR_SYSTEM);
    const char *call;
    int other = pen_memfd("no-world", 1 << 16, &call);
    assert_int_equal(pen_virtual_map(other, 0, &view), PEN_ERR_ARGUMENT);
    (void)close(other);
    assert_null(pen_virtual_make(&params, &fd, &view));
    pen_virtual mine;
    assert_int_equal(pen_virtual_map(fd, 2, &mine), PEN_ERR_ARGUMENT);
    assert_int_equal(pen_virtual_map(fd, 1, &mine), PEN_OK);
    pen_virtual_unmap(&mine);
    pen_virtual_unmap(&view);
    (void)close(fd);
}

/* ---- rate ------------------------------------------------------------------------------------ */

enum { RATE_TURNS = 200000 };

static void alternate(pen_virtual *view, notes *out)
{
    (void)out;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(0, &one);
    (void)sched_setaffinity(0, sizeof one, &one);
    for (uint32_t i = 0; i < RATE_TURNS; i++) {
        pen_virtual_charge(view, 10);
        (void)pen_virtual_observe(view);
    }
}

static void measure_rate(void **state)
{
    (void)state;
    notes *out = notes_open();
    uint64_t begin_ns = pen_now_ns();
    pen_virtual_figures figures = play(2, alternate, out);
    double seconds = (double)(pen_now_ns() - begin_ns) / 1e9;
    print_message("%.0f turns a second on one core\n", (double)figures.hand_overs / seconds);
    notes_close(out);
}

int main(int argc, char **argv)
{
    (void)argv;
    const struct CMUnitTest rate[] = { cmocka_unit_test(measure_rate) };
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_run_in_the_order_of_their_clocks),
        cmocka_unit_test(half_round_trip_is_970_ns),
        cmocka_unit_test(events_wait_for_ranks_that_run_before_them),
        cmocka_unit_test(another_rank_ends_a_wait_at_its_own_time),
        cmocka_unit_test(wait_ends_at_its_time),
        cmocka_unit_test(loop_of_looks_costs_few_turns),
        cmocka_unit_test(ranks_look_around_while_everybody_waits),
        cmocka_unit_test(bad_descriptors_are_refused),
    };
    return argc > 1 ? cmocka_run_group_tests(rate, NULL, NULL)
                    : cmocka_run_group_tests(tests, NULL, NULL);
}
