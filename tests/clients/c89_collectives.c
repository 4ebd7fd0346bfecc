/* SPDX-License-Identifier: BSD-3-Clause */
/* c89_collectives.c: a GASNet-1 program in the C of 1989. It declares at the head of a block,
 * includes nothing but GASNet's headers, and uses the collectives of that era: with flags, without
 * flags, in place of MPI's. */
#include <gasnet.h>
#include <gasnet_coll.h>

#define COUNT 500

static int me, all;

static void add_ints(void *results, size_t count, const void *left, size_t left_count,
                     const void *right, size_t size, int flags, int arg)
{
    size_t i;
    if (left_count != count || size != sizeof(int) || arg != 77)
        abort();
    for (i = 0; i < count; i++)
        ((int *)results)[i] = ((const int *)left)[i] + ((const int *)right)[i];
    (void)flags;
}

static gasnet_coll_fn_entry_t functions[1];

static void fail(const char *what, long got, long expected)
{
    fprintf(stderr, "rank %i: %s is %li, not %li\n", me, what, got, expected);
    gasnet_exit(1);
}

static void expect(const char *what, long got, long expected)
{
    if (got != expected)
        fail(what, got, expected);
}

static void broadcast_and_reduce(int flags)
{
    static int in[COUNT], out[COUNT];
    int root, i;
    for (root = 0; root < all; root++) {
        for (i = 0; i < COUNT; i++)
            in[i] = me * 1000 + i;
        memset(out, 0, sizeof(out));
        gasnet_coll_broadcast(GASNET_TEAM_ALL, out, (gasnet_image_t)root, in, sizeof(out),
                              flags | GASNET_COLL_LOCAL);
        for (i = 0; i < COUNT; i++)
            expect("an element of the broadcast", out[i], root * 1000 + i);
        memset(out, 0, sizeof(out));
        gasnet_coll_reduce(GASNET_TEAM_ALL, (gasnet_image_t)root, out, in, 0, 0, sizeof(int), COUNT,
                           0, 77, flags | GASNET_COLL_LOCAL);
        if (me == root)
            for (i = 0; i < COUNT; i++)
                expect("a sum", out[i], all * (all - 1) / 2 * 1000 + all * i);
    }
}

static void transpose(int flags)
{
    int *rows = (int *)malloc((size_t)all * sizeof(int)),
        *columns = (int *)malloc((size_t)all * sizeof(int));
    int i;
    gasnet_coll_handle_t handle;
    for (i = 0; i < all; i++)
        rows[i] = me * all + i;
    handle = gasnet_coll_exchange_nb(GASNET_TEAM_ALL, columns, rows, sizeof(int),
                                     flags | GASNET_COLL_LOCAL);
    while (gasnet_coll_try_sync(handle) == GASNET_ERR_NOT_READY)
        gasnet_AMPoll();
    for (i = 0; i < all; i++)
        expect("an element of the transposed matrix", columns[i], i * all + me);
    gasnet_coll_gather_all(GASNET_TEAM_ALL, columns, rows + me, sizeof(int),
                           flags | GASNET_COLL_LOCAL);
    for (i = 0; i < all; i++)
        expect("an element of the diagonal", columns[i], i * all + i);
    free(rows);
    free(columns);
}

int main(int argc, char **argv)
{
    static int flags[3];
    unsigned i;
    flags[0] = GASNET_COLL_IN_ALLSYNC | GASNET_COLL_OUT_ALLSYNC;
    flags[1] = GASNET_COLL_IN_MYSYNC | GASNET_COLL_OUT_MYSYNC;
    flags[2] = 0;
    if (gasnet_init(&argc, &argv) != GASNET_OK ||
        gasnet_attach(NULL, 0, GASNET_PAGESIZE, 0) != GASNET_OK)
        return EXIT_FAILURE;
    me = (int)gasnet_mynode();
    all = (int)gasnet_nodes();
    functions[0].fnptr = add_ints;
    functions[0].flags = 0;
    gasnet_coll_init(NULL, 4711, functions, 1,
                     0); /* without images, the caller's number is ignored */
    for (i = 0; i < 3; i++) {
        broadcast_and_reduce(flags[i]);
        gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);
        gasnet_barrier_wait(0, GASNET_BARRIERFLAG_ANONYMOUS);
        transpose(flags[i]);
        gasnet_barrier_notify((int)i, 0);
        if (gasnet_barrier_wait((int)i, 0) != GASNET_OK)
            fail("a named barrier", 1, 0);
    }
    printf("rank %i of %i: good\n", me, all);
    fflush(stdout);
    gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);
    gasnet_barrier_wait(0, GASNET_BARRIERFLAG_ANONYMOUS);
    gasnet_exit(0);
    return 0;
}
