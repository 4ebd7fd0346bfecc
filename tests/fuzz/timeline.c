/* SPDX-License-Identifier: BSD-3-Clause */
/* timeline.c: the reader of traces, with a file of any bytes. Whatever it accepts can be summed up
 * and printed in every form. */
#include "timeline/timeline.h"

#include "base/status.h"
#include "timeline/sum.h"
#include "trace/event.h"

#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

static void note(void *ctx, const pen_letter *letter)
{
    *(uint64_t *)ctx += letter->sent->value + letter->handled->value;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { RANKS_MAX = 64 };
    pen_timeline timeline;
    pen_sum sum;
    pen_trace_head head;
    const char *why;
    uint64_t values = 0;
    if (size >= sizeof head) { /* tables of many ranks take time, and find nothing new */
        memcpy(&head, data, sizeof head);
        if (head.ranks > RANKS_MAX)
            return 0;
    }
    if (pen_timeline_parse(data, size, &timeline, &why) != PEN_OK)
        return 0;
    for (uint32_t rank = 0; rank < timeline.rank_count; rank++)
        (void)strlen(pen_timeline_name(&timeline, rank, 0));
    (void)pen_timeline_letters(&timeline, note, &values);
    if (pen_sum_make(&timeline, &sum) == PEN_OK)
        pen_sum_close(&sum);
    pen_timeline_cut(&timeline, 10, 1000);
    pen_timeline_close(&timeline);
    return 0;
}
