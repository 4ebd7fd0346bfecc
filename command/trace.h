/* SPDX-License-Identifier: BSD-3-Clause */
/* trace.h: the forms in which `penstock trace` prints a trace. */
#ifndef PEN_COMMAND_TRACE_H
#define PEN_COMMAND_TRACE_H

#include "timeline/timeline.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* The part of a trace that is shown. */
typedef struct trace_view {
    const char *file;
    const char *ranks; /* a list like "0,4-7", which is valid; NULL: all ranks */
} trace_view;

bool trace_shows(const trace_view *view, uint32_t rank);

/* Each prints to standard output. False: there is no memory. */
bool trace_print_text(const pen_timeline *timeline, const trace_view *view);
bool trace_print_html(const pen_timeline *timeline, const trace_view *view);
bool trace_print_perfetto(const pen_timeline *timeline, const trace_view *view);
void trace_print_csv(const pen_timeline *timeline, const trace_view *view);

/* A time for people, like "1.25 ms". */
enum { TRACE_TIME_LEN = 24 };
const char *trace_time(double ns, char text[TRACE_TIME_LEN]);

/* A number of bytes for people, like "1.5 MiB". */
const char *trace_bytes(double bytes, char text[TRACE_TIME_LEN]);

/* Names what an event is about: the call of a WAIT, the name of a region, the kind of a collective;
 * the name of the kind if it has nothing more. */
const char *trace_name(const pen_timeline *timeline, uint32_t rank, const pen_moment *moment);

extern const char *const trace_options[];

#endif
