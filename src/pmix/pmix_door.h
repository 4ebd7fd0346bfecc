/* SPDX-License-Identifier: BSD-3-Clause */
/* pmix_door.h: the first rank of a block hands the arena to the block's other ranks over sockets,
 * since they have no common parent. A socket's name is random and in the abstract namespace. It is
 * bound before the name is published and disappears with the process, so no process can take it
 * first and no file stays behind. Each side checks its peer's user. The client shows a ticket that
 * only ranks of the job know. The connection stays open: if it ends, the peer process has ended. */
#ifndef PEN_PMIX_PMIX_DOOR_H
#define PEN_PMIX_PMIX_DOOR_H

#include <stdint.h>

/* Opens the door. Returns the listening socket, or -1 with errno. */
int pen_pmix_door_open(const uint8_t *door, uint32_t guests);

typedef struct pen_pmix_gift {
    int arena_fd;
    uint64_t head_len; /* length of the arena's head, which a steward maps */
} pen_pmix_gift;

/* Waits for one rank of the block, in [first + 1, first + count), and gives it the arena. Returns
 * its connection and *rank, or -1 with errno if no rank comes in time. Ignores strangers. */
int pen_pmix_door_serve(int listener, const uint8_t *ticket, uint32_t first, uint32_t count,
                        const pen_pmix_gift *gift, uint64_t until_ns, uint32_t *rank);

/* Called by a rank that fetches the arena. Returns the connection, or -1 with errno. *gift belongs
 * to the caller. */
int pen_pmix_door_enter(const uint8_t *door, const uint8_t *ticket, uint32_t rank,
                        uint64_t until_ns, pen_pmix_gift *gift);

#endif
