/* SPDX-License-Identifier: BSD-3-Clause */
/* types.h: the types and constants of GASNet-EX. Contains no functions and needs no thread mode:
 * gasnet_fwd.h includes it for headers of other libraries.
 *
 * Sizes, values and field orders are part of the binary interface. Clients rely on them, so they
 * never change. */
#ifndef PENSTOCK_TYPES_H
#define PENSTOCK_TYPES_H

#include <stddef.h>
#include <stdint.h>

/* PEN_POINTER: a small number as a pointer constant. PEN_NULL: 0 as a pointer constant; in C++ it
 * stays a constant expression. */
#ifdef __cplusplus
#    define PEN_POINTER(type, number) (reinterpret_cast<type>(number))
#    define PEN_NULL(type)            (static_cast<type>(0))
extern "C" {
#else
#    define PEN_POINTER(type, number) ((type)(number))
#    define PEN_NULL(type)            ((type)0)
#endif

/* ---- scalars -------------------------------------------------------------------------------- */

typedef uint32_t gex_Rank_t;
typedef uint16_t gex_EP_Index_t;
typedef uint8_t gex_AM_Index_t;
typedef int32_t gex_AM_Arg_t;
typedef uint32_t gex_Flags_t;
typedef uint32_t gex_DT_t;
typedef uint32_t gex_OP_t;
typedef uint32_t gex_EP_Capabilities_t;
typedef uint32_t gex_EC_t;
typedef uint32_t gex_TI_t;
typedef uint64_t gex_RMA_Value_t;
typedef void *gex_Addr_t;

#define SIZEOF_GEX_RMA_VALUE_T 8

/* A handler has a parameter for each argument of its messages, so this type has no prototype. C++
 * and C23 clients cast. */
#if !defined(__cplusplus) && defined(__GNUC__)
#    pragma GCC diagnostic push
#    pragma GCC diagnostic ignored "-Wstrict-prototypes"
#endif
typedef void (*gex_AM_Fn_t)();
#if !defined(__cplusplus) && defined(__GNUC__)
#    pragma GCC diagnostic pop
#endif

/* ---- opaque objects: all of pointer size ---------------------------------------------------- */

typedef struct pen_event *gex_Event_t;
typedef struct pen_client *gex_Client_t;
typedef struct pen_endpoint *gex_EP_t;
typedef struct pen_team *gex_TM_t;
typedef struct pen_segment *gex_Segment_t;
typedef struct pen_atomic_domain *gex_AD_t;
typedef struct pen_memory_kind *gex_MK_t;
typedef struct pen_source_desc *gex_AM_SrcDesc_t;
typedef struct pen_token *gex_Token_t;

#define GEX_RANK_INVALID     (~0u) /* greater than any rank */
#define GEX_CLIENT_INVALID   PEN_NULL(gex_Client_t)
#define GEX_EP_INVALID       PEN_NULL(gex_EP_t)
#define GEX_TM_INVALID       PEN_NULL(gex_TM_t)
#define GEX_SEGMENT_INVALID  PEN_NULL(gex_Segment_t)
#define GEX_AD_INVALID       PEN_NULL(gex_AD_t)
#define GEX_MK_INVALID       PEN_NULL(gex_MK_t)
#define GEX_MK_HOST          PEN_POINTER(gex_MK_t, 1ul)
#define GEX_AM_SRCDESC_NO_OP PEN_NULL(gex_AM_SrcDesc_t)

#define GEX_EVENT_INVALID    PEN_NULL(gex_Event_t)         /* done already */
#define GEX_EVENT_NO_OP      PEN_POINTER(gex_Event_t, 1ul) /* GEX_FLAG_IMMEDIATE found no room */

/* Values that a call accepts in place of the address of an event to report local completion. */
#define GEX_EVENT_NOW   PEN_POINTER(gex_Event_t *, 1ul)
#define GEX_EVENT_DEFER PEN_POINTER(gex_Event_t *, 2ul)
#define GEX_EVENT_GROUP PEN_POINTER(gex_Event_t *, 3ul)

/* ---- small structures ----------------------------------------------------------------------- */

typedef struct {
    void *gex_addr;
    size_t gex_len;
} gex_Memvec_t;

typedef struct {
    gex_Rank_t gex_rank;
    gex_EP_Index_t gex_ep_index;
} gex_EP_Location_t;

typedef struct {
    gex_Rank_t gex_jobrank;
} gex_RankInfo_t;

typedef struct {
    gex_AM_Index_t gex_index; /* 0: the library chooses an index and writes it back */
    gex_AM_Fn_t gex_fnptr;
    gex_Flags_t gex_flags; /* GEX_FLAG_AM_...: the messages that may run it */
    unsigned int gex_nargs;
    const void *gex_cdata; /* a value of the client; see gex_Token_Info */
    const char *gex_name;  /* for messages; may be NULL */
} gex_AM_Entry_t;

typedef struct {
    gex_Rank_t gex_srcrank; /* the sender's job rank, for any team */
    gex_EP_t gex_ep;
    const gex_AM_Entry_t *gex_entry;
    int gex_is_req;
    int gex_is_long;
} gex_Token_Info_t;

/* ---- flags: bits are disjoint for any one call, not among calls ----------------------------- */

/* communication */
#define GEX_FLAG_IMMEDIATE               (1u << 0)
#define GEX_FLAG_AD_REL                  (1u << 1)
#define GEX_FLAG_AD_ACQ                  (1u << 2)
#define GEX_FLAG_SELF_SEG_UNKNOWN        (1u << 3)
#define GEX_FLAG_SELF_SEG_SOME           (1u << 4)
#define GEX_FLAG_SELF_SEG_BOUND          (1u << 5)
#define GEX_FLAG_SELF_SEG_OFFSET         (1u << 6)
#define GEX_FLAG_PEER_SEG_UNKNOWN        (1u << 7)
#define GEX_FLAG_PEER_SEG_SOME           (1u << 8)
#define GEX_FLAG_PEER_SEG_BOUND          (1u << 9)
#define GEX_FLAG_PEER_SEG_OFFSET         (1u << 10)
#define GEX_FLAG_ENABLE_LEAF_LC          (1u << 11)
#define GEX_FLAG_AD_MY_RANK              (1u << 11)
#define GEX_FLAG_AD_MY_NBRHD             (1u << 12)
#define GEX_FLAG_AM_PREPARE_LEAST_CLIENT (1u << 11)
#define GEX_FLAG_AM_PREPARE_LEAST_ALLOC  (1u << 12)
#define GEX_FLAG_RANK_IS_JOBRANK         (1u << 13)
#define GEX_FLAG_PEER_NEVER_NBRHD        (1u << 14)
#define GEX_FLAG_PEER_NEVER_SELF         (1u << 15)
#define GEX_FLAG_LC_COPY_YES             (1u << 16)
#define GEX_FLAG_LC_COPY_NO              (1u << 17)

/* registration of handlers */
#define GEX_FLAG_AM_SHORT   (1u << 0)
#define GEX_FLAG_AM_MEDIUM  (1u << 1)
#define GEX_FLAG_AM_LONG    (1u << 2)
#define GEX_FLAG_AM_MEDLONG (GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_LONG)
#define GEX_FLAG_AM_REQUEST (1u << 3)
#define GEX_FLAG_AM_REPLY   (1u << 4)
#define GEX_FLAG_AM_REQREP  (GEX_FLAG_AM_REQUEST | GEX_FLAG_AM_REPLY)

/* clients, teams, endpoints, atomic domains, destructors */
#define GEX_FLAG_USES_GASNET1                (1u << 0)
#define GEX_FLAG_DEFER_THREADS               (1u << 1)
#define GEX_FLAG_TM_SCRATCH_SIZE_MIN         (1u << 0)
#define GEX_FLAG_TM_SCRATCH_SIZE_RECOMMENDED (1u << 1)
#define GEX_FLAG_TM_GLOBAL_SCRATCH           (1u << 2)
#define GEX_FLAG_TM_LOCAL_SCRATCH            (1u << 3)
#define GEX_FLAG_TM_SYMMETRIC_SCRATCH        (1u << 4)
#define GEX_FLAG_TM_NO_SCRATCH               (1u << 5)
#define GEX_FLAG_SCRATCH_SEG_OFFSET          (1u << 6)
#define GEX_FLAG_HINT_ACCEL_AD               (1u << 0)
#define GEX_FLAG_HINT_ACCEL_COLL             (1u << 1)
#define GEX_FLAG_HINT_ACCEL_ALL              (GEX_FLAG_HINT_ACCEL_AD | GEX_FLAG_HINT_ACCEL_COLL)
#define GEX_FLAG_AD_FAVOR_MY_RANK            (1u << 0)
#define GEX_FLAG_AD_FAVOR_MY_NBRHD           (1u << 1)
#define GEX_FLAG_AD_FAVOR_REMOTE             (1u << 2)
#define GEX_FLAG_GLOBALLY_QUIESCED           (1u << 13)

#define GEX_EP_CAPABILITY_RMA                (1u << 0)
#define GEX_EP_CAPABILITY_AM                 (1u << 1)
#define GEX_EP_CAPABILITY_VIS                (1u << 2)
#define GEX_EP_CAPABILITY_COLL               (1u << 3)
#define GEX_EP_CAPABILITY_AD                 (1u << 4)
#define GEX_EP_CAPABILITY_ALL                                               \
    (GEX_EP_CAPABILITY_RMA | GEX_EP_CAPABILITY_AM | GEX_EP_CAPABILITY_VIS | \
     GEX_EP_CAPABILITY_COLL | GEX_EP_CAPABILITY_AD)

/* ---- active messages, events, data types, operations ---------------------------------------- */

#define GEX_AM_INDEX_BASE 128 /* the first handler index a client may use; the last is 255 */

/* answers that gex_Token_Info can give */
#define GEX_TI_SRCRANK (1u << 0)
#define GEX_TI_ENTRY   (1u << 1)
#define GEX_TI_IS_REQ  (1u << 2)
#define GEX_TI_IS_LONG (1u << 3)
#define GEX_TI_EP      (1u << 4)
#define GEX_TI_ALL     (GEX_TI_SRCRANK | GEX_TI_ENTRY | GEX_TI_IS_REQ | GEX_TI_IS_LONG | GEX_TI_EP)

/* categories of implicit operations; a put contains its local completion */
#define GEX_EC_GET                (1u << 0)
#define GEX_EC_LC                 (1u << 2)
#define GEX_EC_AM                 GEX_EC_LC
#define GEX_EC_PUT                ((1u << 1) | GEX_EC_LC)
#define GEX_EC_RMW                (1u << 3)
#define GEX_EC_ALL                (~0u)

#define GEX_DT_I32                (1u << 0)
#define GEX_DT_U32                (1u << 1)
#define GEX_DT_I64                (1u << 2)
#define GEX_DT_U64                (1u << 3)
#define GEX_DT_FLT                (1u << 4)
#define GEX_DT_DBL                (1u << 5)
#define GEX_DT_USER               (1u << 6)

#define GEX_OP_AND                (1u << 0)
#define GEX_OP_OR                 (1u << 1)
#define GEX_OP_XOR                (1u << 2)
#define GEX_OP_ADD                (1u << 3)
#define GEX_OP_SUB                (1u << 4)
#define GEX_OP_MULT               (1u << 5)
#define GEX_OP_MIN                (1u << 6)
#define GEX_OP_MAX                (1u << 7)
#define GEX_OP_INC                (1u << 8)
#define GEX_OP_DEC                (1u << 9)
#define GEX_OP_SET                (1u << 10)
#define GEX_OP_CAS                (1u << 11)
#define GEX_OP_TO_FETCHING(op)    ((op) << 15)
#define GEX_OP_TO_NONFETCHING(op) ((op) >> 15)
#define GEX_OP_FAND               GEX_OP_TO_FETCHING(GEX_OP_AND)
#define GEX_OP_FOR                GEX_OP_TO_FETCHING(GEX_OP_OR)
#define GEX_OP_FXOR               GEX_OP_TO_FETCHING(GEX_OP_XOR)
#define GEX_OP_FADD               GEX_OP_TO_FETCHING(GEX_OP_ADD)
#define GEX_OP_FSUB               GEX_OP_TO_FETCHING(GEX_OP_SUB)
#define GEX_OP_FMULT              GEX_OP_TO_FETCHING(GEX_OP_MULT)
#define GEX_OP_FMIN               GEX_OP_TO_FETCHING(GEX_OP_MIN)
#define GEX_OP_FMAX               GEX_OP_TO_FETCHING(GEX_OP_MAX)
#define GEX_OP_FINC               GEX_OP_TO_FETCHING(GEX_OP_INC)
#define GEX_OP_FDEC               GEX_OP_TO_FETCHING(GEX_OP_DEC)
#define GEX_OP_SWAP               GEX_OP_TO_FETCHING(GEX_OP_SET)
#define GEX_OP_FCAS               GEX_OP_TO_FETCHING(GEX_OP_CAS)
#define GEX_OP_CSWAP              GEX_OP_FCAS
#define GEX_OP_GET                (1u << 27)
#define GEX_OP_USER               (1u << 30)
#define GEX_OP_USER_NC            (1u << 31)

/* ---- progress threads (none here: see gex_System_QueryProgressThreads) ---------------------- */

#define GEX_THREAD_ROLE_RCV (1u << 0)
#define GEX_THREAD_ROLE_SND (1u << 1)

#ifdef __cplusplus
}
#endif
#endif
