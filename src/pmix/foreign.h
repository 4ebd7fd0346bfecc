/* SPDX-License-Identifier: BSD-3-Clause */
/* foreign.h: was this process started by another launcher? Then a job of one would be a silent
 * singleton: N jobs of one where the user wanted one of N. Pure; the environment comes through a
 * lookup. */
#ifndef PEN_PMIX_FOREIGN_H
#define PEN_PMIX_FOREIGN_H

#include "knob/knob.h"

#include <stdbool.h>

typedef struct pen_foreign {
    const char *launcher;  /* "PMIx", "PMI", "Slurm"; NULL: none */
    const char *found;     /* the variables that told */
    const char *size_name; /* variable with the number of processes; NULL: none is set */
    const char *size;      /* its value */
    bool single;           /* it started one process only: a job of one is right */
} pen_foreign;

pen_foreign pen_foreign_find(pen_knob_lookup lookup, void *ctx);

#endif
