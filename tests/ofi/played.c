/* SPDX-License-Identifier: BSD-3-Clause */
/* played.c: the whole ofi conduit, from open to close, over the libfabric of fake_ofi.h, which
 * behaves like the providers of networks that are not here.
 *
 *     ofi.played [SEED]    plays one seed of the random test */
#include "conduits/ofi/ofi.h"
#include "diag/counters.h"
#include "ofi/fake_ofi.h"
#include "ofi/job.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum {
    SEEDS = 10000,
    STEPS = 120,
};

/* Providers by what they demand and grant; docs/conduits/ofi.md says where that was read. */
#define WITH_ADDRESSES (FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY)
static const manner manners[] = {
    /*  name            mr_mode                    rma    order  multi  fd     inject key */
    { "tcp;ofi_rxm", 0, true, true, true, true, 64, 8, false, false, 0, 0 },
    { "net", 0, true, true, true, true, 128, 8, false, false, 0, 0 },
    { "shm", 0, true, true, true, false, 4096, 8, false, false, 0, 0 },
    { "verbs;ofi_rxm", WITH_ADDRESSES, true, true, true, true, 64, 4, false, false, 0, 0 },
    { "psm3", 0, true, true, true, false, 64, 8, false, false, 0, 0 },
    { "opx", 0, true, false, true, false, 16, 8, false, false, 0, 0 },
    { "cxi", FI_MR_ENDPOINT, true, false, true, false, 192, 4, false, false, 0, 0 },
    { "cxi, newer", FI_MR_ENDPOINT | FI_MR_PROV_KEY | FI_MR_ALLOCATED, true, false, true, true, 192,
      8, false, false, 0, 0 },
    { "efa", WITH_ADDRESSES, true, false, true, false, 0, 4, false, false, 0, 0 },
    { "registers for frames", FI_MR_LOCAL, true, true, true, true, 64, 8, false, false, 0, 0 },
    { "frames only", 0, false, false, true, true, 64, 8, false, false, 0, 0 },
};
enum { MANNERS = sizeof manners / sizeof manners[0] };

/* ---- what providers grant ----------------------------------------------------------------------
 */

static void each_provider_is_used_as_it_can(void **state)
{
    (void)state;
    for (unsigned i = 0; i < MANNERS; i++) {
        const manner *is = &manners[i];
        const bool is_rma = is->has_rma && (is->mr_mode & FI_MR_LOCAL) == 0;
        open_all(is);
        assert_int_equal(has_rma(), is_rma);
        assert_int_equal(ranks[0].link->behind != NULL, is_rma && is->is_ordered);
        assert_int_equal(warned, is_rma ? 0 : 1);          /* said once */
        assert_int_equal(fake.writes, is_rma ? RANKS : 0); /* the check */
        for (unsigned k = 0; k < 30; k++)
            assert_int_equal(post_frame(k % 2, 2, (pen_lane)(k % 3), 13 * k), PEN_POST_DONE);
        for (unsigned k = 0; is_rma && k < PLACES; k++) {
            assert_int_equal(move(0, 1, k, true, false, 200 * k + 1), PEN_POST_PENDING);
            poll_all(60);
            assert_int_equal(move(0, 1, k, false, false, 0), PEN_POST_PENDING);
            poll_all(60);
            assert_false(ranks[1].places[0][k].is_busy);
        }
        poll_all(100);
        for (unsigned k = 0; k < 30; k++)
            assert_int_equal(frames[k].times, 1);
        close_all();
    }
}

static void a_provider_without_long_buffers_is_refused(void **state)
{
    (void)state;
    begin(&(manner){ "efa-direct", FI_MR_LOCAL | WITH_ADDRESSES, true, false, false, false, 0, 4,
                     false, false, 0, 0 });
    assert_int_equal(open_rank(0, true), PEN_ERR_UNUSABLE);
    assert_int_equal(errors, 1);
    assert_int_equal(fake.fabrics + fake.infos + blocks, 0);
}

