/* SPDX-License-Identifier: BSD-3-Clause */
/* layout.c: computes the shape of the shared slice from the number of ranks alone, so the
 * launcher that sizes the slice and all ranks agree. */
#include "conduits/shm/layout.h"

#include "base/compiler.h"
#include "conduit/conduit.h"

enum { SHM_RING_LEN_FEW = 524288, SHM_RING_LEN_MANY = 8192, SHM_CONTROL_CHUNKS = 2 };

uint32_t shm_chunk_count(pen_lane lane)
{
    return lane == PEN_LANE_CONTROL ? SHM_CONTROL_CHUNKS : SHM_CHUNKS_MAX;
}

static uint32_t inbox_slots(pen_peer ranks)
{
    uint32_t slots = SHM_INBOX_SLOTS_MIN;
    while (slots < 8 * ranks)
        slots *= 2;
    return slots;
}

shm_layout shm_layout_of(pen_peer ranks)
{
    shm_layout layout = {
        .ranks = ranks,
        .channels = ranks < SHM_CHANNELS_MAX ? ranks : SHM_CHANNELS_MAX,
        .inbox_slots = inbox_slots(ranks),
        .ring_len = ranks <= SHM_FEW_RANKS ? SHM_RING_LEN_FEW : SHM_RING_LEN_MANY,
    };
    const uint32_t near_len = 1u << SHM_RING_NEAR_BITS;
    layout.near_len = layout.ring_len < near_len ? layout.ring_len : near_len;
    size_t at = 4096; /* the page */
    for (pen_lane lane = PEN_LANE_REQUEST; lane < PEN_LANES; lane++) {
        layout.inbox_at[lane] = at;
        at += (size_t)layout.inbox_slots * SHM_SLOT_LEN;
    }
    layout.channels_at = at;
    layout.channel_len = shm_channel_ring_at(&layout, (pen_lane)SHM_CHANNEL_LANES);
    at += layout.channels * layout.channel_len;
    for (pen_lane lane = PEN_LANE_REQUEST; lane < PEN_LANES; lane++) {
        layout.chunks_at[lane] = at;
        at += (size_t)shm_chunk_count(lane) * SHM_CHUNK_STRIDE + 4096;
    }
    layout.rank_len = pen_align_up(at, 4096);
    return layout;
}
