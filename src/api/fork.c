/* SPDX-License-Identifier: BSD-3-Clause */
/* fork.c: processes that a rank forks. They inherit the library's state, but are no ranks: their
 * end and their calls have no effect on the job. */
#include "api/api.h"

#include "base/status.h"
#include "diag/log.h"
#include "job/fatal.h"
#include "job/job.h"

#include <pthread.h>
#include <string.h>

static void in_child(void)
{
    pen_job *job = pen_api_root.job;
    if (job == NULL)
        return;
    pen_job_orphan(job);
    pen_api_root.parents_job = job;
    pen_api_root.job = NULL; /* calls that need a job look here and report themselves */
}

pen_status pen_api_watch_forks(pen_job *job)
{
    int error = pen_api_root.forks_watched ? 0 : pthread_atfork(NULL, NULL, in_child);
    if (error != 0) {
        pen_log_error(&job->log,
                      "cannot register a fork handler: pthread_atfork: %s; free some memory",
                      strerror(error));
        return PEN_ERR_MEMORY;
    }
    pen_api_root.forks_watched = true;
    return PEN_OK;
}
