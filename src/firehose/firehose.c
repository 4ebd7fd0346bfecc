/* SPDX-License-Identifier: BSD-3-Clause */
/* firehose.c: finds, registers and releases regions, and chooses those that make room. */
#include "firehose/firehose.h"

#include "base/compiler.h"
#include "base/status.h"
#include "conduit/conduit.h"
#include "firehose/pages.h"
#include "os/lock.h"

#include <stdlib.h>

#define NOBODY UINT32_MAX

/* A place in the list of entries that are not in use; the list is a ring through its head. */
typedef struct idle {
    struct idle *older, *newer;
} idle;

typedef struct entry {
    pen_firehose_region public; /* first: a caller's region is an entry */
    idle idle;
    uintptr_t begin, end; /* pages; end 0: this entry is spare */
    uint32_t uses;
    uint32_t spare;     /* the next spare entry */
    bool may_be_hidden; /* a later entry is found for some of its pages */
    bool is_forgotten;  /* no longer in the table of pages */
} entry;

struct pen_firehose {
    pen_lock lock; /* guards all that follows */
    unsigned page_shift;
    pen_pages pages;
    entry *entries;
    idle idle; /* newer: the entry that was used the longest time ago */
    pen_firehose_counters counters;
    pen_firehose_device device;
    size_t pages_max, region_pages_max; /* limits */
    size_t pages_registered;
    uint32_t entries_max;
    uint32_t spare;
};

/* ---- lists ----------------------------------------------------------------------------------- */

static uint32_t index_of(const pen_firehose *f, const entry *e)
{
    return (uint32_t)(e - f->entries);
}

static entry *entry_of(idle *place) { return pen_container_of(place, entry, idle); }

static void idle_remove(entry *e)
{
    e->idle.older->newer = e->idle.newer;
    e->idle.newer->older = e->idle.older;
}

static void idle_add(pen_firehose *f, entry *e)
{
    e->idle.newer = &f->idle;
    e->idle.older = f->idle.older;
    e->idle.older->newer = &e->idle;
    f->idle.older = &e->idle;
}

static bool has_idle(const pen_firehose *f) { return f->idle.newer != &f->idle; }

static entry *spare_take(pen_firehose *f)
{
    if (f->spare == NOBODY)
        return NULL;
    entry *e = &f->entries[f->spare];
    f->spare = e->spare;
    return e;
}

static void spare_give(pen_firehose *f, entry *e)
{
    e->end = 0;
    e->spare = f->spare;
    f->spare = index_of(f, e);
}

/* ---- registering ----------------------------------------------------------------------------- */

/* Deregisters an entry without uses, which is in no list. */
static void drop(pen_firehose *f, entry *e)
{
    if (!e->is_forgotten)
        pen_pages_remove(&f->pages, index_of(f, e), e->begin, e->end);
    f->device.leave(f->device.ctx, e->public.region);
    f->pages_registered -= e->end - e->begin;
    f->counters.regions--;
    spare_give(f, e);
}

static void drop_idle(pen_firehose *f, entry *e)
{
    idle_remove(e);
    drop(f, e);
}

/* Deregisters the idle entry that was used the longest time ago. Returns false if all are in use.
 */
static bool evict(pen_firehose *f)
{
    if (!has_idle(f))
        return false;
    f->counters.evicted++;
    drop_idle(f, entry_of(f->idle.newer));
    return true;
}

/* Calls `what` for each entry that has a page in begin to end - 1 and is the best of that page. The
 * call may remove the entry. */
static void for_each_within(pen_firehose *f, uintptr_t begin, uintptr_t end,
                            bool (*what)(pen_firehose *f, entry *e, uintptr_t begin, uintptr_t end))
{
    for (uintptr_t page = begin; page < end;) {
        const pen_page_node *node = pen_pages_find(&f->pages, page);
        if (node == NULL || !what(f, &f->entries[node->owner], begin, end))
            page++; /* otherwise a worse entry of the page may have become its best */
    }
}

/* Drops an idle entry that a longer one contains. Returns whether it did. */
static bool drop_contained(pen_firehose *f, entry *e, uintptr_t begin, uintptr_t end)
{
    if (e->uses != 0 || e->begin < begin || e->end > end)
        return false;
    f->counters.joined++;
    drop_idle(f, e);
    return true;
}

/* Makes the request longer by the entries that touch it or overlap its ends, while the result is
 * not too long. */
