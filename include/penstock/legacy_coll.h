/* SPDX-License-Identifier: BSD-3-Clause */
/* legacy_coll.h: collectives as clients of the GASNet-1 era call them. Teams and handles are teams
 * and events of GASNet-EX. Wrong arguments end the job.
 *
 * An image is a rank, unless gasnet_coll_init says that ranks have several images: then an image is
 * a thread, and collectives over GASNET_TEAM_ALL are called by every image. The root is then an
 * image, and parts lie in the order of images. Such a collective makes progress only in calls of
 * this header, so its handle is waited for by gasnet_coll_wait_sync and so on. Collectives over
 * other teams, and those with GASNET_COLL_NO_IMAGES, are among ranks: one thread of each rank calls
 * them.
 *
 * flags holds one GASNET_COLL_IN_... and one GASNET_COLL_OUT_...; if they are missing, both are
 * NOSYNC, and libraries with checks refuse the call. Calls that take lists of addresses also want
 * GASNET_COLL_SINGLE or GASNET_COLL_LOCAL. The library ignores the remaining flags. */
#ifndef PENSTOCK_LEGACY_COLL_H
#define PENSTOCK_LEGACY_COLL_H

#include <penstock/coll.h>
#include <penstock/legacy.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef gex_TM_t gasnet_team_handle_t;
typedef uint32_t gasnet_image_t;
typedef gex_Event_t gasnet_coll_handle_t;

#define GASNET_TEAM_ALL            pen_world       /* all ranks */
#define gasnete_coll_team_all      GASNET_TEAM_ALL /* an internal name that clients use */
#define GASNET_COLL_INVALID_HANDLE GEX_EVENT_INVALID

/* When data may move: at any time; between the calls of the ranks that it concerns; when all ranks
 * have called. */
#define GASNET_COLL_IN_NOSYNC  (1 << 0)
#define GASNET_COLL_IN_MYSYNC  (1 << 1)
#define GASNET_COLL_IN_ALLSYNC (1 << 2)
/* When a call may end: at any time; when this rank's part is done; when all parts are done. */
#define GASNET_COLL_OUT_NOSYNC             (1 << 3)
#define GASNET_COLL_OUT_MYSYNC             (1 << 4)
#define GASNET_COLL_OUT_ALLSYNC            (1 << 5)
#define GASNET_COLL_SYNC_FLAG_MASK         0x3F
#define GASNET_COLL_SINGLE                 (1 << 6) /* every rank passes the addresses of all ranks */
#define GASNET_COLL_LOCAL                  (1 << 7) /* each rank passes its own addresses */
#define GASNET_COLL_AGGREGATE              (1 << 8)
#define GASNET_COLL_FIXED_THREADS_PER_NODE (1 << 9)
#define GASNET_COLL_DST_IN_SEGMENT         (1 << 10)
#define GASNET_COLL_SRC_IN_SEGMENT         (1 << 11)
#define GASNET_COLL_DISABLE_AUTOTUNE       (1 << 18)
#define GASNET_COLL_NO_IMAGES              (1 << 19) /* one call for each rank, not for each image */

/* ---- start ----------------------------------------------------------------------------------- */

/* A client's function that combines elements, for gasnet_coll_reduce. It sets results[i] to
 * left_operands[i] combined with right_operands[i], for result_count elements of elem_size bytes.
 * left_count equals result_count; results and right_operands are the same memory. The left operands
 * come from lower ranks. The function must be associative. It runs in any call that polls, as
 * handlers do, and must not call the library.
 *   flags  flags of the function's entry in the table
 *   arg    func_arg of the reduction */
typedef void (*gasnet_coll_reduce_fn_t)(void *results, size_t result_count,
                                        const void *left_operands, size_t left_count,
                                        const void *right_operands, size_t elem_size, int flags,
                                        int arg);

typedef struct {
    gasnet_coll_reduce_fn_t fnptr;
    unsigned flags; /* GASNET_COLL_AMSAFE, GASNET_COLL_NONCOMM */
} gasnet_coll_fn_entry_t;

typedef unsigned gasnet_coll_fn_handle_t; /* number in the table, from 0 on */

#define GASNET_COLL_AMSAFE  (1 << 0) /* may run where handlers do; assumed of all functions */
#define GASNET_COLL_NONCOMM (1 << 1) /* the order of ranks matters; the library always keeps it */

