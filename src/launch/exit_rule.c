/* SPDX-License-Identifier: BSD-3-Clause */
/* exit_rule.c: implements the state machine of exit_rule.h. */
#include "launch/exit_rule.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#define SECOND_NS UINT64_C(1000000000)

enum {
    STATUS_TIME_LIMIT = 124, /* the same status as timeout(1) */
    STATUS_NOT_EXECUTABLE = 126,
    STATUS_NOT_FOUND = 127,
    CRASH_GRACE_MS = 400,       /* time that ranks get to end after a crash */
    LEAVE_NOTICE_MS = 2000,     /* after the first rank has left */
    SECOND_SIGNAL_MS_MIN = 200, /* timeout(1) and shells may send one signal twice in a row */
};

void pen_exit_rule_init(pen_exit_rule *rule, pen_exit_rank *ranks, uint32_t size,
                        uint64_t exit_timeout_ns, uint64_t leave_limit_ns)
{
    memset(ranks, 0, size * sizeof(*ranks));
    *rule = (pen_exit_rule){ .ranks = ranks,
                             .size = size,
                             .exit_timeout_ns = exit_timeout_ns,
                             .leave_limit_ns = leave_limit_ns };
}

/* ---- the verdict ----------------------------------------------------------------------------- */

/* Only the low byte of a code reaches the parent. A failure stays a failure. */
static int at_least_1(int status) { return status == 0 ? 1 : status; }

static int raise_of(const pen_exit_event *cause)
{
    if (cause->kind == PEN_EXIT_SIGNALLED)
        return cause->code;
    return cause->kind == PEN_EXIT_OUTPUT && cause->code == EPIPE ? SIGPIPE : 0;
}

static int status_of(const pen_exit_event *cause)
{
    switch (cause->kind) {
    case PEN_EXIT_DIED:
    case PEN_EXIT_SIGNALLED:
        return 128 + cause->code;
    case PEN_EXIT_ENDED:
        return at_least_1(cause->code);
    case PEN_EXIT_CALLED:
    case PEN_EXIT_LEFT:
        return cause->code == 0 ? 0 : at_least_1(cause->code & 0xff);
    case PEN_EXIT_NOT_STARTED:
        return cause->code == ENOENT ? STATUS_NOT_FOUND : STATUS_NOT_EXECUTABLE;
    case PEN_EXIT_TIME_LIMIT:
        return STATUS_TIME_LIMIT;
    default: /* a rank waits for one that has left, output fails, ranks cannot start */
        return raise_of(cause) != 0 ? 128 + raise_of(cause) : 1;
    }
}

/* True if no rank has crashed. Then handlers get the exit time-out to finish and to write
 * output. */
static bool is_orderly(pen_exit_kind kind)
{
    return kind == PEN_EXIT_CALLED || kind == PEN_EXIT_LEFT || kind == PEN_EXIT_SIGNALLED ||
           kind == PEN_EXIT_BLOCKED || kind == PEN_EXIT_LEAVE_LIMIT || kind == PEN_EXIT_TIME_LIMIT;
}

static unsigned decide(pen_exit_rule *rule, const pen_exit_event *cause, uint64_t now_ns)
{
    if (rule->verdict.decided)
        return 0;
    rule->verdict = (pen_exit_verdict){
        .decided = true, .cause = *cause, .status = status_of(cause), .raise = raise_of(cause)
    };
    rule->phase = PEN_EXIT_ENDING;
    rule->notice_ns = 0;
    uint64_t grace_ns =
        is_orderly(cause->kind) ? rule->exit_timeout_ns : CRASH_GRACE_MS * (SECOND_NS / 1000);
    rule->deadline_ns = now_ns + grace_ns;
    return PEN_EXIT_DO_EXPLAIN | PEN_EXIT_DO_TELL;
}

/* ---- events ---------------------------------------------------------------------------------- */

