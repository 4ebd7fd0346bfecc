/* SPDX-License-Identifier: BSD-3-Clause */
/* diagnosis.c: the rules by which waits are explained. Each rule looks at all ranks and says what
 * it finds. A rank counts as quiet if it waits in no call and has not shown a poll for QUIET_NS:
 * its peers' messages, and puts and gets over a network, then find no one. */
#include "launch/diagnosis.h"

#include "boot/wait_state.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#define QUIET_NS  UINT64_C(1000000000)
#define WAITED_NS UINT64_C(1000000000) /* shorter waits need no explanation */
enum { SENTENCE_LEN = 512, LIST_LEN = 160, NAMED_MAX = 16, CIRCLE_MAX = 8 };
#define NOBODY PEN_WAIT_NOBODY

typedef struct patient {
    const pen_seen *ranks;
    uint32_t count;
    void (*say)(void *ctx, const char *sentence);
    void *ctx;
    uint32_t said;
    uint32_t *awaited; /* by rank: the rank that it waits for first, or NOBODY */
} patient;

static __attribute__((format(printf, 2, 3))) void tell(patient *p, const char *format, ...)
{
    char sentence[SENTENCE_LEN];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(sentence, sizeof(sentence), format, arguments);
    va_end(arguments);
    p->say(p->ctx, sentence);
    p->said++;
}

static double seconds(uint64_t ns) { return (double)ns / 1e9; }

/* ---- lists of ranks -------------------------------------------------------------------------- */

typedef struct rank_list {
    uint32_t named[NAMED_MAX], count;
} rank_list;

static void list_add(rank_list *list, uint32_t rank)
{
    if (list->count < NAMED_MAX)
        list->named[list->count] = rank;
    list->count++;
}

typedef struct rank_words {
    char text[LIST_LEN];
} rank_words;

/* "rank 3", "ranks 1, 2" or "ranks 0, 1, ... and more" */
static rank_words words_of(const rank_list *list)
{
    rank_words out;
    size_t len = (size_t)snprintf(out.text, sizeof(out.text), list->count == 1 ? "rank" : "ranks");
    for (uint32_t i = 0; i < list->count && i < NAMED_MAX; i++)
        len += (size_t)snprintf(out.text + len, sizeof(out.text) - len, "%s %u", i == 0 ? "" : ",",
                                list->named[i]);
    if (list->count > NAMED_MAX)
        (void)snprintf(out.text + len, sizeof(out.text) - len, " and more");
    return out;
}

/* ---- facts about ranks ----------------------------------------------------------------------- */

static bool is_here(const pen_seen *rank) { return rank->known && rank->alive && !rank->left; }

static bool is_stopped(const pen_seen *rank)
{
    return is_here(rank) && (rank->process == 'T' || rank->process == 't');
}

static bool waits_long(const pen_seen *rank)
{
    return is_here(rank) && rank->waits && rank->waited_ns >= WAITED_NS;
}

static bool is_quiet(const pen_seen *rank)
{
    return is_here(rank) && rank->joined && !rank->waits && !is_stopped(rank) &&
           rank->quiet_ns >= QUIET_NS;
}

/* Whether messages to the rank are handled. A rank that waits for a lock polls as little as a rank
 * that computes. */
static bool takes_messages(const pen_seen *rank)
{
    return is_here(rank) && rank->joined && !is_stopped(rank) && !is_quiet(rank) &&
           !(rank->waits && rank->wait.call == PEN_CALL_LOCK);
}

/* Finds the kind of barrier or collective of all ranks in which the rank waits. Returns false if
 * the rank waits for something else. */
static bool meets_in(const pen_seen *rank, uint32_t *kind)
{
    if (!rank->waits)
        return false;
    switch (rank->wait.awaited) {
    case PEN_AWAITED_NAMED:
        *kind = PEN_ENTERED_NAMED;
        return true;
    case PEN_AWAITED_BARRIER:
        *kind = PEN_ENTERED_BARRIER;
        return true;
    case PEN_AWAITED_COLLECTIVE:
        *kind = PEN_ENTERED_COLLECTIVE;
        return rank->wait.team == 0;
    default:
        return false;
    }
}

/* Has the rank entered the barrier or collective in which `other` waits? If the state of the rank
 * is not known, the answer is yes, so that no rank is blamed without evidence. */
static bool has_entered(const pen_seen *rank, const pen_seen *other, uint32_t kind)
{
    return !rank->known || (rank->alive && rank->joined &&
                            (int32_t)(rank->entered[kind] - (other->wait.number + 1)) >= 0);
}

