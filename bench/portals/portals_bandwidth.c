/* SPDX-License-Identifier: BSD-3-Clause */
/* portals_bandwidth.c: bandwidth of puts, or of gets, between rank 0 and rank 1, by length.
 *
 *     penstock run -n 2 portals_bandwidth put|get [rounds] */
#include "portals/job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEN_MAX = 1 << 20, WINDOW = 8 };

static unsigned char remote[LEN_MAX], local[LEN_MAX];

static void flood(ptl_handle_md_t md, ptl_handle_ct_t done, size_t len, unsigned rounds, int is_get,
                  ptl_size_t *total)
{
    ptl_ct_event_t value;
    for (unsigned i = 0; i < rounds; i++) {
        if (*total >= WINDOW)
            JOB_CALL(PtlCTWait(done, *total - WINDOW + 1, &value));
        if (is_get)
            JOB_CALL(PtlGet(md, 0, len, job_peer(1), 0, 0, 0, NULL));
        else
            JOB_CALL(PtlPut(md, 0, len, PTL_CT_ACK_REQ, job_peer(1), 0, 0, 0, NULL, 0));
        ++*total;
    }
    JOB_CALL(PtlCTWait(done, *total, &value));
    if (value.failure != 0)
        job_check(-1, "an operation failed");
}

int main(int argc, char **argv)
{
    job j;
    ptl_handle_ct_t done;
    ptl_size_t total = 0;
    int is_get = argc > 1 && strcmp(argv[1], "get") == 0;
    unsigned rounds = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 500;
    job_start(&j);
    memset(remote, (int)j.rank + 1, LEN_MAX);
    memset(local, (int)j.rank + 11, LEN_MAX);
    JOB_CALL(PtlCTAlloc(j.ni, &done));
    job_offer(&j, remote, LEN_MAX, PTL_CT_NONE, PTL_LE_EVENT_COMM_DISABLE);
    ptl_handle_md_t md =
        job_bind(&j, local, LEN_MAX, PTL_MD_EVENT_CT_ACK | PTL_MD_EVENT_CT_REPLY, done);
    job_meet(&j);
    for (size_t len = 64; len <= LEN_MAX && j.rank == 0 && j.size > 1; len *= 4) {
        double start = job_seconds();
        flood(md, done, len, rounds, is_get, &total);
        (void)printf("%s of %zu bytes: %.1f MB/s\n", is_get ? "get" : "put", len,
                     (double)len * rounds / (job_seconds() - start) * 1e-6);
        if (is_get && local[len - 1] != 2)
            job_check(-1, "the data is wrong");
    }
    job_meet(&j);
    if (!is_get && j.rank == 1 && remote[LEN_MAX / 4 - 1] != 11)
        job_check(-1, "the data is wrong");
    job_end(&j);
    return 0;
}
