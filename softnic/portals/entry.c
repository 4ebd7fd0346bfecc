/* SPDX-License-Identifier: BSD-3-Clause */
/* entry.c: list and match entries: append, unlink, match, automatic unlink and free. A list entry
 * is kept as a match entry that every message matches. */
#include "softnic/portals/inner.h"

#include <stdlib.h>
#include <string.h>

/* ---- matching --------------------------------------------------------------------------- */

static bool is_from(const p4_ni *ni, ptl_process_t wanted, ptl_process_t from)
{
    if ((ni->options & PTL_NI_LOGICAL) != 0)
        return wanted.rank == PTL_RANK_ANY || wanted.rank == from.rank;
    return (wanted.phys.nid == PTL_NID_ANY || wanted.phys.nid == from.phys.nid) &&
           (wanted.phys.pid == PTL_PID_ANY || wanted.phys.pid == from.phys.pid);
}

static bool fits(const p4_entry *entry, const ptl_event_t *message)
{
    bool is_managed = (entry->me.options & PTL_ME_MANAGE_LOCAL) != 0;
    ptl_size_t offset = is_managed ? entry->local_offset : message->remote_offset;
    return offset <= entry->space.len && message->rlength <= entry->space.len - offset;
}

bool p4_entry_matches(const p4_entry *entry, const ptl_event_t *message)
{
    const ptl_me_t *me = &entry->me;
    const p4_ni *ni = entry->pt->ni;
    if ((ni->options & PTL_NI_MATCHING) == 0)
        return true;
    if (((message->match_bits ^ me->match_bits) & ~me->ignore_bits) != 0 ||
        !is_from(ni, me->match_id, message->initiator))
        return false;
    return (me->options & PTL_ME_NO_TRUNCATE) == 0 || fits(entry, message);
}

/* ---- the end of an entry ------------------------------------------------------------------ */

void p4_entry_event(pen_portals *card, const p4_pt *pt, ptl_event_kind_t type, void *user_ptr)
{
    ptl_event_t event = { .type = type, .user_ptr = user_ptr, .pt_index = pt->index };
    p4_eq_post(card, pt->eq, &event);
}

static p4_object kind_of(const p4_ni *ni)
{
    return (ni->options & PTL_NI_MATCHING) != 0 ? P4_ME : P4_LE;
}

void p4_entry_drop(pen_portals *card, p4_entry *entry)
{
    (void)card;
    entry->pt->ni->counts[P4_LE]--;
    free(entry);
}

void p4_entry_settle(pen_portals *card, p4_entry *entry)
{
    if (!entry->is_auto_unlinked || entry->busy > 0)
        return;
    bool is_silent = (entry->me.options & PTL_ME_EVENT_UNLINK_DISABLE) != 0;
    if (!entry->is_unlink_told) {
        entry->is_unlink_told = true;
        if (!is_silent)
            p4_entry_event(card, entry->pt, PTL_EVENT_AUTO_UNLINK, entry->user_ptr);
    }
    if (entry->headers > 0)
        return;
    if (entry->list == PTL_OVERFLOW_LIST && !is_silent)
        p4_entry_event(card, entry->pt, PTL_EVENT_AUTO_FREE, entry->user_ptr);
    p4_entry_drop(card, entry);
}

void p4_entry_unlink(pen_portals *card, p4_entry *entry, bool is_auto)
{
    p4_pt *pt = entry->pt;
    p4_list_remove(&entry->link);
    entry->is_linked = false;
    entry->is_auto_unlinked = is_auto;
    pt->list_lens[entry->list]--;
    p4_handle_end(card, kind_of(pt->ni), entry->handle, false);
}

