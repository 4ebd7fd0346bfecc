/* SPDX-License-Identifier: BSD-3-Clause */
/* barrier_drain.h: when a barrier is over, the handlers of all requests that members sent before
 * they entered it have run: for thousands of rounds of every form of barrier. Included after
 * <gasnet.h>, "check.h" and "ex.h". */
#ifndef PEN_TESTS_CONFORMANCE_BARRIER_DRAIN_H
#define PEN_TESTS_CONFORMANCE_BARRIER_DRAIN_H

enum { DRAIN_SHORT = 200, DRAIN_MEDIUM, DRAIN_LONG, DRAIN_ROUNDS = 2000, DRAIN_LEN = 300 };

static const char drain_rule[] =
    "a barrier returns when the requests that ranks sent before it have been handled";

/* By round, modulo their number: a quick peer may be one round ahead. */
enum { DRAIN_BINS = 4 };
static check_count drain_heard[DRAIN_BINS];
static char *drain_bases[64];

static unsigned drain_calls;

static void drain_work(void)
{
    for (volatile unsigned i = 0; i < 3000; i++)
        ;
}

static void drain_short(gex_Token_t token, gex_AM_Arg_t a)
{
    (void)token;
    if (++drain_calls % 16 == 0) /* a handler that another thread runs may take a while */
        drain_work();
    check_add(&drain_heard[a], 1);
}

static void drain_payload(gex_Token_t token, void *data, size_t len, gex_AM_Arg_t a)
{
    (void)token;
    CHECK(len == DRAIN_LEN && check_all(data, len, 5), "GASNet-EX AM: a payload arrives");
    check_add(&drain_heard[a], 1);
}

static gex_AM_Entry_t drain_table[] = {
    { DRAIN_SHORT, (gex_AM_Fn_t)drain_short, GEX_FLAG_AM_REQUEST | GEX_FLAG_AM_SHORT, 1, NULL,
      "drain_short" },
    { DRAIN_MEDIUM, (gex_AM_Fn_t)drain_payload, GEX_FLAG_AM_REQUEST | GEX_FLAG_AM_MEDIUM, 1, NULL,
      "drain_medium" },
    { DRAIN_LONG, (gex_AM_Fn_t)drain_payload, GEX_FLAG_AM_REQUEST | GEX_FLAG_AM_LONG, 1, NULL,
      "drain_long" },
};

/* One to three messages of changing kind to each other member. Returns how many come in turn. */
static unsigned drain_send(gex_TM_t team, unsigned round)
{
    static char data[DRAIN_LEN];
    const gex_Rank_t size = gex_TM_QuerySize(team), me = gex_TM_QueryRank(team);
    const unsigned each = 1 + round % 3;
    const gex_AM_Arg_t bin = (gex_AM_Arg_t)(round % DRAIN_BINS);
    memset(data, 5, sizeof data);
    for (gex_Rank_t step = 1; step < size; step++) {
        const gex_Rank_t to = (me + step) % size;
        const gex_Rank_t jobrank = gex_TM_TranslateRankToJobrank(team, to);
        for (unsigned i = 0; i < each; i++) {
            const unsigned kind = (round + i) % 3;
            if (kind == 0)
                gex_AM_RequestShort1(team, to, DRAIN_SHORT, 0, bin);
            else if (kind == 1)
                gex_AM_RequestMedium1(team, to, DRAIN_MEDIUM, data, sizeof data, GEX_EVENT_NOW, 0,
                                      bin);
            else
                gex_AM_RequestLong1(team, to, DRAIN_LONG, data, sizeof data,
                                    drain_bases[jobrank] + (size_t)check_rank * 512, GEX_EVENT_NOW,
                                    0, bin);
        }
    }
    return each * (size - 1);
}

/* ---- the forms ------------------------------------------------------------------------------- */

typedef void (*drain_form)(gex_TM_t team, unsigned round);

static void drain_fused(gex_TM_t team, unsigned round)
{
    (void)team;
    CHECK_EQ(gasnet_barrier((int)round, 0), GASNET_OK, drain_rule);
}

static void drain_split(gex_TM_t team, unsigned round)
{
    (void)team;
    gasnet_barrier_notify((int)round, 0);
    CHECK_EQ(gasnet_barrier_wait((int)round, 0), GASNET_OK, drain_rule);
}

static void drain_tried(gex_TM_t team, unsigned round)
{
    (void)team, (void)round;
    int status;
    gasnet_barrier_notify(0, GASNET_BARRIERFLAG_UNNAMED);
    while ((status = gasnet_barrier_try(0, GASNET_BARRIERFLAG_UNNAMED)) == GASNET_ERR_NOT_READY)
        ;
    CHECK_EQ(status, GASNET_OK, drain_rule);
}

static void drain_blocking(gex_TM_t team, unsigned round)
{
    (void)round;
    gex_Coll_BarrierBlocking(team, 0);
}

static void drain_waited(gex_TM_t team, unsigned round)
{
    (void)round;
    gex_Event_Wait(gex_Coll_BarrierNB(team, 0));
}

static void drain_tested(gex_TM_t team, unsigned round)
{
    (void)round;
    gex_Event_t event = gex_Coll_BarrierNB(team, 0);
    while (gex_Event_Test(event) != GASNET_OK)
        gasnet_AMPoll();
}

static void drain_coll_split(gex_TM_t team, unsigned round)
{
    gasnet_coll_barrier_notify(team, (int)round, 0);
    CHECK_EQ(gasnet_coll_barrier_wait(team, (int)round, 0), GASNET_OK, drain_rule);
}

static void drain_coll_tried(gex_TM_t team, unsigned round)
{
    int status;
    gasnet_coll_barrier_notify(team, (int)round, 0);
    while ((status = gasnet_coll_barrier_try(team, (int)round, 0)) == GASNET_ERR_NOT_READY)
        ;
    CHECK_EQ(status, GASNET_OK, drain_rule);
}

/* ---- rounds ---------------------------------------------------------------------------------- */

static void drain_rounds(const char *name, gex_TM_t team, drain_form form, unsigned rounds)
{
    unsigned expected[DRAIN_BINS] = { 0 };
    for (unsigned bin = 0; bin < DRAIN_BINS; bin++)
        expected[bin] = check_counted(&drain_heard[bin]);
    ex_barrier();
    for (unsigned round = 0; round < rounds; round++) {
        const unsigned bin = round % DRAIN_BINS;
        expected[bin] += drain_send(team, round);
        form(team, round);
        const unsigned heard = check_counted(&drain_heard[bin]);
        if (heard != expected[bin])
            fprintf(stderr, "%s, round %u: %d messages were not handled\n", name, round,
                    (int)(expected[bin] - heard));
        CHECK_EQ(heard, expected[bin], drain_rule);
    }
    ex_barrier();
}

#endif
