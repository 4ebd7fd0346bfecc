/* SPDX-License-Identifier: BSD-3-Clause */
/* timed.h: a link around a link whose network is simulated in virtual time (src/virtual). A poll
 * observes the network, so it is where other ranks get the turn. The costs of software are charged
 * here, for each frame that is posted and each that is delivered; the card charges for packets. */
#ifndef PEN_LINK_TIMED_H
#define PEN_LINK_TIMED_H

#include "base/status.h"
#include "conduit/conduit.h"
#include "os/lock.h"

/* Puts a link around `inner`, whose host is *lent; *lent gets the calls of this link. host: this
 * link's own. Called by the job. On failure prints the reason, and *out is unchanged. */
pen_status pen_timed_open(pen_link *inner, pen_host *lent, const pen_host *host,
                          struct pen_virtual *time, pen_concurrency concurrency, pen_link **out);

#endif
