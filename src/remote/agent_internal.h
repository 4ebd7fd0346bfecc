/* SPDX-License-Identifier: BSD-3-Clause */
/* agent_internal.h: an agent's state, shared by agent*.c. */
#ifndef PEN_REMOTE_AGENT_INTERNAL_H
#define PEN_REMOTE_AGENT_INTERNAL_H

#include "base/pack.h"
#include "launch/supervisor_parts.h"
#include "remote/agent.h"
#include "remote/fleet.h"
#include "remote/lifeline.h"
#include "remote/start_order.h"

/* what epoll says of: the launcher; rank 0's standard input */
#define PEN_AGENT_UP    UINT64_MAX
#define PEN_AGENT_INPUT (UINT64_MAX - 1)

struct pen_agent {
    pen_log *log;
    const pen_agent_needs *needs;
    pen_channel up;
    pen_fleet fleet; /* agents on hosts below us */
    int epoll;
    uint32_t host;
    const cpu_set_t *cores; /* to bind ranks to; none: why not */
    unsigned core_count;
    const char *no_cores;
    bool planted;    /* we know our number, and who is below us */
    bool started;    /* START is here ... */
    bool ready;      /* ... and its ranks were started: they can be given orders */
    bool quit, gone; /* the launcher let us go; it is no more */
    bool hold;       /* read no more of what ranks print */
    bool writing;    /* epoll tells when the launcher takes more */
    bool some_left;
    uint64_t beat_ns, beat_every_ns; /* when the launcher hears from us next */
    pen_lifeline lifeline;           /* to its host, or to the one between */
    pen_pack tree_body, start_body;  /* what the tree and start point into */
    pen_start start;
    pen_supervisor *s; /* NULL before and after the ranks */
    int input_fd;      /* to rank 0's standard input; -1: none */
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
char *pen_agent_exchange(pen_supervisor *s, int code); /* the area it names; see boot.c */
bool pen_agent_input_open(pen_supervisor *s);
void pen_agent_input(struct pen_agent *agent); /* it takes some */

#endif
