/* SPDX-License-Identifier: BSD-3-Clause */
/* atomic.h: counters that threads change at the same time. Six families of calls differ in name
 * and width only:
 *
 *     gasnett_atomic_          gasnett_strongatomic_          32 bits
 *     gasnett_atomic32_        gasnett_strongatomic32_        32 bits
 *     gasnett_atomic64_        gasnett_strongatomic64_        64 bits
 *
 * The strong families are always atomic. The rest are atomic among the client's threads, so they
 * are plain accesses in modes with one thread. Values are unsigned and wrap around;
 * gasnett_atomic_signed reads them as signed. A pointer to an aligned integer or floating-point
 * number of the right size may be cast to a pointer to an atomic.
 *
 * Each family has, with p a pointer to the atomic and flags made of GASNETT_ATOMIC_...:
 *
 *     <family>_init(value)                     a static initialiser
 *     void  <family>_set(p, value, flags)
 *     value <family>_read(p, flags)
 *     void  <family>_increment(p, flags)
 *     void  <family>_decrement(p, flags)
 *     int   <family>_decrement_and_test(p, flags)   non-zero if it became 0
 *     value <family>_add(p, value, flags)           the new value
 *     value <family>_subtract(p, value, flags)      the new value
 *     value <family>_swap(p, value, flags)          the old value
 *     int   <family>_compare_and_swap(p, old, value, flags)   non-zero if it was old
 *
 * compare_and_swap fails only if the value differs from old. All calls are legal in every context,
 * also in handlers and in signal handlers, and do not poll. GASNet tools, chapter "Atomic
 * operations". */
#ifndef PENSTOCK_TOOLS_ATOMIC_H
#define PENSTOCK_TOOLS_ATOMIC_H

#include <penstock/tools/fence.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- flags: which fences go with the operation ----------------------------------------------- */

#define GASNETT_ATOMIC_NONE    0
#define GASNETT_ATOMIC_RMB_PRE 1
#define GASNETT_ATOMIC_WMB_PRE 2
#define GASNETT_ATOMIC_MB_PRE  (GASNETT_ATOMIC_RMB_PRE | GASNETT_ATOMIC_WMB_PRE)
/* Fences after the operation. The conditional flags are only for operations that return a truth
 * value. */
#define GASNETT_ATOMIC_RMB_POST          4
#define GASNETT_ATOMIC_WMB_POST          8
#define GASNETT_ATOMIC_MB_POST           (GASNETT_ATOMIC_RMB_POST | GASNETT_ATOMIC_WMB_POST)
#define GASNETT_ATOMIC_RMB_POST_IF_TRUE  16
#define GASNETT_ATOMIC_RMB_POST_IF_FALSE 32
#define GASNETT_ATOMIC_REL               GASNETT_ATOMIC_WMB_PRE
#define GASNETT_ATOMIC_ACQ               GASNETT_ATOMIC_RMB_POST
#define GASNETT_ATOMIC_ACQ_IF_TRUE       GASNETT_ATOMIC_RMB_POST_IF_TRUE
#define GASNETT_ATOMIC_ACQ_IF_FALSE      GASNETT_ATOMIC_RMB_POST_IF_FALSE

/* ---- types ---------------------------------------------------------------------------------- */

typedef uint32_t __attribute__((__may_alias__)) pen_alias32; /* for pointers that were cast */
typedef uint64_t __attribute__((__may_alias__)) pen_alias64;
typedef struct pen_atomic32 {
    volatile pen_alias32 value;
} pen_atomic32;
typedef struct pen_atomic64 {
    volatile pen_alias64 value;
} pen_atomic64;

typedef pen_atomic32 gasnett_atomic_t;
typedef uint32_t gasnett_atomic_val_t;
typedef int32_t gasnett_atomic_sval_t;
typedef pen_atomic32 gasnett_atomic32_t;
typedef pen_atomic64 gasnett_atomic64_t;
typedef pen_atomic32 gasnett_strongatomic_t;
typedef pen_atomic32 gasnett_strongatomic32_t;
typedef pen_atomic64 gasnett_strongatomic64_t;

#define GASNETT_ATOMIC_MAX                ((gasnett_atomic_val_t)~UINT32_C(0))
#define GASNETT_ATOMIC_SIGNED_MAX         ((gasnett_atomic_sval_t)(~UINT32_C(0) >> 1))
#define GASNETT_ATOMIC_SIGNED_MIN         (-GASNETT_ATOMIC_SIGNED_MAX - 1)
#define GASNETT_HAVE_ATOMIC_ADD_SUB       1
#define GASNETT_HAVE_ATOMIC_CAS           1
#define GASNETT_HAVE_STRONGATOMIC_ADD_SUB 1
#define GASNETT_HAVE_STRONGATOMIC_CAS     1

#define PEN_ATOMIC32_INIT(v)              { (uint32_t)(v) }
#define PEN_ATOMIC64_INIT(v)              { (uint64_t)(v) }
#define gasnett_atomic_init(v)            PEN_ATOMIC32_INIT(v)
#define gasnett_atomic32_init(v)          PEN_ATOMIC32_INIT(v)
#define gasnett_atomic64_init(v)          PEN_ATOMIC64_INIT(v)
#define gasnett_strongatomic_init(v)      PEN_ATOMIC32_INIT(v)
#define gasnett_strongatomic32_init(v)    PEN_ATOMIC32_INIT(v)
#define gasnett_strongatomic64_init(v)    PEN_ATOMIC64_INIT(v)

/* Returns a value read as signed. Context: any. Does not poll. */
GEX_INLINE gasnett_atomic_sval_t gasnett_atomic_signed(gasnett_atomic_val_t value)
{
    return (gasnett_atomic_sval_t)value;
}

#ifdef __cplusplus
}
#endif
#include <penstock/tools/atomic_inline.h>
#endif
