/* SPDX-License-Identifier: BSD-3-Clause */
/* turns.h: lets many ranks share one thread, as in the simulation of whole jobs (tests/engine).
 * A rank that has to wait hands the thread over instead of yielding to the kernel. The virtual
 * clock is separate, see pen_clock. */
#ifndef PEN_OS_TURNS_H
#define PEN_OS_TURNS_H

#include <stdint.h>

typedef struct pen_turns {
    void (*wait)(void *ctx); /* returns when this rank runs again */
    void *ctx;
} pen_turns;

#endif
