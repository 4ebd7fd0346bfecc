/* SPDX-License-Identifier: BSD-3-Clause */
/* frames.c: sends frames as UCX's active messages, keeps those that come, and delivers them when
 * a poll asks for their lane. UCX's callbacks only make notes: the engine is never called from
 * inside UCX, nor while the lock is held. */
#include "base/compiler.h"
#include "conduit/conduit.h"
#include "conduits/ucx/ucx.h"
#include "link/netlib.h"
#include "os/lock.h"

#include <sched.h>
#include <string.h>

enum {
    PROGRESS_MAX = 4, /* calls of progress in one poll */
    ARM_TRIES = 3,
    NAP_NS = 50000, /* a sleeper without UCX's descriptor polls again after this time */
};
#define DRAIN_NS UINT64_C(1000000000) /* time for the last frames to leave in an orderly end */

/* ---- sending --------------------------------------------------------------------------------- */

static void on_sent(void *request, ucs_status_t status, void *user)
{
    pen_net_buffer *buffer = user;
    ucx_link *link = buffer->link;
    link->net.pending--;
    if (status != UCS_OK && status != UCS_ERR_CANCELED)
        pen_net_lose(&link->net, buffer->to);
    pen_net_give(&link->net, buffer);
    link->ucx.request_free(request);
}

/* Hands a filled buffer to UCX. The flag EAGER keeps a long frame from waiting for its receiver. */
static pen_post send_buffer(ucx_link *link, pen_net_buffer *buffer, size_t len)
{
    const ucp_request_param_t param = {
        .op_attr_mask =
            UCP_OP_ATTR_FIELD_FLAGS | UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA,
        .flags = UCP_AM_SEND_FLAG_EAGER,
        .cb.send = on_sent,
        .user_data = buffer,
    };
    ucs_status_ptr_t result =
        link->ucx.am_send(link->ep[buffer->to], UCX_AM_ID, NULL, 0, buffer->bytes, len, &param);
    if (UCS_PTR_IS_PTR(result)) {
        link->net.pending++;
        return PEN_POST_DONE;
    }
    pen_peer to = buffer->to;
    pen_net_give(&link->net, buffer);
    if (result == NULL)
        return PEN_POST_DONE;
    if (ucx_is_want_of_room(UCS_PTR_STATUS(result)))
        return PEN_POST_AGAIN;
    pen_net_lose(&link->net, to);
    return PEN_POST_FAILED;
}

pen_post ucx_post(pen_link *base, pen_peer to, pen_lane lane, const pen_frame *frame, pen_op *op)
{
    (void)op; /* the frame is copied */
    ucx_link *link = ucx_of(base);
    pen_lock_take(&link->lock);
    pen_post result = PEN_POST_FAILED;
    if (!pen_net_is_lost(&link->net, to)) {
        size_t len = 0;
        pen_net_buffer *buffer = pen_net_pack(&link->net, to, lane, frame, &len);
        result = buffer != NULL ? send_buffer(link, buffer, len) : PEN_POST_AGAIN;
    }
    pen_lock_drop(&link->lock);
    return result;
}

/* ---- arriving -------------------------------------------------------------------------------- */

/* Takes an empty note, with room for a copy of copy_len bytes. Notes without copies are reused. */
static ucx_arrival *arrival_take(ucx_link *link, size_t copy_len)
{
    ucx_arrival *arrival = copy_len == 0 ? link->free_arrivals : NULL;
    if (arrival != NULL) {
        link->free_arrivals = arrival->next;
        return arrival;
    }
    const pen_host *host = link->base.host;
    size_t own_len = pen_align_up(sizeof *arrival, PEN_NET_ALIGN);
    arrival =
        host->alloc(host->ctx, pen_align_up(own_len + copy_len, PEN_NET_ALIGN), PEN_NET_ALIGN);
    if (arrival != NULL)
        arrival->data = (char *)arrival + own_len;
    return arrival;
}

