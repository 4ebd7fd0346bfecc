/* SPDX-License-Identifier: BSD-3-Clause */
/* pt.c: the portal table: allocate, free, disable, enable. */
#include "softnic/portals/inner.h"

p4_pt *p4_find_pt(p4_ni *ni, ptl_pt_index_t index)
{
    if (index > (ptl_pt_index_t)ni->limits.max_pt_index || !ni->pts[index].is_allocated)
        return NULL;
    return &ni->pts[index];
}

void p4_pt_refuse(pen_portals *card, p4_pt *pt)
{
    pt->is_enabled = false;
    pt->is_notice_due = true;
    card->counts.disabled++;
    p4_pt_settle(card, pt);
}

void p4_pt_settle(pen_portals *card, p4_pt *pt)
{
    card->is_changed = true; /* PtlPTDisable may wait for the last message */
    if (!pt->is_notice_due || pt->busy > 0)
        return;
    pt->is_notice_due = false;
    ptl_event_t event = { .type = PTL_EVENT_PT_DISABLED,
                          .ni_fail_type = PTL_NI_PT_DISABLED,
                          .pt_index = pt->index };
    p4_eq_post(card, pt->eq, &event);
}

static int find_free(p4_ni *ni, ptl_pt_index_t wanted, ptl_pt_index_t *index)
{
    ptl_pt_index_t max = (ptl_pt_index_t)ni->limits.max_pt_index;
    if (wanted != PTL_PT_ANY) {
        *index = wanted;
        if (wanted > max)
            return PTL_ARG_INVALID;
        return ni->pts[wanted].is_allocated ? PTL_PT_IN_USE : PTL_OK;
    }
    for (*index = 0; *index <= max; (*index)++) {
        if (!ni->pts[*index].is_allocated)
            return PTL_OK;
    }
    return PTL_PT_FULL;
}

static int allocate(pen_portals *card, p4_ni *ni, unsigned options, ptl_handle_eq_t eq_handle,
                    ptl_pt_index_t wanted, ptl_pt_index_t *pt_index)
{
    const p4_eq *eq = p4_handle_find(card, P4_EQ, eq_handle);
    if (ni == NULL || pt_index == NULL || (options & ~(unsigned)PTL_PT_ALLOC_OPTIONS_MASK) != 0 ||
        (eq_handle != PTL_EQ_NONE && (eq == NULL || eq->ni != ni)))
        return PTL_ARG_INVALID;
    bool has_control = (options & PTL_PT_FLOWCTRL) != 0;
    if (has_control && eq_handle == PTL_EQ_NONE)
        return PTL_PT_EQ_NEEDED;
    ptl_pt_index_t index;
    int result = find_free(ni, wanted, &index);
    if (result != PTL_OK)
        return result;
    if (has_control && !p4_eq_reserve(card, eq_handle, 1))
        return PTL_NO_SPACE;
    p4_pt *pt = &ni->pts[index];
    *pt = (p4_pt){ .ni = ni,
                   .index = index,
                   .options = options,
                   .eq = eq_handle,
                   .is_allocated = true,
                   .is_enabled = (options & PTL_PT_ALLOC_DISABLED) == 0 };
    p4_list_init(&pt->lists[PTL_PRIORITY_LIST]);
    p4_list_init(&pt->lists[PTL_OVERFLOW_LIST]);
    p4_list_init(&pt->headers);
    *pt_index = index;
    return PTL_OK;
}

int PtlPTAlloc(ptl_handle_ni_t ni_handle, unsigned int options, ptl_handle_eq_t eq_handle,
               ptl_pt_index_t pt_index_req, ptl_pt_index_t *pt_index)
{
    pen_portals *card = p4_enter();
    if (card == NULL)
        return PTL_NO_INIT;
    int result =
        allocate(card, p4_find_ni(card, ni_handle), options, eq_handle, pt_index_req, pt_index);
    p4_leave(card);
    return result;
}

static p4_pt *find(const pen_portals *card, ptl_handle_ni_t ni_handle, ptl_pt_index_t pt_index)
{
    p4_ni *ni = p4_find_ni(card, ni_handle);
    return ni != NULL ? p4_find_pt(ni, pt_index) : NULL;
}

int PtlPTFree(ptl_handle_ni_t ni_handle, ptl_pt_index_t pt_index)
{
    pen_portals *card = p4_enter();
    if (card == NULL)
        return PTL_NO_INIT;
    p4_pt *pt = find(card, ni_handle, pt_index);
    int result = PTL_OK;
    if (pt == NULL) {
        result = PTL_ARG_INVALID;
    } else if (pt->list_lens[0] + pt->list_lens[1] > 0 || pt->busy > 0 ||
               !p4_list_is_empty(&pt->headers)) {
        result = PTL_PT_IN_USE;
    } else {
        pt->is_allocated = false;
        if ((pt->options & PTL_PT_FLOWCTRL) != 0)
            (void)p4_eq_reserve(card, pt->eq, -1);
    }
    p4_leave(card);
    return result;
}

typedef struct pt_wait {
    ptl_handle_ni_t ni;
    ptl_pt_index_t index;
} pt_wait;

static bool is_quiet(pen_portals *card, void *ctx, int *result)
{
    const pt_wait *wait = ctx;
    const p4_pt *pt = find(card, wait->ni, wait->index);
    *result = pt == NULL ? PTL_ARG_INVALID : PTL_OK;
    return pt == NULL || pt->busy == 0;
}

int PtlPTDisable(ptl_handle_ni_t ni_handle, ptl_pt_index_t pt_index)
{
    pen_portals *card = p4_enter();
    if (card == NULL)
        return PTL_NO_INIT;
    p4_pt *pt = find(card, ni_handle, pt_index);
    int result = PTL_ARG_INVALID;
    if (pt != NULL) {
        pt_wait wait = { ni_handle, pt_index };
        pt->is_enabled = false;
        result = p4_wait(card, PTL_TIME_FOREVER, false, is_quiet, &wait, PTL_FAIL);
    }
    p4_leave(card);
    return result;
}

int PtlPTEnable(ptl_handle_ni_t ni_handle, ptl_pt_index_t pt_index)
{
    pen_portals *card = p4_enter();
    if (card == NULL)
        return PTL_NO_INIT;
    p4_pt *pt = find(card, ni_handle, pt_index);
    if (pt != NULL) {
        pt->is_enabled = true;
        (void)p4_progress(card);
    }
    p4_leave(card);
    return pt != NULL ? PTL_OK : PTL_ARG_INVALID;
}
