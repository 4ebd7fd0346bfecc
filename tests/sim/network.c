/* SPDX-License-Identifier: BSD-3-Clause */
/* network.c: see network.h. */
#include "network.h"

#include "base/compiler.h"
#include "conduit/conduit.h"

#include <stdlib.h>
#include <string.h>

enum { HEAP_FIRST = 1024, FORK = 4 /* children of a node of the heap */ };

/* ---- what a seed means ----------------------------------------------------------------------- */

double sim_chance(sim_dice *dice, double most)
{
    return sim_below(dice, 3) == 0 ? 0 : most * sim_below(dice, 1000) / 1000;
}

sim_way sim_way_draw(sim_dice *dice)
{
    sim_way way = { .frame_max = 1024u << sim_below(dice, 5) };
    way.grain = 1u << sim_below(dice, 10);
    way.overhead = sim_below(dice, 800);
    way.inbox_len = sim_below(dice, 4) == 0 ? 0 : (size_t)sim_log_uniform(dice, 1 << 10, 1 << 22);
    way.intact = sim_below(dice, 2) == 0;
    way.drop = sim_chance(dice, 0.3);
    way.duplicate = sim_chance(dice, 0.5);
    way.reorder = sim_chance(dice, 0.3);
    way.corrupt = sim_chance(dice, 0.05);
    way.refuse = sim_chance(dice, 0.2);
    way.defer = sim_chance(dice, 0.3);
    way.delay_ns = sim_log_uniform(dice, 2 * SIM_US, 2 * SIM_MS);
    way.jitter_ns = way.delay_ns / (1 + sim_below(dice, 8));
    way.reorder_ns = sim_log_uniform(dice, 10 * SIM_US, 50 * SIM_MS);
    return way;
}

static bool side_of(const sim_fault *fault, uint32_t rank)
{
    sim_dice dice = { fault->side + rank };
    return (sim_next(&dice) & 1) != 0;
}

/* Draws the half of each rank, with some ranks in either half. */
static uint64_t side_draw(sim_network *network)
{
    sim_fault fault = { .side = sim_next(&network->dice) };
    for (;; fault.side = sim_next(&network->dice))
        for (uint32_t rank = 1; rank < network->ranks; rank++)
            if (side_of(&fault, rank) != side_of(&fault, 0))
                return fault.side;
}

sim_fault *sim_fault_draw(sim_network *network, sim_fault_kind kind, uint64_t latest_ns,
                          uint64_t longest_ns)
{
    sim_dice *dice = &network->dice;
    sim_fault *fault = &network->faults[network->fault_count++];
    fault->kind = kind;
    fault->from_ns = network->now_ns + sim_log_uniform(dice, 10 * SIM_US, latest_ns);
    fault->to_ns = fault->from_ns + sim_log_uniform(dice, SIM_MS, longest_ns);
    fault->rank = sim_below(dice, network->ranks);
    fault->side = side_draw(network);
    fault->frame_max = 128 + sim_below(dice, network->way.frame_max);
    if (fault->to_ns > network->faults_end_ns)
        network->faults_end_ns = fault->to_ns;
    return fault;
}

static bool is_on(const sim_network *network, const sim_fault *fault, sim_fault_kind kind)
{
    return fault->kind == kind && network->now_ns >= fault->from_ns &&
           (network->now_ns < fault->to_ns || (fault->is_certain && fault->felt == 0));
}

static void feel(sim_network *network, sim_fault *fault)
{
    const uint64_t least_ns = network->now_ns + SIM_CERTAIN_NS;
    if (fault->is_certain && fault->felt == 0 && fault->to_ns < least_ns)
        fault->to_ns = least_ns;
    if (fault->to_ns > network->faults_end_ns)
        network->faults_end_ns = fault->to_ns;
    fault->felt++;
}

