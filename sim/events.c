/* SPDX-License-Identifier: BSD-3-Clause */
/* events.c: a heap with four children to a parent, which is flatter and kinder to caches than one
 * with two. */
#include "sim/events.h"

#include "base/compiler.h"

#include <stdlib.h>

enum { CHILDREN = 4, ROOM_AT_FIRST = 1024 };

static bool is_before(const pen_sim_event *a, const pen_sim_event *b)
{
    return a->time_ns != b->time_ns ? a->time_ns < b->time_ns : a->order < b->order;
}

bool pen_sim_events_add(pen_sim_events *events, uint64_t time_ns, uint32_t kind, uint32_t what)
{
    PEN_INVARIANT(time_ns >= events->now_ns);
    if (events->count == events->room) {
        size_t room = events->room > 0 ? 2 * events->room : ROOM_AT_FIRST;
        pen_sim_event *heap = realloc(events->heap, room * sizeof *heap);
        if (heap == NULL)
            return false;
        events->heap = heap;
        events->room = room;
    }
    pen_sim_event added = { time_ns, events->added++, kind, what };
    size_t i = events->count++;
    while (i > 0 && is_before(&added, &events->heap[(i - 1) / CHILDREN])) {
        events->heap[i] = events->heap[(i - 1) / CHILDREN];
        i = (i - 1) / CHILDREN;
    }
    events->heap[i] = added;
    return true;
}

bool pen_sim_events_take(pen_sim_events *events, pen_sim_event *out)
{
    if (events->count == 0)
        return false;
    *out = events->heap[0];
    events->now_ns = out->time_ns;
    pen_sim_event last = events->heap[--events->count];
    size_t i = 0;
    for (;;) {
        size_t first = i * CHILDREN + 1, least = first;
        if (first >= events->count)
            break;
        for (size_t child = first + 1; child < first + CHILDREN && child < events->count; child++) {
            if (is_before(&events->heap[child], &events->heap[least]))
                least = child;
        }
        if (!is_before(&events->heap[least], &last))
            break;
        events->heap[i] = events->heap[least];
        i = least;
    }
    events->heap[i] = last;
    return true;
}

void pen_sim_events_close(pen_sim_events *events)
{
    free(events->heap);
    *events = (pen_sim_events){ 0 };
}
