/* SPDX-License-Identifier: BSD-3-Clause */
/* fabric.h: the contents of a fabric's shared memory, and a card's view of them. Words of the
 * fabric are bounded at each use. */
#ifndef PEN_SOFTNIC_EXTOLL_FABRIC_H
#define PEN_SOFTNIC_EXTOLL_FABRIC_H

#include "base/compiler.h"
#include "softnic/extoll/card.h"
#include "softnic/extoll/rma2.h"
#include "softnic/extoll/velo2.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* The first page. */
typedef struct fabric_head {
    _Atomic uint64_t digest; /* the config's; 0: no card was plugged in */
} fabric_head;

/* The state of a VPID. VIRTUAL: it is open, and packets reach it through a simulated network only,
 * so that senders find it closed on their fast path. */
enum { FABRIC_FREE, FABRIC_OPENING, FABRIC_OPEN, FABRIC_VIRTUAL };

/* A ring's positions, which only grow. Producers claim slots at `write`, and share its cache line;
 * only the owner writes `read`. */
typedef struct fabric_ring {
    PEN_CACHE_ALIGNED _Atomic uint64_t write;
    _Atomic uint64_t seen;                   /* `read`, as a producer last saw it */
    _Atomic uint32_t state;                  /* the state of the VPID */
    _Atomic int32_t pid;                     /* its process */
    PEN_CACHE_ALIGNED _Atomic uint64_t read; /* slots before it are free */
} fabric_ring;

typedef struct velo_box {
    fabric_ring ring;
} velo_box;

/* A row of a port's address table. len 0: the row is not valid. */
typedef struct fabric_row {
    _Atomic uint64_t start, len;
} fabric_row;

typedef struct fabric_rma {
    fabric_ring ring; /* the notification queue */
    PEN_CACHE_ALIGNED _Atomic int32_t locks[2][RMA2_LOCKS];
} fabric_rma;

typedef struct fabric_entry {
    _Atomic uint64_t word[2];
} fabric_entry;

/* Offsets of all parts; they depend on the config alone. */
typedef struct fabric_layout {
    uint32_t mailbox_ring, noti_ring; /* slots: powers of two */
    size_t velo_due, velo_stride;     /* for one VPID: mailbox, slots, times */
    size_t rma_rows, rma_queue, rma_due, rma_stride;
    size_t rma_start, len;
} fabric_layout;

typedef struct velo_counters {
    struct velo_counters *next;
    PEN_CACHE_ALIGNED _Atomic uint64_t sent;
    _Atomic uint64_t bytes, stalls, retries;
    PEN_CACHE_ALIGNED _Atomic uint64_t received;
    _Atomic uint64_t commits, malformed;
} velo_counters;

typedef struct rma_counters {
    struct rma_counters *next;
    PEN_CACHE_ALIGNED _Atomic uint64_t commands;
    _Atomic uint64_t fragments, notifications, errors, queue_full, by_kernel, directly;
} rma_counters;

/* Adds to a counter that one thread at a time writes and others may read. */
static inline void fabric_count(_Atomic uint64_t *counter, uint64_t more)
{
    uint64_t now = atomic_load_explicit(counter, memory_order_relaxed);
    atomic_store_explicit(counter, now + more, memory_order_relaxed);
}

/* A range of another port's memory that is mapped in this process. */
typedef struct card_mapping {
    uint32_t endpoint_i;
    uint64_t theirs;
    size_t len;
    unsigned char *ours;
    struct card_mapping *next;
} card_mapping;

struct pen_card {
    unsigned char *memory;
    pen_card_config config;
    fabric_layout layout;
    uint16_t node;
    card_mapping *mappings;
    pthread_mutex_t lock; /* guards the fields below */
    velo_counters *velo;
    rma_counters *rma;
    uint32_t ports_made; /* number of the next port, for its random numbers */
    /* In virtual time: the open ports, which get what arrives. */
    velo2_port_t *virtual_velo;
    struct rma2_port_state *virtual_rma;
};

/* Returns the card that the calling thread uses, or NULL (use.c). */
pen_card *fabric_card_used(void);

/* Finds the number of an endpoint in the fabric. Returns false if there is no endpoint. */
bool fabric_endpoint(const pen_card *card, uint32_t node, uint32_t vpid, uint32_t *endpoint_i);