/* Counts a rank that joins, and decides if it misses one that has ended. A rank that ended without
 * a message is missed by ranks that have resigned as often or more often. A rank that has resigned
 * less often is in a round in which the ended rank took part; its own resignation is only not read
 * yet. */
static unsigned rank_joined(pen_exit_rule *rule, uint32_t rank, uint64_t now_ns)
{
    if (rule->ranks[rank].joined)
        return 0;
    rule->ranks[rank].joined = true;
    rule->joined++;
    for (uint32_t i = 0; rule->silent != 0 && i < rule->size; i++) {
        const pen_exit_rank *other = &rule->ranks[i];
        /* this rank has ended; the ranks that joined would wait for it */
        if (other->gone && !other->word && !other->joined &&
            other->resigned <= rule->ranks[rank].resigned)
            return decide(rule, &(pen_exit_event){ PEN_EXIT_ENDED, i, 0 }, now_ns);
    }
    return 0;
}

static bool is_missed(const pen_exit_rule *rule, const pen_exit_rank *rank)
{
    for (uint32_t i = 0; rule->joined != 0 && i < rule->size; i++)
        if (rule->ranks[i].joined && rule->ranks[i].resigned >= rank->resigned)
            return true;
    return false;
}

static void rank_resigned(pen_exit_rule *rule, uint32_t rank)
{
    if (!rule->ranks[rank].joined)
        return;
    rule->ranks[rank].joined = false;
    rule->ranks[rank].resigned++;
    rule->joined--;
}

static uint64_t leave_deadline(const pen_exit_rule *rule, uint64_t now_ns)
{
    return rule->leave_limit_ns != 0 ? now_ns + rule->leave_limit_ns : 0;
}

static unsigned rank_left(pen_exit_rule *rule, const pen_exit_event *event, uint64_t now_ns)
{
    pen_exit_rank *rank = &rule->ranks[event->rank];
    bool first_word = !rank->word;
    rank->word = true;
    if (event->code != 0)
        return decide(rule, event, now_ns);
    if (!first_word || rule->verdict.decided)
        return 0;
    rank->left = true;
    rule->left++;
    if (rule->left == rule->size) {
        rule->phase = PEN_EXIT_GOING;
        rule->deadline_ns = rule->notice_ns = 0;
        return PEN_EXIT_DO_GO;
    }
    if (rule->phase == PEN_EXIT_RUNNING) {
        rule->phase = PEN_EXIT_LEAVING;
        rule->deadline_ns = leave_deadline(rule, now_ns);
        rule->notice_ns = now_ns + LEAVE_NOTICE_MS * (SECOND_NS / 1000);
    }
    return 0;
}

/* Decides on a rank that waits for one that has left. The rank repeats this message, so it may be
 * ignored if it is read before the message by which its peer leaves. */
static unsigned rank_blocked(pen_exit_rule *rule, const pen_exit_event *event, uint64_t now_ns)
{
    bool is_rank = event->code >= 0 && (uint32_t)event->code < rule->size;
    if (!is_rank || !rule->ranks[event->code].left || rule->ranks[event->rank].word)
        return 0;
    return decide(rule, event, now_ns);
}

static unsigned rank_failed(pen_exit_rule *rule, const pen_exit_event *event, uint64_t now_ns)
{
    const pen_exit_rank *rank = &rule->ranks[event->rank];
    pen_exit_event cause = *event;
    if (event->kind == PEN_EXIT_ENDED && !rank->joined && rank->resigned != 0)
        cause.kind = PEN_EXIT_LEFT; /* once resigned, a rank cannot announce its exit */
    unsigned todo = decide(rule, &cause, now_ns);
    /* A rank that dies after its gasnet_exit(0) must not count as success. */
    if (todo == 0 && rule->verdict.status == 0) {
        rule->verdict.decided = false;
        todo = decide(rule, &cause, now_ns);
    }
    return todo;
}

