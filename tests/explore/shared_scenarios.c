/* SPDX-License-Identifier: BSD-3-Clause */
/* shared_scenarios.c: collectives through shares. Every rank gets the data that was offered, no
 * rank writes where others still read, also if some run ahead, and a rank that sleeps meanwhile is
 * woken. */
#include "coll/shared.h"
#include "explore.h"
#include "job/fatal.h"
#include "rma/rma_internal.h"

#include <unistd.h>

/* The copies of the sources have 3 slots and bodies of 256 bytes. Buffers of 128 bytes and more
 * are read in place, and sums of more than 32 are made in slices. */
enum { RANKS_MAX = 3, ROUNDS_MAX = 8, LEN_MAX = 128, WORDS_MAX = LEN_MAX / 8 };

typedef struct shared_rank {
    pen_job job;
    pen_coll coll;
    pen_coll_team part;
    pen_team team;
    pen_rma_thread rma;
    pen_shared *shared;
    const char *private_start; /* memory of the team's part */
    size_t private_len;
    PEN_CACHE_ALIGNED uint64_t source[WORDS_MAX], dest[RANKS_MAX * WORDS_MAX];
} shared_rank;

typedef struct shared_world {
    shared_rank ranks[RANKS_MAX];
    struct shared_words {
        PEN_CACHE_ALIGNED _Atomic uint32_t sleeping, wake, polling_total;
    } words[RANKS_MAX];
    pen_host_page *page;
    struct {
        pen_shared_share share;
        char body[PEN_SHARED_BODY_LEN];
    } shares[RANKS_MAX];
} shared_world;

static struct shared_state {
    shared_world *world;
    uint32_t ranks, rounds;
    pen_coll_kind kind;
    uint32_t root;
    size_t len;
    bool sleeps, one_core; /* all ranks share one core; else each has its own */
    uint32_t ahead;        /* rounds that the root has finished when its peers begin */
} state;

/* ---- what the library's files call ---- */

uint32_t pen_coll_count(pen_coll_team *coll, const pen_coll_what *what)
{
    (void)what;
    return coll->begun++;
}

pen_rma_thread *pen_rma_thread_of(pen_thread *thread) { return thread->rma; }

void *pen_job_calloc(pen_job *job, size_t count, size_t len, const char *what)
{
    (void)job;
    (void)what;
    return explore_alloc(count * len, 64);
}

void pen_coll_disagree(const pen_coll_team *coll, uint32_t rank, const pen_coll_what *theirs,
                       const pen_coll_what *ours)
{
    (void)coll;
    explore_fault("rank %u seems to do something else: %u, not %u", rank, theirs->number,
                  ours->number);
    explore_die("members disagree");
}

/* Sums of 64-bit integers. */
void pen_coll_combine_into(const pen_reduction *reduction, const void *left, const void *right,
                           void *out, size_t count)
{
    (void)reduction;
    for (size_t i = 0; i < count; i++)
        ((uint64_t *)out)[i] = ((const uint64_t *)left)[i] + ((const uint64_t *)right)[i];
}

static void host_wake(void *ctx, pen_peer peer)
{
    const pen_job *job = ctx;
    if (!state.sleeps)
        return;
    pen_progress_wake_fence(&job->progress);
    pen_progress_wake(&state.world->words[peer].sleeping, &state.world->words[peer].wake);
}

static unsigned poll(void *ctx) { return pen_shared_poll(ctx); }

/* ---- opening ---- */

static void declare_share(uint32_t rank)
{
    pen_shared_share *share = &state.world->shares[rank].share;
    explore_declare(&share->progress, sizeof share->progress, EXPLORE_ONE, "progress");
    for (uint32_t i = 0; i < PEN_SHARED_SLOTS; i++) {
        char *rest = (char *)&share->slots[i].turn + sizeof share->slots[i].turn;
        explore_declare(&share->slots[i].turn, sizeof share->slots[i].turn, EXPLORE_ONE, "turn");
        explore_declare(rest, sizeof share->slots[i] - sizeof share->slots[i].turn, EXPLORE_DATA,
                        "slot");
    }
    explore_declare(state.world->shares[rank].body, PEN_SHARED_BODY_LEN, EXPLORE_DATA, "body");
}

