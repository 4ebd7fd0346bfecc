/* SPDX-License-Identifier: BSD-3-Clause */
/* g1_core_init.c: GASNet-1 Core, job control and environment: what may be asked between init and
 * attach, what attach does with the handler table, and the values that programs compile in.
 *
 * TESTS: gasnet_init gasnet_attach gasnet_mynode gasnet_nodes gasnet_getMaxLocalSegmentSize
 * TESTS: gasnet_getMaxGlobalSegmentSize gasnet_QueryGexObjects gasnet_exit
 * TESTS: gex_Client_QueryFlags
 * TESTS: GASNET_OK GASNET_ERR_NOT_INIT GASNET_ERR_RESOURCE GASNET_ERR_BAD_ARG
 * TESTS: GASNET_ERR_NOT_READY GASNET_ERR_BARRIER_MISMATCH GASNET_PAGESIZE GASNET_MAXNODES
 * TESTS: GASNET_SPEC_VERSION_MAJOR GASNET_SPEC_VERSION_MINOR GASNET_VERSION
 * TESTS: GASNET_CONFIG_STRING GASNET_ALIGNED_SEGMENTS GASNET_CONDUIT_NAME_STR
 */
#include <gasnet.h>

#include "conformance/check.h"

_Static_assert(GASNET_OK == 0 && GASNET_ERR_NOT_INIT == 10001 && GASNET_ERR_RESOURCE == 10002 &&
                   GASNET_ERR_BAD_ARG == 10003 && GASNET_ERR_NOT_READY == 10004 &&
                   GASNET_ERR_BARRIER_MISMATCH == 10005,
               "GASNet-1 Core, errors: the codes are fixed");
_Static_assert(GASNET_SPEC_VERSION_MAJOR == 1 && GASNET_SPEC_VERSION_MINOR == 8 &&
                   GASNET_VERSION >= 1,
               "GASNet-1 Introduction, version: specification 1.8");
_Static_assert(GASNET_PAGESIZE > 0 && (GASNET_PAGESIZE & (GASNET_PAGESIZE - 1)) == 0,
               "GASNet-1 Core, constants: the page size is a power of two");
_Static_assert(GASNET_ALIGNED_SEGMENTS == 0 || GASNET_ALIGNED_SEGMENTS == 1,
               "GASNet-1 Core, constants: aligned segments are promised or not");
_Static_assert(sizeof(gasnet_handlerarg_t) == 4 && (gasnet_handlerarg_t)-1 < 0,
               "GASNet-1 Core, types: a handler argument is a signed 32-bit integer");
_Static_assert(sizeof(gasnet_handler_t) == 1 && (gasnet_handler_t)-1 > 0,
               "GASNet-1 Core, types: a handler index is an unsigned 8-bit integer");
_Static_assert((gasnet_node_t)-1 > 0, "GASNet-1 Core, types: a node is unsigned");

enum { FIXED_LOW = 128, FIXED_HIGH = 255, REPLY = 200 };

static check_count reached[5], replies;

static void reach(gasnet_token_t token, unsigned which)
{
    check_add(&reached[which], 1);
    gasnet_AMReplyShort0(token, REPLY);
}
static void low(gasnet_token_t token) { reach(token, 0); }
static void high(gasnet_token_t token) { reach(token, 1); }
static void free_a(gasnet_token_t token) { reach(token, 2); }
static void free_b(gasnet_token_t token) { reach(token, 3); }
static void free_c(gasnet_token_t token) { reach(token, 4); }

static void reply(gasnet_token_t token)
{
    (void)token;
    check_add(&replies, 1);
}

static gasnet_handlerentry_t table[] = {
    { 0, (gex_AM_Fn_t)free_a },        { FIXED_LOW, (gex_AM_Fn_t)low }, { 0, (gex_AM_Fn_t)free_b },
    { FIXED_HIGH, (gex_AM_Fn_t)high }, { REPLY, (gex_AM_Fn_t)reply },   { 0, (gex_AM_Fn_t)free_c },
};
enum { HANDLERS = sizeof(table) / sizeof(table[0]) };

