/* SPDX-License-Identifier: BSD-3-Clause */
/* lines.h: cuts what a rank prints into whole lines, tagged with its rank if asked. Pure: bytes in,
 * bytes out. */
#ifndef PEN_LAUNCH_LINES_H
#define PEN_LAUNCH_LINES_H

#include <stdbool.h>
#include <stddef.h>

/* Longest unfinished line that is kept. A longer line is passed on in pieces. */
#define PEN_LINES_TAIL_MAX ((size_t)4 << 20)

typedef void (*pen_lines_sink)(void *ctx, const char *text, size_t len);

typedef struct pen_lines {
    char *tail; /* the unfinished line */
    size_t tail_len, tail_room;
    char tag[16]; /* precedes each line; "" for no tag */
    bool open;    /* a piece of the unfinished line has been passed on */
} pen_lines;

void pen_lines_init(pen_lines *lines, const char *tag);
void pen_lines_free(pen_lines *lines);

/* Passes on every complete line and keeps the rest. */
void pen_lines_feed(pen_lines *lines, const char *bytes, size_t len, pen_lines_sink sink,
                    void *ctx);

/* Passes on the unfinished line: at the end of the stream, or if a user waits for a prompt. */
void pen_lines_flush(pen_lines *lines, pen_lines_sink sink, void *ctx);

static inline bool pen_lines_pending(const pen_lines *lines) { return lines->tail_len != 0; }

#endif
