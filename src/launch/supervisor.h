/* SPDX-License-Identifier: BSD-3-Clause */
/* supervisor.h: the launching side on one host. Makes the arena, starts the ranks, passes their
 * output on line by line, passes signals to them, watches for deaths and decides the job's exit
 * status. Used by `penstock run` and by the self-fork of GASNET_PSHM_NODES. Everything that it
 * starts ends with it: by PDEATHSIG, by the end of file on the control socket, and by a last
 * kill. */
#ifndef PEN_LAUNCH_SUPERVISOR_H
#define PEN_LAUNCH_SUPERVISOR_H

#include "base/status.h"
#include "boot/boot.h"
#include "diag/log.h"

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>

/* Operations of a supervisor's role: see supervisor_parts.h. */
typedef struct pen_super_ops pen_super_ops;
extern const pen_super_ops pen_super_local_ops; /* this process runs the ranks and decides */

typedef struct pen_supervisor_options {
    uint32_t size; /* ranks, 1..PEN_BOOT_RANKS_MAX */
    /* 0: no limit; when it passes: report what each rank does, status 124 */
    double timeout_s;
    bool tag;               /* prefix each output line with "[rank] " */
    char *const *argv;      /* program and arguments; NULL: self-fork, children return */
    const char *launcher;   /* for messages */
    const cpu_set_t *cores; /* rank r is bound to number r % core_count */
    unsigned core_count;    /* 0: ranks are not bound */
    const pen_boot_needs *needs;
    const pen_super_ops *ops; /* never NULL */
    void *ops_state;          /* state of the operations; pen_super_local_ops uses no state */
} pen_supervisor_options;

/* Starts the job and returns when it has ended. With argv: *status_out is the job's exit status
 * (128 + signal, 124 for the time limit). *signal_out is non-zero if a signal told the supervisor
 * itself to stop, so that the caller can raise it. Without argv (self-fork): returns PEN_OK in each
 * child with *child filled, and never returns in the parent. On failure prints the reason. */
pen_status pen_supervise(pen_log *log, const pen_supervisor_options *options, int *status_out,
                         int *signal_out, pen_boot *child);

/* Forks the ranks of a program that starts itself; called through pen_boot_ways. */
pen_status pen_supervise_self(pen_log *log, const pen_boot_needs *needs, const char *launcher,
                              uint32_t ranks, pen_boot *out);

/* Ends this process so that its parent sees how the job ended: by the signal if it is not 0, else
 * with the status. Runs no exit handlers. */
_Noreturn void pen_supervisor_die(int status, int signal);

#endif