static void a_provider_that_lies_moves_no_memory(void **state)
{
    (void)state;
    unsigned found = 0;
    for (unsigned seed = 1; seed <= 200; seed++) {
        begin(&manners[0]);
        fake.dice = seed * 7919;
        fake.manner.lies = true;
        assert_int_equal(open_rank(0, true), PEN_OK);
        found += ranks[0].link->rma == NULL;
        assert_int_equal(warned, ranks[0].link->rma == NULL);
        ranks[0].link->ops->close(ranks[0].link);
        assert_int_equal(fake.fabrics + fake.infos + blocks, 0);
    }
    assert_true(found > 10); /* the rest landed in time by chance */
}

static void a_provider_that_answers_nothing_moves_no_memory(void **state)
{
    (void)state;
    begin(&manners[0]);
    fake.manner.is_silent = true;
    assert_int_equal(open_rank(0, true), PEN_OK);
    assert_null(ranks[0].link->rma);
    assert_int_equal(warned, 1);
    ranks[0].link->ops->close(ranks[0].link);
    begin(&manners[0]);
    fake.refuse_rma = -FI_ENOSYS; /* as for operations that a provider only claims to have */
    assert_int_equal(open_rank(0, true), PEN_OK);
    assert_null(ranks[0].link->rma);
    ranks[0].link->ops->close(ranks[0].link);
    begin(&manners[0]);
    fake.fail_rma = FI_EIO;
    assert_int_equal(open_rank(0, true), PEN_OK);
    assert_null(ranks[0].link->rma);
    ranks[0].link->ops->close(ranks[0].link);
    begin(&manners[0]);
    fake.manner.register_error = -FI_ENOMEM;
    assert_int_equal(open_rank(0, true), PEN_OK);
    assert_null(ranks[0].link->rma);
    ranks[0].link->ops->close(ranks[0].link);
    assert_int_equal(fake.fabrics + fake.infos + blocks, 0);
}

static void ranks_must_be_granted_the_same(void **state)
{
    (void)state;
    begin(&manners[0]);
    for (unsigned i = 0; i < RANKS; i++)
        assert_int_equal(open_rank(i, i != 1), PEN_OK);
    assert_null(ranks[1].link->rma);
    assert_int_equal(warned, 0); /* the user wanted it so */
    assert_int_equal(connect_all(), PEN_ERR_UNUSABLE);
    assert_int_equal(errors, 1);
    close_all();
}

/* ---- keys --------------------------------------------------------------------------------------
 */

static void keys_are_random_and_fit(void **state)
{
    (void)state;
    uint64_t all = 0;
    begin(&manners[6]); /* keys of 4 bytes */
    assert_int_equal(open_rank(0, true), PEN_OK);
    pen_link *link = ranks[0].link;
    for (unsigned i = 0; i < 16; i++) {
        uint64_t blob[2];
        pen_region *region = NULL;
        fake.manner.taken_keys = i % 3;
        assert_int_equal(link->rma->register_region(link, ranks[0].segment, 64, &region), PEN_OK);
        assert_int_equal(link->rma->export_region(link, region, blob), PEN_OK);
        assert_true(blob[0] >> 32 == 0 && blob[1] == 0);
        all |= blob[0];
        link->rma->deregister_region(link, region);
    }
    assert_true(all > 0xffffff); /* 16 numbers of 32 bits below that: once in 2^128 */
    link->ops->close(link);
    assert_int_equal(fake.fabrics + fake.infos + blocks, 0);
}

static void memory_that_does_not_register_goes_by_messages(void **state)
{
    (void)state;
    pen_region *region = NULL;
    open_all(&manners[3]);
    pen_link *link = ranks[0].link;
    fake.manner.register_error = -FI_ENOMEM;
    assert_int_equal(link->rma->register_region(link, ranks[0].segment, 64, &region),
                     PEN_ERR_RESOURCE);
    fake.manner.register_error = 0;
    fake.manner.taken_keys = 1000; /* no key is free */
    assert_int_equal(link->rma->register_region(link, ranks[0].segment, 64, &region),
                     PEN_ERR_RESOURCE);
    assert_int_equal(warned, 2);
    close_all();
}

/* ---- room, waiting, losses ---------------------------------------------------------------------
 */

