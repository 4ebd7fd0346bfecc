/* SPDX-License-Identifier: BSD-3-Clause */
/* twosided_test.c: the two-sided library over the EXTOLL card. Messages match by source and tag in
 * the order of their sending, arrive whole, and overflow no mailbox, however small. All ranks are
 * in one thread. */
#include "unit/softnic/fabric.h"

#include <twosided/twosided.h>

enum { RANKS = 4, EACH = 60, TAGS = 2, UNDER_WAY = 8, LONGEST = 9000 };

typedef struct rank {
    pen_card *card;
    velo2_port_t velo;
    RMA2_Port rma;
    velo2_connection_t to[RANKS];
    RMA2_Handle rma_to[RANKS];
    twosided *t;
    int sent[RANKS], got[RANKS][TAGS]; /* messages, of each peer */
    int posted_all, got_all;
    twosided_request sends[UNDER_WAY], receives[UNDER_WAY];
    bool sending[UNDER_WAY];
    unsigned char out[UNDER_WAY][LONGEST], in[UNDER_WAY][LONGEST];
} rank;

typedef struct world {
    pen_card_config config;
    void *fabric;
    rank ranks[RANKS];
} world;

static void world_open(world *w, pen_credit_policy policy, uint32_t quota)
{
    const pen_credit_settings settings = { .policy = pen_credit_policy_name(policy),
                                           .quota = quota,
                                           .control = 2,
                                           .step = 1,
                                           .hysteresis = 1.25,
                                           .epoch = 64 };
    pen_credit_params params;
    const char *wrong = pen_credit_params_make(&settings, RANKS - 1, true, &params);
    assert_null(wrong);
    w->config = small_config(RANKS);
    w->config.mailbox_slots = (uint32_t)twosided_mailbox_slots(&params);
    w->fabric = make_fabric(&w->config);
    for (uint16_t n = 0; n < (uint16_t)RANKS; n++) {
        rank *r = &w->ranks[n];
        memset(r, 0, sizeof(*r));
        r->card = plug_in(w->fabric, &w->config, n);
        assert_int_equal(velo2_open(&r->velo), VELO2_RET_SUCCESS);
        assert_int_equal(rma2_open(&r->rma), RMA2_SUCCESS);
        for (uint16_t peer = 0; peer < (uint16_t)RANKS; peer++) {
            (void)velo2_connect(&r->velo, &r->to[peer], peer, 0);
            (void)rma2_connect(r->rma, peer, 0, RMA2_CONN_DEFAULT, &r->rma_to[peer]);
        }
        r->t = twosided_open(&r->velo, r->to, r->rma, r->rma_to, n, RANKS, &params);
        assert_non_null(r->t);
    }
}

static void world_close(world *w)
{
    for (uint16_t n = 0; n < (uint16_t)RANKS; n++) {
        rank *r = &w->ranks[n];
        twosided_counts counts;
        twosided_count(r->t, &counts);
        assert_int_equal(counts.overflows, 0);
        assert_int_equal(counts.protocol, 0);
        twosided_close(r->t);
        (void)velo2_close(&r->velo);
        (void)rma2_close(r->rma);
        pen_card_close(r->card);
    }
    free(w->fabric);
}

/* Computes tag and length of message `number` from one rank to another; both ends use it. */
static uint32_t mix(int from, int to, int number)
{
    uint32_t x = (uint32_t)(from * 31 + to) * 2654435761u + (uint32_t)number * 40503u;
    return (x ^ x >> 15) * 2246822519u >> 8;
}

static int tag_of(int from, int to, int number) { return (int)(mix(from, to, number) % TAGS); }

static size_t len_of(int from, int to, int number)
{
    static const size_t lens[] = { 0, 1, 8, 48, 49, 104, 105, 500, 2048, 2049, LONGEST };
    return lens[mix(from, to, number) / TAGS % (sizeof(lens) / sizeof(lens[0]))];
}

/* Returns the number of the nth message with a tag, or EACH if there are fewer. */
static int number_of(int from, int to, int tag, int nth)
{
    for (int number = 0; number < EACH; number++)
        if (tag_of(from, to, number) == tag && nth-- == 0)
            return number;
    return EACH;
}

static void send_some(rank *r, int me)
{
    for (int i = 0; i < UNDER_WAY; i++) {
        if (r->sending[i] && !twosided_test(r->t, &r->sends[i]))
            continue;
        r->sending[i] = false;
        int peer = i % RANKS, number = r->sent[peer];
        if (peer == me || number == EACH)
            continue;
        size_t len = len_of(me, peer, number);
        fill(r->out[i], len, (uint32_t)(me * RANKS + peer), (uint32_t)number);
        r->sending[i] = true;
        r->sent[peer]++;
        twosided_isend(r->t, peer, tag_of(me, peer, number), r->out[i], len, &r->sends[i]);
    }
}

/* Checks completion in the order of posting, whichever finishes first: each receive gets the next
 * message of its source and tag. */
