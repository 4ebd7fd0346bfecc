/* SPDX-License-Identifier: BSD-3-Clause */
/* sim_plan.c: machine, topology and placement of a simulated job. */
#include "command/sim.h"

#include "base/nearest.h"
#include "command/machines.h"
#include "diag/log.h"
#include "virtual/machine.h"
#include "virtual/shape.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { PROBLEM_LEN = 512, LINE_LEN = 64, MACHINES_MAX = 32 };

static bool machine_read(pen_log *log, const char *name, pen_virtual_machine *out)
{
    const char *words[MACHINES_MAX + 1];
    size_t count = 0;
    char problem[PROBLEM_LEN];
    for (const machine_text *row = machine_texts; row->name != NULL; row++) {
        if (strcmp(row->name, name) == 0) {
            if (pen_virtual_machine_parse(name, row->text, strlen(row->text), out, problem,
                                          sizeof problem))
                return true;
            pen_log_error(log, "cannot use machine %s", problem);
            return false;
        }
        if (count < MACHINES_MAX)
            words[count++] = row->name;
    }
    words[count] = NULL;
    if (strchr(name, '/') == NULL) {
        const char *nearest = pen_nearest(name, words);
        pen_log_error(
            log,
            "there is no machine \"%s\"%s%s%s; `penstock help sim` lists them, and a path "
            "with a / names a file",
            name, nearest != NULL ? "; did you mean \"" : "", nearest != NULL ? nearest : "",
            nearest != NULL ? "\"?" : "");
        return false;
    }
    if (pen_virtual_machine_read(name, out, problem, sizeof problem))
        return true;
    pen_log_error(log, "cannot use machine %s", problem);
    return false;
}

/* Reads the node of each rank, a number in each line. */
static bool placement_read(pen_log *log, const char *path, uint32_t ranks, uint32_t *nodes)
{
    FILE *file = fopen(path, "re");
    char line[LINE_LEN];
    if (file == NULL) {
        pen_log_error(log, "cannot read the placement %s: %s; say block, cyclic, or name a file",
                      path, strerror(errno));
        return false;
    }
    uint32_t rank = 0;
    for (; rank < ranks && fgets(line, sizeof line, file) != NULL; rank++) {
        char *end;
        unsigned long node = strtoul(line, &end, 10);
        if (end == line || node >= PEN_VIRTUAL_NODES_MAX || (*end != '\n' && *end != '\0')) {
            pen_log_error(log, "%s:%u: write the number of a node, from 0 to %d", path, rank + 1,
                          PEN_VIRTUAL_NODES_MAX - 1);
            (void)fclose(file);
            return false;
        }
        nodes[rank] = (uint32_t)node;
    }
    (void)fclose(file);
    if (rank == ranks)
        return true;
    pen_log_error(log, "%s has %u lines for %u ranks: write one for each rank", path, rank, ranks);
    return false;
}

/* Returns how many nodes the ranks need, or 0 after an error. */
static uint32_t place(pen_log *log, const run_options *options, sim_plan *plan)
{
    uint32_t ranks = options->ranks, per_node = options->per_node != 0 ? options->per_node : 1;
    uint32_t filled = (ranks + per_node - 1) / per_node, nodes = 0;
    if (strcmp(plan->placement, "block") == 0)
        for (uint32_t rank = 0; rank < ranks; rank++)
            plan->nodes[rank] = rank / per_node;
    else if (strcmp(plan->placement, "cyclic") == 0)
        for (uint32_t rank = 0; rank < ranks; rank++)
            plan->nodes[rank] = rank % filled;
    else if (!placement_read(log, plan->placement, ranks, plan->nodes))
        return 0;
    for (uint32_t rank = 0; rank < ranks; rank++)
        nodes = plan->nodes[rank] + 1 > nodes ? plan->nodes[rank] + 1 : nodes;
    return nodes;
}

bool sim_plan_make(pen_log *log, const run_options *options, sim_plan *out)
{
    char problem[PROBLEM_LEN];
    out->machine = options->machine != NULL ? options->machine : "extoll-r1";
    out->topology = options->topology != NULL ? options->topology : "crossbar";
    out->placement = options->placement != NULL ? options->placement : "block";
    out->params.ranks = options->ranks;
    out->params.nodes = out->nodes;
    if (!machine_read(log, out->machine, &out->params.machine))
        return false;
    uint32_t nodes = place(log, options, out);
    if (nodes == 0)
        return false;
    if (pen_virtual_shape_parse(out->topology, nodes, &out->params.shape, problem, sizeof problem))
        return true;
    pen_log_error(log, "%s", problem);
    return false;
}
