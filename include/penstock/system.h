/* SPDX-License-Identifier: BSD-3-Clause */
/* system.h: this process's rank in the job, and the ranks near it. */
#ifndef PENSTOCK_SYSTEM_H
#define PENSTOCK_SYSTEM_H

#include <penstock/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Returns this process's rank in the job, 0 .. size - 1. Valid once the job has started. Context:
 * any. Does not poll.
 * GASNet-EX, chapter "System". */
GEX_INLINE gex_Rank_t gex_System_QueryJobRank(void);

/* An internal name of the reference implementation that clients read. */
#define gasneti_mynode (gex_System_QueryJobRank())

/* Returns the number of processes in the job. Valid once the job has started. Context: any. Does
 * not poll.
 * GASNet-EX, chapter "System". */
GEX_INLINE gex_Rank_t gex_System_QueryJobSize(void);

/* Returns how many threads of this process may use the library at a time: GASNET_MAX_THREADS, 1 in
 * GASNET_SEQ. When a thread ends, another thread may take its place. Context: any. Does not poll.
 * GASNet-EX, chapter "System". */
PEN_API uint64_t gex_System_QueryMaxThreads(void);

/* Returns non-zero if threads of the library may run handlers; then locks are needed even in
 * GASNET_SEQ. At most GASNET_HIDDEN_AM_CONCURRENCY_LEVEL, which is 0. Context: any. Does not poll.
 * GASNet-EX, chapter "System". */
PEN_API int gex_System_QueryHiddenAMConcurrencyLevel(void);

/* Lists the ranks whose memory this process can reach by load and store (its neighbourhood).
 *   info   receives an array in order of job rank, which the library owns and keeps until the job
 *          ends; may be NULL
 *   count  receives the length of the array, at least 1; may be NULL
 *   mine   receives the caller's place in the array; may be NULL
 * Context: any. Does not poll.
 * GASNet-EX, chapter "System". */
PEN_API void gex_System_QueryNbrhdInfo(gex_RankInfo_t **info, gex_Rank_t *count, gex_Rank_t *mine);

/* Lists the ranks on this host, which contain the neighbourhood. Arguments are those of
 * gex_System_QueryNbrhdInfo. Context: any. Does not poll.
 * GASNet-EX, chapter "System". */
PEN_API void gex_System_QueryHostInfo(gex_RankInfo_t **info, gex_Rank_t *count, gex_Rank_t *mine);

/* Tells how many neighbourhoods and hosts the job has, and the numbers of the caller's. They are
 * numbered from 0 in the order of their first ranks. Any argument may be NULL. Context: any. Does
 * not poll.
 * GASNet-EX, chapter "System". */
PEN_API void gex_System_QueryMyPosition(gex_Rank_t *nbrhd_count, gex_Rank_t *nbrhd_i,
                                        gex_Rank_t *host_count, gex_Rank_t *host_i);

/* Returns an environment variable of the console that started the job, also if the launcher did not
 * pass it on. If this process has set the variable itself, that value takes precedence.
 *   name  the variable
 * Returns the value, a string of the library, or NULL if it is not set. Context: no handler. Does
 * not poll.
 * GASNet-1, chapter "Core API": job control. */
PEN_API char *gasnet_getenv(const char *name);

typedef struct {
    gex_Rank_t host;      /* number of the rank's host, counted from 0 */
    gex_Rank_t supernode; /* number of its neighbourhood, counted from 0 */
    uintptr_t offset;     /* if it is in the same neighbourhood: add this to the rank's segment
                             addresses to get local ones */
} gasnet_nodeinfo_t;

/* Tells where the ranks are.
 *   table  receives one row for each of the first count ranks
 *   count  rows of the table, at most the number of ranks
 * Returns GASNET_OK, GASNET_ERR_NOT_INIT before the job has started, GASNET_ERR_BAD_ARG. Legal
 * between gasnet_init and gasnet_attach; the offsets are then 0. Context: no handler. Does not
 * poll.
 * GASNet-1, chapter "Core API": job environment queries. */
PEN_API int gasnet_getNodeInfo(gasnet_nodeinfo_t *table, int count);

#ifdef __cplusplus
}
#endif
#include <penstock/inline/system.h>
#endif
