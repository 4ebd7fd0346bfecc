/* SPDX-License-Identifier: BSD-3-Clause */
/* copy.h: memcpy between clients' buffers, at any alignment. For 2 KiB and more, the C library
 * uses one string instruction on processors that report it as fast. AMD processors report this,
 * but the instruction is slower there than a loop of 32-byte moves, and many times slower if the
 * destination lies 1 to 15 bytes further in its page than the source. */
#ifndef PEN_BASE_COPY_H
#define PEN_BASE_COPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* From the first length up to the last one, the C library may use the string instruction. The
 * last one is at most the size of a core's second-level cache. */
#define PEN_COPY_LONG_MIN ((size_t)2048)
#define PEN_COPY_LONG_END ((size_t)1 << 20)

/* Copies of PEN_COPY_LONG_MIN bytes and more. _long: with the moves that suit the processor.
 * _wide: with 32-byte moves if the processor has them. */
void pen_copy_long(void *to, const void *from, size_t len);
void pen_copy_wide(void *to, const void *from, size_t len);

/* As memcpy: the buffers must not overlap. */
static inline void pen_copy(void *to, const void *from, size_t len)
{
    if (len - PEN_COPY_LONG_MIN < PEN_COPY_LONG_END - PEN_COPY_LONG_MIN)
        pen_copy_long(to, from, len);
    else
        memcpy(to, from, len);
}

/* ---- for another core ------------------------------------------------------------------------
 *
 * Copies into memory that a different core has read and will read again. Each store waits until the
 * line is taken from that core's caches, which between dies takes several times as long as the
 * copy. Stores that bypass the caches do not wait, but the reader then has to load the lines from
 * memory. So one copy in each period is timed, and if it is slow, the next ones bypass the caches.
 * The timing is repeated, because the distance of the reader changes while a program runs. */
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
    pen_copy_pace *pace;
    size_t len;
    uint64_t begun; /* ticks; 0: not timed */
    bool streams;
} pen_copy_piece;

/* For pieces of at least PEN_COPY_OUT_MIN bytes. */
pen_copy_piece pen_copy_begin_paced(pen_copy_pace *pace, size_t len);
void pen_copy_end_paced(const pen_copy_piece *piece);
/* Bypasses the caches. The stores are ordered only by pen_copy_end_paced. */
void pen_copy_stream(void *to, const void *from, size_t len);

/* len: of all parts together. */
static inline pen_copy_piece pen_copy_begin(pen_copy_pace *pace, size_t len)
{
    return len < PEN_COPY_OUT_MIN ? (pen_copy_piece){ 0 } : pen_copy_begin_paced(pace, len);
}

static inline void pen_copy_part(const pen_copy_piece *piece, void *to, const void *from,
                                 size_t len)
{
    if (piece->streams)
        pen_copy_stream(to, from, len);
    else
        pen_copy(to, from, len);
}

/* After this, the reader may be notified. */
static inline void pen_copy_end(const pen_copy_piece *piece)
{
    if (piece->pace != NULL)
        pen_copy_end_paced(piece);
}

/* A piece of one part. */
static inline void pen_copy_out(pen_copy_pace *pace, void *to, const void *from, size_t len)
{
    pen_copy_piece piece = pen_copy_begin(pace, len);
    pen_copy_part(&piece, to, from, len);
    pen_copy_end(&piece);
}

#endif
