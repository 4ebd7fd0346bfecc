/* SPDX-License-Identifier: BSD-3-Clause */
/* supervisor.c: plays the launcher: real control sockets, the real exit rule, and a simulated
 * clock. Deaths are reported to it as the kernel would report them. */
#include "engine.h"

#include "boot/control.h"
#include "launch/exit_rule.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

enum { HEARD_AT_ONCE = 64 };
#define EXIT_TIMEOUT_NS (1000 * PEN_SIM_SECOND) /* a rank that exceeds it hangs */
/* A waiting rank checks ten times a second whether it is told to end (wait.c). It gets twice that
 * time. */
#define HEARING_NS (200 * PEN_SIM_MS)

void supervisor_open(eng_world *world)
{
    world->rule_ranks = calloc(world->plan.ranks, sizeof *world->rule_ranks);
    world->lines = epoll_create1(EPOLL_CLOEXEC);
    if (world->rule_ranks == NULL || world->lines < 0)
        abort();
    for (uint32_t rank = 0; rank < world->plan.ranks; rank++) {
        struct epoll_event event = { .events = EPOLLIN, .data.u32 = rank };
        if (epoll_ctl(world->lines, EPOLL_CTL_ADD, world->ranks[rank].control, &event) != 0)
            abort();
    }
    pen_exit_rule_init(&world->rule, world->rule_ranks, world->plan.ranks, EXIT_TIMEOUT_NS,
                       EXIT_TIMEOUT_NS);
}

void supervisor_close(eng_world *world)
{
    for (uint32_t rank = 0; rank < world->plan.ranks; rank++) {
        (void)close(world->ranks[rank].control);
        (void)close(world->ranks[rank].job.boot.control_fd);
    }
    (void)close(world->lines);
    free(world->rule_ranks);
}

static void tell_all(eng_world *world, pen_control_kind kind, int code)
{
    for (uint32_t rank = 0; rank < world->plan.ranks; rank++) {
        if (world->rule_ranks[rank].gone)
            continue;
        if (pen_control_send(world->ranks[rank].control, kind, code, NULL, false) != 0)
            engine_fail(world, "rank %u cannot be told anything", rank);
        world_rouse(&world->ranks[rank]);
    }
}

/* Kills the ranks that have not ended within their time of grace. Only ranks that were stopped too
 * recently to have received the order may be among them. */
static void kill_rest(eng_world *world)
{
    if (pen_exit_rule_status(&world->rule) == 0)
        engine_fail(world, "ranks have to be killed at the end of a job that went well");
    for (uint32_t rank = 0; rank < world->plan.ranks; rank++) {
        if (world->rule_ranks[rank].gone)
            continue;
        if (!pen_sim_was_stopped(&world->network, rank, world->network.now_ns - HEARING_NS))
            engine_fail(world, "rank %u has to be killed, since it does not end", rank);
        pen_sim_schedule(&world->network, world->network.now_ns, EVENT_DIE, rank, NULL);
    }
}

static void act(eng_world *world, unsigned things)
{
    if ((things & PEN_EXIT_DO_GO) != 0)
        tell_all(world, PEN_CONTROL_GO, 0);
    if ((things & PEN_EXIT_DO_TELL) != 0)
        tell_all(world, PEN_CONTROL_END, world->rule.verdict.status);
    if ((things & PEN_EXIT_DO_KILL) != 0)
        kill_rest(world);
    if (world->rule.verdict.cause.kind == PEN_EXIT_LEAVE_LIMIT)
        engine_fail(world, "some ranks leave, and the others go on for ever");
}

static void note(eng_world *world, pen_exit_kind kind, uint32_t rank, int code)
{
    pen_exit_event event = { kind, rank, code };
    act(world, pen_exit_rule_events(&world->rule, &event, 1, world->network.now_ns));
}

void supervisor_tell_death(eng_world *world, uint32_t rank)
{
    note(world, PEN_EXIT_DIED, rank, SIGKILL);
}

static void hear(eng_world *world, uint32_t rank)
{
    pen_control message;
    while (pen_control_receive(world->ranks[rank].control, &message) == PEN_CONTROL_SOME) {
        if (message.kind == PEN_CONTROL_JOINED)
            note(world, PEN_EXIT_JOINED, rank, 0);
        else if (message.kind == PEN_CONTROL_LEAVE)
            note(world, PEN_EXIT_LEFT, rank, message.code);
        else
            engine_fail(world, "rank %u says %u to the supervisor: %s", rank, message.kind,
                        message.text);
    }
}

static void hear_all(eng_world *world)
{
    struct epoll_event news[HEARD_AT_ONCE];
    int count;
    do {
        count = epoll_wait(world->lines, news, HEARD_AT_ONCE, 0);
        for (int i = 0; i < count; i++) {
            uint32_t rank = news[i].data.u32;
            if (world->rule_ranks[rank].gone) /* its last words are ignored */
                (void)epoll_ctl(world->lines, EPOLL_CTL_DEL, world->ranks[rank].control, NULL);
            else
                hear(world, rank);
        }
    } while (count == HEARD_AT_ONCE);
}

/* Reads the rank's words before its end, and both before the clock is checked: a rank that has
 * just ended is not killed. */
void supervisor_tell_end(eng_world *world, uint32_t rank, int status)
{
    hear_all(world);
    note(world, PEN_EXIT_ENDED, rank, status);
}

void supervisor_look(eng_world *world)
{
    hear_all(world);
    act(world, pen_exit_rule_tick(&world->rule, world->network.now_ns, false));
}
