/* SPDX-License-Identifier: BSD-3-Clause */
/* crowd.h: teams made by hand over fake ranks, and lists of collectives that their members begin in
 * interleavings drawn from a seed, with every byte of every result compared. */
#ifndef PEN_TEST_CROWD_H
#define PEN_TEST_CROWD_H

#include "coll/barrier.h"
#include "coll/coll.h"
#include "coll/engine.h"
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
    uint32_t size;                /* of the team */
    uint32_t jobranks[CROWD_MAX]; /* of its members */
    pen_team teams[CROWD_MAX];    /* by team rank */
    bool is_open[CROWD_MAX];
} crowd;

static inline void crowd_open_world(crowd *all, const ranks_params *params)
{
    ranks_open(&all->world, params);
    for (uint32_t rank = 0; rank < params->size; rank++) {
        assert_int_equal(pen_rma_open(&all->world.jobs[rank]), PEN_OK);
        assert_int_equal(pen_coll_open(&all->world.jobs[rank]), PEN_OK);
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
    all->is_open[rank] = true;
}

/* A team of `size` of the world's ranks, in an order of its own; nobody has made it yet. */
static inline void crowd_draw_team(crowd *all, uint32_t size)
{
    uint32_t pool[CROWD_MAX], left = all->world.params.size;
    for (uint32_t i = 0; i < left; i++)
        pool[i] = i;
    for (uint32_t i = 0; i < size; i++) {
        uint32_t drawn = ranks_random(&all->world, left);
        all->jobranks[i] = pool[drawn];
        pool[drawn] = pool[--left];
    }
    all->size = size;
}

static inline void crowd_close(crowd *all)
{
    for (uint32_t rank = 0; rank < all->size; rank++) {
        if (!all->is_open[rank])
            continue;
        assert_int_equal(all->teams[rank].coll->open_count, 0);
        assert_null(all->teams[rank].coll->kept);
        pen_coll_team_close(&all->teams[rank]);
    }
    for (uint32_t rank = 0; rank < all->world.params.size; rank++) {
        pen_job *job = &all->world.jobs[rank];
        assert_int_equal(job->counters.frame_dropped, 0);
        assert_int_equal(atomic_load(&job->progress.source_work), 0);
        assert_null(job->coll->orphans);
        pen_coll_close(job);
        pen_rma_close(job);
    }
    ranks_close(&all->world);
}

/* ---- lists of collectives -------------------------------------------------------------------- */

typedef struct crowd_call {
    pen_coll_kind kind;
    uint32_t root;
    size_t len; /* of a part */
    bool in_place;
} crowd_call;

typedef struct crowd_run { /* one member at one call */
    pen_event *event;
    bool begun, done;
    char *source, *dest;
    size_t dest_len;
} crowd_run;

static inline char crowd_byte(uint32_t call, uint32_t rank, size_t at)
{
    return (char)(call * 7 + rank * 31 + at * 13 + (at >> 8) * 5);
}

static inline bool crowd_has_result(const crowd_call *call, uint32_t rank)
{
    return call->root == PEN_COLL_ALL || call->root == rank;
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

/* What stands at a place of the member's destination when the call is over. */
static inline char crowd_expect(const crowd *all, const crowd_call *call, uint32_t call_i,
                                uint32_t rank, size_t at)
{
    size_t part = call->len == 0 ? 0 : at / call->len,
           in_part = call->len == 0 ? 0 : at % call->len;
    (void)all;
    switch (call->kind) {
    case PEN_COLL_BROADCAST:
        return crowd_byte(call_i, call->root, at);
    case PEN_COLL_GATHER:
        return crowd_byte(call_i, (uint32_t)part, in_part);
    case PEN_COLL_SCATTER:
        return crowd_byte(call_i, call->root, rank * call->len + at);
    default: /* an exchange */
        return crowd_byte(call_i, (uint32_t)part, rank * call->len + in_part);
    }
}

static inline pen_event *crowd_start(pen_team *team, const crowd_call *call, crowd_run *run)
{
    pen_thread *thread = &team->job->first_thread;
    switch (call->kind) {
    case PEN_COLL_BARRIER:
        return pen_coll_barrier_nb(thread, team);
    case PEN_COLL_GATHER:
        return pen_coll_gather_nb(thread, team, call->root, run->dest, run->source, call->len);
    default:
        fail();
    }
    return NULL;
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
    for (size_t at = 0; at < source_len; at++)
        run->source[at] = crowd_byte(call_i, rank, at);
    run->begun = true;
    run->event = crowd_start(&all->teams[rank], call, run);
}

static inline void crowd_check(crowd *all, const crowd_call *calls, uint32_t call_i, uint32_t rank,
                               crowd_run *run)
{
    const crowd_call *call = &calls[call_i];
    bool has = call->kind == PEN_COLL_SCATTER || call->kind == PEN_COLL_BROADCAST ||
               call->kind == PEN_COLL_EXCHANGE || crowd_has_result(call, rank);
    for (size_t at = 0; has && at < run->dest_len; at++)
        if (run->dest[at] != crowd_expect(all, call, call_i, rank, at))
            fail_msg("call %u (kind %d, root %u, len %zu) on rank %u of %u: byte %zu", call_i,
                     (int)call->kind, call->root, call->len, rank, all->size, at);
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
