/* SPDX-License-Identifier: BSD-3-Clause */
/* crowd.h: teams made by hand over fake ranks, and lists of collectives that their members begin in
 * interleavings drawn from a seed, with every byte of every result compared. */
#ifndef PEN_TEST_CROWD_H
#define PEN_TEST_CROWD_H

#include "coll/barrier.h"
#include "coll/coll.h"
#include "coll/early.h"
#include "coll/shared.h"
#include "rma/rma.h"
#include "support/ranks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { CROWD_MAX = 16 };
#define CROWD_TEAM_ID 0x500000007u

typedef struct crowd {
    ranks world;
    uint32_t size;                /* members of the team */
    uint32_t jobranks[CROWD_MAX]; /* job rank of each member */
    pen_team teams[CROWD_MAX];    /* by team rank */
    bool is_open[CROWD_MAX];
    bool shared;   /* its members share scratch ... */
    bool apart;    /* ... and read each other's buffers by CMA, as other processes would */
    bool no_cma;   /* ... or not at all */
    bool one_core; /* that all share; else each has its own */
    pen_coll_offer offers[CROWD_MAX];
} crowd;

/* The ways a collective's data can go. */
typedef enum crowd_way {
    CROWD_MESSAGES,
    CROWD_MEMORY,
    CROWD_MEMORY_CMA,
    CROWD_MEMORY_NO_CMA,
    CROWD_MEMORY_ONE_CORE,
    CROWD_WAYS
} crowd_way;

static inline void crowd_set_way(crowd *all, ranks_params *params, crowd_way way)
{
    params->shares = params->same_host = all->shared = way != CROWD_MESSAGES;
    all->apart = way == CROWD_MEMORY_CMA;
    all->no_cma = way == CROWD_MEMORY_NO_CMA;
    all->one_core = way == CROWD_MEMORY_ONE_CORE;
}

static inline void crowd_open_world(crowd *all, const ranks_params *params)
{
    ranks_open(&all->world, params);
    all->world.jobs[0].boot.page->cores = all->one_core ? 1 : params->size;
    for (uint32_t rank = 0; rank < params->size; rank++) {
        assert_int_equal(pen_rma_open(&all->world.jobs[rank]), PEN_OK);
        assert_int_equal(pen_coll_open(&all->world.jobs[rank]), PEN_OK);
        if (all->no_cma)
            all->world.jobs[rank].coll->cma_allowed = false;
    }
}

/* The team's member makes its part of it. */
static inline void crowd_open_member(crowd *all, uint32_t rank)
{
    pen_job *job = &all->world.jobs[all->jobranks[rank]];
    all->teams[rank] = (pen_team){ .view = { .rank = rank, .size = all->size },
                                   .job = job,
                                   .jobranks = all->jobranks,
                                   .id = CROWD_TEAM_ID };
    assert_int_equal(pen_coll_team_open(&all->teams[rank]), PEN_OK);
    if (all->shared) {
        assert_int_equal(pen_coll_team_share(&all->teams[rank], all->offers), PEN_OK);
        struct pen_shared *shared = all->teams[rank].coll->shared;
        assert_int_equal(shared != NULL, all->size > 1);
        if (shared != NULL && all->apart)
            shared->pid = 0;
    }
    all->is_open[rank] = true;
}

/* A team of `size` of the world's ranks, in an order of its own; no member has made it yet. */
static inline void crowd_draw_team(crowd *all, uint32_t size)
{
    uint32_t pool[CROWD_MAX] = { 0 }, left = all->world.params.size;
    for (uint32_t i = 0; i < left; i++)
        pool[i] = i;
    for (uint32_t i = 0; i < size; i++) {
        uint32_t drawn = ranks_random(&all->world, left);
        all->jobranks[i] = pool[drawn];
        pool[drawn] = pool[--left];
        if (all->shared)
            pen_coll_offer_make(&all->world.jobs[all->jobranks[i]], &all->offers[i]);
    }
    all->size = size;
}

static inline void crowd_close(crowd *all)
{
    for (uint32_t rank = 0; rank < all->size; rank++) {
        if (!all->is_open[rank])
            continue;
        assert_int_equal(all->teams[rank].coll->open_count, 0);
        assert_int_equal(all->teams[rank].coll->kept_count, 0);
        pen_coll_team_quiesced(&all->teams[rank]);
        pen_coll_team_close(&all->teams[rank]);
    }
    for (uint32_t rank = 0; rank < all->world.params.size; rank++) {
        pen_job *job = &all->world.jobs[rank];
        assert_int_equal(job->counters.frame_dropped, 0);
        assert_int_equal(atomic_load(&job->progress.source_work), 0);
        assert_int_equal(atomic_load(&job->progress.room_waits), 0);
        assert_int_equal(pen_coll_orphans_count(job->coll), 0);
        assert_null(job->coll->busy);
        pen_coll_close(job);
        pen_rma_close(job);
    }
    ranks_close(&all->world);
}

