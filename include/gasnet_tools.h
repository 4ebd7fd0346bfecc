/* SPDX-License-Identifier: BSD-3-Clause */
/* gasnet_tools.h: helpers of parallel programs that need no job: time, sleep, memory fences,
 * numbers of the machine. Include it after gasnetex.h, or gasnet.h, which
 * contains it. */
#ifndef _INCLUDED_GASNET_TOOLS_H
#define _INCLUDED_GASNET_TOOLS_H

#include <gasnetex.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GASNETT_SPEC_VERSION_MAJOR    1
#define GASNETT_SPEC_VERSION_MINOR    20
#define GASNETT_RELEASE_VERSION_MAJOR GASNET_RELEASE_VERSION_MAJOR
#define GASNETT_RELEASE_VERSION_MINOR GASNET_RELEASE_VERSION_MINOR
#define GASNETT_RELEASE_VERSION_PATCH GASNET_RELEASE_VERSION_PATCH
#define GASNETT_PAGESIZE              GASNET_PAGESIZE
#define GASNETT_CACHE_LINE_BYTES      64
#define GASNETT_MAX_THREADS           GASNETI_MAX_THREADS

/* ---- time ----------------------------------------------------------------------------------- */

typedef uint64_t gasnett_tick_t; /* nanoseconds of the monotonic clock */
#define GASNETT_TICK_MIN ((gasnett_tick_t)0)
#define GASNETT_TICK_MAX (~(gasnett_tick_t)0)

/* Now, in ticks; differences between readings of one thread are meaningful. Context: any. Does not
 * poll. GASNet tools, chapter on timers. */
PEN_API gasnett_tick_t gasnett_ticks_now(void);

/* A difference of ticks in nanoseconds and in microseconds. Context: any. They do not poll.
 * GASNet tools, chapter on timers. */
GEX_INLINE uint64_t gasnett_ticks_to_ns(gasnett_tick_t ticks) { return ticks; }
GEX_INLINE uint64_t gasnett_ticks_to_us(gasnett_tick_t ticks) { return ticks / 1000u; }

/* Sleeps for so many nanoseconds. Returns 0; non-zero when a signal ended the sleep early.
 * Context: no handler. Blocks; does not poll. GASNet tools, chapter on timers. */
PEN_API int gasnett_nsleep(uint64_t ns);

/* Gives the processor to another thread or process. Context: any. Does not poll.
 * GASNet tools, chapter on scheduling. */
PEN_API void gasnett_sched_yield(void);

/* ---- memory fences of this host ------------------------------------------------------------- */

/* What was stored before is visible before anything later; loads are not done before earlier loads;
 * both. Context: any. They do not poll. GASNet tools, chapter on memory fences. */
GEX_INLINE void gasnett_local_wmb(void) { __sync_synchronize(); }
GEX_INLINE void gasnett_local_rmb(void) { __sync_synchronize(); }
GEX_INLINE void gasnett_local_mb(void) { __sync_synchronize(); }

/* Keeps the compiler from moving memory accesses across. Context: any. Does not poll. */
GEX_INLINE void gasnett_compiler_fence(void) { __asm__ __volatile__("" ::: "memory"); }

/* For loops that wait for memory to change. Context: any. Does not poll. */
GEX_INLINE void gasnett_spinloop_hint(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __asm__ __volatile__("pause" ::: "memory");
#elif defined(__aarch64__)
    __asm__ __volatile__("yield" ::: "memory");
#else
    __asm__ __volatile__("" ::: "memory");
#endif
}

/* gasnet_getenv under its older name. */
GEX_INLINE char *gasnett_getenv(const char *name) { return gasnet_getenv(name); }

#ifdef __cplusplus
}
#endif
#endif
