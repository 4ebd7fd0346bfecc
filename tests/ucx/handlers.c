/* SPDX-License-Identifier: BSD-3-Clause */
/* handlers.c: opening UCX leaves the process as it was: its handlers of signals and its
 * environment.
 *
 *     ucx.handlers [untamed]   untamed: the user's own UCX_... variables ask for handlers and are
 *                              obeyed, which shows that the test sees a handler */
#include "conduits/ucx/ucx.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
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
    bool untamed = argc > 1 && strcmp(argv[1], "untamed") == 0;
    struct sigaction before[SIGNALS], after;
    if (untamed) {
        (void)setenv("UCX_HANDLE_ERRORS", "bt", 1);
        (void)setenv("UCX_ERROR_SIGNALS", "SIGSEGV,SIGBUS", 1);
    }
    (void)signal(SIGSEGV, mine);
    (void)signal(SIGHUP, mine);
    for (int i = 1; i < SIGNALS; i++)
        (void)sigaction(i, NULL, &before[i]);
    unsigned variables = environment_len(), changed = 0;
    const pen_host host = { .log = say };
    ucx_library library;
    if (ucx_library_open(&host, "libucp.so.0", &library) != PEN_OK)
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
    return untamed == (changed != 0) ? 0 : 1;
}
