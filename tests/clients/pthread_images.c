/* SPDX-License-Identifier: BSD-3-Clause */
/* pthread_images.c: a program of the GASNet-1 era with threads: several images in each process,
 * which enter the collectives together, a thread for each image, and one barrier of all threads
 * round the barrier of the job. */
#include <gasnet.h>
#include <gasnet_coll.h>

#include <pthread.h>

enum { IMAGES = 3, ROUNDS = 20, LEN = 100 };

static pthread_barrier_t together;
static gasnet_image_t images[64];
static unsigned me, nodes, total;
static gasnet_seginfo_t info[64];

static void all_threads(void)
{
    if (pthread_barrier_wait(&together) == PTHREAD_BARRIER_SERIAL_THREAD) {
        gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);
        gasnet_barrier_wait(0, GASNET_BARRIERFLAG_ANONYMOUS);
    }
    pthread_barrier_wait(&together);
}

static void expect(long got, long wanted, unsigned image, const char *what)
{
    if (got == wanted)
        return;
    fprintf(stderr, "image %u: %s is %ld, not %ld\n", image, what, got, wanted);
    gasnet_exit(1);
}

static void *one_image(void *number)
{
    GASNET_BEGIN_FUNCTION();
    unsigned local = (unsigned)(uintptr_t)number, image = me * IMAGES + local;
    int flags = GASNET_COLL_IN_MYSYNC | GASNET_COLL_OUT_MYSYNC | GASNET_COLL_LOCAL;
    int *in = malloc(total * LEN * sizeof(int)), *out = malloc(total * LEN * sizeof(int));
    gasnet_coll_init(images, image, NULL, 0, 0);
    all_threads();
    for (unsigned round = 0; round < ROUNDS; round++) {
        unsigned root = round % total;
        for (int i = 0; i < LEN; i++)
            in[i] = (int)(image * 1000 + round + (unsigned)i);
        memset(out, 0, total * LEN * sizeof(int));
        gasnet_coll_broadcast(GASNET_TEAM_ALL, out, root, in, LEN * sizeof(int), flags);
        for (int i = 0; i < LEN; i++)
            expect(out[i], root * 1000 + round + i, image, "a broadcast");
        gasnet_coll_gather_all(GASNET_TEAM_ALL, out, in, LEN * sizeof(int), flags);
        for (unsigned other = 0; other < total; other++)
            expect(out[other * LEN + 5], other * 1000 + round + 5, image,
                   "an element that was gathered");
        all_threads();
    }
    /* Each thread has operations of its own under way. */
    unsigned to = (me + 1) % nodes;
    uint32_t *there = (uint32_t *)info[to].addr + local * ROUNDS;
    for (unsigned i = 0; i < ROUNDS; i++)
        gasnet_put_nbi_val(to, there + i, image * 100 + i, sizeof(uint32_t));
    gasnet_wait_syncnbi_puts();
    all_threads();
    unsigned before = (me + nodes - 1) % nodes;
    for (unsigned i = 0; i < ROUNDS; i++)
        expect(((uint32_t *)info[me].addr)[local * ROUNDS + i], (before * IMAGES + local) * 100 + i,
               image, "a put");
    free(in);
    free(out);
    all_threads();
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[IMAGES];
    gasnet_init(&argc, &argv);
    gasnet_attach(NULL, 0, 4 * GASNET_PAGESIZE, 0);
    me = gasnet_mynode();
    nodes = gasnet_nodes();
    total = nodes * IMAGES;
    for (unsigned i = 0; i < nodes; i++)
        images[i] = IMAGES;
    gasnet_getSegmentInfo(info, (int)nodes);
    pthread_barrier_init(&together, NULL, IMAGES);
    for (uintptr_t i = 0; i < IMAGES; i++)
        pthread_create(&threads[i], NULL, one_image, (void *)i);
    for (int i = 0; i < IMAGES; i++)
        pthread_join(threads[i], NULL);
    printf("rank %u of %u: good\n", me, nodes);
    fflush(stdout);
    gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);
    gasnet_barrier_wait(0, GASNET_BARRIERFLAG_ANONYMOUS);
    gasnet_exit(0);
}