static void open_progress(shared_rank *rank, uint32_t self)
{
    struct shared_words *words = &state.world->words[self];
    pen_progress_config wait = { .sleep = true };
    pen_sleeper sleeper = { &words->sleeping, &words->wake, &words->polling_total, NULL, 1, NULL };
    rank->job.host = (pen_host){ .ctx = &rank->job, .wake = host_wake };
    pen_progress_init(&rank->job.progress, PEN_ALONE, &wait, &sleeper, &pen_machine_clock,
                      &rank->job.counters);
    pen_progress_add_source(&rank->job.progress, poll, &rank->coll);
    if (!state.sleeps)
        return;
    explore_declare(&words->sleeping, sizeof words->sleeping, EXPLORE_WORD, "sleeping");
    explore_declare(&words->wake, sizeof words->wake, EXPLORE_WORD, "wake");
}

#define OFFER { .share = 1, .turn = 1 }
/* Allocates everything that a collective needs, so that it lies at the same place in each run. */
static void open_shared(shared_rank *rank, uint32_t self)
{
    static const pen_coll_offer offers[RANKS_MAX] = { OFFER, OFFER, OFFER };
    rank->private_start = explore_alloc(0, 64);
    rank->shared = pen_shared_open(&rank->part, offers);
    for (uint32_t i = 0; i < state.ranks; i++)
        rank->shared->shares[i] = &state.world->shares[i].share;
    rank->shared->mine = rank->shared->shares[self];
    rank->shared->cma_known = rank->shared->cma = true;
    rank->shared->free = pen_shared_op_new(rank->shared);
    pen_event_give(pen_event_take(&rank->rma.pool));
    rank->private_len = (size_t)((char *)explore_alloc(0, 64) - rank->private_start);
}

static void open_rank(uint32_t self)
{
    shared_rank *rank = &state.world->ranks[self];
    rank->job.rank = self;
    rank->job.size = state.ranks;
    rank->job.concurrency = PEN_ALONE;
    rank->job.boot.page = state.world->page;
    rank->job.coll = &rank->coll;
    rank->job.first_thread = (pen_thread){ .job = &rank->job, .rma = &rank->rma };
    rank->rma.pool.job = &rank->job;
    rank->coll.job = &rank->job;
    rank->coll.busy_end = &rank->coll.busy;
    rank->team = (pen_team){ .view = { .rank = self, .size = state.ranks },
                             .job = &rank->job,
                             .stride = 1,
                             .coll = &rank->part };
    rank->part = (pen_coll_team){ .team = &rank->team, .job = &rank->job };
    pen_lock_init(&rank->coll.lock, PEN_ALONE);
    open_progress(rank, self);
    open_shared(rank, self);
    explore_declare(rank->source, sizeof rank->source, EXPLORE_DATA, "source");
    explore_declare(rank->dest, sizeof rank->dest, EXPLORE_DATA, "dest");
    declare_share(self);
}

static void setup(struct shared_state wanted)
{
    state = wanted;
    state.world = explore_alloc(sizeof *state.world, 64);
    state.world->page =
        explore_alloc(sizeof *state.world->page + RANKS_MAX * sizeof(pen_host_rank), 64);
    state.world->page->size = state.ranks;
    state.world->page->cores = state.one_core ? 1 : state.ranks;
    for (uint32_t self = 0; self < state.ranks; self++) {
        atomic_store(&state.world->page->ranks[self].pid, (uint32_t)getpid());
        open_rank(self);
    }
}

/* ---- running ---- */

/* Fruitless looks are counted only for an occasional look around, so the count is not part of the
 * state. */
static uint64_t digest_of(const void *what)
{
    const shared_rank *rank = what;
    if (rank->shared->first != NULL)
        rank->shared->first->looks = 0;
    uint64_t digest = explore_digest(rank->private_start, rank->private_len);
    digest = digest * 31 + explore_digest(&rank->rma.pool, sizeof rank->rma.pool);
    return digest * 31 + explore_digest(&rank->job.progress, sizeof rank->job.progress);
}

