/* SPDX-License-Identifier: BSD-3-Clause */
/* surroundings.c: a runtime asks and uses what surrounds its communication: the neighbourhood and
 * the host, the console's environment byte for byte, numbers in variables, timers, stacks by a
 * function of its own, helpers by system, popen, posix_spawn and fork, handlers of signals, and a
 * last round of puts and barriers in functions of atexit after main has returned. */
#include <errno.h>
#include <fcntl.h>
#include <gasnet_tools.h>
#include <gasnetex.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

GASNETT_IDENT(surroundings_ident, "$Surroundings: 1.0 $");

static gex_TM_t world;
static gex_Rank_t me, ranks;
static uint64_t *mine, *theirs;
static volatile sig_atomic_t signalled;

#define EXPECT(c)                                                                          \
    do {                                                                                   \
        if (!(c)) {                                                                        \
            fprintf(stderr, "rank %u: %s (line %d, errno %d)\n", me, #c, __LINE__, errno); \
            gasnett_killmyprocess(9);                                                      \
        }                                                                                  \
    } while (0)

extern char **environ;

/* ---- a way to print stacks that the library takes before its own ---- */

static int our_backtrace(int fd)
{
    static const char text[] = "frames of our own language\n";
    return write(fd, text, sizeof(text) - 1) < 0;
}
gasnett_backtrace_type_t gasnett_backtrace_user = { "OURS", our_backtrace, 1 };

static void barrier(void) { gex_Event_Wait(gex_Coll_BarrierNB(world, 0)); }

static void stacks(void)
{
    char said[4096] = "";
    int ends[2];
    EXPECT(pipe(ends) == 0);
    gasnett_print_backtrace(ends[1]);
    close(ends[1]);
    for (ssize_t len, at = 0; (len = read(ends[0], said + at, sizeof(said) - 1 - (size_t)at)) > 0;)
        said[at += len] = '\0';
    close(ends[0]);
    EXPECT(strstr(said, "frames of our own language") != NULL);
}

/* ---- where ranks are ---- */

/* A neighbour's segment can be loaded from here; that of another rank has no local address. */
static void look_at(gex_Rank_t rank, int is_near, uintptr_t offset)
{
    void *owner = NULL, *local = NULL;
    uintptr_t size = 0;
    gex_Event_Wait(gex_EP_QueryBoundSegmentNB(world, rank, &owner, &local, &size, 0));
    EXPECT(owner && size && is_near == (local != NULL));
    if (!is_near)
        return;
    EXPECT((uintptr_t)local == (uintptr_t)owner + offset);
    EXPECT(*(volatile uint64_t *)local == 1000 + rank);
}

static void neighbours(void)
{
    gex_RankInfo_t *near = NULL, *here = NULL;
    gex_Rank_t near_count = 0, near_mine = 0, here_count = 0, here_mine = 0, sets, set, hosts, host;
    gasnet_nodeinfo_t *nodes = calloc(ranks, sizeof(*nodes));
    gex_System_QueryNbrhdInfo(&near, &near_count, &near_mine);
    gex_System_QueryHostInfo(&here, &here_count, &here_mine);
    gex_System_QueryNbrhdInfo(NULL, NULL, NULL);
    gex_System_QueryMyPosition(&sets, &set, &hosts, &host);
    EXPECT(near[near_mine].gex_jobrank == me && here[here_mine].gex_jobrank == me);
    EXPECT(hosts == 1 && host == 0 && here_count == ranks && set < sets);
    EXPECT(gasnet_getNodeInfo(nodes, (int)ranks) == GASNET_OK);
    EXPECT(nodes[me].supernode == set && nodes[me].host == host);
    gex_Rank_t found = 0;
    for (gex_Rank_t i = 0; i < ranks; i++) {
        int is_near = found < near_count && near[found].gex_jobrank == i;
        EXPECT(is_near == (nodes[i].supernode == set));
        look_at(i, is_near, nodes[i].offset);
        found += (gex_Rank_t)is_near;
    }
    EXPECT(found == near_count);
    free(nodes);
}

/* ---- the environment ---- */

static void environment(void)
{
    static const char *const expected[][2] = {
        { "SURROUNDINGS_EMPTY", "" },
        { "SURROUNDINGS_QUOTES", "a 'b' \"c\" \\d\\ $e `f` {g} *" },
        { "SURROUNDINGS_LINES", "one\ntwo\n\tthree " },
        { "SURROUNDINGS_BYTES", "\xc3\xa9\xff\x01\x7f=;#" },
    };
    for (size_t i = 0; i < sizeof(expected) / sizeof(*expected); i++) {
        const char *value = gasnet_getenv(expected[i][0]), *again = gasnett_getenv(expected[i][0]);
        EXPECT(value && again && !strcmp(value, expected[i][1]) && !strcmp(again, value));
    }
    EXPECT(gasnet_getenv("SURROUNDINGS_UNSET") == NULL);
    EXPECT(strlen(gasnet_getenv("SURROUNDINGS_LONG")) == 50000);
    EXPECT(setenv("SURROUNDINGS_QUOTES", "of this process", 1) == 0);
    EXPECT(!strcmp(gasnet_getenv("SURROUNDINGS_QUOTES"), "of this process"));
    gasnett_setenv("SURROUNDINGS_UNSET", "12M");
    EXPECT(gasnett_getenv_int_withdefault("SURROUNDINGS_UNSET", 5, 1) == 12 << 20);
    EXPECT(gasnett_getenv_int_withdefault("SURROUNDINGS_NUMBER", 5, 1024) == 3 * 1024);
    EXPECT(gasnett_getenv_int_withdefault("SURROUNDINGS_NONE", -5, 0) == -5);
    EXPECT(fabs(gasnett_getenv_dbl_withdefault("SURROUNDINGS_HALF", 7) - 0.5) < 1e-9);
    EXPECT(gasnett_getenv_yesno_withdefault("SURROUNDINGS_YES", 0) == 1);
    EXPECT(!strcmp(gasnett_getenv_withdefault("SURROUNDINGS_NONE", "fallback"), "fallback"));
    gasnett_unsetenv("SURROUNDINGS_HALF"); /* the console's */
    EXPECT(gasnett_getenv("SURROUNDINGS_HALF") == NULL &&
           gasnet_getenv("SURROUNDINGS_HALF") == NULL);
    gasnett_unsetenv("SURROUNDINGS_UNSET");
    EXPECT(gasnett_getenv("SURROUNDINGS_UNSET") == NULL && getenv("SURROUNDINGS_UNSET") == NULL);
}

/* ---- time and numbers ---- */

static void time_and_numbers(void)
{
    gasnett_tick_t begin = gasnett_ticks_now(), last = begin;
    uint64_t wall = gasnett_gettimeofday_us();
    for (int i = 0; i < 100000; i++) {
        gasnett_tick_t now = gasnett_ticks_now();
        EXPECT(now >= last);
        last = now;
    }
    EXPECT(gasnett_nsleep(20 * 1000 * 1000) == 0);
    uint64_t ns = gasnett_ticks_to_ns(gasnett_ticks_now() - begin),
             us = gasnett_ticks_to_us(gasnett_ticks_now() - begin);
    wall = gasnett_gettimeofday_us() - wall;
    EXPECT(ns >= 19900000 && us >= ns / 1000 && us <= wall + wall / 10 + 1000);
    EXPECT(gasnett_tick_granularityus() > 0 && gasnett_tick_overheadus() > 0);
    char text[80];
    EXPECT(gasnett_parse_int(gasnett_format_number(64 << 20, text, sizeof(text), 1), 1) ==
           64 << 20);
    EXPECT(gasnett_performance_warning_str() != NULL && gasnett_cpu_count() > 0);
    EXPECT(gasnett_getPhysMemSz(1) > 0 && gasnett_exe_name() && gasnett_gethostname());
    EXPECT(
        !strcmp(strrchr(gasnett_exe_name(), '/') + 1, strrchr(program_invocation_name, '/') + 1));
    uint64_t some[4] = { 0, 0xFF00FF00FF00FF00u, ~(uint64_t)0, 1 }, copy[4];
    EXPECT(gasnett_count0s(some, sizeof(some)) == 8 + 4 + 7 &&
           gasnett_count0s_copy(copy, some, sizeof(some)) == 19);
    EXPECT(!memcmp(copy, some, sizeof(some)) &&
           gasnett_checksum(copy, 32) == gasnett_checksum(some, 32));
}

/* ---- helpers and signals ---- */

static void on_signal(int number) { signalled += number == SIGUSR1; }

static void helpers(void)
{
    char line[64] = "";
    char *words[] = { "sh", "-c", "exit 5", NULL };
    int status;
    pid_t child;
    EXPECT(WEXITSTATUS(system("exit 3")) == 3);
    FILE *pipe_of = popen("echo from a helper", "r");
    EXPECT(pipe_of && fgets(line, sizeof(line), pipe_of) && pclose(pipe_of) == 0);
    EXPECT(!strcmp(line, "from a helper\n"));
    EXPECT(posix_spawnp(&child, "sh", NULL, NULL, words, environ) == 0);
    EXPECT(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 5);
    fflush(stdout);
    child =
        fork(); /* exit, not _exit: functions of atexit run in the child, too, and it is no rank */
    if (child == 0)
        exit(6);
    EXPECT(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 6);
    gasnett_sighandlerfn_t before = gasnett_reghandler(SIGUSR1, on_signal);
    EXPECT(raise(SIGUSR1) == 0 && signalled == 1);
    EXPECT(gasnett_reghandler(SIGUSR1, before) == on_signal);
}

/* ---- the end ---- */

static pid_t of_rank;

static void second(void)
{
    if (getpid() != of_rank)
        return;
    EXPECT(mine[1] == 2000 + (me + ranks - 1) % ranks);
    printf("rank %u of %u: good\n", me, ranks);
    fflush(stdout);
    barrier();
}

static void first(void)
{
    if (getpid() != of_rank)
        return;
    uint64_t value = 2000 + me;
    gex_RMA_PutBlocking(world, (me + 1) % ranks, theirs + 1, &value, sizeof(value), 0);
    barrier();
}

int main(int argc, char **argv)
{
    gex_Client_t client;
    gex_EP_t ep;
    gex_Segment_t segment;
    void *owner;
    EXPECT(gasnett_performance_warning_str() != NULL); /* before the job, too */
    gasnett_backtrace_init(argv[0]);
    EXPECT(!gex_Client_Init(&client, &ep, &world, "SURROUNDINGS", &argc, &argv, 0));
    me = gex_TM_QueryRank(world), ranks = gex_TM_QuerySize(world);
    EXPECT(argc == 3 && !strcmp(argv[1], "an argument") && !strcmp(argv[2], ""));
    of_rank = getpid();
    EXPECT(!gex_Segment_Attach(&segment, world, GASNET_PAGESIZE));
    mine = gex_Segment_QueryAddr(segment);
    mine[0] = 1000 + me;
    gex_Event_Wait(gex_EP_QueryBoundSegmentNB(world, (me + 1) % ranks, &owner, NULL, NULL, 0));
    theirs = owner;
    atexit(second);
    atexit(first);
    barrier();
    neighbours();
    environment();
    time_and_numbers();
    stacks();
    helpers();
    barrier();
    return 0;
}
