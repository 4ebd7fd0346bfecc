/* SPDX-License-Identifier: BSD-3-Clause */
/* randomaccess.c: the RandomAccess benchmark of the HPC Challenge. A table of 2^m words is spread
 * over the ranks; four times as many updates, in random order, each xor a word with the number that
 * also says which word. Then every rank replays the whole stream by itself and counts the words
 * that came out wrong.
 *
 *     penstock run -n 4 randomaccess [am | putget | direct] [-m LOG2 | --quarter] [--threads T]
 *     [--no-bucket]
 *
 * What the variants are tells randomaccess_variant.h.
 *
 * HPCC allows a rank to look 1,024 updates ahead. Here an update counts from the moment it is
 * drawn until its owner has said that it is applied. */
#include "arguments.h"
#include "progress_bar.h"
#include "randomaccess_direct.h"
#include "randomaccess_spread.h"
#include "randomaccess_stream.h"
#include "randomaccess_totals.h"
#include "randomaccess_variant.h"

#include <gasnetex.h>
#include <penstock/stats.h>

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    LOOK_AHEAD = 1024, /* updates a rank may have drawn and not yet seen applied */
    BUCKET_MIN = 64,   /* updates in a message: 512 bytes, which every GASNet carries */
    BUCKET_MAX = 256,  /* updates in a message, if there are few ranks to hold back updates for */
    LOG2_DEFAULT = 22,
    LOG2_MAX = 40,
    UPDATES_PER_WORD = 4,
    THREADS_MAX = 64,
    PROGRESS_STRIDE = 4096, /* updates between two looks at the clock, at least */
    PATIENCE_S = 60,        /* without any answer: updates were lost */
#ifdef GASNET_PAR
    THREADS_BUILT = THREADS_MAX
#else
    THREADS_BUILT = 1
#endif
};

enum { UPDATE_BUCKET = GEX_AM_INDEX_BASE, UPDATE_ONE, APPLIED, TABLE_SIZE };

/* One thread's share of the updates. */
typedef struct worker {
    uint64_t first, count; /* place in the stream */
    uint32_t look_ahead;   /* this thread's part of LOOK_AHEAD */
    uint32_t thread_i;
    uint64_t sent;                     /* updates handed to GASNet */
    uint32_t held;                     /* updates in buckets */
    uint64_t puts, gets;               /* asked for */
    uint64_t unanswered_before, looks; /* while waiting; see worker_lose_patience() */
    double give_up_s;
    uint64_t *buckets;     /* BUCKET_MAX words for each rank */
    uint32_t *bucket_used; /* words in use, for each rank */
    uint32_t bucket_len;   /* words at which a bucket is sent */
    pthread_t id;
    _Atomic uint64_t applied __attribute__((aligned(64))); /* counted up by the handler */
} worker;

static struct job {
    gex_TM_t team;
    gex_Rank_t rank, size;
    variant variant;
    bool quarter, no_bucket, show_progress;
    uint32_t threads;
    uint32_t log2;
    spread spread;
    uint64_t first, count;       /* our words */
    uint64_t *table;             /* words of this rank, in its segment */
    uintptr_t *tables;           /* everyone's, each in its owner's address space, */
    uintptr_t *mapped;           /* where word 0 would be here if all were that rank's */
    _Atomic uint64_t strays;     /* updates that reached a rank which does not own the word */
    _Atomic uint32_t table_log2; /* size that rank 0 measured, plus one */
    worker workers[THREADS_MAX];
} job;

/* ---- the table ------------------------------------------------------------------------------- */

/* Applies updates to words of this rank. With several threads handlers run at the same time
 * (relaxed: the table is read after a barrier). */
static inline void table_apply(const uint64_t *updates, size_t count)
{
    uint64_t *const table = job.table;
    const uint64_t mask = job.spread.word_mask, first = job.first, words = job.count;
    uint64_t strays = 0;
    for (size_t update_i = 0; update_i < count; update_i++) {
        const uint64_t place = (updates[update_i] & mask) - first;
        if (place >= words) {
            strays++;
            continue;
        }
#ifdef GASNET_PAR
        __atomic_fetch_xor(&table[place], updates[update_i], __ATOMIC_RELAXED);
#else
        table[place] ^= updates[update_i];
#endif
    }
    if (strays > 0)
        atomic_fetch_add_explicit(&job.strays, strays, memory_order_relaxed);
}

