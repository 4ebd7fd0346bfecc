/* SPDX-License-Identifier: BSD-3-Clause */
/* world.c: the plan of a seed, the clock, and the network. */
#include "sim.h"

#include "base/compiler.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of events, in which a run is over or hangs; and of time, after the last fault. */
#define EVENTS_MAX UINT64_C(3000000)
#define HEALING_NS (300 * SIM_SECOND)
#define TALK_MAX   UINT64_C(100000) /* events after all was done */
#define SILENCE_NS (60 * SIM_SECOND)

const char *sim_mutant;

bool sim_is(const char *name) { return sim_mutant != NULL && strcmp(sim_mutant, name) == 0; }

/* ---- the plan -------------------------------------------------------------------------------- */

static double chance(sim_dice *dice, double most)
{
    return sim_below(dice, 3) == 0 ? 0 : most * sim_below(dice, 1000) / 1000;
}

sim_plan sim_plan_of(uint64_t seed, bool is_long)
{
    sim_dice dice = { seed * 2 + is_long };
    sim_plan plan = { .seed = seed, .is_long = is_long };
    plan.ranks = (uint32_t)sim_log_uniform(&dice, 2, SIM_RANKS_MAX);
    plan.messages = is_long ? 1000 : 1 + (uint32_t)sim_log_uniform(&dice, 32, 511) / plan.ranks;
    if (plan.ranks == 2) /* numbers go round the window */
        plan.messages = (uint32_t)sim_log_uniform(&dice, 64, 2047);
    plan.frame_max = 1024u << sim_below(&dice, 4);
    plan.body_max = plan.frame_max - 128;
    plan.grain = 1u << sim_below(&dice, 10);
    plan.overhead = sim_below(&dice, 800);
    plan.borrow_len = sim_below(&dice, 2) == 0 ? 256 : 8192;
    plan.inbox_len = sim_below(&dice, 4) == 0 ? 0 : (size_t)sim_log_uniform(&dice, 1024, 1 << 20);
    plan.memory_max = (size_t)64 << 10 << sim_below(&dice, 8);
    plan.intact = sim_below(&dice, 4) == 0;
    plan.near_wrap = sim_below(&dice, 2) == 0;
    plan.has_hostile = plan.ranks > 2 && sim_below(&dice, 4) == 0;
    plan.drop = chance(&dice, 0.3);
    plan.duplicate = chance(&dice, 0.5);
    plan.reorder = chance(&dice, 0.3);
    plan.corrupt = chance(&dice, 0.05);
    plan.refuse = chance(&dice, 0.2);
    plan.defer = chance(&dice, 0.3);
    plan.unasked = chance(&dice, 0.95);
    plan.delay_ns = sim_log_uniform(&dice, 2000, 2000000);
    plan.jitter_ns = plan.delay_ns / (1 + sim_below(&dice, 8));
    plan.reorder_ns = sim_log_uniform(&dice, 10000, 50 * SIM_MS);
    return plan;
}

static void plan_faults(sim_world *world)
{
    sim_plan *plan = &world->plan;
    world->fault_count = sim_below(&world->dice, SIM_FAULTS_MAX + 1);
    for (uint32_t i = 0; i < world->fault_count; i++) {
        sim_fault *fault = &world->faults[i];
        fault->from_ns = sim_log_uniform(&world->dice, 10000, 20 * SIM_MS);
        fault->to_ns = fault->from_ns + sim_log_uniform(&world->dice, SIM_MS, 300 * SIM_SECOND);
        fault->rank = sim_below(&world->dice, plan->ranks);
        fault->side = sim_below(&world->dice, 2) == 0 ? 0 : sim_next(&world->dice);
        if (fault->to_ns > plan->faults_end_ns)
            plan->faults_end_ns = fault->to_ns;
    }
}

uint64_t sim_stopped_until(const sim_world *world, pen_peer rank)
{
    uint64_t until_ns = 0;
    for (uint32_t i = 0; i < world->fault_count; i++) {
        const sim_fault *fault = &world->faults[i];
        if (fault->side == 0 && fault->rank == rank && world->now_ns >= fault->from_ns &&
            world->now_ns < fault->to_ns && fault->to_ns > until_ns)
            until_ns = fault->to_ns;
    }
    return until_ns;
}

