/* SPDX-License-Identifier: BSD-3-Clause */
/* built_for.c: a client that may be built for the name of a conduit. Each rank says where it is and
 * which arguments it has, and sends its neighbour a message. `exit N`: it ends the job with N. */
#include <gasnet.h>
#include <penstock/stats.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SEGMENT_LEN = 4 << 20 }; /* long enough for huge pages */

static int answers;

static void ask(gasnet_token_t token) { (void)gasnet_AMReplyShort0(token, 202); }

static void answer(gasnet_token_t token)
{
    (void)token;
    answers++;
}

int main(int argc, char **argv)
{
    gasnet_handlerentry_t handlers[] = { { 201, (gex_AM_Fn_t)ask }, { 202, (gex_AM_Fn_t)answer } };
    if (gasnet_init(&argc, &argv) != GASNET_OK)
        return 9;
    if (gasnet_attach(handlers, 2, SEGMENT_LEN, 0) != GASNET_OK)
        return 8;
    if (gasnet_AMRequestShort0((gasnet_mynode() + 1) % gasnet_nodes(), 201) != GASNET_OK)
        return 7;
    GASNET_BLOCKUNTIL(answers == 1);
    printf("rank %u of %u over %s, built for %s and %s:", gasnet_mynode(), gasnet_nodes(),
           pen_conduit_name(), GASNET_CORE_NAME_STR, GASNET_CONDUIT_NAME_STR);
    for (int i = 1; i < argc; i++)
        printf(" %s", argv[i]);
    printf(" %s\n", argv[argc] == NULL ? "end" : "NO END");
    fflush(stdout);
    gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);
    (void)gasnet_barrier_wait(0, GASNET_BARRIERFLAG_ANONYMOUS);
    gasnet_exit(argc > 2 && strcmp(argv[1], "exit") == 0 ? atoi(argv[2]) : 0);
    return 0;
}