static int unlink_entry(p4_object kind, ptl_handle_any_t handle)
{
    pen_portals *card = p4_enter();
    if (card == NULL)
        return PTL_NO_INIT;
    p4_entry *entry = p4_handle_find(card, kind, handle);
    int result = PTL_OK;
    if (entry == NULL) {
        result = p4_handle_take_ghost(card, kind, handle) ? PTL_IGNORED : PTL_ARG_INVALID;
    } else if (entry->busy > 0 || entry->headers > 0) {
        (void)p4_progress(card); /* programs call again until the message has arrived */
        result = PTL_IN_USE;
    } else {
        p4_entry_unlink(card, entry, false);
        p4_entry_drop(card, entry);
    }
    p4_leave(card);
    return result;
}

int PtlLEUnlink(ptl_handle_le_t le_handle) { return unlink_entry(P4_LE, le_handle); }

int PtlMEUnlink(ptl_handle_me_t me_handle) { return unlink_entry(P4_ME, me_handle); }

/* ---- append and search ---------------------------------------------------------------------- */

/* Finds the portal of an append or a search. Returns NULL if an argument is wrong. */
static p4_pt *check(pen_portals *card, ptl_handle_ni_t ni_handle, ptl_pt_index_t pt_index,
                    p4_object kind, const ptl_me_t *me)
{
    p4_ni *ni = p4_find_ni(card, ni_handle);
    if (ni == NULL || me == NULL || kind_of(ni) != kind)
        return NULL;
    unsigned mask = kind == P4_ME ? PTL_ME_APPEND_OPTIONS_MASK : PTL_LE_APPEND_OPTIONS_MASK;
    if ((me->options & ~mask) != 0)
        return NULL;
    bool counts = (me->options & (PTL_ME_EVENT_CT_COMM | PTL_ME_EVENT_CT_OVERFLOW)) != 0;
    if (counts || (me->ct_handle != PTL_CT_NONE && me->ct_handle != PTL_INVALID_HANDLE)) {
        const p4_ct *ct = p4_handle_find(card, P4_CT, me->ct_handle);
        /* An unused handle may hold anything but a live counter of another interface. */
        if (ct == NULL ? counts : ct->ni != ni)
            return NULL;
    }
    return p4_find_pt(ni, pt_index);
}

static bool prepare(p4_entry *entry, p4_pt *pt, const ptl_me_t *me, void *user_ptr)
{
    *entry = (p4_entry){ .pt = pt, .me = *me, .user_ptr = user_ptr };
    p4_list_init(&entry->link);
    if ((me->options & PTL_IOVEC) == 0 && me->start == NULL && me->length > 0 &&
        me->length != PTL_SIZE_MAX)
        return false; /* memory that is not accessible */
    return p4_space_make(&entry->space, me->start, me->length, me->options,
                         pt->ni->limits.max_iovecs);
}

static void link_entry(pen_portals *card, p4_entry *entry)
{
    p4_pt *pt = entry->pt;
    entry->is_linked = true;
    p4_list_insert(&pt->lists[entry->list], &entry->link);
    pt->list_lens[entry->list]++;
    if ((entry->me.options & PTL_ME_EVENT_LINK_DISABLE) == 0)
        p4_entry_event(card, pt, PTL_EVENT_LINK, entry->user_ptr);
}

/* Owns the entry. */
static int add(pen_portals *card, p4_entry *entry, ptl_handle_any_t *handle)
{
    p4_ni *ni = entry->pt->ni;
    p4_object kind = kind_of(ni);
    entry->handle = PTL_INVALID_HANDLE;
    if (ni->counts[P4_LE] < (uint32_t)ni->limits.max_entries &&
        entry->pt->list_lens[entry->list] < (uint32_t)ni->limits.max_list_size)
        entry->handle = p4_handle_make(card, kind, entry);
    if (entry->handle == PTL_INVALID_HANDLE) {
        free(entry);
        return PTL_NO_SPACE;
    }
    ni->counts[P4_LE]++;
    *handle = entry->handle;
    if (entry->list == PTL_PRIORITY_LIST && p4_headers_claim(card, entry)) {
        bool is_ghost = (entry->me.options & PTL_ME_USE_ONCE) == 0;
        p4_handle_end(card, kind, entry->handle, is_ghost);
        p4_entry_drop(card, entry);
    } else {
        link_entry(card, entry);
    }
    return PTL_OK;
}

