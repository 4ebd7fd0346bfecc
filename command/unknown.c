/* SPDX-License-Identifier: BSD-3-Clause */
/* unknown.c: the answer to a mistyped word. */
#include "command/command.h"

#include "base/nearest.h"
#include "diag/log.h"

#include <stdbool.h>
#include <string.h>

int command_unknown(const char *who, const char *kind, const char *typed, const char *nearest)
{
    pen_log log;
    pen_log_init(&log, strcmp(who, "penstock") == 0 ? "command" : who);
    bool sub = strcmp(who, "penstock") != 0;
    if (nearest != NULL)
        pen_log_error(&log,
                      "unknown %s \"%s\"; did you mean \"%s\"? `penstock help%s%s` lists them",
                      kind, typed, nearest, sub ? " " : "", sub ? who : "");
    else
        pen_log_error(&log, "unknown %s \"%s\"; `penstock help%s%s` lists them", kind, typed,
                      sub ? " " : "", sub ? who : "");
    return COMMAND_USAGE;
}

int command_unknown_word(const char *who, const char *typed, const char *const *options)
{
    return command_unknown(who, typed[0] == '-' ? "option" : "argument", typed,
                           pen_nearest(typed, options));
}
