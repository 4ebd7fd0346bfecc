/* SPDX-License-Identifier: BSD-3-Clause */
/* event.h: the events of a trace, and the file that they are kept in (version 1).
 *
 * Ranks write events into rings (ring.h), the supervisor copies them into a file (collect.h), and
 * `penstock trace` reads the file (src/timeline). An event has 32 bytes. It contains no payload, no
 * argument of a message and no address. docs/design/trace.md describes each kind for readers
 * outside of this code.
 *
 * Times are ticks of the host's processor, see pen_trace_ticks. The file's records of hosts say
 * how ticks become nanoseconds. */
#ifndef PEN_TRACE_EVENT_H
#define PEN_TRACE_EVENT_H

#include <stdint.h>
#if !defined(__x86_64__) && !defined(__aarch64__)
#    include "os/os.h"
#endif

enum { PEN_TRACE_VERSION = 1 };

/* X(name, key in tables, sentence). The comment after each row says what the fields contain that
 * are not the start `at` and the length `span`. Fields not named are 0. */
#define PEN_TRACE_KIND_LIST(X)                                             \
    X(NONE, "none", "no event")                                            \
    X(SENT, "sent", "a frame was given to the link")                       \
    X(HANDLED, "handled", "a frame arrived, and its handler ran")          \
    X(WAIT, "wait", "a call waited")                                       \
    X(PUT, "put", "a put")                                                 \
    X(GET, "get", "a get")                                                 \
    X(SET, "set", "a memset of a peer's memory")                           \
    X(DONE, "done", "a put or get that was under way is complete")         \
    X(CALL, "call", "another call")                                        \
    X(ENTER, "enter", "a barrier or collective was entered")               \
    X(STALL, "stall", "a frame waited for room or credit at its receiver") \
    X(RESENT, "resent", "frames were sent again")                          \
    X(GAP, "gap", "the rank did not poll")                                 \
    X(BEGIN, "begin", "a region of the program began")                     \
    X(END, "end", "a region of the program ended")                         \
    X(MARK, "mark", "the program reached a mark")                          \
    X(VALUE, "value", "a value of the program")

typedef enum pen_trace_kind {
#define PEN_TRACE_KIND_ENUM(name, key, text) PEN_TRACE_##name,
    PEN_TRACE_KIND_LIST(PEN_TRACE_KIND_ENUM)
#undef PEN_TRACE_KIND_ENUM
        PEN_TRACE_KINDS
} pen_trace_kind;

/* The fields of each kind:
 *
 * kind     detail        what          peer       number             value
 * SENT     bits of the head that docs/design/wire.md calls kind: category (0..1), lane (2..3),
 *                        handler and   receiver   counts the frames  payload bytes
 *                        8 * arguments            of lane and peer
 * HANDLED  as SENT       as SENT       sender     as the SENT        payload bytes
 * WAIT     pen_awaited   pen_call      awaited    of the collective
 * PUT GET  1: under way  0             target     names the DONE     bytes
 * SET      1: under way  0             target     0                  bytes
 * DONE     0             0             0          of the PUT or GET
 * CALL     0             pen_call      peer       0                  bytes
 * ENTER    pen_trace_meet   kind       0          of the collective  team
 * STALL    lane          0             receiver
 * RESENT   0             0             0          0                  frames
 * BEGIN END MARK         number of the name
 * VALUE                  number of the name                          the bits of a double
 *
 * The span of a SENT is measured for one frame in PEN_TRACE_TIMED and otherwise 0. A peer that is
 * not known is UINT32_MAX. */
enum { PEN_TRACE_TIMED = 16 };

/* The space in which the numbers of an ENTER count. */
typedef enum pen_trace_meet {
    PEN_TRACE_MEET_COLLECTIVE, /* collectives and barriers of a team */
    PEN_TRACE_MEET_NAMED,      /* gasnet_barrier of the primordial team */
    PEN_TRACE_MEETS
} pen_trace_meet;

typedef struct pen_trace_event {
    uint64_t at;   /* ticks */
    uint32_t span; /* pen_trace_pack of ticks */
    uint8_t kind, detail;
    uint16_t what;
    uint32_t peer, number;
    uint64_t value;
} pen_trace_event;

