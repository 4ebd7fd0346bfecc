/* SPDX-License-Identifier: BSD-3-Clause */
/* job_choose.c: the ranks of a job on several hosts agree on a conduit that each of them can open.
 *
 * Each rank opens its best conduit, and tells all ranks its name and which conduits it can still
 * offer. If all ranks have opened the same conduit, they are done. Otherwise every rank computes
 * the same next conduit from what all ranks told, opens that one instead, and tells again. A
 * conduit that did not open is offered no more, so this ends. A conduit that the user has named is
 * the only offer of its rank. */
#include "base/status.h"
#include "boot/boot.h"
#include "conduit/conduit.h"
#include "diag/log.h"
#include "job/fatal.h"
#include "job/job_internal.h"
#include "link/near.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_LEN = 24, NOTHING = -1 };

typedef struct job_offer {
    char opened[NAME_LEN]; /* "": this rank has opened no conduit */
    uint32_t count;
    struct {
        char name[NAME_LEN];
        int32_t score;
    } conduits[PEN_NEAR_OFFERS_MAX];
} job_offer;

_Static_assert(sizeof(job_offer) <= PEN_BOOT_BLOB_MAX, "an offer fits one exchange");

/* Returns the score of the conduit in an offer; 0: the rank does not offer it. */
static int32_t offered_score(const job_offer *offer, const char *name)
{
    for (uint32_t i = 0; i < offer->count && i < PEN_NEAR_OFFERS_MAX; i++)
        if (strncmp(offer->conduits[i].name, name, NAME_LEN) == 0)
            return offer->conduits[i].score;
    return 0;
}

/* The score of a conduit for the job is the least that a rank gives it. If two are equal, rank 0's
 * order decides. Returns its place in rank 0's offer, or NOTHING. */
static int32_t best_common(const job_offer *all, uint32_t size)
{
    int32_t best = NOTHING, best_score = 0;
    for (uint32_t i = 0; i < all[0].count && i < PEN_NEAR_OFFERS_MAX; i++) {
        int32_t least = INT32_MAX;
        for (uint32_t rank = 0; rank < size; rank++) {
            int32_t score = offered_score(&all[rank], all[0].conduits[i].name);
            least = score < least ? score : least;
        }
        if (least > best_score) {
            best_score = least;
            best = (int32_t)i;
        }
    }
    return best;
}

static bool all_opened(const job_offer *all, uint32_t size, const char *name)
{
    for (uint32_t rank = 0; rank < size; rank++)
        if (strncmp(all[rank].opened, name, NAME_LEN) != 0)
            return false;
    return true;
}

static void offer_fill(job_offer *out, const pen_near_offers *from, const pen_conduit *opened)
{
    memset(out, 0, sizeof *out);
    if (opened != NULL)
        (void)snprintf(out->opened, sizeof out->opened, "%s", opened->name);
    out->count = (uint32_t)from->count;
    for (size_t i = 0; i < from->count; i++) {
        (void)snprintf(out->conduits[i].name, NAME_LEN, "%s", from->conduits[i]->name);
        out->conduits[i].score = from->scores[i];
    }
}

/* Returns this rank's conduit of that name; NULL: it has dropped it, or never had it. */
static const pen_conduit *conduit_of(const pen_near_offers *from, const char *name)
{
    for (size_t i = 0; i < from->count; i++)
        if (strncmp(from->conduits[i]->name, name, NAME_LEN) == 0)
            return from->conduits[i];
    return NULL;
}

static void offers_drop(pen_near_offers *from, const pen_conduit *conduit)
{
    size_t kept = 0;
    for (size_t i = 0; i < from->count; i++) {
        if (from->conduits[i] == conduit)
            continue;
        from->conduits[kept] = from->conduits[i];
        from->scores[kept++] = from->scores[i];
    }
    from->count = kept;
}

