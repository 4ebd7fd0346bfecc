/* SPDX-License-Identifier: BSD-3-Clause */
/* spread_internal.h: the state of spread.h, shared by spread*.c. */
#ifndef PEN_REMOTE_SPREAD_INTERNAL_H
#define PEN_REMOTE_SPREAD_INTERNAL_H

#include "launch/supervisor_parts.h"
#include "remote/fleet.h"
#include "remote/hosts.h"
#include "remote/spread.h"
#include "remote/start_order.h"

#define PEN_SPREAD_INPUT UINT64_MAX /* what epoll says of our standard input */

typedef struct pen_spread_place { /* a host */
    bool greeted, gone;
    bool reported; /* what its ranks are doing, since last asked */
    bool met;      /* its ranks are in the start-up barrier */
    uint32_t cores;
    char from[PEN_ADDRESS_TEXT_MAX], at[PEN_ADDRESS_TEXT_MAX]; /* of its agent's connection */
} pen_spread_place;

typedef struct pen_spread_departed pen_spread_departed;

struct pen_spread {
    const pen_spread_options *options;
    pen_fleet fleet;
    pen_tree tree;
    int epoll;
    pen_spread_place *hosts;
    uint32_t host_count, greeted, met;
    uint32_t *firsts; /* the first rank of each host, and how many there are */
    bool launched;    /* ranks were started, or will never be */
    bool quitting, holding, lost_said;
    uint64_t start_by_ns;
    char *blobs; /* what ranks exchange in the start-up barrier */
    int meet_code;
    pen_spread_departed *departed; /* records that other hosts have not been told ... */
    uint64_t departed_ns;          /* ... until then */
    pen_entered *entered;          /* of all ranks, while hosts report; NULL: nobody has asked */
    bool input_wanted;             /* rank 0's host takes more of our standard input */
    bool input_ended, input_watched, input_is_file;
};

static inline struct pen_spread *pen_spread_of(const pen_supervisor *s) { return s->ops_state; }

/* spread_order.c: see pen_super_ops */
bool pen_spread_word(pen_supervisor *s, uint32_t rank, pen_control_kind kind, const char *what);
void pen_spread_tell(pen_supervisor *s, uint32_t rank, int status, int signal);
void pen_spread_signal(pen_supervisor *s, int signal, bool from_terminal);
void pen_spread_fail(pen_supervisor *s);
void pen_spread_kill(pen_supervisor *s);
void pen_spread_hold(pen_supervisor *s, bool hold);
bool pen_spread_launch(pen_supervisor *s); /* false: why not has been said */
void pen_spread_input(pen_supervisor *s);  /* there is some */
void pen_spread_input_tend(pen_supervisor *s);

/* spread_report.c */
void pen_spread_report(pen_supervisor *s);
void pen_spread_take_barriers(pen_supervisor *s, const pen_record *record, const char *body);

/* spread_departed.c */
void pen_spread_take_departed(pen_supervisor *s, const pen_record *record, const char *body);
uint64_t pen_spread_departed_tend(pen_supervisor *s); /* answers when it wants to be called again */
void pen_spread_departed_drop(struct pen_spread *spread);

#endif
