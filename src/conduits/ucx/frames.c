/* SPDX-License-Identifier: BSD-3-Clause */
/* frames.c: sends frames as UCX's active messages, keeps those that come, and delivers them when
 * a poll asks for their lane. UCX's callbacks only make notes: the engine is never called from
 * inside UCX, nor while the lock is held. */
#include "base/compiler.h"
#include "base/status.h"
#include "conduit/conduit.h"
#include "conduits/ucx/ucx.h"
#include "diag/counters.h"
#include "diag/log.h"
#include "link/host.h"
#include "os/lock.h"

#include <string.h>

enum {
    PROGRESS_MAX = 4, /* calls of progress in one poll */
    ARM_TRIES = 3,
    NAP_NS = 50000, /* a sleeper without UCX's descriptor polls again after this time */
};

static uint32_t padded(uint32_t len) { return (len + UCX_ALIGN - 1) & ~(uint32_t)(UCX_ALIGN - 1); }

/* ---- sending --------------------------------------------------------------------------------- */

static ucx_buffer *buffer_take(ucx_link *link, size_t len)
{
    bool is_long = len > UCX_SHORT_LEN;
    ucx_buffer **list = is_long ? &link->free_long : &link->free_short;
    ucx_buffer *buffer = *list;
    if (buffer != NULL) {
        *list = buffer->next;
        return buffer;
    }
    const pen_host *host = link->base.host;
    size_t room = is_long ? UCX_LONG_LEN : UCX_SHORT_LEN;
    buffer = host->alloc(host->ctx, pen_align_up(sizeof *buffer + room, UCX_ALIGN), UCX_ALIGN);
    if (buffer == NULL)
        return NULL;
    *buffer = (ucx_buffer){ .next_all = link->all_buffers, .link = link, .is_long = is_long };
    link->all_buffers = buffer;
    return buffer;
}

static void buffer_give(ucx_link *link, ucx_buffer *buffer)
{
    ucx_buffer **list = buffer->is_long ? &link->free_long : &link->free_short;
    buffer->next = *list;
    *list = buffer;
}

static void mark_lost(ucx_link *link, pen_peer peer)
{
    if (link->peer[peer].is_lost)
        return;
    link->peer[peer].is_lost = true;
    link->lost++;
}

static void on_sent(void *request, ucs_status_t status, void *user)
{
    ucx_buffer *buffer = user;
    ucx_link *link = buffer->link;
    link->pending--;
    if (status != UCS_OK && status != UCS_ERR_CANCELED)
        mark_lost(link, buffer->to);
    buffer_give(link, buffer);
    link->ucx.request_free(request);
}

static size_t fill(const ucx_link *link, ucx_buffer *buffer, pen_lane lane, const pen_frame *frame)
{
    const ucx_word word = { .from = link->base.self,
                            .lane = (uint8_t)lane,
                            .head_words = (uint8_t)(frame->head_len / 8),
                            .body_len = frame->body_len,
                            .token = link->token };
    size_t at = sizeof word + padded(frame->head_len);
    memcpy(buffer->bytes, &word, sizeof word);
    memset(buffer->bytes + at - UCX_ALIGN, 0, UCX_ALIGN);
    memcpy(buffer->bytes + sizeof word, frame->head, frame->head_len);
    if (frame->body_len != 0)
        memcpy(buffer->bytes + at, frame->body, frame->body_len);
    return at + frame->body_len;
}

static bool is_want_of_room(ucs_status_t status)
{
    return status == UCS_ERR_NO_MEMORY || status == UCS_ERR_NO_RESOURCE;
}

