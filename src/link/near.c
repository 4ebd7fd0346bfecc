/* SPDX-License-Identifier: BSD-3-Clause */
/* near.c: chooses and opens the links of a job on several hosts. */
#include "link/near.h"

#include "base/status.h"
#include "conduit/conduit.h"
#include "diag/log.h"
#include "link/host.h"

#include <string.h>

/* A conduit that wants shared memory cannot cross hosts, and one within a process cannot leave it.
 * Returns the score, or 0; the reason of a conduit that could cross hosts is then logged. */
static int far_score(pen_log *log, const pen_conduit *conduit, pen_peer peers)
{
    const char *why = NULL;
    if (pen_conduit_shared_len(conduit, peers) != 0)
        return 0;
    const int score = pen_conduit_score(conduit, peers, &why);
    if (score == 0)
        pen_log_info(log, "conduit %s is not considered: %s", conduit->name, why);
    else if (score == PEN_SCORE_NAMED)
        pen_log_info(log, "conduit %s is not considered, because it serves only if it is named: %s",
                     conduit->name, why);
    else if (why != NULL)
        pen_log_info(log, "conduit %s has the score %d, because %s", conduit->name, score, why);
    return score;
}

/* Puts a conduit behind those with the same or a better score. The worst one is left out if there
 * are too many. */
static void offer_add(pen_near_offers *to, const pen_conduit *conduit, int score)
{
    const bool is_full = to->count == PEN_NEAR_OFFERS_MAX;
    size_t at = is_full ? to->count - 1 : to->count;
    if (is_full && to->scores[at] >= score)
        return;
    for (; at > 0 && to->scores[at - 1] < score; at--) {
        to->conduits[at] = to->conduits[at - 1];
        to->scores[at] = to->scores[at - 1];
    }
    to->conduits[at] = conduit;
    to->scores[at] = score;
    to->count += is_full ? 0 : 1;
}

/* Offers the conduit that the user has named. Modules of further conduits stay closed: the library
 * of a network may register functions that run at exit. */
static pen_status offer_wanted(pen_log *log, const char *wanted, pen_peer peers, uint32_t hosts,
                               pen_near_offers *out)
{
    const pen_conduit *const table[] = { pen_conduit_find(wanted), NULL };
    const pen_conduit *const *among = table[0] != NULL ? table : pen_builtin_conduits;
    const pen_conduit *found = NULL;
    if (table[0] != NULL && pen_conduit_shared_len(table[0], peers) != 0) {
        pen_log_error(log,
                      "cannot use conduit %s: it connects the ranks of one host, and this job is "
                      "on %u; leave the choice to Penstock",
                      wanted, hosts);
        return PEN_ERR_UNUSABLE;
    }
    if (table[0] != NULL)
        wanted = table[0]->name; /* it may be longer */
    pen_status status = pen_conduit_choose_among(log, among, wanted, peers, &found);
    *out = (pen_near_offers){ { found }, { 1 }, 1, true };
    return status;
}

pen_status pen_near_list_far(pen_log *log, const char *wanted, pen_peer peers, uint32_t hosts,
                             pen_near_offers *out)
{
    if (wanted != NULL && wanted[0] != '\0')
        return offer_wanted(log, wanted, peers, hosts, out);
    const pen_conduit *all[PEN_CONDUITS_MAX], *unused;
    const size_t count = pen_conduit_list(log, all);
    *out = (pen_near_offers){ .count = 0 };
    for (size_t i = 0; i < count; i++) {
        const int score = far_score(log, all[i], peers);
        if (score > PEN_SCORE_NAMED)
            offer_add(out, all[i], score);
    }
    if (out->count > 0)
        return PEN_OK;
    return pen_conduit_choose_among(log, (const pen_conduit *const[]){ NULL }, NULL, peers,
                                    &unused); /* prints the reason */
}

const pen_conduit *pen_near_choose(pen_peer peers)
{
    const pen_conduit *best = NULL;
    int best_score = PEN_SCORE_NAMED;
    for (const pen_conduit *const *at = pen_builtin_conduits; *at != NULL; at++) {
        const char *why;
        int score =
            pen_conduit_shared_len(*at, peers) != 0 ? pen_conduit_score(*at, peers, &why) : 0;
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