static unsigned rank_gone(pen_exit_rule *rule, const pen_exit_event *event, uint64_t now_ns)
{
    pen_exit_rank *rank = &rule->ranks[event->rank];
    if (rank->gone)
        return 0;
    rank->gone = true;
    rule->gone++;
    if (rank->told) /* told to end, so its status does not matter */
        return 0;
    if (event->kind == PEN_EXIT_DIED || event->code != 0)
        return rank_failed(rule, event, now_ns);
    if (rank->word)
        return 0;
    if (rank->joined || is_missed(rule, rank))
        return decide(rule, event, now_ns);
    rule->silent++;
    return 0;
}

/* Decides on a signal. If a second one follows after SECOND_SIGNAL_MS_MIN, kills all ranks at
 * once. */
static unsigned signalled(pen_exit_rule *rule, const pen_exit_event *event, uint64_t now_ns)
{
    unsigned todo = decide(rule, event, now_ns);
    bool again = rule->signalled_ns != 0 &&
                 now_ns - rule->signalled_ns >= SECOND_SIGNAL_MS_MIN * (SECOND_NS / 1000);
    if (rule->signalled_ns == 0)
        rule->signalled_ns = now_ns;
    if (todo == 0 && again) {
        rule->phase = PEN_EXIT_KILLING;
        rule->deadline_ns = 0;
        todo = PEN_EXIT_DO_KILL;
    }
    return todo;
}

static unsigned time_limit(pen_exit_rule *rule, const pen_exit_event *event, uint64_t now_ns)
{
    unsigned todo = decide(rule, event, now_ns);
    if (todo != 0)
        return todo;
    rule->phase = PEN_EXIT_KILLING; /* the job is ending already and has had its time */
    rule->deadline_ns = 0;
    return PEN_EXIT_DO_KILL;
}

static unsigned one_event(pen_exit_rule *rule, const pen_exit_event *event, uint64_t now_ns)
{
    switch (event->kind) {
    case PEN_EXIT_JOINED:
        return rank_joined(rule, event->rank, now_ns);
    case PEN_EXIT_RESIGNED:
        rank_resigned(rule, event->rank);
        return 0;
    case PEN_EXIT_LEFT:
        return rank_left(rule, event, now_ns);
    case PEN_EXIT_DIED:
    case PEN_EXIT_ENDED:
        return rank_gone(rule, event, now_ns);
    case PEN_EXIT_BLOCKED:
        return rank_blocked(rule, event, now_ns);
    case PEN_EXIT_SIGNALLED:
        return signalled(rule, event, now_ns);
    case PEN_EXIT_TIME_LIMIT:
        return time_limit(rule, event, now_ns);
    case PEN_EXIT_CALLED:
    case PEN_EXIT_NOT_STARTED:
        rule->ranks[event->rank].word = true;
        return decide(rule, event, now_ns);
    default:
        return decide(rule, event, now_ns);
    }
}

/* ---- order of events read together ----------------------------------------------------------- */

static bool is_death(const pen_exit_event *event)
{
    return event->kind == PEN_EXIT_DIED || event->kind == PEN_EXIT_ENDED;
}

static bool is_word(const pen_exit_event *event)
{
    return event->kind == PEN_EXIT_CALLED || event->kind == PEN_EXIT_LEFT ||
           event->kind == PEN_EXIT_NOT_STARTED;
}

/* True if this rank announced how it ends, before or in this batch. */
static bool announced(const pen_exit_rule *rule, const pen_exit_event *events, size_t count,
                      uint32_t rank)
{
    if (rule->ranks[rank].word)
        return true;
    for (size_t i = 0; i < count; i++) {
        if (is_word(&events[i]) && events[i].rank == rank)
            return true;
    }
    return false;
}

