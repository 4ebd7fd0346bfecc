/* SPDX-License-Identifier: BSD-3-Clause */
/* moves.c: puts and gets of the ucx conduit over the UCX of fake_ucp.h: each has moved its data
 * when it ends, and nobody writes to its source before that is free.
 *
 *     ucx.moves [SEED]    plays one seed of the random test */
#include "conduits/ucx/ucx.h"
#include "ucx/fake_ucp.h"
#include "ucx/job.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum {
    SEEDS = 10000,
    STEPS = 120,
    PLACES = 8, /* in each segment */
    PLACE_LEN = MEMORY_LEN / PLACES,
    OPS = 16,
};

typedef struct client_op {
    pen_op op; /* first: `then` names it */
    bool is_used, is_put;
    unsigned peer, place;
    unsigned char fill;
    size_t len;
    unsigned char memory[PLACE_LEN];
} client_op;

static client_op ops[OPS];
static pen_region *regions[PEERS];
static pen_rkey keys[PEERS];
static struct {
    bool is_busy;
    unsigned char fill;
    size_t len;
} places[PEERS][PLACES];

static unsigned char *memory_at(unsigned peer, unsigned place)
{
    return &fake.memory[peer][(size_t)place * PLACE_LEN];
}

static void fill_with(unsigned char *memory, unsigned char fill, size_t len)
{
    for (size_t i = 0; i < len; i++)
        memory[i] = (unsigned char)(fill + i);
}

static bool is_filled(const unsigned char *memory, unsigned char fill, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (memory[i] != (unsigned char)(fill + i))
            return false;
    return true;
}

static pen_link *begin(void)
{
    unsigned char blob[sizeof(ucx_key)];
    pen_link *link = start();
    memset(ops, 0, sizeof ops);
    memset(places, 0, sizeof places);
    assert_int_equal(link->caps.rkey_len, sizeof blob);
    assert_null(link->behind);             /* UCX keeps no frame behind a put */
    for (unsigned i = 0; i < PEERS; i++) { /* each peer registers a segment */
        assert_int_equal(link->rma->register_region(link, fake.memory[i], MEMORY_LEN, &regions[i]),
                         PEN_OK);
        assert_int_equal(link->rma->export_region(link, regions[i], blob), PEN_OK);
        assert_int_equal(link->rma->import_region(link, i, blob, &keys[i]), PEN_OK);
    }
    assert_int_equal(fake.keys, PEERS);
    assert_int_equal(fake.packed, 0);
    return link;
}

static void end(pen_link *link)
{
    for (unsigned i = 0; i < PEERS; i++) {
        link->rma->release_region(link, i, keys[i]);
        link->rma->deregister_region(link, regions[i]);
    }
    link->ops->close(link);
    expect_nothing_left();
}

static void op_ends(pen_op *base)
{
    client_op *op = (client_op *)(void *)base;
    assert_int_equal(atomic_load(&base->source_busy), 0);
    assert_true(is_filled(op->is_put ? memory_at(op->peer, op->place) : op->memory,
                          places[op->peer][op->place].fill, op->len));
    places[op->peer][op->place].is_busy = false;
    op->is_used = false;
}

static client_op *op_free(void)
{
    for (unsigned i = 0; i < OPS; i++)
        if (!ops[i].is_used)
            return &ops[i];
    return NULL;
}

static pen_post call_link(pen_link *link, client_op *op)
{
    const uint64_t offset = (uint64_t)op->place * PLACE_LEN;
    if (!op->is_put)
        return link->rma->get(link, op->peer, offset, keys[op->peer], op->memory, NULL, op->len,
                              &op->op);
    fill_with(op->memory, op->fill, op->len);
    return link->rma->put(link, op->peer, offset, keys[op->peer], op->memory, NULL, op->len,
                          &op->op);
}

/* Returns the link's answer; AGAIN also if the place is in use. */
static pen_post move(pen_link *link, unsigned peer, unsigned place, bool is_put, size_t len)
{
    client_op *op = op_free();
    if (op == NULL || places[peer][place].is_busy || (!is_put && places[peer][place].len == 0))
        return PEN_POST_AGAIN;
    *op = (client_op){ .op = { .source_busy = 1, .incomplete = 1, .then = op_ends },
                       .is_used = true,
                       .is_put = is_put,
                       .peer = peer,
                       .place = place,
                       .fill = (unsigned char)dice(256),
                       .len = is_put ? len : places[peer][place].len };
    const pen_post answer = call_link(link, op);
    if (answer != PEN_POST_DONE && answer != PEN_POST_PENDING) {
        assert_int_equal(atomic_load(&op->op.incomplete) + atomic_load(&op->op.source_busy), 2);
        op->is_used = false;
        return answer;
    }
    places[peer][place].is_busy = true;
    if (is_put) {
        places[peer][place].fill = op->fill;
        places[peer][place].len = op->len;
    }
    if (answer == PEN_POST_DONE) {
        assert_int_equal(atomic_load(&op->op.incomplete) + atomic_load(&op->op.source_busy), 2);
        atomic_store(&op->op.source_busy, 0);
        op_ends(&op->op);
    } else if (atomic_load(&op->op.source_busy) == 0)
        memset(op->memory, 0xdd, sizeof op->memory); /* the client uses it again */
    return answer;
}

