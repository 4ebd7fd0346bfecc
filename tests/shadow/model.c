/* SPDX-License-Identifier: BSD-3-Clause */
/* model.c: a thread's knowledge of memory: its stripes, its buffers, the pool of random bytes; and
 * comparisons. */
#include "shadow.h"

#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BURST_LEN = 8192, SCRIBBLE_LEN_MAX = 64 << 10, SHOWN = 12, GUARD_BYTE = 0xC3 };

/* ---- mismatches ------------------------------------------------------------------------------ */

static void hex(char *text, const unsigned char *bytes, size_t len)
{
    for (size_t i = 0; i < len && i < SHOWN; i++)
        snprintf(text + 3 * i, 4, " %02x", bytes[i]);
}

static size_t first_difference(const unsigned char *a, const unsigned char *b, size_t len)
{
    size_t at = 0;
    while (at < len && a[at] == b[at])
        at++;
    return at;
}

void compare(const worker *w, uint64_t op, const char *what, const void *found,
             const void *expected, size_t len)
{
    if (memcmp(found, expected, len) == 0)
        return;
    const unsigned char *is = found, *should = expected;
    size_t at = first_difference(is, should, len), wrong = 0;
    for (size_t i = 0; i < len; i++)
        wrong += is[i] != should[i];
    char found_text[3 * SHOWN + 1] = "", expected_text[3 * SHOWN + 1] = "";
    hex(found_text, is + at, len - at);
    hex(expected_text, should + at, len - at);
    mismatch(w, op, "%s: %zu of %zu bytes differ, from byte %zu: expected%s, found%s", what, wrong,
             len, at, expected_text, found_text);
}

uint64_t hash_bytes(const unsigned char *bytes, size_t len)
{
    enum { LANES = 4, WORD = 8 };
    uint64_t lanes[LANES] = { 1, 2, 3, 4 }, word;
    size_t at = 0;
    for (; at + LANES * WORD <= len; at += LANES * WORD)
        for (unsigned i = 0; i < LANES; i++) {
            memcpy(&word, bytes + at + i * WORD, WORD);
            lanes[i] = (lanes[i] ^ word) * 0x9fb21c651e98df25u;
            lanes[i] ^= lanes[i] >> 29;
        }
    for (; at < len; at++)
        lanes[at % LANES] = (lanes[at % LANES] ^ bytes[at]) * 0x9fb21c651e98df25u;
    return random_mix2(random_mix2(lanes[0], lanes[1]), random_mix2(lanes[2], lanes[3] ^ len));
}

/* ---- operations ------------------------------------------------------------------------------ */

void op_begin(worker *w, gex_Rank_t target, size_t len)
{
    unsigned octave = 0;
    while (octave < OCTAVES && (size_t)2 << octave <= len)
        octave++;
    w->op++;
    w->counts[w->kind]++;
    w->lens[octave]++;
    w->unchecked++;
    w->remote += target != shadow.rank;
    /* relaxed: the watch only looks for a change */
    atomic_store_explicit(&w->sign, w->op, memory_order_relaxed);
}

void poll_once(unsigned *polls)
{
    enum { POLLS_BEFORE_YIELD = 32 };
    gasnet_AMPoll();
    if (++*polls % POLLS_BEFORE_YIELD == 0)
        sched_yield();
}

gex_Rank_t draw_target(worker *w)
{
    if (shadow.size == 1 || random_chance(&w->random, 8))
        return shadow.rank;
    return (shadow.rank + 1 + random_below(&w->random, shadow.size - 1)) % shadow.size;
}

gex_TM_t draw_team(worker *w, gex_Rank_t target, gex_Rank_t *rank)
{
    if (w->elsewhere != ELSEWHERE_NOT)
        return endpoint_team(w, target, rank);
    const team_entry *entry = &shadow.teams[random_below(&w->random, shadow.team_count)];
    if (entry->ranks[target] == GEX_RANK_INVALID)
        entry = &shadow.teams[0]; /* operations of all ranks */
    *rank = entry->ranks[target];
    return entry->team;
}

