/* SPDX-License-Identifier: BSD-3-Clause */
/* network.c: the conduit of a world that is made up: frames on their way are events, and what the
 * plan wants done to them is done as they leave. */
#include "engine.h"

#include <stdlib.h>
#include <string.h>

enum { INBOX_MAX = 100000, IDLE_POLLS_MAX = 8 };

static eng_rank *rank_of(pen_link *link) { return pen_container_of(link, eng_rank, link); }

/* ---- on the way ------------------------------------------------------------------------------ */

static bool is_on(const eng_world *world, const eng_fault *fault, fault_kind kind)
{
    return fault->kind == kind && world->now_ns >= fault->from_ns && world->now_ns < fault->to_ns;
}

static bool side_of(const eng_fault *fault, uint32_t rank)
{
    sim_dice dice = { fault->side + rank };
    return (sim_next(&dice) & 1) != 0;
}

static bool is_swallowed(const eng_world *world, const eng_datagram *datagram)
{
    for (uint32_t i = 0; i < world->fault_count; i++) {
        const eng_fault *fault = &world->faults[i];
        if (is_on(world, fault, FAULT_PARTITION) &&
            side_of(fault, datagram->from) != side_of(fault, datagram->to))
            return true;
        if (is_on(world, fault, FAULT_NARROW) && datagram->body_len > fault->frame_max)
            return true;
    }
    return false;
}

static eng_datagram *datagram_make(eng_world *world, uint32_t from, uint32_t to, pen_lane lane,
                                   const pen_frame *frame)
{
    size_t body_off = pen_align_up(sizeof(eng_datagram) + frame->head_len, 16);
    eng_datagram *made = malloc(body_off + frame->body_len);
    if (made == NULL)
        abort();
    *made = (eng_datagram){ .from = from,
                            .to = to,
                            .lane = lane,
                            .head_len = frame->head_len,
                            .body_len = frame->body_len,
                            .head = (unsigned char *)(made + 1),
                            .body = (unsigned char *)made + body_off };
    memcpy(made->head, frame->head, frame->head_len);
    world->datagrams++;
    return made;
}

void network_free(eng_world *world, eng_datagram *datagram)
{
    (void)world;
    free(datagram);
}

static void flip_bit(eng_world *world, eng_datagram *datagram)
{
    uint32_t bit = sim_below(&world->dice, (datagram->head_len + datagram->body_len) * 8);
    uint32_t at = bit / 8;
    unsigned char *byte =
        at < datagram->head_len ? &datagram->head[at] : &datagram->body[at - datagram->head_len];
    *byte = (unsigned char)(*byte ^ 1u << bit % 8);
}

static void travel(eng_world *world, eng_datagram *datagram)
{
    const eng_plan *plan = &world->plan;
    uint64_t at_ns =
        world->now_ns + plan->delay_ns + sim_next(&world->dice) % (plan->jitter_ns + 1);
    if (plan->reorder != 0 && sim_hits(&world->dice, plan->reorder))
        at_ns += sim_next(&world->dice) % plan->reorder_ns;
    bool is_corrupt = plan->corrupt != 0 && sim_hits(&world->dice, plan->corrupt);
    if (is_corrupt)
        flip_bit(world, datagram);
    if ((plan->drop != 0 && sim_hits(&world->dice, plan->drop)) || (is_corrupt && plan->intact) ||
        is_swallowed(world, datagram))
        network_free(world, datagram);
    else
        world_schedule(world, at_ns, EVENT_ARRIVE, datagram->to, datagram);
}

static void send(eng_world *world, eng_datagram *datagram)
{
    if (world->plan.duplicate != 0 && sim_hits(&world->dice, world->plan.duplicate)) {
        pen_frame frame = { datagram->head, datagram->body, datagram->head_len,
                            datagram->body_len };
        eng_datagram *twin =
            datagram_make(world, datagram->from, datagram->to, datagram->lane, &frame);
        memcpy(twin->body, datagram->body, datagram->body_len);
        travel(world, twin);
    }
    travel(world, datagram);
}

/* The body is read now, and its owner hears of that in its next poll. */
void network_leave(eng_world *world, eng_datagram *datagram)
{
    eng_rank *from = &world->ranks[datagram->from];
    if (from->phase >= RANK_DEAD) { /* nothing of it can be read any more */
        network_free(world, datagram);
        return;
    }
    memcpy(datagram->body, datagram->later, datagram->body_len);
    pen_frame frame = { datagram->head, NULL, datagram->head_len, datagram->body_len };
    eng_datagram *copy = datagram_make(world, datagram->from, datagram->to, datagram->lane, &frame);
    memcpy(copy->body, datagram->body, datagram->body_len);
    send(world, copy);
    datagram->next = NULL;
    *from->left_end = datagram;
    from->left_end = &datagram->next;
}

void network_arrive(eng_world *world, eng_datagram *datagram)
{
    eng_rank *to = &world->ranks[datagram->to];
    if (to->phase >= RANK_DEAD || to->inbox_count == INBOX_MAX) {
        world->overflows += to->inbox_count == INBOX_MAX;
        network_free(world, datagram);
        return;
    }
    datagram->next = NULL;
    *to->inbox_end = datagram;
    to->inbox_end = &datagram->next;
    to->inbox_count++;
}

