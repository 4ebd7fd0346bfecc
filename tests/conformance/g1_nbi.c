/* SPDX-License-Identifier: BSD-3-Clause */
/* g1_nbi.c: GASNet-1 Extended, non-blocking put, get and memset with an implicit handle: the forms
 * that synchronise puts, gets or all of a thread's operations, and nothing of another thread's.
 *
 * TESTS: gasnet_put_nbi gasnet_put_nbi_bulk gasnet_get_nbi gasnet_get_nbi_bulk gasnet_memset_nbi
 * TESTS: gasnet_wait_syncnbi_puts gasnet_wait_syncnbi_gets gasnet_wait_syncnbi_all
 * TESTS: gasnet_try_syncnbi_puts gasnet_try_syncnbi_gets gasnet_try_syncnbi_all
 * TESTS: gasnet_try_syncnbi_puts_nopoll gasnet_try_syncnbi_gets_nopoll
 * TESTS: gasnet_try_syncnbi_all_nopoll
 */
#include <gasnet.h>

#include "conformance/check.h"

#include "conformance/g1.h"

enum { SLOT_LEN = 64 * 1024, PIECES = 64, PIECE_LEN = SLOT_LEN / PIECES };

static char *slot_at(unsigned to, unsigned thread_i)
{
    return g1_at(to, (size_t)((unsigned)check_rank * CHECK_THREADS + thread_i) * SLOT_LEN);
}

typedef int (*try_fn)(void);
typedef void (*wait_fn)(void);

static void wait_puts(void) { gasnet_wait_syncnbi_puts(); }
static void wait_gets(void) { gasnet_wait_syncnbi_gets(); }
static void wait_all(void) { gasnet_wait_syncnbi_all(); }
static int try_puts(void) { return gasnet_try_syncnbi_puts(); }
static int try_gets(void) { return gasnet_try_syncnbi_gets(); }
static int try_all(void) { return gasnet_try_syncnbi_all(); }
static int try_puts_nopoll(void) { return gasnet_try_syncnbi_puts_nopoll(); }
static int try_gets_nopoll(void) { return gasnet_try_syncnbi_gets_nopoll(); }
static int try_all_nopoll(void) { return gasnet_try_syncnbi_all_nopoll(); }

static void sync_by_trying(try_fn try_sync)
{
    int status;
    while ((status = try_sync()) != GASNET_OK) {
        CHECK_EQ(status, GASNET_ERR_NOT_READY, "GASNet-1 Extended, sync: done or not ready");
        gasnet_AMPoll(); /* the forms without a poll need a poll by the program */
    }
}

/* Puts pieces, then gets them; each phase is synchronised by the given calls. */
static void round_trip(unsigned to, unsigned thread_i, unsigned seed, int bulk, try_fn try_put,
                       wait_fn wait_put, try_fn try_get, wait_fn wait_get)
{
    static _Thread_local char from[SLOT_LEN], back[SLOT_LEN];
    check_fill(from, SLOT_LEN, seed);
    memset(back, 0, SLOT_LEN);
    for (int i = 0; i < PIECES; i++) {
        char *dest = slot_at(to, thread_i) + i * PIECE_LEN;
        if (bulk) {
            gasnet_put_nbi_bulk(to, dest, from + i * PIECE_LEN, PIECE_LEN);
        } else {
            gasnet_put_nbi(to, dest, from + i * PIECE_LEN, PIECE_LEN);
            memset(from + i * PIECE_LEN, 0xee, PIECE_LEN); /* the source may change again on
                                                            * return */
        }
    }
    if (try_put != NULL)
        sync_by_trying(try_put);
    else
        wait_put();
    for (int i = 0; i < PIECES; i++) {
        char *source = slot_at(to, thread_i) + i * PIECE_LEN;
        if (bulk)
            gasnet_get_nbi_bulk(back + i * PIECE_LEN, to, source, PIECE_LEN);
        else
            gasnet_get_nbi(back + i * PIECE_LEN, to, source, PIECE_LEN);
    }
    if (try_get != NULL)
        sync_by_trying(try_get);
    else
        wait_get();
    CHECK(check_filled(back, SLOT_LEN, seed),
          "GASNet-1 Extended, nbi: puts, then gets, are done when synchronised");
}

