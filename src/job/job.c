/* SPDX-License-Identifier: BSD-3-Clause */
/* job.c: joining and leaving a job: variables, conduit, greetings, routes, and the objects that
 * every client gets. */
#include "base/compiler.h"
#include "base/status.h"
#include "boot/boot.h"
#include "boot/host_page.h"
#include "boot/wait_state.h"
#include "conduit/conduit.h"
#include "diag/log.h"
#include "job/fatal.h"
#include "job/job_internal.h"
#include "link/impair.h"
#include "link/timed.h"
#include "link/window.h"
#include "mem/mem.h"
#include "os/lock.h"
#include "os/os.h"
#include "progress/progress.h"
#include "reliable/reliable.h"

#include <penstock/abi.h>
#include <penstock/types.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A link keeps fewer frames of each rank than this until they are polled. It bounds a sweep. */
enum { SWEEP_EVENTS_PER_RANK = 512 };

/* The greeting that a rank sends to all peers first, so that incompatible ranks can report the
 * reason. */
typedef struct job_hello {
    char conduit[16];
    uint32_t conduit_abi, segment_mode;
    uint32_t frame_max, addr_len;
    uint64_t segment_max;
} job_hello;

_Static_assert(sizeof(job_hello) + PEN_ADDR_LEN_MAX <= PEN_BOOT_BLOB_MAX,
               "a greeting and an address fit one exchange");

/* ---- opening, step by step ------------------------------------------------------------------- */

static pen_status job_open_progress(pen_job *job)
{
    pen_progress_config config;
    pen_status status = pen_job_read_progress_config(job, &config);
    if (status != PEN_OK)
        return status;
    pen_host_page *page = job->boot.page;
    pen_sleeper sleeper = { 0 };
    if (page != NULL) {
        pen_host_rank *rank = pen_host_row(page, job->rank);
        sleeper = (pen_sleeper){ &rank->sleeping, &rank->wake, &page->polling_total,
                                 &rank->progress, page->cores, &rank->shown };
    }
    pen_progress_init(&job->progress, job->concurrency, &config, page != NULL ? &sleeper : NULL,
                      &job->clock, &job->counters);
    job->progress.sweep_events = (job->boot.size + 1) * SWEEP_EVENTS_PER_RANK;
    job->progress.on_idle = pen_job_idle;
    job->progress.on_idle_ctx = job;
    job->progress.on_shared = pen_job_core_shared;
    job->progress.on_wait = pen_job_wait;
    job->progress.on_wait_ctx = job;
    job->progress.turns = job->boot.turns;
    return pen_job_open_trace(job);
}

static pen_status job_open_memory(pen_job *job)
{
    const pen_host_page *page = job->boot.page;
    char *slice = NULL;
    size_t slice_len = 0;
    if (page != NULL && job->boot.arena != NULL && page->segment_stride != 0) {
        slice =
            job->boot.arena + page->segment_off + (job->rank - page->first) * page->segment_stride;
        slice_len = page->segment_stride;
    }
    uint64_t available = page != NULL ? page->memory_available : pen_memory_available();
    pen_status status =
        pen_mem_init(&job->mem, &job->log, job->concurrency, slice, slice_len, job->size,
                     job->segment_mode == PEN_SEGMENT_EVERYTHING, available);
    if (status != PEN_OK)
        return status;
    job->mem.rank = job->rank;
    job->mem.huge = job->config.huge_pages;
    if (page != NULL) /* shared with the ranks of this host only */
        job->mem.budget = available / page->size;
    job->segment_max_local = pen_job_segment_limit(job);
    return PEN_OK;
}

/* Credits are counted for a network that never says "full". Frames that a conduit or the impairment
 * loses are sent again. */
