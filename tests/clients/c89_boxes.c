/* SPDX-License-Identifier: BSD-3-Clause */
/* c89_boxes.c: an array language that moves sections of arrays of five dimensions: strided puts and
 * gets with 0 to 5 levels, steps that are negative or zero or jump over elements, levels that are
 * contiguous, and sections that are empty; the same sections as lists of pieces and by the calls of
 * GASNet-1. Each result is compared with what loops over the indices make. */
#include <gasnet.h>
#include <gasnet_coll.h>
#include <gasnet_vis.h>

#define DIMS  5
#define AREA  65536 /* bytes of a section's array */
#define GUARD 0xC3

typedef struct {
    size_t levels, elem, count[DIMS];
    ptrdiff_t far_step[DIMS], near_step[DIMS];
    size_t far_at, near_at; /* where the element with indices 0 lies */
} box_t;

static gasnet_node_t me, nodes, peer;
static gex_TM_t world;
static unsigned char *mine, *theirs; /* segments */
static unsigned char near_area[AREA], model[AREA], seen[AREA];
static unsigned state;
static long boxes_done;

static void expect(int holds, const char *what, long detail)
{
    if (!holds) {
        fprintf(stderr, "node %d: %s (%ld)\n", (int)me, what, detail);
        gasnet_exit(1);
    }
}

static unsigned draw(unsigned below)
{
    state = state * 1103515245u + 12345u;
    return (state >> 16) % below;
}

/* Steps for one side: dimensions nest in a drawn order, with gaps, and may run backwards. Returns
 * where the first element lies. */
static size_t place(const box_t *box, ptrdiff_t *step, int may_repeat)
{
    size_t order[DIMS], i, at = 0, extent = box->elem, repeats = DIMS;
    for (i = 0; i < box->levels; i++)
        order[i] = i;
    for (i = box->levels; i > 1; i--) {
        size_t j = draw((unsigned)i), k = order[j];
        order[j] = order[i - 1];
        order[i - 1] = k;
    }
    if (may_repeat && box->levels > 0 && draw(4) == 0)
        repeats = draw((unsigned)box->levels); /* a source may give one element many times */
    for (i = 0; i < box->levels; i++) {
        size_t d = order[i], gap = draw(3) == 0 ? draw(5) : 0, reach;
        if (d == repeats) {
            step[d] = 0;
            continue;
        }
        step[d] = (ptrdiff_t)(extent + gap);
        reach = box->count[d] == 0 ? 0 : (box->count[d] - 1) * (size_t)step[d];
        extent += reach;
        if (draw(3) == 0) {
            at += reach;
            step[d] = -step[d];
        }
    }
    expect(extent < AREA - 64, "a box that is too large for this program", (long)extent);
    return at + draw(64);
}

static void make_box(box_t *box, int is_put)
{
    size_t i, most;
    memset(box, 0, sizeof(*box));
    box->levels = draw(DIMS + 1);
    box->elem = draw(3) == 0 ? draw(40) + 1 : (size_t)1 << draw(5);
    most = box->levels >= 4 ? 4 : 7;
    for (i = 0; i < box->levels; i++)
        box->count[i] = draw(20) == 0 ? 0 : draw((unsigned)most) + 1;
    box->far_at = place(box, box->far_step, !is_put);
    box->near_at = place(box, box->near_step, is_put);
}

/* Calls do() for each element with its offsets. */
static void each(const box_t *box, unsigned char *to, unsigned char *from, int far_is_to)
{
    size_t index[DIMS], i;
    memset(index, 0, sizeof(index));
    for (i = 0; i < box->levels; i++)
        if (box->count[i] == 0)
            return;
    for (;;) {
        ptrdiff_t far = (ptrdiff_t)box->far_at, near = (ptrdiff_t)box->near_at;
        for (i = 0; i < box->levels; i++) {
            far += (ptrdiff_t)index[i] * box->far_step[i];
            near += (ptrdiff_t)index[i] * box->near_step[i];
        }
        memcpy(to + (far_is_to ? far : near), from + (far_is_to ? near : far), box->elem);
        for (i = 0; i < box->levels; i++) {
            if (++index[i] < box->count[i])
                break;
            index[i] = 0;
        }
        if (i == box->levels)
            return;
    }
}

static void fill(unsigned char *area, unsigned salt)
{
    size_t i;
    for (i = 0; i < AREA; i++)
        area[i] = (unsigned char)(salt + i * 5 + (i >> 8));
}

/* The peer's segment has one area that its owner fills and this node gets from, and one that this
 * node alone puts to. */
static unsigned char *put_area(void) { return theirs + AREA; }