/* Tells how many images there are, and registers functions for reductions. Optional for programs
 * that have one image per rank and reduce nothing.
 *   images      for each rank of the job its number of images, the same on all ranks; NULL: 1 each.
 *               More than one is for programs compiled for GASNET_PAR
 *   my_image    the caller's image: images of rank 0 come first, then those of rank 1, and so on;
 *               ignored if images is NULL
 *   fn_tbl      functions, the same on all ranks; copied; may be NULL if fn_count is 0
 *   fn_count    number of functions
 *   init_flags  ignored
 * Call it once per rank, before other collectives; if there are several images, once by the thread
 * of each image, with the same functions. Collective if there are several images. Context: no
 * handler. Blocks and polls. Not in the specification; declared by gasnet_coll.h. */
PEN_API void gasnet_coll_init(const gasnet_image_t images[], gasnet_image_t my_image,
                              gasnet_coll_fn_entry_t fn_tbl[], size_t fn_count, int init_flags);

/* ---- teams ----------------------------------------------------------------------------------- */

/* Calls gex_TM_Split without scratch memory: members that give the same color become a team. End
 * the team with gex_TM_Destroy.
 *   parent      GASNET_TEAM_ALL, or a gex_TM_t that is no pair
 *   mycolor     members with the same color form a team; at most INT_MAX
 *   myrelrank   place in the new team; at most INT_MAX
 *   clientdata  returned by gex_TM_QueryCData of the new team
 * Collective over the parent. Returns the caller's new team. Context: no handler. Blocks and polls.
 * Not in the specification; declared by gasnet_coll.h. */
PEN_API gasnet_team_handle_t gasnet_coll_team_split(gasnet_team_handle_t parent,
                                                    gasnet_image_t mycolor,
                                                    gasnet_image_t myrelrank, void *clientdata);

/* Call gex_TM_TranslateRankToJobrank, gex_TM_TranslateJobrankToRank and gex_TM_QuerySize under
 * their older names. Context: any. They do not poll. Not in the specification; declared by
 * gasnet_coll.h. */
PEN_API gasnet_node_t gasnet_coll_team_rank2node(gasnet_team_handle_t team, gasnet_image_t rank);
PEN_API gasnet_image_t gasnet_coll_team_node2rank(gasnet_team_handle_t team, gasnet_node_t node);
PEN_API gasnet_image_t gasnet_coll_team_size(gasnet_team_handle_t team);

/* ---- moving data ----------------------------------------------------------------------------- */

/* Call gex_Coll_BroadcastNB, pen_Coll_GatherToOneNB, pen_Coll_GatherToAllNB, pen_Coll_ScatterNB and
 * pen_Coll_AllToAllNB under their older names, and wait for the end.
 *   team      GASNET_TEAM_ALL, or a gex_TM_t that is no pair
 *   dst, src  this rank's memory
 *   srcimage, dstimage  the root
 *   nbytes    length in bytes; of one part if there are parts
 *   flags     see the beginning of this header
 * Collective over the team. Context: no handler. Block and poll.
 * Not in the specification; declared by gasnet_coll.h. */
PEN_API void gasnet_coll_broadcast(gasnet_team_handle_t team, void *dst, gasnet_image_t srcimage,
                                   void *src, size_t nbytes, int flags);
PEN_API void gasnet_coll_scatter(gasnet_team_handle_t team, void *dst, gasnet_image_t srcimage,
                                 void *src, size_t nbytes, int flags);
PEN_API void gasnet_coll_gather(gasnet_team_handle_t team, gasnet_image_t dstimage, void *dst,
                                void *src, size_t nbytes, int flags);
PEN_API void gasnet_coll_gather_all(gasnet_team_handle_t team, void *dst, void *src, size_t nbytes,
                                    int flags);
PEN_API void gasnet_coll_exchange(gasnet_team_handle_t team, void *dst, void *src, size_t nbytes,
                                  int flags);

/* Begin these collectives without waiting. They return a handle for gasnet_coll_wait_sync and so
 * on. Collective over the team. Context: no handler. Not in the specification; declared by
 * gasnet_coll.h. */
PEN_API gasnet_coll_handle_t gasnet_coll_broadcast_nb(gasnet_team_handle_t team, void *dst,
                                                      gasnet_image_t srcimage, void *src,
                                                      size_t nbytes, int flags);
