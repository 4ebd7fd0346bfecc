/* SPDX-License-Identifier: BSD-3-Clause */
/* g1_vis.c: GASNet-1 non-contiguous access: lists of memory, lists of pieces of one length, boxes;
 * blocking, with handles and implicit, by several threads.
 *
 * TESTS: gasnet_putv_bulk gasnet_getv_bulk gasnet_putv_nb_bulk gasnet_getv_nb_bulk
 * TESTS: gasnet_putv_nbi_bulk gasnet_getv_nbi_bulk gasnet_puti_bulk gasnet_geti_bulk
 * TESTS: gasnet_puti_nb_bulk gasnet_geti_nb_bulk gasnet_puti_nbi_bulk gasnet_geti_nbi_bulk
 * TESTS: gasnet_puts_bulk gasnet_gets_bulk gasnet_puts_nb_bulk gasnet_gets_nb_bulk
 * TESTS: gasnet_puts_nbi_bulk gasnet_gets_nbi_bulk gasnet_memvec_t
 */
#include <gasnet.h>

#include "conformance/check.h"

#include "conformance/g1.h"

enum { SLOT_LEN = 1 << 16, FORMS = 3 };

/* Each rank's threads have slots of their own at the neighbour. */
static char *slot_at(unsigned rank, unsigned thread_i)
{
    return g1_at(rank, ((size_t)check_rank * CHECK_THREADS + thread_i) * SLOT_LEN);
}

static char *memory(void)
{
    char *at = (char *)malloc(SLOT_LEN);
    CHECK(at != NULL, "the system gives us memory");
    return at;
}

static void check_vector(unsigned to, char *there, char *from, char *back, int form)
{
    const gasnet_memvec_t pieces[] = { { there + 300, 100 }, { there, 1 }, { there + 1000, 899 } };
    const gasnet_memvec_t whole[] = { { from, 500 }, { from + 500, 500 } };
    const gasnet_memvec_t home[] = { { back + 900, 100 }, { back, 900 } };
    switch (form) {
    case 0:
        gasnet_putv_bulk(to, 3, pieces, 2, whole);
        gasnet_getv_bulk(2, home, to, 3, pieces);
        break;
    case 1:
        gasnet_wait_syncnb(gasnet_putv_nb_bulk(to, 3, pieces, 2, whole));
        gasnet_wait_syncnb(gasnet_getv_nb_bulk(2, home, to, 3, pieces));
        break;
    default:
        gasnet_putv_nbi_bulk(to, 3, pieces, 2, whole);
        gasnet_wait_syncnbi_puts();
        gasnet_getv_nbi_bulk(2, home, to, 3, pieces);
        gasnet_wait_syncnbi_gets();
    }
    CHECK(memcmp(back + 900, from, 100) == 0 && memcmp(back, from + 100, 900) == 0,
          "GASNet-1 Extended, vector: bytes come back in order");
}

static void check_indexed(unsigned to, char *there, char *from, char *back, int form)
{
    void *pieces[30], *whole[] = { from }, *home[20];
    for (int i = 0; i < 30; i++)
        pieces[i] = there + 50 * ((i * 7) % 30);
    for (int i = 0; i < 20; i++)
        home[i] = back + 60 * i;
    switch (form) {
    case 0:
        gasnet_puti_bulk(to, 30, pieces, 40, 1, whole, 1200);
        gasnet_geti_bulk(20, home, 60, to, 30, pieces, 40);
        break;
    case 1:
        gasnet_wait_syncnb(gasnet_puti_nb_bulk(to, 30, pieces, 40, 1, whole, 1200));
        gasnet_wait_syncnb(gasnet_geti_nb_bulk(20, home, 60, to, 30, pieces, 40));
        break;
    default:
        gasnet_puti_nbi_bulk(to, 30, pieces, 40, 1, whole, 1200);
        gasnet_wait_syncnbi_all();
        gasnet_geti_nbi_bulk(20, home, 60, to, 30, pieces, 40);
        gasnet_wait_syncnbi_all();
    }
    CHECK(memcmp(back, from, 1200) == 0, "GASNet-1 Extended, indexed: bytes come back in order");
    gasnet_get_bulk(back, to, there, 1500);
    for (int i = 0; i < 30; i++)
        CHECK(memcmp(back + 50 * ((i * 7) % 30), from + 40 * i, 40) == 0,
              "GASNet-1 Extended, indexed: each piece is at its place");
}

static void check_strided(unsigned to, char *there, char *from, char *back, int form)
{
    const size_t counts[] = { 12, 10, 6 }; /* bytes, then elements of each level */
    const size_t far_strides[] = { 20, 300 }, near_strides[] = { 12, 120 };
    switch (form) {
    case 0:
        gasnet_puts_bulk(to, there, far_strides, from, near_strides, counts, 2);
        gasnet_gets_bulk(back, near_strides, to, there, far_strides, counts, 2);
        break;
    case 1:
        gasnet_wait_syncnb(
            gasnet_puts_nb_bulk(to, there, far_strides, from, near_strides, counts, 2));
        gasnet_wait_syncnb(
            gasnet_gets_nb_bulk(back, near_strides, to, there, far_strides, counts, 2));
        break;
    default:
        gasnet_puts_nbi_bulk(to, there, far_strides, from, near_strides, counts, 2);
        gasnet_wait_syncnbi_puts();
        gasnet_gets_nbi_bulk(back, near_strides, to, there, far_strides, counts, 2);
        gasnet_wait_syncnbi_gets();
    }
    CHECK(memcmp(back, from, 720) == 0, "GASNet-1 Extended, strided: bytes come back in order");
    gasnet_get_bulk(back, to, there, 1800);
    for (int row = 0; row < 6; row++)
        for (int i = 0; i < 10; i++)
            CHECK(memcmp(back + 300 * row + 20 * i, from + 120 * row + 12 * i, 12) == 0,
                  "GASNet-1 Extended, strided: count[0] is bytes, strides begin with level 1");
    gasnet_puts_bulk(to, there, NULL, from, NULL, counts, 0);
    gasnet_gets_bulk(back, NULL, to, there, NULL, counts, 0);
    CHECK(memcmp(back, from, 12) == 0, "GASNet-1 Extended, strided: no levels: one element");
}

static void check_thread_forms(unsigned thread_i)
{
    char *from = memory(), *back = memory();
    for (unsigned step = 0; step < 2; step++) { /* oneself, then the neighbour */
        unsigned to = check_next(step);
        char *there = slot_at(to, thread_i);
        for (int form = 0; form < FORMS; form++) {
            check_fill(from, SLOT_LEN, thread_i + 3 * (unsigned)form + step);
            memset(back, 0, SLOT_LEN);
            check_vector(to, there, from, back, form);
            check_indexed(to, there, from, back, form);
            check_strided(to, there, from, back, form);
        }
    }
    free(back);
    free(from);
}

int main(int argc, char **argv)
{
    /* a slot for each rank's threads */
    g1_open(&argc, &argv, NULL, 0, (uintptr_t)64 * CHECK_THREADS * SLOT_LEN);
    CHECK(check_size <= 64, "the program is made for 64 ranks");
    check_on_threads(check_thread_forms);
    return check_end();
}
