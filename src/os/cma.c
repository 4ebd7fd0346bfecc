/* SPDX-License-Identifier: BSD-3-Clause */
/* cma.c: reading and writing another process's memory (cross-memory attach). Whether the kernel
 * allows it depends on user, ptrace scope and seccomp, so it is tried, not computed. */
#include "os/os.h"

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

static pen_status cma_move(pid_t pid, char *local, char *remote, size_t len, bool is_write)
{
    while (len > 0) {
        size_t chunk = len < CMA_CHUNK_MAX ? len : CMA_CHUNK_MAX;
        struct iovec here = { local, chunk }, there = { remote, chunk };
        ssize_t moved = is_write ? process_vm_writev(pid, &here, 1, &there, 1, 0)
                                 : process_vm_readv(pid, &here, 1, &there, 1, 0);
        if (moved < 0)
            return cma_status();
        if (moved == 0) {
            errno = EFAULT;
            return PEN_ERR_SYSTEM;
        }
        local += moved; /* a short move ends at a page that is not there: the next call says so */
        remote += moved;
        len -= (size_t)moved;
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

bool pen_cma_usable(pid_t pid, const void *remote_probe)
{
    uint64_t probe;
    return pen_cma_read(pid, &probe, remote_probe, sizeof probe) == PEN_OK;
}
