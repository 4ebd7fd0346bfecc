/* SPDX-License-Identifier: BSD-3-Clause */
/* families.c: the optional families of an impairing link. Frames written in place are impaired
 * like posted ones; all further calls are passed on. */
#include "link/impair_internal.h"

#include "base/status.h"
#include "conduit/conduit.h"
#include "os/lock.h"

#include <string.h>

/* ---- frames written in place ---------------------------------------------------------------- */

static void *families_reserve(pen_link *base, pen_peer to, pen_lane lane, uint32_t body_len_max)
{
    impair_link *link = impair_of(base);
    pen_lock_take(&link->lock);
    void *body = link->inner->zcopy->reserve(link->inner, to, lane, body_len_max);
    link->reserved += body != NULL;
    pen_lock_drop(&link->lock);
    return body;
}

static void families_commit(pen_link *base, pen_peer to, pen_lane lane, void *body,
                            const void *head, uint32_t head_len, uint32_t body_len)
{
    impair_link *link = impair_of(base);
    const pen_zcopy_ops *zcopy = link->inner->zcopy;
    pen_frame frame = { head, body_len != 0 ? body : NULL, head_len, body_len };
    impair_held *own, *twin;
    pen_lock_take(&link->lock);
    link->reserved--;
    impair_verdict verdict = impair_judge(link, &frame);
    impair_prepare(link, to, lane, &frame, &verdict, &own, &twin);
    if (verdict.drop || verdict.delay || verdict.reorder) {
        zcopy->cancel(link->inner, to, lane, body);
        if (own != NULL)
            impair_hold(link, own, &verdict);
    } else if (own != NULL) {
        frame = impair_held_frame(own);
        if (body_len != 0)
            memcpy(body, frame.body, body_len);
        zcopy->commit(link->inner, to, lane, body, frame.head, head_len, body_len);
        impair_held_free(link, own);
    } else {
        zcopy->commit(link->inner, to, lane, body, head, head_len, body_len);
    }
    impair_taken(link, to, lane, &verdict, twin);
    pen_lock_drop(&link->lock);
}

static void families_cancel(pen_link *base, pen_peer to, pen_lane lane, void *body)
{
    impair_link *link = impair_of(base);
    pen_lock_take(&link->lock);
    link->reserved--;
    link->inner->zcopy->cancel(link->inner, to, lane, body);
    pen_lock_drop(&link->lock);
}

const pen_zcopy_ops impair_zcopy = {
    .reserve = families_reserve,
    .commit = families_commit,
    .cancel = families_cancel,
};

/* ---- put and get ---------------------------------------------------------------------------- */

static pen_status families_register(pen_link *base, void *addr, size_t len, pen_region **out)
{
    impair_link *link = impair_of(base);
    pen_lock_take(&link->lock);
    pen_status status = link->inner->rma->register_region(link->inner, addr, len, out);
    pen_lock_drop(&link->lock);
    return status;
}

static void families_deregister(pen_link *base, pen_region *region)
{
    impair_link *link = impair_of(base);
    pen_lock_take(&link->lock);
    link->inner->rma->deregister_region(link->inner, region);
    pen_lock_drop(&link->lock);
}

static pen_status families_export(pen_link *base, const pen_region *region, void *blob)
{
    impair_link *link = impair_of(base);
    pen_lock_take(&link->lock);
    pen_status status = link->inner->rma->export_region(link->inner, region, blob);
    pen_lock_drop(&link->lock);
    return status;
}

static pen_status families_import(pen_link *base, pen_peer peer, const void *blob, pen_rkey *out)
{
    impair_link *link = impair_of(base);
    pen_lock_take(&link->lock);
    pen_status status = link->inner->rma->import_region(link->inner, peer, blob, out);
    pen_lock_drop(&link->lock);
    return status;
}

static void families_release(pen_link *base, pen_peer peer, pen_rkey key)
{
    impair_link *link = impair_of(base);
    pen_lock_take(&link->lock);
    link->inner->rma->release_region(link->inner, peer, key);
    pen_lock_drop(&link->lock);
}

static pen_post families_put(pen_link *base, pen_peer peer, uint64_t offset, pen_rkey key,
                             const void *local, pen_region *region, size_t len, pen_op *op)
{
    impair_link *link = impair_of(base);
    pen_lock_take(&link->lock);
    pen_post result = link->inner->rma->put(link->inner, peer, offset, key, local, region, len, op);
    pen_lock_drop(&link->lock);
    return result;
}

static pen_post families_get(pen_link *base, pen_peer peer, uint64_t offset, pen_rkey key,
                             void *local, pen_region *region, size_t len, pen_op *op)
{
    impair_link *link = impair_of(base);
    pen_lock_take(&link->lock);
    pen_post result = link->inner->rma->get(link->inner, peer, offset, key, local, region, len, op);
    pen_lock_drop(&link->lock);
    return result;
}

const pen_rma_ops impair_rma = {
    .register_region = families_register,
    .deregister_region = families_deregister,
    .export_region = families_export,
    .import_region = families_import,
    .release_region = families_release,
    .put = families_put,
    .get = families_get,
};

/* ---- waiting -------------------------------------------------------------------------------- */

static int families_fd(pen_link *base)
{
    impair_link *link = impair_of(base);
    return link->inner->wait->fd(link->inner);
}

static bool families_arm(pen_link *base)
{
    impair_link *link = impair_of(base);
    return link->inner->wait->arm(link->inner);
}

const pen_wait_ops impair_wait = { .fd = families_fd, .arm = families_arm };

/* Time at which a held frame falls due, because no event announces it. */
static uint64_t families_due_ns(pen_link *base)
{
    impair_link *link = impair_of(base);
    pen_lock_take(&link->lock);
    uint64_t due_ns = impair_next_due(link);
    pen_lock_drop(&link->lock);
    uint64_t inner_ns =
        link->inner->due != NULL ? link->inner->due->due_ns(link->inner) : UINT64_MAX;
    return inner_ns < due_ns ? inner_ns : due_ns;
}

const pen_due_ops impair_due = { .due_ns = families_due_ns };
