/* SPDX-License-Identifier: BSD-3-Clause */
/* coll_barrier.c: the two barriers, each with its own meeting.
 *
 * The GASNet-1 barrier has at most one phase between notify and wait. Any number of GASNet-EX
 * barriers may be outstanding. They are numbered in order. A rank arrives at a barrier when the
 * previous barrier has ended, which is when every rank has begun it.
 *
 * A phase ends in two steps. First, this rank finds that all ranks have arrived. It is found by
 * wait, by try, by any poll while the meeting uses flag lines, or by the handler of the last
 * message. At that moment, everything that a rank sent before its arrival has reached this rank.
 * Second, a sweep (progress.h) runs the handlers of those messages. The phase ends when the
 * sweep is over. */
#include "coll/barrier.h"

#include "am/am.h"
#include "base/compiler.h"
#include "base/status.h"
#include "boot/boot.h"
#include "boot/host_page.h"
#include "boot/wait_state.h"
#include "coll/early.h"
#include "coll/shared.h"
#include "diag/log.h"
#include "job/fatal.h"
#include "job/job.h"
#include "job/thread.h"
#include "knob/knob.h"
#include "os/lock.h"
#include "pen_config.h"
#include "progress/progress.h"
#include "rma/event.h"
#include "trace/event.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* GASNET_BARRIERFLAG_... values. UNNAMED (8) is a client's promise that all ranks are anonymous.
 * It is ignored, because the word holds a name in every case. */
enum { BARRIER_ANONYMOUS = 1, BARRIER_MISMATCH = 2 };

enum { QUEUE_LEN_FIRST = 16 }; /* a power of two; growth doubles it */

uint64_t pen_word_combine(uint64_t a, uint64_t b)
{
    uint64_t mismatch = (a | b) & PEN_WORD_MISMATCH;
    if (!(a & PEN_WORD_NAMED))
        return b | mismatch;
    if ((b & PEN_WORD_NAMED) && (uint32_t)a != (uint32_t)b)
        mismatch = PEN_WORD_MISMATCH;
    return a | mismatch;
}

uint64_t pen_word_of_notice(int name, int flags)
{
    uint64_t content = 0;
    if (!(flags & BARRIER_ANONYMOUS))
        content = PEN_WORD_NAMED | (uint32_t)name;
    if (flags & BARRIER_MISMATCH)
        content |= PEN_WORD_MISMATCH;
    return content;
}

pen_status pen_word_judge(uint64_t result, int name, int flags)
{
    uint64_t waited = pen_word_of_notice(name, flags);
    return pen_word_combine(result, waited) & PEN_WORD_MISMATCH ? PEN_ERR_ARGUMENT : PEN_OK;
}

bool pen_word_name(uint64_t result, int *name_out)
{
    if (!(result & PEN_WORD_NAMED) || (result & PEN_WORD_MISMATCH))
        return false;
    *name_out = (int)(uint32_t)result;
    return true;
}

/* ---- meetings (under coll->lock) ------------------------------------------------------------- */

void pen_meet_arrive(pen_meet *meet, uint64_t content)
{
    PEN_INVARIANT(!meet->underway);
    meet->phase++;
    meet->underway = true;
    meet->met = false;
    if (meet->way == PEN_MEET_BY_MESSAGES) {
        pen_dissemination_arrive(meet, content);
        return;
    }
    /* Flag lines send no messages, so polls have to look. If other threads may poll, add the
     * work before the arrival, because adding it then waits for earlier stores. If there is one
     * thread, add it after the arrival, while the line is on its way. */
    pen_progress *progress = &meet->job->progress;
    bool is_alone = progress->concurrency == PEN_ALONE;
    if (!is_alone)
        pen_progress_add_work(progress, 1);
    pen_lines_arrive(meet, content);
    if (is_alone)
        pen_progress_add_work(progress, 1);
}

