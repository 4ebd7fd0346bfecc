/* SPDX-License-Identifier: BSD-3-Clause */
/* trace_html.c: a trace as one page with plots, which needs no other file and no network. The plots
 * are SVG, without a script. */
#include "command/trace.h"

#include "base/status.h"
#include "boot/wait_state.h"
#include "timeline/sum.h"
#include "timeline/timeline.h"
#include "trace/event.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ROWS_MAX = 64, /* rows of a plot by rank; with more ranks, a row is a group of them */
    COLUMNS = 240, /* intervals of the time axis */
    WIDTH = 960,   /* of plots */
    LEFT = 56,     /* for labels of rows */
    BARS_MAX = 12, /* bars of the plots by call and by cause */
};

/* The colours of what a rank does. They differ in lightness, too. */
#define COLOUR_PROGRAM "#4c9f70"
#define COLOUR_WAIT    "#d9d9d9"
#define COLOUR_HANDLER "#e69f00"
#define COLOUR_GAP     "#27613f"

typedef struct page {
    const pen_timeline *timeline;
    const trace_view *view;
    const pen_sum *sum;
    uint32_t *shown; /* ranks that are shown */
    uint32_t shown_count;
    uint32_t rows; /* rows of plots by rank */
    int64_t from_ns, to_ns;
} page;

/* The ranks of a row are shown[begin] to shown[end - 1]. */
static uint32_t row_begin(const page *p, uint32_t row)
{
    return (uint32_t)((uint64_t)row * p->shown_count / p->rows);
}

static void print_row_label(const page *p, uint32_t row, double y)
{
    uint32_t begin = row_begin(p, row), end = row_begin(p, row + 1);
    printf("<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%" PRIu32, LEFT - 6, y, p->shown[begin]);
    if (end - begin > 1)
        printf("-%" PRIu32, p->shown[end - 1]);
    printf("</text>\n");
}

static double row_height(const page *p) { return p->rows <= 16 ? 22 : p->rows <= 32 ? 14 : 10; }

/* ---- over time ------------------------------------------------------------------------------- */

/* Part of each interval that a row's ranks spend in something, for each column. */
typedef struct activity {
    double wait[COLUMNS], handler[COLUMNS], gap[COLUMNS];
    int64_t first_ns, last_ns; /* limits of its events */
} activity;

static void note_limits(const pen_moment *moment, int64_t *first_ns, int64_t *last_ns)
{
    int64_t end = moment->at_ns + (int64_t)moment->span_ns;
    *first_ns = moment->at_ns < *first_ns ? moment->at_ns : *first_ns;
    *last_ns = end > *last_ns ? end : *last_ns;
}

/* Adds an event to the intervals that it covers. */
static void cover(const page *p, double *columns, const pen_moment *moment)
{
    double width = (double)(p->to_ns - p->from_ns) / COLUMNS;
    double begin = (double)(moment->at_ns - p->from_ns) / width;
    double end = begin + (double)moment->span_ns / width;
    begin = begin < 0 ? 0 : begin;
    end = end > COLUMNS ? COLUMNS : end;
    for (int i = (int)begin; i < end && i < COLUMNS; i++) {
        double from = begin > i ? begin : i, to = end < i + 1 ? end : i + 1;
        columns[i] += to > from ? to - from : 0;
    }
}

static void cover_row(const page *p, uint32_t row, activity *out)
{
    *out = (activity){ .first_ns = INT64_MAX, .last_ns = INT64_MIN };
    for (uint32_t i = row_begin(p, row); i < row_begin(p, row + 1); i++) {
        const pen_timeline_rank *rank = &p->timeline->ranks[p->shown[i]];
        for (size_t at = 0; at < rank->count; at++) {
            const pen_moment *moment = &rank->moments[at];
            note_limits(moment, &out->first_ns, &out->last_ns);
            if (moment->kind == PEN_TRACE_WAIT)
                cover(p, out->wait, moment);
            else if (moment->kind == PEN_TRACE_HANDLED)
                cover(p, out->handler, moment);
            else if (moment->kind == PEN_TRACE_GAP)
                cover(p, out->gap, moment);
        }
    }
}

