/* SPDX-License-Identifier: BSD-3-Clause */
/* figures_raw.c: figures of the Portals paper, written to portals4.h itself: puts that are waited
 * for one by one (`put`), many at once (`flood`), and round trips of puts (`trip`), by length.
 *
 *     penstock run -n 2 figures_raw put|flood|trip */
#include "portals/figures.h"
#include "portals/job.h"

static unsigned char inbox[FIGURES_LEN_MAX], outbox[FIGURES_LEN_MAX];
static job here;
static ptl_handle_md_t md;
static ptl_handle_ct_t came, acknowledged;
static ptl_size_t came_total, acknowledged_total;

static void put_and_wait(size_t len, unsigned rounds)
{
    ptl_ct_event_t value;
    for (unsigned i = 0; i < rounds; i++) {
        JOB_CALL(PtlPut(md, 0, len, PTL_CT_ACK_REQ, job_peer(1), 0, 0, 0, NULL, 0));
        JOB_CALL(PtlCTWait(acknowledged, ++acknowledged_total, &value));
    }
}

static void put_many(size_t len, unsigned rounds)
{
    ptl_ct_event_t value;
    for (unsigned i = 0; i < rounds; i++)
        JOB_CALL(PtlPut(md, 0, len, PTL_CT_ACK_REQ, job_peer(1), 0, 0, 0, NULL, 0));
    acknowledged_total += rounds;
    JOB_CALL(PtlCTWait(acknowledged, acknowledged_total, &value));
}

static void trips(size_t len, unsigned rounds)
{
    ptl_ct_event_t value;
    const ptl_process_t peer = job_peer(1 - here.rank);
    for (unsigned i = 0; i < rounds; i++) {
        if (here.rank == 0)
            JOB_CALL(PtlPut(md, 0, len, PTL_NO_ACK_REQ, peer, 0, 0, 0, NULL, 0));
        JOB_CALL(PtlCTWait(came, ++came_total, &value));
        if (here.rank == 1)
            JOB_CALL(PtlPut(md, 0, len, PTL_NO_ACK_REQ, peer, 0, 0, 0, NULL, 0));
    }
}

int main(int argc, char **argv)
{
    const char *kind = argc > 1 ? argv[1] : "put";
    job_start(&here);
    JOB_CALL(PtlCTAlloc(here.ni, &came));
    JOB_CALL(PtlCTAlloc(here.ni, &acknowledged));
    job_offer(&here, inbox, FIGURES_LEN_MAX, came, PTL_LE_EVENT_COMM_DISABLE);
    md = job_bind(&here, outbox, FIGURES_LEN_MAX, PTL_MD_EVENT_CT_ACK, acknowledged);
    memset(outbox, 3, FIGURES_LEN_MAX);
    job_meet(&here);
    if (strcmp(kind, "trip") == 0)
        figures_play(kind, trips, here.rank == 0);
    else if (here.rank == 0)
        figures_play(kind, strcmp(kind, "flood") == 0 ? put_many : put_and_wait, 1);
    job_meet(&here);
    if (here.rank == 1 && (inbox[0] != 3 || inbox[FIGURES_TRIP_MAX - 1] != 3))
        job_check(-1, "the data is wrong");
    job_end(&here);
    return 0;
}
