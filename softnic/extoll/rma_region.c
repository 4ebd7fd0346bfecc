/* SPDX-License-Identifier: BSD-3-Clause */
/* rma_region.c: registered memory. A region is a row of the port's address table. Other ports read
 * the table to reach the region; the port keeps a copy of it that it trusts. */
#include "softnic/extoll/rma_port.h"

#include <stdlib.h>

static uintptr_t page_of(uintptr_t address) { return address & ~(uintptr_t)(RMA2_PAGE_LEN - 1); }

static void row_set(fabric_row *row, uint64_t start, uint64_t len)
{
    atomic_store_explicit(&row->len, 0, memory_order_relaxed);
    atomic_store_explicit(&row->start, start, memory_order_relaxed);
    /* release: a reader that sees the length sees this start, or a later one */
    atomic_store_explicit(&row->len, len, memory_order_release);
}

bool rma_resolve(const RMA2_Port port, const fabric_row *rows, uint16_t vpid, RMA2_NLA nla,
                 uint32_t size, uint64_t *address)
{
    uint64_t offset = nla & RMA_OFFSET_MAX, row = nla >> RMA_NLA_ROW & 0xfff;
    if (nla >> RMA_NLA_VPID != vpid || row < 1 || row > port->card->config.regions)
        return false;
    const fabric_row *found = &rows[row - 1];
    uint64_t len = atomic_load_explicit(&found->len, memory_order_acquire);
    if (offset > len || size > len - offset)
        return false;
    *address = atomic_load_explicit(&found->start, memory_order_relaxed) + offset;
    return true;
}

/* ---- registering ----------------------------------------------------------------------------- */

static bool overlaps(const RMA2_Region *region, uintptr_t first, uintptr_t end)
{
    uintptr_t start = page_of((uintptr_t)region->start);
    return first < start + region->count * RMA2_PAGE_LEN && start < end;
}

/* Finds a free row. Rows are used in turn, so that a stale NLA stays bad for long. Returns 0 if
 * all rows are taken. */
static uint32_t row_take(RMA2_Port port)
{
    uint32_t rows = port->card->config.regions;
    for (uint32_t i = 0; i < rows; i++) {
        uint32_t row = (port->next_row + i) % rows;
        if (atomic_load_explicit(&port->own[row].len, memory_order_relaxed) == 0) {
            port->next_row = (row + 1) % rows;
            return row + 1;
        }
    }
    return 0;
}

static RMA2_ERROR_CODE refusal(RMA2_Port port, bool adhoc, uintptr_t first, uintptr_t end)
{
    const pen_card_faults *faults = &port->card->config.faults;
    if (fabric_strikes(&port->region_random, faults->register_one_in))
        return faults->register_mlock ? RMA2_MLOCK_LIMIT : RMA2_NO_MEM;
    for (const RMA2_Region *other = port->regions; other != NULL && !adhoc; other = other->next)
        if (!other->adhoc && other->parent == NULL && overlaps(other, first, end))
            return RMA2_INV_VALUE;
    return RMA2_SUCCESS;
}

/* Called under the lock of regions. */
static RMA2_ERROR_CODE enter(RMA2_Port port, void *address, size_t size, bool adhoc,
                             RMA2_Region *region)
{
    uintptr_t start = (uintptr_t)address, first = page_of(start);
    if (address == NULL || size == 0 || size > RMA_OFFSET_MAX - UINT64_C(2) * RMA2_PAGE_LEN ||
        start + size + RMA2_PAGE_LEN < start)
        return RMA2_INV_VALUE;
    size_t count = (start - first + size + RMA2_PAGE_LEN - 1) / RMA2_PAGE_LEN;
    if (adhoc && count != 1)
        return RMA2_INV_VALUE;
    RMA2_ERROR_CODE refused = refusal(port, adhoc, first, first + count * (size_t)RMA2_PAGE_LEN);
    if (refused != RMA2_SUCCESS)
        return refused;
    uint32_t row = row_take(port);
    if (row == 0)
        return RMA2_NO_MEM;
    *region = (RMA2_Region){
        .start = address,
        .nla = (uint64_t)port->vpid << RMA_NLA_VPID | (uint64_t)row << RMA_NLA_ROW,
        .count = count,
        .offset = start - first,
        .end = (char *)address + size,
        .size = size,
        .refcount = 1,
        .row = row,
        .adhoc = adhoc,
        .next = port->regions,
    };
    port->regions = region;
    row_set(&port->own[row - 1], first, count * RMA2_PAGE_LEN);
    row_set(&port->rows[row - 1], first, count * RMA2_PAGE_LEN);
    return RMA2_SUCCESS;
}

RMA2_ERROR_CODE rma2_register_nomalloc(RMA2_Port port, void *address, size_t size,
                                       RMA2_Region *region)
{
    if (port == NULL)
        return RMA2_INV_PORT;
    (void)pthread_mutex_lock(&port->region_lock);
    RMA2_ERROR_CODE done = enter(port, address, size, false, region);
    (void)pthread_mutex_unlock(&port->region_lock);
    return done;
}

