/* SPDX-License-Identifier: BSD-3-Clause */
/* zcopy.c: frames whose body the caller writes in place.
 *
 * The body gets a chunk of the receiver's, because chunks may be published in any order: other
 * threads of this rank go on posting between reserve and commit. Slots for it are kept in the
 * channel, or, to a peer that reads no channel of ours, a look at its inbox stands for them. */
#include "conduits/shm/shm.h"

static bool keep_slots(shm_link *link, pen_peer to, pen_lane lane, uint32_t chunk)
{
    shm_peer *peer = &link->to[to];
    if (lane != PEN_LANE_CONTROL && (peer->lanes[0].slots != NULL || shm_open_channel(link, to))) {
        shm_tx *tx = &peer->lanes[lane];
        if (!shm_has_room(link, peer, lane, 2))
            return false;
        tx->reserved += 2;
        tx->limit -= 2;
        return true;
    }
    if (peer->inbox_reserved[lane] != 0 || !shm_inbox_has_room(link, peer, lane))
        return false;
    peer->inbox_reserved[lane] = chunk + 1;
    return true;
}

static void *shm_reserve(pen_link *base, pen_peer to, pen_lane lane, uint32_t body_len_max)
{
    shm_link *link = shm_of(base);
    shm_peer *peer = &link->to[to];
    PEN_ASSERT(body_len_max <= SHM_BODY_MAX);
    (void)body_len_max; /* every chunk holds the largest body */
    int chunk = shm_chunk_take(peer, lane);
    if (chunk < 0)
        return NULL;
    if (!keep_slots(link, to, lane, (uint32_t)chunk)) {
        shm_chunk_give(peer->page, lane, (uint32_t)chunk);
        return NULL;
    }
    return shm_chunk(&link->layout, peer->area, lane, (uint32_t)chunk);
}

/* Which chunk the caller was given, and whether its slots were kept in the inbox; gives them back.
 */
static bool unreserve(shm_link *link, pen_peer to, pen_lane lane, const void *body,
                      uint32_t *chunk_out)
{
    shm_peer *peer = &link->to[to];
    size_t offset = (size_t)((const char *)body - shm_chunk(&link->layout, peer->area, lane, 0));
    size_t stride = (size_t)(shm_chunk(&link->layout, peer->area, lane, 1) -
                             shm_chunk(&link->layout, peer->area, lane, 0));
    PEN_ASSERT(offset % stride == 0 && offset / stride < shm_chunk_count(lane));
    *chunk_out = (uint32_t)(offset / stride);
    if (peer->inbox_reserved[lane] == *chunk_out + 1) {
        peer->inbox_reserved[lane] = 0;
        return true;
    }
    peer->lanes[lane].reserved -= 2;
    peer->lanes[lane].limit += 2;
    return false;
}

static void shm_commit(pen_link *base, pen_peer to, pen_lane lane, void *body, const void *head,
                       uint32_t head_len, uint32_t body_len)
{
    shm_link *link = shm_of(base);
    pen_frame frame = { .head = head, .head_len = head_len, .body = body, .body_len = body_len };
    uint32_t chunk;
    bool by_inbox = unreserve(link, to, lane, body, &chunk);
    uint64_t body_word = 0;
    if (body_len != 0)
        body_word = shm_word_body(SHM_BODY_IN_CHUNK, body_len, chunk);
    else
        shm_chunk_give(link->to[to].page, lane, chunk);
    if (by_inbox)
        shm_send_inbox(link, to, lane, &frame, body_word);
    else
        shm_send_channel(link, to, lane, &frame, body_word);
}

static void shm_cancel(pen_link *base, pen_peer to, pen_lane lane, void *body)
{
    shm_link *link = shm_of(base);
    uint32_t chunk;
    (void)unreserve(link, to, lane, body, &chunk);
    shm_chunk_give(link->to[to].page, lane, chunk);
}

const pen_zcopy_ops shm_zcopy = { .reserve = shm_reserve,
                                  .commit = shm_commit,
                                  .cancel = shm_cancel };