void pen_meet_look(pen_meet *meet)
{
    if (!meet->underway)
        return;
    if (!meet->met && meet->way == PEN_MEET_BY_FLAGS)
        pen_lines_look(meet);
    if (!meet->met || !pen_progress_is_swept(&meet->job->progress, meet->sweep))
        return;
    meet->underway = false;
    pen_progress_add_work(&meet->job->progress, -1);
}

/* ---- queues of barriers (under coll->lock) ----------------------------------------------------
 */

static void queue_push(pen_job *job, pen_coll_queue *queue, pen_coll_waiting waiting)
{
    if (queue->count == queue->len) {
        uint32_t len = queue->len == 0 ? QUEUE_LEN_FIRST : queue->len * 2;
        pen_coll_waiting *items = calloc(len, sizeof *items);
        if (items == NULL)
            pen_job_fatal(job, "cannot begin a barrier: calloc: %s; keep fewer than %u outstanding",
                          strerror(errno), queue->count);
        for (uint32_t i = 0; i < queue->count; i++)
            items[i] = queue->items[(queue->first + i) & (queue->len - 1)];
        free(queue->items);
        *queue = (pen_coll_queue){ .items = items, .count = queue->count, .len = len };
    }
    queue->items[(queue->first + queue->count++) & (queue->len - 1)] = waiting;
}

static pen_coll_waiting queue_first(const pen_coll_queue *queue)
{
    return queue->items[queue->first];
}

static void queue_pop(pen_coll_queue *queue)
{
    queue->first = (queue->first + 1) & (queue->len - 1);
    queue->count--;
}

/* ---- teams' barriers that all members have reached (under coll->lock) -------------------------
 */

void pen_coll_finish_swept(pen_coll *coll, pen_event *event)
{
    uint32_t ticket = pen_progress_ask_sweep(&coll->job->progress);
    queue_push(coll->job, &coll->swept, (pen_coll_waiting){ event, ticket });
    pen_progress_add_work(&coll->job->progress, 1);
}

static unsigned swept_advance(pen_coll *coll)
{
    unsigned ended = 0;
    while (coll->swept.count != 0) {
        pen_coll_waiting first = queue_first(&coll->swept);
        if (!pen_progress_is_swept(&coll->job->progress, first.number))
            break;
        queue_pop(&coll->swept);
        pen_progress_add_work(&coll->job->progress, -1);
        pen_event_finish(first.event);
        ended++;
    }
    return ended;
}

/* ---- what goes before ------------------------------------------------------------------------ */

void pen_coll_hand_over(pen_job *job, bool by_messages)
{
    pen_progress *progress = &job->progress;
    uint64_t youngest = pen_am_flight_youngest(job);
    pen_wait what = pen_wait_for(PEN_CALL_ENTER, PEN_AWAITED_LONG, PEN_WAIT_NOBODY, NULL);
    pen_waiter waiter = pen_waiter_for(progress, false, &what);
    while (pen_am_flies(job, youngest))
        pen_wait_step(&waiter);
    pen_wait_end(&waiter);
    if (!by_messages)
        return;
    /* A link may hold frames back until its next poll, to combine them with later ones. That
     * poll may be underway. */
    uint32_t ticket = pen_progress_ask_sweep(progress);
    pen_progress_add_work(progress, 1);
    while (!pen_progress_is_swept(progress, ticket))
        pen_wait_step(&waiter);
    pen_wait_end(&waiter);
    pen_progress_add_work(progress, -1);
}

/* ---- the GASNet-EX barrier ------------------------------------------------------------------- */

/* Ends the phases that are complete and starts the next ones. Returns how many ended. */
static unsigned plain_advance(pen_coll *coll)
{
    pen_meet *meet = &coll->meets[PEN_MEET_PLAIN];
    unsigned ended = 0;
    while (coll->queue.count != 0) {
        pen_meet_look(meet);
        if (meet->underway)
            break;
        pen_coll_waiting first = queue_first(&coll->queue);
        if (PEN_CHECKED && meet->way == PEN_MEET_BY_FLAGS)
            pen_shared_check_barrier(coll->job->world.coll, first.number);
        queue_pop(&coll->queue);
        if (coll->queue.count != 0)
            pen_meet_arrive(meet, 0);
        coll->job->world.coll->all_begun = first.number + 1;
        pen_event_finish(first.event);
        ended++;
    }
    return ended;
}

