/* SPDX-License-Identifier: BSD-3-Clause */
/* uneven_images.c: a threaded runtime whose processes have 1, 2, 3 or 4 threads. Threads and
 * handlers share tables under handler-safe locks, come and go more often than the library has
 * places for threads at once, keep private data under thread keys, wait for each other's events,
 * and enter the collectives of the GASNet-1 era together, of one list of addresses for each image.
 */
#include <gasnet.h>
#include <gasnet_coll.h>
#include <gasnet_ratomic.h>
#include <gasnet_tools.h>
#include <pthread.h>

enum { MOST = 4, ROUNDS = 12, LEN = 33, BUCKETS = 8, COUNT_UP = 150, COUNTED, GENERATIONS = 40 };

GASNETT_THREADKEY_DEFINE(private_data);

typedef struct {
    gasnet_hsl_t lock;
    long entries, sum;
} bucket_t;

static bucket_t buckets[BUCKETS];
static gasnet_hsl_t static_lock = GASNET_HSL_INITIALIZER;
static long under_static_lock;
static gasnett_atomic_t counted = gasnett_atomic_init(0);

static gasnet_node_t me, nodes;
static gasnet_image_t images[64], first_image, total;
static gasnet_seginfo_t info[64];
static pthread_barrier_t together;
static gex_TM_t world;

#define EXPECT(c)                                                                   \
    do {                                                                            \
        if (!(c)) {                                                                 \
            fprintf(stderr, "node %u: %s (line %d)\n", (unsigned)me, #c, __LINE__); \
            gasnet_exit(1);                                                         \
        }                                                                           \
    } while (0)

static void job_barrier(void)
{
    gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);
    EXPECT(gasnet_barrier_wait(0, GASNET_BARRIERFLAG_ANONYMOUS) == GASNET_OK);
}

static void all_threads(void)
{
    if (pthread_barrier_wait(&together) == PTHREAD_BARRIER_SERIAL_THREAD)
        job_barrier();
    pthread_barrier_wait(&together);
}

/* ---- locks ---- */

static void add(unsigned which, long value)
{
    bucket_t *bucket = &buckets[which], *next = &buckets[(which + 1) % BUCKETS];
    gasnet_hsl_lock(&bucket->lock);
    bucket->entries++;
    bucket->sum += value;
    if (which + 1 < BUCKETS &&
        gasnet_hsl_trylock(&next->lock) == GASNET_OK) { /* the second in order */
        next->sum += 1;
        next->sum -= 1;
        gasnet_hsl_unlock(&next->lock);
    }
    gasnet_hsl_unlock(&bucket->lock);
    gasnet_hsl_lock(&static_lock);
    long seen = under_static_lock;
    if (seen % 8 == 0)
        gasnett_nsleep(200000); /* the others wait long, and sleep */
    under_static_lock = seen + 1;
    gasnet_hsl_unlock(&static_lock);
}

static void on_count_up(gasnet_token_t token, gasnet_handlerarg_t which, gasnet_handlerarg_t value)
{
    add((unsigned)which, value);
    gasnet_AMReplyShort0(token, COUNTED);
}
static void on_counted(gasnet_token_t token)
{
    (void)token;
    gasnett_atomic_increment(&counted, 0);
}

enum { ADDS = 60 };
static void with_locks(unsigned image)
{
    for (unsigned i = 0; i < ADDS; i++) {
        gasnet_AMRequestShort2((image + i) % nodes, COUNT_UP, (int)(i % BUCKETS), 3);
        add((i + image) % BUCKETS, 1);
    }
    gasnet_hold_interrupts();
    under_static_lock += 0;
    gasnet_resume_interrupts();
}

/* ---- collectives ---- */

static void collect(gasnet_coll_handle_t handle, unsigned round)
{
    if (round % 3 == 0)
        gasnet_coll_wait_sync(handle);
    else if (round % 3 == 1)
        while (gasnet_coll_try_sync(handle) != GASNET_OK)
            ;
    else
        gasnet_coll_wait_sync_all(&handle, 1);
}

