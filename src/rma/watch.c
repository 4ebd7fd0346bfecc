/* SPDX-License-Identifier: BSD-3-Clause */
/* watch.c: checked builds: the records of outstanding operations. A record is made when a call
 * returns, and ended when the client synchronises it; if the job ends before, it is reported. */
#include "rma/watch.h"

#include "base/status.h"
#include "diag/log.h"
#include "job/checks.h"
#include "job/fatal.h"
#include "job/job.h"
#include "job/thread.h"
#include "mem/mem.h"
#include "os/lock.h"
#include "pen_config.h"
#include "rma/rma_internal.h"
#include "rma/watch_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static struct pen_watch *watch_of(const pen_thread *thread) { return thread->job->rma->watch; }

/* ---- records --------------------------------------------------------------------------------- */

static void list_add(pen_watched **list, pen_watched *watched)
{
    watched->next = *list;
    watched->link = list;
    if (*list != NULL)
        (*list)->link = &watched->next;
    *list = watched;
}

static void list_remove(pen_watched *watched)
{
    *watched->link = watched->next;
    if (watched->next != NULL)
        watched->next->link = watched->link;
}

static pen_watched *record_make(const pen_watch_call *call)
{
    pen_watched *watched = calloc(1, sizeof *watched);
    if (watched == NULL)
        pen_job_fatal(call->thread->job,
                      "%s: cannot note the operation: calloc: %s; synchronise more often",
                      call->name, strerror(errno));
    watched->call = *call;
    watched->count = 1;
    watched->source_kept = call->kind == PEN_WATCH_PUT && call->local != NULL && call->len != 0 &&
                           call->when != PEN_LOCAL_NOW;
    watch_of(call->thread)->record_count++;
    if (!call->repeats)
        pen_watch_use(watched);
    return watched;
}

/* Returns a hash by which the bytes of two puts are compared. Device memory is not read: all of it
 * counts as equal. */
static uint64_t content_of(const pen_watch_call *call)
{
    if (pen_mem_is_device(&call->thread->job->mem, call->local, call->len))
        return 0;
    return pen_watch_content_of(call->local, call->len);
}

/* Checks that the source is unchanged since the call. Called under the lock. */
static void source_end(pen_watched *watched)
{
    const pen_watch_call *call = &watched->call;
    pen_watch_unuse(watched, &watched->local);
    if (!watched->source_kept)
        return;
    watched->source_kept = false;
    if (content_of(call) != call->content &&
        (call->thread->job->checks_off & PEN_CHECK_SOURCE) == 0)
        pen_job_fatal(call->thread->job,
                      "%s: the source, %zu bytes at %p, was written before the operation was "
                      "synchronised; write it after that, or pass GEX_EVENT_NOW",
                      call->name, call->len, call->local);
}

static void record_free(pen_watched *watched)
{
    watch_of(watched->call.thread)->record_count--;
    source_end(watched);
    pen_watch_unuse(watched, &watched->remote);
    list_remove(watched);
    free(watched);
}

/* Regions do not nest, so this is the deepest list. */
static void record_end(pen_watched *watched)
{
    pen_watched *next;
    for (pen_watched *member = watched->members; member != NULL; member = next) {
        next = member->next;
        record_free(member);
    }
    record_free(watched);
}

/* ---- beginning ------------------------------------------------------------------------------- */

void pen_watch_begin(pen_watch_call *call)
{
    struct pen_watch *watch = watch_of(call->thread);
    if (call->kind == PEN_WATCH_PUT && call->local != NULL)
        call->content = content_of(call);
    pen_watched *same;
    pen_lock_take(&watch->lock);
    pen_watch_compare(call, &same);
    pen_lock_drop(&watch->lock);
    call->repeats = same != NULL;
}

pen_event *pen_watch_event(const pen_watch_call *call, pen_event *event, pen_event **leaf)
{
    if (event == PEN_EVENT_NO_OP)
        return event;
    if (event == PEN_EVENT_DONE) { /* the bytes have arrived, but the client does not know it yet */
        event = pen_event_new(call->thread);
        pen_event_finish(event);
    }
    if (leaf != NULL)
        *leaf = pen_event_leaf_handle(event);
    struct pen_watch *watch = watch_of(call->thread);
    pen_lock_take(&watch->lock);
    pen_watched *watched = record_make(call);
    list_add(&watch->explicit_list, watched);
    pen_event_root_of(event)->watched = watched;
    pen_lock_drop(&watch->lock);
    return event;
}