/* Return the parts of an endpoint. */
velo2_mailbox_t fabric_mailbox(const pen_card *card, uint32_t endpoint_i);
fabric_rma *fabric_rma_of(const pen_card *card, uint32_t endpoint_i);
fabric_row *fabric_rows(const pen_card *card, uint32_t endpoint_i);
fabric_entry *fabric_queue(const pen_card *card, uint32_t endpoint_i);
uint64_t *fabric_noti_due(const pen_card *card, uint32_t endpoint_i);

/* Claims a free VPID of the card's node in the rings for VELO or RMA. Returns UINT32_MAX if all
 * VPIDs are taken. The caller prepares the ring and opens it. */
uint32_t fabric_claim(const pen_card *card, bool is_rma);

/* Opens a claimed ring, which is empty from the producers' position on. Returns that position. */
uint64_t fabric_ring_open(fabric_ring *ring);
void fabric_ring_close(fabric_ring *ring);

static inline bool fabric_ring_is_open(const fabric_ring *ring)
{
    return atomic_load_explicit(&ring->state, memory_order_acquire) == FABRIC_OPEN;
}

/* Returns whether the ring has a free slot at `write` if at most `slots` slots may be used.
 * Signed: `write` may be older than the value it is compared with; then it cannot be claimed.
 * Acquire: the owner has finished with the slots before `read`, whichever producer saw that first.
 */
static inline bool fabric_ring_has_room(fabric_ring *ring, uint64_t write, uint32_t slots)
{
    if (pen_likely((int64_t)(write - atomic_load_explicit(&ring->seen, memory_order_acquire)) <
                   (int64_t)slots))
        return true;
    uint64_t read = atomic_load_explicit(&ring->read, memory_order_acquire);
    if ((int64_t)(write - read) >= (int64_t)slots)
        return false;
    atomic_store_explicit(&ring->seen, read, memory_order_release);
    return true;
}

/* Claims the next slot. Returns false if there is no room. */
static inline bool fabric_ring_claim(fabric_ring *ring, uint32_t slots, uint64_t *slot_i)
{
    uint64_t write = atomic_load_explicit(&ring->write, memory_order_relaxed);
    do {
        if (!fabric_ring_has_room(ring, write, slots))
            return false;
    } while (!atomic_compare_exchange_weak_explicit(&ring->write, &write, write + 1,
                                                    memory_order_relaxed, memory_order_relaxed));
    *slot_i = write;
    return true;
}

/* Draws a fault: true in one of `one_in` attempts. */
uint64_t fabric_random(uint64_t *state);
static inline bool fabric_strikes(uint64_t *state, uint32_t one_in)
{
    return pen_unlikely(one_in > 0) && fabric_random(state) % one_in == 0;
}

/* Keeps the processor busy until this time. */
void fabric_wait_until(uint64_t time);

uint64_t fabric_seed(pen_card *card, uint32_t kind); /* the seed of a new port; never 0 */

/* ---- virtual time (virtual.c) ---- */

/* Whether a fabric of this config can be simulated: one VPID, and a rank for each node. */
bool fabric_virtual_fits(const pen_card_config *config, uint16_t node);
void fabric_virtual_open(pen_card *card);
void fabric_virtual_close(pen_card *card);

/* Declare a port that packets arrive at. */
void fabric_virtual_velo(pen_card *card, velo2_port_t *port);
void fabric_virtual_rma(pen_card *card, struct rma2_port_state *port);

/* Sends a packet whose arguments are valid, to a VPID that is not FABRIC_OPEN. Waits for room if
 * the port may stall. INVALID_MBOX: the VPID is not FABRIC_VIRTUAL either. */
PEN_COLD velo2_ret_t fabric_virtual_send(const velo2_connection_t *connection, const uint64_t *hdr,
                                         size_t hdr_len, const void *buf, size_t len, uint8_t tag,
                                         uint8_t mtt);

/* Tells the network that slots of the card's mailbox are free. */
void fabric_virtual_commit(const pen_card *card, uint32_t slots);

/* Whether a packet would find room in the card. */
bool fabric_virtual_has_room(const pen_card *card);

/* A client's wait for packets or notifications: observes the network, and waits if nothing has
 * come since the last step. Without virtual time, does nothing and returns false. */
bool fabric_virtual_step(const pen_card *card);

#endif
