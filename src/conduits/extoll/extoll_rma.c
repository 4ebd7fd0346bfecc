/* SPDX-License-Identifier: BSD-3-Clause */
/* extoll_rma.c: put and get by the card's RMA, whose reports link/transfers.h counts. Memory that
 * is registered with the card is used in place. Other memory is copied through bounce buffers,
 * which are registered when the link is opened. */
#include "conduits/extoll/extoll.h"

#include "base/compiler.h"
#include "base/status.h"
#include "conduit/conduit.h"
#include "diag/log.h"
#include "link/host.h"
#include "link/known.h"
#include "link/transfers.h"
#include "os/lock.h"
#include "softnic/extoll/rma2.h"

#include <string.h>

enum {
    NUMBER_CLASS = 1, /* class of this rank's notification puts */
    IMMEDIATE_MAX = 8,
    BOUNCES = 8,
    BOUNCES_LEN = BOUNCES * EXTOLL_BOUNCE_LEN, /* the byte that fences get lies behind */
    BOUNCE_REGION_LEN = BOUNCES_LEN + RMA2_PAGE_LEN,
    REGISTER_TRIES = 4,
};

struct pen_region {
    pen_known known; /* first */
    RMA2_Region *card;
};

/* ---- put and get ----------------------------------------------------------------------------- */

/* Finds the card's address of a transfer's local side. Memory that is not registered is bounced; if
 * it is the source of a put, it is copied. Returns false if all bounce buffers are in use. */
static bool find_side(extoll_link *link, pen_transfer *transfer, bool is_source, RMA2_NLA *nla)
{
    size_t offset;
    const pen_known *known = pen_known_find(link->regions, transfer->local, transfer->len, &offset);
    if (known != NULL)
        return rma2_get_nla(((const pen_region *)(const void *)known)->card, offset, nla) ==
               RMA2_SUCCESS;
    char *bounce = pen_transfers_bounce(&link->transfers, transfer);
    if (bounce == NULL)
        return false;
    if (is_source)
        memcpy(bounce, transfer->local, transfer->len);
    return rma2_get_nla(&link->bounce_region, (size_t)(bounce - link->transfers.bounce), nla) ==
           RMA2_SUCCESS;
}

static pen_post answer_of(RMA2_ERROR_CODE result)
{
    if (pen_likely(result == RMA2_SUCCESS))
        return PEN_POST_DONE;
    return result == RMA2_TRY_AGAIN ? PEN_POST_AGAIN : PEN_POST_FAILED;
}

static pen_post put_locked(extoll_link *link, pen_peer peer, RMA2_NLA dest, void *local, size_t len,
                           pen_op *op)
{
    RMA2_Handle *to = &link->to[peer].rma;
    RMA2_ERROR_CODE result = RMA2_TRY_AGAIN;
    pen_transfer *put = pen_transfers_take(&link->transfers, op, local, len);
    if (put == NULL)
        return PEN_POST_AGAIN;
    const bool is_immediate = len <= IMMEDIATE_MAX;
    RMA2_NLA source;
    if (is_immediate) {
        uint64_t value = 0;
        memcpy(&value, local, len);
        result = rma2_post_immediate_put(link->rma, to, (uint32_t)len, value, dest,
                                         RMA2_NO_NOTIFICATION, RMA2_CMD_DEFAULT);
    } else if (find_side(link, put, true, &source)) {
        result = rma2_post_put_bt_direct(link->rma, to, source, (uint32_t)len, dest,
                                         RMA2_REQUESTER_NOTIFICATION, RMA2_CMD_DEFAULT);
    }
    return pen_transfers_put(&link->transfers, peer, put, answer_of(result), dest, is_immediate);
}

static pen_post get_locked(extoll_link *link, pen_peer peer, RMA2_NLA remote, void *local,
                           size_t len, pen_op *op)
{
    RMA2_ERROR_CODE result = RMA2_TRY_AGAIN;
    pen_transfer *got = pen_transfers_take(&link->transfers, op, local, len);
    if (got == NULL)
        return PEN_POST_AGAIN;
    RMA2_NLA dest;
    if (find_side(link, got, false, &dest))
        result = rma2_post_get_bt_direct(link->rma, &link->to[peer].rma, dest, (uint32_t)len,
                                         remote, RMA2_COMPLETER_NOTIFICATION, RMA2_CMD_DEFAULT);
    return pen_transfers_get(&link->transfers, peer, got, answer_of(result));
}

