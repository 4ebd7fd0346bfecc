/* SPDX-License-Identifier: BSD-3-Clause */
/* translate.c: translates job ranks to ranks of a team. */
#include "team/team.h"

#include "job/team.h"

/* Translates job ranks with a constant stride. */
static uint32_t rank_by_rule(const pen_team *team, uint32_t size, uint32_t jobrank)
{
    int64_t distance = (int64_t)jobrank - (int64_t)team->first;
    int32_t stride = (int32_t)team->stride;
    if (stride == 0) /* all members are of one process */
        return distance == 0 ? 0 : PEN_TEAM_RANK_NONE;
    int64_t rank = distance / stride;
    return distance % stride == 0 && rank >= 0 && rank < size ? (uint32_t)rank : PEN_TEAM_RANK_NONE;
}

uint32_t pen_team_rank_of(const pen_team *team, uint32_t jobrank)
{
    uint32_t size = team->is_pair ? team->job->size : team->view.size;
    if (team->jobranks == NULL)
        return rank_by_rule(team, size, jobrank);
    uint32_t low = 0, high = size;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (team->jobranks[team->by_jobrank[middle]] < jobrank)
            low = middle + 1;
        else
            high = middle;
    }
    bool found = low < size && team->jobranks[team->by_jobrank[low]] == jobrank;
    return found ? team->by_jobrank[low] : PEN_TEAM_RANK_NONE;
}
