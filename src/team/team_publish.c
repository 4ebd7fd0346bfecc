/* SPDX-License-Identifier: BSD-3-Clause */
/* team_publish.c: publishes the segments of any number of endpoints within a team. A first
 * all-gather tells how many descriptions each member has, a second brings them. All members return
 * after all have entered, because each needs the part of every member. */
#include "base/compiler.h"
#include "base/status.h"
#include "boot/wait_state.h"
#include "coll/coll.h"
#include "diag/log.h"
#include "job/endpoint.h"
#include "job/fatal.h"
#include "job/job.h"
#include "job/publish.h"
#include "job/team.h"
#include "job/thread.h"
#include "mem/mem.h"
#include "rma/event.h"
#include "team/team.h"

#include <stdlib.h>
#include <string.h>

typedef struct publish_head { /* header of a member's descriptions */
    uint32_t count;
    uint32_t failed; /* the member could not publish its segments, and has printed the reason */
} publish_head;

typedef struct publish_call {
    pen_thread *thread;
    pen_team *team;
    size_t told_len; /* length of one description */
    uint32_t most;   /* the most descriptions of a member; shorter lists are padded */
    unsigned char *mine, *all;
} publish_call;

static void gather(const publish_call *call, void *all, const void *mine, size_t len)
{
    pen_event_wait(call->thread->job,
                   pen_coll_gather_nb(call->thread, call->team, PEN_COLL_ALL, all, mine, len),
                   PEN_CALL_PUBLISH);
}

/* Finds the most descriptions of a member. Every member reaches the same result. */
static pen_status compare(publish_call *call, const publish_head *heads)
{
    pen_job *job = call->thread->job;
    for (uint32_t rank = 0; rank < call->team->view.size; rank++) {
        uint32_t jobrank = pen_team_jobrank(call->team, rank);
        if (heads[rank].failed != 0) {
            if (jobrank != job->rank)
                pen_log_error(&job->log,
                              "cannot publish segments: rank %u could not publish its own; see "
                              "its message",
                              jobrank);
            return PEN_ERR_RESOURCE;
        }
        if (heads[rank].count > PEN_ENDPOINTS_MAX) {
            pen_log_error(&job->log, "rank %u publishes %u endpoints: %s; %s", jobrank,
                          heads[rank].count, pen_status_text(PEN_ERR_PROTOCOL),
                          pen_status_remedy(PEN_ERR_PROTOCOL));
            return PEN_ERR_PROTOCOL;
        }
        if (heads[rank].count > call->most)
            call->most = heads[rank].count;
    }
    return PEN_OK;
}

static pen_status tell(publish_call *call, pen_endpoint *const *endpoints, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        pen_told told;
        pen_status status =
            pen_job_tell(call->thread->job, endpoints[i]->index, endpoints[i]->segment, &told);
        if (status != PEN_OK)
            return status;
        memcpy(call->mine + i * call->told_len, &told, call->told_len);
    }
    return PEN_OK;
}

static pen_status believe(const publish_call *call, const publish_head *heads)
{
    pen_status status = PEN_OK;
    for (uint32_t rank = 0; rank < call->team->view.size; rank++)
        for (uint32_t i = 0; status == PEN_OK && i < heads[rank].count; i++) {
            pen_told told = { 0 };
            memcpy(&told, call->all + ((size_t)rank * call->most + i) * call->told_len,
                   call->told_len);
            status = pen_job_believe(call->thread->job, pen_team_jobrank(call->team, rank), &told);
        }
    return status;
}

static pen_status publish(publish_call *call, publish_head *heads, pen_endpoint *const *endpoints,
                          size_t count)
{
    pen_job *job = call->thread->job;
    publish_head head = { .count = (uint32_t)count,
                          .failed = tell(call, endpoints, count) != PEN_OK };
    gather(call, heads, &head, sizeof head);
    pen_status status = compare(call, heads);
    if (status != PEN_OK || call->most == 0)
        return status;
    size_t part_len = call->most * call->told_len;
    /* All members take part from here on, so a lack of memory ends the job. */
    call->all = calloc(call->team->view.size, part_len);
    if (call->all == NULL)
        pen_job_fatal(
            job,
            "cannot publish segments: no memory for the descriptions by %u ranks, of %u endpoints "
            "each; publish fewer at once",
            call->team->view.size, call->most);
    gather(call, call->all, call->mine, part_len);
    status = believe(call, heads);
    free(call->all);
    return status == PEN_OK ? pen_job_show(job) : status;
}

pen_status pen_team_publish(pen_thread *thread, pen_team *team, pen_endpoint *const *endpoints,
                            size_t count)
{
    pen_job *job = thread->job;
    PEN_INVARIANT(count <= PEN_ENDPOINTS_MAX);
    publish_call call = { .thread = thread, .team = team, .told_len = pen_job_told_len(job) };
    publish_head *heads = calloc(team->view.size, sizeof *heads);
    call.mine = calloc(PEN_ENDPOINTS_MAX, call.told_len);
    if (heads == NULL || call.mine == NULL)
        pen_job_fatal(
            job, "cannot publish segments: no memory for the descriptions by %u ranks; start fewer",
            team->view.size);
    pen_status status = publish(&call, heads, endpoints, count);
    free(call.mine);
    free(heads);
    return status;
}
