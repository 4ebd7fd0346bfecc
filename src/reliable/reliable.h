/* SPDX-License-Identifier: BSD-3-Clause */
/* reliable.h: a reliable link around a link that may lose frames. Each frame arrives exactly once
 * and intact, in any order. The protocol is in protocol.h; here are locks, the clock, and the link.
 *
 * The link has no put and get (the engine makes them of frames), no bodies written in place, and no
 * express entries. If a peer has no credits left, post() returns AGAIN. */
#ifndef PEN_RELIABLE_RELIABLE_H
#define PEN_RELIABLE_RELIABLE_H

#include "base/status.h"
#include "conduit/conduit.h"
#include "os/lock.h"
#include "reliable/protocol.h"

/* Wraps a link of a job of `peers` ranks, before it is connected. *out is the link to use; closing
 * it closes `inner`. host: the host that the engine lends. lent: the copy of it with which `inner`
 * was opened; its calls are turned to the wrapping link, and both must stay as long as that link.
 * On failure a line says why, and nothing has changed. */
pen_status pen_reliable_open(pen_link *inner, pen_host *lent, const pen_host *host, pen_peer peers,
                             pen_concurrency concurrency, pen_link **out);

/* Returns the counters so far. base: a link that pen_reliable_open made. */
pen_rel_counts pen_reliable_read(pen_link *base);

/* Returns the state of the protocol, for tests that check it between two calls. */
const pen_rel_core *pen_reliable_core(pen_link *base);

#endif
