/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi_link.c: opens a link over MPI, meets the peers, and closes. */
#include "conduits/mpi/mpi_link.h"

#include "base/compiler.h"
#include "base/status.h"
#include "conduit/conduit.h"
#include "diag/log.h"
#include "link/netlib.h"
#include "os/lock.h"
#include "seal/seal.h"

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum {
    DESCRIPTORS_EACH = 4, /* that an MPI may need for a peer */
    RING_LEAST = 16,
    RING_EACH = 8, /* slots for each peer; more frames of it wait within MPI */
    CONTROL_EACH = 2,
    ANY_TAG = 0,
};
#define END_NS UINT64_C(1000000000) /* time for the last frames to leave in an orderly end */

static pen_status cannot_open(const mpi_link *link, const char *call, int error)
{
    const pen_host *host = link->base.host;
    char text[MPI_MAX_ERROR_STRING] = "";
    int len = 0;
    (void)link->mpi.error_string(error, text, &len);
    host->log(host->ctx, PEN_LOG_ERROR,
              "cannot open the conduit %s: %s: %s; choose another conduit with PENSTOCK_CONDUIT",
              mpi_conduit_name, call, text);
    return PEN_ERR_UNUSABLE;
}

static pen_status no_memory(const pen_host *host, pen_peer peers)
{
    host->log(host->ctx, PEN_LOG_ERROR,
              "cannot open the conduit %s: memory for %u peers: %s; free some memory",
              mpi_conduit_name, peers, strerror(errno));
    return PEN_ERR_MEMORY;
}

/* ---- rings ----------------------------------------------------------------------------------- */

static uint16_t ring_count(pen_lane lane, pen_peer peers)
{
    const size_t count =
        RING_LEAST + (size_t)peers * (lane == PEN_LANE_CONTROL ? CONTROL_EACH : RING_EACH);
    return (uint16_t)(count < MPI_CONDUIT_RING_MOST ? count : MPI_CONDUIT_RING_MOST);
}

static bool ring_make(mpi_link *link, pen_lane lane)
{
    const pen_host *host = link->base.host;
    mpi_ring *ring = &link->rings[lane];
    const uint16_t count = ring_count(lane, link->net.peers);
    const size_t slots_len = (size_t)(mpi_slot(ring, count) - mpi_slot(ring, 0));
    ring->slots = host->alloc(host->ctx, pen_align_up(slots_len, PEN_CACHE_LINE), PEN_CACHE_LINE);
    /* a request is a pointer in one MPI and a number in another */
    // NOLINTNEXTLINE(bugprone-sizeof-expression)
    ring->requests = host->alloc(host->ctx, count * sizeof(MPI_Request), _Alignof(MPI_Request));
    ;
    ring->next = host->alloc(host->ctx, count * sizeof *ring->next, _Alignof(uint16_t));
    if (ring->slots == NULL || ring->requests == NULL || ring->next == NULL)
        return false;
    ring->count = count;
    for (unsigned slot = 0; slot < count; slot++)
        ring->requests[slot] = link->mpi.no_request;
    return true;
}

/* Makes a receive for each slot and starts it. Returns MPI's error. */
static int ring_start(mpi_link *link, mpi_ring *ring)
{
    const int len = (int)pen_net_len(PEN_FRAME_HEAD_COUNTED_MAX, MPI_CONDUIT_FRAME_MAX);
    int error = MPI_SUCCESS;
    for (unsigned slot = 0; slot < ring->count && error == MPI_SUCCESS; slot++) {
        error = link->mpi.recv_init(mpi_slot(ring, slot), len, link->mpi.byte, MPI_ANY_SOURCE,
                                    ANY_TAG, ring->comm, &ring->requests[slot]);
        if (error == MPI_SUCCESS)
            error = mpi_slot_start(link, ring, slot);
    }
    return error;
}

static void ring_free(const mpi_link *link, mpi_ring *ring)
{
    const pen_host *host = link->base.host;
    if (ring->slots != NULL)
        host->release(host->ctx, ring->slots);
    if (ring->requests != NULL)
        host->release(host->ctx, ring->requests);
    if (ring->next != NULL)
        host->release(host->ctx, ring->next);
}

/* ---- ending ---------------------------------------------------------------------------------- */

static bool is_late(const mpi_link *link, uint64_t end_ns)
{
    const pen_host *host = link->base.host;
    return host->now_ns(host->ctx) >= end_ns;
}

/* Takes the receives back from MPI. Returns false if MPI still writes to some slot: a peer was
 * sending to it, and is gone. */
