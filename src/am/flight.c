/* SPDX-License-Identifier: BSD-3-Clause */
/* flight.c: Longs that stay in flight after the call: too long for a frame, to memory that only
 * frames or the link's own put can reach.
 *
 * A flight posts its parts when they find room. When the last one is posted and the link has
 * released it, the source belongs to the caller again. When all parts have landed, the frame that
 * runs the handler follows, because frames have no order. A part is an internal message that the
 * target acknowledges, or a put. If the link can deliver a frame behind puts, that frame is posted
 * as soon as the last put is posted.
 *
 * If a request or its last frame finds no room, a progress source continues it. Replies are
 * queued instead, so that they never wait for a source and never hold the client's memory. The
 * memory of flights is bounded by the calls of this rank. am->lock guards everything here. It is
 * held while parts are posted; no post function takes it. */
#include "am/am_internal.h"
#include "base/copy.h"
#include "boot/wait_state.h"
#include "conduit/conduit.h"
#include "job/job.h"
#include "job/waits.h"
#include "mem/mem.h"
#include "os/lock.h"
#include "progress/progress.h"
#include "reach/reach.h"

#include <errno.h>
#include <stdlib.h>

/* Arguments of a piece; its acknowledgement has the first two. */
enum {
    PIECE_ID_LOW,
    PIECE_ID_HIGH,
    PIECE_SEGMENT,
    PIECE_OFFSET_LOW,
    PIECE_OFFSET_HIGH,
    PIECE_ARGS
};
enum { ACK_ARGS = PIECE_ID_HIGH + 1 };

/* The longest payload that is copied only to release the caller's source at once. */
enum { FLIGHT_COPY_MAX = 1 << 20 };

typedef struct pen_am_flight {
    struct pen_am_flight *next; /* in its bucket */
    uint64_t id;
    pen_am_long message;
    pen_remote_segment segment; /* message.segment points here */
    size_t posted;              /* bytes */
    uint32_t unacknowledged;    /* pieces */
    pen_op puts;                /* parts that the link moves */
    pen_op *op;                 /* the caller's op; NULL: already completed, or not given */
    char *copy;                 /* copy of the payload from copy_at on, or NULL */
    size_t copy_at;
    bool by_put; /* parts are puts, by `reach` */
    pen_reach reach;
    bool by_behind;   /* post the last frame behind the puts, without waiting for them */
    bool last_posted; /* that frame */
    bool source_free; /* the last part has been posted and released */
    bool wants_room;  /* the progress source must continue the flight: when there is room, ... */
    bool awaits_puts; /* ... or when its puts are over */
} pen_am_flight;

/* ---- the table ------------------------------------------------------------------------------- */

static pen_am_flight **flight_find(pen_am *am, uint64_t id)
{
    pen_am_flight **at = &am->flights[id % PEN_AM_FLIGHT_BUCKETS];
    while (*at != NULL && (*at)->id != id)
        at = &(*at)->next;
    return at;
}

/* Room in a link wakes no sleeping rank. The completion of puts does, because the link reports
 * it. */
static void flight_set_waiting(pen_am_flight *flight, bool wants_room, bool awaits_puts)
{
    pen_progress *progress = &flight->message.job->progress;
    if (flight->wants_room != wants_room)
        pen_progress_wait_for_room(progress, wants_room ? 1 : -1);
    if (flight->awaits_puts != awaits_puts)
        pen_progress_add_work(progress, awaits_puts ? 1 : -1);
    flight->wants_room = wants_room;
    flight->awaits_puts = awaits_puts;
}

static void flight_free(pen_am_flight *flight)
{
    free(flight->copy);
    free(flight);
}

static void flight_close(pen_am_flight *flight)
{
    pen_am *am = flight->message.job->am;
    flight_set_waiting(flight, false, false);
    *flight_find(am, flight->id) = flight->next;
    am->flight_count--;
    flight_free(flight);
}

/* Returns NULL if there is no memory. */
static pen_am_flight *flight_open(const pen_am_long *message, const pen_reach *reach)
{
    pen_am *am = message->job->am;
    bool by_behind = reach != NULL && message->route->port->link->behind != NULL;
    pen_am_flight *flight = malloc(sizeof *flight);
    if (flight == NULL)
        return NULL;
    *flight = (pen_am_flight){ .message = *message,
                               .segment = *message->segment,
                               .puts = { .shared = message->job->concurrency != PEN_ALONE,
                                         .local = by_behind },
                               .op = message->op,
                               .by_put = reach != NULL,
                               .by_behind = by_behind,
                               .id = ++am->flight_id };
    flight->message.segment = &flight->segment;
    if (reach != NULL) {
        flight->reach = *reach;
        flight->reach.segment = &flight->segment;
    }
    pen_am_flight **bucket = &am->flights[flight->id % PEN_AM_FLIGHT_BUCKETS];
    flight->next = *bucket;
    *bucket = flight;
    am->flight_count++;
    return flight;
}

