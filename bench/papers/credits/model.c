/* SPDX-License-Identifier: BSD-3-Clause */
/* model.c: the model of model.h. A rank's clock runs ahead of the queue's while nothing that others
 * do can matter to it: it hands over at each message, and stops where it waits. */
#include "bench/papers/credits/model.h"

#include "base/compiler.h"
#include "virtual/events.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { NONE = UINT32_MAX };

enum { LINE_LEN = 64, HUGE_LEN = 2 << 20, EVENTS_MAX = 1 << 26 };

enum { EVENT_RUN, EVENT_ARRIVE };

/* Packets of one message on their way, or a control packet. */
typedef struct burst {
    uint64_t first_ns; /* when the first of its packets is in the mailbox */
    uint32_t from, to, next, packets;
    bool is_data, is_last; /* is_last: of its message */
    uint8_t need;
    pen_credit_message message;
} burst;

typedef struct rank {
    pen_credit_receiver *receiver;
    pen_credit_sender *sender;
    uint64_t clock_ns, out_free_ns, in_free_ns, stalled_ns;
    uint32_t op, step_i;  /* the rank's place in the program */
    uint32_t left;        /* packets of the message that is being sent */
    uint32_t first, last; /* bursts in the mailbox */
    uint32_t *received;   /* messages from each rank that nobody has waited for yet */
    bool is_waiting, is_stalled, has_idled, has_ended; /* has_idled: in this stall */
} rank;

struct model {
    model_params params;
    pen_virtual_events *events;
    rank *ranks;
    void *tables; /* memory of all ranks */
    burst *bursts;
    uint32_t bursts_free, bursts_count, bursts_room;
    uint64_t random;
    pattern pattern;
    uint32_t group, ops, ended;
    bool mixed;
    const char *wrong;
    model_counters counters;
};

static void fail(model *m, const char *what)
{
    if (m->wrong == NULL)
        m->wrong = what;
}

/* A rank's number among another one's peers, and back. */
static uint32_t peer_of(uint32_t self, uint32_t other) { return other < self ? other : other - 1; }
static uint32_t rank_of(uint32_t self, uint32_t peer) { return peer < self ? peer : peer + 1; }

static uint64_t later(uint64_t a, uint64_t b) { return a > b ? a : b; }

static void schedule(model *m, uint64_t time_ns, uint32_t kind, uint32_t what)
{
    if (!pen_virtual_events_add(m->events, later(time_ns, m->events->now_ns), kind, what))
        fail(m, "out of memory for events");
}

static burst *take_burst(model *m)
{
    uint32_t i = m->bursts_free;
    if (i != NONE) {
        m->bursts_free = m->bursts[i].next;
        return &m->bursts[i];
    }
    if (m->bursts_count == m->bursts_room) {
        uint32_t room = m->bursts_room > 0 ? 2 * m->bursts_room : 1024;
        burst *bursts = realloc(m->bursts, room * sizeof *bursts);
        if (bursts == NULL) {
            fail(m, "out of memory for bursts");
            return NULL;
        }
        m->bursts = bursts;
        m->bursts_room = room;
    }
    return &m->bursts[m->bursts_count++];
}

static void free_burst(model *m, uint32_t i)
{
    m->bursts[i].next = m->bursts_free;
    m->bursts_free = i;
}

/* ---- the network ----------------------------------------------------------------------------- */

/* Packets leave one after the other, as fast as the processor writes them and the port takes them;
 * the rank's clock is when the last is written. */
static void leave(model *m, const burst *sent)
{
    const pen_virtual_machine *machine = &m->params.machine;
    rank *self = &m->ranks[sent->from];
    burst *b = take_burst(m);
    if (b == NULL)
        return;
    uint64_t queue_ns = (uint64_t)machine->nic_queue * machine->link_packet;
    uint64_t start_ns = later(self->clock_ns + machine->send_packet, self->out_free_ns);
    *b = *sent;
    self->clock_ns += (uint64_t)sent->packets * machine->send_packet;
    self->out_free_ns =
        later(start_ns + (uint64_t)sent->packets * machine->link_packet, self->clock_ns);
    if (self->out_free_ns > queue_ns)
        self->clock_ns = later(self->clock_ns, self->out_free_ns - queue_ns);
    uint32_t hops = pen_virtual_machine_hops(machine, m->params.ranks, sent->from, sent->to);
    schedule(m,
             start_ns + machine->nic_send + (uint64_t)hops * machine->router + machine->nic_receive,
             EVENT_ARRIVE, (uint32_t)(b - m->bursts));
}