/* Finds a record that may stand for one more operation, or NULL. */
static pen_watched *record_for(pen_watched *list, const pen_watch_call *call, uint32_t category)
{
    for (; list != NULL; list = list->next)
        if (list->call.name == call->name && list->category == category)
            return list;
    return NULL;
}

void pen_watch_implicit(const pen_watch_call *call, uint32_t category)
{
    struct pen_watch *watch = watch_of(call->thread);
    pen_rma_thread *mine = pen_rma_thread_of(call->thread);
    pen_lock_take(&watch->lock);
    pen_watched **list = mine->region_open ? &mine->region_watched : &mine->watched;
    bool plain = call->repeats || call->len == 0 || watch->record_count >= WATCH_RECORDS_MAX;
    pen_watched *watched = plain ? record_for(*list, call, category) : NULL;
    if (watched != NULL) {
        watched->count++;
    } else {
        watched = record_make(call);
        watched->category = category;
        list_add(list, watched);
    }
    pen_lock_drop(&watch->lock);
}

/* ---- ending ---------------------------------------------------------------------------------- */

const pen_watched *pen_watch_of(const pen_event *event)
{
    return pen_event_root_of(event)->watched;
}

void pen_watch_check_thread(const char *call, const pen_thread *thread, const pen_event *event)
{
    const pen_watched *watched = pen_watch_of(event);
    if (watched != NULL && watched->call.of_one_thread && watched->call.thread != thread)
        pen_job_fatal(thread->job,
                      "%s: the handle %p was made by %s of another thread: GASNet-1 handles are "
                      "synchronised by the thread that made them; do so, or use gex_ calls",
                      call, (const void *)event, watched->call.name);
}

void pen_watch_end(pen_watched *watched)
{
    struct pen_watch *watch = watch_of(watched->call.thread);
    pen_lock_take(&watch->lock);
    record_end(watched);
    pen_lock_drop(&watch->lock);
}

void pen_watch_source_end(pen_watched *watched)
{
    struct pen_watch *watch = watch_of(watched->call.thread);
    pen_lock_take(&watch->lock);
    source_end(watched);
    for (pen_watched *member = watched->members; member != NULL; member = member->next)
        if (member->call.when == PEN_LOCAL_GROUP)
            source_end(member);
    pen_lock_drop(&watch->lock);
}

bool pen_watch_keeps_source(pen_watched *watched)
{
    struct pen_watch *watch = watch_of(watched->call.thread);
    pen_lock_take(&watch->lock);
    const bool keeps = watched->source_kept;
    pen_lock_drop(&watch->lock);
    return keeps;
}

void pen_watch_implicit_end(pen_thread *thread, uint32_t categories)
{
    struct pen_watch *watch = watch_of(thread);
    pen_lock_take(&watch->lock);
    pen_watched *next;
    for (pen_watched *watched = thread->rma->watched; watched != NULL; watched = next) {
        next = watched->next;
        if (watched->category & categories & ~(uint32_t)PEN_EC_LC)
            record_end(watched);
        else if ((categories & PEN_EC_LC) && watched->call.when == PEN_LOCAL_GROUP)
            source_end(watched);
    }
    pen_lock_drop(&watch->lock);
}

pen_event *pen_watch_region_end(pen_thread *thread, pen_event *event)
{
    pen_rma_thread *mine = thread->rma;
    const pen_watch_call call = { .name = "gex_NBI_EndAccessRegion",
                                  .thread = thread,
                                  .kind = PEN_WATCH_OTHER };
    if (mine->region_watched == NULL && event == PEN_EVENT_DONE)
        return event; /* the region had no operations */
    event = pen_watch_event(&call, event, NULL);
    struct pen_watch *watch = watch_of(thread);
    pen_watched *region = pen_event_root_of(event)->watched;
    pen_lock_take(&watch->lock);
    while (mine->region_watched != NULL) {
        pen_watched *member = mine->region_watched;
        list_remove(member);
        list_add(&region->members, member);
    }
    pen_lock_drop(&watch->lock);
    return event;
}

/* ---- the end of the job ---------------------------------------------------------------------- */

/* Operations of one call. */
typedef struct watch_tally {
    const pen_watched *last_begun; /* lists have the youngest first */
    uint32_t count;
} watch_tally;

enum { TALLIES_MAX = 32 }; /* number of calls; further ones are counted with the last */

