/* SPDX-License-Identifier: BSD-3-Clause */
/* g1_put_get_blocking.c: GASNet-1 Extended, blocking put and get: all sizes and alignments, to
 * every rank and to oneself, remotely complete on return.
 *
 * TESTS: gasnet_put gasnet_get gasnet_put_bulk gasnet_get_bulk
 */
#include <gasnet.h>

#include "conformance/check.h"

#include "conformance/g1.h"

enum { SLOT_LEN = 128 * 1024, NOTED = 130, NOTED_BACK };

static check_count notes;

/* The data that one thread of one rank writes at its target. */
static size_t slot_of(unsigned rank, unsigned thread_i)
{
    return (size_t)(rank * CHECK_THREADS + thread_i) * SLOT_LEN;
}

/* The target looks at once: the data of a finished put is visible to every rank that learns of its
 * end. */
static void noted(gasnet_token_t token, gasnet_handlerarg_t len, gasnet_handlerarg_t seed,
                  gasnet_handlerarg_t slot_i)
{
    CHECK(check_filled(g1_mine((size_t)slot_i * SLOT_LEN), (size_t)len, (unsigned)seed),
          "GASNet-1 Extended, put: data is visible at the target when the call has returned");
    gasnet_AMReplyShort0(token, NOTED_BACK);
}

static void noted_back(gasnet_token_t token)
{
    (void)token;
    check_add(&notes, 1);
}

static gasnet_handlerentry_t table[] = {
    { NOTED, (gex_AM_Fn_t)noted },
    { NOTED_BACK, (gex_AM_Fn_t)noted_back },
};

static void try_len(unsigned to, unsigned thread_i, size_t len, size_t offset)
{
    static _Thread_local unsigned char from[SLOT_LEN], back[SLOT_LEN];
    const unsigned seed = (unsigned)(len + offset) + thread_i;
    char *dest = g1_at(to, slot_of((unsigned)check_rank, thread_i)) + offset;

    check_fill(from + 1, len, seed);
    gasnet_put_bulk(to, dest, from + 1, len);
    memset(from, 0, len + 2); /* ours again */
    memset(back, 0xee, len + 2);
    gasnet_get_bulk(back + 1, to, dest, len);
    CHECK(check_filled(back + 1, len, seed), "GASNet-1 Extended, put and get: bytes come back");
    CHECK(back[0] == 0xee && back[len + 1] == 0xee,
          "GASNet-1 Extended, get: nothing beside the destination is written");
}

/* Natural alignment, as the forms without "bulk" may expect. */
static void try_word(unsigned to, unsigned thread_i, size_t len)
{
    uint64_t from = 0, back = 0;
    char *dest = g1_at(to, slot_of((unsigned)check_rank, thread_i));
    check_fill(&from, len, (unsigned)len + 3);
    gasnet_put(to, dest, &from, len);
    gasnet_get(&back, to, dest, len);
    CHECK(memcmp(&from, &back, sizeof(from)) == 0,
          "GASNet-1 Extended, put and get: a word comes back, and only the word");
}

static void try_all(unsigned thread_i)
{
    static const size_t lens[] = { 0,  1,  2,  3,    5,    8,    15,    16,
                                   63, 64, 65, 1000, 4096, 4097, 65536, 99999 };
    for (unsigned step = 0; step < (unsigned)check_size; step++) {
        const unsigned to = check_next(step);
        for (size_t len_i = 0; len_i < sizeof(lens) / sizeof(lens[0]); len_i++)
            for (size_t offset = 0; offset < 3; offset++)
                try_len(to, thread_i, lens[len_i], offset);
        for (size_t len = 1; len <= 8; len *= 2)
            try_word(to, thread_i, len);
    }
}

/* A message sent after a put finds the data. Before the slot is used again, the answer is here. */
static void put_and_tell(void)
{
    static unsigned char from[SLOT_LEN];
    for (unsigned i = 0; i < 100; i++) {
        const unsigned to = check_next(i);
        const size_t len = i % 3 == 0 ? 8 : i * 37;
        check_fill(from, len, i);
        gasnet_put(to, g1_at(to, slot_of((unsigned)check_rank, 0)), from, len);
        gasnet_AMRequestShort3(to, NOTED, (gasnet_handlerarg_t)len, (gasnet_handlerarg_t)i,
                               (gasnet_handlerarg_t)((unsigned)check_rank * CHECK_THREADS));
        CHECK_WAIT(notes, i + 1);
    }
}

/* Nothing but the destination changes, at the target either. */
static void check_edges(void)
{
    const unsigned to = check_next(1);
    unsigned char from[32];
    memset(g1_mine(0), 0x55, 256);
    check_barrier();
    memset(from, 0xaa, sizeof(from));
    gasnet_put_bulk(to, g1_at(to, 101), from, 7);
    gasnet_put_bulk(to, g1_at(to, 50), from, 0);
    check_barrier();
    CHECK(check_all(g1_mine(0), 101, 0x55) && check_all(g1_mine(101), 7, 0xaa) &&
              check_all(g1_mine(108), 256 - 108, 0x55),
          "GASNet-1 Extended, put: nothing beside the destination is written");
    check_barrier();
}

/* A source may be read-only, for example static data. */
static void check_constant_source(void)
{
    static const char text[] = "constant";
    const unsigned to = check_next(1);
    gasnet_put_bulk(to, g1_at(to, 0), (void *)(uintptr_t)text, sizeof(text));
    check_barrier();
    CHECK(strcmp(g1_mine(0), "constant") == 0, "GASNet-1 Extended, put: a constant can be put");
    check_barrier();
}

int main(int argc, char **argv)
{
    g1_start(&argc, &argv);
    g1_attach(table, 2, slot_of((unsigned)check_size, 0));

    check_edges();
    check_constant_source();
    check_on_threads(try_all);
    check_barrier();
    put_and_tell();
    check_barrier();
    return check_end();
}
