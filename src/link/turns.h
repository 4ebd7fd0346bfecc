/* SPDX-License-Identifier: BSD-3-Clause */
/* turns.h: a queue of numbers that wait for their turn, each at most once. A link lists there the
 * peers, or pairs of a peer and a lane, for which it has work that its network or its credits had
 * no room for. The caller holds the lock that guards the queue. */
#ifndef PEN_LINK_TURNS_H
#define PEN_LINK_TURNS_H

#include "conduit/conduit.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct pen_turns {
    uint32_t *ring; /* room for each number */
    bool *is_in;    /* by number */
    uint32_t room, first, count;
} pen_turns;

/* Makes a queue of the numbers 0 to room - 1. Returns false if there is no memory. */
bool pen_turns_open(pen_turns *turns, const pen_host *host, uint32_t room);

/* Frees the memory. A queue that is all zero may be closed. */
void pen_turns_close(pen_turns *turns, const pen_host *host);

/* Appends the number, unless it is in the queue. Returns whether it was appended. */
static inline bool pen_turns_add(pen_turns *turns, uint32_t number)
{
    if (turns->is_in[number])
        return false;
    turns->is_in[number] = true;
    turns->ring[(turns->first + turns->count++) % turns->room] = number;
    return true;
}

/* The number at a place in the queue; 0 is the first. */
static inline uint32_t pen_turns_at(const pen_turns *turns, uint32_t place)
{
    return turns->ring[(turns->first + place) % turns->room];
}

/* Takes the first number. The queue is not empty. */
static inline uint32_t pen_turns_take(pen_turns *turns)
{
    const uint32_t number = turns->ring[turns->first];
    turns->first = (turns->first + 1) % turns->room;
    turns->count--;
    turns->is_in[number] = false;
    return number;
}

#endif