static void check_before_attach(int argc, char **argv)
{
    const uintptr_t local = gasnet_getMaxLocalSegmentSize();
    const uintptr_t global = gasnet_getMaxGlobalSegmentSize();

    CHECK(gasnet_nodes() >= 1 && gasnet_nodes() <= (gasnet_node_t)GASNET_MAXNODES,
          "GASNet-1 Core, job environment: the size is from 1 to GASNET_MAXNODES");
    CHECK(gasnet_mynode() < gasnet_nodes(),
          "GASNet-1 Core, job environment: a rank below the size");
    CHECK(global <= local, "GASNet-1 Core, job control: the global maximum is the least local one");
    CHECK(global >= GASNET_PAGESIZE && local % GASNET_PAGESIZE == 0 &&
              global % GASNET_PAGESIZE == 0,
          "GASNet-1 Core, job control: the maxima are whole pages");
    CHECK(argc == 1 && argv != NULL && argv[0] != NULL && argv[0][0] != '\0' && argv[1] == NULL,
          "GASNet-1 Core, job control: init leaves the program its own arguments");
    CHECK(strlen(GASNET_CONFIG_STRING) > 0 && strlen(GASNET_CONDUIT_NAME_STR) > 0,
          "GASNet-1 Core, constants: the configuration is told");
}

/* A table entry with index 0 leaves the choice to attach, which writes it back. */
static void check_indices(void)
{
    for (int i = 0; i < HANDLERS; i++) {
        CHECK(table[i].index >= 128, "GASNet-1 Core, attach: clients' indices are 128 to 255");
        for (int j = 0; j < i; j++)
            CHECK(table[i].index != table[j].index, "GASNet-1 Core, attach: indices are unique");
    }
    CHECK(table[1].index == FIXED_LOW && table[3].index == FIXED_HIGH && table[4].index == REPLY,
          "GASNet-1 Core, attach: a fixed index stays");
}

static void check_gex_objects(void)
{
    gex_Client_t client = GEX_CLIENT_INVALID;
    gex_EP_t endpoint = GEX_EP_INVALID;
    gex_TM_t team = GEX_TM_INVALID;
    gex_Segment_t segment = GEX_SEGMENT_INVALID;

    gasnet_QueryGexObjects(&client, &endpoint, &team, &segment);
    CHECK(client != GEX_CLIENT_INVALID && endpoint != GEX_EP_INVALID && team != GEX_TM_INVALID &&
              segment != GEX_SEGMENT_INVALID,
          "GASNet-EX, mixing: the objects behind a GASNet-1 job can be had");
    CHECK(gex_TM_QueryRank(team) == gasnet_mynode() && gex_TM_QuerySize(team) == gasnet_nodes(),
          "GASNet-EX, mixing: the team holds all ranks, in order");
    CHECK(gex_TM_QueryEP(team) == endpoint && gex_EP_QueryClient(endpoint) == client &&
              gex_EP_QuerySegment(endpoint) == segment,
          "GASNet-EX, mixing: the objects belong together");
    CHECK(gex_Client_QueryFlags(client) & GEX_FLAG_USES_GASNET1,
          "GASNet-EX, mixing: gasnet_init implies GEX_FLAG_USES_GASNET1");
    gasnet_QueryGexObjects(NULL, NULL, &team, NULL); /* leaves out entries that no request names */
    CHECK(team != GEX_TM_INVALID, "GASNet-EX, mixing: NULL skips an object");
}

int main(int argc, char **argv)
{
    CHECK_EQ(gasnet_init(&argc, &argv), GASNET_OK, "GASNet-1 Core, job control: init succeeds");
    check_begin();
    check_before_attach(argc, argv);
    CHECK_EQ(gasnet_attach(table, HANDLERS, GASNET_PAGESIZE, 0), GASNET_OK,
             "GASNet-1 Core, job control: attach succeeds");
    check_indices();
    CHECK_EQ(gasnet_mynode(), check_rank, "GASNet-1 Core, job environment: the rank is constant");
    CHECK_EQ(gasnet_nodes(), check_size, "GASNet-1 Core, job environment: the size is constant");

    /* attach ends with a barrier, so that all ranks' handlers are there; and its choices agree. */
    for (unsigned step = 0; step < (unsigned)check_size; step++)
        for (int i = 0; i < HANDLERS; i++)
            if (table[i].index != REPLY)
                gasnet_AMRequestShort0(check_next(step), table[i].index);
    CHECK_WAIT(replies, check_size * (HANDLERS - 1));
    check_barrier();
    for (int which = 0; which < 5; which++)
        CHECK_EQ(check_counted(&reached[which]), check_size,
                 "GASNet-1 Core, attach: an index stands for the function beside it");
    check_gex_objects();

    check_barrier();
    if (check_rank == 0)
        printf("all checks passed on %d ranks\n", check_size);
    gasnet_exit(0);
}
