/* SPDX-License-Identifier: BSD-3-Clause */
/* vis_told.c: scattered puts whose target is told when they are there: a handler runs, which finds
 * in its memory what its message says of it. */
#include "am.h"
#include "vis.h"

#include <inttypes.h>
#include <string.h>

enum { TOLD_HANDLER = 248, HEARD_HANDLER = 249 };

/* What the message says: these bytes of the stripe, gaps and all, are the put's and its writer's.
 */
typedef struct news {
    uint64_t op, at, extent, hash;
    uint32_t thread, place;
} news;

static shared_tally seen[RANKS_MAX][THREADS_MAX];
static _Atomic uint64_t heard[THREADS_MAX]; /* answers, by thread */

static uint64_t digest(const news *n) { return random_mix2(n->hash ^ n->at, n->op); }

static void on_told(gex_Token_t token, void *payload, size_t len)
{
    gex_Token_Info_t info;
    news n = { 0 };
    (void)gex_Token_Info(token, &info, GEX_TI_SRCRANK);
    const gex_Rank_t from = info.gex_srcrank;
    if (len == sizeof n)
        memcpy(&n, payload, sizeof n);
    if (len != sizeof n || from >= shadow.size || n.thread >= shadow.options.threads ||
        n.place >= PLACES || n.at + n.extent > STRIPE_LEN)
        mismatch_at(shadow.rank, 0, shadow.workers[0].op,
                    "a target is told of a put by %zu bytes that make no sense", len);
    const unsigned char *stripe_bytes = stripe_of(n.place, shadow.rank, from, n.thread);
    if (hash_bytes(stripe_bytes + n.at, n.extent) != n.hash)
        mismatch_at(from, n.thread, n.op,
                    "rank %u is told that a put of rank %u is there, %" PRIu64 " bytes from byte "
                    "%" PRIu64 " of its stripe: they are not",
                    shadow.rank, from, n.extent, n.at);
    tally_add(&seen[from][n.thread], digest(&n));
    (void)gex_AM_ReplyShort1(token, HEARD_HANDLER, 0, (gex_AM_Arg_t)n.thread);
}

static void on_heard(gex_Token_t token, gex_AM_Arg_t thread)
{
    (void)token;
    /* release: pairs with the acquire in vis_told_wait; the target has read the stripe */
    atomic_fetch_add_explicit(&heard[(unsigned)thread % THREADS_MAX], 1, memory_order_release);
}

void vis_told_wait(const worker *w)
{
    uint64_t told = 0;
    for (gex_Rank_t target = 0; target < shadow.size; target++)
        told += w->told[target].count;
    for (unsigned polls = 0; atomic_load_explicit(&heard[w->index], memory_order_acquire) < told;)
        poll_once(&polls);
}

void vis_told_register(void)
{
    gex_AM_Entry_t entries[] = {
        { TOLD_HANDLER, (gex_AM_Fn_t)on_told, GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REQUEST, 0, NULL,
          "told" },
        { HEARD_HANDLER, (gex_AM_Fn_t)on_heard, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REPLY, 1, NULL,
          "heard" },
    };
    if (gex_EP_RegisterHandlers(shadow.endpoint, entries, 2) != GASNET_OK)
        mismatch_at(shadow.rank, 0, 0, "the handlers of told puts cannot be registered");
}

void vis_tell(worker *w, const vis_call *call, size_t extent)
{
    if (!w->tells_target)
        return;
    const stripe *s = stripe_for(w, call->target);
    news n = { .op = w->op,
               .at = (uint64_t)(call->there - s->there),
               .extent = extent,
               .hash = hash_bytes(call->model, extent),
               .thread = w->index,
               .place = s->place };
    am_tally *told = &w->told[call->target];
    told->count++;
    told->sum += digest(&n);
    gex_VIS_SetPeerCompletionHandler(TOLD_HANDLER, &n, sizeof n, 0);
}

void vis_told_check(gex_Rank_t from, unsigned thread, const row *said)
{
    tally_check(&seen[from][thread], &said->told, from, thread, "puts that tell their target");
}

void vis_told(worker *w, unsigned most)
{
    static void (*const shapes[])(worker *, unsigned) = { vis_vector, vis_indexed, vis_strided };
    w->tells_target = true;
    w->elsewhere = random_chance(&w->random, 4) ? ELSEWHERE_THERE : ELSEWHERE_NOT;
    shapes[random_below(&w->random, 3)](w, most);
    w->elsewhere = ELSEWHERE_NOT;
    w->tells_target = false;
}