/* Hands a filled buffer to UCX. The flag EAGER keeps a long frame from waiting for its receiver. */
static pen_post send_buffer(ucx_link *link, ucx_buffer *buffer, size_t len)
{
    const ucp_request_param_t param = {
        .op_attr_mask =
            UCP_OP_ATTR_FIELD_FLAGS | UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA,
        .flags = UCP_AM_SEND_FLAG_EAGER,
        .cb.send = on_sent,
        .user_data = buffer,
    };
    ucs_status_ptr_t result = link->ucx.am_send(link->peer[buffer->to].ep, UCX_AM_ID, NULL, 0,
                                                buffer->bytes, len, &param);
    if (UCS_PTR_IS_PTR(result)) {
        link->pending++;
        return PEN_POST_DONE;
    }
    pen_peer to = buffer->to;
    buffer_give(link, buffer);
    if (result == NULL)
        return PEN_POST_DONE;
    if (is_want_of_room(UCS_PTR_STATUS(result)))
        return PEN_POST_AGAIN;
    mark_lost(link, to);
    return PEN_POST_FAILED;
}

pen_post ucx_post(pen_link *base, pen_peer to, pen_lane lane, const pen_frame *frame, pen_op *op)
{
    (void)op; /* the frame is copied */
    ucx_link *link = ucx_of(base);
    pen_lock_take(&link->lock);
    pen_post result = PEN_POST_FAILED;
    if (!link->peer[to].is_lost) {
        size_t len = sizeof(ucx_word) + padded(frame->head_len) + frame->body_len;
        ucx_buffer *buffer = buffer_take(link, len);
        result = PEN_POST_AGAIN;
        if (buffer != NULL) {
            buffer->to = to;
            result = send_buffer(link, buffer, fill(link, buffer, lane, frame));
        }
    }
    pen_lock_drop(&link->lock);
    return result;
}

/* ---- arriving -------------------------------------------------------------------------------- */

static bool is_valid(const ucx_link *link, const ucx_word *word, size_t len)
{
    uint32_t head_len = word->head_words * 8u;
    return word->lane < PEN_LANES && word->head_words != 0 && word->zero == 0 &&
           head_len <= PEN_FRAME_HEAD_COUNTED_MAX && word->body_len <= link->base.caps.frame_max &&
           len == sizeof *word + padded(head_len) + word->body_len;
}

/* Takes an empty note, with room for a copy of copy_len bytes. Notes without copies are reused. */
static ucx_arrival *arrival_take(ucx_link *link, size_t copy_len)
{
    ucx_arrival *arrival = copy_len == 0 ? link->free_arrivals : NULL;
    if (arrival != NULL) {
        link->free_arrivals = arrival->next;
        return arrival;
    }
    const pen_host *host = link->base.host;
    size_t own_len = pen_align_up(sizeof *arrival, UCX_ALIGN);
    arrival = host->alloc(host->ctx, pen_align_up(own_len + copy_len, UCX_ALIGN), UCX_ALIGN);
    if (arrival != NULL)
        arrival->data = (char *)arrival + own_len;
    return arrival;
}

