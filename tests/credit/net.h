/* SPDX-License-Identifier: BSD-3-Clause */
/* net.h: ranks that send each other requests and replies under credit flow control, over a network
 * that keeps the order of each pair and gives no other guarantee. All choices are drawn from a
 * seed, so that a run can be repeated. The network counts slots by itself, independent of the
 * library's ledgers. */
#ifndef CREDIT_NET_H
#define CREDIT_NET_H

#include "credit/credit.h"

enum { NET_RANKS_MAX = 6 };

typedef struct net_params {
    uint64_t seed;
    uint32_t ranks;
    uint32_t phases;                 /* phases of equal length, each with a pattern of its own */
    uint32_t packets;                /* data packets to send in all, about */
    uint32_t request_max, reply_max; /* packets of one message */
    bool ride;                       /* grants ride on data packets where they can */
    uint32_t nap; /* in this number of 16 steps, a rank that was drawn does nothing */
    uint32_t lag; /* a rank or path that is behind takes one of this number of steps */
    pen_credit_params credit;
} net_params;

/* Draws all parameters from the seed; at least `packets` packets are sent. */
void net_draw(net_params *params, uint64_t seed, uint32_t packets);

/* Plays until all is sent, handled and returned. Returns NULL on success, else the failure.
 * *packets: data packets that were sent. A broken invariant ends the process. */
const char *net_run(const net_params *params, uint64_t *packets);

#endif
