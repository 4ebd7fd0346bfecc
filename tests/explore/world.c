/* SPDX-License-Identifier: BSD-3-Clause */
/* world.c: the job of world.h. */
#include "world.h"

#include <stdarg.h>

extern const pen_conduit pen_conduit_shm;

enum { HEAD_WORDS_MAX = PEN_FRAME_HEAD_MAX / 8 };

/* Every word of every frame has a different value, so that no word can replace another. */
static uint64_t head_word(pen_peer from, uint32_t number, uint32_t i)
{
    return UINT64_C(0x1111111111111111) * (from + 1) + ((uint64_t)(number + 1) << 8) + i;
}

static uint8_t body_byte(pen_peer from, uint32_t number, uint32_t i)
{
    return (uint8_t)(17 * (from + 1) + 29 * (number + 1) + i);
}

/* ---- what the links are lent ---- */

static void judge_head(pen_peer from, const uint64_t *head, uint32_t head_len, uint32_t *number_out)
{
    uint64_t first = head[0];
    uint32_t number = (uint32_t)((first - head_word(from, 0, 0)) >> 8);
    EXPLORE_CHECK(number < WORLD_FRAMES_MAX && first == head_word(from, number, 0),
                  "a head that nobody sent: %#llx from rank %u", (unsigned long long)first, from);
    for (uint32_t i = 1; i < head_len / 8; i++)
        EXPLORE_CHECK(head[i] == head_word(from, number, i), "word %u of a head is spoilt", i);
    *number_out = number;
}

static void judge_body(pen_peer from, uint32_t number, const uint8_t *body, uint32_t body_len)
{
    uint8_t copy[WORLD_BODY_MAX];
    EXPLORE_CHECK(body_len <= sizeof copy, "a body of %u bytes", body_len);
    memcpy(copy, body, body_len);
    for (uint32_t i = 0; i < body_len; i++)
        EXPLORE_CHECK(copy[i] == body_byte(from, number, i), "byte %u of a body is spoilt", i);
}

static void host_deliver(void *ctx, pen_peer from, pen_lane lane, const void *head,
                         uint32_t head_len, void *body, uint32_t body_len)
{
    world_rank *rank = ctx;
    uint32_t number;
    EXPLORE_CHECK(from < WORLD_RANKS_MAX, "a frame from rank %u", from);
    judge_head(from, head, head_len, &number);
    if (body_len != 0)
        judge_body(from, number, body, body_len);
    EXPLORE_CHECK((rank->got[from] & UINT64_C(1) << number) == 0, "frame %u came twice", number);
    rank->got[from] |= UINT64_C(1) << number;
    rank->got_count++;
    if (rank->answers && lane == PEN_LANE_REQUEST) {
        uint64_t word = head_word(rank->self, rank->replies++, 0);
        pen_frame reply = { .head = &word, .head_len = sizeof word };
        pen_status status = pen_port_post_or_queue(&rank->progress.ports[0], &rank->counters, from,
                                                   PEN_LANE_REPLY, &reply);
        EXPLORE_CHECK(status == PEN_OK, "a reply failed");
    }
}

static void host_deliver_request(void *ctx, pen_peer from, const void *head, uint32_t head_len)
{
    host_deliver(ctx, from, PEN_LANE_REQUEST, head, head_len, NULL, 0);
}

static void host_deliver_reply(void *ctx, pen_peer from, const void *head, uint32_t head_len)
{
    host_deliver(ctx, from, PEN_LANE_REPLY, head, head_len, NULL, 0);
}

static void host_peer_lost(void *ctx, pen_peer peer, pen_status why)
{
    (void)ctx;
    explore_fault("rank %u was given up: %d", peer, (int)why);
}

static uint64_t host_now_ns(void *ctx)
{
    (void)ctx;
    return 0;
}

static void host_log(void *ctx, int level, const char *format, ...)
{
    (void)ctx;
    (void)level;
    explore_fault("the conduit says: %s", format);
}

