/* SPDX-License-Identifier: BSD-3-Clause */
/* main.c: options, the run, and the report. See shadow.h. */
#include "shadow.h"

#include <getopt.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROUND_OPS = 256, SHARE_RULE_OPS = 100000 };

shadow_state shadow;

static const char usage[] =
    "usage: %s [options], under penstock run\n"
    "  --seed N       which operations (1)\n"
    "  --ops N        how many, of all ranks together (1000000)\n"
    "  --threads N    threads of each rank (1; more in PAR only)\n"
    "  --memory M     mixed, arena or own: whose memory is shared (mixed)\n"
    "  --burst N      operations of one octave of lengths in a row, at most (32)\n"
    "  --phase-ops N  operations of a thread between two meetings of all ranks (4096)\n"
    "  --stall N      seconds without progress that are a hang (60)\n"
    "  --quiet        one line when all is well\n";

/* ---- options --------------------------------------------------------------------------------- */

static uint64_t number(const char *text, uint64_t least, uint64_t most)
{
    char *end;
    uint64_t value = strtoull(text, &end, 0);
    if (*text == '\0' || *end != '\0' || value < least || value > most) {
        fprintf(stderr, "shadow: '%s' is not a number from %" PRIu64 " to %" PRIu64 "\n", text,
                least, most);
        exit(2);
    }
    return value;
}

static memory_mode memory_named(const char *name)
{
    if (strcmp(name, "arena") == 0)
        return MEMORY_ARENA;
    return strcmp(name, "own") == 0 ? MEMORY_OWN : MEMORY_MIXED;
}

static void option(options *o, int which, const char *value)
{
    switch (which) {
    case 's':
        o->seed = number(value, 0, UINT64_MAX);
        break;
    case 'o':
        o->ops = number(value, 1, UINT64_MAX / 2);
        break;
    case 't':
        o->threads = (unsigned)number(value, 1, THREADS_MAX);
        break;
    case 'm':
        o->memory = memory_named(value);
        break;
    case 'b':
        o->burst = (unsigned)number(value, 1, 32);
        break;
    case 'p':
        o->phase_ops = (unsigned)number(value, 1, 1u << 20);
        break;
    case 'l':
        o->stall = (unsigned)number(value, 1, 3600);
        break;
    case 'q':
        o->quiet = true;
        break;
    default:
        fprintf(stderr, usage, shadow.program);
        exit(2);
    }
}

static void options_read(int argc, char **argv)
{
    static const struct option names[] = { { "seed", required_argument, NULL, 's' },
                                           { "ops", required_argument, NULL, 'o' },
                                           { "threads", required_argument, NULL, 't' },
                                           { "memory", required_argument, NULL, 'm' },
                                           { "burst", required_argument, NULL, 'b' },
                                           { "phase-ops", required_argument, NULL, 'p' },
                                           { "stall", required_argument, NULL, 'l' },
                                           { "quiet", no_argument, NULL, 'q' },
                                           { NULL, 0, NULL, 0 } };
    shadow.options = (options){
        .seed = 1, .ops = 1000000, .threads = 1, .burst = 32, .phase_ops = 4096, .stall = 60
    };
    int which;
    while ((which = getopt_long(argc, argv, "", names, NULL)) != -1)
        option(&shadow.options, which, optarg);
#if !defined(GASNET_PAR)
    shadow.options.threads = 1;
#endif
}

/* ---- a thread's run -------------------------------------------------------------------------- */

static unsigned share_sum(unsigned first, unsigned last)
{
    unsigned sum = 0;
    for (unsigned i = first; i < last; i++)
        sum += kinds[i].share;
    return sum;
}

/* Draws a kind by its share; kinds that are ahead of their share have to wait. */
static unsigned kind_draw(worker *w)
{
    const unsigned all = share_sum(0, kind_count), alone = share_sum(0, kind_alone_count);
    for (;;) {
        unsigned at = random_below(&w->random, alone), k = 0;
        while (at >= kinds[k].share)
            at -= kinds[k++].share;
        if (w->counts[k] * all <= (w->op + ROUND_OPS / 2) * kinds[k].share)
            return k;
    }
}

static unsigned together_ops(unsigned k, unsigned round_ops)
{
    return (round_ops * kinds[k].share + share_sum(0, kind_count) - 1) / share_sum(0, kind_count);
}

/* Makes `ops` operations, first the kinds that a thread makes alone, then the collective ones. */
static void round_run(worker *w, unsigned ops)
{
    const uint64_t end = w->op + ops;
    unsigned together = 0;
    for (unsigned k = kind_alone_count; k < kind_count; k++)
        together += together_ops(k, ops);
    if (together > ops || ops < ROUND_OPS)
        together = 0;
    while (w->op + together < end) {
        w->kind = kind_draw(w);
        kinds[w->kind].run(w, (unsigned)(end - together - w->op));
        pending_finish_some(w);
    }
    for (unsigned k = kind_alone_count; k < kind_count && together > 0; k++) {
        w->kind = k;
        kinds[k].run(w, together_ops(k, ops));
    }
}

static void *worker_run(void *argument)
{
    worker *w = argument;
    const unsigned threads = shadow.size * shadow.options.threads;
    const uint64_t ops = (shadow.options.ops + threads - 1) / threads;
    while (w->op < ops) {
        uint64_t left = ops - w->op;
        const uint64_t end =
            w->op + (left < shadow.options.phase_ops ? left : shadow.options.phase_ops);
        while (w->op < end)
            round_run(w, (unsigned)(end - w->op < ROUND_OPS ? end - w->op : ROUND_OPS));
        phase_end(w);
    }
    return NULL;
}

