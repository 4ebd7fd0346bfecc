/* SPDX-License-Identifier: BSD-3-Clause */
/* copy.c: copies of 2 KiB to 1 MiB, by the ways that the processor has. */
#include "base/copy.h"

#if PEN_COPY_PACED

#    include <x86intrin.h>

typedef long long wide_32 __attribute__((vector_size(32), aligned(1), may_alias));
typedef long long wide_64 __attribute__((vector_size(64), aligned(1), may_alias));

enum { WIDE_LEN = 64, TURN_LEN = 4 * WIDE_LEN };

/* Copies WIDE_LEN bytes. The compiler does not make good moves of 32 bytes of a wider type. */
static inline __attribute__((always_inline)) void move_one(char *to, const char *from, bool by_32)
{
    if (!by_32) {
        *(wide_64 *)to = *(const wide_64 *)from;
        return;
    }
    const wide_32 *source = (const wide_32 *)from;
    const wide_32 low = source[0], high = source[1];
    ((wide_32 *)to)[0] = low;
    ((wide_32 *)to)[1] = high;
}

static inline __attribute__((always_inline)) void move_turn(char *to, const char *from, bool by_32)
{
    for (size_t at = 0; at < TURN_LEN; at += WIDE_LEN)
        move_one(to + at, from + at, by_32);
}

/* Moves to aligned places. The first move overlaps the start of these, and the last turn overlaps
 * their end. */
static inline __attribute__((always_inline)) void move_all(char *to, const char *from, size_t len,
                                                           bool by_32)
{
    char *const last = to + len - TURN_LEN;
    const char *const last_from = from + len - TURN_LEN;
    const size_t skipped = WIDE_LEN - ((uintptr_t)to & (WIDE_LEN - 1));
    move_one(to, from, by_32);
    from += skipped;
    for (to += skipped; to < last; to += TURN_LEN, from += TURN_LEN)
        move_turn(to, from, by_32);
    move_turn(last, last_from, by_32);
}

static __attribute__((target("avx"))) void move_32(char *to, const char *from, size_t len)
{
    move_all(to, from, len, true);
}

static __attribute__((target("avx512f"))) void move_64(char *to, const char *from, size_t len)
{
    move_all(to, from, len, false);
}

static void move_string(void *to, const void *from, size_t len)
{
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(len) : : "memory");
}

bool pen_copy_usable(pen_copy_way way)
{
    return way == PEN_COPY_LIBC || way == PEN_COPY_STRING ||
           (way == PEN_COPY_MOVES_32 && __builtin_cpu_supports("avx")) ||
           (way == PEN_COPY_MOVES_64 && __builtin_cpu_supports("avx512f"));
}

void pen_copy_by(pen_copy_way way, void *to, const void *from, size_t len)
{
    if (way == PEN_COPY_MOVES_32 && __builtin_cpu_supports("avx"))
        move_32(to, from, len);
    else if (way == PEN_COPY_MOVES_64 && __builtin_cpu_supports("avx512f"))
        move_64(to, from, len);
    else if (way == PEN_COPY_STRING)
        move_string(to, from, len);
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
 * 0.5 ns. FARTHER: if a timed copy takes more than this multiple of the measured
 * ticks, the reader is farther away than when the host was measured. */
enum { PERIOD = 16, BYTES_PER_TICK = 5, FARTHER = 2 };

pen_copy_piece pen_copy_begin_paced(const pen_copy_table *table, pen_copy_pace *pace, size_t len)
{
    bool timed = pace->count++ % PERIOD == 0;
    return (pen_copy_piece){ table, pace, len, timed ? __rdtsc() : 0, !timed && pace->streams };
}

static bool is_slow(const pen_copy_piece *piece, uint64_t ticks)
{
    if (ticks * BYTES_PER_TICK <= piece->len)
        return false;
    if (!pen_copy_is_long(piece->len))
        return true;
    const unsigned class = pen_copy_class(piece->len);
    return piece->table->past[class] || ticks > (uint64_t)FARTHER * piece->table->ticks[class];
}

void pen_copy_end_paced(const pen_copy_piece *piece)
{
    if (piece->streams)
        _mm_sfence();
    else if (piece->begun != 0)
        piece->pace->streams = is_slow(piece, __rdtsc() - piece->begun);
}

uint64_t pen_copy_ticks(void) { return __rdtsc(); }

#else

bool pen_copy_usable(pen_copy_way way) { return way == PEN_COPY_LIBC; }

void pen_copy_by(pen_copy_way way, void *to, const void *from, size_t len)
{
    (void)way;
    memcpy(to, from, len);
}

void pen_copy_stream(void *to, const void *from, size_t len) { memcpy(to, from, len); }

pen_copy_piece pen_copy_begin_paced(const pen_copy_table *table, pen_copy_pace *pace, size_t len)
{
    return (pen_copy_piece){ table, pace, len, 0, false };
}

void pen_copy_end_paced(const pen_copy_piece *piece) { (void)piece; }

uint64_t pen_copy_ticks(void) { return 0; }

#endif
