/* SPDX-License-Identifier: BSD-3-Clause */
/* trace.c: `penstock trace`: prints the trace of a job as a summary, a page, a file for Perfetto's
 * viewer, or a table. */
#include "command/trace.h"

#include "base/nearest.h"
#include "base/status.h"
#include "boot/wait_state.h"
#include "command/command.h"
#include "diag/log.h"
#include "knob/knob.h"
#include "timeline/timeline.h"
#include "trace/event.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

const char *const trace_options[] = { "--html", "--perfetto", "--csv", "--between",
                                      "--rank", "--help",     NULL };

typedef enum form { FORM_TEXT, FORM_HTML, FORM_PERFETTO, FORM_CSV } form;

enum { FILES_MAX = 4096 };

typedef struct wishes {
    trace_view view;
    const char *files[FILES_MAX];
    size_t file_count;
    form form;
    bool has_limits;
    double from_s, to_s;
} wishes;

/* ---- words that the forms share -------------------------------------------------------------- */

bool trace_shows(const trace_view *view, uint32_t rank)
{
    bool is_one = true;
    return view->ranks == NULL || (pen_knob_parse_ranges(view->ranks, rank, &is_one) && is_one);
}

static const char *scaled(double number, const char *const *units, double step, char *text)
{
    int unit = 0;
    while (units[unit + 1] != NULL && number >= step * 0.9995) {
        number /= step;
        unit++;
    }
    const char *format = unit == 0 ? "%.0f %s" : number < 10 ? "%.2f %s" : "%.1f %s";
    (void)snprintf(text, TRACE_TIME_LEN, format, number, units[unit]);
    return text;
}

const char *trace_time(double ns, char text[TRACE_TIME_LEN])
{
    static const char *const units[] = { "ns", "us", "ms", "s", NULL };
    return scaled(ns, units, 1000, text);
}

const char *trace_bytes(double bytes, char text[TRACE_TIME_LEN])
{
    static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", NULL };
    return scaled(bytes, units, 1024, text);
}

static const char *collective(const pen_moment *moment)
{
    static const char *const names[16] = { "barrier", "broadcast", "reduction", "scan",
                                           "gather",  "scatter",   "exchange" };
    if (moment->detail == PEN_TRACE_MEET_NAMED)
        return "gasnet_barrier";
    const char *name = names[moment->what & 15];
    return name != NULL ? name : "collective";
}

const char *trace_name(const pen_timeline *timeline, uint32_t rank, const pen_moment *moment)
{
    static const char *const keys[] = {
#define TRACE_KEY(name, key, text) [PEN_TRACE_##name] = key,
        PEN_TRACE_KIND_LIST(TRACE_KEY)
#undef TRACE_KEY
    };
    switch (moment->kind) {
    case PEN_TRACE_WAIT:
    case PEN_TRACE_CALL:
        return pen_call_text((pen_call)moment->what);
    case PEN_TRACE_ENTER:
        return collective(moment);
    case PEN_TRACE_BEGIN:
    case PEN_TRACE_END:
    case PEN_TRACE_MARK:
    case PEN_TRACE_VALUE:
        return pen_timeline_name(timeline, rank, moment->what);
    default:
        return keys[moment->kind];
    }
}

/* ---- the command line ------------------------------------------------------------------------ */

/* Takes the word behind *at, the value of an option; NULL if there is none. */
static const char *next_word(char ***at)
{
    if ((*at)[1] != NULL)
        ++*at;
    else
        return NULL;
    return **at;
}

static bool take_time(pen_log *log, const char *word, double *out)
{
    if (word != NULL && pen_knob_parse(PEN_KNOB_SECONDS, word, out) && *out >= 0)
        return true;
    pen_log_error(log,
                  "--between %s: give two times since the trace began, such as 1.5 2 or "
                  "100ms 200ms",
                  word != NULL ? word : "");
    return false;
}

