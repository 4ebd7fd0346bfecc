/* SPDX-License-Identifier: BSD-3-Clause */
/* paint.c: decides whether a stream gets colour. */
#include "command/paint.h"

#include "knob/knob.h"

#include <stdbool.h>
#include <string.h>
#include <unistd.h>

static bool wants_colour(FILE *out)
{
    const char *refused = pen_knob_from_process(NULL, "NO_COLOR");
    const char *terminal = pen_knob_from_process(NULL, "TERM");
    return isatty(fileno(out)) == 1 && (refused == NULL || *refused == '\0') && terminal != NULL &&
           strcmp(terminal, "dumb") != 0;
}

const char *paint_on(FILE *out, paint how)
{
    static const char *const codes[] = { [PAINT_HEADING] = "\033[1m",
                                         [PAINT_GOOD] = "\033[32m",
                                         [PAINT_BAD] = "\033[31m",
                                         [PAINT_FAINT] = "\033[2m" };
    return wants_colour(out) ? codes[how] : "";
}

const char *paint_off(FILE *out) { return wants_colour(out) ? "\033[0m" : ""; }
