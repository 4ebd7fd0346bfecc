/* SPDX-License-Identifier: BSD-3-Clause */
/* mem.c: the table of this rank's segments, the allocator of the arena slice, the range checks, and
 * devices.
 *
 * The slice is allocated first fit between its live segments. These are few, so the table itself
 * serves as free list. Memory is reserved but not touched. A rank may reserve its share of the
 * memory that was available when it started. The pages of a destroyed segment are given back at
 * once. */
#include "mem/mem.h"

#include "base/compiler.h"
#include "base/status.h"
#include "conduit/conduit.h"
#include "diag/log.h"
#include "os/lock.h"
#include "os/os.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { MEM_MIB_SHIFT = 20, MEM_LITTLE = 16 };

/* In an EVERYTHING job any address of a peer is legal. This process can access only its own
 * addresses directly. */
static const pen_remote_segment mem_everywhere = { .len = UINT64_MAX };
static const pen_remote_segment mem_everywhere_here = { .len = UINT64_MAX, .mapped = true };

pen_status pen_mem_init(pen_mem *mem, pen_log *log, pen_concurrency concurrency, char *slice,
                        size_t slice_len, uint32_t ranks, bool everything, uint64_t available)
{
    memset(mem, 0, sizeof *mem);
    for (uint32_t number = 0; number < PEN_SEGMENTS_MAX; number++)
        atomic_init(&mem->exposed[number], NULL);
    pen_lock_init(&mem->lock, concurrency);
    mem->everything = everything;
    mem->slice = slice;
    mem->slice_len = slice == NULL ? 0 : slice_len;
    mem->budget = available / (ranks == 0 ? 1 : ranks);
    mem->rank = UINT32_MAX;
    mem->remote_count = ranks;
    if (pen_mem_remote_table(mem, 0) == NULL) {
        pen_log_error(log,
                      "cannot make the table of segments for %u ranks: calloc: %m; start fewer "
                      "ranks",
                      ranks);
        return PEN_ERR_MEMORY;
    }
    return PEN_OK;
}

void pen_mem_close(pen_mem *mem)
{
    for (uint32_t number = 1; number < PEN_SEGMENTS_MAX; number++)
        pen_mem_destroy(mem, mem->segments[number]);
    for (uint32_t ep_index = 0; ep_index < PEN_ENDPOINTS_MAX; ep_index++) {
        free(mem->remote[ep_index]);
        mem->remote[ep_index] = NULL;
    }
    mem->remote_count = 0;
    while (mem->devices != NULL)
        pen_mem_device_close(mem, mem->devices);
}

/* ---- allocation -------------------------------------------------------------------------- */

static size_t mem_pages_len(size_t len) { return pen_align_up(len, PEN_SEGMENT_GRAIN); }

/* The end of a segment in the slice that overlaps [offset, offset + len), or 0. */
static size_t mem_slice_conflict(const pen_mem *mem, size_t offset, size_t len)
{
    for (uint32_t number = 1; number < PEN_SEGMENTS_MAX; number++) {
        const pen_segment *segment = mem->segments[number];
        if (segment == NULL || !segment->in_arena)
            continue;
        size_t start = (size_t)(segment->base - mem->slice);
        size_t end = mem_pages_len(start + segment->len);
        if (offset < end && start < offset + len)
            return end;
    }
    return 0;
}

/* Finds a gap, first fit. Returns NULL if no gap is long enough. */
static char *mem_slice_take(const pen_mem *mem, size_t len)
{
    const size_t grain =
        mem->huge && len >= PEN_HUGE_PAGE_LEN ? PEN_HUGE_PAGE_LEN : PEN_SEGMENT_GRAIN;
    size_t offset = -(uintptr_t)mem->slice % grain;
    while (len <= mem->slice_len && offset <= mem->slice_len - len) {
        size_t end = mem_slice_conflict(mem, offset, len);
        if (end == 0)
            return mem->slice + offset;
        offset = pen_align_up((uintptr_t)mem->slice + end, grain) - (uintptr_t)mem->slice;
    }
    return NULL;
}

static PEN_COLD pen_status mem_short(pen_log *log, uint64_t wanted, uint64_t available,
                                     const char *what)
{
    pen_log_error(
        log,
        "cannot make a segment of %llu MiB: %s leaves %llu MiB; ask for a smaller segment, "
        "lower GASNET_MAX_SEGSIZE or start fewer ranks",
        (unsigned long long)(wanted >> MEM_MIB_SHIFT), what,
        (unsigned long long)(available >> MEM_MIB_SHIFT));
    return PEN_ERR_MEMORY;
}

