/* SPDX-License-Identifier: BSD-3-Clause */
/* trace_export.c: a trace for other programs: the JSON that Perfetto's viewer opens, and CSV. */
#include "command/trace.h"

#include "base/status.h"
#include "timeline/sum.h"
#include "timeline/timeline.h"
#include "trace/event.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* ---- Perfetto -------------------------------------------------------------------------------- */

/* The format is the JSON array of events that Chrome's tracing introduced. A rank is a process with
 * one thread for the program and one for handlers. Times are microseconds. */
enum { THREAD_PROGRAM, THREAD_HANDLERS };

typedef struct perfetto {
    const pen_timeline *timeline;
    const trace_view *view;
    bool has_some;    /* an event was printed */
    uint64_t letters; /* flows so far, for their names */
} perfetto;

static double us(int64_t ns) { return (double)ns / 1000; }

static void begin_event(perfetto *p, const char *phase, uint32_t rank, int thread, int64_t at_ns)
{
    printf("%s{\"ph\":\"%s\",\"pid\":%" PRIu32 ",\"tid\":%d,\"ts\":%.3f", p->has_some ? ",\n" : "",
           phase, rank, thread, us(at_ns));
    p->has_some = true;
}

/* Names consist of characters that JSON needs not escape; see timeline.c. */
static void print_region(perfetto *p, uint32_t rank, const pen_moment *moment, const char *name)
{
    begin_event(p, moment->kind == PEN_TRACE_BEGIN ? "B" : "E", rank, THREAD_PROGRAM,
                moment->at_ns);
    printf(",\"name\":\"%s\",\"cat\":\"region\"}", name);
}

static void print_instant(perfetto *p, uint32_t rank, const pen_moment *moment, const char *name)
{
    begin_event(p, "i", rank, THREAD_PROGRAM, moment->at_ns);
    printf(",\"name\":\"%s\",\"s\":\"t\",\"args\":{\"number\":%" PRIu32 "}}", name, moment->number);
}

static void print_value(perfetto *p, uint32_t rank, const pen_moment *moment, const char *name)
{
    double value;
    memcpy(&value, &moment->value, sizeof value);
    begin_event(p, "C", rank, THREAD_PROGRAM, moment->at_ns);
    /* JSON has no words for infinity and NaN. */
    printf(",\"name\":\"%s\",\"args\":{\"value\":%.17g}}", name, value - value == 0 ? value : 0.0);
}

static void print_span(perfetto *p, uint32_t rank, const pen_moment *moment, const char *name)
{
    const bool is_handled = moment->kind == PEN_TRACE_HANDLED;
    begin_event(p, "X", rank, is_handled ? THREAD_HANDLERS : THREAD_PROGRAM, moment->at_ns);
    printf(",\"dur\":%.3f,\"name\":\"%s\",\"args\":{", (double)moment->span_ns / 1000, name);
    if (moment->kind == PEN_TRACE_WAIT)
        printf("\"for\":\"%s\",", pen_sum_cause_text(moment->detail));
    if (is_handled || moment->kind == PEN_TRACE_SENT)
        printf("\"handler\":%d,", moment->what & 255);
    if (moment->peer != UINT32_MAX)
        printf("\"peer\":%" PRIu32 ",", moment->peer);
    printf("\"bytes\":%" PRIu64 "}}", moment->value);
}

static void print_moment(perfetto *p, uint32_t rank, const pen_moment *moment)
{
    const char *name = trace_name(p->timeline, rank, moment);
    switch (moment->kind) {
    case PEN_TRACE_BEGIN:
    case PEN_TRACE_END:
        print_region(p, rank, moment, name);
        break;
    case PEN_TRACE_MARK:
    case PEN_TRACE_ENTER:
    case PEN_TRACE_RESENT:
        print_instant(p, rank, moment, name);
        break;
    case PEN_TRACE_VALUE:
        print_value(p, rank, moment, name);
        break;
    default:
        print_span(p, rank, moment, name);
    }
}

static void print_flow(void *ctx, const pen_letter *letter)
{
    perfetto *p = ctx;
    if (!trace_shows(p->view, letter->from) || !trace_shows(p->view, letter->to))
        return;
    p->letters++;
    begin_event(p, "s", letter->from, THREAD_PROGRAM, letter->sent->at_ns);
    printf(",\"name\":\"message\",\"cat\":\"message\",\"id\":%" PRIu64 "}", p->letters);
    begin_event(p, "f", letter->to, THREAD_HANDLERS, letter->handled->at_ns);
    printf(",\"bp\":\"e\",\"name\":\"message\",\"cat\":\"message\",\"id\":%" PRIu64 "}",
           p->letters);
}

static void print_names(perfetto *p, uint32_t rank)
{
    begin_event(p, "M", rank, THREAD_PROGRAM, 0);
    printf(",\"name\":\"process_name\",\"args\":{\"name\":\"rank %" PRIu32 " (%s)\"}}", rank,
           p->timeline->hosts[p->timeline->ranks[rank].host].name);
    begin_event(p, "M", rank, THREAD_PROGRAM, 0);
    printf(",\"name\":\"thread_name\",\"args\":{\"name\":\"program\"}}");
    begin_event(p, "M", rank, THREAD_HANDLERS, 0);
    printf(",\"name\":\"thread_name\",\"args\":{\"name\":\"handlers\"}}");
}

bool trace_print_perfetto(const pen_timeline *timeline, const trace_view *view)
{
    perfetto p = { .timeline = timeline, .view = view };
    printf("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n");
    for (uint32_t rank = 0; rank < timeline->rank_count; rank++) {
        if (!trace_shows(view, rank))
            continue;
        print_names(&p, rank);
        for (size_t i = 0; i < timeline->ranks[rank].count; i++)
            print_moment(&p, rank, &timeline->ranks[rank].moments[i]);
    }
    bool good = pen_timeline_letters(timeline, print_flow, &p) == PEN_OK;
    printf("\n]}\n");
    return good;
}

/* ---- CSV ------------------------------------------------------------------------------------- */

void trace_print_csv(const pen_timeline *timeline, const trace_view *view)
{
    static const char *const keys[] = {
#define EXPORT_KEY(name, key, text) [PEN_TRACE_##name] = key,
        PEN_TRACE_KIND_LIST(EXPORT_KEY)
#undef EXPORT_KEY
    };
    printf("rank,kind,begin_ns,length_ns,name,detail,what,peer,number,value\n");
    for (uint32_t rank = 0; rank < timeline->rank_count; rank++) {
        for (size_t i = 0; trace_shows(view, rank) && i < timeline->ranks[rank].count; i++) {
            const pen_moment *m = &timeline->ranks[rank].moments[i];
            char peer[16] = "";
            if (m->peer != UINT32_MAX)
                (void)snprintf(peer, sizeof peer, "%" PRIu32, m->peer);
            printf("%" PRIu32 ",%s,%" PRId64 ",%" PRIu64 ",\"%s\",%d,%d,%s,%" PRIu32 ",%" PRIu64
                   "\n",
                   rank, keys[m->kind], m->at_ns, m->span_ns, trace_name(timeline, rank, m),
                   m->detail, m->what, peer, m->number, m->value);
        }
    }
}
