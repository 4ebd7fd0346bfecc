/* SPDX-License-Identifier: BSD-3-Clause */
/* watch.h: looks at running jobs from outside, for `penstock jobs`, `top` and `why`.
 *
 * Each job keeps the state of its ranks in an anonymous file, the host arena, which the supervisor
 * and the ranks of a host have open. The kernel shows open files of a process in /proc to the
 * process's own user only. So a job needs no door for watchers, and watching costs it nothing. The
 * watcher maps the head of the file for reading. Processes of other users are not looked at, even
 * if the watcher is root. */
#ifndef PEN_COMMAND_WATCH_H
#define PEN_COMMAND_WATCH_H

#include "boot/host_page.h"
#include "boot/wait_state.h"
#include "diag/counters.h"
#include "diag/log.h"
#include "os/proc.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { WATCH_JOBS_MAX = 256, WATCH_COMMAND_LEN = 256 };

/* A job, or the part of a job on this host. */
typedef struct watch_job {
    pid_t id; /* the process that laid out the arena: the launcher, an agent, or a rank */
    dev_t device;
    ino_t inode;
    pen_host_page *page; /* mapped for reading */
    size_t len;
    pid_t lowest; /* lowest pid of a process that has the arena open */
} watch_job;

/* Finds the jobs of this user on this host. Returns their number. */
size_t watch_find(watch_job *out, size_t out_max);
void watch_close(watch_job *jobs, size_t count);

/* Finds the job that the word names. Without a word, finds the only job. On failure prints a line
 * and returns false. */
bool watch_choose(pen_log *log, const char *word, watch_job *out);

/* True while the process that laid out the arena runs. */
bool watch_is_there(const watch_job *job);

/* Writes the program that the ranks run, with its arguments. */
void watch_program(const watch_job *job, char *out, size_t out_len);

/* A rank at one moment. */
typedef struct watch_rank {
    uint32_t rank; /* in the job */
    pid_t pid;     /* 0: has not joined */
    char process;  /* see pen_process_state; '?': there is no such process */
    uint32_t phase;
    bool waits;
    pen_wait_note wait; /* if it waits */
    uint64_t now_ns, seen_ns, events;
    pen_counters counters;
    pen_process_use use;
} watch_rank;

watch_rank watch_rank_read(const watch_job *job, uint32_t local_rank);

/* "waiting", "polling", "computing", "asleep", "stopped", "starting" or "ended". */
const char *watch_state_text(const watch_rank *rank);

#endif
