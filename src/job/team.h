/* SPDX-License-Identifier: BSD-3-Clause */
/* team.h: the object behind gex_TM_t: a team or a pair of endpoints. */
#ifndef PEN_JOB_TEAM_H
#define PEN_JOB_TEAM_H

#include "base/compiler.h"
#include "job/endpoint.h"
#include "job/express.h"

#include <penstock/abi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct pen_job pen_job;

struct pen_coll_team; /* coll/: a team's collectives */

enum {
    PEN_TEAM_LISTED = 1,   /* job ranks stand in a list */
    PEN_TEAM_ELSEWHERE = 2 /* this rank's or a member's endpoint is not the primordial one */
};

typedef struct pen_team { /* gex_TM_t */
    pen_team_view view;   /* must be first: inline code reads it */
    pen_job *job;
    pen_express_row express, shared_express; /* from the job's tables; see pen_job_use_express */
    uint32_t flags;
    pen_endpoint *endpoint;
    const void *cdata;
    uint16_t pair_index; /* remote endpoint index of a TM pair, or of all members if alike */
    bool is_pair;
    uint8_t special; /* PEN_TEAM_...; 0: job ranks follow the rule, all endpoints are primordial */
    uint32_t first, stride;     /* modulo 2^32: the job rank of rank i is first + i * stride ... */
    const uint32_t *jobranks;   /* ... or, if not NULL, jobranks[i] */
    const uint32_t *by_jobrank; /* with jobranks: team ranks in the order of their job ranks */
    const uint16_t *ep_indexes; /* by team rank; NULL: pair_index for all */
    uint64_t id;                /* the same on all members, unique in the job; 0: primordial */
    struct pen_coll_team *coll; /* NULL: a pair */
    pen_mapped *rows;           /* the view's rows if no table of the job has them in sequence */
    gex_Memvec_t scratch;       /* memory lent by the client; not used */
    struct pen_team *next;      /* all teams but the primordial one; guarded by threads_lock */
} pen_team;

/* Returns the pair of a local endpoint and a remote number, and makes it at first use. The
 * remote endpoint need not exist yet. Returns NULL if there is no such local endpoint, or, after
 * printing a line, no memory. */
pen_team *pen_job_pair(pen_job *job, uint16_t local_index, uint16_t remote_index);

static inline uint32_t pen_team_jobrank(const pen_team *team, uint32_t rank)
{
    return pen_likely(team->jobranks == NULL) ? team->first + rank * team->stride
                                              : team->jobranks[rank];
}

/* The number of a member's endpoint. */
static inline uint16_t pen_team_ep_index(const pen_team *team, uint32_t rank)
{
    return pen_likely(team->ep_indexes == NULL) ? team->pair_index : team->ep_indexes[rank];
}

#endif
