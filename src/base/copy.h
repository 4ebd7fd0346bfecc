/* SPDX-License-Identifier: BSD-3-Clause */
/* copy.h: memcpy between buffers of clients, at addresses that they chose. That of the C library
 * copies 2 KiB and more by one string instruction on processors that say theirs is fast. AMD's say
 * so, yet it takes a fifth longer for 4 KiB than a loop of 32-byte moves, and thirty times as long
 * where the destination lies 1 to 15 bytes further in its page than the source does (64 KiB: 19 us
 * instead of 1.1). */
#ifndef PEN_BASE_COPY_H
#define PEN_BASE_COPY_H

#include <stddef.h>
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

#endif
