/* SPDX-License-Identifier: BSD-3-Clause */
/* library.c: opens UCX at run time, as a guest that leaves the process as it is. */
#include "conduits/ucx/ucx.h"

#include "base/status.h"
#include "conduit/conduit.h"
#include "diag/log.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { VERSION_MAJOR_LEAST = 1, VERSION_MINOR_LEAST = 12 };

/* While it is loaded, UCX takes over signals and patches functions of memory, as these variables
 * say. It prints its messages among the output of the program; the conduit reports errors itself. A
 * variable that the user has set stays. The last row applies only without InfiniBand, because there
 * UCX registers memory and has to know when it is unmapped. */
static const struct {
    const char *name, *value;
} guest[] = {
    { "UCX_HANDLE_ERRORS", "none" },     { "UCX_DEBUG_SIGNO", "0" },
    { "UCX_WARN_UNUSED_ENV_VARS", "n" }, { "UCX_LOG_LEVEL", "fatal" },
    { "UCX_MEM_EVENTS", "n" },
};
enum { GUEST_COUNT = sizeof guest / sizeof guest[0] };

static void *open_tamed(const char *name)
{
    bool was_set[GUEST_COUNT];
    size_t count = GUEST_COUNT - (access("/sys/class/infiniband", F_OK) == 0 ? 1 : 0);
    for (size_t i = 0; i < count; i++) {
        was_set[i] = getenv(guest[i].name) != NULL;
        if (!was_set[i])
            (void)setenv(guest[i].name, guest[i].value, 0);
    }
    void *handle = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    for (size_t i = 0; i < count; i++)
        if (!was_set[i])
            (void)unsetenv(guest[i].name);
    return handle;
}

bool ucx_library_exists(const char *name)
{
    void *handle = open_tamed(name);
    if (handle != NULL)
        (void)dlclose(handle); /* it stays loaded */
    return handle != NULL;
}

static const char *find_functions(void *handle, ucx_library *out)
{
#define UCX_FIND(name, function)                  \
    {                                             \
        void *found = dlsym(handle, #function);   \
        if (found == NULL)                        \
            return #function;                     \
        memcpy(&out->name, &found, sizeof found); \
    }
    UCX_FUNCTIONS(UCX_FIND)
#undef UCX_FIND
    return NULL;
}

pen_status ucx_library_open(const pen_host *host, const char *name, ucx_library *out)
{
    void *handle = open_tamed(name);
    if (handle == NULL) {
        host->log(
            host->ctx, PEN_LOG_ERROR,
            "cannot open the ucx conduit: dlopen: %s; install UCX (package libucx0), name its "
            "file with PENSTOCK_UCX_LIBRARY, or choose another conduit with PENSTOCK_CONDUIT",
            dlerror());
        return PEN_ERR_UNUSABLE;
    }
    const char *missing = find_functions(handle, out);
    unsigned major = 0, minor = 0, patch = 0;
    if (missing == NULL)
        out->get_version(&major, &minor, &patch);
    (void)dlclose(handle); /* it stays loaded */
    if (missing != NULL) {
        host->log(
            host->ctx, PEN_LOG_ERROR,
            "cannot open the ucx conduit: %s has no function %s; install UCX 1.12 or newer, or "
            "choose another conduit with PENSTOCK_CONDUIT",
            name, missing);
        return PEN_ERR_UNUSABLE;
    }
    if (major != VERSION_MAJOR_LEAST || minor < VERSION_MINOR_LEAST) {
        host->log(
            host->ctx, PEN_LOG_ERROR,
            "cannot open the ucx conduit: %s is UCX %u.%u, and 1.12 or a newer 1.x is needed; "
            "name another file with PENSTOCK_UCX_LIBRARY, or choose another conduit with "
            "PENSTOCK_CONDUIT",
            name, major, minor);
        return PEN_ERR_UNUSABLE;
    }
    return PEN_OK;
}
