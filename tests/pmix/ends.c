/* SPDX-License-Identifier: BSD-3-Clause */
/* ends.c: a client whose arguments are steps, done in order: ends [RANKS:]STEP..., where "2:step"
 * is for rank 2 only and "!2:step" for all but it. Built with MPI, it has steps for that as well.
 */
#include <gasnetex.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#if WITH_MPI
#    include <mpi.h>
#endif

enum { HANDLER = 200, SEGMENT_LEN = 65536 };

static gex_TM_t team;
static unsigned rank, size;
static volatile unsigned token_count;

static void on_token(gex_Token_t token)
{
    (void)token;
    token_count++;
}

static void step_init(void)
{
    gex_Client_t client;
    gex_EP_t endpoint;
    gex_Segment_t segment;
    gex_AM_Entry_t entry = {
        HANDLER, (gex_AM_Fn_t)on_token, GEX_FLAG_AM_REQUEST | GEX_FLAG_AM_SHORT, 0, NULL, "token"
    };
    if (gex_Client_Init(&client, &endpoint, &team, "ENDS", NULL, NULL, 0) != GASNET_OK ||
        gex_EP_RegisterHandlers(endpoint, &entry, 1) != GASNET_OK ||
        gex_Segment_Attach(&segment, team, SEGMENT_LEN) != GASNET_OK)
        exit(1);
    rank = gex_TM_QueryRank(team);
    size = gex_TM_QuerySize(team);
}

static void step_barrier(void) { gex_Event_Wait(gex_Coll_BarrierNB(team, 0)); }

/* A token to the next rank and one from that before. */
static void step_ring(void)
{
    gex_AM_RequestShort0(team, (rank + 1) % size, HANDLER, 0);
    while (token_count == 0)
        gasnet_AMPoll();
    token_count = 0;
}

static void step_hello(void)
{
    gex_Rank_t neighbours = 0, hosts = 0;
    gex_System_QueryNbrhdInfo(NULL, &neighbours, NULL);
    gex_System_QueryHostInfo(NULL, &hosts, NULL);
    printf("rank %u of %u, %u share memory, pid %d\n", rank, size, neighbours, (int)getpid());
    fflush(stdout);
}

static void step_poll(void)
{
    for (;;)
        gasnet_AMPoll();
}

static void step_spin(void)
{
    for (volatile bool forever = true; forever;) {
    }
}

#if WITH_MPI
static void step_mpi_init(void)
{
    int there = 0, mpi_rank = 0;
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &mpi_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &there);
    if (size == 0) {
        rank = (unsigned)mpi_rank;
        size = (unsigned)there;
    } else if ((unsigned)mpi_rank != rank || (unsigned)there != size) {
        printf("MPI's rank %d of %d is our rank %u of %u\n", mpi_rank, there, rank, size);
        exit(1);
    }
}

static void step_mpi_sum(void)
{
    int mine = (int)rank + 1, sum = 0;
    MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if ((unsigned)sum != size * (size + 1) / 2)
        exit(1);
}

static void step_mpi_end(void) { MPI_Finalize(); }
#endif

static const struct {
    const char *name;
    void (*run)(void);
} steps[] = {
    { "init", step_init },         { "barrier", step_barrier }, { "ring", step_ring },
    { "hello", step_hello },       { "poll", step_poll },       { "spin", step_spin },
#if WITH_MPI
    { "mpi_init", step_mpi_init }, { "mpi_sum", step_mpi_sum }, { "mpi_end", step_mpi_end },
#endif
};

static void step_number(const char *step)
{
    const char *equals = strchr(step, '=');
    int value = equals != NULL ? (int)strtol(equals + 1, NULL, 10) : 0;
    if (strncmp(step, "gasnet_exit=", 12) == 0)
        gasnet_exit(value);
    if (strncmp(step, "exit=", 5) == 0)
        exit(value);
    if (strncmp(step, "_exit=", 6) == 0)
        _exit(value);
    if (strncmp(step, "kill=", 5) == 0)
        (void)kill(getpid(), value);
    if (strncmp(step, "sleep_ms=", 9) == 0)
        (void)usleep((useconds_t)value * 1000);
    if (strncmp(step, "system=", 7) == 0)
        if (system(step + 7) != 0)
            exit(1);
}

int main(int argc, char **argv)
{
    const char *told = getenv("PMIX_RANK"); /* for steps before joining */
    if (told == NULL)
        told = getenv("PMI_RANK");
    rank = told != NULL ? (unsigned)strtoul(told, NULL, 10) : 0;
    for (int i = 1; i < argc; i++) {
        const char *step = argv[i];
        bool but = *step == '!';
        char *end;
        unsigned long which = strtoul(step + but, &end, 10);
        if (end != step + but && *end == ':') {
            if ((which == rank) == but)
                continue;
            step = end + 1;
        }
        for (size_t s = 0; s < sizeof(steps) / sizeof(steps[0]); s++)
            if (strcmp(step, steps[s].name) == 0)
                steps[s].run();
        step_number(step);
    }
    return 0;
}
