/* SPDX-License-Identifier: BSD-3-Clause */
/* pingpong_twosided.c: half a round trip of the two-sided library by size, every byte looked at, in
 * the lines and by the method of pingpong_raw.
 *
 *     pingpong_twosided [--latency] [static|activity|loan [ROUNDS]] */
#include "credit/credit.h"
#include "extoll/ranks.h"
#include "os/os.h"
#include "twosided/play.h"

#include <stdio.h>
#include <stdlib.h>

enum { PARTS = 11, LEN_MAX = 1 << 20, TAG = 7 };

static void round_trip(ranks *r, twosided *t, unsigned char *out, unsigned char *in, size_t len,
                       unsigned number)
{
    const int peer = 1 - r->rank;
    for (int turn = 0; turn < 2; turn++) {
        if (turn == r->rank) {
            out[0] = out[len - 1] = (unsigned char)number;
            twosided_send(t, peer, TAG, out, len);
        } else if (twosided_recv(t, peer, TAG, in, len, NULL) != len ||
                   in[0] != (unsigned char)number || in[len - 1] != (unsigned char)number) {
            ranks_fail(r, "twosided_recv", "not the bytes that were sent");
        }
    }
}

static void measure(ranks *r, twosided *t, unsigned char *out, unsigned char *in, size_t len,
                    int rounds)
{
    double parts[PARTS];
    for (size_t i = 0; i < len; i++)
        out[i] = (unsigned char)(i * 7 + (unsigned)r->rank);
    ranks_barrier(r);
    round_trip(r, t, out, in, len, 0);
    for (size_t i = 1; i + 1 < len; i++)
        if (in[i] != (unsigned char)(i * 7 + 1 - (unsigned)r->rank))
            ranks_fail(r, "twosided_recv", "a byte is wrong");
    for (int part = 0; part < PARTS; part++) {
        uint64_t start = pen_now_ns();
        for (int i = 0; i < rounds; i++)
            round_trip(r, t, out, in, len, (unsigned)i);
        parts[part] = (double)(pen_now_ns() - start) / rounds / 2;
    }
    if (r->rank == 0)
        printf("twosided\t%zu\t%.1f\n", len, ranks_median(parts, PARTS));
}

typedef struct options {
    pen_credit_params params;
    int rounds;
} options;

static int play(ranks *r, void *context)
{
    const options *wanted = context;
    twosided *t = play_open(r, &wanted->params);
    unsigned char *out = aligned_alloc(4096, LEN_MAX), *in = aligned_alloc(4096, LEN_MAX);
    if (out == NULL || in == NULL)
        ranks_fail(r, "aligned_alloc", "out of memory");
    for (size_t len = 8; len <= LEN_MAX; len *= len < 2048 ? 2 : 8)
        measure(r, t, out, in, len, len > 10000 ? wanted->rounds / 20 + 1 : wanted->rounds);
    play_close(r, t);
    free(out);
    free(in);
    return 0;
}

int main(int argc, char **argv)
{
    ranks_options how;
    options wanted;
    int next = play_read(&how, &wanted.params, "pingpong_twosided", argc, argv);
    if (next < 0)
        return 2;
    wanted.rounds = next < argc ? (int)strtol(argv[next], NULL, 10) : 10000;
    if (how.count != 2 || wanted.rounds < 1) {
        (void)fprintf(stderr, "usage: pingpong_twosided [--latency] [POLICY [ROUNDS]]\n");
        return 2;
    }
    return ranks_run(&how, "pingpong_twosided", play, &wanted);
}
