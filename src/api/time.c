/* SPDX-License-Identifier: BSD-3-Clause */
/* time.c: see time.h. The rank's view of virtual time lasts as long as the process. */
#include "api/time.h"

#include "api/api.h"

#include "base/status.h"
#include "conduit/conduit.h"
#include "diag/log.h"
#include "job/job.h"
#include "knob/knob.h"
#include "os/os.h"
#include "os/turns.h"
#include "progress/progress.h"
#include "virtual/net.h"
#include "virtual/virtual.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A frame that waits for room is tried again after this many looks, since its link may refuse it
 * a number of times. */
enum { LOOKS_BETWEEN_TRIES = 16 };

static uint64_t next_try_ns(void)
{
    pen_virtual *time = pen_api_root.time;
    uint64_t look_ns = pen_virtual_net_machine(&time->net)->poll_empty;
    return pen_virtual_now_ns(time) + LOOKS_BETWEEN_TRIES * look_ns;
}

/* The time at which some link has to be polled. */
static uint64_t due_ns(const pen_progress *progress)
{
    bool waits = atomic_load_explicit(&progress->room_waits, memory_order_relaxed) != 0;
    uint64_t earliest_ns = PEN_VIRTUAL_NEVER;
    for (uint32_t i = 0; i < progress->port_count; i++) {
        pen_link *link = progress->ports[i].link;
        waits = waits ||
                atomic_load_explicit(&progress->ports[i].backlog.count, memory_order_relaxed) != 0;
        uint64_t link_ns = link->due != NULL ? link->due->due_ns(link) : PEN_VIRTUAL_NEVER;
        earliest_ns = link_ns < earliest_ns ? link_ns : earliest_ns;
    }
    uint64_t try_ns = waits ? next_try_ns() : PEN_VIRTUAL_NEVER;
    return try_ns < earliest_ns ? try_ns : earliest_ns;
}

static void turn_wait(void *ctx)
{
    const pen_job *job = ctx;
    pen_virtual_wait(pen_api_root.time, due_ns(&job->progress));
    if (pen_virtual_all_wait(pen_api_root.time) && job->progress.on_idle != NULL)
        job->progress.on_idle(job->progress.on_idle_ctx);
}

static void turn_wake(void *ctx)
{
    (void)ctx;
    pen_virtual_wake(pen_api_root.time);
}

static uint64_t time_now_ns(void *ctx) { return pen_virtual_now_ns(ctx); }

static pen_status refuse(pen_job *job, const char *why)
{
    pen_log_error(&job->log,
                  "cannot join virtual time: descriptor %d, which " PEN_VIRTUAL_VARIABLE
                  " named, is not what `penstock sim` has made: %s; do not set it by hand, and let "
                  "a wrapper between launcher and program leave descriptors open",
                  job->boot.world_fd, why);
    return PEN_ERR_PROTOCOL;
}

static pen_status join(pen_job *job)
{
    pen_virtual *time = calloc(1, sizeof *time);
    if (time == NULL) {
        pen_log_error(&job->log, "cannot join virtual time: calloc: %s; free some memory",
                      strerror(ENOMEM));
        return PEN_ERR_MEMORY;
    }
    pen_status status = pen_virtual_map(job->boot.world_fd, job->boot.rank, time);
    if (status != PEN_OK) {
        int error = errno;
        free(time);
        return refuse(job, status == PEN_ERR_SYSTEM ? strerror(error) : pen_status_text(status));
    }
    pen_virtual_begin(time);
    pen_api_root.time = time;
    (void)atexit(pen_api_time_end); /* runs after the handler that leaves the job */
    return PEN_OK;
}

pen_status pen_api_time_begin(pen_job *job)
{
    pen_root *root = &pen_api_root;
    if (job->boot.world_fd >= 0 && root->time == NULL) {
        pen_status status = join(job);
        if (status != PEN_OK)
            return status;
    }
    if (root->time == NULL)
        return PEN_OK;
    root->turns = (pen_turns){ .wait = turn_wait, .wake = turn_wake, .ctx = job };
    job->boot.turns = &root->turns;
    return PEN_OK;
}

pen_clock pen_api_time_clock(void)
{
    pen_virtual *time = pen_api_root.time;
    return time != NULL ? (pen_clock){ .now_ns = time_now_ns, .ctx = time } : pen_machine_clock;
}

bool pen_api_time_is_virtual(void)
{
    return pen_api_root.time != NULL || pen_knob_from_process(NULL, PEN_VIRTUAL_VARIABLE) != NULL;
}

void pen_api_time_note_end(bool for_all)
{
    if (pen_api_root.time != NULL)
        pen_virtual_note_end(pen_api_root.time, for_all);
}

void pen_api_time_end(void)
{
    if (pen_api_root.time != NULL)
        pen_virtual_end(pen_api_root.time);
}
