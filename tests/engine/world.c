/* SPDX-License-Identifier: BSD-3-Clause */
/* world.c: what a seed means, the clock, and whose turn it is. */
#include "engine.h"

#include "os/os.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { STACK_LEN = 256 << 10 };
#define NAP_NS_MIN   (2 * US)
#define NAP_NS_MAX   (20 * MS) /* a rank that hears nothing looks so often at least */
#define HEALING_NS   (300 * SECOND)
#define EVENTS_MAX   UINT64_C(40000) /* for each rank, and message of it a hundred */
#define SUPERVISE_NS (20 * MS)

/* ---- the plan -------------------------------------------------------------------------------- */

static double chance(sim_dice *dice, double most)
{
    return sim_below(dice, 3) == 0 ? 0 : most * sim_below(dice, 1000) / 1000;
}

eng_plan plan_of(uint64_t seed, uint32_t ranks)
{
    sim_dice dice = { seed * 2 + (ranks != 0) };
    eng_plan plan = { .seed = seed, .messages = 1000 + sim_below(&dice, 200) };
    plan.ranks = (uint32_t)sim_log_uniform(&dice, 2, 64);
    if (ranks != 0)
        plan.ranks = ranks;
    plan.stripe_len = plan.ranks <= 16 ? 8192 : 1024;
    plan.frame_max = 1024u << sim_below(&dice, 5);
    plan.grain = 1u << sim_below(&dice, 10);
    plan.overhead = sim_below(&dice, 800);
    plan.inbox_len =
        sim_below(&dice, 4) == 0 ? 0 : (size_t)sim_log_uniform(&dice, 1 << 12, 1 << 22);
    plan.intact = sim_below(&dice, 2) == 0;
    plan.has_death = sim_below(&dice, 12) == 0;
    plan.drop = chance(&dice, 0.3);
    plan.duplicate = chance(&dice, 0.5);
    plan.reorder = chance(&dice, 0.3);
    plan.corrupt = chance(&dice, 0.05);
    plan.refuse = chance(&dice, 0.1);
    plan.defer = chance(&dice, 0.3);
    plan.idle = chance(&dice, 0.2);
    plan.delay_ns = sim_log_uniform(&dice, 2 * US, MS);
    plan.jitter_ns = plan.delay_ns / (1 + sim_below(&dice, 8));
    plan.reorder_ns = sim_log_uniform(&dice, 10 * US, 20 * MS);
    plan.compute_ns = sim_log_uniform(&dice, US, 200 * US);
    return plan;
}

static void plan_fault(eng_world *world, eng_fault *fault, fault_kind kind)
{
    sim_dice *dice = &world->dice;
    fault->kind = kind;
    fault->from_ns = sim_log_uniform(dice, 10 * US, 20 * MS);
    fault->to_ns = fault->from_ns +
                   sim_log_uniform(dice, MS, kind == FAULT_STOPPED ? 60 * SECOND : 2 * SECOND);
    fault->rank = sim_below(dice, world->plan.ranks);
    fault->side = sim_next(dice);
    fault->frame_max = 128 + sim_below(dice, world->plan.frame_max);
    if (fault->to_ns > world->faults_end_ns)
        world->faults_end_ns = fault->to_ns;
}

/* At least one. */
static void plan_faults(eng_world *world)
{
    world->fault_count = 1 + sim_below(&world->dice, FAULTS_MAX - 1);
    for (uint32_t i = 0; i < world->fault_count; i++)
        plan_fault(world, &world->faults[i], (fault_kind)sim_below(&world->dice, FAULT_DEAD));
    if (!world->plan.has_death)
        return;
    eng_fault *death = &world->faults[world->fault_count++];
    plan_fault(world, death, FAULT_DEAD);
    world_schedule(world, death->from_ns, EVENT_DIE, death->rank, NULL);
}

uint64_t world_stopped_until(const eng_world *world, uint32_t rank)
{
    uint64_t until_ns = 0;
    for (uint32_t i = 0; i < world->fault_count; i++) {
        const eng_fault *fault = &world->faults[i];
        if (fault->kind == FAULT_STOPPED && fault->rank == rank &&
            world->now_ns >= fault->from_ns && world->now_ns < fault->to_ns &&
            fault->to_ns > until_ns)
            until_ns = fault->to_ns;
    }
    return until_ns;
}

