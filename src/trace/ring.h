/* SPDX-License-Identifier: BSD-3-Clause */
/* ring.h: a rank's ring of trace events, in memory that its host's supervisor reads.
 *
 * The rank writes and never waits. If the supervisor does not read in time, the oldest events are
 * overwritten, and the supervisor counts them as dropped. A job that is not traced has no ring, and
 * its pen_trace pointers are NULL. */
#ifndef PEN_TRACE_RING_H
#define PEN_TRACE_RING_H

#include "base/compiler.h"
#include "os/lock.h"
#include "trace/event.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The shared part, before the events. The rank writes it, the supervisor reads it. */
typedef struct pen_trace_ring {
    PEN_CACHE_ALIGNED _Atomic uint64_t head; /* events written so far */
    PEN_CACHE_ALIGNED _Atomic uint32_t name_count;
    char names[PEN_TRACE_NAMES_MAX][PEN_TRACE_NAME_LEN]; /* complete below name_count */
    PEN_CACHE_ALIGNED _Atomic uint64_t words[];          /* 4 for each event */
} pen_trace_ring;

_Static_assert(sizeof(pen_trace_ring) % PEN_CACHE_LINE == 0, "events begin at its end");

enum { PEN_TRACE_EVENT_WORDS = sizeof(pen_trace_event) / sizeof(uint64_t) };
enum { PEN_TRACE_EVENTS_MIN = 1 << 7, PEN_TRACE_EVENTS_MAX = 1 << 26 };

/* Bytes of a ring whose events fit `wish` bytes. Their number is a power of two within the limits
 * above. */
size_t pen_trace_ring_len(uint64_t wish);

/* Number of events of a ring of this length; 0 if no ring has it. */
uint64_t pen_trace_ring_events(size_t len);

/* The private part, in the rank. */
enum { PEN_TRACE_TABLE_LEN = 1024 }; /* places of names; a power of two */

typedef struct pen_trace {
    pen_lock lock;
    pen_trace_ring *ring;
    uint64_t head, mask;
    uint32_t kinds;           /* bits of the kinds that are written */
    _Atomic uint32_t numbers; /* operations that a DONE will name */
    /* A wait has given the core away since the last poll, so a late poll is no GAP. relaxed: a
     * hint; threads may take each other's */
    _Atomic bool idle;
    uint16_t table[PEN_TRACE_TABLE_LEN]; /* 1 + number of a name, by hash; 0: free */
} pen_trace;

/* memory: zeros, of length pen_trace_ring_len(...). Not thread-safe. If the rank joins again, goes
 * on where it stopped. */
void pen_trace_open(pen_trace *trace, void *memory, size_t len, uint32_t kinds,
                    pen_concurrency concurrency);

/* Number of a name of a client's region. Names differ in their first PEN_TRACE_NAME_LEN - 1 bytes.
 * If there are too many, answers the last number, which is called "other". */
uint16_t pen_trace_name(pen_trace *trace, const char *name);

static inline void pen_trace_write(pen_trace *trace, const pen_trace_event *event)
{
    uint64_t words[PEN_TRACE_EVENT_WORDS];
    if (pen_unlikely((trace->kinds >> event->kind & 1) == 0))
        return;
    __builtin_memcpy(words, event, sizeof words);
    pen_lock_take(&trace->lock);
    _Atomic uint64_t *slot =
        &trace->ring->words[(trace->head & trace->mask) * PEN_TRACE_EVENT_WORDS];
    /* release: a reader that sees a word of this event also sees that head had come this far, so
     * it does not take the slot for the older event */
    for (int i = 0; i < PEN_TRACE_EVENT_WORDS; i++)
        atomic_store_explicit(&slot[i], words[i], memory_order_release);
    /* release: pairs with the acquire in pen_trace_read; the words come with it */
    atomic_store_explicit(&trace->ring->head, ++trace->head, memory_order_release);
    pen_lock_drop(&trace->lock);
}

/* Writes an event that begins at `at` and ends now. */
static inline void pen_trace_write_span(pen_trace *trace, pen_trace_event event)
{
    event.span = pen_trace_pack(pen_trace_ticks() - event.at);
    pen_trace_write(trace, &event);
}

/* ---- the reader's side ----------------------------------------------------------------------- */

/* Copies events from number *from on, at most max of them. Returns how many, and moves *from
 * behind them. Events that were overwritten before they could be copied are skipped; then *from
 * has moved by more than was copied, and *first is the number of the first copied event. The ring
 * may be hostile: nothing outside of its words is read. */
size_t pen_trace_read(const pen_trace_ring *ring, uint64_t events, uint64_t *from, uint64_t *first,
                      pen_trace_event *out, size_t max);

#endif
