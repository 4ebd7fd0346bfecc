/* SPDX-License-Identifier: BSD-3-Clause */
/* ex_stats.c: statistics that programs can read while a job runs: messages by path, the credits of
 * each peer if the conduit has credits, the conduit's name. In PAR one thread reads while the
 * remaining threads send.
 *
 * TESTS: pen_stats_read pen_peer_stats_read pen_conduit_name
 * PEN_RANKS: 1 2
 */
#include <gasnet.h>

#include "conformance/check.h"
#include "conformance/ex.h"

#include <penstock/stats.h>

enum { SHORT_REQ = 200, MEDIUM_REQ, BACK_REP, SHORTS = 200, MEDIUMS = 5, MEDIUM_LEN = 4096 };

static check_count handled, answered;
static char payload[MEDIUM_LEN];
static int has_credits; /* of peers */

static void reply_to(gex_Token_t token)
{
    pen_peer_stats stats;
    const gex_Token_Info_t info = { 0 };
    gex_Token_Info_t told = info;
    (void)gex_Token_Info(token, &told, GEX_TI_SRCRANK);
    if (has_credits && told.gex_srcrank != (gex_Rank_t)check_rank) {
        CHECK_EQ(pen_peer_stats_read(told.gex_srcrank, &stats, sizeof stats), GASNET_OK,
                 "Penstock statistics: also a handler may read them");
        CHECK(stats.packets_received > 0, "Penstock statistics: this message came in a packet");
    }
    check_add(&handled, 1);
    gex_AM_ReplyShort0(token, BACK_REP, 0);
}

static void short_req(gex_Token_t token) { reply_to(token); }

static void medium_req(gex_Token_t token, void *bytes, size_t len)
{
    CHECK(len == MEDIUM_LEN && check_filled(bytes, len, 5),
          "GASNet-EX AM: a Medium arrives intact");
    reply_to(token);
}

static void back_rep(gex_Token_t token)
{
    (void)token;
    check_add(&answered, 1);
}

static gex_Rank_t next_rank(void) { return (gex_Rank_t)check_next(1); }

/* ---- what is refused ------------------------------------------------------------------------- */

static void expect_refusal(gex_Rank_t rank, int status, const char *rule)
{
    pen_peer_stats stats;
    memset(&stats, 0x5a, sizeof stats);
    CHECK_EQ(pen_peer_stats_read(rank, &stats, sizeof stats), status, rule);
    CHECK(check_all(&stats, sizeof stats, 0x5a), "Penstock statistics: a refusal writes nothing");
}

static void before_the_job(void)
{
    pen_stats stats;
    gex_System_SetVerboseErrors(0);
    CHECK(pen_conduit_name() == NULL, "Penstock statistics: no conduit before the job");
    CHECK_EQ(pen_stats_read(&stats, sizeof stats), GASNET_ERR_NOT_INIT,
             "Penstock statistics: there are none before the job");
    expect_refusal(0, GASNET_ERR_NOT_INIT, "Penstock statistics: there are none before the job");
}

static void wrong_ranks(void)
{
    expect_refusal((gex_Rank_t)check_size, GASNET_ERR_BAD_ARG,
                   "Penstock statistics: there is no such rank");
    expect_refusal(GEX_RANK_INVALID, GASNET_ERR_BAD_ARG,
                   "Penstock statistics: there is no such rank");
    expect_refusal((gex_Rank_t)check_rank, GASNET_ERR_RESOURCE,
                   "Penstock statistics: a process is no peer of its own");
}

/* ---- what is counted ------------------------------------------------------------------------- */

static pen_peer_stats peer_stats(gex_Rank_t rank)
{
    pen_peer_stats stats;
    CHECK_EQ(pen_peer_stats_read(rank, &stats, sizeof stats), GASNET_OK,
             "Penstock statistics: a peer's counters can be read while the job runs");
    CHECK(stats.quota >= 2 && stats.quota_given >= 2,
          "Penstock statistics: nobody is without credits");
    CHECK(check_size > 2 || (stats.hand <= stats.quota && stats.mailbox <= stats.quota_given),
          "Penstock statistics: where nothing is recalled no more than the quota is in hand or in "
          "a mailbox");
    return stats;
}

