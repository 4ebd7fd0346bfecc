/* SPDX-License-Identifier: BSD-3-Clause */
/* dice.c: see dice.h. */
#include "sim/dice.h"

uint64_t pen_sim_next(pen_sim_dice *dice) /* splitmix64 */
{
    uint64_t x = dice->state += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

uint32_t pen_sim_below(pen_sim_dice *dice, uint32_t bound)
{
    return (uint32_t)((pen_sim_next(dice) >> 32) * bound >> 32);
}

bool pen_sim_hits(pen_sim_dice *dice, double probability)
{
    return (double)(pen_sim_next(dice) >> 11) * 0x1p-53 < probability;
}

/* All doublings are equally likely, also the last one, of which only a part may be in the range. */
uint64_t pen_sim_log_uniform(pen_sim_dice *dice, uint64_t least, uint64_t most)
{
    uint32_t doublings = 0;
    while (least << (doublings + 1) <= most)
        doublings++;
    for (;;) {
        uint64_t low = least << pen_sim_below(dice, doublings + 1);
        uint64_t value = low + pen_sim_next(dice) % low;
        if (value <= most)
            return value;
    }
}
