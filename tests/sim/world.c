/* SPDX-License-Identifier: BSD-3-Clause */
/* world.c: the plan of a seed, and a run of it. */
#include "sim.h"

#include "base/compiler.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Bounds: events after which a run hangs; time after the last fault. */
#define EVENTS_MAX UINT64_C(3000000)
#define HEALING_NS (300 * PEN_SIM_SECOND)
#define TALK_MAX   UINT64_C(100000) /* events after all traffic has ended */
#define SILENCE_NS (60 * PEN_SIM_SECOND)

const char *sim_mutant;

bool sim_is(const char *name) { return sim_mutant != NULL && strcmp(sim_mutant, name) == 0; }

/* ---- the plan -------------------------------------------------------------------------------- */

sim_plan sim_plan_of(uint64_t seed, bool is_long)
{
    pen_sim_dice dice = { seed * 2 + is_long };
    sim_plan plan = { .seed = seed, .is_long = is_long };
    plan.ranks = (uint32_t)pen_sim_log_uniform(&dice, 2, SIM_RANKS_MAX);
    plan.messages = is_long ? 1000 : 1 + (uint32_t)pen_sim_log_uniform(&dice, 32, 511) / plan.ranks;
    if (plan.ranks == 2) /* numbers go round the window */
        plan.messages = (uint32_t)pen_sim_log_uniform(&dice, 64, 2047);
    plan.way = pen_sim_way_draw(&dice);
    plan.body_max = plan.way.frame_max - 128;
    plan.borrow_len = pen_sim_below(&dice, 2) == 0 ? 256 : 8192;
    plan.memory_max = (size_t)64 << 10 << pen_sim_below(&dice, 8);
    plan.near_wrap = pen_sim_below(&dice, 2) == 0;
    plan.has_hostile = plan.ranks > 2 && pen_sim_below(&dice, 4) == 0;
    plan.unasked = pen_sim_chance(&dice, 0.95);
    return plan;
}

static void plan_faults(sim_world *world)
{
    for (uint32_t left = pen_sim_below(world->dice, PEN_SIM_FAULTS_MAX); left != 0; left--) {
        pen_sim_fault_kind kind = (pen_sim_fault_kind)pen_sim_below(world->dice, PEN_SIM_DEAD);
        (void)pen_sim_fault_draw(&world->network, kind, 20 * PEN_SIM_MS,
                                 kind == PEN_SIM_NARROW ? PEN_SIM_NARROW_NS_MAX
                                                        : 300 * PEN_SIM_SECOND);
    }
}

/* ---- what went wrong ------------------------------------------------------------------------- */

void sim_fail(sim_world *world, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)vsnprintf(world->what, sizeof world->what, format, args);
    va_end(args);
    longjmp(world->failed, 1);
}

/* ---- memory, counted ------------------------------------------------------------------------- */

typedef struct sim_block {
    size_t len;
    _Alignas(16) unsigned char bytes[];
} sim_block;

void *sim_alloc(sim_world *world, size_t len, size_t align)
{
    (void)align; /* 16 at most */
    sim_block *block = (sim_block *)malloc(sizeof *block + len);
    if (block == NULL)
        abort();
    block->len = len;
    memset(block->bytes, 0xcd, len < 256 ? len : 256); /* memory need not be zero */
    world->allocated += len;
    return block->bytes;
}

void sim_release(sim_world *world, void *memory)
{
    sim_block *block = pen_container_of(memory, sim_block, bytes);
    world->allocated -= block->len;
    free(block);
}

/* ---- a run ----------------------------------------------------------------------------------- */

static void handle(sim_world *world, const pen_sim_network_event *event)
{
    if (event->kind == PEN_SIM_WAKE)
        sim_rank_poll(world, event->rank);
    else
        pen_sim_handle(&world->network, event);
}

/* Handles events in order, until everything has arrived and nothing is outstanding. */
static void run_to_done(sim_world *world)
{
    const uint64_t end_ns = world->network.faults_end_ns + HEALING_NS;
    const uint64_t events_max = world->plan.is_long ? EVENTS_MAX * 20 : EVENTS_MAX;
    while (!sim_ranks_are_done(world)) {
        if (!pen_sim_has_event(&world->network))
            sim_fail(world, "everybody sleeps and %lu of %lu frames have not arrived",
                     (unsigned long)(world->posted - world->delivered),
                     (unsigned long)world->posted);
        if (world->network.now_ns > end_ns || world->events++ > events_max)
            sim_fail(world, "%lu of %lu frames have not arrived long after the faults were over",
                     (unsigned long)(world->posted - world->delivered),
                     (unsigned long)world->posted);
        pen_sim_network_event event = pen_sim_next_event(&world->network);
        handle(world, &event);
    }
}

/* Runs until no rank sends any more. */
static void run_to_silence(sim_world *world)
{
    uint64_t end_ns = world->network.now_ns;
    if (end_ns < world->network.faults_end_ns)
        end_ns = world->network.faults_end_ns;
    for (uint64_t talk = 0; pen_sim_has_event(&world->network); talk++) {
        pen_sim_network_event event = pen_sim_next_event(&world->network);
        if (talk > TALK_MAX || world->network.now_ns > end_ns + SILENCE_NS)
            sim_fail(world, "somebody still has something to do long after all was done");
        handle(world, &event);
    }
}

/* After a failure memory is not freed, because its contents cannot be trusted. */
bool sim_run(const sim_plan *plan, char what[SIM_WHAT_MAX])
{
    sim_world *world = (sim_world *)calloc(1, sizeof *world);
    if (world == NULL)
        abort();
    world->plan = *plan;
    pen_sim_network_open(&world->network, &plan->way, plan->seed, plan->ranks);
    world->network.ctx = world;
    world->network.arrive = sim_rank_arrive;
    world->network.left = sim_rank_left;
    world->dice = &world->network.dice;
    if (setjmp(world->failed) != 0) {
        memcpy(what, world->what, sizeof world->what);
        return false;
    }
    plan_faults(world);
    sim_ranks_open(world);
    run_to_done(world);
    run_to_silence(world);
    sim_ranks_check_end(world);
    sim_ranks_close(world);
    if (world->allocated != 0)
        sim_fail(world, "%zu bytes were never given back", world->allocated);
    pen_sim_network_close(&world->network);
    free(world);
    return true;
}
