/* SPDX-License-Identifier: BSD-3-Clause */
/* job_internal.h: functions shared by the files of job/. */
#ifndef PEN_JOB_JOB_INTERNAL_H
#define PEN_JOB_JOB_INTERNAL_H

#include "base/status.h"
#include "boot/wait_state.h"
#include "conduit/conduit.h"
#include "job/job.h"
#include "link/impair.h"
#include "progress/progress.h"

#include <stdbool.h>
#include <stdint.h>

/* job_trace.c. If the job is traced: opens this rank's ring; makes job->host trace what arrives;
 * puts a link around *link that traces what is sent, where peer 0 is the rank `first`. */
pen_status pen_job_open_trace(pen_job *job);
void pen_job_trace_host(pen_job *job);
pen_status pen_job_trace_link(pen_job *job, pen_peer first, pen_peer peers, pen_link **link);
void pen_job_close_trace(pen_job *job);

/* Reads the tables of job/, progress/, the conduit and link/. The process's own environment
 * overrides the console's. */
pen_status pen_job_read_config(pen_job *job, const pen_job_params *params);
pen_status pen_job_read_progress_config(pen_job *job, pen_progress_config *out);
pen_status pen_job_read_conduit_config(pen_job *job, const pen_conduit *conduit, uint64_t *config);
pen_status pen_job_read_impair_config(pen_job *job, pen_impair_config *out);

/* Maximum segment of this rank in bytes, from GASNET_MAX_SEGSIZE, its share of the memory, and
 * its slice. */
uintptr_t pen_job_segment_limit(const pen_job *job);

void pen_job_fill_host(pen_job *job, const pen_job_params *params);
void pen_job_log_softly(pen_host *host); /* errors that it logs are told at level info */

/* job_choose.c. Collective, in a job of several hosts: chooses job->conduit, and opens its link, in
 * agreement with all ranks. params->host is &job->lent_host. Fails: the reason is logged. */
pen_status pen_job_open_far(pen_job *job, pen_link_params *params, pen_link **out);

/* In a job of several hosts: opens the link among the ranks of
 * this host, which becomes the second port. */
bool pen_job_is_spread(const pen_job *job);
pen_status pen_job_open_near(pen_job *job);
/* job_pair.c. If PENSTOCK_CONDUIT names a pair: takes it apart before the first conduit is chosen;
 * chooses the second; opens its link, and makes *link the pair of both. */
void pen_job_split_pair(pen_job *job);
pen_status pen_job_choose_memory(pen_job *job);
pen_status pen_job_add_memory(pen_job *job, const pen_link_params *params, pen_link **link);
pen_status pen_job_connect_near(pen_job *job);

/* Fills in the position of this rank among the job's hosts. */
void pen_job_place(const pen_job *job, pen_link_params *params);

/* Is the arena large enough for the conduit with this number of peers? If not, prints a line. */
pen_status pen_job_check_arena(pen_job *job, const pen_conduit *conduit, const void *config,
                               pen_peer peers);

/* cores.c. Shows peers of this host the processor on which this rank runs. */
void pen_job_show_cpu(const pen_job *job);
/* cores.c. If a rank with a lower number has shown the same processor, and the host has a processor
 * for every rank, moves the calling thread to one that no rank has shown. At most once every
 * millisecond. */
void pen_job_keep_apart(pen_job *job);
/* cores.c. Does both; see pen_progress.on_shared. ctx: the job */
void pen_job_core_shared(void *ctx);

void pen_job_idle(void *ctx); /* periodic duties of a waiting thread; ctx: the job */

void pen_job_threads_close(pen_job *job);

/* Releases the keys of peers' segments. */
void pen_job_forget(pen_job *job);

/* Polls until every rank has entered as many meetings as this rank. For set-up calls only. */
void pen_job_meet(pen_job *job);

/* Frees endpoints, pairs and tables of mapped segments. */
void pen_job_endpoints_close(pen_job *job);

/* waits.c: describes a wait: what it is for, and the peer */
void pen_job_describe_wait(pen_job *job, const pen_wait *wait, pen_wait_note *note);
/* waits.c: shows a wait of this rank in the host page; see pen_progress.on_wait */
void pen_job_wait(void *ctx, pen_wait *wait, uint64_t now_ns, bool over);

#endif