static void with_collectives(unsigned image)
{
    enum {
        MYSYNC = GASNET_COLL_IN_MYSYNC | GASNET_COLL_OUT_MYSYNC | GASNET_COLL_LOCAL,
        ALLSYNC = GASNET_COLL_IN_ALLSYNC | GASNET_COLL_OUT_ALLSYNC | GASNET_COLL_LOCAL
    };
    int *in = calloc(total * LEN, sizeof(int)), *out = calloc(total * LEN, sizeof(int));
    for (unsigned round = 0; round < ROUNDS; round++) {
        int flags = round % 2 ? MYSYNC : ALLSYNC;
        gasnet_image_t root = (round * 5 + 3) % total;
        for (unsigned part = 0; part < total; part++)
            for (int i = 0; i < LEN; i++)
                in[part * LEN + (unsigned)i] = (int)(image * 10000 + part * 100 + round) + i;
        memset(out, 0, total * LEN * sizeof(int));
        gasnet_coll_exchange(GASNET_TEAM_ALL, out, in, LEN * sizeof(int), flags);
        for (unsigned other = 0; other < total; other++)
            EXPECT(out[other * LEN + 7] == (int)(other * 10000 + image * 100 + round) + 7);
        collect(gasnet_coll_scatter_nb(GASNET_TEAM_ALL, out, root, in, LEN * sizeof(int), flags),
                round);
        EXPECT(out[LEN - 1] == (int)(root * 10000 + image * 100 + round) + LEN - 1);
        memset(out, 0, total * LEN * sizeof(int));
        collect(gasnet_coll_gather_nb(GASNET_TEAM_ALL, root, out, in, LEN * sizeof(int), flags),
                round);
        if (image == root)
            for (unsigned other = 0; other < total; other++)
                EXPECT(out[other * LEN + 2] == (int)(other * 10000 + round) + 2);
        in[0] = image == root ? 4711 + (int)round : -1;
        gasnet_coll_broadcast(GASNET_TEAM_ALL, out, root, in, sizeof(int), flags);
        EXPECT(out[0] == 4711 + (int)round);
    }
    free(in);
    free(out);
}

/* Lists of the addresses of all images, the same on all of them: in the segments. */
static void with_lists(unsigned image)
{
    enum {
        SINGLE = GASNET_COLL_IN_ALLSYNC | GASNET_COLL_OUT_ALLSYNC | GASNET_COLL_SINGLE |
                 GASNET_COLL_DST_IN_SEGMENT | GASNET_COLL_SRC_IN_SEGMENT
    };
    void *lists[64 * MOST];
    unsigned i = 0;
    for (gasnet_node_t node = 0; node < nodes; node++)
        for (unsigned local = 0; local < images[node]; local++)
            lists[i++] = (char *)info[node].addr + 8192 + local * 64;
    int *mine = lists[image];
    *mine = (int)image + 1;
    all_threads();
    void *sum = (char *)info[0].addr + 16384;
    gasnet_coll_gatherM(GASNET_TEAM_ALL, 0, sum, lists, sizeof(int), SINGLE);
    if (image == 0)
        for (unsigned other = 0; other < total; other++)
            EXPECT(((int *)sum)[other] == (int)other + 1);
    gasnet_coll_broadcastM(GASNET_TEAM_ALL, lists, 0, sum, sizeof(int), SINGLE);
    EXPECT(*mine == 1);
}

/* Text that is joined: an operation that does not commute. */
static void join(void *results, size_t count, const void *left, size_t left_count,
                 const void *right, size_t len, int flags, int arg)
{
    (void)left_count, (void)right, (void)flags;
    EXPECT(len == 2 * sizeof(int32_t) && arg == 77);
    for (size_t i = 0; i < count;
         i++) { /* (first, last) of a chain whose links have to follow each other */
        int32_t *r = (int32_t *)results + 2 * i;
        const int32_t *l = (const int32_t *)left + 2 * i;
        if (l[1] + 1 != r[0])
            r[1] = -1000000;
        r[0] = l[0];
    }
}

