/* SPDX-License-Identifier: BSD-3-Clause */
/* environment.h: variables that the command line sets for the ranks. */
#ifndef PEN_COMMAND_ENVIRONMENT_H
#define PEN_COMMAND_ENVIRONMENT_H

#include "diag/log.h"

#include <stdbool.h>
#include <stddef.h>

enum { ENVIRONMENT_ENTRIES_MAX = 1024 };

typedef struct environment {
    char *entries[ENVIRONMENT_ENTRIES_MAX]; /* "NAME=value" */
    size_t count;
    char failed[64]; /* why some entry could not be kept; "": all were */
} environment;

void environment_open(environment *out);
/* entry: kept, not copied; a later one of the same name wins */
void environment_add(void *to, char *entry);

/* NAME=value, or NAME=value:rest when rest is neither NULL nor empty. */
/* Adds the variable NAME with the value that this process has. If it has none, nothing is added. */
void environment_hand_on(void *to, char *entry);

void environment_set(environment *to, const char *name, const char *value, const char *rest);

/* Lets the ranks find the checked build of the library: programs are linked with one name, and both
 * builds have it, so the path decides. On failure prints the reason and returns false. */
bool command_use_checked(pen_log *log, environment *to);

/* Makes this process's environment what it was with these entries in place. Once, before there are
 * threads. False: there was no room for them; failed says why. */
bool environment_apply(environment *from);

#endif
