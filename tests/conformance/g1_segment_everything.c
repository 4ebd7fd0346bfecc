/* SPDX-License-Identifier: BSD-3-Clause */
/* g1_segment_everything.c: GASNet-1 Core, segments of the EVERYTHING configuration: any address of
 * a peer may be put to and got from: its heap, its stack, its static data; also by Long messages.
 *
 * TESTS: GASNET_SEGMENT_EVERYTHING gasnet_getMaxLocalSegmentSize gasnet_getMaxGlobalSegmentSize
 * TESTS: gasnet_getSegmentInfo gasnet_put gasnet_get gasnet_memset gasnet_AMRequestLong[M]
 */
#define GASNET_SEGMENT_EVERYTHING 1
#include <gasnet.h>

#include "conformance/check.h"

enum { ADDRESSES = 130, ARRIVED, LEN = 20000, PLACES = 3 };

static char in_data[LEN];
static char *mine[PLACES];   /* static, heap, stack */
static char *theirs[PLACES]; /* addresses in the next rank */
static check_count told, arrived;

/* An address travels in two arguments. */
static void addresses(gasnet_token_t token, gasnet_handlerarg_t place, gasnet_handlerarg_t high,
                      gasnet_handlerarg_t low)
{
    (void)token;
    theirs[place] = (char *)(uintptr_t)((uint64_t)(uint32_t)high << 32 | (uint32_t)low);
    check_add(&told, 1);
}

static void long_arrived(gasnet_token_t token, void *payload, size_t len)
{
    (void)token;
    CHECK(payload == mine[1], "GASNet-1 Core, AM Long: the address is the one the sender gave");
    CHECK(check_filled(payload, len, 9), "GASNet-1 Core, AM Long: any memory can be the target");
    check_add(&arrived, 1);
}

static gasnet_handlerentry_t table[] = {
    { ADDRESSES, (gex_AM_Fn_t)addresses },
    { ARRIVED, (gex_AM_Fn_t)long_arrived },
};

static void check_place(int place, char *copy)
{
    const unsigned to = check_next(1), from = check_previous(1);
    check_fill(copy, LEN, (unsigned)check_rank + 50);
    gasnet_put_bulk(to, theirs[place], copy, LEN);
    gasnet_wait_syncnb(gasnet_put_nb(to, theirs[place], copy, 100));
    check_barrier();
    CHECK(check_filled(mine[place], LEN, from + 50),
          "GASNet-1 Core, segments: EVERYTHING: any memory can be put to");
    memset(copy, 0, LEN);
    gasnet_get_bulk(copy, to, theirs[place], LEN);
    CHECK(check_filled(copy, LEN, (unsigned)check_rank + 50),
          "GASNet-1 Core, segments: EVERYTHING: any memory can be got from");
    check_barrier();
    gasnet_memset(to, theirs[place] + 10, 77, 1000);
    gasnet_put_val(to, theirs[place], 0x11223344, 4);
    CHECK_EQ(gasnet_get_val(to, theirs[place], 4), 0x11223344,
             "GASNet-1 Core, segments: EVERYTHING: values go to any memory");
    check_barrier();
    CHECK(check_all(mine[place] + 10, 1000, 77),
          "GASNet-1 Core, segments: EVERYTHING: any memory can be set");
}

int main(int argc, char **argv)
{
    char on_stack[LEN];
    CHECK_EQ(gasnet_init(&argc, &argv), GASNET_OK, "GASNet-1 Core, job control: init succeeds");
    check_begin();
    CHECK(gasnet_getMaxLocalSegmentSize() == (uintptr_t)-1 &&
              gasnet_getMaxGlobalSegmentSize() == (uintptr_t)-1,
          "GASNet-1 Core, segments: EVERYTHING has no limit");
    CHECK_EQ(gasnet_attach(table, 2, 0, 0), GASNET_OK,
             "GASNet-1 Core, segments: EVERYTHING ignores the size");
    gasnet_seginfo_t info = { &info, 0 };
    CHECK_EQ(gasnet_getSegmentInfo(&info, 1), GASNET_OK, "GASNet-1 Core: getSegmentInfo succeeds");
    CHECK(info.addr == NULL && info.size == (uintptr_t)-1,
          "GASNet-1 Core, segments: EVERYTHING is one segment from 0 to the end");

    mine[0] = in_data;
    mine[1] = (char *)malloc(LEN);
    mine[2] = on_stack;
    for (int place = 0; place < PLACES; place++) {
        const uint64_t address = (uintptr_t)mine[place];
        gasnet_AMRequestShort3(check_previous(1), ADDRESSES, place,
                               (gasnet_handlerarg_t)(uint32_t)(address >> 32),
                               (gasnet_handlerarg_t)(uint32_t)address);
    }
    CHECK_WAIT(told, PLACES);
    char *copy = (char *)malloc(LEN);
    for (int place = 0; place < PLACES; place++)
        check_place(place, copy);

    check_fill(copy, LEN, 9);
    gasnet_AMRequestLong0(check_next(1), ARRIVED, copy, 5000, theirs[1]);
    CHECK_WAIT(arrived, 1);
    check_barrier();
    free(copy);
    free(mine[1]);
    return check_end();
}
