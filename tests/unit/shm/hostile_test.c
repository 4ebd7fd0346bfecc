/* SPDX-License-Identifier: BSD-3-Clause */
/* hostile_test.c: a peer that writes garbage into a rank's memory. With any garbage, the rank stays
 * inside the slice, reports the peer as lost once, and goes on with its other peers. */
#include "shm_job.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { VICTIM = 0, VILLAIN = 1, FRIEND = 2, RANKS = 3 };

static const shm_config few = { .channels = 32, .eager = 8, .park_polls = 16 };
static const shm_config claimed = { .channels = 1, .eager = 0, .park_polls = 4 };

static uint64_t random_state;

static uint64_t random_word(void)
{
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    uint64_t high = random_state >> 32;
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return high << 32 | random_state >> 32;
}

/* A word that gets past the first comparison: mostly plausible, one field in doubt. */
static uint64_t random_slot_word(uint32_t position)
{
    uint64_t word = random_word();
    uint64_t doubts = random_word();
    if (doubts & 1)
        word &= ~(UINT64_C(0xffff) << 48) | UINT64_C(0x1ff) << 48;
    if (doubts & 2)
        word &= ~(UINT64_C(0x1ff) << 39) | UINT64_C(0xf) << 39;
    if (doubts & 4)
        word &= ~(UINT64_C(0x1ffff) << 22) | UINT64_C(0x3ff) << 22;
    return (word & ~UINT64_C(0xffff)) | (uint16_t)(position + 1);
}

static shm_slot *channel_slots(shm_job *job, uint32_t channel, pen_lane lane)
{
    shm_link *link = job->ranks[VICTIM].link;
    char *start = shm_channel(&link->layout, link->area, channel);
    return (shm_slot *)(void *)(start + shm_channel_slots_at(lane));
}

static uint32_t chunks_taken = UINT32_MAX; /* value in the victim's page */

static void send_word(shm_job *job, uint64_t word)
{
    shm_page *page = job->ranks[VICTIM].link->page;
    atomic_store(&page->lanes[PEN_LANE_REQUEST].chunks_taken, chunks_taken);
    atomic_store(&channel_slots(job, VILLAIN, PEN_LANE_REQUEST)[0].word, word);
}

static void expect_lost(shm_job *job, uint64_t word)
{
    shm_job_open(job, RANKS, &few);
    struct shm_job_rank *victim = &job->ranks[VICTIM];
    send_word(job, word);
    for (int i = 0; i < 5; i++)
        shm_job_poll(job, VICTIM);
    assert_int_equal(victim->delivered, 0);
    assert_int_equal(victim->lost, 1);
    assert_int_equal(victim->lost_peer, VILLAIN);
    assert_int_equal(victim->logged, 1);
    /* No more frames are read from it, even well-formed ones; frames of other peers still
     * arrive. */
    atomic_store(&channel_slots(job, VILLAIN, PEN_LANE_REQUEST)[0].word, shm_word(0, 8));
    assert_int_equal(shm_job_post(job, FRIEND, VICTIM, PEN_LANE_REQUEST, 16, 100), PEN_POST_DONE);
    for (int i = 0; i < 5; i++)
        shm_job_poll(job, VICTIM);
    assert_int_equal(victim->delivered, 1);
    assert_int_equal(victim->last_from, FRIEND);
    assert_int_equal(victim->lost, 1);
    shm_job_close(job);
}

static void expect_delivered(shm_job *job, uint64_t word)
{
    shm_job_open(job, RANKS, &few);
    send_word(job, word);
    shm_job_poll(job, VICTIM);
    assert_int_equal(job->ranks[VICTIM].delivered, 1);
    assert_int_equal(job->ranks[VICTIM].lost, 0);
    shm_job_close(job);
}

static uint64_t ring_word(uint32_t offset, uint32_t len)
{
    return shm_word(0, 8) | shm_word_body(SHM_BODY_IN_RING, len, 0) |
           shm_word_place(offset / SHM_BODY_ALIGN);
}

