/* SPDX-License-Identifier: BSD-3-Clause */
/* network.c: see network.h. */
#include "sim/network.h"

#include "base/compiler.h"
#include "conduit/conduit.h"

#include <stdlib.h>
#include <string.h>

enum { HEAP_FIRST = 1024, FORK = 4 /* children of a node of the heap */ };

/* ---- what a seed means ----------------------------------------------------------------------- */

double pen_sim_chance(pen_sim_dice *dice, double most)
{
    return pen_sim_below(dice, 3) == 0 ? 0 : most * pen_sim_below(dice, 1000) / 1000;
}

pen_sim_way pen_sim_way_draw(pen_sim_dice *dice)
{
    pen_sim_way way = { .frame_max = 1024u << pen_sim_below(dice, 5) };
    way.grain = 1u << pen_sim_below(dice, 10);
    way.overhead = pen_sim_below(dice, 800);
    way.inbox_len =
        pen_sim_below(dice, 4) == 0 ? 0 : (size_t)pen_sim_log_uniform(dice, 1 << 10, 1 << 22);
    way.intact = pen_sim_below(dice, 2) == 0;
    way.drop = pen_sim_chance(dice, 0.3);
    way.duplicate = pen_sim_chance(dice, 0.5);
    way.reorder = pen_sim_chance(dice, 0.3);
    way.corrupt = pen_sim_chance(dice, 0.05);
    way.refuse = pen_sim_chance(dice, 0.2);
    way.defer = pen_sim_chance(dice, 0.3);
    way.delay_ns = pen_sim_log_uniform(dice, 2 * PEN_SIM_US, 2 * PEN_SIM_MS);
    way.jitter_ns = way.delay_ns / (1 + pen_sim_below(dice, 8));
    way.reorder_ns = pen_sim_log_uniform(dice, 10 * PEN_SIM_US, 50 * PEN_SIM_MS);
    return way;
}

static bool side_of(const pen_sim_fault *fault, uint32_t rank)
{
    pen_sim_dice dice = { fault->side + rank };
    return (pen_sim_next(&dice) & 1) != 0;
}

/* Draws the half of each rank, with some ranks in either half. */
static uint64_t side_draw(pen_sim_network *network)
{
    pen_sim_fault fault = { .side = pen_sim_next(&network->dice) };
    for (;; fault.side = pen_sim_next(&network->dice))
        for (uint32_t rank = 1; rank < network->ranks; rank++)
            if (side_of(&fault, rank) != side_of(&fault, 0))
                return fault.side;
}

pen_sim_fault *pen_sim_fault_draw(pen_sim_network *network, pen_sim_fault_kind kind,
                                  uint64_t latest_ns, uint64_t longest_ns)
{
    pen_sim_dice *dice = &network->dice;
    pen_sim_fault *fault = &network->faults[network->fault_count++];
    fault->kind = kind;
    fault->from_ns = network->now_ns + pen_sim_log_uniform(dice, 10 * PEN_SIM_US, latest_ns);
    fault->to_ns = fault->from_ns + pen_sim_log_uniform(dice, PEN_SIM_MS, longest_ns);
    fault->rank = pen_sim_below(dice, network->ranks);
    fault->side = side_draw(network);
    fault->frame_max = 128 + pen_sim_below(dice, network->way.frame_max);
    if (fault->to_ns > network->faults_end_ns)
        network->faults_end_ns = fault->to_ns;
    return fault;
}

static bool is_on(const pen_sim_network *network, const pen_sim_fault *fault,
                  pen_sim_fault_kind kind)
{
    return fault->kind == kind && network->now_ns >= fault->from_ns &&
           (network->now_ns < fault->to_ns || (fault->is_certain && fault->felt == 0));
}

static void feel(pen_sim_network *network, pen_sim_fault *fault)
{
    const uint64_t least_ns = network->now_ns + PEN_SIM_CERTAIN_NS;
    if (fault->is_certain && fault->felt == 0 && fault->to_ns < least_ns)
        fault->to_ns = least_ns;
    if (fault->to_ns > network->faults_end_ns)
        network->faults_end_ns = fault->to_ns;
    fault->felt++;
}

