/* SPDX-License-Identifier: BSD-3-Clause */
/* team.h: making and ending teams. A team is an ordered set of endpoints. All of its members learn
 * who the members are by one all-gather over the parent team, in which every rank also offers the
 * next number of its own: a new team's id is its member 0's job rank and number, so no further
 * message is needed, and a member may use the team the moment it has it (coll/ keeps what comes
 * early). Operations between two ranks outlive the team they were begun on: they keep nothing of it
 * but the route.
 *
 * What is wrong with the arguments, or with memory, ends the job with a line: a member that went on
 * without a team which the others have would keep them waiting for ever. */
#ifndef PEN_TEAM_TEAM_H
#define PEN_TEAM_TEAM_H

#include "job/job.h"

#define PEN_TEAM_RANK_NONE UINT32_MAX /* GEX_RANK_INVALID */

/* The rank of the process with that job rank, the lowest if several of its endpoints are members;
 * PEN_TEAM_RANK_NONE if none is. Of pairs too. Takes as many steps as the team's size has bits. */
uint32_t pen_team_rank_of(const pen_team *team, uint32_t jobrank);

/* Collective over parent: its members that join and have the same color become a team, ordered by
 * key, then by their rank in parent; each is represented by its endpoint in parent. Answers the
 * caller's; NULL when it does not join. call: of the client, for messages. */
pen_team *pen_team_split(pen_thread *thread, pen_team *parent, bool joins, int color, int key,
                         const char *call);

/* Collective over parent. members: all of the caller's new team, in the order of their new ranks,
 * the same list on each of them; job ranks of parent's. out: one team for each of the caller's own
 * endpoints in the list, in order. count or out_count 0: takes part and is in no new team. */
void pen_team_create(pen_thread *thread, pen_team *parent, const gex_EP_Location_t *members,
                     size_t count, pen_team **out, size_t out_count);

/* Collective over team. quiesced: everybody is known to have finished with it, so no barrier. Never
 * the primordial team, nor a pair. */
void pen_team_destroy(pen_thread *thread, pen_team *team, bool quiesced);

/* Collective over team: makes the segments bound to these endpoints of the caller's known to the
 * other members, and theirs to the caller, for use over any team and pair. None, unbound ones, and
 * other numbers of them on each member are all right; at most PEN_ENDPOINTS_MAX. Waits until all
 * members have come. Nobody uses the endpoints meanwhile, unless what is told was told before. */
pen_status pen_team_publish(pen_thread *thread, pen_team *team, pen_endpoint *const *endpoints,
                            size_t count);

/* At the end of the job, before pen_coll_close: frees the teams that are left. */
void pen_team_close_all(pen_job *job);

#endif
