/* SPDX-License-Identifier: BSD-3-Clause */
/* team.h: teams: ordered sets of endpoints, in which peers have ranks. */
#ifndef PENSTOCK_TEAM_H
#define PENSTOCK_TEAM_H

#include <penstock/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- making and ending teams ---------------------------------------------------------------- */

/* Scratch memory. Clients lend it to the teams they make, in their segments, and get it back when
 * the team ends. The collectives of this library need no scratch memory, with or without
 * GEX_FLAG_TM_NO_SCRATCH. The library keeps the lent memory and returns it untouched. */

/* Divides a team: the members that give the same color become a new team, in the order of their
 * keys, and for equal keys in the order of their ranks in the parent. Each member takes part with
 * its endpoint in the parent.
 *   team          receives the caller's new team; NULL: the caller joins no new team, and color,
 *                 key and scratch are ignored
 *   parent        the team to divide; no pair
 *   color         0 or more: members with the same color form a team
 *   key           place in the new team
 *   scratch       memory of the caller in the segment bound to the endpoint, or NULL
 *   scratch_size  length of scratch in bytes; may be 0
 *   flags         GEX_FLAG_TM_NO_SCRATCH: scratch and scratch_size are ignored.
 *                 GEX_FLAG_SCRATCH_SEG_OFFSET: scratch counts bytes from the segment's beginning.
 *                 GEX_FLAG_TM_SCRATCH_SIZE_MIN or GEX_FLAG_TM_SCRATCH_SIZE_RECOMMENDED: makes no
 *                 team, only returns how much scratch to lend
 * Collective over the parent, also when it only returns the size. A new team may be used at once,
 * also to reach members that have not returned yet. Returns the size in bytes if the flags ask for
 * it (more than 0, so that an allocation of it cannot look like a failure), else 0. Wrong arguments
 * and lack of memory end the job. Context: no handler. Blocks and polls.
 * GASNet-EX, chapter "Teams". */
PEN_API size_t gex_TM_Split(gex_TM_t *team, gex_TM_t parent, int color, int key, void *scratch,
                            size_t scratch_size, gex_Flags_t flags);

/* Makes teams of the endpoints that are listed, in the order of the list; lists that share no
 * endpoint make several teams in one call.
 *   teams         receives the caller's teams, one for each of its endpoints in the list, in order
 *   team_count    number of the caller's endpoints in the list
 *   parent        a team with a member of each process that owns a listed endpoint; no pair
 *   members       all members of the caller's new team, each once; the same list on all of them.
 *                 gex_rank tells the process: a rank in the parent, or a job rank with
 *                 GEX_FLAG_RANK_IS_JOBRANK. gex_ep_index may name any endpoint of that process
 *   member_count  0: the caller takes part, and is in no new team; team_count is ignored then
 *   scratch       addresses of scratch memory, each in the segment bound to that endpoint: as the
 *                 flag says, of every member (GEX_FLAG_TM_GLOBAL_SCRATCH), of each of the caller's
 *                 teams (GEX_FLAG_TM_LOCAL_SCRATCH), one for all (GEX_FLAG_TM_SYMMETRIC_SCRATCH)
 *   scratch_size  length of each in bytes
 *   flags         exactly one of GEX_FLAG_TM_GLOBAL_SCRATCH, _LOCAL_SCRATCH, _SYMMETRIC_SCRATCH and
 *                 _NO_SCRATCH; it may be missing if the caller is in no new team or asks for a
 *                 size. Also GEX_FLAG_SCRATCH_SEG_OFFSET, GEX_FLAG_TM_SCRATCH_SIZE_MIN and
 *                 GEX_FLAG_TM_SCRATCH_SIZE_RECOMMENDED as for gex_TM_Split,
 *                 GEX_FLAG_RANK_IS_JOBRANK
 * Collective over the parent, also when it only returns the size; returns after all members have
 * entered. Returns the same values as gex_TM_Split. If members pass different lists for one team,
 * the job ends. Context: no handler. Blocks and polls.
 * GASNet-EX, chapter "Teams". */
PEN_API size_t gex_TM_Create(gex_TM_t *teams, size_t team_count, gex_TM_t parent,
                             gex_EP_Location_t *members, size_t member_count, gex_Addr_t *scratch,
                             size_t scratch_size, gex_Flags_t flags);

