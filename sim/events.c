/* SPDX-License-Identifier: BSD-3-Clause */
/* events.c: a radix heap. Bucket 0 has the events of the present time; bucket i those whose time
 * differs from the present in bit i - 1 and in none above it. When the clock goes on, it goes to
 * the first time of the lowest bucket that has events, and what is in there is spread among buckets
 * below: those above are right as they are. Events of equal times are always in the same bucket, so
 * they stay in the order in which they were added. */
#include "sim/events.h"

#include "base/compiler.h"

#include <stdlib.h>

enum { ROOM_AT_FIRST = 1024, TIME_BITS = 64 };

typedef struct pen_sim_entry {
    pen_sim_event event;
    uint32_t next; /* index + 1 */
} pen_sim_entry;

static void push(pen_sim_events *events, uint32_t entry_i)
{
    pen_sim_entry *entry = &events->entries[entry_i - 1];
    uint64_t differs = entry->event.time_ns ^ events->now_ns;
    unsigned bucket_i = differs == 0 ? 0 : TIME_BITS - (unsigned)__builtin_clzll(differs);
    pen_sim_bucket *bucket = &events->buckets[bucket_i];
    if (bucket_i > 0)
        events->filled |= UINT64_C(1) << (bucket_i - 1);
    entry->next = 0;
    if (bucket->first == 0)
        bucket->first = entry_i;
    else
        events->entries[bucket->last - 1].next = entry_i;
    bucket->last = entry_i;
}

/* 0: no memory. */
static uint32_t make_entry(pen_sim_events *events)
{
    uint32_t entry_i = events->unused;
    if (entry_i > 0) {
        events->unused = events->entries[entry_i - 1].next;
        return entry_i;
    }
    if (events->count == events->room) {
        uint32_t room = events->room > 0 ? 2 * events->room : ROOM_AT_FIRST;
        pen_sim_entry *entries = realloc(events->entries, room * sizeof *entries);
        if (entries == NULL)
            return 0;
        events->entries = entries;
        events->room = room;
    }
    return ++events->count;
}

bool pen_sim_events_add(pen_sim_events *events, uint64_t time_ns, uint32_t kind, uint32_t what)
{
    PEN_INVARIANT(time_ns >= events->now_ns);
    uint32_t entry_i = make_entry(events);
    if (entry_i == 0)
        return false;
    events->entries[entry_i - 1].event = (pen_sim_event){ time_ns, kind, what };
    push(events, entry_i);
    return true;
}

/* To the next time at which there is an event. */
static void go_on(pen_sim_events *events)
{
    unsigned lowest = (unsigned)__builtin_ctzll(events->filled) + 1;
    uint32_t first = events->buckets[lowest].first;
    uint64_t next_ns = UINT64_MAX;
    for (uint32_t i = first; i > 0; i = events->entries[i - 1].next) {
        if (events->entries[i - 1].event.time_ns < next_ns)
            next_ns = events->entries[i - 1].event.time_ns;
    }
    events->now_ns = next_ns;
    events->filled &= events->filled - 1;
    events->buckets[lowest] = (pen_sim_bucket){ 0 };
    while (first > 0) {
        uint32_t i = first;
        first = events->entries[i - 1].next;
        push(events, i);
    }
}

bool pen_sim_events_take(pen_sim_events *events, pen_sim_event *out)
{
    pen_sim_bucket *present = &events->buckets[0];
    if (present->first == 0 && events->filled == 0)
        return false;
    if (present->first == 0)
        go_on(events);
    uint32_t entry_i = present->first;
    pen_sim_entry *entry = &events->entries[entry_i - 1];
    *out = entry->event;
    present->first = entry->next;
    entry->next = events->unused;
    events->unused = entry_i;
    return true;
}

void pen_sim_events_close(pen_sim_events *events)
{
    free(events->entries);
    *events = (pen_sim_events){ 0 };
}
