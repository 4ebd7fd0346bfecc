/* SPDX-License-Identifier: BSD-3-Clause */
/* net.c: the network of net.h. A rank is an automaton. It drains its mailbox; it may be inside a
 * request's handler, which sends a reply; and it may have sent a part of a request. No step waits.
 * If no rank can take a step and work is left, the run has deadlocked. */
#include "credit/net.h"

#include <stdlib.h>
#include <string.h>

enum { QUEUE_LEN = 1024 };

typedef struct packet {
    bool is_data, is_last, rides; /* rides: message is a grant on a data packet */
    uint32_t from;
    pen_credit_class class;
    uint32_t reply_len; /* set in a request's last packet */
    pen_credit_tag tag;
    pen_credit_message message;
} packet;

typedef struct queue {
    packet at[QUEUE_LEN];
    uint32_t first, count;
} queue;

typedef struct rank {
    pen_credit_receiver *receiver;
    pen_credit_sender *sender;
    queue mailbox, stash;
    uint32_t data;                   /* data slots in use, stash included */
    uint32_t control[NET_RANKS_MAX]; /* control packets from each peer, also those under way */
    bool in_handler;                 /* until its reply is sent */
    uint32_t reply_to, reply_left;
    uint32_t request_to, request_left; /* packets left; 0: no request has begun */
    uint32_t assembly[NET_RANKS_MAX];  /* packets of a request that has arrived in part */
    uint32_t budget;                   /* packets of requests and replies that have not begun */
    uint64_t requests_sent, requests_handled; /* messages */
} rank;

typedef struct net {
    const net_params *params;
    rank ranks[NET_RANKS_MAX];
    queue ways[NET_RANKS_MAX][NET_RANKS_MAX]; /* from, to */
    uint64_t random, packets;
    uint32_t phase, pattern;
    uint32_t sleepy, slow_from, slow_to; /* a rank and a pair's path that are far behind */
    uint32_t in_vain;                    /* steps, lately */
    const char *wrong;
} net;

static uint32_t draw(uint64_t *state, uint32_t below)
{
    *state = *state * 6364136223846793005U + 1442695040888963407U;
    return (uint32_t)(((*state >> 32) * below) >> 32);
}

static void fail(net *w, const char *what)
{
    if (w->wrong == NULL)
        w->wrong = what;
}

static void push(net *w, queue *q, const packet *p)
{
    if (q->count == QUEUE_LEN) {
        fail(w, "more packets under way than there can be credits");
        return;
    }
    q->at[(q->first + q->count++) % QUEUE_LEN] = *p;
}

static packet pop(queue *q)
{
    packet p = q->at[q->first];
    q->first = (q->first + 1) % QUEUE_LEN;
    q->count--;
    return p;
}

/* Converts a rank's number to a number among another rank's peers, and back. */
static uint32_t peer_of(uint32_t self, uint32_t other) { return other < self ? other : other - 1; }
static uint32_t rank_of(uint32_t self, uint32_t peer) { return peer < self ? peer : peer + 1; }

static void expect(net *w, pen_status status)
{
    if (status != PEN_OK)
        fail(w, "the library took a packet for one that cannot be");
}

/* ---- sending --------------------------------------------------------------------------------- */

static void send_control(net *w, uint32_t from, uint32_t to, const pen_credit_message *message)
{
    const pen_credit_params *credit = &w->params->credit;
    uint32_t slots = (uint32_t)(pen_credit_mailbox_slots(credit) / credit->peers) - credit->quota;
    if (++w->ranks[to].control[from] > slots)
        fail(w, "a control packet without a slot");
    push(w, &w->ways[from][to], &(packet){ .from = from, .message = *message });
}

static bool send_data(net *w, uint32_t from, uint32_t to, packet p, uint32_t left)
{
    rank *self = &w->ranks[from];
    uint32_t peer = peer_of(from, to);
    if (!pen_credit_sender_take_plain(self->sender, peer) &&
        !pen_credit_sender_take(self->sender, peer, p.class, left, &p.tag))
        return false;
    p.is_data = true;
    p.from = from;
    p.is_last = left == 1;
    p.rides = w->params->ride &&
              pen_credit_receiver_ride(self->receiver, peer, 1 + draw(&w->random, 7), &p.message);
    push(w, &w->ways[from][to], &p);
    w->packets++;
    return true;
}

static bool send_a_control(net *w, uint32_t i)
{
    pen_credit_message message;
    uint32_t peer = 0;
    rank *self = &w->ranks[i];
    if (!pen_credit_sender_next(self->sender, &peer, &message) &&
        !pen_credit_receiver_next(self->receiver, &peer, &message))
        return false;
    send_control(w, i, rank_of(i, peer), &message);
    return true;
}