/* The head of a burst has come to the NIC of its target. */
static uint32_t arrive(model *m, uint32_t i)
{
    burst *b = &m->bursts[i];
    rank *self = &m->ranks[b->to];
    uint32_t link_ns = m->params.machine.link_packet;
    uint64_t start_ns = later(m->events->now_ns, self->in_free_ns);
    b->first_ns = start_ns + link_ns;
    b->next = NONE;
    self->in_free_ns = start_ns + (uint64_t)b->packets * link_ns;
    if (self->first == NONE)
        self->first = i;
    else
        m->bursts[self->last].next = i;
    self->last = i;
    return b->to;
}

/* ---- the mailbox ----------------------------------------------------------------------------- */

static void send_control(model *m, uint32_t from, uint32_t to, const pen_credit_message *message)
{
    m->counters.controls++;
    leave(m, &(burst){ .from = from, .to = to, .packets = 1, .message = *message });
}

static void send_controls(model *m, uint32_t i)
{
    rank *self = &m->ranks[i];
    pen_credit_message message;
    uint32_t peer = 0;
    while (pen_credit_sender_next(self->sender, &peer, &message) ||
           pen_credit_receiver_next(self->receiver, &peer, &message))
        send_control(m, i, rank_of(i, peer), &message);
}

static void expect(model *m, pen_status status)
{
    if (status != PEN_OK)
        fail(m, "the library took a packet for one that cannot be");
}

static void drain_data(model *m, uint32_t i, const burst *b)
{
    const pen_virtual_machine *machine = &m->params.machine;
    rank *self = &m->ranks[i];
    uint32_t peer = peer_of(i, b->from);
    uint32_t each_ns = machine->poll_packet + machine->copy_packet;
    if (m->params.is_free) {
        uint64_t last_ns = b->first_ns + (uint64_t)(b->packets - 1) * machine->link_packet;
        self->clock_ns = later(later(self->clock_ns, b->first_ns) + (uint64_t)b->packets * each_ns,
                               last_ns + each_ns);
        return;
    }
    for (uint32_t packet = 0; packet < b->packets; packet++) {
        uint64_t there_ns = b->first_ns + (uint64_t)packet * machine->link_packet;
        self->clock_ns = later(self->clock_ns, there_ns) + each_ns + machine->credit_receive;
        pen_credit_tag tag = { false, packet == 0 ? b->need : 0 };
        expect(m, pen_credit_receiver_passed(self->receiver, peer, tag));
        send_controls(m, i);
    }
}

static void drain_control(model *m, uint32_t i, const burst *b)
{
    rank *self = &m->ranks[i];
    uint32_t peer = peer_of(i, b->from);
    self->clock_ns = later(self->clock_ns, b->first_ns) + m->params.machine.poll_packet;
    expect(m, b->message.kind == PEN_CREDIT_GIVE
                  ? pen_credit_receiver_hear(self->receiver, peer, &b->message)
                  : pen_credit_sender_hear(self->sender, peer, &b->message));
    send_controls(m, i);
}

/* Takes one burst out of the mailbox. False: it is empty. */
static bool drain(model *m, uint32_t i)
{
    rank *self = &m->ranks[i];
    uint32_t which = self->first;
    if (which == NONE)
        return false;
    burst b = m->bursts[which]; /* a copy, since sending may move the array */
    self->first = b.next;
    free_burst(m, which);
    if (b.is_data)
        drain_data(m, i, &b);
    else
        drain_control(m, i, &b);
    if (b.is_last) {
        self->clock_ns += m->params.machine.receive_message;
        self->received[b.from]++;
    }
    return true;
}

