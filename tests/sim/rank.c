/* SPDX-License-Identifier: BSD-3-Clause */
/* rank.c: a rank: the protocol, an engine that posts, answers and takes frames, and the checks of
 * both. */
#include "age.h"
#include "sim.h"

#include "base/compiler.h"
#include "conduit/conduit.h"
#include "reliable/protocol.h"

#include <stdlib.h>
#include <string.h>

enum {
    INBOX_MAX = 2000, /* frames that the kernel holds unread */
    POLL_FRAMES = 32,
    HOSTILE_FRAMES = 40,
    BODY_LEN_MAX = 16384,
    BODY_PLACES = 4096,
};

#define POLL_GAP_NS    20000u
#define BLOCKED_NS_MIN UINT64_C(20000)
#define BLOCKED_NS_MAX UINT64_C(10000000)

typedef struct sim_message { /* a message that was posted */
    pen_peer to;
    pen_lane lane;
    uint32_t head_len, body_len;
    bool delivered;
} sim_message;

typedef struct reply {
    struct reply *next;
    sim_message message;
} reply;

typedef struct borrowed { /* a body that the protocol reads */
    pen_op op;
    sim_world *world;
    void *body;
    uint32_t len;
} borrowed;

struct sim_rank {
    sim_world *world;
    pen_peer self;
    pen_rel_core core;
    bool is_hostile;
    size_t bytes; /* bytes of memory that the protocol has */
    sim_message *ledger;
    uint32_t ledger_count, ledger_max;
    uint32_t left;    /* messages still to be posted */
    sim_message next; /* the message to post next */
    bool has_next, is_blocked;
    uint64_t blocked_ns;
    reply *backlog_first, **backlog_last;
    pen_sim_queue inbox;
    uint64_t poll_at_ns;           /* UINT64_MAX: no poll is due */
    unsigned lanes;                /* lanes of the running poll */
    uint32_t (*on_way)[PEN_LANES]; /* to each peer: charged, posted and not taken */
};

/* ---- what a message looks like --------------------------------------------------------------- */

static uint64_t head_word(pen_peer from, uint32_t serial, uint32_t i)
{
    uint64_t id = (uint64_t)serial | (uint64_t)from << 32;
    return i == 0 ? id : (id + i) * UINT64_C(0x9e3779b97f4a7c15);
}

/* Every body is a piece of the same noise, from its own place on. */
static const unsigned char *body_of(pen_peer from, uint32_t serial)
{
    static uint64_t noise[(BODY_PLACES + BODY_LEN_MAX) / 8];
    if (noise[0] == 0)
        for (size_t i = 0; i < sizeof noise / sizeof noise[0]; i++)
            noise[i] = pen_sim_next(&(pen_sim_dice){ i });
    return (const unsigned char *)noise + (serial * 7 + from * 31) % BODY_PLACES;
}

/* Bound of the records kept for reuse: many small ones, and a few of the largest. */
static size_t spare_len(const sim_plan *plan)
{
    return 256 * 512 + 16 * ((size_t)plan->way.frame_max + 512);
}

static uint32_t charge_of(const sim_plan *plan, const sim_message *message)
{
    uint32_t len = plan->way.overhead + 104 + message->head_len + message->body_len;
    return (len + plan->way.grain - 1) / plan->way.grain * plan->way.grain;
}

/* ---- posting --------------------------------------------------------------------------------- */

static void borrowed_ends(pen_op *op)
{
    borrowed *body = pen_container_of(op, borrowed, op);
    memset(body->body, 0x5a, body->len);
    body->world->ops_open--;
    sim_release(body->world, body->body);
    sim_release(body->world, body);
}

static borrowed *borrowed_make(sim_world *world, const void *bytes, uint32_t len)
{
    borrowed *body = (borrowed *)sim_alloc(world, sizeof *body, 16);
    *body = (borrowed){ .op = { .then = borrowed_ends }, .world = world, .len = len };
    atomic_init(&body->op.source_busy, 1);
    atomic_init(&body->op.incomplete, 1);
    body->body = sim_alloc(world, len, 16);
    memcpy(body->body, bytes, len);
    return body;
}

