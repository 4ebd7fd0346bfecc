/* SPDX-License-Identifier: BSD-3-Clause */
/* randomaccess_raw.c: RandomAccess written to the card: an update is one VELO packet to its owner,
 * which makes it. A sender that finds a mailbox full empties its own. Verified.
 *
 *     randomaccess_raw [--ranks N] [--latency] [--mailbox SLOTS] [LOG2] */
#include "extoll/updates.h"
#include "os/os.h"

#include <sched.h>
#include <stdio.h>

enum { UPDATE, END }; /* message types */
enum { POLL_EVERY = 8 };

/* Makes what has arrived. How many packets. */
static int drain(ranks *r, updates *u, int *ended)
{
    uint64_t update;
    size_t len;
    uint8_t mtt;
    int found = 0;
    while (velo2_probe_recv(&r->velo, &update, sizeof(update), &len, NULL, NULL, &mtt) ==
           VELO2_RET_SUCCESS) {
        found++;
        if (mtt == END)
            (*ended)++;
        else if (len == sizeof(update) && updates_owner(u, update) == r->rank)
            updates_apply(u, update);
        else
            ranks_fail(r, "update", "not one of mine");
    }
    return found;
}

static void post(ranks *r, updates *u, int peer, uint64_t update, uint8_t mtt, int *ended)
{
    velo2_ret_t sent;
    while ((sent = velo2_send(&r->to[peer], &update, sizeof(update), 0, mtt)) ==
           VELO2_RET_TRY_AGAIN)
        if (drain(r, u, ended) == 0)
            (void)sched_yield();
    if (sent != VELO2_RET_SUCCESS)
        ranks_fail(r, "velo2_send", velo2_strerror(sent));
}

static int play(ranks *r, void *context)
{
    updates u;
    updates_open(&u, r, *(const unsigned *)context);
    int ended = 0;
    ranks_barrier(r);
    uint64_t start = pen_now_ns();
    for (uint64_t i = 0; i < u.count; i++) {
        uint64_t update = updates_next(&u);
        int owner = updates_owner(&u, update);
        if (owner == r->rank)
            updates_apply(&u, update);
        else
            post(r, &u, owner, update, UPDATE, &ended);
        if (i % POLL_EVERY == 0)
            (void)drain(r, &u, &ended);
    }
    for (int peer = 0; peer < r->count; peer++)
        if (peer != r->rank)
            post(r, &u, peer, 0, END, &ended);
    while (ended < r->count - 1)
        if (drain(r, &u, &ended) == 0)
            (void)sched_yield();
    r->page->results[r->rank][0] = (double)(pen_now_ns() - start);
    pen_card_counts counts;
    pen_card_count(r->card, &counts);
    r->page->results[r->rank][1] = (double)counts.packets_sent;
    r->page->results[r->rank][2] = (double)counts.retries;
    uint64_t wrong = updates_close(&u, r);
    if (wrong != 0)
        ranks_fail(r, "verification", "words of the table are wrong");
    ranks_barrier(r);
    if (r->rank == 0) {
        double time = 0, packets = 0, retries = 0, all = (double)u.count * r->count;
        for (int i = 0; i < r->count; i++) {
            const double *result = r->page->results[i];
            time = result[0] > time ? result[0] : time;
            packets += result[1];
            retries += result[2];
        }
        printf("raw\t%d ranks\t%.0f updates\t%.6f GUPS\t%.3f packets/update\t%.3f retries/update\t"
               "verified\n",
               r->count, all, all / time, packets / all, retries / all);
    }
    return 0;
}

int main(int argc, char **argv)
{
    ranks_options options;
    int next = ranks_options_read(&options, argc, argv);
    long log2_words = next < argc ? strtol(argv[next], NULL, 10) : 18;
    if (!updates_fit(options.count, log2_words)) {
        (void)fprintf(stderr, "usage: randomaccess_raw [--ranks 2^N] [--latency] [--mailbox SLOTS] "
                              "[LOG2 of the table's words, 10-30]\n");
        return 2;
    }
    unsigned log2 = (unsigned)log2_words;
    return ranks_run(&options, "randomaccess_raw", play, &log2);
}
