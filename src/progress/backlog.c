/* SPDX-License-Identifier: BSD-3-Clause */
/* backlog.c: replies and control frames that found no room. They wait here, as copies, so that a
 * handler never waits. The order per lane and peer is kept. A peer that has no room delays no
 * frames to different peers.
 *
 * The size is bounded without a limit. While a frame is queued, the port takes no requests, so a
 * backlog holds at most the answers to the requests that one poll of each thread delivered.
 * These are short, or a Long reply that only pieces can carry, which is queued whole. A sweep
 * takes requests in any case and is itself bounded; then a backlog also holds the answers to the
 * requests that links kept. */
#include "progress/progress.h"

#include "base/compiler.h"
#include "base/status.h"
#include "conduit/conduit.h"
#include "diag/counters.h"
#include "os/lock.h"

#include <stdlib.h>
#include <string.h>

struct pen_backlog_entry {
    pen_backlog_entry *next;
    pen_op op; /* counts down while the link reads the body */
    pen_peer to;
    pen_lane lane;
    uint32_t head_len, body_len;
    _Alignas(16) unsigned char bytes[]; /* head, then the body at a multiple of 16 */
};

static size_t entry_body_off(uint32_t head_len) { return pen_align_up(head_len, 16); }

static pen_backlog_entry *entry_make(pen_peer to, pen_lane lane, const pen_frame *frame,
                                     bool shared)
{
    size_t body_off = entry_body_off(frame->head_len);
    pen_backlog_entry *entry = malloc(sizeof *entry + body_off + frame->body_len);
    if (entry == NULL)
        return NULL;
    entry->next = NULL;
    atomic_init(&entry->op.source_busy, 0);
    atomic_init(&entry->op.incomplete, 0);
    entry->op.shared = shared;
    entry->op.then = NULL;
    entry->to = to;
    entry->lane = lane;
    entry->head_len = frame->head_len;
    entry->body_len = frame->body_len;
    memcpy(entry->bytes, frame->head, frame->head_len);
    if (frame->body_len != 0)
        memcpy(entry->bytes + body_off, frame->body, frame->body_len);
    return entry;
}

static uint64_t peer_bit(pen_peer peer) { return 1ull << (peer % 64); }

/* Posts an entry. The counts are raised first, and lowered again unless the link keeps the body;
 * see pen_op. */
static pen_post entry_post(pen_port *port, pen_backlog_entry *entry)
{
    pen_frame frame = { entry->bytes,
                        entry->body_len != 0 ? entry->bytes + entry_body_off(entry->head_len)
                                             : NULL,
                        entry->head_len, entry->body_len };
    if (entry->body_len <= port->link->caps.frame_copy_max)
        return pen_port_post(port, entry->to, entry->lane, &frame, NULL);
    /* relaxed: no other thread knows the op yet */
    atomic_store_explicit(&entry->op.source_busy, 1, memory_order_relaxed);
    atomic_store_explicit(&entry->op.incomplete, 1, memory_order_relaxed);
    return pen_port_post(port, entry->to, entry->lane, &frame, &entry->op);
}

/* ---- the list; all under backlog->lock ---------------------------------------------------- */

/* relaxed throughout: the poll loop reads the counts as hints, the lock orders the list */
static void count_add(_Atomic uint32_t *count, uint32_t change)
{
    uint32_t before = atomic_load_explicit(count, memory_order_relaxed);
    atomic_store_explicit(count, before + change, memory_order_relaxed);
}

static void count_changed(pen_port *port)
{
    pen_progress *progress = port->progress;
    pen_progress_view_changed(progress);
    if (progress->concurrency != PEN_ALONE || progress->port_count != 1)
        return;
    /* The fast path of a poll requires an empty backlog. */
    bool is_empty = atomic_load_explicit(&port->backlog.count, memory_order_relaxed) == 0;
    progress->alone = is_empty ? port->link : NULL;
}

static void list_append(pen_backlog *backlog, pen_backlog_entry *entry)
{
    entry->next = NULL;
    *backlog->last_next = entry;
    backlog->last_next = &entry->next;
    backlog->peers[entry->lane] |= peer_bit(entry->to);
    count_add(&backlog->count, 1);
    count_add(&backlog->queued, 1);
}

static void fly(pen_backlog *backlog, pen_backlog_entry *entry)
{
    entry->next = backlog->flying;
    backlog->flying = entry;
    count_add(&backlog->count, 1);
}

static void free_landed(pen_backlog *backlog)
{
    for (pen_backlog_entry **at = &backlog->flying; *at != NULL;) {
        pen_backlog_entry *entry = *at;
        /* acquire: pairs with the drop by the thread that completed it; the body is no longer
         * read */
        if (atomic_load_explicit(&entry->op.incomplete, memory_order_acquire) != 0 ||
            atomic_load_explicit(&entry->op.source_busy, memory_order_acquire) != 0) {
            at = &entry->next;
            continue;
        }
        *at = entry->next;
        count_add(&backlog->count, (uint32_t)-1);
        free(entry);
    }
}

