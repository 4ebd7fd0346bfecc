/* SPDX-License-Identifier: BSD-3-Clause */
/* figures.h: lengths, rounds and output that the raw program and the client program of the Portals
 * paper's figures share. A figure is the fastest of many batches, so that a batch during which the
 * machine did other work does not count.
 *
 * Each prints lines of kind, bytes and value, with tabs between: µs, or MB/s of a flood. */
#ifndef PEN_BENCH_PORTALS_FIGURES_H
#define PEN_BENCH_PORTALS_FIGURES_H

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum {
    FIGURES_BATCHES = 60,
    FIGURES_ROUNDS = 10,      /* puts or round trips of a batch */
    FIGURES_FLOOD = 64,       /* puts of a batch of a flood */
    FIGURES_BYTES = 1 << 19,  /* bytes of a batch, which then takes less than a time slice */
    FIGURES_LEN_MAX = 262144, /* bytes of a put */
    FIGURES_TRIP_MAX = 2048,  /* bytes that go and come back */
};

typedef void figures_batch(size_t len, unsigned rounds);

static inline double figures_seconds(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Returns the seconds of the fastest batch. */
static inline double figures_least(figures_batch *batch, size_t len, unsigned rounds)
{
    double least = 1e12;
    for (unsigned i = 0; i < FIGURES_BATCHES; i++) {
        const double begin = figures_seconds();
        batch(len, rounds);
        const double took = figures_seconds() - begin;
        least = took < least ? took : least;
    }
    return least;
}

static inline unsigned figures_rounds(int is_flood, size_t len)
{
    const unsigned rounds = is_flood ? FIGURES_FLOOD : FIGURES_ROUNDS;
    return len * rounds <= FIGURES_BYTES ? rounds : (unsigned)(FIGURES_BYTES / len);
}

/* Measures one kind at all lengths. For round trips the two ranks call it at the same time. For
 * puts only the rank that puts calls it. */
static inline void figures_play(const char *kind, figures_batch *batch, int prints)
{
    const int is_flood = strcmp(kind, "flood") == 0;
    const size_t most = strcmp(kind, "trip") == 0 ? FIGURES_TRIP_MAX : FIGURES_LEN_MAX;
    for (size_t len = 1; len <= most; len *= 2) {
        const unsigned rounds = figures_rounds(is_flood, len);
        const double took = figures_least(batch, len, rounds);
        if (prints)
            (void)printf("%s\t%zu\t%.4f\n", kind, len,
                         is_flood ? (double)len * rounds / took * 1e-6 : took / rounds * 1e6);
    }
}

#endif
