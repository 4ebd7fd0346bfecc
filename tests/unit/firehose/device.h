/* SPDX-License-Identifier: BSD-3-Clause */
/* device.h: a device that keeps a list of the memory that is registered with it, and refuses what a
 * device may refuse. */
#ifndef PEN_TEST_FIREHOSE_DEVICE_H
#define PEN_TEST_FIREHOSE_DEVICE_H

#include "firehose/firehose.h"

#include <stdlib.h>
#include <string.h>

enum { DEVICE_REGIONS_MAX = 256, PAGE_LEN = 4096 };

struct pen_region {
    uintptr_t begin, end; /* end 0: not registered */
};

typedef struct device {
    pen_firehose_device ops;
    struct pen_region regions[DEVICE_REGIONS_MAX];
    uint32_t count, calls;
    size_t len;
    uint32_t count_max; /* more is PEN_ERR_RESOURCE */
    uintptr_t hole;     /* memory that is not mapped: PEN_ERR_ARGUMENT; 0: there is none */
} device;

static pen_status device_register(void *ctx, void *addr, size_t len, pen_region **out)
{
    device *d = ctx;
    uintptr_t begin = (uintptr_t)addr;
    d->calls++;
    if (d->hole != 0 && d->hole >= begin && d->hole < begin + len)
        return PEN_ERR_ARGUMENT;
    if (d->count >= d->count_max)
        return PEN_ERR_RESOURCE;
    if (begin % PAGE_LEN != 0 || len % PAGE_LEN != 0 || len == 0)
        abort();
    struct pen_region *region = d->regions;
    while (region->end != 0)
        region++;
    *region = (struct pen_region){ begin, begin + len };
    d->count++;
    d->len += len;
    *out = region;
    return PEN_OK;
}

static void device_deregister(void *ctx, pen_region *region)
{
    device *d = ctx;
    if (region->end == 0)
        abort(); /* twice */
    d->count--;
    d->len -= region->end - region->begin;
    region->end = 0;
}

static inline void device_open(device *d)
{
    memset(d, 0, sizeof *d);
    d->ops = (pen_firehose_device){ d, device_register, device_deregister };
    d->count_max = DEVICE_REGIONS_MAX;
}

#endif
