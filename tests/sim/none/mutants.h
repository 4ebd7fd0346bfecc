/* SPDX-License-Identifier: BSD-3-Clause */
/* mutants.h: the empty list of mutants, for the program without mutants. */
#ifndef PEN_TESTS_SIM_NONE_MUTANTS_H
#define PEN_TESTS_SIM_NONE_MUTANTS_H

#include <stddef.h>

static const char *const sim_mutants[] = { NULL };

#endif
