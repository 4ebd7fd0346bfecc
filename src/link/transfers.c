/* SPDX-License-Identifier: BSD-3-Clause */
/* transfers.c: queues of puts, gets and fences, and their ends. */
#include "link/transfers.h"

#include "base/compiler.h"
#include "conduit/conduit.h"
#include "link/host.h"
#include "link/lanes.h"
#include "link/turns.h"
#include "os/lock.h"

#include <string.h>

static void work_add(pen_transfers *transfers, int by)
{
    /* relaxed: a hint for polls; under the lock anyway */
    atomic_fetch_add_explicit(&transfers->work, (uint32_t)by, memory_order_relaxed);
}

bool pen_transfers_open(pen_transfers *transfers, const pen_host *host, pen_peer peers)
{
    transfers->host = host;
    transfers->peer = pen_host_alloc_zeroed(host, peers * sizeof *transfers->peer);
    atomic_init(&transfers->work, 0);
    atomic_init(&transfers->held_total, 0);
    pen_lanes_init(&transfers->held, host->alloc, host->release, host->ctx);
    return transfers->peer != NULL && pen_turns_open(&transfers->turns, host, peers);
}

static void free_list(const pen_host *host, pen_transfer *transfer)
{
    while (transfer != NULL) {
        pen_transfer *next = transfer->next;
        host->release(host->ctx, transfer);
        transfer = next;
    }
}

void pen_transfers_close(pen_transfers *transfers)
{
    const pen_host *host = transfers->host;
    if (host == NULL)
        return;
    for (pen_peer i = 0; transfers->peer != NULL && i < transfers->turns.room; i++) {
        free_list(host, transfers->peer[i].puts.first);
        free_list(host, transfers->peer[i].unfenced.first);
        free_list(host, transfers->peer[i].gets.first);
    }
    free_list(host, transfers->free);
    pen_lanes_close(&transfers->held);
    pen_turns_close(&transfers->turns, host);
    pen_host_release(host, transfers->peer);
    transfers->peer = NULL;
}

/* ---- transfers and queues -------------------------------------------------------------------- */

pen_transfer *pen_transfers_take(pen_transfers *transfers, pen_op *op, void *local, size_t len)
{
    const pen_host *host = transfers->host;
    pen_transfer *transfer = transfers->free;
    if (transfer == NULL)
        transfer = host->alloc(host->ctx, sizeof *transfer, PEN_CACHE_LINE);
    else
        transfers->free = transfer->next;
    if (transfer != NULL)
        *transfer = (pen_transfer){
            .op = op, .local = local, .len = (uint32_t)len, .bounce = PEN_NO_BOUNCE
        };
    return transfer;
}

static char *bounce_at(const pen_transfers *transfers, uint32_t bounce)
{
    return transfers->bounce + (size_t)bounce * transfers->bounce_len;
}

char *pen_transfers_bounce(pen_transfers *transfers, pen_transfer *transfer)
{
    if (transfers->bounce_free == 0)
        return NULL;
    transfer->bounce = (uint32_t)__builtin_ctz(transfers->bounce_free);
    transfers->bounce_free &= ~(1u << transfer->bounce);
    return bounce_at(transfers, transfer->bounce);
}

static void bounce_give(pen_transfers *transfers, pen_transfer *transfer)
{
    if (transfer->bounce != PEN_NO_BOUNCE)
        transfers->bounce_free |= 1u << transfer->bounce;
    transfer->bounce = PEN_NO_BOUNCE;
}

static void give(pen_transfers *transfers, pen_transfer *transfer)
{
    bounce_give(transfers, transfer);
    transfer->next = transfers->free;
    transfers->free = transfer;
}

static void push(pen_transfer_queue *queue, pen_transfer *transfer)
{
    transfer->next = NULL;
    if (queue->first == NULL)
        queue->first = transfer;
    else
        queue->last->next = transfer;
    queue->last = transfer;
}

static pen_transfer *pop(pen_transfer_queue *queue)
{
    pen_transfer *transfer = queue->first;
    if (transfer != NULL)
        queue->first = transfer->next;
    return transfer;
}