/* ---- the program ----------------------------------------------------------------------------- */

static uint32_t draw(model *m, uint32_t below)
{
    m->random = m->random * 6364136223846793005U + 1442695040888963407U;
    return (uint32_t)(((m->random >> 32) * below) >> 32);
}

static uint32_t take_credits(model *m, uint32_t i, uint32_t to, uint8_t *need)
{
    rank *self = &m->ranks[i];
    uint32_t count = 0;
    pen_credit_tag tag;
    if (m->params.is_free)
        return self->left;
    while (count < self->left &&
           pen_credit_sender_take(self->sender, peer_of(i, to), PEN_CREDIT_REQUEST,
                                  self->left - count, &tag)) {
        if (count++ == 0)
            *need = tag.need;
    }
    self->clock_ns += (uint64_t)count * m->params.machine.credit_send;
    return count;
}

static void note_stall(rank *self)
{
    if (!self->is_stalled) {
        self->is_stalled = true;
        self->has_idled = false;
        self->stalled_ns = self->clock_ns;
    }
}

/* Sends the rest of a message as far as there are credits. Returns true if all of it has left. */
static bool send_what_is_left(model *m, uint32_t i, uint32_t to)
{
    rank *self = &m->ranks[i];
    burst b = { .from = i, .to = to, .is_data = true };
    b.packets = take_credits(m, i, to, &b.need);
    if (b.packets < self->left)
        note_stall(self);
    if (b.packets == 0)
        return false;
    self->left -= b.packets;
    b.is_last = self->left == 0;
    m->counters.packets += b.packets;
    uint64_t stalled_ns = self->clock_ns - self->stalled_ns;
    leave(m, &b);
    if (self->left > 0)
        return false;
    if (self->is_stalled)
        m->counters.wait_ns += stalled_ns;
    self->is_stalled = false;
    return true;
}

static void begin_message(model *m, rank *self, const step *what)
{
    uint32_t packets = what->is_short ? 1 : m->params.message_packets;
    self->left = m->mixed ? 1 + draw(m, packets) : packets;
    self->clock_ns += m->params.machine.send_message;
    m->counters.messages++;
}

typedef enum progress { WENT_ON, MUST_WAIT, HANDED_OVER } progress;

static progress end_op(model *m, rank *self)
{
    self->step_i = 0;
    if (++self->op < m->ops)
        return WENT_ON;
    self->has_ended = true;
    m->ended++;
    return MUST_WAIT;
}

static progress do_step(model *m, uint32_t i)
{
    rank *self = &m->ranks[i];
    place at = { m->params.ranks, m->group, i };
    step what = pattern_step(m->pattern, &at, self->step_i);
    switch (what.kind) {
    case STEP_SEND:
        if (self->left == 0)
            begin_message(m, self, &what);
        if (!send_what_is_left(m, i, what.peer))
            return MUST_WAIT;
        self->step_i++;
        schedule(m, self->clock_ns, EVENT_RUN, i);
        return HANDED_OVER;
    case STEP_WAIT:
        if (self->received[what.peer] == 0)
            return MUST_WAIT;
        self->received[what.peer]--;
        self->step_i++;
        return WENT_ON;
    default:
        return end_op(m, self);
    }
}

/* One that has ended its operations goes on draining, since others need their credits. */
static void run(model *m, uint32_t i)
{
    rank *self = &m->ranks[i];
    self->clock_ns = later(self->clock_ns, m->events->now_ns);
    self->is_waiting = false;
    while (m->wrong == NULL) {
        progress went = self->has_ended ? MUST_WAIT : do_step(m, i);
        if (went == HANDED_OVER)
            return;
        if (went == MUST_WAIT && !drain(m, i)) {
            self->is_waiting = true;
            if (self->is_stalled && !self->has_idled)
                m->counters.waited++;
            self->has_idled = true;
            return;
        }
    }
}

