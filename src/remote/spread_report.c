/* SPDX-License-Identifier: BSD-3-Clause */
/* spread_report.c: reports what the ranks of all hosts are doing. Agents print the lines of their
 * ranks. The launcher explains why the ranks do not go on, since a host knows only its own ranks.
 */
#include "remote/spread_internal.h"

#include "base/pack.h"
#include "launch/supervisor_parts.h"
#include "remote/seen_record.h"

#include <stdlib.h>

/* Asks all agents for a report. An agent handles this before later orders to end ranks, so the
 * lines come before what ranks print at their end. */
void pen_spread_report(pen_supervisor *s)
{
    struct pen_spread *spread = pen_spread_of(s);
    const pen_record head = { .kind = PEN_RECORD_REPORT, .host = PEN_RECORD_ALL };
    free(spread->seen);
    spread->seen = calloc(s->options->size, sizeof(*spread->seen));
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

void pen_spread_take_seen(pen_supervisor *s, const pen_record *record, const char *body)
{
    struct pen_spread *spread = pen_spread_of(s);
    pen_unpack from = { body, body + record->body_len, false };
    if (spread->seen == NULL || spread->hosts[record->host].reported)
        return;
    for (uint32_t rank = spread->firsts[record->host]; rank < spread->firsts[record->host + 1];
         rank++) {
        pen_seen_unpack(&from, &spread->seen[rank]);
        spread->seen[rank].host = record->host;
    }
    spread->hosts[record->host].reported = true;
    if (!all_reported(spread))
        return;
    pen_super_diagnose(s, spread->seen, s->options->size);
    free(spread->seen);
    spread->seen = NULL;
}
