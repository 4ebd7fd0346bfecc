/* SPDX-License-Identifier: BSD-3-Clause */
/* ofi_endpoint.c: chooses one of libfabric's providers, and makes and frees libfabric's objects: a
 * fabric, a domain, a table of addresses, a queue of completions for each direction, an endpoint.
 */
#include "base/compiler.h"
#include "base/status.h"
#include "conduit/conduit.h"
#include "conduits/ofi/ofi.h"
#include "diag/log.h"
#include "link/evidence.h"
#include "link/netlib.h"
#include "link/window.h"

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum {
    FRAME_CHARGE_MIN = 128, /* least that the window counts for a frame */
    SENT_ENTRIES = 1024,
    PUT_MAX = 1 << 30,
};

/* ---- choosing a provider --------------------------------------------------------------------- */

/* Providers that are taken only if they are named, and why. */
static const struct {
    const char *name, *why;
} refused[] = {
    { "udp;ofi_rxd", "it can crash" },
    { "UDP;ofi_rxd", "it can crash" },
    { "sockets", "it is very slow" },
    { "shm", "it can crash when a peer has left" },
};

/* Cards and their providers. No entry has been tried with its card. */
static const pen_evidence cards[] = {
    { PEN_NETWORK_SLINGSHOT, 80, "cxi" },          { PEN_NETWORK_EFA, 75, "efa" },
    { PEN_NETWORK_OMNIPATH, 75, "opx" },           { PEN_NETWORK_OMNIPATH, 75, "psm2" },
    { PEN_NETWORK_MELLANOX, 50, "verbs;ofi_rxm" }, { PEN_NETWORK_VERBS, 40, "verbs;ofi_rxm" },
};
enum { CARDS = sizeof cards / sizeof cards[0] };

const pen_evidence *ofi_card(uint32_t networks)
{
    return pen_evidence_first(cards, CARDS, networks);
}

static bool is_named(const ofi_link *link)
{
    return link->config.provider != NULL && link->config.provider[0] != '\0';
}

static bool is_refused(const ofi_link *link, const struct fi_info *info)
{
    for (size_t i = 0; !is_named(link) && i < sizeof refused / sizeof refused[0]; i++) {
        if (strcmp(info->fabric_attr->prov_name, refused[i].name) != 0)
            continue;
        const pen_host *host = link->base.host;
        host->log(host->ctx, PEN_LOG_INFO,
                  "the provider %s of libfabric is not used, because %s; PENSTOCK_OFI_PROVIDER=%s "
                  "uses it",
                  refused[i].name, refused[i].why, refused[i].name);
        return true;
    }
    return false;
}

/* Makes the list of what the conduit needs of a provider, and of what it does for a provider that
 * asks for it. provider: NULL for any. */
static struct fi_info *make_hints(const ofi_link *link, const char *provider, ofi_grade grade)
{
    struct fi_info *hints = link->ofi.dup_info(NULL);
    if (hints == NULL)
        return NULL;
    hints->caps = FI_MSG | FI_MULTI_RECV;
    hints->mode = FI_CONTEXT | FI_CONTEXT2;
    hints->ep_attr->type = FI_EP_RDM;
    hints->domain_attr->threading = FI_THREAD_DOMAIN;
    hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
    hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
    hints->domain_attr->av_type = FI_AV_TABLE;
    hints->domain_attr->mr_mode =
        FI_MR_ENDPOINT | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
    if (grade <= OFI_RMA)
        hints->caps |= FI_RMA;
    if (grade == OFI_ORDERED)
        hints->tx_attr->msg_order = hints->rx_attr->msg_order = FI_ORDER_SAW;
    if (grade == OFI_LOCAL_FRAMES)
        hints->domain_attr->mr_mode |= FI_MR_LOCAL;
    if (provider != NULL)
        hints->fabric_attr->prov_name = strdup(provider);
    if (link->config.domain != NULL && link->config.domain[0] != '\0')
        hints->domain_attr->name = strdup(link->config.domain);
    return hints;
}

