/* SPDX-License-Identifier: BSD-3-Clause */
/* heat2d.c: heat spreads on a square plate, the usual five-point stencil. Every rank has some rows,
 * and above and below them a copy of the neighbour's nearest row. In each step a rank computes its
 * outer rows, puts them into the neighbours' copies, computes the rows in between and then waits
 * for its neighbours' rows. A put says nothing to the rank whose memory it changes, so a short
 * message follows it. At the end rank 0 computes the whole plate alone and compares every point.
 *
 *     penstock run -n 4 heat2d [SIDE [STEPS]] */
#include "arguments.h"
#include "heat2d_plate.h"

#include <gasnetex.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>

enum { ROW_IS_THERE = GEX_AM_INDEX_BASE };
enum { ABOVE, BELOW };
enum { SIDE = 512, STEPS = 500, SIDE_MAX = 16384, STEPS_MAX = 1000000 };

static struct job {
    gex_TM_t team;
    gex_Rank_t rank, size;
    size_t side, steps;
    size_t first, rows;
    double *plates[2];   /* plates of this rank: present and next in turn; each has rows + 2 rows */
    double *neighbor[2]; /* plates of the neighbours, at their addresses; NULL at the rim */
    /* the last step whose row came from there, for each of the two plates: a neighbour may be one
     * step ahead of us, and messages may overtake each other */
    volatile gex_AM_Arg_t arrived[2][2];
} job;

static void row_is_there(gex_Token_t token, gex_AM_Arg_t from, gex_AM_Arg_t step)
{
    (void)token;
    job.arrived[from & 1][step % 2] = step;
}

static gex_AM_Entry_t handlers[] = {
    { ROW_IS_THERE, (gex_AM_Fn_t)row_is_there, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 2, NULL,
      "row_is_there" },
};

static void meet(void) { gex_Event_Wait(gex_Coll_BarrierNB(job.team, 0)); }

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Returns where a plate begins in the segment of a rank that has this number of rows. */
static double *plate_of(double *segment, size_t rows, size_t which)
{
    return segment + which * (rows + 2) * job.side;
}

/* Computes one of our rows; the first is row 1, since row 0 is the copy of the neighbour's. */
static void compute_row(size_t step, size_t row)
{
    const double *now = job.plates[(step - 1) % 2] + row * job.side;
    plate_row(job.plates[step % 2] + row * job.side, now - job.side, now, now + job.side, job.side);
}

/* Our upper row is what the rank above has below its own. */
static void send_row(size_t step, int to)
{
    const gex_Rank_t rank = to == ABOVE ? job.rank - 1 : job.rank + 1;
    size_t first;
    if (job.neighbor[to] == NULL)
        return;
    const size_t rows = plate_share(job.side, rank, job.size, &first);
    double *plate = plate_of(job.neighbor[to], rows, step % 2);
    double *row = job.plates[step % 2] + (to == ABOVE ? 1 : job.rows) * job.side;
    gex_RMA_PutBlocking(job.team, rank, plate + (to == ABOVE ? rows + 1 : 0) * job.side, row,
                        job.side * sizeof(double), 0);
    gex_AM_RequestShort2(job.team, rank, ROW_IS_THERE, 0, to == ABOVE ? BELOW : ABOVE,
                         (gex_AM_Arg_t)step);
}

static bool row_has_come(size_t step, int from)
{
    return job.neighbor[from] == NULL || job.arrived[from][step % 2] == (gex_AM_Arg_t)step;
}

static void play(void)
{
    for (size_t step = 1; step <= job.steps; step++) {
        compute_row(step, 1);
        send_row(step, ABOVE);
        if (job.rows > 1)
            compute_row(step, job.rows);
        send_row(step, BELOW);
        for (size_t row = 2; row < job.rows; row++)
            compute_row(step, row);
        GASNET_BLOCKUNTIL(row_has_come(step, ABOVE) && row_has_come(step, BELOW));
    }
}

