/* SPDX-License-Identifier: BSD-3-Clause */
/* environment.c: gathers variables and puts them in place all at once. */
#include "command/environment.h"

#include "knob/knob.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void environment_open(environment *out)
{
    out->count = 0;
    out->failed[0] = '\0';
}

static bool same_name(const char *a, const char *b)
{
    size_t len = strcspn(a, "=");
    return strncmp(a, b, len) == 0 && b[len] == '=';
}

void environment_add(void *to, char *entry)
{
    environment *env = to;
    for (size_t i = 0; i < env->count; i++) {
        if (same_name(entry, env->entries[i])) {
            env->entries[i] = entry;
            return;
        }
    }
    if (env->count < ENVIRONMENT_ENTRIES_MAX)
        env->entries[env->count++] = entry;
    else
        (void)snprintf(env->failed, sizeof(env->failed), "more than %d", ENVIRONMENT_ENTRIES_MAX);
}

static void no_memory(environment *env, const char *call)
{
    (void)snprintf(env->failed, sizeof(env->failed), "%s: %s", call, strerror(errno));
}

void environment_set(environment *to, const char *name, const char *value, const char *rest)
{
    char *entry;
    bool more = rest != NULL && *rest != '\0';
    if (asprintf(&entry, "%s=%s%s%s", name, value, more ? ":" : "", more ? rest : "") < 0)
        no_memory(to, "asprintf");
    else
        environment_add(to, entry);
}

void environment_hand_on(void *to, char *entry)
{
    if (strchr(entry, '=') != NULL) {
        environment_add(to, entry);
        return;
    }
    const char *value = pen_knob_from_process(NULL, entry);
    if (value != NULL)
        environment_set(to, entry, value, NULL);
}

static bool is_changed(const environment *from, const char *entry)
{
    for (size_t i = 0; i < from->count; i++) {
        if (same_name(entry, from->entries[i]))
            return true;
    }
    return false;
}

bool environment_apply(environment *from)
{
    if (from->failed[0] != '\0')
        return false;
    size_t before = 0;
    while (environ != NULL && environ[before] != NULL)
        before++;
    char **merged = calloc(before + from->count + 1, sizeof(*merged));
    if (merged == NULL) {
        no_memory(from, "calloc");
        return false;
    }
    size_t count = 0;
    for (size_t i = 0; i < before; i++) {
        if (!is_changed(from, environ[i]))
            merged[count++] = environ[i];
    }
    memcpy(merged + count, from->entries, from->count * sizeof(*merged));
    environ = merged;
    return true;
}
