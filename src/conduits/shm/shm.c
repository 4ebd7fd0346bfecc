/* SPDX-License-Identifier: BSD-3-Clause */
/* shm.c: the conduit for ranks of one host: opening and closing a link, and its registry entry.
 *
 * Each pair of ranks that talks has a channel in the receiver's part of the shared slice: rings
 * with one writer and one reader, separate for requests and replies. Control frames, and frames
 * of ranks without a channel, go through an inbox. layout.h describes the memory;
 * docs/conduits/shm.md states the guarantees and the reasons. */
#include "conduits/shm/shm.h"

#include "base/status.h"
#include "conduit/conduit.h"
#include "diag/log.h"
#include "knob/knob.h"
#include "link/host.h"
#include "os/os.h"

#include <errno.h>
#include <string.h>

#define SHM_MAGIC 0x70656e73u /* includes the layout's version */

typedef struct shm_address { /* ranks compare it before they touch each other's memory */
    uint32_t magic, ranks, channels, eager, position_start;
    uint32_t fenced; /* need not be equal: if one rank needs fences, all fence */
} shm_address;

static const pen_knob knobs[] = {
    { "PENSTOCK_SMP_CHANNELS", PEN_KNOB_INT, "32", offsetof(shm_config, channels),
      "Channels of a rank, one per sending peer (1 to 32); further peers use its inbox." },
    { "PENSTOCK_SMP_EAGER", PEN_KNOB_INT, "8", offsetof(shm_config, eager),
      "Largest job, in ranks, that polls all channels from the start." },
    { "PENSTOCK_SMP_PARK", PEN_KNOB_INT, "4096", offsetof(shm_config, park_polls),
      "Polls until an unused channel is parked, that is, not polled before its next message; 0: "
      "never." },
    { 0 },
};

static int shm_score(pen_peer peers, const char **why)
{
    if (peers <= SHM_RANKS_MAX)
        return 100;
    *why = "shared memory serves at most 4096 ranks of one host";
    return 0;
}

static size_t shm_shared_len(pen_peer peers, const void *config)
{
    (void)config; /* unused: ranks and launcher must agree, whatever their environments contain */
    return peers * shm_layout_of(peers).rank_len;
}

static void shm_close(pen_link *base)
{
    shm_link *link = shm_of(base);
    const pen_host *host = base->host;
    pen_host_release(host, link->to);
    pen_host_release(host, link->channel);
    pen_host_release(host, link->lost);
    host->release(host->ctx, link);
}

static pen_status shm_address_of(pen_link *base, void *blob)
{
    const shm_link *link = shm_of(base);
    shm_address address = {
        .magic = SHM_MAGIC,
        .ranks = link->peers,
        .channels = link->channels,
        .eager = shm_is_eager(link),
        .position_start = link->config.position_start,
        .fenced = link->fenced,
    };
    memcpy(blob, &address, sizeof(address));
    return PEN_OK;
}

static pen_status shm_connect(pen_link *base, const void *blobs, pen_peer count)
{
    shm_link *link = shm_of(base);
    const pen_host *host = base->host;
    shm_address mine;
    (void)shm_address_of(base, &mine);
    if (count != link->peers)
        return PEN_ERR_ARGUMENT;
    for (pen_peer peer = 0; peer < count; peer++) {
        shm_address address;
        memcpy(&address, (const char *)blobs + peer * sizeof(address), sizeof(address));
        if (memcmp(&address, &mine, offsetof(shm_address, fenced)) != 0) {
            host->log(host->ctx, PEN_LOG_ERROR,
                      "cannot share memory with rank %u: its layout of the memory differs; start "
                      "all ranks "
                      "with the same build and the same PENSTOCK_SMP_ variables",
                      peer);
            return PEN_ERR_UNUSABLE;
        }
        link->fenced = link->fenced || address.fenced != 0;
    }
    for (pen_peer peer = 0; peer < count; peer++)
        shm_connect_peer(link, peer);
    shm_express_open(link);
    link->ops.post = link->fenced ? shm_post_fenced : shm_post;
    return PEN_OK;
}

static pen_status check_config(const pen_host *host, const shm_config *config)
{
    if (config->channels >= 1 && config->channels <= SHM_CHANNELS_MAX && config->eager >= 0 &&
        config->park_polls >= 0 && config->park_polls <= UINT32_MAX)
        return PEN_OK;
    host->log(
        host->ctx, PEN_LOG_ERROR,
        "cannot use PENSTOCK_SMP_CHANNELS=%lld, PENSTOCK_SMP_EAGER=%lld, PENSTOCK_SMP_PARK=%lld: "
        "out of range; channels are 1 to 32, the rest not negative",
        (long long)config->channels, (long long)config->eager, (long long)config->park_polls);
    return PEN_ERR_ARGUMENT;
}

