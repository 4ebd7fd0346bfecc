/* SPDX-License-Identifier: BSD-3-Clause */
/* shm.c: the rings of shared memory, written by a peer that writes what it likes where it likes in
 * its neighbour's part, between polls of all ranks. Pages that nobody may touch lie round it. */
#include "../unit/shm/shm_job.h"

#include "fuzz.h"

enum { VICTIM, VILLAIN, FRIEND, RANKS, ACTS_MAX = 48 };

typedef struct reader {
    const uint8_t *at, *end;
} reader;

static uint64_t next(reader *in, unsigned count)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < count; i++)
        value |= (uint64_t)(in->at != in->end ? *in->at++ : 0) << (8 * i);
    return value;
}

static _Atomic uint64_t *channel_word(shm_link *link, reader *in)
{
    uint32_t channel = (uint32_t)next(in, 1) % link->layout.channels;
    pen_lane lane = (pen_lane)(next(in, 1) % 2);
    char *start = shm_channel(&link->layout, link->area, channel);
    shm_slot *slots = (shm_slot *)(void *)(start + shm_channel_slots_at(lane));
    return &slots[next(in, 1) % SHM_RING_SLOTS].word;
}

static _Atomic uint64_t *inbox_word(shm_link *link, reader *in)
{
    pen_lane lane = (pen_lane)(next(in, 1) % PEN_LANES);
    return &shm_inbox(&link->layout, link->area, lane)[next(in, 1) % SHM_RING_SLOTS].word;
}

/* A slot's word with a position that is looked for, and the fields that the input says. */
static void write_slot(shm_link *link, reader *in, bool is_channel)
{
    const uint8_t *at = in->at;
    _Atomic uint64_t *word = is_channel ? channel_word(link, in) : inbox_word(link, in);
    uint16_t position = in->at != at ? (uint16_t)(in->at[-1] % SHM_RING_SLOTS + 1) : 1;
    atomic_store(word, next(in, 6) << 16 | position);
}

static void write_anywhere(shm_link *link, reader *in, bool is_page)
{
    size_t words = (is_page ? sizeof(shm_page) : link->layout.rank_len) / sizeof(uint64_t);
    _Atomic uint64_t *area =
        (_Atomic uint64_t *)(void *)(is_page ? (char *)link->page : link->area);
    uint64_t at = next(in, 3) % words;
    atomic_store(&area[at], next(in, 8));
}

static void act(shm_job *job, reader *in)
{
    uint64_t what = next(in, 1);
    shm_link *victim = job->ranks[VICTIM].link;
    if (what % 8 < 2)
        write_slot(victim, in, what % 8 == 0);
    else if (what % 8 < 4)
        write_anywhere(victim, in, what % 8 == 2);
    else if (what % 8 == 4)
        (void)shm_job_post(job, VICTIM, (pen_peer)(what / 8 % RANKS),
                           (pen_lane)(next(in, 1) % PEN_LANES), 16,
                           (uint32_t)next(in, 2) % SHM_BODY_MAX);
    else if (what % 8 == 5)
        (void)shm_job_post(job, FRIEND, VICTIM, (pen_lane)(next(in, 1) % PEN_LANES), 72,
                           (uint32_t)next(in, 2) % SHM_BODY_MAX);
    else
        (void)shm_job_poll(job, (pen_peer)(what / 8 % RANKS));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    static const shm_config few = { .channels = 4, .eager = 2, .park_polls = 4 };
    static shm_job job;
    reader in = { bytes, bytes + len };
    shm_job_open(&job, RANKS, &few);
    for (unsigned i = 0; i < ACTS_MAX && in.at != in.end; i++)
        act(&job, &in);
    for (unsigned i = 0; i < 8; i++)
        (void)shm_job_poll(&job, i % 2 == 0 ? (pen_peer)VICTIM : i / 2 % RANKS);
    shm_job_close(&job);
    return 0;
}
