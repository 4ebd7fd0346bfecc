/* SPDX-License-Identifier: BSD-3-Clause */
/* portals.c: the conduit over Portals 4: opening and closing a link, and its registry entry.
 * portals.h describes the division of work; docs/conduits/portals.md states the guarantees. */
#include "conduits/portals/portals.h"

#include "base/compiler.h"
#include "base/status.h"
#include "conduit/conduit.h"
#include "diag/log.h"
#include "firehose/firehose.h"
#include "knob/knob.h"
#include "link/host.h"
#include "link/lanes.h"
#include "link/window.h"
#include "os/lock.h"
#include "os/os.h"
#include "softnic/portals/portals4.h"

#include <errno.h>
#include <string.h>

#define PORTALS_MAGIC 0x70743402u /* includes the version of the frame format */

enum { WINDOW_LEAST = 65536, WINDOW_MOST = 1 << 20, TOKENS_LEAST = 4, PUT_MAX = 1 << 30 };

static const pen_knob knobs[] = {
    { "PENSTOCK_PORTALS_WINDOW", PEN_KNOB_BYTES, "64K", offsetof(portals_config, window),
      "Bytes of frames that a rank may have under way to a peer that does not poll, 64K to 1M." },
    { "PENSTOCK_PORTALS_TOKENS", PEN_KNOB_INT, "64", offsetof(portals_config, tokens),
      "Frames of each kind (requests, replies, control) that wait to leave a rank, 4 to 4096." },
    { "PENSTOCK_PORTALS_CREDITS", PEN_KNOB_STRING, "static", offsetof(portals_config, credits),
      "How room for frames is shared among peers: static (each has the same), loan (peers that "
      "lack room borrow it), or disable (first come, first served; the card refuses the rest)." },
    { "PENSTOCK_PORTALS_LOCAL", PEN_KNOB_STRING, "all", offsetof(portals_config, local),
      "How the card knows the local memory of puts and gets outside of segments: all (one "
      "descriptor "
      "of all memory), firehose (registered when it is used first), temporary (registered for each "
      "operation), bounce (copied)." },
    PEN_FIREHOSE_KNOBS(portals_config, firehose) PORTALS_DEVICE_KNOBS(portals_config, device){ 0 },
};

typedef struct portals_address { /* of a rank */
    uint32_t magic, fenced;
    uint64_t window;
    uint32_t policy, zero;
    ptl_process_t process;
    ptl_pt_index_t portal[PORTALS_COUNT];
} portals_address;

static int score(pen_peer peers, const char **why)
{
    if (peers <= PORTALS_RANKS_MAX)
        return 2; /* a software card: never better than the shared memory under it */
    *why = "the software card serves at most 64 ranks of one host";
    return 0;
}

static size_t shared_len(pen_peer peers, const void *config)
{
    (void)config;
    return peers <= PORTALS_RANKS_MAX ? portals_device_len(peers) : 0;
}

size_t portals_inbox(const portals_link *link)
{
    if (link->policy == PORTALS_DISABLE)
        return (size_t)link->config.window;
    size_t count = link->policy == PORTALS_LOAN ? PEN_WINDOW_NOTES_LENT : PEN_WINDOW_NOTES;
    size_t notes = count * PORTALS_GRAIN;
    return link->peers * ((size_t)link->config.window + notes);
}

/* ---- closing --------------------------------------------------------------------------------- */

static void portals_close(pen_link *base)
{
    portals_link *link = portals_of(base);
    const pen_host *host = base->host;
    if (link->device != NULL) {
        if (link->tokens != NULL)
            portals_local_close(link);
        portals_device_use(link->device);
        if (link->has_interface)
            PtlFini(); /* closes the interface and all that belongs to it */
        portals_device_use(NULL);
        portals_device_close(link->device);
    }
    pen_lanes_close(&link->held);
    void *const memory[] = { link->peer,         link->blocks,  link->tokens,
                             link->block_memory, link->buffers, link };
    for (size_t i = 0; i < sizeof memory / sizeof memory[0]; i++)
        if (memory[i] != NULL)
            host->release(host->ctx, memory[i]);
}

