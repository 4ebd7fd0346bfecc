/* SPDX-License-Identifier: BSD-3-Clause */
/* protocol.c: the sessions of a rank: opening, closing, who has something to do, and the passing of
 * time. */
#include "reliable/protocol.h"

#include "base/compiler.h"
#include "base/status.h"
#include "conduit/conduit.h"
#include "link/lanes.h"
#include "reliable/protocol_internal.h"

#include <string.h>

enum {
    QUOTA_SMALL_FRAMES = 8, /* that have credit beside a largest one */
    BACKOFF_HOPELESS = 4,   /* unanswered probes after which no rank lingers for the peer */
};

#define INBOX_LEN_OWN (4u << 20) /* where the link below answers AGAIN instead */
#define QUOTA_MAX     (64u << 20)

uint32_t pen_rel_frame_max(const pen_rel_config *config)
{
    return config->frame_max - (uint32_t)pen_align_up(PEN_FRAME_HEAD_MAX, REL_ALIGN);
}

uint32_t pen_rel_copy_max(const pen_rel_config *config)
{
    uint32_t max = pen_rel_frame_max(config);
    return config->borrow_len < max ? config->borrow_len : max;
}

uint32_t rel_charge(const pen_rel_config *config, uint32_t head_len, uint32_t body_len)
{
    uint32_t grain = config->grain != 0 ? config->grain : 1;
    uint32_t len = config->overhead + PEN_FRAME_HEAD_MAX + head_len + body_len;
    return (len + grain - 1) / grain * grain;
}

/* An equal share of the inbox for each peer; one frame of any length in any case, and some small
 * ones. */
static void share_out(pen_rel_core *core)
{
    const pen_rel_config *config = &core->config;
    uint64_t inbox = config->inbox_len != 0 ? config->inbox_len : INBOX_LEN_OWN;
    uint64_t share = inbox / 2 / (config->peers > 1 ? config->peers - 1 : 1);
    uint32_t least = rel_charge(config, PEN_FRAME_HEAD_MAX, pen_rel_frame_max(config)) +
                     QUOTA_SMALL_FRAMES * rel_charge(config, 8, 0);
    if (share > QUOTA_MAX)
        share = QUOTA_MAX;
    for (unsigned lane = 0; lane < PEN_LANES; lane++) {
        uint64_t quota = lane == PEN_LANE_CONTROL ? 0 : share;
        core->quota[lane] = quota > least ? (uint32_t)quota : least;
    }
}

static void peer_init(pen_rel_core *core, pen_rel_peer *peer)
{
    uint32_t least =
        rel_charge(&core->config, PEN_FRAME_HEAD_MAX, pen_rel_frame_max(&core->config));
    uint32_t most = core->quota[PEN_LANE_REQUEST];
    memset(peer, 0, sizeof *peer);
    peer->due_ns = UINT64_MAX;
    rel_chain_init(&peer->active);
    rel_chain_init(&peer->unacked);
    rel_chain_init(&peer->flying);
    rel_chain_init(&peer->lost);
    peer->next_transmission =
        1; /* 0 has never been sent, and is acknowledged by who heard nothing */
    for (unsigned lane = 0; lane < PEN_LANES; lane++) {
        pen_rel_lane *side = &peer->lanes[lane];
        /* All ranks share out alike: the contract asks links for equal capabilities. */
        side->limit = side->granted = side->told = core->quota[lane];
    }
    pen_rel_pace_init(&peer->pace, least < most ? least : most, most);
}

pen_status pen_rel_init(pen_rel_core *core, const pen_rel_config *config, const pen_rel_out *out)
{
    memset(core, 0, sizeof *core);
    core->config = *config;
    core->out = *out;
    core->deadline_ns = UINT64_MAX;
    rel_chain_init(&core->active);
    rel_chain_init(&core->reading);
    rel_chain_init(&core->finished);
    pen_lanes_init(&core->kept, out->alloc, out->release, out->ctx);
    share_out(core);
    core->peers = (pen_rel_peer *)out->alloc(out->ctx, config->peers * sizeof *core->peers,
                                             _Alignof(pen_rel_peer));
    if (core->peers == NULL)
        return PEN_ERR_MEMORY;
    for (pen_peer peer = 0; peer < config->peers; peer++)
        peer_init(core, &core->peers[peer]);
    return PEN_OK;
}

void pen_rel_meet(pen_rel_core *core, pen_peer peer, uint32_t session)
{
    core->peers[peer].session = session;
}

/* Frees the records without telling their owners, whose operations may be gone. */
static void forget_records(pen_rel_core *core, pen_rel_chain *chain)
{
    while (!rel_chain_is_empty(chain)) {
        pen_rel_record *record = pen_container_of(chain->behind, pen_rel_record, by_sequence);
        rel_chain_remove(&record->by_sequence);
        rel_chain_remove(&record->by_transmission);
        rel_record_free(core, record);
    }
}

void pen_rel_close(pen_rel_core *core)
{
    for (pen_peer peer = 0; peer < core->config.peers; peer++)
        forget_records(core, &core->peers[peer].unacked);
    forget_records(core, &core->reading);
    forget_records(core, &core->finished);
    rel_records_close(core);
    pen_lanes_close(&core->kept);
    core->out.release(core->out.ctx, core->peers);
    core->peers = NULL;
}

