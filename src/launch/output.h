/* SPDX-License-Identifier: BSD-3-Clause */
/* output.h: the supervisor's stdout or stderr behind a queue. Writing never blocks, so a slow or
 * stopped reader does not hold up the supervisor. */
#ifndef PEN_LAUNCH_OUTPUT_H
#define PEN_LAUNCH_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct pen_output {
    int fd;         /* descriptor that is written to; a private description if possible */
    int named_fd;   /* the descriptor that was given */
    bool own;       /* pen_output_close has to close fd */
    bool may_block; /* fd is shared, so write only after poll */
    char *queue;
    size_t start, end, room;
    uint32_t source;  /* source that wrote last */
    bool mid_line;    /* the last text did not end its line */
    const char *call; /* the call that failed; after it nothing is written. NULL: no failure */
    int error;        /* errno of that call */
} pen_output;

void pen_output_open(pen_output *out, int fd);
void pen_output_close(pen_output *out); /* drops queued text */

/* Whether both descriptors are the same file, pipe or terminal. If so, they have to share a queue,
 * or lines mix. */
bool pen_output_same(int fd_a, int fd_b);

/* Queues text. If another source left a line unfinished, ends that line first. */
void pen_output_put(pen_output *out, uint32_t source, const char *text, size_t len);

/* Tries once to write a short message after a failure, which has ended the queue. */
void pen_output_last_words(const pen_output *out, const char *text, size_t len);

/* Writes as much as the descriptor takes without waiting. */
void pen_output_flush(pen_output *out);

static inline size_t pen_output_queued(const pen_output *out) { return out->end - out->start; }

#endif
