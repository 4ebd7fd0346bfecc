/* SPDX-License-Identifier: BSD-3-Clause */
/* rma.c: put, get and set: takes the way to the target that reach/ chooses, and reports completion
 * as the caller wants it.
 *
 * Copies by this process, by a device and by the kernel are done on return. Only the link's own put
 * and get, and messages, make an event. An immediate call is refused only if its first piece
 * finds no room: later pieces wait for room by polling, so a refused call has had no effect. */
#include "rma/rma.h"

#include "base/compiler.h"
#include "base/copy.h"
#include "base/status.h"
#include "boot/wait_state.h"
#include "conduit/conduit.h"
#include "job/fatal.h"
#include "job/job.h"
#include "job/team.h"
#include "job/thread.h"
#include "mem/kind.h"
#include "mem/mem.h"
#include "os/lock.h"
#include "progress/progress.h"
#include "reach/reach.h"
#include "rma/rma_internal.h"
#include "rma/watch.h"
#include "trace/event.h"

#include <errno.h>
#include <penstock/abi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- memory we can reach ourselves ----------------------------------------------------------- */

/* Clients share words by 1-, 2-, 4- and 8-byte puts and expect single accesses, so these lengths
 * are single moves. */
static void copy(const pen_job *job, void *to, const void *from, size_t len)
{
    switch (len) {
    case 1:
        memcpy(to, from, 1);
        break;
    case 2:
        memcpy(to, from, 2);
        break;
    case 4:
        memcpy(to, from, 4);
        break;
    case 8:
        memcpy(to, from, 8);
        break;
    default:
        pen_copy(&job->copies, to, from, len);
    }
}

static void copy_for(const rma_call *call, char *target)
{
    switch (call->kind) {
    case RMA_PUT:
        if (pen_unlikely(call->ask.device != NULL))
            pen_reach_by_device(call->ask.job, NULL, target, call->ask.device, call->ask.local,
                                call->ask.len);
        else
            copy(call->ask.job, target, call->ask.local, call->ask.len);
        break;
    case RMA_GET:
        if (pen_unlikely(call->ask.device != NULL))
            pen_reach_by_device(call->ask.job, call->ask.device, call->ask.local, NULL, target,
                                call->ask.len);
        else
            copy(call->ask.job, call->ask.local, target, call->ask.len);
        break;
    case RMA_SET:
        memset(target, call->value, call->ask.len);
        break;
    }
    /* release: what was put is visible before anything the client stores or sends after this;
     * acquire half: a get's data was read before anything the client loads after it */
    atomic_thread_fence(memory_order_acq_rel);
}

static void count_route(const rma_call *call, bool shared_memory)
{
    pen_job *job = call->ask.job;
    pen_job_count_moved(job, call->kind != RMA_GET, shared_memory, call->ask.len);
}

/* This rank's own memory on a device. */
static PEN_COLD void copy_device(const rma_call *call, const pen_reach *reach)
{
    if (call->kind == RMA_PUT)
        pen_reach_by_device(call->ask.job, reach->device, reach->at, call->ask.device,
                            call->ask.local, call->ask.len);
    else
        pen_reach_by_device(call->ask.job, call->ask.device, call->ask.local, reach->device,
                            reach->at, call->ask.len);
}

/* ---- the kernel's copy between processes ----------------------------------------------------- */

/* Handles the result of the kernel's copy. Returns true if it is done, false if the kernel refused.
 * An address that does not exist is the client's error. */
static bool kernel_done(pen_job *job, pen_status status, const char *name, uint32_t jobrank,
                        const void *remote, size_t len)
{
    if (status != PEN_OK && errno == EFAULT)
        pen_job_fatal(job,
                      "%s of %zu bytes at %p of rank %u: that memory does not exist on that rank, "
                      "or the local memory does not exist; "
                      "check the address and the length",
                      name, len, remote, jobrank);
    return status == PEN_OK;
}

