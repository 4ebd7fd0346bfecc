/* SPDX-License-Identifier: BSD-3-Clause */
/* main.c: every built-in conduit, in jobs of several sizes and with its odder settings, against
 * every test of the contract.
 *
 *     conduit_contract [threads] [word]   `threads`: only the threaded tests; word: tests whose
 *                                         name has it
 *     conduit_contract liars [word]       conduits that break a promise have to be found
 *     PEN_CONTRACT_CONDUIT=name           that conduit only, also if it is a module
 */
#include "contract.h"

#include "conduits/shm/shm.h"
#include "support/bounded.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* 32-bit counters wrap after 4096 frames: past the first lap of every ring. */
static void start_near_wrap(void *config) { ((shm_config *)config)->position_start = 0xfffff000u; }

static void start_unfenced(void *config) { ((shm_config *)config)->unfenced = true; }

static void start_fenced(void *config) { ((shm_config *)config)->fenced = true; }

/* ---- a network that never says "full", and the window around it ---- */

static void start_least(void *config)
{
    *(bounded_config *)config =
        (bounded_config){ .frame_max = 4096, .grain = 4352, .overhead = 64, .units = 9 };
}

static void start_late(void *config)
{
    *(bounded_config *)config = bounded_defaults;
    ((bounded_config *)config)->late = 5;
}

static void start_short(void *config)
{
    *(bounded_config *)config =
        (bounded_config){ .frame_max = 65536, .grain = 64, .overhead = 8, .units = 240 };
}

/* Variants besides the defaults. A conduit needs rows here only if the defaults leave one of its
 * paths untested. */
