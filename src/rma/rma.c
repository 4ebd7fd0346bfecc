/* SPDX-License-Identifier: BSD-3-Clause */
/* rma.c: put, get and set: chooses the path to the target and reports completion as the caller
 * wants it.
 *
 * Paths, best first: this rank's own memory or a peer's mapped segment (a copy, done on return);
 * the kernel's copy between processes where any address is legal; the link's own put and get;
 * messages. Only the last two make an event. An immediate call is refused only if its first piece
 * finds no room: later pieces wait for room by polling, so a refused call has had no effect. */
#include "rma/rma.h"

#include "base/compiler.h"
#include "base/copy.h"
#include "base/status.h"
#include "boot/host_page.h"
#include "boot/wait_state.h"
#include "conduit/conduit.h"
#include "diag/counters.h"
#include "diag/log.h"
#include "job/fatal.h"
#include "job/job.h"
#include "job/team.h"
#include "job/thread.h"
#include "mem/kind.h"
#include "mem/mem.h"
#include "os/lock.h"
#include "os/os.h"
#include "progress/progress.h"
#include "rma/rma_internal.h"
#include "rma/watch.h"

#include <errno.h>
#include <penstock/abi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- memory we can reach ourselves ----------------------------------------------------------- */

/* Clients share words by 1-, 2-, 4- and 8-byte puts and expect single accesses, so these lengths
 * are single moves. */
static void copy(void *to, const void *from, size_t len)
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
        pen_copy(to, from, len);
    }
}

void pen_rma_device_check(pen_job *job, const pen_device *device, pen_status status, const void *at,
                          size_t len)
{
    if (pen_unlikely(status != PEN_OK))
        pen_job_fatal(job,
                      "cannot copy %zu bytes at %p of device %s: %s; keep the segment's memory "
                      "allocated while it is used",
                      len, at, device->kind->name, pen_status_text(status));
}

static PEN_COLD void device_copy_for(const rma_call *call, char *target)
{
    pen_device *device = call->device;
    pen_status status = call->kind == RMA_PUT
                            ? device->kind->read(device, target, call->local, call->len)
                            : device->kind->write(device, call->local, target, call->len);
    pen_rma_device_check(call->job, device, status, call->local, call->len);
}

static void copy_for(const rma_call *call, char *target)
{
    if (pen_unlikely(call->device != NULL)) {
        device_copy_for(call, target);
        atomic_thread_fence(memory_order_acq_rel); /* as below */
        return;
    }
    switch (call->kind) {
    case RMA_PUT:
        copy(target, call->local, call->len);
        break;
    case RMA_GET:
        copy(call->local, target, call->len);
        break;
    case RMA_SET:
        memset(target, call->value, call->len);
        break;
    }
    /* release: what was put is visible before anything the client stores or sends after this;
     * acquire half: a get's data was read before anything the client loads after it */
    atomic_thread_fence(memory_order_acq_rel);
}

static void count_route(const rma_call *call, bool shared_memory)
{
    pen_counters *counters = &call->job->counters;
    if (call->kind == RMA_GET)
        pen_job_count(call->job, shared_memory ? &counters->get_shm : &counters->get_net);
    else
        pen_job_count(call->job, shared_memory ? &counters->put_shm : &counters->put_net);
}

/* Returns the target's memory as this process sees it, or NULL. */
static char *mapped_alias(const rma_call *call)
{
    const pen_job *job = call->job;
    if (job->mapped[call->ep_index] != NULL) {
        const pen_mapped *row = &job->mapped[call->ep_index][call->jobrank];
        uintptr_t offset = (uintptr_t)call->remote - row->base;
        if (offset < row->len && call->len <= row->len - offset)
            return call->remote + row->delta;
    }
    uint64_t offset;
    if (call->jobrank != job->rank)
        return NULL;
    const pen_remote_segment *mine =
        pen_mem_remote(&job->mem, call->ep_index, job->rank, call->remote, call->len, &offset);
    return mine != NULL && !mine->is_device ? call->remote : NULL;
}

