/* SPDX-License-Identifier: BSD-3-Clause */
/* children.c: ranks that fork. Whatever a child does and however it ends, the job goes on: messages
 * between the ranks are counted, and no child may take or add one. */
#include <gasnet_coll.h>
#include <gasnetex.h>

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NOTE = 200, MESSAGES = 500, FORKS = 3 };

static gex_Client_t client;
static gex_EP_t endpoint;
static gex_TM_t team;
static gex_Segment_t segment;
static unsigned noted;

static void note(gex_Token_t token)
{
    (void)token;
    noted++;
}

static gex_Rank_t next(void) { return (gex_TM_QueryRank(team) + 1) % gex_TM_QuerySize(team); }

/* ---- what a child does ----------------------------------------------------------------------- */

static void leave(void) { exit(0); }
static void leave_with_code(void) { exit(3); }
static void leave_job(void) { gasnet_exit(5); }
static void leave_at_once(void) { _exit(6); }
static void crash(void) { abort(); }
static void end_by_signal(void) { (void)raise(SIGTERM); }

static void poll_once(void)
{
    for (;;)
        (void)gasnet_AMPoll();
}

static void send(void)
{
    for (;;)
        (void)gex_AM_RequestShort0(team, next(), NOTE, 0);
}

static void meet(void) { gex_Event_Wait(gex_Coll_BarrierNB(team, 0)); }

static void add_up(void)
{
    uint64_t one = 1, sum = 0;
    gex_Event_Wait(gex_Coll_ReduceToAllNB(team, &sum, &one, GEX_DT_U64, sizeof one, 1, GEX_OP_ADD,
                                          NULL, NULL, 0));
}

static void meet_as_of_old(void)
{
    gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);
    (void)gasnet_barrier_wait(0, GASNET_BARRIERFLAG_ANONYMOUS);
}

static void fork_again(void)
{
    pid_t child = fork();
    if (child == 0)
        meet();
    int status = 0;
    (void)waitpid(child, &status, 0);
    exit(WIFEXITED(status) && WEXITSTATUS(status) == 1 ? 8 : 9);
}

static const struct act {
    const char *name;
    void (*run)(void);
    int code, signal; /* with which it ends */
} acts[] = {
    { "exit", leave, 0, 0 },
    { "exit with a code", leave_with_code, 3, 0 },
    { "gasnet_exit", leave_job, 5, 0 },
    { "_exit", leave_at_once, 6, 0 },
    { "abort", crash, 0, SIGABRT },
    { "a signal", end_by_signal, 0, SIGTERM },
    { "poll", poll_once, 1, 0 },
    { "send", send, 1, 0 },
    { "barrier", meet, 1, 0 },
    { "sum", add_up, 1, 0 },
    { "legacy barrier", meet_as_of_old, 1, 0 },
    { "fork", fork_again, 8, 0 },
};

/* ---- what the ranks do meanwhile ------------------------------------------------------------- */

static void fail(const struct act *act, const char *what, int value)
{
    printf("rank %u: child that does %s: %s %d\n", gex_TM_QueryRank(team), act->name, what, value);
    gasnet_exit(1);
}

static void talk(unsigned messages)
{
    for (unsigned i = 0; i < messages; i++)
        (void)gex_AM_RequestShort0(team, next(), NOTE, 0);
}

static void await(unsigned messages) { GASNET_BLOCKUNTIL(noted >= messages); }

static void check_act(const struct act *act)
{
    pid_t children[FORKS];
    noted = 0;
    meet();
    (void)fflush(stdout);
    for (unsigned i = 0; i < FORKS; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            act->run();
            _exit(99);
        }
        talk(MESSAGES);
    }
    for (unsigned i = 0; i < FORKS; i++) {
        int status = 0;
        if (waitpid(children[i], &status, 0) != children[i])
            fail(act, "is lost", (int)children[i]);
        if (act->signal != 0 ? !WIFSIGNALED(status) || WTERMSIG(status) != act->signal
                             : !WIFEXITED(status) || WEXITSTATUS(status) != act->code)
            fail(act, "ends with", status);
    }
    await(FORKS * MESSAGES);
    meet();
    if (noted != FORKS * MESSAGES)
        fail(act, "messages:", (int)noted);
}

int main(int argc, char **argv)
{
    static gex_AM_Entry_t table[] = {
        { NOTE, (gex_AM_Fn_t)note, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 0, NULL, "note" }
    };
    if (gex_Client_Init(&client, &endpoint, &team, "children", &argc, &argv, 0) != GASNET_OK ||
        gex_Segment_Attach(&segment, team, 65536) != GASNET_OK ||
        gex_EP_RegisterHandlers(endpoint, table, 1) != GASNET_OK)
        return 1;
    meet();
    for (size_t i = 0; i < sizeof acts / sizeof acts[0]; i++)
        check_act(&acts[i]);
    printf("rank %u is well\n", gex_TM_QueryRank(team));
    return 0;
}