static bool ring_stop(mpi_link *link, mpi_ring *ring, uint64_t end_ns)
{
    bool is_free = true;
    for (unsigned slot = 0; slot < ring->count; slot++) {
        MPI_Request *request = &ring->requests[slot];
        int is_done = 0;
        if (*request == link->mpi.no_request)
            continue;
        (void)link->mpi.cancel(request);
        do {
            if (link->mpi.test(request, &is_done, MPI_STATUS_IGNORE) != MPI_SUCCESS)
                break;
        } while (is_done == 0 && !is_late(link, end_ns));
        if (is_done != 0)
            (void)link->mpi.request_free(request);
        is_free = is_free && is_done != 0;
    }
    return is_free;
}

/* Ends all that the link has under way in MPI. MPI calls it at the beginning of MPI_Finalize, and
 * when the link closes. */
static int on_end(MPI_Comm comm, int keyval, void *attribute, void *extra)
{
    (void)comm, (void)keyval, (void)extra;
    mpi_link *link = attribute;
    const pen_host *host = link->base.host;
    const bool is_orderly = !link->is_closing || host->orderly(host->ctx);
    const uint64_t end_ns = is_orderly ? host->now_ns(host->ctx) + END_NS : 0;
    pen_lock_take(&link->lock);
    while (link->net.pending != 0 && !is_late(link, end_ns))
        mpi_take_sent(link);
    link->holds_memory = link->net.pending != 0;
    for (unsigned lane = 0; lane < PEN_LANES; lane++)
        if (!ring_stop(link, &link->rings[lane], end_ns))
            link->holds_memory = true;
    link->is_over = true;
    pen_lock_drop(&link->lock);
    return MPI_SUCCESS;
}

static int on_copy(MPI_Comm comm, int keyval, void *extra, void *attribute, void *copy, int *flag)
{
    (void)comm, (void)keyval, (void)extra, (void)attribute, (void)copy;
    *flag = 0; /* a copy of the communicator has no link */
    return MPI_SUCCESS;
}

/* Memory that MPI still reads or writes stays until the process ends. The communicators are freed
 * only if all ranks do so. */
static void mpi_close(pen_link *base)
{
    mpi_link *link = mpi_of(base);
    const pen_host *host = base->host;
    link->is_closing = true;
    if (link->is_connected && !link->is_over) {
        (void)link->mpi.comm_delete_attr(link->mpi.self, link->keyval); /* calls on_end */
        (void)link->mpi.comm_free_keyval(&link->keyval);
        for (unsigned lane = 0; lane < PEN_LANES && host->orderly(host->ctx); lane++)
            (void)link->mpi.comm_free(&link->rings[lane].comm);
    }
    if (link->fd >= 0)
        (void)close(link->fd);
    if (link->holds_memory)
        return;
    for (unsigned lane = 0; lane < PEN_LANES; lane++)
        ring_free(link, &link->rings[lane]);
    pen_net_close(&link->net);
    host->release(host->ctx, link);
}

/* ---- meeting the peers ----------------------------------------------------------------------- */

static pen_status mpi_write_address(pen_link *base, void *blob)
{
    mpi_address out = { .frame_max = base->caps.frame_max, .rank = base->self };
    memcpy(out.name, mpi_conduit_name, strlen(mpi_conduit_name));
    memcpy(blob, &out, sizeof out);
    return PEN_OK;
}

static pen_status compare(const mpi_link *link, pen_peer peer, const mpi_address *address)
{
    const pen_host *host = link->base.host;
    if (address->frame_max == link->base.caps.frame_max && address->rank == peer &&
        strncmp(address->name, mpi_conduit_name, sizeof address->name) == 0)
        return PEN_OK;
    host->log(host->ctx, PEN_LOG_ERROR,
              "cannot connect over %s: rank %u has another build or another MPI than rank %u; give "
              "all ranks the same",
              mpi_conduit_name, peer, link->base.self);
    return PEN_ERR_PROTOCOL;
}

/* Makes the communicators, which all ranks do together. Returns MPI's error. */
static int start_rings(mpi_link *link)
{
    int error = MPI_SUCCESS;
    for (unsigned lane = 0; lane < PEN_LANES && error == MPI_SUCCESS; lane++) {
        mpi_ring *ring = &link->rings[lane];
        error = link->mpi.comm_dup(link->mpi.world, &ring->comm);
        if (error == MPI_SUCCESS)
            error = link->mpi.comm_set_errhandler(ring->comm, link->mpi.errors_return);
        if (error == MPI_SUCCESS)
            error = ring_start(link, ring);
    }
    return error;
}

static pen_status mpi_connect(pen_link *base, const void *blobs, pen_peer count)
{
    mpi_link *link = mpi_of(base);
    pen_status status = count == link->net.peers ? PEN_OK : PEN_ERR_ARGUMENT;
    for (pen_peer peer = 0; status == PEN_OK && peer < count; peer++) {
        mpi_address address;
        memcpy(&address, (const char *)blobs + peer * sizeof address, sizeof address);
        status = compare(link, peer, &address);
    }
    if (status != PEN_OK)
        return status;
    int error = link->mpi.comm_create_keyval(on_copy, on_end, &link->keyval, NULL);
    if (error == MPI_SUCCESS)
        error = link->mpi.comm_set_attr(link->mpi.self, link->keyval, link);
    if (error != MPI_SUCCESS)
        return cannot_open(link, "MPI_Comm_set_attr", error);
    link->is_connected = true;
    error = start_rings(link);
    return error == MPI_SUCCESS ? PEN_OK : cannot_open(link, "MPI_Comm_dup", error);
}

