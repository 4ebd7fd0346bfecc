/* SPDX-License-Identifier: BSD-3-Clause */
/* team.h: making and ending teams, and making endpoints' segments known within one. A team is an
 * ordered set of endpoints. All of its members learn who the members are by one all-gather over the
 * parent team, in which every rank also offers the next number of its own: a new team's id is its
 * member 0's rank and number, so no further message is needed, and a member may use the team the
 * moment it has it (coll/ keeps what comes early). Operations between two ranks outlive the team
 * they were begun on: they keep nothing of it but the route. */
#ifndef PEN_TEAM_TEAM_H
#define PEN_TEAM_TEAM_H

#include "job/job.h"

#define PEN_TEAM_RANK_NONE UINT32_MAX /* GEX_RANK_INVALID */

/* The rank of the process with that job rank, the lowest if several of its endpoints are members;
 * PEN_TEAM_RANK_NONE if none is. Of pairs too. Takes as many steps as the team's size has bits. */
uint32_t pen_team_rank_of(const pen_team *team, uint32_t jobrank);

/* Collective over parent. joins false: takes part and is in no new team. Members are ordered by
 * key, then by their rank in parent; each is represented by its endpoint in parent. *out: the
 * team; NULL when the caller is in none. On failure (said in a line) too. */
pen_status pen_team_split(pen_thread *thread, pen_team *parent, bool joins, int color, int key,
                          uint32_t flags, pen_team **out);

/* Collective over parent. members: all of the caller's new team, in the order of their new ranks,
 * the same list on each of them; job ranks. out: one team for each of the caller's own endpoints in
 * the list, in order. PEN_ERR_ARGUMENT when lists of members disagree or name one twice. */
pen_status pen_team_create(pen_thread *thread, pen_team *parent, const gex_EP_Location_t *members,
                           size_t count, uint32_t flags, pen_team **out, size_t out_count);

/* Collective over team. quiesced: everybody is known to have finished with it, so no barrier. Never
 * the primordial team. */
void pen_team_destroy(pen_thread *thread, pen_team *team, bool quiesced);

/* At the end of the job: frees the teams that are left. */
void pen_team_close_all(pen_job *job);

#endif
