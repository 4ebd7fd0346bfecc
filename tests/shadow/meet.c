/* SPDX-License-Identifier: BSD-3-Clause */
/* meet.c: meetings of threads and ranks, the comparisons made there, and the watch that ends a run
 * that hangs. */
#include "shadow.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- threads of this rank -------------------------------------------------------------------- */

static atomic_uint arrived, rounds;

void meet_threads(void)
{
    if (shadow.options.threads == 1)
        return;
    unsigned round = atomic_load_explicit(&rounds, memory_order_relaxed);
    /* acq_rel: everything a thread did before is visible to all after */
    if (atomic_fetch_add_explicit(&arrived, 1, memory_order_acq_rel) + 1 ==
        shadow.options.threads) {
        atomic_store_explicit(&arrived, 0, memory_order_relaxed);
        atomic_fetch_add_explicit(&rounds, 1, memory_order_release);
        return;
    }
    GASNET_BLOCKUNTIL(atomic_load_explicit(&rounds, memory_order_acquire) != round);
}

/* ---- all ranks ------------------------------------------------------------------------------- */

static void barrier(unsigned form)
{
    switch (form) {
    case 0:
        gex_Event_Wait(gex_Coll_BarrierNB(shadow.world, 0));
        break;
    case 1:
        gex_Coll_BarrierBlocking(shadow.world, 0);
        break;
    default:
        gasnet_barrier_notify((int)shadow.phase, 0);
        if (gasnet_barrier_wait((int)shadow.phase, 0) != GASNET_OK)
            mismatch_at(shadow.rank, 0, shadow.workers[0].op,
                        "a barrier in which all ranks give the same name reports a mismatch");
    }
}

void meet_ranks(const worker *w)
{
    meet_threads();
    if (w->index == 0)
        barrier((unsigned)(random_mix(shadow.phase + shadow.options.seed) % 3));
    meet_threads();
}

/* ---- the end of a phase ---------------------------------------------------------------------- */

static void rows_put(worker *w)
{
    for (gex_Rank_t target = 0; target < shadow.size; target++) {
        row mine = { .phase = shadow.phase,
                     .sent = w->sent[target],
                     .sent_bare = w->sent_bare[target],
                     .told = w->told[target] };
        for (unsigned place = 0; place < PLACES; place++) {
            const stripe *s = &w->stripes[place][target];
            mine.extents[place] = s->top + GAP_MAX < STRIPE_LEN ? s->top + GAP_MAX : STRIPE_LEN;
            mine.hashes[place] = hash_bytes(s->model, mine.extents[place]);
        }
        memcpy(mine.shared, w->cells[target].shared, sizeof mine.shared);
        mine.increments = w->cells[target].increments;
        (void)gex_RMA_PutBlocking(shadow.world, target, row_of(target, shadow.rank, w->index),
                                  &mine, sizeof mine, 0);
    }
}

void row_read(row *said, gex_Rank_t from, unsigned thread)
{
    memcpy(said, row_of(shadow.rank, from, thread), sizeof *said);
    if (said->phase != shadow.phase || said->extents[0] > STRIPE_LEN ||
        said->extents[1] > STRIPE_LEN)
        mismatch_at(from, thread, shadow.workers[0].op,
                    "a row put before a barrier, read after it: expected that of phase %" PRIu64
                    ", found that of phase %" PRIu64,
                    shadow.phase, said->phase);
}

static void complain(const worker *w, gex_Rank_t from, unsigned place)
{
    uint64_t complaint = shadow.phase + 1; /* the writer knows the right contents */
    (void)gex_RMA_PutBlocking(shadow.world, from,
                              row_of(from, shadow.rank, w->index) + COMPLAINT_AT +
                                  place * sizeof complaint,
                              &complaint, sizeof complaint, 0);
}

