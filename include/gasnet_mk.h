/* SPDX-License-Identifier: BSD-3-Clause */
/* gasnet_mk.h: memory kinds: segments in the memory of a device. The processor may be unable to
 * load and store there. To use one: make a kind, which names a device; make a segment with
 * gex_Segment_Create; bind it to an endpoint that is not the primordial one, and publish it. A pair
 * of endpoints (gex_TM_Pair) then moves memory between this segment and other segments.
 *
 * If the local endpoint of a pair has such a segment, local addresses inside the segment are device
 * addresses, and all other local addresses are host memory. Puts and gets, also those of
 * <gasnet_vis.h>, accept device addresses. Active messages, atomics and collectives need host
 * memory.
 *
 * This release has no driver for real devices. To try programs, set PENSTOCK_DEVICE=standin: host
 * memory that only copies reach then takes the place of a device of any class. Programs test the
 * macros GASNET_HAVE_MK_CLASS_... before they use a device's own library, so these macros are not
 * defined. Copies are staged through host memory in pieces; the calling thread waits for each
 * piece. */
#ifndef _INCLUDED_GASNET_MK_H
#define _INCLUDED_GASNET_MK_H

#include <gasnetex.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
    GEX_MK_CLASS_HOST,     /* the class of GEX_MK_HOST, which always exists */
    GEX_MK_CLASS_CUDA_UVA, /* NVIDIA, with unified virtual addressing */
    GEX_MK_CLASS_HIP,      /* AMD */
    GEX_MK_CLASS_ZE        /* Intel, Level Zero */
} gex_MK_Class_t;

/* The device that gex_MK_Create makes a kind for. */
typedef struct {
    uint64_t gex_flags; /* 0 */
    gex_MK_Class_t gex_class;
    union { /* by class */
        struct {
            int gex_CUdevice; /* a CUdevice */
        } gex_class_cuda_uva;
        struct {
            int gex_hipDevice; /* a hipDevice_t */
        } gex_class_hip;
        struct {
            void *gex_zeDevice;  /* a ze_device_handle_t */
            void *gex_zeContext; /* a ze_context_handle_t */
            uint32_t gex_zeMemoryOrdinal;
        } gex_class_ze;
    } gex_args;
} gex_MK_Create_args_t;

/* Makes a memory kind for this process.
 *   kind    receives the kind
 *   client  the client that owns the kind
 *   args    the device; the caller may reuse the structure after the call
 *   flags   0
 * Not collective. Returns GASNET_OK; GASNET_ERR_BAD_ARG; GASNET_ERR_RESOURCE. If the device does
 * not exist, or this build or job has no devices of the class, prints the reason and returns
 * GASNET_ERR_BAD_ARG. Context: no handler. Does not poll.
 * GASNet-EX, chapter "Memory Kinds". */
PEN_API int gex_MK_Create(gex_MK_t *kind, gex_Client_t client, const gex_MK_Create_args_t *args,
                          gex_Flags_t flags);

/* Destroys a memory kind that has no segments left. GEX_MK_HOST cannot be destroyed. A wrong
 * argument ends the job.
 *   flags  0
 * Not collective. Context: no handler. Does not poll.
 * GASNet-EX, chapter "Memory Kinds". */
PEN_API void gex_MK_Destroy(gex_MK_t kind, gex_Flags_t flags);

/* Return the client that owns the kind, the flags it was made with, and its class. GEX_MK_HOST is
 * accepted. Context: any. They do not poll.
 * GASNet-EX, chapter "Memory Kinds". */
PEN_API gex_Client_t gex_MK_QueryClient(gex_MK_t kind);
PEN_API gex_Flags_t gex_MK_QueryFlags(gex_MK_t kind);
PEN_API gex_MK_Class_t gex_MK_QueryClass(gex_MK_t kind);

/* Attaches a client's pointer to the kind. The call is not atomic. Context: any. Does not poll.
 * GASNet-EX, chapter "Memory Kinds". */
PEN_API void gex_MK_SetCData(gex_MK_t kind, const void *data);

/* Returns the pointer that was attached last; NULL before the first. Context: any. Does not poll.
 * GASNet-EX, chapter "Memory Kinds". */
PEN_API void *gex_MK_QueryCData(gex_MK_t kind);

#ifdef __cplusplus
}
#endif
#endif