/* Lists the peer: the link posts to it as soon as the card has room. */
static void post_later(pen_transfers *transfers, pen_peer peer)
{
    if (pen_turns_add(&transfers->turns, peer))
        work_add(transfers, 1);
}

/* ---- posting --------------------------------------------------------------------------------- */

pen_post pen_transfers_put(pen_transfers *transfers, pen_peer peer, pen_transfer *transfer,
                           pen_post posted, uint64_t address, bool is_copied)
{
    pen_transfer_peer *to = &transfers->peer[peer];
    pen_op *client = transfer->op;
    if (pen_unlikely(posted != PEN_POST_DONE)) {
        give(transfers, transfer);
        return posted;
    }
    const bool is_free = is_copied || transfer->bounce != PEN_NO_BOUNCE;
    const bool is_over = client->local && is_free;
    to->has_put = true;
    to->last = address;
    if (is_copied && is_over) {
        give(transfers, transfer);
        return PEN_POST_DONE;
    }
    if (is_over)
        transfer->op = NULL;
    transfer->is_local = client->local;
    transfer->source_done = is_free;
    work_add(transfers, 1);
    if (!transfer->is_local) {
        transfer->serial = ++to->put_serial;
        post_later(transfers, peer);
    }
    push(is_copied ? &to->unfenced : &to->puts, transfer);
    if (!is_over && is_free)
        pen_op_source_done(client);
    return is_over ? PEN_POST_DONE : PEN_POST_PENDING;
}

pen_post pen_transfers_get(pen_transfers *transfers, pen_peer peer, pen_transfer *transfer,
                           pen_post posted)
{
    if (pen_unlikely(posted != PEN_POST_DONE)) {
        give(transfers, transfer);
        return posted;
    }
    push(&transfers->peer[peer].gets, transfer);
    work_add(transfers, 1);
    return PEN_POST_PENDING;
}

/* Posts the number of puts if it is not posted yet. Returns false if the card has no room. */
static bool post_number(pen_transfers *transfers, pen_peer peer)
{
    pen_transfer_peer *to = &transfers->peer[peer];
    if (to->number_told == to->number)
        return true;
    if (!transfers->post_number(transfers->card, peer, to->number))
        return false;
    to->number_told = to->number;
    return true;
}

static bool post_fence(pen_transfers *transfers, pen_peer peer)
{
    pen_transfer_peer *to = &transfers->peer[peer];
    if (to->fence_serial == to->put_serial || to->fence_out) /* its end checks this again */
        return true;
    pen_transfer *fence = pen_transfers_take(transfers, NULL, NULL, 0);
    if (fence == NULL)
        return false;
    if (!transfers->post_fence(transfers->card, peer, to->last)) {
        give(transfers, fence);
        return false;
    }
    fence->is_fence = to->fence_out = true;
    fence->serial = to->fence_serial = to->put_serial;
    (void)pen_transfers_get(transfers, peer, fence, PEN_POST_DONE);
    return true;
}

uint64_t pen_transfers_number(pen_transfers *transfers, pen_peer peer)
{
    pen_transfer_peer *to = &transfers->peer[peer];
    if (!to->has_put)
        return to->number;
    to->has_put = false;
    to->number++;
    if (!post_number(transfers, peer))
        post_later(transfers, peer);
    return to->number;
}

/* Whether there are complete puts that were not reported yet. */
static bool has_fenced(const pen_transfer_peer *to)
{
    return to->unfenced.first != NULL && to->unfenced.first->serial <= to->fenced_serial;
}

void pen_transfers_post(pen_transfers *transfers)
{
    for (uint32_t left = transfers->turns.count; left > 0; left--) {
        const pen_peer peer = pen_turns_take(&transfers->turns);
        work_add(transfers, -1);
        const bool is_done = post_number(transfers, peer) && post_fence(transfers, peer);
        if (!is_done || has_fenced(&transfers->peer[peer]))
            post_later(transfers, peer);
    }
}

/* ---- reports of the card --------------------------------------------------------------------- */

static void end(pen_transfers *transfers, pen_transfer *transfer, pen_transfers_ended *ended)
{
    if (transfer->op != NULL) {
        ended->rows[ended->count].op = transfer->op;
        ended->rows[ended->count].source_done = transfer->source_done;
        ended->rows[ended->count++].is_source = false;
    }
    work_add(transfers, -1);
    give(transfers, transfer);
}