static void one_put(const box_t *box, int way)
{
    unsigned char *to = put_area() + box->far_at, *from = near_area + box->near_at;
    memset(model, GUARD, AREA);
    gasnet_memset(peer, put_area(), GUARD, AREA);
    fill(near_area, draw(256));
    each(box, model, near_area, 1);
    if (way == 0)
        expect(gex_VIS_StridedPutBlocking(world, peer, to, box->far_step, from, box->near_step,
                                          box->elem, box->count, box->levels, 0) == 0,
               "a put that was refused", way);
    else if (way == 1) {
        gex_Event_t leaf, event = gex_VIS_StridedPutNB(world, peer, to, box->far_step, from,
                                                       box->near_step, box->elem, box->count,
                                                       box->levels, GEX_FLAG_ENABLE_LEAF_LC);
        leaf =
            event == GEX_EVENT_INVALID ? GEX_EVENT_INVALID : gex_Event_QueryLeaf(event, GEX_EC_LC);
        gex_Event_Wait(leaf);
        memset(near_area, 0, AREA); /* free now */
        gex_Event_Wait(event);
    } else if (way == 2) {
        gex_NBI_BeginAccessRegion(0);
        expect(gex_VIS_StridedPutNBI(world, peer, to, box->far_step, from, box->near_step,
                                     box->elem, box->count, box->levels, 0) == 0,
               "a put that was refused", way);
        gex_Event_Wait(gex_NBI_EndAccessRegion(0));
    } else {
        while (gex_VIS_StridedPutNBI(world, peer, to, box->far_step, from, box->near_step,
                                     box->elem, box->count, box->levels, GEX_FLAG_IMMEDIATE))
            gasnet_AMPoll();
        gex_NBI_Wait(GEX_EC_PUT, 0);
    }
    gasnet_get_bulk(seen, peer, put_area(), AREA);
    expect(memcmp(seen, model, AREA) == 0, "a put of a box", way);
}

static void one_get(const box_t *box, int way)
{
    unsigned char *to = near_area + box->near_at, *from = theirs + box->far_at;
    memset(model, GUARD, AREA);
    memset(near_area, GUARD, AREA);
    fill(seen, peer);
    each(box, model, seen, 0);
    if (way == 0)
        expect(gex_VIS_StridedGetBlocking(world, to, box->near_step, peer, from, box->far_step,
                                          box->elem, box->count, box->levels, 0) == 0,
               "a get that was refused", way);
    else if (way == 1)
        gex_Event_Wait(gex_VIS_StridedGetNB(world, to, box->near_step, peer, from, box->far_step,
                                            box->elem, box->count, box->levels, 0));
    else {
        expect(gex_VIS_StridedGetNBI(world, to, box->near_step, peer, from, box->far_step,
                                     box->elem, box->count, box->levels, 0) == 0,
               "a get that was refused", way);
        gex_NBI_Wait(GEX_EC_GET, 0);
    }
    expect(memcmp(near_area, model, AREA) == 0, "a get of a box", way);
}

/* GASNet-1: steps are unsigned, count[0] counts bytes. Three levels here, rows of 24 bytes. */
static void legacy(void)
{
    size_t there[3], here[3], count[4], plane, row;
    unsigned char *to = put_area();
    count[0] = 24, count[1] = 5, count[2] = 4, count[3] = 3;
    there[0] = 32, there[1] = 200, there[2] = 900;
    here[0] = 24, here[1] = 120, here[2] = 480;
    gasnet_memset(peer, to, GUARD, AREA);
    fill(near_area, 9);
    gasnet_wait_syncnb(gasnet_puts_nb_bulk(peer, to, there, near_area, here, count, 3));
    memset(seen, 0, sizeof(seen));
    gasnet_gets_bulk(seen, here, peer, to, there, count, 3);
    expect(memcmp(seen, near_area, 24 * 5 * 4 * 3) == 0, "a box by the calls of GASNet-1", 0);
    /* Gets this box as a list of pieces: of 24 bytes there, of 120 bytes here. */
    {
        static void *far_pieces[60], *near_pieces[12];
        size_t i = 0;
        for (plane = 0; plane < 12; plane++) {
            near_pieces[plane] = model + plane * 120;
            for (row = 0; row < 5; row++)
                far_pieces[i++] = to + plane / 4 * 900 + plane % 4 * 200 + row * 32;
        }
        memset(model, 0, sizeof(model));
        gasnet_geti_nbi_bulk(12, near_pieces, 120, peer, 60, far_pieces, 24);
        gasnet_wait_syncnbi_gets();
        expect(memcmp(model, near_area, 24 * 5 * 4 * 3) == 0, "the box as a list of pieces", 0);
    }
    gasnet_get_bulk(seen, peer, to, 2000);
    for (row = 0; row < 8; row++)
        expect(seen[24 + row] == GUARD, "a gap of the box", (long)row);
}

int main(int argc, char **argv)
{
    long i;
    if (gasnet_init(&argc, &argv) != GASNET_OK)
        return 1;
    me = gasnet_mynode();
    nodes = gasnet_nodes();
    peer = (me + 1) % nodes;
    state = 7u + me;
    expect(gasnet_attach(NULL, 0, 2 * AREA, 0) == GASNET_OK, "attach", 0);
    gasnet_QueryGexObjects(NULL, NULL, &world, NULL);
    {
        gasnet_seginfo_t *table = malloc(nodes * sizeof(*table));
        gasnet_getSegmentInfo(table, (int)nodes);
        mine = table[me].addr, theirs = table[peer].addr;
        free(table);
    }
    fill(mine, me);
    gasnet_barrier_notify(0, GASNET_BARRIERFLAG_UNNAMED);
    gasnet_barrier_wait(0, GASNET_BARRIERFLAG_UNNAMED);
    for (i = 0; i < 120; i++) {
        box_t box;
        make_box(&box, 1);
        one_put(&box, (int)(i % 4));
        make_box(&box, 0);
        one_get(&box, (int)(i % 3));
        boxes_done += 2;
    }
    legacy();
    gasnet_barrier_notify(1, 0);
    gasnet_barrier_wait(1, 0);
    printf("rank %d of %d: good\n", (int)me, (int)nodes);
    fflush(stdout);
    gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);
    gasnet_barrier_wait(0, GASNET_BARRIERFLAG_ANONYMOUS);
    gasnet_exit(0);
    return 0;
}
