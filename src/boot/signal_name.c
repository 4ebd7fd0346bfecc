/* SPDX-License-Identifier: BSD-3-Clause */
/* signal_name.c: names of signals; not every C library lists them. */
#include "boot/signal_name.h"

#include <signal.h>
#include <stddef.h>
#include <stdio.h>

#define SIGNAL_LIST(X)                                                                           \
    X(SIGHUP)                                                                                    \
    X(SIGINT)                                                                                    \
    X(SIGQUIT)                                                                                   \
    X(SIGILL)                                                                                    \
    X(SIGTRAP) X(SIGABRT) X(SIGBUS) X(SIGFPE) X(SIGKILL) X(SIGUSR1) X(SIGSEGV) X(SIGUSR2)        \
        X(SIGPIPE) X(SIGALRM) X(SIGTERM) X(SIGXCPU) X(SIGXFSZ) X(SIGVTALRM) X(SIGPROF) X(SIGSYS) \
            X(SIGSTOP) X(SIGTSTP) X(SIGCONT) X(SIGTTIN) X(SIGTTOU) X(SIGCHLD) X(SIGIO) X(SIGPWR)

pen_signal_text pen_signal_name(int signal)
{
    static const struct {
        int number;
        const char *name;
    } names[] = {
#define SIGNAL_ROW(name) { name, #name },
        SIGNAL_LIST(SIGNAL_ROW)
#undef SIGNAL_ROW
    };
    pen_signal_text text;
    (void)snprintf(text.name, sizeof(text.name), "signal %d", signal);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (names[i].number == signal)
            (void)snprintf(text.name, sizeof(text.name), "%s", names[i].name);
    }
    return text;
}