static bool copy_by_kernel(const rma_call *call)
{
    pen_status status = pen_reach_by_kernel(call->ask.job, call->ask.jobrank, call->kind == RMA_PUT,
                                            call->ask.local, call->ask.remote, call->ask.len);
    return kernel_done(call->ask.job, status, call->kind == RMA_PUT ? "put" : "get",
                       call->ask.jobrank, call->ask.remote, call->ask.len);
}

bool pen_rma_move_lists(pen_job *job, uint32_t jobrank, bool is_put, struct iovec *local,
                        size_t local_count, struct iovec *remote, size_t remote_count)
{
    if (remote_count == 0 || !pen_reach_kernel_serves(job, jobrank))
        return false;
    size_t len = 0;
    for (size_t i = 0; i < remote_count; i++)
        len += remote[i].iov_len;
    const void *first = remote->iov_base;
    pen_status status =
        pen_reach_lists_by_kernel(job, jobrank, is_put, local, local_count, remote, remote_count);
    if (!kernel_done(job, status, is_put ? "scattered put" : "scattered get", jobrank, first, len))
        return false;
    pen_job_count_moved(job, is_put, true, len);
    return true;
}

/* ---- ways that are done on return ------------------------------------------------------------ */

/* Chooses a way to memory that is not mapped, and takes it if it is done on return. */
static bool done_far(const rma_call *call, pen_reach *reach)
{
    pen_reach_far(&call->ask, reach);
    switch (reach->way) {
    case PEN_REACH_DEVICE:
        copy_device(call, reach);
        return true;
    case PEN_REACH_KERNEL:
        if (copy_by_kernel(call))
            return true;
        pen_reach_far(&call->ask, reach); /* does not choose the kernel again */
        return false;
    default:
        return false;
    }
}

/* Tries all ways that are done on return. If it returns false, reach says how to start. */
static bool done_now(const rma_call *call, pen_reach *reach)
{
    if (call->ask.len == 0)
        return true;
    char *target = pen_reach_alias(call->ask.job, call->ask.ep_index, call->ask.jobrank,
                                   call->ask.remote, call->ask.len);
    if (target != NULL)
        copy_for(call, target);
    else if (!done_far(call, reach))
        return false;
    count_route(call, true);
    return true;
}

/* ---- the link's own put and get -------------------------------------------------------------- */

/* Makes a part of an implicit operation, with separate counts, because its source has to be waited
 * for alone. */
static void child_ends(pen_op *op)
{
    pen_event_root *child = pen_container_of(op, pen_event_root, op);
    pen_op *parent = child->parent;
    pen_event_give(child);
    pen_op_done(parent);
}

/* Posts every piece. Returns false if the call is immediate and the first piece found no room. A
 * piece that failed never completes: the peer is lost, and the thread that learns of it ends the
 * job. */
static bool link_post_all(const rma_call *call, const pen_reach *reach, pen_op *op)
{
    const pen_link *link = call->ask.job->routes[call->ask.jobrank].port->link;
    size_t piece_max = call->kind == RMA_PUT ? link->caps.put_max : link->caps.get_max;
    pen_wait what = pen_rma_wait_for(call, PEN_AWAITED_ROOM);
    pen_waiter waiter = pen_waiter_for(&call->ask.job->progress, false, &what);
    for (size_t done = 0; done < call->ask.len;) {
        size_t len = call->ask.len - done < piece_max ? call->ask.len - done : piece_max;
        pen_count_raise(&op->source_busy, op->shared);
        pen_count_raise(&op->incomplete, op->shared);
        pen_post result =
            pen_reach_by_link(call->ask.job, call->ask.jobrank, reach, call->kind == RMA_PUT, done,
                              call->ask.local + done, len, op);
        if (result != PEN_POST_PENDING)
            (void)pen_count_drop(&op->source_busy, op->shared);
        if (result == PEN_POST_DONE || result == PEN_POST_AGAIN)
            (void)pen_count_drop(&op->incomplete, op->shared); /* the caller's own count remains */
        if (result != PEN_POST_AGAIN) {
            done += len;
            continue;
        }
        if (call->immediate && done == 0)
            return false;
        pen_job_count(call->ask.job, &call->ask.job->counters.again_room);
        pen_wait_step(&waiter);
    }
    pen_wait_end(&waiter);
    return true;
}

