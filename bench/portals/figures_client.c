/* SPDX-License-Identifier: BSD-3-Clause */
/* figures_client.c: figures of the Portals paper, by a client of GASNet over any conduit: blocking
 * puts from memory outside of the segment (`put`), many puts at once (`flood`), round trips of a
 * Medium and its Medium reply (`trip`), by length; and how long all ranks take to exchange Mediums
 * of 1 KiB with their neighbours in both directions (`exchange`: µs for a message, of each rank).
 *
 *     penstock run --conduit portals -n 2 figures_client put|flood|trip|exchange */
#include <gasnet.h>
#include <stdlib.h>

#include "portals/figures.h"

enum { REQUEST = 200, REPLY, TAKE, EXCHANGED = 2000, EXCHANGE_LEN = 1024 };

static unsigned char source[FIGURES_LEN_MAX];
static gasnet_seginfo_t *segments;
static volatile unsigned answers, taken;

static void on_request(gasnet_token_t token, void *body, size_t len)
{
    (void)gasnet_AMReplyMedium0(token, REPLY, body, len);
}

static void on_reply(gasnet_token_t token, void *body, size_t len)
{
    (void)token, (void)body, (void)len;
    answers++;
}

static void on_take(gasnet_token_t token, void *body, size_t len)
{
    (void)token, (void)body, (void)len;
    taken++;
}

static void meet(void)
{
    gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);
    (void)gasnet_barrier_wait(0, GASNET_BARRIERFLAG_ANONYMOUS);
}

static void put_and_wait(size_t len, unsigned rounds)
{
    for (unsigned i = 0; i < rounds; i++)
        gasnet_put(1, segments[1].addr, source, len);
}

static void put_many(size_t len, unsigned rounds)
{
    for (unsigned i = 0; i < rounds; i++)
        gasnet_put_nbi_bulk(1, segments[1].addr, source, len);
    gasnet_wait_syncnbi_puts();
}

static void trips(size_t len, unsigned rounds)
{
    for (unsigned i = 0; i < rounds; i++) {
        const unsigned wanted = answers + 1;
        (void)gasnet_AMRequestMedium0(1, REQUEST, source, len);
        GASNET_BLOCKUNTIL(answers == wanted);
    }
}

/* Every rank sends to its neighbours on both sides while it takes what they send. */
static double exchange(void)
{
    const gasnet_node_t size = gasnet_nodes(), self = gasnet_mynode();
    meet();
    const double begin = figures_seconds();
    for (unsigned i = 0; i < EXCHANGED; i++)
        (void)gasnet_AMRequestMedium0((self + (i % 2 == 0 ? 1 : size - 1)) % size, TAKE, source,
                                      EXCHANGE_LEN);
    GASNET_BLOCKUNTIL(taken >= EXCHANGED);
    meet();
    const double took = figures_seconds() - begin;
    taken = 0;
    meet();
    return took / EXCHANGED * 1e6;
}

static void play_exchange(void)
{
    double least = 1e12;
    for (unsigned i = 0; i < FIGURES_BATCHES / 4; i++) {
        const double took = exchange();
        least = took < least ? took : least;
    }
    if (gasnet_mynode() == 0)
        (void)printf("exchange\t%d\t%.4f\n", EXCHANGE_LEN, least);
}

static figures_batch *batch_of(const char *kind)
{
    if (strcmp(kind, "trip") == 0)
        return trips;
    return strcmp(kind, "flood") == 0 ? put_many : put_and_wait;
}

int main(int argc, char **argv)
{
    gasnet_handlerentry_t handlers[] = { { REQUEST, (void (*)(void))on_request },
                                         { REPLY, (void (*)(void))on_reply },
                                         { TAKE, (void (*)(void))on_take } };
    if (gasnet_init(&argc, &argv) != GASNET_OK ||
        gasnet_attach(handlers, 3, FIGURES_LEN_MAX, 0) != GASNET_OK)
        return 2;
    const char *kind = argc > 1 ? argv[1] : "put";
    segments = calloc(gasnet_nodes(), sizeof *segments);
    if (segments == NULL || gasnet_getSegmentInfo(segments, (int)gasnet_nodes()) != GASNET_OK)
        gasnet_exit(2);
    memset(source, 3, sizeof source);
    meet();
    if (strcmp(kind, "exchange") == 0)
        play_exchange();
    else if (gasnet_mynode() == 0)
        figures_play(kind, batch_of(kind), 1);
    meet();
    const unsigned char *segment = segments[gasnet_mynode()].addr;
    const int is_put = batch_of(kind) != trips && strcmp(kind, "exchange") != 0;
    gasnet_exit(gasnet_mynode() == 1 && is_put && segment[FIGURES_LEN_MAX - 1] != 3);
}