static void frames_at_the_edge_of_what_is_allowed_are_delivered(void **state)
{
    static shm_job job;
    uint32_t ring_len = shm_layout_of(RANKS).ring_len;
    (void)state;
    expect_delivered(&job, shm_word(0, 8));
    expect_delivered(&job, shm_word(0, PEN_FRAME_HEAD_MAX));
    expect_delivered(&job, ring_word(ring_len - 64, 64));
    expect_delivered(&job, ring_word(ring_len - 128, 65));
    expect_delivered(&job, ring_word(0, SHM_BODY_MAX));
    expect_delivered(&job, shm_word(0, 8) | shm_word_body(SHM_BODY_IN_SLOT, 48, 0));
    expect_delivered(&job, shm_word(0, 104) | shm_word_body(SHM_BODY_IN_CHUNK, SHM_BODY_MAX, 7));
}

static void frames_beyond_what_is_allowed_lose_their_sender(void **state)
{
    static shm_job job;
    uint32_t ring_len = shm_layout_of(RANKS).ring_len;
    (void)state;
    expect_lost(&job, shm_word(0, 0)); /* no head */
    expect_lost(&job, shm_word(0, PEN_FRAME_HEAD_MAX + 8));
    expect_lost(&job, shm_word(0, 8) | shm_word_body(SHM_BODY_NONE, 1, 0));
    expect_lost(&job, shm_word(0, 8) | shm_word_body(SHM_BODY_IN_SLOT, 49, 0));
    expect_lost(&job, shm_word(0, 8) | shm_word_body(SHM_BODY_IN_SLOT, 0, 0));
    expect_lost(&job, shm_word(0, 64) | shm_word_body(SHM_BODY_IN_SLOT, 8, 0));
    expect_lost(&job, ring_word(0, 0));
    expect_lost(&job, ring_word(ring_len - 64, 65));
    expect_lost(&job, ring_word(ring_len, 1));
    expect_lost(&job, ring_word(ring_len - SHM_BODY_MAX, SHM_BODY_MAX)); /* a line longer */
    expect_lost(&job, ring_word(0, SHM_BODY_MAX + 1));
    expect_lost(&job, shm_word(0, 8) | shm_word_body(SHM_BODY_IN_CHUNK, SHM_BODY_MAX + 1, 0));
    expect_lost(&job, shm_word(0, 8) | shm_word_body(SHM_BODY_IN_CHUNK, 1, SHM_CHUNKS_MAX));
    chunks_taken = ~(1u << 3);
    expect_lost(&job, shm_word(0, 8) | shm_word_body(SHM_BODY_IN_CHUNK, 1, 3));
    chunks_taken = UINT32_MAX;
}

static void garbage_in_a_channel_leads_nowhere(void **state)
{
    static shm_job job;
    (void)state;
    for (random_state = 1; random_state < 1500;) {
        uint64_t seed = random_state;
        shm_job_open(&job, RANKS, &few);
        for (uint32_t i = 0; i < 4; i++)
            atomic_store(&channel_slots(&job, VILLAIN, i % 2)[i / 2].word, random_slot_word(i / 2));
        for (int i = 0; i < 4; i++)
            shm_job_poll(&job, VICTIM);
        assert_true(job.ranks[VICTIM].lost <= 1);
        shm_job_close(&job);
        random_state = seed + 1;
    }
}

static void garbage_in_an_inbox_leads_nowhere(void **state)
{
    static shm_job job;
    (void)state;
    for (random_state = 1; random_state < 1500;) {
        uint64_t seed = random_state;
        shm_job_open(&job, RANKS, &few);
        shm_link *link = job.ranks[VICTIM].link;
        for (unsigned lane = 0; lane < PEN_LANES; lane++)
            for (uint32_t i = 0; i < 3; i++)
                atomic_store(&shm_inbox(&link->layout, link->area, (pen_lane)lane)[i].word,
                             random_slot_word(i));
        atomic_store(&link->page->bell, random_word());
        for (int i = 0; i < 4; i++)
            shm_job_poll(&job, VICTIM);
        assert_true(job.ranks[VICTIM].lost <= PEN_LANES);
        shm_job_close(&job);
        random_state = seed + 1;
    }
}

