/* SPDX-License-Identifier: BSD-3-Clause */
/* coll_images.c: collectives among images. */
#include "api/coll_images.h"

#include "api/api.h"
#include "coll/coll.h"
#include "job/fatal.h"
#include "job/job.h"
#include "job/team.h"
#include "job/thread.h"
#include "pen_config.h"
#include "rma/event.h"
#include "rma/watch.h"
#include "team/team.h"

#include <errno.h>
#include <gasnetex.h>
#include <penstock/legacy_coll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef struct image_slot { /* arguments of one image */
    char *dest;
    const char *source;
    pen_event *event;
} image_slot;

typedef enum image_stage {
    IMAGE_GATHERS, /* waits for the remaining images of this rank */
    IMAGE_READY,
    IMAGE_MOVES, /* the collective among ranks is under way */
    IMAGE_LEAVES /* the barrier after it is under way */
} image_stage;

typedef struct image_op {
    struct image_op *next; /* the next younger collective */
    uint32_t number, arrived;
    image_stage stage;
    const char *call; /* arguments of the first image that called */
    pen_coll_move move;
    pen_reduction reduction;
    bool has_reduction, leaves_together;
    pen_event *event; /* event of the stage that is under way */
    char *in,
        *out; /* this rank's source and destination; NULL: no data, or a client's own buffer */
    image_slot slots[];
} image_op;

typedef struct pen_images {
    pthread_mutex_t lock; /* guards all members below that change */
    pen_job *job;
    pen_team *team;   /* made by the last image that joined */
    uint32_t *first;  /* by rank: the number of its first image; after the last rank: the number of
                         all images */
    uint32_t count;   /* on this rank */
    uint32_t most;    /* on any rank */
    uint32_t joined;  /* first image of this rank */
    uint32_t *begun;  /* by place: number of collectives that an image has begun */
    bool *taken;      /* by place: a thread has taken this image */
    image_op *oldest; /* in the order of their numbers */
} pen_images;

/* The thread's image, counted from 1, and its job. */
static _Thread_local uint32_t image_here, image_here_era;

/* ---- who is who ------------------------------------------------------------------------------ */

static uint32_t rank_of(const pen_images *images, uint32_t image)
{
    uint32_t rank = 0;
    while (images->first[rank + 1] <= image)
        rank++;
    return rank;
}

static uint32_t count_of(const pen_images *images, uint32_t rank)
{
    return images->first[rank + 1] - images->first[rank];
}

static uint32_t first_here(const pen_images *images) { return images->first[images->job->rank]; }

bool pen_api_images_call(const pen_team *team, int flags)
{
    return pen_api_root.images != NULL && team == &pen_api_root.job->world &&
           (flags & GASNET_COLL_NO_IMAGES) == 0;
}

uint32_t pen_api_images_total(void)
{
    const pen_images *images = pen_api_root.images;
    return images->first[images->job->size];
}

uint32_t pen_api_image(const char *call)
{
    if (image_here == 0 || image_here_era != pen_api_root.era)
        pen_api_misuse(call, "this thread is no image; let it call gasnet_coll_init first, or pass "
                             "GASNET_COLL_NO_IMAGES");
    return image_here - 1;
}

uint32_t pen_api_image_place(const char *call)
{
    return pen_api_image(call) - first_here(pen_api_root.images);
}

/* ---- joining --------------------------------------------------------------------------------- */

static pen_images *images_make(const char *call, pen_job *job, const gasnet_image_t *counts)
{
    const uint32_t count = counts[job->rank];
    pen_images *images = calloc(1, sizeof *images);
    uint32_t *first = calloc((size_t)job->size + 1, sizeof *first);
    uint32_t *begun = calloc(count, sizeof *begun);
    bool *taken = calloc(count, sizeof *taken);
    if (images == NULL || first == NULL || begun == NULL || taken == NULL)
        pen_api_misuse(call, "%u images: calloc: %s; have fewer", count, strerror(ENOMEM));
    *images =
        (pen_images){ .job = job, .first = first, .count = count, .begun = begun, .taken = taken };
    for (uint32_t rank = 0; rank < job->size; rank++) {
        if (__builtin_add_overflow(first[rank], counts[rank], &first[rank + 1]))
            pen_api_misuse(call, "images has more than %u in all", UINT32_MAX);
        images->most = counts[rank] > images->most ? counts[rank] : images->most;
    }
    (void)pthread_mutex_init(&images->lock, NULL);
    return images;
}

