/* SPDX-License-Identifier: BSD-3-Clause */
/* poll.h: making progress, waiting for a condition, and hints about threads. */
#ifndef PENSTOCK_POLL_H
#define PENSTOCK_POLL_H

#include <penstock/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Makes progress: serves what has arrived and runs handlers on this thread. Returns GASNET_OK. If
 * ranks outnumber processors, a tight loop of these calls gives the processor to another rank every
 * few calls. Context: no handler. Polls; does not block. GASNet-1, chapter "Core API": active
 * messages. */
GEX_INLINE int gasnet_AMPoll(void);

/* Polls until a condition holds. The condition is an expression, evaluated often, that a handler,
 * another thread or a peer's put changes. While nothing happens, gives the processor to other
 * processes, but never sleeps, because a change of memory does not wake a thread. After it, this
 * thread sees all that was written before the condition became true. A statement. Context: no
 * handler. Blocks and polls.
 * GASNet-1, chapter "Core API": active messages. */
#define GASNET_BLOCKUNTIL(condition)                           \
    do {                                                       \
        pen_block pen_block_ = { { 0, 0, 0, 0, 0, 0, 0, 0 } }; \
        while (!(condition))                                   \
            pen_api_block(&pen_block_);                        \
        pen_acquire();                                         \
    } while (0)

#define GASNET_WAIT_SPIN      0
#define GASNET_WAIT_BLOCK     1
#define GASNET_WAIT_SPINBLOCK 2

/* Chooses how threads of this process wait inside the library.
 *   mode  GASNET_WAIT_SPIN: for the shortest delay; GASNET_WAIT_BLOCK: give the processor up at
 *         once; GASNET_WAIT_SPINBLOCK: spin first, then give the processor up
 * Returns GASNET_OK, GASNET_ERR_BAD_ARG. If a host has more ranks than processors, its ranks do not
 * spin in any mode. Context: no handler. Does not poll. GASNet-1, an addition of the reference
 * implementation. */
PEN_API int gasnet_set_waitmode(int mode);

/* Hints for compilers of parallel languages, by which a function looks up the thread's own data
 * once and passes it on. GASNET_BEGIN_FUNCTION() or GASNET_POST_THREADINFO(info) stand among the
 * declarations at the top of a function. Penstock accepts them but does not need them. The value
 * differs between threads. Context: no handler. They do not poll.
 * GASNet-1, chapter "Extended API": thread information. */
typedef void *gasnet_threadinfo_t;
#define GASNET_GET_THREADINFO() (pen_api_thread_info())
#define GASNET_POST_THREADINFO(info) \
    gasnet_threadinfo_t const pen_threadinfo_ __attribute__((unused)) = (info)
#define GASNET_BEGIN_FUNCTION() \
    gasnet_threadinfo_t const pen_threadinfo_ __attribute__((unused)) = NULL

/* Orders loads: loads after it are not done before loads in front of it. */
static __inline__ void pen_acquire(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __asm__ __volatile__("" ::: "memory"); /* x86 keeps loads in order */
#else
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
#endif
}

#ifdef __cplusplus
}
#endif

#include <penstock/inline/poll.h>

#endif
