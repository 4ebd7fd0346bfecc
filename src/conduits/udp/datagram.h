/* SPDX-License-Identifier: BSD-3-Clause */
/* datagram.h: what a datagram looks like, and reading one that may come from anybody.
 *
 *     word 0   magic and version, 4 bytes; epoch of the launch, 4
 *     word 1   sender's rank, 4; receiver's rank, 4
 *     word 2   the seal's counter, 8
 *     frames, each: a word that says what follows (body length 4, lane 1, head words 1, zero 2);
 *              the head; where there is a body, padding to a multiple of 16 and the body; padding
 *              to a multiple of 8
 *     tag      16 bytes
 *
 * All numbers are little-endian. Offsets count from the datagram's first byte, which lies at a
 * multiple of 16; so every head and body lies as the engine wants it. Pure functions: no system
 * calls, no state but what they are given. */
#ifndef PEN_CONDUITS_UDP_DATAGRAM_H
#define PEN_CONDUITS_UDP_DATAGRAM_H

#include "conduit/conduit.h"
#include "seal/seal.h"

enum {
    UDP_HEADER_LEN = 24,
    UDP_RECORD_LEN = 8,
    UDP_ALIGN = 16,
    /* what a frame needs besides its body, at most: record, head, two paddings */
    UDP_FRAME_EXTRA_MAX = UDP_RECORD_LEN + PEN_FRAME_HEAD_MAX + 8 + 8,
    UDP_DATAGRAM_EXTRA = UDP_HEADER_LEN + PEN_SEAL_TAG_LEN,
    UDP_DATAGRAM_MIN = UDP_DATAGRAM_EXTRA + UDP_RECORD_LEN + 8,
    UDP_DATAGRAM_MAX = 65507, /* over IPv4 */
};

#define UDP_MAGIC 0x31445550u /* "PUD1" */

/* Who we are, to judge what comes. */
typedef struct udp_expect {
    uint32_t epoch;
    pen_peer self, peers;
} udp_expect;

/* The stages at which a datagram may fail, in their order; each has its counter. */
typedef enum udp_verdict {
    UDP_GENUINE,
    UDP_BAD_LENGTH,
    UDP_BAD_VERSION,
    UDP_BAD_EPOCH,
    UDP_BAD_SOURCE,
    UDP_BAD_SEAL,
    UDP_REPLAYED,
    UDP_BAD_FRAME,
    UDP_VERDICTS,
} udp_verdict;

/* One datagram, from the first stage to the last: only on GENUINE are *from and *payload_len (bytes
 * of frames, behind the header) written, and then every frame of it is well-formed. `bytes` at a
 * multiple of 16; decrypted in place. */
udp_verdict udp_datagram_open(pen_seal *seal, const udp_expect *expect, void *bytes, size_t len,
                              pen_peer *from, size_t *payload_len);

typedef struct udp_frame {
    void *head, *body; /* body NULL when body_len is 0 */
    uint32_t head_len, body_len;
    pen_lane lane;
} udp_frame;

/* The frame at *off, which moves behind it. False: nothing well-formed is there; out and off are as
 * they were. off begins at UDP_HEADER_LEN and ends at `end` exactly. */
bool udp_frame_read(void *bytes, size_t end, size_t *off, udp_frame *out);

/* Where the next frame would end if it began at off: a multiple of 8. */
static inline size_t udp_frame_end(size_t off, uint32_t head_len, uint32_t body_len)
{
    size_t end = off + UDP_RECORD_LEN + head_len;
    return body_len == 0 ? end : pen_align_up(pen_align_up(end, UDP_ALIGN) + body_len, 8);
}

/* Writes it there, padding included; the caller has seen to the room. Answers udp_frame_end. */
size_t udp_frame_write(void *bytes, size_t off, pen_lane lane, const pen_frame *frame);

/* The same without the body and what follows it: answers where that begins. */
size_t udp_frame_write_head(void *bytes, size_t off, pen_lane lane, const pen_frame *frame);

/* Everything of the header but the counter, which is the seal's. */
void udp_header_write(void *bytes, const udp_expect *us, pen_peer to);

#endif