/* Nothing is touched here. A rank may not reserve more than its share of the memory that the
 * host had, or more than the host has now. Reading the latter opens two dozen files, so short
 * segments skip it. */
static pen_status mem_check_room(const pen_mem *mem, pen_log *log, size_t len)
{
    uint64_t share = mem->budget > mem->reserved ? mem->budget - mem->reserved : 0;
    if (len > share)
        return mem_short(log, len, share, "this rank's share of the host's available memory");
    if (mem->reserved + len <= mem->budget / MEM_LITTLE)
        return PEN_OK;
    uint64_t available = pen_memory_available();
    if (len > available)
        return mem_short(log, len, available, "the host's available memory");
    return PEN_OK;
}

static void mem_make_huge(pen_log *log, char *base, size_t len)
{
    int error = pen_memory_make_huge(base, len);
    if (error != 0)
        pen_log_warn(log,
                     "cannot make huge pages of a segment of %zu MiB: madvise: %s%s; going on with "
                     "small ones (GASNET_USE_HUGEPAGES)",
                     len >> MEM_MIB_SHIFT, strerror(error),
                     error == EINVAL  ? ", which Linux can since 6.1"
                     : error == EPERM ? ", which a filter (seccomp) around this process refuses"
                                      : "");
}

static pen_status mem_allocate(const pen_mem *mem, pen_log *log, size_t len, pen_segment *segment)
{
    pen_status status = mem_check_room(mem, log, len);
    if (status != PEN_OK)
        return status;
    if (mem->slice == NULL) { /* private: no peer maps it */
        void *base = pen_map_grain(len, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
        if (base == MAP_FAILED) {
            pen_log_error(log, "cannot map a segment of %zu bytes: mmap: %m; ask for a smaller one",
                          len);
            return PEN_ERR_MEMORY;
        }
        segment->base = base;
    } else {
        segment->base = mem_slice_take(mem, len);
        if (segment->base == NULL)
            return mem_short(log, len, mem->slice_len,
                             "the rank's part of the host arena (all of it)");
        segment->in_arena = true;
    }
    segment->owned = true;
    if (mem->huge)
        mem_make_huge(log, segment->base, len);
    return PEN_OK;
}

static bool mem_in_slice(const pen_mem *mem, const char *base, size_t len)
{
    uintptr_t offset = (uintptr_t)base - (uintptr_t)mem->slice; /* wraps below the slice */
    return mem->slice != NULL && offset <= mem->slice_len && len <= mem->slice_len - offset;
}

static pen_status mem_take_device(pen_log *log, void *addr, pen_segment *segment)
{
    pen_device *device = segment->device;
    segment->base = addr != NULL ? addr : device->kind->alloc(device, segment->len);
    segment->owned = addr == NULL;
    if (segment->base == NULL) {
        pen_log_error(log,
                      "cannot make a segment of %zu bytes on device %s: allocating: %m; ask for a "
                      "smaller one",
                      segment->len, device->kind->name);
        return PEN_ERR_MEMORY;
    }
    if (addr != NULL && !device->kind->holds(device, addr, segment->len)) {
        pen_log_error(log,
                      "cannot make a segment of %zu bytes at %p: device %s holds no such memory; "
                      "give an allocation of its own, or NULL",
                      segment->len, addr, device->kind->name);
        return PEN_ERR_ARGUMENT;
    }
    return PEN_OK;
}

static pen_status mem_take_host(pen_mem *mem, pen_log *log, void *addr, pen_segment *segment)
{
    if (addr != NULL) {
        segment->base = addr;
        segment->in_arena = mem_in_slice(mem, addr, segment->len);
        return PEN_OK;
    }
    size_t len = mem_pages_len(segment->len);
    pen_status status = mem_allocate(mem, log, len, segment);
    if (status == PEN_OK)
        mem->reserved += len;
    return status;
}

/* Called under the lock. Makes all decisions, so that the caller has one exit. */
static pen_status mem_fill(pen_mem *mem, pen_log *log, void *addr, pen_segment *segment)
{
    uint32_t number = 1;
    while (number < PEN_SEGMENTS_MAX && mem->segments[number] != NULL)
        number++;
    if (number == PEN_SEGMENTS_MAX) {
        pen_log_error(log, "cannot make a segment: %d exist already; destroy one first",
                      PEN_SEGMENTS_MAX - 1);
        return PEN_ERR_RESOURCE;
    }
    segment->number = number;
    pen_status status = segment->device != NULL ? mem_take_device(log, addr, segment)
                                                : mem_take_host(mem, log, addr, segment);
    if (status != PEN_OK)
        return status;
    mem->segments[number] = segment;
    if (segment->device != NULL) {
        segment->device->segments++;
        atomic_fetch_add_explicit(&mem->device_segments, 1, memory_order_relaxed);
    }
    return PEN_OK;
}

pen_status pen_mem_create_on(pen_mem *mem, pen_log *log, pen_device *device, void *addr, size_t len,
                             pen_segment **out)
{
    if (len == 0 || len > PTRDIFF_MAX || (uintptr_t)addr > UINTPTR_MAX - len) {
        pen_log_error(log, "cannot make a segment of %zu bytes at %p: %s; give a range of memory",
                      len, addr, len == 0 ? "it is empty" : "it reaches beyond the address space");
        return PEN_ERR_ARGUMENT;
    }
    pen_segment *segment = calloc(1, sizeof *segment);
    if (segment == NULL) {
        pen_log_error(log, "cannot note a new segment: calloc: %m; free some memory");
        return PEN_ERR_MEMORY;
    }
    segment->len = len;
    segment->device = device;
    pen_lock_take(&mem->lock);
    pen_status status = mem_fill(mem, log, addr, segment);
    pen_lock_drop(&mem->lock);
    if (status != PEN_OK) {
        free(segment);
        return status;
    }
    *out = segment;
    return PEN_OK;
}

pen_status pen_mem_create(pen_mem *mem, pen_log *log, void *addr, size_t len, pen_segment **out)
{
    return pen_mem_create_on(mem, log, NULL, addr, len, out);
}

/* Called under the lock. */
static void mem_give_back(pen_mem *mem, const pen_segment *segment)
{
    pen_device *device = segment->device;
    size_t len = mem_pages_len(segment->len);
    if (device != NULL) {
        if (segment->owned)
            device->kind->release(device, segment->base);
        device->segments--;
        atomic_fetch_sub_explicit(&mem->device_segments, 1, memory_order_relaxed);
    } else if (segment->owned) {
        mem->reserved -= len;
        if (segment->in_arena) /* makes a hole in the arena's file; a failure only keeps the
                                * pages */
            (void)madvise(segment->base, len, MADV_REMOVE);
        else
            (void)munmap(segment->base, len);
    }
}

void pen_mem_destroy(pen_mem *mem, pen_segment *segment)
{
    if (segment == NULL)
        return;
    if (segment->region != NULL)
        segment->link->rma->deregister_region(segment->link, segment->region);
    pen_lock_take(&mem->lock);
    mem->segments[segment->number] = NULL;
    /* relaxed: the caller has ended the link to the peers that can name the segment */
    atomic_store_explicit(&mem->exposed[segment->number], NULL, memory_order_relaxed);
    mem_give_back(mem, segment);
    pen_lock_drop(&mem->lock);
    free(segment);
}

void pen_mem_expose(pen_mem *mem, pen_segment *segment)
{
    pen_lock_take(&mem->lock);
    /* release: pairs with the acquire in pen_mem_resolve; the segment's fields are visible with
     * it */
    atomic_store_explicit(&mem->exposed[segment->number], segment, memory_order_release);
    pen_lock_drop(&mem->lock);
}

/* ---- range checks ------------------------------------------------------------------------- */

bool pen_mem_is_device(pen_mem *mem, const void *addr, size_t len)
{
    bool found = false;
    if (pen_likely(atomic_load_explicit(&mem->device_segments, memory_order_relaxed) == 0))
        return false;
    uintptr_t at = (uintptr_t)addr;
    pen_lock_take(&mem->lock);
    for (uint32_t number = 1; !found && number < PEN_SEGMENTS_MAX; number++) {
        const pen_segment *segment = mem->segments[number];
        if (segment == NULL || segment->device == NULL)
            continue;
        uintptr_t base = (uintptr_t)segment->base;
        found = at < base + segment->len && base < at + (len == 0 ? 1 : len);
    }
    pen_lock_drop(&mem->lock);
    return found;
}

pen_region *pen_mem_region(pen_mem *mem, const pen_link *link, const void *addr, size_t len)
{
    for (uint32_t number = 1; number < PEN_SEGMENTS_MAX; number++) {
        /* acquire: pairs with the release in pen_mem_expose */
        const pen_segment *segment =
            atomic_load_explicit(&mem->exposed[number], memory_order_acquire);
        if (segment == NULL || segment->region == NULL || segment->link != link)
            continue;
        uintptr_t offset = (uintptr_t)addr - (uintptr_t)segment->base;
        if (offset <= segment->len && len <= segment->len - offset)
            return segment->region;
    }
    return NULL;
}

/* Returns the segment that peers name by this number, if it contains the range. */
static const pen_segment *mem_exposed(const pen_mem *mem, uint32_t number, uint64_t offset,
                                      uint64_t len)
{
    if (number >= PEN_SEGMENTS_MAX)
        return NULL;
    /* acquire: pairs with the release in pen_mem_expose */
    const pen_segment *segment = atomic_load_explicit(&mem->exposed[number], memory_order_acquire);
    if (segment == NULL || offset > segment->len || len > segment->len - offset)
        return NULL;
    return segment;
}

void *pen_mem_resolve(pen_mem *mem, uint32_t number, uint64_t offset, uint64_t len)
{
    if (number == PEN_SEGMENT_EVERYWHERE) {
        bool wraps = len > UINTPTR_MAX || offset > UINTPTR_MAX - len;
        if (!mem->everything || wraps)
            return NULL;
        void *at = (void *)(uintptr_t)offset;
        return pen_mem_is_device(mem, at, (size_t)len) ? NULL : at;
    }
    const pen_segment *segment = mem_exposed(mem, number, offset, len);
    return segment != NULL && segment->device == NULL ? segment->base + offset : NULL;
}

pen_device *pen_mem_resolve_device(pen_mem *mem, uint32_t number, uint64_t offset, uint64_t len,
                                   char **at_out)
{
    const pen_segment *segment =
        number == PEN_SEGMENT_EVERYWHERE ? NULL : mem_exposed(mem, number, offset, len);
    if (segment == NULL || segment->device == NULL)
        return NULL;
    *at_out = segment->base + offset;
    return segment->device;
}

pen_remote_segment *pen_mem_remote_table(pen_mem *mem, uint32_t ep_index)
{
    if (mem->remote[ep_index] == NULL)
        mem->remote[ep_index] =
            calloc(mem->remote_count == 0 ? 1 : mem->remote_count, sizeof *mem->remote[ep_index]);
    return mem->remote[ep_index];
}

const pen_remote_segment *pen_mem_remote(const pen_mem *mem, uint32_t ep_index, uint32_t rank,
                                         const void *addr, size_t len, uint64_t *offset_out)
{
    uint64_t at = (uint64_t)(uintptr_t)addr;
    const pen_remote_segment *remote = pen_mem_remote_row(mem, ep_index, rank);
    if (remote != NULL) {
        uint64_t offset = at - remote->base; /* wraps below the base */
        if (remote->len != 0 && offset <= remote->len && len <= remote->len - offset) {
            *offset_out = offset;
            return remote;
        }
    }
    if (!mem->everything || len > UINT64_MAX - at)
        return NULL;
    *offset_out = at;
    return rank == mem->rank ? &mem_everywhere_here : &mem_everywhere;
}

/* ---- devices ------------------------------------------------------------------------------ */

pen_status pen_mem_device_open(pen_mem *mem, pen_log *log, const pen_kind *kind,
                               const pen_device_args *args, pen_device **out)
{
    pen_device *device = NULL;
    pen_status status = kind->open(args, mem->lock.shared ? PEN_CONCURRENT : PEN_ALONE, &device);
    if (status != PEN_OK) {
        pen_log_error(log, "cannot open device %d of %s: %s; %s", args->ordinal, kind->name,
                      status == PEN_ERR_ARGUMENT ? "there is none" : pen_status_text(status),
                      status == PEN_ERR_ARGUMENT ? "count from 0" : pen_status_remedy(status));
        return status;
    }
    device->class = args->class;
    pen_lock_take(&mem->lock);
    device->next = mem->devices;
    mem->devices = device;
    pen_lock_drop(&mem->lock);
    *out = device;
    return PEN_OK;
}

void pen_mem_device_close(pen_mem *mem, pen_device *device)
{
    pen_lock_take(&mem->lock);
    PEN_INVARIANT(device->segments == 0);
    pen_device **link = &mem->devices;
    while (*link != device)
        link = &(*link)->next;
    *link = device->next;
    pen_lock_drop(&mem->lock);
    device->kind->close(device);
}
