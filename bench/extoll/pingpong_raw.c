/* SPDX-License-Identifier: BSD-3-Clause */
/* pingpong_raw.c: measures the card itself: half a round trip between two processes, by size, with
 * every byte read. Small messages go by VELO packets, messages of any size by an RMA put with a
 * notification at the target. Lines: velo|rma, bytes, nanoseconds (median of the parts).
 *
 *     pingpong_raw [--latency] [--slot 128] [ROUNDS] */
#include "extoll/ranks.h"
#include "os/os.h"
#include "softnic/extoll/rma2.h"
#include "softnic/extoll/velo2.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PARTS = 11, VELO_LEN_MAX = 2048, LEN_MAX = 1 << 20 };

typedef struct buffers {
    unsigned char *out, *in;
    RMA2_Region *out_region, *in_region;
    RMA2_NLA theirs; /* the peer's `in` */
} buffers;

static void velo_send_all(ranks *r, int peer, const unsigned char *bytes, size_t len)
{
    size_t max_len = velo2_port_max_len(&r->velo);
    do {
        size_t part = len < max_len ? len : max_len;
        while (velo2_send(&r->to[peer], bytes, part, 0, 0) == VELO2_RET_TRY_AGAIN) {
        }
        bytes += part;
        len -= part;
    } while (len > 0);
}

static void velo_receive_all(ranks *r, unsigned char *bytes, size_t len)
{
    do {
        size_t part;
        if (velo2_recv(&r->velo, bytes, len, &part, NULL, NULL, VELO2_MTT_ANY) !=
                VELO2_RET_SUCCESS ||
            part > len)
            ranks_fail(r, "velo2_recv", "not what was sent");
        bytes += part;
        len -= part;
    } while (len > 0);
}

static void rma_send(ranks *r, int peer, const buffers *b, size_t len)
{
    if (rma2_post_put_bt(r->rma, &r->rma_to[peer], b->out_region, 0, (uint32_t)len, b->theirs,
                         RMA2_COMPLETER_NOTIFICATION, RMA2_CMD_DEFAULT) != RMA2_SUCCESS)
        ranks_fail(r, "rma2_post_put_bt", "refused");
}

static void rma_receive(ranks *r)
{
    RMA2_Notification *noti;
    if (rma2_noti_get_block(r->rma, &noti) != RMA2_SUCCESS || rma2_noti_get_error(noti) != 0)
        ranks_fail(r, "rma2_noti_get_block", "an error");
    (void)rma2_noti_free(r->rma, noti);
}

static void round_trip(ranks *r, buffers *b, size_t len, bool by_rma, unsigned number)
{
    const int peer = 1 - r->rank;
    for (int turn = 0; turn < 2; turn++) {
        if (turn == r->rank) {
            b->out[0] = b->out[len - 1] = (unsigned char)number;
            if (by_rma)
                rma_send(r, peer, b, len);
            else
                velo_send_all(r, peer, b->out, len);
            continue;
        }
        if (by_rma)
            rma_receive(r);
        else
            velo_receive_all(r, b->in, len);
        if (b->in[0] != (unsigned char)number || b->in[len - 1] != (unsigned char)number)
            ranks_fail(r, by_rma ? "rma" : "velo", "not the bytes that were sent");
    }
}

static void measure(ranks *r, buffers *b, size_t len, bool by_rma, int rounds)
{
    double parts[PARTS];
    for (size_t i = 0; i < len; i++) /* bytes that the ends do not overwrite are checked once */
        b->out[i] = (unsigned char)(i * 7 + (unsigned)r->rank);
    ranks_barrier(r);
    round_trip(r, b, len, by_rma, 0);
    for (size_t i = 1; i + 1 < len; i++)
        if (b->in[i] != (unsigned char)(i * 7 + 1 - (unsigned)r->rank))
            ranks_fail(r, by_rma ? "rma" : "velo", "a byte is wrong");
    for (int part = 0; part < PARTS; part++) {
        uint64_t start = pen_now_ns();
        for (int i = 0; i < rounds; i++)
            round_trip(r, b, len, by_rma, (unsigned)i);
        parts[part] = (double)(pen_now_ns() - start) / rounds / 2;
    }
    if (r->rank == 0)
        printf("%s\t%zu\t%.1f\n", by_rma ? "rma" : "velo", len, ranks_median(parts, PARTS));
}

static int play(ranks *r, void *context)
{
    const int rounds = *(const int *)context;
    buffers b = { .out = aligned_alloc(4096, LEN_MAX), .in = aligned_alloc(4096, LEN_MAX) };
    if (b.out == NULL || b.in == NULL ||
        rma2_register(r->rma, b.out, LEN_MAX, &b.out_region) != RMA2_SUCCESS ||
        rma2_register(r->rma, b.in, LEN_MAX, &b.in_region) != RMA2_SUCCESS)
        ranks_fail(r, "rma2_register", "no memory");
    RMA2_NLA mine;
    (void)rma2_get_nla(b.in_region, 0, &mine);
    velo_send_all(r, 1 - r->rank, (const unsigned char *)&mine, sizeof(mine));
    velo_receive_all(r, (unsigned char *)&b.theirs, sizeof(b.theirs));
    for (size_t len = 8; len <= VELO_LEN_MAX; len *= 2)
        measure(r, &b, len, false, rounds);
    for (size_t len = 8; len <= LEN_MAX; len *= 8)
        measure(r, &b, len, true, len > 10000 ? rounds / 20 + 1 : rounds);
    (void)rma2_unregister(r->rma, b.out_region);
    (void)rma2_unregister(r->rma, b.in_region);
    free(b.out);
    free(b.in);
    return 0;
}

int main(int argc, char **argv)
{
    ranks_options options;
    int next = ranks_options_read(&options, argc, argv);
    int rounds = next < argc ? (int)strtol(argv[next], NULL, 10) : 10000;
    if (options.count != 2 || rounds < 1) {
        (void)fprintf(stderr, "usage: pingpong_raw [--latency] [--slot 64|128] [ROUNDS]\n");
        return 2;
    }
    return ranks_run(&options, "pingpong_raw", play, &rounds);
}
