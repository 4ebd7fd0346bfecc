/* SPDX-License-Identifier: BSD-3-Clause */
/* check.c: the rules that hold between two calls of a rank, and at the end. */
#include "engine.h"

#include <signal.h>
#include <string.h>

enum { BACKLOG_MAX = 2 * PEN_POLL_BUDGET + 8 };

static const pen_rel_core *core_of(const eng_world *world, uint32_t rank)
{
    const pen_progress *progress = &world->ranks[rank].job.progress;
    return progress->port_count != 0 ? pen_reliable_core(progress->ports[0].link) : NULL;
}

static bool is_behind(uint32_t one, uint32_t other) { return (int32_t)(other - one) >= 0; }

static bool credits_hold(const pen_rel_lane *out, const pen_rel_lane *in, uint32_t quota)
{
    return is_behind(out->sent, out->limit) && is_behind(in->accepted, out->sent) &&
           is_behind(in->consumed, in->accepted) && is_behind(out->limit, in->granted) &&
           is_behind(in->accepted, in->granted) && in->granted - in->consumed <= quota;
}

/* Checks the credits from self to peer: sent, granted, accepted and consumed frames. */
void check_pair(const eng_world *world, uint32_t self, uint32_t peer, bool is_end)
{
    const pen_rel_core *sender = core_of(world, self), *receiver = core_of(world, peer);
    if (sender == NULL || receiver == NULL || world->ranks[peer].phase == RANK_DEAD)
        return;
    for (unsigned lane = 0; lane < PEN_LANES; lane++) {
        const pen_rel_lane *out = &sender->peers[peer].lanes[lane];
        const pen_rel_lane *in = &receiver->peers[self].lanes[lane];
        bool is_used_up =
            out->sent == in->accepted && in->accepted == in->consumed && receiver->kept.len == 0;
        if (!credits_hold(out, in, receiver->quota[lane]) || (is_end && !is_used_up))
            engine_fail(world,
                        "credits of lane %u from rank %u to %u: sent %u, limit %u; accepted %u, "
                        "consumed %u, granted %u, quota %u%s",
                        lane, self, peer, out->sent, out->limit, in->accepted, in->consumed,
                        in->granted, receiver->quota[lane], is_end ? "; and all is over" : "");
    }
}

void check_rank(const eng_world *world, uint32_t self)
{
    const pen_rel_core *core = core_of(world, self);
    const pen_port *port = &world->ranks[self].job.progress.ports[0];
    uint64_t quota = 0;
    if (core == NULL)
        return;
    for (unsigned lane = 0; lane < PEN_LANES; lane++)
        quota += core->quota[lane];
    if (core->record_bytes > core->config.memory_max)
        engine_fail(world, "rank %u keeps %zu bytes to send again, more than %zu", self,
                    core->record_bytes, core->config.memory_max);
    if (core->kept.len > core->config.memory_max || core->kept.len > quota * world->plan.ranks * 4)
        engine_fail(world, "rank %u keeps %zu bytes for lanes that wait", self, core->kept.len);
    if (atomic_load(&port->backlog.queued) > BACKLOG_MAX)
        engine_fail(world, "rank %u has a backlog of %u frames", self,
                    atomic_load(&port->backlog.queued));
    if (!world->is_talking) /* not all may have begun */
        return;
    pen_sim_dice dice = { world->network.now_ns + self };
    uint32_t peer = pen_sim_below(&dice, world->plan.ranks);
    check_pair(world, self, peer, false);
    check_pair(world, peer, self, false);
}

void check_end(eng_world *world)
{
    bool has_death = pen_exit_rule_status(&world->rule) != 0;
    if (has_death &&
        (!world->plan.has_death || pen_exit_rule_status(&world->rule) != 128 + SIGKILL))
        engine_fail(world, "the job ends with status %d", pen_exit_rule_status(&world->rule));
    for (uint32_t rank = 0; rank < world->plan.ranks; rank++) {
        const eng_rank *one = &world->ranks[rank];
        int expected = pen_exit_rule_status(&world->rule);
        if (one->phase == RANK_OVER && one->status != expected)
            engine_fail(world, "rank %u ends with status %d, the job with %d", rank, one->status,
                        expected);
    }
    if (!world->is_settled && !has_death)
        engine_fail(world, "all ranks are over, but nobody checked what they did");
}
