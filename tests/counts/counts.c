/* SPDX-License-Identifier: BSD-3-Clause */
/* counts.c: the cost of the calls in which programs spend their time: instructions, locked
 * instructions and system calls per operation, through the public calls, exactly, against the
 * limits in the table below. Rank 0 measures, rank 1 sends and receives, rank 2 is there to be
 * polled.
 *
 * An operation is made FEW times and MANY times and the difference divided, so that only it is
 * counted; of some repetitions the least counts, which is the one where no ring was due for a
 * credit. With --plant every operation does a little more, and each gate has to notice. */
#include <gasnetex.h>

#include "counts/steps.h"

#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

enum { FEW = 4, MANY = 12, REPEATS = 8 };
enum { PLANTED = 20, REPEATS_PLANTED = 2 };
enum { PARTNER = 1, RANKS = 3 };
enum { HANDLER_SINK = 200, HANDLER_ASK, HANDLER_ANSWER, HANDLER_MEDIUM };
enum { MEDIUM_LEN = 256, LINE_LEN = 64 };
enum { ONE = 1 }; /* the last argument of what handlers count */

/* ---- the limits ------------------------------------------------------------------------------
 *
 * Instructions are what gcc 12 makes of the code; they are lowered whenever the code gets better
 * and never raised. Of other compilers only pass is asked. pass and stretch are what we want; 0: no
 * target of its own. */
#ifdef GASNET_SEQ
#    define MODE              "SEQ"
#    define BY_MODE(seq, par) seq
#else
#    define MODE              "PAR"
#    define BY_MODE(seq, par) par
#endif

typedef enum row_number {
    ROW_SEND,
    ROW_DISPATCH,
    ROW_REPLY,
    ROW_MEDIUM_SEND,
    ROW_MEDIUM_DISPATCH,
    ROW_LINE_SEND,
    ROW_POLL,
    ROW_PUT,
    ROW_SEND_THREADS,
    ROW_REPLY_THREADS,
    ROW_MEDIUM_SEND_THREADS,
    ROWS
} row_number;

/* clang-format off */
static const struct row {
    const char *name;
    int instructions, locked; /* the limits */
    int pass, stretch;
} rows[ROWS] = {
    [ROW_SEND] = { "request Short, 4 arguments", BY_MODE(47, 50), 0, 60, 45 },
    [ROW_DISPATCH] = { "dispatch of it and its handler's call", 52, 0, 60, 45 },
    [ROW_REPLY] = { "reply Short, 4 arguments", BY_MODE(47, 50), 0, 60, 45 },
    [ROW_MEDIUM_SEND] = { "request Medium, 4 arguments, 256 bytes", BY_MODE(183, 199), 0, 0, 0 },
    [ROW_MEDIUM_DISPATCH] = { "dispatch of it and its handler's call", 114, 0, 0, 90 },
    [ROW_LINE_SEND] = { "request Medium, 4 arguments, 64 bytes", BY_MODE(140, 156), 0, 0, 100 },
    [ROW_POLL] = { "poll that finds nothing, 2 peers", BY_MODE(15, 22), 0, 15, 10 },
    [ROW_PUT] = { "blocking put of 8 bytes", BY_MODE(21, 22), 0, 25, 18 }, /* counts for progress */
    /* In PAR, once the process has a second thread: */
    [ROW_SEND_THREADS] = { "the same request Short", 76, 1, 0, 0 },
    [ROW_REPLY_THREADS] = { "the same reply", 74, 1, 0, 0 },
    [ROW_MEDIUM_SEND_THREADS] = { "the same request Medium", 232, 1, 0, 0 },
};
/* clang-format on */

/* A message: sending it, and a poll that finds it and no other. */
enum { LOCKED_PER_MESSAGE = 0, LOCKED_PER_MESSAGE_THREADS = 2 };

/* ---- the job --------------------------------------------------------------------------------- */

static gex_Client_t client;
static gex_EP_t endpoint;
static gex_TM_t team;
static gex_Rank_t me;
static bool plants;
static volatile uint64_t planted;
static int handled;

/* In each rank's segment. order: of rank 0 to its partner; done: the number of the last one. */
typedef struct board {
    volatile uint64_t order, what, count, done;
    uint64_t data[8];
} board;
static board *boards[RANKS];
enum { SEND_SINK, SEND_ASK, SEND_MEDIUM, QUIT };

/* These handlers do almost no work, because their instructions are counted. */
static void handle_sink(gex_Token_t token, gex_AM_Arg_t a, gex_AM_Arg_t b, gex_AM_Arg_t c,
                        gex_AM_Arg_t d)
{
    (void)token, (void)a, (void)b, (void)c;
    handled += d;
}

