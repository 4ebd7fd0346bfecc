/* SPDX-License-Identifier: BSD-3-Clause */
/* rma_message.c: put, get and memset by messages, for links that move frames only and for memory
 * that only its owner can reach.
 *
 * A transfer is named on the wire by its number in the initiator's table and the number's
 * generation, never by a pointer. An answer that fits no live transfer with that peer is counted
 * and dropped. The target checks (segment, offset, length) of every piece and answers each on the
 * reply lane.
 *
 * A put is cut and sent within the initiating call, which polls while there is no room. Its bodies
 * are copied, or read later if the client leaves the source unchanged until it is done. A get has a
 * bounded number of pieces in flight; as answers arrive, the poll loop requests further pieces.
 *
 * Memory on a device goes through a buffer of one piece's length on its way out, and straight from
 * the frame on its way in. */
#include "am/am.h"
#include "base/compiler.h"
#include "base/copy.h"
#include "boot/wait_state.h"
#include "conduit/conduit.h"
#include "job/fatal.h"
#include "job/job.h"
#include "job/waits.h"
#include "mem/kind.h"
#include "mem/mem.h"
#include "os/lock.h"
#include "progress/progress.h"
#include "reach/reach.h"
#include "rma/rma_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX

enum {
    SET_PIECE_LEN = 1 << 20,    /* memset: the most bytes that a handler may set in one message */
    GET_WINDOW_LEN = 256 << 10, /* bytes of one get in flight ... */
    GET_WINDOW_MIN = 2,         /* ... within these numbers of pieces */
    GET_WINDOW_MAX = 32,
    TABLE_LEN_FIRST = 64,
};

struct rma_transfer {
    pen_op *op; /* NULL: this number is free */
    char *remote, *local;
    pen_device *device; /* device that local is an address of; NULL: host memory */
    uint64_t offset;    /* offset of remote in the target's segment */
    size_t len, sent;
    uint32_t generation; /* generation of this number: one more each time it is freed */
    uint32_t next;       /* next in the free or the stalled list */
    uint32_t jobrank, segment, pieces; /* in flight */
    uint16_t ep_index;
    bool lends; /* local may be read until op reports that its source is free */
    int value;
    rma_kind kind;
};

/* Arguments, in order; 64-bit ones take two, low half first:
 *   PUT       number, generation, segment, offset (2); body: the data
 *   MEMSET    number, generation, segment, offset (2), length, value
 *   PUT_DONE  number, generation, outcome: of a piece of either
 *   GET       number, generation, segment, offset (2), length, place in the transfer (2)
 *   GET_DATA  number, generation, place in the transfer (2), outcome; body: the data */
enum { PUT_ARGS = 5, GET_ARGS = 8, SET_ARGS = 7, DONE_ARGS = 3, DATA_ARGS = 5 };
enum { ANSWER_OK = 0, ANSWER_OUTSIDE = 1 };

/* ---- the table (under rma->lock) ------------------------------------------------------------- */

static PEN_COLD void table_grow(pen_job *job)
{
    pen_rma *rma = job->rma;
    uint32_t count = rma->transfer_count == 0 ? TABLE_LEN_FIRST : rma->transfer_count * 2;
    rma_transfer *table = count == 0 ? NULL : realloc(rma->transfers, count * sizeof *table);
    if (table == NULL)
        pen_job_fatal(job,
                      "cannot start a put or get with %u of them in flight: realloc: %s; keep "
                      "fewer in flight at once",
                      rma->transfer_count, strerror(count == 0 ? EOVERFLOW : errno));
    for (uint32_t i = count; i-- > rma->transfer_count;) {
        table[i] = (rma_transfer){ .next = rma->transfer_free };
        rma->transfer_free = i;
    }
    rma->transfers = table;
    rma->transfer_count = count;
}