static const struct variant {
    const char *conduit, *name;
    pen_peer ranks;
    const char *environment[4];
    void (*adjust)(void *config);
    enum {
        ANYHOW,
        THREADS_ONLY, /* the setting has no effect in one thread */
        NO_THREADS,   /* takes long, and covers the same paths in many threads */
    } threads;
} variants[] = {
    { "smp",
      "channels woken by the bell",
      3,
      { "PENSTOCK_SMP_EAGER=0", "PENSTOCK_SMP_PARK=4" },
      NULL,
      ANYHOW },
    { "smp",
      "two channels, claimed",
      5,
      { "PENSTOCK_SMP_CHANNELS=2", "PENSTOCK_SMP_PARK=4" },
      NULL,
      ANYHOW },
    { "smp", "parking at once", 12, { "PENSTOCK_SMP_PARK=1" }, NULL, ANYHOW },
    { "smp",
      "parking, barriers in vain",
      12,
      { "PENSTOCK_SMP_PARK=1" },
      start_unfenced,
      THREADS_ONLY },
    { "smp", "counters about to wrap", 2, { NULL }, start_near_wrap, ANYHOW },
    { "smp",
      "claimed channels about to wrap",
      3,
      { "PENSTOCK_SMP_CHANNELS=1" },
      start_near_wrap,
      ANYHOW },
    { "smp",
      "without membarrier",
      3,
      { "PENSTOCK_SMP_EAGER=0", "PENSTOCK_SMP_PARK=2" },
      start_fenced,
      ANYHOW },
    { "extoll",
      "sectioned, static, the least mailbox",
      3,
      { "PENSTOCK_EXTOLL_MODE=sectioned", "PENSTOCK_EXTOLL_CREDIT_POLICY=static",
        "PENSTOCK_EXTOLL_CREDIT_QUOTA=3" },
      NULL,
      NO_THREADS },
    { "extoll",
      "activity, the least mailbox",
      5,
      { "PENSTOCK_EXTOLL_CREDIT_QUOTA=3" },
      NULL,
      NO_THREADS },
    { "extoll",
      "loan, a small mailbox, long slots",
      4,
      { "PENSTOCK_EXTOLL_CREDIT_POLICY=loan", "PENSTOCK_EXTOLL_CREDIT_QUOTA=12",
        "PENSTOCK_EXTOLL_SLOT=128" },
      NULL,
      ANYHOW },
    { "extoll",
      "a card with faults, the least mailbox",
      3,
      { "PENSTOCK_EXTOLL_CREDIT_QUOTA=3", "PENSTOCK_EXTOLL_FAULT_FULL=5",
        "PENSTOCK_EXTOLL_FAULT_LATE=3", "PENSTOCK_EXTOLL_NOTIFICATIONS=8" },
      NULL,
      NO_THREADS },
    { "extoll",
      "no memory to register",
      3,
      { "PENSTOCK_EXTOLL_FAULT_REGISTER=1" },
      NULL,
      NO_THREADS },
    { "portals", "four tokens", 3, { "PENSTOCK_PORTALS_TOKENS=4" }, NULL, ANYHOW },
    { "portals",
      "local memory by firehose",
      3,
      { "PENSTOCK_PORTALS_LOCAL=firehose", "GASNET_FIREHOSE_MAXVICTIM_R=32" },
      NULL,
      ANYHOW },
    { "portals",
      "local memory registered for each operation",
      3,
      { "PENSTOCK_PORTALS_LOCAL=temporary" },
      NULL,
      NO_THREADS },
    { "portals", "local memory copied", 3, { "PENSTOCK_PORTALS_LOCAL=bounce" }, NULL, ANYHOW },
    { "portals", "room that is lent", 4, { "PENSTOCK_PORTALS_CREDITS=loan" }, NULL, ANYHOW },
    { "portals", "no credits", 3, { "PENSTOCK_PORTALS_CREDITS=disable" }, NULL, ANYHOW },
    { "portals", "a long window", 3, { "PENSTOCK_PORTALS_WINDOW=1M" }, NULL, NO_THREADS },
    { "bounded", "three frames for each lane", 3, { NULL }, start_least, ANYHOW },
    { "bounded", "frames late and out of order", 4, { NULL }, start_late, ANYHOW },
    { "bounded", "an inbox shorter than a frame", 3, { NULL }, start_short, NO_THREADS },
    { "ofi", "the least window", 5, { "PENSTOCK_OFI_WINDOW=64K" }, NULL, NO_THREADS },
    { "ucx", "tcp", 3, { "PENSTOCK_UCX_TLS=tcp,self" }, NULL, ANYHOW },
    { "ucx", "shared memory", 3, { "PENSTOCK_UCX_TLS=posix,cma,self" }, NULL, ANYHOW },
    { "ucx",
      "shared memory, the least window",
      5,
      { "PENSTOCK_UCX_TLS=posix,cma,self", "PENSTOCK_UCX_WINDOW=64K" },
      NULL,
      NO_THREADS },
    { "ucx",
      "tcp, puts and gets",
      3,
      { "PENSTOCK_UCX_TLS=tcp,self", "PENSTOCK_UCX_RMA=yes" },
      NULL,
      ANYHOW },
    { "ucx",
      "shared memory, puts and gets",
      3,
      { "PENSTOCK_UCX_TLS=posix,cma,self", "PENSTOCK_UCX_RMA=yes" },
      NULL,
      ANYHOW },
    { "mpi-ompi", "the least window", 5, { "PENSTOCK_MPI_WINDOW=64K" }, NULL, NO_THREADS },
    { "udp", "hidden", 3, { "PENSTOCK_UDP_SECURITY=encrypt" }, NULL, ANYHOW },
    { "udp", "unprotected", 3, { "PENSTOCK_UDP_SECURITY=none" }, NULL, ANYHOW },
    { "udp", "in trains", 3, { "PENSTOCK_UDP_DATAGRAM=1472" }, NULL, ANYHOW },
    { "udp",
      "short datagrams, none cut or joined",
      3,
      { "PENSTOCK_UDP_DATAGRAM=1200", "PENSTOCK_UDP_SEGMENT=no" },
      NULL,
      ANYHOW },
    { "udp",
      "two connected sockets for all, nothing kept",
      8,
      { "PENSTOCK_UDP_HOT=2", "PENSTOCK_UDP_BUNDLE=no" },
      NULL,
      ANYHOW },
    { "udp",
      "the least buffer, no connected sockets",
      3,
      { "PENSTOCK_UDP_HOT=0", "PENSTOCK_UDP_RECEIVE_BUFFER=64K" },
      NULL,
      ANYHOW },
};