/* ---- handling -------------------------------------------------------------------------------- */

static void free_slot(net *w, uint32_t i, uint32_t from)
{
    w->ranks[i].data--;
    pen_credit_receiver_freed(w->ranks[i].receiver, peer_of(i, from));
}

/* The slot of a request's last packet is freed when its handler has sent its reply. The packets
 * before it are copied out at once. */
static void handle_request(net *w, uint32_t i, const packet *p)
{
    rank *self = &w->ranks[i];
    self->assembly[p->from]++;
    if (!p->is_last) {
        free_slot(w, i, p->from);
        return;
    }
    self->assembly[p->from] = 0;
    self->requests_handled++;
    if (p->reply_len == 0) {
        free_slot(w, i, p->from);
        return;
    }
    self->in_handler = true;
    self->reply_to = p->from;
    self->reply_left = p->reply_len;
}

static void hear_control(net *w, uint32_t i, const packet *p)
{
    uint32_t peer = peer_of(i, p->from);
    expect(w, p->message.kind == PEN_CREDIT_GIVE
                  ? pen_credit_receiver_hear(w->ranks[i].receiver, peer, &p->message)
                  : pen_credit_sender_hear(w->ranks[i].sender, peer, &p->message));
}

static bool drain(net *w, uint32_t i)
{
    rank *self = &w->ranks[i];
    if (self->mailbox.count == 0)
        return false;
    packet p = pop(&self->mailbox);
    if (!p.is_data) {
        self->control[p.from]--;
        hear_control(w, i, &p);
        return true;
    }
    if (p.rides)
        hear_control(w, i, &p);
    pen_credit_context context = self->in_handler ? PEN_CREDIT_IN_HANDLER : PEN_CREDIT_OUTSIDE;
    bool is_handled = pen_credit_may_handle(context, p.class);
    if (is_handled && p.class == PEN_CREDIT_REPLY) { /* copied at once */
        self->data--;
        expect(w, pen_credit_receiver_passed(self->receiver, peer_of(i, p.from), p.tag));
        return true;
    }
    expect(w, pen_credit_receiver_arrived(self->receiver, peer_of(i, p.from), p.tag));
    if (is_handled)
        handle_request(w, i, &p);
    else
        push(w, &self->stash, &p);
    return true;
}

/* ---- what ranks do --------------------------------------------------------------------------- */

/* Chooses the rank to write to in this phase: any rank, one rank, the partner of a pair, a
 * neighbour, or a rank of the own half. */
static uint32_t choose(net *w, uint32_t i)
{
    uint32_t ranks = w->params->ranks, any = rank_of(i, draw(&w->random, ranks - 1));
    uint32_t hot = w->phase % ranks, pair = i ^ 1U, half = ranks / 2;
    switch (w->pattern) {
    case 1:
        return i == hot ? any : hot;
    case 2:
        return pair < ranks ? pair : any;
    case 3:
        return (i + 1) % ranks;
    case 4:
        return (any < half) == (i < half) || draw(&w->random, 16) == 0 || ranks < 4 ? any : i ^ 1U;
    default:
        return any;
    }
}

static bool begin(net *w, uint32_t i)
{
    rank *self = &w->ranks[i];
    if (self->budget == 0)
        return false;
    self->request_left = 1 + draw(&w->random, w->params->request_max);
    self->request_to = choose(w, i);
    if (self->request_to >= w->params->ranks || self->request_to == i)
        self->request_to = rank_of(i, 0);
    self->requests_sent++;
    return true;
}

static bool go_on(net *w, uint32_t i)
{
    rank *self = &w->ranks[i];
    packet p = { .class = PEN_CREDIT_REQUEST };
    if (self->request_left == 0)
        return begin(w, i);
    if (self->request_left == 1 && w->params->reply_max > 0)
        p.reply_len = draw(&w->random, w->params->reply_max + 1);
    uint32_t cost = self->request_left == 1 ? 1 + p.reply_len : 1;
    if (!send_data(w, i, self->request_to, p, self->request_left))
        return false;
    self->request_left--;
    self->budget -= cost < self->budget ? cost : self->budget;
    return true;
}

static bool reply(net *w, uint32_t i)
{
    rank *self = &w->ranks[i];
    packet p = { .class = PEN_CREDIT_REPLY };
    if (!send_data(w, i, self->reply_to, p, self->reply_left))
        return false;
    if (--self->reply_left == 0) {
        self->in_handler = false;
        free_slot(w, i, self->reply_to);
    }
    return true;
}

