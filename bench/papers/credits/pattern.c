/* SPDX-License-Identifier: BSD-3-Clause */
/* pattern.c: the operations, as MPI libraries do them for messages of this length without further
 * thought. */
#include "bench/papers/credits/pattern.h"

#include <string.h>

static const char *const names[PATTERNS] = {
    "alltoall", "pingpong",  "sendrecv",  "exchange", "bcast",
    "reduce",   "allreduce", "allgather", "barrier",
};

const char *pattern_name(pattern p) { return names[p]; }

bool pattern_find(const char *name, pattern *out)
{
    for (unsigned i = 0; i < PATTERNS; i++) {
        if (strcmp(name, names[i]) == 0) {
            *out = (pattern)i;
            return true;
        }
    }
    return false;
}

static step send_to(uint32_t peer) { return (step){ STEP_SEND, peer, false }; }
static step wait_for(uint32_t peer) { return (step){ STEP_WAIT, peer, false }; }
static step end(void) { return (step){ STEP_END, 0, false }; }

static uint32_t log_of(uint32_t ranks)
{
    uint32_t bits = 0;
    while ((UINT32_C(1) << bits) < ranks)
        bits++;
    return bits;
}

/* To the next rank first, from the one before first, so that no rank is everybody's target. */
static step alltoall(const place *at, uint32_t i)
{
    uint32_t own = at->rank % at->group, first = at->rank - own, others = at->group - 1;
    if (i < others)
        return send_to(first + (own + 1 + i) % at->group);
    if (i < 2 * others)
        return wait_for(first + (own + 2 * at->group - 1 - i + others) % at->group);
    return end();
}

static step pingpong(const place *at, uint32_t i)
{
    if (i >= 2)
        return end();
    return (i ^ at->rank) & 1 ? wait_for(at->rank ^ 1) : send_to(at->rank ^ 1);
}

static step ring(const place *at, uint32_t i, uint32_t ways)
{
    uint32_t right = (at->rank + 1) % at->ranks, left = (at->rank + at->ranks - 1) % at->ranks;
    if (i >= 2 * ways)
        return end();
    if (i < ways)
        return send_to(i == 0 ? right : left);
    return wait_for(i == ways ? left : right);
}

static step barrier(const place *at, uint32_t i)
{
    if (i >= 2 * log_of(at->ranks))
        return end();
    uint32_t far = UINT32_C(1) << i / 2;
    step made = i % 2 == 0 ? send_to((at->rank + far) % at->ranks)
                           : wait_for((at->rank + at->ranks - far) % at->ranks);
    made.is_short = true;
    return made;
}

/* Number v in a binomial tree has its parent at v without its highest bit, and children at v with
 * one bit more above that. */
static uint32_t parent_of(uint32_t v)
{
    uint32_t highest = 1;
    while (highest <= v / 2)
        highest *= 2;
    return v ^ highest;
}

static step bcast(const place *at, uint32_t i)
{
    uint32_t v = at->rank, own = v == 0 ? 0 : log_of(v + 1), from = v > 0 ? 1 : 0;
    uint32_t steps = log_of(at->ranks) - own + from;
    if (i >= steps)
        return barrier(at, i - steps);
    return i < from ? wait_for(parent_of(v)) : send_to(v | UINT32_C(1) << (own + i - from));
}

static step reduce(const place *at, uint32_t i)
{
    uint32_t v = at->rank, own = v == 0 ? 0 : log_of(v + 1), children = log_of(at->ranks) - own;
    uint32_t steps = children + (v > 0 ? 1 : 0);
    if (i >= steps)
        return barrier(at, i - steps);
    return i < children ? wait_for(v | UINT32_C(1) << (own + children - 1 - i))
                        : send_to(parent_of(v));
}

static step allreduce(const place *at, uint32_t i)
{
    if (i >= 2 * log_of(at->ranks))
        return end();
    uint32_t peer = at->rank ^ UINT32_C(1) << i / 2;
    return i % 2 == 0 ? send_to(peer) : wait_for(peer);
}

static step allgather(const place *at, uint32_t i)
{
    if (i >= 2 * (at->ranks - 1))
        return end();
    return i % 2 == 0 ? send_to((at->rank + 1) % at->ranks)
                      : wait_for((at->rank + at->ranks - 1) % at->ranks);
}

step pattern_step(pattern p, const place *at, uint32_t i)
{
    switch (p) {
    case PATTERN_ALLTOALL:
        return alltoall(at, i);
    case PATTERN_PINGPONG:
        return pingpong(at, i);
    case PATTERN_SENDRECV:
        return ring(at, i, 1);
    case PATTERN_EXCHANGE:
        return ring(at, i, 2);
    case PATTERN_BCAST:
        return bcast(at, i);
    case PATTERN_REDUCE:
        return reduce(at, i);
    case PATTERN_ALLREDUCE:
        return allreduce(at, i);
    case PATTERN_ALLGATHER:
        return allgather(at, i);
    default:
        return barrier(at, i);
    }
}