static bool link_start(const rma_call *call, const pen_reach *reach, pen_op *op)
{
    if (call->kind != RMA_PUT || call->when != PEN_LOCAL_NOW || call->blocking)
        return link_post_all(call, reach, op);
    pen_event_root *child = pen_event_take(&pen_rma_thread_of(call->thread)->pool);
    child->parent = op;
    child->op.then = child_ends; /* this count keeps it from ending before the last line */
    pen_count_raise(&op->incomplete, op->shared);
    bool started = link_post_all(call, reach, &child->op);
    pen_wait what = pen_rma_wait_for(call, PEN_AWAITED_PUT);
    pen_waiter waiter = pen_waiter_for(&call->ask.job->progress, true, &what);
    while (!pen_count_is_zero(&child->op.source_busy))
        pen_wait_step(&waiter);
    pen_wait_end(&waiter);
    pen_op_done(&child->op);
    return started;
}

/* ---- every way ------------------------------------------------------------------------------- */

PEN_COLD _Noreturn void pen_rma_refuse(pen_job *job, rma_kind kind, uint32_t jobrank,
                                       uint16_t ep_index, const void *remote, size_t len)
{
    static const char *const names[] = { "put", "get", "memset" };
    const char *name = names[kind];
    const pen_remote_segment *segment = pen_mem_remote_row(&job->mem, ep_index, jobrank);
    if (segment == NULL || segment->len == 0) {
        if (ep_index != 0)
            pen_job_fatal(job,
                          "%s of %zu bytes at %p of rank %u: no segment of its endpoint %u is "
                          "known here; bind one there and publish it on both ranks first",
                          name, len, remote, jobrank, ep_index);
        pen_job_fatal(
            job,
            "%s of %zu bytes at %p of rank %u: that rank has no segment; attach one on every "
            "rank first",
            name, len, remote, jobrank);
    }
    char endpoint[32] = "";
    if (ep_index != 0)
        (void)snprintf(endpoint, sizeof endpoint, " of endpoint %u", ep_index);
    pen_job_fatal(
        job,
        "%s of %zu bytes at %p of rank %u is outside its segment%s [0x%llx, 0x%llx); check the "
        "address and the length",
        name, len, remote, jobrank, endpoint, (unsigned long long)segment->base,
        (unsigned long long)(segment->base + segment->len));
}

/* Starts an operation that cannot be done now. The caller holds one count of op, so op cannot end
 * meanwhile. */
static bool start(const rma_call *call, const pen_reach *reach, pen_op *op)
{
    pen_job *job = call->ask.job;
    if (reach->way == PEN_REACH_NOWHERE)
        pen_rma_refuse(job, call->kind, call->ask.jobrank, call->ask.ep_index, call->ask.remote,
                       call->ask.len);
    bool by_link = reach->way == PEN_REACH_LINK;
    bool started = by_link ? link_start(call, reach, op)
                           : pen_rma_by_messages(call, reach->segment->number, reach->offset, op);
    if (started)
        count_route(call, by_link && (job->routes[call->ask.jobrank].port->link->caps.flags &
                                      PEN_CAP_SAME_HOST) != 0);
    return started;
}