/* ---- events ---------------------------------------------------------------------------------- */

static bool is_before(const eng_event *one, const eng_event *other)
{
    return one->at_ns != other->at_ns ? one->at_ns < other->at_ns : one->order < other->order;
}

void world_schedule(eng_world *world, uint64_t at_ns, event_kind kind, uint32_t rank,
                    eng_datagram *datagram)
{
    if (world->heap_count == world->heap_max) {
        world->heap_max = world->heap_max == 0 ? 1024 : world->heap_max * 2;
        eng_event *more = realloc(world->heap, world->heap_max * sizeof *more);
        if (more == NULL)
            abort();
        world->heap = more;
    }
    eng_event added = { at_ns, world->order++, kind, rank, datagram };
    size_t i = world->heap_count++;
    for (; i != 0 && is_before(&added, &world->heap[(i - 1) / 2]); i = (i - 1) / 2)
        world->heap[i] = world->heap[(i - 1) / 2];
    world->heap[i] = added;
}

static eng_event next_event(eng_world *world)
{
    eng_event first = world->heap[0], last = world->heap[--world->heap_count];
    size_t i = 0, count = world->heap_count;
    for (size_t child; (child = 2 * i + 1) < count; i = child) {
        if (child + 1 < count && is_before(&world->heap[child + 1], &world->heap[child]))
            child++;
        if (!is_before(&world->heap[child], &last))
            break;
        world->heap[i] = world->heap[child];
    }
    world->heap[i] = last;
    return first;
}

/* ---- turns ----------------------------------------------------------------------------------- */

static void wake_at(eng_rank *rank, uint64_t at_ns)
{
    rank->wake_at_ns = at_ns;
    rank->wake_order = rank->world->order;
    world_schedule(rank->world, at_ns, EVENT_WAKE, rank->job.rank, NULL);
}

/* swapcontext asks the kernel for the signal mask each time; _setjmp does not. AddressSanitizer
 * knows of the former only. */
#if defined(__SANITIZE_ADDRESS__)
enum { BY_CONTEXT = 1 };
#else
enum { BY_CONTEXT = 0 };
#endif

static void to_world(eng_rank *rank)
{
    if (BY_CONTEXT) {
        if (swapcontext(&rank->context, &rank->world->context) != 0)
            abort();
    } else if (_setjmp(rank->here) == 0) {
        _longjmp(rank->world->here, 1);
    }
}

static void to_rank(eng_world *world, eng_rank *rank)
{
    bool begins = !rank->has_begun;
    rank->has_begun = true;
    if (BY_CONTEXT) {
        if (swapcontext(&world->context, &rank->context) != 0)
            abort();
    } else if (_setjmp(world->here) == 0) {
        if (begins)
            (void)setcontext(&rank->context);
        _longjmp(rank->here, 1);
    }
}

void world_leave(eng_rank *rank)
{
    to_world(rank);
    abort(); /* it is nobody's turn any more */
}

void world_hand_over(eng_rank *rank)
{
    rank->idle_polls = 0;
    rank->phase = RANK_WAITS;
    wake_at(rank, rank->world->now_ns + rank->nap_ns);
    if (rank->nap_ns < NAP_NS_MAX)
        rank->nap_ns *= 2;
    to_world(rank);
}

void world_compute(eng_rank *rank, uint64_t ns)
{
    rank->phase = RANK_COMPUTES;
    wake_at(rank, rank->world->now_ns + ns);
    to_world(rank);
}

static void fiber_begin(unsigned low, unsigned high)
{
    eng_rank *rank = (eng_rank *)(uintptr_t)((uint64_t)high << 32 | low);
    rank_main(rank);
    abort(); /* it ends in its last hand-over */
}

