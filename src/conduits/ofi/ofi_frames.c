/* SPDX-License-Identifier: BSD-3-Clause */
/* ofi_frames.c: sends frames as messages of libfabric, takes those that come out of the
 * multi-receive buffers, and delivers them. A frame whose lane is not asked for goes to the stash,
 * so that its buffer can be used again. */
#include "base/compiler.h"
#include "conduit/conduit.h"
#include "conduits/ofi/ofi.h"
#include "link/lanes.h"
#include "link/netlib.h"
#include "os/lock.h"

#include <stddef.h>
#include <string.h>

enum {
    NAP_NS = 50000, /* a sleeper without a descriptor polls again after this time */
    DRAIN_NS = 1000000000,
};

/* ---- sending --------------------------------------------------------------------------------- */

int ofi_register_memory(ofi_link *link, void *memory, size_t len, struct fid_mr **out)
{
    *out = NULL;
    if (link->grade != OFI_LOCAL_FRAMES)
        return 0;
    return fi_mr_reg(link->domain, memory, len, FI_SEND | FI_RECV, 0, 0, 0, out, NULL);
}

/* Registers the memory of a frame once. It stays registered while the link is open. */
static int know_buffer(ofi_link *link, pen_net_buffer *buffer)
{
    struct fid_mr *mr = NULL;
    if (buffer->known != NULL)
        return 0;
    const int error =
        ofi_register_memory(link, buffer->bytes, pen_net_room(&link->net, buffer), &mr);
    buffer->known = mr;
    return error;
}

/* Hands a packed frame to libfabric. Frames of CONTROL are never injected: libfabric does not tell
 * when an injected message has left, and the last frames of a job are of this lane. Returns
 * libfabric's error, or 0. */
static ssize_t send_buffer(ofi_link *link, pen_net_buffer *buffer)
{
    pen_net_word word;
    memcpy(&word, buffer->bytes, sizeof word);
    const size_t len = pen_net_len(word.head_words * 8u, word.body_len);
    const fi_addr_t to = link->address[buffer->to];
    if (len <= link->inject_len && word.lane != PEN_LANE_CONTROL) {
        const ssize_t result = fi_inject(link->ep, buffer->bytes, len, to);
        if (result == 0)
            pen_net_give(&link->net, buffer);
        return result;
    }
    void *known = NULL;
    if (pen_unlikely(link->grade == OFI_LOCAL_FRAMES)) {
        const int error = know_buffer(link, buffer);
        if (error != 0)
            return error;
        known = fi_mr_desc(buffer->known);
    }
    const ssize_t result = fi_send(link->ep, buffer->bytes, len, known, to, buffer->context);
    link->net.pending += result == 0;
    return result;
}

/* A frame for which libfabric has no room waits in the link, so that a full queue of libfabric
 * stops no lane. The windows of the peers bound how many frames wait. */
static void wait_in_link(ofi_link *link, pen_net_buffer *buffer)
{
    buffer->next = NULL;
    *link->last_waiting = buffer;
    link->last_waiting = &buffer->next;
}

static bool send_or_wait(ofi_link *link, pen_net_buffer *buffer)
{
    const ssize_t result = send_buffer(link, buffer);
    if (pen_likely(result == 0))
        return true;
    if (result == -FI_EAGAIN) {
        wait_in_link(link, buffer);
        return true;
    }
    pen_net_lose(&link->net, buffer->to);
    pen_net_give(&link->net, buffer);
    return false;
}

/* Tries some of the frames that wait. A peer that takes nothing does not hold up the others. */
static void send_waiting(ofi_link *link)
{
    for (unsigned i = 0; i < OFI_RETRIES && link->first_waiting != NULL; i++) {
        pen_net_buffer *buffer = link->first_waiting;
        link->first_waiting = buffer->next;
        if (link->first_waiting == NULL)
            link->last_waiting = &link->first_waiting;
        (void)send_or_wait(link, buffer);
    }
}

pen_post ofi_post_locked(ofi_link *link, pen_peer to, pen_lane lane, const pen_frame *frame)
{
    size_t len = 0;
    if (pen_net_is_lost(&link->net, to))
        return PEN_POST_FAILED;
    pen_net_buffer *buffer = pen_net_pack(&link->net, to, lane, frame, &len);
    if (buffer == NULL)
        return PEN_POST_AGAIN;
    if (pen_unlikely(link->first_waiting != NULL)) {
        wait_in_link(link, buffer);
        return PEN_POST_DONE;
    }
    return send_or_wait(link, buffer) ? PEN_POST_DONE : PEN_POST_FAILED;
}

