/* SPDX-License-Identifier: BSD-3-Clause */
/* inplace.c: the optional families that an impairing link changes. Frames written in place are
 * impaired like posted ones, and held frames fall due. */
#include "link/impair_internal.h"

#include "conduit/conduit.h"
#include "os/lock.h"

#include <string.h>

/* ---- frames written in place ---------------------------------------------------------------- */

static void *inplace_reserve(pen_link *base, pen_peer to, pen_lane lane, uint32_t body_len_max)
{
    impair_link *link = impair_of(base);
    pen_lock_take(&link->pass.lock);
    void *body = link->pass.inner->zcopy->reserve(link->pass.inner, to, lane, body_len_max);
    link->reserved += body != NULL;
    pen_lock_drop(&link->pass.lock);
    return body;
}

static void inplace_commit(pen_link *base, pen_peer to, pen_lane lane, void *body, const void *head,
                           uint32_t head_len, uint32_t body_len)
{
    impair_link *link = impair_of(base);
    const pen_zcopy_ops *zcopy = link->pass.inner->zcopy;
    pen_frame frame = { head, body_len != 0 ? body : NULL, head_len, body_len };
    impair_held *own, *twin;
    pen_lock_take(&link->pass.lock);
    link->reserved--;
    impair_verdict verdict = impair_judge(link, &frame);
    impair_prepare(link, to, lane, &frame, &verdict, &own, &twin);
    if (verdict.drop || verdict.delay || verdict.reorder) {
        zcopy->cancel(link->pass.inner, to, lane, body);
        if (own != NULL)
            impair_hold(link, own, &verdict);
    } else if (own != NULL) {
        frame = impair_held_frame(own);
        if (body_len != 0)
            memcpy(body, frame.body, body_len);
        zcopy->commit(link->pass.inner, to, lane, body, frame.head, head_len, body_len);
        impair_held_free(link, own);
    } else {
        zcopy->commit(link->pass.inner, to, lane, body, head, head_len, body_len);
    }
    impair_taken(link, to, lane, &verdict, twin);
    pen_lock_drop(&link->pass.lock);
}

static void inplace_cancel(pen_link *base, pen_peer to, pen_lane lane, void *body)
{
    impair_link *link = impair_of(base);
    pen_lock_take(&link->pass.lock);
    link->reserved--;
    link->pass.inner->zcopy->cancel(link->pass.inner, to, lane, body);
    pen_lock_drop(&link->pass.lock);
}

const pen_zcopy_ops impair_zcopy = {
    .reserve = inplace_reserve,
    .commit = inplace_commit,
    .cancel = inplace_cancel,
};

/* ---- timers ---------------------------------------------------------------------------------- */

/* Time at which a held frame falls due, because no event announces it. */
static uint64_t inplace_due_ns(pen_link *base)
{
    impair_link *link = impair_of(base);
    pen_lock_take(&link->pass.lock);
    uint64_t due_ns = impair_next_due(link);
    pen_lock_drop(&link->pass.lock);
    uint64_t inner_ns = pen_passing_due_ns(&link->pass);
    return inner_ns < due_ns ? inner_ns : due_ns;
}

const pen_due_ops impair_due = { .due_ns = inplace_due_ns };
