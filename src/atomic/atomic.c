/* SPDX-License-Identifier: BSD-3-Clause */
/* atomic.c: domains, the path to the target, and the report of completion. */
#include "atomic/atomic.h"

#include "atomic/atomic_internal.h"
#include "base/compiler.h"
#include "base/status.h"
#include "boot/wait_state.h"
#include "conduit/conduit.h"
#include "job/fatal.h"
#include "job/job.h"
#include "job/team.h"
#include "job/thread.h"
#include "mem/mem.h"
#include "os/lock.h"
#include "progress/progress.h"
#include "reach/reach.h"
#include "rma/event.h"
#include "trace/event.h"
#include "trace/ring.h"

#include <penstock/abi.h>
#include <penstock/types.h>
#include <stdlib.h>
#include <string.h>

/* ---- domains --------------------------------------------------------------------------------- */

pen_atomic_domain *pen_atomic_create(pen_team *team, uint32_t type, uint32_t ops, uint32_t flags)
{
    pen_job *job = team->job;
    pen_atomic_domain *domain = pen_job_calloc(job, 1, sizeof *domain, "an atomic domain");
    if (domain == NULL)
        return NULL;
    domain->view.team = team;
    domain->job = job;
    domain->type = type;
    domain->ops = ops;
    domain->flags = flags;
    pen_lock_take(&job->atomic->lock);
    domain->next = job->atomic->domains;
    job->atomic->domains = domain;
    pen_lock_drop(&job->atomic->lock);
    return domain;
}

void pen_atomic_destroy(pen_atomic_domain *domain)
{
    struct pen_atomic *atomic = domain->job->atomic;
    pen_lock_take(&atomic->lock);
    pen_atomic_domain **link = &atomic->domains;
    while (*link != domain)
        link = &(*link)->next;
    *link = domain->next;
    pen_lock_drop(&atomic->lock);
    free(domain);
}

/* ---- one operation --------------------------------------------------------------------------- */

static PEN_COLD _Noreturn void refuse_unknown(pen_job *job, const atomic_place *place)
{
    if (place->ep_index != 0)
        pen_job_fatal(job,
                      "atomic operation at %p of rank %u: no segment of its endpoint %u is known "
                      "here; bind one there and publish it on both ranks first",
                      (void *)place->target, place->jobrank, place->ep_index);
    pen_job_fatal(job,
                  "atomic operation at %p of rank %u: that rank has no segment; attach one on "
                  "every rank first",
                  (void *)place->target, place->jobrank);
}

PEN_COLD _Noreturn void atomic_refuse(pen_job *job, const atomic_place *place)
{
    if ((uintptr_t)place->target % place->len != 0)
        pen_job_fatal(job,
                      "atomic operation at %p of rank %u: a value of %u bytes lies at a multiple "
                      "of its size; align it",
                      (void *)place->target, place->jobrank, place->len);
    const pen_remote_segment *segment =
        pen_mem_remote_row(&job->mem, place->ep_index, place->jobrank);
    if (segment == NULL || segment->len == 0)
        refuse_unknown(job, place);
    pen_job_fatal(job,
                  "atomic operation on %u bytes at %p of rank %u is outside its segment "
                  "[0x%llx, 0x%llx); check the address",
                  place->len, (void *)place->target, place->jobrank,
                  (unsigned long long)segment->base,
                  (unsigned long long)(segment->base + segment->len));
}

#if defined(__x86_64__) || defined(__i386__)
enum { CAS_RELEASES = 1 }; /* a compare-and-swap that fails, too */
#else
enum { CAS_RELEASES = 0 };
#endif

/* A plain load does not order what came before it, a plain store not what comes after. If the
 * client wants that order, a read-modify-write does the same work. A compare-and-swap that fails is
 * a load; the result is not known before, so a fence comes first. */
static uint64_t apply(void *target, const pen_atomic_call *call)
{
    const bool wide = pen_atomic_len(call->type) == sizeof(uint64_t);
    static const uint64_t nothing[2] = { 0, 0 };
    if (call->op == GEX_OP_GET && (call->flags & GEX_FLAG_AD_REL) != 0)
        return pen_atomic_apply(target, wide ? GEX_DT_U64 : GEX_DT_U32, GEX_OP_FADD, nothing);
    if (call->op == GEX_OP_SET && (call->flags & GEX_FLAG_AD_ACQ) != 0)
        return pen_atomic_apply(target, call->type, GEX_OP_SWAP, call->operands);
    if (!CAS_RELEASES && (call->op & (GEX_OP_CAS | GEX_OP_FCAS)) != 0 &&
        (call->flags & GEX_FLAG_AD_REL) != 0)
        pen_fence();
    return pen_atomic_apply(target, call->type, call->op, call->operands);
}

static bool done_now(pen_job *job, const atomic_place *place, const pen_atomic_call *call)
{
    void *target = pen_reach_alias(job, place->ep_index, place->jobrank, place->target, place->len);
    if (target == NULL)
        return false;
    uint64_t old = apply(target, call);
    if (pen_atomic_fetches(call->op))
        pen_atomic_store_result(call->result, place->len, old);
    pen_job_count(job, &job->counters.atomic_shm);
    return true;
}

/* Checks what every path requires. */
static atomic_place place_of(pen_job *job, const pen_atomic_domain *domain,
                             const pen_atomic_call *call)
{
    const pen_team *team = domain->view.team;
    if (pen_unlikely(call->rank >= team->view.size))
        pen_job_fatal(job, "atomic operation: there is no rank %u in a team of %u", call->rank,
                      team->view.size);
    const atomic_place place = { .target = call->target,
                                 .jobrank = pen_team_jobrank(team, call->rank),
                                 .ep_index = pen_team_ep_index(team, call->rank),
                                 .len = (uint16_t)pen_atomic_len(call->type) };
    if (pen_unlikely((uintptr_t)place.target % place.len != 0))
        atomic_refuse(job, &place);
    return place;
}

