/* SPDX-License-Identifier: BSD-3-Clause */
/* memory.c: the amount of memory, and memory that several processes can map. */
#include "base/compiler.h"
#include "os/cgroup.h"
#include "os/os.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MFD_NOEXEC_SEAL
#    define MFD_NOEXEC_SEAL 0x0008U /* Linux 6.3; some systems refuse a memfd without it */
#endif

#ifndef MADV_COLLAPSE
#    define MADV_COLLAPSE 25 /* Linux 6.1; the headers of Debian 12 lack it */
#endif

size_t pen_page_len(void)
{
    long len = sysconf(_SC_PAGESIZE);
    return len > 0 ? (size_t)len : 4096;
}

/* Reserves an extra grain of addresses, and maps at the first multiple in it. */
void *pen_map_grain(size_t len, int flags, int fd)
{
    const int access = PROT_READ | PROT_WRITE;
    const size_t grain = len >= PEN_HUGE_PAGE_LEN ? PEN_HUGE_PAGE_LEN : PEN_SEGMENT_GRAIN;
    if (pen_page_len() >= grain)
        return mmap(NULL, len, access, flags, fd, 0);
    size_t pages_len = pen_align_up(len, pen_page_len());
    char *room = mmap(NULL, pages_len + grain, PROT_NONE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED)
        return MAP_FAILED;
    size_t before = -(uintptr_t)room % grain;
    if (before != 0)
        (void)munmap(room, before);
    (void)munmap(room + before + pages_len, grain - before);
    void *base = mmap(room + before, len, access, flags | MAP_FIXED, fd, 0);
    if (base == MAP_FAILED) {
        int why = errno;
        (void)munmap(room + before, pages_len);
        errno = why;
    }
    return base;
}

int pen_memory_make_huge(void *base, size_t len)
{
    const uintptr_t first = pen_align_up((uintptr_t)base, PEN_HUGE_PAGE_LEN);
    const uintptr_t end = ((uintptr_t)base + len) / PEN_HUGE_PAGE_LEN * PEN_HUGE_PAGE_LEN;
    if (end <= first)
        return 0;
    /* If the system's settings allow it, each page is huge from its first touch. If they do not,
     * collapsing works, but only for pages that exist. */
    (void)madvise((void *)first, end - first, MADV_HUGEPAGE);
    for (uintptr_t at = first; at < end; at += PEN_HUGE_PAGE_LEN)
        *(volatile char *)at = 0;
    return madvise((void *)first, end - first, MADV_COLLAPSE) == 0 ? 0 : errno;
}

/* A row of /proc/meminfo in bytes, or 0. */
static uint64_t meminfo(const char *key)
{
    FILE *in = fopen("/proc/meminfo", "re");
    if (in == NULL)
        return 0;
    char line[256];
    uint64_t kib = 0;
    size_t key_len = strlen(key);
    while (fgets(line, sizeof line, in) != NULL) {
        if (strncmp(line, key, key_len) == 0 && line[key_len] == ':' &&
            sscanf(line + key_len + 1, "%" SCNu64, &kib) == 1)
            break;
    }
    fclose(in);
    return kib * 1024;
}

static uint64_t memory_of_pages(int name)
{
    long pages = sysconf(name);
    return pages > 0 ? (uint64_t)pages * pen_page_len() : 0;
}

static uint64_t least(uint64_t a, uint64_t b) { return a < b ? a : b; }

uint64_t pen_memory_physical(void)
{
    uint64_t total = meminfo("MemTotal");
    if (total == 0)
        total = memory_of_pages(_SC_PHYS_PAGES);
    return least(total, pen_cgroup_memory_limit(NULL));
}

uint64_t pen_memory_available(void)
{
    uint64_t available = meminfo("MemAvailable");
    if (available == 0)
        available = memory_of_pages(_SC_AVPHYS_PAGES);
    return least(available, pen_cgroup_memory_left(NULL));
}

int pen_memfd(const char *name, size_t len, const char **call)
{
    *call = "memfd_create";
    int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);
    if (fd < 0 && errno == EINVAL)
        fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0)
        return -1;
    /* Sealed, because a peer that shrinks the file would make every rank die of SIGBUS. */
    *call = "ftruncate";
    if (ftruncate(fd, (off_t)len) == 0) {
        *call = "fcntl";
        if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0)
            return fd;
    }
    int error = errno;
    close(fd);
    errno = error;
    return -1;
}
