/* SPDX-License-Identifier: BSD-3-Clause */
/* job_hosts.c: tells link/near.c, which chooses and opens the links of a job on several hosts, what
 * the job knows: the host page, settings, and the exchange of addresses. */
#include "job/job_internal.h"

#include "base/status.h"
#include "boot/boot.h"
#include "boot/host_page.h"
#include "conduit/conduit.h"
#include "diag/log.h"
#include "job/fatal.h"
#include "link/near.h"
#include "progress/progress.h"

#include <stdlib.h>

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

pen_status pen_job_open_near(pen_job *job)
{
    const pen_host_page *page = job->boot.page;
    const pen_conduit *conduit = pen_near_choose(page->size);
    pen_link *link = NULL;
    if (conduit == NULL)
        return PEN_OK;
    pen_status status = pen_job_read_conduit_config(job, conduit, job->near_config);
    if (status == PEN_OK)
        status = pen_job_check_arena(job, conduit, job->near_config, page->size);
    if (status != PEN_OK)
        return status;
    pen_link_params params = { .self = job->rank - page->first,
                               .peers = page->size,
                               .config = job->near_config,
                               .job_key = page->job_key,
                               .concurrency = job->concurrency };
    pen_job_place(job, &params);
    status = pen_near_open(conduit, &job->host, page->first, &params, &job->near_lender,
                           &job->near_host, &link);
    if (status == PEN_OK && link != NULL)
        status = pen_job_trace_link(job, page->first, page->size, &link);
    if (link != NULL)
        (void)pen_progress_add(&job->progress, link);
    return status;
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