static void check_same(const char *call, const pen_images *images, const gasnet_image_t *counts)
{
    for (uint32_t rank = 0; rank < images->job->size; rank++)
        if (counts[rank] != count_of(images, rank))
            pen_api_misuse(call, "images[%u] is %u, and another image of this rank passed %u", rank,
                           counts[rank], count_of(images, rank));
}

/* Returns whether this was the last image of the rank. */
static bool join(const char *call, pen_images *images, uint32_t mine)
{
    const uint32_t place = mine - first_here(images);
    if (mine < first_here(images) || place >= images->count)
        pen_api_misuse(call, "my_image is %u, and this rank has images %u to %u", mine,
                       first_here(images), first_here(images) + images->count - 1);
    if (images->taken[place])
        pen_api_misuse(call, "another thread is image %u already", mine);
    images->taken[place] = true;
    image_here = mine + 1;
    image_here_era = pen_api_root.era;
    return ++images->joined == images->count;
}

void pen_api_images_init(const char *call, pen_job *job, const gasnet_image_t *counts,
                         gasnet_image_t mine)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    if (job->mode != PEN_MODE_PAR)
        pen_api_misuse(call, "images[] has more than one image for a rank: each is a thread of its "
                             "own, so compile for GASNET_PAR");
    (void)pthread_mutex_lock(&lock);
    if (pen_api_root.images == NULL)
        pen_api_root.images = images_make(call, job, counts);
    pen_images *images = pen_api_root.images;
    check_same(call, images, counts);
    if (join(call, images, mine)) {
        pen_thread *thread = pen_api_thread(job);
        images->team = pen_team_split(thread, &job->world, true, 0, 0, call);
        images->team->flags = GEX_FLAG_TM_NO_SCRATCH;
    }
    (void)pthread_mutex_unlock(&lock);
}

static void op_free(image_op *op)
{
    free(op->in);
    free(op->out);
    free(op);
}

void pen_api_images_close(pen_images *images)
{
    if (images == NULL)
        return;
    for (image_op *op = images->oldest, *next; op != NULL; op = next) {
        next = op->next;
        op_free(op);
    }
    (void)pthread_mutex_destroy(&images->lock);
    free(images->first);
    free(images->begun);
    free(images->taken);
    free(images);
}

/* ---- among ranks ----------------------------------------------------------------------------- */

static char *buffer_of(const pen_images *images, const image_op *op, size_t part, size_t parts)
{
    size_t len;
    char *buffer = NULL;
    if (!__builtin_mul_overflow(part, parts, &len))
        buffer = malloc(len != 0 ? len : 1);
    if (buffer == NULL)
        pen_job_fatal(images->job, "%s: a buffer for %zu parts of %zu bytes: malloc: %s; move less",
                      op->call, parts, part, strerror(ENOMEM));
    return buffer;
}

/* Position of an image's part in a buffer by rank, with room for the most images at each rank. */
static size_t at_rank(const pen_images *images, uint32_t rank, uint32_t place)
{
    return (size_t)rank * images->most + place;
}

/* Position of a part that one image sends to another. rank is the receiver's rank, from the
 * sender's place, to the receiver's place; or rank is the sender's rank. */
static size_t at_pair(const pen_images *images, uint32_t rank, uint32_t from, uint32_t to)
{
    return ((size_t)rank * images->most + from) * images->most + to;
}

/* Copies between a list of parts by image and a buffer by rank. */
static void spread(const pen_images *images, char *by_rank, const char *by_image, size_t len)
{
    for (uint32_t rank = 0; rank < images->job->size; rank++)
        memcpy(by_rank + at_rank(images, rank, 0) * len,
               by_image + (size_t)images->first[rank] * len, count_of(images, rank) * len);
}

