/* SPDX-License-Identifier: BSD-3-Clause */
/* seal_window.c: the replay window, a ring of bits that the newest number drags along. */
#include "seal/window.h"

#include <string.h>

/* The bits between the newest number and this one, which now stand for other numbers. */
static void window_advance(pen_seal_window *window, uint64_t number)
{
    if (number - window->newest >= PEN_SEAL_WINDOW_LEN) {
        memset(window->seen, 0, sizeof window->seen);
    } else {
        for (uint64_t n = window->newest + 1; n <= number; n++)
            window->seen[n % PEN_SEAL_WINDOW_LEN / 64] &= ~(UINT64_C(1) << n % 64);
    }
    window->newest = number;
}

bool pen_seal_window_accept(pen_seal_window *window, uint64_t number)
{
    if (number == 0 || number == UINT64_MAX) /* no sender gets there, and the loop above ends */
        return false;
    if (number > window->newest)
        window_advance(window, number);
    else if (window->newest - number >= PEN_SEAL_WINDOW_LEN)
        return false;
    uint64_t *word = &window->seen[number % PEN_SEAL_WINDOW_LEN / 64];
    uint64_t bit = UINT64_C(1) << number % 64;
    if ((*word & bit) != 0)
        return false;
    *word |= bit;
    return true;
}