/* An operation on memory that is not mapped. */
typedef struct atomic_far {
    const pen_remote_segment *segment;
    uint64_t offset;
    pen_amo amo;
} atomic_far;

/* Lets the link perform the operation, and raises op for it. Returns false if immediate found no
 * room: nothing happened. */
static bool by_link(pen_job *job, const atomic_place *place, const atomic_far *far, bool immediate,
                    pen_op *op)
{
    pen_post result;
    pen_count_raise(&op->incomplete, op->shared);
    pen_wait what = pen_wait_for(PEN_CALL_ATOMIC, PEN_AWAITED_ROOM, place->jobrank, NULL);
    pen_waiter waiter = pen_waiter_for(&job->progress, false, &what);
    while ((result = pen_reach_atomic_by_link(job, place->jobrank, far->segment, far->offset,
                                              &far->amo, op)) == PEN_POST_AGAIN &&
           !immediate) {
        pen_job_count(job, &job->counters.again_room);
        pen_wait_step(&waiter);
    }
    pen_wait_end(&waiter);
    if (result != PEN_POST_PENDING) /* the caller's own count remains */
        (void)pen_count_drop(&op->incomplete, op->shared);
    if (result != PEN_POST_AGAIN)
        pen_job_count(job, &job->counters.atomic_device);
    return result != PEN_POST_AGAIN;
}

/* Starts an operation that cannot be done now. The caller holds a count of op, so op cannot end
 * meanwhile. */
static bool start(pen_job *job, const atomic_place *place, const pen_atomic_call *call, pen_op *op)
{
    atomic_far far = { .amo = { .type = call->type,
                                .op = call->op,
                                .operands = { call->operands[0], call->operands[1] },
                                .result = call->result } };
    far.segment = pen_mem_remote(&job->mem, place->ep_index, place->jobrank, place->target,
                                 place->len, &far.offset);
    const pen_remote_segment *segment = far.segment;
    if (segment == NULL)
        atomic_refuse(job, place);
    if (segment->is_device)
        pen_job_fatal(
            job,
            "atomic operation at %p of rank %u: endpoint %u has memory of a device there; "
            "put and get it, or keep the word in host memory",
            (void *)place->target, place->jobrank, place->ep_index);
    if (pen_reach_link_serves_atomic(job, place->jobrank, segment, &far.amo))
        return by_link(job, place, &far, (call->flags & GEX_FLAG_IMMEDIATE) != 0, op);
    if (!atomic_by_message(job, place, call, segment->number, far.offset, op))
        return false;
    pen_job_count(job, &job->counters.atomic_net);
    return true;
}

/* Writes that a call of a traced job begins. */
static PEN_COLD void trace_call(const pen_job *job, const atomic_place *place)
{
    const pen_trace_event event = { .at = pen_trace_ticks(),
                                    .kind = PEN_TRACE_CALL,
                                    .what = PEN_CALL_ATOMIC,
                                    .peer = place->jobrank,
                                    .value = place->len };
    pen_trace_write(job->trace, &event);
}

pen_event *pen_atomic_nb(pen_thread *thread, const pen_atomic_domain *domain,
                         const pen_atomic_call *call)
{
    PEN_ASSERT(thread->handler_depth == 0);
    pen_job *job = thread->job;
    const atomic_place place = place_of(job, domain, call);
    if (pen_unlikely(job->trace != NULL))
        trace_call(job, &place);
    if (done_now(job, &place, call))
        return PEN_EVENT_DONE;
    pen_event *event = pen_event_new(thread);
    bool started = start(job, &place, call, pen_event_op(event));
    event = pen_event_started(event, NULL);
    return started ? event : PEN_EVENT_NO_OP;
}

uint32_t pen_atomic_category(uint32_t op)
{
    return op == GEX_OP_SET ? PEN_EC_PUT : op == GEX_OP_GET ? PEN_EC_GET : PEN_EC_RMW;
}

int pen_atomic_nbi(pen_thread *thread, const pen_atomic_domain *domain, const pen_atomic_call *call)
{
    PEN_ASSERT(thread->handler_depth == 0);
    pen_job *job = thread->job;
    const atomic_place place = place_of(job, domain, call);
    if (pen_unlikely(job->trace != NULL))
        trace_call(job, &place);
    if (done_now(job, &place, call))
        return 0;
    pen_op *op = pen_nbi_op(thread, pen_atomic_category(call->op));
    pen_count_raise(&op->incomplete, op->shared);
    bool started = start(job, &place, call, op);
    pen_op_done(op);
    return !started;
}

/* ---- open and close -------------------------------------------------------------------------- */

pen_status pen_atomic_open(pen_job *job)
{
    struct pen_atomic *atomic =
        pen_job_calloc(job, 1, sizeof *atomic, "the state of remote atomics");
    if (atomic == NULL)
        return PEN_ERR_MEMORY;
    pen_lock_init(&atomic->lock, job->concurrency);
    job->atomic = atomic;
    atomic_messages_open(job);
    return PEN_OK;
}

void pen_atomic_close(pen_job *job)
{
    struct pen_atomic *atomic = job->atomic;
    if (atomic == NULL)
        return;
    for (pen_atomic_domain *domain = atomic->domains, *next; domain != NULL; domain = next) {
        next = domain->next;
        free(domain);
    }
    free(atomic->requests);
    free(atomic);
    job->atomic = NULL;
}
