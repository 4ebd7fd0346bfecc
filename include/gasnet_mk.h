/* SPDX-License-Identifier: BSD-3-Clause */
/* gasnet_mk.h: memory kinds: segments in memory of a device, which the processor may not be able to
 * load and store. A kind names a device; gex_Segment_Create makes a segment there; an endpoint
 * other than the primordial one is bound to it and published; pairs of endpoints (gex_TM_Pair) then
 * move memory between it and other segments. Over a pair whose local endpoint has such a segment,
 * addresses on this side inside the segment are device addresses, all others host memory. Puts,
 * gets and those in pieces (<gasnet_vis.h>) take them; active messages, atomics and collectives are
 * for host memory.
 *
 * This release has no driver of real devices. The variable PENSTOCK_DEVICE=standin puts host memory
 * that only copies reach in the place of a device of any class, to try programs with. The macros
 * GASNET_HAVE_MK_CLASS_..., by which programs choose code that needs a device's own library, are
 * therefore not defined. Copies are staged through host memory, a piece at a time, and the calling
 * thread waits for each. */
#ifndef _INCLUDED_GASNET_MK_H
#define _INCLUDED_GASNET_MK_H

#include <gasnetex.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
    GEX_MK_CLASS_HOST,     /* of GEX_MK_HOST, which is always there */
    GEX_MK_CLASS_CUDA_UVA, /* NVIDIA, with unified virtual addressing */
    GEX_MK_CLASS_HIP,      /* AMD */
    GEX_MK_CLASS_ZE        /* Intel, Level Zero */
} gex_MK_Class_t;

/* What to make a kind of. */
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

/* Makes a memory kind, of this process only.
 *   kind    receives it
 *   client  its owner
 *   args    the device; free for other use afterwards
 *   flags   0
 * Not collective. Returns GASNET_OK; GASNET_ERR_BAD_ARG, also when there is no such device, or when
 * this build or this job has no devices of that class, which a line says; GASNET_ERR_RESOURCE.
 * Context: no handler. Does not poll.
 * GASNet-EX, chapter "Memory Kinds". */
PEN_API int gex_MK_Create(gex_MK_t *kind, gex_Client_t client, const gex_MK_Create_args_t *args,
                          gex_Flags_t flags);

/* Ends a memory kind on which no segment is left. Not GEX_MK_HOST. A wrong argument ends the job.
 *   flags  0
 * Not collective. Context: no handler. Does not poll.
 * GASNet-EX, chapter "Memory Kinds". */
PEN_API void gex_MK_Destroy(gex_MK_t kind, gex_Flags_t flags);

/* The client that owns it; the flags it was made with; its class. Also of GEX_MK_HOST. Context:
 * any. They do not poll.
 * GASNet-EX, chapter "Memory Kinds". */
PEN_API gex_Client_t gex_MK_QueryClient(gex_MK_t kind);
PEN_API gex_Flags_t gex_MK_QueryFlags(gex_MK_t kind);
PEN_API gex_MK_Class_t gex_MK_QueryClass(gex_MK_t kind);

/* Attaches a pointer of the client's own to the object; no atomicity is promised. Context: any.
 * Does not poll. GASNet-EX, chapter "Memory Kinds". */
PEN_API void gex_MK_SetCData(gex_MK_t kind, const void *data);

/* The pointer attached last, at first NULL. Context: any. Does not poll.
 * GASNet-EX, chapter "Memory Kinds". */
PEN_API void *gex_MK_QueryCData(gex_MK_t kind);

#ifdef __cplusplus
}
#endif
#endif
