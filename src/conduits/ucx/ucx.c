/* SPDX-License-Identifier: BSD-3-Clause */
/* ucx.c: the ucx conduit: opens a worker of UCX, publishes its address, connects to the peers, and
 * closes. docs/conduits/ucx.md describes it. */
#include "conduits/ucx/ucx.h"

#include "base/compiler.h"
#include "base/status.h"
#include "conduit/conduit.h"
#include "diag/log.h"
#include "knob/knob.h"
#include "link/evidence.h"
#include "link/netlib.h"
#include "os/lock.h"
#include "seal/seal.h"

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { DESCRIPTORS_EACH = 4 }; /* that UCX may need for a peer */

static const pen_knob knobs[] = {
    { "PENSTOCK_UCX_LIBRARY", PEN_KNOB_STRING, "libucp.so.0", offsetof(ucx_config, library),
      "File of UCX's library, version 1.12 or newer." },
    { "PENSTOCK_UCX_TLS", PEN_KNOB_STRING, NULL, offsetof(ucx_config, transports),
      "Transports that UCX may use, for example tcp,self; takes precedence over UCX_TLS. Unset: "
      "UCX_TLS, else ib if this machine has an active card for InfiniBand or RoCE, else UCX "
      "chooses." },
    { "PENSTOCK_UCX_RMA", PEN_KNOB_STRING, "auto", offsetof(ucx_config, rma),
      "Whether UCX moves puts and gets: yes, no, or auto, where a card for InfiniBand or RoCE is "
      "used. Otherwise messages do. All ranks need the same." },
    { "PENSTOCK_UCX_WINDOW", PEN_KNOB_BYTES, "256K", offsetof(ucx_config, window),
      "Bytes that each peer may send to a rank that does not poll (64K to 64M)." },
    { 0 },
};

/* Not tried with a card. */
static const pen_evidence cards[] = { { PEN_NETWORK_MELLANOX, 70, "ib" } };

static const pen_evidence *card_here(void)
{
    return pen_evidence_first(cards, sizeof cards / sizeof cards[0], pen_evidence_look());
}

static int ucx_score(pen_peer peers, const char **why)
{
    (void)peers;
    const pen_evidence *card = card_here();
    const char *name = pen_knob_from_process(NULL, knobs[0].name);
    if (!ucx_library_exists(name != NULL && name[0] != '\0' ? name : knobs[0].fallback)) {
        *why = "UCX is not installed (libucp.so.0 of version 1.12 or newer; package libucx0), "
               "or PENSTOCK_UCX_LIBRARY names another file";
        return 0;
    }
    *why = card != NULL ? pen_evidence_words(card->network)
                        : "this machine has no active card for InfiniBand or RoCE";
    return card != NULL ? card->score : PEN_SCORE_NAMED;
}

static size_t ucx_shared_len(pen_peer peers, const void *config)
{
    (void)peers, (void)config;
    return 0;
}

/* ---- telling --------------------------------------------------------------------------------- */

static pen_status cannot_open(const ucx_link *link, const char *call, ucs_status_t status)
{
    const pen_host *host = link->base.host;
    host->log(
        host->ctx, PEN_LOG_ERROR,
        "cannot open the ucx conduit: %s: %s; see the transports with `ucx_info -d`, name some "
        "with PENSTOCK_UCX_TLS, or choose another conduit with PENSTOCK_CONDUIT",
        call, link->ucx.status_string(status));
    return PEN_ERR_UNUSABLE;
}

/* ---- closing --------------------------------------------------------------------------------- */

/* A worker with frames that UCX has not sent stays, with its context and their memory, until the
 * process ends: UCX 1.13 aborts when such a worker is destroyed before the connection stands, and
 * the peer that would have to answer may be gone. Nothing calls that worker any more. */
