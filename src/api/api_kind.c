/* SPDX-License-Identifier: BSD-3-Clause */
/* api_kind.c: memory kinds: finds the device for a class, and answers questions about kinds. */
#include "api/api.h"

#include "base/status.h"
#include "diag/log.h"
#include "job/job.h"
#include "mem/kind.h"
#include "mem/mem.h"
#include "os/lock.h"

#include <gasnet_mk.h>

#include <stdio.h>

_Static_assert((unsigned)GEX_MK_CLASS_HOST == PEN_KIND_HOST &&
                   (unsigned)GEX_MK_CLASS_CUDA_UVA == PEN_KIND_CUDA_UVA &&
                   (unsigned)GEX_MK_CLASS_HIP == PEN_KIND_HIP &&
                   (unsigned)GEX_MK_CLASS_ZE == PEN_KIND_ZE,
               "classes are handed on as they are");

enum { NAMES_LEN_MAX = 128 };

static const char *const class_names[PEN_KIND_CLASSES] = { "HOST", "CUDA_UVA", "HIP", "ZE" };

/* Lists this build's devices, for the message that refuses another device. */
static void list_devices(char *out, size_t out_len, unsigned class)
{
    size_t len = 0;
    out[0] = '\0';
    for (const pen_kind *const *kind = pen_kinds; *kind != NULL; kind++) {
        if (((*kind)->classes & 1u << class) == 0 || len >= out_len)
            continue;
        int more = snprintf(out + len, out_len - len, "%s%s", len == 0 ? "" : ", ", (*kind)->name);
        len += more > 0 ? (size_t)more : 0;
    }
}

static int refuse_class(const char *call, const char *device, unsigned class)
{
    char names[NAMES_LEN_MAX];
    list_devices(names, sizeof names, class);
    return pen_api_refuse(GASNET_ERR_BAD_ARG, call,
                          "no device of class GEX_MK_CLASS_%s: PENSTOCK_DEVICE is %s, and this "
                          "build has for that class: %s; set PENSTOCK_DEVICE to one of these",
                          class_names[class], device != NULL ? device : "not set",
                          names[0] != '\0' ? names : "none");
}

static pen_device_args device_args(const gex_MK_Create_args_t *args)
{
    pen_device_args out = { .class = (pen_kind_class)args->gex_class };
    switch (args->gex_class) {
    case GEX_MK_CLASS_CUDA_UVA:
        out.ordinal = args->gex_args.gex_class_cuda_uva.gex_CUdevice;
        break;
    case GEX_MK_CLASS_HIP:
        out.ordinal = args->gex_args.gex_class_hip.gex_hipDevice;
        break;
    default:
        out.ze_device = args->gex_args.gex_class_ze.gex_zeDevice;
        out.ze_context = args->gex_args.gex_class_ze.gex_zeContext;
        out.ze_memory = args->gex_args.gex_class_ze.gex_zeMemoryOrdinal;
    }
    return out;
}

/* Checks arguments that every device needs. Returns an error code. */
static int check_args(const char *call, gex_Client_t client, const gex_MK_Create_args_t *args,
                      gex_Flags_t flags)
{
    if (client == NULL || args == NULL)
        return pen_api_refuse(GASNET_ERR_BAD_ARG, call, "neither client nor arguments may be NULL");
    if (flags != 0 || args->gex_flags != 0)
        return pen_api_refuse(GASNET_ERR_BAD_ARG, call, "flags 0x%x and 0x%llx: must be 0", flags,
                              (unsigned long long)args->gex_flags);
    unsigned class = (unsigned)args->gex_class;
    if (class == PEN_KIND_HOST || class >= PEN_KIND_CLASSES)
        return pen_api_refuse(GASNET_ERR_BAD_ARG, call, "class %u: %s", class,
                              class == PEN_KIND_HOST ? "host memory is GEX_MK_HOST"
                                                     : "there is no class with that number");
    return GASNET_OK;
}

int gex_MK_Create(gex_MK_t *kind, gex_Client_t client, const gex_MK_Create_args_t *args,
                  gex_Flags_t flags)
{
    static const char call[] = "gex_MK_Create";
    if (kind == NULL)
        return pen_api_refuse(GASNET_ERR_BAD_ARG, call, "there is nowhere to write the kind");
    int code = check_args(call, client, args, flags);
    if (code != GASNET_OK)
        return code;
    pen_job *job = client->job;
    const unsigned class = (unsigned)args->gex_class;
    const char *name = job->config.device;
    const pen_kind *device = name != NULL ? pen_kind_find(name) : NULL;
    if (device == NULL || (device->classes & 1u << class) == 0)
        return refuse_class(call, name, class);
    const pen_device_args wanted = device_args(args);
    pen_device *made;
    pen_log log = pen_api_log(job);
    pen_status status = pen_mem_device_open(&job->mem, &log, device, &wanted, &made);
    if (status != PEN_OK)
        return pen_api_code(status);
    made->client = client;
    *kind = made;
    return GASNET_OK;
}

void gex_MK_Destroy(gex_MK_t kind, gex_Flags_t flags)
{
    static const char call[] = "gex_MK_Destroy";
    pen_job *job = pen_api_job(call);
    if (kind == GEX_MK_INVALID || kind == GEX_MK_HOST || flags != 0)
        pen_api_misuse(call, "%s",
                       kind == GEX_MK_INVALID ? "the kind is GEX_MK_INVALID"
                       : kind == GEX_MK_HOST  ? "GEX_MK_HOST is there for good"
                                              : "flags must be 0");
    pen_lock_take(&job->mem.lock);
    uint32_t segments = kind->segments;
    pen_lock_drop(&job->mem.lock);
    if (segments != 0)
        pen_api_misuse(call,
                       "%u segments are on the device; destroy those that are not bound, and "
                       "leave the kind of those that are",
                       segments);
    pen_mem_device_close(&job->mem, kind);
}

/* ---- questions ------------------------------------------------------------------------------ */

gex_Client_t gex_MK_QueryClient(gex_MK_t kind)
{
    return kind == GEX_MK_HOST ? &pen_api_job("gex_MK_QueryClient")->client : kind->client;
}

gex_Flags_t gex_MK_QueryFlags(gex_MK_t kind) { return kind == GEX_MK_HOST ? 0 : kind->flags; }

gex_MK_Class_t gex_MK_QueryClass(gex_MK_t kind)
{
    return kind == GEX_MK_HOST ? GEX_MK_CLASS_HOST : (gex_MK_Class_t)kind->class;
}

void gex_MK_SetCData(gex_MK_t kind, const void *data)
{
    if (kind == GEX_MK_HOST)
        pen_api_root.host_kind_cdata = data;
    else
        kind->cdata = data;
}

void *gex_MK_QueryCData(gex_MK_t kind)
{
    const void *data = kind == GEX_MK_HOST ? pen_api_root.host_kind_cdata : kind->cdata;
    return (void *)(uintptr_t)data;
}