PEN_API gasnet_coll_handle_t gasnet_coll_scatter_nb(gasnet_team_handle_t team, void *dst,
                                                    gasnet_image_t srcimage, void *src,
                                                    size_t nbytes, int flags);
PEN_API gasnet_coll_handle_t gasnet_coll_gather_nb(gasnet_team_handle_t team,
                                                   gasnet_image_t dstimage, void *dst, void *src,
                                                   size_t nbytes, int flags);
PEN_API gasnet_coll_handle_t gasnet_coll_gather_all_nb(gasnet_team_handle_t team, void *dst,
                                                       void *src, size_t nbytes, int flags);
PEN_API gasnet_coll_handle_t gasnet_coll_exchange_nb(gasnet_team_handle_t team, void *dst,
                                                     void *src, size_t nbytes, int flags);

/* Forms of these collectives that take lists of addresses where each image has its own address.
 *   dstlist, srclist  with GASNET_COLL_SINGLE: the addresses of all, by rank in the team or by
 *                     image; with GASNET_COLL_LOCAL: the address of this rank, or the addresses of
 *                     this rank's images
 * The lists are read before the call returns. Collective over the team. Context: no handler. Block
 * and poll. Not in the specification; declared by gasnet_coll.h. */
PEN_API void gasnet_coll_broadcastM(gasnet_team_handle_t team, void *const dstlist[],
                                    gasnet_image_t srcimage, void *src, size_t nbytes, int flags);
PEN_API void gasnet_coll_scatterM(gasnet_team_handle_t team, void *const dstlist[],
                                  gasnet_image_t srcimage, void *src, size_t nbytes, int flags);
PEN_API void gasnet_coll_gatherM(gasnet_team_handle_t team, gasnet_image_t dstimage, void *dst,
                                 void *const srclist[], size_t nbytes, int flags);
PEN_API void gasnet_coll_gather_allM(gasnet_team_handle_t team, void *const dstlist[],
                                     void *const srclist[], size_t nbytes, int flags);
PEN_API void gasnet_coll_exchangeM(gasnet_team_handle_t team, void *const dstlist[],
                                   void *const srclist[], size_t nbytes, int flags);

/* Begin the collectives that take lists, without waiting. They return a handle for
 * gasnet_coll_wait_sync and so on. Collective over the team. Context: no handler. Not in the
 * specification; declared by gasnet_coll.h. */
PEN_API gasnet_coll_handle_t gasnet_coll_broadcastM_nb(gasnet_team_handle_t team,
                                                       void *const dstlist[],
                                                       gasnet_image_t srcimage, void *src,
                                                       size_t nbytes, int flags);
PEN_API gasnet_coll_handle_t gasnet_coll_scatterM_nb(gasnet_team_handle_t team,
                                                     void *const dstlist[], gasnet_image_t srcimage,
                                                     void *src, size_t nbytes, int flags);
PEN_API gasnet_coll_handle_t gasnet_coll_gatherM_nb(gasnet_team_handle_t team,
                                                    gasnet_image_t dstimage, void *dst,
                                                    void *const srclist[], size_t nbytes,
                                                    int flags);
PEN_API gasnet_coll_handle_t gasnet_coll_gather_allM_nb(gasnet_team_handle_t team,
                                                        void *const dstlist[],
                                                        void *const srclist[], size_t nbytes,
                                                        int flags);
PEN_API gasnet_coll_handle_t gasnet_coll_exchangeM_nb(gasnet_team_handle_t team,
                                                      void *const dstlist[], void *const srclist[],
                                                      size_t nbytes, int flags);

/* ---- combining data -------------------------------------------------------------------------- */

/* Combines the images' arrays, element by element and in the order of ranks, into one on the root.
 *   team        GASNET_TEAM_ALL, or a gex_TM_t that is no pair
 *   dstimage    the root
 *   dst         elem_count elements; ignored on members other than the root
 *   src         this rank's memory; the M forms take a list of addresses, like gasnet_coll_gatherM
 *   src_blksz   elements that src has; src_offset and elem_count must stay within them. 0: no limit
 *   src_offset  elements of src to skip before the first that is combined
 *   elem_size   bytes of an element
 *   elem_count  elements of each image that are combined; may be 0
 *   func        a function of gasnet_coll_init's table, by number
 *   func_arg    argument for the function
 *   flags       as for the other collectives
 * Collective over the team. Context: no handler. Block and poll.
 * Not in the specification; declared by gasnet_coll.h. */