/* ---- handlers: the one path of all updates of the variant am --------------------------------- */

static void update_bucket(gex_Token_t token, void *payload, size_t len, gex_AM_Arg_t thread_i)
{
    const size_t count = len / sizeof(uint64_t);
    table_apply(payload, count);
    gex_AM_ReplyShort2(token, APPLIED, 0, thread_i, (gex_AM_Arg_t)count);
}

static void update_one(gex_Token_t token, gex_AM_Arg_t thread_i, gex_AM_Arg_t high,
                       gex_AM_Arg_t low)
{
    const uint64_t update = (uint64_t)(uint32_t)high << 32 | (uint32_t)low;
    table_apply(&update, 1);
    gex_AM_ReplyShort2(token, APPLIED, 0, thread_i, 1);
}

static void updates_applied(gex_Token_t token, gex_AM_Arg_t thread_i, gex_AM_Arg_t count)
{
    (void)token;
    /* relaxed: nothing but the count is read by the thread that waits for it */
    atomic_fetch_add_explicit(&job.workers[(uint32_t)thread_i % THREADS_MAX].applied,
                              (uint64_t)count, memory_order_relaxed);
}

static void table_size_from_rank0(gex_Token_t token, gex_AM_Arg_t log2)
{
    (void)token;
    atomic_store_explicit(&job.table_log2, (uint32_t)log2 + 1, memory_order_relaxed);
}

static gex_AM_Entry_t handlers[] = {
    { UPDATE_BUCKET, (gex_AM_Fn_t)update_bucket, GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REQUEST, 1, NULL,
      "update_bucket" },
    { UPDATE_ONE, (gex_AM_Fn_t)update_one, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 3, NULL,
      "update_one" },
    { APPLIED, (gex_AM_Fn_t)updates_applied, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REPLY, 2, NULL,
      "updates_applied" },
    { TABLE_SIZE, (gex_AM_Fn_t)table_size_from_rank0, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 1,
      NULL, "table_size" },
};

/* ---- the end of a job ------------------------------------------------------------------------ */

static void meet(void) { gex_Event_Wait(gex_Coll_BarrierNB(job.team, 0)); }

/* All ranks come here, with the same arguments; rank 0 speaks for them. */
static void refuse(const char *why, const char *hint)
{
    if (job.rank == 0) {
        fprintf(stderr, "randomaccess: %s; %s\n", why, hint);
        gasnet_exit(2);
    }
    meet();
    gasnet_exit(2);
}

static void progress_show(const char *what, uint64_t done, uint64_t all)
{
    if (job.show_progress)
        progress_bar_show(what, done, all);
}

/* ---- variant am ------------------------------------------------------------------------------ */

static inline uint64_t worker_unanswered(worker *self)
{
    return self->sent - atomic_load_explicit(&self->applied, memory_order_relaxed);
}

/* An update that is lost, or answered twice, must not hang the job without end: this program is
 * there to find such a fault. */
static void worker_lose_patience(worker *self)
{
    const uint64_t unanswered = worker_unanswered(self);
    const double now = now_s();
    if (unanswered != self->unanswered_before) {
        self->unanswered_before = unanswered;
        self->give_up_s = now + PATIENCE_S;
    }
    if (now < self->give_up_s && unanswered <= LOOK_AHEAD)
        return;
    fprintf(stderr, "randomaccess: rank %u: %" PRId64 " updates have no answer\n", job.rank,
            (int64_t)unanswered);
    gasnet_exit(1);
}

static inline bool worker_is_answered(worker *self, uint64_t unanswered_max)
{
    if (worker_unanswered(self) <= unanswered_max)
        return true;
    if (++self->looks % 1024 == 0)
        worker_lose_patience(self);
    return false;
}

static void worker_wait(worker *self, uint64_t unanswered_max)
{
    self->unanswered_before = UINT64_MAX;
    GASNET_BLOCKUNTIL(worker_is_answered(self, unanswered_max));
}

