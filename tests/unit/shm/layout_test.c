/* SPDX-License-Identifier: BSD-3-Clause */
/* layout_test.c: no parts of the slice overlap, and pages are touched only for parts in use. */
#include "shm_job.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const shm_config defaults = { .channels = 32, .eager = 8, .park_polls = 4096 };

static void parts_of_the_slice_do_not_overlap(void **state)
{
    char *base = (char *)(uintptr_t)(1 << 20); /* never looked at */
    (void)state;
    for (pen_peer ranks = 1; ranks <= SHM_RANKS_MAX; ranks = ranks * 3 / 2 + 1) {
        shm_layout layout = shm_layout_of(ranks);
        size_t inbox_len = (size_t)layout.inbox_slots * SHM_SLOT_LEN;
        assert_true(layout.inbox_at[PEN_LANE_REQUEST] >= sizeof(shm_page));
        assert_true(layout.inbox_at[PEN_LANE_REPLY] >=
                    layout.inbox_at[PEN_LANE_REQUEST] + inbox_len);
        assert_true(layout.inbox_at[PEN_LANE_CONTROL] >=
                    layout.inbox_at[PEN_LANE_REPLY] + inbox_len);
        assert_true(layout.channels_at >= layout.inbox_at[PEN_LANE_CONTROL] + inbox_len);
        assert_true(layout.inbox_slots >= 8 * ranks && layout.inbox_slots <= 32768);
        assert_true((layout.inbox_slots & (layout.inbox_slots - 1)) == 0);
        size_t end = layout.channels_at + layout.channels * layout.channel_len;
        for (unsigned lane = 0; lane < PEN_LANES; lane++) {
            uint32_t last = shm_chunk_count((pen_lane)lane) - 1;
            assert_true((size_t)(shm_chunk(&layout, base, (pen_lane)lane, 0) - base) >= end);
            end = (size_t)(shm_chunk(&layout, base, (pen_lane)lane, last) - base) + SHM_BODY_MAX;
        }
        assert_true(end <= layout.rank_len && layout.rank_len % 4096 == 0);
    }
}

static void a_slot_word_gives_back_what_was_put_in(void **state)
{
    (void)state;
    uint64_t word = shm_word(0x1fffe, PEN_FRAME_HEAD_MAX) |
                    shm_word_body(SHM_BODY_IN_CHUNK, SHM_BODY_MAX, 0x1ff) | shm_word_place(0xffff);
    assert_int_equal((uint16_t)word, 0xffff);
    assert_int_equal(shm_word_head_words(word), PEN_FRAME_HEAD_MAX / 8);
    assert_int_equal(shm_word_kind(word), SHM_BODY_IN_CHUNK);
    assert_int_equal(shm_word_len(word), SHM_BODY_MAX);
    assert_int_equal(shm_word_chunk(word), 0x1ff);
    assert_int_equal(shm_word_place_of(word), 0xffff);
}

static void bodies_do_not_advance_by_whole_pages(void **state)
{
    (void)state;
    for (uint32_t len = 1; len <= SHM_BODY_MAX; len++) {
        uint32_t record = shm_ring_record(len);
        assert_true(record >= len && record <= len + 127 && record % SHM_BODY_ALIGN == 0);
        assert_true(record % 4096 != 0);
    }
}

static size_t resident(const shm_job *job)
{
    size_t page = pen_page_len(), count = 0;
    size_t pages = job->slice_len / page;
    unsigned char *is_resident = (unsigned char *)malloc(pages);
    assert_non_null(is_resident);
    assert_int_equal(mincore(job->slice, job->slice_len, is_resident), 0);
    for (size_t i = 0; i < pages; i++)
        count += is_resident[i] & 1;
    free(is_resident);
    return count * page;
}

static void all_to_all(shm_job *job, uint32_t rounds, uint32_t body_len)
{
    for (uint32_t round = 0; round < rounds; round++)
        for (pen_peer from = 0; from < job->size; from++) {
            for (pen_peer to = 0; to < job->size; to++)
                for (pen_lane lane = PEN_LANE_REQUEST; lane <= PEN_LANE_REPLY; lane++)
                    while (shm_job_post(job, from, to, lane, 24, body_len) != PEN_POST_DONE)
                        shm_job_poll(job, to);
        }
}

static void two_ranks_use_little_memory(void **state)
{
    static shm_job job;
    (void)state;
    if (pen_page_len() != 4096)
        skip(); /* larger pages, other numbers */
    shm_job_open(&job, 2, &defaults);
    assert_true(resident(&job) <= 2 * 3 * pen_page_len());
    all_to_all(&job, 300, 0);
    assert_true(resident(&job) <= 2 * 40960);
    all_to_all(&job, 300, 4000);
    assert_true(resident(&job) <= 2 * 160 * 1024);
    shm_job_close(&job);
}

static void many_ranks_use_at_most_a_megabyte_each(void **state)
{
    static shm_job job;
    (void)state;
    if (pen_page_len() != 4096)
        skip();
    shm_job_open(&job, 64, &defaults);
    assert_true(resident(&job) <= 64 * pen_page_len());
    all_to_all(&job, 100, 0);
    assert_true(resident(&job) <= 64 * 400 * 1024);
    all_to_all(&job, 40, 1000);
    assert_true(resident(&job) <= 64 * 1024 * 1024);
    shm_job_close(&job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_of_the_slice_do_not_overlap),
        cmocka_unit_test(a_slot_word_gives_back_what_was_put_in),
        cmocka_unit_test(bodies_do_not_advance_by_whole_pages),
        cmocka_unit_test(two_ranks_use_little_memory),
        cmocka_unit_test(many_ranks_use_at_most_a_megabyte_each),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
