/* SPDX-License-Identifier: BSD-3-Clause */
/* cma.c: reading and writing a peer process's memory (cross-memory attach). The kernel's
 * permission depends on user, ptrace scope and seccomp, so it is found by trying. */
#include "os/os.h"

#include "base/status.h"

#include <errno.h>
#include <sys/uio.h>

/* The kernel moves at most a little less than 2 GiB per call. */
#define CMA_CHUNK_MAX ((size_t)1 << 30)

static pen_status cma_status(void)
{
    switch (errno) {
    case ESRCH:
        return PEN_ERR_PEER_LOST;
    case EPERM:
    case ENOSYS:
        return PEN_ERR_UNUSABLE;
    default:
        return PEN_ERR_SYSTEM;
    }
}

/* A list of memory pieces, with the amount already moved: all entries before `first`. */
typedef struct cma_list {
    struct iovec *entries;
    size_t count;
} cma_list;

static void list_advance(cma_list *list, size_t len)
{
    while (list->count > 0 && len >= list->entries->iov_len) {
        len -= list->entries->iov_len;
        list->entries++;
        list->count--;
    }
    if (list->count > 0) {
        list->entries->iov_base = (char *)list->entries->iov_base + len;
        list->entries->iov_len -= len;
    }
}

/* A short move ends at memory that does not exist, or at the kernel's limit per call. The next
 * call shows which. */
static pen_status cma_move_lists(pid_t pid, cma_list here, cma_list there, bool is_write)
{
    list_advance(&here, 0); /* skip empty pieces, because a move of 0 bytes must mean an error */
    list_advance(&there, 0);
    while (here.count > 0 && there.count > 0) {
        ssize_t moved =
            is_write
                ? process_vm_writev(pid, here.entries, here.count, there.entries, there.count, 0)
                : process_vm_readv(pid, here.entries, here.count, there.entries, there.count, 0);
        if (moved < 0)
            return cma_status();
        if (moved == 0) {
            errno = EFAULT;
            return PEN_ERR_SYSTEM;
        }
        list_advance(&here, (size_t)moved);
        list_advance(&there, (size_t)moved);
    }
    return PEN_OK;
}

static pen_status cma_move(pid_t pid, char *local, char *remote, size_t len, bool is_write)
{
    while (len > 0) {
        size_t chunk = len < CMA_CHUNK_MAX ? len : CMA_CHUNK_MAX;
        struct iovec here = { local, chunk }, there = { remote, chunk };
        pen_status status =
            cma_move_lists(pid, (cma_list){ &here, 1 }, (cma_list){ &there, 1 }, is_write);
        if (status != PEN_OK)
            return status;
        local += chunk;
        remote += chunk;
        len -= chunk;
    }
    return PEN_OK;
}

pen_status pen_cma_read(pid_t pid, void *local, const void *remote, size_t len)
{
    return cma_move(pid, local, (char *)(uintptr_t)remote, len, false);
}

pen_status pen_cma_write(pid_t pid, const void *local, void *remote, size_t len)
{
    return cma_move(pid, (char *)(uintptr_t)local, remote, len, true);
}

pen_status pen_cma_read_list(pid_t pid, struct iovec *local, size_t local_count,
                             struct iovec *remote, size_t remote_count)
{
    return cma_move_lists(pid, (cma_list){ local, local_count }, (cma_list){ remote, remote_count },
                          false);
}

pen_status pen_cma_write_list(pid_t pid, struct iovec *local, size_t local_count,
                              struct iovec *remote, size_t remote_count)
{
    return cma_move_lists(pid, (cma_list){ local, local_count }, (cma_list){ remote, remote_count },
                          true);
}

bool pen_cma_usable(pid_t pid, const void *remote_probe)
{
    uint64_t probe;
    return pen_cma_read(pid, &probe, remote_probe, sizeof probe) == PEN_OK;
}