static void worker_send_bucket(worker *self, gex_Rank_t to)
{
    const uint32_t used = self->bucket_used[to];
    if (used == 0)
        return;
    self->sent += used; /* before the answer can come */
    self->held -= used;
    self->bucket_used[to] = 0;
    gex_AM_RequestMedium1(job.team, to, UPDATE_BUCKET, &self->buckets[(size_t)to * BUCKET_MAX],
                          used * sizeof(uint64_t), GEX_EVENT_NOW, 0, (gex_AM_Arg_t)self->thread_i);
}

static gex_Rank_t worker_fullest(const worker *self)
{
    gex_Rank_t fullest = 0;
    for (gex_Rank_t rank = 1; rank < job.size; rank++)
        if (self->bucket_used[rank] > self->bucket_used[fullest])
            fullest = rank;
    return fullest;
}

/* Makes room to draw a quarter of what we may look ahead: at most half of that waits in buckets. */
static void worker_make_room(worker *self, uint32_t quarter)
{
    while (self->held > 2 * quarter)
        worker_send_bucket(self, worker_fullest(self));
    const uint32_t unanswered_max = self->look_ahead - self->held - quarter;
    if (worker_unanswered(self) > unanswered_max)
        worker_wait(self, unanswered_max);
}

/* Draws the updates after `value`, answers the last. What does not change is copied: the compiler
 * cannot know that buckets do not overlay it. */
static uint64_t worker_draw(worker *self, uint64_t value, uint32_t count)
{
    const spread table = job.spread;
    uint64_t *const buckets = self->buckets;
    uint32_t *const bucket_used = self->bucket_used;
    const uint32_t bucket_len = self->bucket_len;
    self->held += count;
    for (; count > 0; count--) {
        value = stream_next(value);
        const uint64_t owner = spread_owner(&table, value);
        const uint32_t used = bucket_used[owner];
        buckets[owner * BUCKET_MAX + used] = value;
        bucket_used[owner] = used + 1;
        if (used + 1 == bucket_len)
            worker_send_bucket(self, (gex_Rank_t)owner);
    }
    return value;
}

static void worker_run_buckets(worker *self)
{
    const uint32_t quarter = self->look_ahead / 4;
    uint64_t value = stream_at(self->first);
    for (uint64_t drawn = 0; drawn < self->count;) {
        const uint64_t left = self->count - drawn;
        const uint32_t count = left < quarter ? (uint32_t)left : quarter;
        worker_make_room(self, quarter);
        value = worker_draw(self, value, count);
        drawn += count;
        if (self->thread_i == 0 && drawn % PROGRESS_STRIDE < count)
            progress_show("updates", drawn, self->count);
    }
    for (gex_Rank_t rank = 0; rank < job.size; rank++)
        worker_send_bucket(self, rank);
}

static void update_by_message(worker *self, uint64_t update)
{
    const gex_Rank_t owner = (gex_Rank_t)spread_owner(&job.spread, update);
    self->sent++;
    gex_AM_RequestShort3(job.team, owner, UPDATE_ONE, 0, (gex_AM_Arg_t)self->thread_i,
                         (gex_AM_Arg_t)(uint32_t)(update >> 32), (gex_AM_Arg_t)(uint32_t)update);
    if (worker_unanswered(self) >= self->look_ahead)
        worker_wait(self, self->look_ahead - 1);
}

/* ---- variant putget -------------------------------------------------------------------------- */

static void update_by_put(worker *self, uint64_t update)
{
    const gex_Rank_t owner = (gex_Rank_t)spread_owner(&job.spread, update);
    uint64_t *word = (uint64_t *)job.tables[owner] + (update & job.spread.word_mask) -
                     spread_first(&job.spread, owner);
    const uint64_t old = gex_RMA_GetBlockingVal(job.team, owner, word, sizeof(*word), 0);
    gex_RMA_PutBlockingVal(job.team, owner, word, old ^ update, sizeof(*word), 0);
    self->gets++;
    self->puts++;
}

/* ---- variant direct -------------------------------------------------------------------------- */

