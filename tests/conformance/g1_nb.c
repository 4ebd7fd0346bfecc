/* SPDX-License-Identifier: BSD-3-Clause */
/* g1_nb.c: GASNet-1 Extended, non-blocking put, get and memset with an explicit handle: each way to
 * synchronise, one or many, and when the source may be written again.
 *
 * TESTS: gasnet_put_nb gasnet_put_nb_bulk gasnet_get_nb gasnet_get_nb_bulk gasnet_memset_nb
 * TESTS: gasnet_wait_syncnb gasnet_try_syncnb gasnet_wait_syncnb_some gasnet_wait_syncnb_all
 * TESTS: gasnet_try_syncnb_some gasnet_try_syncnb_all gasnet_try_syncnb_nopoll
 * TESTS: gasnet_try_syncnb_some_nopoll gasnet_try_syncnb_all_nopoll
 * TESTS: gasnet_handle_t GASNET_INVALID_HANDLE
 */
#include <gasnet.h>

#include "conformance/check.h"

#include "conformance/g1.h"

enum { SLOT_LEN = 64 * 1024, HANDLES = 64, PIECE_LEN = SLOT_LEN / HANDLES };

_Static_assert(sizeof(gasnet_handle_t) <= sizeof(uint64_t),
               "GASNet-1 Extended, handles: a handle is a scalar");

static char *slot_at(unsigned to, unsigned thread_i)
{
    return g1_at(to, (size_t)((unsigned)check_rank * CHECK_THREADS + thread_i) * SLOT_LEN);
}

/* Handles that may be synchronised before any operation was started. */
static void check_invalid(unsigned thread_i)
{
    gasnet_handle_t none[4] = { GASNET_INVALID_HANDLE, GASNET_INVALID_HANDLE, GASNET_INVALID_HANDLE,
                                GASNET_INVALID_HANDLE };
    (void)thread_i;
    gasnet_wait_syncnb(GASNET_INVALID_HANDLE);
    CHECK_EQ(gasnet_try_syncnb(GASNET_INVALID_HANDLE), GASNET_OK,
             "GASNet-1 Extended, sync: an invalid handle is complete");
    CHECK_EQ(gasnet_try_syncnb_nopoll(GASNET_INVALID_HANDLE), GASNET_OK,
             "GASNet-1 Extended, sync: an invalid handle is complete");
    gasnet_wait_syncnb_some(none, 4);
    gasnet_wait_syncnb_all(none, 4);
    gasnet_wait_syncnb_all(none, 0);
    CHECK_EQ(gasnet_try_syncnb_some(none, 4), GASNET_OK,
             "GASNet-1 Extended, sync: some of nothing but invalid handles is complete");
    CHECK_EQ(gasnet_try_syncnb_all(none, 4), GASNET_OK,
             "GASNet-1 Extended, sync: all of nothing but invalid handles is complete");
    CHECK_EQ(gasnet_try_syncnb_some_nopoll(none, 0), GASNET_OK,
             "GASNet-1 Extended, sync: an empty array is complete");
    CHECK_EQ(gasnet_try_syncnb_all_nopoll(none, 0), GASNET_OK,
             "GASNet-1 Extended, sync: an empty array is complete");
}

/* put_nb gives the source back at once; put_nb_bulk only with the handle. */
static void check_single(unsigned thread_i)
{
    static const size_t lens[] = { 0, 1, 8, 64, 1000, 4096, 30000, SLOT_LEN - 8 };
    static _Thread_local unsigned char from[SLOT_LEN], back[SLOT_LEN];

    for (unsigned i = 0; i < sizeof(lens) / sizeof(lens[0]) * (unsigned)check_size; i++) {
        const unsigned to = check_next(i);
        const size_t len = lens[i / (unsigned)check_size];
        char *dest = slot_at(to, thread_i);

        check_fill(from, len, i);
        gasnet_handle_t put = gasnet_put_nb(to, dest, from, len);
        memset(from, 0xee, len);
        gasnet_wait_syncnb(put);
        gasnet_handle_t get = gasnet_get_nb(back, to, dest, len);
        while (gasnet_try_syncnb(get) != GASNET_OK)
            ;
        CHECK(check_filled(back, len, i),
              "GASNet-1 Extended, put_nb: the source may be written when the call has returned");

        check_fill(from, len, i + 1);
        put = gasnet_put_nb_bulk(to, dest + 1, from, len);
        int status;
        while ((status = gasnet_try_syncnb_nopoll(put)) != GASNET_OK) {
            CHECK_EQ(status, GASNET_ERR_NOT_READY, "GASNet-1 Extended, sync: or not ready");
            gasnet_AMPoll();
        }
        get = gasnet_get_nb_bulk(back, to, dest + 1, len);
        gasnet_wait_syncnb(get);
        CHECK(check_filled(back, len, i + 1), "GASNet-1 Extended, put_nb_bulk: bytes come back");
    }
}

