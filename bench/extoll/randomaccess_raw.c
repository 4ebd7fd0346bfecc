/* SPDX-License-Identifier: BSD-3-Clause */
/* randomaccess_raw.c: RandomAccess (updates.h) written to the card: updates go in VELO packets to
 * their owner, seven to a packet, and a packet answers each message. There is no flow control:
 * mailboxes have room for all that ranks may look ahead.
 *
 *     randomaccess_raw [--ranks 2^N] [--latency] [--slot 128] [LOG2 [LOOK_AHEAD [BATCH]]] */
#include "extoll/ranks.h"
#include "extoll/updates.h"
#include "os/os.h"
#include "softnic/extoll/card.h"
#include "softnic/extoll/velo2.h"

#include <sched.h>

enum { UPDATES, LAST, APPLIED, END }; /* message types; LAST: of a message's packets */

typedef struct job {
    ranks *r;
    updates u;
    size_t packet_max; /* words */
    uint64_t *coming;  /* words of the message that comes from each rank */
    int ended;
} job;

static void post(job *j, int peer, const uint64_t *words, size_t count, uint8_t mtt)
{
    velo2_ret_t sent = velo2_send(&j->r->to[peer], words, count * sizeof(*words), 0, mtt);
    if (sent != VELO2_RET_SUCCESS)
        ranks_fail(j->r, "velo2_send", velo2_strerror(sent));
}

static void send_values(void *context, int owner, const uint64_t *values, int count)
{
    job *j = context;
    size_t left = (size_t)count;
    for (; left > j->packet_max; left -= j->packet_max, values += j->packet_max)
        post(j, owner, values, j->packet_max, UPDATES);
    post(j, owner, values, left, LAST);
}

static void take_in(job *j, int from, const uint64_t *words, size_t count, uint8_t mtt)
{
    if (mtt == END) {
        j->ended++;
    } else if (mtt == APPLIED) {
        j->u.applied += words[0];
    } else {
        if (!updates_apply(&j->u, words, count))
            ranks_fail(j->r, "update", "not one of mine");
        j->coming[from] += count;
        if (mtt == UPDATES)
            return;
        post(j, from, &j->coming[from], 1, APPLIED);
        j->coming[from] = 0;
    }
}

static void drain(void *context)
{
    job *j = context;
    uint64_t words[VELO2_MAX_MSG_SIZE / 8];
    size_t len;
    uint32_t source;
    uint8_t mtt;
    bool found = false;
    while (velo2_probe_recv(&j->r->velo, words, sizeof(words), &len, &source, NULL, &mtt) ==
           VELO2_RET_SUCCESS) {
        found = true;
        take_in(j, VELO2_ADDRESS_NODE(source), words, len / 8, mtt);
    }
    if (!found && j->r->has_to_yield)
        (void)sched_yield();
}

static void end(void *context)
{
    job *j = context;
    for (int peer = 0; peer < j->r->count; peer++)
        if (peer != j->r->rank)
            post(j, peer, NULL, 0, END);
    while (j->ended < j->r->count - 1)
        drain(j);
}

static void report(const job *j)
{
    double time = 0, packets = 0;
    for (int i = 0; i < j->r->count; i++) {
        const double *result = j->r->page->results[i];
        time = result[0] > time ? result[0] : time;
        packets += result[1];
    }
    updates_report(&j->u, "raw", time, packets, 0);
}

static int play(ranks *r, void *context)
{
    job j = { .r = r, .u = *(const updates *)context };
    const updates_way way = { send_values, drain, end, &j };
    j.packet_max = velo2_port_max_len(&r->velo) / 8;
    j.coming = calloc((size_t)r->count, sizeof(*j.coming));
    if (j.coming == NULL || !updates_open(&j.u, r->rank))
        ranks_fail(r, "malloc", "out of memory");
    ranks_barrier(r);
    uint64_t start = pen_now_ns();
    updates_run(&j.u, &way);
    r->page->results[r->rank][0] = (double)(pen_now_ns() - start);
    pen_card_counts counts;
    pen_card_count(r->card, &counts);
    r->page->results[r->rank][1] = (double)counts.packets_sent;
    if (updates_close(&j.u) != 0)
        ranks_fail(r, "verification", "words of the table are wrong");
    ranks_barrier(r);
    if (r->rank == 0)
        report(&j);
    free(j.coming);
    return 0;
}

int main(int argc, char **argv)
{
    ranks_options options;
    updates u;
    int next = ranks_options_read(&options, argc, argv);
    if (!updates_read(&u, options.count, argc, argv, next)) {
        (void)fprintf(stderr, "usage: randomaccess_raw [--ranks 2^N] [--latency] [--slot 128] %s\n",
                      UPDATES_USAGE);
        return 2;
    }
    /* From each peer its messages and its answers, and an END. */
    options.config.mailbox_slots = (uint32_t)options.count * (2 * UPDATES_LOOK_AHEAD_MAX + 1);
    return ranks_run(&options, "randomaccess_raw", play, &u);
}