/* A box from the bottom of the row. Returns its height. */
static double print_part(int column, double y, double height, double part, const char *colour)
{
    double step = (double)(WIDTH - LEFT) / COLUMNS, tall = height * (part > 1 ? 1 : part);
    if (tall < 0.2)
        return 0;
    printf("<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"%s\"/>\n",
           LEFT + column * step, y - tall, step + 0.1, tall, colour);
    return tall;
}

/* The time from the row's first event to its last. What covers it comes later. */
static void print_life(const page *p, const activity *a, double y, double height)
{
    double scale = (double)(WIDTH - LEFT) / (double)(p->to_ns - p->from_ns);
    if (a->last_ns > a->first_ns)
        printf("<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"" COLOUR_PROGRAM
               "\"/>\n",
               LEFT + (double)(a->first_ns - p->from_ns) * scale, y,
               (double)(a->last_ns - a->first_ns) * scale, height);
}

static void print_axis(const page *p, double y)
{
    char text[TRACE_TIME_LEN];
    for (int tick = 0; tick <= 4; tick++) {
        double x = LEFT + (WIDTH - LEFT) * tick / 4.0;
        double ns = (double)p->from_ns + (double)(p->to_ns - p->from_ns) * tick / 4.0;
        printf("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n", x, y,
               tick == 0   ? "start"
               : tick == 4 ? "end"
                           : "middle",
               trace_time(ns, text));
    }
}

static void print_timeline(const page *p)
{
    const double height = row_height(p), all = (height + 2) * p->rows + 20;
    printf("<h2>What the ranks did</h2>\n<p><b style=\"color:" COLOUR_PROGRAM
           "\">&#9632;</b> the program, <b style=\"color:" COLOUR_GAP
           "\">&#9632;</b> the program, without a poll for 1 ms, <b style=\"color:" COLOUR_HANDLER
           "\">&#9632;</b> handlers, <b style=\"color:#999\">&#9632;</b> waits. Each row is %s; "
           "time goes from left to right.</p>\n",
           p->rows < p->shown_count ? "a group of ranks" : "a rank");
    printf("<svg id=\"timeline\" viewBox=\"0 0 %d %.0f\">\n", WIDTH, all);
    for (uint32_t row = 0; row < p->rows; row++) {
        activity a;
        double bottom = (height + 2) * (row + 1) - 2;
        double count = row_begin(p, row + 1) - row_begin(p, row);
        cover_row(p, row, &a);
        print_life(p, &a, bottom - height, height);
        for (int i = 0; i < COLUMNS; i++) {
            double handler = a.handler[i] / count, wait = a.wait[i] / count - handler;
            double y = bottom;
            y -= print_part(i, y, height, wait, COLOUR_WAIT);
            y -= print_part(i, y, height, handler, COLOUR_HANDLER);
            (void)print_part(i, y, height, a.gap[i] / count, COLOUR_GAP);
        }
        print_row_label(p, row, bottom - height / 2 + 4);
    }
    print_axis(p, all - 4);
    printf("</svg>\n");
}

/* ---- bars ------------------------------------------------------------------------------------ */

static void print_bar(int row, const char *name, double part, const char *text, const char *colour)
{
    const int y = row * 20, middle = 420;
    printf("<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text><rect x=\"%d\" y=\"%d\" "
           "width=\"%.1f\" height=\"14\" fill=\"%s\"/><text x=\"%.1f\" y=\"%d\">%s</text>\n",
           middle - 8, y + 14, name, middle, y + 3, part * (WIDTH - middle - 110), colour,
           middle + part * (WIDTH - middle - 110) + 6, y + 14, text);
}

typedef struct bar {
    const char *name;
    double ns;
} bar;

