/* SPDX-License-Identifier: BSD-3-Clause */
/* registry.c: finds a conduit by name, or the best one for a job, among those that are built in and
 * those in modules. */
#include "base/nearest.h"
#include "base/status.h"
#include "conduit/conduit.h"
#include "conduit/modules.h"
#include "diag/log.h"
#include "os/proc.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum {
    REASONS_LEN_MAX = 512,
    NAMES_MAX = 32,
    FAMILY_PEERS =
        2, /* any number: whether a member of a family is usable depends on the process */
};

/* If GASNet's clients know a conduit by a name, the conduit has that name: see compat/conduits.
 * These words are aliases: shm is the name of the module in src, ibv is the conduit for InfiniBand
 * of other implementations. */
static const struct {
    const char *word, *name;
} other_words[] = { { "shm", "smp" }, { "ibv", "ucx" } };

static const char *without_alias(const char *name)
{
    for (size_t i = 0; i < sizeof other_words / sizeof other_words[0]; i++)
        if (strcmp(other_words[i].word, name) == 0)
            return other_words[i].name;
    return name;
}

static const pen_conduit *find_among(const pen_conduit *const *table, const char *name)
{
    name = without_alias(name);
    for (; *table != NULL; table++) {
        if (strcmp((*table)->name, name) == 0)
            return *table;
    }
    return NULL;
}

/* Returns the module of a family to take: the first whose conduit is usable in this process; else
 * the first with a conduit; else the first. */
static const pen_module *best_of(const pen_module *modules, size_t count)
{
    const pen_module *best = &modules[0];
    const char *why_not;
    for (size_t i = 0; i < count; i++) {
        const pen_conduit *conduit = modules[i].conduit;
        if (conduit != NULL && conduit->score(FAMILY_PEERS, &why_not) != 0)
            return &modules[i];
        if (best->conduit == NULL && conduit != NULL)
            best = &modules[i];
    }
    return best;
}

/* Returns the conduit of a module, or of the best module of a family. If there is none, *module
 * says why, where a file exists. */
static const pen_conduit *find_module(const char *name, pen_module *module)
{
    char paths[PEN_MODULE_PATHS_MAX];
    pen_module family[PEN_MODULES_MAX];
    pen_module_paths(pen_is_privileged(), paths);
    *module = (pen_module){ .conduit = NULL };
    name = without_alias(name);
    if (pen_module_open(paths, name, module))
        return module->conduit;
    const size_t count = pen_modules_open(paths, name, family);
    if (count > 0)
        *module = *best_of(family, count);
    return module->conduit;
}

const pen_conduit *pen_conduit_find_builtin(const char *name)
{
    return find_among(pen_builtin_conduits, name);
}

const pen_conduit *pen_conduit_find(const char *name)
{
    pen_module module;
    const pen_conduit *found = pen_conduit_find_builtin(name);
    return found != NULL ? found : find_module(name, &module);
}

size_t pen_conduit_list(pen_log *log, const pen_conduit *out[PEN_CONDUITS_MAX])
{
    char paths[PEN_MODULE_PATHS_MAX];
    pen_module modules[PEN_MODULES_MAX];
    size_t count = 0;
    for (const pen_conduit *const *at = pen_builtin_conduits;
         *at != NULL && count < PEN_CONDUITS_MAX - PEN_MODULES_MAX; at++)
        out[count++] = *at;
    pen_module_paths(pen_is_privileged(), paths);
    size_t module_count = pen_modules_open(paths, NULL, modules);
    for (size_t i = 0; i < module_count; i++) {
        if (modules[i].conduit == NULL && log != NULL)
            pen_log_info(log, "conduit %s is not considered: %s (%s)", modules[i].name,
                         modules[i].why_not, modules[i].file);
        if (modules[i].conduit != NULL)
            out[count++] = modules[i].conduit;
    }
    return count;
}

int pen_conduit_score(const pen_conduit *conduit, pen_peer peers, const char **why)
{
    if (conduit->abi != PEN_CONDUIT_ABI) {
        *why = "it was built for another version of Penstock";
        return 0;
    }
    *why = NULL;
    int score = conduit->score(peers, why);
    if (score > PEN_SCORE_NAMED)
        return score;
    if (*why == NULL)
        *why = "it gave no reason";
    return score < 0 ? 0 : score;
}

typedef struct known_names {
    const char *names[NAMES_MAX + PEN_MODULES_MAX + 1]; /* ends with NULL */
    char modules[PEN_MODULES_MAX][PEN_MODULE_NAME_MAX];
    size_t module_count;
} known_names;