/* Checks as the owner: compares with the threads of this number on all ranks. */
static void rows_check(const worker *w)
{
    for (gex_Rank_t from = 0; from < shadow.size; from++) {
        row said;
        row_read(&said, from, w->index);
        am_check(w, from, w->index, &said);
        vis_told_check(from, w->index, &said);
        for (unsigned place = 0; place < PLACES; place++)
            if (hash_bytes(stripe_of(place, shadow.rank, from, w->index), said.extents[place]) !=
                said.hashes[place])
                complain(w, from, place);
    }
}

static void bare_check(void)
{
    for (gex_Rank_t from = 0; from < shadow.size; from++) {
        am_tally sent = { 0 };
        for (unsigned thread = 0; thread < shadow.options.threads; thread++) {
            row said;
            row_read(&said, from, thread);
            sent.count += said.sent_bare.count;
            sent.sum += said.sent_bare.sum;
        }
        am_check_bare(from, &sent);
    }
    am_check_bare_replies();
}

/* Checks as the writer: has an owner complained about the phase that has just ended? */
static void complaints_check(worker *w)
{
    for (gex_Rank_t target = 0; target < shadow.size; target++) {
        uint64_t complaints[PLACES];
        memcpy(complaints, row_of(shadow.rank, target, w->index) + COMPLAINT_AT, sizeof complaints);
        for (unsigned place = 0; place < PLACES; place++) {
            if (complaints[place] != shadow.phase)
                continue;
            stripe_read_back(w, &w->stripes[place][target]);
            mismatch(w, w->op,
                     "stripe %u on rank %u: it differs for its owner, but not when it is got",
                     place, target);
        }
    }
}

static void all_checked(worker *w)
{
    for (gex_Rank_t target = 0; target < shadow.size; target++) {
        for (unsigned place = 0; place < PLACES; place++) {
            op_checked(w, w->stripes[place][target].unchecked);
            w->stripes[place][target].unchecked = 0;
        }
        w->bare_longs[target] = 0;
    }
    op_checked(w, w->unchecked_until_end);
    w->unchecked_until_end = 0;
    if (w->unchecked != 0)
        mismatch(w, w->op, "the checker itself: %" PRIu64 " operations were not compared",
                 w->unchecked);
}

/* Events may be synchronised by any thread. */
static void finish_for_another(worker *w)
{
    meet_threads();
    pending_finish_for(w, &shadow.workers[(w->index + 1) % shadow.options.threads]);
    meet_threads();
}

void phase_end(worker *w)
{
    if (shadow.options.threads > 1 && shadow.phase % 2 == 0)
        finish_for_another(w);
    pending_finish_all(w);
    am_wait_replies(w);
    memset(w->landing_used, 0, sizeof w->landing_used);
    w->reply_used = 0;
    rows_put(w);
    meet_ranks(w);
    rows_check(w);
    atomics_check_own(w);
    meet_threads();
    if (w->index == 0) {
        bare_check();
        atomics_check_shared();
        shadow.phase++;
        library_write();
    }
    meet_ranks(w);
    complaints_check(w);
    all_checked(w);
}

/* ---- the watch ------------------------------------------------------------------------------- */

static uint64_t signs(void)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < shadow.options.threads; i++)
        sum += atomic_load_explicit(&shadow.workers[i].sign, memory_order_relaxed);
    return sum;
}

static void *watch(void *unused)
{
    (void)unused;
    uint64_t last = signs();
    for (unsigned idle = 0; idle < shadow.options.stall;) {
        sleep(1);
        uint64_t now = signs();
        idle = now == last ? idle + 1 : 0;
        last = now;
    }
    fprintf(stderr,
            "shadow: MISMATCH: rank %u hangs: no operation for %u s, after operation %" PRIu64
            " of its threads together, phase %" PRIu64 ", seed %" PRIu64 "\n"
            "shadow: within %" PRIu64 " operations\n",
            shadow.rank, shadow.options.stall, last, shadow.phase, shadow.options.seed,
            (last + 1) * shadow.size);
    fflush(stderr);
    _exit(3);
}

void watch_start(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, watch, NULL) == 0)
        pthread_detach(thread);
}