static void tally_add(watch_tally *tallies, const pen_watched *watched)
{
    unsigned i = 0;
    while (i < TALLIES_MAX - 1 && tallies[i].last_begun != NULL &&
           strcmp(tallies[i].last_begun->call.name, watched->call.name) != 0)
        i++;
    tallies[i].last_begun = watched;
    tallies[i].count += watched->count;
}

/* Called under the lock: threads that add and remove records wait for it. */
static void tally_list(watch_tally *tallies, const pen_watched *list, const pen_thread *thread)
{
    for (; list != NULL; list = list->next)
        if (list->call.thread == thread || !list->call.thread->in_use)
            tally_add(tallies, list);
}

static unsigned tallies_print(pen_job *job, const watch_tally *tallies, const char *what)
{
    unsigned lines = 0;
    for (; lines < TALLIES_MAX && tallies[lines].last_begun != NULL; lines++) {
        const pen_watched *watched = tallies[lines].last_begun;
        const pen_watch_call *call = &watched->call;
        const char *mend = watched->category == 0 ? "wait for the event" : "call gex_NBI_Wait";
        if (call->kind == PEN_WATCH_OTHER)
            pen_log_error(&job->log, "%s: %" PRIu32 " not synchronised when %s; %s", call->name,
                          tallies[lines].count, what, mend);
        else
            pen_log_error(&job->log,
                          "%s: %" PRIu32 " not synchronised when %s (one of them: %zu bytes at %p "
                          "of rank %" PRIu32 "); %s",
                          call->name, tallies[lines].count, what, call->len, call->remote,
                          call->jobrank, mend);
    }
    return lines;
}

unsigned pen_watch_report_implicit(pen_thread *thread, const char *what)
{
    watch_tally tallies[TALLIES_MAX] = { 0 };
    struct pen_watch *watch = watch_of(thread);
    const pen_rma_thread *mine = thread->rma;
    if (mine == NULL)
        return 0;
    pen_lock_take(&watch->lock);
    tally_list(tallies, mine->watched, thread);
    tally_list(tallies, mine->region_watched, thread);
    unsigned lines = tallies_print(thread->job, tallies, what);
    pen_lock_drop(&watch->lock);
    if (!mine->region_open)
        return lines;
    pen_log_error(&thread->job->log,
                  "gex_NBI_BeginAccessRegion: the access region is open when %s; end it, and wait "
                  "for its event",
                  what);
    return lines + 1;
}

unsigned pen_watch_report(pen_thread *thread, const char *what)
{
    watch_tally tallies[TALLIES_MAX] = { 0 };
    struct pen_watch *watch = watch_of(thread);
    pen_lock_take(&watch->lock);
    tally_list(tallies, watch->explicit_list, thread);
    unsigned lines = tallies_print(thread->job, tallies, what);
    pen_lock_drop(&watch->lock);
    return lines + pen_watch_report_implicit(thread, what);
}

/* ---- open and close -------------------------------------------------------------------------- */

pen_status pen_watch_open(pen_job *job)
{
    if (!PEN_CHECKED)
        return PEN_OK;
    struct pen_watch *watch = pen_job_calloc(job, 1, sizeof *watch, "the watch of operations");
    if (watch == NULL)
        return PEN_ERR_MEMORY;
    watch->spaces = pen_job_calloc(job, job->size, sizeof *watch->spaces, "the watch of memory");
    if (watch->spaces == NULL) {
        free(watch);
        return PEN_ERR_MEMORY;
    }
    pen_lock_init(&watch->lock, job->concurrency);
    job->rma->watch = watch;
    return PEN_OK;
}

static void list_close(pen_watched *list)
{
    while (list != NULL) {
        pen_watched *watched = list;
        list = list->next;
        list_close(watched->members);
        free(watched);
    }
}

void pen_watch_close(pen_job *job)
{
    if (job->rma == NULL || job->rma->watch == NULL)
        return;
    list_close(job->rma->watch->explicit_list);
    for (pen_thread *thread = &job->first_thread; thread != NULL; thread = thread->next) {
        if (thread->rma == NULL)
            continue;
        list_close(thread->rma->watched);
        list_close(thread->rma->region_watched);
        thread->rma->watched = thread->rma->region_watched = NULL;
    }
    free(job->rma->watch->spaces);
    free(job->rma->watch);
    job->rma->watch = NULL;
}
