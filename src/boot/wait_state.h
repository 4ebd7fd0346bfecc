/* SPDX-License-Identifier: BSD-3-Clause */
/* wait_state.h: the record of a rank's current wait, a cache line of the rank's row in the host
 * page. The launcher's report reads it to explain why a job stands still.
 *
 * The rank writes it only in the slow part of its waits. A wait appears after PEN_WAIT_SHOWN_NS, is
 * refreshed while it lasts, and is withdrawn at its end. The library does not see where a loop of
 * polls ends, so the record of a loop counts only if it was refreshed within PEN_WAIT_LOOP_NS. If
 * several threads of a rank wait, the wait of the first one is shown. Barriers are counted as soon
 * as they are entered. */
#ifndef PEN_BOOT_WAIT_STATE_H
#define PEN_BOOT_WAIT_STATE_H

#include "base/compiler.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* also the shortest time between refreshes of a wait */
#define PEN_WAIT_SHOWN_NS UINT64_C(100000000)
#define PEN_WAIT_LOOP_NS  UINT64_C(3000000000) /* a loop of polls refreshes at least this often */
#define PEN_WAIT_NOBODY   UINT32_MAX           /* stands for an unknown rank */

/* The call that a rank is in. */
#define PEN_CALL_LIST(X)                             \
    X(NONE, "no call")                               \
    X(EVENT_WAIT, "gex_Event_Wait")                  \
    X(EVENT_WAIT_SOME, "gex_Event_WaitSome")         \
    X(EVENT_WAIT_ALL, "gex_Event_WaitAll")           \
    X(NBI_WAIT, "gex_NBI_Wait")                      \
    X(PUT, "gex_RMA_Put")                            \
    X(GET, "gex_RMA_Get")                            \
    X(SET, "gasnet_memset")                          \
    X(VIS, "gex_VIS")                                \
    X(ATOMIC, "gex_AD_Op")                           \
    X(REQUEST, "gex_AM_Request")                     \
    X(PREPARE, "gex_AM_PrepareRequest")              \
    X(BARRIER_WAIT, "gasnet_barrier_wait")           \
    X(TEAM_BARRIER_WAIT, "gasnet_coll_barrier_wait") \
    X(TEAM, "gex_TM_Split, _Create or _Destroy")     \
    X(PUBLISH, "gex_EP_PublishBoundSegment")         \
    X(ENTER, "the beginning of a barrier")           \
    X(SETUP, "a collective set-up call")             \
    X(INIT, "the start-up of the library")           \
    X(FINALIZE, "pen_finalize")                      \
    X(LEAVE, "exit(0) or the return from main")      \
    X(LOCK, "gex_HSL_Lock")                          \
    X(BLOCKUNTIL, "GASNET_BLOCKUNTIL")               \
    X(POLL, "a loop of gasnet_AMPoll")
typedef enum pen_call {
#define PEN_CALL_ENUM(name, text) PEN_CALL_##name,
    PEN_CALL_LIST(PEN_CALL_ENUM)
#undef PEN_CALL_ENUM
} pen_call;

/* The object that the call waits for. */
typedef enum pen_awaited {
    PEN_AWAITED_UNKNOWN,
    PEN_AWAITED_PUT,     /* peer: its target */
    PEN_AWAITED_GET,     /* peer: its source */
    PEN_AWAITED_ATOMIC,  /* peer */
    PEN_AWAITED_LONG,    /* an active message whose payload travels; peer */
    PEN_AWAITED_ROOM,    /* room for a message; peer */
    PEN_AWAITED_NAMED,   /* a gasnet_barrier of the primordial team; number */
    PEN_AWAITED_BARRIER, /* a gex_Coll_BarrierNB of the primordial team; number */
    /* a collective of any team; number; peer: a member that is waited for */
    PEN_AWAITED_COLLECTIVE,
    PEN_AWAITED_RANKS, /* ranks that have not come; peer: one of them, if that is known */
} pen_awaited;

/* One wait, as its rank describes it. */
typedef struct pen_wait_note {
    pen_call call;
    pen_awaited awaited;
    uint32_t peer;     /* job rank; PEN_WAIT_NOBODY: unknown */
    uint32_t number;   /* number of the barrier or collective on its team, from 0 */
    uint64_t team;     /* team id; 0: the primordial team */
    uint64_t since_ns; /* CLOCK_MONOTONIC */
} pen_wait_note;

enum { PEN_ENTERED_NAMED, PEN_ENTERED_BARRIER, PEN_ENTERED_COLLECTIVE, PEN_ENTERED_KINDS };

/* The published record. Written by its rank alone; atomics are relaxed unless the code says why
 * not. */
typedef struct pen_wait_state {
    PEN_CACHE_ALIGNED _Atomic uint32_t sequence; /* odd while the record is written */
    _Atomic uint32_t call, awaited, peer, number;
    /* By kind of barrier or collective of the primordial team: 1 + the number of the last one
     * entered. Barriers are also collectives, unless they are named. */
    _Atomic uint32_t entered[PEN_ENTERED_KINDS];
    _Atomic uint64_t team, since_ns, seen_ns;
} pen_wait_state;

/* Publishes or refreshes a wait. note NULL: the wait is over. Called by one thread of a rank at a
 * time. */
void pen_wait_publish(pen_wait_state *state, const pen_wait_note *note, uint64_t now_ns);

/* Reads the record. Returns false if the rank waits in no call, or if the record changed during
 * every try. */
bool pen_wait_read(const pen_wait_state *state, uint64_t now_ns, pen_wait_note *out);

/* "waits in gex_Event_Wait for 9.8 s, for a put to rank 1", or "" */
void pen_wait_text(const pen_wait_note *note, uint64_t now_ns, char *out, size_t out_len);
const char *pen_call_text(pen_call call);

#endif