static void handle_ask(gex_Token_t token, gex_AM_Arg_t a, gex_AM_Arg_t b, gex_AM_Arg_t c,
                       gex_AM_Arg_t d)
{
    handled += d;
    (void)gex_AM_ReplyShort4(token, HANDLER_ANSWER, 0, a, b, c, d);
}

static void handle_answer(gex_Token_t token, gex_AM_Arg_t a, gex_AM_Arg_t b, gex_AM_Arg_t c,
                          gex_AM_Arg_t d)
{
    (void)token, (void)a, (void)b, (void)c, (void)d;
}

static void handle_medium(gex_Token_t token, void *data, size_t len, gex_AM_Arg_t a, gex_AM_Arg_t b,
                          gex_AM_Arg_t c, gex_AM_Arg_t d)
{
    (void)token, (void)data, (void)len, (void)a, (void)b, (void)c;
    handled += d;
}

static void die(const char *what)
{
    fprintf(stderr, "counts: %s\n", what);
    gasnet_exit(1);
}

static void put_word(gex_Rank_t rank, volatile uint64_t *word, uint64_t value)
{
    (void)gex_RMA_PutBlockingVal(team, rank, (void *)(uintptr_t)word, value, sizeof value, 0);
}

/* Makes the partner act without polling meanwhile: its messages are there afterwards. */
static void have_partner(unsigned what, unsigned count)
{
    static uint64_t number;
    board *partner = boards[PARTNER];
    put_word(PARTNER, &partner->what, what);
    put_word(PARTNER, &partner->count, count);
    put_word(PARTNER, &partner->order, ++number);
    while (what != QUIT && boards[0]->done != number)
        sched_yield();
}

static void serve(void)
{
    static const char payload[MEDIUM_LEN] = { 'x' };
    board *mine = boards[PARTNER];
    for (uint64_t number = 1;; number++) {
        while (mine->order != number) {
            gasnet_AMPoll();
            sched_yield();
        }
        if (mine->what == QUIT)
            return;
        for (uint64_t i = 0; i < mine->count; i++) {
            if (mine->what == SEND_SINK)
                (void)gex_AM_RequestShort4(team, 0, HANDLER_SINK, 0, 1, 2, 3, ONE);
            else if (mine->what == SEND_ASK)
                (void)gex_AM_RequestShort4(team, 0, HANDLER_ASK, 0, 1, 2, 3, ONE);
            else
                (void)gex_AM_RequestMedium4(team, 0, HANDLER_MEDIUM, payload, sizeof payload,
                                            GEX_EVENT_NOW, 0, 1, 2, 3, ONE);
        }
        put_word(0, &boards[0]->done, number);
    }
}

/* ---- the operations -------------------------------------------------------------------------- */

/* A few more instructions, one of them locked, and a system call. */
static inline void plant(void)
{
    if (!plants)
        return;
    for (int i = 0; i < PLANTED; i++)
        planted++;
    (void)__atomic_fetch_add(&planted, 1, __ATOMIC_SEQ_CST);
    long number = 39, result; /* getpid */
    __asm__ volatile("syscall" : "=a"(result) : "a"(number) : "rcx", "r11", "memory");
}

#define TIMES_4(operation)  operation operation operation operation
#define TIMES_12(operation) TIMES_4(operation) TIMES_4(operation) TIMES_4(operation)

typedef struct values {
    gex_TM_t team;
    gex_Rank_t rank;
    gex_AM_Arg_t a, b, c, d;
    char *dest, *source;
} values;

/* The compiler knows nothing of them and keeps them in registers, as those of a program that has
 * just computed them; so an operation is counted with the packing of its arguments. */
#define HIDE_TARGET(v) __asm__ volatile("" : "+r"((v).team), "+r"((v).rank))
#define HIDE_ARGS(v)   __asm__ volatile("" : "+r"((v).a), "+r"((v).b), "+r"((v).c), "+r"((v).d))

static inline __attribute__((always_inline)) void send_one(values *v)
{
    HIDE_TARGET(*v);
    HIDE_ARGS(*v);
    (void)gex_AM_RequestShort4(v->team, v->rank, HANDLER_SINK, 0, v->a, v->b, v->c, v->d);
}

static inline __attribute__((always_inline)) void medium_one(values *v)
{
    HIDE_TARGET(*v);
    HIDE_ARGS(*v);
    (void)gex_AM_RequestMedium4(v->team, v->rank, HANDLER_MEDIUM, v->source, MEDIUM_LEN,
                                GEX_EVENT_NOW, 0, v->a, v->b, v->c, v->d);
}

