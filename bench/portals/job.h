/* SPDX-License-Identifier: BSD-3-Clause */
/* job.h: functions that the raw Portals programs share: starting, the map, a barrier, memory that
 * peers reach. The programs use portals4.h only, and stop with status 1 after a message if a call
 * fails.
 */
#ifndef PEN_BENCH_PORTALS_JOB_H
#define PEN_BENCH_PORTALS_JOB_H

#include <portals4.h>
#include <stddef.h>
#include <stdint.h>

typedef struct job {
    uint32_t rank, size;
    ptl_handle_ni_t ni;
    ptl_handle_eq_t eq;      /* events of portal 0 and of descriptors */
    ptl_pt_index_t portal;   /* 0: memory that peers reach */
    ptl_pt_index_t meeting;  /* 1: the barrier's */
    ptl_handle_ct_t arrived; /* messages of the barrier that came */
    ptl_handle_md_t nothing; /* an empty descriptor, for the barrier */
    ptl_size_t meetings;
} job;

/* Ends the program if a call failed. */
void job_check(int result, const char *call);
#define JOB_CALL(call) job_check(call, #call)

/* Opens a non-matching logical interface. Rank and number of processes come from the launcher. */
void job_start(job *j);
void job_end(job *j);
void job_meet(job *j);
ptl_process_t job_peer(uint32_t rank);
/* Offers memory at portal 0. The counter counts messages that arrive. */
void job_offer(job *j, void *start, size_t len, ptl_handle_ct_t counter, unsigned options);
ptl_handle_md_t job_bind(job *j, void *start, size_t len, unsigned options,
                         ptl_handle_ct_t counter);
double job_seconds(void);

#endif
