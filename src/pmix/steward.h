/* SPDX-License-Identifier: BSD-3-Clause */
/* steward.h: a rank's steward: its state and its functions after the rank has joined; see
 * pmix.h. */
#ifndef PEN_PMIX_STEWARD_H
#define PEN_PMIX_STEWARD_H

#include "boot/boot.h"
#include "boot/control.h"
#include "boot/host_page.h"
#include "boot/knobs.h"
#include "diag/log.h"
#include "pmix/pmi.h"
#include "pmix/pmix_client.h"
#include "pmix/pmix_hello.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Kind of news that comes from this process, not from PMIx. */
#define PEN_STEWARD_HOOK 100u /* the process ends; if that is orderly, finish PMIx */

/* Connection to another steward of the block. The block's first steward has a line to each; every
 * further steward has one line, to the first. */
typedef struct pen_steward_line {
    int fd; /* -1: not connected yet, or its process has ended */
    uint32_t rank;
    bool joined, left; /* left: it has left with 0 */
} pen_steward_line;

typedef struct pen_steward {
    pen_log log;
    pen_boot_needs needs;
    pen_pmix *pmix;      /* NULL: the launcher speaks PMI-1 */
    pen_pmi pmi;         /* in use then */
    struct pen_oob *oob; /* in use then, by the first steward of one of several blocks */
    pid_t pid;
    double timeout_s; /* time limit for joining */
    uint64_t until_ns, exit_timeout_ns;
    uint64_t leave_limit_ns; /* 0: no limit */
    pen_boot_config config;
    /* name of the current call, for the thread that joins if it gives up */
    _Atomic(const char *) doing;
    int news[2], result[2]; /* pipes: from PMIx and the hook; to the thread that joins */
    int control;            /* to this process's rank; -1: closed by it */

    uint32_t rank, size;
    uint32_t first, count; /* the block; rank `first` has its first steward */
    uint32_t block_i, block_count;
    uint32_t *firsts; /* first rank of each block, as in the host page */
    pen_steward_line *lines;
    uint32_t line_count;
    pen_host_page *page; /* the arena up to the end of the exchange areas */
    size_t page_len;

    bool joined, word; /* this rank has joined; it has announced its end */
    bool left;         /* this rank has left with 0 */
    bool over;         /* the job ends: all ranks have left, or a status was decided */
    bool deaf;         /* ends of other blocks are not reported to this steward */
    bool leave_fenced; /* the fence for leaving has begun */
    bool finished;     /* PMIx is finished */
    _Atomic uint32_t hook_done;
    int code; /* the job's status */
    char note[PEN_CONTROL_TEXT_MAX];
    uint64_t leave_ns, notice_ns, end_ns, loss_ns; /* deadlines; 0: not set */
    bool leaving;                                  /* the leave limit runs */
    uint32_t lost_rank;
    bool lost_resigned; /* the lost rank had resigned before */
    uint32_t meetings;  /* meetings of all blocks so far */
    int meet_code;      /* code of the current meeting; -1: no meeting */
} pen_steward;

/* Loop of the steward's thread once the rank has joined. Never returns. */
_Noreturn void pen_steward_serve(pen_steward *s);

/* ---- shared by steward*.c -------------------------------------------------------------------- */

enum { PEN_STEWARD_FENCE_JOIN = 1, PEN_STEWARD_FENCE_LEAVE, PEN_STEWARD_FENCE_MEET };

/* Source of a decision to end. It tells which stewards still have to be told; this process's rank
 * is told in any case. */
typedef enum pen_steward_from {
    PEN_STEWARD_FROM_HERE,  /* decided here: tell all lines and blocks */
    PEN_STEWARD_FROM_LINE,  /* came over a line: tell all remaining lines */
    PEN_STEWARD_FROM_BLOCKS /* came from another block, as to all blocks: tell the lines */
} pen_steward_from;

static inline bool pen_steward_is_first(const pen_steward *s) { return s->rank == s->first; }

/* Waits for news of this kind. Returns false if it does not come in time or the server is lost.
 * Drops news of other kinds meanwhile. */
bool pen_steward_await(pen_steward *s, uint32_t kind, uint64_t until_ns, pen_pmix_news *out);

void pen_steward_line_say(pen_steward_line *line, pen_control_kind kind, int code);
void pen_steward_lines_say(pen_steward *s, pen_control_kind kind, int code,
                           const pen_steward_line *but);
/* to this process's rank */
void pen_steward_answer(pen_steward *s, pen_control_kind kind, int code);

/* steward_blocks.c: NULL, or an error text. */
/* Connects this block with the others, under PMI-1. listener: the centre's (oob.h). */
const char *pen_steward_blocks_open(pen_steward *s, const pen_pmix_hello *hellos, int listener);
/* Meets the other blocks; news report the end. Brings a body, unless key is NULL. */
const char *pen_steward_blocks_meet(pen_steward *s, uint32_t tag, const char *key, const void *body,
                                    size_t len);
/* The body that a block has brought; the caller frees *out. */
const char *pen_steward_blocks_body(pen_steward *s, uint32_t block, const char *key, char **out,
                                    size_t *len_out);
/* Whether this steward passes a decision on to other blocks, and does so; news report the end. */
bool pen_steward_blocks_tells(const pen_steward *s, pen_steward_from from);
const char *pen_steward_blocks_tell(pen_steward *s);

/* steward_end.c */
/* end announced by this process's rank */
void pen_steward_word(pen_steward *s, pen_control_kind kind, int code);
void pen_steward_decide(pen_steward *s, int code, pen_steward_from from,
                        const pen_steward_line *line);
void pen_steward_left(pen_steward *s); /* a rank of the block has left with 0 */
/* This process's rank waits for one that has left. */
void pen_steward_blocked(pen_steward *s, const pen_control *message);
void pen_steward_go(pen_steward *s);                  /* all ranks of the job have left */
void pen_steward_lost(pen_steward *s, uint32_t rank); /* PMIx or a closed line reports the loss */
void pen_steward_server_lost(pen_steward *s);
void pen_steward_finish(pen_steward *s);
uint64_t pen_steward_deadline(const pen_steward *s); /* next deadline; 0: no deadline */
void pen_steward_tick(pen_steward *s, uint64_t now_ns);

/* steward_meet.c */
void pen_steward_meet(pen_steward *s, int code); /* all ranks of the block are in the barrier */
void pen_steward_met(pen_steward *s, int error); /* all blocks are in the barrier */

#endif
