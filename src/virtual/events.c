/* SPDX-License-Identifier: BSD-3-Clause */
/* events.c: a radix heap. Bucket 0 has the events of the present time; bucket i those whose time
 * differs from the present in bit i - 1 and in none above it. When the clock goes on, it goes to
 * the first time of the lowest bucket that has events, and what is in there is spread among buckets
 * below: those above are right as they are. Events of equal times are always in the same bucket, so
 * they stay in the order in which they were added. */
#include "virtual/events.h"

#include "base/compiler.h"

#include <sys/mman.h>

enum { TIME_BITS = 64 };

static void push(pen_virtual_events *events, uint32_t entry_i)
{
    pen_virtual_entry *entry = &events->entries[entry_i - 1];
    uint64_t differs = entry->event.time_ns ^ events->now_ns;
    unsigned bucket_i = differs == 0 ? 0 : TIME_BITS - (unsigned)__builtin_clzll(differs);
    pen_virtual_bucket *bucket = &events->buckets[bucket_i];
    if (bucket_i > 0)
        events->filled |= UINT64_C(1) << (bucket_i - 1);
    entry->next = 0;
    if (bucket->first == 0)
        bucket->first = entry_i;
    else
        events->entries[bucket->last - 1].next = entry_i;
    bucket->last = entry_i;
}

/* Returns 0 if there is no room. */
static uint32_t make_entry(pen_virtual_events *events)
{
    uint32_t entry_i = events->unused;
    if (entry_i > 0) {
        events->unused = events->entries[entry_i - 1].next;
        return entry_i;
    }
    return events->count == events->room ? 0 : ++events->count;
}

bool pen_virtual_events_add(pen_virtual_events *events, uint64_t time_ns, uint32_t kind,
                            uint32_t what)
{
    PEN_INVARIANT(time_ns >= events->now_ns);
    uint32_t entry_i = make_entry(events);
    if (entry_i == 0)
        return false;
    events->entries[entry_i - 1].event = (pen_virtual_event){ time_ns, kind, what };
    push(events, entry_i);
    /* An event of the present time is found without next_ns, which stays right behind it. */
    if (time_ns < events->next_ns && time_ns > events->now_ns)
        events->next_ns = time_ns;
    return true;
}

static uint64_t first_ns(const pen_virtual_events *events, uint32_t bucket_i)
{
    uint64_t next_ns = UINT64_MAX;
    for (uint32_t i = events->buckets[bucket_i].first; i > 0; i = events->entries[i - 1].next) {
        if (events->entries[i - 1].event.time_ns < next_ns)
            next_ns = events->entries[i - 1].event.time_ns;
    }
    return next_ns;
}

uint64_t pen_virtual_events_next_ns(pen_virtual_events *events)
{
    if (events->buckets[0].first != 0)
        return events->now_ns;
    if (events->filled == 0)
        return UINT64_MAX;
    if (events->next_ns == 0)
        events->next_ns = first_ns(events, (uint32_t)__builtin_ctzll(events->filled) + 1);
    return events->next_ns;
}

/* Sets the clock to the next time at which there is an event. */
static void go_on(pen_virtual_events *events)
{
    unsigned lowest = (unsigned)__builtin_ctzll(events->filled) + 1;
    uint32_t first = events->buckets[lowest].first;
    events->now_ns = first_ns(events, lowest);
    events->next_ns = 0;
    events->filled &= events->filled - 1;
    events->buckets[lowest] = (pen_virtual_bucket){ 0 };
    while (first > 0) {
        uint32_t i = first;
        first = events->entries[i - 1].next;
        push(events, i);
    }
}

bool pen_virtual_events_take(pen_virtual_events *events, pen_virtual_event *out)
{
    pen_virtual_bucket *present = &events->buckets[0];
    if (present->first == 0 && events->filled == 0)
        return false;
    if (present->first == 0)
        go_on(events);
    uint32_t entry_i = present->first;
    pen_virtual_entry *entry = &events->entries[entry_i - 1];
    *out = entry->event;
    present->first = entry->next;
    entry->next = events->unused;
    events->unused = entry_i;
    return true;
}

void pen_virtual_events_init(pen_virtual_events *events, uint32_t room) { events->room = room; }

pen_virtual_events *pen_virtual_events_open(uint32_t room)
{
    void *memory = mmap(NULL, pen_virtual_events_len(room), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return NULL;
    pen_virtual_events_init(memory, room);
    return memory;
}

void pen_virtual_events_close(pen_virtual_events *events)
{
    if (events != NULL)
        (void)munmap(events, pen_virtual_events_len(events->room));
}