/* Everything at once, while the victim goes on sending and receiving. */
static void scribble(shm_job *job)
{
    shm_link *link = job->ranks[VICTIM].link;
    _Atomic uint64_t *words = (_Atomic uint64_t *)(void *)link->area;
    size_t hot = sizeof(shm_page) / sizeof(uint64_t);
    for (int i = 0; i < 30; i++)
        atomic_store(&words[random_word() % hot], random_word() >> (random_word() % 64));
    for (int i = 0; i < 10; i++) {
        uint32_t slot = (uint32_t)random_word() % SHM_RING_SLOTS;
        uint32_t channel = (uint32_t)random_word() % link->layout.channels;
        atomic_store(&channel_slots(job, channel, random_word() % 2)[slot].word,
                     random_slot_word(slot));
        pen_lane lane = (pen_lane)(random_word() % PEN_LANES);
        atomic_store(&shm_inbox(&link->layout, link->area, lane)[slot].word,
                     random_slot_word(slot));
    }
}

static void scribbling_all_over_leads_nowhere(void **state)
{
    static shm_job job;
    (void)state;
    for (uint64_t seed = 1; seed <= 400; seed++) {
        random_state = seed;
        shm_job_open(&job, RANKS, seed % 2 ? &few : &claimed);
        for (int round = 0; round < 30; round++) {
            scribble(&job);
            for (pen_peer to = 0; to < RANKS; to++) {
                (void)shm_job_post(&job, VICTIM, to, (pen_lane)(random_word() % PEN_LANES), 16, 0);
                (void)shm_job_post(&job, to, VICTIM, PEN_LANE_REPLY, 72,
                                   random_word() % SHM_BODY_MAX);
            }
            for (pen_peer self = 0; self < RANKS; self++)
                shm_job_poll(&job, self);
        }
        shm_job_close(&job);
    }
}

static void impossible_counters_lose_their_peer(void **state)
{
    static shm_job job;
    (void)state;
    shm_job_open(&job, RANKS, &few);
    struct shm_job_rank *victim = &job.ranks[VICTIM];
    shm_page *page = job.ranks[VILLAIN].link->page;
    atomic_store(&page->channels[VICTIM].slots_done[PEN_LANE_REQUEST], 1000);
    pen_post result = PEN_POST_DONE;
    for (int i = 0; i <= SHM_RING_SLOTS && result == PEN_POST_DONE; i++)
        result = shm_job_post(&job, VICTIM, VILLAIN, PEN_LANE_REQUEST, 8, 0);
    assert_int_equal(result, PEN_POST_FAILED);
    assert_int_equal(victim->lost, 0); /* from poll only */
    shm_job_poll(&job, VICTIM);
    shm_job_poll(&job, VICTIM);
    assert_int_equal(victim->lost, 1);
    assert_int_equal(victim->lost_peer, VILLAIN);
    assert_int_equal(shm_job_post(&job, VICTIM, VILLAIN, PEN_LANE_REPLY, 8, 100), PEN_POST_FAILED);
    assert_int_equal(shm_job_post(&job, VICTIM, FRIEND, PEN_LANE_REQUEST, 8, 100), PEN_POST_DONE);
    shm_job_close(&job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_at_the_edge_of_what_is_allowed_are_delivered),
        cmocka_unit_test(frames_beyond_what_is_allowed_lose_their_sender),
        cmocka_unit_test(garbage_in_a_channel_leads_nowhere),
        cmocka_unit_test(garbage_in_an_inbox_leads_nowhere),
        cmocka_unit_test(scribbling_all_over_leads_nowhere),
        cmocka_unit_test(impossible_counters_lose_their_peer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
