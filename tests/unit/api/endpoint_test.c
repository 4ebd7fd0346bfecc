/* SPDX-License-Identifier: BSD-3-Clause */
/* endpoint_test.c: an endpoint does only the operations that it was made for; in every build. */
#define GASNET_SEQ 1
#include "unit/api/child.h"

#include <gasnet_coll.h>
#include <gasnet_mk.h>
#include <gasnet_ratomic.h>
#include <gasnet_vis.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { HANDLER = 200, LEN = 4096, BAD = 99 };

static void assert_refused(void (*play)(void), const char *reason)
{
    child_end end = child_run(play);
    assert_true(child_was_refused(&end, reason));
}

static void assert_passed(void (*play)(void))
{
    child_end end = child_run(play);
    if (end.status != 0)
        (void)fprintf(stderr, "%s", end.said);
    assert_int_equal(end.status, 0);
}

/* ---- a second endpoint in a job of one ------------------------------------------------------ */

static child_job job;
static gex_EP_t second;
static char *there, here[LEN];
static volatile unsigned handled;

static void on_message(gex_Token_t token)
{
    (void)token;
    handled++;
}

static void on_payload(gex_Token_t token, void *payload, size_t len)
{
    (void)token;
    (void)payload;
    (void)len;
    handled++;
}

/* own_memory: so that puts and gets over it are not inline. */
static void join(gex_EP_Capabilities_t capabilities, bool own_memory)
{
    static char memory[LEN];
    gex_Segment_t segment;
    gex_AM_Entry_t table[] = {
        { HANDLER, (gex_AM_Fn_t)on_message, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 0, NULL, "s" },
        { HANDLER + 1, (gex_AM_Fn_t)on_payload, GEX_FLAG_AM_MEDLONG | GEX_FLAG_AM_REQUEST, 0, NULL,
          "p" },
    };
    job = child_attach();
    if (gex_EP_RegisterHandlers(job.endpoint, table, 2) != GASNET_OK ||
        gex_EP_Create(&second, job.client, capabilities, 0) != GASNET_OK ||
        gex_Segment_Create(&segment, job.client, own_memory ? memory : NULL, LEN, GEX_MK_HOST, 0) !=
            GASNET_OK ||
        gex_EP_BindSegment(second, segment, 0) != GASNET_OK ||
        gex_EP_PublishBoundSegment(job.team, &second, 1, 0) != GASNET_OK)
        exit(BAD);
    there = gex_Segment_QueryAddr(segment);
}

/* A team of the process's endpoints of these numbers, as its last member sees it. */
static gex_TM_t team_of(const gex_EP_Index_t *indexes, size_t count)
{
    gex_EP_Location_t members[2] = { { 0, 0 } };
    gex_TM_t made[2] = { NULL };
    for (size_t i = 0; i < count; i++)
        members[i].gex_ep_index = indexes[i];
    (void)gex_TM_Create(made, count, job.team, members, count, NULL, 0, GEX_FLAG_TM_NO_SCRATCH);
    return made[0];
}

/* ---- messages ------------------------------------------------------------------------------- */

static void short_from_second(void)
{
    join(GEX_EP_CAPABILITY_RMA, false);
    (void)gex_AM_RequestShort0(gex_TM_Pair(second, 0), 0, HANDLER, 0);
}

static void short_to_second(void)
{
    join(GEX_EP_CAPABILITY_RMA, false);
    (void)gex_AM_RequestShort0(gex_TM_Pair(job.endpoint, 1), 0, HANDLER, 0);
}

static void medium_to_second(void)
{
    join(GEX_EP_CAPABILITY_RMA, false);
    (void)gex_AM_RequestMedium0(gex_TM_Pair(job.endpoint, 1), 0, HANDLER + 1, here, 8,
                                GEX_EVENT_NOW, 0);
}

static void medium_with_event_to_second(void)
{
    gex_Event_t event;
    join(GEX_EP_CAPABILITY_RMA, false);
    (void)gex_AM_RequestMedium0(gex_TM_Pair(job.endpoint, 1), 0, HANDLER + 1, here, 8, &event, 0);
}

