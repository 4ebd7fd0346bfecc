/* SPDX-License-Identifier: BSD-3-Clause */
/* firehose.h: a cache of the registrations by which a network device knows memory of this process.
 *
 * Many devices read and write only memory that was registered with them. Registration costs
 * microseconds, and a device holds a limited amount of it. This cache registers memory when a
 * transfer needs it and leaves it registered afterwards, because programs use the same buffers
 * again. It is the local side of the algorithm of Bell and Bonachea, "A New DMA Registration
 * Strategy for Pinning-Based High Performance Networks" (CAC 2003).
 *
 * Memory is registered in regions of whole pages. A request is a hit if one region contains all of
 * it. On a miss the cache registers the pages of the request, joined with the regions that touch or
 * overlap it if the result is not too long. So a walk through memory ends in few long regions. The
 * older regions that a new one contains are deregistered, at once or when they are released. If a
 * limit is reached, the cache deregisters the regions that have not been used for the longest time.
 * It never deregisters a region that is in use, and never holds more than the limits.
 *
 * A region is registered by address. If the program unmaps memory and maps other memory at the same
 * address, the device may still use the old pages. The owner of such memory calls
 * pen_firehose_forget() before it unmaps it.
 *
 * All calls may be made by any thread, also inside a handler, because they never wait. */
#ifndef PEN_FIREHOSE_FIREHOSE_H
#define PEN_FIREHOSE_FIREHOSE_H

#include "base/status.h"
#include "conduit/conduit.h"
#include "knob/knob.h"
#include "os/lock.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct pen_firehose_limits {
    size_t memory_len; /* bytes that may be registered at once */
    size_t region_len; /* longest region; a longer request is cut by the caller */
    uint32_t regions;  /* regions that may be registered at once */
} pen_firehose_limits;

typedef struct pen_firehose_counters {
    uint64_t hits, misses;
    uint64_t joined;       /* older regions that a new one was joined with */
    uint64_t evicted;      /* regions deregistered to make room */
    uint64_t refused;      /* requests that found all room in use */
    size_t registered_len; /* bytes now */
    uint32_t regions;      /* regions now */
    uint32_t in_use;       /* regions that are in use now */
} pen_firehose_counters;

typedef struct pen_firehose pen_firehose;

/* How the cache registers memory. */
typedef struct pen_firehose_device {
    void *ctx; /* first argument of both calls, which are made while the cache is locked */
    /* enter registers memory, leave ends that. Errors of enter: PEN_ERR_RESOURCE if the device has
     * no room; the cache then gives regions back and tries again. Any other error: the device
     * refuses this memory. */
    pen_status (*enter)(void *ctx, void *addr, size_t len, pen_region **out);
    void (*leave)(void *ctx, pen_region *region);
} pen_firehose_device;

/* A region in use. It stays registered until it is released. */
typedef struct pen_firehose_region {
    pen_region *region; /* as the device returned it */
    uintptr_t begin, end;
} pen_firehose_region;

/* page_len: bytes of a page, a power of two. Errors: PEN_ERR_ARGUMENT if the limits do not allow
 * one region of one page, PEN_ERR_MEMORY. */
pen_status pen_firehose_open(const pen_firehose_device *device, const pen_firehose_limits *limits,
                             size_t page_len, pen_concurrency concurrency, pen_firehose **out);
/* Deregisters everything. No region is in use. NULL is allowed. */
void pen_firehose_close(pen_firehose *firehose);

/* Returns the region that contains all of this memory, and counts one use of it. Registers nothing.
 * Returns NULL if there is none. len is not 0. */
const pen_firehose_region *pen_firehose_find(pen_firehose *firehose, const void *addr, size_t len);

/* Returns the region as pen_firehose_find does, and registers memory if there is none. Errors,
 * after which *out is unchanged: PEN_ERR_ARGUMENT: the request has more pages than a region may
 * have; PEN_ERR_RESOURCE: all room is in use; the request succeeds after some releases; any other
 * status: the device refused this memory. */
pen_status pen_firehose_use(pen_firehose *firehose, const void *addr, size_t len,
                            const pen_firehose_region **out);

/* Ends one use of a region that was found or used. */
void pen_firehose_release(pen_firehose *firehose, const pen_firehose_region *region);

/* Deregisters the regions that contain a byte of this memory and are not in use. Those in use are
 * found by no later request, and are deregistered when they are released. */
void pen_firehose_forget(pen_firehose *firehose, const void *addr, size_t len);

void pen_firehose_count(pen_firehose *firehose, pen_firehose_counters *out);

/* ---- limits ---------------------------------------------------------------------------------- */

typedef struct pen_firehose_config { /* 0: unset */
    uint64_t memory, victim_memory, region_len;
    int64_t regions, victim_regions;
    bool is_verbose;
} pen_firehose_config;

/* Rows of a table of variables, for a config struct that has a pen_firehose_config `member`. */
#define PEN_FIREHOSE_KNOB(config, member, field, NAME, TYPE, FALLBACK, SUMMARY) \
    { "GASNET_FIREHOSE_" NAME, TYPE, FALLBACK, offsetof(config, member.field), SUMMARY },
#define PEN_FIREHOSE_KNOBS(config, member)                                                       \
    PEN_FIREHOSE_KNOB(                                                                           \
        config, member, memory, "M", PEN_KNOB_BYTES, "0",                                        \
        "Memory that a network device may know for its peers. A cache of local "                 \
        "memory adds it to GASNET_FIREHOSE_MAXVICTIM_M. 0: the limit of the device.")            \
    PEN_FIREHOSE_KNOB(config, member, victim_memory, "MAXVICTIM_M", PEN_KNOB_BYTES, "0",         \
                      "Local memory that may stay registered while no transfer uses it. 0: the " \
                      "limit of the device, or 1 GiB.")                                          \
    PEN_FIREHOSE_KNOB(config, member, regions, "R", PEN_KNOB_INT, "0",                           \
                      "Regions that a network device may know for its peers, used like "         \
                      "GASNET_FIREHOSE_M.")                                                      \
    PEN_FIREHOSE_KNOB(config, member, victim_regions, "MAXVICTIM_R", PEN_KNOB_INT, "0",          \
                      "Local regions that may stay registered while no transfer uses them. 0: "  \
                      "the limit of the device, or 1024.")                                       \
    PEN_FIREHOSE_KNOB(config, member, region_len, "MAXREGION_SIZE", PEN_KNOB_BYTES, "0",         \
                      "Longest region that is registered at once. 0: the memory divided by the " \
                      "regions, at least 128 KiB.")                                              \
    PEN_FIREHOSE_KNOB(config, member, is_verbose, "VERBOSE", PEN_KNOB_BOOL, "no",                \
                      "Whether each rank logs the limits of the cache at its start, and its "    \
                      "counters at its end.")

/* Limits for a cache that serves local memory only, from the variables and from what the device
 * and this process may hold (each 0: unknown). */
pen_firehose_limits pen_firehose_limits_make(const pen_firehose_config *config,
                                             size_t device_memory_len, size_t device_region_len,
                                             uint32_t device_regions);

#endif
