/* SPDX-License-Identifier: BSD-3-Clause */
/* bytes.h: a cursor over untrusted bytes, which cannot overrun. A read past the end returns 0
 * and marks the cursor as failed; the caller tests once, at the end. Also the counterpart that
 * writes into a bounded buffer. Numbers are little-endian. */
#ifndef PEN_BASE_BYTES_H
#define PEN_BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct pen_bytes {
    const uint8_t *at;
    size_t left;
    bool failed;
} pen_bytes;

static inline pen_bytes pen_bytes_of(const void *start, size_t len)
{
    return (pen_bytes){ (const uint8_t *)start, len, false };
}

static inline bool pen_bytes_failed(const pen_bytes *in) { return in->failed; }
static inline size_t pen_bytes_left(const pen_bytes *in) { return in->left; }

/* The next len bytes, or NULL (and failed). */
static inline const void *pen_bytes_take(pen_bytes *in, size_t len)
{
    if (in->failed || len > in->left) {
        in->failed = true;
        return NULL;
    }
    const void *start = in->at;
    in->at += len;
    in->left -= len;
    return start;
}

static inline uint64_t pen_bytes_uint(pen_bytes *in, size_t len)
{
    uint64_t value = 0;
    const void *from = pen_bytes_take(in, len);
    if (from != NULL)
        memcpy(&value, from, len);
    return value;
}

static inline uint8_t pen_bytes_u8(pen_bytes *in) { return (uint8_t)pen_bytes_uint(in, 1); }
static inline uint16_t pen_bytes_u16(pen_bytes *in) { return (uint16_t)pen_bytes_uint(in, 2); }
static inline uint32_t pen_bytes_u32(pen_bytes *in) { return (uint32_t)pen_bytes_uint(in, 4); }
static inline uint64_t pen_bytes_u64(pen_bytes *in) { return pen_bytes_uint(in, 8); }

typedef struct pen_sink {
    uint8_t *start;
    size_t len, len_max;
    bool failed; /* a value did not fit; later values were not written */
} pen_sink;

static inline pen_sink pen_sink_of(void *start, size_t len_max)
{
    return (pen_sink){ (uint8_t *)start, 0, len_max, false };
}

static inline void pen_sink_put(pen_sink *out, const void *from, size_t len)
{
    if (out->failed || len > out->len_max - out->len) {
        out->failed = true;
        return;
    }
    memcpy(out->start + out->len, from, len);
    out->len += len;
}

static inline void pen_sink_u8(pen_sink *out, uint8_t value) { pen_sink_put(out, &value, 1); }
static inline void pen_sink_u16(pen_sink *out, uint16_t value) { pen_sink_put(out, &value, 2); }
static inline void pen_sink_u32(pen_sink *out, uint32_t value) { pen_sink_put(out, &value, 4); }
static inline void pen_sink_u64(pen_sink *out, uint64_t value) { pen_sink_put(out, &value, 8); }

#endif