static void check_round_trips(unsigned thread_i)
{
    for (unsigned step = 0; step < (unsigned)check_size; step++) {
        const unsigned to = check_next(step);
        round_trip(to, thread_i, 1, 0, NULL, wait_puts, NULL, wait_gets);
        round_trip(to, thread_i, 2, 1, NULL, wait_all, NULL, wait_all);
        round_trip(to, thread_i, 3, 0, try_puts, NULL, try_gets, NULL);
        round_trip(to, thread_i, 4, 1, try_all, NULL, try_all, NULL);
        round_trip(to, thread_i, 5, 1, try_puts_nopoll, NULL, try_gets_nopoll, NULL);
        round_trip(to, thread_i, 6, 0, try_all_nopoll, NULL, try_all_nopoll, NULL);
    }
}

/* Nothing started: all forms are done at once; and again after a synchronisation. */
static void check_nothing(unsigned thread_i)
{
    (void)thread_i;
    wait_puts();
    wait_gets();
    wait_all();
    CHECK_EQ(try_puts(), GASNET_OK, "GASNet-1 Extended, sync: no puts are done puts");
    CHECK_EQ(try_gets(), GASNET_OK, "GASNet-1 Extended, sync: no gets are done gets");
    CHECK_EQ(try_all(), GASNET_OK, "GASNet-1 Extended, sync: nothing is done");
    CHECK_EQ(try_puts_nopoll(), GASNET_OK, "GASNet-1 Extended, sync: no puts are done puts");
    CHECK_EQ(try_gets_nopoll(), GASNET_OK, "GASNet-1 Extended, sync: no gets are done gets");
    CHECK_EQ(try_all_nopoll(), GASNET_OK, "GASNet-1 Extended, sync: nothing is done");
}

/* A memset is synchronised like a put. */
static void check_memset_nbi(unsigned thread_i)
{
    static _Thread_local char back[SLOT_LEN];
    for (unsigned step = 0; step < (unsigned)check_size; step++) {
        const unsigned to = check_next(step);
        for (int i = 0; i < PIECES; i++)
            gasnet_memset_nbi(to, slot_at(to, thread_i) + i * PIECE_LEN, i, PIECE_LEN);
        gasnet_memset_nbi(to, slot_at(to, thread_i), 0, 0);
        gasnet_wait_syncnbi_puts();
        gasnet_get_bulk(back, to, slot_at(to, thread_i), SLOT_LEN);
        for (int i = 0; i < PIECES; i++)
            CHECK(check_all(back + i * PIECE_LEN, PIECE_LEN, i),
                  "GASNet-1 Extended, memset_nbi: done when the puts are synchronised");
    }
}

/* Open gets do not keep puts from being synchronised, and vice versa; the implicit forms ignore
 * explicit handles. */
static void check_apart(unsigned thread_i)
{
    static _Thread_local char from[PIECE_LEN], back[PIECE_LEN];
    const unsigned to = check_next(1);
    check_fill(from, PIECE_LEN, 31);
    gasnet_put_bulk(to, slot_at(to, thread_i), from, PIECE_LEN);
    gasnet_get_nbi_bulk(back, to, slot_at(to, thread_i), PIECE_LEN);
    gasnet_handle_t explicit_put =
        gasnet_put_nb_bulk(to, slot_at(to, thread_i) + PIECE_LEN, from, PIECE_LEN);
    gasnet_put_nbi_bulk(to, slot_at(to, thread_i) + 2 * PIECE_LEN, from, PIECE_LEN);
    gasnet_wait_syncnbi_puts();
    gasnet_wait_syncnbi_gets();
    CHECK(check_filled(back, PIECE_LEN, 31),
          "GASNet-1 Extended, nbi: gets are done when waited for");
    gasnet_wait_syncnb(explicit_put);
}

int main(int argc, char **argv)
{
    g1_start(&argc, &argv);
    g1_attach(NULL, 0, (uintptr_t)check_size * CHECK_THREADS * SLOT_LEN);

    check_on_threads(check_nothing);
    check_on_threads(check_round_trips);
    check_on_threads(check_memset_nbi);
    check_on_threads(check_apart);
    check_on_threads(check_nothing);
    return check_end();
}