static void meeting_text(const pen_seen *rank, char *out, size_t out_len)
{
    switch (rank->wait.awaited) {
    case PEN_AWAITED_NAMED:
        (void)snprintf(out, out_len, "gasnet_barrier %u", rank->wait.number);
        break;
    case PEN_AWAITED_BARRIER:
        (void)snprintf(out, out_len, "gex_Coll_BarrierNB (collective %u)", rank->wait.number);
        break;
    default:
        (void)snprintf(out, out_len, "collective %u of team %llu", rank->wait.number,
                       (unsigned long long)rank->wait.team);
        break;
    }
}

/* The rank that `rank` waits for first, or NOBODY. */
static uint32_t awaits(const patient *p, uint32_t rank)
{
    const pen_seen *at = &p->ranks[rank];
    uint32_t kind, first = NOBODY;
    if (!waits_long(at))
        return NOBODY;
    if (!meets_in(at, &kind)) /* a rank that takes messages will serve a put or a message */
        return at->wait.peer < p->count && (at->wait.awaited == PEN_AWAITED_COLLECTIVE ||
                                            at->wait.awaited == PEN_AWAITED_RANKS ||
                                            !takes_messages(&p->ranks[at->wait.peer]))
                   ? at->wait.peer
                   : NOBODY;
    for (uint32_t i = 0; i < p->count; i++) {
        if (i == rank || has_entered(&p->ranks[i], at, kind))
            continue;
        if (waits_long(&p->ranks[i])) /* prefers a rank that waits, too: it may close a circle */
            return i;
        first = first == NOBODY ? i : first;
    }
    return first;
}

static rank_list waiting_for(const patient *p, uint32_t rank)
{
    rank_list out = { .count = 0 };
    for (uint32_t i = 0; i < p->count; i++) {
        uint32_t kind;
        const pen_seen *at = &p->ranks[i];
        bool for_it =
            waits_long(at) &&
            (meets_in(at, &kind) ? !has_entered(&p->ranks[rank], at, kind) : at->wait.peer == rank);
        if (i != rank && for_it)
            list_add(&out, i);
    }
    return out;
}

/* "; rank 0 waits for it", or "" */
static rank_words waiters_text(const patient *p, uint32_t rank)
{
    rank_words out = { "" };
    rank_list list = waiting_for(p, rank);
    if (list.count != 0)
        (void)snprintf(out.text, sizeof(out.text), "; %.120s %s for it", words_of(&list).text,
                       list.count == 1 ? "waits" : "wait");
    return out;
}

/* ---- ranks that take no messages ------------------------------------------------------------- */

static void look_at_process(patient *p, uint32_t i)
{
    const pen_seen *rank = &p->ranks[i];
    rank_words waiters = waiters_text(p, i);
    if (rank->known && !rank->alive)
        tell(p, "rank %u has ended%s", i, waiters.text);
    else if (is_stopped(rank))
        tell(p, "rank %u is stopped by a signal or a debugger; `kill -CONT %d` lets it go on%s", i,
             rank->pid, waiters.text);
    else if (is_here(rank) && !rank->joined)
        tell(p,
             "rank %u has not joined the job: it has not called gex_Client_Init or gasnet_init%s",
             i, waiters.text);
    else if (is_here(rank) && rank->swapped > rank->resident)
        tell(p, "rank %u is swapped out for the most part, so it is slow%s", i, waiters.text);
}

/* A quiet rank is at fault only if someone needs it. */
static void look_at_quiet(patient *p, uint32_t i, bool any_waits)
{
    const pen_seen *rank = &p->ranks[i];
    if (!is_quiet(rank) || !any_waits)
        return;
    const char *does = rank->inside           ? "is inside a handler of a message"
                       : rank->process == 'R' ? "computes"
                       : rank->process == 'D' ? "is in an uninterruptible system call"
                                              : "sleeps in a call outside of the library";
    char since[48] = "since it joined";
    if (rank->quiet_ns != PEN_SEEN_NEVER)
        (void)snprintf(since, sizeof(since), "for %.1f s", seconds(rank->quiet_ns));
    tell(p, "rank %u %s and has not polled %s, so it takes no messages%s", i, does, since,
         waiters_text(p, i).text);
}