static void long_to_second(void)
{
    join(GEX_EP_CAPABILITY_RMA, false);
    (void)gex_AM_RequestLong0(gex_TM_Pair(second, 1), 0, HANDLER + 1, here, 8, there, GEX_EVENT_NOW,
                              0);
}

static void prepare_for_second(void)
{
    join(GEX_EP_CAPABILITY_RMA, false);
    (void)gex_AM_PrepareRequestMedium(gex_TM_Pair(second, 1), 0, NULL, 0, 8, NULL, 0, 0);
}

static void short_on_team_of_second(void)
{
    const gex_EP_Index_t indexes[] = { 1 };
    join(GEX_EP_CAPABILITY_RMA, false);
    (void)gex_AM_RequestShort0(team_of(indexes, 1), 0, HANDLER, 0);
}

static void short_to_second_of_mixed_team(void)
{
    const gex_EP_Index_t indexes[] = { 0, 1 };
    join(GEX_EP_CAPABILITY_RMA, false);
    (void)gex_AM_RequestShort0(team_of(indexes, 2), 1, HANDLER, 0);
}

static void messages_of_other_endpoints_are_refused(void **state)
{
    (void)state;
    void (*const plays[])(void) = { short_from_second,       short_to_second,
                                    medium_to_second,        medium_with_event_to_second,
                                    long_to_second,          prepare_for_second,
                                    short_on_team_of_second, short_to_second_of_mixed_team };
    for (size_t i = 0; i < sizeof plays / sizeof plays[0]; i++)
        assert_refused(plays[i], "GEX_EP_CAPABILITY_AM");
}

static void short_to_first_of_mixed_team(void)
{
    const gex_EP_Index_t indexes[] = { 0, 1 };
    join(GEX_EP_CAPABILITY_RMA, false);
    gex_TM_t team = team_of(indexes, 2);
    (void)gex_AM_RequestShort0(team, 0, HANDLER, 0);
    (void)gex_AM_RequestMedium0(team, 0, HANDLER + 1, here, 8, GEX_EVENT_NOW, 0);
    (void)gex_AM_RequestShort0(gex_TM_Pair(job.endpoint, 0), 0, HANDLER, 0);
    GASNET_BLOCKUNTIL(handled == 3);
}

static void primordial_members_of_any_team_have_messages(void **state)
{
    (void)state;
    assert_passed(short_to_first_of_mixed_team);
}

/* ---- put and get, by inline code and not ---------------------------------------------------- */

static void put_without_rma(void)
{
    join(GEX_EP_CAPABILITY_VIS, false);
    (void)gex_RMA_PutBlocking(gex_TM_Pair(second, 1), 0, there, here, 8, 0);
}

static void get_from_first_without_rma(void)
{
    join(GEX_EP_CAPABILITY_VIS, false);
    gex_Event_Wait(
        gex_RMA_GetNB(gex_TM_Pair(second, 0), here, 0, gex_Segment_QueryAddr(job.segment), 8, 0));
}

static void put_without_rma_to_own_memory(void)
{
    join(GEX_EP_CAPABILITY_VIS, true);
    gex_Event_Wait(gex_RMA_PutNB(gex_TM_Pair(second, 1), 0, there, here, 8, GEX_EVENT_NOW, 0));
}

static void put_value_without_rma(void)
{
    join(GEX_EP_CAPABILITY_VIS, false);
    (void)gex_RMA_PutNBIVal(gex_TM_Pair(second, 1), 0, there, 7, 8, 0);
}

static void put_to_peer_without_rma(void)
{
    join(GEX_EP_CAPABILITY_VIS, false);
    (void)gex_RMA_PutNBI(gex_TM_Pair(job.endpoint, 1), 0, there, here, 8, GEX_EVENT_NOW, 0);
}

static void get_from_peer_without_rma(void)
{
    join(GEX_EP_CAPABILITY_VIS, false);
    (void)gex_RMA_GetBlocking(gex_TM_Pair(job.endpoint, 1), here, 0, there, 8, 0);
}

static void get_from_team_without_rma(void)
{
    const gex_EP_Index_t indexes[] = { 0, 1 };
    join(GEX_EP_CAPABILITY_VIS, false);
    (void)gex_RMA_GetNBI(team_of(indexes, 2), here, 1, there, 8, 0);
}

