/* SPDX-License-Identifier: BSD-3-Clause */
/* ft_penstock.c: how the pieces of FT (ft.h) travel with GASNet-EX: puts without blocking, to where
 * they belong. */
#include "ft.h"

#include <gasnet_coll.h>
#include <gasnetex.h>
#include <stdlib.h>

static gex_TM_t team;
static ft_number **turned; /* the address of `turned` on each rank */

void comm_open(ft *self, int *argc, char ***argv)
{
    gex_Client_t client;
    gex_EP_t endpoint;
    if (gex_Client_Init(&client, &endpoint, &team, "FT", argc, argv, 0))
        exit(1);
    self->rank = (int)gex_TM_QueryRank(team);
    self->size = (int)gex_TM_QuerySize(team);
}

void comm_attach(ft *self)
{
    gex_Segment_t segment;
    const size_t len = self->planes * self->ny * self->nx * sizeof(ft_number);
    const size_t page = GASNET_PAGESIZE;
    if (gex_Segment_Attach(&segment, team, (len + page - 1) / page * page) != GASNET_OK)
        gasnet_exit(1);
    turned = malloc((size_t)self->size * sizeof(ft_number *));
    if (turned == NULL)
        gasnet_exit(1);
    for (int rank = 0; rank < self->size; rank++) {
        void *owner = NULL;
        gex_Event_Wait(gex_EP_QueryBoundSegmentNB(team, (gex_Rank_t)rank, &owner, NULL, NULL, 0));
        turned[rank] = owner;
    }
    self->turned = turned[self->rank];
    comm_meet();
}

void comm_meet(void) { gex_Event_Wait(gex_Coll_BarrierNB(team, 0)); }

uint64_t comm_sum(uint64_t value)
{
    uint64_t sum = 0;
    gex_Event_Wait(gex_Coll_ReduceToAllNB(team, &sum, &value, GEX_DT_U64, sizeof(value), 1,
                                          GEX_OP_ADD, NULL, NULL, 0));
    return sum;
}

void comm_begin(ft *self, size_t piece) { (void)self, (void)piece; }

void comm_send(ft *self, int to, size_t plane, size_t row, size_t piece)
{
    gex_RMA_PutNBI(team, (gex_Rank_t)to, turned[to] + ft_turned_at(self, self->rank, plane, row),
                   self->ready + ft_ready_at(self, to, plane, row), piece * sizeof(ft_number),
                   GEX_EVENT_DEFER, 0);
}

/* The pieces of this rank have arrived when its puts are complete. After the barrier, the pieces of
 * all ranks have arrived. */
void comm_finish(ft *self)
{
    (void)self;
    gex_NBI_Wait(GEX_EC_PUT, 0);
    comm_meet();
}

void comm_exchange(ft *self)
{
    for (int turn = 1; turn <= self->size; turn++)
        comm_send(self, (self->rank + turn) % self->size, 0, 0,
                  self->planes * self->rows * self->nx);
    comm_finish(self);
}

void comm_exit(int status) { gasnet_exit(status); }
