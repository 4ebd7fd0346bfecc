/* SPDX-License-Identifier: BSD-3-Clause */
/* reliable.h: a link around a link that may lose frames, which loses none: exactly once, intact, in
 * any order. The protocol is in protocol.h; here are locks, the clock, and the link.
 *
 * What it leaves out: put and get (the engine makes them of frames), bodies written in place, the
 * express way. post() answers AGAIN instead of asking the engine for credits. */
#ifndef PEN_RELIABLE_RELIABLE_H
#define PEN_RELIABLE_RELIABLE_H

#include "base/status.h"
#include "conduit/conduit.h"
#include "os/lock.h"
#include "reliable/protocol.h"

/* Wraps a link of a job of so many ranks, before it is connected; *out is closed in its stead, and
 * closes it. host: what the engine lends. lent: a copy of it that the inner link was opened with;
 * its calls are turned to the wrapping link, and both stay as long as that does. Nothing says when
 * a timer falls due, so host->poll_view is not served. On failure, which is said in a line, all is
 * as it was. */
pen_status pen_reliable_open(pen_link *inner, pen_host *lent, const pen_host *host, pen_peer peers,
                             pen_concurrency concurrency, pen_link **out);

/* What happened so far; base: made by pen_reliable_open. */
pen_rel_counts pen_reliable_read(pen_link *base);

/* Its protocol's state, for who checks that state between two calls. */
const pen_rel_core *pen_reliable_core(pen_link *base);

#endif
