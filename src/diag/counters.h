/* SPDX-License-Identifier: BSD-3-Clause */
/* counters.h: counts of a rank's operations, by route, and of the reasons why it waited. They
 * are always on: plain additions, made under the matching lock or by the only thread. A reader
 * may see a slightly old value, but never a torn one. PENSTOCK_STATS=1 prints them. progress/
 * copies them to the host page from time to time, where `penstock top` reads them. */
#ifndef PEN_DIAG_COUNTERS_H
#define PEN_DIAG_COUNTERS_H

#include <stdint.h>

/* The route of an operation: inline (the client's own load or store through the frozen view;
 * counted in steps, when inline code calls the library to poll), the host's shared memory, or a
 * network. */
#define PEN_COUNTER_LIST(X)                                                       \
    X(am_sent_shm, "active messages sent through shared memory")                  \
    X(am_sent_net, "active messages sent through a network")                      \
    X(am_handled, "active messages whose handler ran here")                       \
    X(am_self, "active messages of this rank to itself")                          \
    X(put_shm, "puts done by the library in shared memory")                       \
    X(put_net, "puts sent through a network or by messages")                      \
    X(get_shm, "gets done by the library in shared memory")                       \
    X(get_net, "gets sent through a network or by messages")                      \
    X(atomic_shm, "remote atomics done by the library in shared memory")          \
    X(atomic_net, "remote atomics done by messages")                              \
    X(atomic_device, "remote atomics done by a network device")                   \
    X(frame_dropped, "malformed frames dropped")                                  \
    X(net_bad_length, "datagrams dropped: of invalid length")                     \
    X(net_bad_version, "datagrams dropped: not of this protocol")                 \
    X(net_bad_epoch, "datagrams dropped: of a different launch")                  \
    X(net_bad_source, "datagrams dropped: not between ranks of the job")          \
    X(net_bad_seal, "datagrams dropped: not sealed by a rank")                    \
    X(net_replayed, "datagrams dropped: received before")                         \
    X(net_bad_frame, "frames dropped: sealed but malformed")                      \
    X(net_no_room, "frames dropped: sent without credit")                         \
    X(net_send_failed, "datagrams that the kernel did not send")                  \
    X(local_known, "puts and gets whose local memory the card knew")              \
    X(local_registered, "puts and gets that registered local memory")             \
    X(local_copied, "puts and gets whose data the link copied")                   \
    X(again_room, "posts that had to wait for room at the peer")                  \
    X(again_backlog, "replies queued because the peer had no room")               \
    X(wait_yield, "times a waiting rank gave its core away")                      \
    X(wait_sleep, "times a waiting rank slept")                                   \
    X(am_bytes_shm, "payload bytes sent through shared memory")                   \
    X(am_bytes_net, "payload bytes sent through a network")                       \
    X(long_bytes_shm, "payload bytes of Longs, stored in shared memory")          \
    X(put_bytes_shm, "bytes of put_shm")                                          \
    X(put_bytes_net, "bytes of put_net")                                          \
    X(get_bytes_shm, "bytes of get_shm")                                          \
    X(get_bytes_net, "bytes of get_net")                                          \
    X(rma_begun, "puts, gets and atomics that the client began, in steps of 128") \
    X(frame_resent, "frames sent again: they were lost, or the peer had no room") \
    X(put_direct, "puts, or parts of puts, that the network moved itself")        \
    X(get_direct, "gets, or parts of gets, that the network moved itself")

typedef struct pen_counters {
#define PEN_COUNTER_FIELD(name, text) uint64_t name;
    PEN_COUNTER_LIST(PEN_COUNTER_FIELD)
#undef PEN_COUNTER_FIELD
} pen_counters;

enum { PEN_COUNTER_COUNT = sizeof(pen_counters) / sizeof(uint64_t) };

/* Counts that a link with its own credits keeps for one peer: as its sender, and as its
 * receiver. */
#define PEN_PEER_COUNTER_LIST(X)                                                \
    X(packets_sent, "packets sent to the peer")                                 \
    X(quota, "credits at the peer that we are entitled to")                     \
    X(hand, "credits at the peer that we hold")                                 \
    X(stalls, "waits for credit")                                               \
    X(recalls_answered, "times the peer asked for credits back")                \
    X(packets_received, "packets received from the peer")                       \
    X(quota_given, "credits here that the peer is entitled to")                 \
    X(mailbox, "its packets that wait here")                                    \
    X(control_sent, "control packets with grants and recalls sent to the peer") \
    X(rides, "grants piggybacked on other packets")                             \
    X(recalls, "times the peer was asked for credits back")

typedef struct pen_peer_counters {
#define PEN_PEER_COUNTER_FIELD(name, text) uint64_t name;
    PEN_PEER_COUNTER_LIST(PEN_PEER_COUNTER_FIELD)
#undef PEN_PEER_COUNTER_FIELD
} pen_peer_counters;

#endif
