/* SPDX-License-Identifier: BSD-3-Clause */
/* shm.c: the rings of shared memory, while a peer writes any bytes anywhere in its neighbour's
 * part between polls of all ranks. Pages without access lie around the memory. */
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

/* Writes the next word that the victim looks for. Its kind, lengths and place are valid for a
 * peer, or just invalid. */
static void write_next(shm_link *link, reader *in)
{
    uint32_t where = (uint32_t)next(in, 1), shape = (uint32_t)next(in, 1);
    uint32_t len = (uint32_t)next(in, 2), place = (uint32_t)next(in, 1);
    uint32_t channel = where % link->channels;
    bool is_channel = where < 128 && link->channel[channel].open;
    pen_lane lane = (pen_lane)(where / 16 % (is_channel ? (unsigned)SHM_CHANNEL_LANES : PEN_LANES));
    shm_rx *rx = is_channel ? &link->channel[channel].lanes[lane] : &link->inboxes[lane];
    shm_body kind = (shm_body)(shape % 4);
    uint64_t word = shm_word(rx->next, shape / 4 % 16 * 8);
    if (kind != SHM_BODY_NONE || shape >= 192)
        word |= shm_word_body(kind, kind == SHM_BODY_IN_SLOT ? len % 64 : len, place % 34);
    if (kind == SHM_BODY_IN_RING || !is_channel) /* the claimed sender of an inbox frame */
        word |= shm_word_place(is_channel ? place * (link->layout.ring_len / SHM_BODY_ALIGN / 200)
                                          : place % (RANKS + 1));
    atomic_store(&link->page->lanes[lane].chunks_taken, shape < 192 ? UINT32_MAX : place);
    atomic_store(&rx->slots[rx->next & rx->slot_mask].word, word);
    uint64_t bell =
        is_channel ? UINT64_C(1) << (SHM_BELL_CHANNEL_BIT + channel) : SHM_BELL_INBOX(lane);
    atomic_fetch_or(&link->page->bell, bell | SHM_BELL_RUNG);
}

/* Rings the bells for channels, inboxes and faults, true or false, and claims an owner of a
 * channel. */
static void ring(shm_link *link, reader *in)
{
    uint64_t what = next(in, 1);
    atomic_store(&link->page->owner[what % link->channels], (pen_peer)(what / 16 % (RANKS + 2)));
    atomic_fetch_or(&link->page->bell, next(in, 1) << SHM_BELL_CHANNEL_BIT | what % 64);
}

/* Makes a slot's word with the expected position, and with the fields of the input. */
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
    if (what == 255)
        ring(victim, in);
    else if (what >= 192 && what % 8 < 4)
        write_next(victim, in);
    else if (what % 8 < 2)
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
    else if (what % 8 == 7)
        (void)victim->base.ops->poll(&victim->base, (unsigned)(what / 8 % 8),
                                     1 + (unsigned)(next(in, 1) % 40));
    else
        (void)shm_job_poll(job, (pen_peer)(what / 8 % RANKS));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    static const shm_config configs[] = {
        { .channels = 4, .eager = 2, .park_polls = 4 },
        { .channels = 4, .eager = 8, .park_polls = 4 },
        { .channels = 1,
          .eager = 0,
          .park_polls = 4 }, /* fewer than peers, so that peers claim them */
        { .channels = 2, .eager = 8, .park_polls = 1000, .position_start = UINT32_MAX - 8 },
        { .channels = 4, .eager = 8, .park_polls = 0 },
        { .channels = 4, .eager = 8, .park_polls = 2, .fenced = true },
        { .channels = 4, .eager = 8, .park_polls = 2, .unfenced = true },
    };
    static shm_job job;
    reader in = { bytes, bytes + len };
    uint64_t how = next(&in, 1);
    shm_job_open(&job, RANKS, &configs[how % 8 % (sizeof configs / sizeof configs[0])]);
    if (how >= 128) /* the rank that gets all frames by one path */
        memset(job.ranks[VICTIM].host.deliver_head, 0, sizeof job.ranks[VICTIM].host.deliver_head);
    for (unsigned i = 0; i < ACTS_MAX && in.at != in.end; i++)
        act(&job, &in);
    for (unsigned i = 0; i < 8; i++)
        (void)shm_job_poll(&job, i % 2 == 0 ? (pen_peer)VICTIM : i / 2 % RANKS);
    shm_job_close(&job);
    return 0;
}
