/* SPDX-License-Identifier: BSD-3-Clause */
/* trace_text.c: the summary of a trace that a person reads first. */
#include "command/trace.h"

#include "base/status.h"
#include "boot/wait_state.h"
#include "command/paint.h"
#include "timeline/sum.h"
#include "timeline/timeline.h"
#include "trace/event.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum {
    MATRIX_RANKS_MAX = 16, /* ranks up to which the whole matrix is printed */
    RANK_ROWS_MAX = 32,    /* rows of the table by rank; of more ranks only the ends */
    TOP = 10,
};

static void heading(const char *text)
{
    printf("\n%s%s%s\n", paint_on(stdout, PAINT_HEADING), text, paint_off(stdout));
}

static double share(double part, double whole) { return whole > 0 ? 100 * part / whole : 0; }

/* ---- what the trace is ----------------------------------------------------------------------- */

/* How far the host's clock of the day is ahead of the first host's. */
static double ahead_ns(const pen_timeline *t, const pen_timeline_host *host)
{
    return (double)(int64_t)(host->wall_ns - t->hosts[0].wall_ns) + host->offset_ns;
}

static void print_hosts(const pen_timeline *t)
{
    char differs[TRACE_TIME_LEN], error[TRACE_TIME_LEN];
    for (uint32_t i = 1; i < t->host_count && i < TOP; i++) {
        const pen_timeline_host *host = &t->hosts[i];
        double ahead = ahead_ns(t, host);
        if (host->offset_error_ns < 0)
            printf("clock of host %s: set by the clock of the day; the error is not known, because "
                   "no messages went both ways\n",
                   host->name);
        else
            printf("clock of host %s: estimated by messages, to +- %s; its clock of the day is %s "
                   "%s\n",
                   host->name, trace_time(host->offset_error_ns, error),
                   trace_time(ahead < 0 ? -ahead : ahead, differs), ahead < 0 ? "behind" : "ahead");
    }
}

static void print_head(const pen_timeline *t, const pen_sum *sum, const trace_view *view)
{
    char length[TRACE_TIME_LEN], when[64] = "";
    time_t begun = (time_t)(t->wall_ns / 1000000000u);
    struct tm parts;
    if (localtime_r(&begun, &parts) != NULL)
        (void)strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S", &parts);
    printf("trace %s: %" PRIu32 " ranks on %" PRIu32 " host%s, %s from %s, %" PRIu64 " events\n",
           view->file, t->rank_count, t->host_count, t->host_count == 1 ? "" : "s",
           trace_time((double)t->end_ns, length), when, t->moments);
    if (sum->dropped != 0)
        printf("%" PRIu64 " events were dropped, because the launcher did not read them in time; "
               "PENSTOCK_TRACE_SIZE makes more room\n",
               sum->dropped);
    if (t->cut)
        printf("the end of the file is missing: the launcher was killed\n");
    if (t->bad != 0)
        printf("%" PRIu64 " events make no sense and were left out\n", t->bad);
    print_hosts(t);
}

/* ---- where the time went --------------------------------------------------------------------- */

static void print_balance(const pen_timeline *t, const pen_sum *sum)
{
    double all = 0, wait = 0, handler = 0, call = 0, busy_most = 0, busy_sum = 0;
    uint32_t busiest = 0;
    for (uint32_t rank = 0; rank < t->rank_count; rank++) {
        const pen_sum_rank *r = &sum->ranks[rank];
        double busy = r->all_ns - r->wait_ns;
        all += r->all_ns;
        wait += r->wait_ns;
        handler += r->handler_ns;
        call += r->call_ns;
        busy_sum += busy;
        if (busy > busy_most) {
            busy_most = busy;
            busiest = rank;
        }
    }
    heading("Where the time went");
    printf("waits %.1f %%, handlers %.1f %%, other calls of the library %.1f %%, the program "
           "%.1f %%\n",
           share(wait, all), share(handler, all), share(call, all),
           share(all - wait - handler - call, all));
    double mean = busy_sum / t->rank_count;
    printf("load balance %.1f %%: the busiest is rank %" PRIu32
           ", which did not wait for %.1f %% of "
           "its time; the average is %.1f %%\n",
           share(mean, busy_most), busiest, share(busy_most, sum->ranks[busiest].all_ns),
           share(busy_sum, all));
}