static void ucx_close(pen_link *base)
{
    ucx_link *link = ucx_of(base);
    const pen_host *host = base->host;
    /* in an orderly end the peers wait for the last frames */
    const bool is_left = link->worker != NULL && host->orderly(host->ctx) ? !ucx_drain(link)
                                                                          : ucx_has_requests(link);
    if (link->worker != NULL) {
        ucx_arrivals_close(link);
        if (!is_left)
            link->ucx.worker_destroy(link->worker);
    }
    if (!is_left && link->context != NULL)
        link->ucx.cleanup(link->context);
    if (is_left)
        link->net.made = NULL;
    else
        ucx_rma_close(link);
    pen_net_close(&link->net);
    if (!link->has_fd && link->fd >= 0)
        (void)close(link->fd);
    host->release(host->ctx, link->ep);
    host->release(host->ctx, link);
}

/* ---- meeting the peers ----------------------------------------------------------------------- */

static pen_status ucx_write_address(pen_link *base, void *blob)
{
    ucx_link *link = ucx_of(base);
    const pen_host *host = base->host;
    ucp_address_t *address = NULL;
    size_t len = 0;
    ucs_status_t status = link->ucx.worker_get_address(link->worker, &address, &len);
    if (status != UCS_OK)
        return cannot_open(link, "ucp_worker_get_address", status);
    ucx_address out = { .len = (uint32_t)len,
                        .frame_max = base->caps.frame_max,
                        .has_rma = base->rma != NULL };
    if (len <= sizeof out.bytes)
        memcpy(out.bytes, address, len);
    link->ucx.worker_release_address(link->worker, address);
    if (len > sizeof out.bytes) {
        host->log(host->ctx, PEN_LOG_ERROR,
                  "cannot open the ucx conduit: UCX's address has %zu bytes and %zu are possible; "
                  "limit the devices with UCX_NET_DEVICES",
                  len, sizeof out.bytes);
        return PEN_ERR_RESOURCE;
    }
    memcpy(blob, &out, sizeof out);
    return PEN_OK;
}

static pen_status connect_one(ucx_link *link, pen_peer peer, const ucx_address *address)
{
    const pen_host *host = link->base.host;
    if (address->len > sizeof address->bytes || address->frame_max != link->base.caps.frame_max ||
        address->has_rma != (link->base.rma != NULL)) {
        host->log(host->ctx, PEN_LOG_ERROR,
                  "cannot connect over ucx: rank %u has other settings of PENSTOCK_UCX_ than rank "
                  "%u; give all ranks the same",
                  peer, link->base.self);
        return PEN_ERR_PROTOCOL;
    }
    const ucp_ep_params_t params = {
        .field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS,
        .address = (const ucp_address_t *)(const void *)address->bytes,
    };
    ucs_status_t status = link->ucx.ep_create(link->worker, &params, &link->ep[peer]);
    if (status == UCS_OK)
        return PEN_OK;
    link->ep[peer] = NULL;
    host->log(host->ctx, PEN_LOG_ERROR,
              "cannot connect over ucx: no transport reaches rank %u: %s; name other transports "
              "with PENSTOCK_UCX_TLS or UCX_TLS, the same on all hosts",
              peer, link->ucx.status_string(status));
    return PEN_ERR_UNUSABLE;
}

static pen_status ucx_connect(pen_link *base, const void *blobs, pen_peer count)
{
    ucx_link *link = ucx_of(base);
    const ucx_address *addresses = blobs;
    pen_status status = count == link->net.peers ? PEN_OK : PEN_ERR_ARGUMENT;
    for (pen_peer i = 0; status == PEN_OK && i < count; i++) {
        pen_peer peer = (base->self + i) % count; /* not all ranks begin with the same peer */
        ucx_address address;
        memcpy(&address, &addresses[peer], sizeof address);
        status = connect_one(link, peer, &address);
    }
    return status;
}

/* ---- opening --------------------------------------------------------------------------------- */

static const pen_link_ops ucx_ops = {
    .close = ucx_close,
    .address = ucx_write_address,
    .connect = ucx_connect,
    .post = ucx_post,
    .poll = ucx_poll,
};

/* Has the user left the choice of transports to Penstock? */
static bool is_choice_left(const ucx_link *link)
{
    const char *const named = link->config.transports;
    const char *const of_ucx = pen_knob_from_process(NULL, "UCX_TLS");
    return (named == NULL || named[0] == '\0') && (of_ucx == NULL || of_ucx[0] == '\0');
}

