/* SPDX-License-Identifier: BSD-3-Clause */
/* graph_bfs.c: breadth-first search of a graph benchmark. A level's edges travel as messages
 * without replies; the barrier at the end of a level is the only thing that this program waits for
 * before it counts what has arrived. */
#include <gasnet.h>

enum { VERTICES = 1 << 14, DEGREE = 8, VISIT = 200, MORE };

static unsigned me, ranks, found, next_count;
static unsigned char seen[VERTICES], now[VERTICES], next[VERTICES];
static unsigned long long arrived, sent;

/* The graph is computed, not stored: neighbour number k of vertex v. */
static unsigned neighbour(unsigned v, unsigned k)
{
    uint64_t x = (uint64_t)v * DEGREE + k + 0x9E3779B97F4A7C15ull;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
    return (unsigned)((x ^ (x >> 31)) % VERTICES);
}

static void mark(unsigned vertex)
{
    if (seen[vertex])
        return;
    seen[vertex] = next[vertex] = 1;
    found++;
    next_count++;
}

static void visit(gasnet_token_t token, gasnet_handlerarg_t vertex)
{
    (void)token;
    arrived++;
    mark((unsigned)vertex);
}

static void visit_more(gasnet_token_t token, void *buffer, size_t bytes)
{
    (void)token;
    for (size_t i = 0; i < bytes / sizeof(uint32_t); i++, arrived++)
        mark(((uint32_t *)buffer)[i]);
}

/* Even vertices go one by one, odd ones in packets. */
static void expand(unsigned v, uint32_t (*packets)[32], unsigned *filled)
{
    for (unsigned k = 0; k < DEGREE; k++) {
        unsigned to = neighbour(v, k), owner = to % ranks;
        sent++;
        if (v % 4 < 2) {
            gasnet_AMRequestShort1(owner, VISIT, (gasnet_handlerarg_t)to);
            continue;
        }
        packets[owner][filled[owner]++] = to;
        if (filled[owner] == 32) {
            gasnet_AMRequestMedium0(owner, MORE, packets[owner], sizeof(packets[owner]));
            filled[owner] = 0;
        }
    }
}

static void level(int how)
{
    static uint32_t packets[64][32];
    unsigned filled[64] = { 0 };
    for (unsigned v = me; v < VERTICES; v += ranks)
        if (now[v])
            expand(v, packets, filled);
    for (unsigned r = 0; r < ranks; r++)
        if (filled[r] > 0)
            gasnet_AMRequestMedium0(r, MORE, packets[r], filled[r] * sizeof(uint32_t));
    if (how == 0) {
        gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);
        gasnet_barrier_wait(0, GASNET_BARRIERFLAG_ANONYMOUS);
    } else if (how == 1) {
        gasnet_barrier_notify(0, GASNET_BARRIERFLAG_UNNAMED);
        while (gasnet_barrier_try(0, GASNET_BARRIERFLAG_UNNAMED) == GASNET_ERR_NOT_READY)
            ;
    } else {
        gex_TM_t world;
        gasnet_QueryGexObjects(NULL, NULL, &world, NULL);
        gex_Event_Wait(gex_Coll_BarrierNB(world, 0));
    }
}

/* Sums one number of each rank by puts of values. The slot alternates so that no put meets a read
 * of the last sum. */
static unsigned long long sum(unsigned long long value)
{
    static int slot;
    slot ^= 1;
    static gasnet_seginfo_t table[64];
    if (table[0].addr == NULL)
        gasnet_getSegmentInfo(table, (int)ranks);
    for (unsigned r = 0; r < ranks; r++)
        gasnet_put_val(r, (uint64_t *)table[r].addr + slot * 64 + me, value, sizeof(uint64_t));
    gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);
    gasnet_barrier_wait(0, GASNET_BARRIERFLAG_ANONYMOUS);
    unsigned long long total = 0;
    for (unsigned r = 0; r < ranks; r++)
        total += ((uint64_t *)table[me].addr)[slot * 64 + r];
    return total;
}

static unsigned search_alone(unsigned source)
{
    static unsigned queue[VERTICES];
    static unsigned char reached[VERTICES];
    unsigned head = 0, tail = 0;
    memset(reached, 0, sizeof(reached));
    queue[tail++] = source;
    reached[source] = 1;
    while (head < tail) {
        unsigned v = queue[head++];
        for (unsigned k = 0; k < DEGREE; k++)
            if (!reached[neighbour(v, k)]) {
                reached[neighbour(v, k)] = 1;
                queue[tail++] = neighbour(v, k);
            }
    }
    return tail;
}

static void search(unsigned source)
{
    memset(seen, 0, sizeof(seen));
    memset(now, 0, sizeof(now));
    found = 0;
    if (source % ranks == me) {
        seen[source] = now[source] = 1;
        found = 1;
    }
    for (int depth = 0;; depth++) {
        next_count = 0;
        arrived = sent = 0;
        memset(next, 0, sizeof(next));
        sum(0); /* all have cleared */
        level(depth % 3);
        unsigned long long ran = arrived; /* before anything else can run more */
        unsigned long long lost = sum(sent);
        lost -= sum(ran);
        if (lost != 0) {
            if (me == 0)
                fprintf(stderr, "level %d from %u: %llu messages had not run after the barrier\n",
                        depth, source, lost);
            gasnet_exit(1);
        }
        memcpy(now, next, sizeof(now));
        if (sum(next_count) == 0)
            break;
    }
    if (sum(found) != search_alone(source)) {
        fprintf(stderr, "a wrong number of vertices from %u\n", source);
        gasnet_exit(1);
    }
}

int main(int argc, char **argv)
{
    gasnet_handlerentry_t handlers[] = { { VISIT, (void (*)())visit },
                                         { MORE, (void (*)())visit_more } };
    gasnet_init(&argc, &argv);
    gasnet_attach(handlers, 2, 4 * GASNET_PAGESIZE, 0);
    me = gasnet_mynode();
    ranks = gasnet_nodes();
    for (unsigned source = 1; source < VERTICES; source += 3000)
        search(source);
    printf("rank %u of %u: good\n", me, ranks);
    sum(0);
    gasnet_exit(0);
}
