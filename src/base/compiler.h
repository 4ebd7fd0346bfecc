/* SPDX-License-Identifier: BSD-3-Clause */
/* compiler.h: the attributes, hints and assertions that all code uses. */
#ifndef PEN_BASE_COMPILER_H
#define PEN_BASE_COMPILER_H

#include "pen_config.h"

#include <stddef.h>
#include <stdint.h>

#define PEN_CACHE_LINE                64

#define pen_likely(x)                 __builtin_expect(!!(x), 1)
#define pen_unlikely(x)               __builtin_expect(!!(x), 0)
#define PEN_COLD                      __attribute__((cold, noinline))
#define PEN_EXPORT                    __attribute__((visibility("default")))
#define PEN_PRINTF(format_i, first_i) __attribute__((format(printf, format_i, first_i)))
#define PEN_CACHE_ALIGNED             __attribute__((aligned(PEN_CACHE_LINE)))
#define pen_container_of(ptr, type, member) \
    ((type *)(void *)((char *)(ptr) - offsetof(type, member)))

/* Prints the broken invariant and its place, and aborts. */
PEN_COLD _Noreturn void pen_invariant_broken(const char *what, const char *file, int line);

/* Ends the process with status 1, after printing the reason, because the system lacks a service
 * without which it cannot continue. */
PEN_COLD _Noreturn void pen_cannot_go_on(const char *why);

/* Always on, but not used on the fast path. Never use it on bytes from a peer. */
#define PEN_INVARIANT(cond)                                  \
    do {                                                     \
        if (pen_unlikely(!(cond)))                           \
            pen_invariant_broken(#cond, __FILE__, __LINE__); \
    } while (0)

/* Checked builds only; both sides compile. */
#define PEN_ASSERT(cond)                                     \
    do {                                                     \
        if (PEN_CHECKED && pen_unlikely(!(cond)))            \
            pen_invariant_broken(#cond, __FILE__, __LINE__); \
    } while (0)

/* One spin-wait hint to the processor. */
static inline void pen_cpu_relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("yield");
#endif
}

/* Prefetches a line that will be written soon and may be in a different core's cache. Without
 * this, a store to it would delay later stores until the line arrives. Any address is allowed.
 * GCC's builtin prefetches for reading unless the whole program is compiled for processors that
 * announce the instruction. Processors without the instruction ignore it. */
static inline void pen_prefetch_to_write(const volatile void *at)
{
#if defined(__x86_64__)
    __asm__ __volatile__("prefetchw %0" : : "m"(*(const volatile char *)at));
#else
    __builtin_prefetch((const void *)at, 1);
#endif
}

/* A full fence. It is not atomic_thread_fence, which causes a warning in builds with the thread
 * sanitizer. */
static inline void pen_fence(void) { __sync_synchronize(); }

static inline size_t pen_align_up(size_t n, size_t to) /* to: a power of two */
{
    return (n + to - 1) & ~(to - 1);
}

#endif
