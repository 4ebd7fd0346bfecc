/* SPDX-License-Identifier: BSD-3-Clause */
/* conduit.h: the contract between the engine and one network.
 *
 * A conduit moves frames and, where the hardware can, memory. It does not block, retry, queue what
 * it cannot send, interpret a frame, or call the client. Credits, fragmentation, retransmission,
 * ordering and the emulation of whatever a conduit leaves out are the engine's business, written
 * once, above this line.
 *
 * A conduit includes what src/LAYERS allows it and nothing else of ours; it reaches the engine
 * only through what pen_host lends. One link per device: endpoints of a rank share it.
 *
 * Two locks per link, taken by the engine unless PEN_CAP_THREAD_SAFE: the post lock round
 * post/put/get/reserve..commit, the poll lock (try-locked) round poll. deliver runs under the poll
 * lock only; post must work from inside deliver and beside another thread's poll.
 */
#ifndef PEN_CONDUIT_CONDUIT_H
#define PEN_CONDUIT_CONDUIT_H

#include "base/status.h"
#include "diag/counters.h"
#include "knob/knob.h"
#include "os/lock.h"

#include <penstock/abi.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PEN_CONDUIT_ABI 6 /* bumped when any struct below changes */

typedef uint32_t pen_peer; /* job rank; an index, never an address */
#define PEN_PEER_ANY UINT32_MAX
enum { PEN_ADDR_LEN_MAX = 256 };      /* of the address that a link tells its peers */
typedef struct pen_link pen_link;     /* one endpoint on one device */
typedef struct pen_region pen_region; /* local memory known to the device */
typedef uint64_t pen_rkey;            /* imported right to a peer's region; conduit-defined */

/* ---- results of posting work ------------------------------------------------------------ */

typedef enum pen_post {
    PEN_POST_DONE,    /* finished; the op is not touched, nothing more will be reported; the
                         frame has left, or leaves when the link is polled next          */
    PEN_POST_PENDING, /* accepted; poll() will report every phase the op asked for      */
    PEN_POST_AGAIN,   /* no room; nothing happened; poll, then try again                */
    PEN_POST_FAILED,  /* the peer is lost; host->peer_lost() has been or will be called */
} pen_post;

/* One client operation, possibly many fragments. The engine raises both counts before posting a
 * fragment and takes them back when the answer is not PENDING; a conduit only lowers them, through
 * pen_op_source_done/pen_op_done. Completion by another thread is why they are atomic; `shared`
 * false makes them plain additions. */
typedef struct pen_op {
    _Atomic uint32_t source_busy;    /* fragments whose local buffer the device still reads  */
    _Atomic uint32_t incomplete;     /* fragments not yet remotely complete (or data landed) */
    bool shared;                     /* more than one thread may touch the counts            */
    bool local;                      /* a put of it is over when its source is free: a frame
                                        behind it (pen_behind_ops) tells of its data         */
    void (*then)(struct pen_op *op); /* NULL, or called once, by whoever lowers incomplete to 0 */
} pen_op;

static inline uint32_t pen_count_drop(_Atomic uint32_t *count, bool shared)
{
    if (shared) /* release: the data this count stands for; acquire: the last dropper sees it all */
        return atomic_fetch_sub_explicit(count, 1, memory_order_acq_rel) - 1;
    uint32_t left = atomic_load_explicit(count, memory_order_relaxed) - 1;
    atomic_store_explicit(count, left, memory_order_relaxed);
    return left;
}

static inline void pen_op_source_done(pen_op *op) /* optional early phase: local buffer reusable */
{
    (void)pen_count_drop(&op->source_busy, op->shared);
}

static inline void pen_op_done(pen_op *op) /* final phase of a fragment whose source is done */
{
    void (*then)(pen_op *) = op->then; /* read first: at zero the op may be gone */
    if (pen_count_drop(&op->incomplete, op->shared) == 0 && then != NULL)
        then(op);
}

/* ---- frames: what active messages are made of --------------------------------------------- */

/* A reply must be postable however many requests are queued, and control (acks, exit, barrier)
 * however many of both: this, with the engine's credits, is the whole deadlock argument, so a
 * conduit sets room aside for each lane. */
typedef enum pen_lane { PEN_LANE_REQUEST, PEN_LANE_REPLY, PEN_LANE_CONTROL, PEN_LANES } pen_lane;
#define PEN_LANE_BIT(lane) (1u << (lane))
#define PEN_LANES_ALL      ((1u << PEN_LANES) - 1)

/* The engine's head is at most this long: 8 bytes, 16 arguments, 32 more for long messages. */
#define PEN_FRAME_HEAD_MAX 104

