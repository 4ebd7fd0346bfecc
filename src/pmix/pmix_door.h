/* SPDX-License-Identifier: BSD-3-Clause */
/* pmix_door.h: how the first rank of a block hands the arena to the others, which no common parent
 * has given it: over sockets in the abstract namespace, whose name is random, bound before it is
 * told, and gone with the process, so that nothing can be squatted or left behind. Both sides look
 * at the other's user, and who comes shows the ticket that only ranks of the job were told. The
 * connection stays: its end is the end of the process at the other end. */
#ifndef PEN_PMIX_PMIX_DOOR_H
#define PEN_PMIX_PMIX_DOOR_H

#include "pmix/pmix_hello.h"

/* Listens; -1 with errno. */
int pen_pmix_door_open(const uint8_t *door, uint32_t guests);

typedef struct pen_pmix_gift {
    int arena_fd;
    uint64_t head_len; /* of the arena: what a steward maps of it */
} pen_pmix_gift;

/* Lets one rank of the block [first + 1, first + count) in, if it comes in time: answers its
 * connection and *rank, or -1 with errno; strangers are passed over. */
int pen_pmix_door_serve(int listener, const uint8_t *ticket, uint32_t first, uint32_t count,
                        const pen_pmix_gift *gift, uint64_t until_ns, uint32_t *rank);

/* The other side: answers the connection, or -1 with errno. *gift is the caller's. */
int pen_pmix_door_enter(const uint8_t *door, const uint8_t *ticket, uint32_t rank,
                        uint64_t until_ns, pen_pmix_gift *gift);

#endif
