/* SPDX-License-Identifier: BSD-3-Clause */
/* system.c: error names, the environment, near ranks, and threads. */
#include "api/api.h"

#include "base/status.h"
#include "boot/boot.h"
#include "diag/log.h"
#include "job/fatal.h"
#include "job/job.h"
#include "job/thread.h"
#include "pen_config.h"

#include <gasnetex.h>
#include <pthread.h>
#include <string.h>

/* ---- errors --------------------------------------------------------------------------------- */

#define ERROR_LIST(X)                                                           \
    X(GASNET_OK, "no error")                                                    \
    X(GASNET_ERR_NOT_INIT, "the job has not been started, or has been already") \
    X(GASNET_ERR_RESOURCE, "memory or another resource is short")               \
    X(GASNET_ERR_BAD_ARG, "an argument is wrong")                               \
    X(GASNET_ERR_NOT_READY, "not done yet")                                     \
    X(GASNET_ERR_BARRIER_MISMATCH, "ranks named different barriers")

const char *gasnet_ErrorName(int code)
{
    switch (code) {
#define ERROR_NAME(error, text) \
    case error:                 \
        return #error;
        ERROR_LIST(ERROR_NAME)
#undef ERROR_NAME
    default:
        return "no recognized GASNet error";
    }
}

const char *gasnet_ErrorDesc(int code)
{
    switch (code) {
#define ERROR_DESC(error, text) \
    case error:                 \
        return text;
        ERROR_LIST(ERROR_DESC)
#undef ERROR_DESC
    default:
        return "no description available";
    }
}

/* relaxed: a preference; no other data depends on it */
int gex_System_GetVerboseErrors(void)
{
    return atomic_load_explicit(&pen_api_root.verbose_errors, memory_order_relaxed);
}

void gex_System_SetVerboseErrors(int enable)
{
    atomic_store_explicit(&pen_api_root.verbose_errors, enable != 0, memory_order_relaxed);
}

/* ---- environment ---------------------------------------------------------------------------- */

char *gasnet_getenv(const char *name)
{
    const pen_job *job = pen_api_job("gasnet_getenv");
    if (PEN_CHECKED)
        pen_api_check_context("gasnet_getenv");
    /* C clients expect the type of getenv; they do not write to the string. */
    return name == NULL ? NULL : (char *)(uintptr_t)pen_boot_getenv(&job->boot, name);
}

/* ---- who is near ---------------------------------------------------------------------------- */

/* Finds the neighbourhoods. Either all ranks of a host reach each other through memory, or no two
 * do: then each is a neighbourhood of its own. */
static gex_Rank_t nbrhd_of(const pen_job *job, uint32_t rank)
{
    return pen_api_root.nbrhd_count == pen_api_root.host_count ? pen_boot_host_of(&job->boot, rank)
                                                               : rank;
}

void gex_System_QueryNbrhdInfo(gex_RankInfo_t **info, gex_Rank_t *count, gex_Rank_t *mine)
{
    (void)pen_api_job("gex_System_QueryNbrhdInfo");
    if (info != NULL)
        *info = pen_api_root.nbrhd;
    if (count != NULL)
        *count = pen_api_root.nbrhd_count;
    if (mine != NULL)
        *mine = pen_api_root.nbrhd_mine;
}

void gex_System_QueryHostInfo(gex_RankInfo_t **info, gex_Rank_t *count, gex_Rank_t *mine)
{
    (void)pen_api_job("gex_System_QueryHostInfo");
    if (info != NULL)
        *info = pen_api_root.nbrhd + pen_api_root.nbrhd_count;
    if (count != NULL)
        *count = pen_api_root.host_count;
    if (mine != NULL)
        *mine = pen_api_root.host_mine;
}

void gex_System_QueryMyPosition(gex_Rank_t *nbrhd_count, gex_Rank_t *nbrhd_i,
                                gex_Rank_t *host_count, gex_Rank_t *host_i)
{
    const pen_job *job = pen_api_job("gex_System_QueryMyPosition");
    if (nbrhd_count != NULL)
        *nbrhd_count = nbrhd_of(job, job->size - 1) + 1;
    if (nbrhd_i != NULL)
        *nbrhd_i = nbrhd_of(job, job->rank);
    if (host_count != NULL)
        *host_count = job->boot.page->host_count;
    if (host_i != NULL)
        *host_i = pen_boot_host_of(&job->boot, job->rank);
}