static void *host_alloc(void *ctx, size_t len, size_t align)
{
    (void)ctx;
    return explore_alloc(len, align);
}

static void host_release(void *ctx, void *memory)
{
    (void)ctx;
    (void)memory;
}

static world_job *world_of(const world_rank *rank)
{
    return pen_container_of(rank - rank->self, world_job, ranks);
}

static void *host_shared(void *ctx, size_t *len_out)
{
    const world_job *world = world_of(ctx);
    *len_out = world->slice_len;
    return world->slice;
}

static void host_wake(void *ctx, pen_peer peer)
{
    world_rank *rank = ctx;
    struct world_words *words = &world_of(rank)->words[peer];
    pen_progress_wake_fence(&rank->progress);
    pen_progress_wake(&words->sleeping, &words->wake);
}

static const _Atomic uint32_t *host_sleeping(void *ctx, pen_peer peer)
{
    return &world_of(ctx)->words[peer].sleeping;
}

static void fill_host(world_rank *rank)
{
    rank->host = (pen_host){
        .ctx = rank,
        .deliver = host_deliver,
        .deliver_head = { host_deliver_request, host_deliver_reply },
        .peer_lost = host_peer_lost,
        .now_ns = host_now_ns,
        .log = host_log,
        .alloc = host_alloc,
        .release = host_release,
        .shared = host_shared,
        .wake = host_wake,
        .sleeping = host_sleeping,
    };
}

/* ---- what is shared ---- */

static void declare_slots(shm_slot *slots, uint32_t count, explore_kind word, const char *word_name,
                          const char *head_name)
{
    for (uint32_t i = 0; i < count; i++) {
        explore_declare(&slots[i].word, sizeof slots[i].word, word, word_name);
        explore_declare(slots[i].head, sizeof slots[i].head, EXPLORE_DATA, head_name);
    }
}

/* Declares the counters one by one, since a load of half of an object is taken for one of a word's
 * lower half. */
static void declare_counters(_Atomic uint32_t *words, size_t len, explore_kind kind,
                             const char *name)
{
    for (size_t i = 0; i < len / sizeof *words; i++)
        explore_declare(&words[i], sizeof words[i], kind, name);
}

static void declare_page(shm_page *page, uint32_t channels, bool rings)
{
    if (rings)
        explore_declare(&page->bell, sizeof page->bell, EXPLORE_WORD, "bell");
    declare_counters(page->inbox_done, sizeof page->inbox_done, EXPLORE_ONE, "inbox_done");
    declare_counters(page->owner, sizeof page->owner, EXPLORE_WORD, "owner");
    for (uint32_t lane = 0; lane < PEN_LANES; lane++) {
        shm_lane_words *words = &page->lanes[lane];
        explore_declare(&words->inbox_tail, sizeof words->inbox_tail, EXPLORE_WORD, "inbox_tail");
        explore_declare(&words->chunks_taken, sizeof words->chunks_taken, EXPLORE_WORD,
                        "chunks_taken");
    }
    for (uint32_t i = 0; i < channels; i++) {
        shm_channel_words *words = &page->channels[i];
        explore_declare(&words->awake, sizeof words->awake, EXPLORE_ONE, "awake");
        declare_counters(words->slots_done, sizeof words->slots_done, EXPLORE_ONE, "slots_done");
        declare_counters(words->bodies_done, sizeof words->bodies_done, EXPLORE_ONE, "bodies_done");
    }
}

static void declare_area(const shm_layout *layout, char *area, bool rings)
{
    declare_page((shm_page *)(void *)area, layout->channels, rings);
    for (pen_lane lane = PEN_LANE_REQUEST; lane < PEN_LANES; lane++) {
        declare_slots(shm_inbox(layout, area, lane), layout->inbox_slots, EXPLORE_ONE, "inbox.word",
                      "inbox.head");
        for (uint32_t i = 0; i < shm_chunk_count(lane); i++)
            explore_declare(shm_chunk(layout, area, lane, i), SHM_BODY_MAX, EXPLORE_DATA, "chunk");
    }
    for (uint32_t i = 0; i < layout->channels; i++) {
        char *start = shm_channel(layout, area, i);
        for (pen_lane lane = PEN_LANE_REQUEST; lane < SHM_CHANNEL_LANES; lane++) {
            declare_slots((shm_slot *)(void *)(start + shm_channel_slots_at(lane)), SHM_RING_SLOTS,
                          EXPLORE_ONE, "slot.word", "slot.head");
            explore_declare(start + shm_channel_ring_at(layout, lane), layout->ring_len,
                            EXPLORE_DATA, "bodies");
        }
    }
}

