/* SPDX-License-Identifier: BSD-3-Clause */
/* extoll.c: instructions that the extoll conduit takes to post and to receive frames, against the
 * limits in the table below. Two links are in one process; the trap flag counts (steps.h).
 *
 * Rows of one operation: MANY of them are counted, then FEW, and the difference is divided. Of some
 * repetitions the least counts. Rows of a round trip: the mean of TRIPS of them, with the credits
 * that they move. With --plant each operation does a little more, and each row has to notice. */
#include "conduits/extoll/extoll.h"
#include "conduit/conduit.h"
#include "counts/steps.h"
#include "diag/log.h"
#include "knob/knob.h"
#include "os/os.h"

#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RANKS = 2, FEW = 4, MANY = 12, REPEATS = 2, TRIPS = 24, PLANTED = 60, HEAD_LEN = 24 };

extern const pen_conduit pen_conduit_extoll;

/* ---- the limits ------------------------------------------------------------------------------
 *
 * Instructions are what gcc 12 makes of the code; they are lowered whenever the code gets better
 * and never raised. Of other compilers nothing is asked. */
typedef struct row {
    const char *name;
    int seq, par; /* limits */
    pen_lane lane;
    uint32_t body_len;
    enum { ROW_POST, ROW_POLL, ROW_EMPTY, ROW_TRIP } kind;
} row;

/* clang-format off */
static const row rows[] = {
    { "post a Short request", 287, 299, PEN_LANE_REQUEST, 0, ROW_POST },
    { "post a Short reply", 287, 299, PEN_LANE_REPLY, 0, ROW_POST },
    { "post a Medium request, 16 bytes, one packet", 338, 350, PEN_LANE_REQUEST, 16, ROW_POST },
    { "post a Medium reply, 16 bytes, one packet", 338, 350, PEN_LANE_REPLY, 16, ROW_POST },
    { "post a Medium request, 256 bytes, 6 packets", 1393, 1405, PEN_LANE_REQUEST, 256, ROW_POST },
    { "post a Medium reply, 256 bytes, 6 packets", 1393, 1405, PEN_LANE_REPLY, 256, ROW_POST },
    { "poll that finds nothing", 77, 79, PEN_LANE_REQUEST, 0, ROW_EMPTY },
    { "take a Short request", 218, 229, PEN_LANE_REQUEST, 0, ROW_POLL },
    { "take a Short reply", 218, 229, PEN_LANE_REPLY, 0, ROW_POLL },
    { "take a Medium request, 16 bytes", 243, 254, PEN_LANE_REQUEST, 16, ROW_POLL },
    { "take a Medium request, 256 bytes", 1210, 1224, PEN_LANE_REQUEST, 256, ROW_POLL },
    { "round trip of Shorts", 1290, 1338, PEN_LANE_REQUEST, 0, ROW_TRIP },
    { "round trip of Mediums, 16 bytes", 1450, 1498, PEN_LANE_REQUEST, 16, ROW_TRIP },
    { "round trip of Mediums, 256 bytes", 6048, 6110, PEN_LANE_REQUEST, 256, ROW_TRIP },
};
/* clang-format on */

/* ---- two links ------------------------------------------------------------------------------- */

typedef struct rank {
    pen_link *link;
    pen_host host;
    struct job *job;
    unsigned delivered;
    uint32_t answer_len;
    bool answers; /* requests */
} rank;

typedef struct job {
    rank ranks[RANKS];
    const char *const *settings;
    uint64_t config[PEN_CONDUIT_CONFIG_MAX / 8];
    void *shared;
    size_t shared_len;
} job;

static bool plants;
static volatile uint64_t planted;
static const uint64_t head[HEAD_LEN / 8] = { 1, 2, 3 };
static const char body[256] = { 'x' };

static void die(const char *what)
{
    fprintf(stderr, "counts.extoll: %s\n", what);
    exit(1);
}

static inline void plant(void)
{
    for (int i = 0; plants && i < PLANTED; i++)
        planted++;
}

static void post(job *j, pen_peer from, pen_lane lane, uint32_t body_len)
{
    const pen_frame frame = {
        .head = head, .head_len = HEAD_LEN, .body = body, .body_len = body_len
    };
    pen_link *link = j->ranks[from].link;
    if (link->ops->post(link, 1 - from, lane, &frame, NULL) != PEN_POST_DONE)
        die("a frame was not taken");
}