static void fiber_make(eng_rank *rank)
{
    rank->stack = mmap(NULL, STACK_LEN, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (rank->stack == MAP_FAILED || getcontext(&rank->context) != 0)
        abort();
    rank->context.uc_stack.ss_sp = rank->stack;
    rank->context.uc_stack.ss_size = STACK_LEN;
    uint64_t address = (uint64_t)(uintptr_t)rank;
    makecontext(&rank->context, (void (*)(void))fiber_begin, 2, (unsigned)address,
                (unsigned)(address >> 32));
}

static void resume(eng_world *world, eng_rank *rank)
{
    uint64_t stopped_ns = world_stopped_until(world, rank->job.rank);
    if (stopped_ns != 0) {
        wake_at(rank, stopped_ns);
        return;
    }
    world->running = rank;
    to_rank(world, rank);
    world->running = NULL;
    if (rank->phase < RANK_DEAD && rank->job.progress.port_count != 0)
        check_rank(world, rank->job.rank);
}

/* ---- a run ----------------------------------------------------------------------------------- */

static void arrived(eng_world *world, eng_datagram *datagram)
{
    eng_rank *to = &world->ranks[datagram->to];
    network_arrive(world, datagram);
    uint64_t soon_ns = world->now_ns + 100 + sim_below(&world->dice, 2000);
    if (to->phase != RANK_WAITS || to->wake_at_ns <= soon_ns)
        return;
    to->nap_ns = NAP_NS_MIN;
    wake_at(to, soon_ns);
}

static void die(eng_world *world, eng_rank *rank)
{
    if (rank->phase >= RANK_DEAD)
        return;
    rank->phase = RANK_DEAD;
    world->over++;
    supervisor_tell_death(world, rank->job.rank);
}

static void handle(eng_world *world, const eng_event *event)
{
    eng_rank *rank = &world->ranks[event->rank];
    if (event->kind == EVENT_ARRIVE)
        arrived(world, event->datagram);
    else if (event->kind == EVENT_LEAVE)
        network_leave(world, event->datagram);
    else if (event->kind == EVENT_DIE)
        die(world, rank);
    else if (event->kind == EVENT_SUPERVISE) {
        supervisor_look(world);
        world_schedule(world, world->now_ns + SUPERVISE_NS, EVENT_SUPERVISE, 0, NULL);
    } else if (event->order == rank->wake_order && rank->phase < RANK_DEAD)
        resume(world, rank);
}

static void run(eng_world *world)
{
    const uint64_t end_ns = world->faults_end_ns + HEALING_NS;
    const uint64_t events_max =
        world->plan.ranks * (EVENTS_MAX + 100 * (uint64_t)world->plan.messages);
    while (world->over < world->plan.ranks) {
        eng_event event = next_event(world);
        world->now_ns = event.at_ns;
        if (world->now_ns > end_ns || world->events++ > events_max)
            engine_fail(
                world,
                "at %.3f s, after %lu events: %u of %u ranks are over, %lu of %lu messages handled",
                (double)world->now_ns / 1e9, (unsigned long)world->events, world->over,
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
    supervisor_open(world);
    for (uint32_t self = 0; self < ranks; self++) {
        rank_open(world, self);
        fiber_make(&world->ranks[self]);
        world->ranks[self].nap_ns = NAP_NS_MIN;
        wake_at(&world->ranks[self], sim_next(&world->dice) % (100 * US));
    }
    world_schedule(world, SUPERVISE_NS, EVENT_SUPERVISE, 0, NULL);
}

static void world_close(eng_world *world)
{
    while (world->heap_count != 0) {
        eng_event event = next_event(world);
        if (event.datagram != NULL)
            network_free(world, event.datagram);
    }
    for (uint32_t self = 0; self < world->plan.ranks; self++) {
        munmap(world->ranks[self].stack, STACK_LEN);
        rank_close(&world->ranks[self]);
    }
    supervisor_close(world);
    munmap(world->ranks, world->plan.ranks * sizeof(eng_rank));
    munmap(world->arena, world->arena_len);
    free(world->handled);
    free(world->answered);
    free(world->heap);
}

void engine_run(const eng_plan *plan, eng_totals *totals)
{
    eng_world world = { .plan = *plan, .dice = { plan->seed ^ UINT64_C(0x5bd1e995) } };
    world_open(&world);
    plan_faults(&world);
    run(&world);
    check_end(&world);
    totals->seeds++;
    totals->ranks += plan->ranks;
    totals->messages += world.handled_count;
    totals->faults += world.fault_count;
    totals->deaths += plan->has_death;
    totals->datagrams += world.datagrams;
    totals->resent += world.resent;
    totals->duplicates += world.duplicates;
    totals->virtual_ns += world.now_ns;
    world_close(&world);
}