uint64_t pen_sim_stopped_until(pen_sim_network *network, uint32_t rank)
{
    uint64_t until_ns = 0;
    for (uint32_t i = 0; i < network->fault_count; i++) {
        pen_sim_fault *fault = &network->faults[i];
        if (!is_on(network, fault, PEN_SIM_STOPPED) || fault->rank != rank)
            continue;
        feel(network, fault);
        until_ns = fault->to_ns > until_ns ? fault->to_ns : until_ns;
    }
    return until_ns;
}

bool pen_sim_was_stopped(const pen_sim_network *network, uint32_t rank, uint64_t since_ns)
{
    for (uint32_t i = 0; i < network->fault_count; i++) {
        const pen_sim_fault *fault = &network->faults[i];
        bool was_on = fault->kind == PEN_SIM_STOPPED && fault->from_ns <= network->now_ns &&
                      fault->to_ns >= since_ns;
        if (fault->rank == rank && (was_on || is_on(network, fault, PEN_SIM_STOPPED)))
            return true;
    }
    return false;
}

static bool is_swallowed(pen_sim_network *network, const pen_sim_datagram *datagram)
{
    for (uint32_t i = 0; i < network->fault_count; i++) {
        pen_sim_fault *fault = &network->faults[i];
        if ((is_on(network, fault, PEN_SIM_PARTITION) &&
             side_of(fault, datagram->from) != side_of(fault, datagram->to)) ||
            (is_on(network, fault, PEN_SIM_NARROW) && datagram->body_len > fault->frame_max)) {
            feel(network, fault);
            return true;
        }
    }
    return false;
}

/* ---- events ---------------------------------------------------------------------------------- */

static bool is_before(const pen_sim_network_event *one, const pen_sim_network_event *other)
{
    return one->at_ns != other->at_ns ? one->at_ns < other->at_ns : one->order < other->order;
}

void pen_sim_schedule(pen_sim_network *network, uint64_t at_ns, uint32_t kind, uint32_t rank,
                      pen_sim_datagram *datagram)
{
    if (network->heap_count == network->heap_max) {
        network->heap_max = network->heap_max == 0 ? HEAP_FIRST : network->heap_max * 2;
        pen_sim_network_event *more = (pen_sim_network_event *)realloc(
            network->heap, network->heap_max * sizeof *network->heap);
        if (more == NULL)
            abort();
        network->heap = more;
    }
    pen_sim_network_event added = { at_ns, network->order++, kind, rank, datagram };
    size_t i = network->heap_count++;
    for (; i != 0 && is_before(&added, &network->heap[(i - 1) / FORK]); i = (i - 1) / FORK)
        network->heap[i] = network->heap[(i - 1) / FORK];
    network->heap[i] = added;
}

static size_t first_child(const pen_sim_network *network, size_t i)
{
    size_t first = FORK * i + 1, end = first + FORK;
    if (end > network->heap_count)
        end = network->heap_count;
    for (size_t child = first + 1; child < end; child++)
        if (is_before(&network->heap[child], &network->heap[first]))
            first = child;
    return first;
}

static bool is_sooner(const pen_sim_network *network, uint32_t one, uint32_t other)
{
    const pen_sim_alarm *mine = &network->alarms[one], *its = &network->alarms[other];
    return mine->at_ns != its->at_ns ? mine->at_ns < its->at_ns : mine->order < its->order;
}

static void alarm_set(pen_sim_network *network, uint32_t rank, uint64_t at_ns)
{
    uint32_t *earliest = network->earliest;
    network->alarms[rank] = (pen_sim_alarm){ at_ns, network->order++ };
    for (size_t i = (rank + network->leaves) / 2; i != 0; i /= 2) {
        uint32_t left = earliest[2 * i], right = earliest[2 * i + 1];
        earliest[i] = is_sooner(network, right, left) ? right : left;
    }
}

void pen_sim_wake(pen_sim_network *network, uint32_t rank, uint64_t at_ns)
{
    alarm_set(network, rank, at_ns);
}

