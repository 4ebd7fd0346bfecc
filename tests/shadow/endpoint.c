/* SPDX-License-Identifier: BSD-3-Clause */
/* endpoint.c: second endpoints, with memory of their own: puts, gets and scattered transfers to
 * them, from them, and between them, over pairs and a team. */
#include "shadow.h"

#include <string.h>

static gex_EP_t second;
static gex_TM_t of_seconds; /* the second endpoints of all ranks */

static void team_of_seconds_make(void)
{
    gex_EP_Location_t members[RANKS_MAX];
    for (gex_Rank_t rank = 0; rank < shadow.size; rank++)
        members[rank] = (gex_EP_Location_t){ rank, 1 };
    (void)gex_TM_Create(&of_seconds, 1, shadow.world, members, shadow.size, NULL, 0,
                        GEX_FLAG_TM_NO_SCRATCH);
}

static void bases_ask(void)
{
    for (gex_Rank_t rank = 0; rank < shadow.size; rank++) {
        void *base = NULL;
        uintptr_t len = 0;
        gex_Event_Wait(gex_EP_QueryBoundSegmentNB(endpoint_reader(), rank, &base, NULL, &len, 0));
        if (base == NULL || len < second_len())
            mismatch_at(shadow.rank, 0, 0,
                        "the second endpoint of rank %u has %zu bytes, and %zu were bound", rank,
                        (size_t)len, second_len());
        shadow.seconds[rank] = base;
    }
}

void endpoints_open(void)
{
    const gex_EP_Capabilities_t capabilities = GEX_EP_CAPABILITY_RMA | GEX_EP_CAPABILITY_VIS;
    if (gex_EP_Create(&second, shadow.client, capabilities, 0) != GASNET_OK)
        mismatch_at(shadow.rank, 0, 0, "there is no second endpoint");
    memset(segment_make(second, second_len(), mine_is_own(1)), 0, second_len());
    bases_ask();
    team_of_seconds_make();
    library_write();
    gex_Event_Wait(gex_Coll_BarrierNB(shadow.world, 0));
}

void endpoints_close(void) { (void)gex_TM_Destroy(of_seconds, NULL, 0); }

gex_TM_t endpoint_reader(void) { return gex_TM_Pair(shadow.endpoint, 1); }

gex_TM_t endpoint_team(worker *w, gex_Rank_t target, gex_Rank_t *rank)
{
    *rank = target;
    if (w->elsewhere == ELSEWHERE_HERE)
        return gex_TM_Pair(second, 0);
    const gex_TM_t teams[] = { endpoint_reader(), gex_TM_Pair(second, 1), of_seconds };
    return teams[random_below(&w->random, 3)];
}

void other_endpoints(worker *w, unsigned most)
{
    static void (*const kinds_there[])(worker *, unsigned) = {
        rma_put_blocking, rma_put_nb, rma_put_nbi,   rma_put_value, rma_get_blocking, rma_get_nb,
        rma_get_nbi,      rma_region, rma_get_value, vis_vector,    vis_indexed,      vis_strided
    };
    w->elsewhere = random_chance(&w->random, 4) ? ELSEWHERE_HERE : ELSEWHERE_THERE;
    kinds_there[random_below(&w->random, sizeof kinds_there / sizeof *kinds_there)](w, most);
    w->elsewhere = ELSEWHERE_NOT;
}
