/* SPDX-License-Identifier: BSD-3-Clause */
/* stats.h: counters of this process's communication by shared memory and by network, counters of
 * one peer, and facts about the conduit and standard output. An addition of Penstock, for programs
 * that report on themselves; no other header includes it. */
#ifndef PENSTOCK_STATS_H
#define PENSTOCK_STATS_H

#include <penstock/abi.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Counters since the job started. Inline code of the program performs puts and gets in mapped
 * memory itself; the library does not see them, so these counters do not contain them. */
typedef struct pen_stats {
    uint64_t am_sent_shm, am_sent_net; /* messages and replies: by shared memory, by a network */
    uint64_t am_handled;               /* messages whose handler ran here */
    uint64_t put_shm, put_net;
    uint64_t get_shm, get_net;
} pen_stats;

/* Reads the counters.
 *   out  receives the counters
 *   len  sizeof(pen_stats), so that later releases can add counters
 * Returns GASNET_OK; GASNET_ERR_NOT_INIT before the job has started, and then writes nothing.
 * Context: any. Does not poll. */
PEN_API int pen_stats_read(pen_stats *out, size_t len);

/* Counters of one peer, from a conduit that has its own credits (extoll, ofi, portals, ucx); see
 * docs/design/credits.md. */
typedef struct pen_peer_stats {
    uint64_t packets_sent;     /* to the peer */
    uint64_t quota, hand;      /* credits at the peer: entitlement, available now */
    uint64_t stalls;           /* waits for credit */
    uint64_t recalls_answered; /* times the peer asked for credits back */
    uint64_t packets_received; /* from the peer */
    uint64_t quota_given;      /* credits of this rank that the peer is entitled to */
    uint64_t mailbox;          /* packets from the peer that wait here */
    uint64_t control_sent;     /* packets with grants and recalls sent to the peer */
    uint64_t rides;            /* grants that were piggybacked on other packets */
    uint64_t recalls;          /* times the peer was asked for credits back */
} pen_peer_stats;

/* Reads the counters of a peer.
 *   jobrank  the peer's rank in the job
 *   out      receives the counters
 *   len      sizeof(pen_peer_stats), so that later releases can add counters
 * Returns GASNET_OK; GASNET_ERR_NOT_INIT before the job has started; GASNET_ERR_BAD_ARG if the rank
 * does not exist; GASNET_ERR_RESOURCE for this process itself, if the conduit has no counters of
 * peers, and if another thread kept the conduit busy for about a second. On an error nothing is
 * written. Context: any but a signal handler. Does not poll. */
PEN_API int pen_peer_stats_read(uint32_t jobrank, pen_peer_stats *out, size_t len);

/* Returns the name of the conduit that carries this process's traffic, as `penstock info` prints
 * it; NULL before the job has started. A static string. Context: any. Does not poll. */
PEN_API const char *pen_conduit_name(void);

/* Returns non-zero if stdout ends on a terminal. Under a launcher that passes on the output of the
 * ranks, the launcher's stdout counts. Rank 0's unfinished lines appear there after a moment, so
 * that it may draw. Context: any. Does not poll. */
PEN_API int pen_stdout_is_terminal(void);

#ifdef __cplusplus
}
#endif
#endif
