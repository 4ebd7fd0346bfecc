/* SPDX-License-Identifier: BSD-3-Clause */
/* info_print.c: `penstock info` as text for people and as one JSON object for programs. */
#include "command/info.h"
#include "command/json.h"

#include "base/copy.h"
#include "boot/copies.h"
#include "command/paint.h"
#include "conduit/conduit.h"
#include "conduit/modules.h"

#include "knob/knob.h"
#include "pen_config.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static double gib(uint64_t len) { return (double)len / (double)(1u << 30); }

static const char *yes_no(bool value) { return value ? "yes" : "no"; }

static const char *sanitizer(void) { return PEN_ASAN ? "address" : PEN_TSAN ? "thread" : "none"; }

/* Whether a name contains the word in any case. Every name contains no word, NULL. */
static bool contains(const char *name, const char *word)
{
    return word == NULL || strcasestr(name, word) != NULL;
}

/* ---- text ------------------------------------------------------------------------------------ */

static void heading(FILE *out, const char *text)
{
    fprintf(out, "\n%s%s%s\n", paint_on(out, PAINT_HEADING), text, paint_off(out));
}

static void text_conduit(FILE *out, const info_conduit *row)
{
    if (row->score > PEN_SCORE_NAMED) {
        fprintf(out, "  %-9s %sscore %-4d%s %s%s", row->name,
                paint_on(out, row->chosen ? PAINT_GOOD : PAINT_FAINT), row->score, paint_off(out),
                row->summary, row->chosen ? " (chosen)" : "");
        if (row->why != NULL)
            fprintf(out, ", because %s", row->why);
        fputc('\n', out);
        return;
    }
    fprintf(out, "  %-9s %s%-10s%s %s: %s\n", row->name,
            paint_on(out, row->score == 0 ? PAINT_BAD : PAINT_FAINT),
            row->score == 0 ? "unusable" : "if named", paint_off(out), row->summary, row->why);
}

static void text_conduits(FILE *out, const info *from, const char *word)
{
    char title[64];
    (void)snprintf(title, sizeof(title), "conduits, for %u rank%s of this host:", from->ranks,
                   from->ranks == 1 ? "" : "s");
    heading(out, title);
    for (size_t i = 0; i < from->conduit_count; i++) {
        const info_conduit *row = &from->conduits[i];
        if (!contains("conduits", word) && !contains(row->name, word))
            continue;
        text_conduit(out, row);
    }
    fputs("  between hosts, the first of these that opens on all ranks:", out);
    for (size_t i = 0; i < from->far.count; i++)
        fprintf(out, "%s %s", i > 0 ? "," : "", from->far.conduits[i]->name);
    fputs(from->far.count > 0 ? "\n" : " none\n", out);
}

static bool names_a_module(const info *from, const char *word)
{
    bool found = from->module_count > 0 && contains("modules", word);
    for (size_t i = 0; i < from->module_count; i++)
        found |= contains(from->modules[i].name, word);
    return found;
}

/* A section for each module, because its reason may be long. */
static void text_modules(FILE *out, const info *from, const char *word)
{
    for (size_t i = 0; i < from->module_count; i++) {
        const pen_module *row = &from->modules[i];
        if (!contains("modules", word) && !contains(row->name, word))
            continue;
        char title[64];
        (void)snprintf(title, sizeof(title), "module %s:", row->name);
        heading(out, title);
        fprintf(out, "  file       %s\n", row->file);
        if (row->conduit != NULL)
            fprintf(out, "  state      %sopened%s\n", paint_on(out, PAINT_GOOD), paint_off(out));
        else
            fprintf(out, "  state      %srefused%s: %s\n", paint_on(out, PAINT_BAD), paint_off(out),
                    row->why_not);
    }
}

static const char *plural(unsigned count) { return count == 1 ? "" : "s"; }

static void text_topology(FILE *out, const topology *from)
{
    if (from->why_not != NULL) {
        fprintf(out, "  topology   not known: %s\n", from->why_not);
        return;
    }
    fprintf(out, "  topology   %u package%s, %u NUMA node%s, %u core%s, %u hardware thread%s",
            from->packages, plural(from->packages), from->numa_nodes, plural(from->numa_nodes),
            from->cores, plural(from->cores), from->threads, plural(from->threads));
    if (from->cache_len != 0)
        fprintf(out, ", last-level cache of %.1f MiB for %u",
                (double)(from->cache_len >> 10) / 1024, from->cache_shared);
    fputc('\n', out);
}

