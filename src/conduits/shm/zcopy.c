/* SPDX-License-Identifier: BSD-3-Clause */
/* zcopy.c: frames whose body the caller writes in place.
 *
 * A reservation takes the requested length of the channel's ring and holds the ring: ring_next
 * stays where it is until commit. So a shorter body gives the rest back at once, and a cancelled
 * one leaves no gap. Meanwhile other threads of this rank continue to post; their bodies go into
 * chunks of the receiver, which may be published in any order. A second reservation, a long
 * body, and a peer without a channel get a chunk as well. Slots are kept in the channel. Without
 * a channel, a check of the inbox takes their place. */
#include "conduits/shm/shm.h"

#include "base/compiler.h"
#include "conduit/conduit.h"

/* The sender's side of the lane's channel; NULL if only the peer's inbox can be used. */
static shm_tx *channel_of(shm_link *link, pen_peer to, pen_lane lane)
{
    shm_peer *peer = &link->to[to];
    if (lane == PEN_LANE_CONTROL || (peer->lanes[0].slots == NULL && !shm_open_channel(link, to)))
        return NULL;
    return &peer->lanes[lane];
}

static void keep_slots(shm_tx *tx)
{
    tx->reserved = (tx->reserved + 2u) & 127u;
    tx->express.room -= 2;
}

static char *reserve_in_ring(shm_link *link, shm_peer *peer, shm_tx *tx, pen_lane lane,
                             uint32_t record)
{
    int64_t start = shm_ring_find(link, peer, tx, lane, record);
    if (start < 0)
        return NULL;
    tx->ring_held = true;
    shm_tx_show_room(tx);
    return tx->ring + ((uint32_t)start & (link->layout.ring_len - 1));
}

static void *shm_reserve(pen_link *base, pen_peer to, pen_lane lane, uint32_t body_len_max)
{
    shm_link *link = shm_of(base);
    shm_peer *peer = &link->to[to];
    shm_tx *tx = channel_of(link, to, lane);
    uint32_t record = shm_ring_record(body_len_max);
    char *body = NULL;
    PEN_ASSERT(body_len_max <= SHM_BODY_MAX);
    if (tx == NULL ? peer->inbox_reserved[lane] != 0 || !shm_inbox_has_room(link, peer, lane)
                   : !shm_has_room(link, peer, lane, 2))
        return NULL;
    if (tx != NULL && !tx->ring_held && record <= shm_ring_record_max(&link->layout))
        body = reserve_in_ring(link, peer, tx, lane, record);
    if (body == NULL) {
        int chunk = shm_chunk_take(peer, lane);
        if (chunk < 0)
            return NULL;
        body = shm_chunk(&link->layout, peer->area, lane, (uint32_t)chunk);
        if (tx == NULL)
            peer->inbox_reserved[lane] = (uint32_t)chunk + 1;
    }
    if (tx != NULL)
        keep_slots(tx);
    return body;
}

/* The room that a reservation got: a place in the ring, or a chunk, and its slots in the channel
 * or in the inbox. */
typedef struct shm_place {
    bool in_ring, by_inbox;
    uint32_t at; /* offset in the ring, or number of the chunk */
} shm_place;

static shm_place place_of(const shm_link *link, pen_peer to, pen_lane lane, const void *body)
{
    const shm_peer *peer = &link->to[to];
    const char *ring = lane == PEN_LANE_CONTROL ? NULL : peer->lanes[lane].ring;
    if (ring != NULL && (uintptr_t)body - (uintptr_t)ring < link->layout.ring_len)
        return (shm_place){ .in_ring = true, .at = (uint32_t)((const char *)body - ring) };
    size_t offset = (size_t)((const char *)body - shm_chunk(&link->layout, peer->area, lane, 0));
    size_t stride = (size_t)(shm_chunk(&link->layout, peer->area, lane, 1) -
                             shm_chunk(&link->layout, peer->area, lane, 0));
    PEN_ASSERT(offset % stride == 0 && offset / stride < shm_chunk_count(lane));
    uint32_t chunk = (uint32_t)(offset / stride);
    return (shm_place){ .by_inbox = peer->inbox_reserved[lane] == chunk + 1, .at = chunk };
}

/* Gives back all room except a chunk in which a body lies. */
static void unreserve(shm_link *link, pen_peer to, pen_lane lane, shm_place place,
                      uint32_t body_len)
{
    shm_peer *peer = &link->to[to];
    shm_tx *tx = shm_tx_of(peer, lane);
    if (place.by_inbox) {
        peer->inbox_reserved[lane] = 0;
    } else {
        tx->reserved = (tx->reserved - 2u) & 127u;
        tx->express.room += 2;
    }
    if (!place.in_ring && body_len == 0)
        shm_chunk_give(peer->page, lane, place.at);
    if (!place.in_ring)
        return;
    tx->ring_held = false;
    if (body_len != 0) {
        tx->ring_next += (place.at - tx->ring_next) & (link->layout.ring_len - 1);
        tx->ring_next += shm_ring_record(body_len);
    }
    shm_tx_show_room(tx);
}

static uint64_t body_word_of(shm_place place, uint32_t body_len)
{
    if (body_len == 0)
        return 0;
    if (place.in_ring)
        return shm_word_body(SHM_BODY_IN_RING, body_len, 0) |
               shm_word_place(place.at / SHM_BODY_ALIGN);
    return shm_word_body(SHM_BODY_IN_CHUNK, body_len, place.at);
}

static void shm_commit(pen_link *base, pen_peer to, pen_lane lane, void *body, const void *head,
                       uint32_t head_len, uint32_t body_len)
{
    shm_link *link = shm_of(base);
    pen_frame frame = { .head = head, .head_len = head_len, .body = body, .body_len = body_len };
    shm_place place = place_of(link, to, lane, body);
    unreserve(link, to, lane, place, body_len);
    if (place.by_inbox)
        shm_send_inbox(link, to, lane, &frame, body_word_of(place, body_len));
    else
        shm_send_channel(link, to, lane, &frame, body_word_of(place, body_len));
}

static void shm_cancel(pen_link *base, pen_peer to, pen_lane lane, void *body)
{
    shm_link *link = shm_of(base);
    unreserve(link, to, lane, place_of(link, to, lane, body), 0);
}

const pen_zcopy_ops shm_zcopy = { .reserve = shm_reserve,
                                  .commit = shm_commit,
                                  .cancel = shm_cancel };
