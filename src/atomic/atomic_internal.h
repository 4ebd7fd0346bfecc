/* SPDX-License-Identifier: BSD-3-Clause */
/* atomic_internal.h: what atomic/'s files share: the job's part, and operations by messages. */
#ifndef PEN_ATOMIC_ATOMIC_INTERNAL_H
#define PEN_ATOMIC_ATOMIC_INTERNAL_H

#include "atomic/atomic.h"

/* Where an operation happens. */
typedef struct atomic_place {
    char *target; /* an address of the target's */
    uint32_t jobrank;
    uint16_t ep_index, len;
} atomic_place;

/* An operation of this rank that its target was asked for. */
typedef struct atomic_request {
    pen_op *op;          /* NULL: this number is free */
    void *result;        /* where the old value goes; NULL: nowhere */
    uint32_t generation; /* of this number: one more each time it is freed */
    uint32_t next;       /* in the free list */
    atomic_place place;
} atomic_request;

struct pen_atomic {
    pen_lock lock; /* guards everything below */
    pen_atomic_domain *domains;
    atomic_request *requests;             /* the table that answers name by number and generation */
    uint32_t request_count, request_free; /* first free one; UINT32_MAX: none */
};

void atomic_messages_open(pen_job *job);

/* Asks the target for the operation at (segment, offset); raises op for it. False: immediate, and
 * there was no room: nothing happened. */
bool atomic_by_message(pen_job *job, const atomic_place *place, const pen_atomic_call *call,
                       uint32_t segment, uint64_t offset, pen_op *op);

PEN_COLD _Noreturn void atomic_refuse(pen_job *job, const atomic_place *place);

#endif
