/* SPDX-License-Identifier: BSD-3-Clause */
/* time.h: reading the time at little cost, sleeping, and giving the processor away.
 *
 * Ticks are the processor's time-stamp counter if it runs at a constant rate, else nanoseconds of
 * the system's monotonic clock. GASNET_TSC_RATE chooses the source of the rate. Only readings of
 * the same thread may be subtracted. GASNet tools, chapter "Timers". */
#ifndef PENSTOCK_TOOLS_TIME_H
#define PENSTOCK_TOOLS_TIME_H

#include <penstock/tools/mode.h>

#if PEN_TOOLS_LITE
#    include <sys/time.h>
#    include <time.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef uint64_t gasnett_tick_t;
#define GASNETT_TICK_MIN ((gasnett_tick_t)0)
#define GASNETT_TICK_MAX (~(gasnett_tick_t)0)

#if PEN_TOOLS_LITE

/* Without the library, ticks are nanoseconds of the monotonic clock, or of the calendar clock if
 * the language mode hides the monotonic clock. */
#    ifndef CLOCK_MONOTONIC
#        define GASNETT_USING_GETTIMEOFDAY 1
#    endif
static __inline__ uint64_t gasnett_gettimeofday_us(void)
{
    struct timeval now;
    (void)gettimeofday(&now, NULL);
    return (uint64_t)now.tv_sec * 1000000u + (uint64_t)now.tv_usec;
}
static __inline__ gasnett_tick_t gasnett_ticks_now(void)
{
#    ifdef GASNETT_USING_GETTIMEOFDAY
    return gasnett_gettimeofday_us() * 1000u;
#    else
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
#    endif
}
static __inline__ uint64_t gasnett_ticks_to_ns(gasnett_tick_t ticks) { return ticks; }
static __inline__ uint64_t gasnett_ticks_to_us(gasnett_tick_t ticks) { return ticks / 1000u; }

#else

/* The source of ticks, set by the library: 0 not decided yet, 1 the processor's counter, 2 the
 * clock. */
extern PEN_API unsigned char pen_tick_source;
PEN_API uint64_t pen_api_ticks(void); /* decides */

/* Reads the processor's counter. */
static __inline__ uint64_t pen_tick_counter(void)
{
#    if defined(__x86_64__) || defined(__i386__)
    return __builtin_ia32_rdtsc();
#    elif defined(__aarch64__)
    uint64_t count;
    __asm__ __volatile__("mrs %0, cntvct_el0" : "=r"(count));
    return count;
#    else
    return 0;
#    endif
}

/* Returns the time now, in ticks. Context: any. Does not poll. */
GEX_INLINE gasnett_tick_t gasnett_ticks_now(void)
{
    return __atomic_load_n(&pen_tick_source, __ATOMIC_RELAXED) == 1 ? pen_tick_counter()
                                                                    : pen_api_ticks();
}

/* Convert a difference of ticks to nanoseconds and to microseconds. No call blocks, not even the
 * first of a process: the rate is measured between the moment at which the library was loaded and
 * this call, and measured again by a few later calls. The rate is off by at most 0.1 microseconds
 * divided by the time between those two moments (0.01 % after a millisecond), and by at most 0.05 %
 * before that where the processor or its hypervisor states the rate. Interrupts of the process
 * during a measurement can add to this. Context: any. They do not poll. */
PEN_API uint64_t gasnett_ticks_to_ns(gasnett_tick_t ticks);
PEN_API uint64_t gasnett_ticks_to_us(gasnett_tick_t ticks);

/* Return the least difference of two readings that differ, and the cost of a reading, in
 * microseconds. Each call measures again. Context: any. They do not poll. */
PEN_API double gasnett_tick_granularityus(void);
PEN_API double gasnett_tick_overheadus(void);

/* Returns the calendar time in microseconds since 1970. Context: any. Does not poll. */
PEN_API uint64_t gasnett_gettimeofday_us(void);

/* Sleeps for ns nanoseconds. Returns 0, or EINTR if a signal ended the sleep early. Context: no
 * handler. Blocks; does not poll. */
PEN_API int gasnett_nsleep(uint64_t ns);

/* Gives the processor to another thread or process. Context: any. Does not poll.
 * GASNet tools, chapter "Scheduling". */
PEN_API void gasnett_sched_yield(void);

#endif

#ifdef __cplusplus
}
#endif
#endif
