/* SPDX-License-Identifier: BSD-3-Clause */
/* am_local.c: requests whose source may be in use after the call: with an event, with the implicit
 * operations, until the reply. */
#include "am/am.h"
#include "api/api.h"
#include "job/job.h"
#include "job/team.h"
#include "pen_config.h"
#include "rma/event.h"

#include <gasnetex.h>

/* NOLINTBEGIN(misc-redundant-expression): spelled alike, and to stay so */
_Static_assert(GEX_FLAG_IMMEDIATE == PEN_AM_IMMEDIATE && GEX_FLAG_LC_COPY_YES == PEN_AM_COPY &&
                   GEX_FLAG_LC_COPY_NO == PEN_AM_COPY_NOT && GEX_EC_AM == PEN_EC_LC,
               "flags and categories are passed on as they are");
/* NOLINTEND(misc-redundant-expression) */

pen_api_local pen_api_local_begin(const char *call, gex_Event_t *local, pen_job *job,
                                  uint32_t jobrank, size_t len)
{
    pen_api_local when = { NULL, GEX_EVENT_INVALID, NULL };
    if (local == NULL || local == GEX_EVENT_DEFER)
        pen_api_bad_event(call);
    if (local == GEX_EVENT_NOW)
        return when;
    if (local != GEX_EVENT_GROUP)
        when.local = local;
    if (pen_am_copies(job, jobrank, len))
        return when;
    if (local == GEX_EVENT_GROUP) {
        when.op = pen_nbi_op(pen_api_thread(job), PEN_EC_PUT);
    } else {
        when.event = pen_event_new(pen_api_thread(job));
        when.op = pen_event_op(when.event);
    }
    return when;
}

int pen_api_local_end(const pen_api_local *when, int status)
{
    gex_Event_t event = when->event;
    if (event != GEX_EVENT_INVALID)
        event = pen_event_started(event, NULL);
    if (when->local != NULL && status == 0)
        *when->local = event;
    return status;
}

int pen_api_request_local(gex_TM_t team, gex_Rank_t rank, gex_AM_Index_t handler,
                          const pen_am_source *source, gex_Flags_t flags, unsigned arg_count,
                          uint64_t *words)
{
    if (PEN_CHECKED)
        pen_api_check_message(source->call, team, rank, flags);
    pen_api_check_member(source->call, team, rank);
    pen_job *job = team->job;
    pen_api_local when = pen_api_local_begin(source->call, source->local, job,
                                             pen_team_jobrank(team, rank), source->len);
    pen_am_payload payload = { source->address, source->len, source->dest, when.op };
    pen_am_category category = source->is_long ? PEN_AM_LONG : PEN_AM_MEDIUM;
    return pen_api_local_end(&when, pen_am_request_payload(team, rank, category, handler, &payload,
                                                           flags, arg_count, words));
}

int pen_api_request_long_async(gex_Rank_t rank, gex_AM_Index_t handler, const void *source,
                               size_t len, void *dest, unsigned arg_count, uint64_t *words)
{
    if (PEN_CHECKED)
        pen_api_check_message("AMRequestLongAsync", pen_world, rank, 0);
    pen_am_payload payload = { source, len, dest, NULL };
    return pen_am_request_payload(pen_world, rank, PEN_AM_LONG, handler, &payload, PEN_AM_ASYNC,
                                  arg_count, words);
}
