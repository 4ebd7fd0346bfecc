/* SPDX-License-Identifier: BSD-3-Clause */
/* extoll_rma.c: put and get by the card's RMA.
 *
 * A put is complete when its data has landed, which the card reports only to the target. So a
 * *fence* follows: a get of one byte on the same path, one for all puts that were posted before
 * it. A put whose arrival a frame reports (pen_op.local) needs no fence: a notification put with
 * a number follows it, the frame carries that number, and the target delivers the frame after it
 * has seen the number.
 *
 * Memory that is registered with the card is used in place. Other memory is copied through
 * *bounce buffers*, which are registered when the link is opened; then a put's source is free at
 * once.
 *
 * Puts to one peer end in the order in which they were posted, and so do gets. So one queue for
 * each tells to which operation a notification belongs. */
#include "conduits/extoll/extoll.h"

#include "base/compiler.h"
#include "base/status.h"
#include "conduit/conduit.h"
#include "diag/log.h"
#include "link/host.h"
#include "link/turns.h"
#include "os/lock.h"
#include "softnic/extoll/rma2.h"

#include <string.h>

enum {
    NUMBER_CLASS = 1, /* class of this rank's notification puts */
    IMMEDIATE_MAX = 8,
    ENDED_MAX = 32, /* operations in one poll */
    FENCE_LEN = RMA2_PAGE_LEN,
    REGISTER_TRIES = 4,
};

typedef struct extoll_ended {
    pen_op *op;
    bool source_done; /* the source was free before */
    bool is_source;   /* only the source is free */
} extoll_ended;

static void work_add(extoll_link *link, int by)
{
    /* relaxed: a hint for polls; under the lock anyway */
    atomic_fetch_add_explicit(&link->rma_work, (uint32_t)by, memory_order_relaxed);
}

static extoll_rma_op *op_take(extoll_link *link)
{
    const pen_host *host = link->base.host;
    extoll_rma_op *op = link->rma_free;
    if (op == NULL)
        op = host->alloc(host->ctx, sizeof *op, PEN_CACHE_LINE);
    else
        link->rma_free = op->next;
    if (op != NULL)
        *op = (extoll_rma_op){ .bounce = EXTOLL_NONE };
    return op;
}

static void bounce_give(extoll_link *link, uint32_t bounce)
{
    if (bounce != EXTOLL_NONE)
        link->bounce_free |= 1u << bounce;
}

static void op_give(extoll_link *link, extoll_rma_op *op)
{
    bounce_give(link, op->bounce);
    op->next = link->rma_free;
    link->rma_free = op;
}

static void queue_push(extoll_queue *queue, extoll_rma_op *op)
{
    op->next = NULL;
    if (queue->first == NULL)
        queue->first = op;
    else
        queue->last->next = op;
    queue->last = op;
}

static extoll_rma_op *queue_pop(extoll_queue *queue)
{
    extoll_rma_op *op = queue->first;
    if (op != NULL)
        queue->first = op->next;
    return op;
}

/* Puts the peer on the list: the link posts to it as soon as the card has room. */
static void post_later(extoll_link *link, pen_peer peer)
{
    if (pen_turns_add(&link->post_turns, peer))
        work_add(link, 1);
}

/* ---- local memory ---------------------------------------------------------------------------- */

static bool find_local(const extoll_link *link, const void *local, size_t len, RMA2_NLA *nla)
{
    for (const pen_region *region = link->regions; region != NULL; region = region->next) {
        size_t offset = (uintptr_t)local - (uintptr_t)region->start; /* wraps below */
        if (offset < region->len && len <= region->len - offset)
            return rma2_get_nla(region->card, offset, nla) == RMA2_SUCCESS;
    }
    return false;
}

/* Finds the card's address of the operation's local side; memory that is not registered is
 * bounced. Returns false if all bounce buffers are in use. */
static bool find_side(extoll_link *link, const void *local, size_t len, extoll_rma_op *op,
                      RMA2_NLA *nla)
{
    if (find_local(link, local, len, nla))
        return true;
    if (link->bounce_free == 0)
        return false;
    op->bounce = (uint32_t)__builtin_ctz(link->bounce_free);
    link->bounce_free &= ~(1u << op->bounce);
    return rma2_get_nla(&link->bounce_region, (size_t)op->bounce * EXTOLL_BOUNCE_LEN, nla) ==
           RMA2_SUCCESS;
}

static char *bounce_at(const extoll_link *link, uint32_t bounce)
{
    return link->bounce + (size_t)bounce * EXTOLL_BOUNCE_LEN;
}