pen_event *pen_coll_world_barrier_nb(pen_thread *thread)
{
    pen_job *job = thread->job;
    pen_coll *coll = job->coll;
    pen_coll_team *world = job->world.coll;
    pen_meet *meet = &coll->meets[PEN_MEET_PLAIN];
    static const pen_coll_what what = { .kind = PEN_COLL_BARRIER };
    pen_coll_hand_over(job, meet->way == PEN_MEET_BY_MESSAGES);
    pen_event *event = pen_event_new(thread);
    pen_lock_take(&coll->lock);
    if (PEN_CHECKED && meet->way == PEN_MEET_BY_FLAGS) /* peers compare it */
        pen_lines_note(meet, world->begun, world->shared != NULL ? world->shared->history : 0);
    if (coll->queue.count == 0) /* first: the code below runs while the line is on its way */
        pen_meet_arrive(meet, 0);
    uint32_t number = pen_coll_count(world, &what);
    if (world->shared != NULL)
        pen_shared_count(world->shared, &what);
    if (!PEN_CHECKED && meet->way == PEN_MEET_BY_FLAGS)
        pen_lines_note(meet, number, 0);
    pen_coll_note_entered(coll, PEN_ENTERED_BARRIER, number);
    queue_push(job, &coll->queue, (pen_coll_waiting){ event, number });
    pen_lock_drop(&coll->lock);
    return event;
}

/* ---- the GASNet-1 barrier -------------------------------------------------------------------- */

void pen_barrier_notify(pen_job *job, int name, int flags)
{
    pen_coll *coll = job->coll;
    pen_coll_hand_over(job, coll->meets[PEN_MEET_NAMED].way == PEN_MEET_BY_MESSAGES);
    pen_lock_take(&coll->lock);
    if (coll->notified)
        pen_job_fatal(
            job, "gasnet_barrier_notify was called twice; each notify is to be followed by one "
                 "gasnet_barrier_wait, or gasnet_barrier_try until it succeeds");
    coll->notified = true;
    pen_coll_note_entered(coll, PEN_ENTERED_NAMED, coll->meets[PEN_MEET_NAMED].phase);
    if (pen_unlikely(job->trace != NULL))
        pen_coll_trace_entered(job, PEN_TRACE_MEET_NAMED, 0, PEN_COLL_BARRIER,
                               coll->meets[PEN_MEET_NAMED].phase);
    pen_meet_arrive(&coll->meets[PEN_MEET_NAMED], pen_word_of_notice(name, flags));
    pen_lock_drop(&coll->lock);
}

/* PEN_ERR_AGAIN: not all have notified. */
static pen_status named_finish(pen_job *job, const char *who, int name, int flags)
{
    pen_coll *coll = job->coll;
    pen_meet *meet = &coll->meets[PEN_MEET_NAMED];
    pen_status status = PEN_ERR_AGAIN;
    pen_lock_take(&coll->lock);
    if (!coll->notified)
        pen_job_fatal(job, "%s was called without gasnet_barrier_notify before it", who);
    pen_meet_look(meet);
    if (!meet->underway) {
        coll->notified = false;
        coll->last_result = meet->result;
        status = pen_word_judge(meet->result, name, flags);
    }
    pen_lock_drop(&coll->lock);
    return status;
}

pen_status pen_barrier_wait(pen_job *job, int name, int flags)
{
    pen_wait what = pen_wait_for(PEN_CALL_BARRIER_WAIT, PEN_AWAITED_NAMED, PEN_WAIT_NOBODY,
                                 &job->coll->meets[PEN_MEET_NAMED]);
    pen_waiter waiter = pen_waiter_for(&job->progress, true, &what);
    pen_status status;
    while ((status = named_finish(job, "gasnet_barrier_wait", name, flags)) == PEN_ERR_AGAIN)
        pen_wait_step(&waiter);
    pen_wait_end(&waiter);
    return status;
}

