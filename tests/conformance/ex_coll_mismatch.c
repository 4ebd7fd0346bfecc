/* SPDX-License-Identifier: BSD-3-Clause */
/* ex_coll_mismatch.c [case]: rank 0 begins one collective and its peers another; mismatch.py plays
 * the cases and reads how the job ends. Without a case all begin the same collective.
 *
 * TESTS: gex_Coll_BroadcastNB gex_Coll_ReduceToAllNB gex_Coll_BarrierNB
 */
#include <gasnet_coll.h>

#include "conformance/check.h"
#include "conformance/ex.h"

static int64_t from[8], to[8 * 8];

static gex_Event_t reduce(gex_DT_t type, gex_OP_t operation, size_t count)
{
    return gex_Coll_ReduceToAllNB(ex_tm, to, from, type, 8, count, operation, NULL, NULL, 0);
}

static gex_Event_t broadcast(gex_Rank_t root, size_t len)
{
    return gex_Coll_BroadcastNB(ex_tm, root, to, from, len, 0);
}

static gex_Event_t by_call(int odd)
{
    return odd ? broadcast(0, 8) : reduce(GEX_DT_I64, GEX_OP_ADD, 1);
}

static gex_Event_t by_root(int odd) { return broadcast(odd ? 0 : 1, 8); }

static gex_Event_t by_length(int odd) { return broadcast(0, odd ? 16 : 8); }

static gex_Event_t by_type(int odd) { return reduce(odd ? GEX_DT_U64 : GEX_DT_I64, GEX_OP_ADD, 1); }

static gex_Event_t by_operation(int odd)
{
    return reduce(GEX_DT_I64, odd ? GEX_OP_MAX : GEX_OP_ADD, 1);
}

static gex_Event_t by_scan(int odd)
{
    if (odd)
        return pen_Coll_ScanNB(ex_tm, to, from, GEX_DT_I64, 8, 1, GEX_OP_ADD, NULL, NULL, 0);
    return pen_Coll_ExclusiveScanNB(ex_tm, to, from, GEX_DT_I64, 8, 1, GEX_OP_ADD, NULL, NULL, 0);
}

static gex_Event_t by_barrier(int odd)
{
    return odd ? gex_Coll_BarrierNB(ex_tm, 0) : pen_Coll_GatherToAllNB(ex_tm, to, from, 8, 0);
}

static gex_Event_t by_zero(int odd) { return pen_Coll_AllToAllNB(ex_tm, to, from, odd ? 0 : 4, 0); }

static const struct {
    const char *name;
    gex_Event_t (*begin)(int odd);
} cases[] = {
    { "call", by_call },           { "root", by_root }, { "length", by_length },
    { "type", by_type },           { "scan", by_scan }, { "barrier", by_barrier },
    { "operation", by_operation }, { "zero", by_zero },
};

static gex_Event_t play(const char *how, int odd)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (strcmp(how, cases[i].name) == 0)
            return cases[i].begin(odd);
    return reduce(GEX_DT_I64, GEX_OP_ADD, 1);
}

int main(int argc, char **argv)
{
    ex_begin(&argc, &argv, 0);
    const char *how = argc > 1 ? argv[1] : "";
    gex_Event_Wait(reduce(GEX_DT_I64, GEX_OP_ADD, 8)); /* number 0 */
    gex_Event_Wait(play(how, check_rank == 0));
    gex_Event_Wait(reduce(GEX_DT_I64, GEX_OP_ADD, 8)); /* no rank gets past this one */
    CHECK(how[0] == 0, "Penstock collectives: members that disagree end the job");
    return check_end();
}