/* Makes another team of the same members in the same order, with separate collectives.
 *   team  receives the new team
 *   old   the team to repeat, which stays unchanged; no pair
 *   scratch, scratch_size, flags  as for gex_TM_Split
 * Collective over old. Returns the same values as gex_TM_Split. Context: no handler. Blocks and
 * polls.
 * GASNet-EX, chapter "Teams", announces the call without a declaration; Penstock chose this form.
 */
PEN_API size_t gex_TM_Dup(gex_TM_t *team, gex_TM_t old, void *scratch, size_t scratch_size,
                          gex_Flags_t flags);

/* Ends a team. Its collectives must be done and its atomic domains destroyed before; puts, gets and
 * messages begun on it may be in flight, and their events stay valid.
 *   team     neither the primordial team nor a pair
 *   scratch  receives the scratch memory that was lent to it, as an address; may be NULL
 *   flags    0; GEX_FLAG_GLOBALLY_QUIESCED: the caller knows that every member has stopped using
 *            the team, so the call does not wait for other members
 * Collective over the team: if several endpoints of a process are members, the process calls it for
 * each of its teams, by a thread for each or with GEX_FLAG_GLOBALLY_QUIESCED. Returns non-zero if
 * *scratch was written, else 0. Context: no handler. Blocks and polls, unless
 * GEX_FLAG_GLOBALLY_QUIESCED is set.
 * GASNet-EX, chapter "Teams". */
PEN_API int gex_TM_Destroy(gex_TM_t team, gex_Memvec_t *scratch, gex_Flags_t flags);

/* ---- questions ------------------------------------------------------------------------------ */

/* Return the client that made the team, the local endpoint in it, the flags it was made with, the
 * caller's rank, and the number of members. Not for the result of gex_TM_Pair. Context: any. They
 * do not poll.
 * GASNet-EX, chapter "Teams". */
PEN_API gex_Client_t gex_TM_QueryClient(gex_TM_t team);
PEN_API gex_EP_t gex_TM_QueryEP(gex_TM_t team);
PEN_API gex_Flags_t gex_TM_QueryFlags(gex_TM_t team);
GEX_INLINE gex_Rank_t gex_TM_QueryRank(gex_TM_t team);
GEX_INLINE gex_Rank_t gex_TM_QuerySize(gex_TM_t team);

/* Attaches a client's pointer to the team. The call is not atomic. Context: any. Does not poll.
 * GASNet-EX, chapter "Teams". */
PEN_API void gex_TM_SetCData(gex_TM_t team, const void *data);

/* Returns the pointer that was attached last; NULL before the first. Context: any. Does not poll.
 * GASNet-EX, chapter "Teams". */
PEN_API void *gex_TM_QueryCData(gex_TM_t team);

/* ---- pairs ---------------------------------------------------------------------------------- */

/* Returns a value to use in place of a team, for communication between a local endpoint and the
 * endpoint with a given number on any process. Rank arguments are then job ranks. Valid for active
 * messages, put, get and queries about a peer. It is not a team: it has no size, no rank and no
 * collectives. Needs no communication and no clean-up.
 *   local         an endpoint of this process
 *   remote_index  number of the peers' endpoint, below GASNET_MAXEPS; 0: the primordial one. Active
 *                 messages go from one primordial endpoint to another only
 * Context: any. Does not poll.
 * GASNet-EX, chapter "Teams". */
PEN_API gex_TM_t gex_TM_Pair(gex_EP_t local, gex_EP_Index_t remote_index);

/* ---- translation ---------------------------------------------------------------------------- */

/* Returns the job rank of a member. If rank is not less than the team's size, returns
 * GEX_RANK_INVALID. Context: any. Does not poll.
 * GASNet-EX, chapter "Teams". */
PEN_API gex_Rank_t gex_TM_TranslateRankToJobrank(gex_TM_t team, gex_Rank_t rank);

/* Returns the rank in the team of the process with that job rank. If several of its endpoints are
 * members, returns the lowest rank; if none of them is a member, GEX_RANK_INVALID. The time depends
 * little on the size of the team. Context: any. Does not poll.
 * GASNet-EX, chapter "Teams". */
PEN_API gex_Rank_t gex_TM_TranslateJobrankToRank(gex_TM_t team, gex_Rank_t jobrank);

/* Returns the job rank and the endpoint number of a member.
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