static void look_at_room(patient *p, uint32_t i)
{
    const pen_seen *rank = &p->ranks[i];
    uint32_t peer = rank->wait.peer;
    if (!waits_long(rank) || rank->wait.awaited != PEN_AWAITED_ROOM || peer >= p->count)
        return;
    if (!takes_messages(&p->ranks[peer]))
        tell(p,
             "rank %u has no room for a message to rank %u: rank %u's inbox is full, and it takes "
             "nothing out of it",
             i, peer, peer);
}

static void look_at_lock(patient *p, uint32_t i)
{
    const pen_seen *rank = &p->ranks[i];
    if (waits_long(rank) && rank->wait.call == PEN_CALL_LOCK)
        tell(p,
             "rank %u has waited in gex_HSL_Lock for %.1f s: a thread that holds the lock waits or "
             "computes; a lock may not be held while a thread waits for messages%s",
             i, seconds(rank->waited_ns), waiters_text(p, i).text);
}

/* ---- barriers and collectives ---------------------------------------------------------------- */

/* Is this rank the lowest of those that wait in the same barrier or collective? Then it reports. */
static bool is_first_there(const patient *p, uint32_t rank)
{
    const pen_wait_note *note = &p->ranks[rank].wait;
    for (uint32_t i = 0; i < rank; i++) {
        const pen_seen *at = &p->ranks[i];
        if (waits_long(at) && at->wait.awaited == note->awaited &&
            at->wait.number == note->number && at->wait.team == note->team)
            return false;
    }
    return true;
}

static void look_at_meeting(patient *p, uint32_t i)
{
    const pen_seen *rank = &p->ranks[i];
    uint32_t kind;
    char what[64];
    rank_list missing = { .count = 0 };
    if (!waits_long(rank) || !meets_in(rank, &kind) || !is_first_there(p, i))
        return;
    meeting_text(rank, what, sizeof(what));
    for (uint32_t other = 0; other < p->count; other++)
        if (!has_entered(&p->ranks[other], rank, kind))
            list_add(&missing, other);
    if (missing.count != 0 && kind == PEN_ENTERED_COLLECTIVE)
        tell(p, "%s, in which rank %u waits, was not entered by %s", what, i,
             words_of(&missing).text);
    else if (missing.count != 0)
        tell(p, "the %s that ranks wait in was not entered by %s",
             kind == PEN_ENTERED_NAMED ? "gasnet_barrier" : "gex_Coll_BarrierNB",
             words_of(&missing).text);
}

/* Reports two ranks that wait in different barriers or collectives, of which each has been entered
 * by one of them only. */
static bool look_at_pair(patient *p, uint32_t a, uint32_t b)
{
    const pen_seen *x = &p->ranks[a], *y = &p->ranks[b];
    uint32_t x_kind, y_kind;
    char x_text[64], y_text[64];
    if (!waits_long(x) || !waits_long(y) || !meets_in(x, &x_kind) || !meets_in(y, &y_kind) ||
        has_entered(x, y, y_kind) || has_entered(y, x, x_kind))
        return false;
    meeting_text(x, x_text, sizeof(x_text));
    meeting_text(y, y_text, sizeof(y_text));
    tell(p,
         "rank %u waits in %s, and rank %u waits in %s: all ranks have to enter the same barriers "
         "and collectives in the same order",
         a, x_text, b, y_text);
    return true;
}

static void look_for_mismatch(patient *p)
{
    for (uint32_t i = 0; i + 1 < p->count; i++)
        if (look_at_pair(p, i, i + 1)) /* if any ranks differ, two neighbours do */
            return;
}

/* ---- circles --------------------------------------------------------------------------------- */

/* Begins with the smallest rank of the circle that `on` is on. */
static void tell_circle(patient *p, uint32_t on)
{
    char text[SENTENCE_LEN] = "";
    size_t len = 0;
    uint32_t start = on, told = 0;
    for (uint32_t rank = p->awaited[on]; rank != on; rank = p->awaited[rank])
        start = rank < start ? rank : start;
    uint32_t rank = start;
    do {
        uint32_t next = p->awaited[rank];
        len += (size_t)snprintf(text + len, sizeof(text) - len, "%srank %u waits for rank %u in %s",
                                told == 0 ? "" : ", ", rank, next,
                                pen_call_text(p->ranks[rank].wait.call));
        rank = next;
    } while (rank != start && ++told < CIRCLE_MAX && len < sizeof(text));
    tell(p, "a circle: %s", text);
}