/* ---- put ------------------------------------------------------------------------------------- */

static RMA2_ERROR_CODE put_immediate(extoll_link *link, pen_peer peer, RMA2_NLA dest,
                                     const void *local, size_t len)
{
    uint64_t value = 0;
    memcpy(&value, local, len);
    return rma2_post_immediate_put(link->rma, &link->to[peer].rma, (uint32_t)len, value, dest,
                                   RMA2_NO_NOTIFICATION, RMA2_CMD_DEFAULT);
}

static RMA2_ERROR_CODE put_region(extoll_link *link, pen_peer peer, RMA2_NLA dest,
                                  const void *local, size_t len, extoll_rma_op *op)
{
    RMA2_NLA source;
    if (!find_side(link, local, len, op, &source))
        return RMA2_TRY_AGAIN;
    if (op->bounce != EXTOLL_NONE)
        memcpy(bounce_at(link, op->bounce), local, len);
    return rma2_post_put_bt_direct(link->rma, &link->to[peer].rma, source, (uint32_t)len, dest,
                                   RMA2_REQUESTER_NOTIFICATION, RMA2_CMD_DEFAULT);
}

/* Answer to a put that was posted: DONE, or PENDING until its source is free or a fence ends it. */
static pen_post put_posted(extoll_link *link, pen_peer peer, RMA2_NLA dest, bool is_immediate,
                           extoll_rma_op *op, pen_op *client)
{
    extoll_peer *to = &link->to[peer];
    bool is_copied = is_immediate || op->bounce != EXTOLL_NONE;
    bool is_over = client->local && is_copied;
    to->has_put = true;
    to->put_last = dest;
    if (is_immediate && is_over) {
        op_give(link, op);
        return PEN_POST_DONE;
    }
    op->op = is_over ? NULL : client;
    op->is_local = client->local;
    op->source_done = is_copied;
    work_add(link, 1);
    if (!op->is_local) {
        op->serial = ++to->put_serial;
        post_later(link, peer);
    }
    queue_push(is_immediate ? &to->unfenced : &to->puts, op);
    if (!is_over && is_copied)
        pen_op_source_done(client);
    return is_over ? PEN_POST_DONE : PEN_POST_PENDING;
}

static pen_post put_locked(extoll_link *link, pen_peer peer, RMA2_NLA dest, const void *local,
                           size_t len, pen_op *client)
{
    extoll_rma_op *op = op_take(link);
    if (op == NULL)
        return PEN_POST_AGAIN;
    bool is_immediate = len <= IMMEDIATE_MAX;
    RMA2_ERROR_CODE result = is_immediate ? put_immediate(link, peer, dest, local, len)
                                          : put_region(link, peer, dest, local, len, op);
    if (pen_likely(result == RMA2_SUCCESS))
        return put_posted(link, peer, dest, is_immediate, op, client);
    op_give(link, op);
    return result == RMA2_TRY_AGAIN ? PEN_POST_AGAIN : PEN_POST_FAILED;
}

static pen_post rma_put(pen_link *base, pen_peer peer, uint64_t offset, pen_rkey key,
                        const void *local, pen_region *region, size_t len, pen_op *op)
{
    (void)region; /* the card finds it by the address */
    extoll_link *link = extoll_of(base);
    /* relaxed: see extoll_peer */
    if (pen_unlikely(atomic_load_explicit(&link->to[peer].is_lost, memory_order_relaxed)))
        return PEN_POST_FAILED;
    pen_lock_take(&link->lock);
    pen_post result = put_locked(link, peer, key + offset, local, len, op);
    pen_lock_drop(&link->lock);
    if (pen_unlikely(result == PEN_POST_FAILED))
        extoll_lose(link, peer, "the card does not take a put to it");
    return result;
}

/* ---- get ------------------------------------------------------------------------------------- */

static pen_post get_locked(extoll_link *link, pen_peer peer, RMA2_NLA remote, void *local,
                           size_t len, pen_op *client)
{
    extoll_rma_op *op = op_take(link);
    RMA2_NLA dest;
    RMA2_ERROR_CODE result = RMA2_TRY_AGAIN;
    if (op == NULL)
        return PEN_POST_AGAIN;
    if (find_side(link, local, len, op, &dest))
        result = rma2_post_get_bt_direct(link->rma, &link->to[peer].rma, dest, (uint32_t)len,
                                         remote, RMA2_COMPLETER_NOTIFICATION, RMA2_CMD_DEFAULT);
    if (pen_unlikely(result != RMA2_SUCCESS)) {
        op_give(link, op);
        return result == RMA2_TRY_AGAIN ? PEN_POST_AGAIN : PEN_POST_FAILED;
    }
    op->op = client;
    op->local = local;
    op->len = (uint32_t)len;
    queue_push(&link->to[peer].gets, op);
    work_add(link, 1);
    return PEN_POST_PENDING;
}

