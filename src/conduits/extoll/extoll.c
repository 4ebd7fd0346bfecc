/* SPDX-License-Identifier: BSD-3-Clause */
/* extoll.c: the conduit over an EXTOLL network card: opening and closing a link, and its
 * registry entry. It uses the card's two interfaces (velo2.h, rma2.h) and the replacement of its
 * driver (card.h). extoll.h describes the division of work; docs/conduits/extoll.md states the
 * guarantees and the reasons. */
#include "conduits/extoll/extoll.h"

#include "base/status.h"
#include "conduit/conduit.h"
#include "diag/counters.h"
#include "diag/log.h"
#include "link/host.h"
#include "link/lanes.h"
#include "link/mailbox.h"
#include "link/pieces.h"
#include "link/turns.h"
#include "os/lock.h"
#include "os/os.h"
#include "softnic/extoll/card.h"
#include "softnic/extoll/rma2.h"
#include "softnic/extoll/velo2.h"

#include <errno.h>
#include <string.h>

#define EXTOLL_MAGIC 0x6578746fu /* includes the version of the packet format */

/* The address that a rank publishes. All ranks must agree on its first part. */
typedef struct extoll_address {
    uint32_t magic, packet_max;
    uint32_t policy, quota, control;
    uint16_t velo_vpid, rma_vpid; /* may differ between ranks, as may all fields below */
    uint8_t fenced, has_bounce, zero[2];
} extoll_address;

static int extoll_score(pen_peer peers, const char **why)
{
    if (peers <= EXTOLL_RANKS_MAX)
        return 2; /* a software card: never better than the shared memory under it */
    *why = "the software card serves at most 16384 ranks of one host";
    return 0;
}

static size_t extoll_shared_len(pen_peer peers, const void *config)
{
    extoll_plan plan;
    if (extoll_plan_make(config, peers, &plan) != NULL)
        return 0; /* open logs the reason */
    return pen_card_len(&plan.card);
}

/* ---- closing --------------------------------------------------------------------------------- */

static void free_frames(extoll_link *link)
{
    const pen_host *host = link->base.host;
    for (uint32_t i = 0; i < link->peers * PEN_LANES; i++) {
        if (link->to != NULL)
            pen_piece_free(host, link->to[i / PEN_LANES].tx[i % PEN_LANES].first);
        if (link->from != NULL)
            pen_host_release(host, link->from[i].buffer);
    }
    pen_piece_free(host, link->out_pool.first);
    pen_piece_free(host, link->in_pool.first);
    pen_lanes_close(&link->stash);
}

static void extoll_close(pen_link *base)
{
    extoll_link *link = extoll_of(base);
    const pen_host *host = base->host;
    extoll_rma_close(link);
    if (link->velo_open)
        (void)velo2_close(&link->velo);
    if (link->card != NULL)
        pen_card_close(link->card);
    free_frames(link);
    pen_mailbox_close(&link->credits, host);
    pen_turns_close(&link->tx_turns, host);
    pen_host_release(host, link->to);
    pen_host_release(host, link->from);
    host->release(host->ctx, link);
}

/* ---- introductions --------------------------------------------------------------------------- */

static pen_status extoll_address_of(pen_link *base, void *blob)
{
    const extoll_link *link = extoll_of(base);
    extoll_address address = { .magic = EXTOLL_MAGIC,
                               .packet_max = link->packet_max,
                               .policy = (uint32_t)link->plan.credits.data.policy,
                               .quota = link->plan.credits.data.quota,
                               .control = link->plan.credits.data.control,
                               .velo_vpid = velo2_get_vpid(&link->velo),
                               .rma_vpid = rma2_get_vpid(link->rma),
                               .fenced = link->fenced,
                               .has_bounce = link->has_bounce };
    memcpy(blob, &address, sizeof address);
    return PEN_OK;
}