static void ledger_add(sim_rank *rank, const sim_message *message)
{
    if (rank->ledger_count == rank->ledger_max) {
        rank->ledger_max = rank->ledger_max == 0 ? 64 : rank->ledger_max * 2;
        void *larger = realloc(rank->ledger, rank->ledger_max * sizeof(sim_message));
        if (larger == NULL)
            abort();
        rank->ledger = (sim_message *)larger;
    }
    rank->ledger[rank->ledger_count] = *message;
    rank->ledger[rank->ledger_count++].delivered = false;
}

static void count_posted(sim_rank *rank, const sim_message *message)
{
    sim_world *world = rank->world;
    uint32_t *on_way = &rank->on_way[message->to][message->lane];
    *on_way += charge_of(&world->plan, message);
    world->posted++;
    if (*on_way > rank->core.quota[message->lane])
        sim_fail(world, "rank %u has %u bytes on their way to %u on lane %d, the credit is %u",
                 rank->self, *on_way, message->to, (int)message->lane,
                 rank->core.quota[message->lane]);
}

static bool try_post(sim_rank *rank, const sim_message *message)
{
    sim_world *world = rank->world;
    uint64_t head[PEN_FRAME_HEAD_MAX / 8];
    uint32_t serial = rank->ledger_count;
    for (uint32_t i = 0; i < message->head_len / 8; i++)
        head[i] = head_word(rank->self, serial, i);
    const unsigned char *body = message->body_len != 0 ? body_of(rank->self, serial) : NULL;
    pen_frame frame = { head, body, message->head_len, message->body_len };
    borrowed *own = NULL;
    if (message->body_len > pen_rel_copy_max(&rank->core.config)) {
        own = borrowed_make(world, body, message->body_len);
        frame.body = own->body;
        world->ops_open++;
    }
    ledger_add(rank, message); /* comes first: the frame may arrive at this rank at once */
    pen_post result = pen_rel_post(&rank->core, world->network.now_ns, message->to, message->lane,
                                   &frame, own != NULL ? &own->op : NULL);
    if (result == PEN_POST_FAILED || (result == PEN_POST_PENDING && own == NULL))
        sim_fail(world, "a post answered %d", (int)result);
    if (result != PEN_POST_PENDING && own != NULL)
        borrowed_ends(&own->op);
    if (result == PEN_POST_AGAIN) {
        rank->ledger_count--;
        return false;
    }
    count_posted(rank, message);
    return true;
}

static uint32_t some_body_len(sim_world *world)
{
    if (pen_sim_below(world->dice, 5) < 3)
        return 0;
    return (uint32_t)pen_sim_log_uniform(world->dice, 1, world->plan.body_max);
}

static void make_next(sim_rank *rank)
{
    sim_world *world = rank->world;
    uint32_t honest = world->plan.ranks - world->plan.has_hostile;
    rank->next =
        (sim_message){ .to = pen_sim_below(world->dice, honest),
                       .lane =
                           pen_sim_below(world->dice, 8) == 0 ? PEN_LANE_CONTROL : PEN_LANE_REQUEST,
                       .head_len = 8 + 8 * pen_sim_below(world->dice, PEN_FRAME_HEAD_MAX / 8),
                       .body_len = some_body_len(world) };
    rank->has_next = true;
}

static void post_some(sim_rank *rank)
{
    rank->is_blocked = false;
    while (rank->backlog_first != NULL) {
        reply *first = rank->backlog_first;
        if (!try_post(rank, &first->message)) {
            rank->is_blocked = true;
            break;
        }
        rank->backlog_first = first->next;
        if (first->next == NULL)
            rank->backlog_last = &rank->backlog_first;
        free(first);
    }
    for (uint32_t burst = pen_sim_below(rank->world->dice, 16); burst != 0 && rank->left != 0;
         burst--) {
        if (!rank->has_next)
            make_next(rank);
        if (!try_post(rank, &rank->next)) {
            rank->is_blocked = true;
            return;
        }
        rank->has_next = false;
        rank->left--;
    }
}

/* ---- taking frames --------------------------------------------------------------------------- */