static pen_post rma_get(pen_link *base, pen_peer peer, uint64_t offset, pen_rkey key, void *local,
                        pen_region *region, size_t len, pen_op *op)
{
    (void)region; /* as in rma_put */
    extoll_link *link = extoll_of(base);
    /* relaxed: see extoll_peer */
    if (pen_unlikely(atomic_load_explicit(&link->to[peer].is_lost, memory_order_relaxed)))
        return PEN_POST_FAILED;
    pen_lock_take(&link->lock);
    pen_post result = get_locked(link, peer, key + offset, local, len, op);
    pen_lock_drop(&link->lock);
    if (pen_unlikely(result == PEN_POST_FAILED))
        extoll_lose(link, peer, "the card does not take a get from it");
    return result;
}

/* ---- fences and numbers ---------------------------------------------------------------------- */

/* Posts the number of puts if it is not posted yet. Returns false if the card has no room. */
static bool post_number(extoll_link *link, extoll_peer *to)
{
    if (to->number_told == to->number)
        return true;
    if (rma2_post_notification(link->rma, &to->rma, NUMBER_CLASS, to->number,
                               RMA2_COMPLETER_NOTIFICATION, RMA2_CMD_DEFAULT) == RMA2_TRY_AGAIN)
        return false;
    to->number_told = to->number;
    return true;
}

static bool post_fence(extoll_link *link, extoll_peer *to)
{
    RMA2_NLA landing;
    extoll_rma_op *op = NULL;
    if (to->fence_serial == to->put_serial || to->fence_out) /* its end checks this again */
        return true;
    (void)rma2_get_nla(&link->bounce_region, (size_t)EXTOLL_BOUNCES * EXTOLL_BOUNCE_LEN, &landing);
    op = op_take(link);
    if (op == NULL)
        return false;
    if (rma2_post_get_bt_direct(link->rma, &to->rma, landing, 1, to->put_last,
                                RMA2_COMPLETER_NOTIFICATION, RMA2_CMD_DEFAULT) == RMA2_TRY_AGAIN) {
        op_give(link, op);
        return false;
    }
    op->is_fence = to->fence_out = true;
    op->serial = to->fence_serial = to->put_serial;
    queue_push(&to->gets, op);
    work_add(link, 1);
    return true;
}

uint64_t extoll_rma_number(extoll_link *link, pen_peer to)
{
    extoll_peer *peer = &link->to[to];
    if (!peer->has_put)
        return peer->number;
    peer->has_put = false;
    peer->number++;
    if (!post_number(link, peer))
        post_later(link, to);
    return peer->number;
}

/* Whether there are complete puts that were not reported yet. */
static bool has_fenced(const extoll_peer *to)
{
    return to->unfenced.first != NULL && to->unfenced.first->serial <= to->fenced_serial;
}

static void post_what_waits(extoll_link *link)
{
    for (uint32_t left = link->post_turns.count; left > 0; left--) {
        const pen_peer peer = pen_turns_take(&link->post_turns);
        extoll_peer *to = &link->to[peer];
        work_add(link, -1);
        bool is_done = post_number(link, to) && post_fence(link, to);
        if (!is_done || has_fenced(to))
            post_later(link, peer);
    }
}

/* ---- notifications --------------------------------------------------------------------------- */

/* Ends the operation as far as it can go now. */
static void op_end(extoll_link *link, extoll_rma_op *op, extoll_ended *ended, unsigned *count)
{
    if (op->op != NULL)
        ended[(*count)++] = (extoll_ended){ op->op, op->source_done, false };
    work_add(link, -1);
    op_give(link, op);
}

static void end_fenced(extoll_link *link, extoll_peer *to, extoll_ended *ended, unsigned *count)
{
    while (*count < ENDED_MAX && has_fenced(to))
        op_end(link, queue_pop(&to->unfenced), ended, count);
}

