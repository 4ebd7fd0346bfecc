/* SPDX-License-Identifier: BSD-3-Clause */
/* udp_receive.c: polls the shared socket, delivers genuine frames, and sleeps on the socket.
 *
 * Each receiving call takes its messages off the socket, so no malformed message can stop the
 * poll. A datagram that fails a stage is counted and dropped: it gets no answer and no line in a
 * log. */
#include "conduits/udp/udp.h"

#include "base/compiler.h"
#include "base/status.h"
#include "conduit/conduit.h"
#include "diag/counters.h"
#include "link/host.h"
#include "link/lanes.h"

#include <errno.h>
#include <netinet/udp.h>
#include <pthread.h>
#include <string.h>

enum { CONTROL_LEN = CMSG_SPACE(sizeof(int)) };

typedef struct udp_slot { /* memory that a message header points at */
    struct iovec part;
    _Alignas(struct cmsghdr) char control[CONTROL_LEN];
} udp_slot;

/* The slots lie behind the messages, in one piece of memory. */
static udp_slot *slots_of(const udp_receiver *receiver)
{
    return (udp_slot *)(void *)(receiver->messages + UDP_BATCH);
}

static uint8_t *buffer_of(const udp_receiver *receiver, unsigned i)
{
    return receiver->buffers + (size_t)i * UDP_BUFFER_LEN;
}

pen_status udp_receiver_open(udp_link *link)
{
    const pen_host *host = link->base.host;
    udp_receiver *receiver = &link->receiver;
    pen_lanes_init(&receiver->kept, host->alloc, host->release, host->ctx);
    receiver->batch = 1;
    receiver->buffers =
        host->alloc(host->ctx, (size_t)(UDP_BATCH + 1) * UDP_BUFFER_LEN, PEN_CACHE_LINE);
    receiver->messages = host->alloc(
        host->ctx, UDP_BATCH * (sizeof *receiver->messages + sizeof(udp_slot)), PEN_CACHE_LINE);
    if (receiver->buffers == NULL || receiver->messages == NULL)
        return PEN_ERR_MEMORY;
    memset(receiver->messages, 0, UDP_BATCH * sizeof *receiver->messages);
    udp_slot *slots = slots_of(receiver);
    for (unsigned i = 0; i < UDP_BATCH; i++) {
        slots[i].part = (struct iovec){ buffer_of(receiver, i), UDP_BUFFER_LEN };
        /* No room for the sender's address: it is never used. */
        receiver->messages[i].msg_hdr.msg_iov = &slots[i].part;
        receiver->messages[i].msg_hdr.msg_iovlen = 1;
    }
    return PEN_OK;
}

void udp_receiver_close(udp_link *link)
{
    const pen_host *host = link->base.host;
    udp_receiver *receiver = &link->receiver;
    pen_lanes_close(&receiver->kept);
    if (receiver->buffers != NULL)
        host->release(host->ctx, receiver->buffers);
    if (receiver->messages != NULL)
        host->release(host->ctx, receiver->messages);
}

/* ---- from the socket ------------------------------------------------------------------------- */

/* Receives up to receiver->batch messages; returns how many came. */
static unsigned receive_several(udp_link *link)
{
    udp_receiver *receiver = &link->receiver;
    udp_slot *slots = slots_of(receiver);
    for (unsigned i = 0; link->joins && i < receiver->batch; i++) {
        receiver->messages[i].msg_hdr.msg_control = slots[i].control;
        receiver->messages[i].msg_hdr.msg_controllen = CONTROL_LEN;
    }
    int count = recvmmsg(link->fd, receiver->messages, receiver->batch, MSG_DONTWAIT, NULL);
    if (pen_unlikely(count < 0 && errno != EAGAIN))
        udp_socket_look(link, "recvmmsg", errno);
    return count > 0 ? (unsigned)count : 0;
}

/* Receives one message by the cheapest call: what arrives during the call waits until its end.
 * This call does not report the lengths of joined datagrams. */
static unsigned receive_single(udp_link *link)
{
    struct mmsghdr *message = &link->receiver.messages[0];
    ssize_t len = recv(
        link->fd, buffer_of(&link->receiver, 0), UDP_BUFFER_LEN,
        MSG_DONTWAIT |
            MSG_TRUNC); /* TRUNC: returns the real length, even if it is longer than the buffer */
    bool cut = len > UDP_BUFFER_LEN;
    if (pen_unlikely(len < 0 && errno != EAGAIN))
        udp_socket_look(link, "recv", errno);
    message->msg_len = len < 0 ? 0 : cut ? UDP_BUFFER_LEN : (unsigned)len;
    message->msg_hdr.msg_flags = cut ? MSG_TRUNC : 0;
    return len >= 0 ? 1 : 0;
}