static pen_status find_slice(const pen_host *host, const shm_layout *layout, char **slice_out)
{
    size_t len = 0;
    size_t len_needed = layout->ranks * layout->rank_len;
    char *slice = host->shared == NULL ? NULL : (char *)host->shared(host->ctx, &len);
    if (slice == NULL || len < len_needed || (uintptr_t)slice % SHM_SLOT_LEN != 0) {
        host->log(
            host->ctx, PEN_LOG_ERROR,
            "cannot use shared memory: %zu bytes are there, %zu are needed; run all ranks on one "
            "host under one launcher, or choose another conduit",
            slice == NULL ? (size_t)0 : len, len_needed);
        return PEN_ERR_UNUSABLE;
    }
    *slice_out = slice;
    return PEN_OK;
}

static shm_link *alloc_link(const pen_host *host, const pen_link_params *params)
{
    shm_link *link = (shm_link *)pen_host_alloc_zeroed(host, sizeof(*link));
    if (link != NULL) {
        link->base.host = host;
        link->to = (shm_peer *)pen_host_alloc_zeroed(host, params->peers * sizeof(*link->to));
        link->channel = (shm_rx_channel *)pen_host_alloc_zeroed(host, SHM_CHANNELS_MAX *
                                                                          sizeof(*link->channel));
        link->lost = (bool *)pen_host_alloc_zeroed(host, params->peers * sizeof(*link->lost));
        if (link->to != NULL && link->channel != NULL && link->lost != NULL)
            return link;
        shm_close(&link->base);
    }
    host->log(host->ctx, PEN_LOG_ERROR,
              "cannot open a shared-memory link for %u peers: aligned_alloc: %s; use fewer ranks",
              params->peers, strerror(ENOMEM));
    return NULL;
}

/* Sets the counters if a test starts them elsewhere; in shared memory they are zero. */
static void start_positions(shm_link *link)
{
    uint32_t start = link->config.position_start;
    if (start == 0)
        return;
    for (pen_lane lane = PEN_LANE_REQUEST; lane < PEN_LANES; lane++) {
        atomic_store_explicit(&link->page->lanes[lane].inbox_tail, start, memory_order_relaxed);
        atomic_store_explicit(&link->page->inbox_done[lane], start, memory_order_relaxed);
    }
    for (uint32_t i = 0; i < link->channels; i++) {
        for (pen_lane lane = PEN_LANE_REQUEST; lane < SHM_CHANNEL_LANES; lane++) {
            shm_channel_words *words = &link->page->channels[i];
            atomic_store_explicit(&words->slots_done[lane], start, memory_order_relaxed);
            atomic_store_explicit(&words->bodies_done[lane], start, memory_order_relaxed);
        }
    }
}

static pen_status shm_open(const pen_link_params *params, pen_link **out)
{
    const pen_host *host = params->host;
    shm_layout layout = shm_layout_of(params->peers);
    char *slice = NULL;
    pen_status status = check_config(host, (const shm_config *)params->config);
    if (status == PEN_OK)
        status = find_slice(host, &layout, &slice);
    if (status != PEN_OK)
        return status;
    shm_link *link = alloc_link(host, params);
    if (link == NULL)
        return PEN_ERR_MEMORY;
    link->layout = layout;
    link->config = *(const shm_config *)params->config;
    link->peers = params->peers;
    link->channels = layout.channels;
    if (link->channels > link->config.channels)
        link->channels = (uint32_t)link->config.channels;
    link->slice = slice;
    if (host->copies != NULL)
        link->copies = *host->copies;
    link->area = shm_area(&layout, slice, params->self);
    link->page = (shm_page *)(void *)link->area;
    link->fenced = link->config.fenced || !pen_membarrier_register();
    atomic_init(&link->always, 1);
    atomic_init(&link->self_deaf, 1);
    link->ops = (pen_link_ops){
        .close = shm_close,
        .address = shm_address_of,
        .connect = shm_connect,
        .post = shm_post_fenced, /* until connect has seen that no rank needs fences */
        .poll = link->config.park_polls == 0 || shm_is_eager(link) ? shm_poll : shm_poll_parking,
    };
    link->base = (pen_link){
        .ops = &link->ops,
        .zcopy = &shm_zcopy,
        .host = host,
        .self = params->self,
        .caps = { .flags = PEN_CAP_RELIABLE | PEN_CAP_SAME_HOST,
                  .frame_max = SHM_BODY_MAX,
                  .frame_copy_max = SHM_BODY_MAX,
                  .frame_overhead = sizeof(uint64_t),
                  .frame_grain = SHM_SLOT_LEN,
                  .addr_len = sizeof(shm_address) },
    };
    start_positions(link);
    shm_open_receiver(link);
    *out = &link->base;
    return PEN_OK;
}

const pen_conduit pen_conduit_shm = {
    .abi = PEN_CONDUIT_ABI,
    .name = "smp",
    .summary = "shared memory between the ranks of one host",
    .knobs = knobs,
    .config_len = sizeof(shm_config),
    .score = shm_score,
    .shared_len = shm_shared_len,
    .open = shm_open,
};
