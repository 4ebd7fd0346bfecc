/* SPDX-License-Identifier: BSD-3-Clause */
/* randomaccess_twosided.c: RandomAccess (updates.h) over the two-sided library: a message of
 * updates to their owner, and one that answers it, while a receive from anybody is always posted.
 *
 *     randomaccess_twosided [--ranks 2^N] [--latency] [static|activity|loan
 *                           [LOG2 [LOOK_AHEAD [BATCH]]]] */
#include "credit/credit.h"
#include "extoll/updates.h"
#include "os/os.h"
#include "softnic/extoll/card.h"
#include "twosided/play.h"

#include <sched.h>

enum { TAG_UPDATES, TAG_APPLIED, TAG_END };

typedef struct options {
    pen_credit_params params;
    updates u;
} options;

typedef struct job {
    ranks *r;
    twosided *t;
    updates u;
    int ended;
    uint64_t received[UPDATES_BATCH_MAX];
    twosided_request receive;
} job;

static void expect(job *j)
{
    twosided_irecv(j->t, TWOSIDED_ANY, TWOSIDED_ANY, j->received, sizeof(j->received), &j->receive);
}

static void take_in(void *context)
{
    job *j = context;
    bool found = false;
    while (twosided_test(j->t, &j->receive)) {
        const twosided_request got = j->receive;
        uint64_t count = got.len / sizeof(*j->received);
        found = true;
        if (got.tag == TAG_END)
            j->ended++;
        else if (got.tag == TAG_APPLIED)
            j->u.applied += j->received[0];
        else if (!updates_apply(&j->u, j->received, count))
            ranks_fail(j->r, "update", "not one of mine");
        expect(j);
        if (got.tag == TAG_UPDATES)
            twosided_send(j->t, got.peer, TAG_APPLIED, &count, sizeof(count));
    }
    if (!found && j->r->has_to_yield)
        (void)sched_yield();
}

static void send_values(void *context, int owner, const uint64_t *values, int count)
{
    job *j = context;
    twosided_send(j->t, owner, TAG_UPDATES, values, (size_t)count * sizeof(*values));
}

static void end(void *context)
{
    job *j = context;
    for (int rank = 0; rank < j->r->count; rank++)
        if (rank != j->r->rank)
            twosided_send(j->t, rank, TAG_END, NULL, 0);
    while (j->ended < j->r->count - 1)
        take_in(j);
}

static void report(const job *j)
{
    double time = 0, packets = 0, stalls = 0;
    for (int rank = 0; rank < j->r->count; rank++) {
        const double *result = j->r->page->results[rank];
        time = result[0] > time ? result[0] : time;
        packets += result[1];
        stalls += result[2];
    }
    updates_report(&j->u, "twosided", time, packets, stalls);
}

static int play(ranks *r, void *context)
{
    const options *wanted = context;
    job j = { .r = r, .t = play_open(r, &wanted->params), .u = wanted->u };
    const updates_way way = { send_values, take_in, end, &j };
    if (!updates_open(&j.u, r->rank))
        ranks_fail(r, "malloc", "out of memory");
    expect(&j);
    ranks_barrier(r);
    uint64_t start = pen_now_ns();
    updates_run(&j.u, &way);
    r->page->results[r->rank][0] = (double)(pen_now_ns() - start);
    pen_card_counts counts;
    twosided_counts told;
    pen_card_count(r->card, &counts);
    twosided_count(j.t, &told);
    r->page->results[r->rank][1] = (double)counts.packets_sent;
    r->page->results[r->rank][2] = (double)told.stalls;
    if (updates_close(&j.u) != 0)
        ranks_fail(r, "verification", "words of the table are wrong");
    ranks_barrier(r);
    if (r->rank == 0)
        report(&j);
    play_close(r, j.t);
    return 0;
}

int main(int argc, char **argv)
{
    ranks_options how;
    options wanted;
    int next = play_read(&how, &wanted.params, "randomaccess_twosided", argc, argv);
    if (next < 0)
        return 2;
    if (!updates_read(&wanted.u, how.count, argc, argv, next)) {
        (void)fprintf(stderr,
                      "usage: randomaccess_twosided [--ranks 2^N] [--latency] [POLICY %s]\n",
                      UPDATES_USAGE);
        return 2;
    }
    return ranks_run(&how, "randomaccess_twosided", play, &wanted);
}