static void text_machine(FILE *out, const info *from)
{
    heading(out, "this host:");
    fprintf(out, "  cores      %u may be used (%u online, %u in the affinity mask%s)\n",
            from->cores_allowed, from->cores_online, from->cores_affinity,
            from->cores_allowed < from->cores_affinity ? ", capped by the cgroup's quota" : "");
    text_topology(out, &from->topology);
    fprintf(out, "  memory     %.1f GiB, %.1f GiB available\n", gib(from->memory_physical),
            gib(from->memory_available));
    fprintf(out, "  CMA        %s (reading another rank's memory)\n", yes_no(from->cma));
    fprintf(out, "  membarrier %s (cheap wake-ups)\n", yes_no(from->membarrier));
    fprintf(out, "  launcher   %s\n", from->launcher);
    fprintf(out, "  PMIx       %s%s\n", from->pmix ? "" : "no: ", from->pmix_text);
}

static bool has_same_copies(const info *from, unsigned class)
{
    const pen_copy_table *table = &from->copies;
    return class > 0 && table->own[class] == table->own[class - 1] &&
           table->other[class] == table->other[class - 1] &&
           table->past[class] == table->past[class - 1];
}

static bool names_copies(const char *word)
{
    return contains("copies", word) || contains("PENSTOCK_COPIES", word);
}

static void text_copies(FILE *out, const info *from, const char *word)
{
    if (!names_copies(word))
        return;
    heading(out, "copies:");
    if (!pen_copies_known(from->copies_wish)) {
        fprintf(out, "  PENSTOCK_COPIES=%s: this processor has no such way\n", from->copies_wish);
        return;
    }
    fprintf(out, "  %s", from->copies_wish);
    if (strcmp(from->copies_wish, PEN_COPIES_MEASURED) == 0)
        fprintf(out, " in %.1f ms", (double)from->copies_ns / 1e6);
    fputs("; this processor has", out);
    for (unsigned way = 0; way < PEN_COPY_WAYS; way++)
        if (pen_copy_usable((pen_copy_way)way))
            fprintf(out, "%s %s", way > 0 ? "," : "", pen_copies_word((pen_copy_way)way));
    fputs("\n  length from  in a core's caches      read by a different core\n", out);
    for (unsigned class = 0; class < PEN_COPY_CLASSES; class ++)
        if (!has_same_copies(from, class))
            fprintf(out, "  %4zu KiB     %-22s  %s%s\n", (PEN_COPY_LONG_MIN << class) >> 10,
                    pen_copies_text((pen_copy_way)from->copies.own[class]),
                    pen_copies_text((pen_copy_way)from->copies.other[class]),
                    from->copies.past[class] ? "; past the caches if that core is far" : "");
}

static bool is_shown(const pen_knob *row, const char *owner, const info_view *view)
{
    return (view->all || !pen_knob_is_for_tests(row)) &&
           (contains(owner, view->word) || contains("variables", view->word) ||
            contains(row->name, view->word));
}

static size_t count_shown(const info_table *table, const info_view *view)
{
    size_t count = 0;
    for (const pen_knob *row = table->knobs; row->name != NULL; row++)
        count += is_shown(row, table->owner, view);
    return count;
}

/* An empty value counts as not set, except for a text. */
static bool is_well_formed(const pen_knob *row, const char *value)
{
    union {
        bool flag;
        int64_t number;
        double real;
        const char *text;
        pen_memory_limit memory;
    } ignored;
    return value[0] == '\0' || pen_knob_parse(row->type, value, &ignored);
}

static void text_knobs(FILE *out, const info_table *table, const info_view *view)
{
    char title[64];
    (void)snprintf(title, sizeof(title), "variables of %s:", table->owner);
    heading(out, title);
    for (const pen_knob *row = table->knobs; row->name != NULL; row++) {
        if (!is_shown(row, table->owner, view))
            continue;
        bool is_default;
        const char *value = info_knob_value(row, &is_default);
        fputs(is_default ? "" : paint_on(out, PAINT_GOOD), out);
        pen_knob_print(out, row, value, is_default);
        fputs(is_default ? "" : paint_off(out), out);
        if (!is_default && !is_well_formed(row, value))
            fprintf(out, "%s  jobs refuse this value, which has the wrong form: %s%s\n",
                    paint_on(out, PAINT_BAD), pen_knob_form(row->type), paint_off(out));
    }
}

