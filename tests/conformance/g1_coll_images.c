/* SPDX-License-Identifier: BSD-3-Clause */
/* g1_coll_images.c: collectives of the GASNet-1 era with several images on a rank, each of which is
 * a thread. Ranks have different numbers of images.
 *
 * TESTS: gasnet_coll_init gasnet_coll_broadcast gasnet_coll_broadcastM gasnet_coll_scatter
 * gasnet_coll_scatterM gasnet_coll_gather gasnet_coll_gatherM gasnet_coll_gather_all
 * gasnet_coll_gather_allM gasnet_coll_exchange gasnet_coll_exchangeM gasnet_coll_reduce
 * gasnet_coll_reduceM gasnet_coll_broadcast_nb gasnet_coll_exchange_nb gasnet_coll_wait_sync
 * gasnet_coll_wait_sync_all gasnet_coll_try_sync gasnet_coll_barrier gasnet_coll_barrier_notify
 * gasnet_coll_barrier_wait gasnet_coll_barrier_try GASNET_BARRIERFLAG_IMAGES GASNET_COLL_NO_IMAGES
 * PEN_RANKS: 1 2 3 4
 * PEN_MODES: par
 */
#include <gasnet.h>
#include <gasnet_coll.h>

#include "conformance/check.h"
#include "conformance/g1.h"

enum { PART = 240, IMAGES_MAX = 12, PLACES_MAX = 3, ROUNDS = 6, ELEMENTS = 37, IN_FLIGHT = 5 };
/* Each image's area: first its source, then its destination. */
enum { HALF = IMAGES_MAX * PART, AREA = 2 * HALF };

static const int mysync = GASNET_COLL_IN_MYSYNC | GASNET_COLL_OUT_MYSYNC;
static const int allsync = GASNET_COLL_IN_ALLSYNC | GASNET_COLL_OUT_ALLSYNC;

static gasnet_image_t counts[IMAGES_MAX], total;
static gasnet_image_t rank_of[IMAGES_MAX], place_of[IMAGES_MAX], first_here;

typedef struct image {
    pthread_t thread;
    gasnet_image_t number;
    char *from, *to;
    void *all_from[IMAGES_MAX], *all_to[IMAGES_MAX]; /* lists for GASNET_COLL_SINGLE */
} image;

static image images[PLACES_MAX];
static void *local_from[PLACES_MAX], *local_to[PLACES_MAX]; /* for GASNET_COLL_LOCAL */

static unsigned seed_of(gasnet_image_t from, gasnet_image_t to, int round)
{
    return 31 * from + 7 * to + 1000 * (unsigned)round + 1;
}

static char *area_of(gasnet_image_t number)
{
    return g1_at(rank_of[number], (size_t)place_of[number] * AREA);
}

/* Every image can have its own parts ready, since no other image touches them. */
static void fill(image *self, int round)
{
    for (gasnet_image_t to = 0; to < total; to++)
        check_fill(self->from + to * PART, PART, seed_of(self->number, to, round));
    memset(self->to, 0x55, HALF);
}

static void check_part(const image *self, size_t part, gasnet_image_t from, gasnet_image_t to,
                       int round)
{
    CHECK(check_filled(self->to + part * PART, PART, seed_of(from, to, round)),
          "gasnet_coll.h: images get the root's part, or parts in the order of images");
}

static void check_rest(const image *self, size_t parts)
{
    CHECK(check_all(self->to + parts * PART, HALF - parts * PART, 0x55),
          "gasnet_coll.h: nothing is written behind the parts");
}

static void check_parts(const image *self, gasnet_image_t to, int round)
{
    for (gasnet_image_t from = 0; from < total; from++)
        check_part(self, from, from, to, round);
    check_rest(self, total);
}

/* The value that another image of any rank got: after GASNET_COLL_OUT_ALLSYNC it is there. */
static void check_other(gasnet_image_t other, size_t part, unsigned seed)
{
    char bytes[PART];
    gasnet_get_bulk(bytes, rank_of[other], area_of(other) + HALF + part * PART, PART);
    CHECK(check_filled(bytes, PART, seed),
          "gasnet_coll.h: after OUT_ALLSYNC every image has its result");
}

/* ---- one address for each image -------------------------------------------------------------- */

/* No image may overwrite data that others still read. */
static void meet(void)
{
    CHECK_EQ(gasnet_coll_barrier(GASNET_TEAM_ALL, 0,
                                 GASNET_BARRIERFLAG_ANONYMOUS | GASNET_BARRIERFLAG_IMAGES),
             GASNET_OK, "gasnet_coll.h: a barrier among images");
}

