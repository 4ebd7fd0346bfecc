/* SPDX-License-Identifier: BSD-3-Clause */
/* thread.c: the client threads of a rank. */
#include "job/job_internal.h"

#include "job/fatal.h"
#include "os/lock.h"
#include "progress/progress.h"

#include <errno.h>
#include <penstock/abi.h>
#include <stdlib.h>
#include <string.h>

/* Called under the lock. Returns an unused slot, or NULL. */
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
}
