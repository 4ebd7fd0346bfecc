/* SPDX-License-Identifier: BSD-3-Clause */
/* top.c: `penstock top`: a table of a job's ranks, printed once or again and again. On a terminal
 * each table replaces the one before. In a pipe the tables follow one another, and they contain no
 * escape sequences. */
#include "command/top.h"

#include "base/nearest.h"
#include "command/command.h"
#include "command/watch_options.h"
#include "diag/log.h"
#include "knob/knob.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *const top_options[] = { "--once", "--json", "--sort", "--interval", "--help", NULL };

#define HOME_AND_CLEAR "\033[H\033[2J\033[3J"

typedef struct top_choice {
    const char *job;
    int column;
    double interval_s;
    bool once, json, help;
} top_choice;

static bool take_value(pen_log *log, top_choice *out, const char *name, const char *value)
{
    if (value == NULL) {
        pen_log_error(log, "%s needs a value (see `penstock help top`)", name);
        return false;
    }
    if (strcmp(name, "--sort") == 0) {
        out->column = top_column_find(value);
        if (out->column < 0)
            (void)command_unknown("top", "column", value, pen_nearest(value, top_columns));
        return out->column >= 0;
    }
    if (!pen_knob_parse(PEN_KNOB_SECONDS, value, &out->interval_s) || out->interval_s < 0.01 ||
        out->interval_s > 3600) {
        pen_log_error(log, "--interval %s: give a time between 10ms and 1h", value);
        return false;
    }
    return true;
}

static bool parse(pen_log *log, char **arguments, top_choice *out)
{
    *out = (top_choice){ .interval_s = 1 };
    for (char **at = arguments; *at != NULL; at++) {
        if (strcmp(*at, "--once") == 0) {
            out->once = true;
        } else if (strcmp(*at, "--json") == 0) {
            out->json = true;
        } else if (strcmp(*at, "--help") == 0 || strcmp(*at, "-h") == 0) {
            out->help = true;
        } else if (strcmp(*at, "--sort") == 0 || strcmp(*at, "--interval") == 0) {
            if (!take_value(log, out, at[0], at[1]))
                return false;
            at++;
        } else if (**at == '-' || out->job != NULL) {
            (void)command_unknown_word("top", *at, top_options);
            return false;
        } else {
            out->job = *at;
        }
    }
    return true;
}

static void nap(double seconds) { (void)poll(NULL, 0, (int)(seconds * 1e3)); }

static void look(const watch_job *job, watch_rank *out)
{
    for (uint32_t i = 0; i < job->page->size; i++)
        out[i] = watch_rank_read(job, i);
}

static void print(const top_choice *choice, const watch_job *job, top_row *rows)
{
    const uint32_t count = job->page->size;
    top_sort(rows, count, choice->column);
    if (choice->json)
        top_print_json(stdout, job, rows, count);
    else
        top_print(stdout, job, rows, count);
}

/* Prints tables until the job ends or the output is closed. */
static void watch(const top_choice *choice, const watch_job *job, watch_rank *before,
                  watch_rank *now, top_row *rows)
{
    const bool draws = !choice->once && !choice->json && isatty(STDOUT_FILENO) == 1;
    look(job, before);
    do {
        nap(choice->interval_s);
        look(job, now);
        for (uint32_t i = 0; i < job->page->size; i++) {
            rows[i] = top_row_of(&before[i], &now[i]);
            before[i] = now[i];
        }
        if (draws)
            fputs(HOME_AND_CLEAR, stdout);
        print(choice, job, rows);
        if (!choice->once && !draws && !choice->json)
            fputc('\n', stdout);
        if (fflush(stdout) != 0)
            return;
    } while (!choice->once && watch_is_there(job));
}

int command_top(char **arguments)
{
    pen_log log;
    top_choice choice;
    watch_job job;
    pen_log_init(&log, "top");
    if (!parse(&log, arguments, &choice))
        return COMMAND_USAGE;
    if (choice.help)
        return command_help((char *[]){ "top", NULL });
    if (!watch_choose(&log, choice.job, &job))
        return 1;
    const uint32_t count = job.page->size;
    watch_rank *looks = calloc(2 * (size_t)count, sizeof(*looks));
    top_row *rows = calloc(count, sizeof(*rows));
    int status = 1;
    if (looks != NULL && rows != NULL) {
        watch(&choice, &job, looks, looks + count, rows);
        status = command_written("top");
    } else {
        pen_log_error(&log, "cannot look at %u ranks: calloc: out of memory; free some", count);
    }
    free(rows);
    free(looks);
    watch_close(&job, 1);
    return status;
}