static void print_span(const char *name, const pen_sum_span *span)
{
    char total[TRACE_TIME_LEN], mean[TRACE_TIME_LEN], most[TRACE_TIME_LEN];
    if (span->count == 0)
        return;
    printf("%12" PRIu64 " %10s %10s %10s  %s\n", span->count, trace_time(span->total_ns, total),
           trace_time(span->total_ns / (double)span->count, mean),
           span->most_ns > 0 ? trace_time(span->most_ns, most) : "-", name);
}

static void print_calls(const pen_sum *sum)
{
    heading("Time in the library, by call");
    printf("%12s %10s %10s %10s\n", "COUNT", "TOTAL", "MEAN", "LONGEST");
    print_span("posts of messages (one in 16 is measured)", &sum->calls[PEN_TRACE_SENT]);
    print_span("handlers", &sum->calls[PEN_TRACE_HANDLED]);
    print_span("puts", &sum->calls[PEN_TRACE_PUT]);
    print_span("gets", &sum->calls[PEN_TRACE_GET]);
    print_span("memsets", &sum->calls[PEN_TRACE_SET]);
    print_span("puts and gets in pieces, remote atomics", &sum->calls[PEN_TRACE_CALL]);
    for (uint32_t call = 0; call < PEN_SUM_CALLS; call++) {
        char name[64];
        (void)snprintf(name, sizeof name, "waits in %s", pen_call_text((pen_call)call));
        print_span(name, &sum->waits[call]);
    }
    heading("Waits, by cause");
    printf("%12s %10s %10s %10s\n", "COUNT", "TOTAL", "MEAN", "LONGEST");
    for (uint32_t cause = 0; cause < PEN_SUM_CAUSES; cause++)
        print_span(pen_sum_cause_text(cause), &sum->causes[cause]);
    print_span("(frames that waited for room or credit)", &sum->calls[PEN_TRACE_STALL]);
}

/* ---- by rank --------------------------------------------------------------------------------- */

static void print_rank(uint32_t rank, const pen_sum_rank *r)
{
    char wait[TRACE_TIME_LEN], gap[TRACE_TIME_LEN], late[TRACE_TIME_LEN], len[TRACE_TIME_LEN];
    char awaited[TRACE_TIME_LEN];
    printf("%6" PRIu32 " %10s %5.1f %10s %5.1f %9" PRIu64 " %9" PRIu64 " %9" PRIu64
           " %10s %7" PRIu64 " %7" PRIu64 " %10s %6" PRIu64 " %10s\n",
           rank, trace_time(r->wait_ns, wait), share(r->wait_ns, r->all_ns),
           trace_time(r->awaited_ns, awaited), share(r->handler_ns, r->all_ns), r->sent, r->handled,
           r->moved, trace_bytes((double)(r->sent_len + r->moved_len), len), r->stalls, r->resent,
           trace_time(r->gap_most_ns, gap), r->last, trace_time(r->late_ns, late));
}

/* Ranks by the time that they did not wait, the busiest first. */
static const pen_sum *sorted_sum;
static int by_work(const void *a, const void *b)
{
    uint32_t one = *(const uint32_t *)a, other = *(const uint32_t *)b;
    double ones = sorted_sum->ranks[one].all_ns - sorted_sum->ranks[one].wait_ns;
    double others = sorted_sum->ranks[other].all_ns - sorted_sum->ranks[other].wait_ns;
    return ones != others ? (ones < others ? 1 : -1) : (one > other) - (one < other);
}

static bool print_ranks(const pen_timeline *t, const pen_sum *sum, const trace_view *view)
{
    uint32_t *order = calloc(t->rank_count, sizeof *order), count = 0;
    if (order == NULL)
        return false;
    for (uint32_t rank = 0; rank < t->rank_count; rank++)
        if (trace_shows(view, rank))
            order[count++] = rank;
    sorted_sum = sum;
    qsort(order, count, sizeof *order, by_work);
    heading("Ranks, the busiest first");
    printf("%6s %10s %5s %10s %5s %9s %9s %9s %10s %7s %7s %10s %6s %10s\n", "RANK", "WAITS", "%",
           "FOR IT", "HAND%", "SENT", "HANDLED", "PUT+GET", "BYTES", "STALLS", "RESENT", "NO POLL",
           "LAST", "LATE");
    for (uint32_t i = 0; i < count; i++) {
        if (count > RANK_ROWS_MAX && i == RANK_ROWS_MAX / 2) {
            i = count - RANK_ROWS_MAX / 2;
            printf("%6s (%" PRIu32 " more)\n", "...", count - RANK_ROWS_MAX);
        }
        print_rank(order[i], &sum->ranks[order[i]]);
    }
    free(order);
    printf(
        "FOR IT: the waits of other ranks that it ended. NO POLL: the longest time without one. "
        "LAST, "
        "LATE:\nhow often it came last to a barrier or collective, and how long the others waited "
        "then, together.\n");
    return true;
}