static bool is_parted(const sim_world *world, pen_peer from, pen_peer to)
{
    for (uint32_t i = 0; i < world->fault_count; i++) {
        const sim_fault *fault = &world->faults[i];
        if (fault->side != 0 && ((fault->side >> from ^ fault->side >> to) & 1) != 0 &&
            world->now_ns >= fault->from_ns && world->now_ns < fault->to_ns)
            return true;
    }
    return false;
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
    memset(block->bytes, 0xcd, len < 256 ? len : 256); /* nobody promised zeros */
    world->allocated += len;
    return block->bytes;
}

void sim_release(sim_world *world, void *memory)
{
    sim_block *block = pen_container_of(memory, sim_block, bytes);
    world->allocated -= block->len;
    free(block);
}

/* ---- events ---------------------------------------------------------------------------------- */

static bool is_before(const sim_event *one, const sim_event *other)
{
    return one->at_ns != other->at_ns ? one->at_ns < other->at_ns : one->order < other->order;
}

static void heap_swap(sim_event *one, sim_event *other)
{
    sim_event event = *one;
    *one = *other;
    *other = event;
}

void sim_schedule(sim_world *world, uint64_t at_ns, sim_event_kind kind, pen_peer rank,
                  sim_datagram *datagram)
{
    if (world->heap_count == world->heap_max) {
        world->heap_max = world->heap_max == 0 ? 256 : world->heap_max * 2;
        void *larger = realloc(world->heap, world->heap_max * sizeof *world->heap);
        if (larger == NULL)
            abort();
        world->heap = (sim_event *)larger;
    }
    size_t i = world->heap_count++;
    world->heap[i] = (sim_event){ at_ns, world->order++, kind, rank, datagram };
    for (; i != 0 && is_before(&world->heap[i], &world->heap[(i - 1) / 2]); i = (i - 1) / 2)
        heap_swap(&world->heap[i], &world->heap[(i - 1) / 2]);
}

static sim_event next_event(sim_world *world)
{
    sim_event first = world->heap[0];
    world->heap[0] = world->heap[--world->heap_count];
    for (size_t i = 0;;) {
        size_t least = i;
        for (size_t child = 2 * i + 1; child <= 2 * i + 2; child++)
            if (child < world->heap_count && is_before(&world->heap[child], &world->heap[least]))
                least = child;
        if (least == i)
            return first;
        heap_swap(&world->heap[i], &world->heap[least]);
        i = least;
    }
}

/* ---- the network ----------------------------------------------------------------------------- */

static sim_datagram *datagram_make(sim_world *world, pen_peer from, pen_peer to, pen_lane lane,
                                   const pen_frame *frame)
{
    size_t body_off = pen_align_up(sizeof(sim_datagram) + frame->head_len, 16);
    sim_datagram *datagram = (sim_datagram *)sim_alloc(world, body_off + frame->body_len, 16);
    *datagram = (sim_datagram){
        .from = from,
        .to = to,
        .lane = lane,
        .head_len = frame->head_len,
        .body_len = frame->body_len,
        .head = (unsigned char *)(datagram + 1),
        .body = (unsigned char *)datagram + body_off,
    };
    memcpy(datagram->head, frame->head, frame->head_len);
    world->datagrams++;
    return datagram;
}

void sim_datagram_free(sim_world *world, sim_datagram *datagram)
{
    world->datagrams--;
    sim_release(world, datagram);
}

static void flip_bit(sim_world *world, sim_datagram *datagram)
{
    uint32_t bit = sim_below(&world->dice, (datagram->head_len + datagram->body_len) * 8);
    uint32_t at = bit / 8;
    unsigned char *byte =
        at < datagram->head_len ? &datagram->head[at] : &datagram->body[at - datagram->head_len];
    *byte = (unsigned char)(*byte ^ 1u << bit % 8);
}

/* The frame has left its sender, and is on its way or gone. */
static void travel(sim_world *world, sim_datagram *datagram)
{
    const sim_plan *plan = &world->plan;
    uint64_t at_ns = world->now_ns + plan->delay_ns;
    at_ns += sim_next(&world->dice) % (plan->jitter_ns + 1);
    if (sim_hits(&world->dice, plan->reorder))
        at_ns += sim_next(&world->dice) % plan->reorder_ns;
    if (sim_hits(&world->dice, plan->corrupt)) {
        flip_bit(world, datagram);
        datagram->corrupt = true;
    }
    if (sim_hits(&world->dice, plan->drop) || is_parted(world, datagram->from, datagram->to) ||
        (datagram->corrupt && plan->intact))
        sim_datagram_free(world, datagram);
    else
        sim_schedule(world, at_ns, SIM_ARRIVE, datagram->to, datagram);
}