static void poll_often(pen_link *link, unsigned times)
{
    for (unsigned i = 0; i < times; i++)
        (void)poll_lanes(link, PEN_LANES_ALL, 100);
}

/* ---- one thing at a time --------------------------------------------------------------------- */

static void a_put_is_over_when_a_flush_is(void **state)
{
    (void)state;
    pen_link *link = begin();
    assert_int_equal(move(link, 1, 0, true, 100), PEN_POST_PENDING);
    assert_int_equal(atomic_load(&ops[0].op.source_busy), 0);
    assert_int_equal(atomic_load(&ops[0].op.incomplete), 1);
    assert_false(link->wait->arm(link)); /* its flush has yet to begin */
    assert_true(link->due->due_ns(link) != UINT64_MAX);
    poll_often(link, 60);
    assert_false(ops[0].is_used);
    assert_int_equal(fake.flushes, 1);
    assert_true(link->wait->arm(link));
    assert_true(link->due->due_ns(link) == UINT64_MAX);
    end(link);
}

static void one_flush_covers_all_puts_to_a_peer(void **state)
{
    (void)state;
    pen_link *link = begin();
    fake.late_in_8 = 8;
    for (unsigned i = 0; i < PLACES; i++)
        assert_int_equal(move(link, 1 + i % 2, i, true, 100), PEN_POST_PENDING);
    poll_often(link, 200);
    assert_int_equal(fake.flushes, 2);
    assert_true(link->wait->arm(link));
    for (unsigned i = 0; i < OPS; i++)
        assert_false(ops[i].is_used);
    end(link);
}

static void a_get_that_is_over_at_once_ends_so(void **state)
{
    (void)state;
    pen_link *link = begin();
    assert_int_equal(move(link, 2, 3, true, PLACE_LEN), PEN_POST_PENDING);
    poll_often(link, 60);
    assert_int_equal(move(link, 2, 3, false, 0), PEN_POST_DONE);
    fake.late_in_8 = 8;
    assert_int_equal(move(link, 2, 3, false, 0), PEN_POST_PENDING);
    poll_often(link, 60);
    assert_false(ops[0].is_used);
    end(link);
}

static void puts_under_way_are_bounded(void **state)
{
    (void)state;
    static pen_op many[UCX_TOKENS + 1];
    static unsigned char source[64];
    pen_link *link = begin();
    for (unsigned i = 0; i <= UCX_TOKENS; i++) {
        many[i] = (pen_op){ .source_busy = 1, .incomplete = 1 };
        assert_int_equal(link->rma->put(link, 1, 0, keys[1], source, NULL, 64, &many[i]),
                         i < UCX_TOKENS ? PEN_POST_PENDING : PEN_POST_AGAIN);
    }
    assert_int_equal(atomic_load(&many[UCX_TOKENS].incomplete), 1);
    poll_often(link, 900);
    for (unsigned i = 0; i < UCX_TOKENS; i++)
        assert_int_equal(atomic_load(&many[i].incomplete), 0);
    end(link);
}

/* UCX ends the puts with an error in one run of this test, and the flushes behind them in the
 * other. */
static void lose_peers(ucs_status_t moves, ucs_status_t flushes)
{
    pen_link *link = begin();
    fake.late_in_8 = 8;
    assert_int_equal(move(link, 1, 0, true, 100), PEN_POST_PENDING);
    assert_int_equal(move(link, 1, 1, true, 100), PEN_POST_PENDING);
    assert_int_equal(move(link, 2, 1, true, 100), PEN_POST_PENDING);
    fake.fail_moves = moves;
    fake.fail_flushes = flushes;
    poll_often(link, 100);
    time_passes();
    poll_often(link, 3);
    assert_int_equal(fake.lost[1], 1);
    assert_int_equal(fake.lost[2], 1);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(atomic_load(&ops[i].op.incomplete), 1); /* it has not ended */
    assert_int_equal(move(link, 1, 2, true, 100), PEN_POST_FAILED);
    end(link);
}

