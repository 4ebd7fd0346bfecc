/* SPDX-License-Identifier: BSD-3-Clause */
/* wire.h: the head of a frame, bit by bit. docs/design/wire.md describes it in words and has the
 * test vectors; a change to either changes the wire format.
 *
 *   0..7 handler | 8..15 argument count | 16..31 kind | 32..63 payload bytes
 *   kind: 0..1 category | 2..3 lane | 4..5 placement of a Long's payload | 6..15 zero
 *
 * The receiver compares the whole kind with the expected one, which checks every reserved bit. */
#ifndef PEN_AM_WIRE_H
#define PEN_AM_WIRE_H

#include "am/am.h"
#include "conduit/conduit.h"

#include <stdint.h>

enum {
    PEN_WIRE_ARGS_SHIFT = 8,
    PEN_WIRE_KIND_SHIFT = 16,
    PEN_WIRE_LANE_SHIFT = 2,
    PEN_WIRE_PLACE_SHIFT = 4,
    PEN_WIRE_LEN_SHIFT = 32,
    PEN_WIRE_LONG_WORDS = 2, /* after the arguments: segment number, offset */
    PEN_WIRE_WORDS_MAX = PEN_AM_WORDS_MAX + PEN_WIRE_LONG_WORDS,
};

_Static_assert(PEN_WIRE_WORDS_MAX * 8 <= PEN_FRAME_HEAD_MAX, "the longest head fits a frame");

_Static_assert(PEN_AM_REPLY_BITS == (uint64_t)PEN_LANE_REPLY
                                        << (PEN_WIRE_KIND_SHIFT + PEN_WIRE_LANE_SHIFT) &&
                   PEN_AM_SHORT == 0 && PEN_LANE_REQUEST == 0,
               "the head of a Short is made without this file, too");

/* Placement of a Long's payload. */
typedef enum pen_wire_place {
    PEN_WIRE_BODY,   /* in the frame: the target copies it to its destination */
    PEN_WIRE_PLACED, /* already at its destination */
    PEN_WIRE_OPAQUE, /* empty: the offset is the sender's dest as given */
    PEN_WIRE_PLACES
} pen_wire_place;

static inline uint32_t pen_wire_kind(pen_am_category category, pen_lane lane, pen_wire_place place)
{
    return (uint32_t)category | (uint32_t)lane << PEN_WIRE_LANE_SHIFT |
           (uint32_t)place << PEN_WIRE_PLACE_SHIFT;
}

static inline uint64_t pen_wire_head(uint32_t kind, uint32_t handler, unsigned arg_count,
                                     uint32_t payload_len)
{
    return (uint64_t)payload_len << PEN_WIRE_LEN_SHIFT |
           (kind << PEN_WIRE_KIND_SHIFT | arg_count << PEN_WIRE_ARGS_SHIFT | handler);
}

static inline uint8_t pen_wire_handler(uint64_t head) { return (uint8_t)head; }

static inline unsigned pen_wire_arg_count(uint64_t head)
{
    return (uint8_t)(head >> PEN_WIRE_ARGS_SHIFT);
}

static inline uint32_t pen_wire_kind_of(uint64_t head)
{
    return (uint32_t)head >> PEN_WIRE_KIND_SHIFT;
}

static inline uint32_t pen_wire_payload_len(uint64_t head)
{
    return (uint32_t)(head >> PEN_WIRE_LEN_SHIFT);
}

static inline uint32_t pen_wire_head_len(unsigned arg_count)
{
    return (uint32_t)sizeof(uint64_t) * PEN_AM_WORDS(arg_count);
}

/* Loads exactly once a word that its writer may change concurrently. */
static inline uint64_t pen_wire_load(const uint64_t *word)
{
    return *(const volatile uint64_t *)word;
}

#endif
