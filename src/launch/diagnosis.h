/* SPDX-License-Identifier: BSD-3-Clause */
/* diagnosis.h: explains in sentences why the ranks of a job do not go on: who waits for whom, which
 * ranks have not entered a collective, which ranks do not poll, and why. Pure. */
#ifndef PEN_LAUNCH_DIAGNOSIS_H
#define PEN_LAUNCH_DIAGNOSIS_H

#include "launch/seen.h"

#include <stdint.h>

/* Calls say for each sentence. ranks: by job rank. Returns the number of sentences. */
uint32_t pen_diagnose(const pen_seen *ranks, uint32_t count,
                      void (*say)(void *ctx, const char *sentence), void *ctx);

#endif