static pen_status connect_peer(extoll_link *link, pen_peer peer, const extoll_address *address)
{
    const pen_host *host = link->base.host;
    extoll_peer *to = &link->to[peer];
    to->sleeping = pen_host_sleep_word(host, peer, &link->always);
    to->rank = peer;
    to->source_i = pen_mailbox_source_i(&link->credits, peer);
    to->is_stuck = peer == link->base.self;
    atomic_init(&to->is_ignored, to->is_stuck);
    to->velo_vpid = address->velo_vpid;
    velo2_ret_t velo = velo2_connect(&link->velo, &to->velo, (uint16_t)peer, address->velo_vpid);
    RMA2_ERROR_CODE rma =
        rma2_connect(link->rma, (RMA2_Nodeid)peer, address->rma_vpid, RMA2_CONN_DEFAULT, &to->rma);
    if (velo == VELO2_RET_SUCCESS && rma == RMA2_SUCCESS)
        return PEN_OK;
    host->log(host->ctx, PEN_LOG_ERROR,
              "cannot connect to rank %u over extoll: velo2_connect: %s, rma2_connect: %s; start "
              "all ranks on one host with one environment",
              peer, velo2_strerror(velo), rma2_strerror(rma));
    return PEN_ERR_UNUSABLE;
}

static pen_status extoll_connect(pen_link *base, const void *blobs, pen_peer count)
{
    extoll_link *link = extoll_of(base);
    const pen_host *host = base->host;
    extoll_address mine;
    (void)extoll_address_of(base, &mine);
    if (count != link->peers)
        return PEN_ERR_ARGUMENT;
    link->has_rma = true;
    for (pen_peer peer = 0; peer < count; peer++) {
        extoll_address address;
        memcpy(&address, (const char *)blobs + peer * sizeof address, sizeof address);
        if (memcmp(&address, &mine, offsetof(extoll_address, velo_vpid)) != 0) {
            host->log(host->ctx, PEN_LOG_ERROR,
                      "cannot speak with rank %u over extoll: its credits or packets differ; "
                      "start all ranks with the same build and the same PENSTOCK_EXTOLL_ variables",
                      peer);
            return PEN_ERR_UNUSABLE;
        }
        link->fenced = link->fenced || address.fenced != 0;
        link->has_rma = link->has_rma && address.has_bounce != 0;
        pen_status status = connect_peer(link, peer, &address);
        if (status != PEN_OK)
            return status;
    }
    return PEN_OK;
}

/* ---- statistics ------------------------------------------------------------------------------ */

/* Counts the data credits; those of the CONTROL lane never change. Does not wait for the lock: a
 * signal handler may call it while its thread holds the lock. */
static bool count_peer(pen_link *base, pen_peer peer, pen_peer_counters *out)
{
    extoll_link *link = extoll_of(base);
    const pen_mailbox *credits = &link->credits;
    if (peer == base->self || peer >= link->peers || !pen_lock_try(&link->lock))
        return false;
    *out = (pen_peer_counters){ 0 };
    pen_credits_count(credits->data_sender, credits->data_receiver,
                      pen_mailbox_source_i(credits, peer), out);
    pen_lock_drop(&link->lock);
    return true;
}

static const pen_count_ops extoll_count = { .peer = count_peer };

/* ---- opening --------------------------------------------------------------------------------- */

static const pen_link_ops extoll_ops = {
    .close = extoll_close,
    .address = extoll_address_of,
    .connect = extoll_connect,
    .post = extoll_post,
    .poll = extoll_poll,
};

static bool open_tables(extoll_link *link)
{
    const pen_host *host = link->base.host;
    size_t peers = link->peers;
    const pen_mailbox_plan *credits = &link->plan.credits;
    link->to = pen_host_alloc_zeroed(host, peers * sizeof *link->to);
    link->from = pen_host_alloc_zeroed(host, peers * PEN_LANES * sizeof *link->from);
    return link->to != NULL && link->from != NULL &&
           pen_mailbox_open(&link->credits, host, credits, link->base.self) &&
           pen_turns_open(&link->tx_turns, host, link->peers * PEN_LANES) &&
           pen_lanes_reserve(&link->stash, credits->data_slots + credits->control_slots,
                             EXTOLL_PAYLOAD_MAX);
}

