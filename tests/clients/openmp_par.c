/* SPDX-License-Identifier: BSD-3-Clause */
/* openmp_par.c: OpenMP inside ranks. All threads of a parallel loop put, get and send; a critical
 * section is a handler-safe lock; the master thread makes the collectives between the loops. */
#include <gasnet_coll.h>
#include <gasnetex.h>

#include <omp.h>

enum { N = 600, HIT = 140, THREADS = 4 };

static gex_TM_t world;
static gex_Rank_t me, ranks;
static double *segment[16];
static gex_HSL_t lock = GEX_HSL_INITIALIZER;
static long hits, weight;

static void hit(gex_Token_t token, gex_AM_Arg_t value)
{
    gex_HSL_Lock(&lock);
    hits++;
    weight += value;
    gex_HSL_Unlock(&lock);
    gex_AM_ReplyShort1(token, HIT + 1, 0, value);
}

static long replies;
static void hit_reply(gex_Token_t token, gex_AM_Arg_t value)
{
    (void)token;
    gex_HSL_Lock(&lock);
    replies += value;
    gex_HSL_Unlock(&lock);
}

static void die(const char *what, double got, double expected)
{
    fprintf(stderr, "rank %u thread %d: %s is %g, not %g\n", me, omp_get_thread_num(), what, got,
            expected);
    gasnet_exit(3);
}

static void barrier(void) { gex_Event_Wait(gex_Coll_BarrierNB(world, 0)); }

/* Every thread has its implicit operations; each iteration writes to the next rank and reads from
 * the previous one. */
static void put_get(int round)
{
    gex_Rank_t to = (me + 1) % ranks, from = (me + ranks - 1) % ranks;
#pragma omp parallel num_threads(THREADS)
    {
#pragma omp for schedule(dynamic, 7)
        for (int i = 0; i < N; i++) {
            double value = me * 10000.0 + i + round;
            gex_RMA_PutNBI(world, to, segment[to] + i, &value, sizeof(value), GEX_EVENT_NOW, 0);
            if (i % 50 == 0)
                gex_NBI_Wait(GEX_EC_PUT, 0);
        }
        gex_NBI_Wait(GEX_EC_ALL, 0); /* waits for operations of this thread */
#pragma omp barrier
#pragma omp master
        barrier();
#pragma omp barrier
#pragma omp for
        for (int i = 0; i < N; i++) {
            double got = 0, own = segment[me][i];
            gex_Event_t event = gex_RMA_GetNB(world, &got, from, segment[from] + i, sizeof(got), 0);
            if (own != from * 10000.0 + i + round)
                die("an element that was put", own, from * 10000.0 + i + round);
            gex_Event_Wait(event);
            double expected = (from + ranks - 1) % ranks * 10000.0 + i + round;
            if (got != expected)
                die("an element that was got", got, expected);
        }
    }
    barrier();
}

static void messages(void)
{
    long expected = 0, sum = 0;
#pragma omp parallel for num_threads(THREADS) reduction(+ : sum)
    for (int i = 0; i < N; i++) {
        gex_AM_RequestShort1(world, (me + (gex_Rank_t)i) % ranks, HIT, 0, i);
        sum += i;
    }
    for (int i = 0; i < N; i++)
        expected += i;
    if (sum != expected)
        die("the reduction of OpenMP", (double)sum, (double)expected);
    GASNET_BLOCKUNTIL(replies == expected);
    barrier();
    double in[2] = { (double)hits, (double)weight }, out[2];
    gex_Event_Wait(gex_Coll_ReduceToAllNB(world, out, in, GEX_DT_DBL, sizeof(double), 2, GEX_OP_ADD,
                                          NULL, NULL, 0));
    if (out[0] != N * (double)ranks || out[1] != (double)expected * ranks)
        die("the sum of all hits", out[1], (double)expected * ranks);
}

int main(int argc, char **argv)
{
    gex_Client_t client;
    gex_EP_t ep;
    gex_Segment_t own;
    if (gex_Client_Init(&client, &ep, &world, "OPENMP", &argc, &argv, 0))
        return 1;
    if (gex_Segment_Attach(&own, world, 4 * GASNET_PAGESIZE))
        return 1;
    gex_AM_Entry_t entries[] = {
        { HIT, hit, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 1, NULL, "hit" },
        { HIT + 1, hit_reply, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REPLY, 1, NULL, "hit_reply" },
    };
    gex_EP_RegisterHandlers(ep, entries, 2);
    me = gex_TM_QueryRank(world);
    ranks = gex_TM_QuerySize(world);
    for (gex_Rank_t r = 0; r < ranks; r++)
        if (gex_Segment_QueryBound(world, r, (void **)&segment[r], NULL, NULL))
            die("the segment of a rank", r, 0);
    barrier();
    for (int round = 0; round < 5; round++)
        put_get(round);
    messages();
    printf("rank %u of %u: good\n", me, ranks);
    fflush(stdout);
    barrier();
    gasnet_exit(0);
}
