/* SPDX-License-Identifier: BSD-3-Clause */
/* fork_helpers.c: ranks that start other programs while messages are under way: system, popen, fork
 * and exec, posix_spawn, and a child that only computes and ends by _exit. None of them may disturb
 * the job, and SIGCHLD is the client's. */
#include <gasnet_coll.h>
#include <gasnetex.h>

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { PING = 160, PONG, WINDOW = 16 };

static gex_TM_t world;
static gex_Rank_t me, ranks;
static int pongs, sent;
static volatile sig_atomic_t children;

static void ping(gex_Token_t token, void *data, size_t len, gex_AM_Arg_t number)
{
    gex_AM_ReplyMedium1(token, PONG, data, len, GEX_EVENT_NOW, 0, number + 1);
}

static void pong(gex_Token_t token, void *data, size_t len, gex_AM_Arg_t number)
{
    (void)token;
    if (len != 100 || ((char *)data)[99] != 'z' || number < 1)
        abort();
    pongs++;
}

static void child_ended(int number)
{
    (void)number;
    children++;
}

static void check(int good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "rank %u: %s\n", me, what);
    gasnet_exit(1);
}

static void traffic(void)
{
    char data[100];
    memset(data, 'z', sizeof(data));
    for (int i = 0; i < WINDOW; i++, sent++)
        gex_AM_RequestMedium1(world, (me + 1) % ranks, PING, data, sizeof(data), GEX_EVENT_NOW, 0,
                              sent);
}

static void through_popen(void)
{
    char line[64] = "";
    FILE *pipe = popen("echo $((6 * 7)) from a pipe", "r");
    check(pipe != NULL && fgets(line, sizeof(line), pipe) != NULL, "popen");
    check(strcmp(line, "42 from a pipe\n") == 0, "a line from popen");
    check(pclose(pipe) == 0, "pclose");
}

static void through_exec(void)
{
    int ends[2], status;
    char text[16] = "";
    check(pipe(ends) == 0, "pipe");
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], 1);
        execlp("printf", "printf", "%s", "exec", (char *)NULL);
        _exit(9);
    }
    close(ends[1]);
    check(read(ends[0], text, sizeof(text) - 1) == 4 && strcmp(text, "exec") == 0,
          "output of a program");
    close(ends[0]);
    check(waitpid(child, &status, 0) == child && status == 0, "status of a program");
}

static void through_spawn(void)
{
    char *arguments[] = { "sh", "-c", "exit 23", NULL };
    pid_t child;
    int status;
    check(posix_spawnp(&child, "sh", NULL, NULL, arguments, environ) == 0, "posix_spawnp");
    check(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 23,
          "status of posix_spawnp");
}

/* A child that works on a copy of memory, also the segment's, and reports its result by its status.
 */
static void through_fork(const unsigned char *segment)
{
    int status;
    pid_t child = fork();
    if (child == 0) {
        unsigned sum = 0;
        for (int i = 0; i < 4096; i++)
            sum += segment[i];
        _exit(sum == 4096u * (me + 1) ? 7 : 8);
    }
    traffic();
    check(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 7, "a child that computes");
}

int main(int argc, char **argv)
{
    gex_Client_t client;
    gex_EP_t ep;
    gex_Segment_t segment;
    struct sigaction act = { .sa_handler = child_ended, .sa_flags = SA_RESTART };
    sigaction(SIGCHLD, &act, NULL);
    gex_Client_Init(&client, &ep, &world, "FORKING", &argc, &argv, 0);
    gex_AM_Entry_t entries[] = {
        { PING, (gex_AM_Fn_t)ping, GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REQUEST, 1, NULL, "ping" },
        { PONG, (gex_AM_Fn_t)pong, GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REPLY, 1, NULL, "pong" },
    };
    gex_EP_RegisterHandlers(ep, entries, 2);
    gex_Segment_Attach(&segment, world, GASNET_PAGESIZE);
    me = gex_TM_QueryRank(world);
    ranks = gex_TM_QuerySize(world);
    memset(gex_Segment_QueryAddr(segment), (int)me + 1, 4096);
    gex_Event_Wait(gex_Coll_BarrierNB(world, 0));
    for (int round = 0; round < 3; round++) {
        traffic();
        check(WEXITSTATUS(system("exit 5")) == 5, "status of system");
        through_popen();
        traffic();
        through_exec();
        through_spawn();
        through_fork(gex_Segment_QueryAddr(segment));
        gex_Event_Wait(gex_Coll_BarrierNB(world, 0));
    }
    GASNET_BLOCKUNTIL(pongs == sent);
    check(children >= 9, "the client's handler of SIGCHLD");
    printf("rank %u of %u: good\n", me, ranks);
    fflush(stdout);
    gex_Event_Wait(gex_Coll_BarrierNB(world, 0));
    gasnet_exit(0);
}
