/* SPDX-License-Identifier: BSD-3-Clause */
/* randomaccess_twosided.c: RandomAccess over the two-sided library. Updates are held back in a
 * bucket for each owner, 1,024 in all, as the rules allow; when that many wait the fullest bucket
 * is sent, while a receive from anybody is always posted. With "1" as the number a message is one
 * update.
 *
 *     randomaccess_twosided [--ranks N] [--latency] [static|activity|loan [LOOK_AHEAD]] */
#include "extoll/updates.h"
#include "os/os.h"
#include "twosided/play.h"

#include <stdio.h>

enum { LOOK_AHEAD_MAX = 1024, LOG2_WORDS = 16, TAG_UPDATES = 1, TAG_END };

typedef struct job {
    ranks *r;
    twosided *t;
    updates u;
    uint64_t *buckets; /* LOOK_AHEAD_MAX words for each rank */
    int *used;         /* of each */
    int waiting, look_ahead, ended;
    uint64_t received[LOOK_AHEAD_MAX];
    twosided_request receive;
} job;

static void take_in(job *j)
{
    while (twosided_test(j->t, &j->receive)) {
        if (j->receive.tag == TAG_END)
            j->ended++;
        for (size_t i = 0; i < j->receive.len / 8; i++)
            updates_apply(&j->u, j->received[i]);
        twosided_irecv(j->t, TWOSIDED_ANY, TWOSIDED_ANY, j->received, sizeof(j->received),
                       &j->receive);
    }
}

static void send_bucket(job *j, int owner, int tag)
{
    twosided_request request;
    twosided_isend(j->t, owner, tag, &j->buckets[(size_t)owner * LOOK_AHEAD_MAX],
                   (size_t)j->used[owner] * 8, &request);
    while (!twosided_test(j->t, &request))
        take_in(j);
    j->waiting -= j->used[owner];
    j->used[owner] = 0;
}

static void send_fullest(job *j)
{
    int fullest = 0;
    for (int rank = 1; rank < j->r->count; rank++)
        if (j->used[rank] > j->used[fullest])
            fullest = rank;
    send_bucket(j, fullest, TAG_UPDATES);
}

static void run(job *j)
{
    twosided_irecv(j->t, TWOSIDED_ANY, TWOSIDED_ANY, j->received, sizeof(j->received), &j->receive);
    for (uint64_t i = 0; i < j->u.count; i++) {
        uint64_t update = updates_next(&j->u);
        int owner = updates_owner(&j->u, update);
        if (owner == j->r->rank) {
            updates_apply(&j->u, update);
            continue;
        }
        j->buckets[(size_t)owner * LOOK_AHEAD_MAX + (size_t)j->used[owner]++] = update;
        if (++j->waiting == j->look_ahead)
            send_fullest(j);
        take_in(j);
    }
    for (int rank = 0; rank < j->r->count; rank++)
        if (rank != j->r->rank)
            send_bucket(j, rank, TAG_END);
    while (j->ended < j->r->count - 1)
        take_in(j);
}

static void report(const job *j)
{
    double time = 0, packets = 0, all = (double)j->u.count * j->r->count;
    for (int rank = 0; rank < j->r->count; rank++) {
        const double *result = j->r->page->results[rank];
        time = result[0] > time ? result[0] : time;
        packets += result[1];
    }
    printf("twosided\t%d ranks\t%.0f updates\t%.6f GUPS\t%.3f packets/update\tlook-ahead %d\t"
           "verified\n",
           j->r->count, all, all / time, packets / all, j->look_ahead);
}

static int play(ranks *r, void *context)
{
    const play_options *options = context;
    job j = { .r = r, .t = play_open(r, options), .look_ahead = options->number };
    if (j.look_ahead > LOOK_AHEAD_MAX)
        j.look_ahead = LOOK_AHEAD_MAX;
    updates_open(&j.u, r, LOG2_WORDS);
    j.buckets = malloc((size_t)r->count * LOOK_AHEAD_MAX * 8);
    j.used = calloc((size_t)r->count, sizeof(*j.used));
    if (j.buckets == NULL || j.used == NULL)
        ranks_fail(r, "malloc", "out of memory");
    ranks_barrier(r);
    uint64_t start = pen_now_ns();
    run(&j);
    r->page->results[r->rank][0] = (double)(pen_now_ns() - start);
    pen_card_counts counts;
    pen_card_count(r->card, &counts);
    r->page->results[r->rank][1] = (double)counts.packets_sent;
    if (updates_close(&j.u, r) != 0)
        ranks_fail(r, "verification", "words of the table are wrong");
    ranks_barrier(r);
    if (r->rank == 0)
        report(&j);
    play_close(r, j.t);
    free(j.buckets);
    free(j.used);
    return 0;
}

int main(int argc, char **argv)
{
    return play_main(argc, argv, "randomaccess_twosided", LOOK_AHEAD_MAX, 0, play);
}
