/* SPDX-License-Identifier: BSD-3-Clause */
/* turns.h: many ranks that share one thread and a clock that somebody made up, as in the simulation
 * of whole jobs (tests/engine). Whoever has to wait hands the thread over instead of giving its
 * core to the kernel. The clock is lent apart from that, see pen_clock. */
#ifndef PEN_OS_TURNS_H
#define PEN_OS_TURNS_H

#include <stdint.h>

typedef struct pen_turns {
    void (*wait)(void *ctx); /* comes back when it is this rank's turn again */
    void *ctx;
} pen_turns;

#endif
