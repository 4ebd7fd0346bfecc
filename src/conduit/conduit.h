/* SPDX-License-Identifier: BSD-3-Clause */
/* conduit.h: the contract between the engine and one network.
 *
 * A conduit moves frames and, where the hardware can, memory. It does not block, retry, queue what
 * it cannot send, interpret a frame, or call the client. Credits, fragmentation, retransmission,
 * ordering and the emulation of whatever a conduit leaves out are the engine's business, written
 * once, above this line.
 *
 * A conduit includes what src/LAYERS allows it and nothing else of the library; it reaches the
 * engine only through what pen_host lends. One link per device: endpoints of a rank share it.
 *
 * The engine takes two locks for each link: the post lock and the poll lock. No lock is taken for
 * calls of set-up and close, which one thread makes while no other uses the link. A link must bear
 * that one thread holds its post lock while another one holds its poll lock, and that the thread
 * which polls posts from inside deliver.
 *
 * Each slot of each table is described in one form:
 *
 *   Caller  who calls it, and when
 *   Lock    which lock the caller holds
 *   Blocks  whether it may wait for another rank, for a device, or for the kernel
 *   Fails   what it leaves behind when it fails
 *   AGAIN   what that answer means, where there is such an answer
 *
 * A line that would say "none" is left out: a slot without Fails cannot fail.
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

#define PEN_CONDUIT_ABI 7 /* bumped when any struct below changes */

typedef uint32_t pen_peer; /* job rank; an index, never an address */
#define PEN_PEER_ANY UINT32_MAX
enum { PEN_ADDR_LEN_MAX = 1024 };     /* of the address that a link tells its peers */
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
    void *ctx; /* the first argument of every call below */
    /* Takes a frame that came; it always takes it. head: 8-byte aligned; body: at a multiple of 16,
     * NULL when body_len is 0. Both are writable until the call returns. Both may still be shared
     * with a hostile writer: the engine loads each word of the head once, then checks it.
     * Caller: the link, from inside its poll only. The call may post; it does not poll.
     * Lock: poll. The link holds no lock of its own.
     * Blocks: as long as the client's handler runs. */
    void (*deliver)(void *ctx, pen_peer from, pen_lane lane, const void *head, uint32_t head_len,
                    void *body, uint32_t body_len);
    /* Optional (NULL, or both): the same for frames that are nothing but a head, by lane, REQUEST
     * and REPLY. Which of the two ways a link calls makes no difference. See link/host.h.
     * Caller, Lock, Blocks: as deliver. */
    void (*deliver_head[2])(void *ctx, pen_peer from, const void *head, uint32_t head_len);
    /* Says that nothing will come from the peer any more and nothing will reach it. PEN_PEER_ANY:
     * that goes for some peer, and the link does not know for which.
     * Caller: the link, once for each peer, from inside poll. The call may not return.
     * Lock: poll. The link holds no lock of its own. */
    void (*peer_lost)(void *ctx, pen_peer peer, pen_status why);
    /* The time, by the only clock that a link may ask: a simulation makes it up.
     * Caller: the link, anywhere. */
    uint64_t (*now_ns)(void *ctx);
    /* One line for people, with a level of pen_log_level.
     * Caller: the link, anywhere but in post and in what is not its error.
     * Blocks: on the descriptor that lines go to. */
    void (*log)(void *ctx, int level, const char *format, ...)
        __attribute__((format(printf, 3, 4)));
    /* Private memory, as from aligned_alloc; its bytes have no particular value.
     * Caller: the link, anywhere.
     * Fails: NULL with errno; nothing has happened. */
    void *(*alloc)(void *ctx, size_t len, size_t align);
    void (*release)(void *ctx, void *);
    /* Optional (NULL): memory shared by the ranks of this host. It is this conduit's part of the
     * host arena, zero at the start, and mapped by all of them.
     * Caller: the link, in open.
     * Fails: NULL; peers share no memory. */
    void *(*shared)(void *ctx, size_t *len_out);
    /* Wakes a peer of this host that may sleep; it costs one load when the peer is awake.
     * Caller: the link, after it has published a frame. */
    void (*wake)(void *ctx, pen_peer peer);
    /* Optional (NULL, or answers NULL: call wake after every frame): the word that is not 0 while
     * that peer sleeps or is about to. A link loads it after it has published a frame, and calls
     * wake only then; see pen_host_wake_sleeper. The sleeper sets it, lets a barrier run on all
     * processors (or, where the kernel has none and pen_membarrier_register() answered false,
     * fences, and so does every sender between its store and this load), then polls once more.
     * Caller: the link, in connect. */
    const _Atomic uint32_t *(*sleeping)(void *ctx, pen_peer peer);
    /* Whether the job ends in order: all ranks leave, and each of them closes its link. A link
     * whose library has a collective end asks this before it takes part in one. Caller: the link,
     * in close. */
    bool (*orderly)(void *ctx);
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

