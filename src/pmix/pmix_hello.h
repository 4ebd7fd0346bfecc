/* SPDX-License-Identifier: BSD-3-Clause */
/* pmix_hello.h: the greeting that each rank of a PMIx job publishes first, and the blocks of ranks
 * that follow from all greetings. Pure.
 *
 * Ranks share memory in blocks of consecutive ranks on one host, since a host page stores its ranks
 * as a first rank and a count. A launcher that deals ranks out in turns makes blocks of one. */
#ifndef PEN_PMIX_PMIX_HELLO_H
#define PEN_PMIX_PMIX_HELLO_H

#include "base/pack.h"
#include "boot/host_page.h"
#include "seal/seal.h"

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* First bytes of a greeting in every version. */
#define PEN_PMIX_HELLO_MARK "penstock-pmix-1 "

enum { PEN_PMIX_DOOR_LEN = 16, PEN_PMIX_TICKET_LEN = 32, PEN_PMIX_HOST_MAX = 256 };

typedef struct pen_pmix_hello {
    const char *version; /* Penstock's version */
    uint32_t first;      /* first rank of the block */
    uint32_t count;      /* number of ranks in the block */
    const char *host;    /* host name, for the network */
    uint32_t cores;      /* cores that this rank may use; cpus: its affinity mask */
    cpu_set_t cpus;
    /* socket name of the block's first rank, which hands out the arena */
    uint8_t door[PEN_PMIX_DOOR_LEN];
    /* ticket of the block's first rank, which its clients show */
    uint8_t ticket[PEN_PMIX_TICKET_LEN];
    uint8_t job_key[PEN_HOST_KEY_LEN]; /* rank 0's key, in a job of several blocks; else zero */
    /* for connections between blocks (oob.h), under PMI-1: the block's salt; rank 0's port and
     * addresses, else 0 and empty */
    uint8_t salt[PEN_SEAL_SALT_LEN];
    uint32_t port;
    const char *addresses;
} pen_pmix_hello;

const char *pen_pmix_hello_version(void); /* this library's version */
void pen_pmix_hello_pack(const pen_pmix_hello *hello, pen_pack *out);

/* Unpacks a greeting; *out points into the bytes. Returns false if the version differs, which is
 * then in *version_out ("" if it is no greeting), or if it is malformed (then *version_out is this
 * library's version). */
bool pen_pmix_hello_unpack(const char *bytes, size_t len, pen_pmix_hello *out,
                           const char **version_out);

/* Finds the block [*first, *end) of `rank`. local_peers lists the ranks of its host, "0,1,2,7" for
 * example. A block has at most `most` ranks; 0: no bound. *all: the block has all ranks of the
 * host. Returns false if the list is malformed or lacks the rank. */
bool pen_pmix_block(const char *local_peers, uint32_t rank, uint32_t most, uint32_t *first,
                    uint32_t *end, bool *all);

/* Finds the first rank of each block from all greetings. Returns the number of blocks, or 0 if the
 * greetings contradict each other. firsts: room for size + 1 words; the last one is size. */
uint32_t pen_pmix_blocks(const pen_pmix_hello *hellos, uint32_t size, uint32_t *firsts);

/* Cores that the first `count` ranks of hellos may use together. */
uint32_t pen_pmix_cores(const pen_pmix_hello *hellos, uint32_t count);

#endif