pen_post ofi_post(pen_link *base, pen_peer to, pen_lane lane, const pen_frame *frame, pen_op *op)
{
    (void)op; /* the frame is copied */
    ofi_link *link = ofi_of(base);
    pen_lock_take(&link->lock);
    const pen_post result = ofi_post_locked(link, to, lane, frame);
    pen_lock_drop(&link->lock);
    return result;
}

static pen_net_buffer *buffer_of(void *context)
{
    return (pen_net_buffer *)(void *)((char *)context - offsetof(pen_net_buffer, context));
}

static void end_send(ofi_link *link, void *context)
{
    link->net.pending--;
    pen_net_give(&link->net, buffer_of(context));
}

/* Reads an error. The peer of that message is lost, unless the endpoint is closing. */
static void end_failed(ofi_link *link)
{
    struct fi_cq_err_entry entry = { 0 };
    if (fi_cq_readerr(link->sent, &entry, 0) != 1)
        return;
    ofi_token *token = ofi_token_of(link, entry.op_context);
    if (token != NULL) {
        (void)ofi_token_end(link, token, true);
        return;
    }
    if (entry.err != FI_ECANCELED)
        pen_net_lose(&link->net, buffer_of(entry.op_context)->to);
    end_send(link, entry.op_context);
}

typedef struct ofi_ended { /* ops that end when the lock has been dropped */
    unsigned count;
    pen_op *op[OFI_ENTRIES];
} ofi_ended;

static void take_sent(ofi_link *link, ofi_ended *ended)
{
    struct fi_cq_data_entry entries[OFI_ENTRIES];
    const ssize_t count = fi_cq_read(link->sent, entries, OFI_ENTRIES);
    for (ssize_t i = 0; i < count; i++) {
        ofi_token *token = ofi_token_of(link, entries[i].op_context);
        pen_op *op = NULL;
        if (token == NULL)
            end_send(link, entries[i].op_context);
        else
            op = ofi_token_end(link, token, false);
        if (op != NULL)
            ended->op[ended->count++] = op;
    }
    if (count == -FI_EAVAIL)
        end_failed(link);
}

/* ---- buffers --------------------------------------------------------------------------------- */

int ofi_buffers_post(ofi_link *link)
{
    for (unsigned i = 0; link->unposted != 0 && i < OFI_BUFFERS; i++) {
        ofi_buffer *buffer = &link->buffers[i];
        const struct iovec part = { .iov_base = buffer->memory, .iov_len = link->buffer_len };
        if (buffer->is_posted)
            continue;
        void *known = buffer->mr != NULL ? fi_mr_desc(buffer->mr) : NULL;
        const struct fi_msg message = { .msg_iov = &part,
                                        .desc = &known,
                                        .iov_count = 1,
                                        .addr = FI_ADDR_UNSPEC,
                                        .context = &buffer->context };
        const ssize_t result = fi_recvmsg(link->ep, &message, FI_MULTI_RECV);
        if (result != 0)
            return result == -FI_EAGAIN ? 0 : (int)result;
        buffer->is_posted = true;
        link->unposted--;
    }
    return 0;
}

static void buffer_is_free(ofi_link *link, void *context)
{
    ((ofi_buffer *)context)->is_posted = false;
    link->unposted++;
}

/* ---- arriving -------------------------------------------------------------------------------- */

typedef struct ofi_arrival {
    pen_net_word word;
    void *data;
} ofi_arrival;

/* Reads completions, and fills *arrivals with the frames among them. Returns how many there are.
 * A buffer that is used up is posted again after its frames were delivered. */
static unsigned take_arrived(ofi_link *link, ofi_arrival *arrivals, unsigned most, bool *has_read)
{
    struct fi_cq_data_entry entries[OFI_ENTRIES];
    unsigned count = 0;
    const ssize_t read =
        fi_cq_read(link->arrived, entries, most < OFI_ENTRIES ? most : OFI_ENTRIES);
    *has_read = read > 0;
    for (ssize_t i = 0; i < read; i++) {
        const struct fi_cq_data_entry *entry = &entries[i];
        if ((entry->flags & FI_RECV) != 0 &&
            pen_net_unpack(&link->net, entry->buf, entry->len, &arrivals[count].word))
            arrivals[count++].data = entry->buf;
        if ((entry->flags & FI_MULTI_RECV) != 0)
            buffer_is_free(link, entry->op_context);
    }
    if (read == -FI_EAVAIL) {
        struct fi_cq_err_entry error = { 0 };
        if (fi_cq_readerr(link->arrived, &error, 0) == 1) {
            link->net.bad_frame += error.err != FI_ECANCELED;
            if ((error.flags & FI_MULTI_RECV) != 0)
                buffer_is_free(link, error.op_context);
        }
    }
    return count;
}