static int longest_first(const void *a, const void *b)
{
    const bar *one = a, *other = b;
    return (one->ns < other->ns) - (one->ns > other->ns);
}

static void print_bars(const char *id, bar *bars, size_t count, const char *colour)
{
    char text[TRACE_TIME_LEN];
    qsort(bars, count, sizeof *bars, longest_first);
    while (count > 0 && (count > BARS_MAX || bars[count - 1].ns <= 0))
        count--;
    printf("<svg id=\"%s\" viewBox=\"0 0 %d %zu\">\n", id, WIDTH, 20 * count + 4);
    for (size_t i = 0; i < count; i++)
        print_bar((int)i, bars[i].name, bars[i].ns / bars[0].ns, trace_time(bars[i].ns, text),
                  colour);
    printf("</svg>\n");
}

static void print_calls(const page *p)
{
    bar bars[PEN_SUM_CALLS + 8];
    size_t count = 0;
    const pen_sum *sum = p->sum;
    bars[count++] = (bar){ "posts of messages", sum->calls[PEN_TRACE_SENT].total_ns };
    bars[count++] = (bar){ "handlers", sum->calls[PEN_TRACE_HANDLED].total_ns };
    bars[count++] = (bar){ "puts", sum->calls[PEN_TRACE_PUT].total_ns };
    bars[count++] = (bar){ "gets", sum->calls[PEN_TRACE_GET].total_ns };
    for (uint32_t call = 0; call < PEN_SUM_CALLS; call++)
        bars[count++] = (bar){ pen_call_text((pen_call)call), sum->waits[call].total_ns };
    printf("<h2>Time in the library, by call</h2>\n");
    print_bars("calls", bars, count, "#56799c");
}

static void print_causes(const page *p)
{
    bar bars[PEN_SUM_CAUSES];
    for (uint32_t cause = 0; cause < PEN_SUM_CAUSES; cause++)
        bars[cause] = (bar){ pen_sum_cause_text(cause), p->sum->causes[cause].total_ns };
    printf("<h2>Waits, by cause</h2>\n");
    print_bars("causes", bars, PEN_SUM_CAUSES, "#999");
}

/* ---- balance --------------------------------------------------------------------------------- */

static void print_balance(const page *p)
{
    const double height = row_height(p), step = height + 2;
    double most = 1;
    for (uint32_t i = 0; i < p->shown_count; i++) {
        double all = p->sum->ranks[p->shown[i]].all_ns;
        most = all > most ? all : most;
    }
    printf("<h2>Load balance</h2>\n<p>Time of the program, of handlers, and of waits. A rank whose "
           "green bar is longer than the others' holds them up.</p>\n");
    printf("<svg id=\"balance\" viewBox=\"0 0 %d %.0f\">\n", WIDTH, step * p->rows);
    for (uint32_t row = 0; row < p->rows; row++) {
        double wait = 0, handler = 0, all = 0, x = LEFT;
        for (uint32_t i = row_begin(p, row); i < row_begin(p, row + 1); i++) {
            const pen_sum_rank *rank = &p->sum->ranks[p->shown[i]];
            wait += rank->wait_ns;
            handler += rank->handler_ns;
            all += rank->all_ns;
        }
        double scale = (WIDTH - LEFT) / most / (row_begin(p, row + 1) - row_begin(p, row));
        const double parts[] = { all - wait - handler, handler, wait };
        const char *const colours[] = { COLOUR_PROGRAM, COLOUR_HANDLER, COLOUR_WAIT };
        for (int i = 0; i < 3; i++) {
            double width = parts[i] > 0 ? parts[i] * scale : 0;
            printf("<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"%s\"/>\n", x,
                   step * row, width, height, colours[i]);
            x += width;
        }
        print_row_label(p, row, step * row + height / 2 + 4);
    }
    printf("</svg>\n");
}

/* ---- communication --------------------------------------------------------------------------- */

