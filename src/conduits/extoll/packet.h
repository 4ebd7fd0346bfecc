/* SPDX-License-Identifier: BSD-3-Clause */
/* packet.h: format of this conduit's VELO packets. Beside its payload, VELO gives
 * each packet two bits (mtt) and eight bits (tag), which replace a header.
 *
 *   mtt    SHORT   a whole frame that is only a head
 *          BEGIN   a begin word, then the first bytes of head and body, one behind the other
 *          MORE    the bytes that follow
 *          CREDIT  a word about credits; takes no credit
 *   tag    as link/mailbox.h says
 *   begin  0..3 words of head | 4 after puts: a word with their number follows | 5..31 zero |
 *          32..63 bytes of body
 *
 * Packets of a pair stay in order, so a frame's bytes need no numbers; each lane of a pair has
 * at most one frame under way. The ends of packets have no meaning. */
#ifndef PEN_CONDUITS_EXTOLL_PACKET_H
#define PEN_CONDUITS_EXTOLL_PACKET_H

#include "conduit/conduit.h"

#include <stdbool.h>
#include <stdint.h>

enum { EXTOLL_SHORT, EXTOLL_BEGIN, EXTOLL_MORE, EXTOLL_CREDIT }; /* mtt */

enum {
    EXTOLL_WORD = 8,
    EXTOLL_PAYLOAD_MAX = 120, /* largest payload of any card's packets */
    EXTOLL_HEAD_WORDS_MAX = PEN_FRAME_HEAD_MAX / EXTOLL_WORD,
    EXTOLL_LEAD_WORDS_MAX = EXTOLL_HEAD_WORDS_MAX + 2, /* begin word, number of puts, head */
};

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

#endif
