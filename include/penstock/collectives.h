/* SPDX-License-Identifier: BSD-3-Clause */
/* collectives.h: collectives that move and combine data. All members of a team begin the same ones,
 * in the same order and with the same root, lengths, type and operation; members that disagree end
 * the job with a line that names both. Any number may be underway, on one team or several; none
 * needs scratch memory of the client's.
 *
 * Each returns an event that is done when this member's part is: its destination has been written
 * and its source may be changed. Until then both belong to the collective. Nothing is said of other
 * members. Source and destination may be the same address where they have the same length; else
 * they do not overlap. Wrong arguments end the job.
 *
 * pen_Coll_... are not in the specification. */
#ifndef PENSTOCK_COLLECTIVES_H
#define PENSTOCK_COLLECTIVES_H

#include <penstock/coll.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Copies the root's memory to all members.
 *   team    not a TM pair
 *   root    rank in the team
 *   dst     where it goes, on the root as well
 *   src     what it copies; counts on the root only
 *   nbytes  length; may be 0
 *   flags   0
 * Collective over the team. Returns an event. Context: no handler.
 * GASNet-EX, chapter "Collectives". */
PEN_API gex_Event_t gex_Coll_BroadcastNB(gex_TM_t team, gex_Rank_t root, void *dst, const void *src,
                                         size_t nbytes, gex_Flags_t flags);

/* A client's way to combine: of each of count pairs of elements, left and right, it leaves the
 * result in place of right. left is the result of members of lower rank. It must be associative,
 * may run in any call that polls, as handlers do, and may make no call of the library itself. */
typedef void (*gex_Coll_ReduceFn_t)(const void *left, void *right_and_result, size_t count,
                                    const void *cdata);

/* Combines the members' arrays, element by element, into one on the root, or on all members.
 *   team   not a TM pair
 *   root   rank in the team
 *   dst    the result; on members that get none it is ignored
 *   src    this member's elements; they, and dst, are aligned for their type
 *   dt     their type: GEX_DT_...
 *   dt_sz  bytes of an element: the type's size, with GEX_DT_USER any
 *   count  elements; may be 0
 *   op     GEX_OP_ADD, _MULT, _MIN, _MAX, on integers _AND, _OR, _XOR; or, the only ones for
 *          GEX_DT_USER, GEX_OP_USER, GEX_OP_USER_NC if the order of members matters
 *   fn     of GEX_OP_USER and GEX_OP_USER_NC; else ignored
 *   cdata  handed to fn
 *   flags  0
 * Elements are combined in the order of ranks whatever op is, and by the same tree in every run, on
 * every member and for every root, so that results are the same to the bit. Signed integers wrap.
 * Collective over the team. Returns an event. Context: no handler.
 * GASNet-EX, chapter "Collectives". */
PEN_API gex_Event_t gex_Coll_ReduceToOneNB(gex_TM_t team, gex_Rank_t root, void *dst,
                                           const void *src, gex_DT_t dt, size_t dt_sz, size_t count,
                                           gex_OP_t op, gex_Coll_ReduceFn_t fn, void *cdata,
                                           gex_Flags_t flags);
PEN_API gex_Event_t gex_Coll_ReduceToAllNB(gex_TM_t team, void *dst, const void *src, gex_DT_t dt,
                                           size_t dt_sz, size_t count, gex_OP_t op,
                                           gex_Coll_ReduceFn_t fn, void *cdata, gex_Flags_t flags);

/* Combines the arrays of the members up to this one, and this one's. Arguments as for
 * gex_Coll_ReduceToAllNB. Collective over the team. Returns an event. Context: no handler.
 * Not in the specification. */
PEN_API gex_Event_t pen_Coll_ScanNB(gex_TM_t team, void *dst, const void *src, gex_DT_t dt,
                                    size_t dt_sz, size_t count, gex_OP_t op, gex_Coll_ReduceFn_t fn,
                                    void *cdata, gex_Flags_t flags);

/* As pen_Coll_ScanNB, without this member's own array: rank 0's dst is not written. Collective over
 * the team. Returns an event. Context: no handler. Not in the specification. */
PEN_API gex_Event_t pen_Coll_ExclusiveScanNB(gex_TM_t team, void *dst, const void *src, gex_DT_t dt,
                                             size_t dt_sz, size_t count, gex_OP_t op,
                                             gex_Coll_ReduceFn_t fn, void *cdata,
                                             gex_Flags_t flags);

/* Gathers the members' parts on the root, or on all, in the order of ranks.
 *   root    rank in the team
 *   dst     as many parts as the team has members; on members that get none it is ignored
 *   src     this member's part
 *   nbytes  length of a part
 *   flags   0
 * Collective over the team. Returns an event. Context: no handler. Not in the specification. */
PEN_API gex_Event_t pen_Coll_GatherToOneNB(gex_TM_t team, gex_Rank_t root, void *dst,
                                           const void *src, size_t nbytes, gex_Flags_t flags);
PEN_API gex_Event_t pen_Coll_GatherToAllNB(gex_TM_t team, void *dst, const void *src, size_t nbytes,
                                           gex_Flags_t flags);

/* Sends each member its part of the root's memory: that of rank 0 comes first.
 *   root    rank in the team
 *   dst     this member's part
 *   src     as many parts as the team has members; counts on the root only
 *   nbytes  length of a part
 *   flags   0
 * Collective over the team. Returns an event. Context: no handler. Not in the specification. */
PEN_API gex_Event_t pen_Coll_ScatterNB(gex_TM_t team, gex_Rank_t root, void *dst, const void *src,
                                       size_t nbytes, gex_Flags_t flags);

/* Sends part i of every member's src to member i, who finds the parts in dst in the order of the
 * ranks they come from. If dst is src, memory for a copy is taken meanwhile.
 *   nbytes  length of a part
 *   flags   0
 * Collective over the team. Returns an event. Context: no handler. Not in the specification. */
PEN_API gex_Event_t pen_Coll_AllToAllNB(gex_TM_t team, void *dst, const void *src, size_t nbytes,
                                        gex_Flags_t flags);

#ifdef __cplusplus
}
#endif
#endif