PEN_API void gasnet_coll_reduce(gasnet_team_handle_t team, gasnet_image_t dstimage, void *dst,
                                void *src, size_t src_blksz, size_t src_offset, size_t elem_size,
                                size_t elem_count, gasnet_coll_fn_handle_t func, int func_arg,
                                int flags);
PEN_API void gasnet_coll_reduceM(gasnet_team_handle_t team, gasnet_image_t dstimage, void *dst,
                                 void *const srclist[], size_t src_blksz, size_t src_offset,
                                 size_t elem_size, size_t elem_count, gasnet_coll_fn_handle_t func,
                                 int func_arg, int flags);

/* Begin reductions without waiting. They return a handle for gasnet_coll_wait_sync and so on.
 * Collective over the team. Context: no handler. Not in the specification; declared by
 * gasnet_coll.h. */
PEN_API gasnet_coll_handle_t gasnet_coll_reduce_nb(gasnet_team_handle_t team,
                                                   gasnet_image_t dstimage, void *dst, void *src,
                                                   size_t src_blksz, size_t src_offset,
                                                   size_t elem_size, size_t elem_count,
                                                   gasnet_coll_fn_handle_t func, int func_arg,
                                                   int flags);
PEN_API gasnet_coll_handle_t gasnet_coll_reduceM_nb(gasnet_team_handle_t team,
                                                    gasnet_image_t dstimage, void *dst,
                                                    void *const srclist[], size_t src_blksz,
                                                    size_t src_offset, size_t elem_size,
                                                    size_t elem_count, gasnet_coll_fn_handle_t func,
                                                    int func_arg, int flags);

/* ---- handles, barriers, tuning --------------------------------------------------------------- */

/* Wait for handles: for one, for some of an array, for all of an array. Slots of finished handles
 * become GASNET_COLL_INVALID_HANDLE. Context: no handler. Block and poll. Not in the specification;
 * declared by gasnet_coll.h. */
PEN_API void gasnet_coll_wait_sync(gasnet_coll_handle_t handle);
PEN_API void gasnet_coll_wait_sync_some(gasnet_coll_handle_t *handles, size_t count);
PEN_API void gasnet_coll_wait_sync_all(gasnet_coll_handle_t *handles, size_t count);

/* Test handles without waiting. Return GASNET_OK, or GASNET_ERR_NOT_READY. Context: no handler.
 * Poll once. Not in the specification; declared by gasnet_coll.h. */
PEN_API int gasnet_coll_try_sync(gasnet_coll_handle_t handle);
PEN_API int gasnet_coll_try_sync_some(gasnet_coll_handle_t *handles, size_t count);
PEN_API int gasnet_coll_try_sync_all(gasnet_coll_handle_t *handles, size_t count);

/* Make the split-phase barrier of GASNet-1 on a team. Arguments, results and rules are those of
 * gasnet_barrier_notify, _wait, _try, _result and gasnet_barrier. On GASNET_TEAM_ALL it is the same
 * barrier as in those calls. With GASNET_BARRIERFLAG_IMAGES and several images, each image takes
 * part in a separate barrier, whose names are not compared. Collective over the team. Context: no
 * handler (gasnet_coll_barrier_result: any). gasnet_coll_barrier and gasnet_coll_barrier_wait block
 * and poll. Not in the specification; declared by gasnet_coll.h. */
PEN_API void gasnet_coll_barrier_notify(gasnet_team_handle_t team, int name, int flags);
PEN_API int gasnet_coll_barrier_wait(gasnet_team_handle_t team, int name, int flags);
PEN_API int gasnet_coll_barrier_try(gasnet_team_handle_t team, int name, int flags);
PEN_API int gasnet_coll_barrier(gasnet_team_handle_t team, int name, int flags);
PEN_API int gasnet_coll_barrier_result(gasnet_team_handle_t team, int *name);

/* Accepted for programs that tune collectives. The calls do nothing.
 *   filename  ignored
 * Context: any. They do not poll. Not in the specification; declared by gasnet_coll.h. */
PEN_API void gasnet_coll_loadTuningState(const char *filename, gasnet_team_handle_t team);
PEN_API void gasnet_coll_dumpTuningState(const char *filename, gasnet_team_handle_t team);
PEN_API void gasnet_coll_dumpProfile(const char *filename, gasnet_team_handle_t team);

#ifdef __cplusplus
}
#endif
#endif
