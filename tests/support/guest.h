/* SPDX-License-Identifier: BSD-3-Clause */
/* guest.h: whether opening a library leaves the process as it was: its handlers of signals and its
 * environment. */
#ifndef PEN_TESTS_GUEST_H
#define PEN_TESTS_GUEST_H

#include "conduit/conduit.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

enum { GUEST_SIGNALS = 32 };

typedef struct guest_process {
    struct sigaction actions[GUEST_SIGNALS];
    unsigned variables;
} guest_process;

static inline void guest_handler(int signal_i) { (void)signal_i; }

static inline unsigned guest_variables(void)
{
    unsigned count = 0;
    while (environ[count] != NULL)
        count++;
    return count;
}

/* Installs two handlers, and notes the state of the process. */
static inline void guest_note(guest_process *out)
{
    (void)signal(SIGSEGV, guest_handler);
    (void)signal(SIGTERM, guest_handler);
    for (int i = 1; i < GUEST_SIGNALS; i++)
        (void)sigaction(i, NULL, &out->actions[i]);
    out->variables = guest_variables();
}

/* Prints what has changed. Returns how many handlers have; 1 more if the environment has. */
static inline unsigned guest_changes(const guest_process *before)
{
    unsigned changed = 0;
    for (int i = 1; i < GUEST_SIGNALS; i++) {
        struct sigaction now;
        (void)sigaction(i, NULL, &now);
        if (now.sa_handler != before->actions[i].sa_handler) {
            (void)printf("signal %d has another handler\n", i);
            changed++;
        }
    }
    if (guest_variables() != before->variables) {
        (void)printf("the environment has changed\n");
        changed++;
    }
    return changed;
}

static inline void guest_say(void *ctx, int level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static inline void guest_say(void *ctx, int level, const char *format, ...)
{
    (void)ctx, (void)level;
    va_list list;
    va_start(list, format);
    (void)vfprintf(stderr, format, list);
    va_end(list);
    (void)fputc('\n', stderr);
}

static const pen_host guest_host = { .log = guest_say };

#endif