/* Adds "; text", or "text" if it is the first. Text that does not fit is left out. */
static void list_add(char list[REASONS_LEN_MAX], const char *between, const char *first,
                     const char *second)
{
    size_t len = strlen(list);
    (void)snprintf(list + len, REASONS_LEN_MAX - len, "%s%s%s", len > 0 ? between : "", first,
                   second);
}

/* Collects the names that a user may give: those of the table and those of the modules in `paths`,
 * which are listed, not opened. */
static void list_names(const pen_conduit *const *table, const char *paths, known_names *out)
{
    size_t count = 0;
    for (; *table != NULL && count < NAMES_MAX; table++)
        out->names[count++] = (*table)->name;
    out->module_count = pen_module_names(paths, out->modules);
    for (size_t i = 0; i < out->module_count; i++)
        out->names[count++] = out->modules[i];
    out->names[count] = NULL;
}

static void say_unknown(pen_log *log, const pen_conduit *const *table, const char *wanted)
{
    char paths[PEN_MODULE_PATHS_MAX], list[REASONS_LEN_MAX] = "";
    known_names known;
    pen_module module;
    if (find_module(wanted, &module) == NULL && module.why_not[0] != '\0') {
        pen_log_error(log, "cannot use conduit %s: %s", wanted, module.why_not);
        return;
    }
    pen_module_paths(pen_is_privileged(), paths);
    list_names(table, paths, &known);
    for (const char *const *name = known.names; *name != NULL; name++)
        list_add(list, ", ", *name, "");
    const bool no_modules = known.module_count == 0;
    const char *near = pen_nearest(wanted, known.names);
    pen_log_error(
        log, "cannot use conduit \"%s\": this build has no conduit of that name; %s%s%s %s%s%s",
        wanted, near != NULL ? "did you mean \"" : "it has:", near != NULL ? near : "",
        near != NULL ? "\"? It has:" : "", list[0] != '\0' ? list : "no conduit",
        no_modules ? "; no module of a conduit lies in " : "", no_modules ? paths : "");
}

static pen_status choose_wanted(pen_log *log, const pen_conduit *const *table, const char *wanted,
                                pen_peer peers, const pen_conduit **out)
{
    const pen_conduit *conduit = find_among(table, wanted);
    if (conduit == NULL) {
        say_unknown(log, table, wanted);
        return PEN_ERR_UNUSABLE;
    }
    const char *why_not;
    if (pen_conduit_score(conduit, peers, &why_not) == 0) {
        pen_log_error(log,
                      "cannot use conduit %s for %u ranks: %s; choose another with "
                      "PENSTOCK_CONDUIT, or leave the choice to Penstock",
                      conduit->name, (unsigned)peers, why_not);
        return PEN_ERR_UNUSABLE;
    }
    *out = conduit;
    return PEN_OK;
}

static pen_status choose_best(pen_log *log, const pen_conduit *const *table, pen_peer peers,
                              const pen_conduit **out)
{
    const pen_conduit *best = NULL;
    int best_score = PEN_SCORE_NAMED;
    char reasons[REASONS_LEN_MAX] = "";
    for (; *table != NULL; table++) {
        const char *why_not;
        int score = pen_conduit_score(*table, peers, &why_not);
        if (score > best_score) {
            best_score = score;
            best = *table;
        } else if (score <= PEN_SCORE_NAMED) {
            list_add(reasons, "; ", (*table)->name,
                     score == PEN_SCORE_NAMED ? " serves only if it is named: " : ": ");
            list_add(reasons, "", why_not, "");
        }
    }
    if (best == NULL) {
        pen_log_error(log, "no conduit is usable for %u ranks: %s; see `penstock info`",
                      (unsigned)peers, reasons[0] != '\0' ? reasons : "this build has no conduit");
        return PEN_ERR_UNUSABLE;
    }
    *out = best;
    return PEN_OK;
}

pen_status pen_conduit_choose_among(pen_log *log, const pen_conduit *const *table,
                                    const char *wanted, pen_peer peers, const pen_conduit **out)
{
    if (wanted != NULL && wanted[0] != '\0')
        return choose_wanted(log, table, wanted, peers, out);
    return choose_best(log, table, peers, out);
}

pen_status pen_conduit_choose(pen_log *log, const char *wanted, pen_peer peers,
                              const pen_conduit **out)
{
    const bool has_wish = wanted != NULL && wanted[0] != '\0';
    pen_module module;
    const pen_conduit *const named[] = {
        has_wish && pen_conduit_find_builtin(wanted) == NULL ? find_module(wanted, &module) : NULL,
        NULL,
    };
    if (named[0] != NULL) /* its name may be longer than the one that is wanted */
        return pen_conduit_choose_among(log, named, named[0]->name, peers, out);
    return pen_conduit_choose_among(log, pen_builtin_conduits, wanted, peers, out);
}