static void on_put_sent(extoll_link *link, pen_peer peer, extoll_ended *ended, unsigned *count)
{
    extoll_peer *to = &link->to[peer];
    extoll_rma_op *op = queue_pop(&to->puts);
    if (op == NULL)
        return; /* the card reported more than was posted */
    if (op->is_local) {
        op_end(link, op, ended, count);
        return;
    }
    if (!op->source_done)
        ended[(*count)++] = (extoll_ended){ op->op, false, true };
    op->source_done = true;
    bounce_give(link, op->bounce);
    op->bounce = EXTOLL_NONE;
    queue_push(&to->unfenced, op);
    if (op->serial <= to->fenced_serial)
        post_later(link, peer);
}

static void on_got(extoll_link *link, pen_peer peer, extoll_ended *ended, unsigned *count)
{
    extoll_peer *to = &link->to[peer];
    extoll_rma_op *op = queue_pop(&to->gets);
    if (op == NULL)
        return;
    if (!op->is_fence) {
        if (op->bounce != EXTOLL_NONE)
            memcpy(op->local, bounce_at(link, op->bounce), op->len);
        op_end(link, op, ended, count);
        return;
    }
    to->fenced_serial = op->serial;
    to->fence_out = false;
    op_end(link, op, ended, count);
    if (to->fence_serial != to->put_serial || to->unfenced.first != NULL)
        post_later(link, peer);
}

static const char *on_put(extoll_link *link, pen_peer peer, const RMA2_Notification *noti,
                          extoll_ended *ended, unsigned *count)
{
    bool failed = rma2_noti_get_error(noti) != 0;
    if (rma2_noti_get_notification_type(noti) == RMA2_COMPLETER_NOTIFICATION)
        return failed ? "the peer puts to memory that was not exported to it" : NULL;
    if (rma2_noti_get_cmd(noti) != RMA2_IMM_PUT)
        on_put_sent(link, peer, ended, count);
    return failed ? "the card does not know this rank's memory" : NULL;
}

/* Returns the error, or NULL. */
static const char *on_notification(extoll_link *link, pen_peer peer, const RMA2_Notification *noti,
                                   extoll_ended *ended, unsigned *count)
{
    uint64_t number = 0;
    switch (rma2_noti_get_cmd(noti)) {
    case RMA2_NOTI_PUT:
        number = rma2_noti_get_notiput_payload(noti);
        if (number > link->notified[peer])
            link->notified[peer] = number;
        return NULL;
    case RMA2_BT_PUT:
    case RMA2_IMM_PUT:
        return on_put(link, peer, noti, ended, count);
    case RMA2_BT_GET:
    case RMA2_BT_GET_RSP:
        on_got(link, peer, ended, count);
        return rma2_noti_get_error(noti) != 0 ? "the peer does not know the memory that it exported"
                                              : NULL;
    default:
        return NULL; /* no operation waits for it */
    }
}

/* Takes notifications, under the lock. Operations that end go to `ended`. */
static unsigned take_notifications(extoll_link *link, extoll_ended *ended, unsigned *count,
                                   const char **wrong, pen_peer *from)
{
    unsigned events = 0;
    RMA2_Notification *noti;
    while (*count + 2 <= ENDED_MAX && *wrong == NULL && events < EXTOLL_DRAIN_MAX &&
           rma2_noti_probe(link->rma, &noti) == RMA2_SUCCESS) {
        *from = rma2_noti_get_remote_nodeid(noti);
        if (*from < link->peers)
            *wrong = on_notification(link, *from, noti, ended, count);
        (void)rma2_noti_free(link->rma, noti);
        events++;
    }
    return events;
}

/* Ends the puts of peers whose fence has come. */
static void sweep_fenced(extoll_link *link, extoll_ended *ended, unsigned *count)
{
    for (uint32_t left = link->post_turns.count; left > 0; left--) {
        const pen_peer peer = pen_turns_at(&link->post_turns, left - 1);
        end_fenced(link, &link->to[peer], ended, count);
    }
}

unsigned extoll_rma_poll(extoll_link *link)
{
    extoll_ended ended[ENDED_MAX];
    unsigned count = 0;
    const char *wrong = NULL;
    pen_peer from = 0;
    pen_lock_take(&link->lock);
    if (link->post_turns.count != 0)
        post_what_waits(link);
    unsigned events = take_notifications(link, ended, &count, &wrong, &from);
    if (link->post_turns.count != 0)
        sweep_fenced(link, ended, &count);
    pen_lock_drop(&link->lock);
    if (wrong != NULL)
        extoll_lose(link, from, wrong);
    for (unsigned i = 0; i < count; i++) {
        pen_op *op = ended[i].op;
        bool is_last = !ended[i].is_source;
        if (!ended[i].source_done)
            pen_op_source_done(op);
        if (is_last)
            pen_op_done(op);
    }
    return events + count;
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
        if (region != NULL)
            host->release(host->ctx, region);
        return PEN_ERR_RESOURCE;
    }
    region->start = address;
    region->len = len;
    pen_lock_take(&link->lock);
    region->next = link->regions;
    link->regions = region;
    pen_lock_drop(&link->lock);
    *out = region;
    return PEN_OK;
}

