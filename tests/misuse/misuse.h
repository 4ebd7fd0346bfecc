/* SPDX-License-Identifier: BSD-3-Clause */
/* misuse.h: code that the programs with a planted bug share. Each makes one mistake, which it
 * encloses
 * in BUG(...), and its first comment says which line the checked library has to print about it.
 * With FIXED defined the mistake is left out, FIX(...) put in, and the library must find nothing.
 */
#ifndef PEN_TESTS_MISUSE_H
#define PEN_TESTS_MISUSE_H

#include <gasnet.h>
#include <gasnet_vis.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef FIXED
#    define BUG(...)
#    define FIX(...) __VA_ARGS__
#else
#    define BUG(...) __VA_ARGS__
#    define FIX(...)
#endif
#define MAYBE_UNUSED __attribute__((unused))

enum { SEGMENT_LEN = 1 << 16, HANDLER = 200, REPLY = 201 };

static gex_Client_t client MAYBE_UNUSED;
static gex_EP_t endpoint MAYBE_UNUSED;
static gex_TM_t team MAYBE_UNUSED;
static gex_Segment_t segment MAYBE_UNUSED;
static gex_Rank_t me MAYBE_UNUSED, peer MAYBE_UNUSED;
static char *mine MAYBE_UNUSED, *theirs MAYBE_UNUSED; /* segments, of this rank and its peer */
static char here[4096] MAYBE_UNUSED, there[4096] MAYBE_UNUSED;
static gex_HSL_t lock MAYBE_UNUSED = GEX_HSL_INITIALIZER;
static gex_HSL_t other_lock MAYBE_UNUSED = GEX_HSL_INITIALIZER;
static volatile int handled MAYBE_UNUSED, replied MAYBE_UNUSED;

MAYBE_UNUSED static void barrier(void) { gex_Event_Wait(gex_Coll_BarrierNB(team, 0)); }

/* Starts the job with a segment on every rank; the peer is the next rank. */
MAYBE_UNUSED static void begin(void)
{
    if (gex_Client_Init(&client, &endpoint, &team, "MISUSE", NULL, NULL, GEX_FLAG_USES_GASNET1) !=
            GASNET_OK ||
        gex_Segment_Attach(&segment, team, SEGMENT_LEN) != GASNET_OK)
        exit(70);
    me = gex_TM_QueryRank(team);
    peer = (me + 1) % gex_TM_QuerySize(team);
    mine = (char *)gex_Segment_QueryAddr(segment);
    void *base = NULL;
    gex_Event_Wait(gex_EP_QueryBoundSegmentNB(team, peer, &base, NULL, NULL, 0));
    theirs = (char *)base;
    memset(here, 1, sizeof(here));
    memset(there, 2, sizeof(there));
}

MAYBE_UNUSED static void note_reply(gex_Token_t token)
{
    (void)token;
    replied = 1;
}

/* Starts a job with a handler for a request and one for a reply, both for Shorts without
 * arguments. */
MAYBE_UNUSED static void begin_with(void (*request)(gex_Token_t), void (*reply)(gex_Token_t))
{
    begin();
    gex_AM_Entry_t table[] = {
        { HANDLER, (gex_AM_Fn_t)request, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 0, NULL,
          "handler" },
        { REPLY, (gex_AM_Fn_t)reply, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REPLY, 0, NULL, "reply" },
    };
    if (gex_EP_RegisterHandlers(endpoint, table, 2) != GASNET_OK)
        exit(71);
    barrier();
}

/* Runs the peer's handler, and waits until this rank's handler has run. */
MAYBE_UNUSED static void poke(void)
{
    (void)gex_AM_RequestShort0(team, peer, HANDLER, 0);
    GASNET_BLOCKUNTIL(handled != 0);
}

/* The end of a program that did everything right. */
MAYBE_UNUSED static int finish(void)
{
    barrier();
    return 0;
}

MAYBE_UNUSED static void run_thread(void *(*body)(void *))
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, body, NULL) != 0)
        exit(72);
    (void)pthread_join(thread, NULL);
}

#endif
