/* SPDX-License-Identifier: BSD-3-Clause */
/* md.c: memory descriptors. */
#include "softnic/portals/inner.h"

#include <stdlib.h>

static const unsigned counting = PTL_MD_EVENT_CT_SEND | PTL_MD_EVENT_CT_REPLY | PTL_MD_EVENT_CT_ACK;

static bool is_right(const pen_portals *card, const p4_ni *ni, const ptl_md_t *md)
{
    if ((md->options & ~(unsigned)PTL_MD_OPTIONS_MASK) != 0)
        return false;
    if (md->eq_handle != PTL_EQ_NONE) {
        const p4_eq *eq = p4_handle_find(card, P4_EQ, md->eq_handle);
        if (eq == NULL || eq->ni != ni)
            return false;
    }
    if (md->ct_handle == PTL_CT_NONE)
        return (md->options & counting) == 0;
    const p4_ct *ct = p4_handle_find(card, P4_CT, md->ct_handle);
    /* Programs leave the handle undefined when no option counts. */
    return ct == NULL ? (md->options & counting) == 0 : ct->ni == ni;
}

static int bind_md(pen_portals *card, p4_ni *ni, const ptl_md_t *md, ptl_handle_md_t *md_handle)
{
    p4_space space;
    if (ni == NULL || md == NULL || md_handle == NULL || !is_right(card, ni, md) ||
        !p4_space_make(&space, md->start, md->length, md->options, ni->limits.max_iovecs))
        return PTL_ARG_INVALID;
    if (ni->counts[P4_MD] >= (uint32_t)ni->limits.max_mds)
        return PTL_NO_SPACE;
    p4_md *bound = malloc(sizeof(*bound));
    ptl_handle_md_t handle =
        bound != NULL ? p4_handle_make(card, P4_MD, bound) : PTL_INVALID_HANDLE;
    if (handle == PTL_INVALID_HANDLE) {
        free(bound);
        return PTL_NO_SPACE;
    }
    *bound = (p4_md){ .ni = ni, .md = *md, .space = space };
    p4_space_register(card, space.len);
    ni->counts[P4_MD]++;
    *md_handle = handle;
    return PTL_OK;
}

int PtlMDBind(ptl_handle_ni_t ni_handle, const ptl_md_t *md, ptl_handle_md_t *md_handle)
{
    pen_portals *card = p4_enter();
    if (card == NULL)
        return PTL_NO_INIT;
    int result = bind_md(card, p4_find_ni(card, ni_handle), md, md_handle);
    p4_leave(card);
    return result;
}

int PtlMDRelease(ptl_handle_md_t md_handle)
{
    pen_portals *card = p4_enter();
    if (card == NULL)
        return PTL_NO_INIT;
    p4_md *md = p4_handle_find(card, P4_MD, md_handle);
    int result = PTL_ARG_INVALID;
    if (md != NULL && md->pending > 0) {
        (void)p4_progress(card); /* programs call again until the operations are over */
        result = PTL_IN_USE;
    } else if (md != NULL) {
        md->ni->counts[P4_MD]--;
        p4_handle_end(card, P4_MD, md_handle, false);
        free(md);
        result = PTL_OK;
    }
    p4_leave(card);
    return result;
}
