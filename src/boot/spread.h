/* SPDX-License-Identifier: BSD-3-Clause */
/* spread.h: the launcher of a job on several hosts: a supervisor whose ranks are children of agents
 * elsewhere. What happens to a rank comes as a record and goes to the same exit rule; what the rule
 * wants goes out as records. No rank is started before an agent runs on every host. */
#ifndef PEN_BOOT_SPREAD_H
#define PEN_BOOT_SPREAD_H

#include "boot/supervisor_internal.h"

extern const pen_super_ops pen_spread_ops;

#endif
