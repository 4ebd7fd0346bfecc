/* SPDX-License-Identifier: BSD-3-Clause */
/* view.c: the words by which the host sees that a poll would find nothing: the next slot's word
 * of each ring, and the bell. Before a slot is written, its word follows from its position: it
 * has the sequence number of the lap before. Each ring with a new frame adds at most the length
 * of a ring to the sum, and the bell adds 2^15, so arrivals cannot add up to zero.
 *
 * Jobs of few ranks use it; no ring is parked there. A peer that writes garbage can hide the
 * frames of other peers, but it could damage those frames anyway. */
#include "conduits/shm/shm.h"

#include "conduit/conduit.h"

#include <penstock/abi.h>

enum { VIEW_RINGS = PEN_POLL_WORDS - 1, VIEW_BELL = VIEW_RINGS };

static const uint32_t nothing;

static const uint32_t *lower_half(const _Atomic uint64_t *word)
{
    return (const uint32_t *)(const void *)word;
}

static uint16_t unwritten(const shm_link *link, const shm_rx *rx)
{
    bool first_lap = rx->next - link->config.position_start < SHM_RING_SLOTS;
    return rx->at == &link->silent || first_lap ? 0 : (uint16_t)(rx->sequence - SHM_RING_SLOTS);
}

void shm_view_moved(shm_link *link, shm_rx *rx)
{
    if (rx->view == NULL)
        return;
    uint16_t now = unwritten(link, rx);
    pen_poll_view *view = link->base.host->poll_view;
    uint16_t change = (uint16_t)(now - rx->shown);
    /* relaxed, as all of the view: see pen_poll_view */
    __atomic_store_n(rx->view, lower_half(&rx->at->word), __ATOMIC_RELAXED);
    __atomic_store_n(&view->sum, (uint16_t)(view->sum + change), __ATOMIC_RELAXED);
    rx->shown = now;
}

static void show(shm_link *link, shm_rx *rx, unsigned i)
{
    pen_poll_view *view = link->base.host->poll_view;
    rx->view = &view->words[i];
    rx->shown = 0;
    shm_view_moved(link, rx);
}

static void show_nothing(shm_link *link, pen_poll_view *view)
{
    for (unsigned i = 0; i < VIEW_RINGS; i++)
        __atomic_store_n(&view->words[i], &nothing, __ATOMIC_RELAXED);
    __atomic_store_n(&view->sum, 1, __ATOMIC_RELAXED);
    for (uint32_t i = 0; i < link->active_count; i++)
        for (pen_lane lane = PEN_LANE_REQUEST; lane < SHM_CHANNEL_LANES; lane++)
            link->active[i]->lanes[lane].view = NULL;
}

void shm_view_make(shm_link *link)
{
    pen_poll_view *view = link->base.host->poll_view;
    bool is_little_endian = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
    if (view == NULL || !is_little_endian || !shm_is_eager(link))
        return;
    show_nothing(link, view);
    if (link->active_count * SHM_CHANNEL_LANES > VIEW_RINGS)
        return;
    __atomic_store_n(&view->sum, 0, __ATOMIC_RELAXED);
    unsigned ring_i = 0;
    for (uint32_t i = 0; i < link->active_count; i++)
        for (pen_lane lane = PEN_LANE_REQUEST; lane < SHM_CHANNEL_LANES; lane++)
            show(link, &link->active[i]->lanes[lane], ring_i++);
}

void shm_view_open(shm_link *link)
{
    pen_poll_view *view = link->base.host->poll_view;
    if (view != NULL)
        view->words[VIEW_BELL] = lower_half(&link->page->bell);
}
