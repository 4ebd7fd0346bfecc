/* SPDX-License-Identifier: BSD-3-Clause */
/* read.c: fills a config struct from the environment, row by row. */
#include "base/compiler.h"
#include "base/status.h"
#include "diag/log.h"
#include "knob/knob.h"

#include <stdlib.h>
#include <string.h>

const char *pen_knob_from_process(void *ctx, const char *name)
{
    (void)ctx;
    return getenv(name);
}

static size_t knob_len(pen_knob_type type)
{
    switch (type) {
    case PEN_KNOB_BOOL:
        return sizeof(bool);
    case PEN_KNOB_INT:
        return sizeof(int64_t);
    case PEN_KNOB_BYTES:
        return sizeof(uint64_t);
    case PEN_KNOB_SECONDS:
    case PEN_KNOB_REAL:
        return sizeof(double);
    case PEN_KNOB_STRING:
        return sizeof(const char *);
    case PEN_KNOB_MEMORY:
        return sizeof(pen_memory_limit);
    }
    return 0;
}

const char *pen_knob_form(pen_knob_type type)
{
    switch (type) {
    case PEN_KNOB_BOOL:
        return "give yes or no (also 1/0, true/false, on/off)";
    case PEN_KNOB_INT:
        return "give a whole number such as 16";
    case PEN_KNOB_BYTES:
        return "give a size such as 65536, 64K, 1.5G (suffixes K, M, G, T)";
    case PEN_KNOB_SECONDS:
        return "give a time such as 0.5, 50us, 10ms, 2m (suffixes us, ms, s, m, h)";
    case PEN_KNOB_MEMORY:
        return "give a size such as 512M or a fraction of the memory such as 0.5, optionally "
               "followed by /P (each process) or /H (whole host)";
    case PEN_KNOB_REAL:
        return "give a number such as 0.25 or 1e-5";
    case PEN_KNOB_STRING:
        break;
    }
    return "give a text";
}

bool pen_knob_to_process(const char *name, const char *value)
{
    return (value != NULL ? setenv(name, value, 1) : unsetenv(name)) == 0;
}

/* Scripts unset a variable by setting it empty. Only for a text is this a value. */
static const char *knob_value(const pen_knob *row, pen_knob_lookup lookup, void *ctx)
{
    const char *value = lookup != NULL ? lookup(ctx, row->name) : getenv(row->name);
    if (value != NULL && *value == '\0' && row->type != PEN_KNOB_STRING)
        return NULL;
    return value;
}

pen_status pen_knob_read(pen_log *log, const pen_knob *table, void *config, pen_knob_lookup lookup,
                         void *ctx)
{
    for (const pen_knob *row = table; row != NULL && row->name != NULL; row++) {
        void *field = (char *)config + row->offset;
        const char *value = knob_value(row, lookup, ctx);
        if (value != NULL) {
            if (!pen_knob_parse(row->type, value, field)) {
                pen_log_error(log, "cannot use %s=\"%s\": it has the wrong form; %s", row->name,
                              value, pen_knob_form(row->type));
                return PEN_ERR_ARGUMENT;
            }
        } else if (row->fallback != NULL) {
            PEN_INVARIANT(pen_knob_parse(row->type, row->fallback, field));
        } else {
            memset(field, 0, knob_len(row->type));
        }
    }
    return PEN_OK;
}
