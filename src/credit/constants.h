/* SPDX-License-Identifier: BSD-3-Clause */
/* constants.h: the numbers and formulas of credit flow control, each written once. The models in
 * models/credit include this file too, so it holds what both languages read: macros of integers,
 * and nothing else. */
#ifndef PEN_CREDIT_CONSTANTS_H
#define PEN_CREDIT_CONSTANTS_H

/* A request leaves so many credits in hand, so that a reply always has had one. */
#define PEN_CREDIT_RESERVE 1

/* Control slots for grants, for each peer. Fewer than the reserve and one can deadlock. */
#define PEN_CREDIT_CONTROL_MIN     (PEN_CREDIT_RESERVE + 1)
#define PEN_CREDIT_CONTROL_MAX     8
#define PEN_CREDIT_CONTROL_DEFAULT 2

/* Further control slots for each peer where credits can be recalled: one for the recall in the
 * sender's mailbox, one for what comes back in the receiver's. */
#define PEN_CREDIT_CONTROL_RECALL 2

/* The least quota, and how many recovered credits are worth a control packet. */
#define PEN_CREDIT_QUOTA_MIN(n)    ((n) + 1)
#define PEN_CREDIT_THRESHOLD(q, n) ((q) / ((n) + 1) + 1)

/* Whether each peer may have so many credits at first; quota: slots for each peer on average. */
#define PEN_CREDIT_CAN_START(start, least, quota) ((start) >= (least) && (start) <= (quota))

/* Packets in which a sender has used its quota up: so many thresholds. */
#define PEN_CREDIT_ROUND(q, n) (((n) + 1) * PEN_CREDIT_THRESHOLD(q, n))

/* Activity: packets over which a peer's pace is measured, if nothing else is chosen. */
#define PEN_CREDIT_PERIOD_DEFAULT 176

/* Whether a packet of a class may go with so many in hand (reserve: 0 for replies), and whether the
 * packet that left so many in hand must hurry the receiver. */
#define PEN_CREDIT_MAY_TAKE(hand, reserve) ((hand) > (reserve))
#define PEN_CREDIT_IS_URGENT(hand)         ((hand) == 0)

/* What a recall may take of what is in hand. It leaves the reserve, as a request does. (The models'
 * language writes ?: in another way.) */
#define PEN_CREDIT_SPARE(hand, reserve) (((hand) - (reserve)) * ((hand) > (reserve)))

/* Whether recovered credits go back now. */
#define PEN_CREDIT_IS_DUE(recovered, threshold, urgent) \
    ((recovered) >= (threshold) || ((urgent) && (recovered) > 0))

/* Whether a freed slot stays with its sender; else it goes to the pool. Counted without the slot.
 * A sender that hurries has none in hand: it gets one even while it owes. */
#define PEN_CREDIT_IS_KEPT(exposed, recovered, quota, urgent) \
    ((exposed) + (recovered) < (quota) || ((urgent) && (recovered) == 0))

/* Loans: what a stalled sender can say that it lacks; what one peer can borrow in an epoch, and
 * give back in one; the largest quota; recalls under way at once; the shift by which what was seen
 * fades at the end of an epoch. */
#define PEN_CREDIT_NEED_MAX      7
#define PEN_CREDIT_LOAN_MAX      32
#define PEN_CREDIT_LOAN_QUOTA    400
#define PEN_CREDIT_RECALLS_MAX   6
#define PEN_CREDIT_FADE_SHIFT    2
#define PEN_CREDIT_EPOCH_DEFAULT 1024

#endif