/* Makes one system call. Returns false if no message has come. */
static bool receive_batch(udp_link *link)
{
    udp_receiver *receiver = &link->receiver;
    receiver->message_count =
        receiver->batch == 1 && !link->joins ? receive_single(link) : receive_several(link);
    receiver->message_i = 0;
    receiver->message_off = 0;
    receiver->drained = receiver->message_count < receiver->batch;
    bool is_long = receiver->messages[0].msg_len >= UDP_BULK_LEN;
    if (receiver->drained) /* asking for one message too many costs as much as an empty poll */
        receiver->batch = 1;
    else if (is_long)
        receiver->batch = UDP_BATCH_LONG;
    else if (receiver->batch < UDP_BATCH)
        receiver->batch *= 2;
    return receiver->message_count != 0;
}

/* Length of each datagram that the kernel has joined in a message. */
static size_t segment_len_of(const struct mmsghdr *message)
{
    const struct msghdr *header = &message->msg_hdr;
    int segment_len = 0;
    if (header->msg_controllen < CMSG_LEN(sizeof segment_len))
        return message->msg_len;
    const struct cmsghdr *control = CMSG_FIRSTHDR(header);
    if (control == NULL || control->cmsg_level != IPPROTO_UDP || control->cmsg_type != UDP_GRO ||
        control->cmsg_len < CMSG_LEN(sizeof segment_len))
        return message->msg_len;
    memcpy(&segment_len, CMSG_DATA(control), sizeof segment_len);
    return segment_len > 0 && (size_t)segment_len < message->msg_len ? (size_t)segment_len
                                                                     : message->msg_len;
}

static void count_drop(pen_counters *counters, udp_verdict verdict)
{
    uint64_t *const of[UDP_VERDICTS] = {
        [UDP_BAD_LENGTH] = &counters->net_bad_length,
        [UDP_BAD_VERSION] = &counters->net_bad_version,
        [UDP_BAD_EPOCH] = &counters->net_bad_epoch,
        [UDP_BAD_SOURCE] = &counters->net_bad_source,
        [UDP_BAD_SEAL] = &counters->net_bad_seal,
        [UDP_REPLAYED] = &counters->net_replayed,
        [UDP_BAD_FRAME] = &counters->net_bad_frame,
    };
    ++*of[verdict];
}

/* Opens one datagram, which lies in the message's buffer. Returns true if its frames can be
 * delivered. */
static bool open_datagram(udp_link *link, uint8_t *bytes, size_t len, bool cut)
{
    udp_receiver *receiver = &link->receiver;
    uint8_t *aligned = buffer_of(receiver, UDP_BATCH);
    size_t payload_len = 0;
    if ((uintptr_t)bytes % UDP_ALIGN != 0) { /* joined behind one whose length is not aligned */
        memcpy(aligned, bytes, len);
        bytes = aligned;
    }
    udp_verdict verdict =
        cut ? UDP_BAD_LENGTH
            : udp_datagram_open(link->seal, &link->us, bytes, len, &receiver->from, &payload_len);
    if (verdict != UDP_GENUINE) {
        count_drop(receiver->counters, verdict);
        return false;
    }
    receiver->datagram = bytes;
    receiver->frame_off = UDP_HEADER_LEN;
    receiver->frame_end = UDP_HEADER_LEN + payload_len;
    return true;
}

/* Opens the next genuine datagram of the received messages. Returns false if there is no more. */
static bool next_of_batch(udp_link *link)
{
    udp_receiver *receiver = &link->receiver;
    while (receiver->message_i < receiver->message_count) {
        const struct mmsghdr *message = &receiver->messages[receiver->message_i];
        uint8_t *bytes = buffer_of(receiver, receiver->message_i) + receiver->message_off;
        size_t left = message->msg_len - receiver->message_off;
        size_t len = segment_len_of(message);
        len = len < left ? len : left;
        bool cut = (message->msg_hdr.msg_flags & MSG_TRUNC) != 0;
        receiver->message_off += len;
        if (receiver->message_off >= message->msg_len) { /* at once for an empty message */
            receiver->message_i++;
            receiver->message_off = 0;
        }
        if (open_datagram(link, bytes, len, cut))
            return true;
    }
    return false;
}

