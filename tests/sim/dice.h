/* SPDX-License-Identifier: BSD-3-Clause */
/* dice.h: random numbers that a seed repeats. */
#ifndef PEN_TESTS_SIM_DICE_H
#define PEN_TESTS_SIM_DICE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct sim_dice {
    uint64_t state;
} sim_dice;

uint64_t sim_next(sim_dice *dice);
uint32_t sim_below(sim_dice *dice, uint32_t bound);
bool sim_hits(sim_dice *dice, double probability);
/* Doublings are equally likely. */
uint64_t sim_log_uniform(sim_dice *dice, uint64_t least, uint64_t most);

#endif
