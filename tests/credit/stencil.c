/* SPDX-License-Identifier: BSD-3-Clause */
/* stencil.c: `stencil [RANKS]`: how loans serve a stencil of six neighbours, which is the example
 * of the paper on Portals. Plays the inbox of one rank, with the library's own receiver and the
 * senders of all peers, over a network that delays each message by chance, so that messages
 * overtake each other.
 *
 * Six neighbours each send a number of packets of four slots in every step, as fast as their links
 * allow; in each step one further rank sends a packet. The program compares
 *   all     the policy static, with an inbox that lets every peer send without waiting
 *   same    the policy static, with an inbox as long as that of `tight`
 *   loan    the policy loan, with the paper's first credits and reserve
 *   tight   the policy loan, with a reserve that serves six neighbours, and not twelve
 * by the ticks that a step takes. After some steps six further ranks become neighbours instead, and
 * the program counts the steps until loans are as fast as `all`. It exits with 1 if a loan is
 * slower by more than 5 % in the end, if it adapts too slowly, if `same` is not slower than loans,
 * or if nothing is recalled where the reserve is tight. */
#include "base/status.h"
#include "credit/credit.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    NEIGHBOURS = 6,
    UNITS = 4,       /* slots of a packet: a Medium of 1024 bytes */
    PACKETS = 160,   /* that a neighbour sends in a step: 640 credits */
    LINK = 2,        /* packets that a neighbour sends in a tick */
    DRAIN = 14,      /* packets that the rank handles in a tick */
    DELAY = 10,      /* ticks under way, and up to */
    JITTER = 6,      /* this many more */
    WHEEL = 32,      /* more than the longest delay */
    STEPS = 100,     /* until neighbours change, and afterwards */
    ADAPTS_MAX = 15, /* steps */
    TIGHT_START = 32,
    TIGHT_RESERVE = 2400,
    QUOTA_ALL = 640, /* slots of a peer that never waits */
    LEAST = 6,       /* two thresholds hold a packet */
    EPOCH = 1024,
    TICKS_MAX = 1000000,
};

typedef struct message {
    struct message *next;
    uint32_t peer;
    bool is_data;
    pen_credit_tag tag;
    pen_credit_message credit;
} message;

typedef struct model {
    pen_credit_params params;
    pen_credit_receiver *receiver;
    pen_credit_sender *sender; /* its peer i stands for the sender of rank i */
    message *wheel[WHEEL], *mailbox, **mailbox_end;
    uint64_t tick, dice;
    uint32_t first; /* neighbour */
    uint32_t left[NEIGHBOURS], handled;
} model;

static uint32_t roll(model *m, uint32_t below)
{
    m->dice = m->dice * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(m->dice >> 33) % below;
}

static void require(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "stencil: %s\n", what);
    exit(1);
}

static void *get_memory(size_t len)
{
    void *memory = calloc(1, len);
    require(memory != NULL, "there is no memory");
    return memory;
}

static void send(model *m, const message *content)
{
    message *copy = get_memory(sizeof *copy);
    const uint64_t slot = (m->tick + DELAY + roll(m, JITTER + 1)) % WHEEL;
    *copy = *content;
    copy->next = m->wheel[slot];
    m->wheel[slot] = copy;
}

/* Sends the messages about credits that both sides have to send. */
static void send_credits(model *m)
{
    message out = { 0 };
    while (pen_credit_receiver_next(m->receiver, &out.peer, &out.credit))
        send(m, &out);
    while (pen_credit_sender_next(m->sender, &out.peer, &out.credit))
        send(m, &out);
}

static void hear(model *m, const message *heard)
{
    pen_status status = heard->credit.kind == PEN_CREDIT_GIVE
                            ? pen_credit_receiver_hear(m->receiver, heard->peer, &heard->credit)
                            : pen_credit_sender_hear(m->sender, heard->peer, &heard->credit);
    require(status == PEN_OK, "a message about credits was refused");
}

