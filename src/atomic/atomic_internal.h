/* SPDX-License-Identifier: BSD-3-Clause */
/* atomic_internal.h: shared by the files of atomic/: the job's part, and operations by messages. */
#ifndef PEN_ATOMIC_ATOMIC_INTERNAL_H
#define PEN_ATOMIC_ATOMIC_INTERNAL_H

#include "atomic/atomic.h"
#include "base/compiler.h"
#include "conduit/conduit.h"
#include "job/job.h"
#include "os/lock.h"

#include <penstock/abi.h>
#include <stdbool.h>
#include <stdint.h>

/* The location of an operation. */
typedef struct atomic_place {
    char *target; /* an address of the target */
    uint32_t jobrank;
    uint16_t ep_index, len;
} atomic_place;

/* An operation of this rank that it asked the target for. */
typedef struct atomic_request {
    pen_op *op;          /* NULL: this number is free */
    void *result;        /* receives the old value; may be NULL */
    uint32_t generation; /* generation of this number: one more each time it is freed */
    uint32_t next;       /* next in the free list */
    atomic_place place;
} atomic_request;

struct pen_atomic {
    pen_lock lock; /* guards everything below */
    pen_atomic_domain *domains;
    atomic_request *requests; /* the table: answers name an entry by number and generation */
    uint32_t request_count, request_free; /* first free entry, or UINT32_MAX */
};

void atomic_messages_open(pen_job *job);

/* Asks the target for the operation at (segment, offset), and raises op for it. Returns false if
 * immediate found no room: nothing happened. */
bool atomic_by_message(pen_job *job, const atomic_place *place, const pen_atomic_call *call,
                       uint32_t segment, uint64_t offset, pen_op *op);

PEN_COLD _Noreturn void atomic_refuse(pen_job *job, const atomic_place *place);

#endif