static sim_message *find_posted(sim_rank *rank, const pen_rel_delivery *in)
{
    sim_world *world = rank->world;
    uint32_t serial = (uint32_t)in->head[0];
    if (in->head[0] >> 32 != in->from || serial >= world->ranks[in->from].ledger_count)
        sim_fail(world, "rank %u took a frame that rank %u never posted", rank->self, in->from);
    sim_message *posted = &world->ranks[in->from].ledger[serial];
    if (posted->delivered)
        sim_fail(world, "rank %u took frame %u of rank %u twice", rank->self, serial, in->from);
    if (posted->to != rank->self || posted->lane != in->lane || posted->head_len != in->head_len ||
        posted->body_len != in->body_len)
        sim_fail(world, "frame %u of rank %u is another one at rank %u", serial, in->from,
                 rank->self);
    return posted;
}

static void check_contents(sim_rank *rank, const pen_rel_delivery *in)
{
    uint32_t serial = (uint32_t)in->head[0];
    bool is_same = (uintptr_t)in->body % 16 == 0 && (in->body == NULL) == (in->body_len == 0);
    for (uint32_t i = 1; i < in->head_len / 8; i++)
        is_same = is_same && in->head[i] == head_word(in->from, serial, i);
    if (in->body_len != 0)
        is_same = is_same && memcmp(in->body, body_of(in->from, serial), in->body_len) == 0;
    if (!is_same)
        sim_fail(rank->world, "frame %u of rank %u is damaged at rank %u", serial, in->from,
                 rank->self);
}

static void answer(sim_rank *rank, pen_peer to)
{
    sim_world *world = rank->world;
    sim_message message = { .to = to,
                            .lane = PEN_LANE_REPLY,
                            .head_len = 8 + 8 * pen_sim_below(world->dice, 6),
                            .body_len = some_body_len(world) };
    if (rank->backlog_first == NULL && try_post(rank, &message))
        return;
    reply *queued = (reply *)malloc(sizeof *queued);
    if (queued == NULL)
        abort();
    *queued = (reply){ .message = message };
    *rank->backlog_last = queued;
    rank->backlog_last = &queued->next;
}

static void take(sim_rank *rank, const pen_rel_delivery *in)
{
    sim_world *world = rank->world;
    if ((rank->lanes & PEN_LANE_BIT(in->lane)) == 0)
        sim_fail(world, "rank %u took a frame of a lane it did not ask for", rank->self);
    if (world->ranks[in->from].is_hostile)
        return;
    sim_message *posted = find_posted(rank, in);
    check_contents(rank, in);
    posted->delivered = true;
    world->delivered++;
    world->ranks[in->from].on_way[rank->self][in->lane] -= charge_of(&world->plan, posted);
    if (in->lane == PEN_LANE_REQUEST && pen_sim_below(world->dice, 10) < 7)
        answer(rank, in->from);
}

/* ---- polling --------------------------------------------------------------------------------- */

static void poll_at(sim_rank *rank, uint64_t at_ns)
{
    if (at_ns >= rank->poll_at_ns)
        return;
    rank->poll_at_ns = at_ns;
    pen_sim_wake(&rank->world->network, rank->self, at_ns);
}

static uint64_t soon(sim_rank *rank)
{
    return rank->world->network.now_ns + 200 + pen_sim_below(rank->world->dice, POLL_GAP_NS);
}

void sim_rank_arrive(void *ctx, pen_sim_datagram *datagram)
{
    sim_world *world = (sim_world *)ctx;
    sim_rank *rank = &world->ranks[datagram->to];
    if (rank->is_hostile || rank->inbox.count == INBOX_MAX) {
        pen_sim_datagram_free(&world->network, datagram);
        return;
    }
    pen_sim_queue_add(&rank->inbox, datagram);
    rank->blocked_ns = BLOCKED_NS_MIN;
    poll_at(rank, soon(rank));
}

void sim_rank_left(void *ctx, pen_peer self, pen_op *op)
{
    (void)ctx, (void)self;
    pen_op_source_done(op);
    pen_op_done(op);
}

static void take_held(sim_rank *rank, uint32_t *room)
{
    pen_rel_delivery in;
    pen_kept *held;
    while (*room != 0 && (held = pen_rel_next_kept(&rank->core, rank->lanes, &in)) != NULL) {
        take(rank, &in);
        pen_rel_kept_consumed(&rank->core, rank->world->network.now_ns, held, &in);
        --*room;
    }
}

