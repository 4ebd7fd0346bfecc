/* SPDX-License-Identifier: BSD-3-Clause */
/* paint.h: colour on terminals. Output to a file or a pipe, a terminal that is called dumb, and a
 * user who sets NO_COLOR get plain text. */
#ifndef PEN_COMMAND_PAINT_H
#define PEN_COMMAND_PAINT_H

#include <stdio.h>

typedef enum paint { PAINT_HEADING, PAINT_GOOD, PAINT_BAD, PAINT_FAINT } paint;

/* Returns the escape sequence that begins the paint on this stream, or "" where there is none. */
const char *paint_on(FILE *out, paint how);

/* Returns the escape sequence that ends any paint, or "". */
const char *paint_off(FILE *out);

#endif
