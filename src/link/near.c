/* SPDX-License-Identifier: BSD-3-Clause */
/* near.c: chooses and opens the links of a job on several hosts. */
#include "link/near.h"

#include "base/status.h"
#include "conduit/conduit.h"
#include "diag/log.h"
#include "link/host.h"

#include <string.h>

/* A conduit that wants shared memory cannot cross hosts, and one within a process cannot leave
 * it. */
static bool reaches_hosts(const pen_conduit *conduit, pen_peer peers)
{
    const char *why_not;
    return pen_conduit_shared_len(conduit, peers) == 0 && conduit->score(peers, &why_not) > 0;
}

pen_status pen_near_choose_far(pen_log *log, const char *wanted, pen_peer peers, uint32_t hosts,
                               const pen_conduit **out)
{
    const pen_conduit *all[PEN_CONDUITS_MAX], *able[PEN_CONDUITS_MAX + 1];
    const size_t all_count = pen_conduit_list(log, all);
    size_t count = 0;
    for (size_t i = 0; i < all_count; i++)
        if (reaches_hosts(all[i], peers))
            able[count++] = all[i];
    able[count] = NULL;
    bool has_wish = wanted != NULL && wanted[0] != '\0' && pen_conduit_find(wanted) != NULL;
    for (size_t i = 0; has_wish && i < count; i++)
        has_wish = strcmp(able[i]->name, wanted) != 0;
    if (has_wish) {
        pen_log_error(log,
                      "cannot use conduit %s: it connects the ranks of one host, and this job is "
                      "on %u; leave the choice to Penstock",
                      wanted, hosts);
        return PEN_ERR_UNUSABLE;
    }
    return pen_conduit_choose_among(log, able, wanted, peers, out);
}

const pen_conduit *pen_near_choose(pen_peer peers)
{
    const pen_conduit *best = NULL;
    int best_score = 0;
    for (const pen_conduit *const *at = pen_builtin_conduits; *at != NULL; at++) {
        const char *why_not;
        int score = pen_conduit_shared_len(*at, peers) != 0 ? (*at)->score(peers, &why_not) : 0;
        if (score > best_score) {
            best_score = score;
            best = *at;
        }
    }
    return best;
}

pen_status pen_near_open(const pen_conduit *conduit, const pen_host *host, pen_peer first,
                         pen_link_params *params, pen_lender *lender, pen_host *lent,
                         pen_link **out)
{
    const uint32_t wanted = PEN_CAP_SAME_HOST | PEN_CAP_RELIABLE;
    pen_link *link = NULL;
    *out = NULL;
    pen_lender_init(lender, host, NULL);
    lender->first = first;
    pen_host_lend(lender, lent);
    params->host = lent;
    pen_status status = conduit->open(params, &link);
    if (status != PEN_OK)
        return status;
    if ((link->caps.flags & wanted) == wanted && link->caps.inbox_len == 0)
        *out = link;
    else
        link->ops->close(link);
    return PEN_OK;
}