/* ---- parts ----------------------------------------------------------------------------------- */

static const char *flight_source(const pen_am_flight *flight)
{
    if (flight->copy != NULL)
        return flight->copy + (flight->posted - flight->copy_at);
    return (const char *)flight->message.source + flight->posted;
}

static size_t flight_part_len(const pen_am_flight *flight, size_t len_max)
{
    size_t left = flight->message.len - flight->posted;
    return left < len_max ? left : len_max;
}

static bool flight_put(pen_am_flight *flight)
{
    const pen_am_long *message = &flight->message;
    const pen_port *port = message->route->port;
    size_t len = flight_part_len(flight, port->link->caps.put_max);
    char *source = (char *)(uintptr_t)flight_source(flight);
    pen_am_op_raise(&flight->puts);
    pen_post result = pen_reach_by_link(message->job, message->jobrank, &flight->reach, true,
                                        flight->posted, source, len, &flight->puts);
    if (result != PEN_POST_PENDING)
        pen_am_op_drop(&flight->puts); /* its `then` is NULL */
    if (result == PEN_POST_AGAIN)
        return false;
    flight->posted += len; /* a lost peer accepts everything */
    return true;
}

static bool flight_piece(pen_am_flight *flight)
{
    const pen_am_long *message = &flight->message;
    size_t len = flight_part_len(flight, message->job->am->medium_max);
    uint64_t offset = message->offset + flight->posted;
    int32_t args[PIECE_ARGS] = { (int32_t)(uint32_t)flight->id, (int32_t)(flight->id >> 32),
                                 (int32_t)flight->segment.number, (int32_t)(uint32_t)offset,
                                 (int32_t)(offset >> 32) };
    uint64_t words[PEN_AM_WORDS_MAX];
    pen_frame frame = pen_am_internal_frame(words, message->lane, PEN_AM_INT_LONG_PIECE, PIECE_ARGS,
                                            args, flight_source(flight), (uint32_t)len);
    if (pen_am_post_any(message->job, message->route, message->lane, &frame) == PEN_POST_AGAIN) {
        /* The first piece of an immediate reply is not queued: the call fails without any
         * effect. */
        if (message->lane == PEN_LANE_REQUEST ||
            (flight->posted == 0 && (message->flags & PEN_AM_IMMEDIATE) != 0))
            return false;
        pen_am_queue(message->job, message->route, message->lane, &frame);
    }
    flight->unacknowledged++;
    flight->posted += len;
    return true;
}

static unsigned flight_post_parts(pen_am_flight *flight)
{
    unsigned parts = 0;
    while (flight->posted != flight->message.len &&
           (flight->by_put ? flight_put(flight) : flight_piece(flight)))
        parts++;
    return parts;
}

/* ---- going on -------------------------------------------------------------------------------- */

static bool count_is_zero(_Atomic uint32_t *count)
{
    /* acquire: pairs with the release of the thread that lowers it to 0 */
    return atomic_load_explicit(count, memory_order_acquire) == 0;
}

static void flight_free_source(pen_am_flight *flight)
{
    pen_op *op = flight->op;
    flight->source_free = true;
    flight->op = NULL;
    if (op != NULL)
        pen_am_op_drop(op);
}

/* Posts the frame that runs the handler, if it may go now. Behind puts it may go before they are
 * over. Returns true if it was posted now. */
static bool flight_post_last(pen_am_flight *flight, bool landed)
{
    if (flight->last_posted || flight->posted != flight->message.len)
        return false;
    if (flight->by_behind)
        flight->last_posted = pen_am_long_last_behind(&flight->message);
    else if (landed)
        flight->last_posted = pen_am_long_last(&flight->message);
    return flight->last_posted;
}

static bool flight_has_landed(pen_am_flight *flight)
{
    return flight->posted == flight->message.len && flight->unacknowledged == 0 &&
           flight->source_free && count_is_zero(&flight->puts.incomplete);
}

/* Advances the flight as far as possible. Returns the number of events. The flight may be
 * complete, and freed, on return. */