static bool names_a_conduit(const info *from, const char *word)
{
    bool found = contains("conduits", word);
    for (size_t i = 0; i < from->conduit_count; i++)
        found |= contains(from->conduits[i].name, word);
    return found;
}

static void text_build(FILE *out, const info *from)
{
    fprintf(out, "%spenstock %s%s\n", paint_on(out, PAINT_HEADING), PEN_VERSION_STRING,
            paint_off(out));
    fprintf(out, "  build      %s, %s, checked: %s, sanitizer: %s\n", PEN_BUILD_TYPE, PEN_COMPILER,
            yes_no(PEN_CHECKED), sanitizer());
    fprintf(out, "  library    %s%s\n", from->library_found ? "" : "not found in ", from->library);
}

/* Returns how many variables that match view->word exist, shown or not. */
static size_t text_tables(FILE *out, const info *from, const info_view *view)
{
    size_t count = 0;
    for (size_t i = 0; i < from->table_count; i++) {
        if (count_shown(&from->tables[i], view) > 0)
            text_knobs(out, &from->tables[i], view);
        count += count_shown(&from->tables[i], &(info_view){ view->word, true });
    }
    return count;
}

bool info_print_text(FILE *out, const info *from, const info_view *view)
{
    size_t shown = 0;
    bool conduits = names_a_conduit(from, view->word), host = contains("host", view->word);
    for (size_t i = 0; i < from->table_count; i++)
        shown += count_shown(&from->tables[i], view);
    bool modules = names_a_module(from, view->word), copies = names_copies(view->word);
    if (!conduits && !modules && !host && !copies && shown == 0)
        return false;
    if (view->word == NULL)
        text_build(out, from);
    if (conduits)
        text_conduits(out, from, view->word);
    text_modules(out, from, view->word);
    if (host)
        text_machine(out, from);
    text_copies(out, from, view->word);
    const size_t count = text_tables(out, from, view);
    if (count > shown)
        fprintf(out, "\n%zu variables that serve tests are not shown: penstock info --all\n",
                count - shown);
    return true;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void json_field(FILE *out, const char *indent, const char *name, const char *value)
{
    fprintf(out, "%s\"%s\": ", indent, name);
    json_text(out, value);
    fputs(",\n", out);
}

static void json_conduits(FILE *out, const info *from)
{
    fputs("  \"conduits\": [\n", out);
    for (size_t i = 0; i < from->conduit_count; i++) {
        const info_conduit *row = &from->conduits[i];
        fputs("    { \"name\": ", out);
        json_text(out, row->name);
        fputs(", \"summary\": ", out);
        json_text(out, row->summary);
        fprintf(out, ", \"score\": %d, \"chosen\": %s, \"why\": ", row->score,
                json_bool(row->chosen));
        json_text(out, row->score == 0 ? NULL : row->why);
        fputs(", \"why_not\": ", out);
        json_text(out, row->score == 0 ? row->why : NULL);
        fprintf(out, " }%s\n", i + 1 < from->conduit_count ? "," : "");
    }
    fputs("  ],\n  \"between_hosts\": [", out);
    for (size_t i = 0; i < from->far.count; i++) {
        fputs(i > 0 ? ", " : "", out);
        json_text(out, from->far.conduits[i]->name);
    }
    fputs("],\n", out);
}

static void json_modules(FILE *out, const info *from)
{
    fputs("  \"modules\": [\n", out);
    for (size_t i = 0; i < from->module_count; i++) {
        const pen_module *row = &from->modules[i];
        fputs("    { \"name\": ", out);
        json_text(out, row->name);
        fputs(", \"file\": ", out);
        json_text(out, row->file);
        fprintf(out, ", \"opened\": %s, \"why_not\": ", json_bool(row->conduit != NULL));
        json_text(out, row->conduit != NULL ? NULL : row->why_not);
        fprintf(out, " }%s\n", i + 1 < from->module_count ? "," : "");
    }
    fputs("  ],\n", out);
}

static void json_topology(FILE *out, const topology *from)
{
    if (from->why_not != NULL)
        fputs("  \"topology\": null,\n", out);
    else
        fprintf(out,
                "  \"topology\": { \"packages\": %u, \"numa_nodes\": %u, \"cores\": %u, "
                "\"hardware_threads\": %u, \"cache\": %" PRIu64 ", \"cache_shared\": %u },\n",
                from->packages, from->numa_nodes, from->cores, from->threads, from->cache_len,
                from->cache_shared);
}

static void json_machine(FILE *out, const info *from)
{
    fprintf(out,
            "  \"cores\": { \"allowed\": %u, \"online\": %u, \"affinity\": %u },\n"
            "  \"memory\": { \"physical\": %" PRIu64 ", \"available\": %" PRIu64 " },\n"
            "  \"cma\": %s,\n  \"membarrier\": %s,\n",
            from->cores_allowed, from->cores_online, from->cores_affinity, from->memory_physical,
            from->memory_available, json_bool(from->cma), json_bool(from->membarrier));
    json_topology(out, &from->topology);
    json_field(out, "  ", "launcher", from->launcher);
    json_field(out, "  ", "pmix", from->pmix ? from->pmix_text : NULL);
}

static void json_ways(FILE *out, const char *name, const uint8_t *ways)
{
    fprintf(out, "\"%s\": [", name);
    for (unsigned class = 0; class < PEN_COPY_CLASSES; class ++)
        fprintf(out, "%s\"%s\"", class > 0 ? ", " : "", pen_copies_word((pen_copy_way)ways[class]));
    fputs("], ", out);
}

/* By class of length; a class ends where the next one begins. */
static void json_copies(FILE *out, const info *from)
{
    const pen_copy_table *table = &from->copies;
    fputs("  \"copies\": { \"wish\": ", out);
    json_text(out, from->copies_wish);
    fprintf(out, ", \"ns\": %" PRIu64 ", \"first\": %zu, ", from->copies_ns, PEN_COPY_LONG_MIN);
    json_ways(out, "own", table->own);
    json_ways(out, "other", table->other);
    fputs("\"past\": [", out);
    for (unsigned class = 0; class < PEN_COPY_CLASSES; class ++)
        fprintf(out, "%s%s", class > 0 ? ", " : "", json_bool(table->past[class]));
    fputs("] },\n", out);
}

static void json_knob(FILE *out, const char *owner, const pen_knob *row)
{
    bool is_default;
    const char *value = info_knob_value(row, &is_default);
    fputs("    { \"name\": ", out);
    json_text(out, row->name);
    fputs(", \"module\": ", out);
    json_text(out, owner);
    fputs(", \"default\": ", out);
    json_text(out, row->fallback);
    fputs(", \"value\": ", out);
    json_text(out, value);
    fprintf(out, ", \"origin\": \"%s\", \"summary\": ", is_default ? "default" : "environment");
    json_text(out, row->summary);
    fputs(" }", out);
}

static void json_knobs(FILE *out, const info *from)
{
    fputs("  \"variables\": [\n", out);
    const char *between = "";
    for (size_t i = 0; i < from->table_count; i++) {
        for (const pen_knob *row = from->tables[i].knobs; row->name != NULL; row++) {
            fputs(between, out);
            json_knob(out, from->tables[i].owner, row);
            between = ",\n";
        }
    }
    fputs("\n  ]\n", out);
}

void info_print_json(FILE *out, const info *from)
{
    fputs("{\n", out);
    json_field(out, "  ", "version", PEN_VERSION_STRING);
    fputs("  \"build\": {\n", out);
    json_field(out, "    ", "type", PEN_BUILD_TYPE);
    json_field(out, "    ", "compiler", PEN_COMPILER);
    json_field(out, "    ", "sanitizer", sanitizer());
    fprintf(out, "    \"checked\": %s\n  },\n", json_bool(PEN_CHECKED));
    json_field(out, "  ", "library", from->library_found ? from->library : NULL);
    fprintf(out, "  \"ranks\": %u,\n", from->ranks);
    json_conduits(out, from);
    json_modules(out, from);
    json_machine(out, from);
    json_copies(out, from);
    json_knobs(out, from);
    fputs("}\n", out);
}
