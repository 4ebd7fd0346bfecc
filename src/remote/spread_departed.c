/* SPDX-License-Identifier: BSD-3-Clause */
/* spread_departed.c: passes the records of departed ranks to all hosts whose ranks may wait for
 * them. In most jobs all ranks end together and do not need the records, so the launcher waits for
 * PATIENCE_NS before it passes them on. */
#include "remote/spread_internal.h"

#include "launch/exit_rule.h"
#include "launch/supervisor_parts.h"
#include "os/os.h"

#include <stdlib.h>
#include <string.h>

#define PATIENCE_NS UINT64_C(500000000)

struct pen_spread_departed {
    struct pen_spread_departed *next;
    uint32_t host, rank;
    size_t len;
    char bytes[];
};

void pen_spread_take_departed(pen_supervisor *s, const pen_record *record, const char *body)
{
    struct pen_spread *spread = pen_spread_of(s);
    pen_spread_departed *gone = malloc(sizeof(*gone) + record->body_len);
    if (gone == NULL) /* without it, a waiting rank ends at the leave limit */
        return;
    gone->host = record->host;
    gone->rank = record->rank;
    gone->len = record->body_len;
    memcpy(gone->bytes, body, record->body_len);
    gone->next = spread->departed;
    if (spread->departed == NULL)
        spread->departed_ns = pen_now_ns() + PATIENCE_NS;
    spread->departed = gone;
}

static void pass_on(pen_supervisor *s, const pen_spread_departed *gone)
{
    struct pen_spread *spread = pen_spread_of(s);
    for (uint32_t host = 0; host < spread->host_count; host++) {
        const pen_record head = { .kind = PEN_RECORD_GONE, .host = host, .rank = gone->rank };
        if (host != gone->host && !spread->hosts[host].gone)
            pen_fleet_order(&spread->fleet, &head, gone->bytes, gone->len);
    }
}

void pen_spread_departed_drop(struct pen_spread *spread)
{
    while (spread->departed != NULL) {
        pen_spread_departed *gone = spread->departed;
        spread->departed = gone->next;
        free(gone);
    }
}

uint64_t pen_spread_departed_tend(pen_supervisor *s)
{
    struct pen_spread *spread = pen_spread_of(s);
    if (spread->departed == NULL)
        return 0;
    if (s->rule.phase == PEN_EXIT_LEAVING && pen_now_ns() < spread->departed_ns)
        return spread->departed_ns;
    for (const pen_spread_departed *gone = spread->departed;
         gone != NULL && s->rule.phase == PEN_EXIT_LEAVING; gone = gone->next)
        pass_on(s, gone);
    pen_spread_departed_drop(spread);
    return 0;
}
