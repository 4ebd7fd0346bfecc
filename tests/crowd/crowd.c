/* SPDX-License-Identifier: BSD-3-Clause */
/* crowd.c: ranks that share few cores. While a rank waits, blocking or in a loop of its own, it
 * gives its core to the ranks that have work, so that no operation takes as long as a time slice
 * (milliseconds): each is held to a few turns of all ranks of a core, in units of what handing over
 * the core costs on this machine just now.
 *
 * EVERYTHING, so that puts, atomics and Longs need the target: nothing of them is done by a copy.
 *
 *     crowd CORES     rank r runs on core r % CORES of those that the job may use
 */
#define GASNET_SEGMENT_EVERYTHING 1
#include <gasnet.h>
#include <gasnet_coll.h>
#include <gasnet_ratomic.h>
#include <stdbool.h>

#include "conformance/check.h"
#include "conformance/ex.h"
#include "crowd/handover.h"

enum {
    REQUEST = 200,
    REQUEST_BODY,
    REPLY,
    TELL_ADDRESS,
    FLOOD,
    FLOOD_END,
};
enum {
    BATCHES = 16,
    TRIES = 6,
    LEAVING_BATCHES = 64,
    LOCK_ROUNDS = 4,
    ROUNDS = 12,
    BODY_LEN = 3000,
    DATA_LEN = 20000,
    RANKS_MAX = 16
};
#define SLACK       10   /* limit: this many times the expected turn of all ranks of a core */
#define LATE_NS     20e9 /* all of it takes a second or two */
#define COMPUTES_NS 20e3 /* an operation's own work, on a slow machine */

static check_count replies, told, flood_ends;
static char memory[RANKS_MAX * DATA_LEN];
static char *there; /* the next rank's memory */
static gex_AD_t domain;
static unsigned next, ranks, cores;
static double handover_ns, begun_ns;
static bool disturbed; /* rank 0: others have been using the machine */

/* ---- messages -------------------------------------------------------------------------------- */

static void on_request(gex_Token_t token) { gex_AM_ReplyShort0(token, REPLY, 0); }

static void on_request_body(gex_Token_t token, void *body, size_t len)
{
    (void)body, (void)len;
    gex_AM_ReplyShort0(token, REPLY, 0);
}

static void on_reply(gex_Token_t token)
{
    (void)token;
    check_add(&replies, 1);
}

static void on_address(gex_Token_t token, gex_AM_Arg_t high, gex_AM_Arg_t low)
{
    (void)token;
    there = (char *)(uintptr_t)((uint64_t)(uint32_t)high << 32 | (uint32_t)low);
    check_add(&told, 1);
}

static void on_flood(gex_Token_t token) { (void)token; }

static void on_flood_end(gex_Token_t token)
{
    (void)token;
    check_add(&flood_ends, 1);
}

#define BOTH(kind) (GEX_FLAG_AM_##kind | GEX_FLAG_AM_REQUEST)
static gex_AM_Entry_t handlers[] = {
    { REQUEST, (gex_AM_Fn_t)on_request, BOTH(SHORT), 0, NULL, NULL },
    { REQUEST_BODY, (gex_AM_Fn_t)on_request_body, BOTH(MEDLONG), 0, NULL, NULL },
    { REPLY, (gex_AM_Fn_t)on_reply, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REPLY, 0, NULL, NULL },
    { TELL_ADDRESS, (gex_AM_Fn_t)on_address, BOTH(SHORT), 2, NULL, NULL },
    { FLOOD, (gex_AM_Fn_t)on_flood, BOTH(SHORT), 0, NULL, NULL },
    { FLOOD_END, (gex_AM_Fn_t)on_flood_end, BOTH(SHORT), 0, NULL, NULL },
};

/* ---- operations: each rank does them at the same time, with the next rank or with all -------- */

static unsigned replies_wanted;

static void ask(unsigned rank)
{
    gex_AM_RequestShort0(ex_tm, rank, REQUEST, 0);
    CHECK_WAIT(replies, ++replies_wanted);
}

static void short_blockuntil(void) { ask(next); }

static void short_poll_loop(void)
{
    gex_AM_RequestShort0(ex_tm, next, REQUEST, 0);
    replies_wanted++;
    while (check_counted(&replies) < replies_wanted)
        gasnet_AMPoll();
}

static void medium(void)
{
    gex_AM_RequestMedium0(ex_tm, next, REQUEST_BODY, memory, BODY_LEN, GEX_EVENT_NOW, 0);
    CHECK_WAIT(replies, ++replies_wanted);
}

