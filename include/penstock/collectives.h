/* SPDX-License-Identifier: BSD-3-Clause */
/* collectives.h: collectives that move and combine data. All members of a team begin the same
 * collectives, in the same order and with the same root, lengths, type and operation. If members
 * disagree, the job ends with a message that names both. Any number may be underway, on one team or
 * several. The client need not provide scratch memory.
 *
 * Each call returns an event. When it is done, this member's destination has been written and its
 * source may be changed; until then do not touch either. The event does not tell whether other
 * members are done. Source and destination may be the same address if they have the same length;
 * otherwise they must not overlap. Wrong arguments end the job.
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
 *   dst     where the copy goes, on the root as well
 *   src     memory to copy; ignored on members other than the root
 *   nbytes  length in bytes; may be 0
 *   flags   0
 * Collective over the team. Returns an event. Context: no handler. May poll.
 * GASNet-EX, chapter "Collectives". */
PEN_API gex_Event_t gex_Coll_BroadcastNB(gex_TM_t team, gex_Rank_t root, void *dst, const void *src,
                                         size_t nbytes, gex_Flags_t flags);

/* A client's function that combines count pairs of elements: it replaces each right element with
 * the result for left and right. left holds the result of lower ranks. The function must be
 * associative. It runs in any call that polls, as handlers do, and must not call the library. */
typedef void (*gex_Coll_ReduceFn_t)(const void *left, void *right_and_result, size_t count,
                                    const void *cdata);

/* Combines the members' arrays, element by element, into one on the root, or on all members.
 *   team   not a TM pair
 *   root   rank in the team
 *   dst    the result; ignored on members that get no result
 *   src    this member's elements; src and dst are aligned for the type
 *   dt     type of the elements: GEX_DT_...
 *   dt_sz  bytes of an element: the type's size; any with GEX_DT_USER
 *   count  elements; may be 0
 *   op     GEX_OP_ADD, _MULT, _MIN, _MAX, on integers also _AND, _OR, _XOR. With GEX_DT_USER:
 *          GEX_OP_USER, or GEX_OP_USER_NC if the order of members matters
 *   fn     function for GEX_OP_USER and GEX_OP_USER_NC; ignored with other operations
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

/* Combines this member's array with the arrays of all members of lower rank. Arguments are those of
 * gex_Coll_ReduceToAllNB. Collective over the team. Returns an event. Context: no handler. May
 * poll.
 * Not in the specification. */
PEN_API gex_Event_t pen_Coll_ScanNB(gex_TM_t team, void *dst, const void *src, gex_DT_t dt,
                                    size_t dt_sz, size_t count, gex_OP_t op, gex_Coll_ReduceFn_t fn,
                                    void *cdata, gex_Flags_t flags);

/* Combines the arrays of all members of lower rank, without this member's own. dst is not written
 * on rank 0. Arguments are those of gex_Coll_ReduceToAllNB. Collective over the team. Returns an
 * event. Context: no handler. May poll. Not in the specification. */
PEN_API gex_Event_t pen_Coll_ExclusiveScanNB(gex_TM_t team, void *dst, const void *src, gex_DT_t dt,
                                             size_t dt_sz, size_t count, gex_OP_t op,
                                             gex_Coll_ReduceFn_t fn, void *cdata,
                                             gex_Flags_t flags);

/* Gathers the members' parts on the root, or on all, in the order of ranks.
 *   root    rank in the team
 *   dst     room for a part of each member of the team; ignored on members that get no parts
 *   src     this member's part
 *   nbytes  length of a part
 *   flags   0
 * Collective over the team. Returns an event. Context: no handler. Not in the specification. */
PEN_API gex_Event_t pen_Coll_GatherToOneNB(gex_TM_t team, gex_Rank_t root, void *dst,
                                           const void *src, size_t nbytes, gex_Flags_t flags);
PEN_API gex_Event_t pen_Coll_GatherToAllNB(gex_TM_t team, void *dst, const void *src, size_t nbytes,
                                           gex_Flags_t flags);

/* Sends each member its part of the root's memory. Parts lie in the order of ranks.
 *   root    rank in the team
 *   dst     this member's part
 *   src     one part for each member of the team; ignored on members other than the root
 *   nbytes  length of a part in bytes
 *   flags   0
 * Collective over the team. Returns an event. Context: no handler. May poll. Not in the
 * specification. */
PEN_API gex_Event_t pen_Coll_ScatterNB(gex_TM_t team, gex_Rank_t root, void *dst, const void *src,
                                       size_t nbytes, gex_Flags_t flags);

/* Sends part i of every member's src to member i. The parts arrive in dst in the order of the ranks
 * that sent them. If dst and src are the same, the library allocates memory for a copy during the
 * collective.
 *   nbytes  length of a part in bytes
 *   flags   0
 * Collective over the team. Returns an event. Context: no handler. May poll. Not in the
 * specification. */
PEN_API gex_Event_t pen_Coll_AllToAllNB(gex_TM_t team, void *dst, const void *src, size_t nbytes,
                                        gex_Flags_t flags);

#ifdef __cplusplus
}
#endif
#endif
