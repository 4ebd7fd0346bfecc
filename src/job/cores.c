/* SPDX-License-Identifier: BSD-3-Clause */
/* cores.c: keeps the ranks of a host on processors of their own. The kernel may start two ranks on
 * one processor, and as they yield to each other while they wait, it does not notice that both
 * could run. So each rank shows its processor in the host page. A rank that finds a lower rank on
 * its own one moves, once, and the kernel stays free to move it again. */
#include "job/job_internal.h"

#include "boot/host_page.h"
#include "job/job.h"
#include "os/os.h"

#include <stdatomic.h>
#include <unistd.h>

enum { RANKS_MAX = 1024 /* ranks of a host that are looked at */ };
#define AGAIN_NS 1000000u /* between two moves of a rank */

static bool has_processors(const pen_job *job)
{
    const pen_host_page *page = job->boot.page;
    return page != NULL && job->progress.turns == NULL && page->size > 1 &&
           page->size <= page->cores && page->size <= RANKS_MAX;
}

void pen_job_show_cpu(const pen_job *job)
{
    pen_host_rank *row = pen_host_row(job->boot.page, job->rank);
    if (row != NULL && has_processors(job))
        atomic_store_explicit(&row->cpu, (uint32_t)(pen_cpu_here() + 1), memory_order_relaxed);
}

static bool is_among(const int *cpus, unsigned count, int cpu)
{
    for (unsigned i = 0; i < count; i++)
        if (cpus[i] == cpu)
            return true;
    return false;
}

/* Counts the ranks below `end` that will move, too: each runs on the processor of a lower rank. */
static unsigned count_movers(const int *cpus, unsigned end)
{
    unsigned movers = 0;
    for (unsigned i = 0; i < end; i++)
        movers += cpus[i] >= 0 && is_among(cpus, i, cpus[i]);
    return movers;
}

/* Returns true for one thread of the rank, at most once in AGAIN_NS. */
static bool may_move(pen_job *job)
{
    uint64_t now_ns = job->clock.now_ns(job->clock.ctx);
    uint64_t next_ns = atomic_load_explicit(&job->apart_next_ns, memory_order_relaxed);
    return now_ns >= next_ns &&
           atomic_compare_exchange_strong_explicit(&job->apart_next_ns, &next_ns, now_ns + AGAIN_NS,
                                                   memory_order_relaxed, memory_order_relaxed);
}

void pen_job_keep_apart(pen_job *job)
{
    if (!has_processors(job) || !may_move(job))
        return;
    pen_host_page *page = job->boot.page;
    const unsigned self = job->rank - page->first;
    int cpus[RANKS_MAX] = { 0 };
    for (unsigned i = 0; i < page->size; i++)
        cpus[i] = (int)atomic_load_explicit(&page->ranks[i].cpu, memory_order_relaxed) - 1;
    if (cpus[self] < 0 || !is_among(cpus, self, cpus[self]))
        return;
    /* Ranks of one job have one parent. Jobs beside one another begin at different processors. */
    const unsigned choice = (unsigned)getppid() + count_movers(cpus, self);
    int moved = pen_cpu_move_apart(cpus, page->size, choice);
    if (moved >= 0)
        atomic_store_explicit(&page->ranks[self].cpu, (uint32_t)moved + 1, memory_order_relaxed);
}

void pen_job_core_shared(void *ctx)
{
    pen_job_show_cpu(ctx);
    pen_job_keep_apart(ctx);
}
