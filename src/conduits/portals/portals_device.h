/* SPDX-License-Identifier: BSD-3-Clause */
/* portals_device.h: the variables of the card under the conduit. With portals_device.c it is all
 * that knows of the card in software. */
#ifndef PEN_CONDUITS_PORTALS_PORTALS_DEVICE_H
#define PEN_CONDUITS_PORTALS_PORTALS_DEVICE_H

#include "softnic/portals/card.h"

typedef pen_portals_costs portals_device_config;

/* Rows of a table of variables, for a struct `config` that has a portals_device_config `member`. */
#define PORTALS_DEVICE_KNOBS(config, member) PEN_PORTALS_COST_KNOBS(config, member)

#endif
