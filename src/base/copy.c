/* SPDX-License-Identifier: BSD-3-Clause */
/* copy.c: copies of 2 KiB to 1 MiB, with the moves that suit the processor and the reader. */
#include "base/copy.h"

#if PEN_COPY_PACED

#    include <x86intrin.h>

typedef long long wide __attribute__((vector_size(32), aligned(1), may_alias));

enum { WIDE_LEN = sizeof(wide), TURN_LEN = 4 * sizeof(wide) };

/* Moves four at a time to aligned places. The first move overlaps the start of these, and four
 * moves at the end overlap their end. */
static __attribute__((target("avx"))) void move_wide(char *to, const char *from, size_t len)
{
    char *const last = to + len - TURN_LEN;
    const wide first = *(const wide *)from;
    const wide *tail = (const wide *)(from + len - TURN_LEN);
    const wide tail0 = tail[0], tail1 = tail[1], tail2 = tail[2], tail3 = tail[3];
    const size_t skipped = WIDE_LEN - ((uintptr_t)to & (WIDE_LEN - 1));
    *(wide *)to = first;
    from += skipped;
    for (to += skipped; to < last; to += TURN_LEN, from += TURN_LEN) {
        const wide *source = (const wide *)from;
        const wide part0 = source[0], part1 = source[1], part2 = source[2], part3 = source[3];
        wide *dest = (wide *)to;
        dest[0] = part0;
        dest[1] = part1;
        dest[2] = part2;
        dest[3] = part3;
    }
    wide *dest = (wide *)last;
    dest[0] = tail0;
    dest[1] = tail1;
    dest[2] = tail2;
    dest[3] = tail3;
}

void pen_copy_wide(void *to, const void *from, size_t len)
{
    if (__builtin_cpu_supports("avx"))
        move_wide(to, from, len);
    else
        memcpy(to, from, len);
}

void pen_copy_long(void *to, const void *from, size_t len)
{
    if (__builtin_cpu_is("amd"))
        pen_copy_wide(to, from, len);
    else
        memcpy(to, from, len);
}

/* Copies whole lines only, because a partly written line would be read first. */
void pen_copy_stream(void *to, const void *from, size_t len)
{
    enum { LINE_LEN = 64, PART_LEN = sizeof(__m128i), PARTS = LINE_LEN / PART_LEN };
    char *dest = to;
    const char *source = from;
    size_t skipped = -(uintptr_t)to & (LINE_LEN - 1);
    if (skipped > len)
        skipped = len;
    memcpy(dest, source, skipped);
    for (dest += skipped, source += skipped, len -= skipped; len >= LINE_LEN;
         dest += LINE_LEN, source += LINE_LEN, len -= LINE_LEN) {
        __m128i parts[PARTS];
        for (size_t i = 0; i < PARTS; i++)
            parts[i] = _mm_loadu_si128((const __m128i *)(const void *)(source + i * PART_LEN));
        for (size_t i = 0; i < PARTS; i++)
            _mm_stream_si128((__m128i *)(void *)(dest + i * PART_LEN), parts[i]);
    }
    memcpy(dest, source, len);
}

/* PERIOD: copies from one timed copy to the next. BYTES_PER_TICK: if a timed copy moves fewer bytes
 * per tick of the time stamp counter, the lines were not in this core's caches. A tick is 0.25 to
 * 0.5 ns. */
enum { PERIOD = 16, BYTES_PER_TICK = 5 };

pen_copy_piece pen_copy_begin_paced(pen_copy_pace *pace, size_t len)
{
    bool timed = pace->count++ % PERIOD == 0;
    return (pen_copy_piece){ pace, len, timed ? __rdtsc() : 0, !timed && pace->streams };
}

void pen_copy_end_paced(const pen_copy_piece *piece)
{
    if (piece->streams)
        _mm_sfence();
    else if (piece->begun != 0)
        piece->pace->streams = (__rdtsc() - piece->begun) * BYTES_PER_TICK > piece->len;
}

#else

void pen_copy_stream(void *to, const void *from, size_t len) { memcpy(to, from, len); }

pen_copy_piece pen_copy_begin_paced(pen_copy_pace *pace, size_t len)
{
    return (pen_copy_piece){ pace, len, 0, false };
}

void pen_copy_end_paced(const pen_copy_piece *piece) { (void)piece; }

void pen_copy_wide(void *to, const void *from, size_t len) { memcpy(to, from, len); }

void pen_copy_long(void *to, const void *from, size_t len) { memcpy(to, from, len); }

#endif
