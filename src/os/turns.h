/* SPDX-License-Identifier: BSD-3-Clause */
/* turns.h: lets ranks run one at a time, as in the simulation of whole jobs in one thread
 * (tests/engine) and in virtual time (src/virtual). A rank that has to wait hands over instead of
 * yielding to the kernel. The virtual clock is separate, see pen_clock. */
#ifndef PEN_OS_TURNS_H
#define PEN_OS_TURNS_H

#include <stdint.h>

typedef struct pen_turns {
    /* The rank has found nothing to do. Returns when it runs again. */
    void (*wait)(void *ctx);
    /* The rank finds work all the time, and what it waits for may come from a rank that does not
     * run. NULL: its polls let other ranks run. */
    void (*yield)(void *ctx);
    /* The rank has changed shared memory that other ranks may wait for. NULL: they look again by
     * themselves. */
    void (*wake)(void *ctx);
    void *ctx;
} pen_turns;

#endif