/* Posts a put or a get of memory that the peer has exported. */
static pen_post move(pen_link *base, pen_peer peer, RMA2_NLA remote, void *local, size_t len,
                     pen_op *op, bool is_put)
{
    extoll_link *link = extoll_of(base);
    /* relaxed: see extoll_peer */
    if (pen_unlikely(atomic_load_explicit(&link->to[peer].is_lost, memory_order_relaxed)))
        return PEN_POST_FAILED;
    pen_lock_take(&link->lock);
    pen_post result = is_put ? put_locked(link, peer, remote, local, len, op)
                             : get_locked(link, peer, remote, local, len, op);
    pen_lock_drop(&link->lock);
    if (pen_unlikely(result == PEN_POST_FAILED))
        extoll_lose(link, peer, "the card does not take a put to it, or a get from it");
    return result;
}

static pen_post rma_put(pen_link *base, pen_peer peer, uint64_t offset, pen_rkey key,
                        const void *local, pen_region *region, size_t len, pen_op *op)
{
    (void)region; /* it is found by the address */
    return move(base, peer, key + offset, (void *)(uintptr_t)local, len, op, true);
}

static pen_post rma_get(pen_link *base, pen_peer peer, uint64_t offset, pen_rkey key, void *local,
                        pen_region *region, size_t len, pen_op *op)
{
    (void)region; /* as in rma_put */
    return move(base, peer, key + offset, local, len, op, false);
}

/* ---- fences, numbers and notifications ------------------------------------------------------- */

static bool post_number(void *card, pen_peer peer, uint64_t number)
{
    extoll_link *link = card;
    return rma2_post_notification(link->rma, &link->to[peer].rma, NUMBER_CLASS, number,
                                  RMA2_COMPLETER_NOTIFICATION, RMA2_CMD_DEFAULT) != RMA2_TRY_AGAIN;
}

static bool post_fence(void *card, pen_peer peer, uint64_t address)
{
    extoll_link *link = card;
    RMA2_NLA landing;
    (void)rma2_get_nla(&link->bounce_region, BOUNCES_LEN, &landing);
    return rma2_post_get_bt_direct(link->rma, &link->to[peer].rma, landing, 1, address,
                                   RMA2_COMPLETER_NOTIFICATION, RMA2_CMD_DEFAULT) != RMA2_TRY_AGAIN;
}

static const char *on_put(extoll_link *link, pen_peer peer, const RMA2_Notification *noti,
                          pen_transfers_ended *ended)
{
    const bool failed = rma2_noti_get_error(noti) != 0;
    if (rma2_noti_get_notification_type(noti) == RMA2_COMPLETER_NOTIFICATION)
        return failed ? "the peer puts to memory that was not exported to it" : NULL;
    if (rma2_noti_get_cmd(noti) != RMA2_IMM_PUT)
        pen_transfers_on_sent(&link->transfers, peer, ended);
    return failed ? "the card does not know this rank's memory" : NULL;
}

/* Returns the error, or NULL. */
static const char *on_notification(extoll_link *link, pen_peer peer, const RMA2_Notification *noti,
                                   pen_transfers_ended *ended)
{
    switch (rma2_noti_get_cmd(noti)) {
    case RMA2_NOTI_PUT:
        pen_transfers_on_number(&link->transfers, peer, rma2_noti_get_notiput_payload(noti));
        return NULL;
    case RMA2_BT_PUT:
    case RMA2_IMM_PUT:
        return on_put(link, peer, noti, ended);
    case RMA2_BT_GET:
    case RMA2_BT_GET_RSP:
        pen_transfers_on_got(&link->transfers, peer, ended);
        return rma2_noti_get_error(noti) != 0 ? "the peer does not know the memory that it exported"
                                              : NULL;
    default:
        return NULL; /* no operation waits for it */
    }
}

/* Takes notifications, under the lock. */
static unsigned take_notifications(extoll_link *link, pen_transfers_ended *ended,
                                   const char **wrong, pen_peer *from)
{
    unsigned events = 0;
    RMA2_Notification *noti;
    while (pen_transfers_has_room(ended) && *wrong == NULL && events < EXTOLL_DRAIN_MAX &&
           rma2_noti_probe(link->rma, &noti) == RMA2_SUCCESS) {
        *from = rma2_noti_get_remote_nodeid(noti);
        if (*from < link->peers)
            *wrong = on_notification(link, *from, noti, ended);
        (void)rma2_noti_free(link->rma, noti);
        events++;
    }
    return events;
}

