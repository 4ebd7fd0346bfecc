/* SPDX-License-Identifier: BSD-3-Clause */
/* portals_receive.c: the blocks that frames arrive in, and delivering from them. A lane's frames
 * stay in its event queue until a poll asks for the lane. */
#include "conduit/conduit.h"
#include "conduits/portals/portals.h"
#include "link/host.h"
#include "link/lanes.h"
#include "softnic/portals/portals4.h"

static int append(portals_link *link, portals_block *block)
{
    const ptl_me_t entry = {
        .start = block->memory,
        .length = PORTALS_BLOCK_LEN,
        .ct_handle = PTL_CT_NONE,
        .uid = PTL_UID_ANY,
        .options = PTL_ME_OP_PUT | PTL_ME_MANAGE_LOCAL | PTL_ME_EVENT_LINK_DISABLE |
                   PTL_ME_UNEXPECTED_HDR_DISABLE,
        .match_id.phys = { .nid = PTL_NID_ANY, .pid = PTL_PID_ANY },
        .ignore_bits = UINT64_MAX,
        .min_free = PORTALS_LONGEST,
    };
    ptl_handle_me_t handle;
    block->used = 0;
    block->is_unlinked = false;
    return PtlMEAppend(link->ni, link->portal[block->lane], &entry, PTL_PRIORITY_LIST, block,
                       &handle);
}

int portals_receive_open(portals_link *link)
{
    const unsigned options = link->policy == PORTALS_DISABLE ? PTL_PT_FLOWCTRL : 0;
    size_t events = portals_inbox(link) / PORTALS_GRAIN + 2 * (size_t)link->blocks_lane;
    int result = PTL_OK;
    for (unsigned lane = 0; lane < PEN_LANES && result == PTL_OK; lane++) {
        result = PtlEQAlloc(link->ni, events, &link->arrived[lane]);
        if (result == PTL_OK)
            result =
                PtlPTAlloc(link->ni, options, link->arrived[lane], PTL_PT_ANY, &link->portal[lane]);
    }
    for (uint32_t i = 0; i < PEN_LANES * link->blocks_lane && result == PTL_OK; i++) {
        link->blocks[i].memory = link->block_memory + (size_t)i * PORTALS_BLOCK_LEN;
        link->blocks[i].lane = (uint8_t)(i / link->blocks_lane);
        result = append(link, &link->blocks[i]);
    }
    return result;
}

/* A block is full when less is left than the longest frame needs. The order of its last frame's
 * event and of the event that it was unlinked does not matter. */
static void append_if_empty(portals_link *link, portals_block *block)
{
    if (!block->is_unlinked || block->used + PORTALS_LONGEST <= PORTALS_BLOCK_LEN)
        return;
    portals_device_use(link->device);
    int result = append(link, block);
    portals_device_use(NULL);
    if (result != PTL_OK)
        link->has_lost_events = true;
}

static bool is_behind(const ptl_event_t *event) { return (event->hdr_data & PORTALS_BEHIND) != 0; }

static uint32_t head_len_of(const ptl_event_t *event)
{
    return (uint32_t)((event->hdr_data & ~PORTALS_BEHIND) >> 32) & 0xff;
}

static uint32_t body_len_of(const ptl_event_t *event)
{
    return is_behind(event) ? 0 : (uint32_t)event->hdr_data;
}

bool portals_is_from(const portals_link *link, pen_peer peer, const ptl_event_t *event)
{
    const ptl_process_t process = link->peer[peer].process;
    return event->initiator.phys.nid == process.phys.nid &&
           event->initiator.phys.pid == process.phys.pid;
}

static bool is_valid(const portals_link *link, const ptl_event_t *event)
{
    uint32_t from = (uint32_t)(event->hdr_data >> 40), body_len = body_len_of(event);
    uint32_t head_len = head_len_of(event);
    if (from >= link->peers || head_len == 0 || head_len % 8 != 0 ||
        head_len > PEN_FRAME_HEAD_COUNTED_MAX || body_len > PORTALS_FRAME_MAX)
        return false;
    return event->mlength == portals_padded(head_len) + portals_padded(body_len) &&
           portals_is_from(link, from, event);
}

/* Delivers the frame, or keeps it if it has to wait for a payload. Returns false if there is no
 * memory to keep it. */
static bool hand(portals_link *link, pen_lane lane, const ptl_event_t *event)
{
    const pen_peer from = (pen_peer)(event->hdr_data >> 40);
    char *head = event->start;
    const uint32_t head_len = head_len_of(event), body_len = body_len_of(event);
    const uint32_t number = (uint32_t)event->hdr_data;
    if (is_behind(event) && !portals_may_deliver(link, from, number)) {
        const pen_frame frame = { .head = head, .head_len = head_len };
        return pen_lanes_keep(&link->held, from, lane, &frame, number);
    }
    pen_host_hand(link->base.host, from, lane, head, head_len, head + portals_padded(head_len),
                  body_len);
    return true;
}

static void deliver(portals_link *link, pen_lane lane, const ptl_event_t *event)
{
    portals_block *block = event->user_ptr;
    if (event->ni_fail_type != PTL_NI_OK || !is_valid(link, event) || !hand(link, lane, event))
        link->has_lost_events = true;
    block->used += event->mlength;
    append_if_empty(link, block);
}

/* The portal had no room. All that it took has been delivered, since this event comes last, so that
 * it has room again. */
static void enable(portals_link *link, pen_lane lane)
{
    portals_device_use(link->device);
    int result = PtlPTEnable(link->ni, link->portal[lane]);
    portals_device_use(NULL);
    if (result != PTL_OK)
        link->has_lost_events = true;
}

void portals_receive(portals_link *link, pen_lane lane, const ptl_event_t *event)
{
    if (event->type == PTL_EVENT_PT_DISABLED) {
        enable(link, lane);
    } else if (event->type == PTL_EVENT_PUT) {
        deliver(link, lane, event);
    } else if (event->type == PTL_EVENT_AUTO_UNLINK) {
        portals_block *block = event->user_ptr;
        block->is_unlinked = true;
        append_if_empty(link, block);
    }
}