/* Posts queued frames, the oldest first, and skips peers that have no room. Returns how many
 * were posted. */
static unsigned post_queued(pen_port *port)
{
    pen_backlog *backlog = &port->backlog;
    pen_backlog_entry *rest = backlog->first;
    unsigned sent = 0;
    backlog->first = NULL;
    backlog->last_next = &backlog->first;
    uint64_t full[PEN_LANES] = { 0 };
    uint32_t queued = 0;
    while (rest != NULL) {
        pen_backlog_entry *entry = rest;
        rest = entry->next;
        bool passed = (full[entry->lane] & peer_bit(entry->to)) != 0;
        pen_post result = passed ? PEN_POST_AGAIN : entry_post(port, entry);
        if (result == PEN_POST_AGAIN) {
            full[entry->lane] |= peer_bit(entry->to);
            entry->next = NULL;
            *backlog->last_next = entry;
            backlog->last_next = &entry->next;
            queued++;
            continue;
        }
        sent++;
        count_add(&backlog->count, (uint32_t)-1);
        if (result == PEN_POST_PENDING)
            fly(backlog, entry);
        else
            free(entry); /* copied, or its peer is lost, which the link has reported */
    }
    atomic_store_explicit(&backlog->queued, queued, memory_order_relaxed);
    memcpy(backlog->peers, full, sizeof full);
    return sent;
}

unsigned pen_backlog_drain(pen_port *port)
{
    pen_backlog *backlog = &port->backlog;
    if (!pen_lock_try(&backlog->lock))
        return 0; /* a different thread drains it */
    free_landed(backlog);
    unsigned sent = post_queued(port);
    count_changed(port);
    pen_lock_drop(&backlog->lock);
    return sent;
}

/* ---- from outside ---------------------------------------------------------------------------- */

static bool must_queue(pen_port *port, pen_peer to, pen_lane lane)
{
    pen_backlog *backlog = &port->backlog;
    /* relaxed: a thread sees its own frames, and only their order matters */
    if (pen_likely(atomic_load_explicit(&backlog->queued, memory_order_relaxed) == 0))
        return false;
    pen_lock_take(&backlog->lock);
    bool has_earlier = (backlog->peers[lane] & peer_bit(to)) != 0;
    pen_lock_drop(&backlog->lock);
    return has_earlier;
}

static pen_status keep(pen_port *port, pen_counters *counters, pen_backlog_entry *entry,
                       bool is_flying)
{
    pen_backlog *backlog = &port->backlog;
    pen_lock_take(&backlog->lock);
    if (is_flying) {
        fly(backlog, entry);
    } else {
        list_append(backlog, entry);
        counters->again_backlog++;
    }
    count_changed(port);
    pen_lock_drop(&backlog->lock);
    return PEN_OK;
}

pen_status pen_port_post_or_queue(pen_port *port, pen_counters *counters, pen_peer to,
                                  pen_lane lane, const pen_frame *frame)
{
    bool is_small = frame->body_len <= port->link->caps.frame_copy_max;
    bool is_late = must_queue(port, to, lane);
    if (is_small && !is_late) {
        pen_post result = pen_port_post(port, to, lane, frame, NULL);
        PEN_ASSERT(result != PEN_POST_PENDING); /* the contract: no op, no PENDING */
        if (pen_likely(result == PEN_POST_DONE))
            return PEN_OK;
        if (result == PEN_POST_FAILED)
            return PEN_ERR_PEER_LOST;
        is_late = true;
    }
    pen_backlog_entry *entry =
        entry_make(to, lane, frame, port->progress->concurrency != PEN_ALONE);
    if (entry == NULL)
        return PEN_ERR_MEMORY;
    if (is_late)
        return keep(port, counters, entry, false);
    pen_post result = entry_post(port, entry);
    if (result == PEN_POST_AGAIN || result == PEN_POST_PENDING)
        return keep(port, counters, entry, result == PEN_POST_PENDING);
    free(entry);
    return result == PEN_POST_FAILED ? PEN_ERR_PEER_LOST : PEN_OK;
}

void pen_backlog_init(pen_backlog *backlog, pen_concurrency concurrency)
{
    memset(backlog, 0, sizeof *backlog);
    backlog->last_next = &backlog->first;
    pen_lock_init(&backlog->lock, concurrency);
}

static void list_free(pen_backlog_entry *entry)
{
    while (entry != NULL) {
        pen_backlog_entry *next = entry->next;
        free(entry);
        entry = next;
    }
}

void pen_backlog_free(pen_backlog *backlog)
{
    list_free(backlog->first);
    list_free(backlog->flying);
    pen_backlog_init(backlog, PEN_ALONE);
}
