/* SPDX-License-Identifier: BSD-3-Clause */
/* world.c: the parameters of a seed, the clock, and the choice of the next rank. */
#include "engine.h"

#include "boot/boot.h"
#include "boot/host_page.h"
#include "conduit/conduit.h"
#include "launch/exit_rule.h"
#include "os/os.h"
#include "progress/progress.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define NAP_NS_MAX   (20 * PEN_SIM_MS)
#define SLEEP_NS_MAX (200 * PEN_SIM_MS) /* longest interval between looks at other ranks' work */
#define HEALING_NS   (300 * PEN_SIM_SECOND)
#define EVENTS_MAX   UINT64_C(40000) /* for each rank, plus a hundred for each of its messages */
#define SUPERVISE_NS (20 * PEN_SIM_MS)

/* ---- the plan -------------------------------------------------------------------------------- */

eng_plan plan_of(uint64_t seed, uint32_t ranks)
{
    pen_sim_dice dice = { seed * 2 + (ranks != 0) };
    eng_plan plan = { .seed = seed, .messages = MESSAGES_LEAST + pen_sim_below(&dice, 200) };
    plan.ranks = (uint32_t)pen_sim_log_uniform(&dice, 2, 64);
    if (ranks != 0)
        plan.ranks = ranks;
    plan.stripe_len = plan.ranks <= 6 ? 2 * BUFFER_LEN : plan.ranks <= 16 ? 8192 : 1024;
    plan.way = pen_sim_way_draw(&dice);
    plan.has_death = pen_sim_below(&dice, 12) == 0;
    plan.near_wrap = pen_sim_below(&dice, 2) == 0;
    plan.idle = pen_sim_chance(&dice, 0.2);
    plan.compute_ns = pen_sim_log_uniform(&dice, PEN_SIM_US, 200 * PEN_SIM_US);
    plan.look_ns = pen_sim_log_uniform(&dice, PEN_SIM_US, 20 * PEN_SIM_US);
    return plan;
}

static pen_sim_fault *plan_fault(eng_world *world, pen_sim_fault_kind kind, uint64_t latest_ns)
{
    static const uint64_t longest_ns[] = { [PEN_SIM_PARTITION] = 2 * PEN_SIM_SECOND,
                                           [PEN_SIM_STOPPED] = 60 * PEN_SIM_SECOND,
                                           [PEN_SIM_NARROW] = PEN_SIM_NARROW_NS_MAX,
                                           [PEN_SIM_DEAD] = 2 * PEN_SIM_MS };
    return pen_sim_fault_draw(&world->network, kind, latest_ns, longest_ns[kind]);
}

static void plan_faults(eng_world *world)
{
    pen_sim_dice *dice = &world->network.dice;
    for (uint32_t more = pen_sim_below(dice, PEN_SIM_FAULTS_MAX - 1); more != 0; more--)
        (void)plan_fault(world, (pen_sim_fault_kind)pen_sim_below(dice, PEN_SIM_DEAD),
                         20 * PEN_SIM_MS);
    if (!world->plan.has_death)
        return;
    const pen_sim_fault *death = plan_fault(world, PEN_SIM_DEAD, 20 * PEN_SIM_MS);
    pen_sim_schedule(&world->network, death->from_ns, EVENT_DIE, death->rank, NULL);
}

/* Adds a fault that the ranks are certain to feel. Start-up may have outlasted all earlier faults,
 * and a frame may be under way for longer than this fault was to last. */
void world_talk_begins(eng_world *world)
{
    pen_sim_fault_kind kind =
        (pen_sim_fault_kind)pen_sim_below(&world->network.dice, PEN_SIM_NARROW);
    if (!world->is_talking)
        plan_fault(world, kind, 20 * PEN_SIM_US)->is_certain = true;
    world->is_talking = true;
}

/* ---- turns ----------------------------------------------------------------------------------- */

static void wake_at(eng_rank *rank, uint64_t at_ns)
{
    rank->wake_at_ns = at_ns;
    pen_sim_wake(&rank->world->network, rank->job.rank, at_ns);
}

void world_leave(eng_rank *rank)
{
    pen_sim_fiber_yield(&rank->fiber);
    abort(); /* the fiber is never resumed */
}

static uint64_t due_ns_of(const eng_rank *rank)
{
    pen_link *link = rank->job.progress.ports[0].link;
    return link->due->due_ns(link);
}

/* Returns whether the rank's next poll could have an effect that no arrival and no timer
 * announces. */
