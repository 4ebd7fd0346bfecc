/* SPDX-License-Identifier: BSD-3-Clause */
/* kinds.c: the kinds of operations, and their shares of a run. */
#include "shadow.h"

enum { KINDS_TOGETHER = 5 };

const kind kinds[] = {
    { "put blocking", 30, rma_put_blocking },
    { "put nb", 60, rma_put_nb },
    { "put nbi", 60, rma_put_nbi },
    { "put value", 40, rma_put_value },
    { "get blocking", 30, rma_get_blocking },
    { "get nb", 60, rma_get_nb },
    { "get nbi", 60, rma_get_nbi },
    { "get value", 28, rma_get_value },
    { "access region", 40, rma_region },
    { "legacy put", 40, legacy_put },
    { "legacy get", 35, legacy_get },
    { "vis vector", 35, vis_vector },
    { "vis indexed", 35, vis_indexed },
    { "vis strided", 35, vis_strided },
    { "vis legacy", 35, vis_legacy },
    { "vis told", 30, vis_told },
    { "other endpoints", 60, other_endpoints },
    { "am short", 80, am_short },
    { "am medium", 60, am_medium },
    { "am long", 35, am_long },
    { "am long async", 34, am_long_async },
    { "am negotiated", 40, am_negotiated },
    { "atomic own", 40, atomic_own },
    { "atomic shared", 40, atomic_shared },
    /* together */
    { "barrier", 30, coll_barrier },
    { "broadcast", 30, coll_broadcast },
    { "gather, scatter", 30, coll_parts },
    { "reduce, scan", 30, coll_reduce },
    { "team", 30, team_life },
};

const unsigned kind_count = sizeof kinds / sizeof *kinds;
const unsigned kind_alone_count = sizeof kinds / sizeof *kinds - KINDS_TOGETHER;
