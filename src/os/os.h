/* SPDX-License-Identifier: BSD-3-Clause */
/* os.h: the operating system, as the library needs it: clock, processors, memory, sleeping,
 * reaching into another process. Thin: each call does one thing, answers a status and logs nothing
 * (errno tells the caller, who knows the object), unless it says otherwise. */
#ifndef PEN_OS_OS_H
#define PEN_OS_OS_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

uint64_t pen_now_ns(void); /* CLOCK_MONOTONIC */

/* A clock that somebody lends. Modules between os/ and api/ ask no other one, so that a simulation
 * can make the time up. */
typedef struct pen_clock {
    uint64_t (*now_ns)(void *ctx);
    void *ctx;
} pen_clock;

extern const pen_clock pen_machine_clock; /* pen_now_ns */

void pen_random(void *out, size_t len); /* getrandom; never fails (aborts if the kernel has none) */
size_t pen_page_len(void);

/* What segments begin at and are multiples of: the largest page of the processor family, which is
 * GASNET_PAGESIZE, so that a client runs on every kernel of the family. */
#if defined(__x86_64__)
#    define PEN_SEGMENT_GRAIN ((size_t)4096)
#else
#    define PEN_SEGMENT_GRAIN ((size_t)65536)
#endif

/* ---- processors ------------------------------------------------------------------------- */

/* Cores this process may use: the affinity mask capped by the cgroup cpu quota (v2 or v1), rounded
 * up; at least 1. cgroup_root: NULL for /sys/fs/cgroup (tests pass a folder of their own). */
unsigned pen_cores_allowed(const char *cgroup_root);

/* Involuntary context switches of this thread so far (getrusage RUSAGE_THREAD). */
uint64_t pen_switches_forced(void);

/* ---- memory ----------------------------------------------------------------------------- */

uint64_t pen_memory_physical(void);  /* bytes of RAM, capped by the cgroup's memory limit */
uint64_t pen_memory_available(void); /* MemAvailable, capped by what the cgroup has left */

/* A sparse anonymous file (memfd, close-on-exec, sealed against shrinking and growing), or -1: then
 * *call names the system call that failed. */
int pen_memfd(const char *name, size_t len, const char **call);

/* The huge page of x86-64, and of aarch64 with small pages: where what may be made of them begins.
 */
#define PEN_HUGE_PAGE_LEN ((size_t)2 << 20)

/* mmap for reading and writing, at a multiple of PEN_SEGMENT_GRAIN, and of PEN_HUGE_PAGE_LEN where
 * it is as long as that; MAP_FAILED with errno. */
void *pen_map_grain(size_t len, int flags, int fd);

/* Makes huge pages of new memory (all zero, nobody uses it yet), now, so that all of it is taken;
 * first and last bytes that fill none stay as they are. 0, or errno: EINVAL where the kernel cannot
 * (Linux 6.1). */
int pen_memory_make_huge(void *base, size_t len);

/* ---- sleeping --------------------------------------------------------------------------- */

/* Sleeps while *word == expected, at most timeout_ns; across processes. Spurious returns happen. */
void pen_futex_wait(_Atomic uint32_t *word, uint32_t expected, uint64_t timeout_ns);
void pen_futex_wake(_Atomic uint32_t *word, int count);
/* Ends the sleep of those who have asked for it in `asked` and sleep on `word`; takes the request.
 */
void pen_futex_rouse(_Atomic uint32_t *asked, _Atomic uint32_t *word);

/* The sleeper's half of an asymmetric fence: after it returns, every store another registered
 * process made before its last fence-free load of our flag is visible to us. False: the kernel
 * refuses (then senders need a full fence each). Register once per process. */
bool pen_membarrier_register(void);
bool pen_membarrier(void);

/* ---- another process's memory (CMA) ------------------------------------------------------- */

bool pen_cma_usable(pid_t pid, const void *remote_probe); /* tries to read 8 bytes */
pen_status pen_cma_read(pid_t pid, void *local, const void *remote, size_t len);
pen_status pen_cma_write(pid_t pid, const void *local, void *remote, size_t len);

/* The same for lists of memory of the same total length, cut as they like; at most
 * PEN_CMA_LIST_MAX entries each. What the lists hold afterwards is of no use. */
enum { PEN_CMA_LIST_MAX = 1024 };
pen_status pen_cma_read_list(pid_t pid, struct iovec *local, size_t local_count,
                             struct iovec *remote, size_t remote_count);
pen_status pen_cma_write_list(pid_t pid, struct iovec *local, size_t local_count,
                              struct iovec *remote, size_t remote_count);

/* ---- diagnosis ---------------------------------------------------------------------------- */

/* The stack, to an open file; from signal handlers too. False: this system cannot. The first prints
 * that of this thread, one frame a line; the second has the debugger gdb do it, for all threads if
 * so wanted. */
bool pen_backtrace(int fd);
bool pen_backtrace_by_gdb(int fd, bool all_threads);

#endif