static void put_and_get_need_both_endpoints_to_have_them(void **state)
{
    (void)state;
    void (*const plays[])(void) = {
        put_without_rma,          get_from_first_without_rma, put_without_rma_to_own_memory,
        put_value_without_rma,    put_to_peer_without_rma,    get_from_peer_without_rma,
        get_from_team_without_rma
    };
    for (size_t i = 0; i < sizeof plays / sizeof plays[0]; i++)
        assert_refused(plays[i], "GEX_EP_CAPABILITY_RMA");
}

/* ---- the others ----------------------------------------------------------------------------- */

static void scatter_without_vis(void)
{
    join(GEX_EP_CAPABILITY_RMA, false);
    gex_Memvec_t to = { there, 8 }, from = { here, 8 };
    (void)gex_VIS_VectorPutBlocking(gex_TM_Pair(second, 1), 0, 1, &to, 1, &from, 0);
}

static void scatter_to_peer_without_vis(void)
{
    join(GEX_EP_CAPABILITY_RMA, false);
    gex_Memvec_t to = { there, 8 }, from = { here, 8 };
    (void)gex_VIS_VectorPutBlocking(gex_TM_Pair(job.endpoint, 1), 0, 1, &to, 1, &from, 0);
}

static void scattered_puts_need_both_endpoints_to_have_them(void **state)
{
    (void)state;
    assert_refused(scatter_without_vis, "GEX_EP_CAPABILITY_VIS");
    assert_refused(scatter_to_peer_without_vis, "GEX_EP_CAPABILITY_VIS");
}

static void barrier_without_coll(void)
{
    const gex_EP_Index_t indexes[] = { 1 };
    join(GEX_EP_CAPABILITY_RMA, false);
    gex_Event_Wait(gex_Coll_BarrierNB(team_of(indexes, 1), 0));
}

static void broadcast_without_coll(void)
{
    const gex_EP_Index_t indexes[] = { 1 };
    join(GEX_EP_CAPABILITY_RMA, false);
    gex_Event_Wait(gex_Coll_BroadcastNB(team_of(indexes, 1), 0, here, here, 8, 0));
}

static void atomics_without_ad(void)
{
    const gex_EP_Index_t indexes[] = { 1 };
    gex_AD_t domain;
    join(GEX_EP_CAPABILITY_RMA, false);
    gex_AD_Create(&domain, team_of(indexes, 1), GEX_DT_U64, GEX_OP_ADD, 0);
}

static void collectives_and_atomics_need_an_endpoint_that_has_them(void **state)
{
    (void)state;
    assert_refused(barrier_without_coll, "GEX_EP_CAPABILITY_COLL");
    assert_refused(broadcast_without_coll, "GEX_EP_CAPABILITY_COLL");
    assert_refused(atomics_without_ad, "GEX_EP_CAPABILITY_AD");
}