/* Promises of a link. The contract test tries to break each of them. The comment of each
 * flag says who relies on it. */
enum pen_cap {
    PEN_CAP_RELIABLE = 1u << 0,     /* frames arrive once, intact. Else the job puts the link of
                                       reliable/ around it                                     */
    PEN_CAP_ORDERED = 1u << 1,      /* frames of one lane to one peer arrive in post order. The
                                       engine does not need it; links around links keep it or
                                       clear it                                                */
    PEN_CAP_LOCAL_REGION = 1u << 2, /* a demand: put and get want the region of the local buffer,
                                       which is not NULL. rma/ and am/ look it up              */
    PEN_CAP_SAME_HOST = 1u << 3,    /* moves through memory that ranks of one host share: the
                                       counters' "shared memory" route, else "network"; and peers
                                       are on this host                                        */
    PEN_CAP_INTACT = 1u << 4,       /* a damaged frame is dropped, never delivered; RELIABLE says
                                       so in any case. reliable/ then computes no sums         */
    PEN_CAP_COPIES = 1u << 5,       /* post() without an op copies bodies of any length. am/ then
                                       does not wait for sources                               */
};

typedef struct pen_caps {
    uint32_t flags;          /* pen_cap                                                        */
    uint32_t frame_max;      /* largest body_len of one frame, whatever its head               */
    uint32_t frame_copy_max; /* up to this body_len post() never answers PENDING               */
    uint32_t frame_overhead; /* charged for each frame on top of its length ...                */
    uint32_t frame_grain;    /* ... and the sum rounded up to this (a slot, a page)            */
    /* For links without PEN_CAP_RELIABLE only: bytes that we hold unpolled, from all peers
     * together, CONTROL apart. What finds no room is lost, so the link that reliable/ puts around
     * this one counts credits for it. 0: post() answers AGAIN when there is no room, and no credits
     * are needed. A link with PEN_CAP_RELIABLE says 0: if its network never refuses a frame, the
     * link counts credits itself, with credit/, and answers AGAIN when it has none. */
    size_t inbox_len;
    uint32_t addr_len;       /* bytes written by address(); at most PEN_ADDR_LEN_MAX, and the same
                                in all links of a conduit, whatever devices their hosts have      */
    uint32_t rkey_len;       /* bytes written by export_region()                               */
    size_t put_max, get_max; /* largest single transfer; the engine splits                     */
} pen_caps;

