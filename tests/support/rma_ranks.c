/* SPDX-License-Identifier: BSD-3-Clause */
/* rma_ranks.c: see rma_ranks.h. */
#include "support/rma_ranks.h"

#include "job/job_internal.h"
#include "rma/rma.h"
#include "vis/vis.h"

#include <stdlib.h>

void rma_ranks_open(ranks *world, const ranks_params *params)
{
    ranks_open(world, params);
    for (uint32_t rank = 0; rank < params->size; rank++) {
        pen_job *job = &world->jobs[rank];
        job->endpoints[0] = &job->endpoint;
        job->endpoint_count = 1;
        if (pen_rma_open(job) != PEN_OK)
            abort();
    }
}

void rma_ranks_close(ranks *world)
{
    for (uint32_t rank = 0; rank < world->params.size; rank++) {
        pen_vis_close(&world->jobs[rank]);
        pen_rma_close(&world->jobs[rank]);
        pen_job_endpoints_close(&world->jobs[rank]);
    }
    ranks_close(world);
}

void rma_pair_open(rma_pair *p, ranks_params params)
{
    params.size = 2;
    params.seed = 1;
    rma_ranks_open(&p->world, &params);
    p->job = &p->world.jobs[0];
    p->peer = &p->world.jobs[1];
    p->thread = &p->job->first_thread;
    p->remote = p->world.segments[1];
}

static pen_segment *add_device(pen_job *job, size_t len)
{
    static const pen_device_args args = { .class = PEN_KIND_HIP };
    pen_device *device;
    pen_segment *segment;
    pen_endpoint *endpoint;
    if (pen_mem_device_open(&job->mem, &job->log, pen_kind_find("standin"), &args, &device) !=
            PEN_OK ||
        pen_mem_create_on(&job->mem, &job->log, device, NULL, len, &segment) != PEN_OK ||
        pen_job_endpoint_make(job, GEX_EP_CAPABILITY_RMA, 0, &endpoint) != PEN_OK)
        abort();
    pen_job_bind(endpoint, segment);
    pen_mem_expose(&job->mem, segment);
    return segment;
}

void rma_ranks_add_devices(ranks *world, size_t len)
{
    for (uint32_t owner = 0; owner < world->params.size; owner++) {
        const pen_segment *segment = add_device(&world->jobs[owner], len);
        for (uint32_t rank = 0; rank < world->params.size; rank++) {
            pen_remote_segment *table = pen_mem_remote_table(&world->jobs[rank].mem, 1);
            if (table == NULL)
                abort();
            table[owner] = (pen_remote_segment){ .base = (uintptr_t)segment->base,
                                                 .len = segment->len,
                                                 .number = segment->number,
                                                 .is_device = true };
        }
    }
}

pen_team *rma_ranks_pair(ranks *world, uint32_t rank, uint16_t local, uint16_t remote)
{
    pen_team *pair = pen_job_pair(&world->jobs[rank], local, remote);
    if (pair == NULL)
        abort();
    return pair;
}
