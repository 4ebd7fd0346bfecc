/* SPDX-License-Identifier: BSD-3-Clause */
/* express.c: whether short messages of this job, and of a team, may take the link's express entries
 * without asking anything else. */
#include "job/job.h"

/* Nobody writes to it, for it has no room. */
static const pen_express no_room;

void pen_job_use_express(pen_job *job)
{
    const pen_link *link = job->progress.ports[0].link;
    bool has_express = link->express.first != NULL && job->progress.port_count == 1 &&
                       (link->caps.flags & PEN_CAP_SAME_HOST) != 0; /* it is counted as that */
    if (has_express && job->concurrency == PEN_ALONE)
        job->express = link->express;
    else
        job->express = (pen_express_table){ .first = (pen_express *)(uintptr_t)&no_room };
    if (has_express && job->concurrency != PEN_ALONE)
        job->locked_express = &link->express;
}

void pen_team_use_express(pen_team *team)
{
    const pen_express_table *table = &team->job->express;
    /* Ranks that count downwards would need negative steps, and only primordial endpoints have
     * messages. */
    bool has_rule = team->special == 0 && team->stride < team->job->size;
    const pen_express *first =
        has_rule ? pen_express_of(table, team->first, PEN_LANE_REQUEST) : &no_room;
    team->express = (char *)(uintptr_t)first;
    team->express_step = has_rule ? table->peer_step * team->stride : 0;
}
