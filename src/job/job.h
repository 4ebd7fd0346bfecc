/* SPDX-License-Identifier: BSD-3-Clause */
/* job.h: one rank's whole state: who it is, its routes to peers, its endpoint and teams, its
 * threads. Everything the library knows hangs off a pen_job; there is no other state below api/.
 * Many jobs' ranks may live in one process (tests). */
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

/* The way to a peer. Same-host and network peers are the same kind of thing. */
typedef struct pen_route {
    pen_port *port;
    pen_peer peer;  /* as the link counts; the job rank for now */
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
    uint16_t index;       /* 0: primordial, the only one that receives active messages */
    pen_segment *segment; /* bound once, see pen_job_bind */
    /* TM pairs by remote number; NULL: not made yet. Written under threads_lock, read without:
     * release in pen_job_pair pairs with acquire there. */
    _Atomic(struct pen_team *) pairs[PEN_ENDPOINTS_MAX];
} pen_endpoint;

struct pen_coll_team; /* coll/: a team's collectives */

enum {
    PEN_TEAM_LISTED = 1,   /* job ranks stand in a list */
    PEN_TEAM_ELSEWHERE = 2 /* our end or a member is another endpoint than the primordial one */
};

/* A link's express entries of one lane for ranks of a team, or of the job. */
typedef struct pen_express_row {
    char *first;    /* of rank 0 ... */
    uint32_t step;  /* ... and bytes to the next rank's; 0: one without room for all */
    uint32_t count; /* ranks that have one; beyond there is nothing to look at */
} pen_express_row;

static inline pen_express *pen_express_at(const pen_express_row *row, uint32_t rank)
{
    uint32_t offset = rank * row->step;
    return (pen_express *)(void *)(row->first + offset);
}

typedef struct pen_team { /* gex_TM_t */
    pen_team_view view;   /* must be first: inline code reads it */
    pen_job *job;
    pen_express_row express, shared_express; /* of the job's tables; see pen_job_use_express */
    uint32_t flags;
    pen_endpoint *endpoint;
    const void *cdata;
    uint16_t pair_index; /* remote endpoint index of a TM pair; else of all members, if alike */
    bool is_pair;
    uint8_t special; /* PEN_TEAM_...; 0: job ranks follow the rule, all endpoints are primordial */
    uint32_t first, stride;     /* modulo 2^32: the job rank of rank i is first + i * stride ... */
    const uint32_t *jobranks;   /* ... or, if not NULL, stands here, by team rank */
    const uint32_t *by_jobrank; /* with jobranks: team ranks in the order of their job ranks */
    const uint16_t *ep_indexes; /* by team rank; NULL: pair_index for all */
    uint64_t id;                /* the same on all members, unique in the job; 0: primordial */
    struct pen_coll_team *coll; /* NULL: a pair */
    pen_mapped *rows;      /* the view's, where no table of the job's has them in a row; its own */
    gex_Memvec_t scratch;  /* what the client lent us; we do not use it */
    struct pen_team *next; /* all teams but the primordial one; guarded by threads_lock */
} pen_team;

/* For reports of waits: describes the operation, if it is one of the module's; fills awaited, peer,
 * number and team of the note. Called by threads that wait, under no lock. */
typedef bool (*pen_explain)(struct pen_job *job, const void *object, pen_wait_note *note);
enum { PEN_EXPLAINERS_MAX = 6 };

/* ---- threads ---------------------------------------------------------------------------- */

struct pen_event_pool; /* rma/event.h */

/* What a client thread carries: implicit operations, event pool, where it is. SEQ and PARSYNC use
 * the job's first; in PAR api/ finds it through one thread-local pointer. */
typedef struct pen_thread {
    pen_job *job;
    struct pen_thread *next;          /* all threads of the job; guarded by threads_lock */
    struct pen_rma_thread *rma;       /* rma/'s part; made on first use */
    struct pen_vis_peer *vis;         /* vis/'s part; made on first use */
    struct pen_source_desc *prepared; /* am/'s part: its negotiated message; made on first use */
    pen_poller poller;                /* progress/'s part: of the client's own polls */
    pen_wait block;                   /* api/'s part: the GASNET_BLOCKUNTIL it is in */
    uint32_t handler_depth;           /* > 0: inside a handler */
    const void *handler_token;        /* checked builds: the innermost pen_token */
    bool handler_is_request;          /* of the innermost handler */
    bool in_use; /* false: the thread has ended; the next new one takes its place */
} pen_thread;