static void rma_deregister(pen_link *base, pen_region *region)
{
    extoll_link *link = extoll_of(base);
    pen_region **at = &link->regions;
    pen_lock_take(&link->lock);
    while (*at != NULL && *at != region)
        at = &(*at)->next;
    if (*at != NULL)
        *at = region->next;
    (void)rma2_unregister(link->rma, region->card);
    pen_lock_drop(&link->lock);
    base->host->release(base->host->ctx, region);
}

static pen_status rma_export(pen_link *base, const pen_region *region, void *blob)
{
    RMA2_NLA nla;
    (void)base;
    if (rma2_get_nla(region->card, (size_t)(region->start - (char *)region->card->start), &nla) !=
        RMA2_SUCCESS)
        return PEN_ERR_RESOURCE;
    memcpy(blob, &nla, sizeof nla);
    return PEN_OK;
}

static pen_status rma_import(pen_link *base, pen_peer peer, const void *blob, pen_rkey *out)
{
    (void)base, (void)peer;
    memcpy(out, blob, sizeof *out);
    return PEN_OK;
}

static void rma_release(pen_link *base, pen_peer peer, pen_rkey key)
{
    (void)base, (void)peer, (void)key; /* a key is an address, which takes no memory here */
}

const pen_rma_ops extoll_rma = {
    .register_region = rma_register,
    .deregister_region = rma_deregister,
    .export_region = rma_export,
    .import_region = rma_import,
    .release_region = rma_release,
    .put = rma_put,
    .get = rma_get,
};

/* ---- open and close -------------------------------------------------------------------------- */

/* Registers the bounce buffers. Without them there is neither put nor get, and no rank's
 * segments are registered. */
static void open_bounce(extoll_link *link)
{
    size_t len = (size_t)EXTOLL_BOUNCES * EXTOLL_BOUNCE_LEN + FENCE_LEN;
    for (unsigned i = 0; i < REGISTER_TRIES && !link->has_bounce; i++)
        link->has_bounce = rma2_register_nomalloc(link->rma, link->bounce, len,
                                                  &link->bounce_region) == RMA2_SUCCESS;
    link->bounce_free = (1u << EXTOLL_BOUNCES) - 1;
}

pen_status extoll_rma_open(extoll_link *link)
{
    const pen_host *host = link->base.host;
    size_t len = (size_t)EXTOLL_BOUNCES * EXTOLL_BOUNCE_LEN + FENCE_LEN;
    link->bounce = host->alloc(host->ctx, len, RMA2_PAGE_LEN);
    link->notified = pen_host_alloc_zeroed(host, link->peers * sizeof *link->notified);
    if (link->bounce == NULL || link->notified == NULL ||
        !pen_turns_open(&link->post_turns, host, link->peers))
        return PEN_ERR_MEMORY;
    if (rma2_open(&link->rma) != RMA2_SUCCESS)
        return PEN_ERR_RESOURCE;
    link->rma_open = true;
    open_bounce(link);
    return PEN_OK;
}

static void queue_free(const pen_host *host, extoll_rma_op *op)
{
    while (op != NULL) {
        extoll_rma_op *next = op->next;
        host->release(host->ctx, op);
        op = next;
    }
}

void extoll_rma_close(extoll_link *link)
{
    const pen_host *host = link->base.host;
    if (link->has_bounce)
        (void)rma2_unregister(link->rma, &link->bounce_region);
    if (link->rma_open)
        (void)rma2_close(link->rma);
    for (pen_peer peer = 0; link->to != NULL && peer < link->peers; peer++) {
        queue_free(host, link->to[peer].puts.first);
        queue_free(host, link->to[peer].unfenced.first);
        queue_free(host, link->to[peer].gets.first);
    }
    queue_free(host, link->rma_free);
    pen_turns_close(&link->post_turns, host);
    pen_host_release(host, link->bounce);
    pen_host_release(host, link->notified);
}