burst burst_of(worker *w, unsigned most, unsigned factor, unsigned octave)
{
    burst b = { .target = draw_target(w), .octave = octave };
    b.count = (unsigned)(BURST_LEN >> octave) + 1;
    if (b.count > shadow.options.burst)
        b.count = shadow.options.burst;
    if (b.count > most)
        b.count = most;
    const size_t longest = ((size_t)2 << octave) + 2 * GUARD_LEN + 16;
    if (w->pending_count + b.count + 1 > PENDING_MAX ||
        w->desk_used + b.count * factor * longest > DESK_LEN)
        pending_finish_all(w);
    return b;
}

burst burst_begin(worker *w, unsigned most, unsigned factor)
{
    return burst_of(w, most, factor, random_below(&w->random, OCTAVES));
}

/* ---- buffers --------------------------------------------------------------------------------- */

static unsigned char *desk_guarded(worker *w, unsigned char *buffer, size_t len)
{
    w->desk_used = (size_t)(buffer - w->desk) + len + GUARD_LEN;
    if (w->desk_used > DESK_LEN)
        mismatch(w, w->op, "the checker itself: no room for a buffer of %zu bytes", len);
    memset(buffer - GUARD_LEN, GUARD_BYTE, GUARD_LEN);
    memset(buffer + len, GUARD_BYTE, GUARD_LEN);
    return buffer;
}

unsigned char *desk_take(worker *w, size_t len)
{
    size_t at = w->desk_used + GUARD_LEN + random_below(&w->random, 16);
    return desk_guarded(w, w->desk + at, len);
}

unsigned char *desk_take_aligned(worker *w, size_t len)
{
    enum { ALIGN = 16 };
    size_t at = w->desk_used + GUARD_LEN;
    return desk_guarded(w, w->desk + (at + ALIGN - 1) / ALIGN * ALIGN, len);
}

void desk_check(const worker *w, uint64_t op, const unsigned char *buffer, size_t len)
{
    unsigned char guard[GUARD_LEN];
    memset(guard, GUARD_BYTE, sizeof guard);
    compare(w, op, "memory in front of the buffer", buffer - GUARD_LEN, guard, sizeof guard);
    compare(w, op, "memory behind the buffer", buffer + len, guard, sizeof guard);
}

const unsigned char *pool_draw(worker *w, size_t len)
{
    return shadow.pool + random_below(&w->random, (uint32_t)(POOL_LEN - len));
}

const unsigned char *source_draw(worker *w, size_t len, unsigned char **scribble)
{
    const unsigned char *from = pool_draw(w, len);
    *scribble = NULL;
    if (!random_chance(&w->random, len <= SCRIBBLE_LEN_MAX ? 2 : 8))
        return from;
    *scribble = desk_take(w, len);
    return memcpy(*scribble, from, len);
}

/* ---- stripes --------------------------------------------------------------------------------- */

static const char *const places[PLACES] = { "stripe", "stripe of the second endpoint" };

static gex_TM_t reader_of(const stripe *s)
{
    return s->place == 0 ? shadow.world : endpoint_reader();
}

stripe *stripe_for(worker *w, gex_Rank_t target)
{
    return &w->stripes[w->elsewhere == ELSEWHERE_THERE][target];
}

static void tell_difference(const worker *w, const stripe *s, const unsigned char *found,
                            size_t len)
{
    size_t at = first_difference(found, s->model, len);
    const put_record *record = NULL;
    for (unsigned i = 0; i < s->log_count; i++)
        if (s->log[i].at <= at && at < (size_t)s->log[i].at + s->log[i].len)
            record = &s->log[i];
    char what[160];
    if (record != NULL)
        snprintf(what, sizeof what,
                 "%s on rank %u, byte %zu, which is byte %zu of %u put by operation %" PRIu64,
                 places[s->place], s->target, at, at - record->at, record->len, record->op);
    else
        snprintf(what, sizeof what, "%s on rank %u, byte %zu, which nobody put", places[s->place],
                 s->target, at);
    compare(w, record != NULL ? record->op : w->op, what, found + at, s->model + at, len - at);
}

/* Checks that the stripe, up to a little behind the last put, equals the model; no operation is in
 * flight. */
