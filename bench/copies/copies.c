/* SPDX-License-Identifier: BSD-3-Clause */
/* copies.c: prints how long each way of copying takes beside memcpy, in a core's own caches, for
 * each class of lengths and two places of the destination in its page. The best of many copies in
 * turn counts, since other programs can only slow a copy down. The last column is what this host's
 * table chooses. */
#include "boot/copies.h"
#include "base/copy.h"
#include "os/os.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PLACES = 2, PLACE_OFF = 8, ROUNDS = 41, TIMED_LEN = 64 << 10, PAGE_LEN = 4096 };

static uint64_t time_copies(pen_copy_way way, char *to, const char *from, size_t len)
{
    const size_t copies = len < TIMED_LEN ? TIMED_LEN / len : 1;
    uint64_t begun_ns = pen_now_ns();
    for (size_t i = 0; i < copies; i++)
        pen_copy_by(way, to, from, len);
    return (pen_now_ns() - begun_ns) * 1000 / copies;
}

/* Prints one row. Times are in picoseconds. */
static void measure(char *to, const char *from, size_t len, size_t place, const char *chosen)
{
    uint64_t best[PEN_COPY_WAYS];
    memset(best, 0xff, sizeof best);
    for (unsigned round = 0; round < ROUNDS; round++)
        for (unsigned way = 0; way < PEN_COPY_WAYS; way++)
            if (pen_copy_usable((pen_copy_way)way)) {
                uint64_t ps = time_copies((pen_copy_way)way, to, from, len);
                best[way] = ps < best[way] ? ps : best[way];
            }
    printf("| %zu KiB | %zu | %.3f |", len >> 10, place, (double)best[PEN_COPY_LIBC] / 1e6);
    for (unsigned way = PEN_COPY_LIBC + 1; way < PEN_COPY_WAYS; way++) {
        if (pen_copy_usable((pen_copy_way)way))
            printf(" %.3f |", (double)best[way] / (double)best[PEN_COPY_LIBC]);
        else
            fputs(" - |", stdout);
    }
    printf(" %s |\n", chosen);
}

int main(void)
{
    pen_copy_table table;
    const size_t longest = PEN_COPY_LONG_END / 2;
    char *from = aligned_alloc(PAGE_LEN, longest),
         *to = aligned_alloc(PAGE_LEN, longest + PAGE_LEN);
    if (from == NULL || to == NULL) {
        fputs("copies: there is no memory\n", stderr);
        return 1;
    }
    memset(from, 1, longest);
    memset(to, 1, longest + PAGE_LEN);
    pen_copies_choose(PEN_COPIES_MEASURED, 1, &table);
    puts("| length | destination in its page | libc, us | moves32 | moves64 | string | chosen |");
    puts("| --- | --- | --- | --- | --- | --- | --- |");
    for (unsigned class = 0; class < PEN_COPY_CLASSES; class ++)
        for (size_t place = 0; place < PLACES; place++)
            measure(to + place * PLACE_OFF, from, PEN_COPY_LONG_MIN << class, place * PLACE_OFF,
                    pen_copies_word((pen_copy_way)table.own[class]));
    free(from);
    free(to);
    return 0;
}
