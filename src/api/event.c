/* SPDX-License-Identifier: BSD-3-Clause */
/* event.c: synchronising events and implicit operations. */
#include "rma/event.h"

#include "api/api.h"
#include "rma/watch.h"

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
    refuse_no_op("gex_Event_Wait", event);
    pen_event_wait(pen_api_job("gex_Event_Wait"), event);
}

gex_Event_t pen_api_event_leaf(gex_Event_t root, gex_EC_t category)
{
    refuse_no_op("gex_Event_QueryLeaf", root);
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
    pen_event_wait_some(pen_api_job("gex_Event_WaitSome"), events, count);
}

void gex_Event_WaitAll(gex_Event_t *events, size_t count, gex_Flags_t flags)
{
    (void)flags;
    refuse_no_ops("gex_Event_WaitAll", events, count);
    pen_event_wait_all(pen_api_job("gex_Event_WaitAll"), events, count);
}

/* ---- implicit operations -------------------------------------------------------------------- */

static pen_thread *here(const char *call)
{
    pen_job *job = pen_api_job(call);
    if (PEN_CHECKED)
        pen_api_check_context(call);
    return pen_api_thread(job);
}

int gex_NBI_Test(gex_EC_t mask, gex_Flags_t flags)
{
    (void)flags;
    return pen_nbi_test(here("gex_NBI_Test"), mask) ? GASNET_OK : GASNET_ERR_NOT_READY;
}

void gex_NBI_Wait(gex_EC_t mask, gex_Flags_t flags)
{
    (void)flags;
    pen_nbi_wait(here("gex_NBI_Wait"), mask);
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