static uint32_t transfer_open(const rma_call *call, uint32_t segment, uint64_t offset, pen_op *op)
{
    pen_rma *rma = call->ask.job->rma;
    if (rma->transfer_free == NONE)
        table_grow(call->ask.job);
    uint32_t i = rma->transfer_free;
    rma_transfer *transfer = &rma->transfers[i];
    rma->transfer_free = transfer->next;
    *transfer = (rma_transfer){ .op = op,
                                .remote = call->ask.remote,
                                .local = call->ask.local,
                                .device = call->ask.device,
                                .offset = offset,
                                .len = call->ask.len,
                                .generation = transfer->generation,
                                .next = NONE,
                                .jobrank = call->ask.jobrank,
                                .ep_index = call->ask.ep_index,
                                .segment = segment,
                                .lends = call->kind == RMA_PUT && call->ask.device == NULL &&
                                         (call->when != PEN_LOCAL_NOW || call->blocking),
                                .value = call->value,
                                .kind = call->kind };
    return i;
}

static void transfer_close(pen_rma *rma, uint32_t i)
{
    rma_transfer *transfer = &rma->transfers[i];
    transfer->op = NULL;
    transfer->generation++;
    transfer->next = rma->transfer_free;
    rma->transfer_free = i;
}

/* Returns the live transfer that an answer names, or NULL. */
static rma_transfer *transfer_find(pen_rma *rma, const int32_t *args, pen_peer from, bool is_get)
{
    uint32_t i = (uint32_t)args[0];
    if (i >= rma->transfer_count)
        return NULL;
    rma_transfer *transfer = &rma->transfers[i];
    bool fits = transfer->op != NULL && transfer->generation == (uint32_t)args[1] &&
                transfer->jobrank == from && transfer->pieces != 0 &&
                (transfer->kind == RMA_GET) == is_get;
    return fits ? transfer : NULL;
}

/* Counts the answer to one piece. Returns the operation that has ended with it, or NULL. The caller
 * lowers its count, without the lock. */
static pen_op *transfer_answered(pen_rma *rma, rma_transfer *transfer)
{
    transfer->pieces--;
    if (transfer->pieces != 0 || transfer->sent != transfer->len)
        return NULL;
    pen_op *op = transfer->op;
    transfer_close(rma, (uint32_t)(transfer - rma->transfers));
    return op;
}

/* ---- sending (under rma->lock) --------------------------------------------------------------- */

static size_t piece_max(const pen_rma *rma, const rma_transfer *transfer)
{
    return transfer->kind == RMA_SET ? SET_PIECE_LEN : rma->piece_len;
}

/* The buffer of a piece between a device and a frame. Posting copies the frame, and no thread polls
 * with the lock held, so one buffer is enough. */
static PEN_COLD char *stage(pen_job *job, pen_device *device, const char *at, size_t len)
{
    pen_rma *rma = job->rma;
    if (rma->staging == NULL)
        rma->staging = malloc(rma->piece_len);
    if (rma->staging == NULL)
        pen_job_fatal(job, "cannot stage device memory: malloc: %s; start fewer ranks",
                      strerror(errno));
    pen_reach_by_device(job, NULL, rma->staging, device, at, len);
    return rma->staging;
}

static int put_piece_send(pen_job *job, const rma_transfer *transfer, const int32_t *args,
                          uint32_t len)
{
    const char *body = transfer->local + transfer->sent;
    if (transfer->lends)
        return pen_am_send_internal_for(job, transfer->jobrank, PEN_AM_INT_PUT, PUT_ARGS, args,
                                        body, len, transfer->op);
    if (pen_unlikely(transfer->device != NULL))
        body = stage(job, transfer->device, body, len);
    return pen_am_send_internal(job, transfer->jobrank, PEN_LANE_REQUEST, PEN_AM_INT_PUT, PUT_ARGS,
                                args, body, len);
}

/* Returns non-zero if there is no room. */
static int piece_send(pen_job *job, uint32_t i, const rma_transfer *transfer, uint32_t len)
{
    int32_t args[GET_ARGS] = { (int32_t)i, (int32_t)transfer->generation,
                               (int32_t)transfer->segment };
    pen_am_arg_put_u64(&args[3], transfer->offset + transfer->sent);
    args[5] = (int32_t)len;
    switch (transfer->kind) {
    case RMA_PUT:
        return put_piece_send(job, transfer, args, len);
    case RMA_SET:
        args[6] = transfer->value;
        return pen_am_send_internal(job, transfer->jobrank, PEN_LANE_REQUEST, PEN_AM_INT_MEMSET,
                                    SET_ARGS, args, NULL, 0);
    default:
        pen_am_arg_put_u64(&args[6], transfer->sent);
        return pen_am_send_internal(job, transfer->jobrank, PEN_LANE_REQUEST, PEN_AM_INT_GET,
                                    GET_ARGS, args, NULL, 0);
    }
}

