/* SPDX-License-Identifier: BSD-3-Clause */
/* hosts.h: reads the hosts of a job from a list on the command line, a file, or Slurm's variables,
 * and computes how many ranks each gets. Pure: text in, a table or a complaint out. The text is not
 * trusted: a name that ssh or a shell could misinterpret is refused. */
#ifndef PEN_REMOTE_HOSTS_H
#define PEN_REMOTE_HOSTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    PEN_HOSTS_MAX = 1024,
    PEN_HOST_NAME_MAX = 255,   /* bytes without the terminator */
    PEN_HOST_SLOTS_MAX = 4096, /* slots of one host */
};

typedef struct pen_hosts_entry {
    char name[PEN_HOST_NAME_MAX + 1]; /* name as ssh takes it; may have a user, "me@n17" */
    uint32_t slots;                   /* 0: not given */
    uint32_t mentions;                /* number of mentions, each of which counts as a slot */
} pen_hosts_entry;

typedef struct pen_hosts {
    pen_hosts_entry *entries; /* in the order of their first mention, each once */
    uint32_t count, room;
} pen_hosts;

typedef struct pen_hosts_problem {
    char text[512]; /* "where: what: how to mend it" */
} pen_hosts_problem;

/* These functions add to *out, which begins zeroed. If one returns false, *problem has the reason
 * and *out the hosts read so far. The caller frees *out in any case. */

/* Reads "a,b:4,me@c,[fd00::1]:2". Blanks separate as commas do. where: begins the complaint. */
bool pen_hosts_from_list(const char *text, const char *where, pen_hosts *out,
                         pen_hosts_problem *problem);

/* Reads a host from each line: "name", "name:4", "name slots=4". '#' begins a comment. path: begins
 * the complaint, with the line's number. text need not be terminated. */
bool pen_hosts_from_file(const char *text, size_t len, const char *path, pen_hosts *out,
                         pen_hosts_problem *problem);

/* Reads SLURM_JOB_NODELIST, "n[1-3,07],gpu1", and SLURM_TASKS_PER_NODE, "2(x3),1" (NULL: not
 * known). */
bool pen_hosts_from_slurm(const char *nodes, const char *tasks, pen_hosts *out,
                          pen_hosts_problem *problem);

void pen_hosts_free(pen_hosts *hosts);

/* Computes how many consecutive ranks each host gets, as evenly as slots allow. cores: number of
 * slots, by host, for hosts without given slots; only these may get more ranks than slots. If slots
 * were given for all hosts and the ranks do not fit, returns false with *problem. */
bool pen_hosts_place(const pen_hosts *hosts, const uint32_t *cores, uint32_t ranks,
                     uint32_t *counts_out, pen_hosts_problem *problem);

#endif
