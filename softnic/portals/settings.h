/* SPDX-License-Identifier: BSD-3-Clause */
/* settings.h: the variables of a card that PtlInit opens. */
#ifndef PEN_SOFTNIC_PORTALS_SETTINGS_H
#define PEN_SOFTNIC_PORTALS_SETTINGS_H

#include "diag/log.h"
#include "knob/knob.h"
#include "softnic/portals/card.h"

typedef struct p4_identity {
    char job[128]; /* a text that is equal for all processes of the job, and no other job has */
    uint32_t rank, size;
} p4_identity;

extern const pen_knob p4_knobs[];

/* Reads identity and settings from the environment. Returns false after printing the reason. */
bool p4_settings_read(pen_log *log, p4_identity *identity, pen_portals_config *config);

#endif
