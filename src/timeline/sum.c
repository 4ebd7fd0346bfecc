/* SPDX-License-Identifier: BSD-3-Clause */
/* sum.c: sums over the events of a trace. */
#include "timeline/sum.h"

#include "base/status.h"
#include "boot/wait_state.h"
#include "timeline/timeline.h"
#include "trace/event.h"

#include <stdlib.h>
#include <string.h>

enum { REGIONS_MAX = 256, DEPTH_MAX = 64 };

const char *pen_sum_cause_text(uint32_t awaited)
{
    static const char *const texts[PEN_SUM_CAUSES] = {
        [PEN_AWAITED_UNKNOWN] = "a condition of the program, or an operation that soon ended",
        [PEN_AWAITED_PUT] = "a put",
        [PEN_AWAITED_GET] = "a get",
        [PEN_AWAITED_ATOMIC] = "a remote atomic",
        [PEN_AWAITED_LONG] = "the payload of a message",
        [PEN_AWAITED_ROOM] = "room for a message",
        [PEN_AWAITED_NAMED] = "a gasnet_barrier",
        [PEN_AWAITED_BARRIER] = "a gex_Coll_BarrierNB",
        [PEN_AWAITED_COLLECTIVE] = "a collective",
        [PEN_AWAITED_RANKS] = "ranks that had not come",
    };
    return awaited < PEN_SUM_CAUSES && texts[awaited] != NULL ? texts[awaited] : "unknown";
}

static void add(pen_sum_span *to, double ns)
{
    to->count++;
    to->total_ns += ns;
    to->most_ns = ns > to->most_ns ? ns : to->most_ns;
}

/* ---- pairs ----------------------------------------------------------------------------------- */

/* The peers of one rank, before they become pairs. */
typedef struct peers {
    pen_sum_pair *by_peer; /* rank_count of them */
    size_t room;
} peers;

static void note_pair(peers *p, const pen_moment *moment, bool is_message)
{
    if (moment->peer == UINT32_MAX)
        return;
    pen_sum_pair *pair = &p->by_peer[moment->peer];
    if (is_message)
        pair->messages++;
    else
        pair->moves++;
    pair->len += moment->value;
}

static pen_status keep_pairs(pen_sum *sum, peers *p, uint32_t rank, uint32_t rank_count)
{
    for (uint32_t peer = 0; peer < rank_count; peer++) {
        pen_sum_pair *pair = &p->by_peer[peer];
        if (pair->messages + pair->moves == 0)
            continue;
        if (sum->pair_count == p->room) {
            p->room = p->room == 0 ? 1024 : 2 * p->room;
            pen_sum_pair *more = realloc(sum->pairs, p->room * sizeof *more);
            if (more == NULL)
                return PEN_ERR_MEMORY;
            sum->pairs = more;
        }
        pair->from = rank;
        pair->to = peer;
        sum->pairs[sum->pair_count++] = *pair;
        *pair = (pen_sum_pair){ .from = 0 };
    }
    return PEN_OK;
}

static int by_len(const void *a, const void *b)
{
    const pen_sum_pair *one = a, *other = b;
    if (one->len != other->len)
        return one->len < other->len ? 1 : -1;
    uint64_t ones = one->messages + one->moves, others = other->messages + other->moves;
    return ones != others ? (ones < others ? 1 : -1)
                          : (one->from > other->from) - (one->from < other->from);
}

/* ---- regions --------------------------------------------------------------------------------- */

static void note_region(pen_sum *sum, const char *name, uint32_t rank, double ns)
{
    size_t i = 0;
    while (i < sum->region_count && strcmp(sum->regions[i].name, name) != 0)
        i++;
    if (i == REGIONS_MAX)
        return;
    pen_sum_region *region = &sum->regions[i];
    if (i == sum->region_count) {
        *region = (pen_sum_region){ .count = 0 };
        memcpy(region->name, name, strlen(name) + 1);
        sum->region_count++;
    }
    region->count++;
    region->total_ns += ns;
    if (ns >= region->most_ns) {
        region->most_ns = ns;
        region->most_rank = rank;
    }
}

/* The regions that are open at a moment, the innermost last. */
typedef struct open_regions {
    const pen_moment *moments[DEPTH_MAX];
    uint32_t depth;
} open_regions;

static void end_region(pen_sum *sum, const pen_timeline *t, uint32_t rank, open_regions *open,
                       const pen_moment *end)
{
    while (open->depth > 0) {
        const pen_moment *begin = open->moments[--open->depth];
        if (begin->what != end->what)
            continue;
        note_region(sum, pen_timeline_name(t, rank, end->what), rank,
                    (double)(end->at_ns - begin->at_ns));
        return;
    }
}

static void note_moved(pen_sum *sum, pen_sum_rank *r, peers *p, const pen_moment *moment)
{
    double ns = (double)moment->span_ns;
    r->moved++;
    r->moved_len += moment->value;
    r->call_ns += ns;
    add(&sum->calls[moment->kind], ns);
    note_pair(p, moment, false);
}

/* ---- who is waited for ----------------------------------------------------------------------- */