static void worker_run_direct(worker *self)
{
    uint64_t value = stream_at(self->first);
    for (uint64_t drawn = 0; drawn < self->count; drawn += PROGRESS_STRIDE) {
        const uint64_t left = self->count - drawn;
        value = direct_update(&job.spread, job.mapped, value,
                              left < PROGRESS_STRIDE ? left : PROGRESS_STRIDE);
        if (self->thread_i == 0)
            progress_show("updates", drawn, self->count);
    }
    self->gets = self->puts = self->count;
}

/* ---- the timed pass -------------------------------------------------------------------------- */

static void worker_run_singly(worker *self, void (*update)(worker *, uint64_t))
{
    uint64_t value = stream_at(self->first);
    for (uint64_t update_i = 0; update_i < self->count; update_i++) {
        value = stream_next(value);
        update(self, value);
        if (update_i % PROGRESS_STRIDE == 0 && self->thread_i == 0)
            progress_show("updates", update_i, self->count);
    }
}

static void *worker_run(void *argument)
{
    worker *self = argument;
    if (job.variant == DIRECT)
        worker_run_direct(self);
    else if (job.variant == PUTGET)
        worker_run_singly(self, update_by_put);
    else if (job.no_bucket)
        worker_run_singly(self, update_by_message);
    else
        worker_run_buckets(self);
    worker_wait(self, 0);
    return NULL;
}

/* As long as lets every rank's bucket fill within half of what we may look ahead. */
static uint32_t bucket_len_of(uint32_t look_ahead)
{
    const size_t carried = gex_AM_LUBRequestMedium() / sizeof(uint64_t);
    const uint32_t most = carried < BUCKET_MAX ? (uint32_t)carried : BUCKET_MAX;
    const uint32_t len = look_ahead / 2 / job.size;
    return len < BUCKET_MIN ? BUCKET_MIN : len < most ? len : most;
}

static void worker_open(uint32_t thread_i)
{
    worker *self = &job.workers[thread_i];
    const uint64_t updates = job.count * UPDATES_PER_WORD;
    const uint64_t begin = updates / job.threads * thread_i;
    const uint64_t end = thread_i + 1 == job.threads ? updates : begin + updates / job.threads;
    self->thread_i = thread_i;
    self->first = job.first * UPDATES_PER_WORD + begin;
    self->count = end - begin;
    self->look_ahead = LOOK_AHEAD / job.threads;
    self->bucket_len = bucket_len_of(self->look_ahead);
    self->buckets = malloc((size_t)job.size * BUCKET_MAX * sizeof(*self->buckets));
    self->bucket_used = calloc(job.size, sizeof(*self->bucket_used));
    if (self->buckets == NULL || self->bucket_used == NULL) {
        fprintf(stderr, "randomaccess: rank %u has no memory for its buckets\n", job.rank);
        gasnet_exit(1);
    }
}

/* The first thread is ours; the others live for the pass only. */
static void pass_run(void)
{
    for (uint32_t thread_i = 1; thread_i < job.threads; thread_i++) {
        if (pthread_create(&job.workers[thread_i].id, NULL, worker_run, &job.workers[thread_i])) {
            fprintf(stderr, "randomaccess: rank %u cannot start thread %u\n", job.rank, thread_i);
            gasnet_exit(1);
        }
    }
    worker_run(&job.workers[0]);
    for (uint32_t thread_i = 1; thread_i < job.threads; thread_i++)
        pthread_join(job.workers[thread_i].id, NULL);
}

/* ---- verification ---------------------------------------------------------------------------- */

/* Replays all updates of all ranks without any communication; each word must be its index again. */
static uint64_t table_errors(void)
{
    const uint64_t updates = job.spread.words * UPDATES_PER_WORD;
    uint64_t value = stream_at(0), errors = 0;
    for (uint64_t update_i = 0; update_i < updates; update_i++) {
        value = stream_next(value);
        const uint64_t place = (value & job.spread.word_mask) - job.first;
        if (place < job.count)
            job.table[place] ^= value;
        if (update_i % PROGRESS_STRIDE == 0)
            progress_show("verify", update_i, updates);
    }
    progress_show("verify", updates, updates);
    for (uint64_t place = 0; place < job.count; place++)
        errors += job.table[place] != job.first + place;
    return errors;
}

