/* SPDX-License-Identifier: BSD-3-Clause */
/* pmix_client.h: the few calls of PMIx that we need, from whatever libpmix.so.2 there is when the
 * program runs: the library is neither linked nor wanted otherwise. Calls block unless they say
 * that news tell of their end; news are written to a pipe of the caller's, by threads of PMIx. */
#ifndef PEN_PMIX_PMIX_CLIENT_H
#define PEN_PMIX_PMIX_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct pen_pmix pen_pmix;

typedef enum pen_pmix_kind {
    PEN_PMIX_FENCED = 1,  /* code: 0, or why not; tag: the fence's */
    PEN_PMIX_NOTIFIED,    /* pen_pmix_notify is done; code: likewise */
    PEN_PMIX_TOLD,        /* code: what some rank of the job gave pen_pmix_notify */
    PEN_PMIX_DEAF,        /* the launcher has no such store: pen_pmix_notify will fail, too */
    PEN_PMIX_PEER_LOST,   /* code: the rank that ended abnormally, as far as PMIx tells */
    PEN_PMIX_SERVER_LOST, /* the launcher's server on this host is gone */
} pen_pmix_kind;

typedef struct pen_pmix_news {
    uint32_t kind, tag;
    int32_t code;
} pen_pmix_news;

#define PEN_PMIX_WHOLE_JOB UINT32_MAX /* for values of no rank's */

/* Opens the library, which then stays in the process. NULL: *why says what is missing. */
pen_pmix *pen_pmix_open(const char **why);
void pen_pmix_close(pen_pmix *pmix); /* one that was never begun */
const char *pen_pmix_version(pen_pmix *pmix);

/* What follows answers NULL, or what went wrong. */

/* Becomes a client: *rank in the launcher's job. news: the writing end of a pipe. */
const char *pen_pmix_begin(pen_pmix *pmix, int news, uint32_t *rank);
const char *pen_pmix_finish(pen_pmix *pmix); /* the launcher takes our exit for an orderly one */

const char *pen_pmix_get_u32(pen_pmix *pmix, uint32_t rank, const char *key, uint32_t *out);
const char *pen_pmix_get_text(pen_pmix *pmix, uint32_t rank, const char *key, char **out);
const char *pen_pmix_get_bytes(pen_pmix *pmix, uint32_t rank, const char *key, char **out,
                               size_t *len_out);

/* For others to get, once all concerned have passed a fence. */
const char *pen_pmix_put_bytes(pen_pmix *pmix, const char *key, const void *bytes, size_t len);

/* All these ranks (count 0: all of the job) meet, and have each other's values then. One at a time;
 * ranks stay as they are until the news. */
const char *pen_pmix_fence(pen_pmix *pmix, const uint32_t *ranks, uint32_t count, uint32_t tag);

/* Tells all ranks that listen a number, once in a job; news. By publishing it, for which listeners
 * wait: events between hosts block the mpirun of Open MPI 4.1 for good. */
const char *pen_pmix_notify(pen_pmix *pmix, int code);
const char *pen_pmix_listen(pen_pmix *pmix);

/* Has the launcher end all of the job; need not return. */
void pen_pmix_abort(pen_pmix *pmix, int code, const char *text);

/* The keys of what a launcher tells. */
extern const char pen_pmix_key_job_size[];
extern const char pen_pmix_key_local_peers[];

#endif