/* Returns the rank whose turn comes next. NULL: an event is earlier, or no rank has a turn. */
static const pen_sim_alarm *next_alarm(const pen_sim_network *network)
{
    const pen_sim_alarm *alarm = &network->alarms[network->earliest[1]];
    if (alarm->at_ns == UINT64_MAX)
        return NULL;
    if (network->heap_count == 0)
        return alarm;
    const pen_sim_network_event *event = &network->heap[0];
    bool is_next =
        alarm->at_ns != event->at_ns ? alarm->at_ns < event->at_ns : alarm->order < event->order;
    return is_next ? alarm : NULL;
}

bool pen_sim_has_event(const pen_sim_network *network)
{
    return network->heap_count != 0 || next_alarm(network) != NULL;
}

static pen_sim_network_event take_first(pen_sim_network *network)
{
    pen_sim_network_event first = network->heap[0], last = network->heap[--network->heap_count];
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

pen_sim_network_event pen_sim_next_event(pen_sim_network *network)
{
    const pen_sim_alarm *alarm = next_alarm(network);
    pen_sim_network_event next;
    if (alarm != NULL) {
        uint32_t rank = (uint32_t)(alarm - network->alarms);
        next = (pen_sim_network_event){ alarm->at_ns, alarm->order, PEN_SIM_WAKE, rank, NULL };
        alarm_set(network, rank, UINT64_MAX);
    } else {
        next = take_first(network);
    }
    network->now_ns = next.at_ns;
    return next;
}

/* ---- beginning and end ----------------------------------------------------------------------- */

void pen_sim_network_open(pen_sim_network *network, const pen_sim_way *way, uint64_t seed,
                          uint32_t ranks)
{
    *network = (pen_sim_network){
        .way = *way, .dice = { seed ^ UINT64_C(0x5bd1e995) }, .ranks = ranks, .leaves = 2
    };
    while (network->leaves < ranks)
        network->leaves *= 2;
    network->alarms = (pen_sim_alarm *)malloc(network->leaves * sizeof *network->alarms);
    network->earliest = (uint32_t *)calloc(2 * (size_t)network->leaves, sizeof(uint32_t));
    if (network->alarms == NULL || network->earliest == NULL)
        abort();
    for (uint32_t i = 0; i < network->leaves; i++) {
        network->alarms[i] = (pen_sim_alarm){ UINT64_MAX, 0 };
        network->earliest[network->leaves + i] = i;
    }
    for (size_t i = network->leaves - 1; i != 0; i--)
        network->earliest[i] = network->earliest[2 * i];
}

void pen_sim_network_close(pen_sim_network *network)
{
    while (network->heap_count != 0) {
        pen_sim_network_event event = take_first(network);
        if (event.datagram != NULL)
            pen_sim_datagram_free(network, event.datagram);
    }
    free(network->heap);
    free(network->alarms);
    free(network->earliest);
}

/* ---- frames ---------------------------------------------------------------------------------- */

static pen_sim_datagram *datagram_make(pen_sim_network *network, uint32_t from, uint32_t to,
                                       pen_lane lane, const pen_frame *frame)
{
    size_t body_off = pen_align_up(sizeof(pen_sim_datagram) + frame->head_len, 16);
    pen_sim_datagram *made = (pen_sim_datagram *)malloc(body_off + frame->body_len);
    if (made == NULL)
        abort();
    *made = (pen_sim_datagram){ .from = from,
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

void pen_sim_datagram_free(pen_sim_network *network, pen_sim_datagram *datagram)
{
    network->alive--;
    free(datagram);
}

static void flip_bit(pen_sim_network *network, pen_sim_datagram *datagram)
{
    uint32_t bit = pen_sim_below(&network->dice, (datagram->head_len + datagram->body_len) * 8);
    uint32_t at = bit / 8;
    unsigned char *byte =
        at < datagram->head_len ? &datagram->head[at] : &datagram->body[at - datagram->head_len];
    *byte = (unsigned char)(*byte ^ 1u << bit % 8);
}

/* Draws whether a fault strikes. Draws nothing if the seed does not have the fault. */
static bool befalls(pen_sim_network *network, double chance)
{
    return chance != 0 && pen_sim_hits(&network->dice, chance);
}

/* Moves a frame that has left its sender: it travels, or is lost. */
static void travel(pen_sim_network *network, pen_sim_datagram *datagram)
{
    const pen_sim_way *way = &network->way;
    pen_sim_dice *dice = &network->dice;
    uint64_t at_ns = network->now_ns + way->delay_ns + pen_sim_next(dice) % (way->jitter_ns + 1);
    if (befalls(network, way->reorder))
        at_ns += pen_sim_next(dice) % way->reorder_ns;
    bool is_corrupt = befalls(network, way->corrupt);
    if (is_corrupt)
        flip_bit(network, datagram);
    if (befalls(network, way->drop) || (is_corrupt && way->intact) ||
        is_swallowed(network, datagram))
        pen_sim_datagram_free(network, datagram);
    else
        pen_sim_schedule(network, at_ns, PEN_SIM_ARRIVE, datagram->to, datagram);
}

static void leave(pen_sim_network *network, pen_sim_datagram *datagram)
{
    if (befalls(network, network->way.duplicate)) {
        pen_frame frame = { datagram->head, datagram->body, datagram->head_len,
                            datagram->body_len };
        pen_sim_datagram *twin =
            datagram_make(network, datagram->from, datagram->to, datagram->lane, &frame);
        memcpy(twin->body, datagram->body, datagram->body_len);
        travel(network, twin);
    }
    travel(network, datagram);
}

/* The body is read now, so its memory may be reused. */
static void leave_late(pen_sim_network *network, pen_sim_datagram *datagram)
{
    memcpy(datagram->body, datagram->later, datagram->body_len);
    network->left(network->ctx, datagram->from, datagram->op);
    leave(network, datagram);
}

bool pen_sim_is_sound(const pen_sim_way *way, const pen_frame *frame)
{
    return frame->head_len >= 8 && frame->head_len <= PEN_FRAME_HEAD_MAX &&
           frame->head_len % 8 == 0 && frame->body_len <= way->frame_max;
}

pen_post pen_sim_send(pen_sim_network *network, uint32_t from, uint32_t to, pen_lane lane,
                      const pen_frame *frame, pen_op *op)
{
    if (befalls(network, network->way.refuse))
        return PEN_POST_AGAIN;
    pen_sim_datagram *made = datagram_make(network, from, to, lane, frame);
    if (op != NULL && frame->body_len != 0 && befalls(network, network->way.defer)) {
        made->later = frame->body;
        made->op = op;
        pen_sim_schedule(network, network->now_ns + pen_sim_next(&network->dice) % PEN_SIM_MS,
                         PEN_SIM_LEAVE, from, made);
        return PEN_POST_PENDING;
    }
    if (frame->body_len != 0)
        memcpy(made->body, frame->body, frame->body_len);
    leave(network, made);
    return PEN_POST_DONE;
}

void pen_sim_handle(pen_sim_network *network, const pen_sim_network_event *event)
{
    if (event->datagram == NULL)
        return; /* forgotten */
    if (event->kind == PEN_SIM_LEAVE)
        leave_late(network, event->datagram);
    else
        network->arrive(network->ctx, event->datagram);
}

void pen_sim_forget(pen_sim_network *network, uint32_t from)
{
    for (size_t i = 0; i < network->heap_count; i++) {
        pen_sim_network_event *event = &network->heap[i];
        if (event->kind == PEN_SIM_LEAVE && event->rank == from && event->datagram != NULL) {
            pen_sim_datagram_free(network, event->datagram);
            event->datagram = NULL;
        }
    }
}

/* ---- what has arrived ------------------------------------------------------------------------ */

void pen_sim_queue_init(pen_sim_queue *queue) { *queue = (pen_sim_queue){ .end = &queue->first }; }

void pen_sim_queue_add(pen_sim_queue *queue, pen_sim_datagram *datagram)
{
    datagram->next = NULL;
    *queue->end = datagram;
    queue->end = &datagram->next;
    queue->count++;
}

pen_sim_datagram *pen_sim_queue_take(pen_sim_queue *queue)
{
    pen_sim_datagram *first = queue->first;
    if (first == NULL)
        return NULL;
    queue->first = first->next;
    if (first->next == NULL)
        queue->end = &queue->first;
    queue->count--;
    return first;
}
