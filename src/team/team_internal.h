/* SPDX-License-Identifier: BSD-3-Clause */
/* team_internal.h: finds the members of a team without communication: from the offers of the
 * parent's members, or from a list. */
#ifndef PEN_TEAM_TEAM_INTERNAL_H
#define PEN_TEAM_TEAM_INTERNAL_H

#include "coll/coll.h"

#include <penstock/types.h>
#include <stdbool.h>
#include <stdint.h>

/* The offer of a rank to all members of the parent in a split. */
typedef struct team_offer {
    uint32_t joins; /* 0: it does not join, and color and key are ignored */
    int32_t color, key;
    uint32_t number; /* part of the id if this rank becomes member 0 */
    pen_coll_offer scratch;
} team_offer;

/* The offer of a rank when teams are made from lists. */
typedef struct team_claim {
    uint64_t digest; /* digest of the rank's list */
    uint32_t count;  /* members in the rank's list; 0: no list */
    uint32_t number;
    pen_coll_offer scratch; /* for a rank that is in the list once */
} team_claim;

typedef struct team_place { /* a rank that joins */
    int32_t key;
    uint32_t rank; /* in parent */
} team_place;

/* Finds the ranks that join with this color, ordered by key, then by rank. Returns their number.
 * places has room for count. */
uint32_t pen_team_order(const team_offer *offers, uint32_t count, int32_t color,
                        team_place *places);

uint64_t pen_team_digest(const gex_EP_Location_t *members, uint32_t count);

static inline uint64_t pen_team_id(uint32_t jobrank, uint32_t number)
{
    return (uint64_t)jobrank << 32 | number;
}

/* Returns whether the job ranks have a constant stride. */
bool pen_team_rule(const gex_EP_Location_t *members, uint32_t count, uint32_t *first,
                   uint32_t *stride);
/* Orders the numbers 0..count - 1 by the job ranks of their members; equal ranks keep their order.
 */
void pen_team_sort(const gex_EP_Location_t *members, uint32_t count, uint32_t *order);
/* Finds two members that name the same endpoint, the later one in *second; returns false if all
 * differ. order: from pen_team_sort. Endpoint numbers are below PEN_ENDPOINTS_MAX. */
bool pen_team_twice(const gex_EP_Location_t *members, uint32_t count, const uint32_t *order,
                    uint32_t *second);

#endif