/* Keeps a copy of the first provider that is not refused. Returns libfabric's error, or 0. */
static int ask_for_grade(ofi_link *link, const char *provider, ofi_grade grade)
{
    struct fi_info *hints = make_hints(link, provider, grade), *list = NULL;
    int error =
        hints == NULL ? -FI_ENOMEM : link->ofi.get_info(OFI_VERSION, NULL, NULL, 0, hints, &list);
    if (hints != NULL)
        link->ofi.free_info(hints);
    if (error != 0)
        return error;
    for (const struct fi_info *info = list; info != NULL && link->info == NULL; info = info->next)
        if (!is_refused(link, info) && info->ep_attr->max_msg_size >= OFI_MESSAGE_MAX)
            link->info = link->ofi.dup_info(info);
    if (link->info == NULL)
        error = -FI_ENODATA;
    link->ofi.free_info(list);
    return error;
}

/* Asks for the best that the provider grants: asking for one thing may lose another. */
static int ask_for(ofi_link *link, const char *provider)
{
    int error = -FI_ENODATA;
    for (unsigned grade = link->config.rma ? OFI_ORDERED : OFI_FRAMES;
         link->info == NULL && grade < OFI_GRADES; grade++) {
        link->grade = (ofi_grade)grade;
        error = ask_for_grade(link, provider, link->grade);
    }
    return error;
}

/* Asks for the provider that the user named. Else, where this machine has network cards, for the
 * provider of one of them: a card without its provider is an error, so that a job does not take a
 * slow way silently. Else for any. */
static int ask(ofi_link *link, uint32_t networks)
{
    if (is_named(link))
        return ask_for(link, link->config.provider);
    int error = ofi_card(networks) == NULL ? ask_for(link, NULL) : -FI_ENODATA;
    for (size_t i = 0; i < CARDS && link->info == NULL; i++)
        if ((networks & 1U << cards[i].network) != 0)
            error = ask_for(link, cards[i].choice);
    return error;
}

static pen_status choose(ofi_link *link)
{
    const pen_host *host = link->base.host;
    const uint32_t networks = pen_evidence_look();
    const pen_evidence *card = is_named(link) ? NULL : ofi_card(networks);
    const int error = ask(link, networks);
    const bool is_absent = error == -FI_ENODATA || error == -FI_ENOSYS;
    if (is_absent && card != NULL) {
        host->log(
            host->ctx, PEN_LOG_ERROR,
            "cannot open the ofi conduit: %s, but this libfabric cannot use it (provider %s); "
            "install a libfabric that can, see `fi_info`; or name another provider with "
            "PENSTOCK_OFI_PROVIDER, for example tcp",
            pen_evidence_words(card->network), card->choice);
        return PEN_ERR_UNUSABLE;
    }
    if (is_absent) {
        host->log(host->ctx, PEN_LOG_ERROR,
                  "cannot open the ofi conduit: libfabric has no provider%s%s that sends messages "
                  "without a connection; see `fi_info`, name one with PENSTOCK_OFI_PROVIDER, or "
                  "choose another conduit with PENSTOCK_CONDUIT",
                  is_named(link) ? " " : "", is_named(link) ? link->config.provider : "");
        return PEN_ERR_UNUSABLE;
    }
    if (error != 0)
        return ofi_cannot_open(link, "fi_getinfo", error);
    link->inject_len = link->info->tx_attr->inject_size;
    if (strlen(link->info->fabric_attr->prov_name) < OFI_PROVIDER_MAX)
        return PEN_OK;
    return ofi_cannot_open(link, "fi_getinfo: the provider's name", -FI_ETOOSMALL);
}

/* ---- objects --------------------------------------------------------------------------------- */

