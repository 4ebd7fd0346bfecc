/* SPDX-License-Identifier: BSD-3-Clause */
/* config.h: the variables that api/ reads. Separate from the rest of api/, so that `penstock info`
 * can list them without becoming a client. */
#ifndef PEN_API_CONFIG_H
#define PEN_API_CONFIG_H

#include "knob/knob.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct pen_api_config {                                     /* variables that api/ reads */
    bool quiet;                                                     /* GASNET_QUIET */
    bool catch_exit;                                                /* GASNET_CATCH_EXIT */
    bool backtrace;                                                 /* GASNET_BACKTRACE */
    bool freeze;                                                    /* GASNET_FREEZE */
    const char *freeze_signal, *backtrace_signal, *backtrace_nodes; /* GASNET_... likewise */
    const char *no_catch;                                           /* GASNET_NO_CATCH_SIGNAL */
    const char *log_level;                                          /* PENSTOCK_LOG */
} pen_api_config;

extern const pen_knob pen_api_knobs[];

typedef struct pen_api_table {
    const char *owner; /* a module, or a conduit's name */
    const pen_knob *knobs;
} pen_api_table;

/* Returns the tables of all variables that this build reads, and their number. */
enum { PEN_API_TABLES_MAX = 24 };
size_t pen_api_tables(pen_api_table *out, size_t most);

#endif