static void without_room_puts_wait_and_frames_stay_behind(void **state)
{
    (void)state;
    open_all(&manners[0]);
    fake.refuse_in_8 = 8;
    const unsigned writes = fake.writes;
    assert_int_equal(move(0, 1, 0, true, true, 1000), PEN_POST_PENDING);
    post_behind(0);
    assert_true(ranks[0].has_behind); /* AGAIN: the put has not begun */
    assert_int_equal(fake.writes, writes);
    assert_true(ranks[0].link->due->due_ns(ranks[0].link) != UINT64_MAX);
    poll_all(1);
    fake.refuse_in_8 = 0;
    poll_all(1);
    post_behind(0);
    assert_false(ranks[0].has_behind);
    poll_all(60);
    assert_int_equal(frames[0].times, 1);
    assert_true(ranks[0].link->due->due_ns(ranks[0].link) == UINT64_MAX);
    close_all();
}

static void short_sources_are_free_at_once(void **state)
{
    (void)state;
    open_all(&manners[0]);
    assert_int_equal(move(0, 1, 0, true, false, OFI_COPY_MAX), PEN_POST_PENDING);
    assert_int_equal(atomic_load(&ranks[0].ops[0].op.source_busy), 0);
    assert_int_equal(move(0, 1, 1, true, false, OFI_COPY_MAX + 1), PEN_POST_PENDING);
    assert_int_equal(atomic_load(&ranks[0].ops[1].op.source_busy), 1);
    poll_all(100);
    assert_int_equal(fake.deed_count, 0);
    close_all();
}

static void puts_under_way_are_bounded(void **state)
{
    (void)state;
    static pen_op ops[OFI_TOKENS + 1];
    static unsigned char source[512];
    open_all(&manners[0]);
    pen_link *link = ranks[0].link;
    for (unsigned i = 0; i <= OFI_TOKENS; i++) {
        ops[i] = (pen_op){ .source_busy = 1, .incomplete = 1 };
        assert_int_equal(
            link->rma->put(link, 1, 0, ranks[0].key[1], source, NULL, sizeof source, &ops[i]),
            i < OFI_TOKENS ? PEN_POST_PENDING : PEN_POST_AGAIN);
    }
    assert_int_equal(atomic_load(&ops[OFI_TOKENS].incomplete), 1);
    poll_all(600);
    for (unsigned i = 0; i < OFI_TOKENS; i++)
        assert_int_equal(atomic_load(&ops[i].incomplete) + atomic_load(&ops[i].source_busy), 0);
    close_all();
}

static void a_peer_whose_memory_fails_is_lost_once(void **state)
{
    (void)state;
    open_all(&manners[0]);
    assert_int_equal(move(0, 1, 0, true, false, 1000), PEN_POST_PENDING);
    assert_int_equal(move(0, 1, 1, true, false, 1000), PEN_POST_PENDING);
    fake.fail_rma = FI_ECANCELED; /* as after a reset of the connection */
    poll_all(60);
    assert_int_equal(ranks[0].lost[1], 0); /* the launcher has yet to notice it */
    time_passes();
    poll_all(3);
    assert_int_equal(ranks[0].lost[1], 1);
    assert_int_equal(ranks[0].lost[0] + ranks[0].lost[2], 0);
    assert_int_equal(atomic_load(&ranks[0].ops[0].op.incomplete), 1); /* it has not ended */
    assert_int_equal(atomic_load(&ranks[0].ops[0].op.source_busy), 1);
    assert_int_equal(move(0, 1, 2, true, false, 10), PEN_POST_FAILED);
    fake.refuse_rma = -FI_ENOTCONN;
    assert_int_equal(move(0, 2, 0, true, false, 10), PEN_POST_FAILED);
    assert_int_equal(move(1, 0, 0, true, false, 10), PEN_POST_FAILED);
    time_passes();
    poll_all(3);
    assert_int_equal(ranks[0].lost[2], 1);
    assert_int_equal(ranks[1].lost[0], 1);
    close_all();
}

