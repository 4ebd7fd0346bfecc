/* SPDX-License-Identifier: BSD-3-Clause */
/* kind.h: memory that a processor may not access: the interface that each kind of device
 * implements, one file each. Only mem/ uses it, and knows which clients opened which devices and
 * which segments lie on them. rma/ moves bytes through read and write, one piece at a time.
 *
 * Copies are synchronous: the bytes have arrived on return, and the caller does not poll meanwhile.
 * A copy that ends later would need an event in read, write and copy.
 *
 * Device addresses are pointers only for arithmetic. They must differ from all addresses of this
 * process's own memory, as with unified addressing, because the address alone tells which side
 * of a copy is on the device. */
#ifndef PEN_MEM_KIND_H
#define PEN_MEM_KIND_H

#include "base/status.h"
#include "os/lock.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Classes that clients can ask for: the values of gex_MK_Class_t. */
typedef enum pen_kind_class {
    PEN_KIND_HOST,
    PEN_KIND_CUDA_UVA,
    PEN_KIND_HIP,
    PEN_KIND_ZE,
    PEN_KIND_CLASSES
} pen_kind_class;

/* The client's description of a device. */
typedef struct pen_device_args {
    pen_kind_class class;
    int ordinal;                  /* CUDA, HIP: the device's number */
    void *ze_device, *ze_context; /* Level Zero: handles ... */
    uint32_t ze_memory;           /* ... and number of the memory */
} pen_device_args;

typedef struct pen_memory_kind pen_device; /* a gex_MK_t points at one */

typedef struct pen_kind {
    const char *name; /* its name in PENSTOCK_DEVICE */
    unsigned classes; /* bits 1 << pen_kind_class: the classes that it serves */
    /* Opens a device. Returns PEN_ERR_ARGUMENT if the device does not exist, PEN_ERR_MEMORY if
     * there is no memory. *out has its kind set; the remaining fields of pen_device are zero. */
    pen_status (*open)(const pen_device_args *args, pen_concurrency concurrency, pen_device **out);
    void (*close)(pen_device *device); /* called when all its allocations have been released */
    /* Returns at least len bytes, aligned to a page; NULL with errno on failure. */
    void *(*alloc)(pen_device *device, size_t len);
    void (*release)(pen_device *device, void *at);
    /* Is the whole range in an allocation on this device, made by alloc or by the client? */
    bool (*holds)(pen_device *device, const void *at, size_t len);
    /* Called by any thread. len is above 0. Return PEN_ERR_ARGUMENT if the device does not hold
     * the range. */
    pen_status (*read)(pen_device *device, void *host, const void *from, size_t len);
    pen_status (*write)(pen_device *device, void *to, const void *host, size_t len);
    pen_status (*copy)(pen_device *device, void *to, const void *from, size_t len); /* no overlap */
} pen_kind;

struct pen_memory_kind { /* the first member of a kind's own struct */
    const pen_kind *kind;
    pen_kind_class class;
    void *client; /* the owning gex_Client_t */
    const void *cdata;
    uint32_t flags;    /* as given at creation */
    uint32_t segments; /* segments on it; guarded by pen_mem.lock */
    pen_device *next;  /* in pen_mem.devices */
};

/* All kinds of this build; ends with NULL. */
extern const pen_kind *const pen_kinds[];

const pen_kind *pen_kind_find(const char *name); /* NULL: no kind has that name */

#endif