extern const pen_knob pen_job_knobs[]; /* rows with offset into pen_job_config */
typedef struct pen_job_config {
    double exit_timeout;          /* GASNET_EXITTIMEOUT; 0: made of the three below */
    pen_memory_limit segment_max; /* GASNET_MAX_SEGSIZE */
    bool huge_pages;              /* GASNET_USE_HUGEPAGES */
    double exit_timeout_max, exit_timeout_min, exit_timeout_factor;
    int64_t threads_max;      /* GASNET_MAX_THREADS */
    const char *conduit;      /* PENSTOCK_CONDUIT */
    const char *device;       /* PENSTOCK_DEVICE; NULL: none */
    const char *check_off;    /* PENSTOCK_CHECK_OFF; NULL: nothing */
    bool check_overlap;       /* PENSTOCK_CHECK_OVERLAP */
    bool allow_other_conduit; /* PENSTOCK_ALLOW_OTHER_CONDUIT */
    bool stats;               /* PENSTOCK_STATS */
    bool verbose_env;         /* GASNET_VERBOSEENV */
} pen_job_config;

/* ---- the job ---------------------------------------------------------------------------- */

struct pen_am;     /* am/: handler table and what it needs */
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
    /* The link's, if this job may use it, by whether threads share the link; see
     * pen_job_use_express */
    pen_express_table express, shared_express;
    pen_express_row express_replies, shared_express_replies; /* of these tables, by job rank */
    pen_counters counters;
    pen_progress progress;
    /* waits.c: who describes operations; the wait that this rank shows, under waits_lock */
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
    bool is_orderly;        /* it closes because all ranks leave it */
    pen_host host;          /* what we lend links; ctx is this job */
    pen_host lent_host;     /* the conduit's: the same, or what the reliable link puts there */
    pen_lender near_lender; /* of near_host */
    pen_host near_host;     /* lent to the link among the ranks of this host; see near.c */
    uint64_t near_config[PEN_CONDUIT_CONFIG_MAX / 8];
    pen_client client;
    pen_endpoint endpoint;                      /* the primordial one */
    pen_endpoint *endpoints[PEN_ENDPOINTS_MAX]; /* by number; guarded by threads_lock */
    uint32_t endpoint_count;
    pen_team world;      /* the primordial team */
    pen_team *teams;     /* the others; guarded by threads_lock */
    uint32_t teams_made; /* numbers this rank has offered for ids of teams; likewise */
    /* By endpoint number, then by job rank: segments that we can load and store, for the frozen
     * views; NULL: nothing of that number was published. */
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
    _Atomic bool ending; /* the job is being ended from here: lost peers are no news */
    /* The calling thread's state, for checks that ask whether it runs a handler; api/ sets it,
     * which owns the thread-local pointer. NULL: the first thread's, and in PAR no such checks. */
    pen_thread *(*this_thread)(pen_job *job);
};

typedef struct pen_job_params {
    uint32_t mode, segment_mode;
    const char *segment_max; /* the client's default for GASNET_MAX_SEGSIZE; NULL: ours */
    const char *conduit;     /* the default for PENSTOCK_CONDUIT; NULL: the best one */
    /* What the job does with an arriving frame: am/ is above us. */
    void (*deliver)(void *ctx, pen_peer from, pen_lane lane, const void *head, uint32_t head_len,
                    void *body, uint32_t body_len);
    void (*deliver_head[2])(void *ctx, pen_peer from, const void *head, uint32_t head_len);
    pen_poll_view *poll_view; /* see pen_host; NULL: none */
    pen_clock clock;          /* the only one that the job and all below it ask */
    /* The supervisor wants this process to end, with this code; called where a rank waits, does not
     * return. NULL: ends it without further ado. */
    void (*end)(pen_job *job, int code);
    /* A fatal error has been said and is about to end the job. NULL: nothing more is to be done. */
    void (*on_fatal)(pen_job *job);
} pen_job_params;

/* Joins the job that job->boot (already open) and job->log describe; the rest of *job is zero.
 * Reads knobs, chooses and opens the conduit, connects, makes routes, the primordial client,
 * endpoint and team. On failure everything is undone. Ends without a barrier. */
pen_status pen_job_open(pen_job *job, const pen_job_params *params);
void pen_job_close(pen_job *job); /* also of one that is zero apart from boot and log */

/* Not thread-safe: while modules open. */
void pen_job_add_explainer(pen_job *job, pen_explain explain);

/* ---- making segments known ---------------------------------------------------------------- */

enum { PEN_SEGMENT_KEY_MAX = 192 };