pen_status pen_barrier_try(pen_job *job, int name, int flags)
{
    pen_status status = named_finish(job, "gasnet_barrier_try", name, flags);
    if (status != PEN_ERR_AGAIN)
        return status;
    (void)pen_progress_poll(&job->progress);
    return named_finish(job, "gasnet_barrier_try", name, flags);
}

bool pen_barrier_is_notified(pen_job *job)
{
    pen_coll *coll = job->coll;
    pen_lock_take(&coll->lock);
    bool notified = coll->notified;
    pen_lock_drop(&coll->lock);
    return notified;
}

bool pen_barrier_result(pen_job *job, int *name_out)
{
    pen_coll *coll = job->coll;
    pen_lock_take(&coll->lock);
    uint64_t result = coll->last_result;
    pen_lock_drop(&coll->lock);
    return pen_word_name(result, name_out);
}

/* ---- progress
 * ------------------------------------------------------------------------------------------------
 */

static unsigned coll_poll(void *ctx)
{
    pen_coll *coll = ctx;
    pen_meet *named = &coll->meets[PEN_MEET_NAMED];
    if (!pen_lock_try(&coll->lock))
        return 0;
    unsigned ended = 0;
    if (named->underway) {
        pen_meet_look(named);
        ended = !named->underway;
    }
    ended += plain_advance(coll);
    ended += swept_advance(coll);
    if (coll->busy != NULL)
        ended += pen_shared_poll(coll);
    if (coll->stalled != NULL)
        ended += pen_coll_run_stalled(coll);
    pen_lock_drop(&coll->lock);
    return ended;
}

static void handle_barrier(pen_token *token, const int32_t *args, unsigned arg_count, void *body,
                           uint32_t body_len)
{
    (void)body;
    pen_job *job = token->job;
    pen_coll *coll = job->coll;
    bool fits = arg_count == PEN_MEET_ARGS && body_len == 0 && (uint32_t)args[0] < PEN_MEETS;
    if (fits) {
        pen_meet *meet = &coll->meets[args[0]];
        uint64_t content = (uint64_t)(uint32_t)args[3] << 32 | (uint32_t)args[4];
        pen_lock_take(&coll->lock);
        fits = meet->way == PEN_MEET_BY_MESSAGES &&
               pen_dissemination_receive(meet, token->from, (uint32_t)args[1], (uint32_t)args[2],
                                         content);
        if (fits)
            (void)plain_advance(coll);
        pen_lock_drop(&coll->lock);
    }
    if (!fits)
        pen_am_drop(job);
}

/* ---- open and close -------------------------------------------------------------------------- */

const pen_knob pen_coll_knobs[] = {
    { "PENSTOCK_BARRIER", PEN_KNOB_STRING, "auto", offsetof(pen_coll_config, barrier),
      "How barriers meet: flags (memory the ranks share), messages, or auto (flags where all ranks "
      "share a host)." },
    { "PENSTOCK_COLL", PEN_KNOB_STRING, "auto", offsetof(pen_coll_config, coll),
      "How other collectives move data: memory (that the ranks share), messages, or auto (memory "
      "where all members share a host); the same on all ranks." },
    { "PENSTOCK_COLL_CMA", PEN_KNOB_BOOL, "yes", offsetof(pen_coll_config, cma),
      "Whether collectives through memory may read long buffers straight from another rank." },
    { .name = NULL },
};

static const char *lookup(void *ctx, const char *name) { return pen_boot_getenv(ctx, name); }

/* Do all ranks see the same flag lines? */
static bool lines_shared(const pen_job *job)
{
    const pen_host_page *page = job->boot.page;
    if (page == NULL || page->lines_off == 0 || page->size != job->size)
        return false;
    for (uint32_t rank = 0; rank < job->size; rank++) {
        if (rank != job->rank && !job->routes[rank].same_host)
            return false;
    }
    return true;
}