static void longs(void)
{
    gex_AM_RequestLong0(ex_tm, next, REQUEST_BODY, memory, BODY_LEN, there + DATA_LEN,
                        GEX_EVENT_NOW, 0);
    CHECK_WAIT(replies, ++replies_wanted);
}

/* ---- a put and a remote atomic that the target has to see to --------------------------------- */

static void set_blocking(void) { gasnet_memset(next, there + 2 * DATA_LEN, 1, BODY_LEN); }

static void set_test_loop(void)
{
    gasnet_handle_t event = gasnet_memset_nb(next, there + 2 * DATA_LEN, 2, BODY_LEN);
    while (gasnet_try_syncnb(event) != GASNET_OK) {
    }
}

static void set_implicit(void)
{
    gasnet_memset_nbi(next, there + 2 * DATA_LEN, 3, BODY_LEN);
    gasnet_wait_syncnbi_puts();
}

static gex_Event_t add(uint32_t *old)
{
    return gex_AD_OpNB_U32(domain, old, next, there + 3 * DATA_LEN, GEX_OP_FADD, 1, 0, 0);
}

static void atomic_wait(void)
{
    uint32_t old;
    gex_Event_Wait(add(&old));
}

static void atomic_test_loop(void)
{
    uint32_t old;
    gex_Event_t event = add(&old);
    while (gex_Event_Test(event) != GASNET_OK)
        gasnet_AMPoll();
}

static void events_some(void)
{
    uint32_t old[3];
    gex_Event_t events[3] = { add(&old[0]), add(&old[1]), add(&old[2]) };
    gex_Event_WaitSome(events, 3, 0);
    gex_Event_WaitAll(events, 3, 0);
}

/* ---- all ranks together ---------------------------------------------------------------------- */

static void barrier_ex(void) { ex_barrier(); }
static void barrier_g1(void) { check_barrier(); }

static void barrier_try_loop(void)
{
    gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);
    while (gasnet_barrier_try(0, GASNET_BARRIERFLAG_ANONYMOUS) == GASNET_ERR_NOT_READY) {
    }
}

static void broadcast(void)
{
    gex_Event_Wait(gex_Coll_BroadcastNB(ex_tm, 0, memory, memory + DATA_LEN, DATA_LEN, 0));
}

static void reduce(void)
{
    static uint64_t mine[4], sum[4];
    gex_Event_Wait(gex_Coll_ReduceToAllNB(ex_tm, sum, mine, GEX_DT_U64, sizeof mine[0], 4,
                                          GEX_OP_ADD, NULL, NULL, 0));
}

static void reduce_test_loop(void)
{
    static uint64_t mine[4], sum[4];
    gex_Event_t event = gex_Coll_ReduceToAllNB(ex_tm, sum, mine, GEX_DT_U64, sizeof mine[0], 4,
                                               GEX_OP_ADD, NULL, NULL, 0);
    while (gex_Event_Test(event) != GASNET_OK)
        gasnet_AMPoll();
}

static void all_to_all(void)
{
    static char to[RANKS_MAX * 64], from[RANKS_MAX * 64];
    gex_Event_Wait(pen_Coll_AllToAllNB(ex_tm, to, from, 64, 0));
}

static void split(void)
{
    gex_TM_t team = GEX_TM_INVALID;
    gex_TM_Split(&team, ex_tm, check_rank % 2, check_rank, NULL, 0, GEX_FLAG_TM_NO_SCRATCH);
    gex_Coll_BarrierBlocking(team, 0);
    gex_TM_Destroy(team, NULL, 0);
}

/* ---- threads that want one lock, each waiting for a message as well -------------------------- */

static gex_HSL_t lock = GEX_HSL_INITIALIZER;
static unsigned locked;

static void locks_of_a_thread(unsigned thread_i)
{
    (void)thread_i;
    for (unsigned i = 0; i < LOCK_ROUNDS; i++) {
        gex_HSL_Lock(&lock);
        locked++;
        gex_HSL_Unlock(&lock);
        uint32_t old;
        gex_Event_Wait(add(&old));
    }
}

static void locks(void) { check_on_threads(locks_of_a_thread); }

/* ---- what each of them may take -------------------------------------------------------------- */

typedef struct operation {
    const char *name;
    void (*run)(void);
    double turns; /* turns of all ranks of a core, if each does its part at once */
    unsigned rounds;
} operation;

