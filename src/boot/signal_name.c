/* SPDX-License-Identifier: BSD-3-Clause */
/* signal_name.c: names of signals; not every C library lists them. */
#include "boot/signal_name.h"

#include <signal.h>
#include <stddef.h>
#include <stdio.h>

#define NAMED(signal) { signal, #signal }

static const struct {
    int number;
    const char *name;
} names[] = {
    NAMED(SIGHUP),  NAMED(SIGINT),  NAMED(SIGQUIT),   NAMED(SIGILL),  NAMED(SIGTRAP),
    NAMED(SIGABRT), NAMED(SIGBUS),  NAMED(SIGFPE),    NAMED(SIGKILL), NAMED(SIGUSR1),
    NAMED(SIGSEGV), NAMED(SIGUSR2), NAMED(SIGPIPE),   NAMED(SIGALRM), NAMED(SIGTERM),
    NAMED(SIGXCPU), NAMED(SIGXFSZ), NAMED(SIGVTALRM), NAMED(SIGPROF), NAMED(SIGSYS),
    NAMED(SIGSTOP), NAMED(SIGTSTP), NAMED(SIGCONT),   NAMED(SIGTTIN), NAMED(SIGTTOU),
    NAMED(SIGCHLD), NAMED(SIGIO),   NAMED(SIGPWR),
};

pen_signal_text pen_signal_name(int signal)
{
    pen_signal_text text;
    (void)snprintf(text.name, sizeof(text.name), "signal %d", signal);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (names[i].number == signal)
            (void)snprintf(text.name, sizeof(text.name), "%s", names[i].name);
    }
    return text;
}
