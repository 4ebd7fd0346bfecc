/* SPDX-License-Identifier: BSD-3-Clause */
/* ex_atomic_alone.c: no rank waits in gex_AD_Create and gex_AD_Destroy. Each rank in turn makes a
 * domain, uses it on the memory of all ranks and ends it, while all other ranks only poll, and make
 * their domains later. With a barrier in one of these calls the program would hang.
 *
 * TESTS: gex_AD_Create gex_AD_Destroy gex_AD_OpNB_U64
 */
#include <gasnet.h>
#include <gasnet_ratomic.h>

#include "conformance/check.h"
#include "conformance/ex.h"

enum { TURN = 200, ADD = 3 };

static check_count turns; /* ranks that are done */

static void turn(gex_Token_t token)
{
    (void)token;
    check_add(&turns, 1);
}

static gex_AM_Entry_t table[] = {
    { TURN, (gex_AM_Fn_t)turn, GEX_FLAG_AM_REQUEST | GEX_FLAG_AM_SHORT, 0, NULL, "turn" },
};

static void use(gex_AD_t domain)
{
    for (unsigned step = 0; step < (unsigned)check_size; step++) {
        const gex_Rank_t peer = check_next(step);
        uint64_t old = 0;
        gex_Event_Wait(gex_AD_OpNB_U64(domain, &old, peer, ex_base(peer), GEX_OP_FADD, ADD, 0, 0));
        CHECK_EQ(old, (uint64_t)ADD * (unsigned)check_rank,
                 "GASNet-EX Atomics: a domain is usable at once, at every member");
    }
}

int main(int argc, char **argv)
{
    gex_AD_t domain;
    ex_begin(&argc, &argv, GEX_FLAG_USES_GASNET1);
    ex_register(table, 1);
    memset(ex_attach(GASNET_PAGESIZE), 0, sizeof(uint64_t));
    ex_barrier();
    CHECK_WAIT(turns, check_rank);
    gex_AD_Create(&domain, ex_tm, GEX_DT_U64, GEX_OP_FADD, 0);
    use(domain);
    gex_AD_Destroy(domain);
    for (gex_Rank_t rank = 0; rank < (gex_Rank_t)check_size; rank++)
        gex_AM_RequestShort0(ex_tm, rank, TURN, 0);
    CHECK_WAIT(turns, check_size);
    return check_end();
}
