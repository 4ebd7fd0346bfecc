/* SPDX-License-Identifier: BSD-3-Clause */
/* packet.h: format of this conduit's VELO packets. Beside its payload, VELO gives
 * each packet two bits (mtt) and eight bits (tag), which replace a header.
 *
 *   mtt    SHORT   a whole frame that is only a head
 *          BEGIN   a begin word, then the first bytes of head and body, one behind the other
 *          MORE    the bytes that follow
 *          CREDIT  a credit word; takes no credit
 *   tag    0..1 lane | 2 urgent | 3..5 need | 6 the payload's last word is a credit word | 7 zero
 *   begin  0..3 words of head | 4 after puts: a word with their number follows | 5..31 zero |
 *          32..63 bytes of body
 *   credit 0..1 kind | 2 of the CONTROL lane | 3 epoch | 4..7 zero | 8..31 count |
 *          32..63 raised, with its sign
 *
 * Packets of a pair stay in order, so a frame's bytes need no numbers; each lane of a pair has
 * at most one frame under way. The ends of packets have no meaning. */
#ifndef PEN_CONDUITS_EXTOLL_PACKET_H
#define PEN_CONDUITS_EXTOLL_PACKET_H

#include "conduit/conduit.h"
#include "credit/credit.h"

#include <stdbool.h>
#include <stdint.h>

enum { EXTOLL_SHORT, EXTOLL_BEGIN, EXTOLL_MORE, EXTOLL_CREDIT }; /* mtt */

enum {
    EXTOLL_WORD = 8,
    EXTOLL_PAYLOAD_MAX = 120, /* largest payload of any card's packets */
    EXTOLL_HEAD_WORDS_MAX = PEN_FRAME_HEAD_MAX / EXTOLL_WORD,
    EXTOLL_LEAD_WORDS_MAX = EXTOLL_HEAD_WORDS_MAX + 2, /* begin word, number of puts, head */
    EXTOLL_CREDIT_COUNT_MAX = (1 << 24) - 1,
};

/* ---- tag ------------------------------------------------------------------------------------ */

enum {
    EXTOLL_TAG_URGENT = 1 << 2,
    EXTOLL_TAG_NEED_SHIFT = 3,
    EXTOLL_TAG_RIDE = 1 << 6,
    EXTOLL_TAG_ZERO = 1 << 7,
};

static inline uint8_t extoll_tag(pen_lane lane, pen_credit_tag credit, bool ride)
{
    return (uint8_t)((unsigned)lane | (credit.urgent ? EXTOLL_TAG_URGENT : 0u) |
                     (unsigned)credit.need << EXTOLL_TAG_NEED_SHIFT |
                     (ride ? EXTOLL_TAG_RIDE : 0u));
}

static inline bool extoll_tag_is_sound(uint8_t tag)
{
    return (tag & EXTOLL_TAG_ZERO) == 0 && (tag & 3u) < PEN_LANES;
}

static inline pen_lane extoll_tag_lane(uint8_t tag) { return (pen_lane)(tag & 3u); }

static inline pen_credit_tag extoll_tag_credit(uint8_t tag)
{
    return (pen_credit_tag){ .urgent = (tag & EXTOLL_TAG_URGENT) != 0,
                             .need = (uint8_t)(tag >> EXTOLL_TAG_NEED_SHIFT & 7u) };
}

/* ---- begin word ----------------------------------------------------------------------------- */

static inline uint64_t extoll_begin(uint32_t head_len, uint32_t body_len, bool after_puts)
{
    return (uint64_t)body_len << 32 | (after_puts ? 1u << 4 : 0u) | head_len / EXTOLL_WORD;
}

static inline uint32_t extoll_begin_head_len(uint64_t word)
{
    return (uint32_t)(word & 15u) * EXTOLL_WORD;
}

static inline uint32_t extoll_begin_body_len(uint64_t word) { return (uint32_t)(word >> 32); }

static inline bool extoll_begin_is_after_puts(uint64_t word) { return (word >> 4 & 1u) != 0; }

static inline bool extoll_begin_is_sound(uint64_t word, uint32_t body_max)
{
    uint32_t head_words = (uint32_t)(word & 15u);
    bool after_puts = extoll_begin_is_after_puts(word);
    return ((uint32_t)word >> 5) == 0 && head_words >= 1 && head_words <= EXTOLL_HEAD_WORDS_MAX &&
           extoll_begin_body_len(word) <= (after_puts ? 0 : body_max);
}

/* Length of the frame that the word begins, the word included. */
static inline uint32_t extoll_begin_len(uint64_t word)
{
    return EXTOLL_WORD + (extoll_begin_is_after_puts(word) ? EXTOLL_WORD : 0) +
           extoll_begin_head_len(word) + extoll_begin_body_len(word);
}

/* Whether the word begins a packet of len bytes that holds the whole frame and waits for no
 * puts. */
static inline bool extoll_begin_is_whole(uint64_t word, uint32_t len)
{
    uint64_t head_len = extoll_begin_head_len(word);
    return ((uint32_t)word >> 4) == 0 && head_len - 1 < PEN_FRAME_HEAD_MAX &&
           EXTOLL_WORD + head_len + (word >> 32) == len;
}

/* ---- credit word ---------------------------------------------------------------------------- */

static inline uint64_t extoll_credit(const pen_credit_message *message, bool of_control)
{
    return (uint64_t)(uint32_t)message->raised << 32 | message->count << 8 |
           (message->epoch ? 1u << 3 : 0u) | (of_control ? 1u << 2 : 0u) | (unsigned)message->kind;
}

/* Returns false if the word is malformed. */
static inline bool extoll_credit_parse(uint64_t word, pen_credit_message *out, bool *of_control)
{
    uint32_t low = (uint32_t)word;
    if ((low & 3u) > PEN_CREDIT_GIVE || (low >> 4 & 15u) != 0)
        return false;
    *of_control = (low >> 2 & 1u) != 0;
    *out = (pen_credit_message){ .kind = (pen_credit_kind)(low & 3u),
                                 .count = low >> 8,
                                 .raised = (int32_t)(uint32_t)(word >> 32),
                                 .epoch = (low >> 3 & 1u) != 0 };
    return true;
}

#endif
