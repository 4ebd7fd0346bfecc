/* SPDX-License-Identifier: BSD-3-Clause */
/* info.h: facts that `penstock info` gathers once and prints as text or as JSON. */
#ifndef PEN_COMMAND_INFO_H
#define PEN_COMMAND_INFO_H

#include "api/config.h"
#include "base/copy.h"
#include "command/topology.h"
#include "conduit/modules.h"
#include "knob/knob.h"
#include "link/near.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum {
    INFO_CONDUITS_MAX = 32,
    INFO_TABLES_MAX = PEN_API_TABLES_MAX + PEN_MODULES_MAX,
    INFO_PMIX_LEN = 256
};

typedef struct info_conduit {
    const char *name, *summary;
    int score;       /* 0: unusable; PEN_SCORE_NAMED: it serves only if it is named */
    const char *why; /* the reason for its score; may be NULL above PEN_SCORE_NAMED */
    bool chosen;
} info_conduit;

/* A module's variables. */
typedef struct info_table {
    const char *owner; /* module or conduit */
    const pen_knob *knobs;
} info_table;

typedef struct info {
    uint32_t ranks; /* for how many conduits were judged */
    bool library_found;
    char library[1024]; /* folder, or where it was looked for */
    info_conduit conduits[INFO_CONDUITS_MAX];
    size_t conduit_count;
    pen_module modules[PEN_MODULES_MAX]; /* their names and reasons are used by conduits[] */
    size_t module_count;
    pen_near_offers far; /* conduits that reach other hosts, the best one first; may be empty */
    unsigned cores_online, cores_affinity, cores_allowed;
    topology topology;
    uint64_t memory_physical, memory_available;
    bool cma, membarrier;
    const char *copies_wish; /* PENSTOCK_COPIES, or its default */
    uint64_t copies_ns;      /* time that measuring took */
    pen_copy_table copies;
    char launcher[256];            /* "none", or what was found */
    bool pmix;                     /* launchers that speak it can be joined */
    char pmix_text[INFO_PMIX_LEN]; /* its version, or why not */
    info_table tables[INFO_TABLES_MAX];
    size_t table_count;
} info;

void info_gather(info *out, uint32_t ranks);
void info_tables(info *out); /* the variables; needs the conduits */

typedef struct info_view {
    const char *word; /* shows sections and variables whose names contain it; NULL: all sections */
    bool all;         /* shows variables that serve tests, too */
} info_view;

extern const char *const info_options[]; /* ends with NULL */

/* Returns false, and prints nothing, if no section and no variable matches view->word. */
bool info_print_text(FILE *out, const info *from, const info_view *view);
void info_print_json(FILE *out, const info *from);

/* The value that counts and where it comes from; NULL: not set and no default. */
const char *info_knob_value(const pen_knob *row, bool *is_default);

#endif
