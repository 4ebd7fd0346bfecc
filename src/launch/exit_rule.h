/* SPDX-License-Identifier: BSD-3-Clause */
/* exit_rule.h: what a job's exit status is, and when which rank is told to end: the launcher's rule
 * as a pure state machine. Events and the time go in, things to do come out; it makes no system
 * call.
 *
 * The status is the first of these to arrive, later ones are ignored: death by a signal (128 +
 * signal); leaving without the exit handshake (its status, 0 counts as 1); gasnet_exit(c); exit or
 * return with c != 0. A rank that exits or returns with 0 has left: the job waits for the others
 * until the leave limit, which begins with the first rank that leaves. It ends with 1 when the
 * limit passes, and at once when a rank waits for one that has left. A rank that never joined (a
 * program that does not use the library) owes no handshake, unless others joined. Nor does one that
 * resigned, in which all ranks go together, unless others join again. */
#ifndef PEN_LAUNCH_EXIT_RULE_H
#define PEN_LAUNCH_EXIT_RULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum pen_exit_kind {
    PEN_EXIT_JOINED,       /* rank: its library has opened */
    PEN_EXIT_RESIGNED,     /* rank: pen_finalize; all ranks do, before any goes on */
    PEN_EXIT_CALLED,       /* rank, code: gasnet_exit(code) */
    PEN_EXIT_LEFT,         /* rank, code: exit(code) or return from main */
    PEN_EXIT_DIED,         /* rank, code: signal that killed it */
    PEN_EXIT_ENDED,        /* rank, code: status its process ended with */
    PEN_EXIT_NOT_STARTED,  /* rank, code: errno of its exec */
    PEN_EXIT_BLOCKED,      /* rank, code: it waits in a call that rank `code` has left without */
    PEN_EXIT_SIGNALLED,    /* code: signal that the launcher got */
    PEN_EXIT_TIME_LIMIT,   /* --timeout has passed */
    PEN_EXIT_OUTPUT,       /* code: errno of writing the job's output */
    PEN_EXIT_LEAVE_LIMIT,  /* made by the rule: the leave limit has passed; rank: one that left */
    PEN_EXIT_LAUNCH_FAILED /* the launcher cannot go on; it has said why */
} pen_exit_kind;

typedef struct pen_exit_event {
    pen_exit_kind kind;
    uint32_t rank;
    int code;
} pen_exit_event;

/* What decided the status; kind PEN_EXIT_ENDED covers leaving without the handshake. */
typedef struct pen_exit_verdict {
    bool decided;
    pen_exit_event cause;
    int status;
    int raise; /* the launcher's own end: this signal; 0: exit with status */
} pen_exit_verdict;

/* Things to do, in the order of their bits. */
enum {
    PEN_EXIT_DO_EXPLAIN = 1u << 0, /* the verdict is new: say its cause */
    PEN_EXIT_DO_GO = 1u << 1,      /* all have left with 0: let them go on */
    PEN_EXIT_DO_NOTICE = 1u << 2,  /* say who has left, and for whom the job waits */
    PEN_EXIT_DO_TELL =
        1u << 3, /* tell those not yet told to end (pen_exit_rule_tell says with what) */
    PEN_EXIT_DO_KILL = 1u << 4, /* kill all that is left */
};

typedef struct pen_exit_rank {
    bool joined, gone;
    bool left;         /* said so, with 0 */
    bool word;         /* said how it ends, with whatever code: it is on its way out */
    bool told;         /* by us, to end: how it ends no longer matters */
    uint32_t resigned; /* how often; it is, or would be, in the job for one more time */
} pen_exit_rank;

typedef enum pen_exit_phase {
    PEN_EXIT_RUNNING,
    PEN_EXIT_LEAVING, /* some have left with 0; the leave limit runs */
    PEN_EXIT_GOING,   /* all have */
    PEN_EXIT_ENDING,  /* decided; grace runs */
    PEN_EXIT_KILLING,
} pen_exit_phase;

typedef struct pen_exit_rule {
    pen_exit_rank *ranks;
    uint32_t size, gone, joined, left;
    uint32_t silent; /* ended with 0 while they were not joined: fine unless somebody joins */
    pen_exit_phase phase;
    pen_exit_verdict verdict;
    uint64_t exit_timeout_ns;
    uint64_t leave_limit_ns; /* 0: none */
    uint64_t deadline_ns;    /* of LEAVING and ENDING; 0: none */
    uint64_t notice_ns;      /* of LEAVING: when NOTICE is due; 0: it is not */
    uint64_t signalled_ns;
} pen_exit_rule;

/* ranks: size rows, zeroed here; the caller's memory. */
void pen_exit_rule_init(pen_exit_rule *rule, pen_exit_rank *ranks, uint32_t size,
                        uint64_t exit_timeout_ns, uint64_t leave_limit_ns);

/* Events seen together, in any order: which came first cannot be told, so causes go before what may
 * be their effects: the launcher's signals, deaths of ranks that had announced nothing, words,
 * other deaths, waits for ranks that have left. Reorders the array. Answers what to do,
 * PEN_EXIT_DO_... */
unsigned pen_exit_rule_events(pen_exit_rule *rule, pen_exit_event *events, size_t count,
                              uint64_t now_ns);

/* When pen_exit_rule_tick has something to do; 0: never. */
uint64_t pen_exit_rule_next(const pen_exit_rule *rule);

/* The launcher itself was stopped for so long, and the ranks with it. */
void pen_exit_rule_postpone(pen_exit_rule *rule, uint64_t ns);

/* The time of pen_exit_rule_next may have come. held: something excuses the delay (a rank is
 * stopped, or the reader of our output is slow), so the time given to leave, or to end in an
 * orderly way, starts again. */
unsigned pen_exit_rule_tick(pen_exit_rule *rule, uint64_t now_ns, bool held);

/* Signal with which a rank is to be told to end; 0: it is told by message only (it is on its way).
 */
int pen_exit_rule_tell(const pen_exit_rule *rule, uint32_t rank);

static inline bool pen_exit_rule_over(const pen_exit_rule *rule)
{
    return rule->gone == rule->size;
}

/* Once over: the launcher's status. */
static inline int pen_exit_rule_status(const pen_exit_rule *rule)
{
    return rule->verdict.decided ? rule->verdict.status : 0;
}

#endif