static int append(p4_object kind, ptl_handle_ni_t ni_handle, ptl_pt_index_t pt_index,
                  const ptl_me_t *me, ptl_list_t list, void *user_ptr, ptl_handle_any_t *handle)
{
    pen_portals *card = p4_enter();
    if (card == NULL)
        return PTL_NO_INIT;
    p4_pt *pt = check(card, ni_handle, pt_index, kind, me);
    int result = PTL_ARG_INVALID;
    if (pt != NULL && list <= PTL_OVERFLOW_LIST && handle != NULL) {
        p4_entry *entry = malloc(sizeof(*entry));
        result = PTL_NO_SPACE;
        if (entry != NULL && !prepare(entry, pt, me, user_ptr)) {
            free(entry);
            result = PTL_ARG_INVALID;
        } else if (entry != NULL) {
            entry->list = list;
            p4_space_register(card, entry->space.len);
            result = add(card, entry, handle);
        }
    }
    p4_leave(card);
    return result;
}

static int search(p4_object kind, ptl_handle_ni_t ni_handle, ptl_pt_index_t pt_index,
                  const ptl_me_t *me, ptl_search_op_t operation, void *user_ptr)
{
    pen_portals *card = p4_enter();
    if (card == NULL)
        return PTL_NO_INIT;
    p4_pt *pt = check(card, ni_handle, pt_index, kind, me);
    p4_entry probe;
    int result = PTL_ARG_INVALID;
    if (pt != NULL && operation <= PTL_SEARCH_DELETE && prepare(&probe, pt, me, user_ptr)) {
        (void)p4_progress(card); /* a program may search in a loop, without other calls */
        p4_headers_search(card, &probe, operation == PTL_SEARCH_DELETE);
        result = PTL_OK;
    }
    p4_leave(card);
    return result;
}

/* Makes a match entry of a list entry. */
static ptl_me_t me_of(const ptl_le_t *le)
{
    return (ptl_me_t){ .start = le->start,
                       .length = le->length,
                       .ct_handle = le->ct_handle,
                       .uid = le->uid,
                       .options = le->options };
}

int PtlLEAppend(ptl_handle_ni_t ni_handle, ptl_pt_index_t pt_index, const ptl_le_t *le,
                ptl_list_t ptl_list, void *user_ptr, ptl_handle_le_t *le_handle)
{
    ptl_me_t me = le != NULL ? me_of(le) : (ptl_me_t){ 0 };
    return append(P4_LE, ni_handle, pt_index, le != NULL ? &me : NULL, ptl_list, user_ptr,
                  le_handle);
}

int PtlMEAppend(ptl_handle_ni_t ni_handle, ptl_pt_index_t pt_index, const ptl_me_t *me,
                ptl_list_t ptl_list, void *user_ptr, ptl_handle_me_t *me_handle)
{
    return append(P4_ME, ni_handle, pt_index, me, ptl_list, user_ptr, me_handle);
}

int PtlLESearch(ptl_handle_ni_t ni_handle, ptl_pt_index_t pt_index, const ptl_le_t *le,
                ptl_search_op_t ptl_search_op, void *user_ptr)
{
    ptl_me_t me = le != NULL ? me_of(le) : (ptl_me_t){ 0 };
    return search(P4_LE, ni_handle, pt_index, le != NULL ? &me : NULL, ptl_search_op, user_ptr);
}

int PtlMESearch(ptl_handle_ni_t ni_handle, ptl_pt_index_t pt_index, const ptl_me_t *me,
                ptl_search_op_t ptl_search_op, void *user_ptr)
{
    return search(P4_ME, ni_handle, pt_index, me, ptl_search_op, user_ptr);
}