static inline __attribute__((always_inline)) void line_one(values *v)
{
    HIDE_TARGET(*v);
    HIDE_ARGS(*v);
    (void)gex_AM_RequestMedium4(v->team, v->rank, HANDLER_MEDIUM, v->source, LINE_LEN,
                                GEX_EVENT_NOW, 0, v->a, v->b, v->c, v->d);
}

static inline __attribute__((always_inline)) void poll_one(values *v)
{
    (void)v;
    (void)gasnet_AMPoll();
}

static inline __attribute__((always_inline)) void put_one(values *v)
{
    HIDE_TARGET(*v);
    __asm__ volatile("" : "+r"(v->dest), "+r"(v->source));
    (void)gex_RMA_PutBlocking(v->team, v->rank, v->dest, v->source, 8, 0);
}

#define MAKE(name)                                              \
    static __attribute__((noinline)) void name##_few(values v)  \
    {                                                           \
        TIMES_4(name##_one(&v);)                                \
        for (int i = 0; plants && i < FEW; i++)                 \
            plant();                                            \
    }                                                           \
    static __attribute__((noinline)) void name##_many(values v) \
    {                                                           \
        TIMES_12(name##_one(&v);)                               \
        for (int i = 0; plants && i < MANY; i++)                \
            plant();                                            \
    }

MAKE(send)
MAKE(medium)
MAKE(line)
MAKE(poll)
MAKE(put)

static values some_values(void)
{
    static char source[MEDIUM_LEN] = { 'x' };
    return (values){ team, PARTNER, 1, 2, 3, 4, (char *)boards[PARTNER]->data, source };
}

static void keep_least(steps *least, steps now)
{
    if (now.instructions < least->instructions)
        least->instructions = now.instructions;
    if (now.locked < least->locked)
        least->locked = now.locked;
    if (now.calls < least->calls)
        least->calls = now.calls;
}

static steps difference(steps few, steps many)
{
    return (steps){ many.instructions - few.instructions, many.locked - few.locked,
                    many.calls - few.calls };
}

static const steps most = { 1 << 30, 1 << 30, 1 << 30 };

/* Cost of MANY - FEW operations of this rank. */
static steps count_calls(void (*few)(values), void (*many)(values))
{
    values v = some_values();
    steps least_few = most, least_many = most;
    for (int i = 0; i < (plants ? REPEATS_PLANTED : REPEATS); i++) {
        have_partner(SEND_SINK, 0); /* it has polled */
        gasnet_AMPoll();
        steps_begin();
        few(v);
        keep_least(&least_few, steps_end());
        have_partner(SEND_SINK, 0);
        steps_begin();
        many(v);
        keep_least(&least_many, steps_end());
    }
    return difference(least_few, least_many);
}

/* One poll that finds `count` messages. */
static steps count_poll(unsigned what, int count)
{
    steps least = most;
    for (int i = 0; i < (plants ? REPEATS_PLANTED : REPEATS); i++) {
        gasnet_AMPoll();
        handled = 0;
        have_partner(what, (unsigned)count);
        steps_begin();
        gasnet_AMPoll();
        for (int k = 0; plants && k < count; k++)
            plant();
        steps now = steps_end();
        if (handled != count)
            die("one poll did not find all messages");
        keep_least(&least, now);
    }
    return least;
}

static steps count_dispatch(unsigned what)
{
    return difference(count_poll(what, FEW), count_poll(what, MANY));
}

/* ---- the verdict ----------------------------------------------------------------------------- */

static unsigned missed, gates;

static void judge(const char *name, const char *what, double got, double limit)
{
    gates++;
    if (got <= limit)
        return;
    missed++;
    if (!plants)
        fprintf(stderr, "counts: %s (" MODE "): %.1f %s, and the limit is %.0f\n", name, got, what,
                limit);
}

static void report(row_number number, steps counted)
{
    const struct row *row = &rows[number];
    const double times = MANY - FEW;
    double instructions = (double)counted.instructions / times;
    double locked = (double)counted.locked / times, calls = (double)counted.calls / times;
    int limit = row->instructions;
    char target[32] = "";
    if (row->pass != 0)
        snprintf(target, sizeof target, "%d / %d", row->pass, row->stretch);
#if !defined(__GNUC__) || defined(__clang__) || __GNUC__ != 12
    limit = row->pass == 0 ? INT_MAX : row->pass;
#endif
    printf("%-40s %7.1f %6d  %-8s %7.1f %6d %6.1f\n", row->name, instructions, limit, target,
           locked, row->locked, calls);
    judge(row->name, "instructions", instructions, limit);
    judge(row->name, "locked instructions", locked, row->locked);
    judge(row->name, "system calls", calls, 0);
}

static void judge_message(steps send, int limit)
{
    double locked = (double)send.locked / (MANY - FEW) + (double)count_poll(SEND_SINK, 1).locked;
    printf("locked instructions per message, sent and polled for alone: %.0f, limit %d\n", locked,
           limit);
    judge("a message", "locked instructions", locked, limit);
}

static void measure(void)
{
    printf("per operation, " MODE "                        counted  limit  target    locked  limit"
           "  calls\n");
    steps send = count_calls(send_few, send_many);
    steps dispatch = count_dispatch(SEND_SINK);
    steps ask = count_dispatch(SEND_ASK);
    report(ROW_SEND, send);
    report(ROW_DISPATCH, dispatch);
    report(ROW_REPLY, difference(plants ? (steps){ 0, 0, 0 } : dispatch, ask));
    report(ROW_MEDIUM_SEND, count_calls(medium_few, medium_many));
    report(ROW_MEDIUM_DISPATCH, count_dispatch(SEND_MEDIUM));
    report(ROW_LINE_SEND, count_calls(line_few, line_many));
    report(ROW_POLL, count_calls(poll_few, poll_many));
    report(ROW_PUT, count_calls(put_few, put_many));
    judge_message(send, LOCKED_PER_MESSAGE);
}

static void *sleep_for_ever(void *unused)
{
    for (;;)
        (void)pause();
    return unused;
}

/* The same calls once the process is known to have a second thread, from which locks have to keep
 * them. */
static void measure_beside_thread(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, sleep_for_ever, NULL) != 0)
        die("cannot start a thread");
    printf("beside another thread\n");
    steps send = count_calls(send_few, send_many);
    steps dispatch = count_dispatch(SEND_SINK);
    steps ask = count_dispatch(SEND_ASK);
    report(ROW_SEND_THREADS, send);
    report(ROW_REPLY_THREADS, difference(plants ? (steps){ 0, 0, 0 } : dispatch, ask));
    report(ROW_MEDIUM_SEND_THREADS, count_calls(medium_few, medium_many));
    judge_message(send, LOCKED_PER_MESSAGE_THREADS);
}