/* Rank 0's answer: how many points of all ranks differ from a run by one process. */
static size_t points_wrong(void)
{
    double *alone = plate_alone(job.side, job.steps);
    double *row = malloc(job.side * sizeof(*row));
    size_t wrong = 0;
    if (alone == NULL || row == NULL) {
        fprintf(stderr, "heat2d: no memory to check the result; take a smaller side\n");
        gasnet_exit(1);
    }
    for (gex_Rank_t rank = 0; rank < job.size; rank++) {
        void *segment = NULL;
        size_t first;
        const size_t rows = plate_share(job.side, rank, job.size, &first);
        gex_Event_Wait(gex_EP_QueryBoundSegmentNB(job.team, rank, &segment, NULL, NULL, 0));
        double *plate = plate_of(segment, rows, job.steps % 2);
        for (size_t row_i = 0; row_i < rows; row_i++) {
            gex_RMA_GetBlocking(job.team, row, rank, plate + (row_i + 1) * job.side,
                                job.side * sizeof(*row), 0);
            for (size_t column = 0; column < job.side; column++)
                wrong += !(row[column] == alone[(first + row_i) * job.side + column]);
        }
    }
    free(row);
    free(alone);
    return wrong;
}

static void arguments_read(int argc, char **argv)
{
    const long side = argc > 1 ? number_of(argv[1], 3, SIDE_MAX) : SIDE;
    const long steps = argc > 2 ? number_of(argv[2], 1, STEPS_MAX) : STEPS;
    job.side = (size_t)side;
    job.steps = (size_t)steps;
    if (argc <= 3 && side > 0 && steps > 0 && job.side - 2 >= job.size)
        return;
    if (job.rank == 0) {
        fprintf(stderr,
                "heat2d: want a side of 3 to %d, at least 2 more than ranks, and 1 to %d "
                "steps\n",
                SIDE_MAX, STEPS_MAX);
        gasnet_exit(2);
    }
    meet();
    gasnet_exit(2);
}

/* Segments with two plates; both begin alike, since the rim is never computed. */
static void plates_open(void)
{
    gex_Segment_t segment;
    size_t first;
    job.rows = plate_share(job.side, job.rank, job.size, &job.first);
    const size_t most = plate_share(job.side, 0, job.size, &first);
    const size_t len = 2 * (most + 2) * job.side * sizeof(double);
    const size_t page = GASNET_PAGESIZE;
    if (gex_Segment_Attach(&segment, job.team, (len + page - 1) / page * page) != GASNET_OK)
        gasnet_exit(1);
    for (size_t which = 0; which < 2; which++) {
        job.plates[which] = plate_of(gex_Segment_QueryAddr(segment), job.rows, which);
        for (size_t row = 0; row < job.rows + 2; row++)
            plate_fill(job.plates[which] + row * job.side, job.first - 1 + row, job.side);
    }
    for (int side = ABOVE; side <= BELOW; side++) {
        void *theirs = NULL;
        const bool rim = side == ABOVE ? job.rank == 0 : job.rank + 1 == job.size;
        if (!rim)
            gex_Event_Wait(gex_EP_QueryBoundSegmentNB(
                job.team, side == ABOVE ? job.rank - 1 : job.rank + 1, &theirs, NULL, NULL, 0));
        job.neighbor[side] = theirs;
    }
}

int main(int argc, char **argv)
{
    gex_Client_t client;
    gex_EP_t endpoint;
    if (gex_Client_Init(&client, &endpoint, &job.team, "HEAT2D", &argc, &argv, 0))
        return 1;
    job.rank = gex_TM_QueryRank(job.team);
    job.size = gex_TM_QuerySize(job.team);
    gex_EP_RegisterHandlers(endpoint, handlers, sizeof(handlers) / sizeof(handlers[0]));
    meet(); /* all have registered */
    arguments_read(argc, argv);
    plates_open();

    meet();
    const double start_s = now_s();
    play();
    meet();
    const double seconds = now_s() - start_s;
    if (job.rank == 0) {
        const size_t wrong = points_wrong();
        printf("heat2d: %s: %u ranks, %zu x %zu points, %zu steps of %.3f us, %zu points wrong\n",
               wrong == 0 ? "verified" : "WRONG", job.size, job.side, job.side, job.steps,
               seconds / (double)job.steps * 1e6, wrong);
        gasnet_exit(wrong == 0 ? 0 : 1);
    }
    meet();
    gasnet_exit(0);
}
