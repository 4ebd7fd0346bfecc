/* SPDX-License-Identifier: BSD-3-Clause */
/* kind.h: memory that a processor may not touch: the interface that a kind of device implements,
 * one file each. Above it stands only mem/: who opened which device, and which segments lie on it;
 * rma/ moves bytes through read and write, a piece at a time.
 *
 * Copies are synchronous: the bytes are there on return, and the caller waits that long without
 * polling. What a copy that ends later needs is an event in read, write and copy; nobody has it
 * yet.
 *
 * Device addresses are pointers in the sense of arithmetic only. They have to differ from all
 * addresses of this process's own memory, as unified addressing provides: an address alone tells
 * which side of a copy is the device's. */
#ifndef PEN_MEM_KIND_H
#define PEN_MEM_KIND_H

#include "base/status.h"
#include "os/lock.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What clients ask for: the values of gex_MK_Class_t. */
typedef enum pen_kind_class {
    PEN_KIND_HOST,
    PEN_KIND_CUDA_UVA,
    PEN_KIND_HIP,
    PEN_KIND_ZE,
    PEN_KIND_CLASSES
} pen_kind_class;

/* Which device, as clients say it. */
typedef struct pen_device_args {
    pen_kind_class class;
    int ordinal;                  /* CUDA, HIP: its number */
    void *ze_device, *ze_context; /* Level Zero: its handles ... */
    uint32_t ze_memory;           /* ... and which of its memories */
} pen_device_args;

typedef struct pen_memory_kind pen_device; /* a gex_MK_t points at one */

typedef struct pen_kind {
    const char *name; /* in PENSTOCK_DEVICE */
    unsigned classes; /* bits 1 << pen_kind_class: what it answers for */
    /* PEN_ERR_ARGUMENT: there is no such device; PEN_ERR_MEMORY. *out has its kind set, the rest of
     * pen_device zero. */
    pen_status (*open)(const pen_device_args *args, pen_concurrency concurrency, pen_device **out);
    void (*close)(pen_device *device); /* all that it allocated was released */
    /* At least len bytes, at a page's beginning; NULL with errno. */
    void *(*alloc)(pen_device *device, size_t len);
    void (*release)(pen_device *device, void *at);
    /* Whether all of this is the device's and allocated, by alloc or by the client. */
    bool (*holds)(pen_device *device, const void *at, size_t len);
    /* Any thread. len is above 0; ranges that the device does not hold: PEN_ERR_ARGUMENT. */
    pen_status (*read)(pen_device *device, void *host, const void *from, size_t len);
    pen_status (*write)(pen_device *device, void *to, const void *host, size_t len);
    pen_status (*copy)(pen_device *device, void *to, const void *from, size_t len); /* apart */
} pen_kind;

struct pen_memory_kind { /* the first member of a kind's own struct */
    const pen_kind *kind;
    pen_kind_class class;
    void *client; /* the gex_Client_t it belongs to */
    const void *cdata;
    uint32_t flags;    /* as given at creation */
    uint32_t segments; /* that lie on it; guarded by pen_mem.lock */
    pen_device *next;  /* pen_mem.devices */
};

/* All that this build has; the last is NULL. */
extern const pen_kind *const pen_kinds[];

const pen_kind *pen_kind_find(const char *name); /* NULL: none of that name */

#endif
