/* SPDX-License-Identifier: BSD-3-Clause */
/* frames.c: the promises about single frames: every size, to every rank, intact; and the
 * properties that a conduit declares. */
#include "contract.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* A table of functions is either complete or absent. */
static void check_table(const void *table, size_t len)
{
    static void (*const nothing)(void);
    for (size_t at = 0; table != NULL && at < len; at += sizeof(nothing))
        CHECK(memcmp((const char *)table + at, &nothing, sizeof(nothing)) != 0);
}

static void tables_are_complete(struct job *job)
{
    const pen_link *link = job->ranks[0].link;
    CHECK(link->ops != NULL);
    check_table(link->ops, sizeof(*link->ops));
    check_table(link->rma, sizeof(*link->rma));
    check_table(link->amo, sizeof(*link->amo));
    check_table(link->zcopy, sizeof(*link->zcopy));
    check_table(link->wait, sizeof(*link->wait));
    check_table(link->behind, sizeof(*link->behind));
    check_table(link->due, sizeof(*link->due));
    check_table(link->count, sizeof(*link->count));
}

static void registry_entry_and_capabilities_make_sense(struct job *job)
{
    const pen_caps *caps = &job->ranks[0].link->caps;
    const pen_conduit *conduit = job->setup->conduit;
    const char *why_not = NULL;
    bool has_rma = job->ranks[0].link->rma != NULL;
    const uint32_t known = PEN_CAP_RELIABLE | PEN_CAP_LOCAL_REGION | PEN_CAP_SAME_HOST |
                           PEN_CAP_INTACT | PEN_CAP_COPIES;
    CHECK((caps->flags & ~known) == 0); /* an unknown flag promises nothing */
    CHECK(has_rma || (caps->flags & PEN_CAP_LOCAL_REGION) == 0);
    /* A reliable link that declares an inbox is in a window, which never says that it has one. */
    CHECK((caps->flags & PEN_CAP_RELIABLE) == 0 || caps->inbox_len == 0);
    CHECK(job->ranks[0].link->express.first == NULL || (caps->flags & PEN_CAP_SAME_HOST) != 0);
    CHECK(conduit->abi == PEN_CONDUIT_ABI);
    CHECK(conduit->name[0] != '\0' && conduit->summary[0] != '\0');
    CHECK(conduit->score(job->size, &why_not) > 0);
    CHECK(caps->frame_max >= 512);
    CHECK(caps->frame_copy_max <= caps->frame_max);
    CHECK(!has_rma || (caps->put_max > 0 && caps->get_max > 0));
    for (pen_peer self = 1; self < job->size; self++) {
        const pen_caps *other = &job->ranks[self].link->caps;
        CHECK(other->flags == caps->flags && other->frame_max == caps->frame_max);
        CHECK(other->inbox_len == caps->inbox_len);
    }
}

static void why_a_conduit_is_unusable_is_said_in_words(struct job *job)
{
    for (pen_peer peers = 1; peers != 0; peers *= 2) {
        const char *why_not = NULL;
        int score = job->setup->conduit->score(peers, &why_not);
        CHECK(score >= 0);
        CHECK(score > PEN_SCORE_NAMED || (why_not != NULL && why_not[0] != '\0'));
    }
}

static void send_everywhere(struct job *job, pen_lane lane, uint32_t head_len, uint32_t body_len)
{
    for (pen_peer to = 0; to < job->size; to++)
        job_post_sure(&job->ranks[(to + 1) % job->size], to, lane, head_len, body_len);
    job_post_sure(&job->ranks[0], 0, lane, head_len, body_len); /* to itself */
}

static void every_head_length_arrives(struct job *job)
{
    static const uint32_t bodies[] = { 0, 1, 16, 47, 48, 49, 64, 500 };
    for (unsigned lane = 0; lane < PEN_LANES; lane++)
        for (uint32_t head_len = 8; head_len <= PEN_FRAME_HEAD_MAX; head_len += 8)
            for (unsigned i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++)
                send_everywhere(job, (pen_lane)lane, head_len, bodies[i]);
    job_settle(job);
}

static void every_body_length_arrives(struct job *job)
{
    uint32_t max = job->ranks[0].link->caps.frame_max;
    for (unsigned lane = 0; lane < PEN_LANES; lane++) {
        for (uint32_t len = 0; len <= 130 && len <= max; len++)
            send_everywhere(job, (pen_lane)lane, 8, len);
        for (uint32_t len = 128; len != 0 && len <= max; len *= 2) {
            send_everywhere(job, (pen_lane)lane, 24, len - 1);
            send_everywhere(job, (pen_lane)lane, 56, len);
            if (len < max)
                send_everywhere(job, (pen_lane)lane, 64, len + 1);
        }
        send_everywhere(job, (pen_lane)lane, PEN_FRAME_HEAD_MAX, max);
        send_everywhere(job, (pen_lane)lane, 8, max);
    }
    job_settle(job);
}

static void pairs_of_all_ranks_reach_each_other(struct job *job)
{
    for (pen_peer from = 0; from < job->size; from++)
        for (pen_peer to = 0; to < job->size; to++)
            for (unsigned lane = 0; lane < PEN_LANES; lane++)
                job_post_sure(&job->ranks[from], to, (pen_lane)lane, 16, (from + to) % 3 * 40);
    job_settle(job);
    for (pen_peer self = 0; self < job->size; self++)
        for (unsigned lane = 0; lane < PEN_LANES; lane++)
            CHECK(job->ranks[self].delivered[lane] == job->size);
}

