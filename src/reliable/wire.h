/* SPDX-License-Identifier: BSD-3-Clause */
/* wire.h: the header that the reliable link writes in front of a frame: encoding, checked decoding,
 * and the checksum that finds damage. Pure functions over bytes.
 *
 * A header lies at the start of the frame's head on the link below. Its length is a multiple of 8
 * and at most PEN_FRAME_HEAD_MAX, with the engine's head behind it where that has room. */
#ifndef PEN_RELIABLE_WIRE_H
#define PEN_RELIABLE_WIRE_H

#include "conduit/conduit.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    PEN_REL_WINDOW = 1024,    /* frames a sender may be ahead of its oldest one not acknowledged */
    PEN_REL_RANGES_MAX = 14,  /* ranges in one acknowledgement */
    PEN_REL_FRAME_RANGES = 4, /* ranges in a piggybacked acknowledgement */
    PEN_REL_HEAD_LEN = 24,    /* without an acknowledgement */
    PEN_REL_ACK_LEN = 24,     /* bytes of an acknowledgement without ranges */
};

/* Numbers that wrap: whether a comes after b. Both are less than 2^31 apart. */
static inline bool pen_rel_after(uint32_t a, uint32_t b) { return (int32_t)(a - b) > 0; }

typedef enum pen_rel_kind {
    PEN_REL_FRAME = 1, /* carries a frame of the engine's, numbered */
    PEN_REL_NOTE = 2,  /* nothing but an acknowledgement */
} pen_rel_kind;

enum pen_rel_flag {
    PEN_REL_ACK = 1u << 0,          /* an acknowledgement follows */
    PEN_REL_ASK = 1u << 1,          /* answer at once */
    PEN_REL_HEAD_IN_BODY = 1u << 2, /* the engine's head leads the body, padded to 16 */
};

typedef struct pen_rel_range { /* arrived: [base + first, base + first + count) */
    uint16_t first, count;
} pen_rel_range;

typedef struct pen_rel_ack {
    uint32_t base;             /* every sequence number before it has arrived, this one has not */
    uint32_t transmission;     /* the newest that arrived */
    uint32_t delay_us;         /* since then */
    uint32_t limit[PEN_LANES]; /* credit: how much may be sent on each lane, ever */
    uint32_t range_count;
    pen_rel_range ranges[PEN_REL_RANGES_MAX]; /* ascending, apart */
} pen_rel_ack;

typedef struct pen_rel_head {
    uint32_t kind, lane;
    uint32_t flags;
    uint32_t head_len;     /* the engine's; 0: a note */
    uint32_t session;      /* the receiver's, as it told */
    uint32_t sequence;     /* number of the frame, which stays when it is sent again */
    uint32_t transmission; /* never used twice */
    pen_rel_ack ack;       /* if the flag says so */
} pen_rel_head;

/* Ranges that fit beside so much of the engine's head. */
static inline uint32_t pen_rel_ranges_room(uint32_t head_len)
{
    uint32_t used = PEN_REL_HEAD_LEN + PEN_REL_ACK_LEN + head_len;
    return used >= PEN_FRAME_HEAD_MAX ? 0 : (PEN_FRAME_HEAD_MAX - used) / 8 * 2;
}

/* Writes the header, with the sum left 0; answers its length. out: PEN_FRAME_HEAD_MAX bytes. */
size_t pen_rel_encode(const pen_rel_head *head, void *out);

/* False: malformed. *used: length of the header. Only if true everything in *out is in its bounds.
 */
bool pen_rel_decode(const void *bytes, size_t len, pen_rel_head *out, size_t *used);

/* The sum of a frame of the link below, wherever its sum lies being taken as 0: any single changed
 * word changes it. */
uint64_t pen_rel_sum(const void *head, size_t head_len, const void *body, size_t body_len);
uint64_t pen_rel_sum_read(const void *head);
void pen_rel_sum_write(void *head, uint64_t sum);

#endif
