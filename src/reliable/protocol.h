/* SPDX-License-Identifier: BSD-3-Clause */
/* protocol.h: frames over links that lose, double, reorder and damage them arrive once, intact.
 *
 * Pure state machines: an event is an argument (a frame posted, a frame received, time passed), and
 * actions go out through three functions. There is no clock, no link and no thread: the link around
 * it (reliable.h) and the simulation (tests/sim) drive the same objects.
 *
 * Invariants:
 *  1. Once. A frame has one sequence number for each pair of ranks however often it is sent, and
 * the receiver hands each number out at most once. Order is not kept: nothing waits for a gap.
 *  2. At last. A frame is kept until its number is acknowledged. While there is one, or a sender
 *     lacks credit, a timer runs: it probes, ever more slowly up to every PEN_REL_PROBE_NS_MAX, and
 *     never ends. A silent peer counts as alive until the layer above reports it as lost.
 *  3. Credits. On each lane a sender stays below a limit that the receiver raises as the engine
 *     takes frames; so the bytes of a peer that are on their way or kept here are bounded, as the
 *     kernel charges them. Limits only rise, and each message carries all of them: losing one costs
 *     time. Frames above the limit are dropped.
 *  4. Lanes. Replies do not wait for requests nor control for either: each lane has credits of its
 *     own, and the resources they share (the window of numbers, the bytes on their way, the copies)
 *     keep a part for the later lanes that the earlier may not use.
 *  5. Acknowledging needs no room at the engine: a frame of a lane that the engine does not read
 * now is kept here and acknowledged. So lost frames are replaced as long as the engine polls at
 * all.
 *  6. Strangers' bytes are read with bounds, dropped when malformed, and counted. Memory for a peer
 *     is its struct, and copies within the limits. */
#ifndef PEN_RELIABLE_PROTOCOL_H
#define PEN_RELIABLE_PROTOCOL_H

#include "base/status.h"
#include "conduit/conduit.h"
#include "link/lanes.h"
#include "reliable/pace.h"
#include "reliable/window.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct pen_rel_record pen_rel_record; /* a frame that is not acknowledged */

/* Where outputs go, and memory comes from. */
typedef struct pen_rel_out {
    void *ctx;
    /* As post() of a link; *op is told when the body may go if the answer is PENDING. */
    pen_post (*send)(void *ctx, pen_peer to, pen_lane lane, const pen_frame *frame, pen_op *op);
    void *(*alloc)(void *ctx, size_t len, size_t align);
    void (*release)(void *ctx, void *memory);
} pen_rel_out;

typedef struct pen_rel_config {
    pen_peer self, peers;
    uint32_t frame_max; /* largest body that the link below takes */
    uint32_t overhead;  /* charged for a frame on top of its length ... */
    uint32_t grain;     /* ... and the sum rounded up to this */
    size_t inbox_len;   /* bytes of this rank's inbox, divided among the peers; 0: the link has no
                           inbox */
    size_t memory_max; /* bytes of copies to send again; the same number for frames that are kept */
    uint32_t borrow_len; /* bodies from this length on are sent from the caller's memory */
    bool intact;         /* the link below drops what was damaged */
    bool shared;         /* the link below may complete ops in another thread */
    uint32_t session;    /* number of this rank's session; frames of another one are dropped */
} pen_rel_config;

#define PEN_REL_COUNT_LIST(X)                    \
    X(sent, "frames sent first")                 \
    X(resent, "sent again")                      \
    X(probes, "frames that probe")               \
    X(notes, "acknowledgements sent alone")      \
    X(delivered, "frames delivered")             \
    X(duplicates, "that had arrived before")     \
    X(malformed, "malformed")                    \
    X(damaged, "damaged")                        \
    X(stale, "of another life")                  \
    X(beyond, "beyond the window or the credit") \
    X(unkept, "dropped: lane not read, no room to keep")

typedef struct pen_rel_counts {
#define PEN_REL_COUNT_FIELD(name, text) uint64_t name;
    PEN_REL_COUNT_LIST(PEN_REL_COUNT_FIELD)
#undef PEN_REL_COUNT_FIELD
} pen_rel_counts;

typedef struct pen_rel_chain { /* a circular list; its head is one of them */
    struct pen_rel_chain *before, *behind;
} pen_rel_chain;

typedef struct pen_rel_lane {
    uint32_t sent, limit;       /* as a sender: bytes charged ever, and how far that may go */
    uint32_t accepted, granted; /* as a receiver: bytes accepted from the peer, and its limit */
    uint32_t consumed;          /* accepted bytes that the engine has taken */
    uint32_t told;              /* the limit that was last sent */
} pen_rel_lane;

