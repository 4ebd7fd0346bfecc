/* SPDX-License-Identifier: BSD-3-Clause */
/* early.h: messages that came before what they are for: a collective, or a section of one, that is
 * not begun here yet (its team keeps them), or a team that is not made here yet (orphans, which the
 * job keeps). Either are found by what they wait for, however many wait for something else.
 * Everything under the lock of the job's pen_coll. */
#ifndef PEN_COLL_EARLY_H
#define PEN_COLL_EARLY_H

#include "coll/engine.h"

struct pen_coll_kept {   /* to a team that is here: DATA; an orphan: DATA or ASK */
    pen_coll_kept *next; /* in a list: of the last one, the first */
    pen_peer from;       /* job rank */
    pen_am_internal index;
    uint32_t body_len;
    int32_t args[PEN_COLL_ARGS];
    char body[];
};

typedef struct pen_coll_message { /* one that has just come */
    pen_peer from;
    pen_am_internal index;
    const int32_t *args;
    unsigned arg_count;
    const void *body;
    uint32_t body_len;
} pen_coll_message;

/* A copy, to be freed by whoever takes it out of a list; no memory ends the job. */
pen_coll_kept *pen_coll_keep(pen_job *job, const pen_coll_message *message);

/* Lists are known by their last message; NULL: empty. */
void pen_coll_kept_append(pen_coll_kept **last, pen_coll_kept *kept);
/* Empties it: all of its messages, the oldest first, with NULL behind. */
pen_coll_kept *pen_coll_kept_all(pen_coll_kept **last);
void pen_coll_kept_drop(pen_coll_kept **last);

/* ---- orphans --------------------------------------------------------------------------------- */

/* All messages of collectives begin with the team's id, and their receiver and sender in it: what
 * they wait for, and who is counted. Bytes of their arguments. */
enum {
    PEN_COLL_ORPHAN_TEAM_LEN = 3 * sizeof(int32_t),
    PEN_COLL_ORPHAN_KEY_LEN = 4 * sizeof(int32_t)
};

/* False: its sender, in that team or in all together, has as many here as the bounds allow. */
bool pen_coll_orphan_keep(pen_job *job, const pen_coll_message *message);
/* All that begin with these arguments, of each sender the oldest first, with NULL behind. */
pen_coll_kept *pen_coll_orphans_take(pen_coll *jobs, const int32_t *team_args);
uint32_t pen_coll_orphans_count(const pen_coll *jobs);
void pen_coll_orphans_free(pen_coll *jobs);

#endif