uint64_t sim_stopped_until(sim_network *network, uint32_t rank)
{
    uint64_t until_ns = 0;
    for (uint32_t i = 0; i < network->fault_count; i++) {
        sim_fault *fault = &network->faults[i];
        if (!is_on(network, fault, SIM_STOPPED) || fault->rank != rank)
            continue;
        feel(network, fault);
        until_ns = fault->to_ns > until_ns ? fault->to_ns : until_ns;
    }
    return until_ns;
}

bool sim_was_stopped(const sim_network *network, uint32_t rank, uint64_t since_ns)
{
    for (uint32_t i = 0; i < network->fault_count; i++) {
        const sim_fault *fault = &network->faults[i];
        bool was_on = fault->kind == SIM_STOPPED && fault->from_ns <= network->now_ns &&
                      fault->to_ns >= since_ns;
        if (fault->rank == rank && (was_on || is_on(network, fault, SIM_STOPPED)))
            return true;
    }
    return false;
}

static bool is_swallowed(sim_network *network, const sim_datagram *datagram)
{
    for (uint32_t i = 0; i < network->fault_count; i++) {
        sim_fault *fault = &network->faults[i];
        if ((is_on(network, fault, SIM_PARTITION) &&
             side_of(fault, datagram->from) != side_of(fault, datagram->to)) ||
            (is_on(network, fault, SIM_NARROW) && datagram->body_len > fault->frame_max)) {
            feel(network, fault);
            return true;
        }
    }
    return false;
}

/* ---- events ---------------------------------------------------------------------------------- */

static bool is_before(const sim_event *one, const sim_event *other)
{
    return one->at_ns != other->at_ns ? one->at_ns < other->at_ns : one->order < other->order;
}

void sim_schedule(sim_network *network, uint64_t at_ns, uint32_t kind, uint32_t rank,
                  sim_datagram *datagram)
{
    if (network->heap_count == network->heap_max) {
        network->heap_max = network->heap_max == 0 ? HEAP_FIRST : network->heap_max * 2;
        sim_event *more =
            (sim_event *)realloc(network->heap, network->heap_max * sizeof *network->heap);
        if (more == NULL)
            abort();
        network->heap = more;
    }
    sim_event added = { at_ns, network->order++, kind, rank, datagram };
    size_t i = network->heap_count++;
    for (; i != 0 && is_before(&added, &network->heap[(i - 1) / FORK]); i = (i - 1) / FORK)
        network->heap[i] = network->heap[(i - 1) / FORK];
    network->heap[i] = added;
}

static size_t first_child(const sim_network *network, size_t i)
{
    size_t first = FORK * i + 1, end = first + FORK;
    if (end > network->heap_count)
        end = network->heap_count;
    for (size_t child = first + 1; child < end; child++)
        if (is_before(&network->heap[child], &network->heap[first]))
            first = child;
    return first;
}

static bool is_sooner(const sim_network *network, uint32_t one, uint32_t other)
{
    const sim_alarm *mine = &network->alarms[one], *its = &network->alarms[other];
    return mine->at_ns != its->at_ns ? mine->at_ns < its->at_ns : mine->order < its->order;
}

static void alarm_set(sim_network *network, uint32_t rank, uint64_t at_ns)
{
    uint32_t *earliest = network->earliest;
    network->alarms[rank] = (sim_alarm){ at_ns, network->order++ };
    for (uint32_t i = (rank + network->leaves) / 2; i != 0; i /= 2) {
        uint32_t left = earliest[2 * i], right = earliest[2 * i + 1];
        earliest[i] = is_sooner(network, right, left) ? right : left;
    }
}

void sim_wake(sim_network *network, uint32_t rank, uint64_t at_ns)
{
    alarm_set(network, rank, at_ns);
}

/* Returns the rank whose turn comes next. NULL: an event is earlier, or no rank has a turn. */
static const sim_alarm *next_alarm(const sim_network *network)
{
    const sim_alarm *alarm = &network->alarms[network->earliest[1]];
    if (alarm->at_ns == UINT64_MAX)
        return NULL;
    if (network->heap_count == 0)
        return alarm;
    const sim_event *event = &network->heap[0];
    bool is_next =
        alarm->at_ns != event->at_ns ? alarm->at_ns < event->at_ns : alarm->order < event->order;
    return is_next ? alarm : NULL;
}

