/* SPDX-License-Identifier: BSD-3-Clause */
/* pmix.h: joins the job of a launcher that speaks PMIx (mpirun, prterun, srun --mpi=pmix) or PMI-1
 * (pmi.h).
 *
 * A rank sees the same interface as under `penstock run`: a control socket and the host's arena.
 * The socket's peer is the rank's *steward*, a thread of its own process. Only the steward talks to
 * PMIx (pmix_client.h). The first rank of a block (pmix_hello.h) makes the arena and hands it to
 * the block's ranks over sockets (pmix_door.h). These connections, the *lines*, stay open between
 * the stewards. The first steward of a block coordinates what needs all blocks: start-up barriers,
 * and the end with 0. Blocks talk by PMIx or, under PMI-1, over connections of their own (oob.h).
 * The launcher computes the job's exit status from those of its processes, so each steward ends its
 * own process with the job's status. */
#ifndef PEN_PMIX_PMIX_H
#define PEN_PMIX_PMIX_H

#include "base/status.h"
#include "boot/boot.h"
#include "diag/log.h"
#include "pmix/foreign.h"

#include <stdbool.h>
#include <stddef.h>

/* Joins or refuses the job of another launcher; called through pen_boot_ways. */
pen_status pen_foreign_join(pen_log *log, const pen_boot_needs *needs,
                            const struct pen_boot_config *config, pen_boot *out, bool *alone);

/* Joins a PMIx job, or a PMI-1 job (pmi.h). If the job has one process, does nothing
 * and sets *alone. On failure prints the reason. */
pen_status pen_pmix_join(pen_log *log, const pen_foreign *launcher, const pen_boot_needs *needs,
                         pen_boot *out, bool *alone);

/* Version of the installed PMIx library. On failure returns NULL, with the reason in *why. For
 * `penstock info`. */
const char *pen_pmix_library(char *version, size_t version_len, const char **why);

#endif
