/* SPDX-License-Identifier: BSD-3-Clause */
/* wire.c: the header of the reliable link, to and from bytes; docs/design/reliable.md has a picture
 * of it. */
#include "reliable/wire.h"

#include "base/bytes.h"
#include "base/compiler.h"
#include "conduit/conduit.h"

#include <string.h>

enum { SUM_OFF = 4, LANE_SHIFT = 4, KIND_MASK = 15 };

#define FLAGS_ALL (PEN_REL_ACK | PEN_REL_ASK | PEN_REL_HEAD_IN_BODY)

static void encode_ack(pen_sink *sink, const pen_rel_ack *ack)
{
    pen_sink_u32(sink, ack->base);
    pen_sink_u32(sink, ack->transmission);
    pen_sink_u32(sink, ack->delay_us);
    for (unsigned lane = 0; lane < PEN_LANES; lane++)
        pen_sink_u32(sink, ack->limit[lane]);
    for (uint32_t i = 0; i < ack->range_count; i++) {
        pen_sink_u16(sink, ack->ranges[i].first);
        pen_sink_u16(sink, ack->ranges[i].count);
    }
    if (ack->range_count % 2 != 0)
        pen_sink_u32(sink, 0);
}

size_t pen_rel_encode(const pen_rel_head *head, void *out)
{
    bool has_ack = (head->flags & PEN_REL_ACK) != 0;
    pen_sink sink = pen_sink_of(out, PEN_FRAME_HEAD_MAX);
    pen_sink_u8(&sink, (uint8_t)(head->kind | head->lane << LANE_SHIFT));
    pen_sink_u8(&sink, (uint8_t)head->flags);
    pen_sink_u8(&sink, (uint8_t)(head->head_len / 8));
    pen_sink_u8(&sink, (uint8_t)(has_ack ? head->ack.range_count : 0));
    pen_sink_u64(&sink, 0);
    pen_sink_u32(&sink, head->session);
    pen_sink_u32(&sink, head->sequence);
    pen_sink_u32(&sink, head->transmission);
    if (has_ack)
        encode_ack(&sink, &head->ack);
    PEN_INVARIANT(!sink.failed);
    return sink.len;
}

static bool decode_ranges(pen_bytes *in, pen_rel_ack *ack)
{
    uint32_t next = 1; /* base itself has not arrived */
    for (uint32_t i = 0; i < ack->range_count; i++) {
        pen_rel_range *range = &ack->ranges[i];
        range->first = pen_bytes_u16(in);
        range->count = pen_bytes_u16(in);
        if (range->first < next || range->count == 0 ||
            (uint32_t)range->first + range->count > PEN_REL_WINDOW)
            return false;
        next = (uint32_t)range->first + range->count + 1;
    }
    return ack->range_count % 2 == 0 || pen_bytes_u32(in) == 0;
}

static bool decode_ack(pen_bytes *in, pen_rel_ack *ack)
{
    ack->base = pen_bytes_u32(in);
    ack->transmission = pen_bytes_u32(in);
    ack->delay_us = pen_bytes_u32(in);
    for (unsigned lane = 0; lane < PEN_LANES; lane++)
        ack->limit[lane] = pen_bytes_u32(in);
    return ack->range_count <= PEN_REL_RANGES_MAX && decode_ranges(in, ack);
}

/* Checks the first four bytes against each other. */
static bool is_sensible(const pen_rel_head *head)
{
    bool has_ack = (head->flags & PEN_REL_ACK) != 0;
    if (head->lane >= PEN_LANES || (head->flags & ~(uint32_t)FLAGS_ALL) != 0 ||
        (!has_ack && head->ack.range_count != 0))
        return false;
    if (head->kind == PEN_REL_NOTE)
        return has_ack && head->head_len == 0 && (head->flags & PEN_REL_HEAD_IN_BODY) == 0;
    return head->kind == PEN_REL_FRAME && head->head_len >= 8 &&
           head->head_len <= PEN_FRAME_HEAD_MAX;
}

bool pen_rel_decode(const void *bytes, size_t len, pen_rel_head *out, size_t *used)
{
    pen_bytes in = pen_bytes_of(bytes, len);
    uint8_t first = pen_bytes_u8(&in);
    *out = (pen_rel_head){ .kind = first & KIND_MASK, .lane = first >> LANE_SHIFT };
    out->flags = pen_bytes_u8(&in);
    out->head_len = pen_bytes_u8(&in) * 8u;
    out->ack.range_count = pen_bytes_u8(&in);
    (void)pen_bytes_u64(&in); /* the sum */
    out->session = pen_bytes_u32(&in);
    out->sequence = pen_bytes_u32(&in);
    out->transmission = pen_bytes_u32(&in);
    if (!is_sensible(out) || ((out->flags & PEN_REL_ACK) != 0 && !decode_ack(&in, &out->ack)))
        return false;
    *used = len - pen_bytes_left(&in);
    return !pen_bytes_failed(&in);
}

/* ---- the sum --------------------------------------------------------------------------------- */

/* For a fixed sum so far this is a bijection of the word; for a fixed word, of the sum. */
static uint64_t sum_add(uint64_t sum, uint64_t word)
{
    sum = (sum ^ word) * UINT64_C(0x9fb21c651e98df25);
    return sum ^ sum >> 32;
}

static uint64_t sum_bytes(uint64_t sum, const uint8_t *bytes, size_t len)
{
    uint64_t word;
    for (; len >= sizeof word; bytes += sizeof word, len -= sizeof word) {
        memcpy(&word, bytes, sizeof word);
        sum = sum_add(sum, word);
    }
    word = 0;
    if (len != 0)
        memcpy(&word, bytes, len);
    return sum_add(sum, word);
}

uint64_t pen_rel_sum(const void *head, size_t head_len, const void *body, size_t body_len)
{
    const uint8_t *bytes = (const uint8_t *)head;
    const size_t behind = SUM_OFF + sizeof(uint64_t);
    uint64_t sum = sum_add(head_len, body_len);
    sum = sum_bytes(sum, bytes, SUM_OFF);
    sum = sum_bytes(sum, bytes + behind, head_len - behind);
    return sum_bytes(sum, (const uint8_t *)body, body_len);
}

uint64_t pen_rel_sum_read(const void *head)
{
    uint64_t sum;
    memcpy(&sum, (const uint8_t *)head + SUM_OFF, sizeof sum);
    return sum;
}

void pen_rel_sum_write(void *head, uint64_t sum)
{
    memcpy((uint8_t *)head + SUM_OFF, &sum, sizeof sum);
}
