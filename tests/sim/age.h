/* SPDX-License-Identifier: BSD-3-Clause */
/* age.h: sets a session's numbers close to their end, as after a long time. */
#ifndef PEN_TESTS_SIM_AGE_H
#define PEN_TESTS_SIM_AGE_H

#include "reliable/protocol.h"

/* Called before anything is sent, at all ranks or at no rank. */
void sim_age(pen_rel_core *core);

#endif
