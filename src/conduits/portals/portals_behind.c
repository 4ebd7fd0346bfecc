/* SPDX-License-Identifier: BSD-3-Clause */
/* portals_behind.c: Longs are a data put and a header, joined by a number, whichever comes first.
 *
 * Data puts to a peer are numbered. A put carries its number, and causes an event at its target.
 * A frame behind puts carries the number of the last one before it. Its receiver delivers it when
 * all puts up to that number have landed, and until then keeps a copy.
 *
 * A sender has at most PORTALS_DATA_MAX numbers that the receiver has not consumed, so the event
 * queue of data has room for all of them, and the receiver knows by the bits of one word which of
 * them have landed. The receiver reports after half as many that it has consumed them, by a put of
 * no bytes: a note. */
#include "conduit/conduit.h"
#include "conduits/portals/portals.h"
#include "link/host.h"
#include "link/lanes.h"
#include "os/lock.h"
#include "softnic/portals/portals4.h"

enum { NOTE_STEP = PORTALS_DATA_MAX / 2, NOTES_MAX = 4 /* unhandled notes of each peer */ };
_Static_assert(PORTALS_DATA_MAX == 64, "the bits of a word say what has landed");

#define NOTE      (UINT64_C(1) << 32)
#define NOTE_BITS UINT64_MAX /* match bits: no key of a region */

/* ---- opening --------------------------------------------------------------------------------- */

/* Appends an entry for puts that cause events, and nothing else. */
static int append(const portals_link *link, void *start, size_t len, ptl_match_bits_t bits,
                  ptl_handle_me_t *out)
{
    const ptl_me_t entry = {
        .start = start,
        .length = len,
        .ct_handle = PTL_CT_NONE,
        .uid = PTL_UID_ANY,
        .options = PTL_ME_OP_PUT | PTL_ME_EVENT_LINK_DISABLE | PTL_ME_EVENT_UNLINK_DISABLE,
        .match_id.phys = { .nid = PTL_NID_ANY, .pid = PTL_PID_ANY },
        .match_bits = bits,
    };
    return PtlMEAppend(link->ni, link->portal[PORTALS_DATA], &entry, PTL_PRIORITY_LIST, NULL, out);
}

int portals_behind_open(portals_link *link)
{
    const ptl_md_t nothing = { .eq_handle = PTL_EQ_NONE, .ct_handle = PTL_CT_NONE };
    const size_t events = (size_t)link->peers * (PORTALS_DATA_MAX + NOTES_MAX);
    ptl_handle_me_t notes;
    int result = PtlEQAlloc(link->ni, events, &link->landed);
    if (result == PTL_OK)
        result = PtlPTAlloc(link->ni, 0, link->landed, PTL_PT_ANY, &link->portal[PORTALS_DATA]);
    if (result == PTL_OK)
        result = append(link, NULL, 0, NOTE_BITS, &notes);
    return result == PTL_OK ? PtlMDBind(link->ni, &nothing, &link->notes_md) : result;
}

int portals_behind_add(portals_link *link, pen_region *region)
{
    return append(link, (void *)region->begin, // NOLINT(performance-no-int-to-ptr)
                  region->len, region->key, &region->data_entry);
}

/* ---- sending --------------------------------------------------------------------------------- */

bool portals_data_next(portals_link *link, pen_peer to, uint32_t *number)
{
    const portals_peer *peer = &link->peer[to];
    *number = peer->data_last + 1;
    pen_lock_take(&link->lock);
    bool has_room = peer->data_last - peer->data_consumed < PORTALS_DATA_MAX;
    pen_lock_drop(&link->lock);
    return has_room;
}

static pen_post post_behind(pen_link *base, pen_peer to, pen_lane lane, const void *head,
                            uint32_t head_len)
{
    portals_link *link = portals_of(base);
    const pen_frame frame = { .head = head, .head_len = head_len };
    return portals_post_frame(link, to, lane, &frame, PORTALS_BEHIND | link->peer[to].data_last);
}

const pen_behind_ops portals_behind = { .post = post_behind };

/* ---- what has landed ------------------------------------------------------------------------- */

