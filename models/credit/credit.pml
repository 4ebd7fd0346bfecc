/* SPDX-License-Identifier: BSD-3-Clause */
/* credit.pml: credit flow control for Spin, with the constants and formulas of the library.
 *
 * RANKS    2 or 3
 * POLICY   STATIC, ACTIVITY or LOAN: quota may move at any time, so that the behaviours include
 *          all measurements of a receiver and all notes of a sender
 * ANSWERS  1: every rank sends requests, and a handler may send a reply of any length;
 *          0: ranks send to rank 0, which frees what it drains
 * QUOTA    data slots of a mailbox for each peer, on average; or SLOTS of them in all
 * CONTROL  n
 * START    credits of each sender at first. The default is the least quota, or all credits if
 *          the policy is STATIC or RANKS is 2
 * GROWS    1: free quota goes to the ranks also if RANKS is 2
 * LOWERS   with 2 ranks, which begin with all quota: how often peers outside of the model may
 *          take quota from them
 * ENDLESS  1: ranks never stop sending requests; 0: they may stop at any time
 * EAGER    1: control packets that are due are sent at once; 0: at any later time
 *
 * Each NO_... removes one guard; Spin must find an error without it. Checked at all times: mailboxes
 * do not overflow, control packets have their slots, the ledgers add up, each peer has its least
 * quota. Checked when no step is possible: all messages are sent and handled, and each quota has its
 * slots. */
#include "credit/constants.h"

#define STATIC   0
#define ACTIVITY 1
#define LOAN     2

#define PEERS (RANKS - 1)
#ifndef SLOTS
#define SLOTS (QUOTA * PEERS)
#endif
#define LEAST PEN_CREDIT_QUOTA_MIN(CONTROL)
#define QUOTA_MAX (SLOTS - LEAST * (PEERS - 1))
#define PAIR(from, to) ((from) * RANKS + (to))
#define NOBODY RANKS

#ifdef NO_RESERVE
#define RESERVE 0
#else
#define RESERVE PEN_CREDIT_RESERVE
#endif

#ifndef START
#if POLICY == STATIC || RANKS == 2
#define START QUOTA
#else
#define START LEAST
#endif
#endif
#ifdef NO_START_CHECK
#define BEGIN START
#else
#define BEGIN (PEN_CREDIT_CAN_START(START, LEAST, SLOTS / PEERS) -> START : LEAST)
#endif
#ifdef NO_COMMON_START
#define BEGIN_IN_HAND (SLOTS / PEERS)
#else
#define BEGIN_IN_HAND BEGIN
#endif

mtype = { REQUEST, REPLY, GRANT, RECALL, GIVE };

typedef pair {
    /* state of the sender */
    byte hand;
    byte asked;     /* credits of the recall to be answered */
    /* state of the receiver */
    byte quota, exposed, recovered, mailbox;
    bool urgent;
    bool recall_wanted, recall_open;
    byte recall_count;
    byte grants;          /* grants that may not be consumed yet */
    byte shows[CONTROL + 1]; /* for each grant: credits to show before it counts as consumed */
    byte stash;
    /* state of the network, hidden from the protocol */
    byte grants_way, recalls_way, gives_way;
};

pair p[RANKS * RANKS];
byte quota_free[RANKS], pool[RANKS], occupied[RANKS];
byte handling[RANKS]; /* rank whose request is handled; NOBODY: outside of handlers */
byte target[RANKS];   /* receiver of the next request */
bool done[RANKS];     /* sends no more requests */
byte lowers[RANKS];   /* how often peers outside of the model may still take quota */
chan way[RANKS * RANKS] = [QUOTA_MAX + CONTROL + 2] of { mtype, byte };

#define HELD(x) (p[x].exposed + p[x].recovered)
#define BASE(x) (HELD(x) < p[x].quota -> HELD(x) : p[x].quota)

