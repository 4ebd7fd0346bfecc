/* SPDX-License-Identifier: BSD-3-Clause */
/* hsl.h: handler-safe locks: mutual exclusion between handlers and other code of one process. Not
 * recursive; taken and dropped in LIFO order within a handler; none may be held when a handler
 * returns, replies or when a call is made that may poll. In GASNET_SEQ and GASNET_PARSYNC no two
 * threads run client code at once, so locking costs nothing. */
#ifndef PENSTOCK_HSL_H
#define PENSTOCK_HSL_H

#include <penstock/error.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pen_hsl gex_HSL_t;

/* A free lock, for static or automatic initialisation. */
#define GEX_HSL_INITIALIZER { 0, 0, NULL, NULL }

/* Makes the lock ready for use, free; for locks that were not initialised statically. Do not place
 * it in memory shared with another process.
 * Context: any. Does not poll.
 * GASNet-EX, chapter "Handler-safe locks"; GASNet-1, chapter "Core API": atomicity control. */
GEX_INLINE void gex_HSL_Init(gex_HSL_t *lock);

/* Ends the use of a lock, which must be free. Context: any. Does not poll.
 * GASNet-EX, chapter "Handler-safe locks"; GASNet-1, chapter "Core API": atomicity control. */
GEX_INLINE void gex_HSL_Destroy(gex_HSL_t *lock);

/* Takes the lock; waits, without polling, while another thread holds it. Not while holding it.
 * Context: any. Blocks; does not poll.
 * GASNet-EX, chapter "Handler-safe locks"; GASNet-1, chapter "Core API": atomicity control. */
GEX_INLINE void gex_HSL_Lock(gex_HSL_t *lock);

/* Drops the lock, which this thread holds. Context: any. Does not poll.
 * GASNet-EX, chapter "Handler-safe locks"; GASNet-1, chapter "Core API": atomicity control. */
GEX_INLINE void gex_HSL_Unlock(gex_HSL_t *lock);

/* Takes the lock if it is free. Returns GASNET_OK if so, otherwise GASNET_ERR_NOT_READY.
 * Context: any. Does not poll.
 * GASNet-EX, chapter "Handler-safe locks"; GASNet-1, chapter "Core API": atomicity control. */
GEX_INLINE int gex_HSL_Trylock(gex_HSL_t *lock);

#ifdef __cplusplus
}
#endif
#include <penstock/inline/hsl.h>
#endif
