/* SPDX-License-Identifier: BSD-3-Clause */
/* agent.h: the part of a supervisor that `penstock run` starts on each host of a job: it makes the
 * arena, starts the host's ranks, and tells the launcher over its standard output what they say,
 * print and come to; it decides nothing. When its input ends, everything here ends. */
#ifndef PEN_BOOT_AGENT_H
#define PEN_BOOT_AGENT_H

#include "boot/supervisor_internal.h"

typedef struct pen_agent_needs {
    const pen_boot_needs *boot;
    /* The cores to bind ranks to, here; false: why not has been said. */
    bool (*cores)(pen_log *log, const cpu_set_t **sets, unsigned *count);
} pen_agent_needs;

/* Serves until the launcher lets it go; answers the exit status. */
int pen_agent_run(pen_log *log, const pen_agent_needs *needs);

/* The supervisor's calls into it: see supervisor_internal.h for what would happen otherwise. */
void pen_agent_event(pen_supervisor *s, pen_exit_kind kind, uint32_t rank, int code);
void pen_agent_heard(pen_supervisor *s, uint32_t rank, const pen_control *message);
void pen_agent_printed(pen_supervisor *s, uint32_t rank, int i, const char *text, size_t len);
void pen_agent_say(pen_supervisor *s, const char *line, size_t len);
void pen_agent_started(pen_supervisor *s, uint32_t rank);
void pen_agent_far_event(pen_supervisor *s);
pen_fleet *pen_agent_fleet(pen_supervisor *s);
size_t pen_agent_queued(const pen_supervisor *s);
pen_status pen_agent_arena(pen_supervisor *s);

#endif