bool sim_has_event(const sim_network *network)
{
    return network->heap_count != 0 || next_alarm(network) != NULL;
}

static sim_event take_first(sim_network *network)
{
    sim_event first = network->heap[0], last = network->heap[--network->heap_count];
    size_t i = 0;
    for (size_t child; FORK * i + 1 < network->heap_count; i = child) {
        child = first_child(network, i);
        if (!is_before(&network->heap[child], &last))
            break;
        network->heap[i] = network->heap[child];
    }
    network->heap[i] = last;
    return first;
}

sim_event sim_next_event(sim_network *network)
{
    const sim_alarm *alarm = next_alarm(network);
    sim_event next;
    if (alarm != NULL) {
        uint32_t rank = (uint32_t)(alarm - network->alarms);
        next = (sim_event){ alarm->at_ns, alarm->order, SIM_WAKE, rank, NULL };
        alarm_set(network, rank, UINT64_MAX);
    } else {
        next = take_first(network);
    }
    network->now_ns = next.at_ns;
    return next;
}

/* ---- beginning and end ----------------------------------------------------------------------- */

void sim_network_open(sim_network *network, const sim_way *way, uint64_t seed, uint32_t ranks)
{
    *network = (sim_network){
        .way = *way, .dice = { seed ^ UINT64_C(0x5bd1e995) }, .ranks = ranks, .leaves = 2
    };
    while (network->leaves < ranks)
        network->leaves *= 2;
    network->alarms = (sim_alarm *)malloc(network->leaves * sizeof *network->alarms);
    network->earliest = (uint32_t *)calloc(2 * (size_t)network->leaves, sizeof(uint32_t));
    if (network->alarms == NULL || network->earliest == NULL)
        abort();
    for (uint32_t i = 0; i < network->leaves; i++) {
        network->alarms[i] = (sim_alarm){ UINT64_MAX, 0 };
        network->earliest[network->leaves + i] = i;
    }
    for (uint32_t i = network->leaves - 1; i != 0; i--)
        network->earliest[i] = network->earliest[2 * i];
}

void sim_network_close(sim_network *network)
{
    while (network->heap_count != 0) {
        sim_event event = take_first(network);
        if (event.datagram != NULL)
            sim_datagram_free(network, event.datagram);
    }
    free(network->heap);
    free(network->alarms);
    free(network->earliest);
}

/* ---- frames ---------------------------------------------------------------------------------- */

static sim_datagram *datagram_make(sim_network *network, uint32_t from, uint32_t to, pen_lane lane,
                                   const pen_frame *frame)
{
    size_t body_off = pen_align_up(sizeof(sim_datagram) + frame->head_len, 16);
    sim_datagram *made = (sim_datagram *)malloc(body_off + frame->body_len);
    if (made == NULL)
        abort();
    *made = (sim_datagram){ .from = from,
                            .to = to,
                            .lane = lane,
                            .head_len = frame->head_len,
                            .body_len = frame->body_len,
                            .head = (unsigned char *)(made + 1),
                            .body = (unsigned char *)made + body_off };
    memcpy(made->head, frame->head, frame->head_len);
    network->sent++;
    network->alive++;
    return made;
}

void sim_datagram_free(sim_network *network, sim_datagram *datagram)
{
    network->alive--;
    free(datagram);
}

static void flip_bit(sim_network *network, sim_datagram *datagram)
{
    uint32_t bit = sim_below(&network->dice, (datagram->head_len + datagram->body_len) * 8);
    uint32_t at = bit / 8;
    unsigned char *byte =
        at < datagram->head_len ? &datagram->head[at] : &datagram->body[at - datagram->head_len];
    *byte = (unsigned char)(*byte ^ 1u << bit % 8);
}

/* Draws whether a fault strikes. Draws nothing if the seed does not have the fault. */
static bool befalls(sim_network *network, double chance)
{
    return chance != 0 && sim_hits(&network->dice, chance);
}