static void join(const pen_firehose *f, uintptr_t *begin, uintptr_t *end)
{
    const pen_page_node *node = pen_pages_find(&f->pages, *end);
    if (node != NULL && node->end - *begin <= f->region_pages_max)
        *end = node->end;
    node = pen_pages_find(&f->pages, *begin);
    if (node == NULL)
        node = pen_pages_find(&f->pages, *begin - 1);
    if (node == NULL)
        return;
    uintptr_t earlier = f->entries[node->owner].begin;
    if (earlier < *begin && *end - earlier <= f->region_pages_max)
        *begin = earlier;
}

/* Makes room for one entry of that many pages. */
static bool room_make(pen_firehose *f, size_t pages)
{
    while (f->pages_max - f->pages_registered < pages || f->spare == NOBODY)
        if (!evict(f))
            return false;
    return true;
}

/* Notes which entries will not be found for some of these pages. */
static void hide(pen_firehose *f, uintptr_t begin, uintptr_t end)
{
    for (uintptr_t page = begin; page < end; page++) {
        const pen_page_node *node = pen_pages_find(&f->pages, page);
        if (node != NULL)
            f->entries[node->owner].may_be_hidden = true;
    }
}

/* Registers pages. If the device has no room, idle entries are deregistered until it has. */
static pen_status enter(pen_firehose *f, uintptr_t begin, uintptr_t end, entry **out)
{
    pen_region *region = NULL;
    void *addr = (void *)(begin << f->page_shift); // NOLINT(performance-no-int-to-ptr)
    size_t len = (end - begin) << f->page_shift;
    if (!room_make(f, end - begin))
        return PEN_ERR_RESOURCE;
    pen_status status = f->device.enter(f->device.ctx, addr, len, &region);
    while (status == PEN_ERR_RESOURCE && evict(f))
        status = f->device.enter(f->device.ctx, addr, len, &region);
    if (status != PEN_OK)
        return status;
    entry *e = spare_take(f);
    *e = (entry){ .public = { .region = region,
                              .begin = begin << f->page_shift,
                              .end = end << f->page_shift },
                  .begin = begin,
                  .end = end };
    hide(f, begin, end);
    pen_pages_add(&f->pages, index_of(f, e), begin, end);
    f->pages_registered += end - begin;
    f->counters.regions++;
    *out = e;
    return PEN_OK;
}

/* Registers a request that was not found. */
static PEN_COLD pen_status miss(pen_firehose *f, uintptr_t begin, uintptr_t end, entry **out)
{
    uintptr_t joined_begin = begin, joined_end = end;
    f->counters.misses++;
    if (end - begin > f->region_pages_max)
        return PEN_ERR_ARGUMENT;
    join(f, &joined_begin, &joined_end);
    for_each_within(f, joined_begin, joined_end, drop_contained);
    pen_status status = enter(f, joined_begin, joined_end, out);
    /* The joined request may be too long for the room, or contain memory that is no longer mapped.
     */
    if (status != PEN_OK && (joined_begin != begin || joined_end != end))
        status = enter(f, begin, end, out);
    f->counters.refused += status == PEN_ERR_RESOURCE;
    return status;
}

/* ---- opening and closing --------------------------------------------------------------------- */

pen_status pen_firehose_open(const pen_firehose_device *device, const pen_firehose_limits *limits,
                             size_t page_len, pen_concurrency concurrency, pen_firehose **out)
{
    unsigned shift = (unsigned)__builtin_ctzll(page_len);
    size_t pages_max = limits->memory_len >> shift, region_pages = limits->region_len >> shift;
    if (pages_max > UINT32_MAX - 1)
        pages_max = UINT32_MAX - 1;
    if (pages_max == 0 || region_pages == 0 || limits->regions == 0)
        return PEN_ERR_ARGUMENT;
    pen_firehose *f = calloc(1, sizeof *f);
    if (f == NULL)
        return PEN_ERR_MEMORY;
    pen_lock_init(&f->lock, concurrency);
    f->device = *device;
    f->page_shift = shift;
    f->pages_max = pages_max;
    f->region_pages_max = region_pages < pages_max ? region_pages : pages_max;
    f->entries_max = limits->regions < pages_max ? limits->regions : (uint32_t)pages_max;
    f->idle = (idle){ &f->idle, &f->idle };
    f->spare = NOBODY;
    f->entries = calloc(f->entries_max, sizeof *f->entries);
    if (f->entries == NULL || !pen_pages_open(&f->pages, (uint32_t)pages_max)) {
        free(f->entries);
        free(f);
        return PEN_ERR_MEMORY;
    }
    for (uint32_t i = f->entries_max; i-- > 0;)
        spare_give(f, &f->entries[i]);
    *out = f;
    return PEN_OK;
}