static void close_up(const pen_images *images, char *by_image, const char *by_rank, size_t len)
{
    for (uint32_t rank = 0; rank < images->job->size; rank++)
        memcpy(by_image + (size_t)images->first[rank] * len,
               by_rank + at_rank(images, rank, 0) * len, count_of(images, rank) * len);
}

/* Returns the place of the root among this rank's images; count: it is on another rank. */
static uint32_t root_place(const pen_images *images, const image_op *op)
{
    const uint32_t place = op->move.root - first_here(images);
    return op->move.root >= first_here(images) && place < images->count ? place : images->count;
}

static void prepare_broadcast(pen_images *images, image_op *op, pen_coll_move *move)
{
    const uint32_t root = root_place(images, op);
    const uint32_t place = root < images->count ? root : 0;
    move->dest = op->slots[place].dest;
    move->source = root < images->count ? op->slots[root].source : NULL;
}

static void prepare_scatter(pen_images *images, image_op *op, pen_coll_move *move)
{
    const uint32_t root = root_place(images, op);
    op->out = buffer_of(images, op, move->len, images->most);
    if (root < images->count) {
        op->in = buffer_of(images, op, move->len, at_rank(images, images->job->size, 0));
        spread(images, op->in, op->slots[root].source, move->len);
    }
    move->len *= images->most;
}

static void prepare_gather(pen_images *images, image_op *op, pen_coll_move *move)
{
    op->in = buffer_of(images, op, move->len, images->most);
    for (uint32_t place = 0; place < images->count; place++)
        memcpy(op->in + place * move->len, op->slots[place].source, move->len);
    if (move->root == PEN_COLL_ALL || root_place(images, op) < images->count)
        op->out = buffer_of(images, op, move->len, at_rank(images, images->job->size, 0));
    move->len *= images->most;
}

static void prepare_exchange(pen_images *images, image_op *op, pen_coll_move *move)
{
    const size_t len = move->len, parts = at_pair(images, images->job->size, 0, 0);
    op->in = buffer_of(images, op, len, parts);
    op->out = buffer_of(images, op, len, parts);
    for (uint32_t rank = 0; rank < images->job->size; rank++)
        for (uint32_t from = 0; from < images->count; from++)
            memcpy(op->in + at_pair(images, rank, from, 0) * len,
                   op->slots[from].source + (size_t)images->first[rank] * len,
                   count_of(images, rank) * len);
    move->len *= (size_t)images->most * images->most;
}

/* Combines the elements of this rank's images, lower images on the left. */
static void combine(pen_images *images, image_op *op)
{
    const pen_reduction *reduction = &op->reduction;
    uint32_t place = images->count - 1;
    op->in = buffer_of(images, op, op->move.len, 1);
    if (op->move.len == 0)
        return;
    memcpy(op->in, op->slots[place].source, op->move.len);
    while (place-- > 0)
        pen_reduction_call(reduction, op->slots[place].source, op->in, reduction->count);
}

static void begin_among_ranks(pen_images *images, pen_thread *thread, image_op *op)
{
    static void (*const prepare[PEN_COLL_KINDS])(pen_images *, image_op *, pen_coll_move *) = {
        [PEN_COLL_BROADCAST] = prepare_broadcast,
        [PEN_COLL_SCATTER] = prepare_scatter,
        [PEN_COLL_GATHER] = prepare_gather,
        [PEN_COLL_EXCHANGE] = prepare_exchange,
    };
    pen_coll_move move = op->move;
    const uint32_t root = move.root;
    const uint32_t root_rank = root == PEN_COLL_ALL ? root : rank_of(images, root);
    op->stage = IMAGE_MOVES;
    if (move.kind == PEN_COLL_BARRIER) {
        op->event = pen_coll_barrier_nb(thread, images->team);
    } else if (op->has_reduction) {
        const uint32_t place = root_place(images, op);
        combine(images, op);
        op->event = pen_coll_reduce_nb(thread, images->team, root_rank,
                                       place < images->count ? op->slots[place].dest : NULL, op->in,
                                       &op->reduction);
    } else {
        prepare[move.kind](images, op, &move);
        if (op->in != NULL || move.kind != PEN_COLL_BROADCAST) {
            move.source = op->in;
            move.dest = op->out;
        }
        move.root = root_rank;
        op->event = pen_coll_move_nb(thread, images->team, &move);
    }
}

