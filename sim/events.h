/* SPDX-License-Identifier: BSD-3-Clause */
/* events.h: the virtual clock of a simulation. Events are kept in the order of their times, and of
 * equal times in that in which they were added, so that a run depends on nothing but its inputs. */
#ifndef PEN_SIM_EVENTS_H
#define PEN_SIM_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct pen_sim_event {
    uint64_t time_ns;
    uint32_t kind, what; /* the caller's */
} pen_sim_event;

/* Events in the order in which they were added; indices + 1, so that all zero is empty. */
typedef struct pen_sim_bucket {
    uint32_t first, last;
} pen_sim_bucket;

enum { PEN_SIM_BUCKETS = 65 };

typedef struct pen_sim_events {
    struct pen_sim_entry *entries;
    uint32_t count, room, unused; /* unused: the first free entry's index + 1 */
    uint64_t filled;              /* bit i: bucket i + 1 has events */
    pen_sim_bucket buckets[PEN_SIM_BUCKETS];
    uint64_t now_ns; /* the time of the event that was taken last */
} pen_sim_events;

/* A queue that is all zero is empty. The time must not have passed. False: no memory. */
bool pen_sim_events_add(pen_sim_events *events, uint64_t time_ns, uint32_t kind, uint32_t what);

/* Takes the next event out and sets the clock to its time. False: there is none. */
bool pen_sim_events_take(pen_sim_events *events, pen_sim_event *out);

/* Frees what the queue has; it is empty then. */
void pen_sim_events_close(pen_sim_events *events);

#endif
