/* SPDX-License-Identifier: BSD-3-Clause */
/* kind_standin.c: each allocation is an anonymous file that is mapped twice. The client gets the
 * address of a mapping without access; copies use the second mapping. So a program that treats a
 * device address as memory crashes, as on a machine with a real device. */
#include "mem/kind_standin.h"

#include "base/compiler.h"
#include "base/status.h"
#include "os/lock.h"
#include "os/os.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { STANDIN_ORDINALS = 16 }; /* devices a process sees; each may be opened any number of times */

typedef struct standin_block {
    struct standin_block *next;
    char *device; /* the client's address */
    char *host;   /* the accessible mapping of this memory */
    size_t len;
} standin_block;

typedef struct standin {
    pen_device device;
    pen_lock lock;         /* guards the list */
    standin_block *blocks; /* allocations of one device; a short list */
} standin;

static pen_status standin_open(const pen_device_args *args, pen_concurrency concurrency,
                               pen_device **out)
{
    if (args->ordinal < 0 || args->ordinal >= STANDIN_ORDINALS)
        return PEN_ERR_ARGUMENT;
    standin *mine = calloc(1, sizeof *mine);
    if (mine == NULL)
        return PEN_ERR_MEMORY;
    mine->device.kind = &pen_kind_standin;
    pen_lock_init(&mine->lock, concurrency);
    *out = &mine->device;
    return PEN_OK;
}

static void standin_close(pen_device *device) { free(pen_container_of(device, standin, device)); }

static bool standin_map(standin_block *block, int fd)
{
    void *host = mmap(NULL, block->len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (host == MAP_FAILED)
        return false;
    void *device = mmap(NULL, block->len, PROT_NONE, MAP_SHARED, fd, 0);
    if (device == MAP_FAILED) {
        int why = errno;
        (void)munmap(host, block->len);
        errno = why;
        return false;
    }
    block->host = host;
    block->device = device;
    return true;
}

static void *standin_alloc(pen_device *device, size_t len)
{
    standin *mine = pen_container_of(device, standin, device);
    standin_block *block = calloc(1, sizeof *block);
    if (block == NULL)
        return NULL;
    const char *call;
    block->len = pen_align_up(len, pen_page_len());
    int fd = pen_memfd("penstock device", block->len, &call);
    if (fd < 0 || !standin_map(block, fd)) {
        int why = errno;
        if (fd >= 0)
            close(fd);
        free(block);
        errno = why;
        return NULL;
    }
    close(fd);
    pen_lock_take(&mine->lock);
    block->next = mine->blocks;
    mine->blocks = block;
    pen_lock_drop(&mine->lock);
    return block->device;
}

/* Takes the block out of the list. Returns NULL if it is not there. */
static standin_block *standin_remove(standin *mine, const void *at)
{
    standin_block *found = NULL;
    pen_lock_take(&mine->lock);
    for (standin_block **link = &mine->blocks; *link != NULL; link = &(*link)->next)
        if ((*link)->device == at) {
            found = *link;
            *link = found->next;
            break;
        }
    pen_lock_drop(&mine->lock);
    return found;
}

static void standin_release(pen_device *device, void *at)
{
    standin_block *block = standin_remove(pen_container_of(device, standin, device), at);
    PEN_INVARIANT(block != NULL);
    (void)munmap(block->device, block->len);
    (void)munmap(block->host, block->len);
    free(block);
}

/* Returns the accessible address, or NULL if the range is not in one allocation. */
static char *standin_host(pen_device *device, const void *at, size_t len)
{
    standin *mine = pen_container_of(device, standin, device);
    char *host = NULL;
    pen_lock_take(&mine->lock);
    for (const standin_block *block = mine->blocks; block != NULL; block = block->next) {
        /* wraps below the block: larger than any length */
        size_t offset = (uintptr_t)at - (uintptr_t)block->device;
        if (offset < block->len && len <= block->len - offset) {
            host = block->host + offset;
            break;
        }
    }
    pen_lock_drop(&mine->lock);
    return host;
}

static bool standin_holds(pen_device *device, const void *at, size_t len)
{
    return standin_host(device, at, len) != NULL;
}

static pen_status standin_read(pen_device *device, void *host, const void *from, size_t len)
{
    const char *source = standin_host(device, from, len);
    if (source == NULL)
        return PEN_ERR_ARGUMENT;
    memcpy(host, source, len);
    return PEN_OK;
}

static pen_status standin_write(pen_device *device, void *to, const void *host, size_t len)
{
    char *dest = standin_host(device, to, len);
    if (dest == NULL)
        return PEN_ERR_ARGUMENT;
    memcpy(dest, host, len);
    return PEN_OK;
}

static pen_status standin_copy(pen_device *device, void *to, const void *from, size_t len)
{
    char *dest = standin_host(device, to, len);
    const char *source = standin_host(device, from, len);
    if (dest == NULL || source == NULL)
        return PEN_ERR_ARGUMENT;
    memcpy(dest, source, len);
    return PEN_OK;
}

const pen_kind pen_kind_standin = {
    .name = "standin",
    .classes = 1u << PEN_KIND_CUDA_UVA | 1u << PEN_KIND_HIP | 1u << PEN_KIND_ZE,
    .open = standin_open,
    .close = standin_close,
    .alloc = standin_alloc,
    .release = standin_release,
    .holds = standin_holds,
    .read = standin_read,
    .write = standin_write,
    .copy = standin_copy,
};
