/* SPDX-License-Identifier: BSD-3-Clause */
/* stats.c: counters for programs that report on themselves. The library's own list
 * (diag/counters.h) may change with every release; the struct of <penstock/stats.h> only grows. */
#include "api/api.h"

#include "boot/host_page.h"
#include "conduit/conduit.h"
#include "diag/counters.h"
#include "job/job.h"

#include <gasnetex.h>
#include <penstock/stats.h>
#include <sched.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

int pen_stats_read(pen_stats *out, size_t len)
{
    const pen_job *job = pen_api_root.job;
    if (job == NULL)
        return pen_api_refuse(GASNET_ERR_NOT_INIT, "pen_stats_read", "the job has not started");
    const pen_counters *counters = &job->counters;
    const pen_stats stats = {
        .am_sent_shm = counters->am_sent_shm + counters->am_self,
        .am_sent_net = counters->am_sent_net,
        .am_handled = counters->am_handled + counters->am_self,
        .put_shm = counters->put_shm,
        .put_net = counters->put_net,
        .get_shm = counters->get_shm,
        .get_net = counters->get_net,
    };
    if (len > sizeof(stats)) { /* a counter of a later release stays zero */
        memset(out, 0, len);
        len = sizeof(stats);
    }
    memcpy(out, &stats, len);
    return GASNET_OK;
}

/* Returns true and the counters. A link refuses while another thread has its lock, which may have
 * lost its processor: so first yields, then naps of 100 microseconds, for about a second. */
static bool read_peer(pen_job *job, uint32_t jobrank, pen_peer_counters *out)
{
    enum { YIELDS = 1000, NAPS = 10000 };
    const struct timespec nap = { .tv_nsec = 100000 };
    pen_link *link = job->routes[jobrank].port->link;
    for (unsigned i = 0; link->count != NULL && jobrank != job->rank && i < YIELDS + NAPS; i++) {
        if (link->count->peer(link, job->routes[jobrank].peer, out))
            return true;
        if (i < YIELDS)
            sched_yield();
        else
            (void)nanosleep(&nap, NULL);
    }
    return false;
}

int pen_peer_stats_read(uint32_t jobrank, pen_peer_stats *out, size_t len)
{
    pen_job *job = pen_api_root.job;
    pen_peer_counters counters;
    if (job == NULL)
        return pen_api_refuse(GASNET_ERR_NOT_INIT, "pen_peer_stats_read",
                              "the job has not started");
    if (jobrank >= job->size)
        return pen_api_refuse(GASNET_ERR_BAD_ARG, "pen_peer_stats_read",
                              "there is no rank %u in a job of %u", jobrank, job->size);
    if (!read_peer(job, jobrank, &counters))
        return GASNET_ERR_RESOURCE;
    pen_peer_stats stats;
#define STATS_PEER_COPY(name, text) stats.name = counters.name;
    PEN_PEER_COUNTER_LIST(STATS_PEER_COPY)
#undef STATS_PEER_COPY
    if (len > sizeof stats) {
        memset(out, 0, len);
        len = sizeof stats;
    }
    memcpy(out, &stats, len);
    return GASNET_OK;
}

const char *pen_conduit_name(void)
{
    return pen_api_root.job == NULL ? NULL : pen_api_root.job->conduit->name;
}

int pen_stdout_is_terminal(void)
{
    const pen_job *job = pen_api_root.job;
    const bool launcher_has = job != NULL && job->boot.page != NULL &&
                              (job->boot.page->flags & PEN_HOST_FLAG_TERMINAL) != 0;
    return launcher_has || isatty(STDOUT_FILENO);
}
