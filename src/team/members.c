/* SPDX-License-Identifier: BSD-3-Clause */
/* members.c: the members of a new team, and their order. */
#include "team/team_internal.h"

#include "mem/mem.h"

#include <penstock/types.h>
#include <stdlib.h>

/* ---- by color and key ------------------------------------------------------------------------ */

static int place_compare(const void *left, const void *right)
{
    const team_place *a = left, *b = right;
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return a->rank < b->rank ? -1 : a->rank > b->rank;
}

uint32_t pen_team_order(const team_offer *offers, uint32_t count, int32_t color, team_place *places)
{
    uint32_t found = 0;
    bool sorted = true;
    for (uint32_t rank = 0; rank < count; rank++) {
        if (offers[rank].joins == 0 || offers[rank].color != color)
            continue;
        places[found] = (team_place){ offers[rank].key, rank };
        sorted = sorted && (found == 0 || places[found - 1].key <= places[found].key);
        found++;
    }
    if (!sorted)
        qsort(places, found, sizeof *places, place_compare);
    return found;
}

/* ---- lists --------------------------------------------------------------------------------- */

/* FNV-1a over words of 64 bits, and a final mixing so that every bit affects all others. */
uint64_t pen_team_digest(const gex_EP_Location_t *members, uint32_t count)
{
    uint64_t digest = UINT64_C(0xcbf29ce484222325);
    for (uint32_t i = 0; i < count; i++) {
        digest ^= (uint64_t)members[i].gex_rank << 16 | members[i].gex_ep_index;
        digest *= UINT64_C(0x100000001b3);
        digest ^= digest >> 29;
    }
    return digest;
}

bool pen_team_rule(const gex_EP_Location_t *members, uint32_t count, uint32_t *first,
                   uint32_t *stride)
{
    uint32_t from = members[0].gex_rank;
    uint32_t step = count > 1 ? members[1].gex_rank - from : 1;
    for (uint32_t i = 2; i < count; i++)
        if (members[i].gex_rank - members[i - 1].gex_rank != step)
            return false;
    *first = from;
    *stride = step;
    return true;
}

static int location_compare(const void *left, const void *right, void *ctx)
{
    const gex_EP_Location_t *members = ctx;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    if (members[a].gex_rank != members[b].gex_rank)
        return members[a].gex_rank < members[b].gex_rank ? -1 : 1;
    return a < b ? -1 : a > b;
}

void pen_team_sort(const gex_EP_Location_t *members, uint32_t count, uint32_t *order)
{
    for (uint32_t i = 0; i < count; i++)
        order[i] = i;
    qsort_r(order, count, sizeof *order, location_compare, (void *)(uintptr_t)members);
}

bool pen_team_twice(const gex_EP_Location_t *members, uint32_t count, const uint32_t *order,
                    uint32_t *second)
{
    _Static_assert(PEN_ENDPOINTS_MAX <= 64, "a bit for each endpoint of a rank");
    uint64_t seen = 0; /* endpoints of one rank */
    for (uint32_t i = 0; i < count; i++) {
        const gex_EP_Location_t *member = &members[order[i]];
        if (i != 0 && members[order[i - 1]].gex_rank != member->gex_rank)
            seen = 0;
        uint64_t bit = (uint64_t)1 << member->gex_ep_index;
        if (seen & bit) {
            *second = order[i];
            return true;
        }
        seen |= bit;
    }
    return false;
}
