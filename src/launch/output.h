/* SPDX-License-Identifier: BSD-3-Clause */
/* output.h: where the job's output goes: the supervisor's stdout or stderr behind a queue, written
 * without ever blocking, so that a slow or stopped reader cannot keep the supervisor from its
 * duties. */
#ifndef PEN_LAUNCH_OUTPUT_H
#define PEN_LAUNCH_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct pen_output {
    int fd;         /* written to; a description of our own where that can be had */
    int named_fd;   /* the descriptor it stands for */
    bool own;       /* fd is ours to close */
    bool may_block; /* no description of our own: write only what poll says will go */
    char *queue;
    size_t start, end, room;
    uint32_t source;  /* who wrote last */
    bool mid_line;    /* and did not end the line */
    const char *call; /* the call that failed, NULL: none; nothing is written after it */
    int error;        /* its errno */
} pen_output;

void pen_output_open(pen_output *out, int fd);
void pen_output_close(pen_output *out); /* drops what is queued */

/* Same file, pipe or terminal? Then both have to share a queue, or lines mix. */
bool pen_output_same(int fd_a, int fd_b);

/* Queues. When another source left a line unfinished, ends that line first. */
void pen_output_put(pen_output *out, uint32_t source, const char *text, size_t len);

/* After a failure, which ends the queue: tries once to write a short message. */
void pen_output_last_words(const pen_output *out, const char *text, size_t len);

/* Writes what goes without waiting. */
void pen_output_flush(pen_output *out);

static inline size_t pen_output_queued(const pen_output *out) { return out->end - out->start; }

#endif