/* ---- who with whom --------------------------------------------------------------------------- */

static bool print_matrix(const pen_timeline *t, const pen_sum *sum)
{
    uint64_t(*cells)[MATRIX_RANKS_MAX] = calloc(MATRIX_RANKS_MAX, sizeof *cells);
    if (cells == NULL)
        return false;
    for (size_t i = 0; i < sum->pair_count; i++)
        cells[sum->pairs[i].from][sum->pairs[i].to] = sum->pairs[i].messages + sum->pairs[i].moves;
    printf("%6s", "");
    for (uint32_t to = 0; to < t->rank_count; to++)
        printf(" %8" PRIu32, to);
    printf("   (messages, puts and gets; from each row's rank to each column's)\n");
    for (uint32_t from = 0; from < t->rank_count; from++) {
        printf("%6" PRIu32, from);
        for (uint32_t to = 0; to < t->rank_count; to++)
            printf(" %8" PRIu64, cells[from][to]);
        printf("\n");
    }
    free(cells);
    return true;
}

static bool print_peers(const pen_timeline *t, const pen_sum *sum, const trace_view *view)
{
    char len[TRACE_TIME_LEN], mean[TRACE_TIME_LEN], most[TRACE_TIME_LEN];
    heading("Communication");
    if (t->rank_count <= MATRIX_RANKS_MAX && !print_matrix(t, sum))
        return false;
    printf("%6s %6s %10s %10s %12s\n", "FROM", "TO", "MESSAGES", "PUT+GET", "BYTES");
    uint32_t shown = 0;
    for (size_t i = 0; i < sum->pair_count && shown < TOP; i++) {
        const pen_sum_pair *pair = &sum->pairs[i];
        if (!trace_shows(view, pair->from) && !trace_shows(view, pair->to))
            continue;
        printf("%6" PRIu32 " %6" PRIu32 " %10" PRIu64 " %10" PRIu64 " %12s\n", pair->from, pair->to,
               pair->messages, pair->moves, trace_bytes((double)pair->len, len));
        shown++;
    }
    if (sum->pair_count > shown)
        printf("%6s %6s (%zu pairs of ranks in all)\n", "...", "...", sum->pair_count);
    if (sum->travel.count != 0)
        printf("a message took %s on average from its post to its handler, at most %s (%" PRIu64
               " were matched)\n",
               trace_time(sum->travel.total_ns / (double)sum->travel.count, mean),
               trace_time(sum->travel.most_ns, most), sum->travel.count);
    return true;
}

static void print_collectives(const pen_sum *sum)
{
    char mean[TRACE_TIME_LEN], most[TRACE_TIME_LEN];
    if (sum->collectives == 0)
        return;
    heading("Barriers and collectives");
    printf("%" PRIu64
           " of them; from the first rank's entry to the last one's %s on average, at most "
           "%s (rank %" PRIu32 " was last)\n",
           sum->collectives, trace_time(sum->spread_ns / (double)sum->collectives, mean),
           trace_time(sum->spread_most_ns, most), sum->spread_rank);
}

static void print_regions(const pen_sum *sum)
{
    char total[TRACE_TIME_LEN], mean[TRACE_TIME_LEN], most[TRACE_TIME_LEN];
    if (sum->region_count == 0)
        return;
    heading("Regions of the program");
    printf("%12s %10s %10s %10s %7s\n", "COUNT", "TOTAL", "MEAN", "LONGEST", "IN RANK");
    for (size_t i = 0; i < sum->region_count; i++) {
        const pen_sum_region *region = &sum->regions[i];
        printf("%12" PRIu64 " %10s %10s %10s %7" PRIu32 "  %s\n", region->count,
               trace_time(region->total_ns, total),
               trace_time(region->total_ns / (double)region->count, mean),
               trace_time(region->most_ns, most), region->most_rank, region->name);
    }
}

bool trace_print_text(const pen_timeline *timeline, const trace_view *view)
{
    pen_sum sum;
    if (pen_sum_make(timeline, &sum) != PEN_OK)
        return false;
    print_head(timeline, &sum, view);
    print_balance(timeline, &sum);
    print_calls(&sum);
    bool good = print_ranks(timeline, &sum, view) && print_peers(timeline, &sum, view);
    print_collectives(&sum);
    print_regions(&sum);
    pen_sum_close(&sum);
    return good;
}
