/* SPDX-License-Identifier: BSD-3-Clause */
/* job.h: the whole state of one rank: its identity, its routes to peers, its endpoints, teams
 * and threads. All state of the library below api/ belongs to a pen_job. One process may contain
 * ranks of many jobs (in tests). */
#ifndef PEN_JOB_JOB_H
#define PEN_JOB_JOB_H

#include "base/compiler.h"
#include "boot/boot.h"
#include "boot/departed.h"
#include "conduit/conduit.h"
#include "diag/counters.h"
#include "diag/log.h"
#include "link/host.h"
#include "mem/mem.h"
#include "os/lock.h"
#include "progress/progress.h"

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

/* ---- objects behind the public types --------------------------------------------------- */

struct pen_client { /* gex_Client_t */
    pen_job *job;
    const void *cdata;
    uint32_t flags;
    char name[64];
};

typedef struct pen_client pen_client;

typedef struct pen_endpoint { /* gex_EP_t */
    pen_job *job;
    pen_client *client;
    const void *cdata;
    uint32_t flags, capabilities;
    uint16_t index;       /* 0: primordial; no other one receives active messages */
    pen_segment *segment; /* bound once, see pen_job_bind */
    /* TM pairs by remote number; NULL if not yet made. Written under threads_lock, read without
     * it: the release in pen_job_pair pairs with the acquire there. */
    _Atomic(struct pen_team *) pairs[PEN_ENDPOINTS_MAX];
} pen_endpoint;

struct pen_coll_team; /* coll/: a team's collectives */

enum {
    PEN_TEAM_LISTED = 1,   /* job ranks stand in a list */
    PEN_TEAM_ELSEWHERE = 2 /* this rank's or a member's endpoint is not the primordial one */
};

/* A link's express entries of one lane for ranks of a team, or of the job. */
typedef struct pen_express_row {
    char *first;    /* of rank 0 ... */
    uint32_t step;  /* ... and bytes to the next rank's. 0: all share one entry without room */
    uint32_t count; /* ranks that have one; do not index beyond */
} pen_express_row;

static inline pen_express *pen_express_at(const pen_express_row *row, uint32_t rank)
{
    uint32_t offset = rank * row->step;
    return (pen_express *)(void *)(row->first + offset);
}

typedef struct pen_team { /* gex_TM_t */
    pen_team_view view;   /* must be first: inline code reads it */
    pen_job *job;
    pen_express_row express, shared_express; /* from the job's tables; see pen_job_use_express */
    uint32_t flags;
    pen_endpoint *endpoint;
    const void *cdata;
    uint16_t pair_index; /* remote endpoint index of a TM pair, or of all members if alike */
    bool is_pair;
    uint8_t special; /* PEN_TEAM_...; 0: job ranks follow the rule, all endpoints are primordial */
    uint32_t first, stride;     /* modulo 2^32: the job rank of rank i is first + i * stride ... */
    const uint32_t *jobranks;   /* ... or, if not NULL, jobranks[i] */
    const uint32_t *by_jobrank; /* with jobranks: team ranks in the order of their job ranks */
    const uint16_t *ep_indexes; /* by team rank; NULL: pair_index for all */
    uint64_t id;                /* the same on all members, unique in the job; 0: primordial */
    struct pen_coll_team *coll; /* NULL: a pair */
    pen_mapped *rows;           /* the view's rows if no table of the job has them in sequence */
    gex_Memvec_t scratch;       /* memory lent by the client; not used */
    struct pen_team *next;      /* all teams but the primordial one; guarded by threads_lock */
} pen_team;

/* For reports of waits: if object is one of the module's operations, describes it: fills in
 * awaited, peer, number and team of the note. Called by waiting threads, without a lock. */
typedef bool (*pen_explain)(struct pen_job *job, const void *object, pen_wait_note *note);
enum { PEN_EXPLAINERS_MAX = 6 };

/* ---- threads ---------------------------------------------------------------------------- */

struct pen_event_pool; /* rma/event.h */

/* The state of a client thread: implicit operations, event pool, position in handlers. SEQ and
 * PARSYNC use the job's first one. In PAR, api/ finds it through a thread-local pointer. */
