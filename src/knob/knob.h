/* SPDX-License-Identifier: BSD-3-Clause */
/* knob.h: environment variables. A module lists its variables as rows. One parser fills the
 * module's config struct from them, and one printer shows them (`penstock info`,
 * GASNET_VERBOSEENV). No other part of the library touches the environment. */
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
    PEN_KNOB_BYTES,   /* uint64_t: number, optional fraction and suffix K/M/G/T (1024), B or iB */
    PEN_KNOB_SECONDS, /* double:   seconds, optional suffix us/ms/s/m/h                   */
    PEN_KNOB_STRING,  /* const char *: points into the environment or to the default */
    PEN_KNOB_MEMORY,  /* pen_memory_limit: "size[/P|/H]" or a fraction of physical memory */
    PEN_KNOB_REAL,    /* double: a finite number, like -0.25 or 1e-5 */
} pen_knob_type;

/* Upper limit of times: 30 years. In nanoseconds, and added to a clock, this cannot overflow. */
#define PEN_KNOB_SECONDS_MAX 1e9

typedef struct pen_memory_limit {
    uint64_t len;    /* bytes; 0 if given as a fraction */
    double fraction; /* part of the host's physical memory; 0 if given as a size */
    bool per_host;   /* /H: for the whole host, to be divided by its ranks; otherwise per process */
} pen_memory_limit;

typedef struct pen_knob {
    const char
        *name; /* GASNET_... if the GASNet documents define it; otherwise PENSTOCK_<AREA>_<NOUN> */
    pen_knob_type type;
    const char *fallback; /* the default as text, parsed like the user's value; NULL: unset */
    size_t offset;        /* offset of the field in the config struct */
    const char *summary;  /* one sentence */
} pen_knob;               /* a table ends with a row whose name is NULL */

/* Source of values: the process environment, unless a job provides a different lookup. */
typedef const char *(*pen_knob_lookup)(void *ctx, const char *name);

/* Looks a name up in this process's environment. ctx is not used. For single texts, or as a
 * lookup. */
const char *pen_knob_from_process(void *ctx, const char *name);

/* Sets a variable of this process, or removes it (value NULL). Returns false if there is no
 * memory, or if the name is not valid. */
bool pen_knob_to_process(const char *name, const char *value);

/* Fills *config. If a value cannot be parsed, prints a line with variable, value and allowed
 * form, and returns PEN_ERR_ARGUMENT; earlier fields are written then. An empty value counts as
 * not set, except for a text. Without value and default, zero is written. lookup: NULL for
 * getenv. */
pen_status pen_knob_read(pen_log *log, const pen_knob *table, void *config, pen_knob_lookup lookup,
                         void *ctx);

/* Parses one value. Returns false if the text has not that type. out: the type's C type above. */
bool pen_knob_parse(pen_knob_type type, const char *text, void *out);

/* Returns the allowed form of a value as an advice: "give a whole number such as 16". */
const char *pen_knob_form(pen_knob_type type);

/* Is the number in a list of numbers and ranges like "0,4-7"? Returns false if the text is
 * malformed. */
bool pen_knob_parse_ranges(const char *text, uint64_t number, bool *is_one);

/* Does a variable serve tests only? Its summary then begins with "For tests: ". Lists hide it
 * unless all variables are requested. */
bool pen_knob_is_for_tests(const pen_knob *row);

/* Warns of every variable in the environment that looks like one of this library, that no code
 * reads, and whose name is similar to that of a row. Names that a different GASNet
 * implementation or its tools read cause no warning. tables: ends with NULL. */
void pen_knob_warn_unknown(pen_log *log, char *const *environment, const pen_knob *const *tables);

/* Prints one row for people: "NAME value (default|environment) summary". */
void pen_knob_print(FILE *out, const pen_knob *row, const char *value, bool is_default);

#endif
