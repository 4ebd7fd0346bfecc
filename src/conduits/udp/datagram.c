/* SPDX-License-Identifier: BSD-3-Clause */
/* datagram.c: writes datagrams, and reads them in the only safe order: length, version, epoch,
 * ranks, seal, replay, frames. */
#include "conduits/udp/datagram.h"

#include "base/compiler.h"
#include "conduit/conduit.h"
#include "seal/seal.h"

#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "numbers are copied as they are");
_Static_assert(PEN_FRAME_HEAD_MAX / 8 <= UINT8_MAX, "a head's words fit their byte");

typedef struct udp_header {
    uint32_t magic, epoch, from, to;
    uint64_t counter;
} udp_header;

_Static_assert(sizeof(udp_header) == UDP_HEADER_LEN, "no padding");
_Static_assert(UDP_HEADER_LEN - sizeof(uint64_t) + PEN_SEAL_COUNTER_LEN == UDP_HEADER_LEN,
               "the counter ends the header");

typedef struct udp_record {
    uint32_t body_len;
    uint8_t lane, head_words;
    uint16_t zero;
} udp_record;

_Static_assert(sizeof(udp_record) == UDP_RECORD_LEN, "no padding");

void udp_header_write(void *bytes, const udp_expect *us, pen_peer to)
{
    const udp_header header = {
        .magic = UDP_MAGIC, .epoch = us->epoch, .from = us->self, .to = to
    };
    memcpy(bytes, &header, sizeof header);
}

static size_t pad(uint8_t *bytes, size_t off, size_t grain)
{
    size_t end = pen_align_up(off, grain);
    memset(bytes + off, 0, end - off); /* otherwise old memory would leak to the peer */
    return end;
}

size_t udp_frame_write_head(void *bytes, size_t off, pen_lane lane, const pen_frame *frame)
{
    uint8_t *at = bytes;
    const udp_record record = { .body_len = frame->body_len,
                                .lane = (uint8_t)lane,
                                .head_words = (uint8_t)(frame->head_len / 8) };
    memcpy(at + off, &record, sizeof record);
    off += sizeof record;
    memcpy(at + off, frame->head, frame->head_len);
    off += frame->head_len;
    return frame->body_len == 0 ? off : pad(at, off, UDP_ALIGN);
}

size_t udp_frame_write(void *bytes, size_t off, pen_lane lane, const pen_frame *frame)
{
    uint8_t *at = bytes;
    off = udp_frame_write_head(bytes, off, lane, frame);
    if (frame->body_len == 0)
        return off;
    memcpy(at + off, frame->body, frame->body_len);
    return pad(at, off + frame->body_len, 8);
}

static bool record_is_sound(const udp_record *record)
{
    return record->zero == 0 && record->lane < PEN_LANES && record->head_words != 0 &&
           record->head_words <= PEN_FRAME_HEAD_MAX / 8;
}

bool udp_frame_read(void *bytes, size_t end, size_t *off, udp_frame *out)
{
    uint8_t *at = bytes;
    udp_record record;
    size_t begin = *off;
    if (begin > end || end - begin < sizeof record)
        return false;
    memcpy(&record, at + begin, sizeof record);
    begin += sizeof record;
    uint32_t head_len = record.head_words * 8u;
    if (!record_is_sound(&record) || head_len > end - begin)
        return false;
    size_t next = begin + head_len, body = next;
    if (record.body_len != 0) {
        body = pen_align_up(next, UDP_ALIGN);
        if (body > end || record.body_len > end - body)
            return false;
        next = pen_align_up(body + record.body_len, 8);
        if (next > end)
            return false;
    }
    *out = (udp_frame){ .head = at + begin,
                        .body = record.body_len != 0 ? at + body : NULL,
                        .head_len = head_len,
                        .body_len = record.body_len,
                        .lane = (pen_lane)record.lane };
    *off = next;
    return true;
}

static bool frames_are_sound(void *bytes, size_t end)
{
    size_t off = UDP_HEADER_LEN;
    udp_frame frame;
    while (off < end)
        if (!udp_frame_read(bytes, end, &off, &frame))
            return false;
    return true;
}

static udp_verdict header_judge(const udp_header *header, const udp_expect *expect)
{
    if (header->magic != UDP_MAGIC)
        return UDP_BAD_VERSION;
    if (header->epoch != expect->epoch)
        return UDP_BAD_EPOCH;
    if (header->from >= expect->peers || header->to != expect->self)
        return UDP_BAD_SOURCE;
    return UDP_GENUINE;
}

udp_verdict udp_datagram_open(pen_seal *seal, const udp_expect *expect, void *bytes, size_t len,
                              pen_peer *from, size_t *payload_len)
{
    if (len < UDP_DATAGRAM_MIN || len > UDP_DATAGRAM_MAX || len % 8 != 0)
        return UDP_BAD_LENGTH;
    udp_header header;
    memcpy(&header, bytes, sizeof header);
    udp_verdict verdict = header_judge(&header, expect);
    if (verdict != UDP_GENUINE)
        return verdict;
    size_t frames_len = len - UDP_DATAGRAM_EXTRA;
    switch (pen_seal_unprotect(seal, header.from, bytes, UDP_HEADER_LEN, frames_len)) {
    case PEN_SEAL_FORGED:
        return UDP_BAD_SEAL;
    case PEN_SEAL_REPLAYED:
        return UDP_REPLAYED;
    case PEN_SEAL_GENUINE:
        break;
    }
    if (!frames_are_sound(bytes, UDP_HEADER_LEN + frames_len))
        return UDP_BAD_FRAME;
    *from = header.from;
    *payload_len = frames_len;
    return UDP_GENUINE;
}
