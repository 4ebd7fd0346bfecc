/* SPDX-License-Identifier: BSD-3-Clause */
/* info_tables.c: every module's table of variables. */
#include "command/info.h"

#include "api/config.h"
#include "boot/knobs.h"
#include "coll/barrier.h"
#include "job/job.h"
#include "link/impair.h"
#include "progress/progress.h"
#include "tools/tools.h"

#include <stddef.h>

static void table_add(info *out, const char *owner, const pen_knob *knobs)
{
    if (knobs != NULL && out->table_count < INFO_TABLES_MAX)
        out->tables[out->table_count++] = (info_table){ owner, knobs };
}

void info_tables(info *out)
{
    table_add(out, "boot", pen_boot_knobs);
    table_add(out, "launch", pen_launch_knobs);
    table_add(out, "job", pen_job_knobs);
    table_add(out, "progress", pen_progress_knobs);
    table_add(out, "coll", pen_coll_knobs);
    table_add(out, "api", pen_api_knobs);
    table_add(out, "tools", pen_tools_knobs);
    table_add(out, "link", pen_impair_knobs);
    for (size_t i = 0; i < out->conduit_count; i++)
        table_add(out, out->conduits[i].name, pen_conduit_find(out->conduits[i].name)->knobs);
}

const char *info_knob_value(const pen_knob *row, bool *is_default)
{
    const char *value = pen_knob_from_process(NULL, row->name);
    *is_default = value == NULL;
    return value != NULL ? value : row->fallback;
}
