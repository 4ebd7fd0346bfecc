/* SPDX-License-Identifier: BSD-3-Clause */
/* seen.h: a rank as an observer outside of it sees it: from its row of the host page, and from
 * /proc. The supervisor and `penstock why` fill it in, agents send it to the launcher, and
 * diagnosis.h explains it. */
#ifndef PEN_LAUNCH_SEEN_H
#define PEN_LAUNCH_SEEN_H

#include "boot/host_page.h"
#include "boot/wait_state.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define PEN_SEEN_NEVER UINT64_MAX

typedef struct pen_seen {
    bool known;   /* the fields below are valid */
    bool alive;   /* its process runs */
    bool joined;  /* it has called gex_Client_Init or gasnet_init */
    bool left;    /* it has left with 0 */
    bool waits;   /* wait is valid */
    bool inside;  /* one of its threads is inside a poll, and may be running a handler */
    char process; /* see pen_process_state */
    int32_t pid;
    uint32_t host;
    pen_wait_note wait;
    uint64_t waited_ns;
    uint64_t quiet_ns; /* time since it last showed that it polls, or PEN_SEEN_NEVER */
    uint32_t entered[PEN_ENTERED_KINDS];
    uint64_t sent, handled;     /* messages of the client; those of a rank to itself do not count */
    uint64_t resent;            /* frames sent again */
    uint64_t swapped, resident; /* bytes */
} pen_seen;

/* Looks at a rank that has joined. */
void pen_seen_read(const pen_host_rank *row, pid_t pid, pen_seen *out);

#endif
