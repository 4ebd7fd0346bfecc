/* SPDX-License-Identifier: BSD-3-Clause */
/* checks.h: the classes of client mistakes that checked builds detect. Each class may be
 * switched off. Mistakes that every build refuses belong to no class. */
#ifndef PEN_JOB_CHECKS_H
#define PEN_JOB_CHECKS_H

#include "base/status.h"
#include "diag/log.h"

#include <stdbool.h>
#include <stdint.h>

/* A bit of pen_job.checks_off, its name in PENSTOCK_CHECK_OFF, and its number. */
#define PEN_CHECK_LIST(row)                                                                     \
    row(HANDLER, handler, 0) row(LOCK, lock, 1) row(REPLY, reply, 2) row(ARGUMENT, argument, 3) \
        row(OVERLAP, overlap, 4) row(SOURCE, source, 5) row(END, end, 6) row(EVENT, event, 7)   \
            row(BARRIER, barrier, 8) row(THREAD, thread, 9) row(PREPARE, prepare, 10)

#define PEN_CHECK_ENUM(upper, name, bit) PEN_CHECK_##upper = 1u << (bit),
enum { PEN_CHECK_LIST(PEN_CHECK_ENUM) };
#undef PEN_CHECK_ENUM

/* Returns the classes that are off. off: PENSTOCK_CHECK_OFF, names separated by commas, or NULL.
 * overlap: PENSTOCK_CHECK_OVERLAP. If a name is unknown, prints a line to the log and returns
 * PEN_ERR_ARGUMENT. */
pen_status pen_checks_parse(pen_log *log, const char *off, bool overlap, uint32_t *checks_off);

#endif
