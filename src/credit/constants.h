/* SPDX-License-Identifier: BSD-3-Clause */
/* constants.h: the numbers and formulas of credit flow control, each written once. The models in
 * models/credit include this file too, so it holds what both languages read: macros of integers,
 * and nothing else. */
#ifndef PEN_CREDIT_CONSTANTS_H
#define PEN_CREDIT_CONSTANTS_H

/* Credits that a request must leave in hand, so that a reply finds one. */
#define PEN_CREDIT_RESERVE 1

/* Control slots for grants, for each peer. With fewer than the reserve, peers can deadlock. */
#define PEN_CREDIT_CONTROL_MIN     (PEN_CREDIT_RESERVE + 1)
#define PEN_CREDIT_CONTROL_MAX     8
#define PEN_CREDIT_CONTROL_DEFAULT 2

/* Further control slots for each peer if credits can be recalled: one in the sender's mailbox for
 * the recall, one in the receiver's mailbox for the answer. */
#define PEN_CREDIT_CONTROL_RECALL 2

/* The least quota, and the number of recovered credits that justifies a control packet. */
#define PEN_CREDIT_QUOTA_MIN(n)    ((n) + 1)
#define PEN_CREDIT_THRESHOLD(q, n) ((q) / ((n) + 1) + 1)

/* Tests whether each peer can start with `start` credits. quota: slots for each peer on average. */
#define PEN_CREDIT_CAN_START(start, least, quota) ((start) >= (least) && (start) <= (quota))

/* The number of packets in which a sender uses its quota up, in whole thresholds. */
#define PEN_CREDIT_ROUND(q, n) (((n) + 1) * PEN_CREDIT_THRESHOLD(q, n))

/* Activity: default number of packets over which a peer's pace is measured. */
#define PEN_CREDIT_PERIOD_DEFAULT 176

/* MAY_TAKE: whether a packet may be sent with this number of credits in hand. The reserve is 0 for
 * replies. IS_URGENT: whether the packet that left this number in hand must hurry the receiver. */
#define PEN_CREDIT_MAY_TAKE(hand, reserve) ((hand) > (reserve))
#define PEN_CREDIT_IS_URGENT(hand)         ((hand) == 0)

/* The number of credits in hand that a recall may take. It leaves the reserve, as a request does.
 * (The language of the models writes ?: in another way.) */
#define PEN_CREDIT_SPARE(hand, reserve) (((hand) - (reserve)) * ((hand) > (reserve)))

/* Tests whether recovered credits are returned now. */
#define PEN_CREDIT_IS_DUE(recovered, threshold, urgent) \
    ((recovered) >= (threshold) || ((urgent) && (recovered) > 0))

/* Tests whether a freed slot stays with its sender. If not, the slot goes to the pool. The counts
 * exclude the slot. A sender that hurries has no credit in hand, so it gets one even while it owes
 * credits. */
#define PEN_CREDIT_IS_KEPT(exposed, recovered, quota, urgent) \
    ((exposed) + (recovered) < (quota) || ((urgent) && (recovered) == 0))

/* Loans: the largest need that a stalled sender can report; the most credits that one peer can
 * borrow, or give back, in an epoch; the largest quota; the number of recalls under way at once;
 * the shift by which the notes fade at the end of an epoch. */
#define PEN_CREDIT_NEED_MAX      7
#define PEN_CREDIT_LOAN_MAX      32
#define PEN_CREDIT_LOAN_QUOTA    400
#define PEN_CREDIT_RECALLS_MAX   6
#define PEN_CREDIT_FADE_SHIFT    2
#define PEN_CREDIT_EPOCH_DEFAULT 1024

#endif
