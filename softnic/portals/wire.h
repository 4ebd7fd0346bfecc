/* SPDX-License-Identifier: BSD-3-Clause */
/* wire.h: the contents of a fabric's shared memory, and moving packets through its rings.
 *
 * A ring has one writer and one reader. Its positions count bytes, only grow, and are multiples of
 * the cache line. The writer keeps its own copy of `write` and the reader of `read`, so that the
 * opposite side can spoil neither. */
#ifndef PEN_SOFTNIC_PORTALS_WIRE_H
#define PEN_SOFTNIC_PORTALS_WIRE_H

#include "base/compiler.h"
#include "softnic/portals/card.h"

#include <stdatomic.h>

enum { P4_REQUESTS, P4_RESPONSES, P4_LANES };
enum { P4_ROW_FREE, P4_ROW_OPEN, P4_ROW_CLOSED };
enum { P4_READY_WORDS = PEN_PORTALS_PROCESSES_MAX / 64 };

typedef struct p4_head {
    _Atomic uint64_t digest; /* digest of the settings; 0: no card was opened */
    _Atomic uint32_t joined; /* processes that mapped the fabric by its name */
} p4_head;

/* A process, as its peers see it. */
typedef struct p4_row {
    PEN_CACHE_ALIGNED _Atomic uint32_t state;
    _Atomic int32_t pid; /* process number, used only to see whether the process lives */
    PEN_CACHE_ALIGNED _Atomic uint32_t sleepers; /* threads that sleep, or are about to */
    _Atomic uint32_t bell;                       /* the word they sleep on */
    PEN_CACHE_ALIGNED _Atomic uint64_t ready[P4_READY_WORDS]; /* a bit for each sender */
} p4_row;

typedef struct p4_ring {
    PEN_CACHE_ALIGNED _Atomic uint64_t write;
    PEN_CACHE_ALIGNED _Atomic uint64_t read;
} p4_ring;

typedef enum p4_kind {
    P4_PUT,
    P4_GET,
    P4_ATOMIC,
    P4_FETCH,
    P4_SWAP,
    P4_DATA, /* more data of the last message of this lane */
    P4_CUT,  /* the rest of that message will not come */
    P4_ACK,  /* responses from here */
    P4_REPLY,
} p4_kind;

/* The head of a packet. `bytes` of payload follow it in the ring; then the next line begins. */
typedef struct p4_packet {
    uint8_t kind, ni, ack, fail, list, operation, datatype, unused;
    uint32_t bytes;
    uint32_t pt_index;
    uint32_t uid;
    uint32_t token;      /* the operation, in the numbering of its initiator */
    uint64_t match_bits; /* in responses: mlength */
    uint64_t offset;     /* requests: remote offset; responses: offset used */
    uint64_t length;     /* bytes of the whole message */
    uint64_t hdr_data;
    uint64_t due_ns; /* with a cost model: not to be looked at earlier */
} p4_packet;

_Static_assert(sizeof(p4_packet) == PEN_CACHE_LINE, "a packet's head is one line");

enum {
    P4_OPERAND_LEN = 32,   /* an operand in front of a swap's data */
    P4_ATOMIC_MAX = 512,   /* bytes of an atomic operation, which fits in any ring's packet */
    P4_PAYLOAD_MAX = 8128, /* bytes of a packet in a ring of the default length */
};

/* One side of a ring, private to that side. */
typedef struct p4_side {
    p4_ring *ring;
    unsigned char *bytes;
    uint64_t at;   /* own position */
    uint64_t seen; /* the opposite side's position, as read and checked last */
} p4_side;

/* Largest payload of a packet, so that a ring holds several packets. */
static inline uint32_t p4_payload_max(const pen_portals_config *config)
{
    uint32_t quarter = config->ring_len / 4 - (uint32_t)sizeof(p4_packet);
    return quarter < P4_PAYLOAD_MAX ? quarter : P4_PAYLOAD_MAX;
}

/* Return the parts of a fabric. */
p4_row *p4_row_of(void *memory, uint32_t process_i);
void p4_side_open(p4_side *side, void *memory, const pen_portals_config *config, uint32_t from,
                  uint32_t to, uint32_t lane);

typedef enum p4_ring_state { P4_RING_YES, P4_RING_NO, P4_RING_BROKEN } p4_ring_state;

/* Asks whether a payload of `bytes` fits. */
p4_ring_state p4_ring_has_room(p4_side *side, uint32_t ring_len, uint32_t bytes);

/* Returns where the bytes of a packet lie that start `skip` bytes behind its start. *first of `len`
 * bytes lie there, and the rest at the ring's start. */
unsigned char *p4_ring_at(const p4_side *side, uint32_t ring_len, uint64_t skip, size_t len,
                          size_t *first);

/* Publishes a packet with this payload. */
void p4_ring_push(p4_side *side, uint32_t bytes);

/* Copies the head of the next packet out. payload_max bounds what a correct peer writes. */
p4_ring_state p4_ring_peek(p4_side *side, uint32_t ring_len, uint32_t payload_max, p4_packet *out);

/* Gives the packet's room back. */
void p4_ring_pop(p4_side *side, uint32_t bytes);

#endif