/* ---- to images ------------------------------------------------------------------------------- */

static void hand_out_broadcast(const pen_images *images, const image_op *op)
{
    const uint32_t root = root_place(images, op);
    const uint32_t from = root < images->count ? root : 0;
    for (uint32_t place = 0; place < images->count; place++)
        if (op->slots[place].dest != op->slots[from].dest)
            memcpy(op->slots[place].dest, op->slots[from].dest, op->move.len);
}

static void hand_out_exchange(const pen_images *images, const image_op *op)
{
    const size_t len = op->move.len;
    for (uint32_t rank = 0; rank < images->job->size; rank++)
        for (uint32_t from = 0; from < count_of(images, rank); from++)
            for (uint32_t to = 0; to < images->count; to++)
                memcpy(op->slots[to].dest + (size_t)(images->first[rank] + from) * len,
                       op->out + at_pair(images, rank, from, to) * len, len);
}

static void hand_out(const pen_images *images, const image_op *op)
{
    const uint32_t root = root_place(images, op);
    const size_t len = op->move.len;
    if (len == 0 || op->has_reduction)
        return;
    if (op->move.kind == PEN_COLL_BROADCAST)
        hand_out_broadcast(images, op);
    if (op->move.kind == PEN_COLL_EXCHANGE)
        hand_out_exchange(images, op);
    for (uint32_t place = 0; place < images->count; place++) {
        if (op->move.kind == PEN_COLL_SCATTER)
            memcpy(op->slots[place].dest, op->out + place * len, len);
        if (op->move.kind == PEN_COLL_GATHER && (op->move.root == PEN_COLL_ALL || place == root))
            close_up(images, op->slots[place].dest, op->out, len);
    }
}

/* ---- driving on ------------------------------------------------------------------------------ */

static bool event_is_over(image_op *op)
{
    if (op->event != PEN_EVENT_DONE && !pen_event_test(op->event))
        return false;
    op->event = PEN_EVENT_DONE;
    return true;
}

/* Returns whether the collective is over. */
static bool op_step(pen_images *images, pen_thread *thread, image_op *op)
{
    if (op->stage == IMAGE_READY)
        begin_among_ranks(images, thread, op);
    if (op->stage == IMAGE_MOVES && event_is_over(op)) {
        hand_out(images, op);
        if (!op->leaves_together)
            return true;
        op->stage = IMAGE_LEAVES;
        op->event = pen_coll_barrier_nb(thread, images->team);
    }
    return op->stage == IMAGE_LEAVES && event_is_over(op);
}

/* Called under the lock. Makes no call that needs it. */
static void step(pen_images *images, pen_thread *thread)
{
    image_op **link = &images->oldest;
    while (*link != NULL && (*link)->stage != IMAGE_GATHERS) {
        image_op *op = *link;
        if (op_step(images, thread, op)) {
            *link = op->next;
            for (uint32_t place = 0; place < images->count; place++)
                pen_event_finish(op->slots[place].event);
            op_free(op);
        } else if (op->leaves_together && op->stage != IMAGE_LEAVES) {
            return; /* its barrier precedes all stages of the next collective */
        } else {
            link = &op->next;
        }
    }
}

bool pen_api_images_step(void)
{
    pen_images *images = pen_api_root.images;
    if (images == NULL)
        return false;
    if (pthread_mutex_trylock(&images->lock) == 0) { /* else another thread drives them */
        step(images, pen_api_thread(images->job));
        (void)pthread_mutex_unlock(&images->lock);
    }
    (void)gasnet_AMPoll();
    return true;
}

/* ---- beginning ------------------------------------------------------------------------------- */

static image_op *op_make(pen_images *images, const char *call, uint32_t number)
{
    image_op *op = calloc(1, sizeof *op + images->count * sizeof op->slots[0]);
    if (op == NULL)
        pen_job_fatal(images->job, "%s: calloc: %s; keep fewer collectives in flight", call,
                      strerror(ENOMEM));
    op->number = number;
    op->call = call;
    return op;
}

