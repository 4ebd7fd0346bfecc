/* SPDX-License-Identifier: BSD-3-Clause */
/* steward.h: a rank's steward: what it knows and does once the rank has joined; see pmix.h. */
#ifndef PEN_PMIX_STEWARD_H
#define PEN_PMIX_STEWARD_H

#include "boot/arena.h"
#include "boot/control.h"
#include "boot/knobs.h"
#include "pmix/pmix_client.h"

#include <sys/types.h>

/* News of our own process, beside those of PMIx. */
#define PEN_STEWARD_HOOK 100u /* the process ends: PMIx is to be finished if that is orderly */

/* Another steward of the block: the first's are those of all, each other's the first alone. */
typedef struct pen_steward_line {
    int fd; /* -1: none, or it is gone: its process has ended */
    uint32_t rank;
    bool joined, left; /* left: said so, with 0 */
} pen_steward_line;

typedef struct pen_steward {
    pen_log log;
    pen_boot_needs needs;
    pen_pmix *pmix;
    pid_t pid;
    double timeout_s; /* for joining */
    uint64_t until_ns, exit_timeout_ns;
    uint64_t leave_limit_ns; /* 0: none */
    pen_boot_config config;
    _Atomic(const char *) doing; /* for who waits for us in vain */
    int news[2], result[2];      /* pipes: from PMIx and the hook; to the thread that joins */
    int control;                 /* to our rank; -1: it has closed its end */

    uint32_t rank, size;
    uint32_t first, count; /* the block; who has rank `first` is its first steward */
    uint32_t block_i, block_count;
    uint32_t *firsts; /* of blocks; as the host page has them */
    pen_steward_line *lines;
    uint32_t line_count;
    pen_host_page *page; /* the arena's head, as far as the exchange areas */
    size_t page_len;

    bool joined, word; /* our rank has; it has said how it ends */
    bool left;         /* ... with 0 */
    bool over;         /* the job ends: all have left, or it was decided */
    bool deaf;         /* nothing is heard of other blocks' ends */
    bool leave_fenced; /* the fence of those who leave has begun */
    bool finished;     /* PMIx is */
    _Atomic uint32_t hook_done;
    int code; /* what was decided */
    char note[PEN_CONTROL_TEXT_MAX];
    uint64_t leave_ns, notice_ns, end_ns, loss_ns; /* deadlines; 0: none */
    bool leaving;                                  /* the leave limit runs */
    uint32_t lost_rank;
    bool lost_resigned; /* it had left the job before */
    uint32_t meetings;  /* of blocks, so far */
    int meet_code;      /* of the one that is on; -1: none */
} pen_steward;

/* The thread's work once the rank has joined; never returns. */
_Noreturn void pen_steward_serve(pen_steward *s);

/* ---- shared by steward*.c -------------------------------------------------------------------- */

enum { PEN_STEWARD_FENCE_JOIN = 1, PEN_STEWARD_FENCE_LEAVE, PEN_STEWARD_FENCE_MEET };

/* Who is to hear of an end beside our own rank. */
typedef enum pen_steward_from {
    PEN_STEWARD_FROM_HERE, /* everybody */
    PEN_STEWARD_FROM_LINE, /* the other lines */
    PEN_STEWARD_FROM_PMIX  /* the lines: other blocks are told as we were */
} pen_steward_from;

static inline bool pen_steward_is_first(const pen_steward *s) { return s->rank == s->first; }

/* News of PMIx: false: none of this kind in time. Others of that time are dropped. */
bool pen_steward_await(pen_steward *s, uint32_t kind, uint64_t until_ns, pen_pmix_news *out);

void pen_steward_line_say(pen_steward_line *line, pen_control_kind kind, int code);
void pen_steward_lines_say(pen_steward *s, pen_control_kind kind, int code,
                           const pen_steward_line *but);
void pen_steward_answer(pen_steward *s, pen_control_kind kind, int code); /* to our rank */

/* steward_end.c */
void pen_steward_word(pen_steward *s, pen_control_kind kind, int code); /* of our rank's */
void pen_steward_decide(pen_steward *s, int code, pen_steward_from from,
                        const pen_steward_line *line);
void pen_steward_left(pen_steward *s); /* a rank of the block has, with 0 */
/* Our rank waits for one that has left. */
void pen_steward_blocked(pen_steward *s, const pen_control *message);
void pen_steward_go(pen_steward *s);                  /* all of the job have */
void pen_steward_lost(pen_steward *s, uint32_t rank); /* as PMIx tells */
void pen_steward_server_lost(pen_steward *s);
void pen_steward_finish(pen_steward *s);
uint64_t pen_steward_deadline(const pen_steward *s); /* the next; 0: none */
void pen_steward_tick(pen_steward *s, uint64_t now_ns);

/* steward_meet.c */
void pen_steward_meet(pen_steward *s, int code); /* all of the block are in the barrier */
void pen_steward_met(pen_steward *s, int error); /* all blocks are */

#endif
