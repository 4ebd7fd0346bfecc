/* SPDX-License-Identifier: BSD-3-Clause */
/* ofi_library.c: opens libfabric at run time, as a guest that leaves the process as it is. */
#include "base/status.h"
#include "conduit/conduit.h"
#include "conduits/ofi/ofi.h"
#include "diag/log.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/* Debian's libfabric loads a library of PSM that takes over signals and ends the process when one
 * comes, unless this variable is set. */
static const char guest_name[] = "IPATH_NO_BACKTRACE";

static void *open_tamed(const char *name)
{
    const bool was_set = getenv(guest_name) != NULL;
    if (!was_set)
        (void)setenv(guest_name, "1", 0);
    void *handle = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!was_set)
        (void)unsetenv(guest_name);
    return handle;
}

bool ofi_library_exists(const char *name)
{
    void *handle = open_tamed(name);
    if (handle != NULL)
        (void)dlclose(handle); /* it stays loaded */
    return handle != NULL;
}

static const char *find_functions(void *handle, ofi_library *out)
{
#define OFI_FIND(name, function, version)                 \
    {                                                     \
        void *found = dlvsym(handle, #function, version); \
        if (found == NULL)                                \
            return #function;                             \
        memcpy(&out->name, &found, sizeof found);         \
    }
    OFI_FUNCTIONS(OFI_FIND)
#undef OFI_FIND
    return NULL;
}

pen_status ofi_library_open(const pen_host *host, const char *name, ofi_library *out)
{
    void *handle = open_tamed(name);
    if (handle == NULL) {
        host->log(host->ctx, PEN_LOG_ERROR,
                  "cannot open the ofi conduit: dlopen: %s; install libfabric (package "
                  "libfabric1), name its file with PENSTOCK_OFI_LIBRARY, or choose another "
                  "conduit with PENSTOCK_CONDUIT",
                  dlerror());
        return PEN_ERR_UNUSABLE;
    }
    const char *missing = find_functions(handle, out);
    (void)dlclose(handle); /* it stays loaded */
    if (missing == NULL && FI_VERSION_GE(out->version(), OFI_VERSION))
        return PEN_OK;
    if (missing != NULL)
        host->log(host->ctx, PEN_LOG_ERROR,
                  "cannot open the ofi conduit: %s has no function %s; install libfabric 1.12 or "
                  "newer, or choose another conduit with PENSTOCK_CONDUIT",
                  name, missing);
    else
        host->log(host->ctx, PEN_LOG_ERROR,
                  "cannot open the ofi conduit: %s is libfabric %u.%u, and 1.12 or newer is "
                  "needed; name another file with PENSTOCK_OFI_LIBRARY, or choose another conduit "
                  "with PENSTOCK_CONDUIT",
                  name, FI_MAJOR(out->version()), FI_MINOR(out->version()));
    return PEN_ERR_UNUSABLE;
}
