/* SPDX-License-Identifier: BSD-3-Clause */
/* age.h: a session whose numbers are as they would be after a long time, close to their end. */
#ifndef PEN_TESTS_SIM_AGE_H
#define PEN_TESTS_SIM_AGE_H

#include "reliable/protocol.h"

/* Before anything was sent, and at all ranks or at none. */
void sim_age(pen_rel_core *core);

#endif