/* ---- introductions --------------------------------------------------------------------------- */

static pen_status address_of(pen_link *base, void *blob)
{
    const portals_link *link = portals_of(base);
    portals_address address = { .magic = PORTALS_MAGIC,
                                .fenced = link->fenced,
                                .window = link->config.window,
                                .policy = link->policy };
    portals_device_use(link->device);
    int result = PtlGetPhysId(link->ni, &address.process);
    portals_device_use(NULL);
    memcpy(address.portal, link->portal, sizeof address.portal);
    memcpy(blob, &address, sizeof address);
    if (result == PTL_OK)
        return PEN_OK;
    base->host->log(base->host->ctx, PEN_LOG_ERROR,
                    "cannot learn this rank's Portals address: PtlGetPhysId gave %d", result);
    return PEN_ERR_UNUSABLE;
}

static pen_status portals_connect(pen_link *base, const void *blobs, pen_peer count)
{
    portals_link *link = portals_of(base);
    const pen_host *host = base->host;
    if (count != link->peers)
        return PEN_ERR_ARGUMENT;
    for (pen_peer i = 0; i < count; i++) {
        portals_address address;
        memcpy(&address, (const char *)blobs + i * sizeof address, sizeof address);
        if (address.magic != PORTALS_MAGIC || address.window != link->config.window ||
            address.policy != link->policy) {
            host->log(
                host->ctx, PEN_LOG_ERROR,
                "cannot speak with rank %u over portals: its frames, its window or its credits "
                "differ; start all ranks with the same build, and the same "
                "PENSTOCK_PORTALS_WINDOW and PENSTOCK_PORTALS_CREDITS",
                i);
            return PEN_ERR_UNUSABLE;
        }
        portals_peer *peer = &link->peer[i];
        peer->process = address.process;
        memcpy(peer->portal, address.portal, sizeof peer->portal);
        peer->sleeping = pen_host_sleep_word(host, i, &link->always);
        link->fenced = link->fenced || address.fenced != 0;
    }
    return PEN_OK;
}

/* ---- opening --------------------------------------------------------------------------------- */

static const pen_link_ops portals_ops = {
    .close = portals_close,
    .address = address_of,
    .connect = portals_connect,
    .post = portals_post,
    .poll = portals_poll,
};

static size_t buffer_len(void) { return pen_align_up(PORTALS_LONGEST, PEN_CACHE_LINE); }

static size_t bounce_len(const portals_link *link)
{
    return link->way == PORTALS_LOCAL_BOUNCE ? PORTALS_BOUNCE_LEN : 0;
}

/* Buffers of frames, then those of puts and gets that are copied, then words. */
static size_t words_at(const portals_link *link)
{
    return portals_frames(link) * buffer_len() + PORTALS_OPS * bounce_len(link);
}

static size_t buffers_len(const portals_link *link)
{
    return words_at(link) + (size_t)PORTALS_OPS * PORTALS_WORDS * sizeof(uint64_t);
}

static void init_token(const portals_link *link, portals_token *token, uint32_t i)
{
    const uint32_t frames = portals_frames(link), op_i = i - frames;
    token->kind = PORTALS_MEMORY;
    if (i < frames) {
        token->kind = (uint8_t)(i / (uint32_t)link->config.tokens);
        token->buffer = link->buffers + i * buffer_len();
        return;
    }
    token->words =
        (uint64_t *)(void *)(link->buffers + words_at(link)) + (size_t)op_i * PORTALS_WORDS;
    if (bounce_len(link) != 0)
        token->buffer = link->buffers + frames * buffer_len() + op_i * bounce_len(link);
}

