/* SPDX-License-Identifier: BSD-3-Clause */
/* team.h: teams: ordered sets of endpoints, in which peers have ranks. */
#ifndef PENSTOCK_TEAM_H
#define PENSTOCK_TEAM_H

#include <penstock/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The client that made it; the local endpoint in it; the flags it was made with; the caller's rank
 * and the number of members. Not for the result of gex_TM_Pair. Context: any. They do not poll.
 * GASNet-EX, chapter "Teams". */
PEN_API gex_Client_t gex_TM_QueryClient(gex_TM_t team);
PEN_API gex_EP_t gex_TM_QueryEP(gex_TM_t team);
PEN_API gex_Flags_t gex_TM_QueryFlags(gex_TM_t team);
GEX_INLINE gex_Rank_t gex_TM_QueryRank(gex_TM_t team);
GEX_INLINE gex_Rank_t gex_TM_QuerySize(gex_TM_t team);

/* Attaches a pointer of the client's own to the object; no atomicity is promised. Context: any.
 * Does not poll. GASNet-EX, chapter "Teams". */
PEN_API void gex_TM_SetCData(gex_TM_t team, const void *data);

/* The pointer attached last, at first NULL. Context: any. Does not poll.
 * GASNet-EX, chapter "Teams". */
PEN_API void *gex_TM_QueryCData(gex_TM_t team);

/* A team-like value for communication between a local endpoint and, on any process, the endpoint
 * with a given number: rank arguments are then job ranks. Valid for active messages, put, get and
 * queries about a peer; it is no team, so has no size, no rank and no collectives. Needs no
 * communication and no clean-up.
 *   local         an endpoint of this process
 *   remote_index  number of the peers' endpoint; 0: the primordial one
 * Context: any. Does not poll.
 * GASNet-EX, chapter "Teams". */
PEN_API gex_TM_t gex_TM_Pair(gex_EP_t local, gex_EP_Index_t remote_index);

/* The job rank of a member. rank must be less than the team's size.
 * Context: any. Does not poll.
 * GASNet-EX, chapter "Teams". */
PEN_API gex_Rank_t gex_TM_TranslateRankToJobrank(gex_TM_t team, gex_Rank_t rank);

/* The rank in the team of the process with that job rank; GEX_RANK_INVALID if it is no member.
 * Context: any. Does not poll.
 * GASNet-EX, chapter "Teams". */
PEN_API gex_Rank_t gex_TM_TranslateJobrankToRank(gex_TM_t team, gex_Rank_t jobrank);

/* Job rank and endpoint number of a member.
 *   flags  0
 * Context: any. Does not poll.
 * GASNet-EX, chapter "Teams". */
PEN_API gex_EP_Location_t gex_TM_TranslateRankToEP(gex_TM_t team, gex_Rank_t rank,
                                                   gex_Flags_t flags);

#ifdef __cplusplus
}
#endif
#include <penstock/inline/team.h>
#endif