static void own_addresses(image *self, gasnet_image_t root, int sync, int round)
{
    const int flags = sync | GASNET_COLL_LOCAL;
    const gasnet_image_t next = (self->number + 1) % total;
    fill(self, round);
    gasnet_coll_broadcast(GASNET_TEAM_ALL, self->to, root, self->from, PART, flags);
    check_part(self, 0, root, 0, round);
    check_rest(self, 1);
    if (sync == allsync)
        check_other(next, 0, seed_of(root, 0, round));
    meet();
    fill(self, round);
    gasnet_coll_scatter(GASNET_TEAM_ALL, self->to, root, self->from, PART, flags);
    check_part(self, 0, root, self->number, round);
    check_rest(self, 1);
    if (sync == allsync)
        check_other(next, 0, seed_of(root, next, round));
    meet();
    fill(self, round);
    gasnet_coll_gather(GASNET_TEAM_ALL, root, self->to, self->from, PART, flags);
    if (self->number == root)
        check_parts(self, 0, round);
    else
        check_rest(self, 0);
    meet();
    fill(self, round);
    gasnet_coll_gather_all(GASNET_TEAM_ALL, self->to, self->from, PART, flags);
    check_parts(self, 0, round);
    if (sync == allsync)
        check_other(next, total - 1, seed_of(total - 1, 0, round));
    meet();
    fill(self, round);
    gasnet_coll_exchange(GASNET_TEAM_ALL, self->to, self->from, PART, flags);
    check_parts(self, self->number, round);
    if (sync == allsync)
        check_other(next, total - 1, seed_of(total - 1, next, round));
    meet();
}

/* One destination for all images of a rank: it gets the root's bytes. */
static void one_destination(image *self, gasnet_image_t root, int round)
{
    static char common[PART];
    fill(self, round);
    gasnet_coll_broadcast(GASNET_TEAM_ALL, common, root, self->from, PART,
                          allsync | GASNET_COLL_SINGLE);
    CHECK(check_filled(common, PART, seed_of(root, 0, round)),
          "gasnet_coll.h: images may share a destination");
    meet();
}

/* ---- lists of addresses ---------------------------------------------------------------------- */

static void lists(image *self, gasnet_image_t root, int single, int round)
{
    void **from = single ? self->all_from : local_from, **to = single ? self->all_to : local_to;
    const int flags = mysync | (single ? GASNET_COLL_SINGLE : GASNET_COLL_LOCAL);
    fill(self, round);
    gasnet_coll_broadcastM(GASNET_TEAM_ALL, to, root, self->from, PART, flags);
    check_part(self, 0, root, 0, round);
    fill(self, round);
    gasnet_coll_scatterM(GASNET_TEAM_ALL, to, root, self->from, PART, flags);
    check_part(self, 0, root, self->number, round);
    fill(self, round);
    gasnet_coll_gatherM(GASNET_TEAM_ALL, root, self->to, from, PART, flags);
    if (self->number == root)
        check_parts(self, 0, round);
    fill(self, round);
    gasnet_coll_gather_allM(GASNET_TEAM_ALL, to, from, PART, flags);
    check_parts(self, 0, round);
    fill(self, round);
    gasnet_coll_exchangeM(GASNET_TEAM_ALL, to, from, PART, flags);
    check_parts(self, self->number, round);
}

/* ---- reductions ------------------------------------------------------------------------------ */

/* x -> a * x + b; applied in turn, so the order of images decides the result. */
typedef struct element {
    uint32_t a, b;
} element;

static void compose(void *results, size_t result_count, const void *left_operands,
                    size_t left_count, const void *right_operands, size_t elem_size, int flags,
                    int arg)
{
    element *out = (element *)results;
    const element *left = (const element *)left_operands, *right = (const element *)right_operands;
    CHECK(result_count == left_count && elem_size == sizeof(element) && arg == 7 &&
              flags == GASNET_COLL_NONCOMM,
          "gasnet_coll.h: functions get what was registered and passed");
    for (size_t i = 0; i < result_count; i++)
        out[i] = (element){ right[i].a * left[i].a, right[i].a * left[i].b + right[i].b };
}

static element element_of(gasnet_image_t number, size_t i)
{
    return (element){ 2 * number + 3, (uint32_t)i + 5 * number };
}

static void reduce(image *self, gasnet_image_t root, int list)
{
    element mine[ELEMENTS + 2], result[ELEMENTS];
    void *where[PLACES_MAX] = { mine, mine, mine };
    for (size_t i = 0; i < ELEMENTS; i++)
        mine[i + 2] = element_of(self->number, i);
    memset(result, 0, sizeof(result));
    if (list)
        gasnet_coll_reduceM(GASNET_TEAM_ALL, root, result, where, ELEMENTS + 2, 2, sizeof(element),
                            ELEMENTS, 0, 7, mysync | GASNET_COLL_LOCAL);
    else
        gasnet_coll_reduce(GASNET_TEAM_ALL, root, result, mine, ELEMENTS + 2, 2, sizeof(element),
                           ELEMENTS, 0, 7, allsync | GASNET_COLL_LOCAL);
    for (size_t i = 0; self->number == root && i < ELEMENTS; i++) {
        element all = element_of(0, i);
        for (gasnet_image_t other = 1; other < total; other++) {
            const element right = element_of(other, i);
            all = (element){ right.a * all.a, right.a * all.b + right.b };
        }
        CHECK(result[i].a == all.a && result[i].b == all.b,
              "gasnet_coll.h: elements are combined in the order of images");
    }
}

