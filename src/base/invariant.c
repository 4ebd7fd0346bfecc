/* SPDX-License-Identifier: BSD-3-Clause */
/* invariant.c: the end of a process with a broken invariant: one line on stderr, then abort(),
 * so that the crash handler, a core file or a debugger sees the stack. Also the end of a process
 * if the system lacks a necessary service. */
#include "base/compiler.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void pen_cannot_go_on(const char *why)
{
    char text[512];
    int len = snprintf(text, sizeof text, "penstock[pid %ld] error: %s\n", (long)getpid(), why);
    if (len > 0 && (size_t)len < sizeof text && write(STDERR_FILENO, text, (size_t)len) < 0)
        abort();
    _exit(EXIT_FAILURE);
}

void pen_invariant_broken(const char *what, const char *file, int line)
{
    char text[512];
    int len =
        snprintf(text, sizeof text,
                 "penstock[pid %ld] error: invariant broken: %s at %s:%d; this is a defect of "
                 "Penstock, please report it\n",
                 (long)getpid(), what, file, line);
    if (len >= (int)sizeof text) { /* truncated, but still one line */
        len = (int)sizeof text - 1;
        text[len - 1] = '\n';
    }
    /* One write, so that lines of several processes do not mix. If it fails, no channel is left. */
    if (len > 0 && write(STDERR_FILENO, text, (size_t)len) < 0)
        abort();
    abort();
}