/* Called under the lock: shares a registration that holds all of the bytes, if there is one. */
static bool share(RMA2_Port port, void *address, size_t size, RMA2_Region *region)
{
    for (RMA2_Region *other = port->regions; other != NULL; other = other->next) {
        if (other->adhoc || other->parent != NULL || !other->allocated ||
            !rma2_region_contains(other, address, size))
            continue;
        uintptr_t start = (uintptr_t)address, first = page_of(start);
        *region = *other;
        region->start = address;
        region->size = size;
        region->end = (char *)address + size;
        region->offset = start - first;
        region->nla = other->nla + (first - page_of((uintptr_t)other->start));
        region->count = (region->offset + size + RMA2_PAGE_LEN - 1) / RMA2_PAGE_LEN;
        region->refcount = 0;
        region->parent = other;
        region->next = port->regions;
        port->regions = region;
        other->refcount++;
        return true;
    }
    return false;
}

static RMA2_ERROR_CODE make(RMA2_Port port, void *address, size_t size, bool adhoc, bool cached,
                            RMA2_Region **out)
{
    if (port == NULL)
        return RMA2_INV_PORT;
    RMA2_Region *region = malloc(sizeof(*region));
    if (region == NULL)
        return RMA2_NO_MEM;
    (void)pthread_mutex_lock(&port->region_lock);
    RMA2_ERROR_CODE done = cached && share(port, address, size, region)
                               ? RMA2_SUCCESS
                               : enter(port, address, size, adhoc, region);
    if (done == RMA2_SUCCESS)
        region->allocated = true;
    (void)pthread_mutex_unlock(&port->region_lock);
    if (done == RMA2_SUCCESS)
        *out = region;
    else
        free(region);
    return done;
}

RMA2_ERROR_CODE rma2_register(RMA2_Port port, void *address, size_t size, RMA2_Region **region)
{
    return make(port, address, size, false, false, region);
}

RMA2_ERROR_CODE rma2_register_cached(RMA2_Port port, void *address, size_t size,
                                     RMA2_Region **region)
{
    return make(port, address, size, false, true, region);
}

RMA2_ERROR_CODE rma2_register_adhoc(RMA2_Port port, void *address, size_t size,
                                    RMA2_Region **region)
{
    return make(port, address, size, true, false, region);
}

/* ---- unregistering --------------------------------------------------------------------------- */

/* Takes a region off the list. Returns false if the port does not have it. */
static bool take_off(RMA2_Port port, const RMA2_Region *region)
{
    for (RMA2_Region **at = &port->regions; *at != NULL; at = &(*at)->next) {
        if (*at == region) {
            *at = region->next;
            return true;
        }
    }
    return false;
}

/* Drops one user; the last user's drop frees the row. */
static void release(RMA2_Port port, RMA2_Region *region)
{
    if (--region->refcount > 0)
        return;
    row_set(&port->rows[region->row - 1], 0, 0);
    row_set(&port->own[region->row - 1], 0, 0);
    (void)take_off(port, region);
    if (region->allocated)
        free(region);
}

RMA2_ERROR_CODE rma2_unregister(RMA2_Port port, RMA2_Region *region)
{
    if (port == NULL)
        return RMA2_INV_PORT;
    (void)pthread_mutex_lock(&port->region_lock);
    bool is_ours = false;
    for (const RMA2_Region *other = port->regions; other != NULL && !is_ours; other = other->next)
        is_ours = other == region;
    if (is_ours && region->parent != NULL) {
        (void)take_off(port, region);
        release(port, region->parent);
        free(region);
    } else if (is_ours) {
        release(port, region);
    }
    (void)pthread_mutex_unlock(&port->region_lock);
    return is_ours ? RMA2_SUCCESS : RMA2_INV_VALUE;
}

void rma_drop_regions(RMA2_Port port)
{
    while (port->regions != NULL) {
        RMA2_Region *region = port->regions;
        port->regions = region->next;
        row_set(&port->rows[region->row - 1], 0, 0);
        if (region->allocated)
            free(region);
    }
}

/* ---- asking ---------------------------------------------------------------------------------- */

RMA2_ERROR_CODE rma2_get_nla(const RMA2_Region *region, size_t offset, RMA2_NLA *nla)
{
    if (offset >= region->size)
        return RMA2_INV_VALUE;
    *nla = region->nla + region->offset + offset;
    return RMA2_SUCCESS;
}

RMA2_ERROR_CODE rma2_get_va(const RMA2_Region *region, size_t offset, void **address)
{
    if (offset >= region->size)
        return RMA2_INV_VALUE;
    *address = (char *)region->start + offset;
    return RMA2_SUCCESS;
}

size_t rma2_get_size(const RMA2_Region *region) { return region->size; }
size_t rma2_get_page_count(const RMA2_Region *region) { return region->count; }

bool rma2_region_contains(const RMA2_Region *region, const void *address, size_t size)
{
    uintptr_t start = (uintptr_t)region->start, at = (uintptr_t)address;
    return at >= start && at - start <= region->size && size <= region->size - (at - start);
}

bool rma2_region_overlaps(const RMA2_Region *region, const void *address, size_t size)
{
    uintptr_t start = (uintptr_t)region->start, at = (uintptr_t)address;
    return at < start + region->size && start < at + size;
}

bool rma2_region_equals(const RMA2_Region *region, const void *address, size_t size)
{
    return region->start == address && region->size == size;
}