static void workers_run(void)
{
#if defined(GASNET_PAR)
    pthread_t threads[THREADS_MAX] = { 0 };
    for (unsigned i = 1; i < shadow.options.threads; i++)
        if (pthread_create(&threads[i], NULL, worker_run, &shadow.workers[i]) != 0)
            mismatch_at(shadow.rank, i, 0, "pthread_create failed");
    (void)worker_run(&shadow.workers[0]);
    for (unsigned i = 1; i < shadow.options.threads; i++)
        pthread_join(threads[i], NULL);
#else
    (void)worker_run(&shadow.workers[0]);
#endif
}

/* ---- the report ------------------------------------------------------------------------------ */

static void report_put(const worker *w)
{
    report mine = { .ops = w->op, .remote = w->remote };
    memcpy(mine.counts, w->counts, sizeof mine.counts);
    memcpy(mine.lens, w->lens, sizeof mine.lens);
    (void)gex_RMA_PutBlocking(shadow.world, 0, row_of(0, shadow.rank, w->index), &mine, sizeof mine,
                              0);
}

static report report_sum(void)
{
    report sum = { 0 };
    for (gex_Rank_t rank = 0; rank < shadow.size; rank++)
        for (unsigned thread = 0; thread < shadow.options.threads; thread++) {
            report one;
            memcpy(&one, row_of(0, rank, thread), sizeof one);
            sum.ops += one.ops;
            sum.remote += one.remote;
            for (unsigned k = 0; k < kind_count; k++)
                sum.counts[k] += one.counts[k];
            for (unsigned i = 0; i <= OCTAVES; i++)
                sum.lens[i] += one.lens[i];
        }
    return sum;
}

static void report_print(const report *r, double seconds)
{
    const double percent = 100.0 / (double)r->ops;
    for (unsigned k = 0; k < kind_count && !shadow.options.quiet; k++)
        printf("  %-16s %12" PRIu64 "  %5.2f %%\n", kinds[k].name, r->counts[k],
               percent * (double)r->counts[k]);
    for (unsigned i = 0; i <= OCTAVES && !shadow.options.quiet; i++)
        printf("  from %7u bytes %9" PRIu64 "  %5.2f %%\n", 1u << i, r->lens[i],
               percent * (double)r->lens[i]);
    printf("shadow: %" PRIu64 " operations checked, 0 mismatches, seed %" PRIu64
           ", %u ranks, %u threads each, %.1f %% to other ranks, %.0f a second\n",
           r->ops, shadow.options.seed, shadow.size, shadow.options.threads,
           percent * (double)r->remote, (double)r->ops / seconds);
}

/* Checks that the run had all kinds of operations. Returns 0 if so. */
static int report_judge(const report *r)
{
    int faults = 0;
    if (r->ops < SHARE_RULE_OPS)
        return 0;
    for (unsigned k = 0; k < kind_count; k++)
        if (r->counts[k] * 1000 < r->ops * SHARE_MIN) {
            fprintf(stderr, "shadow: less than %u of 1000 operations are '%s'\n", SHARE_MIN,
                    kinds[k].name);
            faults = 1;
        }
    if (shadow.size > 1 && r->remote * 2 < r->ops) {
        fprintf(stderr, "shadow: less than half of the operations go to other ranks\n");
        faults = 1;
    }
    return faults;
}

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int report_all(double begin)
{
    int faults = 0;
    for (unsigned i = 0; i < shadow.options.threads; i++)
        report_put(&shadow.workers[i]);
    gex_Event_Wait(gex_Coll_BarrierNB(shadow.world, 0));
    if (shadow.rank == 0) {
        report all = report_sum();
        report_print(&all, now_s() - begin);
        faults = report_judge(&all);
    }
    gex_Event_Wait(gex_Coll_BarrierNB(shadow.world, 0));
    return faults;
}

/* ---- start ----------------------------------------------------------------------------------- */

static void start(int *argc, char ***argv)
{
    shadow.program = (*argv)[0];
    if (gex_Client_Init(&shadow.client, &shadow.endpoint, &shadow.world, "SHADOW", argc, argv,
                        GEX_FLAG_USES_GASNET1) != GASNET_OK) {
        fprintf(stderr, "shadow: gex_Client_Init failed\n");
        exit(2);
    }
    options_read(*argc, *argv);
    shadow.rank = gex_TM_QueryRank(shadow.world);
    shadow.size = gex_TM_QuerySize(shadow.world);
    if (shadow.size > RANKS_MAX) {
        fprintf(stderr, "shadow: at most %d ranks\n", RANKS_MAX);
        gasnet_exit(2);
    }
    shadow.pool = malloc(POOL_LEN);
    shadow.workers = calloc(shadow.options.threads, sizeof *shadow.workers);
    if (shadow.pool == NULL || shadow.workers == NULL)
        gasnet_exit(2);
    random_state random = { shadow.options.seed };
    for (size_t at = 0; at < POOL_LEN; at += sizeof(uint64_t)) {
        uint64_t bytes = random_next(&random);
        memcpy(shadow.pool + at, &bytes, sizeof bytes);
    }
}

int main(int argc, char **argv)
{
    start(&argc, &argv);
    for (unsigned i = 0; i < shadow.options.threads; i++)
        shadow.workers[i].index = i;
    am_register();
    vis_told_register();
    memory_open();
    endpoints_open();
    for (unsigned i = 0; i < shadow.options.threads; i++)
        model_open(&shadow.workers[i]);
    teams_open();
    atomics_open();
    watch_start();
    const double begin = now_s();
    workers_run();
    int faults = report_all(begin);
    atomics_close();
    teams_close();
    endpoints_close();
    for (unsigned i = 0; i < shadow.options.threads; i++)
        model_close(&shadow.workers[i]);
    free(shadow.pool);
    return faults; /* the workers stay, since the watch looks at them until the end */
}
