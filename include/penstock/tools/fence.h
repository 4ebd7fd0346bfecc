/* SPDX-License-Identifier: BSD-3-Clause */
/* fence.h: order of memory accesses among the threads and processes of one host.
 * GASNet tools, chapter "Memory fences". */
#ifndef PENSTOCK_TOOLS_FENCE_H
#define PENSTOCK_TOOLS_FENCE_H

#include <penstock/tools/mode.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Keeps the compiler from moving memory accesses across. Context: any. Does not poll. */
GEX_INLINE void gasnett_compiler_fence(void) { __asm__ __volatile__("" ::: "memory"); }

/* Orders stores: those before it are done before loads and stores after it. Context: any. Does not
 * poll. */
GEX_INLINE void gasnett_local_wmb(void) { __sync_synchronize(); }

/* Orders loads: those before it are done before loads and stores after it. Context: any. Does not
 * poll. */
GEX_INLINE void gasnett_local_rmb(void)
{
#if defined(__x86_64__) || defined(__i386__)
    gasnett_compiler_fence(); /* x86 moves no load and no store in front of a load */
#else
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
#endif
}

/* Orders loads and stores before it: they are done before loads and stores after it. Context: any.
 * Does not poll. */
GEX_INLINE void gasnett_local_mb(void) { __sync_synchronize(); }

/* Fences between the threads of this program. In modes with one thread they restrict only the
 * compiler. Context: any. They do not poll. */
GEX_INLINE void gasnett_weak_wmb(void)
{
    if (PEN_TOOLS_THREADED)
        gasnett_local_wmb();
    else
        gasnett_compiler_fence();
}
GEX_INLINE void gasnett_weak_rmb(void)
{
    if (PEN_TOOLS_THREADED)
        gasnett_local_rmb();
    else
        gasnett_compiler_fence();
}
GEX_INLINE void gasnett_weak_mb(void)
{
    if (PEN_TOOLS_THREADED)
        gasnett_local_mb();
    else
        gasnett_compiler_fence();
}

/* Relaxes the processor in a loop that waits for memory to change. Context: any. Does not poll. */
GEX_INLINE void gasnett_spinloop_hint(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __asm__ __volatile__("pause" ::: "memory");
#elif defined(__aarch64__)
    __asm__ __volatile__("yield" ::: "memory");
#else
    gasnett_compiler_fence();
#endif
}

#ifdef __cplusplus
}
#endif
#endif
