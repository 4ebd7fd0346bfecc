/* SPDX-License-Identifier: BSD-3-Clause */
/* vis_halo.c: halo exchange of a three-dimensional block by strided, indexed and vector transfers,
 * whose arrival a peer-completion handler reports: no barrier between the put and the use of its
 * data. */
#include <gasnet_coll.h>
#include <gasnet_vis.h>
#include <gasnetex.h>

enum { NX = 12, NY = 10, NZ = 8, ARRIVED = 180, ROUNDS = 12 };

typedef double block_t[NX][NY][NZ];

typedef struct {
    block_t cells;
    double face_x[NY][NZ]; /* copy of the left neighbour's last plane */
    double column[NX];     /* copy of the right neighbour's [i][3][5] */
    int32_t scattered[64];
} domain_t;

static gex_TM_t world;
static gex_Rank_t me, ranks, left, right;
static domain_t *mine, *domains[64];
static volatile int arrived[3];

typedef struct {
    int kind, round;
    char text[100];
} note_t;

static void die(const char *what, double got, double expected)
{
    fprintf(stderr, "rank %u: %s is %g, not %g\n", me, what, got, expected);
    gasnet_exit(1);
}

static void on_arrival(gex_Token_t token, void *data, size_t len)
{
    note_t note;
    gex_Token_Info_t info;
    if (len != sizeof(note))
        die("the length of a note", (double)len, sizeof(note));
    memcpy(&note, data, len);
    gex_Token_Info(token, &info, GEX_TI_SRCRANK);
    if (strcmp(note.text, "from a peer") != 0)
        die("the text of a note", 0, 1);
    if (info.gex_srcrank != (note.kind == 1 ? right : left))
        die("the source of a note", info.gex_srcrank, left);
    arrived[note.kind] = note.round;
}

static double value(gex_Rank_t rank, int round, int x, int y, int z)
{
    return rank * 1e6 + round * 1e4 + (x * NY + y) * NZ + z;
}

static void announce(int kind, int round)
{
    note_t note = { kind, round, "from a peer" };
    gex_VIS_SetPeerCompletionHandler(ARRIVED, &note, sizeof(note), 0);
}

/* My last x plane, of which each row of NZ is contiguous, into the right neighbour's face. */
static gex_Event_t send_face(int round)
{
    const ptrdiff_t from[] = { NZ * sizeof(double) }, to[] = { NZ * sizeof(double) };
    const size_t count[] = { NY };
    announce(0, round);
    return gex_VIS_StridedPutNB(world, right, domains[right]->face_x, to, mine->cells[NX - 1], from,
                                NZ * sizeof(double), count, 1, 0);
}

/* My column [i][3][5] to the left, backwards: negative strides. */
static gex_Event_t send_column(int round)
{
    const ptrdiff_t from[] = { -(ptrdiff_t)(NY * NZ * sizeof(double)) },
                    to[] = { -(ptrdiff_t)sizeof(double) };
    const size_t count[] = { NX };
    announce(1, round);
    return gex_VIS_StridedPutNB(world, left, &domains[left]->column[NX - 1], to,
                                &mine->cells[NX - 1][3][5], from, sizeof(double), count, 1, 0);
}

/* Eight pairs of integers to eight places. */
static gex_Event_t send_indexed(int round, int32_t *source)
{
    static void *from[16], *to[8];
    for (int i = 0; i < 16; i++) {
        source[i * 3] = round * 100 + i;
        from[i] = &source[i * 3];
    }
    for (int i = 0; i < 8; i++)
        to[i] = &domains[right]->scattered[(i * 5 % 8) * 8];
    announce(2, round);
    return gex_VIS_IndexedPutNB(world, right, 8, to, 2 * sizeof(int32_t), 16, from, sizeof(int32_t),
                                0);
}