/* ---- the link -------------------------------------------------------------------------------- */

static pen_post link_post(pen_link *link, pen_peer to, pen_lane lane, const pen_frame *frame,
                          pen_op *op)
{
    eng_rank *from = rank_of(link);
    eng_world *world = from->world;
    const eng_plan *plan = &world->plan;
    if (frame->head_len < 8 || frame->head_len > PEN_FRAME_HEAD_MAX || frame->head_len % 8 != 0 ||
        frame->body_len > plan->frame_max)
        engine_fail(world, "a frame of %u and %u bytes is posted", frame->head_len,
                    frame->body_len);
    if (plan->refuse != 0 && sim_hits(&world->dice, plan->refuse))
        return PEN_POST_AGAIN;
    eng_datagram *made = datagram_make(world, from->job.rank, to, lane, frame);
    if (op != NULL && frame->body_len != 0 && plan->defer != 0 &&
        sim_hits(&world->dice, plan->defer)) {
        made->later = frame->body;
        made->op = op;
        world_schedule(world, world->now_ns + sim_next(&world->dice) % MS, EVENT_LEAVE,
                       from->job.rank, made);
        return PEN_POST_PENDING;
    }
    if (frame->body_len != 0)
        memcpy(made->body, frame->body, frame->body_len);
    send(world, made);
    return PEN_POST_DONE;
}

static unsigned report_left(eng_rank *mine)
{
    unsigned count = 0;
    for (eng_datagram *first; (first = mine->left) != NULL; count++) {
        mine->left = first->next;
        if (mine->left == NULL)
            mine->left_end = &mine->left;
        pen_op_source_done(first->op);
        pen_op_done(first->op);
        network_free(mine->world, first);
    }
    return count;
}

static unsigned link_poll(pen_link *link, unsigned lanes, unsigned budget)
{
    eng_rank *mine = rank_of(link);
    const pen_host *host = link->host;
    unsigned count = report_left(mine);
    (void)lanes; /* the reliable link sorts them */
    for (eng_datagram *first; count < budget && (first = mine->inbox) != NULL; count++) {
        mine->inbox = first->next;
        if (mine->inbox == NULL)
            mine->inbox_end = &mine->inbox;
        mine->inbox_count--;
        host->deliver(host->ctx, first->from, first->lane, first->head, first->head_len,
                      first->body_len != 0 ? first->body : NULL, first->body_len);
        network_free(mine->world, first);
    }
    if (count != 0)
        mine->idle_polls = 0;
    else if (++mine->idle_polls > IDLE_POLLS_MAX && mine->world->running == mine)
        world_hand_over(mine); /* a loop that does not wait as one should, as at the end */
    return count;
}

static void link_close(pen_link *link)
{
    eng_rank *mine = rank_of(link);
    (void)report_left(mine);
    for (size_t i = 0; i < mine->world->heap_count; i++) { /* whose bodies are about to go */
        eng_event *event = &mine->world->heap[i];
        if (event->kind == EVENT_LEAVE && event->rank == mine->job.rank &&
            event->datagram != NULL) {
            network_free(mine->world, event->datagram);
            event->datagram = NULL;
            event->kind = EVENT_WAKE; /* nobody's */
        }
    }
}

static pen_status link_address(pen_link *link, void *blob)
{
    (void)link, (void)blob;
    return PEN_OK;
}

static pen_status link_connect(pen_link *link, const void *blobs, pen_peer count)
{
    (void)blobs;
    return count == rank_of(link)->world->plan.ranks ? PEN_OK : PEN_ERR_ARGUMENT;
}

static const pen_link_ops link_ops = {
    .close = link_close,
    .address = link_address,
    .connect = link_connect,
    .post = link_post,
    .poll = link_poll,
};

/* ---- the conduit, the only one that this program's library has --------------------------------
 */

static int conduit_score(pen_peer peers, const char **why_not)
{
    (void)peers, (void)why_not;
    return 1;
}

static pen_status conduit_open(const pen_link_params *params, pen_link **out)
{
    eng_rank *mine = params->host->ctx; /* its job, which comes first in it */
    const eng_plan *plan = &mine->world->plan;
    mine->link = (pen_link){ .ops = &link_ops,
                             .host = params->host,
                             .self = params->self,
                             .caps = { .flags = plan->intact ? PEN_CAP_INTACT : 0,
                                       .frame_max = plan->frame_max,
                                       .frame_copy_max = plan->defer != 0 ? 256 : plan->frame_max,
                                       .frame_overhead = plan->overhead,
                                       .frame_grain = plan->grain,
                                       .inbox_len = plan->inbox_len } };
    *out = &mine->link;
    return PEN_OK;
}

const pen_conduit engine_conduit = {
    .abi = PEN_CONDUIT_ABI,
    .name = "engine",
    .summary = "a network that is made up",
    .score = conduit_score,
    .open = conduit_open,
};

const pen_conduit *const pen_builtin_conduits[] = { &engine_conduit, NULL };
