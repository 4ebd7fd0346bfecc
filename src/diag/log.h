/* SPDX-License-Identifier: BSD-3-Clause */
/* log.h: one line per message, always of the form
 *     penstock[rank 3 host n17 smp] error: cannot ...: reason; what to do
 * The context is passed in: a line names who speaks, and nothing here is global. */
#ifndef PEN_DIAG_LOG_H
#define PEN_DIAG_LOG_H

#include "base/compiler.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

/* By volume. info: facts about a job, once per job or rank. */
#define PEN_LOG_LEVEL_LIST(X) X(ERROR, "error") X(WARN, "warning") X(INFO, "info")

typedef enum pen_log_level {
#define PEN_LOG_ENUM(name, text) PEN_LOG_##name,
    PEN_LOG_LEVEL_LIST(PEN_LOG_ENUM)
#undef PEN_LOG_ENUM
} pen_log_level;

typedef struct pen_log {
    int fd;              /* descriptor of the output; -1: discard (tests) */
    pen_log_level level; /* the highest level that is printed */
    int32_t rank;        /* -1: not a rank (launcher, info) or not known yet */
    char who[16];        /* printed instead of a rank if rank < 0: "run", "info", "" */
    char host[64];
    char conduit[16];    /* "" until chosen */
    bool quiet;          /* GASNET_QUIET: no warnings */
    uint64_t line_count; /* lines written; for tests, and to limit lines about bad input */
} pen_log;

void pen_log_init(pen_log *log, const char *who); /* stderr, level warn, this host's name */

/* Prints one line with one write(2), so lines of several processes do not mix. %m works; errno
 * is kept. Control characters in values become spaces, and a line that is too long is cut, so a
 * message is always one line. __extension__: without it -Wpedantic warns about %m. */
void pen_log_line(pen_log *log, pen_log_level level, const char *format, ...) PEN_PRINTF(3, 4);
void pen_log_vline(pen_log *log, pen_log_level level, const char *format, va_list arguments)
    PEN_PRINTF(3, 0);
#define pen_log_error(log, ...) __extension__ pen_log_line((log), PEN_LOG_ERROR, __VA_ARGS__)
#define pen_log_warn(log, ...)  __extension__ pen_log_line((log), PEN_LOG_WARN, __VA_ARGS__)
#define pen_log_info(log, ...)  __extension__ pen_log_line((log), PEN_LOG_INFO, __VA_ARGS__)

/* Parses "error", "warn", "warning" or "info". Returns false for any different text. */
bool pen_log_level_parse(const char *text, pen_log_level *out);

#endif