static pen_status job_wrap_link(pen_job *job, const pen_impair_config *impair, pen_link **link)
{
    bool was_reliable = ((*link)->caps.flags & PEN_CAP_RELIABLE) != 0;
    pen_host *lent = &job->lent_host; /* the host of *link */
    pen_status status = PEN_OK;
    if (job->virtual != NULL) {
        job->timed_host = job->host;
        status =
            pen_timed_open(*link, lent, &job->timed_host, job->virtual, job->concurrency, link);
        lent = &job->timed_host;
    }
    if (status == PEN_OK && pen_window_is_needed(*link)) {
        job->host.poll_view = NULL; /* it posts in polls even if nothing comes */
        job->window_host = job->host;
        status = pen_window_open(*link, lent, &job->window_host, job->size, job->concurrency, link);
        lent = &job->window_host;
    }
    if (status == PEN_OK && pen_impair_is_on(impair))
        status = pen_impair_open(*link, impair, job->concurrency, link);
    if (status != PEN_OK || ((*link)->caps.flags & PEN_CAP_RELIABLE) != 0)
        return status;
    if (was_reliable && !impair->mend) /* the impairment exists to test what notices a loss */
        return PEN_OK;
    job->host.poll_view = NULL; /* its timers need polls even if it is idle */
    return pen_reliable_open(*link, lent, &job->host, job->size, job->concurrency, link);
}

static const uint8_t *job_key_of(const pen_job *job)
{
    _Static_assert(PEN_HOST_KEY_LEN == PEN_JOB_KEY_LEN, "one key");
    return job->boot.page != NULL ? job->boot.page->job_key : NULL;
}

/* Reads what the links of the chosen conduit need, and chooses the second conduit of a pair. */
static pen_status job_read_link_config(pen_job *job, pen_impair_config *impair)
{
    pen_status status = pen_job_choose_memory(job);
    if (status == PEN_OK)
        status = pen_job_read_conduit_config(job, job->conduit, job->conduit_config);
    if (status == PEN_OK)
        status = pen_job_read_impair_config(job, impair);
    if (status == PEN_OK)
        status = pen_job_check_arena(job, job->conduit, job->conduit_config, job->size);
    return status;
}

/* Chooses and opens the conduit of a job on one host. */
static pen_status job_open_here(pen_job *job, pen_impair_config *impair,
                                const pen_link_params *params, pen_link **out)
{
    pen_status status =
        pen_conduit_choose(&job->log, job->config.conduit, job->size, &job->conduit);
    if (status != PEN_OK)
        return status;
    (void)snprintf(job->log.conduit, sizeof job->log.conduit, "%s", job->conduit->name);
    status = job_read_link_config(job, impair);
    if (status != PEN_OK)
        return status;
    if (pen_impair_is_on(impair) || job->memory_conduit != NULL) /* a view shows one link */
        job->host.poll_view = NULL;
    job->lent_host = job->host;
    return job->conduit->open(params, out); /* prints the reason itself */
}

/* Chooses and opens the conduit between hosts. */
static pen_status job_open_far(pen_job *job, pen_impair_config *impair, pen_link_params *params,
                               pen_link **out)
{
    job->host.poll_view = NULL; /* the link cannot see the rights of its peers */
    pen_status status = pen_job_read_impair_config(job, impair);
    if (status == PEN_OK)
        status = pen_job_open_far(job, params, out);
    if (status != PEN_OK)
        return status;
    status = pen_job_choose_memory(job);
    if (status != PEN_OK)
        (*out)->ops->close(*out);
    return status;
}

static pen_status job_open_link(pen_job *job, const pen_job_params *params)
{
    pen_job_split_pair(job);
    pen_job_fill_host(job, params);
    pen_job_trace_host(job);
    pen_impair_config impair;
    pen_link_params link_params = { .host = &job->lent_host,
                                    .self = job->rank,
                                    .peers = job->size,
                                    .config = job->conduit_config,
                                    .job_key = job_key_of(job),
                                    .concurrency = job->concurrency };
    pen_job_place(job, &link_params);
    pen_link *link = NULL;
    pen_status status = pen_job_is_spread(job) ? job_open_far(job, &impair, &link_params, &link)
                                               : job_open_here(job, &impair, &link_params, &link);
    if (status != PEN_OK)
        return status;
    status = job_wrap_link(job, &impair, &link);
    if (status == PEN_OK)
        status = pen_job_add_memory(job, &link_params, &link);
    if (status == PEN_OK)
        status = pen_job_trace_link(job, 0, job->size, &link);
    if (status != PEN_OK) {
        link->ops->close(link);
        return status;
    }
    (void)pen_progress_add(&job->progress, link);
    return pen_job_is_spread(job) ? pen_job_open_near(job) : PEN_OK;
}