static void declare_words(struct world_words *words)
{
    explore_declare(&words->sleeping, sizeof words->sleeping, EXPLORE_WORD, "sleeping");
    explore_declare(&words->wake, sizeof words->wake, EXPLORE_WORD, "wake");
}

/* ---- opening ---- */

static void open_rank(world_job *world, pen_peer self, const shm_config *config, bool has_view)
{
    world_rank *rank = &world->ranks[self];
    struct world_words *words = &world->words[self];
    pen_progress_config wait = { .sleep = true };
    pen_sleeper sleeper = { &words->sleeping, &words->wake, &words->polling_total, NULL, 1, NULL };
    rank->self = self;
    fill_host(rank);
    if (has_view)
        rank->host.poll_view = &rank->view;
    pen_link_params params = {
        .host = &rank->host, .self = self, .peers = world->rank_count, .config = config
    };
    rank->private_start = explore_alloc(0, 64);
    if (pen_conduit_shm.open(&params, &rank->link) != PEN_OK)
        explore_die("a link does not open");
    rank->private_len = (size_t)((char *)explore_alloc(0, 64) - rank->private_start);
    pen_progress_init(&rank->progress, PEN_ALONE, &wait, &sleeper, &pen_machine_clock,
                      &rank->counters);
    (void)pen_progress_add(&rank->progress, rank->link);
}

world_job *world_open(uint32_t ranks, const shm_config *config, uint32_t happens)
{
    world_job *new = explore_alloc(sizeof *new, 64);
    new->rank_count = ranks;
    new->layout = shm_layout_of(ranks);
    new->slice_len = ranks *new->layout.rank_len;
    new->slice = explore_alloc(new->slice_len, 4096);
    for (pen_peer self = 0; self < ranks; self++) {
        if ((happens & WORLD_SLEEPS) != 0)
            declare_words(&new->words[self]);
        declare_area(&new->layout, shm_area(&new->layout, new->slice, self),
                     (happens & WORLD_RINGS) != 0);
    }
    char *blobs = NULL;
    for (pen_peer self = 0; self < ranks; self++) {
        open_rank(new, self, config, (happens & WORLD_VIEWS) != 0);
        uint32_t len = new->ranks[self].link->caps.addr_len;
        if (blobs == NULL)
            blobs = explore_alloc((size_t)ranks * len, 64);
        (void)new->ranks[self].link->ops->address(new->ranks[self].link,
                                                  blobs + (size_t)self * len);
    }
    for (pen_peer self = 0; self < ranks; self++) {
        pen_link *link = new->ranks[self].link;
        if (link->ops->connect(link, blobs, ranks) != PEN_OK)
            explore_die("a link does not connect");
    }
    return new;
}

/* ---- sending and receiving ---- */

/* Posts as the engine does. Returns false if there is no room, as far as the table knows. */
static bool post_express(const pen_link *link, const world_frame *frame, const pen_frame *raw)
{
    const uint64_t *head = (const uint64_t *)raw->head;
    const pen_express_ops *ops = &link->express.ops;
    if (!frame->is_express || link->express.first == NULL)
        return false;
    pen_express *entry = pen_express_of(&link->express, frame->to, frame->lane);
    if (frame->body_len != 0)
        return pen_express_takes(entry, frame->head_len, frame->body_len) &&
               ops->body(entry, head, frame->head_len, raw->body, frame->body_len) == 0;
    if (entry->room == 0)
        return false;
    switch (frame->head_len / 8) {
    case 1:
        return ops->one(entry, head[0]) == 0;
    case 2:
        return ops->two(entry, head[0], head[1]) == 0;
    case 3:
        return ops->three(entry, head[0], head[1], head[2]) == 0;
    default:
        return ops->four(entry, head[0], head[1], head[2], head[3]) == 0;
    }
}

