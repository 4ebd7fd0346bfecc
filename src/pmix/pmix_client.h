/* SPDX-License-Identifier: BSD-3-Clause */
/* pmix_client.h: the calls of PMIx that Penstock uses. The library libpmix.so.2 is opened when the
 * program runs, so neither build nor start depends on it. A call blocks unless its comment says
 * that news report its end. Threads of PMIx write news to a pipe of the caller. */
#ifndef PEN_PMIX_PMIX_CLIENT_H
#define PEN_PMIX_PMIX_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct pen_pmix pen_pmix;

typedef enum pen_pmix_kind {
    PEN_PMIX_FENCED = 1,  /* a fence has ended; code: 0 or an error; tag: the fence's */
    PEN_PMIX_NOTIFIED,    /* pen_pmix_notify has ended; code: 0 or an error */
    PEN_PMIX_TOLD,        /* code: the number that a rank of the job gave pen_pmix_notify */
    PEN_PMIX_DEAF,        /* the launcher has no store for it, so pen_pmix_notify will fail */
    PEN_PMIX_PEER_LOST,   /* code: the rank that ended abnormally, as far as PMIx tells */
    PEN_PMIX_SERVER_LOST, /* the launcher's server on this host is gone */
} pen_pmix_kind;

typedef struct pen_pmix_news {
    uint32_t kind, tag;
    int32_t code;
} pen_pmix_news;

#define PEN_PMIX_WHOLE_JOB UINT32_MAX /* for values of the whole job */

/* Opens the library, which then stays loaded. On failure returns NULL, with the reason in *why. */
pen_pmix *pen_pmix_open(const char **why);
void pen_pmix_close(pen_pmix *pmix); /* only before pen_pmix_begin */
const char *pen_pmix_version(pen_pmix *pmix);

/* The functions below return NULL, or an error text. */

/* Becomes a client of the launcher's job with number *rank. news: the writing end of a pipe. */
const char *pen_pmix_begin(pen_pmix *pmix, int news, uint32_t *rank);
/* tells the launcher that this process ends in an orderly way */
const char *pen_pmix_finish(pen_pmix *pmix);

const char *pen_pmix_get_u32(pen_pmix *pmix, uint32_t rank, const char *key, uint32_t *out);
const char *pen_pmix_get_text(pen_pmix *pmix, uint32_t rank, const char *key, char **out);
const char *pen_pmix_get_bytes(pen_pmix *pmix, uint32_t rank, const char *key, char **out,
                               size_t *len_out);

/* Publishes a value that peers can get after a fence. */
const char *pen_pmix_put_bytes(pen_pmix *pmix, const char *key, const void *bytes, size_t len);

/* Starts a fence of these ranks (count 0: all ranks of the job), after which they have each other's
 * values. News report its end. One fence at a time; `ranks` is copied. */
const char *pen_pmix_fence(pen_pmix *pmix, const uint32_t *ranks, uint32_t count, uint32_t tag);

/* Sends a number to all ranks that listen, once in a job. News report the end of the call. It
 * publishes the number and listeners wait for it, since events between hosts block the mpirun of
 * Open MPI 4.1. */
const char *pen_pmix_notify(pen_pmix *pmix, int code);
const char *pen_pmix_listen(pen_pmix *pmix);

/* Makes the launcher end the whole job. May not return. */
void pen_pmix_abort(pen_pmix *pmix, int code, const char *text);

/* Keys of values that a launcher provides. */
extern const char pen_pmix_key_job_size[];
extern const char pen_pmix_key_local_peers[];

#endif