/* ---- lists of collectives -------------------------------------------------------------------- */

typedef struct crowd_call {
    pen_coll_kind kind;
    uint32_t root;
    size_t len; /* length of a part; in a reduction: of all */
    bool in_place, exclusive;
    pen_reduction reduction;
} crowd_call;

typedef struct crowd_run { /* one member at one call */
    pen_event *event;
    bool begun, done;
    char *source, *dest;
    size_t dest_len;
} crowd_run;

static inline bool crowd_reduces(const crowd_call *call)
{
    return call->kind == PEN_COLL_REDUCE || call->kind == PEN_COLL_SCAN;
}

static inline size_t crowd_source_len(const crowd *all, const crowd_call *call)
{
    return call->kind == PEN_COLL_SCATTER || call->kind == PEN_COLL_EXCHANGE ? call->len * all->size
                                                                             : call->len;
}

static inline size_t crowd_dest_len(const crowd *all, const crowd_call *call)
{
    return call->kind == PEN_COLL_GATHER || call->kind == PEN_COLL_EXCHANGE ? call->len * all->size
                                                                            : call->len;
}

/* Small odd numbers, of which products and sums are exact in every type. */
static inline void crowd_put_number(char *to, uint32_t type, int value)
{
    int32_t i32 = value;
    int64_t i64 = value;
    float flt = (float)value;
    double dbl = value;
    if (type == 1 || type == 2)
        memcpy(to, &i32, sizeof i32);
    else if (type == 4 || type == 8)
        memcpy(to, &i64, sizeof i64);
    else if (type == 16)
        memcpy(to, &flt, sizeof flt);
    else
        memcpy(to, &dbl, sizeof dbl);
}

/* Bytes [first, first + len) of what a member gives. */
static inline void crowd_fill_bytes(uint32_t call_i, uint32_t rank, size_t first, size_t len,
                                    char *to)
{
    const unsigned base = call_i * 7 + rank * 31;
    for (size_t i = 0; i < len; i++) {
        const unsigned at = (unsigned)(first + i);
        to[i] = (char)(base + at * 13 + (at >> 8) * 5);
    }
}

static inline void crowd_fill(const crowd *all, const crowd_call *call, uint32_t call_i,
                              uint32_t rank, char *to)
{
    if (!crowd_reduces(call) || call->reduction.type == 64) {
        crowd_fill_bytes(call_i, rank, 0, crowd_source_len(all, call), to);
        return;
    }
    for (size_t i = 0; i < call->reduction.count; i++)
        crowd_put_number(to + i * call->reduction.element_len, call->reduction.type,
                         (int)((rank * 5 + i + call_i) % 7) - (call->reduction.type & 10 ? 0 : 3));
}

/* The part of member `from` in the result of member `rank`. It is made where it is expected,
 * because the whole may be megabytes. */
static inline void crowd_expect_moved(const crowd_call *call, uint32_t call_i, uint32_t from,
                                      uint32_t rank, char *to)
{
    size_t len = call->len;
    if (call->kind == PEN_COLL_BROADCAST && from == call->root)
        crowd_fill_bytes(call_i, from, 0, len, to);
    else if (call->kind == PEN_COLL_GATHER)
        crowd_fill_bytes(call_i, from, 0, len, to + from * len);
    else if (call->kind == PEN_COLL_SCATTER && from == call->root)
        crowd_fill_bytes(call_i, from, rank * len, len, to);
    else if (call->kind == PEN_COLL_EXCHANGE)
        crowd_fill_bytes(call_i, from, rank * len, len, to + from * len);
}

/* Combines the parts in turn, from the left. */
static inline void crowd_expect_reduced(const crowd_call *call, uint32_t from, char *theirs,
                                        char *to)
{
    const pen_reduction *reduction = &call->reduction;
    if (from != 0 && reduction->function != NULL)
        pen_reduction_call(reduction, to, theirs, reduction->count);
    else if (from != 0)
        pen_coll_combine_elements(reduction, to, theirs, reduction->count);
    memcpy(to, theirs, call->len);
}