static void leave(sim_world *world, sim_datagram *datagram)
{
    if (datagram->later != NULL && datagram->body_len != 0)
        memcpy(datagram->body, datagram->later, datagram->body_len);
    if (datagram->op != NULL) {
        pen_op_source_done(datagram->op);
        pen_op_done(datagram->op);
    }
    datagram->op = NULL;
    if (sim_hits(&world->dice, world->plan.duplicate)) {
        pen_frame frame = { datagram->head, datagram->body, datagram->head_len,
                            datagram->body_len };
        sim_datagram *twin =
            datagram_make(world, datagram->from, datagram->to, datagram->lane, &frame);
        memcpy(twin->body, datagram->body, datagram->body_len);
        travel(world, twin);
    }
    travel(world, datagram);
}

pen_post sim_send(sim_world *world, pen_peer from, pen_peer to, pen_lane lane,
                  const pen_frame *frame, pen_op *op)
{
    const sim_plan *plan = &world->plan;
    if (frame->head_len < 8 || frame->head_len > PEN_FRAME_HEAD_MAX || frame->head_len % 8 != 0 ||
        frame->body_len > plan->frame_max)
        sim_fail(world, "a frame of %u and %u bytes is posted", frame->head_len, frame->body_len);
    if (sim_hits(&world->dice, plan->refuse))
        return PEN_POST_AGAIN;
    sim_datagram *datagram = datagram_make(world, from, to, lane, frame);
    if (op != NULL && frame->body_len != 0 && sim_hits(&world->dice, plan->defer)) {
        datagram->later = frame->body;
        datagram->op = op;
        sim_schedule(world, world->now_ns + sim_next(&world->dice) % SIM_MS, SIM_LEAVE, from,
                     datagram);
        return PEN_POST_PENDING;
    }
    if (frame->body_len != 0)
        memcpy(datagram->body, frame->body, frame->body_len);
    leave(world, datagram);
    return PEN_POST_DONE;
}

/* ---- a run ----------------------------------------------------------------------------------- */

static void handle(sim_world *world, const sim_event *event)
{
    if (event->kind == SIM_POLL)
        sim_rank_poll(world, event->rank);
    else if (event->kind == SIM_LEAVE)
        leave(world, event->datagram);
    else
        sim_rank_arrive(world, event->datagram);
}

/* One event after another, until everything has arrived and nothing is outstanding. */
static void run_to_done(sim_world *world)
{
    const uint64_t end_ns = world->plan.faults_end_ns + HEALING_NS;
    const uint64_t events_max = world->plan.is_long ? EVENTS_MAX * 20 : EVENTS_MAX;
    while (!sim_ranks_are_done(world)) {
        if (world->heap_count == 0)
            sim_fail(world, "everybody sleeps and %lu of %lu frames have not arrived",
                     (unsigned long)(world->posted - world->delivered),
                     (unsigned long)world->posted);
        if (world->now_ns > end_ns || world->events++ > events_max)
            sim_fail(world, "%lu of %lu frames have not arrived long after the faults were over",
                     (unsigned long)(world->posted - world->delivered),
                     (unsigned long)world->posted);
        sim_event event = next_event(world);
        world->now_ns = event.at_ns;
        handle(world, &event);
    }
}

/* Then there is nothing to say any more. */
static void run_to_silence(sim_world *world)
{
    uint64_t end_ns = world->now_ns;
    if (end_ns < world->plan.faults_end_ns)
        end_ns = world->plan.faults_end_ns;
    for (uint64_t talk = 0; world->heap_count != 0; talk++) {
        sim_event event = next_event(world);
        world->now_ns = event.at_ns;
        if (talk > TALK_MAX || world->now_ns > end_ns + SILENCE_NS)
            sim_fail(world, "somebody still has something to do long after all was done");
        handle(world, &event);
    }
}

/* After a failure memory is left as it is: nothing in it can be relied on. */
bool sim_run(const sim_plan *plan, char what[SIM_WHAT_MAX])
{
    sim_world *world = (sim_world *)calloc(1, sizeof *world);
    if (world == NULL)
        abort();
    world->plan = *plan;
    world->dice.state = plan->seed ^ UINT64_C(0x5bd1e995);
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
    free(world->heap);
    free(world);
    return true;
}