int gasnet_getNodeInfo(gasnet_nodeinfo_t *table, int count)
{
    static const char call[] = "gasnet_getNodeInfo";
    const pen_job *job = pen_api_root.job;
    if (job == NULL)
        return pen_api_refuse(GASNET_ERR_NOT_INIT, call, "called before the job was started");
    if (count < 0 || (uint32_t)count > job->size || (table == NULL && count != 0))
        return pen_api_refuse(GASNET_ERR_BAD_ARG, call, "a table of %d rows for %u ranks", count,
                              job->size);
    for (int i = 0; i < count; i++)
        table[i] = (gasnet_nodeinfo_t){ .host = pen_boot_host_of(&job->boot, (uint32_t)i),
                                        .supernode = nbrhd_of(job, (uint32_t)i),
                                        .offset = (uintptr_t)job->mem.remote[0][i].delta };
    return GASNET_OK;
}

/* ---- threads -------------------------------------------------------------------------------- */

uint64_t gex_System_QueryMaxThreads(void)
{
    const pen_job *job = pen_api_job("gex_System_QueryMaxThreads");
    return job->mode == PEN_MODE_SEQ ? 1 : job->threads_max;
}

int gex_System_QueryHiddenAMConcurrencyLevel(void) { return GASNET_HIDDEN_AM_CONCURRENCY_LEVEL; }

int gex_System_QueryProgressThreads(gex_Client_t client, unsigned int *count,
                                    const gex_ProgressThreadInfo_t **info, gex_Flags_t flags)
{
    static const char call[] = "gex_System_QueryProgressThreads";
    if (client == NULL || count == NULL || info == NULL || flags != 0)
        return pen_api_refuse(GASNET_ERR_BAD_ARG, call, "%s",
                              flags != 0 ? "flags must be 0" : "no argument may be NULL");
    if ((client->flags & GEX_FLAG_DEFER_THREADS) == 0)
        return pen_api_refuse(GASNET_ERR_RESOURCE, call,
                              "the client was made without GEX_FLAG_DEFER_THREADS");
    if (pen_api_root.threads_asked)
        return pen_api_refuse(GASNET_ERR_RESOURCE, call, "called twice");
    pen_api_root.threads_asked = true;
    *count = 0;
    *info = NULL;
    return GASNET_OK;
}

static void thread_gone(void *state)
{
    if (PEN_CHECKED)
        pen_api_check_thread_end(state);
    pen_api_here = NULL;
    pen_job_thread_close(state);
}

pen_thread *pen_api_enter_thread(pen_job *job)
{
    pen_thread *thread = pen_job_thread_open(job);
    if (thread == NULL)
        pen_job_fatal(job, "more than %u threads use the library at once; raise GASNET_MAX_THREADS",
                      job->threads_max);
    if (pen_api_root.time != NULL && pen_api_me() != pen_api_root.starter)
        pen_job_fatal(job, "a second thread uses the library under `penstock sim`, where only one "
                           "thread of each rank can; run the program with one thread");
    pen_api_here = thread;
    pen_api_here_era = pen_api_root.era;
    /* If this fails, the slot is not returned when the thread ends; that does not justify ending
     * the job. */
    (void)pthread_setspecific(pen_api_root.thread_key, thread);
    return thread;
}

void pen_api_forget_threads(const pen_job *job)
{
    pen_api_root.era++;
    if (job->mode == PEN_MODE_PAR)
        (void)pthread_key_delete(pen_api_root.thread_key);
}

pen_status pen_api_watch_threads(pen_job *job)
{
    int error = pthread_key_create(&pen_api_root.thread_key, thread_gone);
    if (error == 0)
        return PEN_OK;
    pen_log_error(
        &job->log,
        "cannot watch threads: pthread_key_create: %s; the program, or a library it uses, "
        "has too many keys",
        strerror(error));
    return PEN_ERR_RESOURCE;
}
