/* SPDX-License-Identifier: BSD-3-Clause */
/* vis_told.c: scattered puts that notify their target on arrival: a handler runs, and finds in its
 * memory the contents that its message describes. */
#include "am.h"
#include "vis.h"

#include <inttypes.h>
#include <string.h>

enum { ASKED_HANDLER = 247, TOLD_HANDLER = 248, HEARD_HANDLER = 249 };

/* The contents of the message: these bytes of the stripe, gaps included, belong to the put and its
 * writer. */
typedef struct news {
    uint64_t op, at, extent, hash;
    uint32_t thread, place;
} news;

static shared_tally seen[RANKS_MAX][THREADS_MAX];
#define ANSWERED (UINT64_C(1) << 32)
static _Atomic uint64_t heard[THREADS_MAX]; /* by thread: 0, or ANSWERED and the answer */

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
}

/* Answers how often on_told has run. on_told runs for a reply and cannot reply itself, so the
 * notifying thread asks. */
static void on_asked(gex_Token_t token, gex_AM_Arg_t thread)
{
    gex_Token_Info_t info;
    (void)gex_Token_Info(token, &info, GEX_TI_SRCRANK);
    const unsigned i = (unsigned)thread % THREADS_MAX;
    const uint64_t count =
        atomic_load_explicit(&seen[info.gex_srcrank % RANKS_MAX][i].count, memory_order_acquire);
    (void)gex_AM_ReplyShort2(token, HEARD_HANDLER, 0, thread, (gex_AM_Arg_t)(uint32_t)count);
}

static void on_heard(gex_Token_t token, gex_AM_Arg_t thread, gex_AM_Arg_t count)
{
    (void)token;
    /* release: pairs with the acquire in answer_of; the target has read the stripe */
    atomic_store_explicit(&heard[(unsigned)thread % THREADS_MAX], ANSWERED | (uint32_t)count,
                          memory_order_release);
}

static uint32_t answer_of(const worker *w, gex_Rank_t target)
{
    uint64_t answer;
    atomic_store_explicit(&heard[w->index], 0,
                          memory_order_relaxed); /* no operation is under way */
    (void)gex_AM_RequestShort1(shadow.world, target, ASKED_HANDLER, 0, (gex_AM_Arg_t)w->index);
    for (unsigned polls = 0;
         (answer = atomic_load_explicit(&heard[w->index], memory_order_acquire)) == 0;)
        poll_once(&polls);
    return (uint32_t)answer;
}

void vis_told_wait(const worker *w)
{
    for (gex_Rank_t target = 0; target < shadow.size; target++)
        while (w->told[target].count != 0 &&
               answer_of(w, target) != (uint32_t)w->told[target].count)
            ;
}

void vis_told_register(void)
{
    gex_AM_Entry_t entries[] = {
        { ASKED_HANDLER, (gex_AM_Fn_t)on_asked, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 1, NULL,
          "asked" },
        { TOLD_HANDLER, (gex_AM_Fn_t)on_told, GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REPLY, 0, NULL,
          "told" },
        { HEARD_HANDLER, (gex_AM_Fn_t)on_heard, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REPLY, 2, NULL,
          "heard" },
    };
    if (gex_EP_RegisterHandlers(shadow.endpoint, entries, 3) != GASNET_OK)
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
