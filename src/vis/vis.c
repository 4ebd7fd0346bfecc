/* SPDX-License-Identifier: BSD-3-Clause */
/* vis.c: the calls: what is copied at once, how the remaining pieces travel, how their completion
 * is reported; and the message that a put's target receives when all of it has arrived. */
#include "vis/vis.h"

#include "am/am.h"
#include "base/compiler.h"
#include "boot/wait_state.h"
#include "job/fatal.h"
#include "job/job.h"
#include "job/team.h"
#include "job/thread.h"
#include "reach/reach.h"
#include "rma/event.h"
#include "rma/rma.h"
#include "trace/event.h"
#include "trace/ring.h"
#include "vis/vis_internal.h"

#include <penstock/abi.h>
#include <stdlib.h>

/* ---- pieces ---------------------------------------------------------------------------------- */

/* One put or get. */
static bool start_run(vis_mover *mover, const vis_run *run)
{
    const pen_vis_call *call = mover->call;
    int refused = call->is_put
                      ? pen_rma_put_nbi(mover->thread, call->team, call->rank, run->dest,
                                        run->source, run->len, PEN_LOCAL_DEFER, mover->flags)
                      : pen_rma_get_nbi(mover->thread, call->team, run->dest, call->rank,
                                        run->source, run->len, mover->flags);
    if (refused != 0)
        return false;
    mover->flags = 0;
    return true;
}

/* Adds memory to a list; contiguous memory extends the last entry. */
static size_t list_add(struct iovec *list, size_t count, const char *at, size_t len)
{
    if (count > 0) {
        struct iovec *last = &list[count - 1];
        if ((const char *)last->iov_base + last->iov_len == at) {
            last->iov_len += len;
            return count;
        }
    }
    list[count] = (struct iovec){ (char *)(uintptr_t)at, len };
    return count + 1;
}

static bool move_by_kernel(const vis_mover *mover)
{
    struct iovec local[VIS_RUNS_MAX], remote[VIS_RUNS_MAX];
    const bool is_put = mover->call->is_put;
    size_t local_count = 0, remote_count = 0;
    for (size_t i = 0; i < mover->run_count; i++) {
        const vis_run *run = &mover->runs[i];
        local_count = list_add(local, local_count, is_put ? run->source : run->dest, run->len);
        remote_count = list_add(remote, remote_count, is_put ? run->dest : run->source, run->len);
    }
    return pen_rma_move_lists(mover->thread->job, mover->jobrank, is_put, local, local_count,
                              remote, remote_count);
}

bool vis_move_rest(vis_mover *mover)
{
    size_t count = mover->run_count;
    if (count != 0 && move_by_kernel(mover)) {
        mover->flags = 0;
        mover->run_count = 0;
        return true;
    }
    mover->run_count = 0;
    for (size_t i = 0; i < count; i++)
        if (!start_run(mover, &mover->runs[i]))
            return false;
    return true;
}

bool vis_move(vis_mover *mover, char *dest, char *source, size_t len)
{
    const vis_run run = { dest, source, len };
    if (!mover->collects)
        return start_run(mover, &run);
    if (mover->run_count == VIS_RUNS_MAX && !vis_move_rest(mover))
        return false;
    mover->runs[mover->run_count++] = run;
    return true;
}

static void check_rank(const pen_thread *thread, const pen_vis_call *call)
{
    PEN_ASSERT(thread->handler_depth == 0); /* put and get are illegal in a handler */
    const pen_team *team = call->team;
    uint32_t size = team->view.size != 0 ? team->view.size : thread->job->size;
    if (pen_unlikely(call->rank >= size))
        pen_job_fatal(thread->job, "%s: there is no rank %u in a team of %u", call->name,
                      call->rank, size);
}

/* ---- completion ------------------------------------------------------------------------------ */

/* The handler that a thread has chosen for its next put. */
struct pen_vis_peer {
    bool is_set;
    uint8_t handler;
    uint32_t len;
    _Alignas(16) char payload[PEN_VIS_PAYLOAD_MAX];
};

void pen_vis_set_peer_completion(pen_thread *thread, uint8_t handler, const void *payload,
                                 size_t len)
{
    PEN_INVARIANT(len <= PEN_VIS_PAYLOAD_MAX);
    if (thread->vis == NULL) {
        thread->vis = calloc(1, sizeof *thread->vis);
        if (thread->vis == NULL)
            pen_job_fatal(thread->job,
                          "cannot note the handler of a thread's next put: out of memory");
    }
    *thread->vis =
        (struct pen_vis_peer){ .is_set = true, .handler = handler, .len = (uint32_t)len };
    if (len != 0)
        memcpy(thread->vis->payload, payload, len);
}

static bool peer_is_told(const pen_thread *thread, const pen_vis_call *call)
{
    return pen_unlikely(thread->vis != NULL) && thread->vis->is_set && call->is_put;
}

static PEN_COLD void tell_peer(pen_thread *thread, const pen_vis_call *call)
{
    /* Copied first, because sending polls, and a handler's poll needs the thread's state complete.
     */
    struct pen_vis_peer peer = *thread->vis;
    thread->vis->is_set = false;
    pen_am_tell(thread->job, pen_team_jobrank(call->team, call->rank), peer.handler, peer.payload,
                peer.len);
}

typedef enum outcome { NOTHING_LEFT, STARTED, REFUSED } outcome;