#ifdef NO_THRESHOLD_OF_HELD
#define LIMIT(x) PEN_CREDIT_THRESHOLD(QUOTA_MAX, CONTROL)
#else
#define LIMIT(x) PEN_CREDIT_THRESHOLD(BASE(x), CONTROL)
#endif
#ifdef NO_URGENT_RETURN
#define DUE(x) PEN_CREDIT_IS_DUE(p[x].recovered, LIMIT(x), false)
#else
#define DUE(x) PEN_CREDIT_IS_DUE(p[x].recovered, LIMIT(x), p[x].urgent)
#endif
#ifdef NO_GRANT_LIMIT
#define MAY_GRANT(x) (p[x].grants <= CONTROL)
#else
#define MAY_GRANT(x) (p[x].grants < CONTROL)
#endif
#ifdef NO_HELP_FOR_DEBTORS
#define KEPT(x) PEN_CREDIT_IS_KEPT(p[x].exposed, p[x].recovered, p[x].quota, false)
#else
#define KEPT(x) PEN_CREDIT_IS_KEPT(p[x].exposed, p[x].recovered, p[x].quota, p[x].urgent)
#endif
#ifdef NO_SINGLE_RECALL
#define MAY_RECALL(x) (!p[x].recall_wanted)
#else
#define MAY_RECALL(x) (!p[x].recall_open)
#endif
#define OWED(x) PEN_CREDIT_SPARE(p[x].exposed - p[x].mailbox, p[x].quota)

/* ---- the receiver ---- */

inline was_shown(x, count)
{
    i = 0;
    do
    :: i < p[x].grants ->
       if
       :: p[x].shows[i] > count -> p[x].shows[i] = p[x].shows[i] - count
       :: else -> p[x].shows[i] = 0
       fi;
       i++
    :: else -> break
    od;
    do
    :: p[x].grants > 0 && p[x].shows[0] == 0 ->
       i = 1;
       do
       :: i < p[x].grants -> p[x].shows[i - 1] = p[x].shows[i]; i++
       :: else -> break
       od;
       p[x].grants--;
       p[x].shows[p[x].grants] = 0
    :: else -> break
    od;
    i = 0
}

inline refill(x, me)
{
    do
    :: HELD(x) < p[x].quota && pool[me] > 0 -> p[x].recovered++; pool[me]--
    :: else -> break
    od
}

/* Gives slots of the pool to the first peer that lacks some; any choice is as good. */
inline feed(me)
{
    k = 0;
    do
    :: k < RANKS ->
       if
       :: k != me && p[PAIR(k, me)].quota > 0 -> refill(PAIR(k, me), me)
       :: else
       fi;
       k++
    :: else -> break
    od;
    k = 0
}

inline settle(x, me)
{
    do
    :: HELD(x) > p[x].quota && p[x].recovered > (p[x].urgent -> 1 : 0) ->
       p[x].recovered--; pool[me]++
    :: else -> break
    od;
#ifndef NO_RECALL
    if
    :: OWED(x) > 0 && MAY_RECALL(x) -> p[x].recall_open = true; p[x].recall_wanted = true
    :: else
    fi
#endif
}

/* Moves quota to a peer that may be active: free quota, or a peer's. */
inline move_quota(x, me)
{
#if POLICY == ACTIVITY && (RANKS == 3 || GROWS)
    if
    :: skip
    :: quota_free[me] > 0 -> quota_free[me]--; p[x].quota++
#if RANKS == 3
    :: quota_free[me] == 0 ->
       j = 0;
       do
       :: j < RANKS ->
          if
          :: j != me && PAIR(j, me) != x && p[PAIR(j, me)].quota > LEAST ->
             p[PAIR(j, me)].quota--; p[x].quota++;
             settle(PAIR(j, me), me);
#ifdef NO_SECOND_LEDGER
             p[x].recovered++; /* the winner gets the slot at once, as the victim is told */
#endif
             break
          :: else
          fi;
          j++
       :: else -> break
       od;
       j = 0
#endif
    fi
#else
    skip
#endif
}

inline free_slot(x, me)
{
    p[x].mailbox--;
    occupied[me]--;
    p[x].exposed--;
    if
    :: KEPT(x) -> p[x].recovered++
    :: else -> pool[me]++
    fi;
    move_quota(x, me);
    feed(me)
}