/* The frames that one rank handled, in order. */
typedef struct arrival {
    int64_t at_ns;
    uint32_t from;
} arrival;

static int by_time(const void *a, const void *b)
{
    const arrival *one = a, *other = b;
    return (one->at_ns > other->at_ns) - (one->at_ns < other->at_ns);
}

/* The sender of the last frame that was handled during the wait; UINT32_MAX: there was none. */
static uint32_t last_sender(const arrival *arrivals, size_t count, const pen_moment *wait)
{
    int64_t end_ns = wait->at_ns + (int64_t)wait->span_ns;
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (arrivals[middle].at_ns <= end_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 && arrivals[low - 1].at_ns >= wait->at_ns ? arrivals[low - 1].from : UINT32_MAX;
}

/* Finds out for whom each wait of this rank was. The library knows it of some; of others, such as
 * GASNET_BLOCKUNTIL, the message that came last says it. */
static pen_status sum_awaited(const pen_timeline *t, uint32_t rank, pen_sum *sum)
{
    const pen_timeline_rank *from = &t->ranks[rank];
    arrival *arrivals = calloc(from->count + 1, sizeof *arrivals);
    size_t count = 0;
    if (arrivals == NULL)
        return PEN_ERR_MEMORY;
    for (size_t i = 0; i < from->count; i++) {
        const pen_moment *moment = &from->moments[i];
        if (moment->kind == PEN_TRACE_HANDLED && moment->peer != UINT32_MAX)
            arrivals[count++] = (arrival){ moment->at_ns, moment->peer };
    }
    qsort(arrivals, count, sizeof *arrivals, by_time);
    for (size_t i = 0; i < from->count; i++) {
        const pen_moment *wait = &from->moments[i];
        if (wait->kind != PEN_TRACE_WAIT)
            continue;
        uint32_t peer = wait->peer != UINT32_MAX ? wait->peer : last_sender(arrivals, count, wait);
        if (peer != UINT32_MAX && peer != rank)
            sum->ranks[peer].awaited_ns += (double)wait->span_ns;
    }
    free(arrivals);
    return PEN_OK;
}

/* ---- one rank -------------------------------------------------------------------------------- */

static void note_wait(pen_sum *sum, pen_sum_rank *r, const pen_moment *moment)
{
    double ns = (double)moment->span_ns;
    r->wait_ns += ns;
    add(&sum->waits[moment->what < PEN_SUM_CALLS ? moment->what : 0], ns);
    add(&sum->causes[moment->detail < PEN_SUM_CAUSES ? moment->detail : 0], ns);
}

static void note_moment(pen_sum *sum, pen_sum_rank *r, peers *p, const pen_moment *moment)
{
    double ns = (double)moment->span_ns;
    switch (moment->kind) {
    case PEN_TRACE_SENT:
        r->sent++;
        r->sent_len += moment->value;
        /* One post of PEN_TRACE_TIMED is measured and stands for all. */
        r->call_ns += ns * PEN_TRACE_TIMED;
        sum->calls[PEN_TRACE_SENT].count++;
        sum->calls[PEN_TRACE_SENT].total_ns += ns * PEN_TRACE_TIMED;
        note_pair(p, moment, true);
        break;
    case PEN_TRACE_HANDLED:
        r->handled++;
        r->handler_ns += ns;
        add(&sum->calls[PEN_TRACE_HANDLED], ns);
        break;
    case PEN_TRACE_WAIT:
        note_wait(sum, r, moment);
        break;
    case PEN_TRACE_PUT:
    case PEN_TRACE_GET:
    case PEN_TRACE_SET:
        note_moved(sum, r, p, moment);
        break;
    case PEN_TRACE_CALL:
        r->call_ns += ns;
        add(&sum->calls[PEN_TRACE_CALL], ns);
        break;
    case PEN_TRACE_STALL:
        r->stalls++;
        r->stall_ns += ns;
        add(&sum->calls[PEN_TRACE_STALL], ns);
        break;
    case PEN_TRACE_RESENT:
        r->resent += moment->value;
        break;
    case PEN_TRACE_GAP:
        r->gap_ns += ns;
        r->gap_most_ns = ns > r->gap_most_ns ? ns : r->gap_most_ns;
        break;
    default: /* counted elsewhere */
        break;
    }
}

/* Handlers that run in a wait are counted as handlers. A rank runs its handlers in waits and polls;
 * as much of them as fits is taken off the waits. */
static void separate(pen_sum_rank *r)
{
    double inside = r->handler_ns < r->wait_ns ? r->handler_ns : r->wait_ns;
    r->wait_ns -= inside;
}

static pen_status sum_rank(const pen_timeline *t, uint32_t rank, pen_sum *sum, peers *p)
{
    const pen_timeline_rank *from = &t->ranks[rank];
    pen_sum_rank *r = &sum->ranks[rank];
    open_regions open = { .depth = 0 };
    int64_t first = INT64_MAX, last = INT64_MIN;
    for (size_t i = 0; i < from->count; i++) {
        const pen_moment *moment = &from->moments[i];
        int64_t end = moment->at_ns + (int64_t)moment->span_ns;
        first = moment->at_ns < first ? moment->at_ns : first;
        last = end > last ? end : last;
        if (moment->kind == PEN_TRACE_BEGIN && open.depth < DEPTH_MAX)
            open.moments[open.depth++] = moment;
        else if (moment->kind == PEN_TRACE_END)
            end_region(sum, t, rank, &open, moment);
        else
            note_moment(sum, r, p, moment);
    }
    r->all_ns = from->count != 0 ? (double)(last - first) : 0;
    separate(r);
    sum->dropped += from->dropped;
    return keep_pairs(sum, p, rank, t->rank_count);
}

/* ---- collectives ----------------------------------------------------------------------------- */

/* One member's entry into a barrier or collective. */
typedef struct entry {
    uint64_t team;
    uint32_t number, rank;
    int64_t at_ns;
    uint8_t meet;
} entry;

static int by_collective(const void *a, const void *b)
{
    const entry *one = a, *other = b;
    if (one->meet != other->meet)
        return one->meet < other->meet ? -1 : 1;
    if (one->team != other->team)
        return one->team < other->team ? -1 : 1;
    if (one->number != other->number)
        return one->number < other->number ? -1 : 1;
    return (one->at_ns > other->at_ns) - (one->at_ns < other->at_ns);
}

/* entries: of one collective, by time */
static void note_collective(pen_sum *sum, const entry *entries, size_t count)
{
    if (count < 2)
        return;
    const entry *last = &entries[count - 1];
    double spread = (double)(last->at_ns - entries[0].at_ns);
    sum->collectives++;
    sum->spread_ns += spread;
    if (spread >= sum->spread_most_ns) {
        sum->spread_most_ns = spread;
        sum->spread_rank = last->rank;
    }
    sum->ranks[last->rank].last++;
    double others = 0;
    for (size_t i = 0; i + 1 < count; i++)
        others += (double)(last->at_ns - entries[i].at_ns);
    sum->ranks[last->rank].late_ns += others / (double)(count - 1);
}

static pen_status sum_collectives(const pen_timeline *t, pen_sum *sum)
{
    size_t count = 0, at = 0;
    for (uint32_t rank = 0; rank < t->rank_count; rank++)
        for (size_t i = 0; i < t->ranks[rank].count; i++)
            count += t->ranks[rank].moments[i].kind == PEN_TRACE_ENTER;
    entry *entries = calloc(count + 1, sizeof *entries);
    if (entries == NULL)
        return PEN_ERR_MEMORY;
    for (uint32_t rank = 0; rank < t->rank_count; rank++) {
        for (size_t i = 0; i < t->ranks[rank].count; i++) {
            const pen_moment *m = &t->ranks[rank].moments[i];
            if (m->kind == PEN_TRACE_ENTER)
                entries[at++] = (entry){ m->value, m->number, rank, m->at_ns, m->detail };
        }
    }
    qsort(entries, count, sizeof *entries, by_collective);
    for (size_t begin = 0, end; begin < count; begin = end) {
        for (end = begin + 1; end < count && entries[end].meet == entries[begin].meet &&
                              entries[end].team == entries[begin].team &&
                              entries[end].number == entries[begin].number;
             end++) {
        }
        note_collective(sum, &entries[begin], end - begin);
    }
    free(entries);
    return PEN_OK;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void note_travel(void *ctx, const pen_letter *letter)
{
    pen_sum *sum = ctx;
    int64_t took_ns = letter->handled->at_ns - letter->sent->at_ns;
    if (took_ns > 0) /* clocks of two hosts are not exact */
        add(&sum->travel, (double)took_ns);
}

pen_status pen_sum_make(const pen_timeline *timeline, pen_sum *out)
{
    *out = (pen_sum){ .collectives = 0 };
    peers p = { .by_peer = calloc(timeline->rank_count, sizeof *p.by_peer) };
    out->ranks = calloc(timeline->rank_count, sizeof *out->ranks);
    out->regions = calloc(REGIONS_MAX, sizeof *out->regions);
    bool has_memory = p.by_peer != NULL && out->ranks != NULL && out->regions != NULL;
    pen_status status = has_memory ? PEN_OK : PEN_ERR_MEMORY;
    for (uint32_t rank = 0; status == PEN_OK && rank < timeline->rank_count; rank++)
        status = sum_rank(timeline, rank, out, &p);
    for (uint32_t rank = 0; status == PEN_OK && rank < timeline->rank_count; rank++)
        status = sum_awaited(timeline, rank, out);
    if (status == PEN_OK)
        status = sum_collectives(timeline, out);
    if (status == PEN_OK)
        status = pen_timeline_letters(timeline, note_travel, out);
    if (out->pair_count != 0)
        qsort(out->pairs, out->pair_count, sizeof *out->pairs, by_len);
    free(p.by_peer);
    if (status != PEN_OK)
        pen_sum_close(out);
    return status;
}

void pen_sum_close(pen_sum *sum)
{
    free(sum->ranks);
    free(sum->pairs);
    free(sum->regions);
    *sum = (pen_sum){ .collectives = 0 };
}