/* ---- introductions --------------------------------------------------------------------------- */

static bool job_same_kind(const job_hello *one, const job_hello *other)
{
    return memcmp(one->conduit, other->conduit, sizeof one->conduit) == 0 &&
           one->conduit_abi == other->conduit_abi && one->addr_len == other->addr_len &&
           (one->segment_mode == PEN_SEGMENT_EVERYTHING) ==
               (other->segment_mode == PEN_SEGMENT_EVERYTHING);
}

/* The greetings of the ranks, each followed by the link's address. */
typedef struct job_greetings {
    unsigned char *all;
    size_t len; /* length of one, as this rank computes it */
} job_greetings;

static job_hello job_hello_of(const job_greetings *greetings, uint32_t rank)
{
    job_hello hello;
    memcpy(&hello, greetings->all + rank * greetings->len, sizeof hello);
    return hello;
}

/* Lowers the frame size to one that every rank takes. */
static void job_limit_frames(const pen_job *job, pen_caps *caps)
{
    caps->frame_max = caps->frame_max < job->frame_max ? caps->frame_max : job->frame_max;
    caps->frame_copy_max =
        caps->frame_copy_max < job->frame_max ? caps->frame_copy_max : job->frame_max;
}

/* Every rank comes to the same result; rank 0 prints it. */
static pen_status job_compare(pen_job *job, const job_greetings *greetings)
{
    const job_hello first = job_hello_of(greetings, 0);
    job->frame_max = UINT32_MAX;
    job->segment_max_global = UINTPTR_MAX;
    for (uint32_t rank = 0; rank < job->size; rank++) {
        const job_hello other = job_hello_of(greetings, rank);
        if (!job_same_kind(&first, &other)) {
            if (job->rank == 0)
                pen_log_error(
                    &job->log,
                    "rank %u uses conduit %.16s and segment mode %u, rank 0 %.16s and %u: all "
                    "ranks need the same; start one program with one environment",
                    rank, other.conduit, other.segment_mode, first.conduit, first.segment_mode);
            (void)pen_boot_barrier(&job->boot); /* rank 0 prints before a rank ends the job */
            return PEN_ERR_PROTOCOL;
        }
        if (other.frame_max < job->frame_max)
            job->frame_max = other.frame_max;
        if (other.segment_max < job->segment_max_global)
            job->segment_max_global = other.segment_max;
    }
    job_limit_frames(job, &job->progress.ports[0].link->caps);
    return PEN_OK;
}

/* The frame size that every link of this rank takes. */
static uint32_t frame_max_of(const pen_job *job)
{
    uint32_t least = UINT32_MAX;
    for (uint32_t i = 0; i < job->progress.port_count; i++) {
        uint32_t max = job->progress.ports[i].link->caps.frame_max;
        least = max < least ? max : least;
    }
    return least;
}

/* Sends this rank's greeting and receives all, in one exchange, because each exchange costs a
 * turn of every rank. */
