/* SPDX-License-Identifier: BSD-3-Clause */
/* events.h: events in the order of their times, and events of equal times in the order in which
 * they were added, so that a run depends on nothing but its inputs. The queue is one piece of
 * memory without pointers, so that several processes can share it. */
#ifndef PEN_VIRTUAL_EVENTS_H
#define PEN_VIRTUAL_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct pen_virtual_event {
    uint64_t time_ns;
    uint32_t kind, what; /* the caller's */
} pen_virtual_event;

typedef struct pen_virtual_entry {
    pen_virtual_event event;
    uint32_t next; /* index + 1 */
} pen_virtual_entry;

/* Events in the order in which they were added; indices + 1, so that all zero is empty. */
typedef struct pen_virtual_bucket {
    uint32_t first, last;
} pen_virtual_bucket;

enum { PEN_VIRTUAL_BUCKETS = 65 };

typedef struct pen_virtual_events {
    uint32_t count, room, unused; /* unused: the first free entry's index + 1 */
    uint64_t filled;              /* bit i: bucket i + 1 has events */
    pen_virtual_bucket buckets[PEN_VIRTUAL_BUCKETS];
    uint64_t now_ns; /* the time of the event that was taken last */
    /* The time of the first event after the present, or 0 if it has to be looked for. */
    uint64_t next_ns;
    pen_virtual_entry entries[];
} pen_virtual_events;

/* Returns the bytes of a queue for this many events. */
static inline size_t pen_virtual_events_len(uint32_t room)
{
    return sizeof(pen_virtual_events) + (size_t)room * sizeof(pen_virtual_entry);
}

/* Makes an empty queue in zeroed memory of that length. */
void pen_virtual_events_init(pen_virtual_events *events, uint32_t room);

/* Maps a queue of its own. Only memory that events use is taken. Returns NULL without memory. */
pen_virtual_events *pen_virtual_events_open(uint32_t room);
void pen_virtual_events_close(pen_virtual_events *events);

/* Adds an event, whose time must not have passed. Returns false if there is no room. */
bool pen_virtual_events_add(pen_virtual_events *events, uint64_t time_ns, uint32_t kind,
                            uint32_t what);

/* Returns the time of the next event; UINT64_MAX if there is none. */
uint64_t pen_virtual_events_next_ns(pen_virtual_events *events);

/* Takes the next event out and sets the clock to its time. Returns false if there is none. */
bool pen_virtual_events_take(pen_virtual_events *events, pen_virtual_event *out);

#endif
