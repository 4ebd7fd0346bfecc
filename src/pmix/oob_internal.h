/* SPDX-License-Identifier: BSD-3-Clause */
/* oob_internal.h: declarations that the files of oob share: messages, connections and state. */
#ifndef PEN_PMIX_OOB_INTERNAL_H
#define PEN_PMIX_OOB_INTERNAL_H

#include "pmix/oob.h"
#include "seal/seal.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum oob_kind {
    OOB_HELLO = 1, /* to the centre: first message of a connection */
    OOB_WELCOME,   /* the centre's answer */
    OOB_USE,       /* to the centre: of several connections this one is used */
    OOB_COME,      /* to the centre: number is the meeting's tag; the body is the block's */
    OOB_ALL,       /* from the centre: number is the meeting's tag; the bodies of all blocks */
    OOB_TELL,      /* number: what pen_oob_tell was given */
    OOB_JOINED,    /* number: 1, or 0 if the sender has left the job until it joins again */
} oob_kind;

/* The head of a message, in the byte order and layout of the sender's memory. All hosts of a job
 * have the same, because a greeting of another build is refused. */
typedef struct oob_head {
    uint32_t from; /* the sender's block */
    uint32_t kind, number;
    uint32_t len;     /* bytes of the body */
    uint64_t counter; /* the seal's */
} oob_head;

typedef struct oob_line {
    int fd;         /* -1: closed */
    uint32_t block; /* the peer's, once a first message has proven it */
    bool proven, joined;
    char *in; /* a message that is arriving */
    size_t len, room;
    uint64_t until_ns; /* time limit for the first messages */
} oob_line;

typedef struct oob_body {
    const char *bytes;
    size_t len;
} oob_body;

typedef struct oob_meeting { /* the centre's */
    uint32_t count;          /* blocks that have come */
    bool *here;
    oob_body *came;
} oob_meeting;

struct pen_oob {
    pen_seal *seal;
    uint32_t block_i, block_count;
    const uint32_t *firsts;
    oob_line *lines; /* the centre: to block 1 and so on; others: one, to block 0 */
    uint32_t line_count;
    size_t body_max, all_max; /* longest body of a block; longest body with those of all */
    int news;
    oob_meeting meetings[PEN_OOB_TAGS];
    char *bodies; /* the bodies of the last meeting */
    size_t bodies_len;
    oob_body *at; /* where the body of each block lies */
};

bool pen_oob_send(pen_oob *oob, const oob_line *line, uint32_t to, oob_kind kind, uint32_t number,
                  const void *body, size_t len);

typedef enum oob_read {
    OOB_NOTHING, /* no whole message is there */
    OOB_MESSAGE, /* *head and the bytes behind it in line->in are a genuine message */
    OOB_GONE,    /* the peer has closed, or has sent something invalid: close it */
} oob_read;

/* Reads a message. body_max: bytes that its body may have. */
oob_read pen_oob_read(pen_oob *oob, oob_line *line, size_t body_max, oob_head *head);
void pen_oob_line_close(oob_line *line);

#endif