typedef struct pen_frame {
    const void *head;  /* engine header, 8-byte aligned: always copied before post() returns */
    const void *body;  /* payload: copied, or busy until source_done                         */
    uint32_t head_len; /* a multiple of 8, 8..PEN_FRAME_HEAD_MAX                             */
    uint32_t body_len;
} pen_frame;

/* ---- what the engine lends a conduit ------------------------------------------------------- */

typedef struct pen_host {
    void *ctx;
    /* Called from poll() only. It may post; it may not poll. It always takes the frame.
     * head: 8-byte aligned; body: at a multiple of 16, writable, both until deliver returns.
     * body is NULL when body_len is 0. Both may still be shared with a hostile writer: the
     * engine loads each head word once, then checks it. */
    void (*deliver)(void *ctx, pen_peer from, pen_lane lane, const void *head, uint32_t head_len,
                    void *body, uint32_t body_len);
    /* The same for frames that are nothing but a head, by lane, REQUEST and REPLY: with less to
     * say. Which of the two ways a conduit calls makes no difference. Optional: NULL, or both. */
    void (*deliver_head[2])(void *ctx, pen_peer from, const void *head, uint32_t head_len);
    void (*peer_lost)(void *ctx, pen_peer peer, pen_status why); /* once per peer */
    uint64_t (*now_ns)(void *ctx); /* virtual time under a simulator */
    void (*log)(void *ctx, int level, const char *format, ...)
        __attribute__((format(printf, 3, 4)));
    /* Private memory, as from aligned_alloc: NULL with errno when there is none. */
    void *(*alloc)(void *ctx, size_t len, size_t align);
    void (*release)(void *ctx, void *);
    /* Memory shared by the ranks of this host: this conduit's slice of the host arena, zero at the
     * start, mapped at the same offset by all. NULL when peers share no memory. */
    void *(*shared)(void *ctx, size_t *len_out);
    /* A same-host peer that may sleep has work: one load when it is awake. */
    void (*wake)(void *ctx, pen_peer peer);
    /* Optional (NULL, or answers NULL: call wake after every frame): the word that is not 0 while
     * that peer sleeps or is about to. A conduit loads it after publishing a frame and calls wake
     * then only. The sleeper sets it, lets a barrier run on all processors (or, where the kernel
     * has none and pen_membarrier_register() answered false, fences, and so does every sender
     * between its store and this load), then polls once more. */
    const _Atomic uint32_t *(*sleeping)(void *ctx, pen_peer peer);
    /* Optional (NULL): how a poll that would find nothing is seen to be idle without being made,
     * see pen_poll_view. A link that can keep the promise writes sum and all words but the last
     * whenever poll() or connect() may have changed what it waits for; the last it writes in
     * open(), once, and from then on it is the engine's, which puts a 1 there while it has work
     * itself. A link without PEN_CAP_RELIABLE leaves it alone: the one around it has timers. */
    pen_poll_view *poll_view;
    /* Optional (NULL): the rank's counters, in which a link that drops what comes from strangers
     * counts it by reason. Written from poll() only. */
    pen_counters *counters;
} pen_host;

/* ---- what a conduit tells the engine --------------------------------------------------------- */

enum pen_cap {
    PEN_CAP_RELIABLE = 1u << 0,     /* frames arrive once, intact                              */
    PEN_CAP_ORDERED = 1u << 1,      /* frames of one lane to one peer arrive in post order     */
    PEN_CAP_THREAD_SAFE = 1u << 2,  /* else the engine holds the link's lock around every call */
    PEN_CAP_LOCAL_REGION = 1u << 3, /* local RMA buffers must be registered                    */
    PEN_CAP_HOST_ATOMICS = 1u << 4, /* device atomics are coherent with CPU atomics            */
    PEN_CAP_SAME_HOST = 1u << 5,    /* moves through memory that ranks of one host share: the
                                       counters' "shared memory" route, else "network"         */
    PEN_CAP_INTACT = 1u << 6,       /* a damaged frame is dropped, never delivered; RELIABLE
                                       says so in any case                                     */
    PEN_CAP_COPIES = 1u << 7,       /* post() without an op copies bodies of any length        */
};

typedef struct pen_caps {
    uint32_t flags;          /* pen_cap                                                        */
    uint32_t frame_max;      /* largest body_len of one frame, whatever its head               */
    uint32_t frame_copy_max; /* up to this body_len post() never answers PENDING               */
    uint32_t frame_overhead; /* charged for each frame on top of its length ...                */
    uint32_t frame_grain;    /* ... and the sum rounded up to this (a slot, a page)            */
    size_t inbox_len;        /* what we hold unpolled, from all peers together, CONTROL apart;
                                0: post() answers AGAIN instead, and no credits are needed     */
    uint32_t addr_len;       /* bytes written by address(); at most PEN_ADDR_LEN_MAX           */
    uint32_t rkey_len;       /* bytes written by export_region()                               */
    size_t put_max, get_max; /* largest single transfer; the engine splits                     */
} pen_caps;

