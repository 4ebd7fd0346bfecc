/* SPDX-License-Identifier: BSD-3-Clause */
/* hsl.h: handler-safe locks: mutual exclusion between handlers and other code of one process. They
 * are not recursive. A handler drops them in the reverse order in which it took them. Hold no lock
 * when a handler returns or replies, or when you make a call that may poll. In GASNET_SEQ and
 * GASNET_PARSYNC client code runs on one thread at a time, so locking costs nothing. */
#ifndef PENSTOCK_HSL_H
#define PENSTOCK_HSL_H

#include <penstock/error.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pen_hsl gex_HSL_t;

/* A free lock, for static or automatic initialisation. */
#define GEX_HSL_INITIALIZER { 0, 0, NULL, NULL }

/* Initialises a lock that was not initialised statically. The lock is then free. Do not place it in
 * memory shared with another process. Context: any. Does not poll. GASNet-EX, chapter "Handler-safe
 * locks"; GASNet-1, chapter "Core API": atomicity control. */
GEX_INLINE void gex_HSL_Init(gex_HSL_t *lock);

/* Ends the use of a lock, which must be free. Context: any. Does not poll.
 * GASNet-EX, chapter "Handler-safe locks"; GASNet-1, chapter "Core API": atomicity control. */
GEX_INLINE void gex_HSL_Destroy(gex_HSL_t *lock);

/* Takes the lock. If another thread holds it, waits without polling. The calling thread must not
 * hold it already. Context: any. Blocks; does not poll. GASNet-EX, chapter "Handler-safe locks";
 * GASNet-1, chapter "Core API": atomicity control. */
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