static void read_inbox(sim_rank *rank, uint32_t *room)
{
    pen_rel_delivery in;
    pen_sim_datagram *first;
    for (uint32_t i = 0; i < POLL_FRAMES && (first = pen_sim_queue_take(&rank->inbox)) != NULL;
         i++) {
        pen_frame frame = { first->head, first->body_len != 0 ? first->body : NULL, first->head_len,
                            first->body_len };
        if (pen_rel_receive(&rank->core, rank->world->network.now_ns, first->from, &frame,
                            *room != 0 ? rank->lanes : 0, &in) == PEN_REL_DELIVER) {
            take(rank, &in);
            pen_rel_consumed(&rank->core, rank->world->network.now_ns, &in);
            --*room;
        }
        pen_sim_datagram_free(&rank->world->network, first);
    }
}

static void check_bounds(sim_rank *rank)
{
    const sim_plan *plan = &rank->world->plan;
    size_t fixed = plan->ranks * sizeof(pen_rel_peer) + spare_len(plan);
    if (rank->core.record_bytes > plan->memory_max || rank->core.kept.len > plan->memory_max ||
        rank->bytes > fixed + 2 * plan->memory_max)
        sim_fail(rank->world, "rank %u has %zu bytes, of these %zu and %zu for frames", rank->self,
                 rank->bytes, rank->core.record_bytes, rank->core.kept.len);
    const pen_rel_peer *peer = &rank->core.peers[pen_sim_below(rank->world->dice, plan->ranks)];
    for (unsigned lane = 0; lane < PEN_LANES; lane++)
        if (pen_rel_after(peer->lanes[lane].sent, peer->lanes[lane].limit))
            sim_fail(rank->world, "rank %u has sent more than its credit", rank->self);
}

/* Keeps frames that the next poll may ask for. */
static bool has_held(const sim_rank *rank)
{
    const uint32_t *count = rank->core.kept.count;
    return count[PEN_LANE_CONTROL] != 0 || count[PEN_LANE_REPLY] != 0 ||
           (count[PEN_LANE_REQUEST] != 0 && rank->backlog_first == NULL);
}

static bool is_busy(const sim_rank *rank)
{
    return rank->inbox.first != NULL || has_held(rank) || rank->core.acks_due != 0 ||
           rank->core.reading.behind != &rank->core.reading;
}

/* Schedules the engine's next poll. A rank that only waits for the network does not poll before. */
static void plan_poll(sim_rank *rank)
{
    const uint64_t now_ns = rank->world->network.now_ns;
    uint64_t at_ns = rank->core.deadline_ns;
    bool wants_post = rank->left != 0 || rank->backlog_first != NULL;
    if (is_busy(rank) || (wants_post && !rank->is_blocked)) {
        at_ns = soon(rank);
    } else if (wants_post) {
        uint64_t again_ns = now_ns + rank->blocked_ns;
        if (rank->blocked_ns < BLOCKED_NS_MAX)
            rank->blocked_ns *= 2;
        at_ns = again_ns < at_ns ? again_ns : at_ns;
    }
    if (at_ns != UINT64_MAX)
        poll_at(rank, at_ns > now_ns ? at_ns : now_ns + 1);
}

/* Sends frames with valid headers and arbitrary contents. */
static void send_nonsense(sim_rank *rank)
{
    sim_world *world = rank->world;
    pen_sim_dice *dice = world->dice;
    pen_peer to = pen_sim_below(dice, world->plan.ranks - 1);
    _Alignas(8) unsigned char bytes[PEN_FRAME_HEAD_MAX] = { 0 };
    pen_rel_head head = { .kind = 1 + pen_sim_below(dice, 2),
                          .lane = pen_sim_below(dice, PEN_LANES + 1),
                          .flags = pen_sim_below(dice, 8),
                          .head_len = 8 * pen_sim_below(dice, 14),
                          .session = world->ranks[to].core.config.session,
                          .sequence = world->ranks[to].core.peers[rank->self].window.base +
                                      pen_sim_below(dice, 2000) - 500,
                          .transmission = (uint32_t)pen_sim_next(dice) };
    head.ack.base = (uint32_t)pen_sim_next(dice) >> pen_sim_below(dice, 32);
    head.ack.transmission = (uint32_t)pen_sim_next(dice) >> pen_sim_below(dice, 32);
    for (unsigned lane = 0; lane < PEN_LANES; lane++)
        head.ack.limit[lane] = (uint32_t)pen_sim_next(dice);
    head.ack.range_count = pen_sim_below(dice, 5);
    for (uint32_t i = 0; i < head.ack.range_count; i++)
        head.ack.ranges[i] = (pen_rel_range){ (uint16_t)pen_sim_below(dice, 1100),
                                              (uint16_t)pen_sim_below(dice, 1100) };
    size_t len = pen_rel_encode(&head, bytes);
    pen_frame frame = { bytes, bytes, (uint32_t)len + 8 * pen_sim_below(dice, 2) + head.head_len,
                        pen_sim_below(dice, PEN_FRAME_HEAD_MAX) };
    if (frame.head_len > PEN_FRAME_HEAD_MAX)
        frame.head_len = PEN_FRAME_HEAD_MAX;
    _Alignas(16) unsigned char body[PEN_FRAME_HEAD_MAX] = { 0 };
    frame.body = body;
    pen_rel_sum_write(bytes, pen_rel_sum(bytes, frame.head_len, body, frame.body_len));
    (void)pen_sim_send(&world->network, rank->self, to, PEN_LANE_REQUEST, &frame, NULL);
}

