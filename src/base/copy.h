/* SPDX-License-Identifier: BSD-3-Clause */
/* copy.h: memcpy between clients' buffers, at any alignment. How fast a way of copying is depends
 * on the processor, the length, and the caches that the lines lie in. So the process that starts a
 * host's ranks measures the ways (boot/copies.h), and every rank copies by the table that resulted.
 */
#ifndef PEN_BASE_COPY_H
#define PEN_BASE_COPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Lengths for which the table has a way. Copies of other lengths are memcpy's. The end is at most
 * the size of a core's second-level cache. */
#define PEN_COPY_LONG_MIN ((size_t)1 << PEN_COPY_LONG_MIN_BITS)
#define PEN_COPY_LONG_END (PEN_COPY_LONG_MIN << PEN_COPY_CLASSES)
enum {
    PEN_COPY_LONG_MIN_BITS = 11,
    PEN_COPY_CLASSES = 9 /* classes of lengths, each up to twice its shortest length */
};

/* The processor's string instruction is what the C library uses from about 2 KiB on where the
 * processor reports it as fast. */
#define PEN_COPY_WAY_LIST(X)                    \
    X(LIBC, "libc", "the C library's memcpy")   \
    X(MOVES_32, "moves32", "moves of 32 bytes") \
    X(MOVES_64, "moves64", "moves of 64 bytes") \
    X(STRING, "string", "the string instruction")
typedef enum pen_copy_way {
#define PEN_COPY_WAY_ENUM(name, word, text) PEN_COPY_##name,
    PEN_COPY_WAY_LIST(PEN_COPY_WAY_ENUM)
#undef PEN_COPY_WAY_ENUM
        PEN_COPY_WAYS
} pen_copy_way;

/* The ways to copy on this host, by class of length. A table of zeros chooses memcpy. */
typedef struct pen_copy_table {
    uint8_t own[PEN_COPY_CLASSES];   /* pen_copy_way for memory in this core's caches */
    uint8_t other[PEN_COPY_CLASSES]; /* pen_copy_way for memory that a different core has read */
    /* Whether a copy for a different core arrives earlier if it goes past the caches. */
    bool past[PEN_COPY_CLASSES];
    /* Ticks that such a copy through the caches took; 0: not measured. */
    uint32_t ticks[PEN_COPY_CLASSES];
} pen_copy_table;

/* The class of a length from PEN_COPY_LONG_MIN on, below PEN_COPY_LONG_END. */
static inline unsigned pen_copy_class(size_t len)
{
    return 63 - (unsigned)__builtin_clzll(len) - PEN_COPY_LONG_MIN_BITS;
}

/* Whether the processor has the instructions. */
bool pen_copy_usable(pen_copy_way way);

/* Copies at least PEN_COPY_LONG_MIN bytes. A way that is not usable copies as memcpy. */
void pen_copy_by(pen_copy_way way, void *to, const void *from, size_t len);

static inline bool pen_copy_is_long(size_t len)
{
    return len - PEN_COPY_LONG_MIN < PEN_COPY_LONG_END - PEN_COPY_LONG_MIN;
}

/* As memcpy: the buffers must not overlap. */
static inline void pen_copy(const pen_copy_table *table, void *to, const void *from, size_t len)
{
    if (pen_copy_is_long(len))
        pen_copy_by((pen_copy_way)table->own[pen_copy_class(len)], to, from, len);
    else
        memcpy(to, from, len);
}

/* ---- for another core ------------------------------------------------------------------------
 *
 * Copies into memory that a different core has read and will read again. Each store waits until the
 * line is taken from that core's caches, which between dies takes several times as long as the
 * copy. Stores that bypass the caches do not wait, but the reader then has to load the lines from
 * memory. So one copy in each period is timed. If it is slow, the next ones bypass the caches,
 * provided that this was faster when the host was measured, or that the reader has moved away since
 * then. */
#define PEN_COPY_OUT_MIN ((size_t)4096)

/* Whether copies for another core are timed. On other processors no store bypasses the caches, and
 * a pace stays as it is. */
#if defined(__x86_64__)
#    define PEN_COPY_PACED 1
#else
#    define PEN_COPY_PACED 0
#endif

/* State of one writer to one place; zero at first. */
typedef struct pen_copy_pace {
    uint8_t count;
    bool streams;
} pen_copy_pace;

/* A copy of one or several parts, which the reader learns of when it is complete. All parts use
 * the same kind of stores. pace is NULL if the copy is short. */
typedef struct pen_copy_piece {
    const pen_copy_table *table;
    pen_copy_pace *pace;
    size_t len;
    uint64_t begun; /* ticks; 0: not timed */
    bool streams;
} pen_copy_piece;

/* For pieces of at least PEN_COPY_OUT_MIN bytes. */
pen_copy_piece pen_copy_begin_paced(const pen_copy_table *table, pen_copy_pace *pace, size_t len);
void pen_copy_end_paced(const pen_copy_piece *piece);
/* Bypasses the caches. The stores are ordered only by pen_copy_end_paced. */
void pen_copy_stream(void *to, const void *from, size_t len);

/* The counter by which copies are timed; 0 if no copies are timed. */
uint64_t pen_copy_ticks(void);

/* len: of all parts together. */
static inline pen_copy_piece pen_copy_begin(const pen_copy_table *table, pen_copy_pace *pace,
                                            size_t len)
{
    return len < PEN_COPY_OUT_MIN ? (pen_copy_piece){ .table = table }
                                  : pen_copy_begin_paced(table, pace, len);
}

static inline void pen_copy_part(const pen_copy_piece *piece, void *to, const void *from,
                                 size_t len)
{
    if (piece->streams)
        pen_copy_stream(to, from, len);
    else if (pen_copy_is_long(len))
        pen_copy_by((pen_copy_way)piece->table->other[pen_copy_class(len)], to, from, len);
    else
        memcpy(to, from, len);
}

/* After this, the reader may be notified. */
static inline void pen_copy_end(const pen_copy_piece *piece)
{
    if (piece->pace != NULL)
        pen_copy_end_paced(piece);
}

/* A piece of one part. */
static inline void pen_copy_out(const pen_copy_table *table, pen_copy_pace *pace, void *to,
                                const void *from, size_t len)
{
    pen_copy_piece piece = pen_copy_begin(table, pace, len);
    pen_copy_part(&piece, to, from, len);
    pen_copy_end(&piece);
}

#endif
