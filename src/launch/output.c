/* SPDX-License-Identifier: BSD-3-Clause */
/* output.c: implements a queue in front of a descriptor that may be slow, closed or full. */
#include "launch/output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* bytes that a pipe or terminal takes at once if poll says it is writable */
enum { BLOCKING_PIECE = 512 };

/* Pipes and terminals are opened a second time, since O_NONBLOCK belongs to the open description,
 * which the shell shares. A regular file never blocks, and a second description of it would have
 * its own offset. */
void pen_output_open(pen_output *out, int fd)
{
    *out = (pen_output){ .fd = fd, .named_fd = fd };
    struct stat file;
    int mode = fcntl(fd, F_GETFL);
    if (fstat(fd, &file) != 0 || S_ISREG(file.st_mode) || (mode & O_ACCMODE) == O_RDONLY)
        return;
    if (S_ISFIFO(file.st_mode) || S_ISCHR(file.st_mode)) {
        char path[32];
        (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        int again = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
        if (again >= 0) {
            out->fd = again;
            out->own = true;
            return;
        }
    }
    out->may_block = true;
}

void pen_output_close(pen_output *out)
{
    if (out->own)
        close(out->fd);
    free(out->queue);
    *out = (pen_output){ .fd = -1, .named_fd = -1 };
}

bool pen_output_same(int fd_a, int fd_b)
{
    struct stat a, b;
    return fstat(fd_a, &a) == 0 && fstat(fd_b, &b) == 0 && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino && a.st_rdev == b.st_rdev;
}

static bool room_for(pen_output *out, size_t len)
{
    if (out->start != 0 && out->room - out->end < len) {
        memmove(out->queue, out->queue + out->start, out->end - out->start);
        out->end -= out->start;
        out->start = 0;
    }
    if (out->room - out->end >= len)
        return true;
    size_t room = out->room < 65536 ? 65536 : out->room;
    while (room - out->end < len)
        room *= 2;
    char *grown = realloc(out->queue, room);
    if (grown == NULL)
        return false;
    out->queue = grown;
    out->room = room;
    return true;
}

static void put(pen_output *out, const char *text, size_t len)
{
    if (len == 0 || out->call != NULL)
        return;
    if (!room_for(out, len)) {
        out->call = "realloc";
        out->error = ENOMEM;
        return;
    }
    memcpy(out->queue + out->end, text, len);
    out->end += len;
    out->mid_line = text[len - 1] != '\n';
}

void pen_output_put(pen_output *out, uint32_t source, const char *text, size_t len)
{
    if (out->mid_line && source != out->source)
        put(out, "\n", 1);
    out->source = source;
    put(out, text, len);
}

static ssize_t write_some(const pen_output *out, const char *from, size_t len)
{
    if (!out->may_block)
        return write(out->fd, from, len);
    struct pollfd ready = { .fd = out->fd, .events = POLLOUT };
    if (poll(&ready, 1, 0) == 0) {
        errno = EAGAIN;
        return -1;
    }
    return write(out->fd, from, len < BLOCKING_PIECE ? len : BLOCKING_PIECE);
}

void pen_output_last_words(const pen_output *out, const char *text, size_t len)
{
    if (write_some(out, text, len) < 0)
        return; /* there is no second place to report this */
}

void pen_output_flush(pen_output *out)
{
    while (out->start < out->end && out->call == NULL) {
        ssize_t written = write_some(out, out->queue + out->start, out->end - out->start);
        if (written >= 0)
            out->start += (size_t)written;
        else if (errno == EAGAIN)
            return;
        else if (errno != EINTR) {
            out->error = errno;
            out->call = "write";
        }
    }
    out->start = out->end = 0;
}
