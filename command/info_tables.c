/* SPDX-License-Identifier: BSD-3-Clause */
/* info_tables.c: every module's table of variables. */
#include "command/info.h"

#include "api/config.h"
#include "conduit/conduit.h"
#include "knob/knob.h"

void info_tables(info *out)
{
    pen_api_table tables[PEN_API_TABLES_MAX];
    size_t count = pen_api_tables(tables, PEN_API_TABLES_MAX);
    for (size_t i = 0; i < count && i < INFO_TABLES_MAX; i++)
        out->tables[out->table_count++] = (info_table){ tables[i].owner, tables[i].knobs };
    for (size_t i = 0; i < out->module_count && out->table_count < INFO_TABLES_MAX; i++) {
        const pen_conduit *conduit = out->modules[i].conduit;
        if (conduit != NULL && conduit->knobs != NULL)
            out->tables[out->table_count++] = (info_table){ conduit->name, conduit->knobs };
    }
}

const char *info_knob_value(const pen_knob *row, bool *is_default)
{
    const char *value = pen_knob_from_process(NULL, row->name);
    *is_default = value == NULL;
    return value != NULL ? value : row->fallback;
}