_Static_assert(sizeof(pen_trace_event) == 32, "the length of an event is a part of the format");

/* The event of a frame, whose head's first word docs/design/wire.md describes. */
static inline pen_trace_event pen_trace_frame(pen_trace_kind kind, uint64_t head, uint32_t peer,
                                              uint32_t number, uint32_t body_len)
{
    return (pen_trace_event){ .kind = (uint8_t)kind,
                              .detail = (uint8_t)(head >> 16),
                              .what = (uint16_t)head,
                              .peer = peer,
                              .number = number,
                              .value = body_len };
}

/* ---- lengths of time ------------------------------------------------------------------------- */

/* A length of time is 27 bits and an exponent of two in 5 bits above them. So up to 2^27 it is
 * exact, and beyond it is known to 1 in 2^26. */
enum { PEN_TRACE_SPAN_BITS = 27 };

static inline uint32_t pen_trace_pack(uint64_t ticks)
{
    if (ticks >> PEN_TRACE_SPAN_BITS == 0)
        return (uint32_t)ticks;
    uint32_t shift = (uint32_t)(64 - PEN_TRACE_SPAN_BITS - __builtin_clzll(ticks));
    if (shift > 31)
        return UINT32_MAX;
    return shift << PEN_TRACE_SPAN_BITS | (uint32_t)(ticks >> shift);
}

static inline uint64_t pen_trace_unpack(uint32_t span)
{
    const uint32_t mantissa = (1u << PEN_TRACE_SPAN_BITS) - 1;
    return (uint64_t)(span & mantissa) << (span >> PEN_TRACE_SPAN_BITS);
}

/* ---- the clock ------------------------------------------------------------------------------- */

/* Ticks of a counter that all processors of a host share: the time stamp counter, the generic
 * timer, or nanoseconds of CLOCK_MONOTONIC. */
static inline uint64_t pen_trace_ticks(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    uint64_t count;
    __asm__ __volatile__("mrs %0, cntvct_el0" : "=r"(count));
    return count;
#else
    return pen_now_ns();
#endif
}

/* ---- the file -------------------------------------------------------------------------------- */

/* The file begins with a pen_trace_head. Records follow: each is a pen_trace_record and `len`
 * bytes. Numbers are little-endian. A file may end within a record if the supervisor was killed. */
#define PEN_TRACE_MAGIC "PENTRACE"

typedef struct pen_trace_head {
    char magic[8];
    uint32_t version, event_len;
    uint32_t ranks, hosts; /* numbers of the whole job */
    uint64_t reserved;
} pen_trace_head;

/* HOST: `which` is the host, the body a pen_trace_host. It comes first, and again with later
 * readings of its clocks. EVENTS: `which` is the rank, the body `count` events, the first of which
 * was the rank's event number `first`. Numbers that are missing were dropped. NAMES: `which` is the
 * rank, the body `count` names of PEN_TRACE_NAME_LEN bytes, the first of which has the number
 * `first`. END: `which` is the host, which has ended in order. */
typedef enum pen_trace_record_kind {
    PEN_TRACE_RECORD_HOST = 1,
    PEN_TRACE_RECORD_EVENTS,
    PEN_TRACE_RECORD_NAMES,
    PEN_TRACE_RECORD_END,
} pen_trace_record_kind;

enum { PEN_TRACE_NAME_LEN = 64, PEN_TRACE_NAMES_MAX = 256, PEN_TRACE_HOST_LEN = 64 };
enum { PEN_TRACE_RECORD_LEN_MAX = 1 << 20 };

typedef struct pen_trace_record {
    uint32_t kind, len; /* len: bytes of the body, a multiple of 8 */
    uint32_t which, count;
    uint64_t first;
} pen_trace_record;

typedef struct pen_trace_host {
    uint32_t first, size;             /* its ranks */
    uint64_t ticks, mono_ns, wall_ns; /* its three clocks, read at about the same time */
    char name[PEN_TRACE_HOST_LEN];    /* ends with 0 */
} pen_trace_host;

#endif