static pen_status cannot_use(const ucx_link *link, const pen_evidence *card, ucs_status_t status)
{
    const pen_host *host = link->base.host;
    host->log(host->ctx, PEN_LOG_ERROR,
              "cannot open the ucx conduit: %s, but this UCX cannot use it (transports %s: %s); "
              "install a UCX that can, see `ucx_info -d`; or name other transports with "
              "PENSTOCK_UCX_TLS, for example tcp,self",
              pen_evidence_words(card->network), card->choice, link->ucx.status_string(status));
    return PEN_ERR_UNUSABLE;
}

static pen_status open_context(ucx_link *link)
{
    ucp_config_t *config = NULL;
    ucs_status_t status = link->ucx.config_read(NULL, NULL, &config);
    if (status != UCS_OK)
        return cannot_open(link, "ucp_config_read", status);
    /* Where there is a card UCX must use it or fail, because it would take TCP silently. */
    const pen_evidence *card = is_choice_left(link) ? card_here() : NULL;
    const char *transports = card != NULL ? card->choice : link->config.transports;
    link->has_card = card != NULL;
    if (transports != NULL && transports[0] != '\0')
        status = link->ucx.config_modify(config, "TLS", transports);
    const ucp_params_t params = {
        .field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_ESTIMATED_NUM_EPS |
                      UCP_PARAM_FIELD_MT_WORKERS_SHARED,
        .features = UCP_FEATURE_AM | UCP_FEATURE_RMA | UCP_FEATURE_WAKEUP,
        .estimated_num_eps = link->net.peers,
        .mt_workers_shared = 0,
    };
    if (status == UCS_OK)
        status =
            link->ucx.init_version(UCP_API_MAJOR, UCP_API_MINOR, &params, config, &link->context);
    link->ucx.config_release(config);
    if (status == UCS_OK)
        return PEN_OK;
    return card != NULL ? cannot_use(link, card, status) : cannot_open(link, "ucp_init", status);
}

/* A thread holds the link's lock whenever it calls UCX, so UCX needs no lock of its own. */
static pen_status open_worker(ucx_link *link)
{
    const ucp_worker_params_t params = {
        .field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE | UCP_WORKER_PARAM_FIELD_AM_ALIGNMENT,
        .thread_mode = UCS_THREAD_MODE_SERIALIZED,
        .am_alignment = PEN_NET_ALIGN,
    };
    const ucp_am_handler_param_t handler = {
        .field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_FLAGS |
                      UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG,
        .id = UCX_AM_ID,
        .flags = UCP_AM_FLAG_WHOLE_MSG | UCP_AM_FLAG_PERSISTENT_DATA,
        .cb = ucx_on_arrival,
        .arg = link,
    };
    ucs_status_t status = link->ucx.worker_create(link->context, &params, &link->worker);
    if (status != UCS_OK) {
        link->worker = NULL;
        return cannot_open(link, "ucp_worker_create", status);
    }
    status = link->ucx.set_am_handler(link->worker, &handler);
    if (status != UCS_OK)
        return cannot_open(link, "ucp_worker_set_am_recv_handler", status);
    link->has_fd = link->ucx.worker_get_efd(link->worker, &link->fd) == UCS_OK;
    if (!link->has_fd && (link->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) < 0) {
        const pen_host *host = link->base.host;
        host->log(host->ctx, PEN_LOG_ERROR,
                  "cannot open the ucx conduit: eventfd: %s; raise \"ulimit -n\"", strerror(errno));
        return PEN_ERR_RESOURCE;
    }
    return PEN_OK;
}

/* Offers puts and gets to the engine. UCX moves them by messages of its own where there is no card,
 * and its keys there are no secret, so that frames serve better. */
