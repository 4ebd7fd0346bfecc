/* SPDX-License-Identifier: BSD-3-Clause */
/* reach.c: see reach.h: chooses a way, and moves bytes by the ways that need neither a message nor
 * a wait. */
#include "reach/reach.h"

#include "base/compiler.h"
#include "base/status.h"
#include "boot/host_page.h"
#include "conduit/conduit.h"
#include "diag/log.h"
#include "job/fatal.h"
#include "job/job.h"
#include "job/team.h"
#include "mem/kind.h"
#include "mem/mem.h"
#include "os/lock.h"
#include "os/os.h"

#include <errno.h>
#include <penstock/abi.h>
#include <string.h>

/* ---- mapped memory --------------------------------------------------------------------------- */

static bool endpoint_is_on_device(const pen_team *team)
{
    const pen_segment *segment = team->endpoint->segment;
    return segment != NULL && segment->device != NULL;
}

static bool peer_is_on_device(const pen_job *job, uint16_t ep_index, uint32_t jobrank)
{
    const pen_remote_segment *row = pen_mem_remote_row(&job->mem, ep_index, jobrank);
    return row != NULL && row->is_device;
}

pen_reach_range pen_reach_range_of(const pen_team *team, uint16_t ep_index, uint32_t jobrank)
{
    const pen_job *job = team->job;
    const pen_mapped *rows = job->mapped[ep_index];
    const pen_remote_segment *mine =
        jobrank == job->rank ? pen_mem_remote_row(&job->mem, ep_index, jobrank) : NULL;
    const bool is_device = mine != NULL && mine->is_device;
    if (endpoint_is_on_device(team))
        return (pen_reach_range){ 0, 0, 0 };
    if (jobrank == job->rank && job->mem.everything && !is_device)
        return (pen_reach_range){ 0, SIZE_MAX, 0 };
    if (rows != NULL && rows[jobrank].len != 0)
        return (pen_reach_range){ rows[jobrank].base, rows[jobrank].len, rows[jobrank].delta };
    if (mine == NULL || is_device)
        return (pen_reach_range){ 0, 0, 0 };
    return (pen_reach_range){ (uintptr_t)mine->base, mine->len, 0 };
}

bool pen_reach_arena_place(const pen_job *job, const char *memory, uint64_t *place)
{
    const pen_mem *mem = &job->mem;
    uintptr_t in_slice = (uintptr_t)memory - (uintptr_t)mem->slice; /* wraps below the slice */
    if (mem->slice == NULL || in_slice >= mem->slice_len)
        return false;
    *place = (uint64_t)(memory - job->boot.arena);
    return true;
}

const char *pen_reach_arena_at(const pen_job *job, uint32_t jobrank, uint64_t place, size_t offset,
                               size_t len)
{
    const pen_host_page *page = job->boot.page;
    const uint64_t whole = page->segment_stride;
    const uint64_t slice = page->segment_off + (uint64_t)(jobrank - page->first) * whole;
    if (offset > whole || len > whole - offset ||
        place - slice > whole - offset - len) /* wraps below the slice */
        return NULL;
    return job->boot.arena + place + offset;
}

/* ---- memory that is not mapped --------------------------------------------------------------- */

/* This rank's own device memory: from and to host memory, and within the device. A copy between
 * two devices goes through a frame. */
static PEN_COLD bool own_device_serves(const pen_reach_ask *ask, pen_reach *out)
{
    if (ask->is_set || out->segment == NULL || !out->segment->is_device)
        return false;
    char *at = NULL;
    pen_device *device =
        pen_mem_resolve_device(&ask->job->mem, out->segment->number, out->offset, ask->len, &at);
    if (device == NULL || (ask->device != NULL && ask->device != device))
        return false;
    out->device = device;
    out->at = at;
    return true;
}

/* In an EVERYTHING job only: in other jobs the target checks each address itself. */
static bool kernel_serves(const pen_reach_ask *ask)
{
    return !ask->is_set && ask->job->mem.everything &&
           pen_reach_kernel_serves(ask->job, ask->jobrank) && ask->device == NULL &&
           !peer_is_on_device(ask->job, ask->ep_index, ask->jobrank);
}

static bool link_serves(const pen_reach_ask *ask, pen_reach *out)
{
    const pen_link *link = ask->job->routes[ask->jobrank].port->link;
    if (!out->segment->has_key || ask->is_set || ask->device != NULL || link->rma == NULL)
        return false;
    if (pen_likely((link->caps.flags & PEN_CAP_LOCAL_REGION) == 0))
        return true;
    out->region = pen_mem_region(&ask->job->mem, link, ask->local, ask->len);
    return out->region != NULL;
}

void pen_reach_far(const pen_reach_ask *ask, pen_reach *out)
{
    const pen_job *job = ask->job;
    out->region = NULL;
    out->segment =
        pen_mem_remote(&job->mem, ask->ep_index, ask->jobrank, ask->remote, ask->len, &out->offset);
    if (pen_unlikely(ask->jobrank == job->rank) && own_device_serves(ask, out))
        out->way = PEN_REACH_DEVICE;
    else if (kernel_serves(ask))
        out->way = PEN_REACH_KERNEL;
    else if (pen_unlikely(out->segment == NULL))
        out->way = PEN_REACH_NOWHERE;
    else
        out->way = link_serves(ask, out) ? PEN_REACH_LINK : PEN_REACH_MESSAGES;
}

