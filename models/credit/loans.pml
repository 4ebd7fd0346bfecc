/* SPDX-License-Identifier: BSD-3-Clause */
/* loans.pml: loans and recalls over a network that reorders, for Spin. Data, grants, notes of need,
 * recalls and answers travel in queues of their own, and within each of them any message may come
 * next: so each is a bag, and a bag is a number. One receiver lends the slots of its mailbox to
 * SENDERS, as the policy `loan` of src/credit does. Where credit.pml has all policies with the
 * library's formulas in order, this model has the rules of loans without order.
 *
 * SENDERS   2 or 3
 * SLOTS     of the mailbox
 * LEAST     quota that a sender always keeps
 * PACKETS   that each sender sends
 *
 * Each NO_... removes one guard; Spin must find an error without it. Checked at all times: the mailbox
 * does not overflow, every slot is in exactly one place, each sender keeps its least quota, and for
 * each sender there is at most one recall or answer under way. Checked when no step is possible: all
 * packets were sent and handled. */

typedef sender {
    /* at the sender */
    byte hand, quota; /* credits; quota as far as it knows */
    bool stalls;      /* its last try found no credit, and a note of need is under way or was lost */
    byte left;        /* packets to be sent */
    /* at the receiver */
    byte entitled, exposed, mailbox;
    bool recalled; /* a recall is open */
    /* under way */
    byte data, grants, raises, needs, recalls, answers;
    byte given; /* credits in the answer */
};

sender s[SENDERS];
byte bank = SLOTS; /* slots that belong to nobody */
byte i, k, occupied;

/* Where a credit of this sender may be. */
#define PLACES(x) (s[x].hand + s[x].data + s[x].mailbox + s[x].grants + s[x].raises + s[x].given)

#ifdef NO_BANK
#define MAY_LEND true
#else
#define MAY_LEND (bank > 0)
#endif
#ifdef NO_LEAST
#define SPARE(x) (s[x].hand)
#else
#define SPARE(x) (s[x].quota <= LEAST -> 0 : (s[x].hand < s[x].quota - LEAST -> s[x].hand : s[x].quota - LEAST))
#endif
#ifdef NO_SINGLE_RECALL
#define MAY_RECALL(x) (s[x].entitled > LEAST && s[x].recalls < 3)
#else
#define MAY_RECALL(x) (s[x].entitled > LEAST && !s[x].recalled)
#endif

inline check()
{
    occupied = 0;
    k = bank;
    i = 0;
    do
    :: i < SENDERS ->
       occupied = occupied + s[i].mailbox;
       k = k + s[i].exposed;
       assert(s[i].exposed == PLACES(i));
       assert(s[i].entitled >= LEAST);
       assert(s[i].recalls + s[i].answers <= 1);
       i++
    :: else -> break
    od;
    assert(occupied <= SLOTS);
    assert(k == SLOTS);
    i = 0;
    k = 0;
    occupied = 0
}

/* A packet needs a credit. A sender without one notes its need, once. */
inline send(x)
{
    if
    :: s[x].hand > 0 -> s[x].hand--; s[x].data++; s[x].stalls = false; s[x].left--
    :: else -> s[x].stalls = true; s[x].needs++
    fi
}

/* The slot of a handled packet goes back to its sender. */
inline handle(x)
{
    s[x].mailbox--;
    s[x].grants++
}

/* A note of need: lends a slot, or recalls from another sender that has more than the least. */
inline lend(x)
{
    s[x].needs--;
    if
    :: MAY_LEND -> bank--; s[x].entitled++; s[x].exposed++; s[x].raises++
    :: true; /* the limits for one peer may forbid it, or nobody can be asked */
    :: MAY_RECALL((x + 1) % SENDERS) ->
       s[(x + 1) % SENDERS].recalled = true;
       s[(x + 1) % SENDERS].recalls++
#if SENDERS == 3
    :: MAY_RECALL((x + 2) % SENDERS) ->
       s[(x + 2) % SENDERS].recalled = true;
       s[(x + 2) % SENDERS].recalls++
#endif
    fi
}

/* Answers a recall with as much as the sender wants to spare; it gives nothing while it stalls. */
inline answer(x)
{
    s[x].recalls--;
    k = 0;
    do
    :: !s[x].stalls && k < SPARE(x) -> k++
    :: break
    od;
    s[x].hand = s[x].hand - k;
    s[x].quota = (s[x].quota > k -> s[x].quota - k : 0);
    s[x].given = k;
    s[x].answers++;
    k = 0
}

inline take_back(x)
{
    s[x].answers--;
    s[x].entitled = s[x].entitled - s[x].given;
#ifndef NO_LEDGER
    s[x].exposed = s[x].exposed - s[x].given;
#endif
    bank = bank + s[x].given;
    s[x].given = 0;
    s[x].recalled = false
}

proctype steps(byte x)
{
end:
    do
    :: atomic { s[x].left > 0 && (s[x].hand > 0 || !s[x].stalls) -> send(x); check() }
    :: atomic { s[x].data > 0 -> s[x].data--; s[x].mailbox++; check() }
    :: atomic { s[x].mailbox > 0 -> handle(x); check() }
    :: atomic { s[x].grants > 0 -> s[x].grants--; s[x].hand++; check() }
    :: atomic { s[x].raises > 0 -> s[x].raises--; s[x].hand++; s[x].quota++; check() }
    :: atomic { s[x].needs > 0 -> lend(x); check() }
    :: atomic { s[x].recalls > 0 -> answer(x); check() }
    :: atomic { s[x].answers > 0 -> take_back(x); check() }
    od
}

init {
    atomic {
        do
        :: i < SENDERS ->
           s[i].hand = LEAST;
           s[i].quota = LEAST;
           s[i].entitled = LEAST;
           s[i].exposed = LEAST;
           s[i].left = PACKETS;
           bank = bank - LEAST;
           i++
        :: else -> break
        od;
        i = 0;
        run steps(0);
        run steps(1);
#if SENDERS == 3
        run steps(2);
#endif
    }
    timeout;
    /* No step is possible. */
    i = 0;
    do
    :: i < SENDERS ->
       assert(s[i].left == 0 && s[i].data == 0 && s[i].mailbox == 0);
       i++
    :: else -> break
    od
}