/* Returns the collective with this number; the first image that calls makes it. */
static image_op *op_of(pen_images *images, const char *call, uint32_t number,
                       const pen_coll_move *move, const pen_reduction *reduction)
{
    image_op **link = &images->oldest;
    while (*link != NULL && (*link)->number != number)
        link = &(*link)->next;
    if (*link != NULL)
        return *link;
    image_op *op = *link = op_make(images, call, number);
    op->move = *move;
    op->leaves_together = (move->together & PEN_COLL_LEAVE_TOGETHER) != 0;
    op->move.together &= ~(unsigned)PEN_COLL_LEAVE_TOGETHER;
    if (reduction != NULL) {
        op->has_reduction = true;
        op->reduction = *reduction;
        op->reduction.together = op->move.together;
    }
    return op;
}

static void check_agreed(const image_op *op, const char *call, const pen_coll_move *move)
{
    const bool leaves = (move->together & PEN_COLL_LEAVE_TOGETHER) != 0;
    if (op->move.kind != move->kind || op->move.root != move->root || op->move.len != move->len ||
        op->leaves_together != leaves)
        pen_api_misuse(call,
                       "%zu bytes, root %u: another image of this rank is in %s of %zu bytes, root "
                       "%u; all images make the same calls in the same order",
                       move->len, move->root, op->call, op->move.len, op->move.root);
}

static void check_memory(const char *call, const pen_coll_move *move, uint32_t image)
{
    const bool is_root = move->root == image || move->root == PEN_COLL_ALL;
    const bool is_to_one = move->kind == PEN_COLL_GATHER || move->kind == PEN_COLL_REDUCE;
    if (move->len == 0 || move->kind == PEN_COLL_BARRIER)
        return;
    if (move->dest == NULL && (is_root || !is_to_one))
        pen_api_misuse(call, "dst is NULL, for %zu bytes", move->len);
    if (move->source == NULL && (is_root || is_to_one))
        pen_api_misuse(call, "src is NULL, for %zu bytes", move->len);
}

gex_Event_t pen_api_images_begin(const char *call, pen_thread *thread, const pen_coll_move *move,
                                 const pen_reduction *reduction)
{
    pen_images *images = pen_api_root.images;
    const uint32_t place = pen_api_image_place(call);
    const pen_watch_call what = { .name = call, .thread = thread, .kind = PEN_WATCH_OTHER };
    check_memory(call, move, first_here(images) + place);
    pen_event *event = pen_event_new(thread);
    if (PEN_CHECKED)
        event = pen_watch_event(&what, event, NULL);
    (void)pthread_mutex_lock(&images->lock);
    image_op *op = op_of(images, call, images->begun[place]++, move, reduction);
    check_agreed(op, call, move);
    op->slots[place] = (image_slot){ move->dest, move->source, event };
    if (++op->arrived == images->count)
        op->stage = IMAGE_READY;
    step(images, thread);
    (void)pthread_mutex_unlock(&images->lock);
    return event;
}

/* ---- the barrier ----------------------------------------------------------------------------- */

static _Thread_local gex_Event_t
    barrier_here; /* this image's event; GEX_EVENT_INVALID: not notified */

void pen_api_images_notify(const char *call, pen_thread *thread)
{
    const pen_coll_move move = { .kind = PEN_COLL_BARRIER, .root = PEN_COLL_ALL };
    if (barrier_here != GEX_EVENT_INVALID)
        pen_api_misuse(call, "image %u has notified already; wait first", pen_api_image(call));
    barrier_here = pen_api_images_begin(call, thread, &move, NULL);
}

bool pen_api_images_try(const char *call)
{
    if (barrier_here == GEX_EVENT_INVALID)
        pen_api_misuse(call, "image %u has not notified", pen_api_image(call));
    (void)pen_api_images_step();
    if (gex_Event_Test(barrier_here) != 0)
        return false;
    barrier_here = GEX_EVENT_INVALID;
    return true;
}
