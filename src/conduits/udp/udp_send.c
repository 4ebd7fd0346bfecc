/* SPDX-License-Identifier: BSD-3-Clause */
/* udp_send.c: collects frames into bundles, and bundles into datagrams. */
#include "conduits/udp/udp.h"

#include "base/compiler.h"
#include "conduit/conduit.h"
#include "os/lock.h"
#include "seal/seal.h"

#include <pthread.h>
#include <string.h>

/* ---- one bundle ------------------------------------------------------------------------------ */

static void bundle_reset(udp_bundle *bundle)
{
    bundle->train_len = bundle->segment_len = bundle->open_len = 0;
    bundle->segments = 0;
}

static bool bundle_is_empty(const udp_bundle *bundle)
{
    return bundle->segments == 0 && bundle->open_len == 0;
}

/* Sends the sealed datagrams. Returns false if the kernel has no room now. */
static bool bundle_send(udp_link *link, udp_bundle *bundle)
{
    if (bundle->segments == 0)
        return true;
    if (!udp_socket_send(link, bundle->to, bundle->bytes, bundle->train_len, bundle->segment_len))
        return false;
    bundle->train_len = bundle->segment_len = 0;
    bundle->segments = 0;
    return true;
}

/* Seals the open datagram and adds it to the sealed ones. All datagrams of a train but the last
 * have one length: a longer one begins a new train, and a shorter one ends its train, which is
 * then sent. Returns false if the train before it cannot be sent now; then nothing has changed. */
static bool bundle_seal(udp_link *link, udp_bundle *bundle)
{
    size_t len = bundle->open_len + PEN_SEAL_TAG_LEN;
    if (bundle->segments != 0 && len > bundle->segment_len) {
        size_t off = bundle->train_len;
        if (!bundle_send(link, bundle))
            return false;
        memmove(bundle->bytes, bundle->bytes + off, bundle->open_len);
    }
    if (!pen_seal_protect(link->seal, bundle->to, bundle->bytes + bundle->train_len, UDP_HEADER_LEN,
                          bundle->open_len - UDP_HEADER_LEN)) {
        bundle->open_len = 0; /* after 2^64 datagrams: all further ones are lost */
        return true;
    }
    if (bundle->segments == 0)
        bundle->segment_len = len;
    bundle->segments++;
    bundle->train_len += len;
    bundle->open_len = 0;
    return true;
}

static bool bundle_flush(udp_link *link, udp_bundle *bundle)
{
    return (bundle->open_len == 0 || bundle_seal(link, bundle)) && bundle_send(link, bundle);
}

/* Returns whether another datagram of the full length may follow the sealed ones. */
static bool bundle_may_grow(const udp_link *link, const udp_bundle *bundle)
{
    if (bundle->segments == 0)
        return true;
    size_t last_len = bundle->train_len - (bundle->segments - 1) * bundle->segment_len;
    return link->cuts && bundle->segments < UDP_TRAIN_MAX && last_len == bundle->segment_len &&
           bundle->segment_len % UDP_ALIGN == 0 &&
           bundle->train_len + link->datagram_max <= UDP_DATAGRAM_MAX;
}

/* Adds a frame. Returns false if there is no room before the kernel takes this bundle. */
static bool bundle_add(udp_link *link, udp_bundle *bundle, pen_lane lane, const pen_frame *frame)
{
    if (bundle->open_len != 0) {
        size_t end = udp_frame_end(bundle->open_len, frame->head_len, frame->body_len);
        if (end + PEN_SEAL_TAG_LEN > link->datagram_max && !bundle_seal(link, bundle))
            return false;
    }
    if (bundle->open_len == 0) {
        if (!bundle_may_grow(link, bundle) && !bundle_send(link, bundle))
            return false;
        udp_header_write(bundle->bytes + bundle->train_len, &link->us, bundle->to);
        bundle->open_len = UDP_HEADER_LEN;
    }
    bundle->open_len =
        udp_frame_write(bundle->bytes + bundle->train_len, bundle->open_len, lane, frame);
    return true;
}

/* ---- all of them ----------------------------------------------------------------------------- */

/* Finds the peer's bundle, or an empty one. Returns NULL if other peers have all bundles and the
 * kernel takes no bundle now. */
