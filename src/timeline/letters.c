/* SPDX-License-Identifier: BSD-3-Clause */
/* letters.c: finds the sender's event of each message that was handled, and from these pairs the
 * offsets between the hosts' clocks. */
#include "timeline/timeline.h"

#include "base/status.h"
#include "trace/event.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

enum {
    NEAR = 64,        /* how many numbers a frame may have been overtaken by */
    HOSTS_MAX = 2048, /* hosts whose clocks are compared by messages */
    LANE_SHIFT = 2,   /* position in SENT's detail */
    PROBES_MAX =
        4096, /* places that are looked at; a hostile file may give all frames one number */
};

/* ---- finding --------------------------------------------------------------------------------- */

/* A place of the table: the sent frames, by sender, receiver, lane and number. */
typedef struct place {
    const pen_moment *sent; /* NULL: free */
    uint32_t from;
    bool taken;
} place;

typedef struct table {
    place *places;
    size_t mask;
} table;

static uint32_t lane_of(const pen_moment *moment) { return moment->detail >> LANE_SHIFT & 3u; }

static size_t hash(uint32_t from, uint32_t to, uint32_t lane, uint32_t number)
{
    uint64_t key = ((uint64_t)from << 34) ^ ((uint64_t)to << 18) ^ ((uint64_t)lane << 62) ^ number;
    key *= 0x9e3779b97f4a7c15u;
    return (size_t)(key ^ key >> 29);
}

static bool is_letter(const pen_moment *moment, uint32_t rank, pen_trace_kind kind)
{
    return moment->kind == kind && moment->peer != rank && moment->peer != UINT32_MAX;
}

static void table_put(table *t, uint32_t from, const pen_moment *sent)
{
    size_t at = hash(from, sent->peer, lane_of(sent), sent->number) & t->mask;
    for (int i = 0; i < PROBES_MAX; i++, at = (at + 1) & t->mask) {
        if (t->places[at].sent == NULL) {
            t->places[at] = (place){ .sent = sent, .from = from };
            return;
        }
    }
}

static pen_status table_fill(table *t, const pen_timeline *timeline)
{
    size_t count = 0, len = 64;
    for (uint32_t rank = 0; rank < timeline->rank_count; rank++)
        for (size_t i = 0; i < timeline->ranks[rank].count; i++)
            count += is_letter(&timeline->ranks[rank].moments[i], rank, PEN_TRACE_SENT);
    while (len < count + count / 2)
        len *= 2;
    t->mask = len - 1;
    t->places = calloc(len, sizeof *t->places);
    if (t->places == NULL)
        return PEN_ERR_MEMORY;
    for (uint32_t rank = 0; rank < timeline->rank_count; rank++) {
        for (size_t i = 0; i < timeline->ranks[rank].count; i++) {
            const pen_moment *sent = &timeline->ranks[rank].moments[i];
            if (!is_letter(sent, rank, PEN_TRACE_SENT))
                continue;
            table_put(t, rank, sent);
        }
    }
    return PEN_OK;
}

/* The frame that `to` handled, if it had this number. */
static place *table_find(const table *t, uint32_t to, const pen_moment *handled, uint32_t number)
{
    const uint32_t lane = lane_of(handled);
    size_t at = hash(handled->peer, to, lane, number) & t->mask;
    for (int i = 0; i < PROBES_MAX && t->places[at].sent != NULL; i++, at = (at + 1) & t->mask) {
        place *found = &t->places[at];
        const pen_moment *sent = found->sent;
        if (!found->taken && found->from == handled->peer && sent->peer == to &&
            sent->number == number && sent->detail == handled->detail &&
            sent->what == handled->what && sent->value == handled->value)
            return found;
    }
    return NULL;
}

static place *find(const table *t, uint32_t to, const pen_moment *handled)
{
    place *found = table_find(t, to, handled, handled->number);
    for (uint32_t by = 1; found == NULL && by <= NEAR; by++) {
        found = table_find(t, to, handled, handled->number + by);
        if (found == NULL)
            found = table_find(t, to, handled, handled->number - by);
    }
    return found;
}

