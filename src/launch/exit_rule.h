/* SPDX-License-Identifier: BSD-3-Clause */
/* exit_rule.h: decides a job's exit status, and which rank is told to end and when. This is the
 * launcher's rule as a pure state machine: events and the time go in, PEN_EXIT_DO_... come out. It
 * makes no system call.
 *
 * The first of these events decides the status: death by a signal (128 + signal); a process that
 * ends without the exit handshake (its status, 0 counts as 1); gasnet_exit(c); exit or return with
 * c != 0. Later events are ignored. A rank that exits or returns with 0 has left. The job waits for
 * the remaining ranks until the leave limit, which begins when the first rank leaves. The job ends
 * with 1 if the limit passes, and at once if a rank waits for one that has left. A rank that never
 * joined (a program that does not use the library) owes no handshake, unless another rank has
 * joined. A rank that has resigned owes no handshake, unless another rank has joined again; all
 * ranks resign together. */
#ifndef PEN_LAUNCH_EXIT_RULE_H
#define PEN_LAUNCH_EXIT_RULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum pen_exit_kind {
    PEN_EXIT_JOINED,      /* rank: the library in it has joined the job */
    PEN_EXIT_RESIGNED,    /* rank: pen_finalize; all ranks resign before any of them continues */
    PEN_EXIT_CALLED,      /* rank, code: gasnet_exit(code) */
    PEN_EXIT_LEFT,        /* rank, code: exit(code) or return from main */
    PEN_EXIT_DIED,        /* rank, code: signal that killed it */
    PEN_EXIT_ENDED,       /* rank, code: status its process ended with */
    PEN_EXIT_NOT_STARTED, /* rank, code: errno of its exec */
    /* rank, code: the rank waits in a call that needs rank `code`, which has left */
    PEN_EXIT_BLOCKED,
    PEN_EXIT_SIGNALLED,  /* code: signal that the launcher got */
    PEN_EXIT_TIME_LIMIT, /* --timeout has passed */
    PEN_EXIT_OUTPUT,     /* code: errno of writing the job's output */
    /* made by the rule: the leave limit has passed; rank: one of those that left */
    PEN_EXIT_LEAVE_LIMIT,
    PEN_EXIT_LAUNCH_FAILED /* the launcher cannot continue; it has printed the reason */
} pen_exit_kind;

typedef struct pen_exit_event {
    pen_exit_kind kind;
    uint32_t rank;
    int code;
} pen_exit_event;

/* The event that decided the status. Kind PEN_EXIT_ENDED covers a process that ends without the
 * handshake. */
typedef struct pen_exit_verdict {
    bool decided;
    pen_exit_event cause;
    int status;
    int raise; /* signal by which the launcher ends itself; 0: it exits with status */
} pen_exit_verdict;

/* Actions for the caller, in the order of their bits. */
enum {
    PEN_EXIT_DO_EXPLAIN = 1u << 0, /* the verdict is new: print its cause */
    PEN_EXIT_DO_GO = 1u << 1,      /* all ranks have left with 0: let them end */
    PEN_EXIT_DO_NOTICE = 1u << 2,  /* print which ranks have left, and for which the job waits */
    PEN_EXIT_DO_TELL =
        1u << 3, /* tell each rank to end, unless it was told before; see pen_exit_rule_tell */
    PEN_EXIT_DO_KILL = 1u << 4, /* kill all ranks that still run */
};

typedef struct pen_exit_rank {
    bool joined, gone;
    bool left;         /* the rank has left with 0 */
    bool word;         /* the rank has announced how it ends, with any code */
    bool told;         /* the supervisor told the rank to end, so its status no longer matters */
    uint32_t resigned; /* how often the rank has resigned */
} pen_exit_rank;

typedef enum pen_exit_phase {
    PEN_EXIT_RUNNING,
    PEN_EXIT_LEAVING, /* some ranks have left with 0; the leave limit runs */
    PEN_EXIT_GOING,   /* all ranks have left */
    PEN_EXIT_ENDING,  /* the status is decided; the grace time runs */
    PEN_EXIT_KILLING,
} pen_exit_phase;

typedef struct pen_exit_rule {
    pen_exit_rank *ranks;
    uint32_t size, gone, joined, left;
    uint32_t silent; /* ranks that ended with 0 and were not joined: fine unless a rank joins */
    pen_exit_phase phase;
    pen_exit_verdict verdict;
    uint64_t exit_timeout_ns;
    uint64_t leave_limit_ns; /* 0: no limit */
    uint64_t deadline_ns;    /* deadline of LEAVING or ENDING; 0: no deadline */
    uint64_t notice_ns;      /* in LEAVING: when NOTICE is due; 0: it is not */
    uint64_t signalled_ns;
} pen_exit_rule;

/* ranks: `size` rows in the caller's memory, zeroed here. */
void pen_exit_rule_init(pen_exit_rule *rule, pen_exit_rank *ranks, uint32_t size,
                        uint64_t exit_timeout_ns, uint64_t leave_limit_ns);

/* Takes events that were read together, in any order. Their true order is unknown, so causes are
 * handled before possible effects: the launcher's signals, deaths of ranks that had not announced
 * their end, announcements, other deaths, waits for ranks that have left. Returns PEN_EXIT_DO_...
 * bits. */
unsigned pen_exit_rule_events(pen_exit_rule *rule, pen_exit_event *events, size_t count,
                              uint64_t now_ns);

/* Time at which pen_exit_rule_tick has to be called; 0: never. */
uint64_t pen_exit_rule_next(const pen_exit_rule *rule);

/* Moves the deadlines: the launcher, and its ranks with it, was stopped for `ns`. */
void pen_exit_rule_postpone(pen_exit_rule *rule, uint64_t ns);

/* Called when the time of pen_exit_rule_next may have come. held: the delay is excused because a
 * rank is stopped or the reader of the job's output is slow. Then the time to leave, or to end in
 * an orderly way, starts again. Returns PEN_EXIT_DO_... bits. */
unsigned pen_exit_rule_tick(pen_exit_rule *rule, uint64_t now_ns, bool held);

/* Signal with which a rank is told to end. 0: send a message only, since the rank is ending
 * already. */
int pen_exit_rule_tell(const pen_exit_rule *rule, uint32_t rank);

static inline bool pen_exit_rule_over(const pen_exit_rule *rule)
{
    return rule->gone == rule->size;
}

/* The launcher's status. Valid once the rule is over. */
static inline int pen_exit_rule_status(const pen_exit_rule *rule)
{
    return rule->verdict.decided ? rule->verdict.status : 0;
}

#endif