/* ---- several at a time ----------------------------------------------------------------------- */

static void in_flight(image *self, int sync, int round)
{
    gasnet_coll_handle_t handles[IN_FLIGHT];
    char got[IN_FLIGHT][PART];
    fill(self, round);
    for (gasnet_image_t i = 0; i < IN_FLIGHT; i++)
        handles[i] = gasnet_coll_broadcast_nb(GASNET_TEAM_ALL, got[i], i % total,
                                              self->from + (i % total) * PART, PART,
                                              sync | GASNET_COLL_LOCAL);
    if (self->number % 2 == 0) {
        gasnet_coll_wait_sync_all(handles, IN_FLIGHT);
    } else {
        for (gasnet_image_t i = IN_FLIGHT; i-- > 0;)
            while (gasnet_coll_try_sync(handles[i]) != GASNET_OK) {
            }
    }
    for (gasnet_image_t i = 0; i < IN_FLIGHT; i++)
        CHECK(check_filled(got[i], PART, seed_of(i % total, i % total, round)),
              "gasnet_coll.h: several are in flight at once");
    gasnet_coll_wait_sync(gasnet_coll_exchange_nb(GASNET_TEAM_ALL, self->to, self->from, PART,
                                                  sync | GASNET_COLL_LOCAL));
    check_parts(self, self->number, round);
    meet();
}

/* ---- the barrier, and calls of ranks --------------------------------------------------------- */

static check_count entered;

static void barriers(const image *self)
{
    static const int flags = GASNET_BARRIERFLAG_ANONYMOUS | GASNET_BARRIERFLAG_IMAGES;
    for (unsigned round = 1; round <= 20; round++) {
        check_add(&entered, 1);
        gasnet_coll_barrier_notify(GASNET_TEAM_ALL, 0, flags);
        if (self->number % 2)
            CHECK_EQ(gasnet_coll_barrier_wait(GASNET_TEAM_ALL, 0, flags), GASNET_OK,
                     "gasnet_coll.h: a barrier among images");
        else
            while (gasnet_coll_barrier_try(GASNET_TEAM_ALL, 0, flags) != GASNET_OK) {
            }
        CHECK(check_counted(&entered) >= round * counts[check_rank],
              "gasnet_coll.h: all images of this rank have entered the barrier");
    }
}

static void by_ranks(image *self)
{
    int mine = check_rank + 1, sum[IMAGES_MAX];
    if (self->number != first_here)
        return;
    gasnet_coll_gather_all(GASNET_TEAM_ALL, sum, &mine, sizeof(mine),
                           mysync | GASNET_COLL_LOCAL | GASNET_COLL_NO_IMAGES);
    for (int rank = 0; rank < check_size; rank++)
        CHECK_EQ(sum[rank], rank + 1, "gasnet_coll.h: NO_IMAGES means one part for each rank");
}

static void *run(void *argument)
{
    image *self = (image *)argument;
    gasnet_coll_fn_entry_t functions[] = { { compose, GASNET_COLL_NONCOMM } };
    gasnet_coll_init(counts, self->number, functions, 1, 0);
    for (int round = 0; round < ROUNDS; round++) {
        const gasnet_image_t root = (gasnet_image_t)round % total;
        own_addresses(self, root, round % 2 ? allsync : mysync, round);
        one_destination(self, root, round);
        lists(self, root, 0, round);
        lists(self, root, 1, round);
        reduce(self, root, 0);
        reduce(self, root, 1);
        in_flight(self, mysync, round);
        in_flight(self, allsync, round);
    }
    barriers(self);
    by_ranks(self);
    return NULL;
}

static void number_images(void)
{
    for (gasnet_image_t rank = 0; rank < (gasnet_image_t)check_size; rank++) {
        counts[rank] = PLACES_MAX - rank % PLACES_MAX;
        for (gasnet_image_t place = 0; place < counts[rank]; place++, total++) {
            rank_of[total] = rank;
            place_of[total] = place;
        }
    }
    while (rank_of[first_here] != (gasnet_image_t)check_rank)
        first_here++;
}

int main(int argc, char **argv)
{
    g1_open(&argc, &argv, NULL, 0, PLACES_MAX * AREA);
    number_images();
    for (gasnet_image_t place = 0; place < counts[check_rank]; place++) {
        image *self = &images[place];
        self->number = first_here + place;
        self->from = area_of(self->number);
        self->to = self->from + HALF;
        local_from[place] = self->from;
        local_to[place] = self->to;
        for (gasnet_image_t other = 0; other < total; other++) {
            self->all_from[other] = area_of(other);
            self->all_to[other] = area_of(other) + HALF;
        }
    }
    for (gasnet_image_t place = 0; place < counts[check_rank]; place++)
        if (pthread_create(&images[place].thread, NULL, run, &images[place]) != 0)
            check_fail(__FILE__, __LINE__, "pthread_create", "the system gives us threads");
    for (gasnet_image_t place = 0; place < counts[check_rank]; place++)
        pthread_join(images[place].thread, NULL);
    return check_end();
}
