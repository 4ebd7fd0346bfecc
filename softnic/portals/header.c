/* SPDX-License-Identifier: BSD-3-Clause */
/* header.c: unexpected headers. Each message in an overflow entry leaves one, unless the entry says
 * otherwise. An append to the priority list or a search takes it. If its data is still arriving,
 * the taker's event follows when the data is complete. */
#include "base/compiler.h"
#include "softnic/portals/inner.h"

#include <stdlib.h>

void p4_header_free(pen_portals *card, p4_header *header)
{
    p4_entry *entry = header->entry;
    entry->pt->ni->header_count--;
    entry->headers--;
    p4_list_remove(&header->link);
    free(header);
    p4_entry_settle(card, entry);
}

static void count(pen_portals *card, const p4_claim *claim, ptl_size_t mlength, bool is_ok)
{
    if ((claim->options & PTL_ME_EVENT_CT_OVERFLOW) == 0)
        return;
    ptl_size_t success = (claim->options & PTL_ME_EVENT_CT_BYTES) != 0 ? mlength : 1;
    p4_ct_add(card, claim->ct, is_ok ? success : 0, is_ok ? 0 : 1);
}

void p4_header_finish(pen_portals *card, p4_header *header)
{
    p4_claim claim = header->claim;
    p4_pt *pt = header->entry->pt;
    ptl_event_t event = header->event;
    bool is_ok = header->fail == PTL_NI_OK;
    event.type++; /* each *_OVERFLOW event follows its plain event */
    event.user_ptr = claim.user_ptr;
    event.ni_fail_type = header->fail;
    if (!claim.is_silent && !(is_ok && (claim.options & PTL_ME_EVENT_SUCCESS_DISABLE) != 0))
        p4_eq_post(card, pt->eq, &event);
    count(card, &claim, event.mlength, is_ok);
    p4_header_free(card, header);
    if (claim.then_unlinked && (claim.options & PTL_ME_EVENT_UNLINK_DISABLE) == 0)
        p4_entry_event(card, pt, PTL_EVENT_AUTO_UNLINK, claim.user_ptr);
}

/* Takes a header out of the portal's list, for good. */
static void take(pen_portals *card, p4_header *header, p4_claim claim)
{
    p4_list_remove(&header->link);
    header->claim = claim;
    header->claim.is_made = true;
    if (header->is_complete)
        p4_header_finish(card, header);
}

static p4_claim claim_of(const p4_entry *entry, unsigned silent_options)
{
    return (p4_claim){ .user_ptr = entry->user_ptr,
                       .options = entry->me.options,
                       .ct = entry->me.ct_handle,
                       .is_silent = (entry->me.options & silent_options) != 0 };
}

/* Tells whether this header is the last one that the new entry takes. */
static bool is_consumed(p4_entry *entry, ptl_size_t rlength)
{
    const unsigned adding = PTL_ME_MANAGE_LOCAL | PTL_ME_LOCAL_INC_UH_RLENGTH;
    if ((entry->me.options & PTL_ME_USE_ONCE) != 0)
        return true;
    if ((entry->me.options & adding) != adding)
        return false;
    ptl_size_t room = entry->space.len - entry->local_offset;
    entry->local_offset += rlength < room ? rlength : room;
    return entry->me.min_free != 0 && entry->space.len - entry->local_offset < entry->me.min_free;
}

bool p4_headers_claim(pen_portals *card, p4_entry *entry)
{
    p4_link *end = &entry->pt->headers;
    for (p4_link *link = end->next, *next; link != end; link = next) {
        next = link->next;
        p4_header *header = pen_container_of(link, p4_header, link);
        if (!p4_entry_matches(entry, &header->event))
            continue;
        p4_claim claim = claim_of(entry, PTL_ME_EVENT_OVER_DISABLE);
        claim.then_unlinked = is_consumed(entry, header->event.rlength);
        take(card, header, claim);
        if (claim.then_unlinked)
            return true;
    }
    return false;
}

static void post_found(pen_portals *card, const p4_pt *pt, const p4_header *header,
                       const p4_claim *claim)
{
    ptl_event_t event = header->event;
    event.type = PTL_EVENT_SEARCH;
    event.user_ptr = claim->user_ptr;
    if (!claim->is_silent && (claim->options & PTL_ME_EVENT_SUCCESS_DISABLE) == 0)
        p4_eq_post(card, pt->eq, &event);
    count(card, claim, event.mlength, true);
}

void p4_headers_search(pen_portals *card, const p4_entry *probe, bool deletes)
{
    p4_pt *pt = probe->pt;
    bool is_once = (probe->me.options & PTL_ME_USE_ONCE) != 0, has_found = false;
    p4_claim claim = claim_of(probe, PTL_ME_EVENT_OVER_DISABLE | PTL_ME_EVENT_COMM_DISABLE);
    p4_link *end = &pt->headers;
    for (p4_link *link = end->next, *next; link != end; link = next) {
        next = link->next;
        p4_header *header = pen_container_of(link, p4_header, link);
        if (!p4_entry_matches(probe, &header->event))
            continue;
        has_found = true;
        if (deletes)
            take(card, header, claim);
        else
            post_found(card, pt, header, &claim);
        if (is_once)
            break;
    }
    if (!has_found && !claim.is_silent) {
        ptl_event_t event = { .type = PTL_EVENT_SEARCH,
                              .ni_fail_type = PTL_NI_NO_MATCH,
                              .user_ptr = claim.user_ptr,
                              .pt_index = pt->index };
        p4_eq_post(card, pt->eq, &event);
    }
    if (!has_found || !is_once) /* a persistent search always ends with one failure */
        count(card, &claim, 0, false);
}