/* Copies to and from this rank's own device memory at the far side of the call: from and to host
 * memory, and within the device. A copy between two devices goes through a frame. */
static bool own_device_try(const rma_call *call)
{
    pen_mem *mem = &call->job->mem;
    uint64_t offset;
    char *at = NULL;
    if (call->jobrank != call->job->rank || call->kind == RMA_SET)
        return false;
    const pen_remote_segment *mine =
        pen_mem_remote(mem, call->ep_index, call->jobrank, call->remote, call->len, &offset);
    if (mine == NULL || !mine->is_device)
        return false;
    pen_device *device = pen_mem_resolve_device(mem, mine->number, offset, call->len, &at);
    if (device == NULL || (call->device != NULL && call->device != device))
        return false;
    pen_status status;
    if (call->device != NULL)
        status = call->kind == RMA_PUT ? device->kind->copy(device, at, call->local, call->len)
                                       : device->kind->copy(device, call->local, at, call->len);
    else
        status = call->kind == RMA_PUT ? device->kind->write(device, at, call->local, call->len)
                                       : device->kind->read(device, call->local, at, call->len);
    pen_rma_device_check(call->job, device, status, at, call->len);
    return true;
}

static bool has_device(const rma_call *call)
{
    const pen_remote_segment *row =
        pen_mem_remote_row(&call->job->mem, call->ep_index, call->jobrank);
    return call->device != NULL || (row != NULL && row->is_device);
}

/* ---- the kernel's copy between processes ----------------------------------------------------- */

/* Returns the process to name to the kernel, where any address is legal and the peer is on this
 * host; 0: take another path. */
static pid_t cma_pid(const pen_job *job, uint32_t jobrank)
{
    if (!job->mem.everything || !job->routes[jobrank].same_host)
        return 0;
    /* relaxed: at worst another thread asks the kernel once more */
    if (atomic_load_explicit(&job->rma->cma_refused, memory_order_relaxed))
        return 0;
    /* acquire: pairs with the release by which a rank shows that it has joined */
    const pen_host_rank *row = pen_host_row(job->boot.page, jobrank);
    return row == NULL ? 0 : (pid_t)atomic_load_explicit(&row->pid, memory_order_acquire);
}

/* Handles the result of the kernel's copy; true: done. If the kernel refuses, it is not asked
 * again. An address that does not exist is the client's error. */
static bool cma_done(pen_job *job, pen_status status, const char *name, uint32_t jobrank,
                     const void *remote, size_t len)
{
    if (status == PEN_OK) {
        atomic_thread_fence(memory_order_acq_rel); /* as after a copy by this process */
        return true;
    }
    if (errno == EFAULT)
        pen_job_fatal(job,
                      "%s of %zu bytes at %p of rank %u: that memory does not exist on that rank, "
                      "or the local memory does not exist; "
                      "check the address and the length",
                      name, len, remote, jobrank);
    atomic_store_explicit(&job->rma->cma_refused, true, memory_order_relaxed);
    pen_log_info(&job->log,
                 "the kernel does not let ranks copy each other's memory: %s; using messages",
                 strerror(errno));
    return false;
}

static bool cma_try(const rma_call *call)
{
    pid_t pid = call->kind == RMA_SET ? 0 : cma_pid(call->job, call->jobrank);
    if (pid == 0 || has_device(call))
        return false;
    errno = 0;
    pen_status status = call->kind == RMA_PUT
                            ? pen_cma_write(pid, call->local, call->remote, call->len)
                            : pen_cma_read(pid, call->local, call->remote, call->len);
    return cma_done(call->job, status, call->kind == RMA_PUT ? "put" : "get", call->jobrank,
                    call->remote, call->len);
}