static int count_invalid(const gasnet_handle_t *handles)
{
    int count = 0;
    for (int i = 0; i < HANDLES; i++)
        count += handles[i] == GASNET_INVALID_HANDLE;
    return count;
}

/* Starts an operation on every piece of the slot; every third entry stays empty. */
static void start_puts(gasnet_handle_t *handles, unsigned to, unsigned thread_i, char *from)
{
    for (int i = 0; i < HANDLES; i++)
        handles[i] = i % 3 == 2 ? GASNET_INVALID_HANDLE
                                : gasnet_put_nb_bulk(to, slot_at(to, thread_i) + i * PIECE_LEN,
                                                     from + i * PIECE_LEN, PIECE_LEN);
}

static void check_pieces(unsigned to, unsigned thread_i, char *back, unsigned seed)
{
    gasnet_get_bulk(back, to, slot_at(to, thread_i), SLOT_LEN);
    for (int i = 0; i < HANDLES; i++)
        if (i % 3 != 2)
            for (int byte_i = i * PIECE_LEN; byte_i < (i + 1) * PIECE_LEN; byte_i++)
                CHECK_EQ((unsigned char)back[byte_i], check_byte(seed, (size_t)byte_i),
                         "GASNet-1 Extended, sync: a put that is synchronised is done");
}

/* Each call to "some" brings at least one more to its end. */
static void wait_some(gasnet_handle_t *handles)
{
    while (count_invalid(handles) < HANDLES) {
        const int before = count_invalid(handles);
        gasnet_wait_syncnb_some(handles, HANDLES);
        CHECK(count_invalid(handles) > before, "GASNet-1 Extended, sync: some: at least one more");
    }
}

enum { WAYS = 6 };

static void sync_array(gasnet_handle_t *handles, unsigned way)
{
    switch (way) {
    case 0:
        gasnet_wait_syncnb_all(handles, HANDLES);
        break;
    case 1:
        while (gasnet_try_syncnb_all(handles, HANDLES) != GASNET_OK)
            ;
        break;
    case 2:
        wait_some(handles);
        break;
    case 3:
        while (count_invalid(handles) < HANDLES)
            (void)gasnet_try_syncnb_some(handles, HANDLES);
        break;
    case 4:
        while (gasnet_try_syncnb_all_nopoll(handles, HANDLES) != GASNET_OK)
            gasnet_AMPoll();
        break;
    default:
        while (count_invalid(handles) < HANDLES)
            if (gasnet_try_syncnb_some_nopoll(handles, HANDLES) != GASNET_OK)
                gasnet_AMPoll();
        break;
    }
}

static void check_arrays(unsigned thread_i)
{
    static _Thread_local char from[SLOT_LEN], back[SLOT_LEN];
    gasnet_handle_t handles[HANDLES];

    for (unsigned i = 0; i < WAYS * (unsigned)check_size; i++) {
        const unsigned to = check_next(i);
        check_fill(from, SLOT_LEN, i);
        start_puts(handles, to, thread_i, from);
        sync_array(handles, i / (unsigned)check_size);
        CHECK_EQ(count_invalid(handles), HANDLES,
                 "GASNet-1 Extended, sync: completed entries become invalid");
        check_pieces(to, thread_i, back, i);
    }
}

static void check_memset_nb(unsigned thread_i)
{
    static _Thread_local char back[SLOT_LEN];
    for (unsigned step = 0; step < (unsigned)check_size; step++) {
        const unsigned to = check_next(step);
        gasnet_handle_t set = gasnet_memset_nb(to, slot_at(to, thread_i) + 3, 0x1c3, 5000);
        gasnet_wait_syncnb(set);
        gasnet_get_bulk(back, to, slot_at(to, thread_i) + 3, 5000);
        CHECK(check_all(back, 5000, 0xc3),
              "GASNet-1 Extended, memset_nb: each byte is set to the value as unsigned char");
    }
}

/* 2^16 - 1 handles may be open at once in a process; the threads share them. */
static void check_many(unsigned thread_i)
{
    enum { MANY = 65535 / 4 };
    static _Thread_local gasnet_handle_t handles[MANY];
    char value = 'm';
    for (int i = 0; i < MANY; i++)
        handles[i] = gasnet_put_nb_bulk(check_next(1), slot_at(check_next(1), thread_i), &value, 1);
    gasnet_wait_syncnb_all(handles, MANY);
}

int main(int argc, char **argv)
{
    g1_start(&argc, &argv);
    g1_attach(NULL, 0, (uintptr_t)check_size * CHECK_THREADS * SLOT_LEN);

    check_on_threads(check_invalid);
    check_on_threads(check_single);
    check_on_threads(check_arrays);
    check_on_threads(check_memset_nb);
    check_on_threads(check_many);
    return check_end();
}
