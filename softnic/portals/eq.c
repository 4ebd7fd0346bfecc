/* SPDX-License-Identifier: BSD-3-Clause */
/* eq.c: event queues. A queue is a ring of `len` events, of which `count` are for any event, and
 * one more for the PT_DISABLED of each portal with flow control. If it is full, the oldest event
 * that is not PT_DISABLED is overwritten. */
#include "softnic/portals/inner.h"

#include <stdlib.h>
#include <string.h>

enum { COUNT_MAX = 1 << 24 };

static ptl_event_t *event_at(const p4_eq *eq, ptl_size_t i)
{
    return &eq->events[(eq->first + i) % eq->len];
}

static void take(p4_eq *eq, ptl_event_t *out)
{
    *out = *event_at(eq, 0);
    eq->first = (eq->first + 1) % eq->len;
    eq->used--;
    if (out->type == PTL_EVENT_PT_DISABLED)
        eq->notices--;
}

static void drop_oldest(p4_eq *eq)
{
    ptl_size_t oldest = 0;
    while (event_at(eq, oldest)->type == PTL_EVENT_PT_DISABLED)
        oldest++;
    for (; oldest > 0; oldest--)
        *event_at(eq, oldest) = *event_at(eq, oldest - 1);
    eq->first = (eq->first + 1) % eq->len;
    eq->used--;
    eq->is_dropped = true;
}

void p4_eq_post(pen_portals *card, ptl_handle_eq_t handle, const ptl_event_t *event)
{
    p4_eq *eq = p4_handle_find(card, P4_EQ, handle);
    if (eq == NULL)
        return;
    bool is_notice = event->type == PTL_EVENT_PT_DISABLED;
    if (!is_notice && eq->used - eq->notices >= eq->count) {
        drop_oldest(eq);
        card->counts.overwritten++;
    }
    if (is_notice) {
        if (eq->used == eq->len) /* the program freed the portal whose room this was */
            return;
        eq->notices++;
    }
    *event_at(eq, eq->used) = *event;
    eq->used++;
    card->is_changed = true;
}

bool p4_eq_promise(pen_portals *card, ptl_handle_eq_t handle, uint32_t events)
{
    p4_eq *eq = p4_handle_find(card, P4_EQ, handle);
    if (eq == NULL || events == 0)
        return true;
    if (eq->used - eq->notices + eq->promised + events > eq->count)
        return false;
    eq->promised += events;
    return true;
}

void p4_eq_keep_promise(pen_portals *card, ptl_handle_eq_t handle, uint32_t events)
{
    p4_eq *eq = p4_handle_find(card, P4_EQ, handle);
    if (eq != NULL)
        eq->promised -= eq->promised < events ? eq->promised : events;
}

bool p4_eq_reserve(pen_portals *card, ptl_handle_eq_t handle, int portals)
{
    p4_eq *eq = p4_handle_find(card, P4_EQ, handle);
    if (eq == NULL)
        return true;
    if (portals < 0) { /* the room stays, for an event that may stand in it */
        eq->portals--;
        return true;
    }
    if (eq->count + eq->portals + 1 > eq->len) {
        ptl_event_t *events = malloc((eq->len + 1) * sizeof(*events));
        if (events == NULL)
            return false;
        for (ptl_size_t i = 0; i < eq->used; i++)
            events[i] = *event_at(eq, i);
        free(eq->events);
        eq->events = events;
        eq->first = 0;
        eq->len++;
    }
    eq->portals++;
    return true;
}

static p4_eq *make(pen_portals *card, p4_ni *ni, ptl_size_t count, ptl_handle_eq_t *eq_handle)
{
    p4_eq *eq = calloc(1, sizeof(*eq));
    if (eq == NULL)
        return NULL;
    *eq = (p4_eq){ .ni = ni, .count = count > 0 ? count : 1 };
    eq->len = eq->count;
    eq->events = calloc(eq->len, sizeof(*eq->events));
    ptl_handle_eq_t handle =
        eq->events != NULL ? p4_handle_make(card, P4_EQ, eq) : PTL_INVALID_HANDLE;
    if (handle == PTL_INVALID_HANDLE) {
        free(eq->events);
        free(eq);
        return NULL;
    }
    ni->counts[P4_EQ]++;
    *eq_handle = handle;
    return eq;
}

