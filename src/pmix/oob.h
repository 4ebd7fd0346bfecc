/* SPDX-License-Identifier: BSD-3-Clause */
/* oob.h: out-of-band connections between the hosts of a job, for launchers whose own channel
 * carries nothing after the start: under PMI-1 it belongs to the MPI of the process by then.
 *
 * The first steward of each block (pmix_hello.h) has a TCP connection to that of block 0, the
 * centre. They meet over it, with a text of bytes from each, and tell each other how the job ends.
 * Its close tells of a lost process. All messages are encrypted with keys that are derived from the
 * job's key; a process that does not have it is refused, and so is a message that is changed or
 * sent twice.
 *
 * One thread makes all calls. Events come as news through a pipe, as PMIx's do (pmix_client.h):
 * FENCED, TOLD, PEER_LOST. Functions that may fail return NULL or an error text. */
#ifndef PEN_PMIX_OOB_H
#define PEN_PMIX_OOB_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    PEN_OOB_ADDRESSES_LEN = 512, /* text of the centre's addresses, with the zero at its end */
    PEN_OOB_TAGS = 4, /* tags of meetings are 0 to 3; those of different tags may overlap */
};

typedef struct pen_oob pen_oob;

/* The centre: opens a listening socket, before the greetings are published. addresses: numeric
 * addresses of this host, separated by commas. Returns -1 with errno on failure. */
int pen_oob_listen(uint16_t *port, char addresses[PEN_OOB_ADDRESSES_LEN]);

typedef struct pen_oob_params {
    const uint8_t *job_key; /* PEN_SEAL_KEY_LEN bytes, not kept */
    const uint8_t *salts;   /* PEN_SEAL_SALT_LEN bytes of each block, which it has drawn */
    uint32_t block_i, block_count;
    const uint32_t *firsts;       /* first rank of each block; kept */
    int listener;                 /* the centre's; the caller closes it afterwards */
    const char *host, *addresses; /* the centre's name, and its addresses as pen_oob_listen told */
    uint16_t port;
    size_t body_max; /* longest body that a block brings to a meeting */
    int news;        /* writing end of the pipe */
    uint64_t until_ns;
} pen_oob_params;

/* Connects all blocks, or fails at until_ns. */
const char *pen_oob_open(const pen_oob_params *params, pen_oob **out);
void pen_oob_close(pen_oob *oob); /* wipes keys; NULL is fine */

/* Meets all blocks. News report the end, after which pen_oob_body has the body of each block until
 * the next meeting. A connection that is lost is no error here, nor in the calls below: news tell.
 */
const char *pen_oob_meet(pen_oob *oob, uint32_t tag, const void *body, size_t len);
const char *pen_oob_body(const pen_oob *oob, uint32_t block, size_t *len); /* NULL: there is none */

/* Tells all other blocks a number, which come to them as TOLD. */
void pen_oob_tell(pen_oob *oob, int code);

/* A process that is not joined may end without being lost. All are joined at the beginning. */
void pen_oob_set_joined(pen_oob *oob, bool joined);

/* Fills descriptors to poll, of which there are at most block_count. Returns how many. */
uint32_t pen_oob_watch(const pen_oob *oob, struct pollfd *out);
void pen_oob_serve(pen_oob *oob); /* takes what has arrived; never waits for it */

/* Waits until fd is ready for these events of poll. Returns false if it is not in time. */
bool pen_oob_await(int fd, short events, uint64_t until_ns);

#endif