/* What a rank tells of an endpoint's segment; len 0: none is bound. Peers do not trust it. */
typedef struct pen_told {
    uint64_t base, len;
    uint64_t arena_off; /* valid if in_arena */
    uint32_t number;
    uint16_t ep_index;
    uint8_t in_arena, has_key;
    uint8_t is_device; /* memory that its rank reaches by copies only */
    uint8_t lacks;     /* capabilities that the endpoint was made without */
    uint8_t key[PEN_SEGMENT_KEY_MAX];
} pen_told;

/* Bytes of a pen_told that have to travel: the same on all ranks. */
size_t pen_job_told_len(const pen_job *job);

/* Describes the segment bound to this rank's endpoint of that number, and lets peers name it. */
pen_status pen_job_tell(pen_job *job, uint16_t ep_index, pen_segment *segment, pen_told *out);

/* Takes in what a rank told. Nobody else of this process may be using that endpoint of that rank
 * unless it was told the same before. Not shown to inline code yet. */
pen_status pen_job_believe(pen_job *job, uint32_t rank, const pen_told *told);

/* Shows what ranks told to inline code: the views of the primordial team, pairs and teams. The
 * other is for a team that is not in the list yet; whoever frees a team frees its rows. */
pen_status pen_job_show(pen_job *job);
pen_status pen_job_show_team(pen_team *team);

/* Collective over all ranks, needs no team: tells of the primordial endpoint's segment (NULL: none)
 * and shows it; ends with a barrier. Polls until all ranks are here, so that nobody waits in vain
 * for an answer of ours. */
pen_status pen_job_publish(pen_job *job, pen_segment *segment);

/* ---- endpoints ---------------------------------------------------------------------------- */

/* The next number is its own. PEN_ERR_RESOURCE: there are PEN_ENDPOINTS_MAX; PEN_ERR_MEMORY (said
 * in a line). It lasts as long as the job. */
pen_status pen_job_endpoint_make(pen_job *job, uint32_t capabilities, uint32_t flags,
                                 pen_endpoint **out);

/* Once for each endpoint; there is no way back. */
void pen_job_bind(pen_endpoint *endpoint, pen_segment *segment);

/* Short messages by the link's express entries, where the link is the only one and has such
 * entries: `express` where one thread uses it, `shared_express` where threads do, under the port's
 * post lock once there are any. The other of the two, and both for a team whose members follow no
 * rule, has one entry for all that never has room, and steps of 0. The first once routes are there,
 * the other for every new team. */
void pen_job_use_express(pen_job *job);
void pen_team_use_express(pen_team *team);

/* Multiples of the page; UINTPTR_MAX in EVERYTHING. */
uintptr_t pen_job_segment_max_local(const pen_job *job);
uintptr_t pen_job_segment_max_global(const pen_job *job);

/* Made once for each local endpoint and number of the remote one, which need not exist yet. NULL:
 * no such endpoint, or no memory (said in a line). */
pen_team *pen_job_pair(pen_job *job, uint16_t local_index, uint16_t remote_index);

/* A thread's state. SEQ and PARSYNC: always the first. PAR: an unused one or a new one, of the
 * caller until it closes it. NULL: more than GASNET_MAX_THREADS live threads. No memory ends the
 * job. */
pen_thread *pen_job_thread_open(pen_job *job);
void pen_job_thread_close(pen_thread *thread);

static inline uint32_t pen_team_jobrank(const pen_team *team, uint32_t rank)
{
    return pen_likely(team->jobranks == NULL) ? team->first + rank * team->stride
                                              : team->jobranks[rank];
}

/* The endpoint of a member, by number. */
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

/* For PENSTOCK_STATS: one line with the counters that are not zero, on the log's descriptor; and
 * one for each peer of which the link counts something, up to 64. */
void pen_job_print_counters(const pen_job *job);

/* Zeroed memory for one of the job's tables; NULL: there is none, which a line has said. what
 * completes "cannot make ...". The other is for memory that came from a call of the caller's own:
 * says the same with that call's name and errno, answers PEN_ERR_MEMORY. */
void *pen_job_calloc(pen_job *job, size_t count, size_t len, const char *what);
PEN_COLD pen_status pen_job_no_memory(pen_job *job, const char *what, const char *call);

/* A fatal error of ours or of the client: one line (cause and remedy), notes it for the supervisor
 * and ends the job with status 1 (or abort() in checked builds). From anywhere. */
PEN_COLD _Noreturn void pen_job_fatal(pen_job *job, const char *format, ...) PEN_PRINTF(2, 3);

/* In a process that a rank has forked: from now on nothing that it calls has an effect on the job,
 * and what would communicate ends the process with a line instead. Async-signal-safe. */
void pen_job_orphan(pen_job *job);
/* call: what cannot be done in such a process. */
PEN_COLD _Noreturn void pen_job_refuse_orphan(pen_job *job, const char *call);

#endif