/* The row of a rank; rows if it is not shown. */
static uint32_t row_of(const page *p, const uint32_t *place, uint32_t rank)
{
    if (place[rank] == UINT32_MAX)
        return p->rows;
    uint32_t row = (uint32_t)((uint64_t)place[rank] * p->rows / p->shown_count);
    while (row > 0 && row_begin(p, row) > place[rank])
        row--;
    while (row + 1 < p->rows && row_begin(p, row + 1) <= place[rank])
        row++;
    return row;
}

static void print_cells(const page *p, const double *cells, double most)
{
    const double side = (double)(p->rows <= 16 ? 30 : 480 / (int)p->rows);
    char text[TRACE_TIME_LEN];
    printf("<svg id=\"matrix\" style=\"max-width:640px\" viewBox=\"0 0 640 %.0f\">\n",
           side * p->rows + 24);
    for (uint32_t from = 0; from < p->rows; from++) {
        for (uint32_t to = 0; to < p->rows; to++) {
            double cell = cells[from * p->rows + to];
            if (cell <= 0)
                continue;
            printf("<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"#28527a\" "
                   "fill-opacity=\"%.3f\"><title>%" PRIu32 " to %" PRIu32 ": %s</title></rect>\n",
                   LEFT + to * side, from * side, side - 0.5, side - 0.5, 0.12 + 0.88 * cell / most,
                   p->shown[row_begin(p, from)], p->shown[row_begin(p, to)],
                   trace_bytes(cell, text));
        }
        if (p->rows <= 32 || from % 8 == 0)
            print_row_label(p, from, from * side + side / 2 + 4);
    }
    printf("<rect x=\"%d\" y=\"0\" width=\"%.2f\" height=\"%.2f\" fill=\"none\" stroke=\"#999\"/>\n"
           "<text x=\"%d\" y=\"%.1f\">to; darkest: %s</text>\n</svg>\n",
           LEFT, side * p->rows, side * p->rows, LEFT, side * p->rows + 18,
           trace_bytes(most, text));
}

/* Adds up the pairs. Returns the largest sum. */
static double fill_cells(const page *p, const uint32_t *place, double *cells)
{
    double most = 0;
    for (size_t i = 0; i < p->sum->pair_count; i++) {
        const pen_sum_pair *pair = &p->sum->pairs[i];
        uint32_t from = row_of(p, place, pair->from), to = row_of(p, place, pair->to);
        if (from == p->rows || to == p->rows)
            continue;
        double *cell = &cells[from * p->rows + to];
        *cell += (double)pair->len + 1; /* shows messages without payload, too */
        most = *cell > most ? *cell : most;
    }
    return most;
}

static bool print_matrix(const page *p)
{
    double *cells = calloc((size_t)p->rows * p->rows, sizeof *cells);
    uint32_t *place = malloc(p->timeline->rank_count * sizeof *place);
    if (cells == NULL || place == NULL) {
        free(place);
        free(cells);
        return false;
    }
    memset(place, 0xff, p->timeline->rank_count * sizeof *place);
    for (uint32_t i = 0; i < p->shown_count; i++)
        place[p->shown[i]] = i;
    double most = fill_cells(p, place, cells);
    if (most > 0) {
        printf(
            "<h2>Communication</h2>\n<p>Bytes of messages, puts and gets from each row's rank to "
            "each column's.</p>\n");
        print_cells(p, cells, most);
    }
    free(place);
    free(cells);
    return true;
}

/* ---- late arrivals --------------------------------------------------------------------------- */