/* All that is kept of a peer. */
typedef struct pen_rel_peer {
    pen_rel_chain active;  /* among those with something to do; alone: idle */
    uint64_t due_ns;       /* nothing to do before, but for acknowledgements that are owed */
    pen_rel_chain unacked; /* records by sequence number */
    pen_rel_chain flying;  /* the same by transmission, lost ones left out */
    pen_rel_chain lost;    /* to be sent again as the window allows */
    pen_rel_lane lanes[PEN_LANES];
    uint32_t session; /* the peer's */
    uint32_t next_sequence, next_transmission;
    uint32_t acked_transmission; /* the newest that arrived there */
    uint32_t flight;             /* bytes of flying records */
    uint64_t posted_ns;          /* when the engine last posted */
    uint64_t loss_ns;            /* when the oldest flying one is lost; 0: not in sight */
    uint64_t probe_base_ns;      /* last sign of life of the peer, or last frame sent to it */
    pen_rel_pace pace;
    bool is_held_up;       /* the last post was refused, for any reason ... */
    bool has_hurried;      /* ... and the peer was asked, since the last news, what has arrived */
    bool wants_credit;     /* a post was refused for want of it ... */
    bool has_asked;        /* ... and the peer was asked when nothing else would make it tell */
    bool is_lost;          /* the link below says so */
    pen_rel_window window; /* what arrived */
    uint32_t heard_transmission; /* the newest of them */
    uint32_t heard_sequence;     /* the number of its frame */
    uint64_t heard_ns;           /* when it arrived */
    uint32_t ack_count;          /* frames to acknowledge */
    bool ack_now;                /* there are some, and it should be without waiting for more */
} pen_rel_peer;

/* An idle peer costs this, a udp_peer and the seal's keys and window: together below 4 KiB. */
_Static_assert(sizeof(pen_rel_peer) <= 1024, "an idle peer is small");

typedef struct pen_rel_spare {
    pen_rel_record *first;
    uint32_t count;
} pen_rel_spare;

typedef struct pen_rel_core {
    pen_rel_config config;
    pen_rel_out out;
    pen_rel_peer *peers;
    pen_rel_chain active;
    uint64_t deadline_ns;      /* nothing to do before; UINT64_MAX: nothing at all */
    uint32_t acks_due;         /* peers that are owed an acknowledgement */
    bool may_gather;           /* for send(): the frame may wait for company; see pen_link */
    uint32_t quota[PEN_LANES]; /* bytes that one peer may have on their way and kept here */
    size_t record_bytes;
    pen_rel_chain reading;            /* acknowledged, but the link below still reads them */
    pen_rel_spare spare, large_spare; /* memory of records, to be used again */
    pen_lanes kept;                   /* frames that the engine has not asked for */
    pen_rel_chain finished; /* acknowledged ones of borrowed bodies: see pen_rel_take_finished */
    pen_rel_counts counts;
} pen_rel_core;

/* A frame for the engine. */
typedef struct pen_rel_delivery {
    pen_peer from;
    pen_lane lane;
    uint32_t head_len, body_len, charge;
    void *body;
    uint64_t head[PEN_FRAME_HEAD_MAX / 8];
} pen_rel_delivery;

typedef enum pen_rel_result {
    PEN_REL_NOTHING, /* for the engine */
    PEN_REL_DELIVER, /* now, then pen_rel_consumed */
    PEN_REL_KEPT,    /* its lane is not read now; see pen_rel_next_kept */
} pen_rel_result;

/* Returns PEN_ERR_MEMORY if there is no memory. */
pen_status pen_rel_init(pen_rel_core *core, const pen_rel_config *config, const pen_rel_out *out);
void pen_rel_close(pen_rel_core *core); /* the link below reads nothing any more */
void pen_rel_meet(pen_rel_core *core, pen_peer peer, uint32_t session);

/* Largest body of a frame; up to which length it is copied. */
uint32_t pen_rel_frame_max(const pen_rel_config *config);
uint32_t pen_rel_copy_max(const pen_rel_config *config);

pen_post pen_rel_post(pen_rel_core *core, uint64_t now_ns, pen_peer to, pen_lane lane,
                      const pen_frame *frame, pen_op *op);

/* A frame of the link below; lanes: a bit each for those that may be delivered now. */
pen_rel_result pen_rel_receive(pen_rel_core *core, uint64_t now_ns, pen_peer from,
                               const pen_frame *frame, unsigned lanes, pen_rel_delivery *out);
void pen_rel_consumed(pen_rel_core *core, uint64_t now_ns, const pen_rel_delivery *delivery);

/* Returns the oldest frame that is kept for one of these lanes, later lanes first, or NULL. The
 * caller delivers it and then reports that. */
pen_kept *pen_rel_next_kept(pen_rel_core *core, unsigned lanes, pen_rel_delivery *out);
void pen_rel_kept_consumed(pen_rel_core *core, uint64_t now_ns, pen_kept *kept,
                           const pen_rel_delivery *delivery);

/* Time has passed. idle: nothing arrived lately, so acknowledgements need not wait for company. */
void pen_rel_tick(pen_rel_core *core, uint64_t now_ns, bool idle);

static inline bool pen_rel_has_work(const pen_rel_core *core)
{
    return core->active.behind != &core->active || core->reading.behind != &core->reading;
}

/* The op of a borrowed body that is not needed any more, to be completed by the caller, who holds
 * no lock then: it may post. NULL: no more. */
pen_op *pen_rel_take_finished(pen_rel_core *core);

/* Whether all that was posted is acknowledged, or goes to peers that have not answered for long. */
bool pen_rel_is_settled(const pen_rel_core *core);

#endif
