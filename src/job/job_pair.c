/* SPDX-License-Identifier: BSD-3-Clause */
/* job_pair.c: PENSTOCK_CONDUIT=A+B: the conduit for frames is A, and puts and gets go over B. */
#include "base/status.h"
#include "conduit/conduit.h"
#include "job/job_internal.h"
#include "link/pair.h"

#include <stdio.h>

void pen_job_split_pair(pen_job *job)
{
    job->memory_wanted =
        pen_pair_split(job->config.conduit, job->frames_wanted, sizeof job->frames_wanted);
    if (job->memory_wanted != NULL)
        job->config.conduit = job->frames_wanted;
}

pen_status pen_job_choose_memory(pen_job *job)
{
    if (job->memory_wanted == NULL)
        return PEN_OK;
    pen_status status = pen_pair_choose(&job->log, job->conduit, job->memory_wanted, job->size,
                                        pen_job_is_spread(job), &job->memory_conduit);
    if (status != PEN_OK)
        return status;
    (void)snprintf(job->log.conduit, sizeof job->log.conduit, "%s+%s", job->conduit->name,
                   job->memory_conduit->name);
    return pen_job_read_conduit_config(job, job->memory_conduit, job->memory_config);
}

/* Opens the second link. */
static pen_status open_memory(pen_job *job, const pen_link_params *frames_params, pen_link **out)
{
    pen_link_params params = *frames_params;
    job->memory_host = job->host;
    params.host = &job->memory_host;
    params.config = job->memory_config;
    pen_status status =
        pen_job_check_arena(job, job->memory_conduit, job->memory_config, job->size);
    return status == PEN_OK ? job->memory_conduit->open(&params, out) : status;
}

pen_status pen_job_add_memory(pen_job *job, const pen_link_params *params, pen_link **link)
{
    pen_link *memory = NULL;
    if (job->memory_conduit == NULL)
        return PEN_OK;
    pen_status status = open_memory(job, params, &memory);
    if (status != PEN_OK)
        return status;
    status = pen_pair_open(*link, memory, &job->host, job->size, job->concurrency, link);
    if (status != PEN_OK)
        memory->ops->close(memory);
    return status;
}