/* ---- frames that wait for their lane --------------------------------------------------------- */

/* Keeps a frame for a later poll. A frame beyond the granted room is dropped; its sender sends
 * it again. */
static void keep(udp_link *link, const udp_frame *in)
{
    udp_receiver *receiver = &link->receiver;
    const pen_frame frame = { in->head, in->body, in->head_len, in->body_len };
    size_t len = pen_lanes_charge(in->head_len, in->body_len);
    if (len > link->base.caps.inbox_len + UDP_KEPT_SPARE - receiver->kept.len ||
        !pen_lanes_keep(&receiver->kept, receiver->from, in->lane, &frame, 0))
        receiver->counters->net_no_room++;
}

/* ---- poll ------------------------------------------------------------------------------------ */

/* Delivers the frames of the open datagram, as far as the budget goes. */
static unsigned deliver_frames(udp_link *link, unsigned lanes, unsigned budget)
{
    udp_receiver *receiver = &link->receiver;
    unsigned count = 0;
    while (count < budget) {
        udp_frame frame;
        if (receiver->frame_off >= receiver->frame_end ||
            !udp_frame_read(receiver->datagram, receiver->frame_end, &receiver->frame_off,
                            &frame)) {
            receiver->datagram = NULL;
            break;
        }
        if ((lanes & PEN_LANE_BIT(frame.lane)) == 0) {
            keep(link, &frame);
            continue;
        }
        pen_host_hand(link->base.host, receiver->from, frame.lane, frame.head, frame.head_len,
                      frame.body, frame.body_len);
        count++;
    }
    return count;
}

static unsigned receive(udp_link *link, unsigned lanes, unsigned budget)
{
    udp_receiver *receiver = &link->receiver;
    unsigned count = 0, calls = 0;
    while (count < budget) {
        if (receiver->datagram != NULL || next_of_batch(link)) {
            count += deliver_frames(link, lanes, budget - count);
            continue;
        }
        /* Bounds the time that a stranger who never stops sending can take. */
        if (calls == UDP_RECEIVES_MAX || (calls != 0 && (receiver->drained || count != 0)))
            break;
        calls++;
        if (!receive_batch(link))
            break;
    }
    return count;
}

unsigned udp_poll(pen_link *base, unsigned lanes, unsigned budget)
{
    udp_link *link = udp_of(base);
    if (pen_unlikely(udp_is_orphan(link)))
        return 0;
    /* relaxed: see is_in_poll */
    atomic_store_explicit(&link->poller, (uintptr_t)pthread_self(), memory_order_relaxed);
    /* relaxed: a hint; frames that a post leaves at this moment are sent by the next poll */
    if (atomic_load_explicit(&link->unsent, memory_order_relaxed))
        udp_flush(link);
    unsigned count = 0;
    if (link->receiver.kept.total != 0)
        count = pen_lanes_deliver(&link->receiver.kept, link->base.host, lanes, budget);
    count += receive(link, lanes, budget - count);
    atomic_store_explicit(&link->poller, 0, memory_order_relaxed);
    if (count != 0)
        udp_flush(link);
    return count;
}

/* ---- sleeping -------------------------------------------------------------------------------- */

static int udp_fd(pen_link *base) { return udp_of(base)->fd; }

/* The engine calls it before it sleeps. A datagram in the socket ends the sleep; room to send
 * does not. */
static bool udp_arm(pen_link *base)
{
    const udp_receiver *receiver = &udp_of(base)->receiver;
    return receiver->datagram == NULL && receiver->kept.total == 0 &&
           receiver->message_i == receiver->message_count;
}

const pen_wait_ops udp_wait = { .fd = udp_fd, .arm = udp_arm };

/* Time at which the link needs a poll. Frames that the kernel had no room for are sent by the
 * next poll, since no event tells when it has room. */
static uint64_t udp_due_ns(pen_link *base)
{
    /* relaxed: see udp_poll */
    return atomic_load_explicit(&udp_of(base)->unsent, memory_order_relaxed) ? 0 : UINT64_MAX;
}

const pen_due_ops udp_due = { .due_ns = udp_due_ns };