static void an_orderly_end_waits_for_puts_and_touches_no_op(void **state)
{
    (void)state;
    open_all(&manners[0]);
    assert_int_equal(move(0, 0, 0, true, false, 1000), PEN_POST_PENDING);
    assert_int_equal(move(0, 0, 1, true, false, 1000), PEN_POST_PENDING);
    ofi_drain(ofi_of(ranks[0].link));
    assert_int_equal(fake.deed_count, 0);
    close_all();
    assert_int_equal(atomic_load(&ranks[0].ops[0].op.incomplete), 1);
    assert_int_equal(atomic_load(&ranks[0].ops[0].op.source_busy), 1);
    assert_true(is_filled(memory_at(0, 0, 1), ranks[0].places[0][1].fill, 1000));
}

/* ---- all together, by chance -------------------------------------------------------------------
 */

static void step(void)
{
    static const uint32_t lens[] = { 0, 3, 16, 17, 200, BODY_MAX };
    static const uint32_t move_lens[] = { 1, 8, 100, OFI_COPY_MAX, OFI_COPY_MAX + 1, PLACE_LEN };
    const unsigned by = dice(RANKS), to = dice(RANKS);
    switch (dice(8)) {
    case 0:
    case 1:
        (void)post_frame(by, to, (pen_lane)dice(PEN_LANES), lens[dice(6)]);
        break;
    case 2:
    case 3:
        if (has_rma())
            (void)move(by, to, dice(PLACES), true, ranks[0].link->behind != NULL && dice(2) == 0,
                       move_lens[dice(6)]);
        break;
    case 4:
        if (has_rma())
            (void)move(by, to, dice(PLACES), false, false, 0);
        break;
    case 5:
        post_behind(by);
        break;
    default:
        (void)poll_rank(by, dice(8), 1 + dice(20));
    }
}

static void play(uint64_t seed)
{
    open_all(&manners[seed % MANNERS]);
    fake.dice = seed;
    fake.refuse_in_8 = dice(8);
    for (unsigned i = 0; i < STEPS; i++)
        step();
    const bool is_read = dice(4) != 0; /* else the links close with operations in them */
    fake.refuse_in_8 = 0;
    for (unsigned i = 0; is_read && i < 100; i++) {
        poll_all(6);
        for (unsigned k = 0; k < RANKS; k++)
            post_behind(k);
    }
    for (uint32_t i = 0; i < frame_count; i++)
        assert_true(frames[i].times == 1 || (!is_read && frames[i].times == 0));
    for (unsigned i = 0; is_read && i < RANKS * OPS; i++)
        assert_null(ranks[i / OPS].ops[i % OPS].rank);
    assert_true(!is_read || fake.deed_count == 0);
    close_all();
    assert_int_equal(counters.net_bad_frame + counters.net_bad_source + errors, 0);
}

static uint64_t first_seed = 1, seeds = SEEDS;

static void everything_goes_once_and_comes_once(void **state)
{
    (void)state;
    unsigned late = 0;
    for (uint64_t seed = first_seed; seed < first_seed + seeds; seed++) {
        play(seed);
        late += fake.landings_late;
    }
    assert_true(seeds == 1 || late > seeds / 10); /* plain puts landed after their report */
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_provider_is_used_as_it_can),
        cmocka_unit_test(a_provider_without_long_buffers_is_refused),
        cmocka_unit_test(a_provider_that_lies_moves_no_memory),
        cmocka_unit_test(a_provider_that_answers_nothing_moves_no_memory),
        cmocka_unit_test(ranks_must_be_granted_the_same),
        cmocka_unit_test(keys_are_random_and_fit),
        cmocka_unit_test(memory_that_does_not_register_goes_by_messages),
        cmocka_unit_test(without_room_puts_wait_and_frames_stay_behind),
        cmocka_unit_test(short_sources_are_free_at_once),
        cmocka_unit_test(puts_under_way_are_bounded),
        cmocka_unit_test(a_peer_whose_memory_fails_is_lost_once),
        cmocka_unit_test(an_orderly_end_waits_for_puts_and_touches_no_op),
        cmocka_unit_test(everything_goes_once_and_comes_once),
    };
    if (argc > 1) {
        first_seed = strtoull(argv[1], NULL, 10);
        seeds = 1;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
