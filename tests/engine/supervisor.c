/* SPDX-License-Identifier: BSD-3-Clause */
/* supervisor.c: the launcher's part, played: real control sockets, the real exit rule, and a clock
 * that is made up. It hears of a death as the kernel would tell. */
#include "engine.h"

#include "boot/control.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define EXIT_TIMEOUT_NS (1000 * SECOND) /* no rank is that late: whoever has to be killed hangs */

void supervisor_open(eng_world *world)
{
    world->rule_ranks = calloc(world->plan.ranks, sizeof *world->rule_ranks);
    if (world->rule_ranks == NULL)
        abort();
    pen_exit_rule_init(&world->rule, world->rule_ranks, world->plan.ranks, EXIT_TIMEOUT_NS);
}

void supervisor_close(eng_world *world)
{
    for (uint32_t rank = 0; rank < world->plan.ranks; rank++) {
        (void)close(world->ranks[rank].control);
        (void)close(world->ranks[rank].job.boot.control_fd);
    }
    free(world->rule_ranks);
}

static void tell_all(eng_world *world, pen_control_kind kind, int code)
{
    for (uint32_t rank = 0; rank < world->plan.ranks; rank++)
        if (!world->rule_ranks[rank].gone &&
            pen_control_send(world->ranks[rank].control, kind, code, NULL, false) != 0)
            engine_fail(world, "rank %u cannot be told anything", rank);
}

/* Who has not ended in its time of grace: only ranks that could not. */
static void kill_rest(eng_world *world)
{
    if (pen_exit_rule_status(&world->rule) == 0)
        engine_fail(world, "ranks have to be killed at the end of a job that went well");
    for (uint32_t rank = 0; rank < world->plan.ranks; rank++) {
        if (world->rule_ranks[rank].gone)
            continue;
        if (world_stopped_until(world, rank) == 0)
            engine_fail(world, "rank %u has to be killed, since it does not end", rank);
        world_schedule(world, world->now_ns, EVENT_DIE, rank, NULL);
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
    if ((things & PEN_EXIT_DO_LATE) != 0)
        engine_fail(world, "some ranks leave, and the others go on for ever");
}

static void note(eng_world *world, pen_exit_kind kind, uint32_t rank, int code)
{
    pen_exit_event event = { kind, rank, code };
    act(world, pen_exit_rule_events(&world->rule, &event, 1, world->now_ns));
}

void supervisor_tell_death(eng_world *world, uint32_t rank)
{
    note(world, PEN_EXIT_DIED, rank, SIGKILL);
}

void supervisor_tell_end(eng_world *world, uint32_t rank, int status)
{
    supervisor_look(world); /* what it has said before */
    note(world, PEN_EXIT_ENDED, rank, status);
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

void supervisor_look(eng_world *world)
{
    for (uint32_t rank = 0; rank < world->plan.ranks; rank++)
        if (!world->rule_ranks[rank].gone)
            hear(world, rank);
    act(world, pen_exit_rule_tick(&world->rule, world->now_ns, false));
}