static const operation operations[] = {
    { "Short, GASNET_BLOCKUNTIL", short_blockuntil, 2, ROUNDS },
    { "Short, loop of gasnet_AMPoll", short_poll_loop, 2, ROUNDS },
    { "Medium", medium, 2, ROUNDS },
    { "Long", longs, 6, ROUNDS },
    { "memset", set_blocking, 2, ROUNDS },
    { "memset, loop of gasnet_try_syncnb", set_test_loop, 2, ROUNDS },
    { "memset, implicit", set_implicit, 2, ROUNDS },
    { "fetch-and-add", atomic_wait, 2, ROUNDS },
    { "fetch-and-add, loop of tests", atomic_test_loop, 2, ROUNDS },
    { "several events", events_some, 4, ROUNDS },
    { "barrier", barrier_ex, 2, ROUNDS },
    { "GASNet-1 barrier", barrier_g1, 2, ROUNDS },
    { "GASNet-1 barrier, loop of tries", barrier_try_loop, 2, ROUNDS },
    { "broadcast of 20 kB", broadcast, 8, ROUNDS },
    { "reduction", reduce, 8, ROUNDS },
    { "reduction, loop of tests", reduce_test_loop, 8, ROUNDS },
    { "all to all", all_to_all, 8, ROUNDS },
    { "making and ending a team", split, 30, 3 },
    /* every rank's threads are as many ranks more */
    { "locks and threads", locks, 4.0 * CHECK_THREADS *CHECK_THREADS *LOCK_ROUNDS, 1 },
};

static unsigned ranks_of_a_core(void) { return (ranks + cores - 1) / cores; }

