/* SPDX-License-Identifier: BSD-3-Clause */
/* twosided_internal.h: the state of the two-sided library, and what its parts call of each other.
 */
#ifndef PEN_BENCH_TWOSIDED_TWOSIDED_INTERNAL_H
#define PEN_BENCH_TWOSIDED_TWOSIDED_INTERNAL_H

#include "base/compiler.h"
#include "credit/credit.h"
#include "softnic/extoll/rma2.h"
#include "softnic/extoll/velo2.h"
#include "twosided/twosided.h"

#include <stdlib.h>
#include <string.h>

enum { PACKET_START, PACKET_MORE, PACKET_CONTROL }; /* VELO's message types */
enum { KIND_EAGER, KIND_ASK, KIND_FETCHED };        /* of messages */

/* The first word of a message's first packet. ASK is followed by the source's NLA and the request's
 * number, FETCHED answers with that number in len. */
typedef struct message_head {
    uint32_t len;
    uint16_t tag;
    uint16_t kind;
} message_head;

/* A message that came before its receive; the bytes follow, or are still to be fetched. */
typedef struct early {
    struct early *next;
    message_head head;
    int peer;
    size_t moved;
    uint64_t theirs;
    uint32_t number;
    twosided_request *taker; /* a receive that was found meanwhile */
    unsigned char bytes[];
} early;

/* State of one peer. */
typedef struct peer_state {
    twosided_request *first, *last; /* sends that are not all out, in order */
    twosided_request *answer;       /* fetched, not yet told; a list */
    twosided_request *into;         /* where the rest of the message under way goes ... */
    early *early_into;              /* ... or here */
    size_t left; /* bytes left of the message; bytes beyond the end of the buffer are dropped */
} peer_state;

struct twosided {
    velo2_port_t *velo;
    velo2_connection_t *to;
    RMA2_Port rma;
    RMA2_Handle *rma_to;
    int rank, count;
    size_t max_len;
    pen_credit_sender *sender;
    pen_credit_receiver *receiver;
    peer_state *peers;
    uint32_t queued;                            /* peers with something to send, about */
    twosided_request *posted, **posted_end;     /* receives */
    early *early_first, **early_end;            /* messages */
    twosided_request *fetching, **fetching_end; /* gets under way, in order */
    uint32_t fetches;                           /* posted gets */
    twosided_request *asking;                   /* sends that wait to be fetched */
    uint32_t numbers;
    twosided_counts counts;
};

static inline uint32_t credit_peer(const twosided *t, int rank)
{
    return (uint32_t)(rank < t->rank ? rank : rank - 1);
}

static inline int credit_rank(const twosided *t, uint32_t peer_i)
{
    return (int)peer_i < t->rank ? (int)peer_i : (int)peer_i + 1;
}

static inline size_t least(size_t a, size_t b) { return a < b ? a : b; }

/* Takes in what has arrived, and sends what can be sent. */
void twosided_progress(twosided *t);

/* A packet to the peer with a credit. False: there is none; poll. left: packets, with this one. */
bool twosided_packet(twosided *t, int peer, const message_head *head, const void *bytes, size_t len,
                     uint32_t left);

/* A packet of a message has come. */
void twosided_started(twosided *t, int peer, const unsigned char *packet, size_t len);
void twosided_continued(twosided *t, int peer, const unsigned char *bytes, size_t len);

/* Sends what the peer's queue holds as far as credits go. */
void twosided_push(twosided *t, int peer);

/* Rendezvous. */
void twosided_fetch(twosided *t, twosided_request *request);   /* a receive's data */
void twosided_ask(twosided *t, twosided_request *request);     /* makes a send's memory reachable */
void twosided_fetched(twosided *t, int peer, uint32_t number); /* a send is done */
void twosided_poll_rma(twosided *t);

#endif
