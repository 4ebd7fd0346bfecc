/* SPDX-License-Identifier: BSD-3-Clause */
/* ofi.c: the ofi conduit: settings, opening and closing a link, meeting the peers, and the registry
 * entry. docs/conduits/ofi.md describes the conduit. */
#include "conduits/ofi/ofi.h"

#include "base/compiler.h"
#include "base/status.h"
#include "conduit/conduit.h"
#include "diag/log.h"
#include "knob/knob.h"
#include "link/evidence.h"
#include "link/lanes.h"
#include "link/netlib.h"
#include "os/lock.h"
#include "seal/seal.h"

#include <errno.h>
#include <string.h>

enum { DESCRIPTORS_EACH = 1 }; /* that a provider over TCP may need for a peer */

static const pen_knob knobs[] = {
    { "PENSTOCK_OFI_LIBRARY", PEN_KNOB_STRING, "libfabric.so.1", offsetof(ofi_config, library),
      "File of libfabric, version 1.12 or newer." },
    { "PENSTOCK_OFI_PROVIDER", PEN_KNOB_STRING, NULL, offsetof(ofi_config, provider),
      "Provider of libfabric, for example cxi, efa, psm3 or tcp; `fi_info` lists them. Unset: that "
      "of this machine's network card; without a card that Penstock knows, the first that "
      "libfabric offers. FI_PROVIDER limits them." },
    { "PENSTOCK_OFI_DOMAIN", PEN_KNOB_STRING, NULL, offsetof(ofi_config, domain),
      "Domain (network card) of the provider, as `fi_info` names it. Unset: the first." },
    { "PENSTOCK_OFI_WINDOW", PEN_KNOB_BYTES, "256K", offsetof(ofi_config, window),
      "Bytes that each peer may send to a rank that does not poll (64K to 64M)." },
    { "PENSTOCK_OFI_RMA", PEN_KNOB_BOOL, "yes", offsetof(ofi_config, rma),
      "Whether libfabric moves puts and gets, where its provider can. Otherwise messages do. All "
      "ranks need the same." },
    { "PENSTOCK_OFI_CHECK", PEN_KNOB_BOOL, "yes", offsetof(ofi_config, check),
      "Whether each rank tries a put to itself when the conduit is opened. If that fails, messages "
      "move puts and gets." },
    { 0 },
};

static int ofi_score(pen_peer peers, const char **why)
{
    (void)peers;
    const pen_evidence *card = ofi_card(pen_evidence_look());
    const char *name = pen_knob_from_process(NULL, knobs[0].name);
    if (!ofi_library_exists(name != NULL && name[0] != '\0' ? name : knobs[0].fallback)) {
        *why = "libfabric is not installed (libfabric.so.1 of version 1.12 or newer; package "
               "libfabric1), or PENSTOCK_OFI_LIBRARY names another file";
        return 0;
    }
    *why = card != NULL ? pen_evidence_words(card->network)
                        : "this machine has no network card that libfabric drives";
    return card != NULL ? card->score : PEN_SCORE_NAMED;
}

static size_t ofi_shared_len(pen_peer peers, const void *config)
{
    (void)peers, (void)config;
    return 0;
}

pen_status ofi_cannot_open(const ofi_link *link, const char *call, int error)
{
    const pen_host *host = link->base.host;
    host->log(
        host->ctx, PEN_LOG_ERROR,
        "cannot open the ofi conduit: %s: %s; see the providers with `fi_info`, name one with "
        "PENSTOCK_OFI_PROVIDER, or choose another conduit with PENSTOCK_CONDUIT",
        call, link->ofi.error_text(-error));
    return PEN_ERR_UNUSABLE;
}

/* ---- closing --------------------------------------------------------------------------------- */

static void ofi_close(pen_link *base)
{
    ofi_link *link = ofi_of(base);
    const pen_host *host = base->host;
    if (link->ep != NULL && host->orderly(host->ctx))
        ofi_drain(link); /* the last frames of the job */
    ofi_endpoint_close(link);
    pen_lanes_close(&link->stash);
    pen_net_close(&link->net);
    host->release(host->ctx, link->address);
    host->release(host->ctx, link);
}

/* ---- meeting the peers ----------------------------------------------------------------------- */

static pen_status ofi_write_address(pen_link *base, void *blob)
{
    ofi_link *link = ofi_of(base);
    ofi_address out = { .frame_max = base->caps.frame_max, .rma = (uint32_t)link->grade };
    size_t len = sizeof out.bytes;
    const int error = fi_getname(&link->ep->fid, out.bytes, &len);
    if (error != 0)
        return ofi_cannot_open(link, "fi_getname", error);
    out.len = (uint32_t)len;
    memcpy(out.provider, link->info->fabric_attr->prov_name,
           strlen(link->info->fabric_attr->prov_name));
    memcpy(blob, &out, sizeof out);
    return PEN_OK;
}

