/* SPDX-License-Identifier: BSD-3-Clause */
/* memory.c: how much of the host's memory a rank's active messages occupy, in a job of a given
 * number of ranks: after the start, after all ranks have sent Shorts to all ranks and had replies,
 * and after
 * Mediums of 1000 bytes. Rank 0 asks the kernel which pages of the conduit's part of the arena
 * exist, and fails over the limits in the table below.
 *
 * Linked with the library's insides, because only they know where that part is. */
#include "api/api.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { HANDLER_ASK = 200, HANDLER_ANSWER, HANDLER_MEDIUM, HANDLER_MEDIUM_ANSWER };
enum { ROUNDS = 40, MEDIUM_LEN = 1000 };

/* KiB per rank of a job of at most this many ranks: a tenth above what every run occupies, or a
 * page or two where that is less than a page. */
static const struct limits {
    uint32_t ranks, started, shorts, mediums;
} table[] = {
    { 2, 16, 24, 160 }, { 16, 8, 148, 425 }, { 64, 8, 360, 990 }, /* wanted: 1024 at most */
};

static gex_TM_t team;
static unsigned answers;
static char payload[MEDIUM_LEN];

static void handle_ask(gex_Token_t token) { (void)gex_AM_ReplyShort0(token, HANDLER_ANSWER, 0); }

static void handle_answer(gex_Token_t token)
{
    (void)token;
    answers++;
}

static void handle_medium(gex_Token_t token, void *data, size_t len)
{
    (void)gex_AM_ReplyMedium0(token, HANDLER_MEDIUM_ANSWER, data, len, GEX_EVENT_NOW, 0);
}

static void handle_medium_answer(gex_Token_t token, void *data, size_t len)
{
    (void)token, (void)data, (void)len;
    answers++;
}

static void all_to_all(bool medium)
{
    gex_Rank_t size = gex_TM_QuerySize(team);
    for (unsigned round = 0; round < ROUNDS; round++) {
        answers = 0;
        for (gex_Rank_t rank = 0; rank < size; rank++) {
            if (medium)
                (void)gex_AM_RequestMedium0(team, rank, HANDLER_MEDIUM, payload, sizeof payload,
                                            GEX_EVENT_NOW, 0);
            else
                (void)gex_AM_RequestShort0(team, rank, HANDLER_ASK, 0);
        }
        GASNET_BLOCKUNTIL(answers == size);
    }
}

/* Memory of the whole job, in KiB per rank. No rank may send meanwhile: see look(). */
static uint32_t resident_kib(void)
{
    const pen_job *job = pen_api_root.job;
    size_t page = (size_t)sysconf(_SC_PAGESIZE), len, count = 0;
    char *slice = (char *)job->host.shared(job->host.ctx, &len);
    unsigned char *is_resident = malloc(len / page + 1);
    if (slice == NULL || is_resident == NULL || mincore(slice, len, is_resident) != 0) {
        fprintf(stderr, "counts: cannot look at the conduit's memory: %s\n", strerror(errno));
        gasnet_exit(1);
    }
    for (size_t i = 0; i < len / page; i++)
        count += is_resident[i] & 1;
    free(is_resident);
    return (uint32_t)((count * page / 1024 + job->size - 1) / job->size);
}

static unsigned judge(const char *when, uint32_t got_kib, uint32_t limit_kib)
{
    unsigned ranks = (unsigned)gex_TM_QuerySize(team);
    printf("%3u ranks, %-28s %5u KiB per rank, limit %u\n", ranks, when, got_kib, limit_kib);
    if (got_kib <= limit_kib)
        return 0;
    fprintf(stderr, "counts: active messages occupy %u KiB per rank %s, and the limit is %u\n",
            got_kib, when, limit_kib);
    return 1;
}

/* Returns the misses that rank 0 found. All ranks have arrived when rank 0 looks, and no rank
 * continues before. */
static unsigned look(const char *when, uint32_t limit_kib)
{
    unsigned missed = 0;
    gex_Event_Wait(gex_Coll_BarrierNB(team, 0));
    if (gex_TM_QueryRank(team) == 0)
        missed = judge(when, resident_kib(), limit_kib);
    gex_Event_Wait(gex_Coll_BarrierNB(team, 0));
    return missed;
}

int main(int argc, char **argv)
{
    gex_AM_Entry_t entries[] = {
        { HANDLER_ASK, (gex_AM_Fn_t)handle_ask, 0, 0, NULL, NULL },
        { HANDLER_ANSWER, (gex_AM_Fn_t)handle_answer, 0, 0, NULL, NULL },
        { HANDLER_MEDIUM, (gex_AM_Fn_t)handle_medium, 0, 0, NULL, NULL },
        { HANDLER_MEDIUM_ANSWER, (gex_AM_Fn_t)handle_medium_answer, 0, 0, NULL, NULL },
    };
    gex_Client_t client;
    gex_EP_t endpoint;
    unsigned missed = 0;
    const struct limits *limits = table;
    /* Divides the limits, to see that each can be missed. */
    uint32_t part = argc > 1 ? (uint32_t)atoi(argv[1]) : 1;
    if (gex_Client_Init(&client, &endpoint, &team, "memory", &argc, &argv, 0) != GASNET_OK ||
        gex_EP_RegisterHandlers(endpoint, entries, sizeof entries / sizeof *entries) != GASNET_OK)
        return 1;
    while (limits->ranks < gex_TM_QuerySize(team))
        limits++;
    missed += look("after the start", limits->started / part);
    all_to_all(false);
    missed += look("all sent Shorts to all", limits->shorts / part);
    all_to_all(true);
    missed += look("all sent Mediums to all", limits->mediums / part);
    if (gex_TM_QueryRank(team) == 0 && (part == 1 ? missed != 0 : missed != 3)) {
        fflush(stdout);
        gasnet_exit(1); /* before its peers end with 0 */
    }
    gex_Event_Wait(gex_Coll_BarrierNB(team, 0));
    gasnet_exit(0);
}
