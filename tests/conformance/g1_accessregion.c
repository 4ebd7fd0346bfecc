/* SPDX-License-Identifier: BSD-3-Clause */
/* g1_accessregion.c: GASNet-1 Extended, access regions: one handle for all implicit operations that
 * a thread starts between begin and end.
 *
 * TESTS: gasnet_begin_nbi_accessregion gasnet_end_nbi_accessregion
 */
#include <gasnet.h>

#include "conformance/check.h"

#include "conformance/g1.h"

enum { SLOT_LEN = 32 * 1024, PIECES = 100, PIECE_LEN = 300 };

static char *slot_at(unsigned to, unsigned thread_i)
{
    return g1_at(to, (size_t)((unsigned)check_rank * CHECK_THREADS + thread_i) * SLOT_LEN);
}

static void check_empty(unsigned thread_i)
{
    (void)thread_i;
    for (int i = 0; i < 10; i++) {
        gasnet_begin_nbi_accessregion();
        gasnet_wait_syncnb(gasnet_end_nbi_accessregion());
    }
}

/* Many puts, values and memsets, then many gets, each group behind one handle. */
static void check_groups(unsigned thread_i)
{
    static _Thread_local char from[SLOT_LEN], back[SLOT_LEN];
    for (unsigned step = 0; step < 3 * (unsigned)check_size; step++) {
        const unsigned to = check_next(step);
        check_fill(from, SLOT_LEN, step);
        gasnet_begin_nbi_accessregion();
        for (int i = 0; i < PIECES; i++)
            gasnet_put_nbi_bulk(to, slot_at(to, thread_i) + i * PIECE_LEN, from + i * PIECE_LEN,
                                PIECE_LEN);
        gasnet_memset_nbi(to, slot_at(to, thread_i) + PIECES * PIECE_LEN, 0x77, 100);
        gasnet_put_nbi_val(to, slot_at(to, thread_i) + PIECES * PIECE_LEN + 104, 0x5a, 1);
        gasnet_handle_t puts = gasnet_end_nbi_accessregion();
        while (gasnet_try_syncnb(puts) != GASNET_OK)
            ;

        gasnet_begin_nbi_accessregion();
        for (int i = 0; i < PIECES; i++)
            gasnet_get_nbi(back + i * PIECE_LEN, to, slot_at(to, thread_i) + i * PIECE_LEN,
                           PIECE_LEN);
        gasnet_get_nbi_bulk(back + PIECES * PIECE_LEN, to,
                            slot_at(to, thread_i) + PIECES * PIECE_LEN, 105);
        gasnet_wait_syncnb(gasnet_end_nbi_accessregion());
        CHECK(check_filled(back, PIECES * PIECE_LEN, step),
              "GASNet-1 Extended, access regions: the handle stands for all operations inside");
        CHECK(check_all(back + PIECES * PIECE_LEN, 100, 0x77) &&
                  back[PIECES * PIECE_LEN + 104] == 0x5a,
              "GASNet-1 Extended, access regions: memsets and values belong to it");
    }
}

/* Explicit operations inside, implicit ones before and after, are synchronised by their own means.
 */
static void check_outside(unsigned thread_i)
{
    static _Thread_local char from[PIECE_LEN], back[4 * PIECE_LEN];
    const unsigned to = check_next(1);
    char *slot = slot_at(to, thread_i);

    check_fill(from, PIECE_LEN, 12);
    gasnet_put_nbi_bulk(to, slot, from, PIECE_LEN);
    gasnet_begin_nbi_accessregion();
    gasnet_put_nbi_bulk(to, slot + PIECE_LEN, from, PIECE_LEN);
    gasnet_handle_t explicit_put = gasnet_put_nb_bulk(to, slot + 2 * PIECE_LEN, from, PIECE_LEN);
    gasnet_handle_t region = gasnet_end_nbi_accessregion();
    gasnet_put_nbi_bulk(to, slot + 3 * PIECE_LEN, from, PIECE_LEN);
    gasnet_handle_t both[2] = { explicit_put, region };
    gasnet_wait_syncnb_all(both, 2);
    gasnet_wait_syncnbi_all();
    gasnet_get_bulk(back, to, slot, sizeof(back));
    for (int i = 0; i < 4; i++)
        CHECK(check_filled(back + i * PIECE_LEN, PIECE_LEN, 12),
              "GASNet-1 Extended, access regions: what is outside is synchronised as ever");
}

int main(int argc, char **argv)
{
    g1_start(&argc, &argv);
    g1_attach(NULL, 0, (uintptr_t)check_size * CHECK_THREADS * SLOT_LEN);

    check_on_threads(check_empty);
    check_on_threads(check_groups);
    check_on_threads(check_outside);
    return check_end();
}
