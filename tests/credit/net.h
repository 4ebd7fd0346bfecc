/* SPDX-License-Identifier: BSD-3-Clause */
/* net.h: ranks that send each other requests and replies under credit flow control, over a network
 * that keeps the order of each pair and nothing else. All choices are drawn from a seed, so that a
 * run can be repeated. The network counts slots by itself and believes no ledger. */
#ifndef CREDIT_NET_H
#define CREDIT_NET_H

#include "credit/credit.h"

enum { NET_RANKS_MAX = 6 };

typedef struct net_params {
    uint64_t seed;
    uint32_t ranks;
    uint32_t phases;                 /* of equal length, each with a pattern of its own */
    uint32_t packets;                /* data packets to send in all, about */
    uint32_t request_max, reply_max; /* packets of one message */
    bool ride;                       /* grants ride on data packets where they can */
    uint32_t nap;                    /* of 16 steps, so many in which a rank drawn does nothing */
    uint32_t lag; /* a rank or way that is behind does something once in so many times */
    pen_credit_params credit;
} net_params;

/* Draws everything from the seed; at least so many packets go. */
void net_draw(net_params *params, uint64_t seed, uint32_t packets);

/* Plays until all is sent, handled and returned. NULL: all went well; else what did not. packets:
 * data packets that went. An invariant that breaks ends the process. */
const char *net_run(const net_params *params, uint64_t *packets);

#endif