static void with_reduction(unsigned image)
{
    int32_t in[6] = { 0, 0, (int32_t)image, (int32_t)image, (int32_t)image, (int32_t)image },
            out[4] = { 0 };
    gasnet_image_t root = total - 1;
    gasnet_coll_reduce(GASNET_TEAM_ALL, root, out, in, 3, 1, 2 * sizeof(int32_t), 2, 0, 77,
                       GASNET_COLL_IN_MYSYNC | GASNET_COLL_OUT_MYSYNC | GASNET_COLL_LOCAL);
    if (image == root)
        EXPECT(out[0] == 0 && out[1] == (int32_t)total - 1 && out[2] == 0 &&
               out[3] == (int32_t)total - 1);
}

/* ---- threads that come and go ---- */

static void *short_life(void *argument)
{
    unsigned number = (unsigned)(uintptr_t)argument;
    gasnet_node_t to = (me + number) % nodes;
    uint64_t *cell = (uint64_t *)info[to].addr + 512 + number % MOST + MOST * me;
    EXPECT(gasnett_threadkey_get(private_data) == NULL);
    gasnett_threadkey_set(private_data, &number);
    gex_Event_t event = gex_RMA_PutNBVal(world, to, cell, number + 1, sizeof(*cell), 0);
    gex_Event_Wait(event);
    EXPECT(gasnet_get_val(to, cell, sizeof(*cell)) == number + 1);
    EXPECT(gasnett_threadkey_get(private_data) == &number);
    return NULL;
}

static void *wait_for(void *event)
{
    gex_Event_Wait(*(gex_Event_t *)event);
    return NULL;
}

static void run_thread(void *(*body)(void *), void *argument)
{
    pthread_t thread;
    EXPECT(!pthread_create(&thread, NULL, body, argument));
    EXPECT(!pthread_join(thread, NULL));
}

static void with_generations(void)
{
    for (unsigned i = 0; i < GENERATIONS; i++)
        run_thread(short_life, (void *)(uintptr_t)i);
    char bytes[5000], back[5000];
    gex_Event_t event = gex_RMA_GetNB(world, bytes, (me + 1) % nodes, info[(me + 1) % nodes].addr,
                                      sizeof(bytes), 0);
    run_thread(wait_for, &event); /* an event belongs to no thread */
    gasnet_get_bulk(back, (me + 1) % nodes, info[(me + 1) % nodes].addr, sizeof(back));
}

/* ---- atomic domains ---- */

static gex_AD_t counters, minima, reals;
static gex_TM_t odd_even;

static void with_atomics(unsigned image)
{
    gasnet_node_t to = me % 2; /* a job rank, of this node's half */
    char *base = (char *)info[to].addr + 24576;
    int32_t old = 0;
    double real = 0;
    for (int i = 0; i < 25; i++) {
        gex_AD_OpNBI_I32(counters, &old, to, base, i % 2 ? GEX_OP_FADD : GEX_OP_ADD, 2, 0,
                         GEX_FLAG_RANK_IS_JOBRANK | (to == me ? GEX_FLAG_AD_MY_RANK : 0));
        gex_AD_OpNBI_U64(minima, NULL, to, base + 8, GEX_OP_MIN, image + 1, 0,
                         GEX_FLAG_RANK_IS_JOBRANK);
        gex_NBI_Wait(GEX_EC_RMW, 0);
    }
    gex_Event_Wait(gex_AD_OpNB_DBL(reals, &real, to, base + 16, GEX_OP_FADD, 0.5, 0,
                                   GEX_FLAG_RANK_IS_JOBRANK | GEX_FLAG_AD_REL | GEX_FLAG_AD_ACQ));
    EXPECT(real >= 0 && real < total / 2.0);
}

static void check_atomics(void)
{
    if (me > 1)
        return;
    unsigned of_half = 0;
    gasnet_image_t least = ~0u, at = 0;
    for (gasnet_node_t node = 0; node < nodes; at += images[node++])
        if (node % 2 == me) {
            of_half += images[node];
            least = at < least ? at : least;
        }
    char *base = (char *)info[me].addr + 24576;
    EXPECT(*(int32_t *)base == (int32_t)of_half * 50);
    EXPECT(*(uint64_t *)(base + 8) == least + 1);
    EXPECT(*(double *)(base + 16) == of_half * 0.5);
}