bool pen_rma_move_lists(pen_job *job, uint32_t jobrank, bool is_put, struct iovec *local,
                        size_t local_count, struct iovec *remote, size_t remote_count)
{
    pid_t pid = cma_pid(job, jobrank);
    if (pid == 0 || remote_count == 0)
        return false;
    size_t len = 0;
    for (size_t i = 0; i < remote_count; i++)
        len += remote[i].iov_len;
    const void *first = remote->iov_base;
    errno = 0;
    pen_status status = is_put ? pen_cma_write_list(pid, local, local_count, remote, remote_count)
                               : pen_cma_read_list(pid, local, local_count, remote, remote_count);
    if (!cma_done(job, status, is_put ? "scattered put" : "scattered get", jobrank, first, len))
        return false;
    pen_job_count(job, is_put ? &job->counters.put_shm : &job->counters.get_shm);
    return true;
}

/* Tries all paths that are done on return. */
static bool done_now(const rma_call *call)
{
    if (call->len == 0)
        return true;
    char *target = mapped_alias(call);
    if (target != NULL) {
        copy_for(call, target);
    } else if (!own_device_try(call) && !cma_try(call)) {
        return false;
    }
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

static pen_post link_post(const rma_call *call, const pen_remote_segment *segment, uint64_t offset,
                          size_t done, size_t len, pen_op *op)
{
    const pen_route *route = &call->job->routes[call->jobrank];
    const pen_link *link = route->port->link;
    pen_post result;
    pen_lock_take(&route->port->post_lock);
    if (call->kind == RMA_PUT)
        result = link->rma->put(route->port->link, route->peer, offset + done, segment->key,
                                call->local + done, call->region, len, op);
    else
        result = link->rma->get(route->port->link, route->peer, offset + done, segment->key,
                                call->local + done, call->region, len, op);
    pen_lock_drop(&route->port->post_lock);
    return result;
}

/* Posts every piece. Returns false if the call is immediate and the first piece found no room. A
 * piece that failed never completes: the peer is lost, and the thread that learns of it ends the
 * job. */
static bool link_post_all(const rma_call *call, const pen_remote_segment *segment, uint64_t offset,
                          pen_op *op)
{
    const pen_link *link = call->job->routes[call->jobrank].port->link;
    size_t piece_max = call->kind == RMA_PUT ? link->caps.put_max : link->caps.get_max;
    pen_wait what = pen_rma_wait_for(call, PEN_AWAITED_ROOM);
    pen_waiter waiter = pen_waiter_for(&call->job->progress, false, &what);
    for (size_t done = 0; done < call->len;) {
        size_t len = call->len - done < piece_max ? call->len - done : piece_max;
        pen_count_raise(&op->source_busy, op->shared);
        pen_count_raise(&op->incomplete, op->shared);
        pen_post result = link_post(call, segment, offset, done, len, op);
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
        pen_job_count(call->job, &call->job->counters.again_room);
        pen_wait_step(&waiter);
    }
    pen_wait_end(&waiter);
    return true;
}

static bool link_start(const rma_call *call, const pen_remote_segment *segment, uint64_t offset,
                       pen_op *op)
{
    if (call->kind != RMA_PUT || call->when != PEN_LOCAL_NOW || call->blocking)
        return link_post_all(call, segment, offset, op);
    pen_event_root *child = pen_event_take(&pen_rma_thread_of(call->thread)->pool);
    child->parent = op;
    child->op.then = child_ends; /* this count keeps it from ending before the last line */
    pen_count_raise(&op->incomplete, op->shared);
    bool started = link_post_all(call, segment, offset, &child->op);
    pen_wait what = pen_rma_wait_for(call, PEN_AWAITED_PUT);
    pen_waiter waiter = pen_waiter_for(&call->job->progress, true, &what);
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

/* Returns whether the link itself can move the bytes; if the link needs it, finds the region of the
 * local side. */
static bool link_moves(rma_call *call, const pen_link *link)
{
    if (call->kind == RMA_SET || call->device != NULL || link->rma == NULL)
        return false;
    if (pen_likely((link->caps.flags & PEN_CAP_LOCAL_REGION) == 0))
        return true;
    call->region = pen_mem_region(&call->job->mem, link, call->local, call->len);
    return call->region != NULL;
}

/* Starts an operation that cannot be done now. The caller holds one count of op, so op cannot end
 * meanwhile. */
static bool start(const rma_call *call, pen_op *op)
{
    pen_job *job = call->job;
    uint64_t offset;
    const pen_remote_segment *segment =
        pen_mem_remote(&job->mem, call->ep_index, call->jobrank, call->remote, call->len, &offset);
    if (segment == NULL)
        pen_rma_refuse(job, call->kind, call->jobrank, call->ep_index, call->remote, call->len);
    const pen_link *link = job->routes[call->jobrank].port->link;
    rma_call known = *call;
    bool by_link = segment->has_key && link_moves(&known, link);
    bool started = by_link ? link_start(&known, segment, offset, op)
                           : pen_rma_by_messages(call, segment->number, offset, op);
    if (started)
        count_route(call, by_link && (link->caps.flags & PEN_CAP_SAME_HOST));
    return started;
}

/* Returns the device that the local memory is on, by the segment of the local endpoint. */
static PEN_COLD pen_device *device_of(pen_thread *thread, const pen_team *team, const char *local,
                                      size_t len)
{
    const pen_segment *segment = team->endpoint->segment;
    if (segment != NULL && segment->device != NULL) {
        size_t offset = (uintptr_t)local - (uintptr_t)segment->base; /* wraps below the base */
        if (offset < segment->len && len <= segment->len - offset)
            return segment->device;
    }
    if (pen_mem_is_device(&thread->job->mem, local, len))
        pen_job_fatal(thread->job,
                      "put or get: %zu bytes at %p on this side are on a device, and not all in "
                      "the segment of endpoint %u; use a pair of the endpoint whose segment has "
                      "them",
                      len, (const void *)local, team->endpoint->index);
    return NULL;
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
        device = device_of(thread, team, local, len);
    return (rma_call){ .thread = thread,
                       .job = thread->job,
                       .device = device,
                       .jobrank = pen_team_jobrank(team, rank),
                       .ep_index = pen_team_ep_index(team, rank),
                       .kind = kind,
                       .remote = (char *)(uintptr_t)remote,
                       .local = (char *)(uintptr_t)local,
                       .len = len,
                       .when = PEN_LOCAL_DEFER };
}

static pen_event *start_nb(const rma_call *call, pen_event **leaf)
{
    if (leaf != NULL)
        *leaf = PEN_EVENT_DONE;
    if (done_now(call))
        return PEN_EVENT_DONE;
    pen_event_root *root = pen_event_take(&pen_rma_thread_of(call->thread)->pool);
    if (start(call, &root->op))
        return pen_event_settle(root, leaf);
    pen_event_give(root);
    return PEN_EVENT_NO_OP;
}

static int start_nbi(const rma_call *call)
{
    if (done_now(call))
        return 0;
    pen_op *op = pen_nbi_op(call->thread, call->kind == RMA_GET ? PEN_EC_GET : PEN_EC_PUT);
    pen_count_raise(&op->incomplete, op->shared);
    bool started = start(call, op);
    pen_op_done(op);
    return !started;
}

static int start_blocking(rma_call *call)
{
    if (done_now(call))
        return 0;
    pen_op op = { .shared = call->job->concurrency != PEN_ALONE };
    call->blocking = true;
    pen_count_raise(&op.incomplete, op.shared);
    bool started = start(call, &op);
    pen_op_done(&op);
    pen_wait what =
        pen_rma_wait_for(call, call->kind == RMA_GET ? PEN_AWAITED_GET : PEN_AWAITED_PUT);
    pen_waiter waiter = pen_waiter_for(&call->job->progress, true, &what);
    while (!pen_count_is_zero(&op.incomplete))
        pen_wait_step(&waiter);
    pen_wait_end(&waiter);
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