/* Receives a data packet, whose tag may say that the sender lacks a credit. The sender also plays
 * the peers that could want the credits it was lent. */
inline arrive(x, me)
{
    assert(p[x].exposed > p[x].mailbox);
    p[x].mailbox++;
    occupied[me]++;
    assert(occupied[me] <= SLOTS);
    was_shown(x, 1);
#if POLICY == LOAN && (RANKS == 3 || GROWS)
    if
    :: skip
    :: quota_free[me] > 0 ->
       quota_free[me]--; p[x].quota++; p[x].urgent = true; refill(x, me)
#if RANKS == 3
    :: quota_free[me] == 0 ->
       j = 0;
       do
       :: j < RANKS ->
          if
          :: j != me && p[PAIR(j, me)].quota > LEAST && MAY_RECALL(PAIR(j, me)) ->
             p[PAIR(j, me)].recall_open = true; p[PAIR(j, me)].recall_wanted = true
          :: else
          fi;
          j++
       :: else -> break
       od;
       j = 0
#endif
    fi
#endif
}

inline hear_give(x, me, count)
{
    assert(p[x].recall_open && !p[x].recall_wanted && count <= p[x].recall_count);
    assert(count <= p[x].exposed - p[x].mailbox);
    p[x].recall_open = false;
    p[x].recall_count = 0;
    p[x].exposed = p[x].exposed - count;
    pool[me] = pool[me] + count;
    was_shown(x, count);
#if POLICY == LOAN
    p[x].quota = p[x].quota - count;
    quota_free[me] = quota_free[me] + count;
#endif
#if POLICY == ACTIVITY && !defined(NO_SECOND_RECALL)
    settle(x, me);
#endif
    refill(x, me);
    feed(me)
}

inline check(me)
{
    k = 0;
    do
    :: k < RANKS ->
       if
       :: k != me && p[PAIR(k, me)].quota > 0 ->
          quotas = quotas + p[PAIR(k, me)].quota;
          slots = slots + HELD(PAIR(k, me));
          assert(HELD(PAIR(k, me)) >= LEAST);
          assert(p[PAIR(k, me)].grants_way <= CONTROL);
          assert(p[PAIR(k, me)].recalls_way <= 1 && p[PAIR(k, me)].gives_way <= 1)
       :: else
       fi;
       k++
    :: else -> break
    od;
    assert(quotas + quota_free[me] == SLOTS);
    assert(slots + pool[me] == SLOTS);
    k = 0; quotas = 0; slots = 0
}

/* ---- what a rank does ---- */

/* A handler that replies keeps its request's slot. */
inline handle(x, me, from)
{
#if ANSWERS
    if
    :: free_slot(x, me)
    :: handling[me] = from
    fi
#else
    free_slot(x, me)
#endif
}

#ifdef NO_STASH
#define IS_STASHED(me) false
#else
#define IS_STASHED(me) (handling[me] != NOBODY)
#endif

inline drain(me, from)
{
    way[PAIR(from, me)] ? what, count;
    if
    :: what == REQUEST || what == REPLY ->
       arrive(PAIR(from, me), me);
       if
       :: count == 1 && p[PAIR(from, me)].exposed == p[PAIR(from, me)].mailbox ->
          p[PAIR(from, me)].urgent = true
       :: else
       fi;
       if
       :: what == REPLY -> free_slot(PAIR(from, me), me)
       :: what == REQUEST && IS_STASHED(me) -> p[PAIR(from, me)].stash++
       :: else ->
          assert(handling[me] == NOBODY);
          handle(PAIR(from, me), me, from)
       fi
    :: what == GRANT ->
       p[PAIR(me, from)].hand = p[PAIR(me, from)].hand + count;
       p[PAIR(me, from)].grants_way--
    :: what == RECALL ->
       assert(p[PAIR(me, from)].asked == 0);
       p[PAIR(me, from)].asked = count;
       p[PAIR(me, from)].recalls_way--
    :: what == GIVE ->
       p[PAIR(from, me)].gives_way--;
       hear_give(PAIR(from, me), me, count)
    fi;
    check(me);
    what = 0; count = 0
}