static pen_status open_rma(ucx_link *link)
{
    const pen_host *host = link->base.host;
    bool wanted = link->has_card;
    if (strcmp(link->config.rma, "auto") != 0 &&
        !pen_knob_parse(PEN_KNOB_BOOL, link->config.rma, &wanted)) {
        host->log(host->ctx, PEN_LOG_ERROR,
                  "cannot open the ucx conduit: PENSTOCK_UCX_RMA=%s: it is auto, yes or no; give "
                  "one of these",
                  link->config.rma);
        return PEN_ERR_ARGUMENT;
    }
    if (!wanted)
        return PEN_OK;
    if (!ucx_rma_open(link))
        return cannot_open(link, "memory for puts and gets", UCS_ERR_NO_MEMORY);
    link->base.rma = &ucx_rma;
    link->base.caps.rkey_len = sizeof(ucx_key);
    link->base.caps.put_max = link->base.caps.get_max = UCX_MOVE_MAX;
    return PEN_OK;
}

static void set_caps(ucx_link *link)
{
    link->base.caps = (pen_caps){
        .flags = PEN_CAP_RELIABLE | PEN_CAP_INTACT | PEN_CAP_COPIES,
        .frame_max = UCX_FRAME_MAX,
        .frame_copy_max = UCX_FRAME_MAX,
        .frame_overhead = PEN_NET_OVERHEAD,
        .frame_grain = UCX_GRAIN,
        .inbox_len = (size_t)link->config.window * link->net.peers,
        .addr_len = sizeof(ucx_address),
    };
}

static ucx_link *alloc_link(const pen_link_params *params)
{
    const pen_host *host = params->host;
    const uint32_t token = params->job_key != NULL ? pen_seal_epoch(params->job_key) : 0;
    const size_t ep_len = params->peers * sizeof(ucp_ep_h);
    ucx_link *link = host->alloc(host->ctx, sizeof *link, PEN_CACHE_LINE);
    ucp_ep_h *ep = host->alloc(host->ctx, ep_len, _Alignof(ucp_ep_h));
    if (link != NULL)
        memset(link, 0, sizeof *link);
    if (link == NULL || ep == NULL ||
        !pen_net_open(&link->net, params, link, token, UCX_FRAME_MAX)) {
        host->log(host->ctx, PEN_LOG_ERROR,
                  "cannot open the ucx conduit: memory for %u peers: %s; free some memory",
                  params->peers, strerror(errno));
        if (link != NULL)
            host->release(host->ctx, link);
        if (ep != NULL)
            host->release(host->ctx, ep);
        return NULL;
    }
    memset(ep, 0, ep_len);
    link->base = (pen_link){
        .ops = &ucx_ops, .wait = &ucx_wait, .due = &ucx_due, .host = host, .self = params->self
    };
    link->config = *(const ucx_config *)params->config;
    link->ep = ep;
    link->fd = -1;
    for (unsigned lane = 0; lane < PEN_LANES; lane++)
        link->arrived[lane].last_next = &link->arrived[lane].first;
    pen_lock_init(&link->lock, params->concurrency);
    return link;
}

static pen_status ucx_open(const pen_link_params *params, pen_link **out)
{
    ucx_link *link = alloc_link(params);
    if (link == NULL)
        return PEN_ERR_MEMORY;
    set_caps(link);
    pen_status status = pen_net_check_limits(params, "ucx", "PENSTOCK_UCX_WINDOW",
                                             link->config.window, DESCRIPTORS_EACH);
    if (status == PEN_OK)
        status = ucx_library_open(params->host, link->config.library, &link->ucx);
    if (status == PEN_OK)
        status = open_context(link);
    if (status == PEN_OK)
        status = open_worker(link);
    if (status == PEN_OK)
        status = open_rma(link);
    if (status != PEN_OK)
        ucx_close(&link->base);
    else
        *out = &link->base;
    return status;
}

extern const pen_conduit pen_conduit_ucx;
PEN_EXPORT const pen_conduit pen_conduit_ucx = {
    .abi = PEN_CONDUIT_ABI,
    .name = "ucx",
    .summary = "UCX: what it reaches peers by, InfiniBand among others",
    .knobs = knobs,
    .config_len = sizeof(ucx_config),
    .score = ucx_score,
    .shared_len = ucx_shared_len,
    .open = ucx_open,
};
