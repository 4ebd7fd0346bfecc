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

/* What a conduit with credits of its own (extoll) counts of one peer; docs/design/credits.md. */
typedef struct pen_peer_stats {
    uint64_t packets_sent;     /* to the peer */
    uint64_t quota, hand;      /* credits at the peer: entitled to, in hand */
    uint64_t stalls;           /* waits for credit */
    uint64_t recalls_answered; /* times the peer asked for credits back */
    uint64_t packets_received; /* from the peer */
    uint64_t quota_given;      /* credits here that the peer is entitled to */
    uint64_t mailbox;          /* its packets that wait here */
    uint64_t control_sent;     /* packets with grants and recalls sent to the peer */
    uint64_t rides;            /* grants that rode on other packets */
    uint64_t recalls;          /* times the peer was asked for credits back */
} pen_peer_stats;

/* Reads what is counted of a peer, now.
 *   jobrank  the peer, as its rank in the job
 *   out      receives it
 *   len      sizeof(pen_peer_stats), so that later releases can count more
 * Returns GASNET_OK; GASNET_ERR_NOT_INIT before the job has started; GASNET_ERR_BAD_ARG for a rank
 * that there is not; GASNET_ERR_RESOURCE where the conduit counts nothing of peers, and of this
 * process itself. Nothing is written then. Context: any. Does not poll. */
PEN_API int pen_peer_stats_read(uint32_t jobrank, pen_peer_stats *out, size_t len);

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
