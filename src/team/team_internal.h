/* SPDX-License-Identifier: BSD-3-Clause */
/* team_internal.h: who is in a team, decided without talking to anybody: from what all members of
 * the parent told, or from a list. */
#ifndef PEN_TEAM_TEAM_INTERNAL_H
#define PEN_TEAM_TEAM_INTERNAL_H

#include "coll/coll.h"
#include "team/team.h"

/* What a rank tells all others of the parent in a split. */
typedef struct team_offer {
    uint32_t joins; /* 0: it does not, and color and key say nothing */
    int32_t color, key;
    uint32_t number; /* for the id, if it becomes member 0 */
    pen_coll_offer scratch;
} team_offer;

/* What it tells when teams are made from lists. */
typedef struct team_claim {
    uint64_t digest; /* of its list */
    uint32_t count;  /* of its list; 0: it has none */
    uint32_t number;
    pen_coll_offer scratch; /* of one who is in the list once */
} team_claim;

typedef struct team_place { /* one who joins */
    int32_t key;
    uint32_t rank; /* in parent */
} team_place;

/* Those who join with this color, by key, then by rank; answers how many. places: room for count.
 */
uint32_t pen_team_order(const team_offer *offers, uint32_t count, int32_t color,
                        team_place *places);

uint64_t pen_team_digest(const gex_EP_Location_t *members, uint32_t count);

static inline uint64_t pen_team_id(uint32_t jobrank, uint32_t number)
{
    return (uint64_t)jobrank << 32 | number;
}

/* Do the job ranks follow a rule? */
bool pen_team_rule(const gex_EP_Location_t *members, uint32_t count, uint32_t *first,
                   uint32_t *stride);
/* Numbers 0..count - 1 in the order of their members' job ranks, equal ones as they stand. */
void pen_team_sort(const gex_EP_Location_t *members, uint32_t count, uint32_t *order);
/* order: as sorted. Two that name the same endpoint, the later one in *second; false: none do.
 * Endpoint numbers are below PEN_ENDPOINTS_MAX. */
bool pen_team_twice(const gex_EP_Location_t *members, uint32_t count, const uint32_t *order,
                    uint32_t *second);

#endif
