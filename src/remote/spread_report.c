/* SPDX-License-Identifier: BSD-3-Clause */
/* spread_report.c: reports what the ranks of all hosts are doing. Agents print the lines of their
 * ranks. The launcher combines the barriers that ranks have entered, since a host knows only those
 * of its own ranks. */
#include "remote/spread_internal.h"

#include "base/pack.h"
#include "boot/wait_state.h"
#include "launch/supervisor_parts.h"

#include <stdlib.h>

/* Asks all agents for a report. An agent handles this before later orders to end ranks, so the
 * lines come before what ranks print at their end. */
void pen_spread_report(pen_supervisor *s)
{
    struct pen_spread *spread = pen_spread_of(s);
    const pen_record head = { .kind = PEN_RECORD_REPORT, .host = PEN_RECORD_ALL };
    free(spread->entered);
    spread->entered = calloc(s->options->size, sizeof(*spread->entered));
    for (uint32_t host = 0; host < spread->host_count; host++)
        spread->hosts[host].reported = false;
    pen_fleet_order(&spread->fleet, &head, NULL, 0);
}

static bool all_reported(const struct pen_spread *spread)
{
    for (uint32_t host = 0; host < spread->host_count; host++)
        if (!spread->hosts[host].reported && !spread->hosts[host].gone)
            return false;
    return true;
}

void pen_spread_take_barriers(pen_supervisor *s, const pen_record *record, const char *body)
{
    struct pen_spread *spread = pen_spread_of(s);
    pen_unpack from = { body, body + record->body_len, false };
    if (spread->entered == NULL || spread->hosts[record->host].reported)
        return;
    for (uint32_t rank = spread->firsts[record->host]; rank < spread->firsts[record->host + 1];
         rank++) {
        pen_entered *row = &spread->entered[rank];
        for (uint32_t kind = 0; kind < PEN_ENTERED_KINDS; kind++)
            row->entered[kind] = pen_unpack_u32(&from);
        row->waits_in = pen_unpack_u32(&from);
        row->awaits = pen_unpack_u32(&from);
        row->known = pen_unpack_u32(&from) != 0 && !from.failed;
    }
    spread->hosts[record->host].reported = true;
    if (!all_reported(spread))
        return;
    pen_super_say_barriers(s, spread->entered, s->options->size);
    free(spread->entered);
    spread->entered = NULL;
}
