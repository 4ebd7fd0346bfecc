/* SPDX-License-Identifier: BSD-3-Clause */
/* conduit.c: the conduit of a simulated world, over the network of sim/network.h. */
#include "engine.h"

#include <stdlib.h>
#include <string.h>

enum { INBOX_MAX = 100000, IDLE_POLLS_MAX = 8 };

static eng_rank *rank_of(pen_link *link) { return pen_container_of(link, eng_rank, link); }

/* ---- the network's end ----------------------------------------------------------------------- */

void conduit_arrive(void *ctx, pen_sim_datagram *datagram)
{
    eng_world *world = ctx;
    eng_rank *to = &world->ranks[datagram->to];
    if (to->phase >= RANK_DEAD || to->inbox.count == INBOX_MAX) {
        world->overflows += to->inbox.count == INBOX_MAX;
        pen_sim_datagram_free(&world->network, datagram);
        return;
    }
    pen_sim_queue_add(&to->inbox, datagram);
    world_rouse(to);
}

/* The owner of the body is notified in its next poll. */
void conduit_left(void *ctx, uint32_t from, pen_op *op)
{
    eng_world *world = ctx;
    eng_rank *mine = &world->ranks[from];
    if (mine->left_count == mine->left_max) {
        mine->left_max = mine->left_max == 0 ? 16 : mine->left_max * 2;
        eng_left *more = realloc(mine->left, mine->left_max * sizeof *more);
        if (more == NULL)
            abort();
        mine->left = more;
    }
    mine->left[mine->left_count++].op = op;
    world_rouse(mine);
}

/* ---- the link -------------------------------------------------------------------------------- */

static pen_post link_post(pen_link *link, pen_peer to, pen_lane lane, const pen_frame *frame,
                          pen_op *op)
{
    eng_rank *from = rank_of(link);
    pen_sim_network *network = &from->world->network;
    if (!pen_sim_is_sound(&network->way, frame))
        engine_fail(from->world, "a frame of %u and %u bytes is posted", frame->head_len,
                    frame->body_len);
    pen_post result = pen_sim_send(network, from->job.rank, to, lane, frame, op);
    from->is_restless |= result == PEN_POST_AGAIN;
    return result;
}

static unsigned report_left(eng_rank *mine)
{
    unsigned count = mine->left_count;
    for (unsigned i = 0; i < count; i++) {
        pen_op_source_done(mine->left[i].op);
        pen_op_done(mine->left[i].op);
    }
    mine->left_count = 0;
    return count;
}

static unsigned link_poll(pen_link *link, unsigned lanes, unsigned budget)
{
    eng_rank *mine = rank_of(link);
    const pen_host *host = link->host;
    unsigned count = report_left(mine);
    (void)lanes; /* the reliable link sorts them */
    for (pen_sim_datagram *first;
         count < budget && (first = pen_sim_queue_take(&mine->inbox)) != NULL; count++) {
        host->deliver(host->ctx, first->from, first->lane, first->head, first->head_len,
                      first->body_len != 0 ? first->body : NULL, first->body_len);
        pen_sim_datagram_free(&mine->world->network, first);
    }
    if (count != 0) {
        mine->idle_polls = 0;
        mine->nap_ns = NAP_NS_MIN;
    } else if (++mine->idle_polls > IDLE_POLLS_MAX && mine->world->running == mine) {
        mine->is_restless = true; /* a loop that polls without waiting, as at the end */
        world_hand_over(mine);
    }
    return count;
}

static void link_close(pen_link *link)
{
    eng_rank *mine = rank_of(link);
    (void)report_left(mine);
    pen_sim_forget(&mine->world->network, mine->job.rank); /* their memory is about to be freed */
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

/* ---- the only conduit that this program's library has -----------------------------------------
 */

static int conduit_score(pen_peer peers, const char **why_not)
{
    (void)peers, (void)why_not;
    return PEN_SCORE_NAMED + 1;
}

static pen_status conduit_open(const pen_link_params *params, pen_link **out)
{
    eng_rank *mine = params->host->ctx; /* its job, whose first field it is */
    const pen_sim_way *way = &mine->world->network.way;
    bool may_defer = way->defer != 0;
    mine->link = (pen_link){ .ops = &link_ops,
                             .host = params->host,
                             .self = params->self,
                             .caps = { .flags = way->intact ? PEN_CAP_INTACT : 0,
                                       .frame_max = way->frame_max,
                                       .frame_copy_max = may_defer ? 256 : way->frame_max,
                                       .frame_overhead = way->overhead,
                                       .frame_grain = way->grain,
                                       .inbox_len = way->inbox_len } };
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
