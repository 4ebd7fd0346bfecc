/* SPDX-License-Identifier: BSD-3-Clause */
/* protocol_internal.h: declarations that the files of the protocol share: chains, records, timers.
 */
#ifndef PEN_RELIABLE_PROTOCOL_INTERNAL_H
#define PEN_RELIABLE_PROTOCOL_INTERNAL_H

#include "base/compiler.h"
#include "conduit/conduit.h"
#include "reliable/protocol.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    REL_ALIGN = 16,
    REL_BORROW_HEAD_MAX = 56, /* engine's heads up to this leave room for an acknowledgement */
    REL_ACK_EVERY = 64,       /* frames ... */
    REL_ACK_EVERY_GAP = 16,   /* ... and while one of them is missing */
    REL_GAP_NEAR = 4,         /* frames ahead of a missing one, of which each is told at once */
    REL_GATHER_AFTER = 4,     /* frames on their way, from which on others may wait for company */
    REL_CREDIT_SERIAL_MAX = 1 << 30, /* limits this far ahead are nonsense */
};
#define REL_ACK_WAIT_NS    UINT64_C(50000)
#define REL_GATHER_WAIT_NS UINT64_C(20000) /* a burst: frames follow one another within this */

struct pen_rel_record {
    pen_rel_chain by_sequence, by_transmission;
    pen_op reading; /* the link below; 0: it does not */
    pen_op *op;     /* NULL, or the caller's: the body is its memory */
    const void *body;
    uint64_t sent_ns;
    uint32_t sequence, transmission, charge;
    uint32_t head_len, body_len;
    uint32_t size; /* bytes of memory */
    pen_lane lane;
    bool lost, done;
    _Alignas(REL_ALIGN) unsigned char bytes[]; /* the head, padded, then the body unless borrowed */
};

static inline void rel_chain_init(pen_rel_chain *chain) { chain->before = chain->behind = chain; }

static inline bool rel_chain_is_empty(const pen_rel_chain *chain) { return chain->behind == chain; }

static inline void rel_chain_append(pen_rel_chain *chain, pen_rel_chain *link)
{
    link->before = chain->before;
    link->behind = chain;
    chain->before->behind = link;
    chain->before = link;
}

static inline void rel_chain_remove(pen_rel_chain *link)
{
    link->before->behind = link->behind;
    link->behind->before = link->before;
    rel_chain_init(link);
}

static inline pen_rel_record *rel_first_sent(pen_rel_chain *chain)
{
    return rel_chain_is_empty(chain)
               ? NULL
               : pen_container_of(chain->behind, pen_rel_record, by_transmission);
}

/* One thread's look at the clock may be older than another's. */
static inline uint64_t rel_since(uint64_t now_ns, uint64_t then_ns)
{
    return now_ns > then_ns ? now_ns - then_ns : 0;
}

static inline pen_peer rel_number(const pen_rel_core *core, const pen_rel_peer *peer)
{
    return (pen_peer)(peer - core->peers);
}

uint32_t rel_charge(const pen_rel_config *config, uint32_t head_len, uint32_t body_len);

/* There is something to do with it, at that time. */
void rel_activate(pen_rel_core *core, pen_rel_peer *peer, uint64_t by_ns);
void rel_ack_owed(pen_rel_core *core, pen_rel_peer *peer);

/* records.c */
pen_rel_record *rel_record_make(pen_rel_core *core, pen_lane lane, const pen_frame *frame,
                                pen_op *op);
void rel_record_free(pen_rel_core *core, pen_rel_record *record);
bool rel_record_is_read(pen_rel_record *record);
void rel_record_retire(pen_rel_core *core, pen_rel_record *record); /* acknowledged */
void rel_records_reap(pen_rel_core *core);
void rel_records_close(pen_rel_core *core); /* frees the records that are kept for reuse */

/* reliable_send.c */
void rel_take_ack(pen_rel_core *core, pen_rel_peer *peer, uint64_t now_ns, const pen_rel_ack *ack);
bool rel_ack_is_possible(const pen_rel_peer *peer, const pen_rel_ack *ack);
void rel_find_lost(pen_rel_core *core, pen_rel_peer *peer, uint64_t now_ns);
void rel_send_lost(pen_rel_core *core, pen_rel_peer *peer, uint64_t now_ns);
void rel_probe(pen_rel_core *core, pen_rel_peer *peer, uint64_t now_ns);
bool rel_send_note(pen_rel_core *core, pen_rel_peer *peer, uint64_t now_ns, uint32_t flags);
uint64_t rel_hurry_due(const pen_rel_peer *peer); /* likewise */
void rel_hurry(pen_rel_core *core, pen_rel_peer *peer, uint64_t now_ns);
uint64_t rel_probe_due(const pen_rel_peer *peer); /* UINT64_MAX: never */

#endif
