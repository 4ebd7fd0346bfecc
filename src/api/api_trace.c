/* SPDX-License-Identifier: BSD-3-Clause */
/* api_trace.c: regions, marks and values of a program in the trace of its job. */
#include "api/api.h"

#include "base/compiler.h"
#include "job/job.h"
#include "trace/event.h"
#include "trace/ring.h"

#include <penstock/trace.h>
#include <stdint.h>
#include <string.h>

/* NULL: there is no job, or it is not traced. */
static pen_trace *trace_of(void)
{
    const pen_job *job = pen_api_root.job;
    return job != NULL ? job->trace : NULL;
}

static PEN_COLD void note(pen_trace *trace, pen_trace_kind kind, const char *name, uint64_t value)
{
    pen_trace_event event = { .kind = (uint8_t)kind, .peer = UINT32_MAX, .value = value };
    event.what = pen_trace_name(trace, name);
    event.at = pen_trace_ticks();
    pen_trace_write(trace, &event);
}

void pen_trace_begin(const char *name)
{
    pen_trace *trace = trace_of();
    if (pen_unlikely(trace != NULL))
        note(trace, PEN_TRACE_BEGIN, name, 0);
}

void pen_trace_end(const char *name)
{
    pen_trace *trace = trace_of();
    if (pen_unlikely(trace != NULL))
        note(trace, PEN_TRACE_END, name, 0);
}

void pen_trace_mark(const char *name)
{
    pen_trace *trace = trace_of();
    if (pen_unlikely(trace != NULL))
        note(trace, PEN_TRACE_MARK, name, 0);
}

void pen_trace_value(const char *name, double value)
{
    pen_trace *trace = trace_of();
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    if (pen_unlikely(trace != NULL))
        note(trace, PEN_TRACE_VALUE, name, bits);
}

int pen_trace_is_on(void) { return trace_of() != NULL; }
