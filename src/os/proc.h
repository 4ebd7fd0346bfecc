/* SPDX-License-Identifier: BSD-3-Clause */
/* proc.h: tells about processes, mostly from /proc. */
#ifndef PEN_OS_PROC_H
#define PEN_OS_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Its children, ended by 0; NULL when they cannot be told: *call has failed. The caller frees. */
pid_t *pen_children(pid_t parent, const char **call);

char pen_process_state(pid_t pid);   /* R, S, D, T, t, Z ...; '?' when it cannot be read */
bool pen_process_exiting(pid_t pid); /* being torn down, though perhaps not yet reapable */

bool pen_process_catches(pid_t pid, int signal); /* it has a handler of its own for it */

/* Where in the kernel it sleeps; "" when that cannot be read. */
void pen_process_sleeps_in(pid_t pid, char *out, size_t out_len);

/* Whether the process belongs to the user of this process. False if it does not exist. */
bool pen_process_is_own(pid_t pid);

/* Its arguments, separated by spaces; "" when they cannot be read. */
void pen_process_command(pid_t pid, char *out, size_t out_len);

typedef struct pen_process_use {
    uint64_t cpu_ns;            /* time on processors so far */
    uint64_t resident, swapped; /* bytes */
    int core;                   /* on which it ran last */
    char cores[64];             /* on which it may run, such as "0,4-7" */
} pen_process_use;

/* Returns false, with zeros, if the process cannot be read. */
bool pen_process_use_read(pid_t pid, pen_process_use *out);

/* Whether this process has more rights than its user, as a set-user-ID program has. Such a process
 * takes no file names from its environment. */
bool pen_is_privileged(void);

#endif