static void *one_image(void *argument)
{
    GASNET_BEGIN_FUNCTION();
    unsigned local = (unsigned)(uintptr_t)argument, image = first_image + local;
    gasnet_coll_fn_entry_t table[] = { { join, GASNET_COLL_NONCOMM } };
    gasnett_threadkey_set(private_data, argument);
    gasnet_coll_init(images, image, table, 1, 0);
    all_threads();
    with_locks(image);
    with_collectives(image);
    with_reduction(image);
    with_lists(image);
    all_threads();
    with_atomics(image);
    EXPECT(gasnett_threadkey_get(private_data) == argument);
    all_threads();
    return NULL;
}

int main(int argc, char **argv)
{
    static gasnet_handlerentry_t table[] = { { COUNT_UP, (void (*)())on_count_up },
                                             { COUNTED, (void (*)())on_counted } };
    pthread_t threads[MOST];
    gasnet_init(&argc, &argv);
    EXPECT(gasnet_attach(table, 2, 16 * GASNET_PAGESIZE, 0) == GASNET_OK);
    me = gasnet_mynode();
    nodes = gasnet_nodes();
    EXPECT(gasnet_getSegmentInfo(info, (int)nodes) == GASNET_OK);
    gasnet_QueryGexObjects(NULL, NULL, &world, NULL);
    gasnet_set_waitmode(GASNET_WAIT_BLOCK);
    for (gasnet_node_t node = 0; node < nodes; node++) {
        images[node] = 1 + (node * 3 + 1) % MOST;
        if (node < me)
            first_image += images[node];
        total += images[node];
    }
    for (unsigned i = 0; i < BUCKETS; i++)
        gasnet_hsl_init(&buckets[i].lock);
    memset(info[me].addr, 0, 16 * GASNET_PAGESIZE);
    *(uint64_t *)((char *)info[me].addr + 24584) = ~(uint64_t)0;
    gex_TM_Split(&odd_even, world, (int)me % 2, (int)me, NULL, 0, GEX_FLAG_TM_NO_SCRATCH);
    gex_AD_Create(&counters, odd_even, GEX_DT_I32, GEX_OP_ADD | GEX_OP_FADD, 0);
    gex_AD_Create(&minima, odd_even, GEX_DT_U64, GEX_OP_MIN, GEX_FLAG_AD_FAVOR_REMOTE);
    gex_AD_Create(&reals, odd_even, GEX_DT_DBL, GEX_OP_FADD, 0);
    EXPECT(gex_AD_QueryTM(reals) == odd_even && gex_AD_QueryDT(minima) == GEX_DT_U64);
    pthread_barrier_init(&together, NULL, images[me]);
    job_barrier();
    for (unsigned i = 1; i < images[me]; i++)
        EXPECT(!pthread_create(&threads[i], NULL, one_image, (void *)(uintptr_t)i));
    one_image(NULL);
    for (unsigned i = 1; i < images[me]; i++)
        pthread_join(threads[i], NULL);
    GASNET_BLOCKUNTIL(gasnett_atomic_read(&counted, 0) ==
                      (gasnett_atomic_val_t)(ADDS * images[me]));
    job_barrier();
    long entries = 0, sum = 0, sent_here = 0;
    for (gasnet_image_t image = 0; image < total; image++)
        for (unsigned i = 0; i < ADDS; i++)
            sent_here += (image + i) % nodes == me;
    for (unsigned i = 0; i < BUCKETS; i++) {
        entries += buckets[i].entries, sum += buckets[i].sum;
        gasnet_hsl_destroy(&buckets[i].lock);
    }
    EXPECT(entries == sent_here + ADDS * (long)images[me]);
    EXPECT(sum == 3 * sent_here + ADDS * (long)images[me] && under_static_lock == entries);
    check_atomics();
    with_generations();
    job_barrier();
    gex_AD_Destroy(reals), gex_AD_Destroy(minima), gex_AD_Destroy(counters);
    gex_TM_Destroy(odd_even, NULL, 0);
    printf("rank %u of %u: good\n", (unsigned)me, (unsigned)nodes);
    fflush(stdout);
    job_barrier();
    gasnet_exit(0);
}
