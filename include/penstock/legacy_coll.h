/* SPDX-License-Identifier: BSD-3-Clause */
/* legacy_coll.h: collectives as clients of the GASNet-1 era call them. An image is a rank: every
 * process has one. Teams, and handles, are those of GASNet-EX. Wrong arguments end the job.
 *
 * flags holds one GASNET_COLL_IN_... and one GASNET_COLL_OUT_...; the others say what the library
 * need not know. */
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

#define GASNET_TEAM_ALL            pen_world /* all ranks */
#define GASNET_COLL_INVALID_HANDLE GEX_EVENT_INVALID

/* When data may move: at any time; between the calls of those it concerns; when all have called. */
#define GASNET_COLL_IN_NOSYNC  (1 << 0)
#define GASNET_COLL_IN_MYSYNC  (1 << 1)
#define GASNET_COLL_IN_ALLSYNC (1 << 2)
/* When a call may end: at any time; when this rank's part is done; when all parts are. */
#define GASNET_COLL_OUT_NOSYNC             (1 << 3)
#define GASNET_COLL_OUT_MYSYNC             (1 << 4)
#define GASNET_COLL_OUT_ALLSYNC            (1 << 5)
#define GASNET_COLL_SYNC_FLAG_MASK         0x3F
#define GASNET_COLL_SINGLE                 (1 << 6) /* all ranks give the same addresses */
#define GASNET_COLL_LOCAL                  (1 << 7) /* each gives its own */
#define GASNET_COLL_AGGREGATE              (1 << 8)
#define GASNET_COLL_FIXED_THREADS_PER_NODE (1 << 9)
#define GASNET_COLL_DST_IN_SEGMENT         (1 << 10)
#define GASNET_COLL_SRC_IN_SEGMENT         (1 << 11)
#define GASNET_COLL_DISABLE_AUTOTUNE       (1 << 18)
#define GASNET_COLL_NO_IMAGES              (1 << 19)

/* gex_Coll_BroadcastNB, pen_Coll_GatherToOneNB, pen_Coll_GatherToAllNB, pen_Coll_ScatterNB and
 * pen_Coll_AllToAllNB under their older names, which wait for the end.
 *   team      GASNET_TEAM_ALL, or a gex_TM_t that is no pair
 *   dst, src  this rank's memory
 *   srcimage, dstimage  the root
 *   nbytes    length, of a part if there are parts
 *   flags     see above
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

/* The same, begun: they return a handle for gasnet_coll_wait_sync and so on. Collective over the
 * team. Context: no handler. Not in the specification; declared by gasnet_coll.h. */
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

/* Wait for handles: for one, for some of an array, for all of it; slots of what is done become
 * GASNET_COLL_INVALID_HANDLE. Context: no handler. Block and poll.
 * Not in the specification; declared by gasnet_coll.h. */
PEN_API void gasnet_coll_wait_sync(gasnet_coll_handle_t handle);
PEN_API void gasnet_coll_wait_sync_some(gasnet_coll_handle_t *handles, size_t count);
PEN_API void gasnet_coll_wait_sync_all(gasnet_coll_handle_t *handles, size_t count);

/* The same without waiting: GASNET_OK, or GASNET_ERR_NOT_READY. Context: no handler. Poll once.
 * Not in the specification; declared by gasnet_coll.h. */
PEN_API int gasnet_coll_try_sync(gasnet_coll_handle_t handle);
PEN_API int gasnet_coll_try_sync_some(gasnet_coll_handle_t *handles, size_t count);
PEN_API int gasnet_coll_try_sync_all(gasnet_coll_handle_t *handles, size_t count);

/* The split-phase barrier of GASNet-1 on a team: gasnet_barrier_notify, _wait, _try, _result and
 * gasnet_barrier, whose arguments, results and rules they have. That of GASNET_TEAM_ALL is the same
 * barrier. Collective over the team. Context: no handler (gasnet_coll_barrier_result: any).
 * gasnet_coll_barrier and gasnet_coll_barrier_wait block and poll.
 * Not in the specification; declared by gasnet_coll.h. */
PEN_API void gasnet_coll_barrier_notify(gasnet_team_handle_t team, int name, int flags);
PEN_API int gasnet_coll_barrier_wait(gasnet_team_handle_t team, int name, int flags);
PEN_API int gasnet_coll_barrier_try(gasnet_team_handle_t team, int name, int flags);
PEN_API int gasnet_coll_barrier(gasnet_team_handle_t team, int name, int flags);
PEN_API int gasnet_coll_barrier_result(gasnet_team_handle_t team, int *name);

/* For programs that tune collectives: there is nothing to tune, and they do nothing.
 *   filename  ignored
 * Context: any. They do not poll. Not in the specification; declared by gasnet_coll.h. */
PEN_API void gasnet_coll_loadTuningState(const char *filename, gasnet_team_handle_t team);
PEN_API void gasnet_coll_dumpTuningState(const char *filename, gasnet_team_handle_t team);
PEN_API void gasnet_coll_dumpProfile(const char *filename, gasnet_team_handle_t team);

#ifdef __cplusplus
}
#endif
#endif
