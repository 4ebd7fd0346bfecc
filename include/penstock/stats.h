/* SPDX-License-Identifier: BSD-3-Clause */
/* stats.h: what the library did for this process, by the way it took, and where the process prints.
 * An addition of Penstock, for programs that report on themselves; no other header includes it. */
#ifndef PENSTOCK_STATS_H
#define PENSTOCK_STATS_H

#include <penstock/abi.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Counted since the job started. A put or get that the program does itself, inline, in memory that
 * it has mapped, is not seen by the library: it is what is missing here of those it asked for. */
typedef struct pen_stats {
    uint64_t am_sent_shm, am_sent_net; /* messages, replies too: by shared memory, by a network */
    uint64_t am_handled;               /* messages whose handler ran here */
    uint64_t put_shm, put_net;
    uint64_t get_shm, get_net;
} pen_stats;

/* Reads the counters.
 *   out  receives them
 *   len  sizeof(pen_stats), so that later releases can count more
 * Returns GASNET_OK; GASNET_ERR_NOT_INIT before the job has started, and then nothing is written.
 * Context: any. Does not poll. */
PEN_API int pen_stats_read(pen_stats *out, size_t len);

/* The conduit that carries this process's traffic, as `penstock info` names it; NULL before the job
 * has started. A static string. Context: any. Does not poll. */
PEN_API const char *pen_conduit_name(void);

/* Whether stdout ends on a terminal: this process's own, or the launcher's, who passes on what the
 * ranks print. Rank 0's unfinished lines are shown there after a moment, so that it may draw.
 * Context: any. Does not poll. */
PEN_API int pen_stdout_is_terminal(void);

#ifdef __cplusplus
}
#endif
#endif
