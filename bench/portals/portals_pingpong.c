/* SPDX-License-Identifier: BSD-3-Clause */
/* portals_pingpong.c: half the round trip of a put between ranks 0 and 1, by length of the payload.
 * Both sides wait on the counter of the memory that the put arrives in.
 *
 *     penstock run -n 2 portals_pingpong [rounds] */
#include "portals/job.h"

#include <stdio.h>
#include <stdlib.h>

enum { LEN_MAX = 4096 };

static unsigned char inbox[LEN_MAX], outbox[LEN_MAX];

static void play(job *j, ptl_handle_md_t md, ptl_handle_ct_t came, size_t len, unsigned rounds,
                 ptl_size_t *total)
{
    ptl_ct_event_t value;
    ptl_process_t peer = job_peer(1 - j->rank);
    for (unsigned i = 0; i < rounds; i++) {
        outbox[0] = (unsigned char)i;
        if (j->rank == 0)
            JOB_CALL(PtlPut(md, 0, len, PTL_NO_ACK_REQ, peer, 0, 0, 0, NULL, 0));
        JOB_CALL(PtlCTWait(came, ++*total, &value));
        if (len > 0 && inbox[0] != (unsigned char)i)
            job_check(-1, "the data is wrong");
        if (j->rank == 1)
            JOB_CALL(PtlPut(md, 0, len, PTL_NO_ACK_REQ, peer, 0, 0, 0, NULL, 0));
    }
}

int main(int argc, char **argv)
{
    job j;
    ptl_handle_ct_t came, gone;
    ptl_size_t total = 0;
    unsigned rounds = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 10000;
    job_start(&j);
    JOB_CALL(PtlCTAlloc(j.ni, &came));
    JOB_CALL(PtlCTAlloc(j.ni, &gone));
    job_offer(&j, inbox, LEN_MAX, came, PTL_LE_EVENT_COMM_DISABLE);
    ptl_handle_md_t md = job_bind(&j, outbox, LEN_MAX, 0, gone);
    job_meet(&j);
    for (size_t len = 0; len <= LEN_MAX && j.rank < 2; len = len == 0 ? 1 : len * 2) {
        play(&j, md, came, len, rounds / 10 + 1, &total);
        double start = job_seconds();
        play(&j, md, came, len, rounds, &total);
        if (j.rank == 0)
            (void)printf("%zu bytes: %.3f us\n", len, (job_seconds() - start) / rounds / 2 * 1e6);
    }
    job_end(&j);
    return 0;
}
