/* SPDX-License-Identifier: BSD-3-Clause */
/* atomic_message.c: atomic operations on memory that only its owner can reach. The target's handler
 * performs the operation and answers with the old value.
 *
 * A request is named by its number in the initiator's table and the number's generation, never by a
 * pointer. An answer that fits no live request to that peer is counted and dropped. The target
 * keeps no state. */
#include "am/am.h"
#include "atomic/atomic_internal.h"
#include "base/compiler.h"
#include "boot/wait_state.h"
#include "conduit/conduit.h"
#include "job/fatal.h"
#include "job/job.h"
#include "job/waits.h"
#include "mem/mem.h"
#include "os/lock.h"
#include "progress/progress.h"
#include "rma/event.h"

#include <errno.h>
#include <penstock/abi.h>
#include <penstock/types.h>
#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX
enum { TABLE_LEN_FIRST = 64 };

/* Arguments, in order; 64-bit ones take two, low half first:
 *   ATOMIC       number, generation, segment, offset (2), operation, type, operand (2), second (2)
 *   ATOMIC_DONE  number, generation, outcome, old value (2) */
enum { REQUEST_ARGS = 11, DONE_ARGS = 5 };
enum { ANSWER_OK = 0, ANSWER_OUTSIDE = 1 };

/* ---- the table (under the lock) -------------------------------------------------------------- */

static PEN_COLD void table_grow(pen_job *job)
{
    struct pen_atomic *atomic = job->atomic;
    uint32_t count = atomic->request_count == 0 ? TABLE_LEN_FIRST : atomic->request_count * 2;
    atomic_request *table = count == 0 ? NULL : realloc(atomic->requests, count * sizeof *table);
    if (table == NULL)
        pen_job_fatal(job,
                      "cannot start an atomic operation with %u of them in flight: realloc: %s; "
                      "keep fewer in flight at once",
                      atomic->request_count, strerror(count == 0 ? EOVERFLOW : errno));
    for (uint32_t i = count; i-- > atomic->request_count;) {
        table[i] = (atomic_request){ .next = atomic->request_free };
        atomic->request_free = i;
    }
    atomic->requests = table;
    atomic->request_count = count;
}

static uint32_t request_open(pen_job *job, const atomic_place *place, const pen_atomic_call *call,
                             pen_op *op)
{
    struct pen_atomic *atomic = job->atomic;
    if (atomic->request_free == NONE)
        table_grow(job);
    uint32_t i = atomic->request_free;
    atomic_request *request = &atomic->requests[i];
    atomic->request_free = request->next;
    *request = (atomic_request){ .op = op,
                                 .result = pen_atomic_fetches(call->op) ? call->result : NULL,
                                 .generation = request->generation,
                                 .next = NONE,
                                 .place = *place };
    return i;
}

static void request_close(struct pen_atomic *atomic, uint32_t i)
{
    atomic_request *request = &atomic->requests[i];
    request->op = NULL;
    request->generation++;
    request->next = atomic->request_free;
    atomic->request_free = i;
}

/* Returns the live request that an answer names, or NULL. */
static atomic_request *request_find(struct pen_atomic *atomic, const int32_t *args, pen_peer from)
{
    uint32_t i = (uint32_t)args[0];
    if (i >= atomic->request_count)
        return NULL;
    atomic_request *request = &atomic->requests[i];
    bool fits = request->op != NULL && request->generation == (uint32_t)args[1] &&
                request->place.jobrank == from;
    return fits ? request : NULL;
}

/* ---- at the initiator ------------------------------------------------------------------------ */

bool atomic_by_message(pen_job *job, const atomic_place *place, const pen_atomic_call *call,
                       uint32_t segment, uint64_t offset, pen_op *op)
{
    struct pen_atomic *atomic = job->atomic;
    int32_t args[REQUEST_ARGS] = {
        [2] = (int32_t)segment, [5] = (int32_t)call->op, [6] = (int32_t)call->type
    };
    pen_am_arg_put_u64(&args[3], offset);
    pen_am_arg_put_u64(&args[7], call->operands[0]);
    pen_am_arg_put_u64(&args[9], call->operands[1]);
    pen_lock_take(&atomic->lock);
    const uint32_t i = request_open(job, place, call, op);
    args[0] = (int32_t)i;
    args[1] = (int32_t)atomic->requests[i].generation;
    pen_lock_drop(&atomic->lock);
    pen_count_raise(&op->incomplete, op->shared);
    pen_wait what = pen_wait_for(PEN_CALL_ATOMIC, PEN_AWAITED_ROOM, place->jobrank, NULL);
    pen_waiter waiter = pen_waiter_for(&job->progress, false, &what);
    while (pen_am_send_internal(job, place->jobrank, PEN_LANE_REQUEST, PEN_AM_INT_ATOMIC,
                                REQUEST_ARGS, args, NULL, 0) != 0) {
        if ((call->flags & GEX_FLAG_IMMEDIATE) != 0) {
            pen_lock_take(&atomic->lock);
            request_close(atomic, i);
            pen_lock_drop(&atomic->lock);
            (void)pen_count_drop(&op->incomplete, op->shared); /* the caller's own count remains */
            return false;
        }
        pen_job_count(job, &job->counters.again_room);
        pen_wait_step(&waiter);
    }
    pen_wait_end(&waiter);
    return true;
}