static pen_status job_greet(pen_job *job, pen_link *link, job_greetings *out)
{
    unsigned char mine[PEN_BOOT_BLOB_MAX] = { 0 };
    job_hello hello = { .conduit_abi = job->conduit->abi,
                        .segment_mode = job->segment_mode,
                        .frame_max = frame_max_of(job),
                        .addr_len = link->caps.addr_len,
                        .segment_max = job->segment_max_local };
    (void)snprintf(hello.conduit, sizeof hello.conduit, "%s", job->log.conduit);
    memcpy(mine, &hello, sizeof hello);
    PEN_INVARIANT(link->caps.addr_len <= PEN_ADDR_LEN_MAX);
    out->len = sizeof hello + link->caps.addr_len;
    pen_status status = link->ops->address(link, mine + sizeof hello);
    if (status == PEN_OK) {
        out->all = pen_job_calloc(job, job->size, out->len, "the table of greetings");
        status = out->all != NULL ? PEN_OK : PEN_ERR_MEMORY;
    }
    if (status == PEN_OK)
        status = pen_boot_exchange(&job->boot, mine, out->len, out->all);
    return status == PEN_OK ? job_compare(job, out) : status;
}

/* The link wants the addresses without gaps. This overwrites the greetings between them. */
static pen_status job_connect(const pen_job *job, pen_link *link, const job_greetings *greetings)
{
    const size_t len = link->caps.addr_len;
    for (uint32_t rank = 0; rank < job->size; rank++)
        memmove(greetings->all + rank * len,
                greetings->all + rank * greetings->len + sizeof(job_hello), len);
    return link->ops->connect(link, greetings->all, job->size);
}

/* ---- what clients see ------------------------------------------------------------------------ */

/* If there is a second port, peers of this host are reached through it. */
static void job_fill_routes(pen_job *job)
{
    const pen_host_page *page = job->boot.page;
    pen_port *far = &job->progress.ports[0];
    bool same_host = (far->link->caps.flags & PEN_CAP_SAME_HOST) != 0;
    for (uint32_t rank = 0; rank < job->size; rank++)
        job->routes[rank] = (pen_route){ far, rank, same_host };
    for (uint32_t peer = 0; job->progress.port_count > 1 && peer < page->size; peer++)
        job->routes[page->first + peer] = (pen_route){ &job->progress.ports[1], peer, true };
}

static pen_status job_make_routes(pen_job *job)
{
    job->routes = pen_job_calloc(job, job->size, sizeof *job->routes, "the table of routes");
    if (job->routes == NULL)
        return PEN_ERR_MEMORY;
    job->mapped[0] =
        pen_job_calloc(job, job->size, sizeof *job->mapped[0], "the table of mapped segments");
    if (job->mapped[0] == NULL)
        return PEN_ERR_MEMORY;
    job_fill_routes(job);
    return PEN_OK;
}

static void job_make_objects(pen_job *job)
{
    job->client.job = job;
    job->endpoint.job = job;
    job->endpoint.client = &job->client;
    job->endpoint.capabilities = GEX_EP_CAPABILITY_ALL;
    job->endpoints[0] = &job->endpoint;
    job->endpoint_count = 1;
    job->world.job = job;
    job->world.endpoint = &job->endpoint;
    job->world.view.rank = job->rank;
    job->world.view.size = job->size;
    job->world.stride = 1;
    job->world.view.mapped = job->mapped[0];
    pen_job_use_express(job);
    pen_team_use_express(&job->world);
}

static void job_begin(pen_job *job, const pen_job_params *params)
{
    job->rank = job->boot.rank;
    job->size = job->boot.size;
    job->log.rank = (int32_t)job->rank;
    job->mode = params->mode;
    job->segment_mode = params->segment_mode;
    job->concurrency = params->mode == PEN_MODE_PAR ? PEN_CONCURRENT : PEN_ALONE;
    job->end = params->end;
    job->on_fatal = params->on_fatal;
    job->first_thread.job = job;
    job->clock = params->clock;
    job->virtual = params->virtual;
    pen_lock_init(&job->threads_lock, job->concurrency);
    pen_lock_init(&job->waits_lock, job->concurrency);
    atomic_init(&job->ending, false);
}

