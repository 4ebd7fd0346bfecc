/* SPDX-License-Identifier: BSD-3-Clause */
/* watch.h: checked builds: the operations that a client has begun and not synchronised yet, and
 * what is wrong with a new one beside them.
 *
 * A client may not rely on an operation before it has synchronised it, wherever its bytes are. So
 * an operation is outstanding here until then, also when memory that is shared moved the bytes at
 * once: its event is a real one. Each outstanding operation keeps its call, its thread and the two
 * ranges of memory that it uses; ranges that two operations use at once, not both to read, are
 * reported, as is a source that was written meanwhile. Operations that do the same as an
 * outstanding one, byte for byte, are let pass: whichever comes last, memory holds the same.
 *
 * api/ asks before it begins an operation and tells afterwards; rma/ ends records when events and
 * implicit operations are synchronised. All of it is under one lock. What is wrong ends the job by
 * a line that names the call, the argument and the rule. */
#ifndef PEN_RMA_WATCH_H
#define PEN_RMA_WATCH_H

#include "job/job.h"
#include "rma/rma.h"

typedef struct pen_watched pen_watched; /* one outstanding operation */

typedef enum pen_watch_kind {
    PEN_WATCH_PUT,    /* writes remote memory, reads local memory */
    PEN_WATCH_GET,    /* the other way round */
    PEN_WATCH_ATOMIC, /* changes remote memory, which others of its kind may do at once, and writes
                         local memory if it fetches */
    PEN_WATCH_OTHER,  /* ranges are unknown; only its synchronisation is watched */
} pen_watch_kind;

typedef struct pen_watch_call {
    const char *name; /* of the call; static */
    pen_thread *thread;
    pen_watch_kind kind;
    uint32_t jobrank;   /* of the remote memory */
    const void *remote; /* an address of that rank's */
    const void *local;  /* NULL: none is used, as when a byte is put */
    size_t len;
    pen_local when;     /* PUT: until when the source is in use */
    bool of_one_thread; /* a GASNet-1 handle: only the thread that began it may synchronise it */
    uint64_t content;   /* PUT without local memory: what tells its bytes from others; else filled
                           in by pen_watch_begin */
    bool repeats;       /* filled in by pen_watch_begin: it does what an outstanding one does */
} pen_watch_call;

pen_status pen_watch_open(pen_job *job); /* by pen_rma_open; nothing in other builds */
void pen_watch_close(pen_job *job);

/* Before the operation, also of a blocking one: is anything it uses in use? Fatal if so. */
void pen_watch_begin(pen_watch_call *call);

/* After it: the event to give to the client, which is never DONE; NO_OP stays what it is. leaf (may
 * be NULL): its leaf, likewise. */
pen_event *pen_watch_event(const pen_watch_call *call, pen_event *event, pen_event **leaf);
/* After an implicit one of this category (PEN_EC_...), in an access region or not. */
void pen_watch_implicit(const pen_watch_call *call, uint32_t category);

/* What an event stands for; NULL: nothing that is watched. */
const pen_watched *pen_watch_of(const pen_event *event);
/* That this thread may synchronise it; fatal if not. call: the one that does. */
void pen_watch_check_thread(const char *call, const pen_thread *thread, const pen_event *event);

/* ---- called where operations end (rma/) ------------------------------------------------------ */

void pen_watch_end(pen_watched *watched);          /* the event was given back */
void pen_watch_source_end(pen_watched *watched);   /* its leaf is synchronised */
bool pen_watch_keeps_source(pen_watched *watched); /* and has not been, though it may be done */
void pen_watch_implicit_end(pen_thread *thread, uint32_t categories); /* they are synchronised */
/* The thread's access region has ended: its operations are event's from now on. The event to give
 * to the client. */
pen_event *pen_watch_region_end(pen_thread *thread, pen_event *event);

/* ---- the end of the job ---------------------------------------------------------------------- */

/* A line for each call whose operations are outstanding, of this thread and those that have ended;
 * answers how many lines. what: "the job ends" or the like. */
unsigned pen_watch_report(pen_thread *thread, const char *what);
/* The same of a thread that ends, whose implicit operations nobody can synchronise any more. */
unsigned pen_watch_report_implicit(pen_thread *thread, const char *what);

#endif
