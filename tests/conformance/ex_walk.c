/* SPDX-License-Identifier: BSD-3-Clause */
/* ex_walk.c: one put of 8 bytes, one Medium with its reply, and one exit, each in a function of its
 * own, so that scripts/walk can list the library functions that each of them enters. As a
 * conformance program it checks that the put and the Medium arrive.
 *
 * PEN_RANKS: 2
 * PEN_MODES: seq
 * TESTS: gex_RMA_PutBlocking gex_AM_RequestMedium gex_AM_ReplyMedium gasnet_exit
 */
#include <gasnet.h>

#include "conformance/check.h"
#include "conformance/ex.h"

#define OWN_FUNCTION static __attribute__((noinline))

enum { ASK = 200, ANSWER };
enum { SEGMENT_LEN = 65536, BODY_LEN = 64, BODY_SEED = 7 };

static const uint64_t stored = 0x0123456789abcdef;
static check_count answered;

static void ask(gex_Token_t token, void *data, size_t len)
{
    gex_AM_ReplyMedium0(token, ANSWER, data, len, GEX_EVENT_NOW, 0);
}

static void answer(gex_Token_t token, void *data, size_t len)
{
    (void)token;
    CHECK(len == BODY_LEN && check_filled(data, len, BODY_SEED),
          "GASNet-EX AM: a Medium arrives as it was sent");
    check_add(&answered, 1);
}

OWN_FUNCTION void walk_put(gex_Rank_t peer, void *target)
{
    gex_RMA_PutBlocking(ex_tm, peer, target, (void *)(uintptr_t)&stored, sizeof stored, 0);
}

OWN_FUNCTION void walk_medium(gex_Rank_t peer, void *body)
{
    gex_AM_RequestMedium0(ex_tm, peer, ASK, body, BODY_LEN, GEX_EVENT_NOW, 0);
    GASNET_BLOCKUNTIL(check_counted(&answered) != 0);
}

OWN_FUNCTION void walk_exit(void) { gasnet_exit(0); }

int main(int argc, char **argv)
{
    gex_AM_Entry_t table[] = {
        { ASK, (gex_AM_Fn_t)ask, GEX_FLAG_AM_REQUEST | GEX_FLAG_AM_MEDIUM, 0, NULL, "ask" },
        { ANSWER, (gex_AM_Fn_t)answer, GEX_FLAG_AM_REPLY | GEX_FLAG_AM_MEDIUM, 0, NULL, "answer" },
    };
    unsigned char body[BODY_LEN];
    ex_begin(&argc, &argv, GEX_FLAG_USES_GASNET1);
    ex_register(table, sizeof table / sizeof table[0]);
    char *base = ex_attach(SEGMENT_LEN);
    const gex_Rank_t peer = check_next(1);
    char *peer_base = ex_base(peer);
    check_fill(body, sizeof body, BODY_SEED);
    ex_barrier();
    if (check_rank == 0) {
        walk_put(peer, peer_base);
        walk_medium(peer, body);
    }
    ex_barrier();
    if (check_rank == 1)
        CHECK(memcmp(base, &stored, sizeof stored) == 0, "GASNet-EX RMA: a blocking put stores");
    (void)check_end();
    walk_exit();
}