static bool take_limits(pen_log *log, char ***at, wishes *out)
{
    const char *from = next_word(at), *to = next_word(at);
    out->has_limits = true;
    return take_time(log, from, &out->from_s) && take_time(log, to, &out->to_s);
}

static bool take_ranks(pen_log *log, const char *word, wishes *out)
{
    bool is_one;
    out->view.ranks = word;
    if (word != NULL && pen_knob_parse_ranges(word, 0, &is_one))
        return true;
    pen_log_error(log, "--rank %s: give numbers of ranks, such as 3 or 0,4-7",
                  word != NULL ? word : "");
    return false;
}

static bool is_form(const char *word, form *out)
{
    static const char *const words[] = {
        [FORM_HTML] = "--html", [FORM_PERFETTO] = "--perfetto", [FORM_CSV] = "--csv"
    };
    for (form f = FORM_HTML; f <= FORM_CSV; f++) {
        if (strcmp(word, words[f]) == 0) {
            *out = f;
            return true;
        }
    }
    return false;
}

static int take_file(pen_log *log, const char *word, wishes *out)
{
    if (out->file_count == FILES_MAX) {
        pen_log_error(log, "too many files: a job has at most %d hosts", FILES_MAX);
        return COMMAND_USAGE;
    }
    if (out->file_count == 0)
        out->view.file = word;
    out->files[out->file_count++] = word;
    return 0;
}

/* Takes an option and its values. Returns COMMAND_USAGE after a line that says what is wrong. */
static int take_option(pen_log *log, char ***at, wishes *out)
{
    const char *word = **at;
    if (is_form(word, &out->form))
        return 0;
    if (strcmp(word, "--rank") == 0)
        return take_ranks(log, next_word(at), out) ? 0 : COMMAND_USAGE;
    if (strcmp(word, "--between") == 0)
        return take_limits(log, at, out) ? 0 : COMMAND_USAGE;
    if (word[0] == '-' && word[1] != '\0')
        return command_unknown("trace", "option", word, pen_nearest(word, trace_options));
    return take_file(log, word, out);
}

static bool print(const pen_timeline *timeline, const wishes *wanted)
{
    switch (wanted->form) {
    case FORM_HTML:
        return trace_print_html(timeline, &wanted->view);
    case FORM_PERFETTO:
        return trace_print_perfetto(timeline, &wanted->view);
    case FORM_CSV:
        trace_print_csv(timeline, &wanted->view);
        return true;
    default:
        return trace_print_text(timeline, &wanted->view);
    }
}

static int show(pen_log *log, const wishes *wanted)
{
    pen_timeline timeline;
    if (pen_timeline_read(log, wanted->files, wanted->file_count, &timeline) != PEN_OK)
        return 1;
    if (wanted->has_limits)
        pen_timeline_cut(&timeline, (int64_t)(1e9 * wanted->from_s), (int64_t)(1e9 * wanted->to_s));
    bool printed = print(&timeline, wanted);
    pen_timeline_close(&timeline);
    if (!printed) {
        pen_log_error(log,
                      "cannot show the trace %s: calloc: out of memory; show less of it with "
                      "--between",
                      wanted->view.file);
        return 1;
    }
    return command_written("trace");
}

int command_trace(char **arguments)
{
    pen_log log;
    static wishes wanted; /* it is large */
    pen_log_init(&log, "trace");
    for (char **at = arguments; *at != NULL; at++) {
        if (strcmp(*at, "--help") == 0 || strcmp(*at, "-h") == 0)
            return command_help((char *[]){ "trace", NULL });
        int status = take_option(&log, &at, &wanted);
        if (status != 0)
            return status;
    }
    if (wanted.view.file == NULL) {
        pen_log_error(&log, "which trace? give a file that `penstock run --trace=FILE` has written "
                            "(see `penstock help trace`)");
        return COMMAND_USAGE;
    }
    return show(&log, &wanted);
}
