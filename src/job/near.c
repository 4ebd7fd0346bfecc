/* SPDX-License-Identifier: BSD-3-Clause */
/* near.c: a job of several hosts has two links. The first reaches all ranks over the network. The
 * second reaches the ranks of this host through its arena, where peers count from 0; their numbers
 * become job ranks before the engine sees them. The conduit of the second link is chosen by its
 * properties, not by its name. */
#include "job/job_internal.h"

#include "base/status.h"
#include "boot/boot.h"
#include "boot/host_page.h"
#include "conduit/conduit.h"
#include "diag/log.h"
#include "job/fatal.h"
#include "link/host.h"
#include "progress/progress.h"

#include <stdlib.h>
#include <string.h>

bool pen_job_is_spread(const pen_job *job)
{
    return job->boot.page != NULL && job->boot.page->host_count > 1;
}

pen_status pen_job_check_arena(pen_job *job, const pen_conduit *conduit, const void *config,
                               pen_peer peers)
{
    size_t there = 0;
    size_t wanted = conduit->shared_len == NULL ? 0 : conduit->shared_len(peers, config);
    (void)job->host.shared(job, &there);
    if (wanted <= there)
        return PEN_OK;
    pen_log_error(
        &job->log,
        "cannot open conduit %s: it wants %zu bytes of the host arena and %zu are set aside "
        "for conduits; are launcher and library the same version?",
        conduit->name, wanted, there);
    return PEN_ERR_RESOURCE;
}

/* ---- between hosts --------------------------------------------------------------------------- */

/* A conduit that wants shared memory cannot cross hosts, and one within a process cannot leave
 * it. */
static bool reaches_hosts(const pen_conduit *conduit, pen_peer peers)
{
    const char *why_not;
    return pen_conduit_shared_len(conduit, peers) == 0 && conduit->score(peers, &why_not) > 0;
}

pen_status pen_job_choose_far(pen_job *job)
{
    const pen_conduit *all[PEN_CONDUITS_MAX], *able[PEN_CONDUITS_MAX + 1];
    const size_t all_count = pen_conduit_list(all);
    size_t count = 0;
    for (size_t i = 0; i < all_count; i++)
        if (reaches_hosts(all[i], job->size))
            able[count++] = all[i];
    able[count] = NULL;
    const char *wanted = job->config.conduit;
    bool has_wish = wanted != NULL && wanted[0] != '\0' && pen_conduit_find(wanted) != NULL;
    for (size_t i = 0; has_wish && i < count; i++)
        has_wish = strcmp(able[i]->name, wanted) != 0;
    if (has_wish) {
        pen_log_error(&job->log,
                      "cannot use conduit %s: it connects the ranks of one host, and this job is "
                      "on %u; leave the choice to Penstock",
                      wanted, job->boot.page->host_count);
        return PEN_ERR_UNUSABLE;
    }
    return pen_conduit_choose_among(&job->log, able, wanted, job->size, &job->conduit);
}

/* ---- within this host ------------------------------------------------------------------------ */

/* The best conduit for the ranks of this host that uses memory of the host arena. If this build has
 * no such conduit, returns NULL; then the network also reaches ranks of this host. */
static const pen_conduit *choose_near(pen_peer peers)
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

static pen_status open_chosen(pen_job *job, const pen_conduit *conduit, pen_link **out)
{
    const pen_host_page *page = job->boot.page;
    pen_status status = pen_job_read_conduit_config(job, conduit, job->near_config);
    if (status == PEN_OK)
        status = pen_job_check_arena(job, conduit, job->near_config, page->size);
    if (status != PEN_OK)
        return status;
    pen_link_params params = { .host = &job->near_host,
                               .self = job->rank - page->first,
                               .peers = page->size,
                               .config = job->near_config,
                               .job_key = page->job_key,
                               .concurrency = job->concurrency };
    pen_job_place(job, &params);
    return conduit->open(&params, out);
}

pen_status pen_job_open_near(pen_job *job)
{
    const pen_host_page *page = job->boot.page;
    const pen_conduit *conduit = choose_near(page->size);
    pen_link *link = NULL;
    if (conduit == NULL)
        return PEN_OK;
    pen_lender_init(&job->near_lender, &job->host, NULL);
    job->near_lender.first = page->first;
    pen_host_lend(&job->near_lender, &job->near_host);
    pen_status status = open_chosen(job, conduit, &link);
    if (status != PEN_OK)
        return status;
    /* Every rank of the host has the same link, so every rank comes to the same decision. */
    const uint32_t wanted = PEN_CAP_SAME_HOST | PEN_CAP_RELIABLE;
    if ((link->caps.flags & wanted) == wanted)
        (void)pen_progress_add(&job->progress, link);
    else
        link->ops->close(link);
    return PEN_OK;
}

/* Exchanges addresses among all ranks, and keeps those of this host. */
pen_status pen_job_connect_near(pen_job *job)
{
    if (job->progress.port_count < 2)
        return PEN_OK;
    pen_link *link = job->progress.ports[1].link;
    size_t len = link->caps.addr_len;
    unsigned char mine[PEN_ADDR_LEN_MAX] = { 0 };
    unsigned char *all = pen_job_calloc(job, job->size, len + 1, "the table of neighbours");
    if (all == NULL)
        return PEN_ERR_MEMORY;
    pen_status status = link->ops->address(link, mine);
    if (status == PEN_OK)
        status = pen_boot_exchange(&job->boot, mine, len, all);
    const pen_host_page *page = job->boot.page;
    if (status == PEN_OK)
        status = link->ops->connect(link, all + page->first * len, page->size);
    free(all);
    return status;
}
