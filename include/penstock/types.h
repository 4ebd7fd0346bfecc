/* SPDX-License-Identifier: BSD-3-Clause */
/* types.h: the types and constants of GASNet-EX and GASNet-1. No functions, no thread mode
 * needed: this is what gasnet_fwd.h offers to headers of other libraries. */
#ifndef PENSTOCK_TYPES_H
#define PENSTOCK_TYPES_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define PEN_CAST(type, value) (reinterpret_cast<type>(value))
extern "C" {
#else
#define PEN_CAST(type, value) ((type)(value))
#endif

/* ---- scalars ------------------------------------------------------------------------------ */

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
typedef void (*gex_AM_Fn_t)();

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

#ifdef __cplusplus
}
#endif
#endif