static void note_head(void *ctx, pen_peer from, const void *got, uint32_t head_len)
{
    rank *r = (rank *)ctx;
    (void)from, (void)got, (void)head_len;
    r->delivered++;
    if (r->answers)
        post(r->job, 1, PEN_LANE_REPLY, r->answer_len);
}

static void note_frame(void *ctx, pen_peer from, pen_lane lane, const void *got, uint32_t head_len,
                       void *got_body, uint32_t body_len)
{
    (void)lane, (void)got_body, (void)body_len;
    note_head(ctx, from, got, head_len);
}

static void note_loss(void *ctx, pen_peer peer, pen_status why)
{
    (void)ctx, (void)peer, (void)why;
    die("a rank was lost");
}

static void note_line(void *ctx, int level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void note_line(void *ctx, int level, const char *format, ...)
{
    (void)ctx, (void)level;
    die(format);
}

static uint64_t now(void *ctx)
{
    (void)ctx;
    return pen_now_ns();
}

static void *get_memory(void *ctx, size_t len, size_t align)
{
    void *memory = NULL;
    (void)ctx;
    return posix_memalign(&memory, align, len) == 0 ? memory : NULL;
}

static void release(void *ctx, void *memory)
{
    (void)ctx;
    free(memory);
}

static void *share(void *ctx, size_t *len)
{
    const job *j = ((rank *)ctx)->job;
    *len = j->shared_len;
    return j->shared;
}

static void wake(void *ctx, pen_peer peer) { (void)ctx, (void)peer; }

static const _Atomic uint32_t *sleeping(void *ctx, pen_peer peer)
{
    static const _Atomic uint32_t awake;
    (void)ctx, (void)peer;
    return &awake;
}

static const char *find(void *ctx, const char *name)
{
    const job *j = (const job *)ctx;
    name += strlen("PENSTOCK_EXTOLL_");
    for (unsigned i = 0; j->settings[i] != NULL; i++)
        if (strncmp(j->settings[i], name, strlen(name)) == 0 && j->settings[i][strlen(name)] == '=')
            return j->settings[i] + strlen(name) + 1;
    return NULL;
}

static void rank_open(job *j, pen_peer self, pen_concurrency concurrency)
{
    rank *r = &j->ranks[self];
    r->job = j;
    r->host = (pen_host){ .ctx = r,
                          .deliver = note_frame,
                          .deliver_head = { note_head, note_head },
                          .peer_lost = note_loss,
                          .now_ns = now,
                          .log = note_line,
                          .alloc = get_memory,
                          .release = release,
                          .shared = share,
                          .wake = wake,
                          .sleeping = sleeping };
    const pen_link_params params = { .host = &r->host,
                                     .self = self,
                                     .peers = RANKS,
                                     .config = j->config,
                                     .concurrency = concurrency };
    if (pen_conduit_extoll.open(&params, &r->link) != PEN_OK)
        die("a link does not open");
}

static void job_open(job *j, const char *const *settings, pen_concurrency concurrency)
{
    pen_log log = { .fd = -1, .rank = -1 };
    char addresses[RANKS * PEN_ADDR_LEN_MAX];
    *j = (job){ .settings = settings };
    if (pen_knob_read(&log, pen_conduit_extoll.knobs, j->config, find, j) != PEN_OK)
        die("a setting is wrong");
    j->shared_len = pen_conduit_extoll.shared_len(RANKS, j->config);
    j->shared = aligned_alloc(4096, (j->shared_len + 4095) / 4096 * 4096);
    if (j->shared == NULL)
        die("no memory");
    memset(j->shared, 0, j->shared_len);
    for (pen_peer self = 0; self < RANKS; self++)
        rank_open(j, self, concurrency);
    const size_t len = j->ranks[0].link->caps.addr_len;
    for (pen_peer self = 0; self < RANKS; self++)
        (void)j->ranks[self].link->ops->address(j->ranks[self].link, addresses + self * len);
    for (pen_peer self = 0; self < RANKS; self++)
        if (j->ranks[self].link->ops->connect(j->ranks[self].link, addresses, RANKS) != PEN_OK)
            die("links do not connect");
}

static void job_close(job *j)
{
    for (pen_peer self = 0; self < RANKS; self++)
        j->ranks[self].link->ops->close(j->ranks[self].link);
    free(j->shared);
}

static inline void poll_once(job *j, pen_peer self)
{
    pen_link *link = j->ranks[self].link;
    (void)link->ops->poll(link, PEN_LANES_ALL, 64);
}

static void settle(job *j)
{
    for (int i = 0; i < 4; i++)
        for (pen_peer self = 0; self < RANKS; self++)
            poll_once(j, self);
}

/* ---- counting -------------------------------------------------------------------------------- */

/* Makes the operation `count` times. */
static inline void operate(job *j, const row *what, int count)
{
    if (what->kind == ROW_POLL)
        poll_once(j, 1); /* finds all frames that were posted before */
    for (int k = 0; k < count; k++) {
        if (what->kind == ROW_POST)
            post(j, 0, what->lane, what->body_len);
        if (what->kind == ROW_EMPTY)
            poll_once(j, 1);
        plant();
    }
}

static long count_some(job *j, const row *what, int count)
{
    long least = LONG_MAX;
    for (int i = 0; i < REPEATS; i++) {
        settle(j);
        for (int k = 0; what->kind == ROW_POLL && k < count; k++)
            post(j, 0, what->lane, what->body_len);
        j->ranks[1].delivered = 0;
        steps_begin();
        operate(j, what, count);
        const long counted = steps_end().instructions;
        if (what->kind == ROW_POLL && j->ranks[1].delivered != (unsigned)count)
            die("one poll did not find all frames");
        least = counted < least ? counted : least;
    }
    return least;
}

/* Rank 0 posts and polls until the answer is there, as a program that waits for it. */
static long count_trips(job *j, const row *what)
{
    j->ranks[1].answers = true;
    j->ranks[1].answer_len = what->body_len;
    for (int phase = 0; phase < 2; phase++) { /* the first one reaches the steady state */
        settle(j);
        if (phase == 1)
            steps_begin();
        for (unsigned i = 0; i < TRIPS << (phase == 0 ? 3 : 0); i++) {
            j->ranks[0].delivered = 0;
            plant();
            post(j, 0, PEN_LANE_REQUEST, what->body_len);
            for (unsigned k = 0; j->ranks[0].delivered == 0; k++) {
                if (k == 1000)
                    die("an answer does not come");
                poll_once(j, 1);
                poll_once(j, 0);
            }
        }
    }
    return steps_end().instructions;
}

static double count(const row *what, pen_concurrency concurrency)
{
    static const char *const plenty[] = { "CREDIT_POLICY=static", "CREDIT_QUOTA=400", NULL };
    static const char *const defaults[] = { NULL };
    job j;
    double counted;
    job_open(&j, what->kind == ROW_TRIP ? defaults : plenty, concurrency);
    if (what->kind == ROW_TRIP)
        counted = (double)count_trips(&j, what) / TRIPS;
    else
        counted = (double)(count_some(&j, what, MANY) - count_some(&j, what, FEW)) / (MANY - FEW);
    job_close(&j);
    return counted;
}

static void *sleep_until_exit(void *unused)
{
    for (;;)
        (void)pause();
    return unused;
}

int main(int argc, char **argv)
{
    unsigned missed = 0, gates = 0;
    pthread_t thread; /* beside it, locks of a link in PAR are real */
    if (pthread_create(&thread, NULL, sleep_until_exit, NULL) != 0)
        die("cannot start a thread");
    plants = argc > 1 && strcmp(argv[1], "--plant") == 0;
    steps_open();
    printf("%-46s %8s %6s %8s %6s\n", "instructions", "SEQ", "limit", "PAR", "limit");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const double seq = count(&rows[i], PEN_ALONE);
        const double par = count(&rows[i], PEN_CONCURRENT);
        printf("%-46s %8.1f %6d %8.1f %6d\n", rows[i].name, seq, rows[i].seq, par, rows[i].par);
        fflush(stdout);
        missed += (seq > rows[i].seq) + (par > rows[i].par);
        gates += 2;
    }
#if !defined(__GNUC__) || defined(__clang__) || __GNUC__ != 12
    if (!plants)
        missed = 0;
#endif
    if (missed != 0 && !plants)
        fprintf(stderr, "counts.extoll: %u rows are above their limits\n", missed);
    return plants ? missed != gates : missed != 0;
}
