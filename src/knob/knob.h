/* SPDX-License-Identifier: BSD-3-Clause */
/* knob.h: environment variables. A module lists its variables as rows; one parser fills the
 * module's config struct from them, one printer shows them all (`penstock info`,
 * GASNET_VERBOSEENV). Nothing else in the library touches the environment. */
#ifndef PEN_KNOB_KNOB_H
#define PEN_KNOB_KNOB_H

#include "base/status.h"
#include "diag/log.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef enum pen_knob_type {
    PEN_KNOB_BOOL,    /* bool:     1/0, y/n, yes/no, t/f, true/false, on/off, any case   */
    PEN_KNOB_INT,     /* int64_t:  decimal, optional sign                                 */
    PEN_KNOB_BYTES,   /* uint64_t: number with optional fraction and K/M/G/T suffix (1024), B or iB
                         behind it */
    PEN_KNOB_SECONDS, /* double:   seconds, optional suffix us/ms/s/m/h                   */
    PEN_KNOB_STRING,  /* const char *: points into the environment or at the default      */
    PEN_KNOB_MEMORY,  /* pen_memory_limit: "size[/P|/H]" or a fraction of physical memory */
    PEN_KNOB_REAL,    /* double:   a number such as -0.25 or 1e-5, never infinite         */
} pen_knob_type;

/* A longer time counts as this one, of 30 years: as nanoseconds, and added to a clock, it fits. */
#define PEN_KNOB_SECONDS_MAX 1e9

typedef struct pen_memory_limit {
    uint64_t len;    /* bytes; 0 when given as a fraction */
    double fraction; /* of the host's physical memory; 0 when given as a size */
    bool per_host;   /* /H: for the whole host, to be divided by its ranks; else per process */
} pen_memory_limit;

typedef struct pen_knob {
    const char
        *name; /* GASNET_... where the GASNet documents define it, else PENSTOCK_<AREA>_<NOUN> */
    pen_knob_type type;
    const char *fallback; /* the default, as text; parsed like the user's value; NULL: unset */
    size_t offset;        /* of the field in the config struct */
    const char *summary;  /* one sentence */
} pen_knob;               /* a table ends with a row whose name is NULL */

/* Where values come from: the process environment, unless a job lends another lookup. */
typedef const char *(*pen_knob_lookup)(void *ctx, const char *name);

/* The lookup in this process's environment; ctx is not used. For who needs one text, or that
 * lookup. */
const char *pen_knob_from_process(void *ctx, const char *name);

/* Sets a variable of this process, or removes it (value NULL). False: out of memory, or no name. */
bool pen_knob_to_process(const char *name, const char *value);

/* Fills *config. A value that cannot be parsed: an error line naming variable, value and what is
 * allowed, and PEN_ERR_ARGUMENT; the fields before it are written. Set but empty means not set,
 * except for a text; not set and without a default writes zero. lookup: NULL for getenv. */
pen_status pen_knob_read(pen_log *log, const pen_knob *table, void *config, pen_knob_lookup lookup,
                         void *ctx);

/* One value; false when the text is not of that type. out: the type's C type above. */
bool pen_knob_parse(pen_knob_type type, const char *text, void *out);

/* Numbers and ranges such as "0,4-7": whether the number is one of them. False: the text is none
 * such. */
bool pen_knob_parse_ranges(const char *text, uint64_t number, bool *is_one);

/* Whether a variable serves tests only: its summary begins with "For tests: ". Lists hide it unless
 * they are asked for all variables. */
bool pen_knob_is_for_tests(const pen_knob *row);

/* Warns of every variable of the environment that looks like one of ours, that nobody reads, and
 * whose name is nearly that of a row. Names that other GASNet implementations or their tools read
 * are nobody's mistake. tables: ends with NULL. */
void pen_knob_warn_unknown(pen_log *log, char *const *environment, const pen_knob *const *tables);

/* One row for people: "NAME  value  (default|environment)  summary". */
void pen_knob_print(FILE *out, const pen_knob *row, const char *value, bool is_default);

#endif
