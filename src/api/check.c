/* SPDX-License-Identifier: BSD-3-Clause */
/* check.c: refuses wrong arguments, and calls in the wrong place. */
#include "api/api.h"

#include "am/am.h"
#include "base/compiler.h"
#include "base/status.h"
#include "diag/log.h"
#include "job/checks.h"
#include "job/endpoint.h"
#include "job/fatal.h"
#include "job/job.h"
#include "job/team.h"
#include "job/thread.h"
#include "mem/mem.h"
#include "pen_config.h"
#include "rma/event.h"
#include "rma/watch.h"

#include <gasnetex.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { REASON_LEN_MAX = 384 };

/* Before the job starts there is no log to copy. */
static void say(const char *call, const char *reason)
{
    if (pen_api_root.job != NULL) {
        pen_log_error(&pen_api_root.job->log, "%s: %s", call, reason);
        return;
    }
    pen_log log;
    pen_log_init(&log, "");
    pen_log_error(&log, "%s: %s", call, reason);
}

int pen_api_refuse(int code, const char *call, const char *format, ...)
{
    /* relaxed: a preference; no other data depends on it */
    if (atomic_load_explicit(&pen_api_root.verbose_errors, memory_order_relaxed) == 0)
        return code;
    char reason[REASON_LEN_MAX];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(reason, sizeof reason, format, args);
    va_end(args);
    say(call, reason);
    return code;
}

void pen_api_misuse(const char *call, const char *format, ...)
{
    char reason[REASON_LEN_MAX];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(reason, sizeof reason, format, args);
    va_end(args);
    if (pen_api_root.job != NULL)
        pen_job_fatal(pen_api_root.job, "%s: %s", call, reason);
    say(call, reason);
    exit(EXIT_FAILURE);
}

void pen_api_no_job(const char *call)
{
    if (pen_api_root.parents_job != NULL)
        pen_job_refuse_orphan(pen_api_root.parents_job, call);
    pen_api_misuse(call, "called before the job was started by gasnet_init or gex_Client_Init");
}

pen_log pen_api_log(const pen_job *job)
{
    pen_log log = job->log;
    /* relaxed: a preference; no other data depends on it */
    if (atomic_load_explicit(&pen_api_root.verbose_errors, memory_order_relaxed) == 0)
        log.fd = -1;
    return log;
}

int pen_api_code(pen_status status)
{
    switch (status) {
    case PEN_OK:
        return GASNET_OK;
    case PEN_ERR_ARGUMENT:
        return GASNET_ERR_BAD_ARG;
    case PEN_ERR_AGAIN:
        return GASNET_ERR_NOT_READY;
    default:
        return GASNET_ERR_RESOURCE;
    }
}

bool pen_api_checks(uint32_t class)
{
    return PEN_CHECKED && (pen_api_root.job == NULL || (pen_api_root.job->checks_off & class) == 0);
}

/* SEQ and PARSYNC: checks that this thread may enter. */
static void check_thread(const pen_job *job, const char *call)
{
    if (job->mode == PEN_MODE_SEQ && pen_api_root.starter != NULL &&
        pen_api_root.starter != pen_api_me())
        pen_api_misuse(call, "called by another thread than the one that started the job, in a "
                             "program compiled for GASNET_SEQ; compile for GASNET_PAR or "
                             "GASNET_PARSYNC");
    const void *inside = atomic_load_explicit(&pen_api_root.inside, memory_order_relaxed);
    if (inside == NULL || inside == pen_api_me())
        return;
    const char *other = atomic_load_explicit(&pen_api_root.inside_call, memory_order_relaxed);
    pen_api_misuse(call,
                   "called while another thread is in %s, in a program compiled for "
                   "GASNET_PARSYNC; keep the threads apart, or compile for GASNET_PAR",
                   other);
}

void pen_api_occupy(pen_job *job, const char *call)
{
    if (job->mode != PEN_MODE_PARSYNC)
        return;
    atomic_store_explicit(&pen_api_root.inside_call, call, memory_order_relaxed);
    atomic_store_explicit(&pen_api_root.inside, pen_api_me(), memory_order_relaxed);
}

void pen_api_vacate(pen_job *job)
{
    if (job->mode == PEN_MODE_PARSYNC)
        atomic_store_explicit(&pen_api_root.inside, NULL, memory_order_relaxed);
}

void pen_api_check_context(const char *call)
{
    pen_job *job = pen_api_job(call);
    if (pen_api_checks(PEN_CHECK_THREAD))
        check_thread(job, call);
    if (pen_api_checks(PEN_CHECK_HANDLER) && pen_api_thread(job)->handler_depth != 0)
        pen_api_misuse(call, "called in a handler, where nothing may poll; reply, or set a flag "
                             "that other code looks at");
    const pen_source_desc *prepared = pen_api_thread(job)->prepared;
    if (pen_api_checks(PEN_CHECK_PREPARE) && prepared != NULL && prepared->live)
        pen_api_misuse(call, "called between Prepare and Commit of a message, where nothing may "
                             "poll; commit or cancel it first");
    if (!pen_api_checks(PEN_CHECK_LOCK))
        return;
    if (pen_api_locks != NULL)
        pen_api_misuse(call, "called while holding a handler-safe lock; drop it first");
    if (pen_api_no_interrupts)
        pen_api_misuse(call, "called between gasnet_hold_interrupts and gasnet_resume_interrupts");
}

