/* SPDX-License-Identifier: BSD-3-Clause */
/* vis.h: put and get of memory in pieces: lists of memory (vector), lists of addresses of pieces of
 * one length (indexed), and boxes of elements (strided).
 *
 * If this process reaches all of the peer's pieces, it copies them, and the operation is done on
 * return. Otherwise, for EVERYTHING between processes of one host, the kernel copies whole lists.
 * Otherwise each run that is contiguous on both sides is a put or get of rma/; all runs count in
 * one event, or in the implicit set. The call does not read lists, strides and counts after it
 * returns.
 *
 * Never call it from a handler. An empty transfer is done at once, at any address. The errors are
 * those of put and get. If the lengths of two lists differ, the job ends with a line that names the
 * call and both lengths. */
#ifndef PEN_VIS_VIS_H
#define PEN_VIS_VIS_H

#include "job/job.h"
#include "job/team.h"
#include "job/thread.h"
#include "rma/event.h"

#include <penstock/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum pen_vis_shape { PEN_VIS_VECTOR, PEN_VIS_INDEXED, PEN_VIS_STRIDED } pen_vis_shape;

/* The bytes of one side, in their order. */
typedef struct pen_vis_side {
    const gex_Memvec_t *vector; /* VECTOR: count entries; empty entries are skipped */
    void *const *list;          /* INDEXED: count addresses ... */
    size_t count, len;          /* ... of len bytes each */
    char *base;                 /* STRIDED: address of the element whose indices are 0 */
    const ptrdiff_t *strides;   /* STRIDED: bytes from one index to the next, by level */
} pen_vis_side;

typedef struct pen_vis_call {
    const char *name; /* name of the client's call, for messages */
    pen_team *team;
    uint32_t rank;  /* the peer: its addresses are the dest of a put, the source of a get */
    uint32_t flags; /* PEN_RMA_IMMEDIATE or 0; with it, a refused call had no effect */
    bool is_put;
    pen_vis_shape shape;
    pen_vis_side dest, source;
    size_t elem_len;      /* STRIDED: contiguous bytes of an element */
    const size_t *counts; /* STRIDED: number of indices of each level, on both sides */
    size_t levels;
} pen_vis_call;

/* Returns the event; DONE when finished already; NO_OP when immediate found no room. pen_event_leaf
 * of a put returns the event after which the source may be changed. */
pen_event *pen_vis_nb(pen_thread *thread, const pen_vis_call *call);
/* Counts in the thread's implicit set or its open access region. Returns 0, or non-zero: no-op. */
int pen_vis_nbi(pen_thread *thread, const pen_vis_call *call);
/* Done on return. Returns 0, or non-zero: no-op. */
int pen_vis_blocking(pen_thread *thread, const pen_vis_call *call);

/* Makes the thread's next put wait until it is done, and then send its target an active message
 * with this payload: a Medium without arguments. A refused put is not counted; an empty put is. */
enum { PEN_VIS_PAYLOAD_MAX = 127 };
void pen_vis_set_peer_completion(pen_thread *thread, uint8_t handler, const void *payload,
                                 size_t len);

void pen_vis_close(pen_job *job); /* call it before pen_rma_close */

#endif