static void wait_for(shared_rank *rank, pen_event *event, uint64_t round)
{
    pen_waiter waiter = pen_waiter_of(&rank->job.progress, true);
    for (;;) {
        waiter.naps = 1; /* the policy's patience is left out */
        waiter.fruitless = 0;
        explore_settle(digest_of, rank, round << 33 | (waiter.armed ? waiter.wake + 1 : 0));
        if (event == PEN_EVENT_DONE || pen_event_test(event))
            return;
        if (state.sleeps)
            pen_wait_step(&waiter);
        else if (pen_shared_poll(&rank->coll) == 0)
            explore_idle();
    }
}

static uint64_t word_of(uint32_t rank, uint64_t round, uint64_t i)
{
    return (round + 1) * 1000 + 100 * (uint64_t)rank + i;
}

static pen_event *begin(shared_rank *rank)
{
    pen_shared_op *op = pen_shared_op_new(rank->shared);
    bool is_root = state.root == rank->team.view.rank;
    op->what.root = op->root = state.root;
    op->what.len = op->len = state.len;
    op->what.kind = (uint32_t)state.kind;
    op->source = (const char *)rank->source;
    op->dest =
        state.kind == PEN_COLL_BROADCAST && is_root ? (char *)rank->source : (char *)rank->dest;
    op->reduction = (pen_reduction){ .element_len = 8, .count = state.len / 8 };
    return pen_shared_begin(&rank->job.first_thread, rank->shared, op);
}

static void fill(shared_rank *rank, uint64_t round)
{
    for (uint64_t i = 0; i < state.len / 8; i++)
        rank->source[i] = word_of(rank->team.view.rank, round, i);
}

static void check(const shared_rank *rank, uint64_t round)
{
    uint32_t self = rank->team.view.rank;
    uint64_t count = state.len / 8,
             all = state.kind == PEN_COLL_GATHER ? state.ranks * count : count;
    if (state.kind == PEN_COLL_BROADCAST ? self == state.root
                                         : self != state.root && state.root != PEN_COLL_ALL)
        return;
    for (uint64_t i = 0; i < all; i++) {
        uint64_t wanted = 0;
        for (uint32_t from = 0; state.kind == PEN_COLL_REDUCE && from < state.ranks; from++)
            wanted += word_of(from, round, i);
        if (state.kind != PEN_COLL_REDUCE)
            wanted = state.kind == PEN_COLL_BROADCAST
                         ? word_of(state.root, round, i)
                         : word_of((uint32_t)(i / count), round, i % count);
        EXPLORE_CHECK(rank->dest[i] == wanted, "word %llu is %llu, not %llu", (unsigned long long)i,
                      (unsigned long long)rank->dest[i], (unsigned long long)wanted);
    }
}

static void run(uint32_t self)
{
    shared_rank *rank = &state.world->ranks[self];
    for (uint64_t round = self == state.root ? state.ahead : 0; round < state.rounds; round++) {
        fill(rank, round);
        wait_for(rank, begin(rank), round);
        check(rank, round);
    }
}

static void judge(void)
{
    for (uint32_t i = 0; i < state.ranks; i++)
        EXPLORE_CHECK(explore_has_ended(i), "rank %u waits for ever", i);
}

/* ---- scenarios ---- */

static void setup_broadcast(bool is_long)
{
    setup((struct shared_state){
        .ranks = 2, .rounds = is_long ? 8 : 6, .kind = PEN_COLL_BROADCAST, .len = 8 });
}

static void setup_bodies(bool is_long)
{
    setup((struct shared_state){
        .ranks = 2, .rounds = is_long ? 8 : 6, .kind = PEN_COLL_BROADCAST, .len = 96 });
}

static void setup_direct(bool is_long)
{
    setup((struct shared_state){
        .ranks = 2, .rounds = is_long ? 5 : 3, .kind = PEN_COLL_BROADCAST, .len = 128 });
}

static void setup_three(bool is_long)
{
    setup((struct shared_state){
        .ranks = 3, .rounds = is_long ? 4 : 3, .kind = PEN_COLL_BROADCAST, .len = 8 });
}

static void setup_gather(bool is_long)
{
    setup((struct shared_state){ .ranks = 3,
                                 .rounds = is_long ? 2 : 1,
                                 .kind = PEN_COLL_GATHER,
                                 .root = PEN_COLL_ALL,
                                 .len = 8 });
}