/* Sends pieces while there is room and the window allows. Returns how many. */
static unsigned transfer_pump(pen_job *job, uint32_t i)
{
    pen_rma *rma = job->rma;
    rma_transfer *transfer = &rma->transfers[i];
    size_t max = piece_max(rma, transfer);
    unsigned pieces = 0;
    while (transfer->sent < transfer->len &&
           (transfer->kind != RMA_GET || transfer->pieces < rma->window)) {
        size_t left = transfer->len - transfer->sent;
        uint32_t len = (uint32_t)(left < max ? left : max);
        if (piece_send(job, i, transfer, len) != 0)
            break;
        transfer->sent += len;
        transfer->pieces++;
        pieces++;
    }
    return pieces;
}

static void stall(pen_job *job, uint32_t i)
{
    pen_rma *rma = job->rma;
    rma->transfers[i].next = NONE;
    if (rma->stalled_first == NONE)
        rma->stalled_first = i;
    else
        rma->transfers[rma->stalled_last].next = i;
    rma->stalled_last = i;
}

/* Called by the poll loop: requests further pieces of gets that could not request all at once. */
static unsigned stalled_poll(void *ctx)
{
    pen_job *job = ctx;
    pen_rma *rma = job->rma;
    unsigned pieces = 0;
    if (!pen_lock_try(&rma->lock))
        return 0; /* the holder does this work, or adds to the list */
    uint32_t i = rma->stalled_first;
    rma->stalled_first = rma->stalled_last = NONE;
    while (i != NONE) {
        uint32_t next = rma->transfers[i].next;
        pieces += transfer_pump(job, i);
        if (rma->transfers[i].sent < rma->transfers[i].len)
            stall(job, i);
        else
            pen_progress_wait_for_room(&job->progress, -1);
        i = next;
    }
    pen_lock_drop(&rma->lock);
    return pieces;
}

static uint32_t transfer_rank(pen_rma *rma, uint32_t i)
{
    pen_lock_take(&rma->lock);
    uint32_t jobrank = rma->transfers[i].jobrank;
    pen_lock_drop(&rma->lock);
    return jobrank;
}

/* Sends the rest of a put or memset; polls for room, so handlers may run and the transfer may end
 * at any poll. */
static void send_rest(pen_job *job, uint32_t i)
{
    pen_rma *rma = job->rma;
    pen_wait what = pen_wait_for(PEN_CALL_PUT, PEN_AWAITED_ROOM, transfer_rank(rma, i), NULL);
    pen_waiter waiter = pen_waiter_for(&job->progress, false, &what);
    for (;;) {
        pen_lock_take(&rma->lock);
        (void)transfer_pump(job, i);
        bool all_sent = rma->transfers[i].sent == rma->transfers[i].len;
        pen_lock_drop(&rma->lock);
        if (all_sent)
            break; /* answers own the transfer now: do not touch it */
        pen_job_count(job, &job->counters.again_room);
        pen_wait_step(&waiter);
    }
    pen_wait_end(&waiter);
}

bool pen_rma_by_messages(const rma_call *call, uint32_t segment, uint64_t offset, pen_op *op)
{
    pen_job *job = call->ask.job;
    pen_rma *rma = job->rma;
    pen_count_raise(&op->incomplete, op->shared);
    pen_lock_take(&rma->lock);
    uint32_t i = transfer_open(call, segment, offset, op);
    unsigned pieces = transfer_pump(job, i);
    bool refused = pieces == 0 && call->immediate;
    bool all_sent = rma->transfers[i].sent == call->ask.len;
    if (refused) {
        transfer_close(rma, i);
    } else if (!all_sent && call->kind == RMA_GET) {
        stall(job, i);
        pen_progress_wait_for_room(&job->progress, 1);
    }
    pen_lock_drop(&rma->lock);
    if (refused)
        (void)pen_count_drop(&op->incomplete, op->shared); /* the caller's own count remains */
    else if (!all_sent && call->kind != RMA_GET)
        send_rest(job, i);
    return !refused;
}

/* ---- at the target --------------------------------------------------------------------------- */