static int open_queue(const ofi_link *link, size_t size, enum fi_wait_obj wait, struct fid_cq **out)
{
    struct fi_cq_attr attr = { .size = size, .format = FI_CQ_FORMAT_DATA, .wait_obj = wait };
    return fi_cq_open(link->domain, &attr, out, NULL);
}

/* Not every provider has a descriptor to wait for. */
static int open_queues(ofi_link *link)
{
    const size_t size =
        link->base.caps.inbox_len / FRAME_CHARGE_MIN + (size_t)link->net.peers * PEN_WINDOW_NOTES;
    int error = open_queue(link, SENT_ENTRIES + OFI_TOKENS, FI_WAIT_NONE, &link->sent);
    if (error != 0)
        return error;
    link->has_fd = open_queue(link, size, FI_WAIT_FD, &link->arrived) == 0 &&
                   fi_control(&link->arrived->fid, FI_GETWAIT, &link->fd) == 0;
    if (link->has_fd)
        return 0;
    if (link->arrived != NULL)
        (void)fi_close(&link->arrived->fid);
    link->arrived = NULL;
    link->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return link->fd < 0 ? -errno : open_queue(link, size, FI_WAIT_NONE, &link->arrived);
}

static int open_endpoint(ofi_link *link)
{
    size_t message_max = OFI_MESSAGE_MAX;
    struct fi_av_attr attr = { .type = FI_AV_TABLE, .count = link->net.peers };
    int error = fi_av_open(link->domain, &attr, &link->av, NULL);
    if (error == 0)
        error = fi_endpoint(link->domain, link->info, &link->ep, NULL);
    if (error == 0)
        error = fi_ep_bind(link->ep, &link->av->fid, 0);
    if (error == 0)
        error = fi_ep_bind(link->ep, &link->sent->fid, FI_TRANSMIT);
    if (error == 0)
        error = fi_ep_bind(link->ep, &link->arrived->fid, FI_RECV);
    if (error == 0)
        error = fi_enable(link->ep);
    /* A buffer with less room is used up. The provider shm crashes if it is asked before. */
    return error == 0 ? fi_setopt(&link->ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV,
                                  &message_max, sizeof message_max)
                      : error;
}

/* Allocates the buffers. While one of them is used up and not posted again, the others have room
 * for all that the windows let the peers send. */
static int make_buffers(ofi_link *link)
{
    const pen_host *host = link->base.host;
    const size_t notes = (size_t)link->net.peers * PEN_WINDOW_NOTES * PEN_NET_OVERHEAD;
    link->buffer_len = pen_align_up((link->base.caps.inbox_len + notes) / (OFI_BUFFERS - 1) +
                                        2 * (size_t)OFI_MESSAGE_MAX,
                                    OFI_PAGE);
    for (unsigned i = 0; i < OFI_BUFFERS; i++) {
        link->buffers[i].memory = host->alloc(host->ctx, link->buffer_len, OFI_PAGE);
        if (link->buffers[i].memory == NULL)
            return -FI_ENOMEM;
        const int error = ofi_register_memory(link, link->buffers[i].memory, link->buffer_len,
                                              &link->buffers[i].mr);
        if (error != 0)
            return error;
    }
    link->unposted = OFI_BUFFERS;
    return 0;
}

/* Takes the own address, for the check. */
static int know_self(ofi_link *link)
{
    unsigned char bytes[OFI_ADDRESS_MAX];
    size_t len = sizeof bytes;
    const int error = fi_getname(&link->ep->fid, bytes, &len);
    if (error != 0)
        return error;
    fi_addr_t *out = &link->address[link->base.self];
    link->knows_self = fi_av_insert(link->av, bytes, 1, out, 0, NULL) == 1;
    return link->knows_self ? 0 : -FI_EINVAL;
}

