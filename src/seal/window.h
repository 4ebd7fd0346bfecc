/* SPDX-License-Identifier: BSD-3-Clause */
/* window.h: the numbers of a stream that have been seen. Each is accepted once. Numbers come out of
 * order; a number that is older than the window counts as seen, since it is no longer recorded. */
#ifndef PEN_SEAL_WINDOW_H
#define PEN_SEAL_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

enum { PEN_SEAL_WINDOW_LEN = 1024 }; /* numbers, a multiple of 64 */

typedef struct pen_seal_window { /* all zero at the start; numbers begin at 1 */
    uint64_t newest;
    uint64_t seen[PEN_SEAL_WINDOW_LEN / 64]; /* bit of a number: number % PEN_SEAL_WINDOW_LEN */
} pen_seal_window;

/* True the first time, and never again. For numbers that are proven to be the sender's only: a
 * stranger's would move the window on. */
bool pen_seal_window_accept(pen_seal_window *window, uint64_t number);

#endif