typedef struct pen_thread {
    pen_job *job;
    struct pen_thread *next;          /* all threads of the job; guarded by threads_lock */
    struct pen_rma_thread *rma;       /* rma/'s part; made on first use */
    struct pen_vis_peer *vis;         /* vis/'s part; made on first use */
    struct pen_source_desc *prepared; /* am/'s part: its negotiated message; made on first use */
    pen_poller poller;                /* progress/'s part: the client's own polls */
    pen_wait block;                   /* api/'s part: the current GASNET_BLOCKUNTIL */
    uint32_t handler_depth;           /* > 0: inside a handler */
    const void *handler_token;        /* checked builds: the innermost pen_token */
    bool handler_is_request;          /* the kind of the innermost handler */
    bool in_use; /* false: the thread has ended; the next new thread reuses this */
} pen_thread;

extern const pen_knob pen_job_knobs[]; /* rows with offset into pen_job_config */
typedef struct pen_job_config {
    double exit_timeout;          /* GASNET_EXITTIMEOUT; 0: computed from the three below */
    pen_memory_limit segment_max; /* GASNET_MAX_SEGSIZE */
    bool huge_pages;              /* GASNET_USE_HUGEPAGES */
    double exit_timeout_max, exit_timeout_min, exit_timeout_factor;
    int64_t threads_max;      /* GASNET_MAX_THREADS */
    const char *conduit;      /* PENSTOCK_CONDUIT */
    const char *device;       /* PENSTOCK_DEVICE, or NULL */
    const char *check_off;    /* PENSTOCK_CHECK_OFF, or NULL */
    bool check_overlap;       /* PENSTOCK_CHECK_OVERLAP */
    bool allow_other_conduit; /* PENSTOCK_ALLOW_OTHER_CONDUIT */
    bool stats;               /* PENSTOCK_STATS */
    bool verbose_env;         /* GASNET_VERBOSEENV */
} pen_job_config;

/* ---- the job ---------------------------------------------------------------------------- */

struct pen_am;     /* am/: handler table and state */
struct pen_rma;    /* rma/: operations in flight by messages */
struct pen_atomic; /* atomic/: domains, operations in flight by messages */
struct pen_coll;   /* coll/: barrier state */

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
    pen_mem mem;
    pen_log log;
    pen_boot boot;
    const pen_conduit *conduit;
    uint64_t conduit_config[PEN_CONDUIT_CONFIG_MAX / 8];
    pen_clock clock;
    bool is_orderly;        /* it closes because all ranks leave */
    pen_host host;          /* callbacks lent to links; ctx is this job */
    pen_host lent_host;     /* the conduit's: host, or the reliable link's callbacks */
    pen_lender near_lender; /* makes near_host */
    pen_host near_host;     /* lent to the link among this host's ranks; see near.c */
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
    pen_poll_view *poll_view; /* see pen_host; may be NULL */
    pen_clock clock;          /* the only clock that the job and its modules read */
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

/* Not thread-safe: called while modules open. */
void pen_job_add_explainer(pen_job *job, pen_explain explain);

/* ---- making segments known ---------------------------------------------------------------- */

enum { PEN_SEGMENT_KEY_MAX = 192 };

/* A rank's description of an endpoint's segment. len 0: no segment is bound. Receivers validate
 * it. */
typedef struct pen_told {
    uint64_t base, len;
    uint64_t arena_off; /* valid if in_arena */
    uint32_t number;
    uint16_t ep_index;
    uint8_t in_arena, has_key;
    uint8_t is_device; /* memory that its rank can only copy */
    uint8_t lacks;     /* capabilities that the endpoint does not have */
    uint8_t key[PEN_SEGMENT_KEY_MAX];
} pen_told;

/* Number of bytes of a pen_told to exchange: the same on all ranks. */
size_t pen_job_told_len(const pen_job *job);

/* Describes the segment bound to this rank's endpoint of that number, and lets peers access it. */
pen_status pen_job_tell(pen_job *job, uint16_t ep_index, pen_segment *segment, pen_told *out);

/* Imports a rank's description. No thread of this process may use that endpoint of that rank at
 * the same time, unless the description is unchanged. The result is not yet visible to inline
 * code. */
pen_status pen_job_believe(pen_job *job, uint32_t rank, const pen_told *told);

/* Make imported descriptions visible to inline code. _show: in the views of the primordial team,
 * of pairs and of all teams. _show_team: in a team that is not in the list yet. The code that
 * frees a team frees its rows. */
pen_status pen_job_show(pen_job *job);
pen_status pen_job_show_team(pen_team *team);

