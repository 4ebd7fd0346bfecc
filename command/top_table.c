/* SPDX-License-Identifier: BSD-3-Clause */
/* top_table.c: the rows of `penstock top`, their order, and how they are printed. */
#include "command/top.h"

#include "boot/wait_state.h"
#include "command/json.h"
#include "command/paint.h"
#include "diag/counters.h"
#include "os/proc.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { CELL_LEN = 64 };

/* ---- rates ----------------------------------------------------------------------------------- */

static uint64_t library_rma(const pen_counters *c)
{
    return c->put_shm + c->get_shm + c->atomic_shm + c->put_net + c->get_net + c->atomic_net +
           c->atomic_device;
}

static uint64_t operations_of(const pen_counters *c, top_way way)
{
    switch (way) {
    case TOP_INLINE:
        return c->rma_begun > library_rma(c) ? c->rma_begun - library_rma(c) : 0;
    case TOP_SHM:
        return c->am_sent_shm + c->put_shm + c->get_shm + c->atomic_shm;
    default:
        return c->am_sent_net + c->put_net + c->get_net + c->atomic_net + c->atomic_device;
    }
}

static uint64_t bytes_of(const pen_counters *c, top_way way)
{
    switch (way) {
    case TOP_INLINE:
        return 0;
    case TOP_SHM:
        return c->am_bytes_shm + c->long_bytes_shm + c->put_bytes_shm + c->get_bytes_shm;
    default:
        return c->am_bytes_net + c->put_bytes_net + c->get_bytes_net;
    }
}

/* A rank that has joined again counts from zero. */
static double rate(uint64_t before, uint64_t now, double seconds)
{
    return seconds > 0 && now > before ? (double)(now - before) / seconds : 0;
}

static double seconds_between(uint64_t from_ns, uint64_t to_ns)
{
    return to_ns > from_ns ? (double)(to_ns - from_ns) / 1e9 : 0;
}

top_row top_row_of(const watch_rank *before, const watch_rank *now)
{
    top_row row = { .now = *now, .quiet_s = -1 };
    if (now->waits)
        row.since_s = seconds_between(now->wait.since_ns, now->now_ns);
    if (now->seen_ns != 0)
        row.quiet_s = seconds_between(now->seen_ns, now->now_ns);
    if (before == NULL || before->pid != now->pid)
        return row;
    const pen_counters *then = &before->counters, *counters = &now->counters;
    row.interval_s = seconds_between(before->now_ns, now->now_ns);
    /* the rank copied its counters at these times */
    double copied_s = seconds_between(before->seen_ns, now->seen_ns);
    double seconds = copied_s > row.interval_s ? copied_s : row.interval_s;
    for (top_way way = 0; way < TOP_WAYS; way++) {
        row.operations[way] = rate(operations_of(then, way), operations_of(counters, way), seconds);
        row.bytes[way] = rate(bytes_of(then, way), bytes_of(counters, way), seconds);
    }
    row.stalls = rate(then->again_room + then->again_backlog,
                      counters->again_room + counters->again_backlog, seconds);
    row.resent = rate(then->frame_resent, counters->frame_resent, seconds);
    row.cpu = rate(before->use.cpu_ns, now->use.cpu_ns, row.interval_s) / 1e9;
    return row;
}

/* ---- columns --------------------------------------------------------------------------------- */

static void cell_count(double value, double step, char *out)
{
    static const char units[] = " kMGTP";
    size_t unit = 0;
    for (; value >= 9999.5 && unit + 2 < sizeof(units); unit++)
        value /= step;
    if (unit == 0)
        (void)snprintf(out, CELL_LEN, "%.0f", value);
    else
        (void)snprintf(out, CELL_LEN, "%.0f%c", value, units[unit]);
}

static void cell_seconds(double seconds, char *out)
{
    if (seconds < 0)
        (void)snprintf(out, CELL_LEN, "-");
    else
        (void)snprintf(out, CELL_LEN, "%.1f", seconds);
}

