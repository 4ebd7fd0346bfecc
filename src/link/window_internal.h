/* SPDX-License-Identifier: BSD-3-Clause */
/* window_internal.h: declarations that the files of the window share. The lock guards the credits
 * and all that is owed to peers. The engine's poll lock guards the arguments of the present poll
 * and the kept frames. */
#ifndef PEN_LINK_WINDOW_INTERNAL_H
#define PEN_LINK_WINDOW_INTERNAL_H

#include "conduit/conduit.h"
#include "credit/constants.h"
#include "credit/credit.h"
#include "link/host.h"
#include "link/lanes.h"
#include "link/passing.h"
#include "link/turns.h"
#include "link/window.h"

/* The word behind a head, by bytes: what the frame is, the need in its tag, and credits granted for
 * each lane. If room is lent, the upper half of the first byte tells for which lanes an epoch has
 * ended, and each number of credits is a count (the lower bits) and the growth of the quota. The
 * second byte of a recall and of an answer tells for which lanes they are. */
enum word_kind { WORD_FRAME = 1, WORD_NOTE = 2, WORD_RECALL = 3, WORD_GIVE = 4 };
enum {
    WORD_KIND_BITS = 4,
    WORD_COUNT_BITS = 9,
    WORD_COUNT_MAX = (1 << WORD_COUNT_BITS) - 1,
    WORD_RAISED_MAX = (1 << (16 - WORD_COUNT_BITS)) - 1,
};

typedef struct window_word {
    uint8_t kind, need;
    uint16_t granted[PEN_LANES];
} window_word;

static inline unsigned window_word_kind(const window_word *word)
{
    return word->kind & ((1U << WORD_KIND_BITS) - 1);
}

static inline unsigned window_word_epochs(const window_word *word)
{
    return (unsigned)word->kind >> WORD_KIND_BITS;
}

_Static_assert(sizeof(window_word) == PEN_WINDOW_WORD_LEN, "the word has no gaps");

_Static_assert(PEN_CREDIT_LOAN_QUOTA <= WORD_COUNT_MAX, "a word carries any grant");

typedef struct window_peer {
    uint32_t owed[PEN_LANES];     /* grants that were decided and not sent */
    uint32_t raised[PEN_LANES];   /* growth of its quota that it does not know */
    uint16_t recalled[PEN_LANES]; /* counts of recalls and of answers, for the lanes below */
    uint16_t given[PEN_LANES];
    uint8_t epochs, recalls, gives; /* lanes of ended epochs, recalls and answers to be sent */
    bool is_lost;                   /* it broke the rules; its frames are dropped */
} window_peer;

typedef struct window_lane {
    pen_credit_sender *sender;     /* room that peers have granted */
    pen_credit_receiver *receiver; /* room that peers were granted */
    void *memory;                  /* of both */
} window_lane;

typedef struct window_link {
    pen_passing pass;  /* first; its lock guards the lanes and peers */
    pen_lender lender; /* lends the host to the inner link */
    uint32_t unit_len, overhead, grain;
    bool lends;
    pen_peer peers;
    window_lane lanes[PEN_LANES];
    window_peer *peer;
    pen_turns debts; /* peers that are owed grants */
    pen_lanes kept;  /* frames of CONTROL that no poll has asked for */
    unsigned asked;  /* lanes of the poll that runs */
} window_link;

static inline window_link *window_of(pen_link *link) { return (window_link *)(void *)link; }

/* Credits for a frame of the inner link with this many bytes of head and body. */
uint32_t window_units(const window_link *link, size_t len);

/* The slot deliver of the host that the inner link is lent. */
void window_deliver(void *ctx, pen_peer from, pen_lane lane, const void *head, uint32_t head_len,
                    void *body, uint32_t body_len);

extern const pen_link_ops window_ops;
extern const pen_behind_ops window_behind;
extern const pen_due_ops window_due;
extern const pen_count_ops window_count;

/* Frees the link's memory; the inner link is closed or belongs to the caller. */
void window_free(window_link *link);

#endif