static unsigned flight_step(pen_am_flight *flight)
{
    unsigned done = flight_post_parts(flight);
    bool all_posted = flight->posted == flight->message.len;
    if (!flight->source_free && all_posted && count_is_zero(&flight->puts.source_busy)) {
        flight_free_source(flight);
        done++;
    }
    bool landed = flight_has_landed(flight);
    done += flight_post_last(flight, landed);
    if (landed && flight->last_posted) {
        flight_close(flight);
        return done;
    }
    /* Acknowledgements need no polling here: their handlers run by themselves. */
    bool wants_last = !flight->last_posted && (landed || flight->by_behind);
    bool wants_room = !all_posted || wants_last;
    flight_set_waiting(flight, wants_room, flight->by_put && !wants_room);
    return done;
}

static unsigned flights_poll(void *ctx)
{
    pen_job *job = ctx;
    pen_am *am = job->am;
    unsigned done = 0;
    if (!pen_lock_try(&am->lock))
        return 0; /* another thread runs it */
    /* Polls that wait for a barrier come here, too. In most of them no flight exists. */
    for (unsigned bucket = 0; am->flight_count != 0 && bucket < PEN_AM_FLIGHT_BUCKETS; bucket++) {
        pen_am_flight *next;
        for (pen_am_flight *flight = am->flights[bucket]; flight != NULL; flight = next) {
            next = flight->next;
            if (flight->wants_room || flight->awaits_puts)
                done += flight_step(flight);
        }
    }
    pen_lock_drop(&am->lock);
    return done;
}

/* ---- beginning ------------------------------------------------------------------------------- */

/* Copies the remaining payload, so that the caller's source is free. */
static void flight_keep_copy(pen_am_flight *flight, char *copy)
{
    if (flight->posted == flight->message.len) {
        free(copy);
        return;
    }
    flight->copy_at = flight->posted;
    pen_copy(&flight->message.job->copies, copy, flight_source(flight),
             flight->message.len - flight->posted);
    flight->copy = copy;
    if (flight->op != NULL) {
        pen_am_op_drop(flight->op);
        flight->op = NULL;
    }
}

/* Called under the lock. Returns false if the message is immediate and found no room; then it
 * has no effect. copy: room for the whole payload, or NULL. */
static bool flight_begin(const pen_am_long *message, const pen_reach *reach, char *copy)
{
    pen_am_flight *flight = flight_open(message, reach);
    if (flight == NULL) {
        if ((message->flags & PEN_AM_IMMEDIATE) != 0) {
            free(copy);
            return false;
        }
        pen_am_no_memory(message);
    }
    (void)flight_post_parts(flight);
    if (flight->posted == 0 && (message->flags & PEN_AM_IMMEDIATE) != 0) {
        flight_close(flight);
        free(copy);
        return false;
    }
    if (copy != NULL)
        flight_keep_copy(flight, copy);
    (void)flight_step(flight);
    return true;
}

/* Does the call want its source back at once, without waiting? True for an immediate request
 * without an op, and if the caller asked for a copy of a payload that is not too long. */
static bool flight_wants_copy(const pen_am_long *message)
{
    if (message->lane != PEN_LANE_REQUEST || (message->flags & PEN_AM_ASYNC) != 0)
        return false;
    if (message->op == NULL)
        return (message->flags & PEN_AM_IMMEDIATE) != 0;
    return (message->flags & PEN_AM_COPY) != 0 && message->len <= FLIGHT_COPY_MAX;
}

static bool flight_launch(pen_am_long *message, const pen_reach *reach, char *copy)
{
    pen_am *am = message->job->am;
    if (message->op != NULL)
        pen_am_op_raise(message->op);
    pen_lock_take(&am->lock);
    bool begun = flight_begin(message, reach, copy);
    pen_lock_drop(&am->lock);
    if (!begun && message->op != NULL)
        pen_am_op_drop(message->op);
    return begun;
}

int pen_am_flight_send(pen_am_long *message, const pen_reach *reach)
{
    pen_op own = { .shared = message->job->concurrency != PEN_ALONE };
    char *copy = NULL;
    if (flight_wants_copy(message)) {
        copy = malloc(message->len);
        if (copy == NULL && (message->flags & PEN_AM_IMMEDIATE) != 0)
            return 1;
        reach = NULL; /* the link would keep reading the source */
    } else if (message->lane == PEN_LANE_REQUEST && message->op == NULL &&
               (message->flags & PEN_AM_ASYNC) == 0) {
        message->op = &own;
    }
    if (!flight_launch(message, reach, copy))
        return 1;
    if (message->op == &own) {
        pen_wait what = pen_wait_for(PEN_CALL_REQUEST, PEN_AWAITED_LONG, message->jobrank, NULL);
        pen_waiter waiter = pen_waiter_for(&message->job->progress, false, &what);
        while (!count_is_zero(&own.incomplete))
            pen_wait_step(&waiter);
        pen_wait_end(&waiter);
    }
    pen_am_count_pushed(message->job, message->route, message->len);
    return 0;
}

