/* SPDX-License-Identifier: BSD-3-Clause */
/* settle.c: polls a whole job, and counts posted and delivered frames. */
#include "contract.h"

#include "conduit/conduit.h"
#include "os/os.h"

enum { SETTLE_SECONDS = 20 };

/* Polls as the engine does: a rank whose replies found no room takes no more requests. */
void job_poll_all(struct job *job)
{
    for (pen_peer self = 0; self < job->size; self++) {
        struct rank *rank = &job->ranks[self];
        unsigned lanes = PEN_LANES_ALL;
        if (job_flush(rank) != 0)
            lanes &= ~PEN_LANE_BIT(PEN_LANE_REQUEST);
        (void)job_poll(rank, lanes, 32);
    }
}

uint64_t job_posted(const struct job *job)
{
    uint64_t count = 0;
    for (pen_peer self = 0; self < job->size; self++)
        count += job->ranks[self].serial_count;
    return count;
}

uint64_t job_delivered(const struct job *job)
{
    uint64_t count = 0;
    for (pen_peer self = 0; self < job->size; self++)
        count += job->ranks[self].delivered_total;
    return count;
}

void job_settle(struct job *job)
{
    uint64_t until = pen_now_ns() + SETTLE_SECONDS * UINT64_C(1000000000);
    bool busy = true;
    while (busy) {
        job_poll_all(job);
        busy = job_delivered(job) < job_posted(job);
        for (pen_peer self = 0; self < job->size; self++)
            busy = busy || job->ranks[self].backlog_first != NULL;
        CHECK(!busy || pen_now_ns() < until);
    }
    for (unsigned i = 0; i < 8; i++)
        job_poll_all(job);
    CHECK(job_delivered(job) == job_posted(job));
}