static void arrive(model *m)
{
    message *next = m->wheel[m->tick % WHEEL];
    m->wheel[m->tick % WHEEL] = NULL;
    while (next != NULL) {
        message *now = next;
        next = now->next;
        if (now->is_data) {
            for (unsigned i = 0; i < UNITS; i++, now->tag.need = 0)
                require(pen_credit_receiver_arrived(m->receiver, now->peer, now->tag) == PEN_OK,
                        "a packet came without credit");
            now->next = NULL;
            *m->mailbox_end = now;
            m->mailbox_end = &now->next;
        } else {
            hear(m, now);
            free(now);
        }
    }
}

/* Handles packets. Each is answered, and the answer may carry a grant. */
static void drain(model *m)
{
    for (unsigned i = 0; i < DRAIN && m->mailbox != NULL; i++) {
        message *now = m->mailbox;
        m->mailbox = now->next;
        if (m->mailbox == NULL)
            m->mailbox_end = &m->mailbox;
        message reply = { .peer = now->peer };
        if (pen_credit_receiver_is_worth_a_ride(m->receiver, now->peer) &&
            pen_credit_receiver_ride(m->receiver, now->peer, UINT32_MAX, &reply.credit))
            send(m, &reply);
        for (unsigned k = 0; k < UNITS; k++)
            pen_credit_receiver_freed(m->receiver, now->peer);
        free(now);
        m->handled++;
    }
}

static bool send_packet(model *m, uint32_t peer)
{
    message out = { .peer = peer, .is_data = true };
    if (!pen_credit_sender_take_slots(m->sender, peer, PEN_CREDIT_REPLY, UNITS, &out.tag))
        return false;
    send(m, &out);
    return true;
}

/* Returns the ticks of a step: until all packets of the neighbours were handled. */
static uint64_t step(model *m)
{
    const uint64_t begin = m->tick;
    uint32_t wanted = NEIGHBOURS * PACKETS;
    m->handled = 0;
    wanted += send_packet(m, (m->first + NEIGHBOURS + roll(m, m->params.peers - NEIGHBOURS)) %
                                 m->params.peers);
    for (unsigned i = 0; i < NEIGHBOURS; i++)
        m->left[i] = PACKETS;
    while (m->handled < wanted) {
        for (unsigned i = 0; i < NEIGHBOURS; i++)
            for (unsigned k = 0; k < LINK && m->left[i] > 0; k++)
                m->left[i] -= send_packet(m, m->first + i);
        m->tick++;
        require(m->tick < TICKS_MAX, "a step does not end");
        arrive(m);
        drain(m);
        send_credits(m);
    }
    pen_credit_receiver_audit(m->receiver);
    return m->tick - begin;
}

/* early and late: ticks of the last ten steps before and after neighbours change; adapts: steps
 * until one takes at most 5 % more than it should; recalls: of all peers */
typedef struct result {
    uint64_t slots, early, late, recalls;
    uint32_t adapts, adapts_again;
} result;

/* Frees what is under way. */
static void close_model(model *m, result *out)
{
    for (uint32_t i = 0; i < m->params.peers; i++) {
        pen_credit_receiver_counters counters;
        pen_credit_receiver_count(m->receiver, i, &counters);
        out->recalls += counters.recalls;
    }
    for (unsigned i = 0; i < WHEEL; i++) {
        while (m->wheel[i] != NULL) {
            message *next = m->wheel[i]->next;
            free(m->wheel[i]);
            m->wheel[i] = next;
        }
    }
    free(m->receiver);
    free(m->sender);
    free(m);
}

