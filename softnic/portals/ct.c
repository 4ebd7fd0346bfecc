/* SPDX-License-Identifier: BSD-3-Clause */
/* ct.c: counters, which wake waiting threads and start triggered operations. */
#include "softnic/portals/inner.h"

#include <stdlib.h>

int PtlCTAlloc(ptl_handle_ni_t ni_handle, ptl_handle_ct_t *ct_handle)
{
    pen_portals *card = p4_enter();
    if (card == NULL)
        return PTL_NO_INIT;
    p4_ni *ni = p4_find_ni(card, ni_handle);
    int result = ni == NULL || ct_handle == NULL ? PTL_ARG_INVALID : PTL_OK;
    if (result == PTL_OK) {
        p4_ct *ct =
            ni->counts[P4_CT] < (uint32_t)ni->limits.max_cts ? calloc(1, sizeof(*ct)) : NULL;
        ptl_handle_ct_t handle = ct != NULL ? p4_handle_make(card, P4_CT, ct) : PTL_INVALID_HANDLE;
        if (handle == PTL_INVALID_HANDLE) {
            free(ct);
            result = PTL_NO_SPACE;
        } else {
            ct->ni = ni;
            p4_list_init(&ct->triggered);
            ni->counts[P4_CT]++;
            *ct_handle = handle;
        }
    }
    p4_leave(card);
    return result;
}

void p4_ct_end(pen_portals *card, ptl_handle_ct_t handle)
{
    p4_ct *ct = p4_handle_find(card, P4_CT, handle);
    p4_ct_cancel(card, ct);
    ct->ni->counts[P4_CT]--;
    p4_handle_end(card, P4_CT, handle, false);
    free(ct);
    card->is_changed = true;
}

/* Finds a live counter with the card locked. Returns PTL_OK, or the call's result. */
static int enter(ptl_handle_ct_t handle, pen_portals **card, p4_ct **ct)
{
    *card = p4_enter();
    if (*card == NULL)
        return PTL_NO_INIT;
    *ct = p4_handle_find(*card, P4_CT, handle);
    if (*ct != NULL)
        return PTL_OK;
    p4_leave(*card);
    return PTL_ARG_INVALID;
}

int PtlCTFree(ptl_handle_ct_t ct_handle)
{
    pen_portals *card;
    p4_ct *ct;
    int result = enter(ct_handle, &card, &ct);
    if (result == PTL_OK) {
        p4_ct_end(card, ct_handle);
        p4_leave(card);
    }
    return result;
}

int PtlCTCancelTriggered(ptl_handle_ct_t ct_handle)
{
    pen_portals *card;
    p4_ct *ct;
    int result = enter(ct_handle, &card, &ct);
    if (result == PTL_OK) {
        p4_ct_cancel(card, ct);
        p4_leave(card);
    }
    return result;
}

int PtlCTSet(ptl_handle_ct_t ct_handle, ptl_ct_event_t new_ct)
{
    pen_portals *card;
    p4_ct *ct;
    int result = enter(ct_handle, &card, &ct);
    if (result == PTL_OK) {
        ct->value = new_ct;
        p4_ct_fire(card, ct);
        p4_leave(card);
    }
    return result;
}

int PtlCTInc(ptl_handle_ct_t ct_handle, ptl_ct_event_t increment)
{
    pen_portals *card;
    p4_ct *ct;
    int result = enter(ct_handle, &card, &ct);
    if (result != PTL_OK)
        return result;
    if (increment.success != 0 && increment.failure != 0)
        result = PTL_ARG_INVALID;
    else
        p4_ct_add(card, ct_handle, increment.success, increment.failure);
    p4_leave(card);
    return result;
}

void p4_ct_add(pen_portals *card, ptl_handle_ct_t handle, ptl_size_t success, ptl_size_t failure)
{
    p4_ct *ct = p4_handle_find(card, P4_CT, handle);
    if (ct == NULL)
        return;
    ct->value.success += success;
    ct->value.failure += failure;
    p4_ct_fire(card, ct);
}

typedef struct ct_wait {
    const ptl_handle_ct_t *handles;
    const ptl_size_t *tests;
    unsigned size;
    ptl_ct_event_t *event;
    unsigned *which;
} ct_wait;

static bool has_reached(pen_portals *card, void *ctx, int *result)
{
    const ct_wait *wait = ctx;
    for (unsigned i = 0; i < wait->size; i++) {
        const p4_ct *ct = p4_handle_find(card, P4_CT, wait->handles[i]);
        if (ct == NULL) {
            *result = PTL_ARG_INVALID;
            return true;
        }
        if (ct->value.success < wait->tests[i] && ct->value.failure == 0)
            continue;
        *wait->event = ct->value;
        if (wait->which != NULL)
            *wait->which = i;
        *result = PTL_OK;
        return true;
    }
    return false;
}

static bool is_one_interface(const pen_portals *card, const ptl_handle_ct_t *handles, unsigned size)
{
    const p4_ni *ni = NULL;
    for (unsigned i = 0; i < size; i++) {
        const p4_ct *ct = p4_handle_find(card, P4_CT, handles[i]);
        if (ct == NULL || (ni != NULL && ct->ni != ni))
            return false;
        ni = ct->ni;
    }
    return size > 0;
}

int PtlCTPoll(const ptl_handle_ct_t *ct_handles, const ptl_size_t *tests, unsigned int size,
              ptl_time_t timeout, ptl_ct_event_t *event, unsigned int *which)
{
    pen_portals *card = p4_enter();
    if (card == NULL)
        return PTL_NO_INIT;
    int result = PTL_ARG_INVALID;
    if (event != NULL && ct_handles != NULL && tests != NULL &&
        is_one_interface(card, ct_handles, size)) {
        ct_wait wait = { ct_handles, tests, size, event, which };
        result = p4_wait(card, timeout, true, has_reached, &wait, PTL_CT_NONE_REACHED);
    }
    p4_leave(card);
    return result;
}

int PtlCTWait(ptl_handle_ct_t ct_handle, ptl_size_t test, ptl_ct_event_t *event)
{
    return PtlCTPoll(&ct_handle, &test, 1, PTL_TIME_FOREVER, event, NULL);
}

int PtlCTGet(ptl_handle_ct_t ct_handle, ptl_ct_event_t *event)
{
    pen_portals *card;
    p4_ct *ct;
    int result = enter(ct_handle, &card, &ct);
    if (result != PTL_OK)
        return result;
    if (event == NULL) {
        result = PTL_ARG_INVALID;
    } else {
        (void)p4_progress(card);
        *event = ct->value;
    }
    p4_leave(card);
    return result;
}
