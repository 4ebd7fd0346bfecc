/* SPDX-License-Identifier: BSD-3-Clause */
/* extoll.h: what the files of the extoll conduit share.
 *
 *   settings.c  variables, and what follows from them: credits, slots, the card's configuration
 *   extoll.c    opens, connects, closes; the registry entry
 *   post.c      frames into packets, straight away
 *   send.c      frames under way, credits for their packets; credit packets
 *   poll.c      the mailbox is emptied: packets into frames, straight away
 *   receive.c   packets into frames, whatever they are; the stash
 *   rma.c       registered memory, put, get, and the notifications that frames wait for
 *   count.c     what is counted of each peer
 *   packet.h    what a packet says
 *
 * One mailbox takes all that comes for a rank: requests, replies, control, credits. Who may send
 * how much is decided by two sets of credits: `data` of REQUEST and REPLY, with the policy that the
 * user chose, and `control` of CONTROL, the least there is, so that the end of a job never waits
 * behind anything. Each has slots of its own in the mailbox, for packets and for what is said of
 * credits.
 *
 * Locks: the engine's post and poll locks, and `lock`, which is held round all calls of the card
 * but looking at the mailbox and copying out of it, and never while a frame is delivered or an
 * operation ended. Fields say which lock guards them. */
#ifndef PEN_CONDUITS_EXTOLL_EXTOLL_H
#define PEN_CONDUITS_EXTOLL_EXTOLL_H

#include "conduit/conduit.h"
#include "conduits/extoll/packet.h"
#include "credit/credit.h"
#include "link/lanes.h"
#include "os/lock.h"

#include <card.h>
#include <rma2.h>
#include <velo2.h>

enum {
    EXTOLL_RANKS_MAX = 16384,    /* nodes of the card's network that we use */
    EXTOLL_BODY_MAX = 8192,      /* of one frame, as the papers have it */
    EXTOLL_BOUNCE_LEN = 1 << 17, /* a put or get of memory that the card does not know */
    EXTOLL_BOUNCES = 8,
    EXTOLL_REGIONS_MAX = 128, /* of ours */
    EXTOLL_SELF_MAX = 64,     /* frames of one lane to ourselves */
    EXTOLL_DRAIN_MAX = 256,   /* packets that one poll takes out of the mailbox */
    EXTOLL_PATIENCE = 256,    /* tries of a request that leaves credits to replies */
    EXTOLL_COPY_LEAD = 8,     /* words that may come along before a packet that is copied */
};

#define EXTOLL_NONE UINT32_MAX /* no index */

typedef struct extoll_config {
    pen_credit_settings credits;
    const char *mode, *latency;
    int64_t slot_len, mailbox, notifications;
    double fault_delay_s;
    int64_t fault_seed, fault_late, fault_full, fault_register;
    bool fault_mlock;
} extoll_config;

/* Settings, checked. */
typedef struct extoll_plan {
    bool coalesced;
    uint32_t sources; /* peers that send to our mailbox: all but us */
    pen_credit_params data, control;
    uint32_t data_slots, control_slots; /* that packets of theirs can occupy */
    pen_card_config card;
} extoll_plan;

/* Memory for a frame on its way: of the one being sent or received. */
typedef struct extoll_buffer {
    struct extoll_buffer *next;
    uint32_t head_len, body_len;
    uint64_t number; /* of puts to wait for; 0: none */
    bool is_short;
    uint64_t head[EXTOLL_HEAD_WORDS_MAX];
    _Alignas(16) char body[EXTOLL_BODY_MAX];
} extoll_buffer;

/* ---- sending: guarded by lock ---- */

typedef struct extoll_tx {                    /* the frame of one lane that goes to one peer */
    uint64_t lead[EXTOLL_HEAD_WORDS_MAX + 2]; /* begin word, number of puts, head */
    uint32_t lead_len, lead_first;            /* bytes; of the first section */
    uint32_t body_len, sent;
    const char *body;
    extoll_buffer *buffer; /* where the body is, if it is not the caller's any more */
    extoll_buffer *behind; /* a frame that comes after this one; not of requests */
    _Atomic bool is_full;  /* relaxed: that there is no place is no promise */
    bool is_active, is_listed;
    bool is_short;                  /* it is a head, and goes in one packet */
    uint8_t packet_tag, packet_mtt; /* of the packet that waits for the card ... */
    uint32_t packet_len;            /* ... 0: there is none */
    uint64_t packet[EXTOLL_PAYLOAD_MAX / 8];
} extoll_tx;

typedef struct extoll_rma_op {
    struct extoll_rma_op *next;
    pen_op *op;  /* NULL: ours */
    char *local; /* get: where the bounced data goes */
    uint32_t len;
    uint32_t bounce; /* EXTOLL_NONE: none */
    uint64_t serial; /* put: its number at this peer; fence: of the last put before it */
    bool is_fence, is_local, source_done;
} extoll_rma_op;

struct pen_region {
    struct pen_region *next;
    RMA2_Region *card;
    char *start;
    size_t len;
};

typedef struct extoll_queue {
    extoll_rma_op *first, *last;
} extoll_queue;

typedef struct extoll_peer {
    pen_peer rank;
    uint32_t source_i; /* which of the credit library's peers */
    velo2_connection_t velo;
    RMA2_Handle rma;
    const _Atomic uint32_t *sleeping;
    extoll_tx tx[PEN_LANES];
    extoll_queue puts;     /* sources that the card still reads */
    extoll_queue unfenced; /* sent, not known to have arrived */
    extoll_queue gets;     /* and fences */
    uint64_t put_serial, fence_serial, fenced_serial;
    uint64_t number, number_told; /* of what was put before: frames say it, notifications tell it */
    RMA2_NLA put_last;            /* somewhere in the memory that was put to last */
    bool has_put, is_listed, fence_out;
    uint8_t refused;   /* the lane whose packet the card did not take; PEN_LANES: none */
    uint16_t patience; /* times that requests may still be held back; anew with credits */
    uint16_t velo_vpid, rma_vpid;
    _Atomic bool
        is_lost; /* what it sent made no sense; relaxed: whoever reads it late does no harm */
} extoll_peer;