/* Moves a frame that has left its sender: it travels, or is lost. */
static void travel(sim_network *network, sim_datagram *datagram)
{
    const sim_way *way = &network->way;
    sim_dice *dice = &network->dice;
    uint64_t at_ns = network->now_ns + way->delay_ns + sim_next(dice) % (way->jitter_ns + 1);
    if (befalls(network, way->reorder))
        at_ns += sim_next(dice) % way->reorder_ns;
    bool is_corrupt = befalls(network, way->corrupt);
    if (is_corrupt)
        flip_bit(network, datagram);
    if (befalls(network, way->drop) || (is_corrupt && way->intact) ||
        is_swallowed(network, datagram))
        sim_datagram_free(network, datagram);
    else
        sim_schedule(network, at_ns, SIM_ARRIVE, datagram->to, datagram);
}

static void leave(sim_network *network, sim_datagram *datagram)
{
    if (befalls(network, network->way.duplicate)) {
        pen_frame frame = { datagram->head, datagram->body, datagram->head_len,
                            datagram->body_len };
        sim_datagram *twin =
            datagram_make(network, datagram->from, datagram->to, datagram->lane, &frame);
        memcpy(twin->body, datagram->body, datagram->body_len);
        travel(network, twin);
    }
    travel(network, datagram);
}

/* The body is read now, so its memory may be reused. */
static void leave_late(sim_network *network, sim_datagram *datagram)
{
    memcpy(datagram->body, datagram->later, datagram->body_len);
    network->left(network->ctx, datagram->from, datagram->op);
    leave(network, datagram);
}

bool sim_is_sound(const sim_way *way, const pen_frame *frame)
{
    return frame->head_len >= 8 && frame->head_len <= PEN_FRAME_HEAD_MAX &&
           frame->head_len % 8 == 0 && frame->body_len <= way->frame_max;
}

pen_post sim_send(sim_network *network, uint32_t from, uint32_t to, pen_lane lane,
                  const pen_frame *frame, pen_op *op)
{
    if (befalls(network, network->way.refuse))
        return PEN_POST_AGAIN;
    sim_datagram *made = datagram_make(network, from, to, lane, frame);
    if (op != NULL && frame->body_len != 0 && befalls(network, network->way.defer)) {
        made->later = frame->body;
        made->op = op;
        sim_schedule(network, network->now_ns + sim_next(&network->dice) % SIM_MS, SIM_LEAVE, from,
                     made);
        return PEN_POST_PENDING;
    }
    if (frame->body_len != 0)
        memcpy(made->body, frame->body, frame->body_len);
    leave(network, made);
    return PEN_POST_DONE;
}

void sim_handle(sim_network *network, const sim_event *event)
{
    if (event->datagram == NULL)
        return; /* forgotten */
    if (event->kind == SIM_LEAVE)
        leave_late(network, event->datagram);
    else
        network->arrive(network->ctx, event->datagram);
}

void sim_forget(sim_network *network, uint32_t from)
{
    for (size_t i = 0; i < network->heap_count; i++) {
        sim_event *event = &network->heap[i];
        if (event->kind == SIM_LEAVE && event->rank == from && event->datagram != NULL) {
            sim_datagram_free(network, event->datagram);
            event->datagram = NULL;
        }
    }
}

/* ---- what has arrived ------------------------------------------------------------------------ */

void sim_queue_init(sim_queue *queue) { *queue = (sim_queue){ .end = &queue->first }; }

void sim_queue_add(sim_queue *queue, sim_datagram *datagram)
{
    datagram->next = NULL;
    *queue->end = datagram;
    queue->end = &datagram->next;
    queue->count++;
}

sim_datagram *sim_queue_take(sim_queue *queue)
{
    sim_datagram *first = queue->first;
    if (first == NULL)
        return NULL;
    queue->first = first->next;
    if (first->next == NULL)
        queue->end = &queue->first;
    queue->count--;
    return first;
}