const char *model_play(model *m, pattern p, uint32_t group, uint32_t ops, bool mixed)
{
    pen_virtual_event event;
    m->pattern = p;
    m->group = group;
    m->ops = ops;
    m->mixed = mixed;
    m->ended = 0;
    for (uint32_t i = 0; i < m->params.ranks; i++) {
        m->ranks[i].op = m->ranks[i].step_i = 0;
        m->ranks[i].has_ended = m->ranks[i].is_waiting = false;
        schedule(m, m->ranks[i].clock_ns, EVENT_RUN, i);
    }
    while (m->wrong == NULL && pen_virtual_events_take(m->events, &event)) {
        uint32_t i = event.what;
        if (event.kind == EVENT_ARRIVE) {
            i = arrive(m, event.what);
            if (!m->ranks[i].is_waiting)
                continue;
        }
        run(m, i);
    }
    if (m->wrong == NULL && m->ended < m->params.ranks)
        fail(m, "deadlock: nobody can go on, and something is left to do");
    return m->wrong;
}

/* ---- making and looking ---------------------------------------------------------------------- */

static size_t in_lines(size_t len) { return (len + LINE_LEN - 1) / LINE_LEN * LINE_LEN; }

/* All ranks' tables are one piece of memory, in huge pages where there are such: of 1024 ranks they
 * have 250 MB, of which every message needs a few lines, and where those are must be found, too. */
static bool open_ranks(model *m)
{
    const pen_credit_params *credit = &m->params.credit;
    uint32_t ranks = m->params.ranks;
    size_t received_len = in_lines(ranks * sizeof *m->ranks->received);
    size_t receiver_len = m->params.is_free ? 0 : in_lines(pen_credit_receiver_size(credit));
    size_t sender_len = m->params.is_free ? 0 : in_lines(pen_credit_sender_size(credit));
    size_t len = ranks * (received_len + receiver_len + sender_len);
    len = (len + HUGE_LEN - 1) / HUGE_LEN * HUGE_LEN;
    m->ranks = calloc(ranks, sizeof *m->ranks);
    m->tables = aligned_alloc(HUGE_LEN, len);
    if (m->ranks == NULL || m->tables == NULL)
        return false;
    (void)madvise(m->tables, len, MADV_HUGEPAGE);
    memset(m->tables, 0, len);
    char *at = m->tables;
    for (uint32_t i = 0; i < ranks; i++) {
        rank *self = &m->ranks[i];
        *self = (rank){ .first = NONE, .last = NONE, .is_waiting = true };
        self->received = (void *)at;
        at += received_len;
        if (m->params.is_free)
            continue;
        self->receiver = pen_credit_receiver_open(at, credit);
        self->sender = pen_credit_sender_open(at + receiver_len, credit);
        at += receiver_len + sender_len;
    }
    return true;
}

model *model_open(const model_params *params)
{
    model *m = calloc(1, sizeof *m);
    if (m == NULL)
        return NULL;
    m->params = *params;
    m->random = params->seed;
    m->bursts_free = NONE;
    m->events = pen_virtual_events_open(EVENTS_MAX);
    if (m->events != NULL && open_ranks(m))
        return m;
    model_close(m);
    return NULL;
}

void model_close(model *m)
{
    free(m->tables);
    pen_virtual_events_close(m->events);
    free(m->ranks);
    free(m->bursts);
    free(m);
}

void model_count(const model *m, model_counters *out)
{
    *out = m->counters;
    for (uint32_t i = 0; i < m->params.ranks; i++)
        out->now_ns = later(out->now_ns, m->ranks[i].clock_ns);
}

void model_look(const model *m, uint32_t peer, uint32_t *hand, uint32_t *quota)
{
    pen_credit_sender_counters out;
    pen_credit_receiver_counters in;
    pen_credit_sender_count(m->ranks[0].sender, peer_of(0, peer), &out);
    pen_credit_receiver_count(m->ranks[peer].receiver, peer_of(peer, 0), &in);
    *hand = out.hand;
    *quota = in.quota;
}
