/* SPDX-License-Identifier: BSD-3-Clause */
/* again.c: a program that joins its job and leaves it many times, using a little of everything in
 * between: again CYCLES [end]. Descriptors and mappings may not grow from one time to the next.
 *   end   what it does afterwards: nothing, a number: rank 1 (or the only one) exits with it,
 * "die": rank 1 kills itself half-way, "late": rank 1 does not come again half-way, "fork": starts
 *         a process that joins a job of its own */
#include <gasnet.h>

#include <dirent.h>
#include <gasnet_ratomic.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PING = 200, PONG, LEN = 1 << 16, WARM = 3 };

static volatile int pongs;
static gex_Rank_t rank, size;

#define NEED(condition)                                                               \
    do {                                                                              \
        if (!(condition)) {                                                           \
            fprintf(stderr, "again.c:%d: rank %u: %s\n", __LINE__, rank, #condition); \
            _exit(99);                                                                \
        }                                                                             \
    } while (0)

static void ping(gex_Token_t token, gex_AM_Arg_t value)
{
    gex_AM_ReplyShort1(token, PONG, 0, value);
}

static void pong(gex_Token_t token, gex_AM_Arg_t value)
{
    (void)token;
    pongs += value;
}

static unsigned files_open(void)
{
    unsigned count = 0;
    DIR *folder = opendir("/proc/self/fd");
    NEED(folder != NULL);
    while (readdir(folder) != NULL)
        count++;
    closedir(folder);
    return count;
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#    define SANITIZED 1
#else
#    define SANITIZED 0
#endif

static unsigned mappings(void)
{
    unsigned count = 0;
    if (SANITIZED)
        return 0; /* its allocator maps memory as it likes */
    FILE *maps = fopen("/proc/self/maps", "r");
    NEED(maps != NULL);
    for (int letter; (letter = getc(maps)) != EOF;)
        count += letter == '\n';
    fclose(maps);
    return count;
}

/* All kinds of traffic with the next rank, on memory that has to be new. */
static void use(gex_TM_t team, gex_Segment_t segment, unsigned cycle)
{
    const gex_Rank_t next = (rank + 1) % size;
    char *mine = (char *)gex_Segment_QueryAddr(segment);
    void *there = NULL;
    uint64_t old = 1, word = 1000 + cycle, back = 0;
    gex_AD_t domain;
    gex_TM_t half;
    for (unsigned i = 0; i < LEN; i += 512)
        NEED(mine[i] == 0);
    gex_Event_Wait(gex_EP_QueryBoundSegmentNB(team, next, &there, NULL, NULL, 0));
    gex_Event_Wait(gex_Coll_BarrierNB(team, 0)); /* all have looked at their memory */
    gex_AD_Create(&domain, team, GEX_DT_U64, GEX_OP_FADD, 0);
    gex_Event_Wait(gex_AD_OpNB_U64(domain, &old, next, (char *)there + 8, GEX_OP_FADD, 5, 0, 0));
    NEED(old == 0);
    NEED(gex_RMA_PutBlocking(team, next, (char *)there + 512, &word, sizeof word, 0) == 0);
    NEED(gex_RMA_GetBlocking(team, &back, next, (char *)there + 512, sizeof back, 0) == 0);
    NEED(back == word);
    pongs = 0;
    gex_AM_RequestShort1(team, next, PING, 0, 7);
    GASNET_BLOCKUNTIL(pongs == 7);
    gex_TM_Split(&half, team, (int)(rank % 2), 0, NULL, 0, GEX_FLAG_TM_NO_SCRATCH);
    gex_Event_Wait(gex_Coll_BarrierNB(half, 0));
    gex_Event_Wait(gex_Coll_BarrierNB(team, 0));
    NEED(*(volatile uint64_t *)(void *)(mine + 8) == 5);
    gasnet_barrier_notify((int)cycle, 0);
    NEED(gasnet_barrier_wait((int)cycle, 0) == GASNET_OK);
}

static void one_cycle(unsigned cycle)
{
    gex_Client_t client;
    gex_EP_t endpoint;
    gex_TM_t team;
    gex_Segment_t segment;
    gex_AM_Entry_t entries[] = {
        { PING, (gex_AM_Fn_t)ping, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 1, NULL, NULL },
        { PONG, (gex_AM_Fn_t)pong, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REPLY, 1, NULL, NULL },
    };
    NEED(gex_Client_Init(&client, &endpoint, &team, "AGAIN", NULL, NULL, GEX_FLAG_USES_GASNET1) ==
         GASNET_OK);
    rank = gex_TM_QueryRank(team);
    size = gex_TM_QuerySize(team);
    NEED(gex_EP_RegisterHandlers(endpoint, entries, 2) == GASNET_OK);
    NEED(gex_Segment_Attach(&segment, team, LEN) == GASNET_OK);
    use(team, segment, cycle);
    NEED(pen_finalize() == GASNET_OK);
    NEED(gex_TM_QuerySize(pen_world) == 0);
}

/* A child of a rank that has left is a process like any other. */
static void start_other(void)
{
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        unsetenv("GASNET_PSHM_NODES");
        one_cycle(1);
        NEED(size == 1);
        exit(5);
    }
    int status = 0;
    NEED(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 5);
}

/* Half-way, the last rank may go. False: it goes. */
static int goes_on(unsigned cycle, unsigned cycles, const char *end)
{
    if (cycle != cycles / 2 || rank != size - 1)
        return 1;
    if (strcmp(end, "die") == 0)
        raise(SIGKILL);
    return strcmp(end, "late") != 0;
}

static const int watched[2] = { SIGSEGV, SIGTERM };
static struct sigaction before[2];

static void check_left_behind(unsigned files, unsigned maps)
{
    struct sigaction now;
    NEED(files_open() <= files && mappings() <= maps + 2);
    for (int i = 0; i < 2; i++)
        NEED(sigaction(watched[i], NULL, &now) == 0 && now.sa_handler == before[i].sa_handler);
}

int main(int argc, char **argv)
{
    const unsigned cycles = argc > 1 ? (unsigned)atoi(argv[1]) : 100;
    const char *end = argc > 2 ? argv[2] : "";
    unsigned files = 0, maps = 0;
    for (int i = 0; i < 2; i++)
        NEED(sigaction(watched[i], NULL, &before[i]) == 0);
    for (unsigned cycle = 0; cycle < cycles; cycle++) {
        one_cycle(cycle);
        if (cycle + 1 == WARM) { /* the C library has made its permanent allocations */
            files = files_open();
            maps = mappings();
        }
        if (!goes_on(cycle, cycles, end))
            return 0;
    }
    check_left_behind(files, maps);
    if (strcmp(end, "fork") == 0)
        start_other();
    if (rank == 0)
        printf("%u times on %u ranks\n", cycles, size);
    return rank == size - 1 ? atoi(end) : 0;
}
