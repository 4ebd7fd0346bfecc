/* SPDX-License-Identifier: BSD-3-Clause */
/* chapel_teams.c: the communication layer of a language with locales, tasks and network atomics.
 * Tasks are pthreads that all call, one thread does nothing but poll, `on` statements are Mediums
 * with a pointer in their arguments, and atomics of all types live in domains of the world and of
 * teams. */
#include <gasnet.h>
#include <gasnet_coll.h>
#include <gasnet_ratomic.h>

#include <pthread.h>
#include <stdbool.h>

enum { FORK = 128, DONE, TASKS = 4, ROUNDS = 60 };

typedef struct {
    volatile int flag;
    int64_t answer;
} wait_t;

typedef struct {
    int64_t i64;
    uint64_t u64;
    int32_t i32;
    uint32_t u32;
    double real;
    float single;
} vars_t;

static gex_TM_t world;
static gex_AD_t ad_i64, ad_u64, ad_i32, ad_u32, ad_real, ad_single;
static vars_t *vars[64];
static gex_Rank_t me, locales;
static volatile bool stop_polling;

static void halt(const char *what, double got, double expected)
{
    fprintf(stderr, "locale %u: %s is %.17g, not %.17g\n", me, what, got, expected);
    gasnet_exit(1);
}

/* ---- on statements ----------------------------------------------------------------------------
 */

#define HIGH(p)         ((gasnet_handlerarg_t)((uint64_t)(uintptr_t)(p) >> 32))
#define LOW(p)          ((gasnet_handlerarg_t)(uint64_t)(uintptr_t)(p))
#define JOIN(high, low) ((void *)(uintptr_t)((uint64_t)(uint32_t)(high) << 32 | (uint32_t)(low)))

static void fork_handler(gasnet_token_t token, void *data, size_t len, gasnet_handlerarg_t high,
                         gasnet_handlerarg_t low)
{
    int64_t sum = 0;
    for (size_t i = 0; i < len / sizeof(int64_t); i++)
        sum += ((int64_t *)data)[i];
    gasnet_AMReplyMedium2(token, DONE, &sum, sizeof(sum), high, low);
}

static void done_handler(gasnet_token_t token, void *data, size_t len, gasnet_handlerarg_t high,
                         gasnet_handlerarg_t low)
{
    wait_t *wait = JOIN(high, low);
    (void)token;
    memcpy(&wait->answer, data, len);
    gasnett_local_wmb();
    wait->flag = 1;
}

static int64_t on(gex_Rank_t locale, int64_t *data, size_t count)
{
    wait_t wait = { 0, 0 };
    gasnet_AMRequestMedium2(locale, FORK, data, count * sizeof(*data), HIGH(&wait), LOW(&wait));
    GASNET_BLOCKUNTIL(wait.flag);
    return wait.answer;
}

static void *poller(void *unused)
{
    while (!stop_polling) {
        gasnet_AMPoll();
        gasnett_sched_yield();
    }
    return unused;
}

/* ---- tasks -------------------------------------------------------------------------------------
 */

static void *task(void *number)
{
    int id = (int)(intptr_t)number;
    for (int round = 0; round < ROUNDS; round++) {
        gex_Rank_t to = (me + (gex_Rank_t)(round + id)) % locales;
        int64_t data[9], before = 0;
        for (int i = 0; i < 9; i++)
            data[i] = round * 10 + i;
        int64_t sum = on(to, data, 9);
        if (sum != round * 90 + 36)
            halt("the answer of an on statement", (double)sum, round * 90 + 36);
        gex_Event_Wait(gex_AD_OpNB_I64(ad_i64, NULL, to, &vars[to]->i64, GEX_OP_SUB, 3, 0, 0));
        gex_AD_OpNBI_U64(ad_u64, NULL, to, &vars[to]->u64, GEX_OP_XOR, UINT64_C(1) << (round % 64),
                         0, 0);
        gex_AD_OpNBI_I32(ad_i32, NULL, to, &vars[to]->i32, GEX_OP_INC, 0, 0, 0);
        gex_AD_OpNBI_U32(ad_u32, NULL, to, &vars[to]->u32, GEX_OP_MAX, (uint32_t)(round * 8 + id),
                         0, 0);
        gex_Event_Wait(gex_AD_OpNB_I64(ad_i64, &before, to, &vars[to]->i64, GEX_OP_FADD, 1, 0, 0));
        if (before > -3)
            halt("a counter that has been lowered", (double)before, -3);
        double old;
        do {
            gex_Event_Wait(
                gex_AD_OpNB_DBL(ad_real, &old, to, &vars[to]->real, GEX_OP_GET, 0, 0, 0));
            double seen;
            gex_Event_Wait(gex_AD_OpNB_DBL(ad_real, &seen, to, &vars[to]->real, GEX_OP_FCAS, old,
                                           old + 0.5, 0));
            if (seen == old)
                break;
        } while (true);
        gex_AD_OpNBI_FLT(ad_single, NULL, to, &vars[to]->single, GEX_OP_MULT,
                         round % 2 ? 2.0f : 0.5f, 0, 0);
        gex_NBI_Wait(GEX_EC_RMW, 0);
    }
    return NULL;
}

static void barrier(void) { gex_Event_Wait(gex_Coll_BarrierNB(world, 0)); }

