/* SPDX-License-Identifier: BSD-3-Clause */
/* rma_trace.c: puts and gets in the trace of a job. */
#include "rma/rma_internal.h"

#include "job/job.h"
#include "trace/event.h"
#include "trace/ring.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

void pen_rma_trace(const rma_call *call, uint64_t at, bool under_way, uint16_t number)
{
    static const uint8_t kinds[] = {
        [RMA_PUT] = PEN_TRACE_PUT, [RMA_GET] = PEN_TRACE_GET, [RMA_SET] = PEN_TRACE_SET
    };
    const pen_trace_event event = { .at = at,
                                    .kind = kinds[call->kind],
                                    .detail = under_way,
                                    .peer = call->ask.jobrank,
                                    .number = number,
                                    .value = call->ask.len };
    pen_trace_write_span(call->ask.job->trace, event);
}

void pen_rma_trace_done(const pen_event_root *root)
{
    const pen_trace_event event = { .at = pen_trace_ticks(),
                                    .kind = PEN_TRACE_DONE,
                                    .number = root->traced };
    pen_trace_write(root->pool->job->trace, &event);
}

uint16_t pen_rma_trace_number(pen_job *job)
{
    /* relaxed: any number that few operations had before will do */
    uint32_t number = atomic_fetch_add_explicit(&job->trace->numbers, 1, memory_order_relaxed);
    return (uint16_t)(number % UINT16_MAX + 1);
}