/* Longer and shorter structures, as of later and earlier releases. */
static void lengths(void)
{
    struct {
        pen_peer_stats stats;
        char more[40];
    } later;
    memset(&later, 0x5a, sizeof later);
    CHECK_EQ(pen_peer_stats_read(next_rank(), &later.stats, sizeof later), GASNET_OK,
             "Penstock statistics: a longer structure");
    CHECK(later.stats.packets_sent > 0 && check_all(later.more, sizeof later.more, 0),
          "Penstock statistics: what is not counted yet is zero");
    memset(&later, 0x5a, sizeof later);
    CHECK_EQ(pen_peer_stats_read(next_rank(), &later.stats, sizeof(uint64_t)), GASNET_OK,
             "Penstock statistics: a shorter structure");
    CHECK(later.stats.packets_sent > 0 &&
              check_all((char *)&later + sizeof(uint64_t), sizeof later - sizeof(uint64_t), 0x5a),
          "Penstock statistics: no more than asked for is written");
}

static void send_or_read(unsigned thread_i)
{
    if (thread_i + 1 == CHECK_THREADS && CHECK_THREADS > 1) {
        uint64_t before = 0;
        for (int i = 0; i < 500 && has_credits; i++) {
            const pen_peer_stats stats = peer_stats(next_rank());
            CHECK(stats.packets_sent >= before, "Penstock statistics: counters only grow");
            before = stats.packets_sent;
        }
        return;
    }
    for (int i = 0; i < SHORTS; i++)
        gex_AM_RequestShort0(ex_tm, next_rank(), SHORT_REQ, 0);
    for (int i = 0; i < MEDIUMS; i++)
        gex_AM_RequestMedium0(ex_tm, next_rank(), MEDIUM_REQ, payload, sizeof payload,
                              GEX_EVENT_NOW, 0);
}

static void traffic(void)
{
    const unsigned senders = CHECK_THREADS > 1 ? CHECK_THREADS - 1 : 1;
    pen_stats before, after;
    (void)pen_stats_read(&before, sizeof before);
    ex_barrier();
    check_on_threads(send_or_read);
    CHECK_WAIT(answered, senders * (SHORTS + MEDIUMS));
    CHECK_WAIT(handled, senders * (SHORTS + MEDIUMS));
    (void)pen_stats_read(&after, sizeof after);
    CHECK(after.am_handled - before.am_handled >= (uint64_t)2 * senders * (SHORTS + MEDIUMS),
          "Penstock statistics: requests and replies that were handled");
    ex_barrier();
}

/* A frame of 4096 bytes takes 35 packets of 120 bytes, or more shorter ones. */
static void credits(void)
{
    enum { LEAST = SHORTS + 35 * MEDIUMS };
    const gex_Rank_t from = (gex_Rank_t)check_previous(1);
    const pen_peer_stats to_next = peer_stats(next_rank()), of_previous = peer_stats(from);
    CHECK(to_next.packets_sent >= LEAST, "Penstock statistics: packets that were sent");
    CHECK(of_previous.packets_received >= LEAST, "Penstock statistics: packets that came");
    if (strcmp(pen_conduit_name(), "extoll") == 0) /* other links have more credits than that */
        CHECK(to_next.stalls > 0, "Penstock statistics: so long a message waits for credit");
    CHECK(of_previous.control_sent + of_previous.rides > 0,
          "Penstock statistics: slots that are free again are granted again");
    lengths();
}

int main(int argc, char **argv)
{
    gex_AM_Entry_t entries[] = {
        { SHORT_REQ, (gex_AM_Fn_t)short_req, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 0, NULL,
          NULL },
        { MEDIUM_REQ, (gex_AM_Fn_t)medium_req, GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REQUEST, 0, NULL,
          NULL },
        { BACK_REP, (gex_AM_Fn_t)back_rep, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REPLY, 0, NULL, NULL },
    };
    before_the_job();
    ex_begin(&argc, &argv, 0);
    gex_System_SetVerboseErrors(0);
    ex_register(entries, 3);
    check_fill(payload, sizeof payload, 5);
    CHECK(pen_conduit_name() != NULL, "Penstock statistics: the job has a conduit");
    const char *conduit = pen_conduit_name(), *policy = gasnet_getenv("PENSTOCK_PORTALS_CREDITS");
    has_credits = (strcmp(conduit, "extoll") == 0 || strcmp(conduit, "ofi") == 0 ||
                   strcmp(conduit, "portals") == 0 || strcmp(conduit, "ucx") == 0 ||
                   strncmp(conduit, "mpi-", 4) == 0) &&
                  check_size > 1 && (policy == NULL || strcmp(policy, "disable") != 0);
    wrong_ranks();
    traffic();
    if (has_credits)
        credits();
    else if (check_size > 1)
        expect_refusal(next_rank(), GASNET_ERR_RESOURCE,
                       "Penstock statistics: the conduit has no credits");
    ex_barrier();
    return check_end();
}
