/* SPDX-License-Identifier: BSD-3-Clause */
/* launch_lines.c: makes whole lines out of pieces of any length. */
#include "launch/lines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void pen_lines_init(pen_lines *lines, const char *tag)
{
    *lines = (pen_lines){ .tail = NULL };
    (void)snprintf(lines->tag, sizeof(lines->tag), "%s", tag);
}

void pen_lines_free(pen_lines *lines)
{
    free(lines->tail);
    lines->tail = NULL;
    lines->tail_len = lines->tail_room = 0;
}

/* Adds to the unfinished line. Returns false without memory, or if the line would exceed
 * PEN_LINES_TAIL_MAX. */
static bool tail_add(pen_lines *lines, const char *bytes, size_t len)
{
    size_t needed = lines->tail_len + len;
    if (needed > PEN_LINES_TAIL_MAX)
        return false;
    if (needed > lines->tail_room) {
        size_t room = lines->tail_room < 256 ? 256 : lines->tail_room;
        while (room < needed)
            room *= 2;
        char *grown = realloc(lines->tail, room);
        if (grown == NULL)
            return false;
        lines->tail = grown;
        lines->tail_room = room;
    }
    memcpy(lines->tail + lines->tail_len, bytes, len);
    lines->tail_len = needed;
    return true;
}

/* Passes on a piece of a line. If the piece is the line's first, the tag precedes it. */
static void emit_piece(pen_lines *lines, const char *bytes, size_t len, pen_lines_sink sink,
                       void *ctx)
{
    if (!lines->open && lines->tag[0] != '\0')
        sink(ctx, lines->tag, strlen(lines->tag));
    sink(ctx, bytes, len);
    lines->open = bytes[len - 1] != '\n';
}

/* Passes on whole lines. Without a tag they need not be looked at one by one. */
static void emit_lines(pen_lines *lines, const char *bytes, size_t len, pen_lines_sink sink,
                       void *ctx)
{
    if (lines->tag[0] == '\0') {
        sink(ctx, bytes, len);
        lines->open = false;
        return;
    }
    while (len != 0) {
        const char *end = memchr(bytes, '\n', len);
        size_t line_len = (size_t)(end - bytes) + 1;
        emit_piece(lines, bytes, line_len, sink, ctx);
        bytes += line_len;
        len -= line_len;
    }
}

void pen_lines_flush(pen_lines *lines, pen_lines_sink sink, void *ctx)
{
    if (lines->tail_len == 0)
        return;
    emit_piece(lines, lines->tail, lines->tail_len, sink, ctx);
    lines->tail_len = 0;
}

static void keep(pen_lines *lines, const char *bytes, size_t len, pen_lines_sink sink, void *ctx)
{
    if (len == 0 || tail_add(lines, bytes, len))
        return;
    pen_lines_flush(lines, sink, ctx);
    emit_piece(lines, bytes, len, sink, ctx);
}

void pen_lines_feed(pen_lines *lines, const char *bytes, size_t len, pen_lines_sink sink, void *ctx)
{
    const char *last = memrchr(bytes, '\n', len);
    if (last == NULL) {
        keep(lines, bytes, len, sink, ctx);
        return;
    }
    size_t whole_len = (size_t)(last - bytes) + 1;
    size_t rest_len = len - whole_len;
    if (lines->tail_len != 0) { /* the first line end completes the line that had begun */
        const char *first = memchr(bytes, '\n', whole_len);
        size_t end_len = (size_t)(first - bytes) + 1;
        keep(lines, bytes, end_len, sink, ctx);
        pen_lines_flush(lines, sink, ctx);
        bytes += end_len;
        whole_len -= end_len;
    }
    if (whole_len != 0)
        emit_lines(lines, bytes, whole_len, sink, ctx);
    keep(lines, bytes + whole_len, rest_len, sink, ctx);
}