/* goal: ticks of ten steps that do not wait */
static result play(const pen_credit_params *params, uint64_t goal)
{
    model *m = get_memory(sizeof *m);
    result out = { .slots = (uint64_t)params->peers * params->quota,
                   .adapts = STEPS,
                   .adapts_again = STEPS };
    m->params = *params;
    m->dice = 7;
    m->mailbox_end = &m->mailbox;
    require(pen_credit_params_check(params) == NULL, "the parameters are wrong");
    m->receiver = pen_credit_receiver_open(get_memory(pen_credit_receiver_size(params)), params);
    m->sender = pen_credit_sender_open(get_memory(pen_credit_sender_size(params)), params);
    for (uint32_t i = 0; i < 2 * STEPS; i++) {
        m->first = i < STEPS ? 0 : NEIGHBOURS;
        const uint64_t ticks = step(m);
        uint32_t *adapts = i < STEPS ? &out.adapts : &out.adapts_again;
        if (ticks * 200 <= goal * 21 && *adapts == STEPS)
            *adapts = i % STEPS;
        if (i % STEPS >= STEPS - 10)
            *(i < STEPS ? &out.early : &out.late) += ticks;
    }
    close_model(m, &out);
    return out;
}

/* The paper's first credits of a peer and its reserve, by the number of ranks. */
static void paper_credits(uint32_t ranks, uint32_t *start, uint32_t *reserve)
{
    static const struct {
        uint32_t ranks, start, reserve;
    } table[] = { { 1, 200, 400 },
                  { 64, 170, 25600 },
                  { 128, 170, 51200 },
                  { 512, 64, 51200 },
                  { 1024, 32, 51200 } };
    unsigned row = 0;
    while (row + 1 < sizeof table / sizeof table[0] && ranks >= table[row + 1].ranks)
        row++;
    *start = table[row].start;
    *reserve = table[row].reserve;
}

static void print(const char *name, const result *r)
{
    printf("%-5s %8" PRIu64 " slots  %6.1f and %6.1f ticks a step", name, r->slots,
           (double)r->early / 10, (double)r->late / 10);
    if (r->adapts < STEPS)
        printf(", within 5 %% after %" PRIu32 " and %" PRIu32 " steps, %" PRIu64 " recalls",
               r->adapts, r->adapts_again, r->recalls);
    printf("\n");
}

static result play_loan(pen_credit_params params, uint32_t start, uint32_t reserve, uint64_t goal)
{
    params.policy = PEN_CREDIT_LOAN;
    params.quota = start + (reserve + params.peers - 1) / params.peers;
    params.start = start;
    params.least = LEAST;
    return play(&params, goal);
}

static void check(const result *r, const result *all)
{
    require(r->early * 20 <= all->early * 21 && r->late * 20 <= all->late * 21,
            "loans are slower than credits for all");
    require(r->adapts <= ADAPTS_MAX && r->adapts_again <= ADAPTS_MAX, "loans adapt too slowly");
    require(r->slots < all->slots, "loans need more slots");
}

int main(int argc, char **argv)
{
    const uint32_t ranks = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 64;
    uint32_t start, reserve;
    require(ranks >= 32 && ranks <= 4096, "RANKS must be 32 to 4096");
    paper_credits(ranks, &start, &reserve);
    pen_credit_params params = { .policy = PEN_CREDIT_STATIC,
                                 .peers = ranks - 1,
                                 .quota = QUOTA_ALL,
                                 .control = 2,
                                 .step = 1,
                                 .hysteresis = 1,
                                 .epoch = EPOCH,
                                 .one_way = true };
    const result all = play(&params, 0);
    const result loan = play_loan(params, start, reserve, all.late);
    const result tight = play_loan(params, TIGHT_START, TIGHT_RESERVE, all.late);
    params.quota = (uint32_t)(tight.slots / params.peers);
    const result same = play(&params, all.late);
    print("all", &all);
    print("same", &same);
    print("loan", &loan);
    print("tight", &tight);
    check(&loan, &all);
    check(&tight, &all);
    require(tight.recalls > 0, "nothing was recalled");
    require(same.late * 2 > tight.late * 3, "the tight inbox needs no loans");
    return 0;
}