/* Reads a knob with the values auto, messages and one more. Sets *out to true for the latter. */
static pen_status shared_choose(pen_job *job, const char *name, const char *value,
                                const char *other, bool *out)
{
    bool shared = lines_shared(job);
    if (strcasecmp(value, "auto") == 0) {
        *out = shared;
    } else if (strcasecmp(value, "messages") == 0) {
        *out = false;
    } else if (strcasecmp(value, other) != 0) {
        pen_log_error(&job->log, "%s: \"%s\" is not a valid value; use auto, %s or messages", name,
                      value, other);
        return PEN_ERR_ARGUMENT;
    } else if (!shared) {
        pen_log_error(&job->log, "%s=%s: not all ranks share memory; use auto or messages", name,
                      other);
        return PEN_ERR_UNUSABLE;
    } else {
        *out = true;
    }
    return PEN_OK;
}

/* All ranks begin with their first share. */
static pen_status world_share(pen_job *job)
{
    pen_coll_offer mine;
    pen_coll_offer *offers = pen_job_calloc(job, job->size, sizeof *offers, "the collectives");
    if (offers == NULL)
        return PEN_ERR_MEMORY;
    pen_coll_offer_make(job, &mine);
    for (uint32_t rank = 0; rank < job->size; rank++)
        offers[rank] = mine;
    pen_status status = pen_coll_team_share(&job->world, offers);
    free(offers);
    return status;
}

/* Allocates the tables. On failure the caller closes what exists. */
static pen_status open_parts(pen_job *job, const pen_coll_config *config)
{
    pen_coll *coll = job->coll;
    bool by_flags;
    pen_status status = shared_choose(job, "PENSTOCK_BARRIER", config->barrier, "flags", &by_flags);
    if (status == PEN_OK)
        status = shared_choose(job, "PENSTOCK_COLL", config->coll, "memory", &coll->shares_usable);
    if (status != PEN_OK)
        return status;
    coll->shares_usable &= job->size > 1 && job->boot.page->shares_off != 0;
    coll->cma_allowed = config->cma;
    for (uint32_t i = 0; i < PEN_MEETS; i++) {
        coll->meets[i] = (pen_meet){ .job = job,
                                     .index = i,
                                     .way = by_flags ? PEN_MEET_BY_FLAGS : PEN_MEET_BY_MESSAGES };
        if (by_flags)
            coll->meets[i].lines = job->boot.arena + job->boot.page->lines_off;
    }
    status = pen_coll_team_open(&job->world);
    if (status == PEN_OK && coll->shares_usable)
        status = world_share(job);
    return status;
}

pen_status pen_coll_open(pen_job *job)
{
    pen_coll_config config = { 0 };
    pen_status status = pen_knob_read(&job->log, pen_coll_knobs, &config, lookup, &job->boot);
    if (status != PEN_OK)
        return status;
    pen_coll *coll = pen_job_calloc(job, 1, sizeof *coll, "the collectives");
    if (coll == NULL)
        return PEN_ERR_MEMORY;
    coll->job = job;
    pen_host_rank *row = pen_host_row(job->boot.page, job->rank);
    coll->entered = row != NULL ? row->wait.entered : coll->own_entered;
    coll->busy_end = &coll->busy;
    pen_lock_init(&coll->lock, job->concurrency);
    job->coll = coll;
    status = open_parts(job, &config);
    if (status != PEN_OK) {
        pen_coll_team_close(&job->world);
        free(coll);
        job->coll = NULL;
        return status;
    }
    pen_am_register_internal(job, PEN_AM_INT_BARRIER, handle_barrier);
    pen_coll_messages_open(job);
    pen_coll_explain_open(job);
    pen_progress_add_source(&job->progress, coll_poll, coll);
    return PEN_OK;
}

void pen_coll_close(pen_job *job)
{
    if (job->coll == NULL)
        return;
    pen_coll_team_close(&job->world);
    pen_coll_orphans_free(job->coll);
    free(job->coll->queue.items);
    free(job->coll->swept.items);
    free(job->coll);
    job->coll = NULL;
}