void stripe_read_back(worker *w, stripe *s)
{
    size_t len = s->top + GAP_MAX < STRIPE_LEN ? s->top + GAP_MAX : STRIPE_LEN;
    unsigned char *found = desk_take(w, len);
    (void)gex_RMA_GetBlocking(reader_of(s), found, s->target, s->there, len, 0);
    if (memcmp(found, s->model, len) != 0)
        tell_difference(w, s, found, len);
    op_checked(w, s->unchecked);
    s->unchecked = 0;
    w->desk_used = 0;
}

void stripe_read_last(worker *w)
{
    enum { READ_MAX = 512 };
    const stripe *s = w->last_written;
    unsigned char found[READ_MAX];
    size_t len = w->last_len < READ_MAX ? w->last_len : READ_MAX;
    size_t at = w->last_at + w->last_len - len;
    w->last_written = NULL;
    if (s == NULL)
        return;
    (void)gex_RMA_GetBlocking(reader_of(s), found, s->target, s->there + at, len, 0);
    compare(w, w->op, "the end of what a finished put wrote", found, s->model + at, len);
}

static void stripe_begin_again(worker *w, stripe *s)
{
    pending_finish_all(w);
    vis_told_wait(w);
    stripe_read_back(w, s);
    s->top = s->settled = 0;
    s->log_count = 0;
}

size_t stripe_take(worker *w, stripe *s, size_t len)
{
    size_t at = s->top + random_below(&w->random, GAP_MAX);
    if (at + len > STRIPE_LEN || s->log_count == LOG_MAX)
        mismatch(w, w->op, "the checker itself: no room for %zu bytes in a stripe", len);
    s->top = at + len;
    if (s->top > s->high)
        s->high = s->top;
    s->log[s->log_count++] = (put_record){ (uint32_t)at, (uint32_t)len, w->op };
    s->unchecked++;
    s->busy++;
    return at;
}

void stripe_reserve(worker *w, gex_Rank_t target, size_t len, unsigned count)
{
    stripe *s = stripe_for(w, target);
    if (s->top + len + (size_t)count * GAP_MAX > STRIPE_LEN || s->log_count + count > LOG_MAX)
        stripe_begin_again(w, s);
}

void stripe_settled(stripe *s)
{
    if (--s->busy == 0)
        s->settled = s->top;
}

unsigned char *readable(worker *w, gex_Rank_t target, size_t len, const unsigned char **expected)
{
    const stripe *s = stripe_for(w, target);
    if (len <= s->settled && random_chance(&w->random, 2)) {
        size_t at = random_below(&w->random, (uint32_t)(s->settled - len + 1));
        *expected = s->model + at;
        return s->there + at;
    }
    size_t at = random_below(&w->random, (uint32_t)(LIBRARY_LEN - len + 1));
    *expected = library_bytes(s->place, target) + at;
    return library_of(s->place, target) + at;
}

/* ---- open and close -------------------------------------------------------------------------- */

static void *allocate(size_t count, size_t len)
{
    void *memory = calloc(count, len);
    if (memory == NULL) {
        fprintf(stderr, "shadow: rank %u: no memory\n", shadow.rank);
        gasnet_exit(2);
    }
    return memory;
}

static void stripe_open(worker *w, unsigned place, gex_Rank_t target)
{
    stripe *s = &w->stripes[place][target];
    s->target = target;
    s->place = place;
    s->model = allocate(1, STRIPE_LEN);
    s->log = allocate(LOG_MAX, sizeof *s->log);
    s->there = stripe_of(place, target, shadow.rank, w->index);
}

void model_open(worker *w)
{
    w->desk = allocate(1, DESK_LEN);
    w->random.at = random_mix2(random_mix2(shadow.options.seed, shadow.rank), w->index);
    for (unsigned place = 0; place < PLACES; place++)
        for (gex_Rank_t target = 0; target < shadow.size; target++)
            stripe_open(w, place, target);
}

void model_close(worker *w)
{
    free(w->desk);
    for (unsigned place = 0; place < PLACES; place++)
        for (gex_Rank_t target = 0; target < shadow.size; target++) {
            free(w->stripes[place][target].model);
            free(w->stripes[place][target].log);
        }
}
