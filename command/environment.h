/* SPDX-License-Identifier: BSD-3-Clause */
/* environment.h: variables that the command line sets for the ranks. */
#ifndef PEN_COMMAND_ENVIRONMENT_H
#define PEN_COMMAND_ENVIRONMENT_H

#include <stdbool.h>
#include <stddef.h>

enum { ENVIRONMENT_ENTRIES_MAX = 1024 };

typedef struct environment {
    char *entries[ENVIRONMENT_ENTRIES_MAX]; /* "NAME=value" */
    size_t count;
    bool failed; /* out of memory or of entries */
} environment;

void environment_open(environment *out);
void environment_add(void *to,
                     char *entry); /* kept, not copied; a later one of the same name wins */

/* NAME=value, or NAME=value:rest when rest is neither NULL nor empty. */
void environment_set(environment *to, const char *name, const char *value, const char *rest);

/* Makes this process's environment what it was with these entries in place. Once, before there are
 * threads. False: some entry could not be kept. */
bool environment_apply(const environment *from);

#endif
