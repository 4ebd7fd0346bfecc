/* SPDX-License-Identifier: BSD-3-Clause */
/* foreign.h: tells whether another launcher started this process. If so, a job of one would be a
 * silent error: N jobs of one where the user wants one job of N. Pure; the environment comes
 * through a lookup. */
#ifndef PEN_PMIX_FOREIGN_H
#define PEN_PMIX_FOREIGN_H

#include "knob/knob.h"

#include <stdbool.h>

typedef struct pen_foreign {
    const char *launcher;  /* "PMIx", "PMI", "Slurm"; NULL: no other launcher */
    const char *found;     /* the variables by which it was recognised */
    const char *size_name; /* variable with the number of processes; NULL: not set */
    const char *size;      /* value of that variable */
    bool single;           /* the launcher started one process only, so a job of one is right */
} pen_foreign;

pen_foreign pen_foreign_find(pen_knob_lookup lookup, void *ctx);

#endif
