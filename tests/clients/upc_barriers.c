/* SPDX-License-Identifier: BSD-3-Clause */
/* upc_barriers.c: the runtime of a UPC compiler, in small. upc_notify and upc_wait have an
 * expression or none, and since UPC 1.3 a barrier with one matches a barrier without. Shared arrays
 * are block-cyclic; pointers to shared have a phase. */
#include <gasnet.h>
#include <gasnet_vis.h>

typedef struct {
    unsigned thread, phase;
    uint64_t *address;
} shared_pointer;

enum { BLOCK = 3, BLOCKS = 40 };

#define THREADS               gasnet_nodes()
#define MYTHREAD              gasnet_mynode()
#define upc_named(expression) (expression), 0
#define upc_anonymous         0, GASNET_BARRIERFLAG_ANONYMOUS

static gasnet_seginfo_t *segments;

static void die(const char *what)
{
    fprintf(stderr, "thread %u: %s\n", MYTHREAD, what);
    abort();
}

static shared_pointer start(void)
{
    shared_pointer p = { 0, 0, segments[0].addr };
    return p;
}

/* p + 1 of a pointer to `shared [BLOCK] uint64_t`. */
static shared_pointer next(shared_pointer p)
{
    size_t offset = (size_t)(p.address - (uint64_t *)segments[p.thread].addr);
    if (++p.phase < BLOCK) {
        p.address++;
        return p;
    }
    p.phase = 0;
    offset -= BLOCK - 1;
    if (++p.thread == THREADS) {
        p.thread = 0;
        offset += BLOCK;
    }
    p.address = (uint64_t *)segments[p.thread].addr + offset;
    return p;
}

static void barrier(int notify_id, int notify_flags, int wait_id, int wait_flags, int expected)
{
    gasnet_barrier_notify(notify_id, notify_flags);
    int status = gasnet_barrier_wait(wait_id, wait_flags);
    if (status != expected) {
        fprintf(stderr, "thread %u: notify(%d, %d) and wait(%d, %d) say %s, not %s\n", MYTHREAD,
                notify_id, notify_flags, wait_id, wait_flags, gasnet_ErrorName(status),
                gasnet_ErrorName(expected));
        abort();
    }
}

static void mixed_barriers(int round)
{
    int odd = (int)MYTHREAD % 2, id = round * 7 - 3;
    barrier(upc_named(id), upc_named(id), GASNET_OK);
    barrier(upc_anonymous, upc_anonymous, GASNET_OK);
    /* Some threads name the barrier, and some do not. */
    if (odd)
        barrier(upc_named(id), upc_named(id), GASNET_OK);
    else
        barrier(upc_anonymous, upc_anonymous, GASNET_OK);
    /* One thread: a notify without an expression, a wait with one, and the reverse. */
    barrier(upc_anonymous, upc_named(id), GASNET_OK);
    barrier(upc_named(id), upc_anonymous, GASNET_OK);
    if (odd)
        barrier(upc_named(id), upc_anonymous, GASNET_OK);
    else
        barrier(upc_anonymous, upc_named(id), GASNET_OK);
    /* Different names are an error on all threads, after which the next barrier works. */
    barrier(upc_named(odd), upc_named(odd), GASNET_ERR_BARRIER_MISMATCH);
    barrier(id, MYTHREAD == 0 ? GASNET_BARRIERFLAG_MISMATCH : 0, id,
            MYTHREAD == 0 ? GASNET_BARRIERFLAG_MISMATCH : 0, GASNET_ERR_BARRIER_MISMATCH);
    gasnet_barrier_notify(id, 0);
    int status;
    while ((status = gasnet_barrier_try(id, 0)) == GASNET_ERR_NOT_READY)
        ;
    if (status != GASNET_OK)
        die("a try of a barrier whose names agree");
}

static void upc_forall(void)
{
    unsigned total = BLOCK * BLOCKS, i = 0;
    for (shared_pointer p = start(); i < total; p = next(p), i++)
        if (i % THREADS == MYTHREAD) /* affinity by number: the writes are remote */
            gasnet_put_nbi_val(p.thread, p.address, 1000 + i, sizeof(uint64_t));
    gasnet_wait_syncnbi_puts();
    barrier(upc_anonymous, upc_anonymous, GASNET_OK);
    i = 0;
    for (shared_pointer p = start(); i < total; p = next(p), i++) {
        if (p.thread != i / BLOCK % THREADS || p.phase != i % BLOCK)
            die("the arithmetic of pointers to shared");
        if (gasnet_get_val(p.thread, p.address, sizeof(uint64_t)) != 1000 + i)
            die("an element of the shared array");
    }
    barrier(upc_anonymous, upc_anonymous, GASNET_OK);
}

int main(int argc, char **argv)
{
    gasnet_init(&argc, &argv);
    gasnet_attach(NULL, 0, 16 * GASNET_PAGESIZE, 0);
    gasnet_set_waitmode(GASNET_WAIT_BLOCK);
    segments = malloc(THREADS * sizeof(*segments));
    gasnet_getSegmentInfo(segments, (int)THREADS);
    for (int round = 0; round < 30; round++)
        mixed_barriers(round);
    upc_forall();
    printf("rank %u of %u: good\n", MYTHREAD, THREADS);
    barrier(upc_anonymous, upc_anonymous, GASNET_OK);
    exit(0);
}