/* Begins every piece as an implicit operation. */
static outcome begin_pieces(pen_thread *thread, const pen_vis_call *call, const vis_box *box,
                            uint32_t jobrank)
{
    vis_mover mover; /* not initialised as a whole, because it is long */
    mover.call = call;
    mover.thread = thread;
    mover.jobrank = jobrank;
    mover.flags = call->flags;
    mover.collects =
        pen_reach_may_collect(call->team, pen_team_ep_index(call->team, call->rank), jobrank);
    mover.run_count = 0;
    bool started = box != NULL ? vis_box_move(&mover, box) : vis_lists_move(&mover);
    return started && vis_move_rest(&mover) ? STARTED : REFUSED;
}

/* Begins every piece in one event, if an event is wanted. */
static outcome begin_far(pen_thread *thread, const pen_vis_call *call, const vis_box *box,
                         uint32_t jobrank, pen_event **event)
{
    if (event == NULL)
        return begin_pieces(thread, call, box, jobrank);
    pen_nbi_outer outer;
    pen_nbi_group_begin(thread, &outer);
    outcome result = begin_pieces(thread, call, box, jobrank);
    *event = pen_nbi_group_end(thread, &outer);
    return result;
}

static size_t strided_len(const pen_vis_call *call)
{
    size_t len = call->elem_len;
    for (size_t level = 0; level < call->levels; level++)
        len *= call->counts[level];
    return len;
}

static void copied(pen_job *job, bool is_put, size_t len)
{
    /* release: what was put is visible before anything the client stores or sends after this;
     * acquire half: a get's data was read before anything the client loads after it */
    atomic_thread_fence(memory_order_acq_rel);
    pen_job_count_moved(job, is_put, true, len);
}

/* The path of most calls, tried before all further tests. */
static bool done_at_once(pen_thread *thread, const pen_vis_call *call)
{
    PEN_ASSERT(thread->handler_depth == 0); /* put and get are illegal in a handler */
    if (call->shape != PEN_VIS_STRIDED || !vis_line_copy(call))
        return false;
    copied(thread->job, call->is_put, strided_len(call));
    return true;
}

/* event NULL: the pieces are implicit operations of the thread. */
static outcome begin(pen_thread *thread, const pen_vis_call *call, pen_event **event)
{
    pen_job *job = thread->job;
    vis_box box;
    const bool strided = call->shape == PEN_VIS_STRIDED;
    check_rank(thread, call);
    const size_t len = strided ? strided_len(call) : vis_lists_len(call, job);
    if (strided ? !vis_box_of(call, job, &box) : len == 0)
        return NOTHING_LEFT;
    uint32_t jobrank = pen_team_jobrank(call->team, call->rank);
    const pen_reach_range range =
        pen_reach_range_of(call->team, pen_team_ep_index(call->team, call->rank), jobrank);
    if (strided ? vis_box_copy(call, &box, &range) : vis_lists_copy(call, &range)) {
        copied(job, call->is_put, len);
        return NOTHING_LEFT;
    }
    return begin_far(thread, call, strided ? &box : NULL, jobrank, event);
}

/* Writes a call of a traced job that began at `at`. */
static PEN_COLD void trace_call(const pen_thread *thread, const pen_vis_call *call, uint64_t at)
{
    const pen_trace_event event = { .at = at,
                                    .kind = PEN_TRACE_CALL,
                                    .what = PEN_CALL_VIS,
                                    .peer = pen_team_jobrank(call->team, call->rank),
                                    .value = call->shape == PEN_VIS_STRIDED
                                                 ? strided_len(call)
                                                 : vis_lists_len(call, thread->job) };
    pen_trace_write_span(thread->job->trace, event);
}

static inline uint64_t trace_begin(const pen_thread *thread)
{
    return pen_unlikely(thread->job->trace != NULL) ? pen_trace_ticks() : 0;
}

int pen_vis_blocking(pen_thread *thread, const pen_vis_call *call)
{
    const uint64_t at = trace_begin(thread);
    pen_event *event = PEN_EVENT_DONE;
    outcome result = done_at_once(thread, call) ? NOTHING_LEFT : begin(thread, call, &event);
    if (result == REFUSED)
        return 1;
    if (result == STARTED)
        pen_event_wait(thread->job, event, PEN_CALL_VIS);
    if (peer_is_told(thread, call))
        tell_peer(thread, call);
    if (pen_unlikely(at != 0))
        trace_call(thread, call, at);
    return 0;
}

pen_event *pen_vis_nb(pen_thread *thread, const pen_vis_call *call)
{
    pen_event *event = PEN_EVENT_DONE;
    if (peer_is_told(thread, call))
        return pen_vis_blocking(thread, call) != 0 ? PEN_EVENT_NO_OP : PEN_EVENT_DONE;
    if (done_at_once(thread, call))
        return PEN_EVENT_DONE;
    return begin(thread, call, &event) == REFUSED ? PEN_EVENT_NO_OP : event;
}

int pen_vis_nbi(pen_thread *thread, const pen_vis_call *call)
{
    if (peer_is_told(thread, call))
        return pen_vis_blocking(thread, call);
    return !done_at_once(thread, call) && begin(thread, call, NULL) == REFUSED;
}

void pen_vis_close(pen_job *job)
{
    for (pen_thread *thread = &job->first_thread; thread != NULL; thread = thread->next) {
        free(thread->vis);
        thread->vis = NULL;
    }
}