static void handle_done(pen_token *token, const int32_t *args, unsigned arg_count, void *body,
                        uint32_t body_len)
{
    (void)body;
    pen_job *job = token->job;
    struct pen_atomic *atomic = job->atomic;
    pen_lock_take(&atomic->lock);
    atomic_request *request =
        arg_count == DONE_ARGS && body_len == 0 ? request_find(atomic, args, token->from) : NULL;
    if (request == NULL) {
        pen_lock_drop(&atomic->lock);
        pen_am_drop(job);
        return;
    }
    if (args[2] != ANSWER_OK)
        atomic_refuse(job, &request->place);
    /* Under the lock, because a second answer must not write after the operation has ended. */
    if (request->result != NULL)
        pen_atomic_store_result(request->result, request->place.len, pen_am_arg_u64(&args[3]));
    pen_op *op = request->op;
    request_close(atomic, (uint32_t)(request - atomic->requests));
    pen_lock_drop(&atomic->lock);
    pen_op_done(op);
}

/* ---- at the target --------------------------------------------------------------------------- */

/* Checks that the operation exists for the type. */
static bool is_operation(uint32_t type, uint32_t op)
{
    return pen_atomic_type_is_valid(type) && op != 0 && (op & (op - 1)) == 0 &&
           (op & pen_atomic_ops_of(type)) != 0;
}

static void handle_atomic(pen_token *token, const int32_t *args, unsigned arg_count, void *body,
                          uint32_t body_len)
{
    (void)body;
    pen_job *job = token->job;
    if (!token->is_request || arg_count != REQUEST_ARGS || body_len != 0 ||
        !is_operation((uint32_t)args[6], (uint32_t)args[5])) {
        pen_am_drop(job);
        return;
    }
    const uint32_t op = (uint32_t)args[5], type = (uint32_t)args[6];
    const size_t len = pen_atomic_len(type);
    int32_t answer[DONE_ARGS] = { args[0], args[1], ANSWER_OUTSIDE };
    void *target = pen_mem_resolve(&job->mem, (uint32_t)args[2], pen_am_arg_u64(&args[3]), len);
    if (target != NULL && (uintptr_t)target % len == 0) {
        const uint64_t operands[2] = { pen_am_arg_u64(&args[7]), pen_am_arg_u64(&args[9]) };
        pen_am_arg_put_u64(&answer[3], pen_atomic_apply(target, type, op, operands));
        answer[2] = ANSWER_OK;
    } else {
        pen_am_drop(job);
    }
    (void)pen_am_send_internal(job, token->from, PEN_LANE_REPLY, PEN_AM_INT_ATOMIC_DONE, DONE_ARGS,
                               answer, NULL, 0);
}

/* Returns the request that an operation waits for, for reports. */
static bool explain(pen_job *job, const void *object, pen_wait_note *note)
{
    struct pen_atomic *atomic = job->atomic;
    bool found = false;
    pen_lock_take(&atomic->lock);
    for (uint32_t i = 0; !found && i < atomic->request_count; i++) {
        const atomic_request *request = &atomic->requests[i];
        found = request->op != NULL && request->op == object;
        if (found) {
            note->awaited = PEN_AWAITED_ATOMIC;
            note->peer = request->place.jobrank;
        }
    }
    pen_lock_drop(&atomic->lock);
    return found;
}

void atomic_messages_open(pen_job *job)
{
    pen_job_add_explainer(job, explain);
    job->atomic->request_free = NONE;
    pen_am_register_internal(job, PEN_AM_INT_ATOMIC, handle_atomic);
    pen_am_register_internal(job, PEN_AM_INT_ATOMIC_DONE, handle_done);
}