static pen_status job_open_steps(pen_job *job, const pen_job_params *params)
{
    pen_status status = pen_job_read_config(job, params);
    if (status == PEN_OK)
        status = job_open_progress(job);
    if (status == PEN_OK)
        status = job_open_memory(job);
    if (status == PEN_OK)
        status = job_open_link(job, params);
    if (status != PEN_OK)
        return status;
    job->threads_max = params->mode != PEN_MODE_PAR ? 1
                       : job->config.threads_max < (int64_t)UINT32_MAX
                           ? (uint32_t)job->config.threads_max
                           : UINT32_MAX;
    pen_port *port = &job->progress.ports[0];
    job_greetings greetings = { NULL, 0 };
    pen_job_show_cpu(job);
    status = job_greet(job, port->link, &greetings);
    if (status == PEN_OK)
        status = job_make_routes(job);
    if (status == PEN_OK)
        status = job_connect(job, port->link, &greetings);
    free(greetings.all);
    if (status == PEN_OK && pen_job_is_spread(job))
        status = pen_job_connect_near(job);
    if (status == PEN_OK) {
        job_make_objects(job);
        pen_job_keep_apart(job); /* all ranks have greeted, so all have shown their processors */
    }
    return status;
}

pen_status pen_job_open(pen_job *job, const pen_job_params *params)
{
    job_begin(job, params);
    pen_status status = job_open_steps(job, params);
    if (status != PEN_OK)
        pen_job_close(job);
    return status;
}

void pen_job_close(pen_job *job)
{
    atomic_store_explicit(&job->ending, true, memory_order_relaxed); /* see host_peer_lost */
    pen_job_forget(job);
    pen_mem_close(&job->mem); /* before the links, because links know the segments */
    uint32_t ports = job->progress.port_count;
    pen_progress_hide(&job->progress);
    for (uint32_t i = 0; i < ports; i++)
        job->progress.ports[i].link->ops->close(job->progress.ports[i].link);
    if (job->progress.counters != NULL)
        pen_progress_close(&job->progress);
    pen_job_threads_close(job);
    pen_job_endpoints_close(job);
    pen_job_close_trace(job);
    free(job->routes);
    job->routes = NULL;
    job->conduit = NULL;
    job->log.conduit[0] = '\0';
    memset(&job->progress, 0, sizeof job->progress);
}

uintptr_t pen_job_segment_max_local(const pen_job *job) { return job->segment_max_local; }

uintptr_t pen_job_segment_max_global(const pen_job *job) { return job->segment_max_global; }

/* A barrier through the launcher; polls meanwhile. The exchange that follows detects a failure. */
static void meet_others(pen_job *job)
{
    uint32_t ticket;
    if (pen_boot_arrive(&job->boot, &ticket) != PEN_OK)
        return;
    pen_wait what = pen_wait_for(PEN_CALL_SETUP, PEN_AWAITED_RANKS, PEN_WAIT_NOBODY, NULL);
    /* the launcher's answer wakes no sleeper */
    pen_waiter waiter = pen_waiter_for(&job->progress, false, &what);
    while (!pen_boot_arrived(&job->boot, ticket))
        pen_wait_step(&waiter);
    pen_wait_end(&waiter);
}

void pen_job_meet(pen_job *job)
{
    pen_host_page *page = job->boot.page;
    if (page == NULL || job->size == 1)
        return;
    if (pen_job_is_spread(job)) {
        meet_others(job);
        return;
    }
    _Atomic uint32_t *mine = &page->ranks[job->rank].meetings;
    /* relaxed: only this rank writes it. release: pairs with the acquire below; this rank has
     * arrived */
    uint32_t meeting = atomic_load_explicit(mine, memory_order_relaxed) + 1;
    atomic_store_explicit(mine, meeting, memory_order_release);
    pen_wait what = pen_wait_for(PEN_CALL_SETUP, PEN_AWAITED_RANKS, 0, NULL);
    /* a peer's arrival wakes no sleeper */
    pen_waiter waiter = pen_waiter_for(&job->progress, false, &what);
    for (; what.peer < job->size; what.peer++)
        while (
            (int32_t)(atomic_load_explicit(&page->ranks[what.peer].meetings, memory_order_acquire) -
                      meeting) < 0)
            pen_wait_step(&waiter);
    pen_wait_end(&waiter);
}