static void cell_rank(const top_row *r, char *out)
{
    (void)snprintf(out, CELL_LEN, "%u", r->now.rank);
}
static void cell_pid(const top_row *r, char *out)
{
    (void)snprintf(out, CELL_LEN, "%d", (int)r->now.pid);
}
static void cell_state(const top_row *r, char *out)
{
    (void)snprintf(out, CELL_LEN, "%s", watch_state_text(&r->now));
}
static void cell_call(const top_row *r, char *out)
{
    (void)snprintf(out, CELL_LEN, "%s", r->now.waits ? pen_call_text(r->now.wait.call) : "-");
}
static void cell_since(const top_row *r, char *out)
{
    cell_seconds(r->now.waits ? r->since_s : -1, out);
}
static void cell_quiet(const top_row *r, char *out) { cell_seconds(r->quiet_s, out); }
static void cell_core(const top_row *r, char *out)
{
    (void)snprintf(out, CELL_LEN, "%d", r->now.use.core);
}
static void cell_cores(const top_row *r, char *out)
{
    (void)snprintf(out, CELL_LEN, "%s", r->now.use.cores);
}
static void cell_cpu(const top_row *r, char *out)
{
    (void)snprintf(out, CELL_LEN, "%.0f", 100 * r->cpu);
}
static double value_cpu(const top_row *r) { return r->cpu; }
static double value_since(const top_row *r) { return r->since_s; }
static double value_quiet(const top_row *r) { return r->quiet_s; }
static double value_inline(const top_row *r) { return r->operations[TOP_INLINE]; }
static double value_shm(const top_row *r) { return r->operations[TOP_SHM]; }
static double value_net(const top_row *r) { return r->operations[TOP_NET]; }
static double value_shm_bytes(const top_row *r) { return r->bytes[TOP_SHM]; }
static double value_net_bytes(const top_row *r) { return r->bytes[TOP_NET]; }
static double value_stalls(const top_row *r) { return r->stalls; }
static double value_resent(const top_row *r) { return r->resent; }
static double value_memory(const top_row *r) { return (double)r->now.use.resident; }

/* A column has a text, or a value, or both. Rows are sorted by the value if there is one. */
typedef struct column {
    int width; /* negative: flush left */
    void (*cell)(const top_row *row, char *out);
    double (*value)(const top_row *row);
    double step; /* between units of a value without a text */
} column;

#define COLUMN_LIST(X)                           \
    X("rank", 4, cell_rank, NULL, 0)             \
    X("pid", 7, cell_pid, NULL, 0)               \
    X("state", -9, cell_state, NULL, 0)          \
    X("call", -24, cell_call, NULL, 0)           \
    X("since", 7, cell_since, value_since, 0)    \
    X("inline/s", 8, NULL, value_inline, 1000)   \
    X("shm/s", 6, NULL, value_shm, 1000)         \
    X("net/s", 6, NULL, value_net, 1000)         \
    X("shm-B/s", 7, NULL, value_shm_bytes, 1024) \
    X("net-B/s", 7, NULL, value_net_bytes, 1024) \
    X("stalls/s", 8, NULL, value_stalls, 1000)   \
    X("resent/s", 8, NULL, value_resent, 1000)   \
    X("quiet", 6, cell_quiet, value_quiet, 0)    \
    X("memory", 6, NULL, value_memory, 1024)     \
    X("cpu%", 5, cell_cpu, value_cpu, 0)         \
    X("core", 4, cell_core, NULL, 0)             \
    X("cores", -8, cell_cores, NULL, 0)

static const column columns[] = {
#define COLUMN_ROW(name, width, cell, value, step) { width, cell, value, step },
    COLUMN_LIST(COLUMN_ROW)
#undef COLUMN_ROW
};
enum { COLUMNS = sizeof(columns) / sizeof(columns[0]) };

const char *const top_columns[] = {
#define COLUMN_NAME(name, width, cell, value, step) name,
    COLUMN_LIST(COLUMN_NAME)
#undef COLUMN_NAME
        NULL
};

int top_column_find(const char *name)
{
    for (int i = 0; i < COLUMNS; i++)
        if (strcmp(top_columns[i], name) == 0)
            return i;
    return -1;
}

static void cell_of(const top_row *row, const column *of, char *out)
{
    if (of->cell != NULL)
        of->cell(row, out);
    else
        cell_count(of->value != NULL ? of->value(row) : 0, of->step, out);
}

/* ---- order ----------------------------------------------------------------------------------- */

static int by_rank(const top_row *a, const top_row *b)
{
    return (a->now.rank > b->now.rank) - (a->now.rank < b->now.rank);
}

/* Negative: a comes first. */
static int compare(const top_row *a, const top_row *b, const column *by)
{
    if (by->value != NULL) {
        double x = by->value(a), y = by->value(b);
        return x != y ? (x < y) - (x > y) : by_rank(a, b);
    }
    char x[CELL_LEN], y[CELL_LEN];
    cell_of(a, by, x);
    cell_of(b, by, y);
    int order = by->width > 0 ? 0 : strcmp(x, y); /* numbers without a value follow the rank */
    return order != 0 ? order : by_rank(a, b);
}

void top_sort(top_row *rows, uint32_t count, int column_i)
{
    for (uint32_t end = 1; end < count; end++) { /* by insertion, since it needs no globals */
        top_row row = rows[end];
        uint32_t at = end;
        for (; at > 0 && compare(&row, &rows[at - 1], &columns[column_i]) < 0; at--)
            rows[at] = rows[at - 1];
        rows[at] = row;
    }
}

/* ---- printing -------------------------------------------------------------------------------- */

static void print_head(FILE *out, const watch_job *job)
{
    char program[WATCH_COMMAND_LEN];
    watch_program(job, program, sizeof(program));
    fprintf(out, "job %d: ranks %u-%u of %u, host %u of %u, %s\n", (int)job->id, job->page->first,
            job->page->first + job->page->size - 1, job->page->job_size, job->page->host_i + 1,
            job->page->host_count, program);
}

