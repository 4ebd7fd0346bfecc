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
    uint64_t order;      /* the queue's: which was added first */
    uint32_t kind, what; /* the caller's */
} pen_sim_event;

typedef struct pen_sim_events {
    pen_sim_event *heap;
    size_t count, room;
    uint64_t added;
    uint64_t now_ns; /* the time of the event that was taken last */
} pen_sim_events;

/* A queue that is all zero is empty. The time must not have passed. False: no memory. */
bool pen_sim_events_add(pen_sim_events *events, uint64_t time_ns, uint32_t kind, uint32_t what);

/* Takes the next event out and sets the clock to its time. False: there is none. */
bool pen_sim_events_take(pen_sim_events *events, pen_sim_event *out);

/* Frees what the queue has; it is empty then. */
void pen_sim_events_close(pen_sim_events *events);

#endif
