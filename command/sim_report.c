/* SPDX-License-Identifier: BSD-3-Clause */
/* sim_report.c: prints the figures of a simulated job, as text or JSON. */
#include "command/sim.h"

#include "command/json.h"
#include "virtual/net.h"
#include "virtual/shape.h"
#include "virtual/virtual.h"

#include <inttypes.h>
#include <stdlib.h>

enum { BUSIEST = 5, LINK_TEXT_LEN = 64 };

typedef struct busy_link {
    uint32_t link;
    uint64_t packets, busy_ns;
} busy_link;

/* The links that were busy the longest; of equal ones, those with lower numbers. */
static uint32_t find_busiest(const pen_virtual *world, busy_link out[BUSIEST])
{
    const pen_virtual_shape *shape = pen_virtual_net_shape(&world->net);
    uint32_t count = 0;
    for (uint32_t link = 0; link < shape->links; link++) {
        const pen_virtual_link *from = &world->net.links[link];
        if (from->packets == 0)
            continue;
        uint32_t place = count < BUSIEST ? count++ : BUSIEST - 1;
        if (count == BUSIEST && place == BUSIEST - 1 && out[place].packets != 0 &&
            out[place].busy_ns >= from->busy_ns)
            continue;
        while (place > 0 && out[place - 1].busy_ns < from->busy_ns) {
            out[place] = out[place - 1];
            place--;
        }
        out[place] = (busy_link){ link, from->packets, from->busy_ns };
    }
    return count;
}

static double share(uint64_t busy_ns, uint64_t end_ns)
{
    return end_ns == 0 ? 0 : (double)busy_ns / (double)end_ns;
}

static void report_json(FILE *out, const sim_plan *plan, const pen_virtual *world,
                        const sim_result *result)
{
    const pen_virtual_figures figures = pen_virtual_read(world);
    const pen_virtual_net_counts *counts = pen_virtual_net_count(&world->net);
    busy_link busiest[BUSIEST] = { 0 };
    uint32_t count = find_busiest(world, busiest);
    fprintf(out, "{\"machine\": ");
    json_text(out, plan->machine);
    fprintf(out, ", \"topology\": ");
    json_text(out, plan->topology);
    fprintf(out, ", \"placement\": ");
    json_text(out, plan->placement);
    fprintf(out,
            ", \"ranks\": %" PRIu32 ", \"status\": %d, \"virtual_ns\": %" PRIu64
            ", \"real_s\": %.3f, \"packets\": %" PRIu64 ", \"events\": %" PRIu64
            ", \"turns\": %" PRIu64 ", \"looks\": %" PRIu64 ", \"card_full\": %" PRIu64
            ", \"mailbox_full\": %" PRIu64 ", \"busiest\": [",
            plan->params.ranks, result->status, figures.end_ns, result->real_s, counts->sent,
            counts->events, figures.hand_overs, figures.looks, counts->card_full,
            counts->mailbox_full);
    for (uint32_t i = 0; i < count; i++) {
        char name[LINK_TEXT_LEN];
        pen_virtual_shape_link_text(&plan->params.shape, busiest[i].link, name, sizeof name);
        fprintf(out, "%s{\"link\": ", i > 0 ? ", " : "");
        json_text(out, name);
        fprintf(out, ", \"packets\": %" PRIu64 ", \"busy_ns\": %" PRIu64 "}", busiest[i].packets,
                busiest[i].busy_ns);
    }
    fprintf(out, "]}\n");
}

static void report_text(FILE *out, const sim_plan *plan, const pen_virtual *world,
                        const sim_result *result)
{
    const pen_virtual_figures figures = pen_virtual_read(world);
    const pen_virtual_net_counts *counts = pen_virtual_net_count(&world->net);
    busy_link busiest[BUSIEST] = { 0 };
    uint32_t count = find_busiest(world, busiest);
    fprintf(out, "\nsimulated: %" PRIu32 " ranks on %s, %s, placement %s\n", plan->params.ranks,
            plan->machine, plan->topology, plan->placement);
    fprintf(out, "virtual time        %.9f s\n", (double)figures.end_ns / 1e9);
    fprintf(out, "real time           %.3f s\n", result->real_s);
    fprintf(out,
            "packets             %" PRIu64 "\nevents              %" PRIu64
            "\nturns               %" PRIu64 "\n",
            counts->sent, counts->events, figures.hand_overs);
    fprintf(out,
            "stalls              card full %" PRIu64 " times, mailbox full for %" PRIu64
            " packets\n",
            counts->card_full, counts->mailbox_full);
    for (uint32_t i = 0; i < count; i++) {
        char name[LINK_TEXT_LEN];
        pen_virtual_shape_link_text(&plan->params.shape, busiest[i].link, name, sizeof name);
        fprintf(out, "%s%-24s busy %5.1f %%, %" PRIu64 " packets\n",
                i == 0 ? "busiest links       " : "                    ", name,
                100 * share(busiest[i].busy_ns, figures.end_ns), busiest[i].packets);
    }
}

void sim_report(FILE *out, bool json, const sim_plan *plan, const pen_virtual *world,
                const sim_result *result)
{
    if (json)
        report_json(out, plan, world, result);
    else
        report_text(out, plan, world, result);
}
