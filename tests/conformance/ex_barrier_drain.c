/* SPDX-License-Identifier: BSD-3-Clause */
/* ex_barrier_drain.c: every form of barrier returns when the requests that ranks sent before they
 * entered it have been handled; in PAR while another thread polls, too.
 *
 * TESTS: gex_Coll_BarrierNB gex_Coll_BarrierBlocking gasnet_barrier gasnet_barrier_wait
 * TESTS: gasnet_barrier_try gasnet_coll_barrier_wait gasnet_coll_barrier_try
 */
#include <gasnet.h>
#include <gasnet_coll.h>

#include <sched.h>

#include "conformance/check.h"
#include "conformance/ex.h"

#include "conformance/barrier_drain.h"

static void all_forms(unsigned rounds)
{
    drain_rounds("gasnet_barrier", ex_tm, drain_fused, rounds);
    drain_rounds("gasnet_barrier_wait", ex_tm, drain_split, rounds);
    drain_rounds("gasnet_barrier_try", ex_tm, drain_tried, rounds);
    drain_rounds("gex_Coll_BarrierBlocking", ex_tm, drain_blocking, rounds);
    drain_rounds("gex_Event_Wait", ex_tm, drain_waited, rounds);
    drain_rounds("gex_Event_Test", ex_tm, drain_tested, rounds);
}

/* A team whose ranks stand in reverse order: it has no flag lines of its own. */
static void forms_of_a_team(unsigned rounds)
{
    gex_TM_t team;
    gex_TM_Split(&team, ex_tm, 0, check_size - check_rank, NULL, 0, GEX_FLAG_TM_NO_SCRATCH);
    drain_rounds("gex_Event_Wait, team", team, drain_waited, rounds);
    drain_rounds("gex_Event_Test, team", team, drain_tested, rounds);
    drain_rounds("gasnet_coll_barrier_wait, team", team, drain_coll_split, rounds);
    drain_rounds("gasnet_coll_barrier_try, team", team, drain_coll_tried, rounds);
    gex_TM_Destroy(team, NULL, 0);
}

#if defined(GASNET_PAR)
static atomic_bool stops;

static void *keep_polling(void *unused)
{
    while (!atomic_load_explicit(&stops, memory_order_relaxed)) {
        gasnet_AMPoll();
        sched_yield();
    }
    return unused;
}
#endif

int main(int argc, char **argv)
{
    const unsigned rounds = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : DRAIN_ROUNDS;
    ex_begin(&argc, &argv, GEX_FLAG_USES_GASNET1);
    ex_register(drain_table, sizeof drain_table / sizeof drain_table[0]);
    (void)ex_attach(GASNET_PAGESIZE);
    for (gex_Rank_t rank = 0; rank < (gex_Rank_t)check_size; rank++)
        drain_bases[rank] = ex_base(rank);
    ex_barrier();
    all_forms(rounds);
    forms_of_a_team(rounds);
#if defined(GASNET_PAR)
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, keep_polling, NULL) == 0, "the system gives us a thread");
    all_forms(rounds / 4);
    forms_of_a_team(rounds / 4);
    atomic_store_explicit(&stops, 1, memory_order_relaxed);
    pthread_join(thread, NULL);
#endif
    return check_end();
}
