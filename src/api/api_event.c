/* SPDX-License-Identifier: BSD-3-Clause */
/* api_event.c: synchronises events and implicit operations. */
#include "rma/event.h"

#include "api/api.h"
#include "base/compiler.h"
#include "boot/wait_state.h"
#include "job/checks.h"
#include "job/job.h"
#include "job/thread.h"
#include "pen_config.h"
#include "rma/watch.h"

#include <gasnetex.h>

_Static_assert(GEX_EC_GET == PEN_EC_GET && GEX_EC_LC == PEN_EC_LC &&
                   GEX_EC_PUT == (PEN_EC_PUT | PEN_EC_LC) && GEX_EC_RMW == PEN_EC_RMW,
               "categories are passed on as they are");

static void refuse_no_op(const char *call, gex_Event_t event)
{
    if (PEN_CHECKED) {
        pen_api_check_context(call);
        pen_api_check_event(call, event);
    }
    if (pen_unlikely(event == GEX_EVENT_NO_OP))
        pen_api_misuse(call, "GEX_EVENT_NO_OP stands for an operation that was not begun");
}

static void refuse_no_ops(const char *call, gex_Event_t *events, size_t count)
{
    if (!PEN_CHECKED)
        return;
    pen_api_check_context(call);
    for (size_t i = 0; i < count; i++)
        pen_api_check_event(call, events[i]);
}

int pen_api_event_test(gex_Event_t event)
{
    refuse_no_op("gex_Event_Test", event);
    return pen_event_test(event) ? GASNET_OK : GASNET_ERR_NOT_READY;
}

void pen_api_event_wait(gex_Event_t event)
{
    static const char call[] = "gex_Event_Wait";
    refuse_no_op(call, event);
    pen_job *job = pen_api_job(call);
    if (PEN_CHECKED)
        pen_api_occupy(job, call);
    pen_event_wait(job, event, PEN_CALL_EVENT_WAIT);
    if (PEN_CHECKED)
        pen_api_vacate(job);
}

gex_Event_t pen_api_event_leaf(gex_Event_t root, gex_EC_t category)
{
    static const char call[] = "gex_Event_QueryLeaf";
    refuse_no_op(call, root);
    const unsigned known = GEX_EC_GET | GEX_EC_PUT | GEX_EC_RMW;
    if (pen_api_checks(PEN_CHECK_ARGUMENT) && ((unsigned)category & ~known) != 0)
        pen_api_misuse(call, "category 0x%x: 0x%x is no event category", (unsigned)category,
                       (unsigned)category & ~known);
    return (category & GEX_EC_LC) != 0 ? pen_event_leaf(root) : GEX_EVENT_INVALID;
}

int gex_Event_TestSome(gex_Event_t *events, size_t count, gex_Flags_t flags)
{
    (void)flags;
    refuse_no_ops("gex_Event_TestSome", events, count);
    return pen_event_test_some(events, count) ? GASNET_OK : GASNET_ERR_NOT_READY;
}

int gex_Event_TestAll(gex_Event_t *events, size_t count, gex_Flags_t flags)
{
    (void)flags;
    refuse_no_ops("gex_Event_TestAll", events, count);
    return pen_event_test_all(events, count) ? GASNET_OK : GASNET_ERR_NOT_READY;
}

void gex_Event_WaitSome(gex_Event_t *events, size_t count, gex_Flags_t flags)
{
    (void)flags;
    refuse_no_ops("gex_Event_WaitSome", events, count);
    pen_job *job = pen_api_job("gex_Event_WaitSome");
    if (PEN_CHECKED)
        pen_api_occupy(job, "gex_Event_WaitSome");
    pen_event_wait_some(job, events, count);
    if (PEN_CHECKED)
        pen_api_vacate(job);
}

void gex_Event_WaitAll(gex_Event_t *events, size_t count, gex_Flags_t flags)
{
    (void)flags;
    refuse_no_ops("gex_Event_WaitAll", events, count);
    pen_job *job = pen_api_job("gex_Event_WaitAll");
    if (PEN_CHECKED)
        pen_api_occupy(job, "gex_Event_WaitAll");
    pen_event_wait_all(job, events, count);
    if (PEN_CHECKED)
        pen_api_vacate(job);
}

/* ---- implicit operations -------------------------------------------------------------------- */

static pen_thread *here(const char *call)
{
    pen_job *job = pen_api_job(call);
    if (PEN_CHECKED)
        pen_api_check_context(call);
    return pen_api_thread(job);
}

/* Checked builds: refuses a mask that names no category, or an unknown one. */
static pen_thread *here_for(const char *call, gex_EC_t mask)
{
    pen_thread *thread = here(call);
    const unsigned known = GEX_EC_GET | GEX_EC_PUT | GEX_EC_RMW; /* a put contains GEX_EC_LC, too */
    if (pen_api_checks(PEN_CHECK_ARGUMENT) && (unsigned)mask != GEX_EC_ALL &&
        ((unsigned)mask & ~known) != 0)
        pen_api_misuse(call, "mask 0x%x: 0x%x is no event category", (unsigned)mask,
                       (unsigned)mask & ~known);
    return thread;
}

int gex_NBI_Test(gex_EC_t mask, gex_Flags_t flags)
{
    (void)flags;
    return pen_nbi_test(here_for("gex_NBI_Test", mask), mask) ? GASNET_OK : GASNET_ERR_NOT_READY;
}

void gex_NBI_Wait(gex_EC_t mask, gex_Flags_t flags)
{
    (void)flags;
    pen_thread *thread = here_for("gex_NBI_Wait", mask);
    if (PEN_CHECKED)
        pen_api_occupy(thread->job, "gex_NBI_Wait");
    pen_nbi_wait(thread, mask);
    if (PEN_CHECKED)
        pen_api_vacate(thread->job);
}

void gex_NBI_BeginAccessRegion(gex_Flags_t flags)
{
    (void)flags;
    pen_nbi_begin(here("gex_NBI_BeginAccessRegion"));
}

gex_Event_t gex_NBI_EndAccessRegion(gex_Flags_t flags)
{
    (void)flags;
    pen_thread *thread = here("gex_NBI_EndAccessRegion");
    pen_event *event = pen_nbi_end(thread);
    return PEN_CHECKED ? pen_watch_region_end(thread, event) : event;
}