/* ---- for barriers ---------------------------------------------------------------------------- */

uint64_t pen_am_flight_youngest(pen_job *job)
{
    pen_lock_take(&job->am->lock);
    uint64_t youngest = job->am->flight_id;
    pen_lock_drop(&job->am->lock);
    return youngest;
}

bool pen_am_flies(pen_job *job, uint64_t youngest)
{
    pen_am *am = job->am;
    bool flies = false;
    pen_lock_take(&am->lock);
    for (unsigned bucket = 0; am->flight_count != 0 && bucket < PEN_AM_FLIGHT_BUCKETS; bucket++)
        for (const pen_am_flight *flight = am->flights[bucket]; flight != NULL;
             flight = flight->next)
            flies = flies || (flight->message.lane == PEN_LANE_REQUEST && flight->id <= youngest);
    pen_lock_drop(&am->lock);
    return flies;
}

/* ---- messages -------------------------------------------------------------------------------- */

/* Runs on the target. */
static void on_piece(pen_token *token, const int32_t *args, unsigned arg_count, void *body,
                     uint32_t body_len)
{
    pen_job *job = token->job;
    void *dest = NULL;
    if (arg_count == PIECE_ARGS && body_len != 0)
        dest = pen_mem_resolve(&job->mem, (uint32_t)args[PIECE_SEGMENT],
                               pen_am_arg_u64(&args[PIECE_OFFSET_LOW]), body_len);
    if (dest == NULL) {
        pen_am_drop(token->job);
        return;
    }
    pen_copy(&job->copies, dest, body, body_len);
    pen_lane lane = token->is_request ? PEN_LANE_REPLY : PEN_LANE_CONTROL;
    (void)pen_am_send_internal(job, token->from, lane, PEN_AM_INT_LONG_ACK, ACK_ARGS, args, NULL,
                               0);
}

/* Runs on the initiator. */
static void on_ack(pen_token *token, const int32_t *args, unsigned arg_count, void *body,
                   uint32_t body_len)
{
    pen_am *am = token->job->am;
    (void)body;
    if (arg_count != ACK_ARGS || body_len != 0) {
        pen_am_drop(token->job);
        return;
    }
    pen_lock_take(&am->lock);
    pen_am_flight *flight = *flight_find(am, pen_am_arg_u64(&args[PIECE_ID_LOW]));
    bool known = flight != NULL && flight->message.jobrank == token->from &&
                 flight->unacknowledged != 0; /* not more than were sent */
    if (known) {
        flight->unacknowledged--;
        if (flight->unacknowledged == 0 && flight->source_free)
            (void)flight_step(flight);
    }
    pen_lock_drop(&am->lock);
    if (!known)
        pen_am_drop(token->job);
}

/* For reports: the flight whose source or landing an operation waits for. */
static bool explain(pen_job *job, const void *object, pen_wait_note *note)
{
    pen_am *am = job->am;
    bool found = false;
    pen_lock_take(&am->lock);
    for (uint32_t i = 0; !found && i < PEN_AM_FLIGHT_BUCKETS; i++) {
        const pen_am_flight *flight = am->flights[i];
        while (flight != NULL && (flight->op == NULL || flight->op != object))
            flight = flight->next;
        found = flight != NULL;
        if (found) {
            note->awaited = PEN_AWAITED_LONG;
            note->peer = flight->message.jobrank;
        }
    }
    pen_lock_drop(&am->lock);
    return found;
}

void pen_am_flights_open(pen_job *job)
{
    pen_job_add_explainer(job, explain);
    pen_am_register_internal(job, PEN_AM_INT_LONG_PIECE, on_piece);
    pen_am_register_internal(job, PEN_AM_INT_LONG_ACK, on_ack);
    pen_progress_add_source(&job->progress, flights_poll, job);
}

void pen_am_flights_close(pen_am *am)
{
    for (unsigned bucket = 0; bucket < PEN_AM_FLIGHT_BUCKETS; bucket++) {
        while (am->flights[bucket] != NULL) {
            pen_am_flight *flight = am->flights[bucket];
            am->flights[bucket] = flight->next;
            flight_free(flight);
        }
    }
    am->flight_count = 0;
}
