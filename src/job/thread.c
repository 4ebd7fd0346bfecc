/* SPDX-License-Identifier: BSD-3-Clause */
/* thread.c: the client threads of a rank, and the pairs they talk over. */
#include "job/job_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { PAIRS_STEP = 8 };

/* Called under the lock: a slot that nobody uses; NULL: there is none. */
static pen_thread *thread_idle(pen_job *job)
{
    for (pen_thread *thread = &job->first_thread; thread != NULL; thread = thread->next)
        if (!thread->in_use)
            return thread;
    return NULL;
}

/* Called under the lock. */
static pen_thread *thread_take(pen_job *job)
{
    if (job->thread_count >= job->threads_max)
        return NULL;
    pen_thread *thread = thread_idle(job);
    if (thread == NULL) {
        thread = calloc(1, sizeof *thread);
        if (thread == NULL)
            pen_job_fatal(job, "cannot take in thread %u: calloc: %s; use fewer threads",
                          job->thread_count, strerror(errno));
        thread->job = job;
        thread->next = job->first_thread.next;
        job->first_thread.next = thread;
    }
    thread->in_use = true;
    if (job->thread_count++ > 0) /* the first was counted when progress began */
        pen_progress_enter_thread(&job->progress);
    return thread;
}

pen_thread *pen_job_thread_open(pen_job *job)
{
    if (job->mode != PEN_MODE_PAR)
        return &job->first_thread;
    pen_lock_take(&job->threads_lock);
    pen_thread *thread = thread_take(job);
    pen_lock_drop(&job->threads_lock);
    return thread;
}

void pen_job_thread_close(pen_thread *thread)
{
    pen_job *job = thread->job;
    if (job->mode != PEN_MODE_PAR)
        return;
    pen_lock_take(&job->threads_lock);
    if (thread->in_use && --job->thread_count > 0)
        pen_progress_leave_thread(&job->progress);
    thread->in_use = false;
    thread->handler_depth = 0;
    pen_lock_drop(&job->threads_lock);
}

void pen_job_threads_close(pen_job *job)
{
    while (job->first_thread.next != NULL) {
        pen_thread *thread = job->first_thread.next;
        job->first_thread.next = thread->next;
        free(thread);
    }
    for (uint32_t i = 0; i < job->pair_count; i++)
        free(job->pairs[i]);
    free(job->pairs);
    job->pairs = NULL;
    job->pair_count = 0;
}

/* ---- pairs
 * --------------------------------------------------------------------------------------- */

static void pair_show(pen_team *pair, const pen_team_view *world)
{
    /* Only the primordial endpoint's segment is in the table. */
    pair->view.mapped = world->mapped;
    pair->view.mapped_first = world->mapped_first;
    /* release: pairs with nothing of ours but the client's own order between publishing and using
     */
    __atomic_store_n(&pair->view.mapped_count, pair->pair_index == 0 ? world->mapped_count : 0,
                     __ATOMIC_RELEASE);
}

void pen_job_show_mapped(pen_job *job, uint32_t first, uint32_t count)
{
    pen_lock_take(&job->threads_lock);
    job->world.view.mapped_first = first;
    __atomic_store_n(&job->world.view.mapped_count, count, __ATOMIC_RELEASE); /* as in pair_show */
    for (uint32_t i = 0; i < job->pair_count; i++)
        pair_show(job->pairs[i], &job->world.view);
    pen_lock_drop(&job->threads_lock);
}

/* Called under the lock. */
static pen_team *pair_make(pen_job *job, uint16_t remote_index)
{
    if (job->pair_count % PAIRS_STEP == 0) {
        pen_team **pairs = realloc(job->pairs, (job->pair_count + PAIRS_STEP) * sizeof(pen_team *));
        if (pairs == NULL) {
            (void)pen_job_no_memory(job, "the list of team pairs", "realloc");
            return NULL;
        }
        job->pairs = pairs;
    }
    pen_team *pair = pen_job_calloc(job, 1, sizeof *pair, "a team pair");
    if (pair == NULL)
        return NULL;
    pair->view.rank = job->rank; /* and size 0: a pair */
    pair->job = job;
    pair->stride = 1;
    pair->endpoint = &job->endpoint;
    pair->pair_index = remote_index;
    pair->is_pair = true;
    pair_show(pair, &job->world.view);
    job->pairs[job->pair_count++] = pair;
    return pair;
}

pen_team *pen_job_pair(pen_job *job, uint16_t local_index, uint16_t remote_index)
{
    if (local_index != job->endpoint.index)
        return NULL;
    pen_team *pair = NULL;
    pen_lock_take(&job->threads_lock);
    for (uint32_t i = 0; pair == NULL && i < job->pair_count; i++)
        if (job->pairs[i]->pair_index == remote_index)
            pair = job->pairs[i];
    if (pair == NULL)
        pair = pair_make(job, remote_index);
    pen_lock_drop(&job->threads_lock);
    return pair;
}