static void use_everything(void)
{
    const gex_EP_Index_t indexes[] = { 1 };
    static const char bytes[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
    join(GEX_EP_CAPABILITY_ALL & ~GEX_EP_CAPABILITY_AM, false);
    gex_TM_t team = team_of(indexes, 1);
    gex_Memvec_t to = { there + 8, 8 }, from = { here, 8 };
    uint64_t old = 1, *cell = (uint64_t *)(void *)(there + 16);
    gex_AD_t domain;
    *cell = 41;
    memcpy(here, bytes, sizeof bytes);
    (void)gex_RMA_PutBlocking(team, 0, there, here, 8, 0);
    (void)gex_VIS_VectorPutBlocking(gex_TM_Pair(second, 1), 0, 1, &to, 1, &from, 0);
    gex_Event_Wait(gex_Coll_BarrierNB(team, 0));
    gex_AD_Create(&domain, team, GEX_DT_U64, GEX_OP_FADD, 0);
    gex_Event_Wait(gex_AD_OpNB_U64(domain, &old, 0, cell, GEX_OP_FADD, 1, 0, 0));
    gex_AD_Destroy(domain);
    if (memcmp(there, bytes, 8) != 0 || memcmp(there + 8, bytes, 8) != 0 || old != 41 ||
        *cell != 42)
        exit(BAD);
}

static void atomics_only(void)
{
    const gex_EP_Index_t indexes[] = { 1 };
    join(GEX_EP_CAPABILITY_AD, false);
    gex_AD_t domain;
    uint64_t old = 1, *cell = (uint64_t *)(void *)there;
    *cell = 41;
    gex_AD_Create(&domain, team_of(indexes, 1), GEX_DT_U64, GEX_OP_FADD, 0);
    gex_Event_Wait(gex_AD_OpNB_U64(domain, &old, 0, cell, GEX_OP_FADD, 1, 0, 0));
    gex_AD_Destroy(domain);
    if (old != 41 || *cell != 42)
        exit(BAD);
}

static void endpoints_do_what_they_were_made_for(void **state)
{
    (void)state;
    assert_passed(use_everything);
    assert_passed(atomics_only);
}

/* ---- a device that comes late --------------------------------------------------------------- */

/* Pair and team are in use, and shown to inline code, when their endpoint gets device memory. */
static void bind_device_late(void)
{
    static const char bytes[] = "from host to device and back";
    const gex_EP_Index_t indexes[] = { 1, 0 };
    gex_MK_Create_args_t args;
    gex_MK_t kind;
    gex_Segment_t segment;
    memset(&args, 0, sizeof args);
    args.gex_class = GEX_MK_CLASS_CUDA_UVA;
    (void)setenv("PENSTOCK_DEVICE", "standin", 1);
    job = child_attach();
    char *host = gex_Segment_QueryAddr(job.segment);
    if (gex_EP_Create(&second, job.client, GEX_EP_CAPABILITY_RMA, 0) != GASNET_OK ||
        gex_EP_PublishBoundSegment(job.team, &second, 1, 0) != GASNET_OK)
        exit(BAD);
    gex_TM_t pair = gex_TM_Pair(second, 0), team = team_of(indexes, 2);
    memcpy(here, bytes, sizeof bytes);
    (void)gex_RMA_PutBlocking(pair, 0, host, here, sizeof bytes, 0);
    (void)gex_RMA_PutBlocking(team, 1, host + 64, here, sizeof bytes, 0);
    if (memcmp(host, bytes, sizeof bytes) != 0 || memcmp(host + 64, bytes, sizeof bytes) != 0 ||
        gex_MK_Create(&kind, job.client, &args, 0) != GASNET_OK ||
        gex_Segment_Create(&segment, job.client, NULL, LEN, kind, 0) != GASNET_OK ||
        gex_EP_BindSegment(second, segment, 0) != GASNET_OK ||
        gex_EP_PublishBoundSegment(job.team, &second, 1, 0) != GASNET_OK)
        exit(BAD);
    char *device = gex_Segment_QueryAddr(segment);
    memset(host, 0, 128);
    (void)gex_RMA_PutBlocking(gex_TM_Pair(job.endpoint, 1), 0, device, here, sizeof bytes, 0);
    (void)gex_RMA_PutBlocking(pair, 0, host, device, sizeof bytes, 0);
    gex_Event_Wait(gex_RMA_PutNB(team, 1, host + 64, device, sizeof bytes, GEX_EVENT_NOW, 0));
    if (memcmp(host, bytes, sizeof bytes) != 0 || memcmp(host + 64, bytes, sizeof bytes) != 0)
        exit(BAD + 1);
}

static void an_endpoint_may_get_device_memory_when_it_is_in_use(void **state)
{
    (void)state;
    assert_passed(bind_device_late);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_of_other_endpoints_are_refused),
        cmocka_unit_test(primordial_members_of_any_team_have_messages),
        cmocka_unit_test(put_and_get_need_both_endpoints_to_have_them),
        cmocka_unit_test(scattered_puts_need_both_endpoints_to_have_them),
        cmocka_unit_test(collectives_and_atomics_need_an_endpoint_that_has_them),
        cmocka_unit_test(endpoints_do_what_they_were_made_for),
        cmocka_unit_test(an_endpoint_may_get_device_memory_when_it_is_in_use),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