static bool has_errands(const eng_rank *rank)
{
    const pen_progress *progress = &rank->job.progress;
    if (progress->port_count == 0 || rank->is_restless || rank->idle_polls == 0 ||
        rank->inbox.count != 0 || rank->left_count != 0)
        return true;
    return due_ns_of(rank) == 0;
}

/* Skips polls that find nothing: the rank's clock advances to the next event that is due. */
void world_hand_over(eng_rank *rank)
{
    const uint64_t now_ns = rank->world->network.now_ns;
    uint64_t at_ns = now_ns + SLEEP_NS_MAX;
    if (has_errands(rank)) {
        at_ns = now_ns + rank->nap_ns;
        if (rank->nap_ns < NAP_NS_MAX)
            rank->nap_ns *= 2;
    } else {
        uint64_t due_ns = due_ns_of(rank);
        due_ns = due_ns > now_ns ? due_ns : now_ns + NAP_NS_MIN;
        at_ns = due_ns < at_ns ? due_ns : at_ns;
    }
    rank->idle_polls = 0;
    rank->is_restless = false;
    rank->phase = RANK_WAITS;
    wake_at(rank, at_ns);
    pen_sim_fiber_yield(&rank->fiber);
}

void world_compute(eng_rank *rank, uint64_t ns)
{
    rank->phase = RANK_COMPUTES;
    wake_at(rank, rank->world->network.now_ns + ns);
    pen_sim_fiber_yield(&rank->fiber);
}

/* Wakes a waiting rank, which polls all the time, after a short delay; several events may have
 * arrived by then. */
void world_rouse(eng_rank *rank)
{
    pen_sim_network *network = &rank->world->network;
    uint64_t soon_ns =
        network->now_ns + 100 + pen_sim_next(&network->dice) % rank->world->plan.look_ns;
    if (rank->phase != RANK_WAITS || rank->wake_at_ns <= soon_ns)
        return;
    rank->nap_ns = NAP_NS_MIN;
    wake_at(rank, soon_ns);
}

static void fiber_main(void *rank) { rank_main(rank); }

/* A rank that joins a meeting of start-up wakes the ranks that wait for it, since they look at
 * memory. */
static void look_at_page(eng_world *world, eng_rank *rank)
{
    pen_host_page *page = (pen_host_page *)(void *)world->arena;
    uint32_t generation = atomic_load_explicit(&page->boot_generation, memory_order_relaxed);
    uint32_t meetings =
        atomic_load_explicit(&page->ranks[rank->job.rank].meetings, memory_order_relaxed);
    if (generation == world->boot_generation && meetings == rank->meetings)
        return;
    world->boot_generation = generation;
    rank->meetings = meetings;
    for (uint32_t peer = 0; peer < world->plan.ranks; peer++)
        world_rouse(&world->ranks[peer]);
}

static void resume(eng_world *world, eng_rank *rank)
{
    uint64_t stopped_ns = pen_sim_stopped_until(&world->network, rank->job.rank);
    if (stopped_ns != 0) {
        wake_at(rank, stopped_ns);
        return;
    }
    world->running = rank;
    pen_sim_fiber_resume(&rank->fiber);
    world->running = NULL;
    look_at_page(world, rank);
    if (rank->phase < RANK_DEAD && rank->job.progress.port_count != 0)
        check_rank(world, rank->job.rank);
}

/* ---- a run ----------------------------------------------------------------------------------- */

static void die(eng_world *world, eng_rank *rank)
{
    if (rank->phase >= RANK_DEAD)
        return;
    rank->phase = RANK_DEAD;
    pen_sim_forget(&world->network, rank->job.rank);
    world->over++;
    supervisor_tell_death(world, rank->job.rank);
}

static void handle(eng_world *world, const pen_sim_network_event *event)
{
    eng_rank *rank = &world->ranks[event->rank];
    if (event->kind == PEN_SIM_WAKE && rank->phase < RANK_DEAD)
        resume(world, rank);
    else if (event->kind == EVENT_DIE)
        die(world, rank);
    else if (event->kind == EVENT_SUPERVISE) {
        supervisor_look(world);
        pen_sim_schedule(&world->network, world->network.now_ns + SUPERVISE_NS, EVENT_SUPERVISE, 0,
                         NULL);
    } else if (event->kind < PEN_SIM_WAKE)
        pen_sim_handle(&world->network, event);
}