static bool open_tables(portals_link *link)
{
    const pen_host *host = link->base.host;
    const uint32_t frames = portals_frames(link);
    /* Frames lie in a row of blocks; the first of them and the last may be full in part. */
    const uint32_t partial = link->policy == PORTALS_DISABLE ? 1 : 3;
    link->blocks_lane =
        (uint32_t)(portals_inbox(link) / (PORTALS_BLOCK_LEN - PORTALS_LONGEST)) + partial;
    size_t blocks = (size_t)PEN_LANES * link->blocks_lane;
    link->peer = pen_host_alloc_zeroed(host, link->peers * sizeof *link->peer);
    link->blocks = pen_host_alloc_zeroed(host, blocks * sizeof *link->blocks);
    link->tokens = pen_host_alloc_zeroed(host, (frames + PORTALS_OPS) * sizeof *link->tokens);
    link->buffers = host->alloc(host->ctx, buffers_len(link), PEN_CACHE_LINE);
    link->block_memory = host->alloc(host->ctx, blocks * PORTALS_BLOCK_LEN, PEN_CACHE_LINE);
    if (link->peer == NULL || link->blocks == NULL || link->tokens == NULL ||
        link->buffers == NULL || link->block_memory == NULL)
        return false;
    for (uint32_t i = 0; i < frames + PORTALS_OPS; i++) {
        portals_token *token = &link->tokens[i];
        init_token(link, token, i);
        token->next = link->free_tokens[token->kind];
        link->free_tokens[token->kind] = token;
    }
    return true;
}

/* Returns a result of the interface. */
static int open_interface(portals_link *link, pen_concurrency concurrency)
{
    ptl_ni_limits_t limits;
    int result = PtlInit();
    if (result != PTL_OK)
        return result;
    link->has_interface = true;
    result = PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | PTL_NI_PHYSICAL, PTL_PID_ANY, NULL,
                       &limits, &link->ni);
    if (result == PTL_OK && (limits.features & PTL_COHERENT_ATOMICS) != 0)
        link->base.amo = &portals_amo;
    if (result == PTL_OK)
        result =
            PtlEQAlloc(link->ni, 2 * ((size_t)portals_frames(link) + PORTALS_OPS), &link->ended);
    if (result == PTL_OK)
        result = PtlPTAlloc(link->ni, 0, PTL_EQ_NONE, PTL_PT_ANY, &link->portal[PORTALS_MEMORY]);
    if (result == PTL_OK)
        result = portals_receive_open(link);
    if (result == PTL_OK)
        result = portals_behind_open(link);
    if (result == PTL_OK)
        result = portals_local_open(link, concurrency, (uint32_t)limits.max_mds);
    if (result != PTL_OK)
        return result;
    ptl_md_t md = { .start = link->buffers,
                    .length = buffers_len(link),
                    .eq_handle = link->ended,
                    .ct_handle = PTL_CT_NONE };
    result = PtlMDBind(link->ni, &md, &link->frames_md);
    if (result != PTL_OK)
        return result;
    md.start = NULL;
    md.length = PTL_SIZE_MAX;
    return PtlMDBind(link->ni, &md, &link->memory_md);
}

static pen_status open_steps(portals_link *link, pen_concurrency concurrency)
{
    const pen_host *host = link->base.host;
    if (!open_tables(link)) {
        host->log(host->ctx, PEN_LOG_ERROR,
                  "cannot open the portals conduit: memory for %u peers: %s; use fewer ranks or a "
                  "smaller PENSTOCK_PORTALS_WINDOW",
                  link->peers, strerror(ENOMEM));
        return PEN_ERR_MEMORY;
    }
    pen_status status = portals_device_open(host, &link->config.device, link->base.self,
                                            link->peers, &link->device);
    if (status != PEN_OK)
        return status;
    portals_device_use(link->device);
    int result = open_interface(link, concurrency);
    portals_device_use(NULL);
    if (result != PTL_OK) {
        host->log(host->ctx, PEN_LOG_ERROR,
                  "cannot open the interface of the Portals card: result %d of portals4.h; free "
                  "some memory",
                  result);
        return PEN_ERR_RESOURCE;
    }
    return PEN_OK;
}

static bool parse_policy(const char *text, portals_policy *out)
{
    static const char *const names[PORTALS_POLICIES] = { "static", "loan", "disable" };
    for (unsigned i = 0; i < PORTALS_POLICIES; i++) {
        if (strcmp(text, names[i]) != 0)
            continue;
        *out = (portals_policy)i;
        return true;
    }
    return false;
}

