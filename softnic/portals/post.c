/* SPDX-License-Identifier: BSD-3-Clause */
/* post.c: checks the arguments of the calls that move data, and starts the operations. */
#include "softnic/portals/post.h"
#include "softnic/portals/inner.h"

#include <string.h>

/* Operations under way at a card. Further calls wait. */
enum { OWING_MAX = 1 << 16 };

static bool has_put(p4_kind kind) { return kind != P4_GET; }
static bool has_get(p4_kind kind) { return kind == P4_GET || kind == P4_FETCH || kind == P4_SWAP; }

static bool is_in(const p4_md *md, ptl_size_t offset, ptl_size_t length)
{
    return length <= md->space.len && offset <= md->space.len - length;
}

static bool is_ack_right(const p4_call *call, const p4_md *md)
{
    unsigned options = md->md.options;
    if (call->ack > PTL_OC_ACK_REQ)
        return false;
    if (call->ack == PTL_ACK_REQ && md->md.eq_handle == PTL_EQ_NONE)
        return false;
    if ((call->ack == PTL_CT_ACK_REQ || call->ack == PTL_OC_ACK_REQ) &&
        md->md.ct_handle == PTL_CT_NONE)
        return false;
    return (options & PTL_MD_UNRELIABLE) == 0 || call->ack == PTL_NO_ACK_REQ;
}

static bool is_length_right(const p4_call *call, const ptl_ni_limits_t *limits)
{
    switch (call->kind) {
    case P4_PUT:
    case P4_GET:
        return call->length <= limits->max_msg_size;
    case P4_ATOMIC:
        return call->length <= limits->max_atomic_size;
    default:
        return call->length <= limits->max_fetch_atomic_size;
    }
}

static bool is_atomic_right(const p4_call *call)
{
    if (call->kind != P4_ATOMIC && call->kind != P4_FETCH && call->kind != P4_SWAP)
        return true;
    if (!p4_atomic_is_legal(call->kind, call->operation, call->datatype))
        return false;
    uint32_t item_len = p4_type_len(call->datatype);
    if (call->length % item_len != 0)
        return false;
    return call->operation <= PTL_SWAP || (call->length <= item_len && call->operand != NULL);
}

static bool is_put_side_right(const p4_call *call, const p4_md *md, const ptl_ni_limits_t *limits)
{
    if (md == NULL || !is_in(md, call->put_offset, call->length) || !is_ack_right(call, md))
        return false;
    return (md->md.options & PTL_MD_VOLATILE) == 0 || call->length <= limits->max_volatile_size;
}

static bool is_get_side_right(const p4_call *call, const p4_md *md, const p4_ni *ni)
{
    return md != NULL && md->ni == ni && is_in(md, call->get_offset, call->length);
}

/* Finds descriptors and interface. Returns NULL if an argument is wrong. */
static p4_ni *check(pen_portals *card, const p4_call *call, p4_md **put_md, p4_md **get_md)
{
    *put_md = has_put(call->kind) ? p4_handle_find(card, P4_MD, call->put_md) : NULL;
    *get_md = has_get(call->kind) ? p4_handle_find(card, P4_MD, call->get_md) : NULL;
    const p4_md *first = *put_md != NULL ? *put_md : *get_md;
    if (first == NULL)
        return NULL;
    p4_ni *ni = first->ni;
    if ((has_put(call->kind) && !is_put_side_right(call, *put_md, &ni->limits)) ||
        (has_get(call->kind) && !is_get_side_right(call, *get_md, ni)))
        return NULL;
    return is_length_right(call, &ni->limits) && is_atomic_right(call) ? ni : NULL;
}

static p4_op *make_op(p4_ni *ni, const p4_call *call, p4_md *put_md, p4_md *get_md)
{
    p4_op *op = p4_op_make(ni, call->kind);
    if (op == NULL)
        return NULL;
    op->ack = call->ack;
    op->operation = call->operation;
    op->datatype = call->datatype;
    op->pt_index = call->pt_index;
    op->match_bits = call->match_bits;
    op->remote_offset = call->remote_offset;
    op->length = call->length;
    op->hdr_data = call->hdr_data;
    op->user_ptr = call->user_ptr;
    op->put_offset = call->put_offset;
    op->get_offset = call->get_offset;
    op->put_md = put_md;
    op->get_md = get_md;
    if (call->operand != NULL)
        memcpy(op->operand, call->operand, p4_type_len(call->datatype));
    if (put_md != NULL)
        put_md->pending++;
    if (get_md != NULL)
        get_md->pending++;
    return op;
}

static bool has_room(pen_portals *card, void *ctx, int *result)
{
    (void)ctx;
    *result = PTL_OK;
    return card->owing < OWING_MAX;
}

static int start(pen_portals *card, const p4_call *call)
{
    /* The wait comes before the checks, since it gives the lock away. */
    if (card->owing >= OWING_MAX)
        (void)p4_wait(card, PTL_TIME_FOREVER, false, has_room, NULL, PTL_FAIL);
    p4_md *put_md, *get_md;
    uint32_t to;
    p4_ni *ni = check(card, call, &put_md, &get_md);
    if (ni == NULL || !p4_process_of(ni, call->to, &to))
        return PTL_ARG_INVALID;
    p4_op *op = make_op(ni, call, put_md, get_md);
    if (op == NULL)
        return PTL_FAIL;
    op->to = to;
    if (call->is_triggered)
        return p4_trigger(card, call->counter, call->threshold, op);
    p4_op_start(card, op);
    /* Operations that wait for room move on only when calls are made. */
    if (!p4_list_is_empty(&card->busy))
        (void)p4_progress(card);
    return PTL_OK;
}

int p4_post(const p4_call *call)
{
    pen_portals *card = p4_enter();
    if (card == NULL)
        return PTL_NO_INIT;
    int result = start(card, call);
    p4_leave(card);
    return result;
}