ucs_status_t ucx_on_arrival(void *owner, const void *header, size_t header_len, void *data,
                            size_t len, const ucp_am_recv_param_t *param)
{
    (void)header, (void)header_len;
    ucx_link *link = owner;
    ucx_word word;
    if (len < sizeof word || (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0) {
        link->bad_frame++;
        return UCS_OK;
    }
    memcpy(&word, data, sizeof word);
    if (word.token != link->token || word.from >= link->peers) {
        link->bad_source++;
        return UCS_OK;
    }
    if (!is_valid(link, &word, len)) {
        link->bad_frame++;
        return UCS_OK;
    }
    bool is_kept =
        (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_DATA) != 0 && (uintptr_t)data % UCX_ALIGN == 0;
    ucx_arrival *arrival = arrival_take(link, is_kept ? 0 : len);
    if (arrival == NULL) { /* a frame is lost, and its sender with it */
        link->no_memory++;
        mark_lost(link, word.from);
        return UCS_OK;
    }
    if (is_kept)
        arrival->data = data;
    else
        memcpy(arrival->data, data, len);
    arrival->is_copy = !is_kept;
    arrival->from = word.from;
    arrival->head_len = word.head_words * 8u;
    arrival->body_len = word.body_len;
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

static ucx_arrival *next_arrival(ucx_link *link, unsigned lanes, pen_lane *lane_out)
{
    for (unsigned i = PEN_LANES; i-- > 0;) {
        if ((lanes & PEN_LANE_BIT(i)) == 0 || link->arrived[i].first == NULL)
            continue;
        *lane_out = (pen_lane)i;
        return list_take(&link->arrived[i]);
    }
    return NULL;
}

static void hand(const pen_host *host, pen_lane lane, const ucx_arrival *arrival)
{
    char *head = (char *)arrival->data + sizeof(ucx_word);
    pen_host_hand(host, arrival->from, lane, head, arrival->head_len,
                  head + padded(arrival->head_len), arrival->body_len);
}

/* Reports one lost peer that the engine does not know of. The caller holds the lock. */
static void tell_lost(ucx_link *link)
{
    const pen_host *host = link->base.host;
    for (pen_peer peer = 0; peer < link->peers; peer++) {
        if (!link->peer[peer].is_lost || link->peer[peer].is_told)
            continue;
        link->peer[peer].is_told = true;
        link->lost--;
        bool no_memory = link->no_memory != 0;
        pen_lock_drop(&link->lock);
        if (no_memory)
            host->log(host->ctx, PEN_LOG_ERROR,
                      "cannot keep a frame of rank %u: no memory; free some memory", peer);
        host->peer_lost(host->ctx, peer, no_memory ? PEN_ERR_MEMORY : PEN_ERR_PEER_LOST);
        pen_lock_take(&link->lock);
        return;
    }
}

static void count_bad(ucx_link *link)
{
    pen_counters *counters = link->base.host->counters;
    if (counters != NULL) {
        counters->net_bad_source += link->bad_source;
        counters->net_bad_frame += link->bad_frame;
    }
    link->bad_source = link->bad_frame = 0;
}

unsigned ucx_poll(pen_link *base, unsigned lanes, unsigned budget)
{
    ucx_link *link = ucx_of(base);
    unsigned delivered = 0;
    pen_lane lane = PEN_LANE_CONTROL;
    pen_lock_take(&link->lock);
    for (unsigned i = 0; i < PROGRESS_MAX && link->ucx.worker_progress(link->worker) != 0; i++)
        continue; /* UCX's own events are none of the engine's */
    if (pen_unlikely((link->bad_source | link->bad_frame) != 0))
        count_bad(link);
    if (pen_unlikely(link->lost != 0))
        tell_lost(link);
    while (delivered < budget) {
        ucx_arrival *arrival = next_arrival(link, lanes, &lane);
        if (arrival == NULL)
            break;
        pen_lock_drop(&link->lock);
        hand(base->host, lane, arrival);
        pen_lock_take(&link->lock);
        arrival_give(link, arrival);
        delivered++;
    }
    pen_lock_drop(&link->lock);
    return delivered;
}

/* ---- waiting --------------------------------------------------------------------------------- */

static int wait_fd(pen_link *base) { return ucx_of(base)->fd; }

static bool has_arrivals(const ucx_link *link)
{
    for (unsigned lane = 0; lane < PEN_LANES; lane++)
        if (link->arrived[lane].first != NULL)
            return true;
    return link->lost != 0;
}

static bool wait_arm(pen_link *base)
{
    ucx_link *link = ucx_of(base);
    if (!link->has_fd)
        return true;
    bool is_armed = false;
    pen_lock_take(&link->lock);
    for (unsigned i = 0; i < ARM_TRIES && !is_armed && !has_arrivals(link); i++) {
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
    bool needs_polls = !link->has_fd || link->pending != 0;
    pen_lock_drop(&link->lock);
    return needs_polls ? base->host->now_ns(base->host->ctx) + NAP_NS : UINT64_MAX;
}

const pen_wait_ops ucx_wait = { .fd = wait_fd, .arm = wait_arm };
const pen_due_ops ucx_due = { .due_ns = due_ns };

/* ---- closing --------------------------------------------------------------------------------- */

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

void ucx_buffers_close(ucx_link *link)
{
    const pen_host *host = link->base.host;
    while (link->all_buffers != NULL) {
        ucx_buffer *buffer = link->all_buffers;
        link->all_buffers = buffer->next_all;
        host->release(host->ctx, buffer);
    }
}