void sim_rank_poll(sim_world *world, pen_peer self)
{
    sim_rank *rank = &world->ranks[self];
    rank->poll_at_ns = UINT64_MAX;
    uint64_t stopped_ns = pen_sim_stopped_until(&world->network, self);
    if (stopped_ns != 0) {
        poll_at(rank, stopped_ns);
        return;
    }
    if (rank->is_hostile) {
        send_nonsense(rank);
        if (--rank->left != 0)
            poll_at(rank, world->network.now_ns + pen_sim_next(world->dice) % PEN_SIM_MS + 1);
        return;
    }
    uint32_t room = 1 + pen_sim_below(world->dice, POLL_FRAMES);
    bool is_idle = rank->inbox.first == NULL;
    rank->lanes = PEN_LANES_ALL;
    if (pen_sim_hits(world->dice, world->plan.unasked))
        rank->lanes = pen_sim_below(world->dice, PEN_LANES_ALL + 1);
    if (rank->backlog_first != NULL)
        rank->lanes &= ~PEN_LANE_BIT(PEN_LANE_REQUEST);
    take_held(rank, &room);
    read_inbox(rank, &room);
    if (pen_rel_has_work(&rank->core))
        pen_rel_tick(&rank->core, world->network.now_ns, is_idle);
    for (pen_op *op; (op = pen_rel_take_finished(&rank->core)) != NULL;) {
        pen_op_source_done(op);
        pen_op_done(op);
    }
    post_some(rank);
    check_bounds(rank);
    plan_poll(rank);
}

/* ---- beginning and end ----------------------------------------------------------------------- */

static pen_post rank_send(void *ctx, pen_peer to, pen_lane lane, const pen_frame *frame, pen_op *op)
{
    sim_rank *rank = (sim_rank *)ctx;
    pen_sim_network *network = &rank->world->network;
    if (!pen_sim_is_sound(&network->way, frame))
        sim_fail(rank->world, "a frame of %u and %u bytes is posted", frame->head_len,
                 frame->body_len);
    return pen_sim_send(network, rank->self, to, lane, frame, op);
}

static void *rank_alloc(void *ctx, size_t len, size_t align)
{
    sim_rank *rank = (sim_rank *)ctx;
    if (pen_sim_below(rank->world->dice, 200) == 0 && rank->core.peers != NULL)
        return NULL;
    size_t before = rank->world->allocated;
    void *memory = sim_alloc(rank->world, len, align);
    rank->bytes += rank->world->allocated - before;
    return memory;
}

static void rank_release(void *ctx, void *memory)
{
    sim_rank *rank = (sim_rank *)ctx;
    size_t before = rank->world->allocated;
    sim_release(rank->world, memory);
    rank->bytes -= before - rank->world->allocated;
}

