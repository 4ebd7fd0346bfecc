/* SPDX-License-Identifier: BSD-3-Clause */
/* job.h: the whole state of one rank: its identity, its routes to peers, its endpoints, teams
 * and threads. All state of the library below api/ belongs to a pen_job. One process may contain
 * ranks of many jobs (in tests). */
#ifndef PEN_JOB_JOB_H
#define PEN_JOB_JOB_H

#include "base/compiler.h"
#include "base/copy.h"
#include "base/status.h"
#include "boot/boot.h"
#include "conduit/conduit.h"
#include "diag/counters.h"
#include "diag/log.h"
#include "job/config.h"
#include "job/endpoint.h"
#include "job/express.h"
#include "job/team.h"
#include "job/thread.h"
#include "job/waits.h"
#include "link/host.h"
#include "mem/mem.h"
#include "os/lock.h"
#include "os/os.h"
#include "progress/progress.h"
#include "trace/ring.h"

#include <penstock/abi.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct pen_job pen_job;

/* The route to a peer. Peers on this host and on the network have the same type. */
typedef struct pen_route {
    pen_port *port;
    pen_peer peer;  /* the peer's number in the link */
    bool same_host; /* counted as "shared memory" */
} pen_route;

struct pen_am;                              /* am/: handler table and state */
struct pen_rma;                             /* rma/: operations in flight by messages */
struct pen_atomic;                          /* atomic/: domains, operations in flight by messages */
struct pen_coll;                            /* coll/: barrier state */
typedef struct pen_job_trace pen_job_trace; /* job_trace.c */

struct pen_job {
    /* read by every message; one line */
    uint32_t rank, size;
    pen_route *routes; /* by job rank */
    struct pen_am *am;
    struct pen_rma *rma;
    struct pen_coll *coll;
    pen_concurrency concurrency;
    uint32_t mode;         /* PEN_MODE_... of the client */
    uint32_t segment_mode; /* PEN_SEGMENT_... of the client */
    struct pen_atomic *atomic;
    /* The link's express tables, if this job may use them: if one thread uses the link, and if
     * several do; see pen_job_use_express */
    pen_express_table express, shared_express;
    pen_express_row express_replies, shared_express_replies; /* rows of these tables, by job rank */
    pen_counters counters;
    pen_progress progress;
    /* waits.c: functions that describe operations; the wait that this rank shows, guarded by
     * waits_lock */
    pen_explain explainers[PEN_EXPLAINERS_MAX];
    uint32_t explainer_count;
    pen_lock waits_lock;
    const pen_wait *shown;
    bool shown_is_loop;
    pen_trace *trace;      /* where this rank writes its trace; NULL: the job is not traced */
    pen_job_trace *traced; /* the rest of job_trace.c's state, or NULL */
    pen_mem mem;
    pen_log log;
    pen_boot boot;
    const pen_conduit *conduit;
    uint64_t conduit_config[PEN_CONDUIT_CONFIG_MAX / 8];
    pen_clock clock;
    struct pen_virtual *virtual;    /* NULL: time is real */
    pen_copy_table copies;          /* copied from the host page; zeros without a page */
    _Atomic uint64_t apart_next_ns; /* cores.c: when this rank may move again. relaxed: a hint */
    bool is_orderly;                /* the job closes because all ranks leave */
    pen_host host;                  /* callbacks lent to links; ctx is this job */
    pen_host lent_host;   /* the conduit's: host, or the callbacks of the link around it */
    pen_host timed_host;  /* the timed link's: host, or the callbacks of the link around it */
    pen_host window_host; /* the window's: host, or the reliable link's callbacks */
    /* job_pair.c: the names in PENSTOCK_CONDUIT=A+B, and the second conduit, or NULL */
    char frames_wanted[16];
    const char *memory_wanted;
    const pen_conduit *memory_conduit;
    uint64_t memory_config[PEN_CONDUIT_CONFIG_MAX / 8];
    pen_host memory_host;
    pen_lender near_lender; /* makes near_host */
    pen_host near_host;     /* lent to the link among this host's ranks; see job_hosts.c */
    uint64_t near_config[PEN_CONDUIT_CONFIG_MAX / 8];
    pen_client client;
    pen_endpoint endpoint;                      /* the primordial one */
    pen_endpoint *endpoints[PEN_ENDPOINTS_MAX]; /* by number; guarded by threads_lock */
    uint32_t endpoint_count;
    pen_team world;      /* the primordial team */
    pen_team *teams;     /* all other teams; guarded by threads_lock */
    uint32_t teams_made; /* team ids that this rank has offered; guarded by threads_lock */
    /* By endpoint number, then by job rank: segments that this process can load and store, for
     * the frozen views. NULL: no endpoint of that number was published. */
    pen_mapped *mapped[PEN_ENDPOINTS_MAX];
    uint32_t checks_off; /* checked builds: PEN_CHECK_...; fixed when the job is opened */
    uint32_t frame_max;  /* largest body that every rank's link takes */
    /* reach/'s part: the kernel has refused once to copy between processes. relaxed: a hint */
    _Atomic bool kernel_refuses;
    uintptr_t segment_max_local, segment_max_global;
    pen_job_config config;
    void (*end)(pen_job *job, int code); /* see pen_job_params */
    void (*on_fatal)(pen_job *job);      /* likewise */
    pen_thread first_thread;
    pen_lock threads_lock;
    uint32_t thread_count, threads_max;
    bool attached;       /* a segment exists, or gasnet_attach was called */
    bool legacy;         /* GASNet-1 calls are enabled */
    _Atomic bool ending; /* this rank ends the job: lost peers are expected */
    /* Returns the calling thread's state, for checks whether it runs a handler. Set by api/,
     * which owns the thread-local pointer. If NULL, checks use the first thread's state; in PAR
     * they are skipped. */
    pen_thread *(*this_thread)(pen_job *job);
};