/* Required of every conduit. */
typedef struct pen_link_ops {
    void (*close)(pen_link *link); /* frees it; peers may be gone already; touches no op any more */
    pen_status (*address)(pen_link *link, void *blob);
    pen_status (*connect)(pen_link *link, const void *blobs, pen_peer count);
    /* op may be NULL when body_len <= frame_copy_max, or the link has PEN_CAP_COPIES: the answer is
     * then never PENDING. */
    pen_post (*post)(pen_link *link, pen_peer to, pen_lane lane, const pen_frame *frame,
                     pen_op *op);
    /* lanes: a bit each; delivers at most about budget frames; answers how many events it handled.
     */
    unsigned (*poll)(pen_link *link, unsigned lanes, unsigned budget);
} pen_link_ops;

/* Optional families. A table is either absent (NULL) or complete: no NULL entries, no stubs that
 * answer "unsupported". What is absent, the engine emulates with frames. */
typedef struct pen_rma_ops {
    /* ERR_RESOURCE, which the link has said in a line: the device has no room for this one; what is
     * put there and got from there goes by frames. */
    pen_status (*register_region)(pen_link *, void *addr, size_t len, pen_region **out);
    void (*deregister_region)(pen_link *, pen_region *);
    pen_status (*export_region)(pen_link *, const pen_region *, void *blob);
    pen_status (*import_region)(pen_link *, pen_peer, const void *blob, pen_rkey *out);
    void (*release_region)(pen_link *, pen_peer, pen_rkey);
    /* offset: within the peer's region; the engine has checked offset + len against its length. */
    pen_post (*put)(pen_link *, pen_peer, uint64_t offset, pen_rkey, const void *local, size_t len,
                    pen_op *);
    pen_post (*get)(pen_link *, pen_peer, uint64_t offset, pen_rkey, void *local, size_t len,
                    pen_op *);
} pen_rma_ops;

/* A frame written in place: negotiated payload without a copy, and a way to know that a frame will
 * go before its data moves. Between reserve and commit or cancel no other call on the same lane and
 * peer is made by this thread, and no lock is held. */
typedef struct pen_zcopy_ops {
    void *(*reserve)(pen_link *, pen_peer, pen_lane,
                     uint32_t body_len_max); /* body, 16-aligned; NULL: try again */
    void (*commit)(pen_link *, pen_peer, pen_lane, void *body, const void *head, uint32_t head_len,
                   uint32_t body_len); /* never fails */
    void (*cancel)(pen_link *, pen_peer, pen_lane, void *body);
} pen_zcopy_ops;

/* Frames that are nothing but a head of one to four words, posted without making a pen_frame: for
 * each peer and lane (REQUEST and REPLY) an entry that says how many of them will be taken for
 * certain. Whoever finds room there may post one, under the rules of post(), and is not refused.
 * A link shows no room for its own rank: the engine runs those messages where they are sent.
 * Room 0 says nothing: post() may know of more. Only calls on the link, of this rank, change it.
 *
 * While there is room, a frame with a body of so many bytes as body_room says is taken in the same
 * way, and copied, if it is of medium length; body_room is 0 where a link has no such way. */
typedef struct pen_express {
    uint32_t room, body_room;
} pen_express;

enum { /* of frames with a body */
       PEN_EXPRESS_HEAD_MAX = 56,
       PEN_EXPRESS_BODY_MIN = 64,
       PEN_EXPRESS_BODY_MAX = 1024,
};

static inline bool pen_express_takes(const pen_express *entry, uint32_t head_len, size_t body_len)
{
    return entry->room != 0 && head_len <= PEN_EXPRESS_HEAD_MAX &&
           body_len - PEN_EXPRESS_BODY_MIN <= PEN_EXPRESS_BODY_MAX - PEN_EXPRESS_BODY_MIN &&
           body_len <= entry->body_room;
}

typedef struct pen_express_ops { /* all answer 0 */
    int (*one)(pen_express *, uint64_t);
    int (*two)(pen_express *, uint64_t, uint64_t);
    int (*three)(pen_express *, uint64_t, uint64_t, uint64_t);
    int (*four)(pen_express *, uint64_t, uint64_t, uint64_t, uint64_t);
    /* What pen_express_takes; NULL: there is no such way. head_len: a multiple of 8 */
    int (*body)(pen_express *, const uint64_t *head, uint32_t head_len, const void *body,
                uint32_t body_len);
} pen_express_ops;

typedef struct pen_express_table { /* complete when connect() has returned */
    pen_express_ops ops;
    pen_express *first; /* of peer 0, lane REQUEST; NULL: there is no such table */
    uint32_t peer_step; /* bytes from one peer's entry to the next ... */
    uint32_t lane_step; /* ... and from a peer's entry for REQUEST to that for REPLY */
} pen_express_table;