inline send_data(me, to, kind)
{
    p[PAIR(me, to)].hand--;
    assert(nfull(way[PAIR(me, to)]));
#ifdef NO_URGENT_BIT
    way[PAIR(me, to)] ! kind, 0
#else
    way[PAIR(me, to)] ! kind, (PEN_CREDIT_IS_URGENT(p[PAIR(me, to)].hand) -> 1 : 0)
#endif
}

/* Sends a packet of the reply, which may be the last one. */
inline send_reply(me)
{
    send_data(me, handling[me], REPLY);
    if
    :: skip
    :: j = handling[me]; handling[me] = NOBODY; free_slot(PAIR(j, me), me); j = 0; check(me)
    fi
}

inline unstash(me, from)
{
    p[PAIR(from, me)].stash--;
    handle(PAIR(from, me), me, from);
    check(me)
}

inline send_request(me)
{
    send_data(me, target[me], REQUEST);
    if
    :: skip
#if !ENDLESS
    :: done[me] = true
#endif
#if RANKS == 3 && ANSWERS
    :: target[me] = 3 - me - target[me]
#endif
    fi
}

inline send_grant(me, to)
{
    p[PAIR(to, me)].shows[p[PAIR(to, me)].grants] =
        p[PAIR(to, me)].exposed - p[PAIR(to, me)].mailbox + 1;
    p[PAIR(to, me)].grants++;
    p[PAIR(to, me)].grants_way++;
    assert(nfull(way[PAIR(me, to)]));
    way[PAIR(me, to)] ! GRANT, p[PAIR(to, me)].recovered;
    p[PAIR(to, me)].exposed = p[PAIR(to, me)].exposed + p[PAIR(to, me)].recovered;
    p[PAIR(to, me)].recovered = 0;
    p[PAIR(to, me)].urgent = false;
    check(me)
}

inline send_recall(me, to)
{
    p[PAIR(to, me)].recall_wanted = false;
#if POLICY == LOAN
    count = p[PAIR(to, me)].quota - LEAST;
#else
    count = OWED(PAIR(to, me));
#endif
    if
    :: count == 0 -> p[PAIR(to, me)].recall_open = false
    :: else ->
       p[PAIR(to, me)].recall_count = count;
       p[PAIR(to, me)].recalls_way++;
       assert(nfull(way[PAIR(me, to)]));
       way[PAIR(me, to)] ! RECALL, count
    fi;
    count = 0;
    check(me)
}

#ifdef NO_RESERVE_AT_RECALL
#define GIVE_MAX(x) p[x].hand
#else
#define GIVE_MAX(x) PEN_CREDIT_SPARE(p[x].hand, RESERVE)
#endif

/* A borrower may give less than it could; a sender that owes gives all that it can. */
inline send_give(me, to)
{
    count = (p[PAIR(me, to)].asked < GIVE_MAX(PAIR(me, to)) ->
             p[PAIR(me, to)].asked : GIVE_MAX(PAIR(me, to)));
#if POLICY == LOAN
    do
    :: count > 0 -> count--
    :: break
    od;
#endif
    p[PAIR(me, to)].asked = 0;
    p[PAIR(me, to)].hand = p[PAIR(me, to)].hand - count;
    p[PAIR(me, to)].gives_way++;
    assert(nfull(way[PAIR(me, to)]));
    way[PAIR(me, to)] ! GIVE, count;
    count = 0
}

/* Plays peers outside of the model that want this peer's quota. */
inline take_quota(me, from)
{
    lowers[me]--;
#if POLICY == LOAN
    p[PAIR(from, me)].recall_open = true;
    p[PAIR(from, me)].recall_wanted = true;
#else
    p[PAIR(from, me)].quota--;
    quota_free[me]++;
    settle(PAIR(from, me), me);
#endif
    check(me)
}