static void begin(int *argc, char ***argv)
{
    gex_AM_Entry_t table[] = {
        { HANDLER_SINK, (gex_AM_Fn_t)handle_sink, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 4, NULL,
          "sink" },
        { HANDLER_ASK, (gex_AM_Fn_t)handle_ask, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 4, NULL,
          "ask" },
        { HANDLER_ANSWER, (gex_AM_Fn_t)handle_answer, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REPLY, 4,
          NULL, "answer" },
        { HANDLER_MEDIUM, (gex_AM_Fn_t)handle_medium, GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REQUEST, 4,
          NULL, "medium" },
    };
    gex_Segment_t segment;
    if (gex_Client_Init(&client, &endpoint, &team, "counts", argc, argv, 0) != GASNET_OK ||
        gex_EP_RegisterHandlers(endpoint, table, sizeof table / sizeof *table) != GASNET_OK ||
        gex_Segment_Attach(&segment, team, 65536) != GASNET_OK)
        die("cannot start");
    me = gex_TM_QueryRank(team);
    if (gex_TM_QuerySize(team) != RANKS)
        die("must be run with 3 ranks");
    for (gex_Rank_t rank = 0; rank < RANKS; rank++) {
        void *base;
        uintptr_t len;
        gex_Event_Wait(gex_EP_QueryBoundSegmentNB(team, rank, &base, NULL, &len, 0));
        boards[rank] = (board *)base;
    }
}

int main(int argc, char **argv)
{
    plants = argc > 1 && strcmp(argv[1], "--plant") == 0;
    begin(&argc, &argv);
    gex_Event_Wait(gex_Coll_BarrierNB(team, 0));
    if (me == 0) {
        steps_open();
        measure();
        if (BY_MODE(false, true))
            measure_beside_thread();
        have_partner(QUIT, 0);
        if (plants)
            printf("planted: %u of %u gates noticed\n", missed, gates);
        if (plants ? missed != gates : missed != 0) {
            fflush(stdout);
            gasnet_exit(1); /* before its peers end with 0 */
        }
    } else if (me == PARTNER) {
        serve();
    }
    gex_Event_Wait(gex_Coll_BarrierNB(team, 0));
    gasnet_exit(0);
}