/* Checks what every path requires. */
static rma_call call_of(pen_thread *thread, pen_team *team, uint32_t rank, rma_kind kind,
                        const void *remote, const void *local, size_t len)
{
    PEN_ASSERT(thread->handler_depth == 0); /* put and get are illegal in a handler */
    uint32_t size = team->view.size != 0 ? team->view.size : thread->job->size;
    if (pen_unlikely(rank >= size))
        pen_job_fatal(thread->job, "put or get: there is no rank %u in a team of %u", rank, size);
    pen_device *device = NULL;
    /* relaxed: the thread that made the segment has told this thread of it by its own means */
    if (pen_unlikely(
            atomic_load_explicit(&thread->job->mem.device_segments, memory_order_relaxed) != 0) &&
        len != 0)
        device = pen_reach_local_device(team, local, len);
    return (rma_call){ .thread = thread,
                       .ask = { .job = thread->job,
                                .jobrank = pen_team_jobrank(team, rank),
                                .ep_index = pen_team_ep_index(team, rank),
                                .is_set = kind == RMA_SET,
                                .remote = (char *)(uintptr_t)remote,
                                .local = (char *)(uintptr_t)local,
                                .device = device,
                                .len = len },
                       .kind = kind,
                       .when = PEN_LOCAL_DEFER };
}

/* When a call of a traced job began; 0: the job is not traced. */
static inline uint64_t trace_begin(const rma_call *call)
{
    return pen_unlikely(call->ask.job->trace != NULL) ? pen_trace_ticks() : 0;
}

static inline void trace_end(const rma_call *call, uint64_t at, bool under_way)
{
    if (pen_unlikely(at != 0))
        pen_rma_trace(call, at, under_way, 0);
}

static pen_event *start_nb(const rma_call *call, pen_event **leaf)
{
    pen_reach reach;
    const uint64_t at = trace_begin(call);
    if (leaf != NULL)
        *leaf = PEN_EVENT_DONE;
    if (done_now(call, &reach)) {
        trace_end(call, at, false);
        return PEN_EVENT_DONE;
    }
    pen_event_root *root = pen_event_take(&pen_rma_thread_of(call->thread)->pool);
    if (start(call, &reach, &root->op)) {
        if (pen_unlikely(at != 0)) {
            root->traced = pen_rma_trace_number(call->ask.job);
            pen_rma_trace(call, at, true, root->traced);
        }
        return pen_event_settle(root, leaf);
    }
    pen_event_give(root);
    return PEN_EVENT_NO_OP;
}

static int start_nbi(const rma_call *call)
{
    pen_reach reach;
    const uint64_t at = trace_begin(call);
    if (done_now(call, &reach)) {
        trace_end(call, at, false);
        return 0;
    }
    pen_op *op = pen_nbi_op(call->thread, call->kind == RMA_GET ? PEN_EC_GET : PEN_EC_PUT);
    pen_count_raise(&op->incomplete, op->shared);
    bool started = start(call, &reach, op);
    if (started)
        trace_end(call, at, true);
    pen_op_done(op);
    return !started;
}

static int start_blocking(rma_call *call)
{
    pen_reach reach;
    const uint64_t at = trace_begin(call);
    if (done_now(call, &reach)) {
        trace_end(call, at, false);
        return 0;
    }
    pen_op op = { .shared = call->ask.job->concurrency != PEN_ALONE };
    call->blocking = true;
    pen_count_raise(&op.incomplete, op.shared);
    bool started = start(call, &reach, &op);
    pen_op_done(&op);
    pen_wait what =
        pen_rma_wait_for(call, call->kind == RMA_GET ? PEN_AWAITED_GET : PEN_AWAITED_PUT);
    pen_waiter waiter = pen_waiter_for(&call->ask.job->progress, true, &what);
    while (!pen_count_is_zero(&op.incomplete))
        pen_wait_step(&waiter);
    pen_wait_end(&waiter);
    if (started)
        trace_end(call, at, false);
    return !started;
}

/* ---- what callers see ------------------------------------------------------------------------ */