/* Offers puts and gets to the engine, if the provider grants them and they work. */
static pen_status open_rma(ofi_link *link)
{
    const pen_host *host = link->base.host;
    const char *provider = link->info->fabric_attr->prov_name;
    const int level = link->base.self == 0 ? PEN_LOG_WARN : PEN_LOG_INFO; /* once for the job */
    if (link->grade > OFI_RMA) {
        if (link->config.rma)
            host->log(host->ctx, level, "puts and gets go by messages, because the provider %s %s",
                      provider,
                      link->grade == OFI_FRAMES ? "has none" : "demands registered local memory");
        return PEN_OK;
    }
    if (!ofi_tokens_open(link))
        return ofi_cannot_open(link, "memory for puts and gets", -FI_ENOMEM);
    const int error = link->config.check ? know_self(link) : 0;
    if (error != 0)
        return ofi_cannot_open(link, "fi_av_insert", error);
    const char *wrong = link->config.check ? ofi_rma_check(link) : NULL;
    if (wrong != NULL) {
        host->log(host->ctx, PEN_LOG_WARN,
                  "puts and gets go by messages, because the provider %s failed a check: %s",
                  provider, wrong);
        link->grade = OFI_FRAMES;
        return PEN_OK;
    }
    const size_t most = link->info->ep_attr->max_msg_size;
    link->base.rma = &ofi_rma;
    link->base.behind = link->grade == OFI_ORDERED ? &ofi_behind : NULL;
    link->base.caps.rkey_len = OFI_KEY_LEN;
    link->base.caps.put_max = link->base.caps.get_max = most < PUT_MAX ? most : PUT_MAX;
    return PEN_OK;
}

pen_status ofi_endpoint_open(ofi_link *link)
{
    pen_status status = choose(link);
    if (status != PEN_OK)
        return status;
    int error = link->ofi.open_fabric(link->info->fabric_attr, &link->fabric, NULL);
    if (error != 0)
        return ofi_cannot_open(link, "fi_fabric", error);
    error = fi_domain(link->fabric, link->info, &link->domain, NULL);
    if (error != 0)
        return ofi_cannot_open(link, "fi_domain", error);
    error = open_queues(link);
    if (error != 0)
        return ofi_cannot_open(link, "fi_cq_open", error);
    error = open_endpoint(link);
    if (error != 0)
        return ofi_cannot_open(link, "fi_endpoint", error);
    error = make_buffers(link);
    if (error != 0)
        return ofi_cannot_open(link, "buffers for messages", error);
    error = ofi_buffers_post(link);
    return error == 0 ? open_rma(link) : ofi_cannot_open(link, "fi_recvmsg", error);
}

static void close_object(struct fid *object)
{
    if (object != NULL)
        (void)fi_close(object);
}

#define FID_OF(object) ((object) != NULL ? &(object)->fid : NULL)

/* Ends the registrations of frames' memory. */
static void close_regions(ofi_link *link)
{
    for (unsigned i = 0; i < OFI_BUFFERS; i++)
        close_object(FID_OF(link->buffers[i].mr));
    for (const pen_net_buffer *buffer = link->net.made; buffer != NULL; buffer = buffer->made)
        close_object(FID_OF((struct fid_mr *)buffer->known));
}

static void close_objects(ofi_link *link)
{
    close_object(FID_OF(link->check));
    close_object(FID_OF(link->ep));
    close_object(FID_OF(link->arrived));
    close_object(FID_OF(link->sent));
    close_object(FID_OF(link->av));
    close_regions(link);
    close_object(FID_OF(link->domain));
    close_object(FID_OF(link->fabric));
}

static void release(const ofi_link *link, void *memory)
{
    if (memory != NULL)
        link->base.host->release(link->base.host->ctx, memory);
}

void ofi_endpoint_close(ofi_link *link)
{
    close_objects(link);
    if (link->info != NULL)
        link->ofi.free_info(link->info);
    if (!link->has_fd && link->fd >= 0)
        (void)close(link->fd);
    for (unsigned i = 0; i < OFI_BUFFERS; i++)
        release(link, link->buffers[i].memory);
    release(link, link->delayed);
    release(link, link->tokens);
    release(link, link->check_memory);
}
