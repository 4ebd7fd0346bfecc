/* SPDX-License-Identifier: BSD-3-Clause */
/* coll_shared.c: see shared.h: a rank's shares, and a team's queue and turns. */
#include "coll/shared.h"

#include "base/compiler.h"
#include "boot/host_page.h"
#include "conduit/conduit.h"
#include "job/fatal.h"
#include "job/job.h"
#include "job/team.h"
#include "job/thread.h"
#include "os/lock.h"
#include "progress/progress.h"
#include "rma/event.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { TURN_FIRST = 1 };             /* memory that was never written holds turn word 0 */
#define TURN_MAX ((uint64_t)1 << 56) /* an offer with a higher turn is not valid */

static PEN_COLD _Noreturn void no_memory(pen_job *job)
{
    pen_job_fatal(job,
                  "cannot begin a collective: malloc: %s; keep fewer, or smaller ones, in flight "
                  "at once",
                  strerror(errno));
}

void *pen_shared_memory(const pen_shared *shared, size_t len)
{
    void *memory = aligned_alloc(PEN_CACHE_LINE, pen_align_up(len + 1, PEN_CACHE_LINE));
    if (memory == NULL)
        no_memory(shared->job);
    return memory;
}

/* ---- shares of a rank ------------------------------------------------------------------------ */

static char *share_of(const pen_job *job, uint32_t jobrank, uint32_t share_i)
{
    return job->boot.arena + job->boot.page->shares_off +
           ((size_t)(jobrank - job->boot.page->first) * PEN_HOST_SHARES + share_i) *
               PEN_HOST_SHARE_LEN;
}

bool pen_shared_offer(pen_job *job, pen_coll_offer *out)
{
    pen_coll *jobs = job->coll;
    *out = (pen_coll_offer){ 0 };
    if (!jobs->shares_usable || jobs->shares_taken == UINT64_MAX)
        return false;
    uint32_t share_i = (uint32_t)__builtin_ctzll(~jobs->shares_taken);
    jobs->shares_taken |= (uint64_t)1 << share_i;
    if (jobs->share_turns[share_i] < TURN_FIRST)
        jobs->share_turns[share_i] = TURN_FIRST;
    *out = (pen_coll_offer){ .share = share_i + 1, .turn = jobs->share_turns[share_i] };
    return true;
}

void pen_shared_withdraw(pen_job *job, const pen_coll_offer *offer)
{
    if (offer->share != 0)
        job->coll->shares_taken &= ~((uint64_t)1 << (offer->share - 1));
}

/* ---- a team's part --------------------------------------------------------------------------- */

static void shares_find(pen_shared *shared, const pen_coll_offer *offers)
{
    const pen_team *team = shared->coll->team;
    for (uint32_t rank = 0; rank < shared->size; rank++) {
        shared->shares[rank] = (pen_shared_share *)(void *)share_of(
            shared->job, pen_team_jobrank(team, rank), offers[rank].share - 1);
        if (offers[rank].turn > shared->base)
            shared->base = offers[rank].turn;
    }
    shared->mine = shared->shares[shared->rank];
    shared->share_i = offers[shared->rank].share - 1;
}

pen_shared *pen_shared_open(pen_coll_team *coll, const pen_coll_offer *offers)
{
    const pen_team *team = coll->team;
    size_t len = sizeof(pen_shared) + team->view.size * sizeof(pen_shared_share *);
    pen_shared *shared = pen_job_calloc(coll->job, 1, len, "a team's collectives");
    if (shared == NULL)
        return NULL;
    shared->coll = coll;
    shared->job = coll->job;
    shared->rank = team->view.rank;
    shared->size = team->view.size;
    shared->end = &shared->first;
    shared->pid = getpid();
    shares_find(shared, offers);
    return shared;
}

bool pen_shared_believable(const pen_team *team, const pen_coll_offer *offers)
{
    for (uint32_t rank = 0; rank < team->view.size; rank++)
        if (offers[rank].share == 0 || offers[rank].share > PEN_HOST_SHARES ||
            offers[rank].turn > TURN_MAX)
            return false;
    return team->view.size > 1;
}

