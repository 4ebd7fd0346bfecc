/* SPDX-License-Identifier: BSD-3-Clause */
/* bounded.h: a conduit for tests: a reliable network that never says "full". All links of a job
 * live in one process. Each has one inbox for all peers and lanes, as long as it declares, and
 * overrunning it is a fault that ends the process or is counted. */
#ifndef PEN_TESTS_BOUNDED_H
#define PEN_TESTS_BOUNDED_H

#include "conduit/conduit.h"

typedef struct bounded_config {
    uint32_t frame_max, grain, overhead;
    uint32_t units;   /* inbox_len for each peer, in grains */
    uint32_t late;    /* a frame comes after up to this many polls; 0: in order, at the next one */
    uint32_t refuses; /* it answers AGAIN to every post with this number, without need; 0: never */
    uint32_t hidden;  /* bytes of the inbox that do not exist: a conduit that lies */
    bool lends;       /* the window is to lend room */
    bool counts;      /* overruns are counted */
} bounded_config;

extern const pen_conduit pen_conduit_bounded; /* config: bounded_config; see bounded_defaults */
extern const bounded_config bounded_defaults;

uint32_t bounded_overruns(const pen_link *link);

/* From now on posts are refused, or not. */
void bounded_refuse(pen_link *link, bool refuses);

#endif