/* Sends the control packets that are due. */
inline emit(me)
{
#if EAGER
    o = 0;
    do
    :: o < RANKS ->
       if
       :: o != me && p[PAIR(o, me)].quota > 0 && DUE(PAIR(o, me)) && MAY_GRANT(PAIR(o, me)) ->
          send_grant(me, o)
       :: else
       fi;
       if
       :: o != me && p[PAIR(o, me)].recall_wanted -> send_recall(me, o)
       :: else
       fi;
       if
       :: o != me && p[PAIR(me, o)].asked > 0 -> send_give(me, o)
       :: else
       fi;
       o++
    :: else -> break
    od;
    o = 0
#else
    skip
#endif
}

#define IS_OUTSIDE(me) (handling[me] == NOBODY)
#define HAND_TO(me, to) p[PAIR(me, to)].hand

/* The steps that rank me can take with a peer. */
#define WITH(other)                                                                              \
    :: atomic { len(way[PAIR(other, me)]) > 0 -> drain(me, other); emit(me) }                    \
    :: atomic { IS_OUTSIDE(me) && p[PAIR(other, me)].stash > 0 -> unstash(me, other); emit(me) } \
    WITH_LATE(other)                                                                             \
    WITH_FEWER(other)

#if POLICY != STATIC && RANKS == 2
#define WITH_FEWER(other)                                                                        \
    :: atomic { lowers[me] > 0 && p[PAIR(other, me)].quota > LEAST && MAY_RECALL(PAIR(other, me)) -> take_quota(me, other); emit(me) }
#else
#define WITH_FEWER(other)
#endif

#if EAGER
#define WITH_LATE(other)
#else
#define WITH_LATE(other)                                                                         \
    :: atomic { DUE(PAIR(other, me)) && MAY_GRANT(PAIR(other, me)) -> send_grant(me, other) }    \
    :: atomic { p[PAIR(other, me)].recall_wanted -> send_recall(me, other) }                     \
    :: atomic { p[PAIR(me, other)].asked > 0 -> send_give(me, other) }
#endif

proctype rank(byte me)
{
    byte i, j, k, o, count, quotas, slots;
    mtype what;
end_quiet:
    do
    WITH((me + 1) % RANKS)
#if RANKS == 3
    WITH((me + 2) % RANKS)
#endif
#if ANSWERS
    :: atomic { !IS_OUTSIDE(me) && PEN_CREDIT_MAY_TAKE(HAND_TO(me, handling[me]), 0) ->
                send_reply(me); emit(me) }
#endif
    /* Stashed packets come first, as in the users of the library. */
    :: atomic { IS_OUTSIDE(me) && !done[me] &&
                PEN_CREDIT_MAY_TAKE(HAND_TO(me, target[me]), RESERVE) -> send_request(me) }
    od
}

/* No step is possible. */
active proctype watch()
{
    byte from, to;
    timeout ->
    d_step {
        from = 0;
        do
        :: from < RANKS ->
           assert(done[from] && handling[from] == NOBODY);
           to = 0;
           do
           :: to < RANKS ->
              if
              :: to != from && p[PAIR(from, to)].quota > 0 ->
                 assert(p[PAIR(from, to)].exposed == p[PAIR(from, to)].hand);
                 assert(HELD(PAIR(from, to)) == p[PAIR(from, to)].quota)
              :: else
              fi;
              to++
           :: else -> break
           od;
           from++
        :: else -> break
        od
    }
}

init
{
    byte from, to;
    atomic {
        do
        :: from < RANKS ->
           quota_free[from] = (ANSWERS || from == 0 -> SLOTS - PEERS * BEGIN : SLOTS);
           pool[from] = quota_free[from];
           handling[from] = NOBODY;
           lowers[from] = LOWERS;
           target[from] = (ANSWERS -> (from + 1) % RANKS : 0);
           done[from] = (!ANSWERS && from == 0);
           to = 0;
           do
           :: to < RANKS ->
              if
              :: to != from && (ANSWERS || to == 0) ->
                 p[PAIR(from, to)].hand = BEGIN_IN_HAND;
                 p[PAIR(from, to)].quota = BEGIN;
                 p[PAIR(from, to)].exposed = BEGIN
              :: else
              fi;
              to++
           :: else -> break
           od;
           from++
        :: else -> break
        od;
        from = 0; to = 0;
        run rank(0);
        run rank(1);
#if RANKS == 3
        run rank(2);
#endif
    }
}
