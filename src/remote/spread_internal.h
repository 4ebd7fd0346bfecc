/* SPDX-License-Identifier: BSD-3-Clause */
/* spread_internal.h: the state of spread.h, shared by spread*.c. */
#ifndef PEN_REMOTE_SPREAD_INTERNAL_H
#define PEN_REMOTE_SPREAD_INTERNAL_H

#include "boot/control.h"
#include "launch/seen.h"
#include "launch/supervisor_parts.h"
#include "remote/fleet.h"
#include "remote/spread.h"
#include "remote/start_order.h"

#include <stdbool.h>
#include <stdint.h>

#define PEN_SPREAD_INPUT UINT64_MAX /* epoll data of standard input */

typedef struct pen_spread_place { /* a host */
    bool greeted, gone;
    bool reported; /* its agent has answered the last REPORT */
    bool met;      /* its ranks are in the start-up barrier */
    uint32_t cores;
    /* addresses of its agent's connection */
    char from[PEN_ADDRESS_TEXT_MAX], at[PEN_ADDRESS_TEXT_MAX];
} pen_spread_place;

typedef struct pen_spread_departed pen_spread_departed;

struct pen_spread {
    const pen_spread_options *options;
    pen_fleet fleet;
    pen_tree tree;
    int epoll;
    pen_spread_place *hosts;
    uint32_t host_count, greeted, met;
    uint32_t *firsts; /* the first rank of each host, and the number of ranks at the end */
    bool launched;    /* ranks were started, or never will be */
    bool quitting, holding, lost_said;
    uint64_t start_by_ns;
    char *blobs; /* blobs of all ranks in the start-up barrier */
    int meet_code;
    pen_spread_departed *departed; /* records that wait to be passed on */
    uint64_t departed_ns;          /* when they are passed on */
    pen_seen *seen;                /* all ranks, while hosts report; NULL: no report is running */
    bool input_wanted;             /* rank 0's host takes more input */
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
bool pen_spread_launch(pen_supervisor *s); /* false: the reason has been printed */
void pen_spread_input(pen_supervisor *s);  /* called when there is input */
void pen_spread_input_tend(pen_supervisor *s);

/* spread_report.c */
void pen_spread_report(pen_supervisor *s);
void pen_spread_take_seen(pen_supervisor *s, const pen_record *record, const char *body);

/* spread_departed.c */
void pen_spread_take_departed(pen_supervisor *s, const pen_record *record, const char *body);
uint64_t pen_spread_departed_tend(pen_supervisor *s); /* returns the time of the next call */
void pen_spread_departed_drop(struct pen_spread *spread);

#endif
