/* SPDX-License-Identifier: BSD-3-Clause */
/* passing.c: functions that pass a call on to the inner link. */
#include "link/passing.h"

#include "base/status.h"
#include "conduit/conduit.h"
#include "os/lock.h"

static pen_passing *passing_of(pen_link *link) { return (pen_passing *)(void *)link; }

pen_status pen_passing_address(pen_link *base, void *blob)
{
    const pen_passing *link = passing_of(base);
    return link->inner->ops->address(link->inner, blob);
}

pen_status pen_passing_connect(pen_link *base, const void *blobs, pen_peer count)
{
    const pen_passing *link = passing_of(base);
    return link->inner->ops->connect(link->inner, blobs, count);
}

/* ---- put and get ---------------------------------------------------------------------------- */

static pen_status passing_register(pen_link *base, void *addr, size_t len, pen_region **out)
{
    pen_passing *link = passing_of(base);
    pen_lock_take(&link->lock);
    pen_status status = link->inner->rma->register_region(link->inner, addr, len, out);
    pen_lock_drop(&link->lock);
    return status;
}

static void passing_deregister(pen_link *base, pen_region *region)
{
    pen_passing *link = passing_of(base);
    pen_lock_take(&link->lock);
    link->inner->rma->deregister_region(link->inner, region);
    pen_lock_drop(&link->lock);
}

static pen_status passing_export(pen_link *base, const pen_region *region, void *blob)
{
    pen_passing *link = passing_of(base);
    pen_lock_take(&link->lock);
    pen_status status = link->inner->rma->export_region(link->inner, region, blob);
    pen_lock_drop(&link->lock);
    return status;
}

static pen_status passing_import(pen_link *base, pen_peer peer, const void *blob, pen_rkey *out)
{
    pen_passing *link = passing_of(base);
    pen_lock_take(&link->lock);
    pen_status status = link->inner->rma->import_region(link->inner, peer, blob, out);
    pen_lock_drop(&link->lock);
    return status;
}

static void passing_release(pen_link *base, pen_peer peer, pen_rkey key)
{
    pen_passing *link = passing_of(base);
    pen_lock_take(&link->lock);
    link->inner->rma->release_region(link->inner, peer, key);
    pen_lock_drop(&link->lock);
}

static pen_post passing_put(pen_link *base, pen_peer peer, uint64_t offset, pen_rkey key,
                            const void *local, pen_region *region, size_t len, pen_op *op)
{
    pen_passing *link = passing_of(base);
    pen_lock_take(&link->lock);
    pen_post result = link->inner->rma->put(link->inner, peer, offset, key, local, region, len, op);
    pen_lock_drop(&link->lock);
    return result;
}

static pen_post passing_get(pen_link *base, pen_peer peer, uint64_t offset, pen_rkey key,
                            void *local, pen_region *region, size_t len, pen_op *op)
{
    pen_passing *link = passing_of(base);
    pen_lock_take(&link->lock);
    pen_post result = link->inner->rma->get(link->inner, peer, offset, key, local, region, len, op);
    pen_lock_drop(&link->lock);
    return result;
}

const pen_rma_ops pen_passing_rma = {
    .register_region = passing_register,
    .deregister_region = passing_deregister,
    .export_region = passing_export,
    .import_region = passing_import,
    .release_region = passing_release,
    .put = passing_put,
    .get = passing_get,
};

/* ---- atomics --------------------------------------------------------------------------------- */

static bool passing_serves(const pen_link *base, uint32_t type, uint32_t op)
{
    const pen_link *inner = ((const pen_passing *)(const void *)base)->inner;
    return inner->amo->serves(inner, type, op);
}

static pen_post passing_amo(pen_link *base, pen_peer peer, uint64_t offset, pen_rkey key,
                            const pen_amo *amo, pen_op *op)
{
    pen_passing *link = passing_of(base);
    pen_lock_take(&link->lock);
    pen_post result = link->inner->amo->post(link->inner, peer, offset, key, amo, op);
    pen_lock_drop(&link->lock);
    return result;
}

const pen_amo_ops pen_passing_amo = { .serves = passing_serves, .post = passing_amo };

/* ---- waiting -------------------------------------------------------------------------------- */

static int passing_fd(pen_link *base)
{
    pen_passing *link = passing_of(base);
    return link->inner->wait->fd(link->inner);
}

static bool passing_arm(pen_link *base)
{
    pen_passing *link = passing_of(base);
    return link->inner->wait->arm(link->inner);
}

const pen_wait_ops pen_passing_wait = { .fd = passing_fd, .arm = passing_arm };