static void print_late(const page *p)
{
    const double height = row_height(p), step = height + 2;
    double most = 0;
    for (uint32_t i = 0; i < p->shown_count; i++) {
        double late = p->sum->ranks[p->shown[i]].late_ns;
        most = late > most ? late : most;
    }
    if (most <= 0)
        return;
    printf("<h2>Late arrivals at barriers and collectives</h2>\n<p>How long the others waited for "
           "the rank when it came last, together.</p>\n<svg id=\"late\" viewBox=\"0 0 %d %.0f\">\n",
           WIDTH, step * p->rows);
    for (uint32_t row = 0; row < p->rows; row++) {
        double late = 0;
        char text[TRACE_TIME_LEN];
        for (uint32_t i = row_begin(p, row); i < row_begin(p, row + 1); i++)
            late = p->sum->ranks[p->shown[i]].late_ns > late ? p->sum->ranks[p->shown[i]].late_ns
                                                             : late;
        double width = late / most * (WIDTH - LEFT - 110);
        printf("<rect x=\"%d\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"#b5443c\"/><text "
               "x=\"%.2f\" y=\"%.2f\">%s</text>\n",
               LEFT, step * row, width, height, LEFT + width + 6, step * row + height / 2 + 4,
               trace_time(late, text));
        print_row_label(p, row, step * row + height / 2 + 4);
    }
    printf("</svg>\n");
}

/* ---- the page -------------------------------------------------------------------------------- */

static void print_file_name(const char *name)
{
    for (; *name != '\0'; name++) {
        if (*name == '<' || *name == '&' || *name == '>' || *name == '"')
            printf("&#%d;", *name);
        else
            putchar(*name);
    }
}

static void print_top(const page *p)
{
    char length[TRACE_TIME_LEN];
    printf("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
           "<meta name=\"viewport\" content=\"width=device-width\"><title>Trace ");
    print_file_name(p->view->file);
    printf(
        "</title>\n<style>body{font:15px/1.45 sans-serif;max-width:60em;margin:2em auto;padding:0 "
        "1em;color:#222;background:#fff}h1{font-size:1.5em}h2{font-size:1.15em;margin-top:2em}"
        "svg{width:100%%;height:auto;display:block}text{font:12px sans-serif;fill:#222}</style>"
        "</head><body>\n<h1>Trace ");
    print_file_name(p->view->file);
    printf("</h1>\n<p>%" PRIu32 " ranks on %" PRIu32 " host%s, %s, %" PRIu64 " events.",
           p->timeline->rank_count, p->timeline->host_count,
           p->timeline->host_count == 1 ? "" : "s", trace_time((double)p->timeline->end_ns, length),
           p->timeline->moments);
    if (p->sum->dropped != 0)
        printf(" %" PRIu64 " events were dropped.", p->sum->dropped);
    printf("</p>\n");
}

static void find_limits(page *p)
{
    p->from_ns = INT64_MAX;
    p->to_ns = INT64_MIN;
    for (uint32_t i = 0; i < p->shown_count; i++) {
        const pen_timeline_rank *rank = &p->timeline->ranks[p->shown[i]];
        for (size_t at = 0; at < rank->count; at++)
            note_limits(&rank->moments[at], &p->from_ns, &p->to_ns);
    }
    if (p->to_ns <= p->from_ns) {
        p->from_ns = 0;
        p->to_ns = 1;
    }
}

static bool print_page(page *p)
{
    print_top(p);
    if (p->shown_count == 0) {
        printf("<p>No rank is shown.</p></body></html>\n");
        return true;
    }
    find_limits(p);
    print_timeline(p);
    print_balance(p);
    print_calls(p);
    print_causes(p);
    bool good = print_matrix(p);
    print_late(p);
    printf("</body></html>\n");
    return good;
}

bool trace_print_html(const pen_timeline *timeline, const trace_view *view)
{
    pen_sum sum;
    if (pen_sum_make(timeline, &sum) != PEN_OK)
        return false;
    page p = { .timeline = timeline, .view = view, .sum = &sum };
    p.shown = calloc(timeline->rank_count, sizeof *p.shown);
    for (uint32_t rank = 0; p.shown != NULL && rank < timeline->rank_count; rank++)
        if (trace_shows(view, rank))
            p.shown[p.shown_count++] = rank;
    p.rows = p.shown_count < ROWS_MAX ? p.shown_count : ROWS_MAX;
    bool good = p.shown != NULL && print_page(&p);
    free(p.shown);
    pen_sum_close(&sum);
    return good;
}