static void run_tasks(void)
{
    pthread_t threads[TASKS];
    for (intptr_t i = 0; i < TASKS; i++)
        pthread_create(&threads[i], NULL, task, (void *)i);
    for (int i = 0; i < TASKS; i++)
        pthread_join(threads[i], NULL);
    barrier();
    /* Each task of each locale visits the locales in turn; the sums over all locales are known. */
    double in[3] = { (double)vars[me]->i64, vars[me]->i32, vars[me]->real }, out[3];
    gex_Event_Wait(gex_Coll_ReduceToAllNB(world, out, in, GEX_DT_DBL, sizeof(double), 3, GEX_OP_ADD,
                                          NULL, NULL, 0));
    double operations = (double)ROUNDS * TASKS * locales;
    if (out[0] != -2 * operations || out[1] != operations || out[2] != operations / 2)
        halt("the sum of atomics of all locales", out[0], -2 * operations);
    uint64_t bits = vars[me]->u64, all = 0;
    gex_Event_Wait(gex_Coll_ReduceToAllNB(world, &all, &bits, GEX_DT_U64, sizeof(all), 1,
                                          GEX_OP_XOR, NULL, NULL, 0));
    if (all != 0) /* each bit was turned by TASKS tasks of each locale, an even number of times */
        halt("the bits that were turned", (double)all, 0);
    uint32_t most = vars[me]->u32;
    gex_Event_Wait(
        gex_Coll_ReduceToAllNB(world, &most, &most, GEX_DT_U32, 4, 1, GEX_OP_MAX, NULL, NULL, 0));
    if (most != (ROUNDS - 1) * 8 + TASKS - 1)
        halt("the maximum", most, (ROUNDS - 1) * 8 + TASKS - 1);
}

static void grid_of_teams(void)
{
    gex_TM_t rows;
    gex_TM_Split(&rows, world, (int)me / 2, (int)me, NULL, 0, GEX_FLAG_TM_NO_SCRATCH);
    gex_AD_t ad;
    gex_AD_Create(&ad, rows, GEX_DT_I64, GEX_OP_FINC | GEX_OP_SET, GEX_FLAG_AD_FAVOR_REMOTE);
    gex_Event_Wait(
        gex_AD_OpNB_I64(ad, NULL, gex_TM_QueryRank(rows), &vars[me]->i64, GEX_OP_SET, 100, 0, 0));
    gex_Event_Wait(gex_Coll_BarrierNB(rows, 0));
    int64_t ticket, sum = 0;
    gex_Rank_t first = gex_TM_TranslateRankToJobrank(rows, 0);
    gex_Event_Wait(gex_AD_OpNB_I64(ad, &ticket, first, &vars[first]->i64, GEX_OP_FINC, 0, 0,
                                   GEX_FLAG_RANK_IS_JOBRANK));
    gex_Event_Wait(
        gex_Coll_ReduceToAllNB(rows, &sum, &ticket, GEX_DT_I64, 8, 1, GEX_OP_ADD, NULL, NULL, 0));
    gex_Rank_t n = gex_TM_QuerySize(rows);
    if (sum != 100 * (int64_t)n + n * (n - 1) / 2)
        halt("the sum of tickets", (double)sum, 100 * (double)n);
    gex_AD_Destroy(ad);
    gex_TM_Destroy(rows, NULL, 0);
}

int main(int argc, char **argv)
{
    gex_Client_t client;
    gex_EP_t ep;
    gex_Segment_t segment;
    pthread_t polling;
    gex_AM_Entry_t table[] = {
        { FORK, fork_handler, GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REQUEST, 2, NULL, "fork" },
        { DONE, done_handler, GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REPLY, 2, NULL, "done" },
    };
    gex_Client_Init(&client, &ep, &world, "chapel", &argc, &argv, GEX_FLAG_USES_GASNET1);
    gasnet_set_waitmode(GASNET_WAIT_BLOCK);
    gex_EP_RegisterHandlers(ep, table, 2);
    gex_Segment_Attach(&segment, world, GASNET_PAGESIZE);
    me = gasnet_mynode();
    locales = gasnet_nodes();
    for (gex_Rank_t r = 0; r < locales; r++)
        gex_Event_Wait(gex_EP_QueryBoundSegmentNB(world, r, (void **)&vars[r], NULL, NULL, 0));
    *vars[me] = (vars_t){ .single = 1.0f };
    gex_AD_Create(&ad_i64, world, GEX_DT_I64, GEX_OP_SUB | GEX_OP_FADD, 0);
    gex_AD_Create(&ad_u64, world, GEX_DT_U64, GEX_OP_XOR, 0);
    gex_AD_Create(&ad_i32, world, GEX_DT_I32, GEX_OP_INC, 0);
    gex_AD_Create(&ad_u32, world, GEX_DT_U32, GEX_OP_MAX, 0);
    gex_AD_Create(&ad_real, world, GEX_DT_DBL, GEX_OP_GET | GEX_OP_FCAS, 0);
    gex_AD_Create(&ad_single, world, GEX_DT_FLT, GEX_OP_MULT, 0);
    barrier();
    pthread_create(&polling, NULL, poller, NULL);
    run_tasks();
    barrier();
    grid_of_teams();
    printf("rank %u of %u: good\n", me, locales);
    fflush(stdout);
    barrier();
    stop_polling = true;
    pthread_join(polling, NULL);
    gasnet_exit(0);
}