static udp_bundle *bundle_of(udp_link *link, pen_peer to)
{
    udp_bundle *empty = NULL;
    for (unsigned i = 0; i < link->bundles_used; i++) {
        udp_bundle *bundle = &link->bundles[i];
        if (bundle_is_empty(bundle))
            empty = empty != NULL ? empty : bundle;
        else if (bundle->to == to)
            return bundle;
    }
    if (empty == NULL && link->bundles_used < UDP_BUNDLES)
        empty = &link->bundles[link->bundles_used++];
    for (unsigned i = 0; empty == NULL && i < UDP_BUNDLES; i++)
        if (bundle_flush(link, &link->bundles[i]))
            empty = &link->bundles[i];
    if (empty != NULL) {
        bundle_reset(empty);
        empty->to = to;
    }
    return empty;
}

static void note_unsent(udp_link *link, bool unsent)
{
    /* relaxed: see udp_poll */
    if (atomic_load_explicit(&link->unsent, memory_order_relaxed) != unsent)
        atomic_store_explicit(&link->unsent, unsent, memory_order_relaxed);
}

void udp_flush(udp_link *link)
{
    if (pen_unlikely(udp_is_orphan(link)))
        return;
    pen_lock_take(&link->send_lock);
    unsigned left = 0;
    for (unsigned i = 0; i < link->bundles_used; i++)
        if (!bundle_flush(link, &link->bundles[i]))
            left = i + 1;
    link->bundles_used = left;
    note_unsent(link, left != 0);
    link->receiver.counters->net_send_failed = link->send_failed;
    pen_lock_drop(&link->send_lock);
}

/* Returns whether this call comes from a handler; poll flushes after the handlers. */
static bool is_in_poll(udp_link *link)
{
    /* relaxed: a thread looks only for its own name */
    return atomic_load_explicit(&link->poller, memory_order_relaxed) == (uintptr_t)pthread_self();
}

/* Sends a long body from its place, so that only the kernel copies it. Used without a seal only,
 * because a seal needs the datagram in one piece. */
static bool send_bulk(udp_link *link, pen_peer to, pen_lane lane, const pen_frame *frame)
{
    static const uint8_t zero[8 + PEN_SEAL_TAG_LEN];
    _Alignas(UDP_ALIGN) uint8_t head[UDP_DATAGRAM_EXTRA + UDP_FRAME_EXTRA_MAX];
    udp_header_write(head, &link->us, to);
    if (!pen_seal_protect(link->seal, to, head, UDP_HEADER_LEN,
                          0)) /* the counter, and a tag that the frame overwrites */
        return true;
    size_t head_len = udp_frame_write_head(head, UDP_HEADER_LEN, lane, frame);
    size_t end = head_len + frame->body_len;
    struct iovec parts[] = {
        { head, head_len },
        { (void *)(uintptr_t)frame->body, frame->body_len }, /* the kernel only reads it */
        { (void *)(uintptr_t)zero, pen_align_up(end, 8) - end + PEN_SEAL_TAG_LEN },
    };
    return udp_socket_send_parts(link, to, parts, sizeof parts / sizeof parts[0]);
}

static bool goes_alone(const udp_link *link, const pen_frame *frame)
{
    const size_t len = udp_frame_end(0, frame->head_len, frame->body_len);
    const bool waits = link->config.bundle && link->base.may_gather &&
                       UDP_DATAGRAM_EXTRA + 2 * len <= link->datagram_max;
    return frame->body_len >= UDP_BULK_LEN && link->mode == PEN_SEAL_NONE && !waits;
}

/* Adds a frame to the peer's bundle, and sends the bundle unless it should wait for more frames.
 * Returns false if there is no room now. */
static bool post_bundled(udp_link *link, pen_peer to, pen_lane lane, const pen_frame *frame)
{
    udp_bundle *bundle = bundle_of(link, to);
    bool added = bundle != NULL && bundle_add(link, bundle, lane, frame);
    /* If the kernel has no room now, the next poll sends the bundle. */
    if (added && !(link->config.bundle && is_in_poll(link)) &&
        ((link->config.bundle && link->base.may_gather) || !bundle_flush(link, bundle)))
        note_unsent(link, true);
    return added;
}

pen_post udp_post(pen_link *base, pen_peer to, pen_lane lane, const pen_frame *frame, pen_op *op)
{
    udp_link *link = udp_of(base);
    (void)op; /* every frame is copied at return, so no post is PENDING */
    if (pen_unlikely(udp_is_orphan(link)))
        return PEN_POST_DONE; /* lost, as any frame may be */
    pen_lock_take(&link->send_lock);
    bool sent = goes_alone(link, frame) ? send_bulk(link, to, lane, frame)
                                        : post_bundled(link, to, lane, frame);
    pen_lock_drop(&link->send_lock);
    return sent ? PEN_POST_DONE : PEN_POST_AGAIN;
}