/* Follows from each rank who waits for whom, and says the first circle. Ranks on a path that was
 * followed before are forgotten, since they lead into no circle or into a known one. */
static void look_for_circle(patient *p)
{
    for (uint32_t start = 0; start < p->count; start++) {
        uint32_t rank = start, steps = 0;
        while (rank != NOBODY && p->awaited[rank] != NOBODY && steps <= p->count) {
            rank = p->awaited[rank];
            steps++;
        }
        if (steps > p->count) { /* it went round; rank is on the circle */
            tell_circle(p, rank);
            return;
        }
        for (rank = start; rank != NOBODY;) {
            uint32_t next = p->awaited[rank];
            p->awaited[rank] = NOBODY;
            rank = next;
        }
    }
}

/* ---- messages -------------------------------------------------------------------------------- */

static bool waits_for_own_condition(const pen_seen *rank)
{
    return waits_long(rank) &&
           (rank->wait.call == PEN_CALL_BLOCKUNTIL || rank->wait.call == PEN_CALL_POLL);
}

/* If all ranks wait and no message is on its way, waits for conditions of the program cannot end.
 */
static void look_for_lost_reply(patient *p)
{
    rank_list waiting = { .count = 0 };
    uint64_t sent = 0, handled = 0;
    for (uint32_t i = 0; i < p->count; i++) {
        const pen_seen *rank = &p->ranks[i];
        if (is_here(rank) && !waits_long(rank))
            return; /* it may still send */
        if (waits_for_own_condition(rank))
            list_add(&waiting, i);
        sent += rank->sent;
        handled += rank->handled;
    }
    if (waiting.count != 0 && sent == handled)
        tell(
            p,
            "%s %s for a condition of the program, all ranks wait, and all messages that were sent "
            "(%llu) have been handled: a message or a reply was not sent",
            words_of(&waiting).text, waiting.count == 1 ? "waits" : "wait",
            (unsigned long long)sent);
}

/* Messages that were sent, and that ranks which take no messages have not handled. */
static void look_for_queued(patient *p)
{
    rank_list busy = { .count = 0 };
    uint64_t sent = 0, handled = 0;
    for (uint32_t i = 0; i < p->count; i++) {
        const pen_seen *rank = &p->ranks[i];
        if (is_here(rank) && !takes_messages(rank))
            list_add(&busy, i);
        sent += rank->sent;
        handled += rank->handled;
    }
    if (busy.count != 0 && sent > handled)
        tell(p, "messages that were sent (about %llu) wait to be handled by %s",
             (unsigned long long)(sent - handled), words_of(&busy).text);
}

/* Suspects the network: a rank waits for a peer that polls, and it has sent frames again. */
static void look_for_network(patient *p, uint32_t i)
{
    const pen_seen *rank = &p->ranks[i];
    uint32_t kind, peer = rank->wait.peer;
    if (!waits_long(rank) || rank->resent == 0)
        return;
    bool met = meets_in(rank, &kind);
    for (uint32_t other = 0; met && other < p->count; other++)
        if (!has_entered(&p->ranks[other], rank, kind))
            return;
    if (!met && (peer >= p->count || !takes_messages(&p->ranks[peer])))
        return;
    tell(p,
         "rank %u waits in %s for ranks that poll, and has sent %llu frames again: the network to "
         "their host loses them",
         i, pen_call_text(rank->wait.call), (unsigned long long)rank->resent);
}

uint32_t pen_diagnose(const pen_seen *ranks, uint32_t count,
                      void (*say)(void *ctx, const char *sentence), void *ctx)
{
    patient p = { .ranks = ranks, .count = count, .say = say, .ctx = ctx };
    bool any_waits = false;
    p.awaited = calloc(count != 0 ? count : 1, sizeof(*p.awaited));
    for (uint32_t i = 0; i < count; i++)
        any_waits = any_waits || waits_long(&ranks[i]);
    for (uint32_t i = 0; i < count; i++) {
        look_at_process(&p, i);
        look_at_quiet(&p, i, any_waits);
        look_at_room(&p, i);
        look_at_lock(&p, i);
        look_at_meeting(&p, i);
        look_for_network(&p, i);
    }
    look_for_mismatch(&p);
    for (uint32_t i = 0; p.awaited != NULL && i < count; i++)
        p.awaited[i] = awaits(&p, i);
    if (p.awaited != NULL)
        look_for_circle(&p);
    free(p.awaited);
    look_for_lost_reply(&p);
    look_for_queued(&p);
    return p.said;
}