/* Returns the piece's memory, and the device it is on (NULL: host memory). If the piece is outside
 * all segments of this rank, counts it and returns NULL. */
static char *piece_resolve(pen_job *job, const int32_t *args, uint64_t len, pen_device **device)
{
    uint32_t number = (uint32_t)args[2];
    uint64_t offset = pen_am_arg_u64(&args[3]);
    char *at = pen_mem_resolve(&job->mem, number, offset, len);
    *device = NULL;
    if (pen_unlikely(at == NULL))
        *device = pen_mem_resolve_device(&job->mem, number, offset, len, &at);
    if (at == NULL)
        pen_am_drop(job);
    return at;
}

static PEN_COLD void device_write(pen_job *job, pen_device *device, char *to, const void *body,
                                  uint32_t len)
{
    if (len != 0)
        pen_reach_by_device(job, device, to, NULL, body, len);
}

static void answer_done(pen_token *token, const int32_t *request, bool ok)
{
    int32_t args[DONE_ARGS] = { request[0], request[1], ok ? ANSWER_OK : ANSWER_OUTSIDE };
    (void)pen_am_send_internal(token->job, token->from, PEN_LANE_REPLY, PEN_AM_INT_PUT_DONE,
                               DONE_ARGS, args, NULL, 0);
}

static void handle_put(pen_token *token, const int32_t *args, unsigned arg_count, void *body,
                       uint32_t body_len)
{
    pen_job *job = token->job;
    if (!token->is_request || arg_count != PUT_ARGS) {
        pen_am_drop(job);
        return;
    }
    pen_device *device;
    char *to = piece_resolve(job, args, body_len, &device);
    if (pen_unlikely(device != NULL))
        device_write(job, device, to, body, body_len);
    else if (to != NULL && body_len == sizeof(uint64_t))
        memcpy(to, body, sizeof(uint64_t)); /* clients expect a single access of a word */
    else if (to != NULL && body_len != 0)
        pen_copy(&job->copies, to, body, body_len);
    answer_done(token, args, to != NULL);
}

static void handle_set(pen_token *token, const int32_t *args, unsigned arg_count, void *body,
                       uint32_t body_len)
{
    (void)body;
    pen_job *job = token->job;
    if (!token->is_request || arg_count != SET_ARGS || body_len != 0 ||
        (uint32_t)args[5] > SET_PIECE_LEN) {
        pen_am_drop(job);
        return;
    }
    pen_device *device;
    char *to = piece_resolve(job, args, (uint32_t)args[5], &device);
    if (device != NULL) /* no call of a client reaches this */
        to = NULL;
    if (to != NULL)
        memset(to, args[6], (uint32_t)args[5]);
    answer_done(token, args, to != NULL);
}

static void handle_get(pen_token *token, const int32_t *args, unsigned arg_count, void *body,
                       uint32_t body_len)
{
    (void)body;
    pen_job *job = token->job;
    uint32_t len = arg_count == GET_ARGS ? (uint32_t)args[5] : 0;
    if (!token->is_request || arg_count != GET_ARGS || body_len != 0 || len > job->rma->piece_len) {
        pen_am_drop(job);
        return;
    }
    pen_device *device;
    char *from = piece_resolve(job, args, len, &device);
    int32_t answer[DATA_ARGS] = { args[0], args[1], args[6], args[7],
                                  from != NULL ? ANSWER_OK : ANSWER_OUTSIDE };
    if (pen_unlikely(device != NULL && len != 0)) {
        pen_lock_take(&job->rma->lock);
        (void)pen_am_send_internal(job, token->from, PEN_LANE_REPLY, PEN_AM_INT_GET_DATA, DATA_ARGS,
                                   answer, stage(job, device, from, len), len);
        pen_lock_drop(&job->rma->lock);
        return;
    }
    (void)pen_am_send_internal(job, token->from, PEN_LANE_REPLY, PEN_AM_INT_GET_DATA, DATA_ARGS,
                               answer, from, from != NULL ? len : 0);
}

/* ---- answers, at the initiator --------------------------------------------------------------- */