/* ---- receiving: guarded by the poll lock ---- */

typedef struct extoll_rx {                    /* the frame of one lane that comes from one peer */
    uint64_t lead[EXTOLL_HEAD_WORDS_MAX + 1]; /* number of puts if there is one, head */
    uint32_t lead_len, number_len, body_len, got;
    extoll_buffer *buffer;
    bool is_active;
} extoll_rx;

typedef struct extoll_link {
    pen_link base; /* first: the engine sees a pen_link */
    extoll_plan plan;
    pen_peer peers;
    uint32_t packet_max, short_max; /* bytes of a packet; of a head that goes without begin word */
    bool fenced;
    _Atomic uint32_t always; /* 1: where there is no better word for whether a peer sleeps */
    pen_card *card;
    velo2_port_t velo;
    RMA2_Port rma;
    bool velo_open, rma_open;

    pen_lock lock; /* guards what follows */
    extoll_peer *to;
    pen_credit_receiver *data_receiver, *control_receiver;
    pen_credit_sender *data_sender, *control_sender;
    extoll_buffer *buffers; /* free ones */
    uint32_t *tx_ring;      /* of (peer, lane) with a frame under way; as many as there are pairs */
    uint32_t tx_first, tx_count;
    bool tx_news;           /* there may be room since they were last tried */
    _Atomic bool try_again; /* something waits for the card; relaxed: polls look again */
    uint32_t uncommitted;
    uint64_t held_word; /* a credit packet that the card did not take; its peer, or EXTOLL_NONE */
    pen_peer held_to;
    pen_lanes own;              /* frames to ourselves, which need no card; see extoll_number */
    _Atomic uint32_t own_total; /* relaxed: polls look again */

    pen_region *regions; /* ours */
    char *bounce;        /* EXTOLL_BOUNCES of them, and a line for fences */
    RMA2_Region bounce_region;
    bool has_bounce;
    uint32_t bounce_free; /* a bit each */
    extoll_rma_op *rma_free;
    _Atomic uint32_t rma_work; /* operations under way, peers to post to; relaxed, read freely */
    uint32_t *post_ring;       /* of peers to which a fence or a number is to be posted */
    uint32_t post_first, post_count;
    uint64_t *notified; /* by peer: the last number of puts that it has told us */
    bool has_rma;       /* all ranks have */

    PEN_CACHE_ALIGNED extoll_rx *from; /* guarded by the poll lock, as is what follows */
    pen_lanes stash;   /* packets whose lane was not asked for; each has its slot still */
    pen_lanes waiting; /* frames that came before the data of their puts, with their last slot */
    uint32_t quiet;    /* polls without a look at the notifications */
    bool touched;      /* this poll, or one before it, has left something to be sent */
    bool stale;        /* the card may not know of all packets that were read */
    _Alignas(16) uint64_t copy[EXTOLL_COPY_LEAD + EXTOLL_PAYLOAD_MAX / 8]; /* of a packet */
    _Alignas(16) char small_body[EXTOLL_PAYLOAD_MAX + 8];
} extoll_link;

static inline extoll_link *extoll_of(pen_link *link) { return (extoll_link *)(void *)link; }

/* Which of the credit library's peers: it does not count us. */
static inline uint32_t extoll_source_i(const extoll_link *link, pen_peer peer)
{
    return peer - (peer > link->base.self ? 1 : 0);
}

static inline pen_peer extoll_source_peer(const extoll_link *link, uint32_t i)
{
    return i + (i >= link->base.self ? 1 : 0);
}

/* ---- settings.c ---- */
extern const pen_knob extoll_knobs[];

/* NULL: done; else what is wrong, one clause. */
const char *extoll_plan_make(const extoll_config *config, pen_peer peers, extoll_plan *out);

/* ---- post.c ---- */
pen_post extoll_post(pen_link *base, pen_peer to, pen_lane lane, const pen_frame *frame,
                     pen_op *op);
extern const pen_behind_ops extoll_behind;

/* ---- send.c: under lock ---- */
unsigned extoll_send_more(extoll_link *link);    /* frames under way; answers packets sent */
unsigned extoll_send_credits(extoll_link *link); /* what is to be said; answers packets sent */
void extoll_commit(extoll_link *link);
extoll_buffer *extoll_buffer_take(extoll_link *link); /* NULL: no memory */
void extoll_buffer_give(extoll_link *link, extoll_buffer *buffer);

/* ---- poll.c ---- */
unsigned extoll_poll(pen_link *base, unsigned lanes, unsigned budget);

/* ---- receive.c ---- */
PEN_COLD void extoll_lose(extoll_link *link, pen_peer peer, const char *what); /* not under lock */

/* ---- count.c ---- */
extern const pen_count_ops extoll_count;

/* ---- rma.c ---- */
extern const pen_rma_ops extoll_rma;
pen_status extoll_rma_open(extoll_link *link);
void extoll_rma_close(extoll_link *link);
uint64_t extoll_rma_number(extoll_link *link, pen_peer to); /* of the puts so far; under lock */
unsigned extoll_rma_poll(extoll_link *link);                /* ends operations; takes lock */

#endif
