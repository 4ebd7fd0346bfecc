/* SPDX-License-Identifier: BSD-3-Clause */
/* reliable_window.c: the bitmap of arrived sequence numbers. */
#include "reliable/window.h"

static bool has(const pen_rel_window *window, uint32_t sequence)
{
    uint32_t bit = sequence % PEN_REL_WINDOW;
    return (window->bits[bit / 64] >> bit % 64 & 1) != 0;
}

pen_rel_place pen_rel_window_look(const pen_rel_window *window, uint32_t sequence)
{
    uint32_t ahead = sequence - window->base;
    if (pen_rel_after(window->base, sequence))
        return PEN_REL_SEEN;
    if (ahead >= PEN_REL_WINDOW)
        return PEN_REL_BEYOND;
    return has(window, sequence) ? PEN_REL_SEEN : PEN_REL_NEW;
}

void pen_rel_window_add(pen_rel_window *window, uint32_t sequence)
{
    uint32_t bit = sequence % PEN_REL_WINDOW;
    window->bits[bit / 64] |= UINT64_C(1) << bit % 64;
    if (!pen_rel_after(window->high, sequence))
        window->high = sequence + 1;
    for (; window->base != window->high && has(window, window->base); window->base++) {
        bit = window->base % PEN_REL_WINDOW; /* stands for a number ahead from now on */
        window->bits[bit / 64] &= ~(UINT64_C(1) << bit % 64);
    }
}

uint32_t pen_rel_window_ranges(const pen_rel_window *window, pen_rel_range *ranges, uint32_t max)
{
    uint32_t count = 0, end = window->high;
    while (count < max && pen_rel_after(end, window->base)) {
        while (pen_rel_after(end, window->base) && !has(window, end - 1))
            end--;
        uint32_t first = end;
        while (pen_rel_after(first, window->base) && has(window, first - 1))
            first--;
        if (first == end)
            break;
        ranges[count].first = (uint16_t)(first - window->base);
        ranges[count++].count = (uint16_t)(end - first);
        end = first;
    }
    for (uint32_t i = 0; i < count / 2; i++) { /* found from the newest down */
        pen_rel_range range = ranges[i];
        ranges[i] = ranges[count - 1 - i];
        ranges[count - 1 - i] = range;
    }
    return count;
}