static void handle_done(pen_token *token, const int32_t *args, unsigned arg_count, void *body,
                        uint32_t body_len)
{
    (void)body;
    (void)body_len;
    pen_job *job = token->job;
    pen_rma *rma = job->rma;
    pen_lock_take(&rma->lock);
    rma_transfer *transfer =
        arg_count == DONE_ARGS ? transfer_find(rma, args, token->from, false) : NULL;
    if (transfer == NULL) {
        pen_lock_drop(&rma->lock);
        pen_am_drop(job);
        return;
    }
    if (args[2] != ANSWER_OK)
        pen_rma_refuse(job, transfer->kind, transfer->jobrank, transfer->ep_index, transfer->remote,
                       transfer->len);
    pen_op *op = transfer_answered(rma, transfer);
    pen_lock_drop(&rma->lock);
    if (op != NULL)
        pen_op_done(op);
}

/* Whether this is a piece that this rank may have requested. */
static bool piece_fits(const pen_rma *rma, const rma_transfer *transfer, uint64_t at,
                       uint32_t body_len)
{
    if (at >= transfer->sent || at % rma->piece_len != 0)
        return false;
    size_t left = transfer->len - at;
    return body_len == (left < rma->piece_len ? left : rma->piece_len);
}

static void handle_data(pen_token *token, const int32_t *args, unsigned arg_count, void *body,
                        uint32_t body_len)
{
    pen_job *job = token->job;
    pen_rma *rma = job->rma;
    pen_lock_take(&rma->lock);
    rma_transfer *transfer =
        arg_count == DATA_ARGS ? transfer_find(rma, args, token->from, true) : NULL;
    if (transfer != NULL && args[4] != ANSWER_OK)
        pen_rma_refuse(job, RMA_GET, transfer->jobrank, transfer->ep_index, transfer->remote,
                       transfer->len);
    uint64_t at = arg_count == DATA_ARGS ? pen_am_arg_u64(&args[2]) : 0;
    if (transfer == NULL || !piece_fits(rma, transfer, at, body_len)) {
        pen_lock_drop(&rma->lock);
        pen_am_drop(job);
        return;
    }
    /* Under the lock, because a second answer to the same piece must not write after the operation
     * has ended. */
    if (pen_unlikely(transfer->device != NULL))
        device_write(job, transfer->device, transfer->local + at, body, body_len);
    else
        pen_copy(&job->copies, transfer->local + at, body, body_len);
    pen_op *op = transfer_answered(rma, transfer);
    pen_lock_drop(&rma->lock);
    if (op != NULL)
        pen_op_done(op);
}

/* Returns the first transfer that an operation waits for, for reports. */
static bool explain(pen_job *job, const void *object, pen_wait_note *note)
{
    pen_rma *rma = job->rma;
    bool found = false;
    pen_lock_take(&rma->lock);
    for (uint32_t i = 0; !found && i < rma->transfer_count; i++) {
        const rma_transfer *transfer = &rma->transfers[i];
        found = transfer->op != NULL && transfer->op == object;
        if (found) {
            note->awaited = transfer->kind == RMA_GET ? PEN_AWAITED_GET : PEN_AWAITED_PUT;
            note->peer = transfer->jobrank;
        }
    }
    pen_lock_drop(&rma->lock);
    return found;
}

void pen_rma_messages_open(pen_job *job)
{
    pen_job_add_explainer(job, explain);
    pen_rma *rma = job->rma;
    rma->transfer_free = rma->stalled_first = rma->stalled_last = NONE;
    size_t piece_len = job->am->medium_max;
    rma->piece_len = (uint32_t)(piece_len < SET_PIECE_LEN ? piece_len : SET_PIECE_LEN);
    rma->window = GET_WINDOW_LEN / rma->piece_len;
    if (rma->window < GET_WINDOW_MIN)
        rma->window = GET_WINDOW_MIN;
    if (rma->window > GET_WINDOW_MAX)
        rma->window = GET_WINDOW_MAX;
    pen_am_register_internal(job, PEN_AM_INT_PUT, handle_put);
    pen_am_register_internal(job, PEN_AM_INT_PUT_DONE, handle_done);
    pen_am_register_internal(job, PEN_AM_INT_GET, handle_get);
    pen_am_register_internal(job, PEN_AM_INT_GET_DATA, handle_data);
    pen_am_register_internal(job, PEN_AM_INT_MEMSET, handle_set);
    pen_progress_add_source(&job->progress, stalled_poll, job);
}
