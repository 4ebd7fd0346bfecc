/* SPDX-License-Identifier: BSD-3-Clause */
/* self.c: frames of a rank to itself. They take no slot of the mailbox, which has room for peers
 * only; each lane has a short queue of copies. */
#include "conduits/extoll/extoll.h"

#include <string.h>

/* Under the lock. */
pen_post extoll_self_post(extoll_link *link, pen_lane lane, const pen_frame *frame,
                          bool behind_puts)
{
    if (link->self_count[lane] == EXTOLL_SELF_MAX)
        return PEN_POST_AGAIN;
    extoll_buffer *buffer = extoll_buffer_take(link);
    if (buffer == NULL)
        return PEN_POST_AGAIN;
    buffer->next = NULL;
    buffer->head_len = frame->head_len;
    buffer->body_len = frame->body_len;
    buffer->number = behind_puts ? extoll_rma_number(link, link->base.self) : 0;
    memcpy(buffer->head, frame->head, frame->head_len);
    if (frame->body_len != 0)
        memcpy(buffer->body, frame->body, frame->body_len);
    *link->self_last[lane] = buffer;
    link->self_last[lane] = &buffer->next;
    link->self_count[lane]++;
    atomic_fetch_add_explicit(&link->self_total, 1, memory_order_relaxed);
    return PEN_POST_DONE;
}

/* Under the lock: the next one that may be delivered; NULL: none. */
static extoll_buffer *self_take(extoll_link *link, unsigned lane)
{
    extoll_buffer *buffer = link->self_first[lane];
    if (buffer == NULL || buffer->number > link->notified[link->base.self])
        return NULL;
    link->self_first[lane] = buffer->next;
    if (buffer->next == NULL)
        link->self_last[lane] = &link->self_first[lane];
    link->self_count[lane]--;
    atomic_fetch_sub_explicit(&link->self_total, 1, memory_order_relaxed);
    return buffer;
}

unsigned extoll_self_poll(extoll_link *link, unsigned lanes, unsigned budget)
{
    const pen_host *host = link->base.host;
    unsigned count = 0;
    for (unsigned lane = PEN_LANES; lane-- > 0;) {
        while ((lanes & PEN_LANE_BIT(lane)) != 0 && count < budget) {
            pen_lock_take(&link->lock);
            extoll_buffer *buffer = self_take(link, lane);
            pen_lock_drop(&link->lock);
            if (buffer == NULL)
                break;
            host->deliver(host->ctx, link->base.self, (pen_lane)lane, buffer->head,
                          buffer->head_len, buffer->body_len == 0 ? NULL : buffer->body,
                          buffer->body_len);
            pen_lock_take(&link->lock);
            extoll_buffer_give(link, buffer);
            pen_lock_drop(&link->lock);
            count++;
        }
    }
    return count;
}
