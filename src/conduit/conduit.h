/* SPDX-License-Identifier: BSD-3-Clause */
/* conduit.h: the contract between the engine and one network.
 *
 * A conduit moves frames and, if the hardware can, memory. It does not block, retry, queue
 * frames that it cannot send, interpret a frame, or call the client. Credits, fragmentation,
 * retransmission, ordering and the emulation of absent families are the engine's work, written
 * once, above this contract.
 *
 * A conduit includes only the parts of the library that src/LAYERS allows; it reaches the engine
 * only through pen_host. There is one link per device: endpoints of a rank share it.
 *
 * The engine takes two locks for each link: the post lock and the poll lock. Set-up and close
 * need no lock, because one thread makes those calls while no further thread uses the link. A
 * link must allow that one thread holds its post lock while another thread holds its poll lock,
 * and that the polling thread posts from inside deliver.
 *
 * Each slot of each table is described in one form:
 *
 *   Caller  who calls it, and when
 *   Lock    which lock the caller holds
 *   Blocks  whether it may wait for another rank, for a device, or for the kernel
 *   Fails   the state that it leaves behind when it fails
 *   AGAIN   the meaning of that answer, if the slot can give it
 *
 * A line with nothing to state is left out: a slot without Fails cannot fail. */
#ifndef PEN_CONDUIT_CONDUIT_H
#define PEN_CONDUIT_CONDUIT_H

#include "base/copy.h"
#include "base/status.h"
#include "diag/counters.h"
#include "diag/log.h"
#include "knob/knob.h"
#include "os/lock.h"

#include <penstock/abi.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PEN_CONDUIT_ABI 11 /* bumped when any struct below changes */

typedef uint32_t pen_peer; /* job rank; an index, never an address */
#define PEN_PEER_ANY UINT32_MAX
enum { PEN_ADDR_LEN_MAX = 1024 };     /* longest address that a link publishes to its peers */
typedef struct pen_link pen_link;     /* one endpoint on one device */
typedef struct pen_region pen_region; /* local memory known to the device */
typedef uint64_t pen_rkey;            /* imported right to a peer's region; conduit-defined */

/* ---- results of posting work ------------------------------------------------------------ */

typedef enum pen_post {
    PEN_POST_DONE,    /* finished; the op is not touched, and no report follows; the
                         frame has left, or leaves when the link is polled next          */
    PEN_POST_PENDING, /* accepted; poll() will report every phase the op asked for      */
    PEN_POST_AGAIN,   /* no room; nothing happened; poll, then try again                */
    PEN_POST_FAILED,  /* the peer is lost; host->peer_lost() has been or will be called */
} pen_post;

/* One client operation, possibly many fragments. The engine raises both counts before it posts a
 * fragment, and takes them back if the answer is not PENDING. A conduit only lowers them,
 * through pen_op_source_done and pen_op_done. They are atomic because another thread may
 * complete the op; if `shared` is false, they are plain additions. */
