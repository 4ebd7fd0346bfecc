/* SPDX-License-Identifier: BSD-3-Clause */
/* copy.h: memcpy between buffers of clients, at addresses that they chose. That of the C library
 * copies 2 KiB and more by one string instruction on processors that say theirs is fast. AMD's say
 * so, yet it takes a fifth longer for 4 KiB than a loop of 32-byte moves, and thirty times as long
 * where the destination lies 1 to 15 bytes further in its page than the source does (64 KiB: 19 us
 * instead of 1.1). */
#ifndef PEN_BASE_COPY_H
#define PEN_BASE_COPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* From the first length on, and below the last, the C library takes the string instruction, or may:
 * at most as much as a core's second-level cache holds. */
#define PEN_COPY_LONG_MIN ((size_t)2048)
#define PEN_COPY_LONG_END ((size_t)1 << 20)

/* The same for lengths from PEN_COPY_LONG_MIN on: as suits the processor, and by moves of 32 bytes
 * wherever it has them. */
void pen_copy_long(void *to, const void *from, size_t len);
void pen_copy_wide(void *to, const void *from, size_t len);

/* As memcpy: the two do not overlap. */
static inline void pen_copy(void *to, const void *from, size_t len)
{
    if (len - PEN_COPY_LONG_MIN < PEN_COPY_LONG_END - PEN_COPY_LONG_MIN)
        pen_copy_long(to, from, len);
    else
        memcpy(to, from, len);
}

/* ---- for another core ------------------------------------------------------------------------
 *
 * Into memory that another core reads next, and read before: our stores wait until each line is
 * taken from that core's caches, which between dies is five times the copy (16 KiB, to there and
 * back out of it: 8.2 us; within a die 2.0). Stores that go past the caches do not wait, but then
 * the reader finds the lines in memory (2.6, and 2.3). So the copy that tells how others go is
 * timed: slow ones go past. How far away the reader is changes while a program runs. */
#define PEN_COPY_OUT_MIN ((size_t)4096)

/* Of one writer into one place; zero at first. */
typedef struct pen_copy_pace {
    uint8_t count;
    bool streams;
} pen_copy_pace;

/* What is written there before the reader hears of it: one part or more, all of which go the same
 * way. pace, NULL: too short for it to matter. */
typedef struct pen_copy_piece {
    pen_copy_pace *pace;
    size_t len;
    uint64_t begun; /* ticks; 0: not timed */
    bool streams;
} pen_copy_piece;

/* For pieces of PEN_COPY_OUT_MIN bytes and more. */
pen_copy_piece pen_copy_begin_paced(pen_copy_pace *pace, size_t len);
void pen_copy_end_paced(const pen_copy_piece *piece);
/* Past the caches; in no order until pen_copy_end_paced. */
void pen_copy_stream(void *to, const void *from, size_t len);

/* len: of all its parts. */
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

/* Now the reader may be told. */
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