static void setup_sum(size_t len, uint32_t rounds)
{
    setup((struct shared_state){
        .ranks = 2, .rounds = rounds, .kind = PEN_COLL_REDUCE, .root = PEN_COLL_ALL, .len = len });
}

static void setup_whole(bool is_long) { setup_sum(8, is_long ? 7 : 5); }
static void setup_slices(bool is_long) { setup_sum(80, is_long ? 5 : 3); }
static void setup_slices_direct(bool is_long) { setup_sum(128, is_long ? 4 : 2); }

static void setup_by_one(bool is_long)
{
    setup((struct shared_state){ .ranks = 2,
                                 .rounds = is_long ? 6 : 4,
                                 .kind = PEN_COLL_REDUCE,
                                 .root = PEN_COLL_ALL,
                                 .len = 80,
                                 .one_core = true });
}

static void setup_sleep(bool is_long)
{
    setup((struct shared_state){ .ranks = 2,
                                 .rounds = is_long ? 2 : 1,
                                 .kind = PEN_COLL_REDUCE,
                                 .root = PEN_COLL_ALL,
                                 .len = 8,
                                 .sleeps = true });
}

static void setup_sleep_fenced(bool is_long)
{
    explore_refuse_membarrier(true);
    setup_sleep(is_long);
}

/* The root sleeps until its buffer has been read. */
static void setup_sleep_direct(bool is_long)
{
    setup((struct shared_state){ .ranks = 2,
                                 .rounds = is_long ? 2 : 1,
                                 .kind = PEN_COLL_BROADCAST,
                                 .len = 128,
                                 .sleeps = true });
}

/* All slots are full when the root begins its next round: it sleeps until there is room. */
static void setup_sleep_room(bool is_long)
{
    setup((struct shared_state){ .ranks = 2,
                                 .rounds = PEN_SHARED_SLOTS + (is_long ? 2 : 1),
                                 .kind = PEN_COLL_BROADCAST,
                                 .len = 8,
                                 .sleeps = true,
                                 .ahead = PEN_SHARED_SLOTS });
    for (uint32_t round = 0; round < state.ahead; round++) {
        fill(&state.world->ranks[state.root], round);
        if (begin(&state.world->ranks[state.root]) != PEN_EVENT_DONE)
            explore_die("there is no room for a broadcast");
    }
}

const explore_scenario explore_shared_scenarios[] = {
    { "coll_slots", "6 (8) broadcasts of a word between 2, 3 slots", 2, false, false,
      setup_broadcast, run, judge },
    { "coll_bodies", "6 (8) broadcasts through a body that holds two", 2, false, false,
      setup_bodies, run, judge },
    { "coll_direct", "3 (5) broadcasts read where they are", 2, false, false, setup_direct, run,
      judge },
    { "coll_three", "3 (4) broadcasts of a word between 3", 3, false, false, setup_three, run,
      judge },
    { "coll_gather", "1 (2) words of each of 3 gathered by all", 3, false, false, setup_gather, run,
      judge },
    { "coll_sum", "5 (7) sums of a word between 2", 2, false, false, setup_whole, run, judge },
    { "coll_slices", "3 (5) sums of 80 bytes in slices", 2, false, false, setup_slices, run,
      judge },
    { "coll_slices_direct", "2 (4) of 128 bytes read where they are", 2, false, false,
      setup_slices_direct, run, judge },
    { "coll_by_one", "4 (6) of 80 bytes that one of 2 makes for both, in two sections", 2, false,
      false, setup_by_one, run, judge },
    { "coll_sleep", "1 (2) sums between 2 that sleep", 2, true, false, setup_sleep, run, judge },
    { "coll_sleep_fenced", "the same without membarrier", 2, true, false, setup_sleep_fenced, run,
      judge },
    { "coll_sleep_direct", "1 (2) broadcasts whose root sleeps until it was read", 2, true, false,
      setup_sleep_direct, run, judge },
    { "coll_sleep_room", "1 (2) broadcasts whose root sleeps until there is room", 2, true, false,
      setup_sleep_room, run, judge },
    { 0 },
};
