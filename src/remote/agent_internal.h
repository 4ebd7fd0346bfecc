/* SPDX-License-Identifier: BSD-3-Clause */
/* agent_internal.h: an agent's state, shared by agent*.c. */
#ifndef PEN_REMOTE_AGENT_INTERNAL_H
#define PEN_REMOTE_AGENT_INTERNAL_H

#include "base/pack.h"
#include "base/status.h"
#include "diag/log.h"
#include "launch/supervisor_parts.h"
#include "remote/agent.h"
#include "remote/fleet.h"
#include "remote/lifeline.h"
#include "remote/start_order.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* epoll data of the launcher, and of rank 0's standard input */
#define PEN_AGENT_UP    UINT64_MAX
#define PEN_AGENT_INPUT (UINT64_MAX - 1)

struct pen_agent {
    pen_log *log;
    const pen_agent_needs *needs;
    pen_channel up;
    pen_fleet fleet; /* agents on the hosts below this one */
    int epoll;
    uint32_t host;
    const cpu_set_t *cores; /* cores to bind ranks to; no_cores: why there are no cores */
    unsigned core_count;
    const char *no_cores;
    bool planted;    /* TREE has come: the host's number and the hosts below are known */
    bool started;    /* START has come */
    bool ready;      /* the ranks have been started, so they can get orders */
    bool quit, gone; /* quit: the launcher sent QUIT; gone: the launcher has ended */
    bool hold;       /* do not read the ranks' output */
    bool writing;    /* epoll reports when the launcher takes more */
    bool some_left;
    uint64_t beat_ns, beat_every_ns; /* time of the next beat to the launcher */
    pen_lifeline lifeline;           /* to the host that started this agent */
    pen_pack tree_body, start_body;  /* memory that the tree and start point into */
    pen_start start;
    pen_supervisor *s; /* NULL before and after the ranks */
    int input_fd;      /* pipe to rank 0's standard input; -1: closed or on another host */
    bool input_watched, input_ending;
    pen_pack input;
    size_t input_done;
};

static inline struct pen_agent *pen_agent_of(const pen_supervisor *s) { return s->ops_state; }

/* agent.c */
bool pen_agent_plant(struct pen_agent *agent, const pen_record *record, const char *body);
void pen_agent_taken(struct pen_agent *agent);

/* agent_orders.c */
pen_status pen_agent_arena(pen_supervisor *s);
void pen_agent_order(struct pen_agent *agent, const pen_record *record, const char *body);
/* the exchange area that code names; see boot.c */
char *pen_agent_exchange(pen_supervisor *s, int code);
bool pen_agent_input_open(pen_supervisor *s);
void pen_agent_input(struct pen_agent *agent); /* called when rank 0 takes input */

#endif
