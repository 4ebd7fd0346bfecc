/* SPDX-License-Identifier: BSD-3-Clause */
/* handlers.c: opening UCX leaves the process as it was: its handlers of signals and its
 * environment.
 *
 *     ucx.handlers [untamed]   untamed: the user's own UCX_... variables ask for handlers and are
 *                              obeyed, which shows that the test sees a handler */
#include "conduits/ucx/ucx.h"
#include "support/guest.h"

#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    const bool untamed = argc > 1 && strcmp(argv[1], "untamed") == 0;
    guest_process before;
    ucx_library library;
    if (untamed) {
        (void)setenv("UCX_HANDLE_ERRORS", "bt", 1);
        (void)setenv("UCX_ERROR_SIGNALS", "SIGSEGV,SIGBUS", 1);
    }
    guest_note(&before);
    if (ucx_library_open(&guest_host, "libucp.so.0", &library) != PEN_OK)
        return 1;
    return untamed == (guest_changes(&before) != 0) ? 0 : 1;
}