/* Required of every conduit. */
typedef struct pen_link_ops {
    /* Frees the link, whether frames are left in it or not. It touches no op any more. Peers may be
     * gone already, and frames of theirs may still come.
     * Caller: the job, last.
     * Blocks: for a bounded time, if its library needs that to end. */
    void (*close)(pen_link *link);
    /* Writes caps.addr_len bytes by which peers find this link.
     * Caller: the job, once, between open and connect.
     * Fails: it has said why in a line; the link is as it was, and is closed next. */
    pen_status (*address)(pen_link *link, void *blob);
    /* Learns the addresses of all ranks, in their order, its own among them. The memory is the
     * caller's. Frames of peers that connected earlier may have come before it returns.
     * Caller: the job, once.
     * Blocks: not for other ranks, which may not have come so far.
     * Fails: it has said why in a line; the link is closed next. */
    pen_status (*connect)(pen_link *link, const void *blobs, pen_peer count);
    /* Sends a frame. op may be NULL when body_len <= frame_copy_max, or the link has
     * PEN_CAP_COPIES: the answer is then never PENDING.
     * Caller: any thread, also from inside deliver, and also to the rank itself.
     * Lock: post.
     * Fails: FAILED; the frame will not arrive, and the op is not touched.
     * AGAIN: the lane has no room now; nothing has happened. A poll of this rank or of the receiver
     * makes room, whatever happens on other lanes. */
    pen_post (*post)(pen_link *link, pen_peer to, pen_lane lane, const pen_frame *frame,
                     pen_op *op);
    /* Delivers frames of the lanes that are asked for (a bit each), at most about budget of them,
     * keeps those of other lanes, and completes ops. Answers how many events it handled; 0 lets the
     * rank give its core away.
     * Caller: any thread, one at a time.
     * Lock: poll. */
    unsigned (*poll)(pen_link *link, unsigned lanes, unsigned budget);
} pen_link_ops;

/* Optional families. A table is either absent (NULL) or complete: no NULL entries, no stubs that
 * answer "unsupported". What is absent, the engine emulates with frames. */

/* Memory of peers that the device reads and writes by itself. */
typedef struct pen_rma_ops {
    /* Makes local memory known to the device.
     * Caller: any thread, when the client attaches a segment.
     * Fails: nothing is registered. ERR_RESOURCE, which the link has said in a line: the device has
     * no room for this one, and what is put there and got from there goes by frames. Any other
     * status ends the job. */
    pen_status (*register_region)(pen_link *, void *addr, size_t len, pen_region **out);
    /* Caller: the job; no operation is under way there. */
    void (*deregister_region)(pen_link *, pen_region *);
    /* Writes caps.rkey_len bytes, by which peers import the region.
     * Caller: any thread.
     * Fails: the job ends. */
    pen_status (*export_region)(pen_link *, const pen_region *, void *blob);
    /* Makes a key of what the peer has exported.
     * Caller: any thread, one at a time.
     * Fails: there is no key; the job ends. */
    pen_status (*import_region)(pen_link *, pen_peer, const void *blob, pen_rkey *out);
    /* Caller: the job; no operation with the key is under way. */
    void (*release_region)(pen_link *, pen_peer, pen_rkey);
    /* Moves len bytes between local memory and the peer's region. offset: within that region; the
     * engine has checked offset + len against its length. region: where the local memory is
     * registered; with PEN_CAP_LOCAL_REGION it is never NULL, and without it is NULL as a rule.
     * DONE and the end of the op mean that the data has landed (of a put whose op is `local`: that
     * its source is free).
     * Caller: any thread, also from inside deliver.
     * Lock: post.
     * Fails: FAILED; some of the data may have landed, and the op is not touched.
     * AGAIN: nothing has happened; a poll of this rank makes room. */
    pen_post (*put)(pen_link *, pen_peer, uint64_t offset, pen_rkey, const void *local,
                    pen_region *region, size_t len, pen_op *);
    pen_post (*get)(pen_link *, pen_peer, uint64_t offset, pen_rkey, void *local,
                    pen_region *region, size_t len, pen_op *);
} pen_rma_ops;

/* A frame written in place: negotiated payload without a copy, and a way to know that a frame will
 * go before its data moves. Between reserve and commit or cancel this thread makes no other call on
 * the same lane and peer, and holds no lock. Other threads do make such calls. */
typedef struct pen_zcopy_ops {
    /* Answers memory for a body, aligned to 16.
     * Caller: any thread.
     * Lock: post.
     * AGAIN (NULL): there is no room; nothing has happened. */
    void *(*reserve)(pen_link *, pen_peer, pen_lane, uint32_t body_len_max);
    /* Sends the frame, whose body may be shorter than was asked for. There is room for it.
     * Caller: the thread that reserved.
     * Lock: post. */
    void (*commit)(pen_link *, pen_peer, pen_lane, void *body, const void *head, uint32_t head_len,
                   uint32_t body_len);
    /* Gives the memory back. Caller, Lock: as commit. */
    void (*cancel)(pen_link *, pen_peer, pen_lane, void *body);
} pen_zcopy_ops;

