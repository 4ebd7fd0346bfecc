/* SPDX-License-Identifier: BSD-3-Clause */
/* handlers.c: opening libfabric leaves the process as it was: its handlers of signals and its
 * environment.
 *
 *     ofi.handlers [untamed]   untamed: opens the library without the conduit, and prints which
 *                              handlers have changed. It passes in any case, because not every
 *                              build of libfabric installs some */
#include "conduits/ofi/ofi.h"
#include "support/guest.h"

#include <dlfcn.h>
#include <string.h>

int main(int argc, char **argv)
{
    const bool untamed = argc > 1 && strcmp(argv[1], "untamed") == 0;
    guest_process before;
    ofi_library library;
    guest_note(&before);
    if (untamed) {
        (void)dlopen("libfabric.so.1", RTLD_NOW | RTLD_LOCAL);
        (void)guest_changes(&before);
        return 0;
    }
    if (ofi_library_open(&guest_host, "libfabric.so.1", &library) != PEN_OK)
        return 1;
    return guest_changes(&before) == 0 ? 0 : 1;
}
