/* SPDX-License-Identifier: BSD-3-Clause */
/* supervisor.h: the launching side on one host: makes the arena, starts the ranks, carries their
 * output line by line, passes signals on, watches for deaths and settles the job's exit status.
 * Used by `penstock run` and by the self-fork of GASNET_PSHM_NODES. Everything it starts ends with
 * it: PDEATHSIG, the control socket's end of file, and a kill of what is left. */
#ifndef PEN_LAUNCH_SUPERVISOR_H
#define PEN_LAUNCH_SUPERVISOR_H

#include "base/status.h"
#include "boot/boot.h"

#include <sched.h>

/* Who has the ranks and who decides what becomes of them: see supervisor_parts.h. */
typedef struct pen_super_ops pen_super_ops;
extern const pen_super_ops pen_super_local_ops; /* this process has them, and it decides */

typedef struct pen_supervisor_options {
    uint32_t size;          /* ranks, 1..PEN_BOOT_RANKS_MAX */
    double timeout_s;       /* 0: none; at its end: report what each rank does, status 124 */
    bool tag;               /* prefix each output line with "[rank] " */
    char *const *argv;      /* program and arguments; NULL: self-fork, children return */
    const char *launcher;   /* for messages */
    const cpu_set_t *cores; /* rank r is bound to number r % core_count */
    unsigned core_count;    /* 0: none is bound */
    const pen_boot_needs *needs;
    const pen_super_ops *ops; /* never NULL */
    void *ops_state;          /* belongs to the operations; pen_super_local_ops has none */
} pen_supervisor_options;

/* Starts the job and stays until it has ended. With argv: *status_out is the job's exit status
 * (128 + signal, 124 for the time limit), and *signal_out is non-zero when the supervisor itself
 * was told by a signal to stop, so that the caller can re-raise it. Without argv (self-fork):
 * returns PEN_OK in each child with *child filled; in the parent it never returns. */
pen_status pen_supervise(pen_log *log, const pen_supervisor_options *options, int *status_out,
                         int *signal_out, pen_boot *child);

/* What pen_boot_open does for a program that starts itself: see pen_boot_ways. */
pen_status pen_supervise_self(pen_log *log, const pen_boot_needs *needs, const char *launcher,
                              uint32_t ranks, pen_boot *out);

/* Ends this process as its parent should see the job: by the signal if there is one, else with the
 * status. Runs no exit handlers. */
_Noreturn void pen_supervisor_die(int status, int signal);

#endif