/* For links with PEN_CAP_SAME_HOST: the engine counts what goes this way as shared memory, and uses
 * it where the link is the only one.
 *
 * Frames that are nothing but a head of one to four words, posted without making a pen_frame: for
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

/* Caller: the thread that found room in the entry. Lock: post. All answer 0. */
typedef struct pen_express_ops {
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

/* Frames that wait for puts: a Long whose payload the link's own put moves needs no answer in
 * between. Wants the rma family. */
typedef struct pen_behind_ops {
    /* Sends a frame that is nothing but a head. It is delivered when the data of all puts that were
     * posted to the peer before has landed there, however long those take.
     * Caller, Lock, Fails, AGAIN: as post. */
    pen_post (*post)(pen_link *, pen_peer, pen_lane, const void *head, uint32_t head_len);
} pen_behind_ops;

/* A descriptor to sleep on instead of spinning. A link without this family is woken through
 * host->wake. */
typedef struct pen_wait_ops {
    /* Readable when something has come. The same one as long as the link lives.
     * Caller: a waiting thread. Lock: poll. */
    int (*fd)(pen_link *);
    /* Whether one may sleep on it now; false: events are already waiting, so poll first.
     * Caller: a waiting thread. Lock: poll. */
    bool (*arm)(pen_link *);
} pen_wait_ops;

/* Times at which a link has to be polled though nothing comes. A link without this family has no
 * timers. */
typedef struct pen_due_ops {
    /* When, by host->now_ns; 0: at once; UINT64_MAX: when something comes.
     * Caller: a waiting thread. Lock: poll. */
    uint64_t (*due_ns)(pen_link *);
} pen_due_ops;

/* What a link has counted of its peers, with which it has credits of its own. */
typedef struct pen_count_ops {
    /* Caller: any thread, at any time; a signal may have interrupted it anywhere. No lock.
     * AGAIN (false): it cannot say now. */
    bool (*peer)(pen_link *, pen_peer, pen_peer_counters *out);
} pen_count_ops;

struct pen_link { /* first member of every conduit's own link struct */
    const pen_link_ops *ops;
    const pen_rma_ops *rma;
    const pen_zcopy_ops *zcopy;
    const pen_wait_ops *wait;
    const pen_due_ops *due;
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
    /* Where this rank is: which of its host's ranks, of how many, and which of the job's hosts. For
     * choosing among several network cards. */
    pen_peer local_rank, local_size;
    uint32_t host_index;
} pen_link_params;

typedef struct pen_conduit {
    uint32_t abi; /* PEN_CONDUIT_ABI; first, because it is read before anything else is trusted */
    const char *name, *summary;
    const pen_knob *knobs; /* environment variables it reads; NULL: none */
    size_t config_len;     /* of the struct the knobs fill, at most PEN_CONDUIT_CONFIG_MAX */
    /* How good a choice it is here for a job of `peers` ranks. It looks for hints only, is cheap,
     * and has no side effects: the truth comes in open.
     * Caller: the launcher, the job, `penstock info`.
     * Fails: 0; it is unusable, and *why_not says so in words. */
    int (*score)(pen_peer peers, const char **why_not);
    /* Shared memory wanted from the host arena for a job of `peers` ranks of one host, all ranks
     * together. Not 0: this conduit does not reach other hosts.
     * Caller: the launcher and the job. */
    size_t (*shared_len)(pen_peer peers, const void *config);
    /* Makes a link. It is not connected; it does not wait for other ranks.
     * Caller: the job.
     * Blocks: for the device and the kernel.
     * Fails: it has said why in a line, and nothing is left of it. Another conduit may be opened
     * next. */
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