static void a_peer_whose_memory_fails_is_lost_once(void **state)
{
    (void)state;
    lose_peers(UCS_ERR_CONNECTION_RESET, UCS_OK);
    lose_peers(UCS_OK, UCS_ERR_CONNECTION_RESET);
}

static void memory_that_does_not_register_goes_by_messages(void **state)
{
    (void)state;
    static const char *const calls[] = { "mem_map", "rkey_pack", "a long key" };
    pen_link *link = begin();
    for (unsigned i = 0; i < 3; i++) {
        pen_region *region = NULL;
        fake.failing = calls[i];
        fake.key_len = i < 2 ? KEY_LEN : UCX_KEY_MAX + 1;
        assert_int_equal(link->rma->register_region(link, ops, sizeof ops, &region),
                         PEN_ERR_RESOURCE);
        assert_int_equal(fake.logged, i + 1);
        assert_int_equal(fake.regions, PEERS);
    }
    end(link);
}

static void a_key_that_ucx_refuses_ends_the_job(void **state)
{
    (void)state;
    ucx_key key;
    pen_rkey out;
    pen_link *link = begin();
    assert_int_equal(link->rma->export_region(link, regions[1], &key), PEN_OK);
    fake.failing = "rkey_unpack";
    assert_int_equal(link->rma->import_region(link, 1, &key, &out), PEN_ERR_UNUSABLE);
    fake.failing = NULL;
    key.len = UCX_KEY_MAX + 1; /* a peer may lie */
    assert_int_equal(link->rma->import_region(link, 1, &key, &out), PEN_ERR_UNUSABLE);
    end(link);
}

/* ---- all together, by chance ----------------------------------------------------------------- */

static void step(pen_link *link)
{
    static const size_t lens[] = { 1, 8, 100, PLACE_LEN };
    const unsigned peer = dice(PEERS), place = dice(PLACES);
    switch (dice(6)) {
    case 0:
        if (fake.coming_count < MOST && dice(2) == 0)
            arrive(peer, (pen_lane)dice(PEN_LANES), dice(BODY_MAX));
        else if (fake.posted < MOST)
            assert_int_not_equal(post(link, peer, (pen_lane)dice(PEN_LANES), dice(BODY_MAX)),
                                 PEN_POST_FAILED);
        break;
    case 1:
    case 2:
        assert_int_not_equal(move(link, peer, place, true, lens[dice(4)]), PEN_POST_FAILED);
        break;
    case 3:
        assert_int_not_equal(move(link, peer, place, false, 0), PEN_POST_FAILED);
        break;
    default:
        (void)poll_lanes(link, dice(8), 1 + dice(20));
    }
}

static void play(uint64_t seed)
{
    pen_link *link = begin();
    fake.dice = seed;
    fake.refuse_in_8 = dice(8);
    fake.late_in_8 = dice(9);
    for (unsigned i = 0; i < STEPS; i++)
        step(link);
    fake.refuse_in_8 = 0;
    poll_often(link, 500);
    for (unsigned i = 0; i < OPS; i++)
        assert_false(ops[i].is_used);
    for (uint32_t i = 0; i < fake.posted; i++)
        assert_int_equal(fake.went[i], 1);
    assert_int_equal(fake.delivered_total, fake.arrivals);
    end(link);
}

static uint64_t first_seed = 1, seeds = SEEDS;

static void each_put_and_get_moves_its_data(void **state)
{
    (void)state;
    unsigned early = 0;
    for (uint64_t seed = first_seed; seed < first_seed + seeds; seed++) {
        play(seed);
        early += fake.early;
    }
    assert_true(seeds == 1 || early > seeds / 10); /* flushes reported before their puts */
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_put_is_over_when_a_flush_is),
        cmocka_unit_test(one_flush_covers_all_puts_to_a_peer),
        cmocka_unit_test(a_get_that_is_over_at_once_ends_so),
        cmocka_unit_test(puts_under_way_are_bounded),
        cmocka_unit_test(a_peer_whose_memory_fails_is_lost_once),
        cmocka_unit_test(memory_that_does_not_register_goes_by_messages),
        cmocka_unit_test(a_key_that_ucx_refuses_ends_the_job),
        cmocka_unit_test(each_put_and_get_moves_its_data),
    };
    if (argc > 1) {
        first_seed = strtoull(argv[1], NULL, 10);
        seeds = 1;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
