/* SPDX-License-Identifier: BSD-3-Clause */
/* near.h: a job of several hosts has two links. The far one reaches all ranks over the network. The
 * near one reaches the ranks of this host through its arena, where peers count from 0; their
 * numbers become job ranks before the engine sees them. Both conduits are chosen by their
 * properties, never by name. */
#ifndef PEN_LINK_NEAR_H
#define PEN_LINK_NEAR_H

#include "base/status.h"
#include "conduit/conduit.h"
#include "diag/log.h"
#include "link/host.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PEN_NEAR_OFFERS_MAX = 12 };

/* Conduits that reach other hosts, the best one first. */
typedef struct pen_near_offers {
    const pen_conduit *conduits[PEN_NEAR_OFFERS_MAX];
    int32_t scores[PEN_NEAR_OFFERS_MAX];
    size_t count;  /* at least 1 */
    bool is_named; /* the user has named the only one */
} pen_near_offers;

/* Lists the conduit called `wanted`, or, if it is NULL or "", all that reach other hosts. Fails:
 * the reason is logged. */
pen_status pen_near_list_far(pen_log *log, const char *wanted, pen_peer peers, uint32_t hosts,
                             pen_near_offers *out);

/* Returns the best conduit for the ranks of this host that uses memory of the host arena. If this
 * build has no such conduit, returns NULL; then the far link also reaches ranks of this host. */
const pen_conduit *pen_near_choose(pen_peer peers);

/* Opens the near link. first: the job rank of peer 0. The caller has filled *params except host,
 * which becomes *lent; lender and lent live as long as the link. If the link cannot serve beside
 * the far one, closes it, and sets *out to NULL: every rank of the host has the same link, so
 * every rank comes to the same decision. */
pen_status pen_near_open(const pen_conduit *conduit, const pen_host *host, pen_peer first,
                         pen_link_params *params, pen_lender *lender, pen_host *lent,
                         pen_link **out);

#endif