static void run(eng_world *world)
{
    const uint64_t end_ns = world->network.faults_end_ns + HEALING_NS;
    const uint64_t events_max =
        world->plan.ranks * (EVENTS_MAX + 100 * (uint64_t)world->plan.messages);
    while (world->over < world->plan.ranks) {
        pen_sim_network_event event = pen_sim_next_event(&world->network);
        if (world->network.now_ns > end_ns || world->events++ > events_max)
            engine_fail(
                world,
                "at %.3f s, after %lu events: %u of %u ranks are over, %lu of %lu messages handled",
                (double)world->network.now_ns / 1e9, (unsigned long)world->events, world->over,
                world->plan.ranks, (unsigned long)world->handled_count,
                (unsigned long)world->plan.ranks * world->plan.messages);
        handle(world, &event);
    }
}

static void world_open(eng_world *world)
{
    const uint32_t ranks = world->plan.ranks;
    const uint64_t messages = (uint64_t)ranks * world->plan.messages;
    const size_t exchange_len = 2 * (size_t)ranks * PEN_BOOT_BLOB_MAX;
    size_t page_len =
        pen_align_up(sizeof(pen_host_page) + ranks * sizeof(pen_host_rank), PEN_CACHE_LINE);
    world->arena_len = page_len + exchange_len;
    world->arena =
        mmap(NULL, world->arena_len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    world->ranks = mmap(NULL, ranks * sizeof(eng_rank), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    world->handled = calloc(messages, 1);
    world->answered = calloc(messages, 1);
    if (world->arena == MAP_FAILED || world->ranks == MAP_FAILED || world->handled == NULL ||
        world->answered == NULL)
        abort();
    pen_host_page *page = (pen_host_page *)(void *)world->arena;
    page->magic = PEN_HOST_PAGE_MAGIC;
    page->size = ranks;
    page->cores = ranks;
    page->memory_physical = page->memory_available = UINT64_C(1) << 40;
    page->exchange_off = page_len;
    for (uint32_t self = 0; self < ranks; self++) {
        rank_open(world, self);
        pen_sim_fiber_make(&world->ranks[self].fiber, &world->stage, fiber_main,
                           &world->ranks[self]);
        world->ranks[self].nap_ns = NAP_NS_MIN;
        wake_at(&world->ranks[self], pen_sim_next(&world->network.dice) % (100 * PEN_SIM_US));
    }
    supervisor_open(world);
    pen_sim_schedule(&world->network, SUPERVISE_NS, EVENT_SUPERVISE, 0, NULL);
}

static void world_close(eng_world *world)
{
    for (uint32_t self = 0; self < world->plan.ranks; self++) {
        pen_sim_fiber_free(&world->ranks[self].fiber);
        rank_close(&world->ranks[self]);
    }
    supervisor_close(world);
    munmap(world->ranks, world->plan.ranks * sizeof(eng_rank));
    munmap(world->arena, world->arena_len);
    free(world->handled);
    free(world->answered);
    pen_sim_network_close(&world->network);
}

/* Counts the properties of the seed that ran. */
static void count(eng_world *world, eng_totals *totals)
{
    uint32_t felt = 0, messages = UINT32_MAX;
    for (uint32_t i = 0; i < world->network.fault_count; i++)
        felt += world->network.faults[i].felt != 0;
    for (uint32_t self = 0; self < world->plan.ranks; self++)
        messages = world->ranks[self].sent < messages ? world->ranks[self].sent : messages;
    totals->seeds++;
    totals->ranks += world->plan.ranks;
    totals->messages += world->handled_count;
    totals->faults += felt;
    totals->datagrams += world->network.sent;
    totals->resent += world->resent;
    totals->duplicates += world->duplicates;
    totals->virtual_ns += world->network.now_ns;
    if (pen_exit_rule_status(&world->rule) != 0) {
        totals->deaths++;
        return;
    }
    if (felt == 0 || messages < MESSAGES_LEAST)
        engine_fail(world, "a seed of %u faults, and %u messages of a rank", felt, messages);
    if (totals->faults_least == 0 || felt < totals->faults_least)
        totals->faults_least = felt;
    if (totals->messages_least == 0 || messages < totals->messages_least)
        totals->messages_least = messages;
}

void engine_run(const eng_plan *plan, eng_totals *totals)
{
    eng_world world = { .plan = *plan };
    pen_sim_network_open(&world.network, &plan->way, plan->seed, plan->ranks);
    world.network.ctx = &world;
    world.network.arrive = conduit_arrive;
    world.network.left = conduit_left;
    world_open(&world);
    plan_faults(&world);
    run(&world);
    check_end(&world);
    count(&world, totals);
    world_close(&world);
}
