/* SPDX-License-Identifier: BSD-3-Clause */
/* alloc.c: memory for a job's tables, and the message if there is no memory. */
#include "job/fatal.h"
#include "job/job.h"

#include "base/status.h"
#include "diag/log.h"

#include <stdlib.h>

pen_status pen_job_no_memory(pen_job *job, const char *what, const char *call)
{
    pen_log_error(&job->log, "cannot make %s for %u ranks: %s: %m; start fewer ranks", what,
                  job->size, call);
    return PEN_ERR_MEMORY;
}

void *pen_job_calloc(pen_job *job, size_t count, size_t len, const char *what)
{
    void *memory = calloc(count, len);
    if (memory == NULL)
        (void)pen_job_no_memory(job, what, "calloc");
    return memory;
}
