/* SPDX-License-Identifier: BSD-3-Clause */
/* dice.h: random numbers that a seed repeats. */
#ifndef PEN_SIM_DICE_H
#define PEN_SIM_DICE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct pen_sim_dice {
    uint64_t state;
} pen_sim_dice;

uint64_t pen_sim_next(pen_sim_dice *dice);
uint32_t pen_sim_below(pen_sim_dice *dice, uint32_t bound);
bool pen_sim_hits(pen_sim_dice *dice, double probability);
/* Doublings are equally likely. */
uint64_t pen_sim_log_uniform(pen_sim_dice *dice, uint64_t least, uint64_t most);

#endif