static void check_arrivals(int round)
{
    GASNET_BLOCKUNTIL(arrived[0] == round);
    for (int y = 0; y < NY; y++)
        for (int z = 0; z < NZ; z++)
            if (mine->face_x[y][z] != value(left, round, NX - 1, y, z))
                die("a cell of the face", mine->face_x[y][z], value(left, round, NX - 1, y, z));
    GASNET_BLOCKUNTIL(arrived[1] == round);
    for (int x = 0; x < NX; x++)
        if (mine->column[x] != value(right, round, x, 3, 5))
            die("a cell of the column", mine->column[x], value(right, round, x, 3, 5));
    GASNET_BLOCKUNTIL(arrived[2] == round);
    for (int i = 0; i < 16; i++)
        if (mine->scattered[(i / 2 * 5 % 8) * 8 + i % 2] != round * 100 + i)
            die("an integer", mine->scattered[(i / 2 * 5 % 8) * 8 + i % 2], round * 100 + i);
}

/* Gets of an inner box with three strides, and of a vector of ragged pieces. */
static void fetch_box(int round)
{
    double box[3][4][2], pieces[30] = { 0 };
    const ptrdiff_t to[] = { 2 * sizeof(double), 4 * 2 * sizeof(double) };
    const ptrdiff_t from[] = { NZ * sizeof(double), NY * NZ * sizeof(double) };
    const size_t count[] = { 4, 3 };
    gex_VIS_StridedGetBlocking(world, box, to, right, &domains[right]->cells[4][2][6], from,
                               2 * sizeof(double), count, 2, 0);
    for (int x = 0; x < 3; x++)
        for (int y = 0; y < 4; y++)
            for (int z = 0; z < 2; z++)
                if (box[x][y][z] != value(right, round, 4 + x, 2 + y, 6 + z))
                    die("a cell of a box", box[x][y][z], value(right, round, 4 + x, 2 + y, 6 + z));
    gex_Memvec_t remote[5], local[1] = { { pieces, 15 * sizeof(double) } };
    for (int i = 0; i < 5; i++)
        remote[i] =
            (gex_Memvec_t){ &domains[left]->cells[i][i][0], (size_t)(i + 1) * sizeof(double) };
    gex_VIS_VectorGetNBI(world, 1, local, left, 5, remote, 0);
    gex_NBI_Wait(GEX_EC_GET, 0);
    for (int i = 0, at = 0; i < 5; i++)
        for (int z = 0; z <= i; z++, at++)
            if (pieces[at] != value(left, round, i, i, z))
                die("a piece of a vector", pieces[at], value(left, round, i, i, z));
}

int main(int argc, char **argv)
{
    gex_Client_t client;
    gex_EP_t ep;
    gex_Segment_t segment;
    gex_Client_Init(&client, &ep, &world, "HALO", &argc, &argv, 0);
    gex_AM_Entry_t entry = {
        ARRIVED, (gex_AM_Fn_t)on_arrival, GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REPLY, 0, NULL, NULL
    };
    gex_EP_RegisterHandlers(ep, &entry, 1);
    gex_Segment_Attach(&segment, world, 8 * GASNET_PAGESIZE);
    me = gex_TM_QueryRank(world);
    ranks = gex_TM_QuerySize(world);
    left = (me + ranks - 1) % ranks;
    right = (me + 1) % ranks;
    for (gex_Rank_t r = 0; r < ranks; r++)
        gex_Segment_QueryBound(world, r, (void **)&domains[r], NULL, NULL);
    mine = domains[me];
    int32_t source[64];
    for (int round = 1; round <= ROUNDS; round++) {
        for (int i = 0; i < NX * NY * NZ; i++)
            (&mine->cells[0][0][0])[i] = me * 1e6 + round * 1e4 + i;
        gex_Event_Wait(gex_Coll_BarrierNB(world, 0));
        gex_Event_t events[] = { send_face(round), send_column(round),
                                 send_indexed(round, source) };
        check_arrivals(round);
        gex_Event_WaitAll(events, 3, 0);
        fetch_box(round);
        gex_Event_Wait(gex_Coll_BarrierNB(world, 0));
    }
    printf("rank %u of %u: good\n", me, ranks);
    fflush(stdout);
    gex_Event_Wait(gex_Coll_BarrierNB(world, 0));
    gasnet_exit(0);
}