static void op_free(pen_shared_op *op)
{
    free(op->temp);
    free(op->temp_out);
    free(op);
}

/* Removes the team from the list of those that polls run. */
static void take_out(pen_shared *shared)
{
    pen_coll *jobs = shared->job->coll;
    pen_shared **at = &jobs->busy;
    while (*at != shared)
        at = &(*at)->next_busy;
    *at = shared->next_busy;
    if (*at == NULL)
        jobs->busy_end = at;
    shared->busy = false;
    pen_progress_add_work(&shared->job->progress, -1);
}

void pen_shared_close(pen_shared *shared)
{
    pen_coll *jobs = shared->job->coll;
    if (shared->busy)
        take_out(shared);
    while (shared->first != NULL) {
        pen_shared_op *op = shared->first;
        shared->first = op->next;
        op_free(op);
    }
    while (shared->free != NULL) {
        pen_shared_op *op = shared->free;
        shared->free = op->next;
        op_free(op);
    }
    jobs->share_turns[shared->share_i] = shared->base + shared->turn + PEN_SHARED_SLOTS;
    jobs->shares_taken &= ~((uint64_t)1 << shared->share_i);
    free(shared->blocks);
    free(shared);
}

void pen_shared_give_back(const pen_shared *shared)
{
    if (shared->used_body) /* makes a hole in the arena's file; a failure only keeps the pages */
        (void)madvise((char *)shared->mine + PEN_SHARED_BODY_OFF, PEN_SHARED_BODY_LEN, MADV_REMOVE);
}

/* ---- turns ----------------------------------------------------------------------------------- */

/* After turns of little data, progress is reported for several at once, because each report
 * takes the line away from the peers that have read it. */
static void turn_end(pen_shared *shared, const pen_shared_op *op)
{
    enum { TELL_EVERY = 8, TELL_LEN_MAX = 4096 }; /* turns; bytes of all members */
    /* Even while peers have not been told what is free, there is room for the longest piece,
     * wherever it begins. */
    _Static_assert(PEN_SHARED_SLOTS - TELL_EVERY > 0 &&
                       TELL_EVERY * (TELL_LEN_MAX + PEN_CACHE_LINE) + 2 * PEN_SHARED_PIECE_MAX <=
                           PEN_SHARED_BODY_LEN,
                   "a member always finds room without a report");
    bool is_small = !op->direct && op->section_len <= TELL_LEN_MAX / shared->size;
    shared->body_end[shared->turn % PEN_SHARED_SLOTS] = shared->body_head;
    shared->turn++;
    if (!is_small || shared->turn % TELL_EVERY == 0)
        pen_shared_tell(shared, 0);
}

static void section_begin(const pen_shared *shared, pen_shared_op *op)
{
    const pen_shared_act *act = &op->acts[op->act_i];
    size_t left = op->len - op->offset;
    op->direct = act->wants_direct && shared->cma;
    op->section_len =
        op->direct || act->section_max == 0 || left < act->section_max ? left : act->section_max;
}

/* Called under the claim. Returns true if the op is complete. */
static bool op_run(pen_shared *shared, pen_shared_op *op)
{
    while (op->act_i < op->act_count) {
        if (op->step == 0)
            section_begin(shared, op);
        if (!op->acts[op->act_i].step(shared, op))
            return false;
        turn_end(shared, op);
        op->step = op->peers = op->looks = 0;
        op->offset += op->section_len;
        if (op->offset == op->len) {
            op->act_i++;
            op->offset = 0;
        }
    }
    return true;
}

static void wake_all(pen_shared *shared)
{
    const pen_host *host = &shared->job->host;
    const pen_team *team = shared->coll->team;
    shared->wake = false;
    for (uint32_t i = 0; i + 1 < shared->size; i++)
        host->wake(host->ctx, pen_team_jobrank(team, pen_shared_other(shared, i)));
}

/* ---- the queue (under the lock) -------------------------------------------------------------- */

