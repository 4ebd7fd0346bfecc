/* SPDX-License-Identifier: BSD-3-Clause */
/* many.c: many ranks of one host that share no memory start, meet, send each other messages, meet
 * again and end. Waiting ranks have to give their cores to those that have something to do, or this
 * takes minutes. Each rank counts what it was sent. */
#include <gasnetex.h>

#include <gasnet_coll.h>
#include <stdio.h>

enum { NOTE = GEX_AM_INDEX_BASE, PEERS = 4, MEETINGS = 3 };

static volatile unsigned notes;

static void note(gex_Token_t token)
{
    (void)token;
    notes = notes + 1;
}

int main(int argc, char **argv)
{
    gex_Client_t client;
    gex_EP_t endpoint;
    gex_TM_t team;
    gex_AM_Entry_t handlers[] = {
        { NOTE, (gex_AM_Fn_t)note, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 0, NULL, "note" },
    };
    if (gex_Client_Init(&client, &endpoint, &team, "MANY", &argc, &argv, 0))
        return 1;
    gex_EP_RegisterHandlers(endpoint, handlers, 1);
    const gex_Rank_t rank = gex_TM_QueryRank(team), size = gex_TM_QuerySize(team);
    for (unsigned meeting = 0; meeting < MEETINGS; meeting++) {
        gex_Event_Wait(gex_Coll_BarrierNB(team, 0));
        /* Sends to neighbours, and to ranks far away: each rank receives from ranks at the same
         * distances. */
        for (gex_Rank_t i = 0, step = 1; i < PEERS; i++, step = step * 7 % size)
            gex_AM_RequestShort0(team, (rank + (step != 0 ? step : 1)) % size, NOTE, 0);
        GASNET_BLOCKUNTIL(notes >= (meeting + 1) * PEERS);
    }
    gex_Event_Wait(gex_Coll_BarrierNB(team, 0));
    if (notes != MEETINGS * PEERS) {
        fprintf(stderr, "rank %u had %u messages, not %u\n", rank, notes, MEETINGS * PEERS);
        gasnet_exit(1);
    }
    if (rank == 0)
        printf("%u ranks met and sent each other %u messages\n", size, MEETINGS * PEERS * size);
    gasnet_exit(0);
}
