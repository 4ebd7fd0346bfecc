/* SPDX-License-Identifier: BSD-3-Clause */
/* os.h: the operating system functions that the library uses: clock, processors, memory,
 * sleeping, access to a peer process. Thin: each call does one thing and returns a status.
 * Unless stated otherwise it logs nothing, because the caller knows the object; errno has the
 * reason. */
#ifndef PEN_OS_OS_H
#define PEN_OS_OS_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

uint64_t pen_now_ns(void); /* CLOCK_MONOTONIC */
uint64_t pen_cpu_ns(void); /* the time that this thread has had a core */

/* A clock lent by the creator of a job. Modules between os/ and api/ use no clock but this, so
 * that a simulation can provide virtual time. */
typedef struct pen_clock {
    uint64_t (*now_ns)(void *ctx);
    void *ctx;
} pen_clock;

extern const pen_clock pen_machine_clock; /* pen_now_ns */

void pen_random(void *out, size_t len); /* getrandom; on failure ends the process */
size_t pen_page_len(void);

/* Alignment and length unit of segments: the largest page of the processor family, so that a
 * client runs on every kernel of the family. GASNET_PAGESIZE has this value. */
#if defined(__x86_64__)
#    define PEN_SEGMENT_GRAIN ((size_t)4096)
#else
#    define PEN_SEGMENT_GRAIN ((size_t)65536)
#endif

/* ---- processors ------------------------------------------------------------------------- */

/* Cores this process may use: the affinity mask capped by the cgroup cpu quota (v2 or v1),
 * rounded up; at least 1. cgroup_root: NULL for /sys/fs/cgroup (tests pass their own folder). */
unsigned pen_cores_allowed(const char *cgroup_root);

/* The processor that this thread runs on; -1 if not known. */
int pen_cpu_here(void);

/* Moves this thread to a processor of its affinity mask that is not among the taken ones, and gives
 * it its whole mask back, so that the kernel may move it later. choice: number of the processor
 * among the free ones, modulo their count. Returns the processor, or -1 if no processor is free or
 * the kernel refuses. */
int pen_cpu_move_apart(const int *taken, unsigned taken_count, unsigned choice);

/* Involuntary context switches of this thread so far (getrusage RUSAGE_THREAD). */
uint64_t pen_switches_forced(void);

/* ---- memory ----------------------------------------------------------------------------- */

uint64_t pen_memory_physical(void);  /* bytes of RAM, capped by the cgroup's memory limit */
uint64_t pen_memory_available(void); /* MemAvailable, capped by the memory left in the cgroup */

/* Makes a sparse anonymous file (memfd, close-on-exec, sealed against shrinking and growing). On
 * failure returns -1, and *call names the system call that failed. */
int pen_memfd(const char *name, size_t len, const char **call);

/* Length and alignment of a huge page on x86-64, and on aarch64 with small pages. */
#define PEN_HUGE_PAGE_LEN ((size_t)2 << 20)

/* Maps memory for reading and writing, aligned to PEN_SEGMENT_GRAIN, and to PEN_HUGE_PAGE_LEN if
 * it is at least that long. Returns MAP_FAILED with errno on failure. */
void *pen_map_grain(size_t len, int flags, int fd);

/* Makes huge pages of new memory (all zero, not yet used) at once, which allocates all of it.
 * Bytes at the ends that fill no huge page stay as they are. Returns 0 or errno: EINVAL if the
 * kernel cannot (it needs Linux 6.1). */
int pen_memory_make_huge(void *base, size_t len);

/* ---- sleeping --------------------------------------------------------------------------- */

/* Sleeps while *word == expected, at most timeout_ns. Works across processes. May return early. */
void pen_futex_wait(_Atomic uint32_t *word, uint32_t expected, uint64_t timeout_ns);
void pen_futex_wake(_Atomic uint32_t *word, int count);
/* Takes the request in `asked`, and wakes all threads that sleep on `word` because of it. */
void pen_futex_rouse(_Atomic uint32_t *asked, _Atomic uint32_t *word);

/* The sleeper's half of an asymmetric fence. After it returns, this process sees every store
 * that a registered peer made before its last fence-free load of our flag. Returns false if the
 * kernel refuses; then each sender needs a full fence. Register once per process. */
bool pen_membarrier_register(void);
bool pen_membarrier(void);

/* ---- another process's memory (CMA) ------------------------------------------------------- */

bool pen_cma_usable(pid_t pid, const void *remote_probe); /* tries to read 8 bytes */
pen_status pen_cma_read(pid_t pid, void *local, const void *remote, size_t len);
pen_status pen_cma_write(pid_t pid, const void *local, void *remote, size_t len);

/* Move lists of memory. Both lists have the same total length and may be divided differently; at
 * most PEN_CMA_LIST_MAX entries each. The calls overwrite the lists. */
enum { PEN_CMA_LIST_MAX = 1024 };
pen_status pen_cma_read_list(pid_t pid, struct iovec *local, size_t local_count,
                             struct iovec *remote, size_t remote_count);
pen_status pen_cma_write_list(pid_t pid, struct iovec *local, size_t local_count,
                              struct iovec *remote, size_t remote_count);

/* ---- diagnosis ---------------------------------------------------------------------------- */

/* Print the stack to an open file. May be called from signal handlers. Return false if the
 * system cannot. pen_backtrace prints this thread's stack, one frame per line.
 * pen_backtrace_by_gdb runs the debugger gdb, for all threads if all_threads is true. */
bool pen_backtrace(int fd);
bool pen_backtrace_by_gdb(int fd, bool all_threads);

#endif
