/* SPDX-License-Identifier: BSD-3-Clause */
/* play.h: the interface of a card that a test plays, and a link of the portals conduit over it. The
 * link's files call these functions instead of a card's. */
#ifndef PEN_TEST_PORTALS_PLAY_H
#define PEN_TEST_PORTALS_PLAY_H

#include "conduits/portals/portals.h"

#include <stdbool.h>

enum {
    PEERS = 3,
    TOKENS = 2,
    QUEUE_MAX = 64,
    MDS_MAX = 256,
    HEAD_LEN = 24,
    BODY_LEN = 40,
    FRAME_LEN = 32 + 48
};

enum { QUEUE_LANDED = 6, QUEUE_ENDED = 7 }; /* the lanes' queues are 0 to 2 */
enum { MEMORY_MD = 1000, FRAMES_MD, NOTES_MD };

struct fake {
    int result;            /* that the next puts and gets return */
    unsigned append_fails; /* this append finds no room */
    int bind_result;
    struct {
        char *start;
        size_t len;
        bool is_bound;
    } mds[MDS_MAX];
    unsigned binds, bound; /* bound: now */
    ptl_handle_md_t last_md;
    ptl_size_t last_at, last_len;
    ptl_hdr_data_t last_data;
    ptl_pt_index_t last_portal; /* peers have the portals 20, 21, ...; the link 10, ... */
    ptl_ack_req_t last_ack;
    unsigned enables;
    bool has_dropped; /* events were lost before the next one */
    uint64_t moved;   /* packets of the card */
    uint64_t now_ns;
    unsigned puts, gets, atomics[3]; /* calls of PtlAtomic, PtlFetchAtomic, PtlSwap */
    uint64_t sources[2];             /* source and operand of the last of them */
    ptl_op_t last_operation;
    ptl_datatype_t last_type;
    ptl_size_t last_old_at;
    unsigned appends, unlinks, wakes[PEERS], lost[PEERS], lost_any, delivered;
    ptl_match_bits_t last_key;
    uint64_t keys[4], data_keys[4]; /* keys of regions in the portals of memory and of payloads */
    unsigned key_count, data_key_count;
    struct {
        ptl_event_t events[QUEUE_MAX];
        unsigned first, count;
    } queues[QUEUE_ENDED + 1];
    pen_peer from;
    pen_lane lane;
    uint64_t heads[4]; /* first words of the frames that were delivered first */
};

extern struct fake fake;

/* Makes a link without traffic, and forgets all that was played. */
void link_init(portals_link *link);

/* Adds an event to a queue. */
void event_add(unsigned queue, ptl_event_t event);

/* The token that the next operation of this kind takes. */
portals_token *next_token(const portals_link *link, unsigned kind);

/* Lets the link handle an event of a token. */
void end(portals_link *link, portals_token *token, ptl_event_kind_t type);

pen_op new_op(void);

/* Checks what a put still waits for: that its source is free, and that its data has landed. */
void expect_put(const pen_op *op, unsigned source_busy, unsigned incomplete);

extern portals_block block;
extern char block_memory[PORTALS_BLOCK_LEN];

#endif
