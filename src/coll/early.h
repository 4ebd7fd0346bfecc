/* SPDX-License-Identifier: BSD-3-Clause */
/* early.h: messages that arrived before the object they are for: a collective, or a section of
 * one, that is not begun here yet (its team keeps them), or a team that is not made here yet
 * (orphans, which the job keeps). Both kinds are found by the object they wait for, in time that
 * does not grow with the number kept. The lock of the job's pen_coll guards everything here. */
#ifndef PEN_COLL_EARLY_H
#define PEN_COLL_EARLY_H

#include "am/am.h"
#include "coll/engine.h"
#include "conduit/conduit.h"
#include "job/job.h"

#include <stdbool.h>
#include <stdint.h>

struct pen_coll_kept {   /* for a team that exists here: DATA; an orphan: DATA or ASK */
    pen_coll_kept *next; /* next in a list; the last message points to the first */
    pen_peer from;       /* job rank */
    pen_am_internal index;
    uint32_t body_len;
    int32_t args[PEN_COLL_ARGS];
    char body[];
};

typedef struct pen_coll_message { /* a message that has just arrived */
    pen_peer from;
    pen_am_internal index;
    const int32_t *args;
    unsigned arg_count;
    const void *body;
    uint32_t body_len;
} pen_coll_message;

/* Copies a message. The caller that takes it out of a list frees it. If there is no memory, the
 * job ends. */
pen_coll_kept *pen_coll_keep(pen_job *job, const pen_coll_message *message);

/* A list is identified by its last message; NULL is an empty list. */
void pen_coll_kept_append(pen_coll_kept **last, pen_coll_kept *kept);
/* Empties the list. Returns all its messages, the oldest first, terminated by NULL. */
pen_coll_kept *pen_coll_kept_all(pen_coll_kept **last);
void pen_coll_kept_drop(pen_coll_kept **last);

/* ---- orphans --------------------------------------------------------------------------------- */

/* All messages of collectives begin with the team's id, and the receiver's and sender's rank in
 * it. These arguments name the object they wait for, and the sender that the bounds count. The
 * value is their length in bytes. */
enum {
    PEN_COLL_ORPHAN_TEAM_LEN = 3 * sizeof(int32_t),
    PEN_COLL_ORPHAN_KEY_LEN = 4 * sizeof(int32_t)
};

/* Returns false if the sender has reached its bound, in that team or in all teams together. */
bool pen_coll_orphan_keep(pen_job *job, const pen_coll_message *message);
/* Takes all messages that begin with these arguments, each sender's oldest first, terminated by
 * NULL. */
pen_coll_kept *pen_coll_orphans_take(pen_coll *jobs, const int32_t *team_args);
uint32_t pen_coll_orphans_count(const pen_coll *jobs);
void pen_coll_orphans_free(pen_coll *jobs);

#endif