static void init_link(portals_link *link, const pen_link_params *params)
{
    link->peers = params->peers;
    memcpy(&link->config, params->config, sizeof link->config);
    (void)portals_local_parse(link->config.local, &link->way);
    (void)parse_policy(link->config.credits, &link->policy);
    link->counters = params->host->counters != NULL ? params->host->counters : &link->own_counters;
    link->fenced = !pen_membarrier_register();
    atomic_init(&link->always, 1);
    pen_lock_init(&link->lock, params->concurrency);
    pen_lanes_init(&link->held, params->host->alloc, params->host->release, params->host->ctx);
    link->base = (pen_link){
        .ops = &portals_ops,
        .rma = &portals_rma,
        .due = &portals_due,
        .behind = &portals_behind,
        .host = params->host,
        .self = params->self,
        .caps = { .flags = PEN_CAP_RELIABLE | PEN_CAP_INTACT,
                  .frame_max = PORTALS_FRAME_MAX,
                  .frame_copy_max = PORTALS_FRAME_MAX,
                  .frame_overhead = PORTALS_OVERHEAD,
                  .frame_grain = PORTALS_GRAIN,
                  .inbox_lends = link->policy == PORTALS_LOAN,
                  .inbox_len = link->policy == PORTALS_DISABLE
                                   ? 0
                                   : (size_t)link->config.window * params->peers,
                  .addr_len = sizeof(portals_address),
                  .rkey_len = sizeof(uint64_t),
                  .put_max = PUT_MAX,
                  .get_max = PUT_MAX },
    };
}

/* Returns whether the settings that are names are known. If not, the reason is logged. */
static bool has_names(const pen_host *host, const portals_config *config)
{
    portals_local_way way;
    portals_policy policy;
    bool has_way = portals_local_parse(config->local, &way);
    if (!has_way)
        host->log(
            host->ctx, PEN_LOG_ERROR,
            "cannot open the portals conduit: PENSTOCK_PORTALS_LOCAL is '%s'; it must be all, "
            "firehose, temporary or bounce",
            config->local);
    bool has_policy = parse_policy(config->credits, &policy);
    if (!has_policy)
        host->log(host->ctx, PEN_LOG_ERROR,
                  "cannot open the portals conduit: PENSTOCK_PORTALS_CREDITS is '%s'; it must be "
                  "static, loan or disable",
                  config->credits);
    return has_way && has_policy;
}

static pen_status portals_open(const pen_link_params *params, pen_link **out)
{
    const pen_host *host = params->host;
    const portals_config *config = params->config;
    if (config->window < WINDOW_LEAST || config->window > WINDOW_MOST ||
        config->tokens < TOKENS_LEAST || config->tokens > PORTALS_TOKENS_MAX ||
        params->peers > PORTALS_RANKS_MAX) {
        host->log(host->ctx, PEN_LOG_ERROR,
                  "cannot open the portals conduit: PENSTOCK_PORTALS_WINDOW is %llu (64K to 1M), "
                  "PENSTOCK_PORTALS_TOKENS is %lld (4 to %d), and there are %u ranks (at most %d)",
                  (unsigned long long)config->window, (long long)config->tokens, PORTALS_TOKENS_MAX,
                  params->peers, PORTALS_RANKS_MAX);
        return PEN_ERR_ARGUMENT;
    }
    if (!has_names(host, config))
        return PEN_ERR_ARGUMENT;
    portals_link *link = pen_host_alloc_zeroed(host, sizeof *link);
    if (link == NULL) {
        host->log(host->ctx, PEN_LOG_ERROR,
                  "cannot open the portals conduit: aligned_alloc of %zu bytes: %s; free some "
                  "memory",
                  sizeof *link, strerror(ENOMEM));
        return PEN_ERR_MEMORY;
    }
    init_link(link, params);
    pen_status status = open_steps(link, params->concurrency);
    if (status != PEN_OK)
        portals_close(&link->base);
    else
        *out = &link->base;
    return status;
}

const pen_conduit pen_conduit_portals = {
    .abi = PEN_CONDUIT_ABI,
    .name = "portals",
    .summary = "a Portals 4 network card, in software",
    .knobs = knobs,
    .config_len = sizeof(portals_config),
    .score = score,
    .shared_len = shared_len,
    .open = portals_open,
};
