/* SPDX-License-Identifier: BSD-3-Clause */
/* extoll.h: declarations that the files of the extoll conduit share.
 *
 *   extoll.c          opens, connects, closes; the registry entry
 *   settings.c        variables, and the plan made from them: credits, slots, the card's settings
 *   extoll_send.c     frames into packets; credits for packets; credit packets
 *   extoll_receive.c  empties the mailbox: packets into frames; frames that are kept
 *   extoll_rma.c      registered memory, put, get, and the notifications that frames wait for
 *
 * One mailbox takes all packets for a rank: requests, replies, control, credits. link/mailbox.h
 * counts the credits for its slots.
 *
 * Locks: the engine's post and poll locks, and `lock`. `lock` is held around all calls of the
 * card except looking at the mailbox, and never while a frame is delivered or an
 * operation ended. Fields name the lock that guards them. */
#ifndef PEN_CONDUITS_EXTOLL_EXTOLL_H
#define PEN_CONDUITS_EXTOLL_EXTOLL_H

#include "base/compiler.h"
#include "base/status.h"
#include "conduit/conduit.h"
#include "credit/credit.h"
#include "knob/knob.h"
#include "link/known.h"
#include "link/lanes.h"
#include "link/mailbox.h"
#include "link/pieces.h"
#include "link/transfers.h"
#include "link/turns.h"
#include "os/lock.h"
#include "softnic/extoll/card.h"
#include "softnic/extoll/fabric.h"
#include "softnic/extoll/rma2.h"
#include "softnic/extoll/velo2.h"

#include <card.h>
#include <rma2.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <velo2.h>

enum {
    EXTOLL_WORD = PEN_PIECE_WORD,
    EXTOLL_PAYLOAD_MAX = 120,    /* largest payload of any card's packets */
    EXTOLL_RANKS_MAX = 16384,    /* nodes of the card's network that the conduit uses */
    EXTOLL_BODY_MAX = 8192,      /* longest body of a frame, as in the publications about EXTOLL */
    EXTOLL_BOUNCE_LEN = 1 << 17, /* a put or get of memory that is not registered with the card */
    EXTOLL_REGIONS_MAX = 128,    /* regions of this rank */
    EXTOLL_SELF_MAX = 64,        /* frames of one lane from a rank to itself */
    EXTOLL_DRAIN_MAX = 256,      /* packets or notifications that one poll takes */
    EXTOLL_COPY_LEAD = 8,        /* words that may be copied along before a packet */
};

/* VELO carries these with each packet in its two bits for types (mtt), instead of a header. The tag
 * of a packet is that of link/mailbox.h. */
enum {
    EXTOLL_SHORT = PEN_PIECE_HEAD,
    EXTOLL_BEGIN = PEN_PIECE_BEGIN,
    EXTOLL_MORE = PEN_PIECE_MORE,
    EXTOLL_CREDIT = PEN_PIECES, /* a word about credits; takes no credit */
};

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
    pen_mailbox_plan credits;
    pen_card_config card;
} extoll_plan;

/* ---- sending: guarded by lock ---- */

typedef struct extoll_peer {
    pen_peer rank;
    uint32_t source_i; /* number of the peer in the credit library */
    velo2_connection_t velo;
    RMA2_Handle rma;
    const _Atomic uint32_t *sleeping;
    pen_out_queue tx[PEN_LANES];
    _Atomic bool is_ignored; /* it is lost, or is this rank; relaxed, as is_lost */
    bool is_stuck; /* no new packet may go: the card has refused one; always set for this rank */
    uint8_t packet_tag, packet_mtt; /* the packet that the card has refused ... */
    uint32_t packet_len;            /* ... or 0 */
    uint64_t packet[EXTOLL_PAYLOAD_MAX / EXTOLL_WORD];
    uint16_t velo_vpid, rma_vpid;
    _Atomic bool is_lost; /* it sent a malformed packet; relaxed: a late look does no harm */
} extoll_peer;

typedef struct extoll_link {
    pen_link base; /* first: the engine sees a pen_link */
    extoll_plan plan;
    pen_peer peers;
    uint32_t drain_max;            /* packets that one poll takes out of the mailbox */
    uint32_t packet_max;           /* bytes of a packet */
    uint32_t short_max, whole_max; /* bytes of a head that is a packet; of a frame that is one */
    bool fenced;
    _Atomic uint32_t always; /* 1: replaces the word that tells whether a peer sleeps */
    pen_card *card;
    velo2_port_t velo;
    RMA2_Port rma;
    bool velo_open, rma_open;

    pen_lock lock; /* guards all that follows */
    extoll_peer *to;
    pen_mailbox credits;
    pen_piece_pool out_pool;
    pen_turns tx_turns;     /* (peer, lane) pairs with a frame under way */
    bool tx_news;           /* there may be room since the last try */
    _Atomic bool try_again; /* some work waits for the card; relaxed: polls look again */
    uint32_t uncommitted;
    uint32_t refused; /* peers with a packet that the card has refused */

    pen_known *regions;        /* registered memory of this rank */
    pen_transfers transfers;   /* they hold frames of this rank to itself, too */
    RMA2_Region bounce_region; /* the bounce buffers of transfers, and a line for fences */
    bool has_bounce;
    bool has_rma; /* all ranks have RMA */

    PEN_CACHE_ALIGNED pen_in *from; /* guarded by the poll lock, as are all fields below */
    pen_lanes stash;                /* packets whose lane was not asked for; each keeps its slot */
    pen_piece_pool in_pool;
    uint32_t quiet; /* polls since the last look at the notifications */
    bool stale;     /* the card may not know of all packets that were read */
    _Alignas(16) uint64_t copy[EXTOLL_COPY_LEAD + EXTOLL_PAYLOAD_MAX / 8]; /* copy of a packet */
    _Alignas(16) char small_body[EXTOLL_PAYLOAD_MAX + 8];
} extoll_link;

static inline extoll_link *extoll_of(pen_link *link) { return (extoll_link *)(void *)link; }

/* ---- settings.c ---- */
extern const pen_knob extoll_knobs[];

/* Fills *out. Returns NULL, or the error as one clause. */
const char *extoll_plan_make(const extoll_config *config, pen_peer peers, extoll_plan *out);

/* ---- extoll_send.c ---- */
pen_post extoll_post(pen_link *base, pen_peer to, pen_lane lane, const pen_frame *frame,
                     pen_op *op);
extern const pen_behind_ops extoll_behind;

/* Under lock. The first two return whether they have sent any packets: 0 if not. */
unsigned extoll_send_more(extoll_link *link);    /* sends frames under way */
unsigned extoll_send_credits(extoll_link *link); /* sends credit packets that are due */
void extoll_commit(extoll_link *link);

/* ---- extoll_receive.c ---- */
unsigned extoll_poll(pen_link *base, unsigned lanes, unsigned budget);
PEN_COLD void extoll_lose(extoll_link *link, pen_peer peer, const char *what); /* not under lock */

/* Frees the slot of a held frame that is delivered; a call of pen_transfers. */
void extoll_on_held(void *ctx, pen_peer from, pen_lane lane);

/* ---- extoll_rma.c ---- */
extern const pen_rma_ops extoll_rma;
pen_status extoll_rma_open(extoll_link *link);
void extoll_rma_close(extoll_link *link);
unsigned extoll_rma_poll(extoll_link *link); /* ends operations; takes lock */

#endif
