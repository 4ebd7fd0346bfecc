/* SPDX-License-Identifier: BSD-3-Clause */
/* pair.h: two links as one: frames go over the first, put and get over the second. It serves
 * networks whose put and get are fast and whose frames are slow or absent. The conduit "A+B" is the
 * pair of A's link and B's. */
#ifndef PEN_LINK_PAIR_H
#define PEN_LINK_PAIR_H

#include "base/status.h"
#include "conduit/conduit.h"
#include "diag/log.h"
#include "os/lock.h"

#include <stdbool.h>
#include <stddef.h>

/* Splits "A+B". Returns B, and writes A to `frames`; returns NULL if the name is not a pair. */
const char *pen_pair_split(const char *name, char *frames, size_t frames_len);

/* Chooses the conduit called `wanted` for the puts and gets of a pair. is_spread: the job is on
 * several hosts. Fails: the reason is logged. */
pen_status pen_pair_choose(pen_log *log, const pen_conduit *frames, const char *wanted,
                           pen_peer peers, bool is_spread, const pen_conduit **out);

/* Makes the pair, which owns both links from then on. host: the engine's; both links were opened
 * with it, or with one that was made from it. Fails: the reason is logged; the caller still owns
 * both links. */
pen_status pen_pair_open(pen_link *frames, pen_link *memory, const pen_host *host, pen_peer peers,
                         pen_concurrency concurrency, pen_link **out);

#endif
