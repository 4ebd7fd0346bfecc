/* SPDX-License-Identifier: BSD-3-Clause */
/* fleet.h: the agents that a launcher, or an agent, has started on other hosts: one process of ssh
 * each, with records over its standard input and output. The hosts make a tree: of those to start,
 * each process takes at most so many as its children and hands each the hosts below it. The command
 * that ssh runs is fixed; who starts what with which variables and which key is told in records.
 * Serves both sides; what records mean is theirs. */
#ifndef PEN_REMOTE_FLEET_H
#define PEN_REMOTE_FLEET_H

#include "base/pack.h"
#include "diag/log.h"
#include "remote/channel.h"

#include <sys/types.h>

/* Hosts to start agents on, and how: of the launcher, or from a TREE record. */
typedef struct pen_tree {
    uint32_t fan_out;  /* children of a process at most; at least 1 */
    const char *agent; /* path of the command on the other hosts */
    char *const *ssh;  /* the words before the host's name; NULL-terminated */
    uint32_t count;
    uint32_t *numbers;  /* each host's number in the job ... */
    const char **names; /* ... and name as ssh takes it */
} pen_tree;

typedef struct pen_fleet_child {
    uint32_t host; /* its number in the job */
    const char *name;
    pid_t pid;    /* 0: none, or reaped */
    bool greeted; /* its agent has spoken */
    bool closed;
    bool writing;   /* epoll tells when it takes more */
    int status;     /* as of wait; -1: not reaped */
    int said_fd;    /* what ssh itself, or the shell there, complains about */
    char said[200]; /* the last line of it */
    size_t said_len;
    pen_channel channel;
} pen_fleet_child;

typedef struct pen_fleet {
    pen_fleet_child *children;
    uint32_t count, closed_count;
    uint32_t host_count;
    uint32_t *way; /* by host number: which child leads there; UINT32_MAX: none */
    int epoll;
    uint64_t source; /* of its epoll events: data is source | 2 * child + (1: said_fd) */
    /* ssh is a child of ours: NULL, or called in it before exec; answers the call that failed */
    const char *(*in_child)(void *ctx);
    void (*take)(void *ctx, const pen_record *record, const char *body);
    void (*lost)(void *ctx, uint32_t host, const char *why);
    void *ctx;
} pen_fleet;

/* Starts the children. host_count: of the job. Answers the call that failed, errno set. */
const char *pen_fleet_open(pen_fleet *fleet, const pen_tree *tree);
void pen_fleet_close(pen_fleet *fleet); /* kills what still runs */

/* To one host below, or PEN_RECORD_ALL; queued, see pen_fleet_flush. */
void pen_fleet_order(pen_fleet *fleet, const pen_record *head, const void *body, size_t body_len);
void pen_fleet_flush(pen_fleet *fleet);

/* What epoll says of the fleet: the low half of its data. */
void pen_fleet_event(pen_fleet *fleet, uint32_t which);

bool pen_fleet_reaped(pen_fleet *fleet, pid_t pid, int wait_status); /* false: none of ours */

static inline bool pen_fleet_is_closed(const pen_fleet *fleet)
{
    return fleet->closed_count == fleet->count;
}

void pen_tree_pack(const pen_tree *tree, pen_pack *out);
bool pen_tree_unpack(pen_unpack *from, uint32_t host_count_max, pen_tree *out); /* caller frees */
void pen_tree_free(pen_tree *tree);

#endif