/* Inside a handler a rank only continues its reply. Outside, stashed requests come first. */
static bool work(net *w, uint32_t i)
{
    rank *self = &w->ranks[i];
    if (self->in_handler)
        return reply(w, i);
    if (self->stash.count > 0) {
        packet p = pop(&self->stash);
        handle_request(w, i, &p);
        return true;
    }
    return go_on(w, i);
}

static bool step_rank(net *w, uint32_t i, uint32_t what)
{
    switch (what) {
    case 0:
        return send_a_control(w, i);
    case 1:
        return work(w, i);
    default:
        return drain(w, i);
    }
}

static bool deliver(net *w, uint32_t from, uint32_t to)
{
    queue *way = &w->ways[from][to];
    if (from == to || way->count == 0)
        return false;
    packet p = pop(way);
    if (p.is_data && ++w->ranks[to].data > w->params->credit.peers * w->params->credit.quota)
        fail(w, "the mailbox overflows");
    push(w, &w->ranks[to].mailbox, &p);
    return true;
}

/* ---- runs ------------------------------------------------------------------------------------ */

/* Takes as many bits of a drawn number as `below` needs, and returns a number smaller than
 * `below`. */
static uint32_t part(uint64_t drawn, unsigned shift, uint32_t below)
{
    return (uint32_t)((((drawn >> shift) & 0xffff) * below) >> 16);
}

/* Delivers a packet to rank i; the path of rank `from` is looked at first. */
static bool deliver_any(net *w, uint32_t from, uint32_t i, bool behind)
{
    for (uint32_t tried = 0; tried < w->params->ranks; tried++) {
        if ((!behind || from != w->slow_from || i != w->slow_to) && deliver(w, from, i))
            return true;
        from = from + 1 < w->params->ranks ? from + 1 : 0;
    }
    return false;
}

/* Takes all choices of a step from parts of one drawn number. A rank that is behind goes on when
 * all other ranks have made no progress for long. */
static void step_at_random(net *w)
{
    uint64_t drawn = (w->random = w->random * 6364136223846793005U + 1442695040888963407U);
    drawn ^= drawn >> 29;
    uint32_t ranks = w->params->ranks, i = part(drawn, 48, ranks), from = part(drawn, 32, ranks);
    bool behind = w->in_vain < ranks && part(drawn, 16, w->params->lag) > 0, did = false;
    if ((drawn & 1) == 0) {
        did = deliver_any(w, from, i, behind);
    } else if (((drawn >> 1) & 15) >= w->params->nap && (!behind || i != w->sleepy)) {
        uint32_t what = (uint32_t)(drawn >> 5) & 3;
        did = step_rank(w, i, what) || step_rank(w, i, what / 2) || step_rank(w, i, 2);
        if (did)
            pen_credit_receiver_audit(w->ranks[i].receiver);
    }
    w->in_vain = did ? 0 : w->in_vain + 1;
}

/* Tries every possible step once. Returns false if no step was possible. A round of many random
 * steps may miss one; this function does not. */
static bool sweep(net *w)
{
    bool did = false;
    for (uint32_t i = 0; i < w->params->ranks; i++) {
        for (uint32_t from = 0; from < w->params->ranks; from++)
            did |= deliver(w, from, i);
        for (uint32_t what = 0; what < 3; what++)
            did |= step_rank(w, i, what);
    }
    return did;
}

/* Checks a quiet network: no credit is lost between two ranks, and each quota has its slots. */
static void check_pair(net *w, uint32_t from, uint32_t to)
{
    pen_credit_receiver_counters in;
    pen_credit_sender_counters out;
    pen_credit_receiver_count(w->ranks[to].receiver, peer_of(to, from), &in);
    pen_credit_sender_count(w->ranks[from].sender, peer_of(from, to), &out);
    if (in.exposed != out.hand)
        fail(w, "credits got lost on the way");
    if (in.exposed + in.recovered != in.quota)
        fail(w, "a quota has not got its slots");
    bool must_know = w->params->credit.policy != PEN_CREDIT_ACTIVITY && in.recovered == 0;
    if (must_know && in.quota != out.quota)
        fail(w, "a sender does not know its quota");
}

static bool is_idle(const rank *self)
{
    return self->budget == 0 && self->request_left == 0 && !self->in_handler && self->data == 0 &&
           self->stash.count == 0;
}

