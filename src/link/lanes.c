/* SPDX-License-Identifier: BSD-3-Clause */
/* lanes.c: lists of kept frames, one for each lane. */
#include "link/lanes.h"

#include "base/compiler.h"
#include "conduit/conduit.h"
#include "link/host.h"

#include <string.h>

void pen_lanes_init(pen_lanes *lanes, void *(*alloc)(void *, size_t, size_t),
                    void (*release)(void *, void *), void *ctx)
{
    *lanes = (pen_lanes){ .alloc = alloc, .release = release, .ctx = ctx };
    for (unsigned lane = 0; lane < PEN_LANES; lane++)
        lanes->last_next[lane] = &lanes->first[lane];
}

static size_t reserved_size(uint32_t room)
{
    return pen_align_up(sizeof(pen_kept) + room, PEN_KEPT_ALIGN);
}

bool pen_lanes_reserve(pen_lanes *lanes, uint32_t count, uint32_t len_max)
{
    lanes->reserve_room = (uint32_t)pen_align_up(len_max, PEN_KEPT_ALIGN) + PEN_KEPT_ALIGN;
    lanes->reserve = (char *)lanes->alloc(
        lanes->ctx, (count + 1) * reserved_size(lanes->reserve_room), PEN_KEPT_ALIGN);
    if (lanes->reserve == NULL)
        return false;
    lanes->reserve_count = count;
    return true;
}

void pen_lanes_close(pen_lanes *lanes)
{
    pen_kept *kept;
    if (lanes->release == NULL) /* never initialized */
        return;
    while ((kept = pen_lanes_take(lanes, PEN_LANES_ALL)) != NULL)
        pen_lanes_give(lanes, kept);
    if (lanes->reserve != NULL)
        lanes->release(lanes->ctx, lanes->reserve);
    pen_lanes_init(lanes, lanes->alloc, lanes->release, lanes->ctx);
}

static uint32_t room_for(uint32_t head_len, uint32_t body_len)
{
    return (uint32_t)pen_align_up(head_len, PEN_KEPT_ALIGN) + body_len;
}

size_t pen_lanes_charge(uint32_t head_len, uint32_t body_len)
{
    return sizeof(pen_kept) + room_for(head_len, body_len);
}

static pen_kept *memory_of_reserve(pen_lanes *lanes)
{
    pen_kept *kept = lanes->spare;
    if (kept != NULL) {
        lanes->spare = kept->next;
        return kept;
    }
    if (lanes->reserve_used == lanes->reserve_count)
        return NULL;
    size_t at = lanes->reserve_used++ * reserved_size(lanes->reserve_room);
    kept = (pen_kept *)(void *)(lanes->reserve + at);
    kept->is_reserved = true;
    return kept;
}

static pen_kept *memory_for(pen_lanes *lanes, uint32_t room)
{
    pen_kept *kept = room <= lanes->reserve_room ? memory_of_reserve(lanes) : NULL;
    if (kept != NULL)
        return kept;
    kept = (pen_kept *)lanes->alloc(lanes->ctx, sizeof *kept + room, PEN_KEPT_ALIGN);
    if (kept != NULL)
        kept->is_reserved = false;
    return kept;
}

bool pen_lanes_keep(pen_lanes *lanes, pen_peer from, pen_lane lane, const pen_frame *frame,
                    uint64_t tag)
{
    pen_kept *kept = memory_for(lanes, room_for(frame->head_len, frame->body_len));
    if (kept == NULL)
        return false;
    kept->next = NULL;
    kept->from = from;
    kept->lane = lane;
    kept->head_len = frame->head_len;
    kept->body_len = frame->body_len;
    kept->tag = tag;
    memcpy(kept->bytes, frame->head, frame->head_len);
    if (frame->body_len != 0)
        memcpy(pen_kept_body(kept), frame->body, frame->body_len);
    *lanes->last_next[lane] = kept;
    lanes->last_next[lane] = &kept->next;
    lanes->count[lane]++;
    lanes->total++;
    lanes->len += pen_lanes_charge(kept->head_len, kept->body_len);
    return true;
}

static pen_kept *take_at(pen_lanes *lanes, unsigned lane, pen_kept **at)
{
    pen_kept *kept = *at;
    *at = kept->next;
    if (kept->next == NULL)
        lanes->last_next[lane] = at;
    lanes->count[lane]--;
    lanes->total--;
    lanes->len -= pen_lanes_charge(kept->head_len, kept->body_len);
    return kept;
}

pen_kept *pen_lanes_take(pen_lanes *lanes, unsigned asked)
{
    for (unsigned lane = PEN_LANES; lane-- > 0;)
        if ((asked & PEN_LANE_BIT(lane)) != 0 && lanes->first[lane] != NULL)
            return take_at(lanes, lane, &lanes->first[lane]);
    return NULL;
}

pen_kept *pen_lanes_take_ready(pen_lanes *lanes, unsigned asked,
                               bool (*is_ready)(void *ctx, const pen_kept *kept), void *ctx)
{
    for (unsigned lane = PEN_LANES; lane-- > 0;) {
        if ((asked & PEN_LANE_BIT(lane)) == 0)
            continue;
        for (pen_kept **at = &lanes->first[lane]; *at != NULL; at = &(*at)->next)
            if (is_ready(ctx, *at))
                return take_at(lanes, lane, at);
    }
    return NULL;
}

void pen_lanes_give(pen_lanes *lanes, pen_kept *kept)
{
    if (kept->is_reserved) {
        kept->next = lanes->spare;
        lanes->spare = kept;
    } else {
        lanes->release(lanes->ctx, kept);
    }
}

unsigned pen_lanes_deliver(pen_lanes *lanes, const pen_host *host, unsigned asked, unsigned budget)
{
    unsigned count = 0;
    while (count < budget) {
        pen_kept *kept = pen_lanes_take(lanes, asked);
        if (kept == NULL)
            break;
        pen_host_hand(host, kept->from, kept->lane, pen_kept_head(kept), kept->head_len,
                      pen_kept_body(kept), kept->body_len);
        pen_lanes_give(lanes, kept);
        count++;
    }
    return count;
}