/* ---- who has something to do ----------------------------------------------------------------- */

void rel_activate(pen_rel_core *core, pen_rel_peer *peer, uint64_t by_ns)
{
    if (rel_chain_is_empty(&peer->active))
        rel_chain_append(&core->active, &peer->active);
    if (by_ns < peer->due_ns)
        peer->due_ns = by_ns;
    if (by_ns < core->deadline_ns)
        core->deadline_ns = by_ns;
}

void rel_ack_owed(pen_rel_core *core, pen_rel_peer *peer)
{
    if (peer->ack_count == 0)
        core->acks_due++;
    peer->ack_count++;
}

/* All that was sent to a lost peer goes, once the link below does not read it. */
static void drop_lost_peer(pen_rel_core *core, pen_rel_peer *peer)
{
    for (pen_rel_chain *at = peer->unacked.behind; at != &peer->unacked;) {
        pen_rel_record *record = pen_container_of(at, pen_rel_record, by_sequence);
        at = at->behind;
        record->op = NULL; /* the waiting thread learns that the peer is lost */
        rel_record_retire(core, record);
    }
    if (peer->ack_count != 0)
        core->acks_due--;
    peer->ack_count = 0;
    peer->ack_now = peer->wants_credit = false;
    peer->flight = 0;
    peer->loss_ns = 0;
}

/* With something missing the sender is told more often. */
static uint32_t ack_every(const pen_rel_peer *peer)
{
    return peer->window.base != peer->window.high ? REL_ACK_EVERY_GAP : REL_ACK_EVERY;
}

static void tick_acks(pen_rel_core *core, pen_rel_peer *peer, uint64_t now_ns, bool idle)
{
    bool is_due =
        peer->ack_now || peer->ack_count >= ack_every(peer) ||
        (peer->ack_count != 0 && (idle || rel_since(now_ns, peer->heard_ns) >= REL_ACK_WAIT_NS));
    if (is_due)
        (void)rel_send_note(core, peer, now_ns, 0);
}

/* When its timers want to be looked at again. */
static uint64_t next_look(const pen_rel_peer *peer, uint64_t now_ns)
{
    uint64_t next_ns = rel_probe_due(peer), hurry_ns = rel_hurry_due(peer);
    next_ns = hurry_ns < next_ns ? hurry_ns : next_ns;
    if (peer->loss_ns != 0 && peer->loss_ns < next_ns)
        next_ns = peer->loss_ns;
    if (!rel_chain_is_empty(&peer->lost) && peer->flight < peer->pace.window &&
        now_ns + REL_ACK_WAIT_NS < next_ns)
        next_ns = now_ns + REL_ACK_WAIT_NS; /* there was no room below */
    return next_ns;
}

static void tick_peer(pen_rel_core *core, pen_rel_peer *peer, uint64_t now_ns, bool idle)
{
    peer->due_ns = UINT64_MAX; /* a timer that starts in this call lowers it */
    if (peer->loss_ns != 0 && now_ns >= peer->loss_ns)
        rel_find_lost(core, peer, now_ns);
    rel_send_lost(core, peer, now_ns);
    if (now_ns >= rel_probe_due(peer))
        rel_probe(core, peer, now_ns);
    else if (now_ns >= rel_hurry_due(peer))
        rel_hurry(core, peer, now_ns);
    tick_acks(core, peer, now_ns, idle);
    if (peer->is_lost)
        drop_lost_peer(core, peer);
    uint64_t next_ns = next_look(peer, now_ns);
    if (next_ns < peer->due_ns)
        peer->due_ns = next_ns;
}

void pen_rel_tick(pen_rel_core *core, uint64_t now_ns, bool idle)
{
    if (!rel_chain_is_empty(&core->reading))
        rel_records_reap(core);
    if (core->acks_due == 0 && now_ns < core->deadline_ns)
        return;
    uint64_t deadline_ns = UINT64_MAX;
    core->deadline_ns = UINT64_MAX; /* as a peer's */
    for (pen_rel_chain *at = core->active.behind; at != &core->active;) {
        pen_rel_peer *peer = pen_container_of(at, pen_rel_peer, active);
        at = at->behind;
        if (peer->ack_count != 0 || now_ns >= peer->due_ns)
            tick_peer(core, peer, now_ns, idle);
        uint64_t next_ns = peer->due_ns;
        if (next_ns < deadline_ns)
            deadline_ns = next_ns;
        if (next_ns == UINT64_MAX && peer->ack_count == 0)
            rel_chain_remove(&peer->active);
    }
    if (deadline_ns < core->deadline_ns)
        core->deadline_ns = deadline_ns;
}

bool pen_rel_is_settled(const pen_rel_core *core)
{
    for (const pen_rel_chain *at = core->active.behind; at != &core->active; at = at->behind) {
        const pen_rel_peer *peer = pen_container_of(at, pen_rel_peer, active);
        if (!peer->is_lost && peer->pace.backoff < BACKOFF_HOPELESS &&
            (!rel_chain_is_empty(&peer->unacked) || peer->ack_count != 0))
            return false;
    }
    return true;
}