static inline pen_express *pen_express_of(const pen_express_table *table, pen_peer peer,
                                          pen_lane lane)
{
    char *first = (char *)table->first;
    return (pen_express *)(void *)(first + (size_t)peer * table->peer_step +
                                   (size_t)lane * table->lane_step);
}

/* A frame that is nothing but a head, delivered when the data of all puts that were posted to the
 * peer before has landed there, however long those take: a Long whose payload the link's own put
 * moves needs no answer in between. Otherwise as post(). Wants the rma family. */
typedef struct pen_behind_ops {
    pen_post (*post)(pen_link *, pen_peer, pen_lane, const void *head, uint32_t head_len);
} pen_behind_ops;

typedef struct pen_wait_ops { /* sleep instead of spin; a link without it is woken through
                                 host->wake */
    int (*fd)(pen_link *);
    /* Whether one may sleep on it now; false: events already waiting, poll first. *until_ns is
     * lowered to when the link has to be polled though nothing rings, by host->now_ns. */
    bool (*arm)(pen_link *, uint64_t *until_ns);
} pen_wait_ops;

/* What the link has counted of a peer, with which it has credits of its own; any thread, any time.
 * False: it cannot say now. */
typedef struct pen_count_ops {
    bool (*peer)(pen_link *, pen_peer, pen_peer_counters *out);
} pen_count_ops;

struct pen_link { /* first member of every conduit's own link struct */
    const pen_link_ops *ops;
    const pen_rma_ops *rma;
    const pen_zcopy_ops *zcopy;
    const pen_wait_ops *wait;
    const pen_behind_ops *behind;
    const pen_count_ops *count;
    pen_express_table express;
    const pen_host *host;
    pen_caps caps;
    pen_peer self;
    /* A hint for the next post(), set under the lock that is round it by whoever wraps the link:
     * the frame may be kept for company until the link is polled, until as many as go together have
     * come, or until a frame to the same peer is posted that may not. false unless somebody sets
     * it; links that send each frame by itself do not look. */
    bool may_gather;
};

/* ---- the registry entry: the only symbol a conduit exports ---------------------------------- */

typedef struct pen_link_params {
    const pen_host *host;
    pen_peer self, peers;
    const void *config; /* config_len bytes, filled from the conduit's own knobs */
    /* PEN_JOB_KEY_LEN random bytes that all ranks of the launch have and nobody else: links that
     * leave the host authenticate with it. Not to be kept, logged, or handed on but sealed. */
    const uint8_t *job_key;
    pen_concurrency concurrency; /* for locks of the link's own */
} pen_link_params;

typedef struct pen_conduit {
    uint32_t abi; /* PEN_CONDUIT_ABI */
    const char *name, *summary;
    const pen_knob *knobs; /* environment variables it reads; NULL: none */
    size_t config_len;     /* of the struct the knobs fill, at most PEN_CONDUIT_CONFIG_MAX */
    /* How good a choice it is here for a job of `peers` ranks; cheap, without side effects.
     * 0: unusable, and *why_not says so in words. */
    int (*score)(pen_peer peers, const char **why_not);
    /* Shared memory wanted from the host arena for a job of `peers` ranks, all ranks together. */
    size_t (*shared_len)(pen_peer peers, const void *config);
    pen_status (*open)(const pen_link_params *params, pen_link **out);
} pen_conduit;

#define PEN_CONDUIT_CONFIG_MAX 512
#define PEN_JOB_KEY_LEN        32

/* ---- registry -------------------------------------------------------------------------------- */

extern const pen_conduit *const pen_builtin_conduits[]; /* made by the build; ends with NULL */

const pen_conduit *pen_conduit_find(const char *name); /* NULL: no such conduit */

/* The one called `wanted`, or for NULL or "" the one with the best score for so many peers. On
 * failure logs the reason for every conduit and answers PEN_ERR_UNUSABLE. */
pen_status pen_conduit_choose(pen_log *log, const char *wanted, pen_peer peers,
                              const pen_conduit **out);

/* The same among those of another table, for tests. */
pen_status pen_conduit_choose_among(pen_log *log, const pen_conduit *const *table,
                                    const char *wanted, pen_peer peers, const pen_conduit **out);

/* For whoever lays out the host arena: shared memory that the neediest built-in conduit wants for a
 * job of so many ranks, with its variables as they are in this process's environment. */
size_t pen_conduit_shared_max(pen_peer peers);

/* The same of one; 0: it needs none, so it may reach other hosts. */
size_t pen_conduit_shared_len(const pen_conduit *conduit, pen_peer peers);

#endif
