/* SPDX-License-Identifier: BSD-3-Clause */
/* endpoint.h: clients and endpoints: the objects behind gex_Client_t and gex_EP_t. */
#ifndef PEN_JOB_ENDPOINT_H
#define PEN_JOB_ENDPOINT_H

#include "base/status.h"
#include "mem/mem.h"

#include <penstock/abi.h>
#include <stdatomic.h>
#include <stdint.h>

typedef struct pen_job pen_job;
struct pen_team;

struct pen_client { /* gex_Client_t */
    pen_job *job;
    const void *cdata;
    uint32_t flags;
    char name[64];
};

typedef struct pen_client pen_client;

typedef struct pen_endpoint { /* gex_EP_t */
    pen_job *job;
    pen_client *client;
    const void *cdata;
    uint32_t flags, capabilities;
    uint16_t index;       /* 0: primordial; no other one receives active messages */
    pen_segment *segment; /* bound once, see pen_job_bind */
    /* TM pairs by remote number; NULL if not yet made. Written under threads_lock, read without
     * it: the release in pen_job_pair pairs with the acquire there. */
    _Atomic(struct pen_team *) pairs[PEN_ENDPOINTS_MAX];
} pen_endpoint;

/* Makes an endpoint with the next number. It lasts as long as the job. Returns PEN_ERR_RESOURCE
 * if there are PEN_ENDPOINTS_MAX; PEN_ERR_MEMORY, after printing a line, if there is no memory. */
pen_status pen_job_endpoint_make(pen_job *job, uint32_t capabilities, uint32_t flags,
                                 pen_endpoint **out);

/* May be called once for each endpoint; it cannot be undone. */
void pen_job_bind(pen_endpoint *endpoint, pen_segment *segment);

#endif
