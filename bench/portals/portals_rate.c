/* SPDX-License-Identifier: BSD-3-Clause */
/* portals_rate.c: put messages per second from rank 0 to rank 1, with a window of unacknowledged
 * ones.
 *
 *     penstock run -n 2 portals_rate [messages] [bytes] */
#include "portals/job.h"

#include <stdio.h>
#include <stdlib.h>

enum { LEN_MAX = 4096, WINDOW = 64 };

static unsigned char inbox[LEN_MAX], outbox[LEN_MAX];

int main(int argc, char **argv)
{
    job j;
    ptl_handle_ct_t came, acked;
    ptl_ct_event_t value;
    ptl_size_t count = argc > 1 ? strtoul(argv[1], NULL, 10) : 100000;
    size_t len = argc > 2 ? strtoul(argv[2], NULL, 10) : 8;
    if (len > LEN_MAX)
        len = LEN_MAX;
    job_start(&j);
    JOB_CALL(PtlCTAlloc(j.ni, &came));
    JOB_CALL(PtlCTAlloc(j.ni, &acked));
    job_offer(&j, inbox, LEN_MAX, came, PTL_LE_EVENT_COMM_DISABLE);
    ptl_handle_md_t md = job_bind(&j, outbox, LEN_MAX, PTL_MD_EVENT_CT_ACK, acked);
    job_meet(&j);
    if (j.rank == 0 && j.size > 1) {
        double start = job_seconds();
        for (ptl_size_t i = 0; i < count; i++) {
            if (i >= WINDOW)
                JOB_CALL(PtlCTWait(acked, i - WINDOW + 1, &value));
            JOB_CALL(PtlPut(md, 0, len, PTL_CT_ACK_REQ, job_peer(1), 0, 0, 0, NULL, 0));
        }
        JOB_CALL(PtlCTWait(acked, count, &value));
        if (value.success != count)
            job_check(-1, "a message failed");
        (void)printf("%zu bytes: %.3f million messages per second\n", len,
                     (double)count / (job_seconds() - start) * 1e-6);
    } else if (j.rank == 1) {
        JOB_CALL(PtlCTWait(came, count, &value));
    }
    job_end(&j);
    return 0;
}