static pen_status connect_one(ofi_link *link, pen_peer peer, const ofi_address *address)
{
    const pen_host *host = link->base.host;
    const char *mine = link->info->fabric_attr->prov_name;
    if (address->len > sizeof address->bytes || address->frame_max != link->base.caps.frame_max ||
        memchr(address->provider, '\0', sizeof address->provider) == NULL) {
        host->log(host->ctx, PEN_LOG_ERROR,
                  "cannot connect over ofi: rank %u has another build than rank %u; give all ranks "
                  "the same",
                  peer, link->base.self);
        return PEN_ERR_PROTOCOL;
    }
    if (strcmp(address->provider, mine) != 0) {
        host->log(host->ctx, PEN_LOG_ERROR,
                  "cannot connect over ofi: rank %u uses the provider %s and rank %u uses %s; set "
                  "PENSTOCK_OFI_PROVIDER on all hosts",
                  peer, address->provider, link->base.self, mine);
        return PEN_ERR_UNUSABLE;
    }
    if (address->rma != (uint32_t)link->grade) {
        host->log(
            host->ctx, PEN_LOG_ERROR,
            "cannot connect over ofi: the provider %s grants rank %u other puts and gets than "
            "rank %u; use the same libfabric on all hosts, or set PENSTOCK_OFI_RMA=no for all",
            mine, peer, link->base.self);
        return PEN_ERR_UNUSABLE;
    }
    if (peer == link->base.self && link->knows_self)
        return PEN_OK;
    if (fi_av_insert(link->av, address->bytes, 1, &link->address[peer], 0, NULL) == 1)
        return PEN_OK;
    host->log(host->ctx, PEN_LOG_ERROR,
              "cannot connect over ofi: the provider %s does not take the address of rank %u; name "
              "another provider with PENSTOCK_OFI_PROVIDER, the same on all hosts",
              mine, peer);
    return PEN_ERR_UNUSABLE;
}

static pen_status ofi_connect(pen_link *base, const void *blobs, pen_peer count)
{
    ofi_link *link = ofi_of(base);
    pen_status status = count == link->net.peers ? PEN_OK : PEN_ERR_ARGUMENT;
    for (pen_peer peer = 0; status == PEN_OK && peer < count; peer++) {
        ofi_address address;
        memcpy(&address, (const char *)blobs + peer * sizeof address, sizeof address);
        status = connect_one(link, peer, &address);
    }
    return status;
}

/* ---- opening --------------------------------------------------------------------------------- */

static const pen_link_ops ofi_ops = {
    .close = ofi_close,
    .address = ofi_write_address,
    .connect = ofi_connect,
    .post = ofi_post,
    .poll = ofi_poll,
};

static ofi_link *alloc_link(const pen_link_params *params)
{
    const pen_host *host = params->host;
    const uint32_t token = params->job_key != NULL ? pen_seal_epoch(params->job_key) : 0;
    ofi_link *link = host->alloc(host->ctx, sizeof *link, PEN_CACHE_LINE);
    fi_addr_t *address =
        host->alloc(host->ctx, params->peers * sizeof *address, _Alignof(fi_addr_t));
    if (link != NULL)
        memset(link, 0, sizeof *link);
    if (link == NULL || address == NULL ||
        !pen_net_open(&link->net, params, link, token, OFI_FRAME_MAX)) {
        host->log(host->ctx, PEN_LOG_ERROR,
                  "cannot open the ofi conduit: memory for %u peers: %s; free some memory",
                  params->peers, strerror(errno));
        if (link != NULL)
            host->release(host->ctx, link);
        if (address != NULL)
            host->release(host->ctx, address);
        return NULL;
    }
    link->base = (pen_link){
        .ops = &ofi_ops, .wait = &ofi_wait, .due = &ofi_due, .host = host, .self = params->self
    };
    link->config = *(const ofi_config *)params->config;
    link->address = address;
    link->last_waiting = &link->first_waiting;
    link->fd = -1;
    pen_lanes_init(&link->stash, host->alloc, host->release, host->ctx);
    pen_lock_init(&link->lock, params->concurrency);
    return link;
}

static pen_status ofi_open(const pen_link_params *params, pen_link **out)
{
    ofi_link *link = alloc_link(params);
    if (link == NULL)
        return PEN_ERR_MEMORY;
    link->base.caps = (pen_caps){
        .flags = PEN_CAP_RELIABLE | PEN_CAP_INTACT | PEN_CAP_COPIES,
        .frame_max = OFI_FRAME_MAX,
        .frame_copy_max = OFI_FRAME_MAX,
        .frame_overhead = PEN_NET_OVERHEAD,
        .frame_grain = OFI_GRAIN,
        .inbox_len = link->config.window * params->peers,
        .addr_len = sizeof(ofi_address),
    };
    pen_status status = pen_net_check_limits(params, "ofi", "PENSTOCK_OFI_WINDOW",
                                             (int64_t)link->config.window, DESCRIPTORS_EACH);
    if (status == PEN_OK)
        status = ofi_library_open(params->host, link->config.library, &link->ofi);
    if (status == PEN_OK)
        status = ofi_endpoint_open(link);
    if (status != PEN_OK)
        ofi_close(&link->base);
    else
        *out = &link->base;
    return status;
}

extern const pen_conduit pen_conduit_ofi;
PEN_EXPORT const pen_conduit pen_conduit_ofi = {
    .abi = PEN_CONDUIT_ABI,
    .name = "ofi",
    .summary = "libfabric: Slingshot, EFA, Omni-Path and others by its providers",
    .knobs = knobs,
    .config_len = sizeof(ofi_config),
    .score = ofi_score,
    .shared_len = ofi_shared_len,
    .open = ofi_open,
};