typedef struct pen_op {
    _Atomic uint32_t source_busy; /* fragments whose local buffer the device still reads  */
    _Atomic uint32_t incomplete;  /* fragments not yet remotely complete (or data landed) */
    bool shared;                  /* more than one thread may touch the counts            */
    bool local; /* a put of this op is complete when its source is free: a frame behind it
                   (pen_behind_ops) reports its data */
    void (*then)(
        struct pen_op *op); /* NULL, or called once, by the thread that lowers incomplete to 0 */
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

/* ---- frames: active messages consist of them ----------------------------------------------- */

/* A reply must be postable however many requests are queued; control (acks, exit, barrier) must
 * be postable however many of both are queued. This, with the engine's credits, is the
 * whole deadlock argument, so a conduit reserves room for each lane. */
typedef enum pen_lane { PEN_LANE_REQUEST, PEN_LANE_REPLY, PEN_LANE_CONTROL, PEN_LANES } pen_lane;
#define PEN_LANE_BIT(lane) (1u << (lane))
#define PEN_LANES_ALL      ((1u << PEN_LANES) - 1)

/* The engine's head is at most this long: 8 bytes, 16 arguments, 32 more for long messages. */
#define PEN_FRAME_HEAD_MAX 104
/* A link with PEN_CAP_RELIABLE and an inbox_len takes heads that are 8 bytes longer:
 * link/link_window.c appends a word about credits to each of them. */
#define PEN_FRAME_HEAD_COUNTED_MAX (PEN_FRAME_HEAD_MAX + 8)

typedef struct pen_frame {
    const void *head;  /* engine header, 8-byte aligned: always copied before post() returns */
    const void *body;  /* payload: copied, or busy until source_done                         */
    uint32_t head_len; /* a multiple of 8, 8..PEN_FRAME_HEAD_MAX (or ..._COUNTED_MAX)        */
    uint32_t body_len;
} pen_frame;

/* ---- services that the engine lends a conduit ---------------------------------------------- */

typedef struct pen_host {
    void *ctx; /* the first argument of every call below */
    /* Takes a frame that has arrived; it always takes it. head: 8-byte aligned; body: at a
     * multiple of 16, NULL when body_len is 0. Both are writable until the call returns. A
     * hostile writer may still share both: the engine loads each word of the head once, then
     * checks it.
     * Caller: the link, from inside its poll only. The call may post; it does not poll.
     * Lock: poll. The link holds no lock of its own.
     * Blocks: as long as the client's handler runs. */
    void (*deliver)(void *ctx, pen_peer from, pen_lane lane, const void *head, uint32_t head_len,
                    void *body, uint32_t body_len);
    /* Optional (both or neither): delivers a frame that has no body; one function each for the
     * lanes REQUEST and REPLY. A link may call either this or deliver for such a frame. See
     * link/host.h.
     * Caller, Lock, Blocks: as deliver. */
    void (*deliver_head[2])(void *ctx, pen_peer from, const void *head, uint32_t head_len);
    /* Reports that no more frames will come from the peer, and that no frame will reach it.
     * PEN_PEER_ANY: some peer is lost, and the link does not know which.
     * Caller: the link, once for each peer, from inside poll. The call may not return.
     * Lock: poll. The link holds no lock of its own. */
    void (*peer_lost)(void *ctx, pen_peer peer, pen_status why);
    /* The time, by the only clock that a link may read; a simulation computes it.
     * Caller: the link, anywhere. */
    uint64_t (*now_ns)(void *ctx);
    /* Logs one line for people, with a level of pen_log_level.
     * Caller: the link, anywhere except in post, and only about its own errors.
     * Blocks: on the descriptor that lines go to. */
    void (*log)(void *ctx, int level, const char *format, ...)
        __attribute__((format(printf, 3, 4)));
    /* Allocates private memory, as aligned_alloc does; its bytes have no particular value.
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
    /* Optional: a word that is not 0 while that peer sleeps or is about to. If the function is
     * NULL or returns NULL, call wake after every frame. A link loads the word after it has
     * published a frame, and calls wake only if it is not 0; see pen_host_wake_sleeper. The
     * sleeper sets it, lets a barrier run on all processors, then polls once more. If the kernel
     * has no membarrier (pen_membarrier_register() returned false), the sleeper fences
     * instead, and so does every sender between its store and this load.
     * Caller: the link, in connect. */
    const _Atomic uint32_t *(*sleeping)(void *ctx, pen_peer peer);
    /* Whether the job ends in order: all ranks leave, and each of them closes its link. A link
     * whose library has a collective end asks this before it takes part in one.
     * Caller: the link, in close. */
    bool (*orderly)(void *ctx);
    /* Optional (NULL): the ways of copying that were measured on this host. NULL: memcpy.
     * Caller: the link, in open. The table does not change afterwards. */
    const pen_copy_table *copies;
    /* Optional (NULL): lets the engine see without a poll that a poll would find nothing; see
     * pen_poll_view. A link that can keep the promise writes sum and all words but the last
     * whenever poll() or connect() may have changed the words that it waits for. The last word
     * it writes once, in open(); after that the word belongs to the engine, which puts a 1 there
     * while it has work itself. A link without PEN_CAP_RELIABLE, or with an inbox_len, does not
     * use the view, because the link around it has work of its own. */
    pen_poll_view *poll_view;
    /* Optional (NULL): the rank's counters. A link that drops datagrams of strangers counts them
     * there, by reason, from poll() only. A link that registers local memory counts puts and gets
     * there, with the post lock. */
    pen_counters *counters;
    /* Optional (NULL: time is real): the rank's view of a job in virtual time (src/virtual). A link
     * over a card in software passes it to the card, whose packets then go through a simulated
     * network. Caller: the link, in open. */
    struct pen_virtual *virtual;
} pen_host;

/* ---- what a conduit declares to the engine ------------------------------------------------- */

/* Promises of a link. The contract test tries to break each of them. The comment of each flag
 * names the code that relies on it. No flag promises an order: frames of one lane to one peer may
 * overtake each other, and the engine relies on no order. */
enum pen_cap {
    PEN_CAP_RELIABLE = 1u << 0, /* frames arrive once, intact. Otherwise the job puts the link of
                                   reliable/ around it */
    PEN_CAP_LOCAL_REGION = 1u << 1, /* a demand: put and get need the region of the local buffer,
                                       which is not NULL. rma/ and am/ look it up */
    PEN_CAP_SAME_HOST =
        1u << 2, /* moves through memory that ranks of one host share: counted as the "shared
                    memory" route, otherwise as "network"; and peers are on this host */
    PEN_CAP_INTACT = 1u << 3, /* a damaged frame is dropped, never delivered; RELIABLE implies it.
                                 reliable/ then computes no sums */
    PEN_CAP_COPIES = 1u << 4, /* post() without an op copies bodies of any length. am/ then does not
                                 wait for sources */
};

typedef struct pen_caps {
    uint32_t flags;          /* pen_cap                                                        */
    uint32_t frame_max;      /* largest body_len of one frame, with any head                   */
    uint32_t frame_copy_max; /* up to this body_len post() never returns PENDING */
    uint32_t frame_overhead; /* charged for each frame on top of its length ...                */
    uint32_t frame_grain;    /* ... and the sum rounded up to this (a slot, a page)            */
    /* Bytes that the link holds unpolled, from all peers together; a link that finds no room
     * there loses the frame, or its library's memory grows. The engine enforces it for every
     * link that declares it, by credits: link/link_window.c goes around a link with
     * PEN_CAP_RELIABLE, reliable/ around one without. With the window, frames of all lanes and
     * the words behind their heads are charged; at most PEN_WINDOW_NOTES frames of 8 bytes from
     * each peer, in CONTROL, are not. With reliable/, CONTROL is not charged.
     * 0: post() returns AGAIN when there is no room, and no credits are needed. */
    size_t inbox_len;
    bool inbox_lends; /* the window lends room to peers that need it, instead of fixed shares; there
                         are then at most PEN_WINDOW_NOTES_LENT notes from each peer */
    uint32_t addr_len; /* bytes written by address(); at most PEN_ADDR_LEN_MAX, and equal in all
                          links of a conduit, with any device */
    uint32_t rkey_len; /* bytes written by export_region()                               */
    size_t put_max, get_max; /* largest single transfer; the engine splits                     */
} pen_caps;

/* Required of every conduit. */
typedef struct pen_link_ops {
    /* Frees the link, whether frames are left in it or not. It touches no op any more. Peers may
     * be gone already, and frames of gone peers may still come.
     * Caller: the job, last.
     * Blocks: for a bounded time, if its library needs that to end. */
    void (*close)(pen_link *link);
    /* Writes caps.addr_len bytes by which peers find this link.
     * Caller: the job, once, between open and connect.
     * Fails: it has logged the reason; the link is unchanged, and is closed next. */
    pen_status (*address)(pen_link *link, void *blob);
    /* Learns the addresses of all ranks, in their order, its own among them. The memory belongs
     * to the caller. Frames of peers that connected earlier may have come before it returns.
     * Caller: the job, once.
     * Blocks: not for further ranks, which may not have come so far; see open.
     * Fails: it has logged the reason; the link is closed next. */
    pen_status (*connect)(pen_link *link, const void *blobs, pen_peer count);
    /* Sends a frame. op may be NULL if body_len <= frame_copy_max, or if the link has
     * PEN_CAP_COPIES: the answer is then never PENDING.
     * Caller: any thread, also from inside deliver, and also to the rank itself.
     * Lock: post.
     * Fails: FAILED; the frame will not arrive, and the op is not touched.
     * AGAIN: the lane has no room now; nothing has happened. A poll of this rank or of the
     * receiver makes room, independent of the rest of the lanes. */
    pen_post (*post)(pen_link *link, pen_peer to, pen_lane lane, const pen_frame *frame,
                     pen_op *op);
    /* Delivers frames of the requested lanes (one bit each), at most about budget of them, keeps
     * those of the remaining lanes, and completes ops. Returns how many events it handled; after
     * 0 the rank may give its core away.
     * Caller: any thread, one at a time.
     * Lock: poll. */
    unsigned (*poll)(pen_link *link, unsigned lanes, unsigned budget);
} pen_link_ops;

/* Optional families. A table is either absent (NULL) or complete: no NULL entries, no stubs that
 * return "unsupported". The engine emulates an absent family with frames. */

/* Memory of peers that the device reads and writes by itself. */
typedef struct pen_rma_ops {
    /* Makes local memory known to the device.
     * Caller: any thread, when the client attaches a segment.
     * Fails: nothing is registered. After ERR_RESOURCE, which the link has logged, the device
     * has no room for this region, and puts and gets there go by frames. Any other status ends
     * the job. */
    pen_status (*register_region)(pen_link *, void *addr, size_t len, pen_region **out);
    /* Caller: the job; no operation is under way there. */
    void (*deregister_region)(pen_link *, pen_region *);
    /* Writes caps.rkey_len bytes, by which peers import the region.
     * Caller: any thread.
     * Fails: the job ends. */
    pen_status (*export_region)(pen_link *, const pen_region *, void *blob);
    /* Makes a key from the bytes that the peer has exported.
     * Caller: any thread, one at a time.
     * Fails: there is no key; the job ends. */
    pen_status (*import_region)(pen_link *, pen_peer, const void *blob, pen_rkey *out);
    /* Caller: the job; no operation with the key is under way. */
    void (*release_region)(pen_link *, pen_peer, pen_rkey);
    /* Move len bytes between local memory and the peer's region. offset: within that region; the
     * engine has checked offset + len against its length. region: the registered region of the
     * local memory; with PEN_CAP_LOCAL_REGION it is never NULL, and without it usually NULL.
     * DONE and the end of the op mean that the data has landed (for a put whose op is `local`:
     * that its source is free).
     * Caller: any thread, also from inside deliver.
     * Lock: post.
     * Fails: FAILED; some of the data may have landed, and the op is not touched.
     * AGAIN: nothing has happened; a poll of this rank makes room. */
    pen_post (*put)(pen_link *, pen_peer, uint64_t offset, pen_rkey, const void *local,
                    pen_region *region, size_t len, pen_op *);
    pen_post (*get)(pen_link *, pen_peer, uint64_t offset, pen_rkey, void *local,
                    pen_region *region, size_t len, pen_op *);
} pen_rma_ops;

/* An operation on an aligned word of 4 or 8 bytes. */
typedef struct pen_amo {
    uint32_t type, op; /* one bit of GEX_DT_... and of GEX_OP_... */
    uint64_t operands[2];
    void *result; /* receives the old value if op fetches it */
} pen_amo;

/* Operations on words of peers that the device performs by itself. Requires the rma family. */
typedef struct pen_amo_ops {
    /* Returns whether the device performs operations with this type and op. Each then is one step
     * for the peer's processors and for all devices: no change of the word comes between. The
     * answer never changes. Caller: any thread. No lock. */
    bool (*serves)(const pen_link *, uint32_t type, uint32_t op);
    /* Performs an operation that it serves on a word of the peer's region. The description may be
     * gone when the call has returned. The end of the op means that the word has changed, and that
     * the old value has been written. It has no source: the engine raises only incomplete. Caller:
     * any thread. Lock: post. Fails: FAILED; the word may have changed, and the op is not touched.
     * AGAIN: nothing has happened; a poll of this rank makes room. */
    pen_post (*post)(pen_link *, pen_peer, uint64_t offset, pen_rkey, const pen_amo *, pen_op *);
} pen_amo_ops;

/* A frame written in place: negotiated payload without a copy. The caller knows that the frame
 * will be sent before its data moves. Between reserve and commit or cancel this thread makes no
 * further call on that lane and peer, and holds no lock. Meanwhile further threads may make calls.
 */
typedef struct pen_zcopy_ops {
    /* Returns memory for a body, aligned to 16.
     * Caller: any thread.
     * Lock: post.
     * AGAIN (NULL): there is no room; nothing has happened. */
    void *(*reserve)(pen_link *, pen_peer, pen_lane, uint32_t body_len_max);
    /* Sends the frame, whose body may be shorter than reserved. There is room for it.
     * Caller: the thread that reserved.
     * Lock: post. */
    void (*commit)(pen_link *, pen_peer, pen_lane, void *body, const void *head, uint32_t head_len,
                   uint32_t body_len);
    /* Gives the memory back. Caller, Lock: as commit. */
    void (*cancel)(pen_link *, pen_peer, pen_lane, void *body);
} pen_zcopy_ops;

/* Express entries, for links with PEN_CAP_SAME_HOST: the engine counts frames sent this way as
 * shared memory, and uses it if the link is the only one.
 *
 * An entry allows to post frames without a body and with a head of one to four words, without
 * making a pen_frame. There is one for each peer and lane (REQUEST and REPLY); `room` is the
 * number of frames that will certainly be taken. A caller that finds room may post one, under
 * the rules of post(), and is not refused. A link shows no room for its own rank: the engine
 * runs those messages where they are sent. Room 0 is no refusal: post() may find more. Only
 * calls on the link, of this rank, change it.
 *
 * While there is room, a frame with a body of medium length, at most body_room bytes, is taken
 * in this way too, and copied. body_room is 0 if the link cannot do that. */
typedef struct pen_express {
    uint32_t room, body_room;
} pen_express;

enum { /* limits of frames with a body */
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

/* Caller: the thread that found room in the entry. Lock: post. All return 0. */
typedef struct pen_express_ops {
    int (*one)(pen_express *, uint64_t);
    int (*two)(pen_express *, uint64_t, uint64_t);
    int (*three)(pen_express *, uint64_t, uint64_t, uint64_t);
    int (*four)(pen_express *, uint64_t, uint64_t, uint64_t, uint64_t);
    /* Posts a frame that pen_express_takes accepts; NULL if the link takes no bodies. head_len:
     * a multiple of 8 */
    int (*body)(pen_express *, const uint64_t *head, uint32_t head_len, const void *body,
                uint32_t body_len);
} pen_express_ops;

typedef struct pen_express_table { /* complete when connect() has returned */
    pen_express_ops ops;
    pen_express *first; /* entry of peer 0, lane REQUEST; NULL if there is no table */
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
 * between. Requires the rma family. */
typedef struct pen_behind_ops {
    /* Sends a frame that has no body. It is delivered when the data of all puts whose op is
     * `local`, and that were posted to the peer before, has landed there, however long those take.
     * Caller, Lock, Fails, AGAIN: as post. */
    pen_post (*post)(pen_link *, pen_peer, pen_lane, const void *head, uint32_t head_len);
} pen_behind_ops;

/* A descriptor to sleep on instead of spinning. A link without this family is woken through
 * host->wake. */
typedef struct pen_wait_ops {
    /* Readable when a frame has come. The descriptor stays the same while the link lives.
     * Caller: a waiting thread. Lock: poll. */
    int (*fd)(pen_link *);
    /* Returns whether the caller may sleep on it now. If false, events are already waiting, so
     * poll first.
     * Caller: a waiting thread. Lock: poll. */
    bool (*arm)(pen_link *);
} pen_wait_ops;

/* Times at which a link has to be polled though no frame comes. A link without this family has
 * no timers. */
typedef struct pen_due_ops {
    /* Time of the next poll, by host->now_ns; 0: at once; UINT64_MAX: when a frame comes.
     * Caller: a waiting thread. Lock: poll. */
    uint64_t (*due_ns)(pen_link *);
} pen_due_ops;

/* Counters for each peer of a link that has credits of its own. */
typedef struct pen_count_ops {
    /* Caller: any thread, at any time; a signal may have interrupted it anywhere. No lock.
     * AGAIN (false): the counters cannot be read now. */
    bool (*peer)(pen_link *, pen_peer, pen_peer_counters *out);
} pen_count_ops;

struct pen_link { /* first member of every conduit's own link struct */
    const pen_link_ops *ops;
    const pen_rma_ops *rma;
    const pen_amo_ops *amo;
    const pen_zcopy_ops *zcopy;
    const pen_wait_ops *wait;
    const pen_due_ops *due;
    const pen_behind_ops *behind;
    const pen_count_ops *count;
    pen_express_table express;
    const pen_host *host;
    pen_caps caps;
    pen_peer self;
    /* A hint for the next post(), set by the wrapping link or the engine under the post lock:
     * the link may keep the frame for more frames until it is polled, until a bundle is full, or
     * until a frame to the same peer is posted without the hint. It is false by default. Links
     * that send each frame by itself ignore it. */
    bool may_gather;
};

/* ---- the registry entry: the only symbol a conduit exports ---------------------------------- */

typedef struct pen_link_params {
    const pen_host *host;
    pen_peer self, peers;
    const void *config; /* config_len bytes, filled from the conduit's own knobs */
    /* PEN_JOB_KEY_LEN random bytes that only the ranks of the launch have: links that leave the
     * host authenticate with it. The link must not keep it, log it, or pass it on unsealed. */
    const uint8_t *job_key;
    pen_concurrency concurrency; /* for the link's own locks */
    /* Place of this rank: its number among its host's ranks, their number, and its host's number
     * in the job. For choosing among several network cards. */
    pen_peer local_rank, local_size;
    uint32_t host_index;
} pen_link_params;

typedef struct pen_conduit {
    uint32_t abi; /* PEN_CONDUIT_ABI; first, because it is read before anything else is trusted */
    const char *name, *summary;
    const pen_knob *knobs; /* environment variables it reads, or NULL */
    size_t config_len;     /* length of the struct the knobs fill, at most PEN_CONDUIT_CONFIG_MAX */
    /* How good a choice it is here for a job of `peers` ranks. It looks for hints only, is
     * cheap, and has no side effects; only open can tell for certain. *why is NULL before.
     * Returns more than PEN_SCORE_NAMED if the conduit may be chosen by its score; then *why may
     * give the reason in words that follow "because", for example the card that was found.
     * Returns PEN_SCORE_NAMED if it serves, but only if the user names it; *why gives the reason.
     * Caller: the launcher, the job, `penstock info`.
     * Fails: returns 0; the conduit is unusable, and *why gives the reason in words. */
    int (*score)(pen_peer peers, const char **why);
    /* Shared memory that it needs from the host arena for a job of `peers` ranks of one host,
     * all ranks together. If it is not 0, this conduit cannot span hosts.
     * Caller: the launcher and the job. */
    size_t (*shared_len)(pen_peer peers, const void *config);
    /* Makes a link. It is not connected; open does not wait for further ranks, unless its library
     * has a collective start. Such a library may wait for them in connect, too.
     * Caller: the job.
     * Blocks: for the device and the kernel.
     * Fails: it has logged the reason, and has freed all it took. Another conduit may be opened
     * next. A link that is open may be closed unconnected, because a rank elsewhere failed. */
    pen_status (*open)(const pen_link_params *params, pen_link **out);
} pen_conduit;

#define PEN_CONDUIT_CONFIG_MAX 512
enum { PEN_SCORE_NAMED = 1 };
#define PEN_JOB_KEY_LEN 32

/* ---- registry -------------------------------------------------------------------------------- */

extern const pen_conduit *const pen_builtin_conduits[]; /* made by the build; ends with NULL */

enum { PEN_CONDUITS_MAX = 32 }; /* built in and in modules */

/* Returns the built-in conduit with this name; NULL if there is none. */
const pen_conduit *pen_conduit_find_builtin(const char *name);

/* Returns the conduit with this name, built in or in a module; NULL if there is none. If no conduit
 * has the name, but modules have names that begin with it ("mpi" of mpi-ompi and mpi-mpich),
 * returns the first of these that is usable here, else the first. */
const pen_conduit *pen_conduit_find(const char *name);

/* Returns the conduit's score, at least 0. Up to PEN_SCORE_NAMED, *why is not NULL. */
int pen_conduit_score(const pen_conduit *conduit, pen_peer peers, const char **why);

/* Lists the conduits that are built in, then those of the modules that open (modules.h). Returns
 * their number. It opens all modules, which takes milliseconds. For each module that does not open,
 * it logs the reason at level info, unless log is NULL. */
size_t pen_conduit_list(pen_log *log, const pen_conduit *out[PEN_CONDUITS_MAX]);

/* Chooses the conduit called `wanted`, which may be in a module. For NULL or "" it chooses the
 * built-in one with the best score for a job of `peers` ranks, which is above PEN_SCORE_NAMED. On
 * failure logs the reason for every conduit and returns PEN_ERR_UNUSABLE. */
pen_status pen_conduit_choose(pen_log *log, const char *wanted, pen_peer peers,
                              const pen_conduit **out);

/* Chooses from another table, for tests. */
pen_status pen_conduit_choose_among(pen_log *log, const pen_conduit *const *table,
                                    const char *wanted, pen_peer peers, const pen_conduit **out);

/* Shared memory that the neediest built-in conduit needs for a job of `peers` ranks, under the
 * variables of this process's environment. The launcher sizes the host arena by it. */
size_t pen_conduit_shared_max(pen_peer peers);

/* Shared memory that one conduit needs. 0 means that it can span hosts. */
size_t pen_conduit_shared_len(const pen_conduit *conduit, pen_peer peers);

#endif
