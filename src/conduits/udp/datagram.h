/* SPDX-License-Identifier: BSD-3-Clause */
/* datagram.h: the format of a datagram, and reading one that may come from any sender.
 *
 *     word 0   magic and version, 4 bytes; epoch of the launch, 4
 *     word 1   sender's rank, 4; receiver's rank, 4
 *     word 2   the seal's counter, 8
 *     frames, each: a record (body length 4, lane 1, head words 1, zero 2); the head; if there is a
 *              body, padding to a multiple of 16 and the body; padding to a multiple of 8
 *     tag      16 bytes
 *
 * All numbers are little-endian. Offsets count from the datagram's first byte, which lies at a
 * multiple of 16; so every head and body has the alignment that the engine requires. All
 * functions are pure: no system calls, and no state but their arguments. */
#ifndef PEN_CONDUITS_UDP_DATAGRAM_H
#define PEN_CONDUITS_UDP_DATAGRAM_H

#include "base/compiler.h"
#include "conduit/conduit.h"
#include "seal/seal.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    UDP_HEADER_LEN = 24,
    UDP_RECORD_LEN = 8,
    UDP_ALIGN = 16,
    /* most that a frame needs besides its body: record, head, two paddings */
    UDP_FRAME_EXTRA_MAX = UDP_RECORD_LEN + PEN_FRAME_HEAD_MAX + 8 + 8,
    UDP_DATAGRAM_EXTRA = UDP_HEADER_LEN + PEN_SEAL_TAG_LEN,
    UDP_DATAGRAM_MIN = UDP_DATAGRAM_EXTRA + UDP_RECORD_LEN + 8,
    UDP_DATAGRAM_MAX = 65507, /* longest over IPv4 */
};

#define UDP_MAGIC 0x31445550u /* "PUD1" */

/* The receiver's identity, against which a datagram is judged. */
typedef struct udp_expect {
    uint32_t epoch;
    pen_peer self, peers;
} udp_expect;

/* Result of opening a datagram: the stage at which it failed, in their order, or GENUINE. Each
 * has a counter. */
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

/* Opens one datagram; the receiver calls it for all that the socket delivers. Only on GENUINE
 * are *from and *payload_len (bytes of frames, behind the header) written, and then every frame
 * is well-formed. `bytes` lies at a multiple of 16 and is decrypted in place. */
udp_verdict udp_datagram_open(pen_seal *seal, const udp_expect *expect, void *bytes, size_t len,
                              pen_peer *from, size_t *payload_len);

typedef struct udp_frame {
    void *head, *body; /* body NULL when body_len is 0 */
    uint32_t head_len, body_len;
    pen_lane lane;
} udp_frame;

/* Reads the frame at *off, and moves *off behind it. *off begins at UDP_HEADER_LEN, and after
 * the last frame it is `end` exactly. Returns false if no well-formed frame is there; then out
 * and off are unchanged. */
bool udp_frame_read(void *bytes, size_t end, size_t *off, udp_frame *out);

/* End of a frame that begins at off: a multiple of 8. */
static inline size_t udp_frame_end(size_t off, uint32_t head_len, uint32_t body_len)
{
    size_t end = off + UDP_RECORD_LEN + head_len;
    return body_len == 0 ? end : pen_align_up(pen_align_up(end, UDP_ALIGN) + body_len, 8);
}

/* Writes a frame at off, padding included. The caller has made sure of the room. Returns the
 * offset of udp_frame_end(). */
size_t udp_frame_write(void *bytes, size_t off, pen_lane lane, const pen_frame *frame);

/* Writes a frame up to its body. Returns the offset at which the body begins. */
size_t udp_frame_write_head(void *bytes, size_t off, pen_lane lane, const pen_frame *frame);

/* Writes the header except the counter, which the seal writes. */
void udp_header_write(void *bytes, const udp_expect *us, pen_peer to);

#endif
