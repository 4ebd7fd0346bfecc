/* SPDX-License-Identifier: BSD-3-Clause */
/* checks.h: the classes of a client's mistakes that checked builds look for, each of which may be
 * switched off. What every build refuses is in none of them. */
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

/* The classes that are off. off: PENSTOCK_CHECK_OFF, names separated by commas; NULL: nothing.
 * overlap: PENSTOCK_CHECK_OVERLAP. A name that is none: said on the log, PEN_ERR_ARGUMENT. */
pen_status pen_checks_parse(pen_log *log, const char *off, bool overlap, uint32_t *checks_off);

#endif
