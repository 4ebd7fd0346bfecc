/* SPDX-License-Identifier: BSD-3-Clause */
/* team.h: teams: ordered sets of endpoints, in which peers have ranks. */
#ifndef PENSTOCK_TEAM_H
#define PENSTOCK_TEAM_H

#include <penstock/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- making and ending teams ---------------------------------------------------------------- */

/* Scratch memory: clients lend it to the teams they make, in their segments, and get it back when
 * the team ends. This library's collectives need none, with GEX_FLAG_TM_NO_SCRATCH either: what is
 * lent is kept and given back untouched. */

/* Divides a team: the members that give the same color become a new team, in the order of their
 * keys, and where those are equal in the order of their ranks in the parent. Each member takes part
 * in it with its endpoint in the parent.
 *   team          receives the caller's new team; NULL: the caller joins none, and color, key and
 *                 scratch say nothing
 *   parent        the team to divide; no pair
 *   color         0 or more: who belongs together
 *   key           place in the new team
 *   scratch       memory in the segment bound to the endpoint, the caller's own; NULL: none
 *   scratch_size  its length in bytes; 0: none
 *   flags         GEX_FLAG_TM_NO_SCRATCH: scratch and scratch_size say nothing.
 *                 GEX_FLAG_SCRATCH_SEG_OFFSET: scratch counts bytes from the segment's beginning.
 *                 GEX_FLAG_TM_SCRATCH_SIZE_MIN or GEX_FLAG_TM_SCRATCH_SIZE_RECOMMENDED: makes no
 *                 team, only answers how much scratch to lend
 * Collective over the parent, the question for the size too. A new team may be used at once, also
 * towards members that have not returned yet. Returns the size in bytes if one was asked for (more
 * than 0, so that no allocation is taken for a failure), else 0; wrong arguments and want of memory
 * end the job. Context: no handler. Blocks and polls.
 * GASNet-EX, chapter "Teams". */
PEN_API size_t gex_TM_Split(gex_TM_t *team, gex_TM_t parent, int color, int key, void *scratch,
                            size_t scratch_size, gex_Flags_t flags);

/* Makes teams of the endpoints that are listed, in the order of the list; lists that share no
 * endpoint make several teams in one call.
 *   teams         receives the caller's teams, one for each of its endpoints in the list, in order
 *   team_count    how many of its endpoints the list names
 *   parent        a team that all whom the list names are in; no pair
 *   members       all members of the caller's new team, each once, the same on all of them; ranks
 *                 in the parent, or in the job with GEX_FLAG_RANK_IS_JOBRANK
 *   member_count  0: the caller takes part, and is in no new team; team_count is ignored then
 *   scratch       addresses of scratch memory, each in the segment bound to that endpoint: as the
 *                 flag says, of every member (GEX_FLAG_TM_GLOBAL_SCRATCH), of each of the caller's
 *                 teams (GEX_FLAG_TM_LOCAL_SCRATCH), one for all (GEX_FLAG_TM_SYMMETRIC_SCRATCH)
 *   scratch_size  length of each in bytes
 *   flags         exactly one of those three and GEX_FLAG_TM_NO_SCRATCH; if the caller is in no new
 *                 team or asks for a size, none will do. And GEX_FLAG_SCRATCH_SEG_OFFSET,
 *                 GEX_FLAG_TM_SCRATCH_SIZE_MIN and GEX_FLAG_TM_SCRATCH_SIZE_RECOMMENDED as for
 *                 gex_TM_Split, GEX_FLAG_RANK_IS_JOBRANK
 * Collective over the parent, the question for the size too, and ends after all have entered.
 * Returns as gex_TM_Split; lists that differ between members they name end the job. Context: no
 * handler. Blocks and polls.
 * GASNet-EX, chapter "Teams". */
PEN_API size_t gex_TM_Create(gex_TM_t *teams, size_t team_count, gex_TM_t parent,
                             gex_EP_Location_t *members, size_t member_count, gex_Addr_t *scratch,
                             size_t scratch_size, gex_Flags_t flags);

/* Makes another team of the same members in the same order, with collectives of its own.
 *   team   receives it
 *   old    the team to repeat, which stays as it is; no pair
 *   scratch, scratch_size, flags  as for gex_TM_Split
 * Collective over old. Returns as gex_TM_Split. Context: no handler. Blocks and polls.
 * Announced for GASNet-EX, chapter "Teams", without a declaration; this form is ours. */
PEN_API size_t gex_TM_Dup(gex_TM_t *team, gex_TM_t old, void *scratch, size_t scratch_size,
                          gex_Flags_t flags);

/* Ends a team. Its collectives and atomic domains are over; puts, gets and messages begun on it may
 * be in flight, and their events stay valid.
 *   team     neither the primordial team nor a pair
 *   scratch  receives the scratch memory that was lent to it, as an address; may be NULL
 *   flags    0; GEX_FLAG_GLOBALLY_QUIESCED: the caller knows that every member is through with the
 *            team, so that they need not meet
 * Collective over the team. Returns non-zero if *scratch was written, else 0. Context: no handler.
 * Blocks and polls, unless GEX_FLAG_GLOBALLY_QUIESCED is set.
 * GASNet-EX, chapter "Teams". */
PEN_API int gex_TM_Destroy(gex_TM_t team, gex_Memvec_t *scratch, gex_Flags_t flags);

/* ---- questions ------------------------------------------------------------------------------ */

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

/* ---- pairs ---------------------------------------------------------------------------------- */

/* A team-like value for communication between a local endpoint and, on any process, the endpoint
 * with a given number: rank arguments are then job ranks. Valid for active messages, put, get and
 * queries about a peer; it is no team, so has no size, no rank and no collectives. Needs no
 * communication and no clean-up.
 *   local         an endpoint of this process
 *   remote_index  number of the peers' endpoint, below GASNET_MAXEPS; 0: the primordial one. Active
 *                 messages go from one primordial endpoint to another only
 * Context: any. Does not poll.
 * GASNet-EX, chapter "Teams". */
PEN_API gex_TM_t gex_TM_Pair(gex_EP_t local, gex_EP_Index_t remote_index);

/* ---- translation ---------------------------------------------------------------------------- */

/* The job rank of a member. rank must be less than the team's size;
 * GEX_RANK_INVALID if it is not.
 * Context: any. Does not poll.
 * GASNet-EX, chapter "Teams". */
PEN_API gex_Rank_t gex_TM_TranslateRankToJobrank(gex_TM_t team, gex_Rank_t rank);

/* The rank in the team of the process with that job rank, the lowest if several of its endpoints
 * are members; GEX_RANK_INVALID if it is no member. In few steps however large the team is.
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
