/* SPDX-License-Identifier: BSD-3-Clause */
/* driver.h: the common part of this folder's programs, one for each API. The runner tells each rank
 * through a socket which operation to do and how often; in between the rank sleeps in the kernel.
 * So jobs of several libraries live side by side, and blocks of them can be measured in turn within
 * milliseconds of each other, with no start-up in between. */
#ifndef BENCH_PEERS_DRIVER_H
#define BENCH_PEERS_DRIVER_H

#include <stddef.h>
#include <stdint.h>

enum {
    DRIVER_BULK_LEN = 1 << 20, /* bytes of the longest transfer */
    DRIVER_WINDOW = 64         /* messages that a two-sided flood has under way */
};

/* Every rank is called, with the same arguments. Rank 0 returns when the operation is complete;
 * what it took until then is the result. */
typedef void (*driver_run)(size_t len, uint64_t rounds);

typedef struct driver_op {
    const char *name;
    driver_run run;
} driver_op;

typedef struct driver {
    unsigned rank, size;
    void (*meet)(void); /* a barrier of the API; a rank that waits in it lets its peers progress */
    const driver_op *ops;
    size_t op_count;
} driver;

/* The compiler has to do what it is told, every time. */
static inline void driver_fence(void) { __asm__ volatile("" ::: "memory"); }

/* Puts rank r onto the r-th processor that we may use, and serves the runner at this path until it
 * says end. Answers the status to exit with. */
int driver_serve(const driver *self, const char *path);

#endif