static int precedence(const pen_exit_rule *rule, const pen_exit_event *events, size_t count,
                      const pen_exit_event *event)
{
    if (event->kind == PEN_EXIT_SIGNALLED)
        return 0;
    if (event->kind == PEN_EXIT_JOINED || event->kind == PEN_EXIT_RESIGNED)
        return 1; /* tells whether the rank owes a handshake */
    if (is_death(event) && !announced(rule, events, count, event->rank))
        return event->kind == PEN_EXIT_DIED ? 2 : 3;
    if (event->kind == PEN_EXIT_BLOCKED)
        return 6; /* follows from the message by which the peer left */
    return is_death(event) ? 5 : 4;
}

unsigned pen_exit_rule_events(pen_exit_rule *rule, pen_exit_event *events, size_t count,
                              uint64_t now_ns)
{
    unsigned todo = 0;
    for (int turn = 0; turn <= 6; turn++) {
        for (size_t i = 0; i < count; i++) {
            if (precedence(rule, events, count, &events[i]) == turn) {
                todo |= one_event(rule, &events[i], now_ns);
            }
        }
    }
    return todo;
}

/* ---- deadlines ------------------------------------------------------------------------------- */

uint64_t pen_exit_rule_next(const pen_exit_rule *rule)
{
    if (rule->deadline_ns == 0 || rule->notice_ns == 0)
        return rule->deadline_ns | rule->notice_ns;
    return rule->deadline_ns < rule->notice_ns ? rule->deadline_ns : rule->notice_ns;
}

void pen_exit_rule_postpone(pen_exit_rule *rule, uint64_t ns)
{
    if (rule->deadline_ns != 0)
        rule->deadline_ns += ns;
    if (rule->notice_ns != 0)
        rule->notice_ns += ns;
}

static unsigned leave_limit(pen_exit_rule *rule, uint64_t now_ns)
{
    pen_exit_event cause = { PEN_EXIT_LEAVE_LIMIT, 0, 0 };
    while (cause.rank + 1 < rule->size && !rule->ranks[cause.rank].left)
        cause.rank++;
    return decide(rule, &cause, now_ns);
}

static unsigned deadline(pen_exit_rule *rule, uint64_t now_ns, bool held)
{
    bool leaving = rule->phase == PEN_EXIT_LEAVING;
    const pen_exit_kind cause = rule->verdict.cause.kind;
    bool ends_orderly = rule->phase == PEN_EXIT_ENDING && cause != PEN_EXIT_SIGNALLED &&
                        cause != PEN_EXIT_TIME_LIMIT && is_orderly(cause);
    if (held && (leaving || ends_orderly)) {
        rule->deadline_ns = leaving ? leave_deadline(rule, now_ns) : now_ns + rule->exit_timeout_ns;
        return 0;
    }
    if (leaving)
        return leave_limit(rule, now_ns);
    rule->phase = PEN_EXIT_KILLING;
    rule->deadline_ns = 0;
    return PEN_EXIT_DO_KILL;
}

unsigned pen_exit_rule_tick(pen_exit_rule *rule, uint64_t now_ns, bool held)
{
    unsigned todo = 0;
    if (rule->notice_ns != 0 && now_ns >= rule->notice_ns) {
        rule->notice_ns = 0;
        todo = PEN_EXIT_DO_NOTICE;
    }
    if (rule->deadline_ns != 0 && now_ns >= rule->deadline_ns)
        todo |= deadline(rule, now_ns, held);
    return todo;
}

int pen_exit_rule_tell(const pen_exit_rule *rule, uint32_t rank)
{
    const pen_exit_rank *to = &rule->ranks[rank];
    if (to->word)
        return 0;
    if (rule->verdict.cause.kind == PEN_EXIT_SIGNALLED)
        return rule->verdict.cause.code;
    /* If the rank has joined, the library's handler ends it quietly on SIGQUIT. Without that
     * handler SIGQUIT would leave a core file. */
    return to->joined ? SIGQUIT : SIGTERM;
}
