/* SPDX-License-Identifier: BSD-3-Clause */
/* abi.h: the data that inline code of the public headers reads, and the exported functions it falls
 * back on. The layout is fixed for this SONAME. Nothing here is for clients to call. */
#ifndef PENSTOCK_ABI_H
#define PENSTOCK_ABI_H

#include <penstock/types.h>

#define PEN_ABI 1 /* headers and library must agree; checked when the client initialises */

#ifdef __cplusplus
extern "C" {
#endif

/* A same-host peer's segment, as mapped here. */
typedef struct pen_mapped {
    uintptr_t base;  /* the peer's own address of it */
    size_t len;      /* bytes; 0: the peer has none */
    intptr_t delta;  /* add to the peer's address to get ours */
    uintptr_t spare; /* keeps a row at a power of two */
} pen_mapped;

/* What inline code may read of a gex_TM_t: the first member of struct pen_team. */
typedef struct pen_team_view {
    uint32_t rank, size;                 /* of the caller; size 0: a TM pair */
    uint32_t mapped_first, mapped_count; /* ranks reachable by load and store, if contiguous */
    const pen_mapped *mapped;            /* indexed by rank - mapped_first */
    uint64_t reserved[2];                /* zero */
} pen_team_view;

/* One object file of the client, in the linker section pen_units. */
typedef struct pen_unit {
    uint32_t abi, mode, segment, size; /* size: sizeof(pen_unit) */
    const char *file;
} pen_unit;

enum { PEN_MODE_SEQ = 1, PEN_MODE_PARSYNC = 2, PEN_MODE_PAR = 3 };
enum { PEN_SEGMENT_FAST = 1, PEN_SEGMENT_LARGE = 2, PEN_SEGMENT_EVERYTHING = 3 };

#ifdef __cplusplus
}
#endif
#endif