/* Collective over all ranks, without a team. Exports the primordial endpoint's segment (may be
 * NULL), imports those of all peers, and makes them visible. Ends with a barrier. Polls until
 * all ranks have arrived, because peers may wait for this rank's answers. */
pen_status pen_job_publish(pen_job *job, pen_segment *segment);

/* ---- endpoints ---------------------------------------------------------------------------- */

/* Makes an endpoint with the next number. It lasts as long as the job. Returns PEN_ERR_RESOURCE
 * if there are PEN_ENDPOINTS_MAX; PEN_ERR_MEMORY, after printing a line, if there is no memory. */
pen_status pen_job_endpoint_make(pen_job *job, uint32_t capabilities, uint32_t flags,
                                 pen_endpoint **out);

/* May be called once for each endpoint; it cannot be undone. */
void pen_job_bind(pen_endpoint *endpoint, pen_segment *segment);

/* Let short messages use the link's express entries, if the link is the only one and has them.
 * `express` is for one thread; `shared_express` is for several threads, under the port's post
 * lock. The row that is not usable has step 0 and one entry for all ranks that never has room.
 * So have both rows of a team whose job ranks follow no rule. Call the first when the routes
 * exist, the second for every new team. */
void pen_job_use_express(pen_job *job);
void pen_team_use_express(pen_team *team);

/* Multiples of the page size; UINTPTR_MAX in EVERYTHING. */
uintptr_t pen_job_segment_max_local(const pen_job *job);
uintptr_t pen_job_segment_max_global(const pen_job *job);

/* Returns the pair of a local endpoint and a remote number, and makes it at first use. The
 * remote endpoint need not exist yet. Returns NULL if there is no such local endpoint, or, after
 * printing a line, no memory. */
pen_team *pen_job_pair(pen_job *job, uint16_t local_index, uint16_t remote_index);

/* Returns a thread's state. SEQ and PARSYNC: always the first. PAR: an unused or a new one,
 * owned by the caller until it closes it. Returns NULL if GASNET_MAX_THREADS threads are live.
 * If there is no memory, ends the job. */
pen_thread *pen_job_thread_open(pen_job *job);
void pen_job_thread_close(pen_thread *thread);

static inline uint32_t pen_team_jobrank(const pen_team *team, uint32_t rank)
{
    return pen_likely(team->jobranks == NULL) ? team->first + rank * team->stride
                                              : team->jobranks[rank];
}

/* The number of a member's endpoint. */
static inline uint16_t pen_team_ep_index(const pen_team *team, uint32_t rank)
{
    return pen_likely(team->ep_indexes == NULL) ? team->pair_index : team->ep_indexes[rank];
}

static inline const pen_route *pen_team_route(const pen_team *team, uint32_t rank)
{
    return &team->job->routes[pen_team_jobrank(team, rank)];
}

/* Adds one to a counter of the job. */
static inline void pen_job_count(pen_job *job, uint64_t *counter)
{
    if (pen_likely(job->concurrency == PEN_ALONE))
        ++*counter;
    else
        (void)__atomic_fetch_add(counter, 1, __ATOMIC_RELAXED); /* relaxed: a statistic */
}

/* For PENSTOCK_STATS: prints one line with the counters that are not zero to the log's
 * descriptor, and one line for each peer with counts of the link, up to 64. */
void pen_job_print_counters(const pen_job *job);

/* calloc: returns zeroed memory for a table of the job. If there is no memory, prints "cannot
 * make " and `what`, and returns NULL. no_memory: prints the same for a failed call of the
 * caller, with that call's name and errno, and returns PEN_ERR_MEMORY. */
void *pen_job_calloc(pen_job *job, size_t count, size_t len, const char *what);
PEN_COLD pen_status pen_job_no_memory(pen_job *job, const char *what, const char *call);

/* Ends the job because of a fatal error in the library or the client. Prints one line (cause and
 * remedy), notes it for the supervisor, and exits with status 1 (checked builds: abort()). May
 * be called anywhere. */
PEN_COLD _Noreturn void pen_job_fatal(pen_job *job, const char *format, ...) PEN_PRINTF(2, 3);

/* Called in a process that a rank has forked. After this, no call there has an effect on the
 * job. A call that would communicate prints a line and ends the process. Async-signal-safe. */
void pen_job_orphan(pen_job *job);
/* call: the operation that the process may not use. */
PEN_COLD _Noreturn void pen_job_refuse_orphan(pen_job *job, const char *call);

#endif