static pen_status open_card(extoll_link *link)
{
    const pen_host *host = link->base.host;
    size_t len;
    link->plan.card.virtual = host->virtual;
    void *memory = pen_host_find_shared(host, pen_card_len(&link->plan.card),
                                        "the software EXTOLL card", &len);
    if (memory == NULL)
        return PEN_ERR_UNUSABLE;
    pen_status status =
        pen_card_open(memory, len, &link->plan.card, (uint16_t)link->base.self, &link->card);
    if (status != PEN_OK) {
        host->log(host->ctx, PEN_LOG_ERROR,
                  "cannot use the software EXTOLL card: %s; start all ranks with one environment",
                  pen_status_text(status));
        return status;
    }
    pen_card_use(link->card);
    velo2_ret_t velo = velo2_open(&link->velo);
    link->velo_open = velo == VELO2_RET_SUCCESS;
    status = link->velo_open ? extoll_rma_open(link) : PEN_ERR_RESOURCE;
    pen_card_use(NULL);
    if (status == PEN_OK)
        return PEN_OK;
    host->log(host->ctx, PEN_LOG_ERROR,
              "cannot open the ports of the software EXTOLL card: %s; free some memory",
              link->velo_open ? pen_status_text(status) : velo2_strerror(velo));
    return status;
}

static pen_status open_steps(extoll_link *link)
{
    const pen_host *host = link->base.host;
    if (!open_tables(link)) {
        host->log(host->ctx, PEN_LOG_ERROR,
                  "cannot open the extoll conduit: memory for %u peers: %s; use fewer ranks",
                  link->peers, strerror(ENOMEM));
        return PEN_ERR_MEMORY;
    }
    pen_status status = open_card(link);
    if (status != PEN_OK)
        return status;
    link->packet_max = link->credits.packet_len = (uint32_t)velo2_port_max_len(&link->velo);
    link->drain_max = link->plan.coalesced ? EXTOLL_DRAIN_MAX : 1;
    link->short_max = link->plan.coalesced ? link->packet_max : EXTOLL_WORD;
    link->whole_max = link->plan.coalesced ? link->packet_max : 0;
    link->fenced = !pen_membarrier_register();
    link->base.caps = (pen_caps){
        .flags = PEN_CAP_RELIABLE | PEN_CAP_INTACT,
        .frame_max = EXTOLL_BODY_MAX,
        .frame_copy_max = EXTOLL_BODY_MAX,
        .frame_grain = link->plan.card.slot_len,
        .addr_len = sizeof(extoll_address),
        .rkey_len = sizeof(RMA2_NLA),
        .put_max = EXTOLL_BOUNCE_LEN,
        .get_max = EXTOLL_BOUNCE_LEN,
    };
    return PEN_OK;
}

static extoll_link *alloc_link(const pen_link_params *params)
{
    const pen_host *host = params->host;
    extoll_link *link = pen_host_alloc_zeroed(host, sizeof *link);
    if (link == NULL) {
        host->log(
            host->ctx, PEN_LOG_ERROR,
            "cannot open the extoll conduit: aligned_alloc of %zu bytes: %s; free some memory",
            sizeof *link, strerror(ENOMEM));
        return NULL;
    }
    link->base = (pen_link){ .ops = &extoll_ops,
                             .rma = &extoll_rma,
                             .behind = &extoll_behind,
                             .count = &extoll_count,
                             .host = host,
                             .self = params->self };
    link->peers = params->peers;
    atomic_init(&link->always, 1);
    pen_lock_init(&link->lock, params->concurrency);
    pen_lanes_init(&link->stash, host->alloc, host->release, host->ctx);
    link->out_pool = link->in_pool = (pen_piece_pool){ host, EXTOLL_BODY_MAX, NULL };
    return link;
}

static pen_status extoll_open(const pen_link_params *params, pen_link **out)
{
    const pen_host *host = params->host;
    extoll_plan plan;
    const char *wrong = extoll_plan_make(params->config, params->peers, &plan);
    if (wrong != NULL) {
        host->log(host->ctx, PEN_LOG_ERROR,
                  "cannot open the extoll conduit: %s; mend or unset the PENSTOCK_EXTOLL_ variable "
                  "(`penstock info` lists them)",
                  wrong);
        return PEN_ERR_ARGUMENT;
    }
    extoll_link *link = alloc_link(params);
    if (link == NULL)
        return PEN_ERR_MEMORY;
    link->plan = plan;
    pen_status status = open_steps(link);
    if (status != PEN_OK)
        extoll_close(&link->base);
    else
        *out = &link->base;
    return status;
}

const pen_conduit pen_conduit_extoll = {
    .abi = PEN_CONDUIT_ABI,
    .name = "extoll",
    .summary = "an EXTOLL network card (VELO and RMA), in software",
    .knobs = extoll_knobs,
    .config_len = sizeof(extoll_config),
    .score = extoll_score,
    .shared_len = extoll_shared_len,
    .open = extoll_open,
};