/* ---- what to print --------------------------------------------------------------------------- */

/* Takes one away from the other: what happened in between. */
static void totals_of_pass(totals *mine, const pen_stats *before, const pen_stats *after)
{
    for (uint32_t thread_i = 0; thread_i < job.threads; thread_i++) {
        const worker *each = &job.workers[thread_i];
        mine->updates += each->count;
        mine->puts += each->puts;
        mine->gets += each->gets;
    }
    totals_count_routes(mine, before, after);
}

/* Adds up what the ranks counted; the sum is rank 0's. */
static void totals_collect(totals *sum, totals *mine, totals *slots)
{
    gex_RMA_PutBlocking(job.team, 0, slots + job.rank, mine, sizeof(*mine), 0);
    meet();
    for (gex_Rank_t rank = 0; rank < job.size && job.rank == 0; rank++)
        totals_add(sum, &slots[rank]);
}

static void print_result(const totals *sum, double seconds, uint64_t errors_max)
{
    printf("randomaccess %s: %s\n", variant_names[job.variant],
           sum->errors <= errors_max ? "verified" : "WRONG");
    printf("  ranks     %u, with %u thread%s each\n", job.size, job.threads,
           job.threads == 1 ? "" : "s");
    printf("  conduit   %s\n", pen_conduit_name());
    printf("  table     2^%u words, %.1f MiB\n", job.log2,
           (double)job.spread.words * sizeof(uint64_t) / (1024 * 1024));
    printf("  updates   %" PRIu64 " in %.3f s\n", sum->updates, seconds);
    printf("  GUPS      %.6f\n", (double)sum->updates / seconds / 1e9);
    totals_print_check(sum, job.spread.words, errors_max);
    totals_print_routes(sum);
}

/* ---- start ----------------------------------------------------------------------------------- */

/* Reads the arguments. Returns a text that says what is wrong with them, or NULL. */
static const char *arguments_read(int argc, char **argv)
{
    long log2 = LOG2_DEFAULT, threads = 1;

    for (int arg_i = 1; arg_i < argc; arg_i++) {
        const char *arg = argv[arg_i];
        if (variant_read(arg, &job.variant))
            continue;
        if (strcmp(arg, "--quarter") == 0)
            job.quarter = true;
        else if (strcmp(arg, "--no-bucket") == 0)
            job.no_bucket = true;
        else if (strcmp(arg, "-m") == 0)
            log2 = number_of(argv[++arg_i], 1, LOG2_MAX);
        else if (strcmp(arg, "--threads") == 0)
            threads = number_of(argv[++arg_i], 1, THREADS_MAX);
        else
            return "an argument is unknown";
        if (log2 < 0)
            return "-m wants a number from 1 to 40";
        if (threads < 0)
            return "--threads wants a number from 1 to 64";
    }
    if (threads > THREADS_BUILT)
        return "this program was built for one thread, randomaccess_par takes --threads";
    job.log2 = (uint32_t)log2;
    job.threads = (uint32_t)threads;
    return NULL;
}

/* The largest table that fits into a quarter of the memory that is free now. */
static uint32_t quarter_log2(void)
{
    const uint64_t free_len = memory_free_len();
    const uint64_t segments_len = (uint64_t)gasnet_getMaxGlobalSegmentSize() / 2 * job.size;
    const uint64_t table_len = free_len / 4 < segments_len ? free_len / 4 : segments_len;
    uint32_t log2 = 1;
    while (log2 < LOG2_MAX && (sizeof(uint64_t) << (log2 + 1)) <= table_len)
        log2++;
    return log2;
}

/* Free memory changes while we look: rank 0 decides. */
static void table_size_agree(void)
{
    if (job.rank == 0) {
        const uint32_t log2 = quarter_log2();
        for (gex_Rank_t rank = 0; rank < job.size; rank++)
            gex_AM_RequestShort1(job.team, rank, TABLE_SIZE, 0, (gex_AM_Arg_t)log2);
    }
    GASNET_BLOCKUNTIL(atomic_load_explicit(&job.table_log2, memory_order_relaxed) != 0);
    job.log2 = atomic_load_explicit(&job.table_log2, memory_order_relaxed) - 1;
}

