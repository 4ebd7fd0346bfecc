/* SPDX-License-Identifier: BSD-3-Clause */
/* handlers.c: opening libfabric leaves the process as it was: its handlers of signals and its
 * environment.
 *
 *     ofi.handlers [untamed]   untamed: opens the library without the conduit, and prints how many
 *                              handlers have changed; none if its providers install none */
#include "conduits/ofi/ofi.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { SIGNALS = 32 };

static void mine(int signal_i) { (void)signal_i; }

static void say(void *ctx, int level, const char *format, ...)
{
    (void)ctx, (void)level;
    va_list list;
    va_start(list, format);
    (void)vfprintf(stderr, format, list);
    va_end(list);
    (void)fputc('\n', stderr);
}

static unsigned environment_len(void)
{
    unsigned count = 0;
    while (environ[count] != NULL)
        count++;
    return count;
}

int main(int argc, char **argv)
{
    const bool untamed = argc > 1 && strcmp(argv[1], "untamed") == 0;
    struct sigaction before[SIGNALS], after;
    const pen_host host = { .log = say };
    const unsigned variables = environment_len();
    unsigned changed = 0;
    ofi_library library;
    (void)signal(SIGSEGV, mine);
    (void)signal(SIGTERM, mine);
    for (int i = 1; i < SIGNALS; i++)
        (void)sigaction(i, NULL, &before[i]);
    if (untamed ? dlopen("libfabric.so.1", RTLD_NOW | RTLD_LOCAL) == NULL
                : ofi_library_open(&host, "libfabric.so.1", &library) != PEN_OK)
        return 1;
    for (int i = 1; i < SIGNALS; i++) {
        (void)sigaction(i, NULL, &after);
        if (after.sa_handler != before[i].sa_handler) {
            (void)printf("signal %d has another handler\n", i);
            changed++;
        }
    }
    if (environment_len() != variables) {
        (void)printf("the environment has changed\n");
        return 1;
    }
    return untamed || changed == 0 ? 0 : 1;
}