pen_shared_op *pen_shared_op_new(pen_shared *shared)
{
    pen_shared_op *op = shared->free;
    if (pen_likely(op != NULL)) {
        shared->free = op->next;
    } else {
        op = calloc(1, sizeof *op);
        if (op == NULL)
            no_memory(shared->job);
    }
    op->next = NULL;
    op->event = NULL;
    op->act_count = op->act_i = 0;
    op->offset = 0;
    op->step = op->peers = op->looks = 0;
    return op;
}

static void op_end(pen_shared *shared)
{
    pen_shared_op *op = shared->first;
    shared->first = op->next;
    if (shared->first == NULL)
        shared->end = &shared->first;
    shared->ended++;
    pen_event *event = op->event;
    bool sweeps = op->sweeps;
    free(op->temp);
    free(op->temp_out);
    op->temp = op->temp_out = NULL;
    op->next = shared->free;
    shared->free = op;
    if (event != NULL && sweeps)
        pen_coll_finish_swept(shared->job->coll, event);
    else if (event != NULL)
        pen_event_finish(event);
}

/* Runs the queue from its front as far as possible. Returns how many collectives ended. */
static unsigned run(pen_shared *shared)
{
    pen_lock *lock = &shared->job->coll->lock;
    unsigned ended = 0;
    if (shared->claimed)
        return 0; /* the thread that runs the front continues with the next */
    shared->claimed = true;
    while (shared->first != NULL) {
        pen_lock_drop(lock);
        bool over = op_run(shared, shared->first);
        if (shared->wake)
            wake_all(shared);
        pen_lock_take(lock);
        if (!over)
            break;
        op_end(shared);
        ended++;
    }
    shared->claimed = false;
    return ended;
}

/* Appends the team to the list of those that polls run. */
static void set_busy(pen_shared *shared)
{
    pen_coll *jobs = shared->job->coll;
    if (shared->busy)
        return;
    shared->busy = true;
    shared->next_busy = NULL;
    *jobs->busy_end = shared;
    jobs->busy_end = &shared->next_busy;
    pen_progress_add_work(&shared->job->progress, 1);
}

unsigned pen_shared_poll(pen_coll *jobs)
{
    unsigned ended = 0, count = 0;
    for (const pen_shared *shared = jobs->busy; shared != NULL; shared = shared->next_busy)
        count++;
    /* While the lock is dropped, other teams may enter and leave the list. */
    while (count-- > 0 && jobs->busy != NULL) {
        pen_shared *shared = jobs->busy;
        if (shared->next_busy == NULL) { /* the common case: a team alone in the list stays there
                                          * until it is idle */
            ended += run(shared);
            if (shared->busy && shared->first == NULL)
                take_out(shared);
            continue;
        }
        take_out(shared);
        ended += run(shared);
        if (shared->first != NULL)
            set_busy(shared);
    }
    return ended;
}

static uint32_t history_with(uint32_t history, const pen_coll_what *what)
{
    uint64_t mix = what->len * 0x9e3779b97f4a7c15u ^
                   ((uint64_t)what->root << 32 | what->kind) * 0xc2b2ae3d27d4eb4fu;
    return (history ^ (uint32_t)(mix >> 32) ^ (uint32_t)mix) * 0x85ebca6bu + 1;
}

void pen_shared_count(pen_shared *shared, const pen_coll_what *what)
{
    shared->history = history_with(shared->history, what);
}

pen_event *pen_shared_begin(pen_thread *thread, pen_shared *shared, pen_shared_op *op)
{
    op->what.number = pen_coll_count(shared->coll, &op->what);
    shared->history = op->history = history_with(shared->history, &op->what);
    pen_shared_plan(shared, op);
    *shared->end = op;
    shared->end = &op->next;
    uint64_t number = shared->begun++;
    pen_event *event = PEN_EVENT_DONE;
    if (op->sweeps) /* it cannot end inside this call */
        event = op->event = pen_event_new(thread);
    (void)run(shared);
    if (shared->ended > number)
        return event;
    if (event == PEN_EVENT_DONE)
        event = op->event = pen_event_new(thread);
    set_busy(shared);
    return event;
}