/* Makes the segments: a part of the table each, and behind it, where only rank 0's is used, a place
 * for the totals of every rank. */
static totals *table_open(void)
{
    const uint64_t len = (job.spread.share + 1) * sizeof(uint64_t) + job.size * sizeof(totals);
    const uint64_t page = GASNET_PAGESIZE;
    const uint64_t segment_len = (len + page - 1) / page * page;
    gex_Segment_t segment;

    if (job.spread.words / job.size == 0)
        refuse("the table has fewer words than there are ranks", "take a larger -m");
    if (segment_len > gasnet_getMaxGlobalSegmentSize())
        refuse("the table does not fit into the segments",
               "take a smaller -m, or raise GASNET_MAX_SEGSIZE");
    if (gex_Segment_Attach(&segment, job.team, segment_len) != GASNET_OK)
        gasnet_exit(1);
    job.tables = malloc(job.size * sizeof(*job.tables));
    job.mapped = malloc(job.size * sizeof(*job.mapped));
    if (job.tables == NULL || job.mapped == NULL)
        gasnet_exit(1);
    bool all_mapped = true;
    for (gex_Rank_t rank = 0; rank < job.size; rank++) {
        void *base = NULL, *here = NULL;
        gex_Event_Wait(gex_EP_QueryBoundSegmentNB(job.team, rank, &base, &here, NULL, 0));
        job.tables[rank] = (uintptr_t)base;
        job.mapped[rank] = (uintptr_t)here - spread_first(&job.spread, rank) * sizeof(uint64_t);
        all_mapped = all_mapped && here != NULL;
    }
    if (job.variant == DIRECT && !all_mapped)
        refuse("direct wants all ranks to share memory", "take am or putget");
    job.table = (uint64_t *)job.tables[job.rank];
    for (uint64_t place = 0; place < job.count; place++)
        job.table[place] = job.first + place;
    return (totals *)(job.tables[0] + (job.spread.share + 1) * sizeof(uint64_t));
}

static void job_open(int argc, char **argv)
{
    gex_Client_t client;
    gex_EP_t endpoint;
    if (gex_Client_Init(&client, &endpoint, &job.team, "RANDOMACCESS", &argc, &argv, 0))
        exit(1);
    job.rank = gex_TM_QueryRank(job.team);
    job.size = gex_TM_QuerySize(job.team);
    job.show_progress = job.rank == 0 && pen_stdout_is_terminal();
    gex_EP_RegisterHandlers(endpoint, handlers, sizeof(handlers) / sizeof(handlers[0]));
    meet(); /* all have registered */
    const char *wrong = arguments_read(argc, argv);
    if (wrong != NULL)
        refuse(wrong, "usage: randomaccess [am | putget | direct] [-m LOG2 | --quarter] "
                      "[--threads T] [--no-bucket]");
    if (job.quarter)
        table_size_agree();
    job.spread = spread_over(1ull << job.log2, job.size);
    job.first = spread_first(&job.spread, job.rank);
    job.count = spread_first(&job.spread, (uint64_t)job.rank + 1) - job.first;
}

int main(int argc, char **argv)
{
    totals mine = { 0 }, sum = { 0 };
    pen_stats before, after;

    job_open(argc, argv);
    totals *slots = table_open();
    for (uint32_t thread_i = 0; thread_i < job.threads; thread_i++)
        worker_open(thread_i);

    pen_stats_read(&before, sizeof(before)); /* peers may send before we are out of the barrier */
    meet();
    const double start_s = now_s();
    pass_run();
    meet();
    const double seconds = now_s() - start_s;
    pen_stats_read(&after, sizeof(after));

    totals_of_pass(&mine, &before, &after);
    mine.errors = table_errors() + job.strays;
    totals_collect(&sum, &mine, slots);

    if (job.rank == 0) {
        const uint64_t errors_max =
            variant_errors_max(job.variant, job.spread.words, sum.gets_net != 0);
        print_result(&sum, seconds, errors_max);
        gasnet_exit(sum.errors <= errors_max ? 0 : 1);
    }
    meet();
    gasnet_exit(0);
}
