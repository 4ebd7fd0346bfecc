/* SPDX-License-Identifier: BSD-3-Clause */
/* express.h: rows of a link's express entries, by which short messages leave without the link's
 * post. */
#ifndef PEN_JOB_EXPRESS_H
#define PEN_JOB_EXPRESS_H

#include "conduit/conduit.h"

#include <stdint.h>

typedef struct pen_job pen_job;
struct pen_team;

/* A link's express entries of one lane for ranks of a team, or of the job. */
typedef struct pen_express_row {
    char *first;    /* of rank 0 ... */
    uint32_t step;  /* ... and bytes to the next rank's. 0: all share one entry without room */
    uint32_t count; /* ranks that have one; do not index beyond */
} pen_express_row;

static inline pen_express *pen_express_at(const pen_express_row *row, uint32_t rank)
{
    uint32_t offset = rank * row->step;
    return (pen_express *)(void *)(row->first + offset);
}

/* Let short messages use the link's express entries, if the link is the only one and has them.
 * `express` is for one thread; `shared_express` is for several threads, under the port's post
 * lock. The row that is not usable has step 0 and one entry for all ranks that never has room.
 * So have both rows of a team whose job ranks follow no rule. Call the first when the routes
 * exist, the second for every new team. */
void pen_job_use_express(pen_job *job);
void pen_team_use_express(struct pen_team *team);

#endif
