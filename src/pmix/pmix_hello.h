/* SPDX-License-Identifier: BSD-3-Clause */
/* pmix_hello.h: what each rank of a PMIx job tells all others before they share anything, and what
 * follows from it: which ranks share memory. Pure.
 *
 * Ranks share memory in blocks: consecutive ranks of one host, since a host page knows its ranks by
 * the first and a count. A launcher that deals ranks out in turns makes blocks of one. */
#ifndef PEN_PMIX_PMIX_HELLO_H
#define PEN_PMIX_PMIX_HELLO_H

#include "base/pack.h"
#include "boot/host_page.h"

#include <sched.h>

/* First in the bytes, whatever else a version writes there. */
#define PEN_PMIX_HELLO_MARK "penstock-pmix-1 "

enum { PEN_PMIX_DOOR_LEN = 16, PEN_PMIX_TICKET_LEN = 32, PEN_PMIX_HOST_MAX = 256 };

typedef struct pen_pmix_hello {
    const char *version; /* of Penstock */
    uint32_t first;      /* of the block ... */
    uint32_t count;      /* ... of so many ranks */
    const char *host;    /* its name, for the network's sake */
    uint32_t cores;      /* this rank may use; cpus: those of its affinity mask */
    cpu_set_t cpus;
    uint8_t door[PEN_PMIX_DOOR_LEN]; /* of the block's first rank: where it hands the arena out */
    uint8_t ticket[PEN_PMIX_TICKET_LEN]; /* likewise: and to whom */
    uint8_t job_key[PEN_HOST_KEY_LEN];   /* rank 0's, in a job of several blocks; else zero */
} pen_pmix_hello;

const char *pen_pmix_hello_version(void); /* ours */
void pen_pmix_hello_pack(const pen_pmix_hello *hello, pen_pack *out);

/* Points into the bytes. False: not of this version, which *version_out then names ("" if it is
 * none at all), or malformed (*version_out is our own version). */
bool pen_pmix_hello_unpack(const char *bytes, size_t len, pen_pmix_hello *out,
                           const char **version_out);

/* The block of `rank` among the ranks of its host, "0,1,2,7": [*first, *end), of at most so many
 * ranks (0: no bound). *all: these are all the host's. False: malformed, or rank is not there. */
bool pen_pmix_block(const char *local_peers, uint32_t rank, uint32_t most, uint32_t *first,
                    uint32_t *end, bool *all);

/* The first rank of each block, from what each rank says of its own: answers the number of blocks,
 * 0 if these contradict each other. firsts: room for size + 1; the last is size. */
uint32_t pen_pmix_blocks(const pen_pmix_hello *hellos, uint32_t size, uint32_t *firsts);

/* Cores that so many ranks may use together. */
uint32_t pen_pmix_cores(const pen_pmix_hello *hellos, uint32_t count);

#endif
