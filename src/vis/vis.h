/* SPDX-License-Identifier: BSD-3-Clause */
/* vis.h: put and get of memory in pieces: lists of memory (vector), lists of places for pieces of
 * one length (indexed), and boxes of elements (strided).
 *
 * Where this process reaches all of the peer's pieces it copies them, and the operation is done on
 * return. Else, for EVERYTHING between processes of one host, the kernel copies whole lists; else
 * each piece that is in one part on both sides is a put or get of rma/, and all of them count in
 * one event, or in the implicit set. What describes the pieces is not read again after the call
 * returns. Never from a handler; nothing to move is done at once, at any address.
 *
 * The errors of put and get are the same as theirs; lists whose lengths differ end the job with a
 * line that names the call and both lengths. */
#ifndef PEN_VIS_VIS_H
#define PEN_VIS_VIS_H

#include "job/job.h"
#include "rma/event.h"

typedef enum pen_vis_shape { PEN_VIS_VECTOR, PEN_VIS_INDEXED, PEN_VIS_STRIDED } pen_vis_shape;

/* Where one side's bytes are, in their order. */
typedef struct pen_vis_side {
    const gex_Memvec_t *vector; /* VECTOR: count entries; those of no length are skipped */
    void *const *list;          /* INDEXED: count places ... */
    size_t count, len;          /* ... of len bytes each */
    char *base;                 /* STRIDED: of the element whose indices are 0 */
    const ptrdiff_t *strides;   /* STRIDED: bytes from one index to the next, by level */
} pen_vis_side;

typedef struct pen_vis_call {
    const char *name; /* of the client's call, for messages */
    pen_team *team;
    uint32_t rank;  /* the peer: its addresses are in dest of a put, source of a get */
    uint32_t flags; /* PEN_RMA_IMMEDIATE or 0; then a call that is refused had no effect */
    bool is_put;
    pen_vis_shape shape;
    pen_vis_side dest, source;
    size_t elem_len;      /* STRIDED: contiguous bytes of an element */
    const size_t *counts; /* STRIDED: indices of each level, of both sides */
    size_t levels;
} pen_vis_call;

/* The event; DONE when finished already; NO_OP when immediate found no room. pen_event_leaf of a
 * put answers the event after which the source may be changed. */
pen_event *pen_vis_nb(pen_thread *thread, const pen_vis_call *call);
/* Counted in the thread's implicit set or its open access region. 0, or non-zero: no-op. */
int pen_vis_nbi(pen_thread *thread, const pen_vis_call *call);
/* Done on return. 0, or non-zero: no-op. */
int pen_vis_blocking(pen_thread *thread, const pen_vis_call *call);

/* The thread's next put is done on return, and then its target is sent an active message with this
 * payload: a Medium without arguments. A put that was refused is not counted; one with nothing to
 * move is. */
enum { PEN_VIS_PAYLOAD_MAX = 127 };
void pen_vis_set_peer_completion(pen_thread *thread, uint8_t handler, const void *payload,
                                 size_t len);

void pen_vis_close(pen_job *job); /* before pen_rma_close */

#endif