/* Counters of sequence numbers and buffers go round, several times over for those of 16 bits. */
static void long_streams_stay_intact(struct job *job)
{
    uint64_t random = 1;
    for (uint32_t i = 0; i < 140000; i++) {
        uint32_t body_len = job_random(&random, 8) == 0 ? job_random(&random, 300) : 0;
        uint32_t head_len = 8 + 8 * job_random(&random, PEN_FRAME_HEAD_MAX / 8);
        job_post_sure(&job->ranks[0], job->size - 1, (pen_lane)(i % 3), head_len, body_len);
    }
    job_settle(job);
}

/* An idle peer has room for a body of any length, whatever happened before: no frame waits without
 * end because of the state in which other frames left the buffers. */
static void a_body_of_any_length_finds_room_after_any_others(struct job *job)
{
    struct rank *from = &job->ranks[0];
    uint64_t random = 3;
    uint32_t max = from->link->caps.frame_max;
    for (unsigned round = 0; round < 3000; round++) {
        uint32_t small_count = job_random(&random, 5);
        for (uint32_t i = 0; i < small_count; i++)
            job_post_sure(from, job->size - 1, PEN_LANE_REQUEST, 8, 65 + job_random(&random, 2000));
        uint32_t len_max = max >> job_random(&random, 6);
        job_post_sure(from, job->size - 1, PEN_LANE_REQUEST, 8, 1 + job_random(&random, len_max));
    }
    job_settle(job);
}

static void nothing_comes_when_nothing_was_posted(struct job *job)
{
    for (unsigned i = 0; i < 100; i++)
        for (pen_peer self = 0; self < job->size; self++)
            CHECK(job_poll(&job->ranks[self], PEN_LANES_ALL, 32) == 0);
}

static void ranks_that_may_sleep_are_woken(struct job *job)
{
    const pen_link *link = job->ranks[0].link;
    pen_peer to = job->size - 1;
    struct rank *sleeper = &job->ranks[to];
    if ((link->caps.flags & PEN_CAP_SAME_HOST) == 0 || link->wait != NULL || job->size == 1)
        return;
    for (unsigned round = 0; round < 40; round++) {
        for (unsigned lane = 0; lane < PEN_LANES; lane++) {
            bool sleeps = round % 2 == 1;
            atomic_store_explicit(&sleeper->sleeping, sleeps, memory_order_relaxed);
            atomic_store_explicit(&sleeper->wakes, 0, memory_order_relaxed);
            job_post_sure(&job->ranks[0], to, (pen_lane)lane, 16, round * 20);
            uint32_t wakes = atomic_load_explicit(&sleeper->wakes, memory_order_relaxed);
            CHECK(wakes != 0 || (job->host_words && !sleeps));
            CHECK(wakes == 0 || sleeps || !job->host_words); /* one load when it is awake */
        }
        job_settle(job);
    }
}

/* A rank whose peers have been silent for long may poll them in a cheaper way. */
static void a_frame_after_a_long_silence_arrives(struct job *job)
{
    uint64_t random = 7;
    for (unsigned round = 0; round < 60; round++) {
        pen_peer from = job_random(&random, job->size), to = job_random(&random, job->size);
        job_post_sure(&job->ranks[from], to, (pen_lane)job_random(&random, 2), 16, 0);
        job_settle(job);
        for (unsigned i = 0; i < 200; i++)
            for (pen_peer self = 0; self < job->size; self++)
                CHECK(job_poll(&job->ranks[self], PEN_LANES_ALL, 32) == 0);
    }
}

/* The engine polls once more after it announced its sleep; that one poll must see all frames. */
static void one_poll_finds_what_was_posted_before(struct job *job)
{
    struct rank *last = &job->ranks[job->size - 1];
    if ((last->link->caps.flags & PEN_CAP_SAME_HOST) == 0)
        return;
    for (unsigned round = 0; round < 3000; round++) {
        pen_peer from = round % job->size;
        job_post_sure(&job->ranks[from], last->self, (pen_lane)(round % 3), 16, round % 5 * 16);
        CHECK(job_poll(last, PEN_LANES_ALL, 32) != 0);
        CHECK(job_delivered(job) == job_posted(job));
    }
}

const contract_test frame_tests[] = {
    { "tables_are_complete", tables_are_complete, 1, false },
    { "registry_entry_and_capabilities_make_sense", registry_entry_and_capabilities_make_sense, 0,
      false },
    { "why_a_conduit_is_unusable_is_said_in_words", why_a_conduit_is_unusable_is_said_in_words, 1,
      false },
    { "every_head_length_arrives", every_head_length_arrives, 8, false },
    { "every_body_length_arrives", every_body_length_arrives, 8, false },
    { "pairs_of_all_ranks_reach_each_other", pairs_of_all_ranks_reach_each_other, 0, false },
    { "long_streams_stay_intact", long_streams_stay_intact, 3, false },
    { "a_body_of_any_length_finds_room_after_any_others",
      a_body_of_any_length_finds_room_after_any_others, 3, false },
    { "nothing_comes_when_nothing_was_posted", nothing_comes_when_nothing_was_posted, 0, false },
    { "ranks_that_may_sleep_are_woken", ranks_that_may_sleep_are_woken, 0, false },
    { "a_frame_after_a_long_silence_arrives", a_frame_after_a_long_silence_arrives, 0, false },
    { "one_poll_finds_what_was_posted_before", one_poll_finds_what_was_posted_before, 0, false },
    { 0 },
};
