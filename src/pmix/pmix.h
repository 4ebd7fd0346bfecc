/* SPDX-License-Identifier: BSD-3-Clause */
/* pmix.h: joining the job of a launcher that speaks PMIx (mpirun, prterun, srun --mpi=pmix).
 *
 * To the rank it is as under `penstock run`: a control socket and the host's arena. At the other
 * end of the socket is no process but the rank's *steward*, a thread of its own process, which
 * alone talks to PMIx (pmix_client.h). The first rank of a block (pmix_hello.h) makes the arena and
 * hands it to the others (pmix_door.h); the connections, the *lines*, stay for the stewards to talk
 * over. The first steward of a block gathers what needs all: start-up barriers between blocks, and
 * the end to which all have agreed. Exit statuses are the launcher's to decide, from those of its
 * processes; so stewards see to it that each process of a job that ends does so with the job's
 * status. */
#ifndef PEN_PMIX_PMIX_H
#define PEN_PMIX_PMIX_H

#include "boot/boot.h"
#include "pmix/foreign.h"

/* What pen_boot_open does under another launcher: see pen_boot_ways. */
pen_status pen_foreign_join(pen_log *log, const pen_boot_needs *needs,
                            const struct pen_boot_config *config, pen_boot *out, bool *alone);

/* Joins; *alone: it is a job of one process, and nothing was done. Every failure has been said. */
pen_status pen_pmix_join(pen_log *log, const pen_foreign *launcher, const pen_boot_needs *needs,
                         pen_boot *out, bool *alone);

/* The version of the library here; NULL: *why says why there is none. For `penstock info`. */
const char *pen_pmix_library(char *version, size_t version_len, const char **why);

#endif
