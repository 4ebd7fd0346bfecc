/* SPDX-License-Identifier: BSD-3-Clause */
/* trigger.c: operations that wait for a counter. A counter keeps them by threshold, equal ones in
 * the order of posting. Operations whose threshold was reached move to a list of the card, and are
 * started before the card is unlocked, so that long chains need no recursion. */
#include "base/compiler.h"
#include "softnic/portals/inner.h"

static p4_op *op_of(p4_link *link) { return pen_container_of(link, p4_op, link); }

static bool is_reached(const p4_ct *ct, ptl_size_t threshold)
{
    return ct->value.success + ct->value.failure >= threshold;
}

void p4_ct_fire(pen_portals *card, p4_ct *ct)
{
    card->is_changed = true;
    while (!p4_list_is_empty(&ct->triggered) &&
           is_reached(ct, op_of(ct->triggered.next)->threshold)) {
        p4_link *link = ct->triggered.next;
        p4_list_remove(link);
        p4_list_insert(&card->fired, link);
        ct->ni->triggered_count--;
    }
}

void p4_ct_cancel(pen_portals *card, p4_ct *ct)
{
    (void)card;
    while (!p4_list_is_empty(&ct->triggered)) {
        p4_op *op = op_of(ct->triggered.next);
        p4_list_remove(&op->link);
        ct->ni->triggered_count--;
        p4_op_free(op);
    }
}

int p4_trigger(pen_portals *card, ptl_handle_ct_t counter, ptl_size_t threshold, p4_op *op)
{
    p4_ct *ct = p4_handle_find(card, P4_CT, counter);
    if (ct == NULL || ct->ni != op->ni) {
        p4_op_free(op);
        return PTL_ARG_INVALID;
    }
    if (is_reached(ct, threshold)) {
        p4_list_insert(&card->fired, &op->link);
        return PTL_OK;
    }
    if (ct->ni->triggered_count >= (uint32_t)ct->ni->limits.max_triggered_ops) {
        p4_op_free(op);
        return PTL_NO_SPACE;
    }
    op->threshold = threshold;
    p4_link *before = &ct->triggered;
    while (before->prev != &ct->triggered && op_of(before->prev)->threshold > threshold)
        before = before->prev;
    p4_list_insert(before, &op->link);
    ct->ni->triggered_count++;
    return PTL_OK;
}

static void start(pen_portals *card, p4_op *op)
{
    p4_ct *ct;
    switch (op->action) {
    case P4_MOVE:
        p4_op_start(card, op);
        return;
    case P4_COUNT_INC:
        p4_ct_add(card, op->ct, op->value.success, op->value.failure);
        break;
    case P4_COUNT_SET:
        ct = p4_handle_find(card, P4_CT, op->ct);
        if (ct != NULL) {
            ct->value = op->value;
            p4_ct_fire(card, ct);
        }
        break;
    }
    p4_op_free(op);
}

void p4_start_fired(pen_portals *card)
{
    while (!p4_list_is_empty(&card->fired)) {
        p4_op *op = op_of(card->fired.next);
        p4_list_remove(&op->link);
        start(card, op);
    }
}

static int count_when(p4_action action, ptl_handle_ct_t ct_handle, ptl_ct_event_t value,
                      ptl_handle_ct_t counter, ptl_size_t threshold)
{
    pen_portals *card = p4_enter();
    if (card == NULL)
        return PTL_NO_INIT;
    int result = PTL_ARG_INVALID;
    const p4_ct *ct = p4_handle_find(card, P4_CT, ct_handle);
    bool is_sensible = action != P4_COUNT_INC || value.success == 0 || value.failure == 0;
    if (ct != NULL && is_sensible && p4_handle_find(card, P4_CT, counter) != NULL) {
        p4_op *op = p4_op_make(ct->ni, P4_PUT);
        result = PTL_NO_SPACE;
        if (op != NULL) {
            op->action = action;
            op->ct = ct_handle;
            op->value = value;
            result = p4_trigger(card, counter, threshold, op);
        }
    }
    p4_leave(card);
    return result;
}

int PtlTriggeredCTInc(ptl_handle_ct_t ct_handle, ptl_ct_event_t increment,
                      ptl_handle_ct_t trig_ct_handle, ptl_size_t threshold)
{
    return count_when(P4_COUNT_INC, ct_handle, increment, trig_ct_handle, threshold);
}

int PtlTriggeredCTSet(ptl_handle_ct_t ct_handle, ptl_ct_event_t new_ct,
                      ptl_handle_ct_t trig_ct_handle, ptl_size_t threshold)
{
    return count_when(P4_COUNT_SET, ct_handle, new_ct, trig_ct_handle, threshold);
}
