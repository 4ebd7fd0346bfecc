/* SPDX-License-Identifier: BSD-3-Clause */
/* reliable_window.c: the bitmap of arrived sequence numbers. */
#include "reliable/window.h"

#include <string.h>

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

/* Whether number `ahead` behind base has arrived. */
static bool has_ahead(const pen_rel_window *window, uint32_t ahead)
{
    return has(window, window->base + ahead);
}

/* The range that contains a number that has arrived. */
static pen_rel_range range_around(const pen_rel_window *window, uint32_t ahead)
{
    const uint32_t most = window->high - window->base;
    uint32_t first = ahead, end = ahead + 1;
    while (first > 0 && has_ahead(window, first - 1))
        first--;
    while (end < most && has_ahead(window, end))
        end++;
    return (pen_rel_range){ .first = (uint16_t)first, .count = (uint16_t)(end - first) };
}

static uint32_t end_of(pen_rel_range range) { return (uint32_t)range.first + range.count; }

/* Takes up to max ranges from `*from` upwards, and moves *from behind the last of them. */
static uint32_t ranges_up(const pen_rel_window *window, uint32_t *from, pen_rel_range *ranges,
                          uint32_t max)
{
    const uint32_t most = window->high - window->base;
    uint32_t count = 0;
    for (uint32_t at = *from; count < max && at < most; at++) {
        if (!has_ahead(window, at))
            continue;
        ranges[count] = range_around(window, at);
        at = *from = end_of(ranges[count++]);
    }
    return count;
}

/* Takes up to max ranges from *end downwards to `from`, and moves *end before the last of them. The
 * newest comes last in ranges[0..max). */
static uint32_t ranges_down(const pen_rel_window *window, uint32_t from, uint32_t *end,
                            pen_rel_range *ranges, uint32_t max)
{
    uint32_t count = 0;
    for (uint32_t at = *end; count < max && at > from; at--) {
        if (!has_ahead(window, at - 1))
            continue;
        pen_rel_range found = range_around(window, at - 1);
        ranges[max - ++count] = found;
        *end = found.first;
        at = *end + 1u; /* the step of the loop leads to *end */
    }
    return count;
}

uint32_t pen_rel_window_ranges(const pen_rel_window *window, uint32_t heard, pen_rel_range *ranges,
                               uint32_t max)
{
    uint32_t from = 0, end = window->high - window->base;
    const uint32_t ahead = heard - window->base;
    const uint32_t low = ranges_up(window, &from, ranges, max / 2);
    const uint32_t high = ranges_down(window, from, &end, ranges + low, max - low);
    if (low + high < max)
        memmove(ranges + low, ranges + max - high, high * sizeof *ranges);
    else if (high != 0 && ahead >= from && ahead < end && has_ahead(window, ahead))
        ranges[low] = range_around(window, ahead); /* more important than the one behind it */
    return low + high;
}