/* Spaces at the end of a line are left out. */
static void print_line(FILE *out, const char *cells[COLUMNS])
{
    for (int i = 0; i < COLUMNS; i++) {
        int width = i + 1 == COLUMNS ? 0 : columns[i].width;
        fprintf(out, "%s%*s", i == 0 ? "" : " ", width, cells[i]);
    }
}

void top_print(FILE *out, const watch_job *job, const top_row *rows, uint32_t count)
{
    char texts[COLUMNS][CELL_LEN];
    const char *cells[COLUMNS];
    print_head(out, job);
    for (int i = 0; i < COLUMNS; i++) {
        cells[i] = texts[i];
        (void)snprintf(texts[i], CELL_LEN, "%s", top_columns[i]);
        for (char *c = texts[i]; *c != '\0'; c++)
            *c = (char)(*c >= 'a' && *c <= 'z' ? *c - 'a' + 'A' : *c);
    }
    fputs(paint_on(out, PAINT_HEADING), out);
    print_line(out, cells);
    fprintf(out, "%s\n", paint_off(out));
    for (uint32_t row = 0; row < count; row++) {
        for (int i = 0; i < COLUMNS; i++)
            cell_of(&rows[row], &columns[i], texts[i]);
        print_line(out, cells);
        fputc('\n', out);
    }
}

static void json_wait(FILE *out, const top_row *row)
{
    char text[256];
    fputs("\"call\": ", out);
    json_text(out, row->now.waits ? pen_call_text(row->now.wait.call) : NULL);
    if (row->now.waits)
        pen_wait_text(&row->now.wait, row->now.now_ns, text, sizeof(text));
    fputs(", \"wait\": ", out);
    json_text(out, row->now.waits ? text : NULL);
    fprintf(out, ", \"since_s\": %.3f, \"peer\": ", row->since_s);
    if (row->now.waits && row->now.wait.peer != PEN_WAIT_NOBODY)
        fprintf(out, "%u", row->now.wait.peer);
    else
        fputs("null", out);
}

static void json_rates(FILE *out, const char *name, const double values[TOP_WAYS])
{
    fprintf(out, "\"%s\": {\"inline\": %.1f, \"shm\": %.1f, \"net\": %.1f}, ", name,
            values[TOP_INLINE], values[TOP_SHM], values[TOP_NET]);
}

static void json_counters(FILE *out, const pen_counters *counters)
{
    const char *before = "";
    fputs("\"counters\": {", out);
#define JSON_COUNTER(name, text)                                       \
    fprintf(out, "%s\"" #name "\": %" PRIu64, before, counters->name); \
    before = ", ";
    PEN_COUNTER_LIST(JSON_COUNTER)
#undef JSON_COUNTER
    fputc('}', out);
}

static void json_row(FILE *out, const top_row *row)
{
    const pen_process_use *use = &row->now.use;
    fprintf(out, "    {\"rank\": %u, \"pid\": %d, \"state\": ", row->now.rank, (int)row->now.pid);
    json_text(out, watch_state_text(&row->now));
    fputs(", ", out);
    json_wait(out, row);
    fprintf(out, ", \"interval_s\": %.3f, ", row->interval_s);
    json_rates(out, "operations_per_s", row->operations);
    json_rates(out, "bytes_per_s", row->bytes);
    fprintf(out, "\"stalls_per_s\": %.1f, \"resent_per_s\": %.1f, \"quiet_s\": ", row->stalls,
            row->resent);
    if (row->quiet_s < 0)
        fputs("null", out);
    else
        fprintf(out, "%.3f", row->quiet_s);
    fprintf(out,
            ", \"events\": %" PRIu64 ", \"memory\": %" PRIu64 ", \"swapped\": %" PRIu64
            ", \"cpu\": %.3f, \"core\": %d, \"cores\": ",
            row->now.events, use->resident, use->swapped, row->cpu, use->core);
    json_text(out, use->cores);
    fputs(", ", out);
    json_counters(out, &row->now.counters);
    fputc('}', out);
}

void top_print_json(FILE *out, const watch_job *job, const top_row *rows, uint32_t count)
{
    char program[WATCH_COMMAND_LEN];
    watch_program(job, program, sizeof(program));
    fprintf(out,
            "{\"job\": %d, \"first_rank\": %u, \"job_ranks\": %u, \"host\": %u, \"hosts\": %u, "
            "\"program\": ",
            (int)job->id, job->page->first, job->page->job_size, job->page->host_i,
            job->page->host_count);
    json_text(out, program);
    fputs(", \"ranks\": [\n", out);
    for (uint32_t i = 0; i < count; i++) {
        json_row(out, &rows[i]);
        fputs(i + 1 < count ? ",\n" : "\n", out);
    }
    fputs("]}\n", out);
}