bool pen_reach_may_collect(const pen_team *team, uint16_t ep_index, uint32_t jobrank)
{
    return team->job->mem.everything && pen_reach_kernel_serves(team->job, jobrank) &&
           !endpoint_is_on_device(team) && !peer_is_on_device(team->job, ep_index, jobrank);
}

/* ---- the kernel ------------------------------------------------------------------------------ */

static pen_status kernel_result(pen_job *job, pen_status status)
{
    if (pen_likely(status == PEN_OK)) {
        /* release: what was put is visible before anything the client stores or sends after this;
         * acquire half: a get's data was read before anything the client loads after it */
        atomic_thread_fence(memory_order_acq_rel);
        return status;
    }
    const int error = errno;
    if (error != EFAULT) {
        /* relaxed: a hint, see pen_reach_kernel_serves */
        atomic_store_explicit(&job->kernel_refuses, true, memory_order_relaxed);
        pen_log_info(&job->log,
                     "the kernel does not let ranks copy each other's memory: %s; using messages",
                     strerror(error));
    }
    errno = error;
    return status;
}

pen_status pen_reach_by_kernel(pen_job *job, uint32_t jobrank, bool is_put, void *local,
                               void *remote, size_t len)
{
    pid_t pid = pen_reach_process(job, jobrank);
    return kernel_result(job, is_put ? pen_cma_write(pid, local, remote, len)
                                     : pen_cma_read(pid, local, remote, len));
}

pen_status pen_reach_lists_by_kernel(pen_job *job, uint32_t jobrank, bool is_put,
                                     struct iovec *local, size_t local_count, struct iovec *remote,
                                     size_t remote_count)
{
    pid_t pid = pen_reach_process(job, jobrank);
    return kernel_result(job,
                         is_put ? pen_cma_write_list(pid, local, local_count, remote, remote_count)
                                : pen_cma_read_list(pid, local, local_count, remote, remote_count));
}

/* ---- the link -------------------------------------------------------------------------------- */

pen_post pen_reach_by_link(pen_job *job, uint32_t jobrank, const pen_reach *reach, bool is_put,
                           size_t done, char *local, size_t len, pen_op *op)
{
    const pen_route *route = &job->routes[jobrank];
    pen_link *link = route->port->link;
    const uint64_t offset = reach->offset + done;
    const pen_rkey key = reach->segment->key;
    pen_post result;
    pen_lock_take(&route->port->post_lock);
    if (is_put)
        result = link->rma->put(link, route->peer, offset, key, local, reach->region, len, op);
    else
        result = link->rma->get(link, route->peer, offset, key, local, reach->region, len, op);
    if (result != PEN_POST_AGAIN)
        pen_job_count(job, is_put ? &job->counters.put_direct : &job->counters.get_direct);
    pen_lock_drop(&route->port->post_lock);
    return result;
}

bool pen_reach_link_serves_atomic(const pen_job *job, uint32_t jobrank,
                                  const pen_remote_segment *segment, const pen_amo *amo)
{
    const pen_link *link = job->routes[jobrank].port->link;
    return segment->has_key && link->amo != NULL && link->amo->serves(link, amo->type, amo->op);
}

pen_post pen_reach_atomic_by_link(const pen_job *job, uint32_t jobrank,
                                  const pen_remote_segment *segment, uint64_t offset,
                                  const pen_amo *amo, pen_op *op)
{
    const pen_route *route = &job->routes[jobrank];
    pen_link *link = route->port->link;
    pen_lock_take(&route->port->post_lock);
    pen_post result = link->amo->post(link, route->peer, offset, segment->key, amo, op);
    pen_lock_drop(&route->port->post_lock);
    return result;
}

/* ---- devices --------------------------------------------------------------------------------- */

pen_device *pen_reach_local_device(const pen_team *team, const void *local, size_t len)
{
    const pen_segment *segment = team->endpoint->segment;
    if (segment != NULL && segment->device != NULL) {
        size_t offset = (uintptr_t)local - (uintptr_t)segment->base; /* wraps below the base */
        if (offset < segment->len && len <= segment->len - offset)
            return segment->device;
    }
    if (pen_mem_is_device(&team->job->mem, local, len))
        pen_job_fatal(team->job,
                      "put or get: %zu bytes at %p on this side are on a device, and not all in "
                      "the segment of endpoint %u; use a pair of the endpoint whose segment has "
                      "them",
                      len, local, team->endpoint->index);
    return NULL;
}

void pen_reach_by_device(pen_job *job, pen_device *to_device, void *to, pen_device *from_device,
                         const void *from, size_t len)
{
    const pen_device *device = to_device != NULL ? to_device : from_device;
    pen_status status = PEN_OK;
    if (to_device == NULL)
        status = device->kind->read(from_device, to, from, len);
    else if (from_device == NULL)
        status = device->kind->write(to_device, to, from, len);
    else
        status = device->kind->copy(to_device, to, from, len);
    if (pen_unlikely(status != PEN_OK))
        pen_job_fatal(job,
                      "cannot copy %zu bytes at %p of device %s: %s; keep the segment's memory "
                      "allocated while it is used",
                      len, to_device != NULL ? to : (void *)(uintptr_t)from, device->kind->name,
                      pen_status_text(status));
}
