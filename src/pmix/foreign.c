/* SPDX-License-Identifier: BSD-3-Clause */
/* foreign.c: recognises other launchers by the variables that they set for their processes. An
 * allocation alone (SLURM_JOB_ID) is no launcher. */
#include "pmix/foreign.h"

#include "knob/knob.h"

#include <stddef.h>
#include <string.h>

typedef struct mark {
    const char *launcher, *found;
    /* the launcher is recognised if both are set; `with` NULL: `name` is enough */
    const char *name, *with;
    const char *sizes[3]; /* variables that may hold the number of processes */
} mark;

static const mark marks[] = {
    { "PMIx",
      "PMIX_RANK and PMIX_NAMESPACE",
      "PMIX_RANK",
      "PMIX_NAMESPACE",
      { "OMPI_COMM_WORLD_SIZE", "PMIX_SIZE", "SLURM_STEP_NUM_TASKS" } },
    { "PMI", "PMI_RANK", "PMI_RANK", NULL, { "PMI_SIZE", "SLURM_STEP_NUM_TASKS", NULL } },
    { "PMI", "PMI_FD", "PMI_FD", NULL, { "PMI_SIZE", "SLURM_STEP_NUM_TASKS", NULL } },
    { "Slurm",
      "SLURM_PROCID and SLURM_STEP_ID",
      "SLURM_PROCID",
      "SLURM_STEP_ID",
      { "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS", NULL } },
};

static bool is_set(pen_knob_lookup lookup, void *ctx, const char *name)
{
    return name == NULL || lookup(ctx, name) != NULL;
}

pen_foreign pen_foreign_find(pen_knob_lookup lookup, void *ctx)
{
    for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
        const mark *m = &marks[i];
        if (!is_set(lookup, ctx, m->name) || !is_set(lookup, ctx, m->with))
            continue;
        pen_foreign found = { .launcher = m->launcher, .found = m->found };
        for (size_t size_i = 0; size_i < 3 && m->sizes[size_i] != NULL && found.size == NULL;
             size_i++) {
            found.size_name = m->sizes[size_i];
            found.size = lookup(ctx, found.size_name);
        }
        if (found.size == NULL)
            found.size_name = NULL;
        found.single = found.size != NULL && strcmp(found.size, "1") == 0;
        return found;
    }
    return (pen_foreign){ .launcher = NULL };
}