void pen_firehose_close(pen_firehose *f)
{
    if (f == NULL)
        return;
    while (has_idle(f))
        drop_idle(f, entry_of(f->idle.newer));
    PEN_INVARIANT(f->counters.regions == 0); /* a region is still in use */
    pen_pages_close(&f->pages);
    free(f->entries);
    free(f);
}

/* ---- using ----------------------------------------------------------------------------------- */

/* Counts one use. */
static const pen_firehose_region *take(entry *e, bool is_idle)
{
    if (is_idle)
        idle_remove(e);
    e->uses++;
    return &e->public;
}

static inline const pen_firehose_region *find(pen_firehose *f, uintptr_t begin, uintptr_t end)
{
    const pen_page_node *node = pen_pages_find(&f->pages, begin);
    if (node == NULL || node->end < end)
        return NULL;
    entry *e = &f->entries[node->owner];
    f->counters.hits++;
    return take(e, e->uses == 0);
}

static uintptr_t first_page(const pen_firehose *f, const void *addr)
{
    return (uintptr_t)addr >> f->page_shift;
}

static uintptr_t last_page(const pen_firehose *f, const void *addr, size_t len)
{
    return ((uintptr_t)addr + len - 1) >> f->page_shift;
}

const pen_firehose_region *pen_firehose_find(pen_firehose *f, const void *addr, size_t len)
{
    pen_lock_take(&f->lock);
    const pen_firehose_region *found = find(f, first_page(f, addr), last_page(f, addr, len) + 1);
    pen_lock_drop(&f->lock);
    return found;
}

pen_status pen_firehose_use(pen_firehose *f, const void *addr, size_t len,
                            const pen_firehose_region **out)
{
    uintptr_t begin = first_page(f, addr), end = last_page(f, addr, len) + 1;
    pen_status status = PEN_OK;
    pen_lock_take(&f->lock);
    const pen_firehose_region *found = find(f, begin, end);
    if (pen_unlikely(found == NULL)) {
        entry *e = NULL;
        status = miss(f, begin, end, &e);
        found = status == PEN_OK ? take(e, false) : NULL;
    }
    pen_lock_drop(&f->lock);
    if (found != NULL)
        *out = found;
    return status;
}

/* Returns whether later entries are found for every page of this one, so that it serves no
 * request. */
static bool is_hidden(const pen_firehose *f, const entry *e)
{
    for (uintptr_t page = e->begin; page < e->end; page++)
        if (pen_pages_find(&f->pages, page)->owner == index_of(f, e))
            return false;
    return true;
}

void pen_firehose_release(pen_firehose *f, const pen_firehose_region *region)
{
    pen_lock_take(&f->lock);
    entry *e = (entry *)(uintptr_t)region;
    PEN_INVARIANT(e->uses != 0);
    if (--e->uses == 0) {
        idle_add(f, e);
        if (pen_unlikely(e->is_forgotten || (e->may_be_hidden && is_hidden(f, e))))
            drop_idle(f, e);
    }
    pen_lock_drop(&f->lock);
}

void pen_firehose_forget(pen_firehose *f, const void *addr, size_t len)
{
    uintptr_t begin = first_page(f, addr), end = last_page(f, addr, len) + 1;
    pen_lock_take(&f->lock);
    for (uint32_t i = 0; i < f->entries_max; i++) {
        entry *e = &f->entries[i];
        if (e->end == 0 || e->is_forgotten || e->begin >= end || e->end <= begin)
            continue;
        if (e->uses == 0) {
            drop_idle(f, e);
            continue;
        }
        pen_pages_remove(&f->pages, i, e->begin, e->end);
        e->is_forgotten = true;
    }
    pen_lock_drop(&f->lock);
}

void pen_firehose_count(pen_firehose *f, pen_firehose_counters *out)
{
    pen_lock_take(&f->lock);
    *out = f->counters;
    out->registered_len = f->pages_registered << f->page_shift;
    out->in_use = 0;
    for (uint32_t i = 0; i < f->entries_max; i++)
        out->in_use += f->entries[i].end != 0 && f->entries[i].uses != 0;
    pen_lock_drop(&f->lock);
}