static bool hear_note(portals_link *link, portals_peer *peer, uint32_t number)
{
    pen_lock_take(&link->lock);
    uint32_t step = number - peer->data_consumed;
    if (step <= PORTALS_DATA_MAX)
        peer->data_consumed = number;
    pen_lock_drop(&link->lock);
    /* A note that an older one follows. */
    return step <= PORTALS_DATA_MAX || -step <= PORTALS_DATA_MAX;
}

static bool mark_landed(portals_peer *peer, uint32_t number)
{
    uint32_t bit = number - peer->data_floor - 1;
    if (bit >= PORTALS_DATA_MAX || (peer->data_landed >> bit & 1) != 0)
        return false;
    peer->data_landed |= UINT64_C(1) << bit;
    while ((peer->data_landed & 1) != 0) {
        peer->data_landed >>= 1;
        peer->data_floor++;
    }
    return true;
}

/* Returns whether the event is one that a peer causes. */
static bool hear(portals_link *link, const ptl_event_t *event)
{
    const uint32_t from = (uint32_t)(event->hdr_data >> 40), number = (uint32_t)event->hdr_data;
    if (event->ni_fail_type != PTL_NI_OK || event->mlength != event->rlength ||
        from >= link->peers || !portals_is_from(link, from, event))
        return false;
    portals_peer *peer = &link->peer[from];
    if ((event->hdr_data & NOTE) != 0)
        return hear_note(link, peer, number);
    bool is_new = mark_landed(peer, number);
    link->owes_notes = link->owes_notes || peer->data_floor - peer->data_told >= NOTE_STEP;
    return is_new;
}

void portals_send_notes(portals_link *link)
{
    link->owes_notes = false;
    for (pen_peer i = 0; i < link->peers; i++) {
        portals_peer *peer = &link->peer[i];
        if (peer->data_floor - peer->data_told < NOTE_STEP)
            continue;
        portals_device_use(link->device);
        int result =
            PtlPut(link->notes_md, 0, 0, PTL_NO_ACK_REQ, peer->process, peer->portal[PORTALS_DATA],
                   NOTE_BITS, 0, NULL, (uint64_t)link->base.self << 40 | NOTE | peer->data_floor);
        portals_device_use(NULL);
        if (result == PTL_NO_SPACE) {
            link->owes_notes = true;
            continue;
        }
        peer->data_told = peer->data_floor;
        portals_wake(link, i);
    }
}

void portals_hear_data(portals_link *link, const ptl_event_t *event)
{
    if (!hear(link, event))
        link->has_lost_events = true;
}

/* Handles all payloads that have landed. */
static void hear_all(portals_link *link)
{
    ptl_event_t event;
    for (;;) {
        portals_device_use(link->device);
        int result = PtlEQGet(link->landed, &event);
        portals_device_use(NULL);
        if (result != PTL_OK && result != PTL_EQ_DROPPED)
            return;
        if (result == PTL_EQ_DROPPED)
            link->has_lost_events = true;
        portals_hear_data(link, &event);
    }
}

/* ---- frames that wait ------------------------------------------------------------------------ */

/* Numbers are at most PORTALS_DATA_MAX ahead of those that have landed. */
static bool has_landed(const portals_link *link, pen_peer from, uint32_t number)
{
    return number - link->peer[from].data_floor - 1 >= PORTALS_DATA_MAX;
}

bool portals_may_deliver(portals_link *link, pen_peer from, uint32_t number)
{
    if (has_landed(link, from, number))
        return true;
    hear_all(link);
    return has_landed(link, from, number);
}

static bool is_ready(void *ctx, const pen_kept *kept)
{
    return has_landed(ctx, kept->from, (uint32_t)kept->tag);
}

unsigned portals_deliver_held(portals_link *link, unsigned lanes, unsigned budget)
{
    const pen_host *host = link->base.host;
    unsigned count = 0;
    pen_kept *kept;
    while (count < budget &&
           (kept = pen_lanes_take_ready(&link->held, lanes, is_ready, link)) != NULL) {
        pen_host_hand(host, kept->from, kept->lane, pen_kept_head(kept), kept->head_len, NULL, 0);
        pen_lanes_give(&link->held, kept);
        count++;
    }
    return count;
}