pen_status pen_timeline_letters(const pen_timeline *timeline,
                                void (*found)(void *ctx, const pen_letter *letter), void *ctx)
{
    table t;
    pen_status status = table_fill(&t, timeline);
    if (status != PEN_OK)
        return status;
    for (uint32_t rank = 0; rank < timeline->rank_count; rank++) {
        for (size_t i = 0; i < timeline->ranks[rank].count; i++) {
            const pen_moment *handled = &timeline->ranks[rank].moments[i];
            place *from =
                is_letter(handled, rank, PEN_TRACE_HANDLED) ? find(&t, rank, handled) : NULL;
            if (from == NULL)
                continue;
            from->taken = true;
            const pen_letter letter = { from->from, rank, from->sent, handled };
            found(ctx, &letter);
        }
    }
    free(t.places);
    return PEN_OK;
}

/* ---- clocks ---------------------------------------------------------------------------------- */

/* The shortest time from a frame's start by its sender's clock to its arrival by its receiver's, by
 * sender's and receiver's host. */
typedef struct distances {
    const pen_timeline *timeline;
    double *least_ns; /* host_count * host_count; INFINITY: no message */
} distances;

static void note_distance(void *ctx, const pen_letter *letter)
{
    distances *d = ctx;
    const pen_timeline *t = d->timeline;
    uint32_t from = t->ranks[letter->from].host, to = t->ranks[letter->to].host;
    double took_ns = (double)(letter->handled->at_ns - letter->sent->at_ns);
    double *least = &d->least_ns[(size_t)from * t->host_count + to];
    if (from != to && took_ns < *least)
        *least = took_ns;
}

/* Hosts whose offset is known give theirs to hosts that they have exchanged messages with. */
static void spread_offsets(pen_timeline *t, const distances *d, bool *known)
{
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t a = 0; a < t->host_count; a++) {
            for (uint32_t b = 0; known[a] && b < t->host_count; b++) {
                double there = d->least_ns[(size_t)a * t->host_count + b];
                double back = d->least_ns[(size_t)b * t->host_count + a];
                if (known[b] || there + back > 1e18)
                    continue;
                t->hosts[b].offset_ns = t->hosts[a].offset_ns + (there - back) / 2;
                t->hosts[b].offset_error_ns = t->hosts[a].offset_error_ns + (there + back) / 2;
                known[b] = changed = true;
            }
        }
    }
}

static pen_status compare_clocks(pen_timeline *t, bool *known)
{
    const size_t pairs = (size_t)t->host_count * t->host_count;
    distances d = { .timeline = t, .least_ns = calloc(pairs, sizeof *d.least_ns) };
    if (d.least_ns == NULL)
        return PEN_ERR_MEMORY;
    for (size_t i = 0; i < pairs; i++)
        d.least_ns[i] = 1e18;
    pen_status status = pen_timeline_letters(t, note_distance, &d);
    if (status == PEN_OK)
        spread_offsets(t, &d, known);
    free(d.least_ns);
    return status;
}

/* By the clocks of the day, which people set. */
static double wall_offset_ns(const pen_timeline_host *host, const pen_timeline_host *first)
{
    const double most_ns = 1e17; /* as in timeline.c */
    double offset_ns = -(double)(int64_t)(host->wall_ns - first->wall_ns);
    return offset_ns > -most_ns && offset_ns < most_ns ? offset_ns : 0;
}

pen_status pen_timeline_align(pen_timeline *t)
{
    if (t->host_count == 1)
        return PEN_OK;
    bool *known = calloc(t->host_count, sizeof *known);
    if (known == NULL)
        return PEN_ERR_MEMORY;
    known[0] = true;
    pen_status status = t->host_count <= HOSTS_MAX ? compare_clocks(t, known) : PEN_OK;
    for (uint32_t host = 0; host < t->host_count; host++) {
        if (known[host])
            continue;
        t->hosts[host].offset_ns = wall_offset_ns(&t->hosts[host], &t->hosts[0]);
        t->hosts[host].offset_error_ns = -1;
    }
    for (uint32_t rank = 0; rank < t->rank_count; rank++) {
        double offset_ns = t->hosts[t->ranks[rank].host].offset_ns;
        for (size_t i = 0; i < t->ranks[rank].count; i++)
            t->ranks[rank].moments[i].at_ns -= (int64_t)offset_ns;
    }
    free(known);
    return status;
}