pen_post world_post(world_job *world, pen_peer from, const world_frame *frame)
{
    uint64_t head[HEAD_WORDS_MAX] = { 0 };
    uint8_t body[WORLD_BODY_MAX];
    for (uint32_t i = 0; i < frame->head_len / 8; i++)
        head[i] = head_word(from, frame->number, i);
    for (uint32_t i = 0; i < frame->body_len; i++)
        body[i] = body_byte(from, frame->number, i);
    pen_frame raw = { head, frame->body_len == 0 ? NULL : body, frame->head_len, frame->body_len };
    pen_link *link = world->ranks[from].link;
    if (post_express(link, frame, &raw))
        return PEN_POST_DONE;
    pen_post answer = link->ops->post(link, frame->to, frame->lane, &raw, NULL);
    EXPLORE_CHECK(answer == PEN_POST_DONE || answer == PEN_POST_AGAIN, "a post answers %d",
                  (int)answer);
    return answer;
}

uint64_t world_digest(const void *what)
{
    const world_rank *rank = what;
    uint64_t digest = explore_digest(rank->private_start, rank->private_len);
    digest = digest * 31 + explore_digest(&rank->progress, sizeof rank->progress);
    digest = digest * 31 + explore_digest(rank->got, sizeof rank->got);
    return digest * 31 + rank->replies;
}

void world_send(world_job *world, pen_peer from, const world_frame *frame)
{
    for (;;) {
        explore_settle(world_digest, &world->ranks[from], frame->number);
        if (world_post(world, from, frame) == PEN_POST_DONE)
            return;
        explore_idle();
    }
}

void world_poll(world_job *world, pen_peer self, uint64_t loop)
{
    world_rank *rank = &world->ranks[self];
    explore_settle(world_digest, rank, loop);
    if (pen_progress_poll(&rank->progress) == 0)
        explore_idle();
}

void world_receive(world_job *world, pen_peer self, uint32_t count)
{
    const world_rank *rank = &world->ranks[self];
    const _Atomic uint32_t *backlog = &rank->progress.ports[0].backlog.count;
    while (rank->got_count < count || atomic_load_explicit(backlog, memory_order_relaxed) != 0)
        world_poll(world, self, 0);
}

/* ---- judging ---- */

void world_judge_ended(uint32_t threads)
{
    for (uint32_t i = 0; i < threads; i++)
        EXPLORE_CHECK(explore_has_ended(i), "thread %c waits for ever", 'A' + (int)i);
}

void world_judge_got(const world_job *world, pen_peer self, pen_peer from, uint64_t frames)
{
    uint64_t got = world->ranks[self].got[from];
    EXPLORE_CHECK(got == frames, "rank %u has frames %#llx of rank %u's, not %#llx", self,
                  (unsigned long long)got, from, (unsigned long long)frames);
}

void world_judge_room(world_job *world, pen_peer from, pen_peer to, pen_lane lane)
{
    const shm_page *page = (void *)shm_area(&world->layout, world->slice, to);
    for (uint32_t i = 0; i < PEN_LANES; i++)
        EXPLORE_CHECK(atomic_load(&page->lanes[i].chunks_taken) == 0, "a chunk was not given back");
    world_frame frame = { .to = to, .lane = lane, .head_len = 8 };
    uint32_t room = 0;
    while (room <= SHM_RING_SLOTS && world_post(world, from, &frame) == PEN_POST_DONE)
        room++;
    /* The reader reports free slots when it has read a quarter of the ring. */
    EXPLORE_CHECK(room > SHM_RING_SLOTS * 3 / 4 && room <= SHM_RING_SLOTS,
                  "the empty ring has room for %u slots", room);
}