typedef struct pen_job_params {
    uint32_t mode, segment_mode;
    const char *segment_max; /* the client's default for GASNET_MAX_SEGSIZE; NULL: built-in */
    const char *conduit;     /* the default for PENSTOCK_CONDUIT; NULL: the best one */
    /* Called for an arriving frame. am/ is above job/, so it passes them in. */
    void (*deliver)(void *ctx, pen_peer from, pen_lane lane, const void *head, uint32_t head_len,
                    void *body, uint32_t body_len);
    void (*deliver_head[2])(void *ctx, pen_peer from, const void *head, uint32_t head_len);
    pen_poll_view *poll_view;    /* see pen_host; may be NULL */
    pen_clock clock;             /* the only clock that the job and its modules read */
    struct pen_virtual *virtual; /* the owner of that clock if time is virtual, else NULL */
    /* Called when the supervisor wants this process to end with this code. Called where a rank
     * waits; does not return. NULL: the process ends at once. */
    void (*end)(pen_job *job, int code);
    /* Called when a fatal error has been printed, before it ends the job. May be NULL. */
    void (*on_fatal)(pen_job *job);
} pen_job_params;

/* Joins the job that job->boot (already open) and job->log describe. The rest of *job must be
 * zero. Reads knobs, chooses and opens the conduit, connects, and makes routes and the
 * primordial client, endpoint and team. On failure everything is undone. Does not end with a
 * barrier. */
pen_status pen_job_open(pen_job *job, const pen_job_params *params);
void pen_job_close(pen_job *job); /* also if only boot and log are set */

/* Multiples of the page size; UINTPTR_MAX in EVERYTHING. */
uintptr_t pen_job_segment_max_local(const pen_job *job);
uintptr_t pen_job_segment_max_global(const pen_job *job);

static inline const pen_route *pen_team_route(const pen_team *team, uint32_t rank)
{
    return &team->job->routes[pen_team_jobrank(team, rank)];
}

/* Adds to a counter of the job. */
static inline void pen_job_count_by(pen_job *job, uint64_t *counter, uint64_t count)
{
    if (pen_likely(job->concurrency == PEN_ALONE))
        *counter += count;
    else
        (void)__atomic_fetch_add(counter, count, __ATOMIC_RELAXED); /* relaxed: a statistic */
}

static inline void pen_job_count(pen_job *job, uint64_t *counter)
{
    pen_job_count_by(job, counter, 1);
}

/* Counts a put or get of len bytes. */
static inline void pen_job_count_moved(pen_job *job, bool is_put, bool shared_memory, uint64_t len)
{
    pen_counters *all = &job->counters;
    if (is_put) {
        pen_job_count(job, shared_memory ? &all->put_shm : &all->put_net);
        pen_job_count_by(job, shared_memory ? &all->put_bytes_shm : &all->put_bytes_net, len);
    } else {
        pen_job_count(job, shared_memory ? &all->get_shm : &all->get_net);
        pen_job_count_by(job, shared_memory ? &all->get_bytes_shm : &all->get_bytes_net, len);
    }
}

/* For PENSTOCK_STATS: prints one line with the counters that are not zero to the log's
 * descriptor, and one line for each peer with counts of the link, up to 64. */
void pen_job_print_counters(pen_job *job);

#endif