/* Opens one conduit. If it does not open, *out is NULL. An error only if the user has named it. */
static pen_status try_open(pen_job *job, pen_near_offers *offers, const pen_conduit *conduit,
                           pen_link_params *params, pen_link **out)
{
    *out = NULL;
    job->conduit = conduit;
    job->lent_host = job->host;
    (void)snprintf(job->log.conduit, sizeof job->log.conduit, "%s", conduit->name);
    if (!offers->is_named && offers->count > 1) /* the last one's failure ends the job */
        pen_job_log_softly(&job->lent_host);
    pen_status status = pen_job_read_conduit_config(job, conduit, job->conduit_config);
    if (status != PEN_OK) /* the user has set a variable to what it cannot be */
        return status;
    status = conduit->open(params, out);
    job->lent_host.log = job->host.log;
    if (status == PEN_OK || offers->is_named)
        return status;
    *out = NULL;
    pen_log_info(&job->log, "conduit %s is not used: it does not open here", conduit->name);
    offers_drop(offers, conduit);
    return PEN_OK;
}

static pen_status say_nothing_common(pen_job *job, const job_offer *all)
{
    uint32_t other = 0; /* the first rank that does not offer rank 0's best */
    while (all[0].count > 0 && other + 1 < job->size &&
           offered_score(&all[other], all[0].conduits[0].name) > 0)
        other++;
    if (job->rank == 0)
        pen_log_error(&job->log,
                      "no conduit opens on all ranks: rank 0 can use %.24s, rank %u %.24s; give "
                      "all ranks one environment, or see the reasons with PENSTOCK_LOG=info",
                      all[0].count > 0 ? all[0].conduits[0].name : "no conduit", other,
                      all[other].count > 0 ? all[other].conduits[0].name : "no conduit");
    (void)pen_boot_barrier(&job->boot); /* rank 0 prints before a rank ends the job */
    return PEN_ERR_UNUSABLE;
}

static void say_chosen(pen_job *job, const pen_near_offers *offers, unsigned rounds)
{
    if (job->rank == 0 && !offers->is_named)
        pen_log_info(&job->log, "conduit %s is chosen between hosts: %s", job->conduit->name,
                     rounds == 1 ? "it has the best score on every rank"
                                 : "it is the best that all ranks can open");
}

static void close_link(pen_link **link)
{
    if (*link != NULL)
        (*link)->ops->close(*link);
    *link = NULL;
}

/* One step towards agreement. Sets *done if all ranks have opened what this rank has opened. */
static pen_status agree(pen_job *job, pen_near_offers *offers, job_offer *all,
                        pen_link_params *params, pen_link **link, bool *done)
{
    job_offer mine;
    offer_fill(&mine, offers, *link != NULL ? job->conduit : NULL);
    pen_status status = pen_boot_exchange(&job->boot, &mine, sizeof mine, all);
    *done = false;
    if (status != PEN_OK)
        return status;
    const int32_t best = best_common(all, job->size);
    if (best == NOTHING)
        return say_nothing_common(job, all);
    const char *name = all[0].conduits[best].name;
    *done = all_opened(all, job->size, name);
    if (*done || (*link != NULL && strncmp(mine.opened, name, NAME_LEN) == 0))
        return PEN_OK;
    close_link(link);
    return try_open(job, offers, conduit_of(offers, name), params, link);
}

pen_status pen_job_open_far(pen_job *job, pen_link_params *params, pen_link **out)
{
    pen_near_offers offers;
    pen_status status = pen_near_list_far(&job->log, job->config.conduit, job->size,
                                          job->boot.page->host_count, &offers);
    *out = NULL;
    if (status != PEN_OK)
        return status;
    job_offer *all = pen_job_calloc(job, job->size, sizeof *all, "the table of offers");
    if (all == NULL)
        return PEN_ERR_MEMORY;
    status = try_open(job, &offers, offers.conduits[0], params, out);
    bool done = false;
    unsigned rounds = 0;
    for (; status == PEN_OK && !done; rounds++)
        status = agree(job, &offers, all, params, out, &done);
    free(all);
    if (status == PEN_OK)
        say_chosen(job, &offers, rounds);
    else
        close_link(out);
    return status;
}