void pen_api_check_peer(const char *call, const pen_team *team, uint32_t rank, uint32_t flags)
{
    pen_api_check_context(call);
    if (pen_api_checks(PEN_CHECK_THREAD) && pen_api_root.attach_owed)
        pen_api_misuse(call, "called after gasnet_init but before gasnet_attach");
    if (!pen_api_checks(PEN_CHECK_ARGUMENT))
        return;
    if (team == NULL)
        pen_api_misuse(call, "the team is GEX_TM_INVALID");
    uint32_t size = team->is_pair ? team->job->size : team->view.size;
    if (rank >= size)
        pen_api_misuse(call, "there is no rank %u in a team of %u", rank, size);
    if ((flags & ~PEN_API_COMM_FLAGS) != 0)
        pen_api_misuse(call, "flags 0x%x: this call does not accept 0x%x", flags,
                       flags & ~PEN_API_COMM_FLAGS);
}

void pen_api_check_message(const char *call, const pen_team *team, uint32_t rank, uint32_t flags)
{
    pen_api_check_peer(call, team, rank, flags);
    if (!pen_api_checks(PEN_CHECK_ARGUMENT))
        return;
    uint32_t remote = pen_team_ep_index(team, rank);
    if (remote != 0 || team->endpoint->index != 0)
        pen_api_misuse(call,
                       "from endpoint %u to endpoint %u of rank %u: active messages go from one "
                       "primordial endpoint (0) to another only, because further endpoints "
                       "have no GEX_EP_CAPABILITY_AM; use a pair or team of primordial "
                       "endpoints",
                       team->endpoint->index, remote, rank);
}

static const char *capability_name(uint32_t capability)
{
    static const char *const names[] = { "RMA", "AM", "VIS", "COLL", "AD" };
    return names[__builtin_ctz(capability)];
}

void pen_api_check_own_capability(const char *call, const pen_endpoint *endpoint,
                                  uint32_t capability)
{
    if (pen_unlikely((endpoint->capabilities & capability) == 0))
        pen_api_misuse(call,
                       "endpoint %u of this process was made without GEX_EP_CAPABILITY_%s; give it "
                       "to gex_EP_Create, or use another endpoint",
                       endpoint->index, capability_name(capability));
}

void pen_api_check_capabilities(const char *call, const pen_team *team, uint32_t rank,
                                uint32_t capability)
{
    pen_api_check_own_capability(call, team->endpoint, capability);
    if (rank >= (team->is_pair ? team->job->size : team->view.size))
        return; /* another call reports that */
    const uint16_t index = pen_team_ep_index(team, rank);
    const uint32_t jobrank = pen_team_jobrank(team, rank);
    const pen_remote_segment *row = pen_mem_remote_row(&team->job->mem, index, jobrank);
    if (row != NULL && (row->lacks & capability) != 0)
        pen_api_misuse(call,
                       "endpoint %u of rank %u of the job was made without GEX_EP_CAPABILITY_%s; "
                       "give it to gex_EP_Create there, or use another endpoint",
                       index, jobrank, capability_name(capability));
}

void pen_api_check_token(const char *call, const pen_token *token)
{
    if (!pen_api_checks(PEN_CHECK_REPLY))
        return;
    if (token == NULL)
        pen_api_misuse(call, "there is no token");
    const pen_thread *thread = pen_api_thread(pen_api_job(call));
    if (thread->handler_token != token)
        pen_api_misuse(call, "the token is not that of a handler which this thread runs; it ends "
                             "when its handler returns");
}

void pen_api_check_payload(const char *call, const void *source, size_t len)
{
    if (pen_api_checks(PEN_CHECK_ARGUMENT) && source == NULL && len != 0)
        pen_api_misuse(call, "the payload is at NULL, and its length %zu", len);
}

void pen_api_check_reply(const char *call, const pen_token *token, uint32_t flags)
{
    pen_api_check_token(call, token);
    if (pen_api_checks(PEN_CHECK_REPLY)) {
        if (!token->is_request)
            pen_api_misuse(call, "called in a handler that runs for a reply");
        if (token->replied)
            pen_api_misuse(call, "there has been a reply to this request already");
    }
    if (pen_api_checks(PEN_CHECK_LOCK) && pen_api_locks != NULL)
        pen_api_misuse(call, "called while holding a handler-safe lock; drop it first");
    if (pen_api_checks(PEN_CHECK_ARGUMENT) && (flags & ~PEN_API_COMM_FLAGS) != 0)
        pen_api_misuse(call, "flags 0x%x: this call does not accept 0x%x", flags,
                       flags & ~PEN_API_COMM_FLAGS);
}

void pen_api_check_team(const char *call, const pen_team *team)
{
    if (pen_unlikely(team == NULL))
        pen_api_misuse(call, "the team is GEX_TM_INVALID");
    if (pen_unlikely(team->is_pair))
        pen_api_misuse(call, "the team comes from gex_TM_Pair; a pair has no collectives");
    pen_api_check_own_capability(call, team->endpoint, GEX_EP_CAPABILITY_COLL);
}

void pen_api_check_event(const char *call, gex_Event_t event)
{
    pen_job *job = pen_api_job(call);
    if (event == GEX_EVENT_INVALID)
        return;
    if (event == GEX_EVENT_NO_OP)
        pen_api_misuse(call, "GEX_EVENT_NO_OP stands for an operation that was not begun");
    if (!pen_api_checks(PEN_CHECK_EVENT))
        return;
    pen_event_state state = pen_event_look(job, event);
    if (state == PEN_EVENT_UNKNOWN)
        pen_api_misuse(call, "%p is no event; pass what a call that begins an operation returned",
                       (void *)event);
    if (state == PEN_EVENT_STALE)
        pen_api_misuse(call,
                       "event %p was synchronised before, or its root was; each event may "
                       "be synchronised once",
                       (void *)event);
    if (pen_api_checks(PEN_CHECK_THREAD))
        pen_watch_check_thread(call, pen_api_thread(job), event);
}