/* Delivers a frame if its lane is asked for, else copies it to the stash. Returns frames
 * delivered. */
static unsigned hand_or_stash(ofi_link *link, const ofi_arrival *arrival, unsigned lanes)
{
    const pen_lane lane = (pen_lane)arrival->word.lane;
    const bool is_asked = (lanes & PEN_LANE_BIT(lane)) != 0;
    if (pen_likely(is_asked && (uintptr_t)arrival->data % PEN_NET_ALIGN == 0)) {
        pen_net_hand(link->base.host, &arrival->word, arrival->data);
        return 1;
    }
    const pen_frame frame = pen_net_frame(&arrival->word, arrival->data);
    if (!pen_lanes_keep(&link->stash, arrival->word.from, lane, &frame, 0)) {
        pen_lock_take(&link->lock);
        pen_net_lose_frame(&link->net, arrival->word.from);
        pen_lock_drop(&link->lock);
    }
    return 0;
}

/* Does the work of a poll beside reading arrivals. Under the lock. */
static void tend(ofi_link *link, ofi_ended *ended)
{
    if ((link->net.pending | link->tokens_out) != 0)
        take_sent(link, ended);
    if (pen_unlikely(link->first_waiting != NULL))
        send_waiting(link);
    if (pen_unlikely(link->first_delayed != NULL))
        ofi_delayed_start(link);
    if (pen_unlikely(link->unposted != 0) && ofi_buffers_post(link) != 0)
        link->net.bad_frame++;
}

unsigned ofi_poll(pen_link *base, unsigned lanes, unsigned budget)
{
    ofi_link *link = ofi_of(base);
    ofi_arrival arrivals[OFI_ENTRIES];
    bool has_read = true, has_news = false;
    unsigned delivered = 0, handled = 0;
    if (pen_unlikely(link->stash.total != 0))
        delivered = pen_lanes_deliver(&link->stash, base->host, lanes, budget);
    while (has_read && delivered < budget) {
        ofi_ended ended;
        ended.count = 0;
        pen_lock_take(&link->lock);
        tend(link, &ended);
        const unsigned count = take_arrived(link, arrivals, budget - delivered, &has_read);
        has_news = pen_net_has_news(&link->net);
        pen_lock_drop(&link->lock);
        for (unsigned i = 0; i < ended.count; i++)
            pen_op_done(ended.op[i]);
        handled += ended.count;
        for (unsigned i = 0; i < count; i++)
            delivered += hand_or_stash(link, &arrivals[i], lanes);
    }
    /* A peer that left in order is lost, too; its last frames say why, so they come first. */
    if (pen_unlikely(has_news) && !has_read && delivered < budget) {
        pen_lock_take(&link->lock);
        pen_net_tell(&link->net, &link->lock);
        pen_lock_drop(&link->lock);
    }
    return delivered + handled;
}

/* ---- waiting --------------------------------------------------------------------------------- */

static int wait_fd(pen_link *base) { return ofi_of(base)->fd; }

static bool wait_arm(pen_link *base)
{
    ofi_link *link = ofi_of(base);
    if (!link->has_fd)
        return true;
    struct fid *queue = &link->arrived->fid;
    pen_lock_take(&link->lock);
    const bool is_armed = fi_trywait(link->fabric, &queue, 1) == 0;
    pen_lock_drop(&link->lock);
    return is_armed;
}

static uint64_t due_ns(pen_link *base)
{
    ofi_link *link = ofi_of(base);
    pen_lock_take(&link->lock);
    const bool needs_polls = !link->has_fd || (link->net.pending | link->tokens_out) != 0 ||
                             link->first_waiting != NULL || link->first_delayed != NULL ||
                             link->unposted != 0 || link->net.lost != 0;
    pen_lock_drop(&link->lock);
    return needs_polls ? base->host->now_ns(base->host->ctx) + NAP_NS : UINT64_MAX;
}

const pen_wait_ops ofi_wait = { .fd = wait_fd, .arm = wait_arm };
const pen_due_ops ofi_due = { .due_ns = due_ns };

/* ---- closing --------------------------------------------------------------------------------- */

void ofi_drain(ofi_link *link)
{
    const pen_host *host = link->base.host;
    const uint64_t end_ns = host->now_ns(host->ctx) + DRAIN_NS;
    ofi_ended none = { 0 };
    pen_lock_take(&link->lock);
    link->is_closing = true;
    while (((link->net.pending | link->tokens_out) != 0 || link->first_waiting != NULL ||
            link->first_delayed != NULL) &&
           host->now_ns(host->ctx) < end_ns) {
        take_sent(link, &none);
        send_waiting(link);
        ofi_delayed_start(link);
    }
    pen_lock_drop(&link->lock);
}
