/* SPDX-License-Identifier: BSD-3-Clause */
/* device.h: a link whose device keeps a list of the memory that is registered with it, and refuses
 * what a device may refuse. */
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
    pen_link link; /* first */
    struct pen_region regions[DEVICE_REGIONS_MAX];
    uint32_t count, calls;
    size_t len;
    uint32_t count_max; /* more is PEN_ERR_RESOURCE */
    uintptr_t hole;     /* memory that is not mapped: PEN_ERR_ARGUMENT; 0: there is none */
} device;

static pen_status device_register(pen_link *link, void *addr, size_t len, pen_region **out)
{
    device *d = (device *)(void *)link;
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

static void device_deregister(pen_link *link, pen_region *region)
{
    device *d = (device *)(void *)link;
    if (region->end == 0)
        abort(); /* twice */
    d->count--;
    d->len -= region->end - region->begin;
    region->end = 0;
}

static const pen_rma_ops device_rma = { .register_region = device_register,
                                        .deregister_region = device_deregister };

static inline void device_open(device *d)
{
    memset(d, 0, sizeof *d);
    d->link.rma = &device_rma;
    d->count_max = DEVICE_REGIONS_MAX;
}

#endif
