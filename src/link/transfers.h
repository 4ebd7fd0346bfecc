/* SPDX-License-Identifier: BSD-3-Clause */
/* transfers.h: puts and gets under way of a link whose card works like this:
 *
 *   - The puts to one peer end in the order in which they were posted, and so do the gets from it.
 *     So one queue for each tells to which operation a report of the card belongs.
 *   - The card reports that a put's source is free. It reports the arrival of a put to the target
 *     only. So a *fence* follows: a get of one byte on the same path, one for all puts that were
 *     posted before it. A put whose arrival a frame reports (pen_op.local) needs no fence: a
 * message of the card with a *number* follows it, the frame carries that number, and the target
 *     delivers the frame after it has heard the number.
 *   - The card moves memory that was registered with it. Other memory is copied through *bounce
 *     buffers*, which the owner has registered; then a put's source is free at once.
 *
 * The owner posts to its card and takes the card's reports; this module counts. Its lock is the
 * owner's. */
#ifndef PEN_LINK_TRANSFERS_H
#define PEN_LINK_TRANSFERS_H

#include "conduit/conduit.h"
#include "link/lanes.h"
#include "link/turns.h"
#include "os/lock.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PEN_TRANSFERS_ENDED_MAX = 32 };

#define PEN_NO_BOUNCE UINT32_MAX

typedef struct pen_transfer {
    struct pen_transfer *next;
    pen_op *op;      /* NULL: an operation of the link itself */
    void *local;     /* get: where data in a bounce buffer goes */
    uint32_t len;    /* bytes of it */
    uint32_t bounce; /* number of the bounce buffer, or PEN_NO_BOUNCE */
    uint64_t serial; /* put: its number at this peer; fence: number of the last put before it */
    bool is_fence, is_local, source_done;
} pen_transfer;

typedef struct pen_transfer_queue {
    pen_transfer *first, *last;
} pen_transfer_queue;

typedef struct pen_transfer_peer {
    pen_transfer_queue puts;     /* puts whose sources the card still reads */
    pen_transfer_queue unfenced; /* puts sent, but not known to have arrived */
    pen_transfer_queue gets;     /* gets and fences */
    uint64_t put_serial, fence_serial, fenced_serial;
    uint64_t number, number_told; /* number of puts so far: in frames, and as the peer was told */
    uint64_t heard;               /* number of puts that the peer has told */
    uint64_t last;                /* an address in the memory of the last put */
    bool has_put, fence_out;
} pen_transfer_peer;

typedef struct pen_transfers {
    const pen_host *host;
    void *card; /* first argument of the two calls, which return false if the card has no room */
    bool (*post_fence)(void *card, pen_peer peer, uint64_t address); /* gets a byte from there */
    bool (*post_number)(void *card, pen_peer peer, uint64_t number);
    /* A frame that was held is delivered next. Under the lock. */
    void (*on_held)(void *card, pen_peer from, pen_lane lane);
    pen_transfer_peer *peer;
    pen_turns turns;       /* peers to which a fence or a number is to be posted */
    _Atomic uint32_t work; /* transfers under way, and peers in turns; relaxed, read freely */
    pen_transfer *free;
    char *bounce; /* the bounce buffers, one behind the other */
    size_t bounce_len;
    uint32_t bounce_free;        /* one bit each */
    pen_lanes held;              /* frames whose puts have not come */
    _Atomic uint32_t held_total; /* relaxed: polls look again */
} pen_transfers;

/* Ends of operations, to be reported without the lock. */
typedef struct pen_transfers_ended {
    unsigned count;
    struct {
        pen_op *op;
        bool source_done; /* the source was free before */
        bool is_source;   /* only the source is free */
    } rows[PEN_TRANSFERS_ENDED_MAX];
} pen_transfers_ended;

/* The caller has set card, the two calls and the bounce buffers. Returns false if there is no
 * memory; pen_transfers_close frees what was allocated. */
bool pen_transfers_open(pen_transfers *transfers, const pen_host *host, pen_peer peers);

/* Frees all memory but the bounce buffers. One that is all zero may be closed. */
void pen_transfers_close(pen_transfers *transfers);

static inline bool pen_transfers_has_work(const pen_transfers *transfers)
{
    /* relaxed: a thread sees what it began itself, and polls look again */
    return atomic_load_explicit(&transfers->work, memory_order_relaxed) != 0;
}

/* ---- posting --------------------------------------------------------------------------------- */

/* Takes a transfer for an operation with this local memory. Returns NULL if there is no memory. */
pen_transfer *pen_transfers_take(pen_transfers *transfers, pen_op *op, void *local, size_t len);

/* Takes a bounce buffer for the transfer, and returns its place; NULL if all are in use. */
char *pen_transfers_bounce(pen_transfers *transfers, pen_transfer *transfer);

/* Counts a put or a get that the card was given. posted: whether the card took it; if not, the
 * answer is the caller's, and the transfer is given back. address: the put's memory at the peer;
 * is_copied: the card needs the source no more, and reports nothing about it. */
pen_post pen_transfers_put(pen_transfers *transfers, pen_peer peer, pen_transfer *transfer,
                           pen_post posted, uint64_t address, bool is_copied);
pen_post pen_transfers_get(pen_transfers *transfers, pen_peer peer, pen_transfer *transfer,
                           pen_post posted);

/* Number of the puts to the peer so far, which is told to it; 0: there was none. */
uint64_t pen_transfers_number(pen_transfers *transfers, pen_peer peer);

/* ---- reports of the card --------------------------------------------------------------------- */

/* Posts fences and numbers that had no room. */
void pen_transfers_post(pen_transfers *transfers);

/* Whether further reports may be taken. */
static inline bool pen_transfers_has_room(const pen_transfers_ended *ended)
{
    return ended->count + 2 <= PEN_TRANSFERS_ENDED_MAX;
}

void pen_transfers_on_sent(pen_transfers *transfers, pen_peer peer, pen_transfers_ended *ended);
void pen_transfers_on_got(pen_transfers *transfers, pen_peer peer, pen_transfers_ended *ended);
void pen_transfers_on_number(pen_transfers *transfers, pen_peer peer, uint64_t number);

/* Keeps a frame until its sender has told that number of puts; 0: until the next poll. Returns
 * false if there is no memory. */
bool pen_transfers_hold(pen_transfers *transfers, pen_peer from, pen_lane lane,
                        const pen_frame *frame, uint64_t number);

static inline bool pen_transfers_holds(const pen_transfers *transfers)
{
    return atomic_load_explicit(&transfers->held_total, memory_order_relaxed) != 0;
}

/* Delivers frames of these lanes whose puts have come, at most budget; returns how many. Called in
 * poll, without the lock, which it takes. */
unsigned pen_transfers_deliver(pen_transfers *transfers, pen_lock *lock, unsigned lanes,
                               unsigned budget);

/* Ends the puts of peers whose fence has come. */
void pen_transfers_sweep(pen_transfers *transfers, pen_transfers_ended *ended);

/* Reports the ends to their operations. Without the lock. */
void pen_transfers_report(const pen_transfers_ended *ended);

#endif