/* The result of member `rank`; false: it gets no data. */
static inline bool crowd_expected(const crowd *all, const crowd_call *call, uint32_t call_i,
                                  uint32_t rank, char *to)
{
    uint32_t end = call->kind == PEN_COLL_SCAN ? rank + !call->exclusive : all->size;
    bool to_one = call->kind == PEN_COLL_GATHER || call->kind == PEN_COLL_REDUCE;
    if (end == 0 || (to_one && call->root != PEN_COLL_ALL && call->root != rank))
        return false;
    char *theirs = crowd_reduces(call) ? malloc(crowd_source_len(all, call) + 1) : NULL;
    for (uint32_t from = 0; from < end; from++) {
        if (theirs == NULL) {
            crowd_expect_moved(call, call_i, from, rank, to);
            continue;
        }
        crowd_fill(all, call, call_i, from, theirs);
        crowd_expect_reduced(call, from, theirs, to);
    }
    free(theirs);
    return true;
}

static inline pen_event *crowd_start(pen_team *team, const crowd_call *call, crowd_run *run)
{
    pen_thread *thread = &team->job->first_thread;
    switch (call->kind) {
    case PEN_COLL_BARRIER:
        return pen_coll_barrier_nb(thread, team);
    case PEN_COLL_GATHER:
        return pen_coll_gather_nb(thread, team, call->root, run->dest, run->source, call->len);
    case PEN_COLL_BROADCAST:
        return pen_coll_broadcast_nb(thread, team, call->root, run->dest, run->source, call->len);
    case PEN_COLL_SCATTER:
        return pen_coll_scatter_nb(thread, team, call->root, run->dest, run->source, call->len);
    case PEN_COLL_EXCHANGE:
        return pen_coll_exchange_nb(thread, team, run->dest, run->source, call->len);
    case PEN_COLL_REDUCE:
        return pen_coll_reduce_nb(thread, team, call->root, run->dest, run->source,
                                  &call->reduction);
    default:
        return pen_coll_scan_nb(thread, team, run->dest, run->source, &call->reduction,
                                call->exclusive);
    }
}

static inline void crowd_begin(crowd *all, const crowd_call *calls, uint32_t call_i, uint32_t rank,
                               crowd_run *run)
{
    const crowd_call *call = &calls[call_i];
    size_t source_len = crowd_source_len(all, call);
    run->dest_len = crowd_dest_len(all, call);
    run->source = malloc(source_len + 1);
    run->dest = call->in_place ? run->source : malloc(run->dest_len + 1);
    memset(run->dest, 0x55, run->dest_len + 1);
    crowd_fill(all, call, call_i, rank, run->source);
    run->begun = true;
    run->event = crowd_start(&all->teams[rank], call, run);
}

static inline void crowd_check(crowd *all, const crowd_call *calls, uint32_t call_i, uint32_t rank,
                               crowd_run *run)
{
    const crowd_call *call = &calls[call_i];
    char *expected = malloc(run->dest_len + 1);
    bool has = crowd_expected(all, call, call_i, rank, expected);
    if (has && memcmp(run->dest, expected, run->dest_len) != 0) {
        size_t at = 0;
        while (run->dest[at] == expected[at])
            at++;
        fail_msg("call %u (kind %d, root %u, len %zu, place %d) on rank %u of %u: byte %zu", call_i,
                 (int)call->kind, call->root, call->len, call->in_place, rank, all->size, at);
    }
    free(expected);
    if (!call->in_place) {
        assert_int_equal(run->dest[run->dest_len], 0x55);
        free(run->dest);
    }
    free(run->source);
    run->done = true;
}

/* Has every member begin every call, in order, and waits for all of them. ahead: how many a member
 * has underway at most. A member makes its part of the team when it first has a call to begin. */
static inline void crowd_walk(crowd *all, const crowd_call *calls, uint32_t count, uint32_t ahead)
{
    crowd_run *runs = calloc((size_t)count * all->size, sizeof *runs);
    uint32_t begun[CROWD_MAX] = { 0 }, ended[CROWD_MAX] = { 0 };
    uint64_t left = (uint64_t)count * all->size;
    while (left != 0) {
        uint32_t rank = ranks_random(&all->world, all->size);
        if (begun[rank] < count && begun[rank] - ended[rank] < ahead &&
            ranks_random(&all->world, 4) == 0) {
            if (!all->is_open[rank])
                crowd_open_member(all, rank);
            uint32_t call_i = begun[rank]++;
            crowd_begin(all, calls, call_i, rank, &runs[call_i * all->size + rank]);
        }
        uint32_t jobrank = ranks_random(&all->world, all->world.params.size);
        (void)pen_progress_poll(&all->world.jobs[jobrank].progress);
        for (uint32_t call_i = ended[rank]; call_i < begun[rank]; call_i++) {
            crowd_run *run = &runs[call_i * all->size + rank];
            if (!run->done && pen_event_test(run->event)) {
                crowd_check(all, calls, call_i, rank, run);
                left--;
            }
            if (run->done && call_i == ended[rank])
                ended[rank]++;
        }
    }
    free(runs);
}

#endif