static double limit_ns(double turns)
{
    return SLACK * turns * ranks_of_a_core() * handover_ns + COMPUTES_NS;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* A typical result: neither the best one nor one that other programs disturbed. */
static double quartile(double *times_ns)
{
    qsort(times_ns, BATCHES, sizeof *times_ns, by_value);
    return times_ns[BATCHES / 4];
}

/* The price of a hand-over just now. All other ranks fall asleep meanwhile. */
static void weigh(void)
{
    ex_barrier();
    if (check_rank == 0) {
        handover_pause_ms(10);
        disturbed = handover_is_disturbed() || disturbed;
        handover_ns = handover_measure_ns();
    }
    ex_barrier();
}

/* Rank 0 knows; all hear. */
static bool agree(bool yes)
{
    static char verdict;
    verdict = (char)yes;
    gex_Event_Wait(gex_Coll_BroadcastNB(ex_tm, 0, &verdict, &verdict, sizeof verdict, 0));
    return verdict != 0;
}

/* Against others who never wait, a core that is given away comes back a time slice later. */
static void give_up(void)
{
    if (check_rank == 0)
        fprintf(stderr, "crowd: others use this machine; what waiting takes cannot be judged\n");
    gasnet_exit(77);
}

/* Repeats a measurement, which returns its time on rank 0, a few times until the result is good:
 * other programs may use the machine, too. */
static void judge(const char *name, double (*took)(const void *what), const void *what,
                  double turns)
{
    bool good = false;
    for (unsigned i = 0; i < TRIES && !good; i++) {
        if (i > 0)
            weigh();
        double took_ns = took(what);
        good = took_ns <= limit_ns(turns);
        if (check_rank == 0)
            printf("%-36s %9.1f us, at most %9.1f%s\n", name, took_ns / 1e3, limit_ns(turns) / 1e3,
                   good ? "" : "; once more");
        good = agree(good);
        if (!good && i > 0 && agree(disturbed))
            give_up();
    }
    CHECK(good, "waiting: who waits gives its core to those who have work");
    if (agree(handover_now_ns() - begun_ns > LATE_NS)) {
        weigh();
        if (agree(disturbed))
            give_up();
        CHECK(false, "waiting: no operation takes so long");
    }
}

static double batches(const void *what)
{
    const operation *op = (const operation *)what;
    double times_ns[BATCHES];
    for (unsigned batch = 0; batch < BATCHES; batch++) {
        ex_barrier();
        double begin_ns = handover_now_ns();
        for (unsigned round = 0; round < op->rounds; round++)
            op->run();
        ex_barrier();
        times_ns[batch] = (handover_now_ns() - begin_ns) / op->rounds;
    }
    return quartile(times_ns);
}

/* ---- special situations ---------------------------------------------------------------------- */

/* All ranks wait long enough to sleep; then rank 0 asks them one after another. */
static double sleepers(const void *what)
{
    (void)what;
    double times_ns[BATCHES];
    for (unsigned batch = 0; batch < BATCHES; batch++) {
        ex_barrier();
        if (check_rank == 0) {
            handover_pause_ms(3);
            double begin_ns = handover_now_ns();
            for (unsigned rank = 1; rank < ranks; rank++)
                ask(rank);
            times_ns[batch] = (handover_now_ns() - begin_ns) / (ranks - 1);
        }
        ex_barrier();
    }
    return check_rank == 0 ? quartile(times_ns) : 0;
}

/* Rank 1 floods rank 0 from another core, so that every poll of rank 0 finds messages. But rank 0
 * waits for a rank that waits for rank 0's core. */
static double busy_peer(const void *what)
{
    (void)what;
    double times_ns[BATCHES];
    ex_barrier();
    if (check_rank == 0) {
        for (unsigned batch = 0; batch < BATCHES; batch++) {
            double begin_ns = handover_now_ns();
            for (unsigned round = 0; round < ROUNDS; round++)
                ask(2);
            times_ns[batch] = (handover_now_ns() - begin_ns) / ROUNDS;
        }
        gex_AM_RequestShort0(ex_tm, 1, FLOOD_END, 0);
    }
    while (check_rank == 1 && check_counted(&flood_ends) == 0) {
        gex_AM_RequestShort0(ex_tm, 0, FLOOD, 0);
        gasnet_AMPoll();
    }
    ex_barrier();
    if (check_rank == 1) /* for the next time */
        atomic_store(&flood_ends, 0);
    ex_barrier();
    return check_rank == 0 ? quartile(times_ns) : 0;
}

/* Odd ranks have returned from main and still answer. It runs once, because they cannot be asked to
 * try again. */
static void those_who_leave(void)
{
    if (next % 2 == 0 || check_rank % 2 != 0)
        return;
    double times_ns[LEAVING_BATCHES];
    for (unsigned batch = 0; batch < LEAVING_BATCHES; batch++) {
        double begin_ns = handover_now_ns();
        for (unsigned round = 0; round < ROUNDS; round++)
            short_blockuntil();
        times_ns[batch] = (handover_now_ns() - begin_ns) / ROUNDS;
    }
    qsort(times_ns, LEAVING_BATCHES, sizeof *times_ns, by_value);
    double took_ns = times_ns[LEAVING_BATCHES / 8];
    if (check_rank != 0)
        return;
    printf("%-36s %9.1f us, at most %9.1f\n", "ranks that leave", took_ns / 1e3, limit_ns(2) / 1e3);
    if (took_ns > limit_ns(2) && disturbed)
        give_up();
    CHECK(took_ns <= limit_ns(2), "waiting: who leaves serves its peers");
}

/* ---- all of it ------------------------------------------------------------------------------- */

static void prepare(void)
{
    begun_ns = handover_now_ns();
    ranks = (unsigned)check_size;
    next = check_next(1);
    CHECK(ranks >= 2 && ranks <= RANKS_MAX, "this test: 2 to 16 ranks");
    const uint64_t mine = (uint64_t)(uintptr_t)memory;
    gex_AM_RequestShort2(ex_tm, check_previous(1), TELL_ADDRESS, 0, (gex_AM_Arg_t)(mine >> 32),
                         (gex_AM_Arg_t)(uint32_t)mine);
    CHECK_WAIT(told, 1);
    gex_AD_Create(&domain, ex_tm, GEX_DT_U32, GEX_OP_FADD, 0);
    ex_barrier();
    weigh();
    if (check_rank == 0)
        printf("%u ranks, %u cores, a core changes hands in %.2f us\n", ranks, cores,
               handover_ns / 1e3);
}

int main(int argc, char **argv)
{
    cores = argc == 2 ? (unsigned)strtoul(argv[1], NULL, 10) : 0;
    if (cores == 0 || handover_pin(cores) != 0) {
        fprintf(stderr, "crowd: needs %s cores\n", argc == 2 ? argv[1] : "CORES, a number of");
        return 77;
    }
    ex_begin(&argc, &argv, GEX_FLAG_USES_GASNET1);
    ex_register(handlers, sizeof handlers / sizeof handlers[0]);
    CHECK_EQ(gex_Segment_Attach(&ex_segment, ex_tm, GASNET_PAGESIZE), GASNET_OK,
             "GASNet-EX Segments: gex_Segment_Attach succeeds");
    prepare();
    for (size_t i = 0; i < sizeof operations / sizeof operations[0]; i++)
        judge(operations[i].name, batches, &operations[i],
              operations[i].turns + 2.0 / operations[i].rounds);
    /* waking an idle core is the system's; beside a flood rank 0's turn serves many messages */
    const double more = 100e3 / (SLACK * handover_ns);
    judge("ranks that sleep", sleepers, NULL, 2 + more);
    if (cores == 2 && ranks > 2)
        judge("beside a flood", busy_peer, NULL, 2 + more);
    gex_AD_Destroy(domain);
    ex_barrier();
    those_who_leave();
    return 0;
}
