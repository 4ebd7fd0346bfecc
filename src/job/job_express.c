/* SPDX-License-Identifier: BSD-3-Clause */
/* job_express.c: decides whether short messages of this job, and of a team, may use the link's
 * express entries without further tests. */
#include "job/job.h"

#include "conduit/conduit.h"
#include "os/lock.h"

/* A channel without room, to which no sender writes. */
static const pen_express no_room;

static pen_express_row replies_of(const pen_express_table *table)
{
    const pen_express *first = pen_express_of(table, 0, PEN_LANE_REPLY);
    return (pen_express_row){ (char *)(uintptr_t)first, table->peer_step, UINT32_MAX };
}

void pen_job_use_express(pen_job *job)
{
    const pen_link *link = job->progress.ports[0].link;
    bool has_express = link->express.first != NULL && job->progress.port_count == 1 &&
                       (link->caps.flags & PEN_CAP_SAME_HOST) !=
                           0; /* express messages are counted as shared memory */
    job->express = (pen_express_table){ .first = (pen_express *)(uintptr_t)&no_room };
    job->shared_express = job->express;
    if (has_express && job->concurrency == PEN_ALONE)
        job->express = link->express;
    else if (has_express)
        job->shared_express = link->express;
    job->express_replies = replies_of(&job->express);
    job->shared_express_replies = replies_of(&job->shared_express);
}

static pen_express_row row_of(const pen_team *team, const pen_express_table *table)
{
    /* Express needs steps that are not negative, so ranks may not count downwards. Only
     * primordial endpoints have messages. */
    bool has_rule = team->special == 0 && team->stride < team->job->size;
    const pen_express *first =
        has_rule ? pen_express_of(table, team->first, PEN_LANE_REQUEST) : &no_room;
    return (pen_express_row){ (char *)(uintptr_t)first,
                              has_rule ? table->peer_step * team->stride : 0,
                              has_rule && table->peer_step != 0 ? team->view.size : 0 };
}

void pen_team_use_express(pen_team *team)
{
    team->express = row_of(team, &team->job->express);
    team->shared_express = row_of(team, &team->job->shared_express);
}
