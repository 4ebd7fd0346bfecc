/* SPDX-License-Identifier: BSD-3-Clause */
/* team.h: makes and ends teams.
 *
 * A team is an ordered set of endpoints. Its members learn of one another by one all-gather over
 * the parent team. In it every rank also offers its next number: the id of the new team is its
 * member 0's job rank and number. So no further message is needed, and a member may use the team as
 * soon as it has it; coll/ keeps messages that arrive early.
 *
 * Operations between two ranks outlive the team they were begun on: they keep only its route. A
 * wrong argument or a lack of memory ends the job with a line, because members that have the team
 * would wait endlessly for a member that goes on without it. */
#ifndef PEN_TEAM_TEAM_H
#define PEN_TEAM_TEAM_H

#include "base/status.h"
#include "job/endpoint.h"
#include "job/job.h"
#include "job/team.h"
#include "job/thread.h"

#include <penstock/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PEN_TEAM_RANK_NONE UINT32_MAX /* same value as GEX_RANK_INVALID */

/* Returns the rank of the process with that job rank. If several of its endpoints are members,
 * returns the lowest rank; if no endpoint is a member, PEN_TEAM_RANK_NONE. Accepts pairs. Takes as
 * many steps as the team's size has bits. */
uint32_t pen_team_rank_of(const pen_team *team, uint32_t jobrank);

/* Collective over parent: members that join and have the same color become a team, ordered by key,
 * then by rank in parent. A member's endpoint in the team is its endpoint in parent. Returns the
 * caller's team; NULL if it does not join. call: the client's call, for messages. */
pen_team *pen_team_split(pen_thread *thread, pen_team *parent, bool joins, int color, int key,
                         const char *call);

/* Collective over parent. members: all members of the caller's new team, in the order of their new
 * ranks, the same list on each of them; as job ranks of members of parent. out: one team for each
 * of the caller's endpoints in the list, in order. If count or out_count is 0, the caller takes
 * part and joins no new team. */
void pen_team_create(pen_thread *thread, pen_team *parent, const gex_EP_Location_t *members,
                     size_t count, pen_team **out, size_t out_count);

/* Collective over team. quiesced: all members are known to have finished with the team, so no
 * barrier. Never the primordial team, nor a pair. */
void pen_team_destroy(pen_thread *thread, pen_team *team, bool quiesced);

/* Collective over team: publishes the segments bound to these endpoints of the caller to all
 * members, and learns theirs, for use over any team and pair. The number of endpoints may be 0 and
 * may differ between members; it is at most PEN_ENDPOINTS_MAX. Endpoints may be unbound. Returns
 * after all members have entered. Meanwhile no operation may use an endpoint whose segment is not
 * published yet. */
pen_status pen_team_publish(pen_thread *thread, pen_team *team, pen_endpoint *const *endpoints,
                            size_t count);

/* Call at the end of the job, before pen_coll_close: frees the remaining teams. */
void pen_team_close_all(pen_job *job);

#endif