/* ---- opening --------------------------------------------------------------------------------- */

static const pen_link_ops mpi_ops = {
    .close = mpi_close,
    .address = mpi_write_address,
    .connect = mpi_connect,
    .post = mpi_post,
    .poll = mpi_poll,
};

/* Compares MPI's view of the job with Penstock's. */
static pen_status check_ranks(const mpi_link *link)
{
    const pen_host *host = link->base.host;
    int rank = -1, size = -1;
    (void)link->mpi.comm_rank(link->mpi.world, &rank);
    (void)link->mpi.comm_size(link->mpi.world, &size);
    if (size == (int)link->net.peers && rank == (int)link->base.self)
        return PEN_OK;
    host->log(host->ctx, PEN_LOG_ERROR,
              size == 1
                  ? "cannot open the conduit %s: MPI has rank %d of %d and the job rank %u of "
                    "%u: MPI did not find its launcher; start with the mpirun of %s"
                  : "cannot open the conduit %s: MPI has rank %d of %d and the job rank %u of "
                    "%u; start with the mpirun of %s alone",
              mpi_conduit_name, rank, size, link->base.self, link->net.peers, mpi_conduit_library);
    return PEN_ERR_UNUSABLE;
}

static mpi_link *alloc_link(const pen_link_params *params)
{
    const pen_host *host = params->host;
    const uint32_t token = params->job_key != NULL ? pen_seal_epoch(params->job_key) : 0;
    mpi_link *link = host->alloc(host->ctx, sizeof *link, PEN_CACHE_LINE);
    if (link == NULL)
        return NULL;
    memset(link, 0, sizeof *link);
    if (!pen_net_open(&link->net, params, link, token, MPI_CONDUIT_FRAME_MAX)) {
        host->release(host->ctx, link);
        return NULL;
    }
    link->base = (pen_link){
        .ops = &mpi_ops, .wait = &mpi_wait, .due = &mpi_due, .host = host, .self = params->self
    };
    link->base.caps = (pen_caps){
        .flags = PEN_CAP_RELIABLE | PEN_CAP_INTACT | PEN_CAP_COPIES,
        .frame_max = MPI_CONDUIT_FRAME_MAX,
        .frame_copy_max = MPI_CONDUIT_FRAME_MAX,
        .frame_overhead = PEN_NET_OVERHEAD,
        .frame_grain = MPI_CONDUIT_GRAIN,
        .inbox_len = (size_t)((const mpi_config *)params->config)->window * params->peers,
        .addr_len = sizeof(mpi_address),
    };
    link->config = *(const mpi_config *)params->config;
    link->last_sent = &link->first_sent;
    link->fd = -1;
    for (unsigned lane = 0; lane < PEN_LANES; lane++)
        link->rings[lane].first = link->rings[lane].last = MPI_CONDUIT_NO_SLOT;
    pen_lock_init(&link->lock, params->concurrency);
    return link;
}

static pen_status open_parts(mpi_link *link, const pen_link_params *params)
{
    const pen_host *host = params->host;
    pen_status status = pen_net_check_limits(params, mpi_conduit_name, "PENSTOCK_MPI_WINDOW",
                                             link->config.window, DESCRIPTORS_EACH);
    if (status == PEN_OK)
        status = mpi_library_open(host, link->config.library, &link->mpi);
    if (status == PEN_OK)
        status = mpi_library_start(host, &link->mpi, params->concurrency != PEN_ALONE);
    if (status == PEN_OK)
        status = check_ranks(link);
    for (unsigned lane = 0; lane < PEN_LANES && status == PEN_OK; lane++)
        if (!ring_make(link, (pen_lane)lane))
            status = no_memory(host, params->peers);
    if (status == PEN_OK && (link->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) < 0) {
        host->log(host->ctx, PEN_LOG_ERROR,
                  "cannot open the conduit %s: eventfd: %s; raise \"ulimit -n\"", mpi_conduit_name,
                  strerror(errno));
        status = PEN_ERR_RESOURCE;
    }
    return status;
}

pen_status mpi_open(const pen_link_params *params, pen_link **out)
{
    mpi_link *link = alloc_link(params);
    if (link == NULL)
        return no_memory(params->host, params->peers);
    pen_status status = open_parts(link, params);
    if (status != PEN_OK)
        mpi_close(&link->base);
    else
        *out = &link->base;
    return status;
}