int PtlEQAlloc(ptl_handle_ni_t ni_handle, ptl_size_t count, ptl_handle_eq_t *eq_handle)
{
    pen_portals *card = p4_enter();
    if (card == NULL)
        return PTL_NO_INIT;
    p4_ni *ni = p4_find_ni(card, ni_handle);
    int result = PTL_OK;
    if (ni == NULL || eq_handle == NULL)
        result = PTL_ARG_INVALID;
    else if (ni->counts[P4_EQ] >= (uint32_t)ni->limits.max_eqs || count > COUNT_MAX ||
             make(card, ni, count, eq_handle) == NULL)
        result = PTL_NO_SPACE;
    p4_leave(card);
    return result;
}

void p4_eq_end(pen_portals *card, ptl_handle_eq_t handle)
{
    p4_eq *eq = p4_handle_find(card, P4_EQ, handle);
    eq->ni->counts[P4_EQ]--;
    p4_handle_end(card, P4_EQ, handle, false);
    free(eq->events);
    free(eq);
    card->is_changed = true;
}

int PtlEQFree(ptl_handle_eq_t eq_handle)
{
    pen_portals *card = p4_enter();
    if (card == NULL)
        return PTL_NO_INIT;
    int result = PTL_ARG_INVALID;
    if (p4_handle_find(card, P4_EQ, eq_handle) != NULL) {
        p4_eq_end(card, eq_handle);
        result = PTL_OK;
    }
    p4_leave(card);
    return result;
}

typedef struct eq_wait {
    const ptl_handle_eq_t *handles;
    unsigned size;
    unsigned start; /* the queue to look at first */
    ptl_event_t *event;
    unsigned *which;
} eq_wait;

/* Takes an event from the first queue that has one. */
static bool has_event(pen_portals *card, void *ctx, int *result)
{
    eq_wait *wait = ctx;
    for (unsigned i = 0; i < wait->size; i++) {
        unsigned at = (wait->start + i) % wait->size;
        p4_eq *eq = p4_handle_find(card, P4_EQ, wait->handles[at]);
        if (eq == NULL) {
            *result = PTL_ARG_INVALID;
            return true;
        }
        if (eq->used == 0)
            continue;
        *result = eq->is_dropped ? PTL_EQ_DROPPED : PTL_OK;
        eq->is_dropped = false;
        take(eq, wait->event);
        if (wait->which != NULL)
            *wait->which = at;
        return true;
    }
    return false;
}

static bool is_one_interface(const pen_portals *card, const ptl_handle_eq_t *handles, unsigned size)
{
    const p4_ni *ni = NULL;
    for (unsigned i = 0; i < size; i++) {
        const p4_eq *eq = p4_handle_find(card, P4_EQ, handles[i]);
        if (eq == NULL || (ni != NULL && eq->ni != ni))
            return false;
        ni = eq->ni;
    }
    return size > 0;
}

static int wait_for_event(const ptl_handle_eq_t *handles, unsigned size, ptl_time_t timeout,
                          bool may_abort, ptl_event_t *event, unsigned *which)
{
    pen_portals *card = p4_enter();
    if (card == NULL)
        return PTL_NO_INIT;
    int result = PTL_ARG_INVALID;
    if (event != NULL && handles != NULL && is_one_interface(card, handles, size)) {
        /* Begins at another queue each time, so that a busy queue does not starve the rest. */
        eq_wait wait = { handles, size, (unsigned)(card->calls % size), event, which };
        result = p4_wait(card, timeout, may_abort, has_event, &wait, PTL_EQ_EMPTY);
    }
    p4_leave(card);
    return result;
}

int PtlEQGet(ptl_handle_eq_t eq_handle, ptl_event_t *event)
{
    return wait_for_event(&eq_handle, 1, 0, false, event, NULL);
}

int PtlEQWait(ptl_handle_eq_t eq_handle, ptl_event_t *event)
{
    return wait_for_event(&eq_handle, 1, PTL_TIME_FOREVER, true, event, NULL);
}

int PtlEQPoll(const ptl_handle_eq_t *eq_handles, unsigned int size, ptl_time_t timeout,
              ptl_event_t *event, unsigned int *which)
{
    return wait_for_event(eq_handles, size, timeout, true, event, which);
}