void pen_transfers_on_sent(pen_transfers *transfers, pen_peer peer, pen_transfers_ended *ended)
{
    pen_transfer_peer *to = &transfers->peer[peer];
    pen_transfer *put = pop(&to->puts);
    if (put == NULL)
        return; /* the card reported more than was posted */
    if (put->is_local) {
        end(transfers, put, ended);
        return;
    }
    if (!put->source_done) {
        ended->rows[ended->count].op = put->op;
        ended->rows[ended->count].source_done = false;
        ended->rows[ended->count++].is_source = true;
    }
    put->source_done = true;
    bounce_give(transfers, put);
    push(&to->unfenced, put);
    if (put->serial <= to->fenced_serial)
        post_later(transfers, peer);
}

void pen_transfers_on_got(pen_transfers *transfers, pen_peer peer, pen_transfers_ended *ended)
{
    pen_transfer_peer *to = &transfers->peer[peer];
    pen_transfer *got = pop(&to->gets);
    if (got == NULL)
        return;
    const bool is_fence = got->is_fence;
    if (is_fence) {
        to->fenced_serial = got->serial;
        to->fence_out = false;
    } else if (got->bounce != PEN_NO_BOUNCE) {
        memcpy(got->local, bounce_at(transfers, got->bounce), got->len);
    }
    end(transfers, got, ended);
    if (is_fence && (to->fence_serial != to->put_serial || to->unfenced.first != NULL))
        post_later(transfers, peer);
}

void pen_transfers_on_number(pen_transfers *transfers, pen_peer peer, uint64_t number)
{
    if (number > transfers->peer[peer].heard)
        transfers->peer[peer].heard = number;
}

/* ---- frames that wait for puts --------------------------------------------------------------- */

static void show_held(pen_transfers *transfers)
{
    atomic_store_explicit(&transfers->held_total, transfers->held.total, memory_order_relaxed);
}

bool pen_transfers_hold(pen_transfers *transfers, pen_peer from, pen_lane lane,
                        const pen_frame *frame, uint64_t number)
{
    const bool is_kept = pen_lanes_keep(&transfers->held, from, lane, frame, number);
    show_held(transfers);
    return is_kept;
}

static bool has_data(void *ctx, const pen_kept *kept)
{
    return kept->tag <= ((const pen_transfers *)ctx)->peer[kept->from].heard;
}

unsigned pen_transfers_deliver(pen_transfers *transfers, pen_lock *lock, unsigned lanes,
                               unsigned budget)
{
    unsigned count = 0;
    for (; count < budget; count++) {
        pen_lock_take(lock);
        pen_kept *kept = pen_lanes_take_ready(&transfers->held, lanes, has_data, transfers);
        if (kept != NULL)
            transfers->on_held(transfers->card, kept->from, kept->lane);
        show_held(transfers);
        pen_lock_drop(lock);
        if (kept == NULL)
            break;
        pen_host_hand(transfers->host, kept->from, kept->lane, pen_kept_head(kept), kept->head_len,
                      pen_kept_body(kept), kept->body_len);
        pen_lanes_give(&transfers->held, kept); /* it is of no reserve, so this needs no lock */
    }
    return count;
}

/* ---- ends ------------------------------------------------------------------------------------ */

void pen_transfers_sweep(pen_transfers *transfers, pen_transfers_ended *ended)
{
    for (uint32_t left = transfers->turns.count; left > 0; left--) {
        pen_transfer_peer *to = &transfers->peer[pen_turns_at(&transfers->turns, left - 1)];
        while (ended->count < PEN_TRANSFERS_ENDED_MAX && has_fenced(to))
            end(transfers, pop(&to->unfenced), ended);
    }
}

void pen_transfers_report(const pen_transfers_ended *ended)
{
    for (unsigned i = 0; i < ended->count; i++) {
        pen_op *op = ended->rows[i].op;
        const bool is_last = !ended->rows[i].is_source;
        if (!ended->rows[i].source_done)
            pen_op_source_done(op);
        if (is_last)
            pen_op_done(op);
    }
}