pen_event *pen_rma_put_nb(pen_thread *thread, pen_team *team, uint32_t rank, void *dest,
                          const void *source, size_t len, pen_local local, pen_event **leaf,
                          uint32_t flags)
{
    rma_call call = call_of(thread, team, rank, RMA_PUT, dest, source, len);
    call.when = local;
    call.immediate = flags & PEN_RMA_IMMEDIATE;
    return start_nb(&call, local == PEN_LOCAL_LEAF ? leaf : NULL);
}

pen_event *pen_rma_get_nb(pen_thread *thread, pen_team *team, void *dest, uint32_t rank,
                          const void *source, size_t len, uint32_t flags)
{
    rma_call call = call_of(thread, team, rank, RMA_GET, source, dest, len);
    call.immediate = flags & PEN_RMA_IMMEDIATE;
    return start_nb(&call, NULL);
}

pen_event *pen_rma_set_nb(pen_thread *thread, pen_team *team, uint32_t rank, void *dest, int value,
                          size_t len)
{
    rma_call call = call_of(thread, team, rank, RMA_SET, dest, NULL, len);
    call.value = value;
    return start_nb(&call, NULL);
}

int pen_rma_put_nbi(pen_thread *thread, pen_team *team, uint32_t rank, void *dest,
                    const void *source, size_t len, pen_local local, uint32_t flags)
{
    rma_call call = call_of(thread, team, rank, RMA_PUT, dest, source, len);
    call.when = local;
    call.immediate = flags & PEN_RMA_IMMEDIATE;
    return start_nbi(&call);
}

int pen_rma_get_nbi(pen_thread *thread, pen_team *team, void *dest, uint32_t rank,
                    const void *source, size_t len, uint32_t flags)
{
    rma_call call = call_of(thread, team, rank, RMA_GET, source, dest, len);
    call.immediate = flags & PEN_RMA_IMMEDIATE;
    return start_nbi(&call);
}

int pen_rma_set_nbi(pen_thread *thread, pen_team *team, uint32_t rank, void *dest, int value,
                    size_t len)
{
    rma_call call = call_of(thread, team, rank, RMA_SET, dest, NULL, len);
    call.value = value;
    return start_nbi(&call);
}

int pen_rma_put(pen_thread *thread, pen_team *team, uint32_t rank, void *dest, const void *source,
                size_t len, uint32_t flags)
{
    rma_call call = call_of(thread, team, rank, RMA_PUT, dest, source, len);
    call.immediate = flags & PEN_RMA_IMMEDIATE;
    return start_blocking(&call);
}

int pen_rma_get(pen_thread *thread, pen_team *team, void *dest, uint32_t rank, const void *source,
                size_t len, uint32_t flags)
{
    rma_call call = call_of(thread, team, rank, RMA_GET, source, dest, len);
    call.immediate = flags & PEN_RMA_IMMEDIATE;
    return start_blocking(&call);
}

/* ---- open and close -------------------------------------------------------------------------- */

pen_status pen_rma_open(pen_job *job)
{
    pen_rma *rma = pen_job_calloc(job, 1, sizeof *rma, "the state of puts and gets");
    if (rma == NULL)
        return PEN_ERR_MEMORY;
    pen_lock_init(&rma->lock, job->concurrency);
    job->rma = rma;
    if (pen_watch_open(job) != PEN_OK) {
        free(rma);
        job->rma = NULL;
        return PEN_ERR_MEMORY;
    }
    pen_rma_messages_open(job);
    return PEN_OK;
}

static void close_thread(pen_thread *thread)
{
    if (thread->rma != NULL)
        pen_event_pool_close(&thread->rma->pool);
    free(thread->rma);
    thread->rma = NULL;
}

void pen_rma_close(pen_job *job)
{
    pen_watch_close(job);
    close_thread(&job->first_thread);
    for (pen_thread *thread = job->first_thread.next; thread != NULL; thread = thread->next)
        close_thread(thread);
    if (job->rma != NULL) {
        free(job->rma->transfers);
        free(job->rma->staging);
    }
    free(job->rma);
    job->rma = NULL;
}