ucs_status_t ucx_on_arrival(void *owner, const void *header, size_t header_len, void *data,
                            size_t len, const ucp_am_recv_param_t *param)
{
    (void)header, (void)header_len;
    ucx_link *link = owner;
    pen_net_word word;
    if ((param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0) {
        link->net.bad_frame++;
        return UCS_OK;
    }
    if (!pen_net_unpack(&link->net, data, len, &word))
        return UCS_OK;
    bool is_kept = (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_DATA) != 0 &&
                   (uintptr_t)data % PEN_NET_ALIGN == 0;
    ucx_arrival *arrival = arrival_take(link, is_kept ? 0 : len);
    if (arrival == NULL) { /* a frame is lost, and its sender with it */
        pen_net_lose_frame(&link->net, word.from);
        return UCS_OK;
    }
    if (is_kept)
        arrival->data = data;
    else
        memcpy(arrival->data, data, len);
    arrival->is_copy = !is_kept;
    arrival->word = word;
    arrival->next = NULL;
    *link->arrived[word.lane].last_next = arrival;
    link->arrived[word.lane].last_next = &arrival->next;
    return is_kept ? UCS_INPROGRESS : UCS_OK;
}

static ucx_arrival *list_take(ucx_list *list)
{
    ucx_arrival *arrival = list->first;
    if (arrival != NULL && (list->first = arrival->next) == NULL)
        list->last_next = &list->first;
    return arrival;
}

static void arrival_give(ucx_link *link, ucx_arrival *arrival)
{
    if (arrival->is_copy) {
        link->base.host->release(link->base.host->ctx, arrival);
        return;
    }
    link->ucx.am_data_release(link->worker, arrival->data);
    arrival->next = link->free_arrivals;
    link->free_arrivals = arrival;
}

/* ---- polling --------------------------------------------------------------------------------- */

/* Returns the list of a lane among these that has a frame, or NULL. */
static ucx_list *first_list(ucx_link *link, unsigned lanes)
{
    for (unsigned i = PEN_LANES; i-- > 0;) {
        if ((lanes & PEN_LANE_BIT(i)) != 0 && link->arrived[i].first != NULL)
            return &link->arrived[i];
    }
    return NULL;
}

unsigned ucx_poll(pen_link *base, unsigned lanes, unsigned budget)
{
    ucx_link *link = ucx_of(base);
    unsigned delivered = 0, ended = 0;
    pen_lock_take(&link->lock);
    if (link->unflushed != 0)
        ucx_flush_puts(link);
    for (unsigned i = 0; i < PROGRESS_MAX && link->ucx.worker_progress(link->worker) != 0; i++)
        continue; /* UCX's own events are none of the engine's */
    if (link->ended != NULL)
        ended = ucx_end_ops(link);
    ucx_list *list;
    while (delivered < budget && (list = first_list(link, lanes)) != NULL) {
        ucx_arrival *arrival = list_take(list);
        pen_lock_drop(&link->lock);
        pen_net_hand(base->host, &arrival->word, arrival->data);
        pen_lock_take(&link->lock);
        arrival_give(link, arrival);
        delivered++;
    }
    /* A peer that left in order is lost, too; its last frames say why, so they come first. */
    if (pen_unlikely(pen_net_has_news(&link->net)) && first_list(link, lanes) == NULL)
        pen_net_tell(&link->net, &link->lock);
    pen_lock_drop(&link->lock);
    return delivered + ended;
}

/* ---- waiting --------------------------------------------------------------------------------- */

static int wait_fd(pen_link *base) { return ucx_of(base)->fd; }

static bool wait_arm(pen_link *base)
{
    ucx_link *link = ucx_of(base);
    if (!link->has_fd)
        return true;
    bool is_armed = false;
    pen_lock_take(&link->lock);
    for (unsigned i = 0; i < ARM_TRIES && !is_armed && link->unflushed == 0 &&
                         link->ended == NULL && first_list(link, PEN_LANES_ALL) == NULL;
         i++) {
        is_armed = link->ucx.worker_arm(link->worker) == UCS_OK;
        if (!is_armed)
            (void)link->ucx.worker_progress(link->worker);
    }
    pen_lock_drop(&link->lock);
    return is_armed;
}

static uint64_t due_ns(pen_link *base)
{
    ucx_link *link = ucx_of(base);
    pen_lock_take(&link->lock);
    bool needs_polls =
        !link->has_fd || (link->net.pending | link->tokens_out | link->net.lost) != 0;
    pen_lock_drop(&link->lock);
    return needs_polls ? base->host->now_ns(base->host->ctx) + NAP_NS : UINT64_MAX;
}

const pen_wait_ops ucx_wait = { .fd = wait_fd, .arm = wait_arm };
const pen_due_ops ucx_due = { .due_ns = due_ns };

/* ---- closing --------------------------------------------------------------------------------- */

typedef struct flush {
    ucx_link *link;
    bool is_over;
} flush;

static void on_flushed(void *request, ucs_status_t status, void *user)
{
    (void)status; /* with a peer that is lost there is nothing to wait for */
    flush *of = user;
    of->is_over = true;
    of->link->ucx.request_free(request);
}

bool ucx_drain(ucx_link *link)
{
    const pen_host *host = link->base.host;
    const uint64_t end_ns = host->now_ns(host->ctx) + DRAIN_NS;
    link->is_closing = true;
    flush all = { .link = link };
    const ucp_request_param_t param = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA,
        .cb.send = on_flushed,
        .user_data = &all,
    };
    if (!UCS_PTR_IS_PTR(link->ucx.worker_flush(link->worker, &param)))
        return !ucx_has_requests(link);
    while (!all.is_over && host->now_ns(host->ctx) < end_ns)
        if (link->ucx.worker_progress(link->worker) == 0)
            sched_yield();
    return all.is_over && !ucx_has_requests(link);
}

void ucx_arrivals_close(ucx_link *link)
{
    const pen_host *host = link->base.host;
    for (unsigned lane = 0; lane < PEN_LANES; lane++) {
        ucx_arrival *arrival;
        while ((arrival = list_take(&link->arrived[lane])) != NULL)
            arrival_give(link, arrival);
    }
    while (link->free_arrivals != NULL) {
        ucx_arrival *arrival = link->free_arrivals;
        link->free_arrivals = arrival->next;
        host->release(host->ctx, arrival);
    }
}
