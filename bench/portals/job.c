/* SPDX-License-Identifier: BSD-3-Clause */
/* job.c: functions that the raw Portals programs share. */
#include "portals/job.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { QUEUE = 4096, NID = 1 };

void job_check(int result, const char *call)
{
    if (result == PTL_OK)
        return;
    (void)fprintf(stderr, "%s: result %d\n", call, result);
    exit(1);
}

static uint32_t number_of(const char *const *names, uint32_t otherwise)
{
    for (; *names != NULL; names++) {
        const char *text = getenv(*names);
        if (text != NULL)
            return (uint32_t)strtoul(text, NULL, 10);
    }
    return otherwise;
}

void job_start(job *j)
{
    static const char *const ranks[] = { "PENSTOCK_PORTALS_RANK", "PENSTOCK_RANK", "PMIX_RANK",
                                         NULL };
    static const char *const sizes[] = { "PENSTOCK_PORTALS_SIZE", "PENSTOCK_SIZE", "PMIX_SIZE",
                                         "OMPI_COMM_WORLD_SIZE", NULL };
    ptl_process_t map[1024];
    *j = (job){ .rank = number_of(ranks, 0), .size = number_of(sizes, 1) };
    JOB_CALL(PtlInit());
    JOB_CALL(PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_NO_MATCHING | PTL_NI_LOGICAL, PTL_PID_ANY, NULL,
                       NULL, &j->ni));
    for (uint32_t i = 0; i < j->size && i < 1024; i++) { /* the card documents its addresses */
        map[i].phys.nid = NID;
        map[i].phys.pid = i + 1;
    }
    JOB_CALL(PtlSetMap(j->ni, j->size, map));
    JOB_CALL(PtlEQAlloc(j->ni, QUEUE, &j->eq));
    JOB_CALL(PtlPTAlloc(j->ni, 0, j->eq, 0, &j->portal));
    JOB_CALL(PtlCTAlloc(j->ni, &j->arrived));
    ptl_md_t nothing = { NULL, 0, 0, PTL_EQ_NONE, j->arrived };
    JOB_CALL(PtlMDBind(j->ni, &nothing, &j->nothing));
    ptl_le_t le = { NULL, 0, j->arrived, PTL_UID_ANY, PTL_LE_OP_PUT | PTL_LE_EVENT_CT_COMM };
    ptl_handle_le_t handle;
    JOB_CALL(PtlPTAlloc(j->ni, 0, PTL_EQ_NONE, 1, &j->meeting));
    JOB_CALL(PtlLEAppend(j->ni, j->meeting, &le, PTL_PRIORITY_LIST, NULL, &handle));
    job_meet(j);
}

ptl_process_t job_peer(uint32_t rank)
{
    ptl_process_t id = { .phys = { 0, 0 } };
    id.rank = rank;
    return id;
}

/* Puts nothing to a process until it takes that: it may not have its entry yet. */
static void knock(job *j, uint32_t rank)
{
    ptl_handle_ct_t counter;
    ptl_ct_event_t value = { 0, 1 };
    JOB_CALL(PtlCTAlloc(j->ni, &counter));
    ptl_md_t nothing = { NULL, 0, PTL_MD_EVENT_CT_ACK, PTL_EQ_NONE, counter };
    ptl_handle_md_t md;
    JOB_CALL(PtlMDBind(j->ni, &nothing, &md));
    while (value.failure != 0) {
        value = (ptl_ct_event_t){ 0, 0 };
        JOB_CALL(PtlCTSet(counter, value));
        JOB_CALL(PtlPut(md, 0, 0, PTL_CT_ACK_REQ, job_peer(rank), 1, 0, 0, NULL, 0));
        JOB_CALL(PtlCTWait(counter, 1, &value));
    }
    JOB_CALL(PtlMDRelease(md));
    JOB_CALL(PtlCTFree(counter));
}

void job_meet(job *j)
{
    ptl_ct_event_t value;
    j->meetings += j->size;
    for (uint32_t rank = 0; rank < j->size; rank++)
        knock(j, rank);
    JOB_CALL(PtlCTWait(j->arrived, j->meetings, &value));
}

void job_end(job *j)
{
    job_meet(j);
    JOB_CALL(PtlNIFini(j->ni));
    PtlFini();
}

void job_offer(job *j, void *start, size_t len, ptl_handle_ct_t counter, unsigned options)
{
    ptl_handle_le_t handle;
    ptl_le_t le = { start, len, counter, PTL_UID_ANY,
                    options | PTL_LE_OP_PUT | PTL_LE_OP_GET | PTL_LE_EVENT_LINK_DISABLE };
    if (counter != PTL_CT_NONE)
        le.options |= PTL_LE_EVENT_CT_COMM;
    JOB_CALL(PtlLEAppend(j->ni, j->portal, &le, PTL_PRIORITY_LIST, start, &handle));
}

ptl_handle_md_t job_bind(job *j, void *start, size_t len, unsigned options, ptl_handle_ct_t counter)
{
    ptl_handle_md_t handle;
    ptl_md_t md = { start, len, options, counter == PTL_CT_NONE ? j->eq : PTL_EQ_NONE, counter };
    JOB_CALL(PtlMDBind(j->ni, &md, &handle));
    return handle;
}

double job_seconds(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}