static void check_end(net *w)
{
    uint64_t sent = 0, handled = 0;
    for (uint32_t i = 0; i < w->params->ranks; i++) {
        rank *self = &w->ranks[i];
        sent += self->requests_sent;
        handled += self->requests_handled;
        if (!is_idle(self))
            fail(w, "deadlock: nobody can go on, and something is left to do");
        for (uint32_t from = 0; from < w->params->ranks; from++) {
            if (from != i)
                check_pair(w, from, i);
        }
    }
    if (sent != handled)
        fail(w, "a request was not handled");
}

static void next_phase(net *w)
{
    const net_params *params = w->params;
    w->phase++;
    w->pattern = draw(&w->random, 5);
    w->sleepy = draw(&w->random, 2 * params->ranks); /* half the time: no rank is behind */
    w->slow_from = draw(&w->random, 2 * params->ranks);
    w->slow_to = draw(&w->random, params->ranks);
    for (uint32_t i = 0; i < params->ranks; i++)
        w->ranks[i].budget += params->packets / params->phases / params->ranks + 1;
}

static bool has_begun_all(const net *w)
{
    bool all = true;
    for (uint32_t i = 0; i < w->params->ranks; i++)
        all = all && w->ranks[i].budget == 0;
    return all;
}

/* Ends when all messages have begun, or when no step is possible, which is checked at intervals. */
static void play_phase(net *w)
{
    do {
        for (uint32_t i = 0; i < 64 * w->params->ranks && w->wrong == NULL; i++)
            step_at_random(w);
    } while (w->wrong == NULL && !has_begun_all(w) && (draw(&w->random, 8) != 0 || sweep(w)));
}

static void play(net *w)
{
    while (w->wrong == NULL && w->phase < w->params->phases) {
        next_phase(w);
        play_phase(w);
    }
    while (w->wrong == NULL && sweep(w))
        continue;
    for (uint32_t i = 0; i < w->params->ranks; i++)
        pen_credit_receiver_audit(w->ranks[i].receiver);
}

const char *net_run(const net_params *params, uint64_t *packets)
{
    net *w = calloc(1, sizeof *w);
    if (w == NULL)
        return "out of memory";
    w->params = params;
    w->random = params->seed ^ 0x9e3779b97f4a7c15U;
    for (uint32_t i = 0; i < params->ranks; i++) {
        rank *self = &w->ranks[i];
        self->receiver = pen_credit_receiver_open(
            calloc(1, pen_credit_receiver_size(&params->credit)), &params->credit);
        self->sender = pen_credit_sender_open(calloc(1, pen_credit_sender_size(&params->credit)),
                                              &params->credit);
    }
    play(w);
    if (w->wrong == NULL)
        check_end(w);
    const char *wrong = w->wrong;
    *packets = w->packets;
    for (uint32_t i = 0; i < params->ranks; i++) {
        free(w->ranks[i].receiver);
        free(w->ranks[i].sender);
    }
    free(w);
    return wrong;
}

void net_draw(net_params *params, uint64_t seed, uint32_t packets)
{
    uint64_t random = seed * 0xbf58476d1ce4e5b9U + 1;
    for (int i = 0; i < 4; i++)
        (void)draw(&random, 2);
    bool one_way = draw(&random, 8) == 0;
    uint32_t n = one_way ? 1 + draw(&random, 3) : PEN_CREDIT_CONTROL_MIN + draw(&random, 2);
    uint32_t ranks = draw(&random, 4) == 0 ? 2 + draw(&random, 2) : 4 + draw(&random, 3);
    uint32_t more = draw(&random, 2) == 0 ? 0 : draw(&random, 8);
    pen_credit_policy policy = (pen_credit_policy)(seed % PEN_CREDIT_POLICIES);
    uint32_t start = PEN_CREDIT_QUOTA_MIN(n) + draw(&random, more + 1);
    if (policy == PEN_CREDIT_STATIC || draw(&random, 3) > 0)
        start = 0;
    *params = (net_params){
        .seed = seed,
        .ranks = ranks,
        .phases = 1 + draw(&random, 4),
        .packets = packets,
        .request_max = 1 + draw(&random, 4),
        .reply_max = one_way ? 0 : draw(&random, 4 * (n + 1 + more)),
        .ride = draw(&random, 3) == 0,
        .nap = draw(&random, 12),
        .lag = 8U << draw(&random, 4),
        .credit = {
            .policy = policy,
            .peers = ranks - 1,
            .quota = PEN_CREDIT_QUOTA_MIN(n) + more,
            .control = n,
            .step = 1 + draw(&random, 6),
            .start = start,
            .hysteresis = 1 + draw(&random, 3) * 0.5,
            .period = 1 + draw(&random, 16),
            .epoch = 1 + draw(&random, 64),
            .one_way = one_way,
        },
    };
}