static const pen_peer sizes[] = { 1, 2, 3, 8, 33 };
static unsigned run_count;

static void run_test(const struct setup *setup, const contract_test *test, const char *word)
{
    struct job job;
    if (word != NULL && strstr(test->name, word) == NULL)
        return;
    if (test->ranks_max != 0 && setup->ranks > test->ranks_max)
        return;
    printf("%s %u%s%s: %s\n", setup->conduit->name, setup->ranks, setup->name[0] != '\0' ? " " : "",
           setup->name, test->name);
    fflush(stdout); /* the last line names the test if there is a crash */
    job_open(&job, setup);
    test->run(&job);
    if (!test->leaves_frames)
        CHECK(job_delivered(&job) == job_posted(&job));
    job_close(&job);
    run_count++;
}

static void run_list(const struct setup *setup, const contract_test *tests, const char *word)
{
    for (; tests->name != NULL; tests++)
        run_test(setup, tests, word);
}

static void run_setup(const struct setup *setup, bool threads, const char *word)
{
    struct setup one_thread = *setup;
    if (threads) {
        run_list(setup, thread_tests, word);
        return;
    }
    one_thread.view = true;
    run_list(&one_thread, frame_tests, word);
    run_list(&one_thread, lane_tests, word);
    run_list(&one_thread, traffic_tests, word);
    run_list(&one_thread, body_tests, word);
    run_list(&one_thread, word_tests, word);
}

static void run_conduit(const pen_conduit *conduit, bool threads, const char *word)
{
    for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        const char *why_not = NULL;
        struct setup setup = { .conduit = conduit, .name = "", .ranks = sizes[i] };
        if (conduit->score(sizes[i], &why_not) != 0)
            run_setup(&setup, threads, word);
        else
            printf("%s %u: skipped: %s\n", conduit->name, sizes[i], why_not);
    }
    for (unsigned i = 0; i < sizeof(variants) / sizeof(variants[0]); i++) {
        const struct variant *variant = &variants[i];
        struct setup setup = { .conduit = conduit,
                               .name = variant->name,
                               .ranks = variant->ranks,
                               .adjust = variant->adjust };
        memcpy(setup.environment, variant->environment, sizeof(variant->environment));
        if (strcmp(variant->conduit, conduit->name) == 0 &&
            variant->threads != (threads ? NO_THREADS : THREADS_ONLY))
            run_setup(&setup, threads, word);
    }
}

static int run_conduits(bool threads, const char *word)
{
    const char *wanted = getenv("PEN_CONTRACT_CONDUIT");
    const pen_conduit *named = wanted == NULL ? NULL : pen_conduit_find(wanted);
    for (unsigned i = 0; wanted == NULL && pen_builtin_conduits[i] != NULL; i++)
        run_conduit(pen_builtin_conduits[i], threads, word);
    if (named != NULL)
        run_conduit(named, threads, word);
    if (wanted != NULL && strcmp(wanted, pen_conduit_bounded.name) == 0)
        run_conduit(&pen_conduit_bounded, threads, word);
    pen_conduit pair = paired_conduit();
    if (wanted != NULL && strcmp(wanted, pair.name) == 0)
        run_conduit(&pair, threads, word);
    if (run_count == 0) {
        fprintf(stderr, "no conduit called %s, or no test with %s in its name\n",
                wanted == NULL ? "(any)" : wanted, word == NULL ? "(anything)" : word);
        return 1;
    }
    printf("%u passed\n", run_count);
    return 0;
}

int main(int argc, char **argv)
{
    const char *first = argc > 1 ? argv[1] : "", *second = argc > 2 ? argv[2] : NULL;
    if (strcmp(first, "liars") == 0)
        return liars_run(second);
    if (strcmp(first, "threads") == 0)
        return run_conduits(true, second);
    return run_conduits(false, argc > 1 ? first : NULL);
}
