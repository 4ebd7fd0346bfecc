/* SPDX-License-Identifier: BSD-3-Clause */
/* system.h: who this process is in the job, and which ranks are near it. */
#ifndef PENSTOCK_SYSTEM_H
#define PENSTOCK_SYSTEM_H

#include <penstock/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/* This process's rank in the job, 0 .. size - 1. Valid once the job has started.
 * Context: any. Does not poll.
 * GASNet-EX, chapter "System". */
GEX_INLINE gex_Rank_t gex_System_QueryJobRank(void);

/* An internal name of the reference implementation that clients read. */
#define gasneti_mynode (gex_System_QueryJobRank())

/* The number of processes in the job. Valid once the job has started.
 * Context: any. Does not poll.
 * GASNet-EX, chapter "System". */
GEX_INLINE gex_Rank_t gex_System_QueryJobSize(void);

/* How many threads of this process may use the library at a time: GASNET_MAX_THREADS, 1 in
 * GASNET_SEQ. A thread that ends makes room for another.
 * Context: any. Does not poll.
 * GASNet-EX, chapter "System". */
PEN_API uint64_t gex_System_QueryMaxThreads(void);

/* Non-zero if threads of the library's own may run handlers; then locks are needed even in
 * GASNET_SEQ. Never more than GASNET_HIDDEN_AM_CONCURRENCY_LEVEL, which is 0.
 * Context: any. Does not poll.
 * GASNet-EX, chapter "System". */
PEN_API int gex_System_QueryHiddenAMConcurrencyLevel(void);

/* The ranks whose memory this process can reach by load and store (its neighbourhood).
 *   info   receives an array in order of job rank, the library's, valid for ever; NULL: not wanted
 *   count  receives its length, at least 1; NULL: not wanted
 *   mine   receives the caller's place in it; NULL: not wanted
 * Context: any. Does not poll.
 * GASNet-EX, chapter "System". */
PEN_API void gex_System_QueryNbrhdInfo(gex_RankInfo_t **info, gex_Rank_t *count, gex_Rank_t *mine);

/* The ranks on this host, which contain the neighbourhood. Arguments as above.
 * Context: any. Does not poll.
 * GASNet-EX, chapter "System". */
PEN_API void gex_System_QueryHostInfo(gex_RankInfo_t **info, gex_Rank_t *count, gex_Rank_t *mine);

/* How many neighbourhoods and hosts the job has, and which of them are the caller's, counted from 0
 * in the order of their first ranks. Any argument may be NULL.
 * Context: any. Does not poll.
 * GASNet-EX, chapter "System". */
PEN_API void gex_System_QueryMyPosition(gex_Rank_t *nbrhd_count, gex_Rank_t *nbrhd_i,
                                        gex_Rank_t *host_count, gex_Rank_t *host_i);

/* A variable of the environment of the console that started the job, which a launcher need not have
 * passed on; a value this process has set itself wins.
 *   name  the variable
 * Returns its value, the library's, or NULL if it is not set.
 * Context: no handler. Does not poll.
 * GASNet-1, chapter "Core API": job control. */
PEN_API char *gasnet_getenv(const char *name);

typedef struct {
    gex_Rank_t host;      /* number of the rank's host, counted from 0 */
    gex_Rank_t supernode; /* number of its neighbourhood, counted from 0 */
    uintptr_t offset; /* same neighbourhood: add it to the rank's segment addresses to get ours */
} gasnet_nodeinfo_t;

/* Where the ranks are.
 *   table  receives one row for each of the first count ranks
 *   count  rows of the table, at most the number of ranks
 * Returns GASNET_OK, GASNET_ERR_NOT_INIT before the job has started, GASNET_ERR_BAD_ARG.
 * Legal between gasnet_init and gasnet_attach, then without offsets. Context: no handler. Does not
 * poll.
 * GASNet-1, chapter "Core API": job environment queries. */
PEN_API int gasnet_getNodeInfo(gasnet_nodeinfo_t *table, int count);

#ifdef __cplusplus
}
#endif
#include <penstock/inline/system.h>
#endif