static void rank_open(sim_world *world, sim_rank *rank, pen_peer self)
{
    const sim_plan *plan = &world->plan;
    pen_rel_config config = { .self = self,
                              .peers = plan->ranks,
                              .frame_max = plan->way.frame_max,
                              .overhead = plan->way.overhead,
                              .grain = plan->way.grain,
                              .inbox_len = plan->way.inbox_len,
                              .memory_max = plan->memory_max,
                              .borrow_len = plan->borrow_len,
                              .intact = plan->way.intact,
                              .session = (uint32_t)pen_sim_next(world->dice) };
    pen_rel_out out = { rank, rank_send, rank_alloc, rank_release };
    *rank = (sim_rank){ .world = world,
                        .self = self,
                        .poll_at_ns = UINT64_MAX,
                        .blocked_ns = BLOCKED_NS_MIN,
                        .left = plan->messages };
    pen_sim_queue_init(&rank->inbox);
    rank->backlog_last = &rank->backlog_first;
    rank->is_hostile = plan->has_hostile && self == plan->ranks - 1;
    if (rank->is_hostile)
        rank->left = HOSTILE_FRAMES;
    rank->on_way = calloc(plan->ranks, sizeof *rank->on_way);
    if (rank->on_way == NULL || pen_rel_init(&rank->core, &config, &out) != PEN_OK)
        abort();
    if (plan->near_wrap)
        sim_age(&rank->core);
    poll_at(rank, soon(rank));
}

void sim_ranks_open(sim_world *world)
{
    world->ranks = (sim_rank *)calloc(world->plan.ranks, sizeof *world->ranks);
    if (world->ranks == NULL)
        abort();
    for (pen_peer self = 0; self < world->plan.ranks; self++)
        rank_open(world, &world->ranks[self], self);
    for (pen_peer self = 0; self < world->plan.ranks; self++)
        for (pen_peer peer = 0; peer < world->plan.ranks; peer++)
            pen_rel_meet(&world->ranks[self].core, peer, world->ranks[peer].core.config.session);
}

bool sim_ranks_are_done(const sim_world *world)
{
    if (world->delivered != world->posted)
        return false;
    for (pen_peer self = 0; self < world->plan.ranks; self++) {
        const sim_rank *rank = &world->ranks[self];
        if (rank->left != 0 || rank->backlog_first != NULL || rank->core.record_bytes != 0)
            return false;
    }
    return true;
}

static void check_pair(sim_world *world, pen_peer from, pen_peer to)
{
    const pen_rel_core *sender = &world->ranks[from].core, *receiver = &world->ranks[to].core;
    const pen_rel_peer *out = &sender->peers[to], *in = &receiver->peers[from];
    if (world->ranks[from].is_hostile || world->ranks[to].is_hostile)
        return;
    for (unsigned lane = 0; lane < PEN_LANES; lane++) {
        const pen_rel_lane *tx = &out->lanes[lane], *rx = &in->lanes[lane];
        if (tx->sent != rx->accepted || tx->sent != rx->consumed ||
            world->ranks[from].on_way[to][lane] != 0 ||
            pen_rel_after(tx->limit, rx->consumed + receiver->quota[lane]))
            sim_fail(world, "credits of lane %u from rank %u to %u do not add up", lane, from, to);
    }
    if (out->flight != 0 || out->next_sequence != in->window.base)
        sim_fail(world, "rank %u believes in %u bytes on their way to %u", from, out->flight, to);
}

void sim_ranks_check_end(sim_world *world)
{
    for (pen_peer self = 0; self < world->plan.ranks; self++) {
        sim_rank *rank = &world->ranks[self];
        for (pen_peer to = 0; to < world->plan.ranks; to++)
            check_pair(world, self, to);
        if (rank->core.kept.len != 0 || rank->core.acks_due != 0 ||
            (pen_rel_has_work(&rank->core) && !world->plan.has_hostile) ||
            !pen_rel_is_settled(&rank->core))
            sim_fail(world, "rank %u has something left", self);
        if (rank->bytes > world->plan.ranks * 4096 + spare_len(&world->plan))
            sim_fail(world, "rank %u has %zu bytes when idle", self, rank->bytes);
    }
    if (world->ops_open != 0 || world->network.alive != 0)
        sim_fail(world, "%lu bodies were never given back", (unsigned long)world->ops_open);
}

void sim_ranks_close(sim_world *world)
{
    for (pen_peer self = 0; self < world->plan.ranks; self++) {
        pen_rel_close(&world->ranks[self].core);
        free(world->ranks[self].ledger);
        free(world->ranks[self].on_way);
    }
    free(world->ranks);
}