unsigned extoll_rma_poll(extoll_link *link)
{
    pen_transfers_ended ended;
    const char *wrong = NULL;
    pen_peer from = 0;
    ended.count = 0;
    pen_lock_take(&link->lock);
    if (link->transfers.turns.count != 0)
        pen_transfers_post(&link->transfers);
    unsigned events = take_notifications(link, &ended, &wrong, &from);
    if (link->transfers.turns.count != 0)
        pen_transfers_sweep(&link->transfers, &ended);
    pen_lock_drop(&link->lock);
    if (wrong != NULL)
        extoll_lose(link, from, wrong);
    if (ended.count != 0)
        pen_transfers_report(&ended);
    return events + ended.count;
}

/* ---- registration ---------------------------------------------------------------------------- */

static pen_status rma_register(pen_link *base, void *address, size_t len, pen_region **out)
{
    extoll_link *link = extoll_of(base);
    const pen_host *host = base->host;
    RMA2_ERROR_CODE result = RMA2_NO_MEM;
    pen_region *region =
        link->has_rma ? host->alloc(host->ctx, sizeof *region, PEN_CACHE_LINE) : NULL;
    if (region != NULL)
        result = rma2_register_cached(link->rma, address, len, &region->card);
    if (result != RMA2_SUCCESS) {
        host->log(
            host->ctx, PEN_LOG_WARN,
            "cannot register a segment of %zu bytes with the card: %s; puts and gets of it go "
            "by messages, unless the limit of locked memory is raised (ulimit -l)",
            len, link->has_rma ? rma2_strerror(result) : "a rank could not register any");
        pen_host_release(host, region);
        return PEN_ERR_RESOURCE;
    }
    region->known = (pen_known){ .begin = (uintptr_t)address, .len = len };
    pen_lock_take(&link->lock);
    pen_known_add(&link->regions, &region->known);
    pen_lock_drop(&link->lock);
    *out = region;
    return PEN_OK;
}

static void rma_deregister(pen_link *base, pen_region *region)
{
    extoll_link *link = extoll_of(base);
    pen_lock_take(&link->lock);
    pen_known_remove(&link->regions, &region->known);
    (void)rma2_unregister(link->rma, region->card);
    pen_lock_drop(&link->lock);
    pen_host_release(base->host, region);
}

static pen_status rma_export(pen_link *base, const pen_region *region, void *blob)
{
    RMA2_NLA nla;
    (void)base;
    if (rma2_get_nla(region->card, region->known.begin - (uintptr_t)region->card->start, &nla) !=
        RMA2_SUCCESS)
        return PEN_ERR_RESOURCE;
    memcpy(blob, &nla, sizeof nla);
    return PEN_OK;
}

const pen_rma_ops extoll_rma = {
    .register_region = rma_register,
    .deregister_region = rma_deregister,
    .export_region = rma_export,
    .import_region = pen_known_import,
    .release_region = pen_known_release,
    .put = rma_put,
    .get = rma_get,
};

/* ---- open and close -------------------------------------------------------------------------- */

/* Registers the bounce buffers. Without them there is neither put nor get, and no rank's segments
 * are registered. */
pen_status extoll_rma_open(extoll_link *link)
{
    const pen_host *host = link->base.host;
    link->transfers =
        (pen_transfers){ .card = link,
                         .post_fence = post_fence,
                         .post_number = post_number,
                         .on_held = extoll_on_held,
                         .bounce = host->alloc(host->ctx, BOUNCE_REGION_LEN, RMA2_PAGE_LEN),
                         .bounce_len = EXTOLL_BOUNCE_LEN,
                         .bounce_free = (1u << BOUNCES) - 1 };
    if (!pen_transfers_open(&link->transfers, host, link->peers) || link->transfers.bounce == NULL)
        return PEN_ERR_MEMORY;
    if (rma2_open(&link->rma) != RMA2_SUCCESS)
        return PEN_ERR_RESOURCE;
    link->rma_open = true;
    for (unsigned i = 0; i < REGISTER_TRIES && !link->has_bounce; i++)
        link->has_bounce =
            rma2_register_nomalloc(link->rma, link->transfers.bounce, BOUNCE_REGION_LEN,
                                   &link->bounce_region) == RMA2_SUCCESS;
    return PEN_OK;
}

void extoll_rma_close(extoll_link *link)
{
    if (link->has_bounce)
        (void)rma2_unregister(link->rma, &link->bounce_region);
    if (link->rma_open)
        (void)rma2_close(link->rma);
    pen_transfers_close(&link->transfers);
    pen_host_release(link->base.host, link->transfers.bounce);
}