static void check_next(rank *r, int me)
{
    twosided_request *done = &r->receives[r->got_all % UNDER_WAY];
    assert_in_range(done->tag, 0, TAGS - 1);
    int from = done->peer, number = number_of(from, me, done->tag, r->got[from][done->tag]++);
    assert_int_not_equal(number, EACH);
    assert_int_equal(done->len, len_of(from, me, number));
    assert_false(done->is_cut);
    assert_true(is_filled(r->in[r->got_all % UNDER_WAY], done->len, (uint32_t)(from * RANKS + me),
                          (uint32_t)number));
    r->got_all++;
}

/* Receives two messages of each source in turn and waits for the second first. A sender has two
 * under way, so no cycle of waits exists. */
static void choose(const rank *r, int me, int *from, int *tag)
{
    int pair = r->posted_all / 2, number = pair / (RANKS - 1) * 2 + 1 - r->posted_all % 2;
    *from = (me + 1 + pair % (RANKS - 1)) % RANKS;
    *tag = tag_of(*from, me, number);
}

static void receive_some(rank *r, int me, bool anything)
{
    const int all = (RANKS - 1) * EACH;
    while (r->got_all < r->posted_all && twosided_test(r->t, &r->receives[r->got_all % UNDER_WAY]))
        check_next(r, me);
    while (r->posted_all < all && r->posted_all - r->got_all < UNDER_WAY) {
        int i = r->posted_all % UNDER_WAY, from = TWOSIDED_ANY, tag = TWOSIDED_ANY;
        if (!anything)
            choose(r, me, &from, &tag);
        r->posted_all++;
        twosided_irecv(r->t, from, tag, r->in[i], LONGEST, &r->receives[i]);
    }
}

static bool is_finished(const world *w)
{
    for (uint16_t n = 0; n < (uint16_t)RANKS; n++) {
        const rank *r = &w->ranks[n];
        if (r->got_all < (RANKS - 1) * EACH)
            return false;
        for (int i = 0; i < UNDER_WAY; i++)
            if (r->sending[i])
                return false;
    }
    return true;
}

static void everybody_talks_to_everybody(pen_credit_policy policy, uint32_t quota, bool anything)
{
    world *w = malloc(sizeof(*w));
    assert_non_null(w);
    world_open(w, policy, quota);
    for (int turn = 0; !is_finished(w); turn++) {
        assert_true(turn < 100000); /* else it hangs */
        int me = turn * 7 % RANKS;
        me = (me + turn / 3) % RANKS;
        send_some(&w->ranks[me], me);
        receive_some(&w->ranks[me], me, anything);
    }
    world_close(w);
    free(w);
}

static void messages_match_in_order_in_the_smallest_mailboxes(void **state)
{
    (void)state;
    for (int policy = 0; policy < PEN_CREDIT_POLICIES; policy++) {
        everybody_talks_to_everybody((pen_credit_policy)policy, PEN_CREDIT_QUOTA_MIN(2), false);
        everybody_talks_to_everybody((pen_credit_policy)policy, PEN_CREDIT_QUOTA_MIN(2), true);
    }
}

static void messages_match_in_order_in_large_mailboxes(void **state)
{
    (void)state;
    everybody_talks_to_everybody(PEN_CREDIT_STATIC, 56, false);
    everybody_talks_to_everybody(PEN_CREDIT_ACTIVITY, 56, true);
}

static void messages_longer_than_the_buffer_are_cut(void **state)
{
    (void)state;
    world *w = malloc(sizeof(*w));
    assert_non_null(w);
    world_open(w, PEN_CREDIT_STATIC, 56);
    rank *a = &w->ranks[0], *b = &w->ranks[1];
    const size_t lens[] = { 30, 500, 5000 };
    for (int i = 0; i < 6; i++) {
        size_t len = lens[i / 2];
        twosided_request sent, got;
        fill(a->out[0], len, 1, 1);
        memset(b->in[0], 0xee, LONGEST);
        if (i % 2)
            twosided_irecv(b->t, 0, 3, b->in[0], 20, &got);
        twosided_isend(a->t, 1, 3, a->out[0], len, &sent);
        twosided_request other; /* a poll, so that the message is there before its receive */
        twosided_irecv(b->t, 2, 3, b->in[1], 20, &other);
        (void)twosided_test(b->t, &other);
        twosided_isend(w->ranks[2].t, 1, 3, a->out[0], 0, &w->ranks[2].sends[0]);
        twosided_wait(b->t, &other);
        if (i % 2 == 0)
            twosided_irecv(b->t, TWOSIDED_ANY, 3, b->in[0], 20, &got);
        while (!twosided_test(b->t, &got) || !twosided_test(a->t, &sent))
            (void)0;
        assert_true(got.is_cut);
        assert_int_equal(got.len, len);
        assert_int_equal(got.peer, 0);
        assert_true(is_filled(b->in[0], 20, 1, 1));
        assert_int_equal(b->in[0][20], 0xee);
    }
    world_close(w);
    free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_match_in_order_in_the_smallest_mailboxes),
        cmocka_unit_test(messages_match_in_order_in_large_mailboxes),
        cmocka_unit_test(messages_longer_than_the_buffer_are_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
