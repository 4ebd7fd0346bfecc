/* SPDX-License-Identifier: BSD-3-Clause */
/* fleet.h: the agents that a launcher, or an agent, has started on other hosts: one ssh process
 * each, with records over its standard input and output. The hosts form a tree: each process starts
 * agents on at most fan_out hosts and gives each of them the hosts below it. The command that ssh
 * runs is fixed; arguments, variables and the key are sent in records. Launcher and agents both use
 * a fleet and interpret the records themselves. */
#ifndef PEN_REMOTE_FLEET_H
#define PEN_REMOTE_FLEET_H

#include "base/pack.h"
#include "remote/channel.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Hosts to start agents on, and how. Made by the launcher, or read from a TREE record. */
typedef struct pen_tree {
    uint32_t fan_out;  /* largest number of children per process; at least 1 */
    const char *agent; /* path of the command on those hosts */
    char *const *ssh;  /* words of the command before the host's name; NULL-terminated */
    uint32_t count;
    uint32_t *numbers;  /* number of each host in the job */
    const char **names; /* name of each host, as ssh takes it */
} pen_tree;

typedef struct pen_fleet_child {
    uint32_t host; /* the host's number in the job */
    const char *name;
    pid_t pid;    /* 0: not started, or reaped */
    bool greeted; /* a record of its agent has come */
    bool closed;
    bool writing;   /* epoll reports when it takes more */
    int status;     /* status from waitpid; -1: not reaped */
    int said_fd;    /* standard error of ssh and of the remote shell */
    char said[200]; /* its last line */
    size_t said_len;
    pen_channel channel;
} pen_fleet_child;

typedef struct pen_fleet {
    pen_fleet_child *children;
    uint32_t count, closed_count;
    uint32_t host_count;
    uint32_t *way; /* by host number: the child that leads to the host; UINT32_MAX: no child */
    int epoll;
    uint64_t source; /* base of epoll data, which is source | 2 * child + (1: said_fd) */
    /* Called in the child before exec of ssh; NULL: not needed. Returns the call that failed. */
    const char *(*in_child)(void *ctx);
    void (*take)(void *ctx, const pen_record *record, const char *body);
    void (*lost)(void *ctx, uint32_t host, const char *why);
    void *ctx;
} pen_fleet;

/* Starts the children. host_count: hosts of the job. Returns the call that failed, with errno set,
 * or NULL. */
const char *pen_fleet_open(pen_fleet *fleet, const pen_tree *tree);
void pen_fleet_close(pen_fleet *fleet); /* kills ssh processes that still run */

/* Queues an order for one host below, or for all (PEN_RECORD_ALL). pen_fleet_flush sends it. */
void pen_fleet_order(pen_fleet *fleet, const pen_record *head, const void *body, size_t body_len);
void pen_fleet_flush(pen_fleet *fleet);

/* Handles an epoll event of the fleet. which: the low half of its data. */
void pen_fleet_event(pen_fleet *fleet, uint32_t which);

bool pen_fleet_reaped(pen_fleet *fleet, pid_t pid, int wait_status); /* false: not in this fleet */

static inline bool pen_fleet_is_closed(const pen_fleet *fleet)
{
    return fleet->closed_count == fleet->count;
}

void pen_tree_pack(const pen_tree *tree, pen_pack *out);
bool pen_tree_unpack(pen_unpack *from, uint32_t host_count_max, pen_tree *out); /* caller frees */
void pen_tree_free(pen_tree *tree);

#endif
