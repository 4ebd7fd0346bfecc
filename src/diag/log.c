/* SPDX-License-Identifier: BSD-3-Clause */
/* log.c: builds one line of context, level and message, and passes it to the kernel in one
 * write. */
#include "diag/log.h"

#include "base/compiler.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum {
    LINE_LEN_MAX = 2048,    /* longer messages are cut, because a pipe takes 4096 bytes at once */
    FULL_PIPE_MS_MAX = 100, /* how long a line waits for the reader of a non-blocking pipe */
};

static const char *const level_names[] = {
#define LEVEL_NAME(name, text) text,
    PEN_LOG_LEVEL_LIST(LEVEL_NAME)
#undef LEVEL_NAME
};

void pen_log_init(pen_log *log, const char *who)
{
    *log = (pen_log){ .fd = STDERR_FILENO, .level = PEN_LOG_WARN, .rank = -1 };
    (void)snprintf(log->who, sizeof log->who, "%s", who);
    if (gethostname(log->host, sizeof log->host - 1) != 0)
        (void)snprintf(log->host, sizeof log->host, "unknown");
    log->host[strcspn(log->host, ".")] = '\0'; /* the short name */
}

static bool log_shows(const pen_log *log, pen_log_level level)
{
    return level <= log->level && !(log->quiet && level == PEN_LOG_WARN);
}

/* A line under construction. Text that does not fit is dropped. */
typedef struct text {
    char bytes[LINE_LEN_MAX];
    size_t len;
    bool cut;
} text;

static void text_add_v(text *out, const char *format, va_list arguments)
{
    size_t room = sizeof out->bytes - out->len;
    int len = vsnprintf(out->bytes + out->len, room, format, arguments);
    if (len < 0)
        return;
    out->cut = out->cut || (size_t)len >= room;
    out->len += (size_t)len < room ? (size_t)len : room - 1;
}

static void PEN_PRINTF(2, 3) text_add(text *out, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    text_add_v(out, format, arguments);
    va_end(arguments);
}

static void text_add_context(text *out, const pen_log *log, pen_log_level level)
{
    text_add(out, "penstock[");
    if (log->rank >= 0)
        text_add(out, "rank %d host %s", (int)log->rank, log->host);
    else if (log->who[0] != '\0')
        text_add(out, "%s", log->who);
    else
        text_add(out, "host %s", log->host);
    if (log->conduit[0] != '\0')
        text_add(out, " %s", log->conduit);
    text_add(out, "] %s: ", level_names[level]);
}

/* Keeps the message on one line, and removes terminal control characters from quoted values. */
static void text_end(text *out)
{
    for (size_t i = 0; i < out->len; i++) {
        unsigned char byte = (unsigned char)out->bytes[i];
        if (byte < 0x20 || byte == 0x7f)
            out->bytes[i] = ' ';
    }
    if (out->cut)
        memcpy(out->bytes + out->len - 3, "...", 3);
    out->bytes[out->len++] = '\n'; /* overwrites the terminating zero, for which there was room */
}

static void write_line(int fd, const char *bytes, size_t len)
{
    ssize_t written = write(fd, bytes, len);
    while (written < 0 && errno == EINTR)
        written = write(fd, bytes, len);
    if (written < 0 && errno == EAGAIN) {
        struct pollfd full = { .fd = fd, .events = POLLOUT };
        if (poll(&full, 1, FULL_PIPE_MS_MAX) == 1)
            written = write(fd, bytes, len);
    }
    (void)written; /* no channel is left for a report */
}

void pen_log_vline(pen_log *log, pen_log_level level, const char *format, va_list arguments)
{
    if (!log_shows(log, level))
        return;
    int error = errno;
    text line = { .len = 0 };
    text_add_context(&line, log, level);
    errno = error; /* for %m */
    text_add_v(&line, format, arguments);
    text_end(&line);
    /* relaxed: a count; threads may log at the same time */
    __atomic_fetch_add(&log->line_count, 1, __ATOMIC_RELAXED);
    if (log->fd >= 0)
        write_line(log->fd, line.bytes, line.len);
    errno = error;
}

void pen_log_line(pen_log *log, pen_log_level level, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    pen_log_vline(log, level, format, arguments);
    va_end(arguments);
}

bool pen_log_level_parse(const char *name, pen_log_level *out)
{
    if (strcasecmp(name, "warn") == 0) {
        *out = PEN_LOG_WARN;
        return true;
    }
    for (size_t i = 0; i < sizeof level_names / sizeof level_names[0]; i++) {
        if (strcasecmp(name, level_names[i]) == 0) {
            *out = (pen_log_level)i;
            return true;
        }
    }
    return false;
}
