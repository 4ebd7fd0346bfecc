/* SPDX-License-Identifier: BSD-3-Clause */
/* coll.h: collectives on any team.
 *
 * Each collective is a state machine driven by polling and by the engine's messages. Any number may
 * be in flight, also on one team, in the order in which its members begin them. Members need not
 * begin at the same time. If a message arrives for a collective that this rank has not begun, or
 * for a team that it has not made, the message is kept.
 *
 * A message names its team (pen_team.id), the number of its collective on that team, and a digest
 * of the collective as its sender began it. If members disagree about call, root, length or type,
 * the job ends with a line that names both. Memory used on behalf of a peer is bounded: a sender
 * may send one piece of each transfer early, and waits with the rest until the receiver has begun.
 *
 * Arguments are checked by api/. No function here may be called from a handler. Buffers belong
 * to the collective until its event is done. */
#ifndef PEN_COLL_COLL_H
#define PEN_COLL_COLL_H

#include "base/status.h"
#include "job/job.h"
#include "job/team.h"
#include "job/thread.h"
#include "rma/event.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PEN_COLL_ALL UINT32_MAX /* in place of a root: every member gets the result */

/* Scratch memory that a rank offers when it makes a team; all members can read it. Members
 * exchange their offers. If a member has no scratch, or if members are on different hosts, the
 * team uses messages. All members come to the same decision. */
typedef struct pen_coll_offer {
    uint32_t share; /* its number, from 1 on; 0 means no offer */
    uint32_t unused;
    uint64_t turn; /* the first number that may be used in it */
} pen_coll_offer;

void pen_coll_offer_make(pen_job *job, pen_coll_offer *out);
void pen_coll_offer_withdraw(pen_job *job,
                             const pen_coll_offer *offer); /* Call this if the team was not made. */
/* Called after pen_coll_team_open and before the first collective. offers: by rank, this rank's
 * included. Returns PEN_ERR_MEMORY after printing a line. On success, the offer belongs to the
 * team, or has been withdrawn. */
pen_status pen_coll_team_share(pen_team *team, const pen_coll_offer *offers);
/* Called before _close, when no member uses the team any more. Gives back the memory of the
 * scratch. */
void pen_coll_team_quiesced(const pen_team *team);

/* Called when this rank leaves the job: records which collectives it has entered. Not to be
 * called from a reduction's function. */
struct pen_departed;
void pen_coll_depart(pen_job *job, struct pen_departed *out);

/* Makes team->coll. Not collective. Takes up messages that arrived early. pen_coll_open makes
 * the primordial team's. */
pen_status pen_coll_team_open(pen_team *team);
/* Called after a barrier, when all members have finished all collectives of the team. */
void pen_coll_team_close(pen_team *team);

/* ENTER_TOGETHER: no data moves before all members have begun. LEAVE_TOGETHER: no member
 * finishes before the parts of all members are done. */
enum { PEN_COLL_ENTER_TOGETHER = 1u << 0, PEN_COLL_LEAVE_TOGETHER = 1u << 1 };

/* How elements are combined. gex_DT_t and gex_OP_t define layout and values of type and
 * operation. */
typedef struct pen_reduction {
    uint32_t type, operation;
    size_t element_len; /* bytes */
    size_t count;       /* elements */
    /* For GEX_OP_USER and GEX_OP_USER_NC: combines count elements of left (from lower ranks)
     * with right, and stores the result in right. May run in any poll, under the rules of a
     * handler. */
    void (*function)(const void *left, void *right_and_result, size_t count, const void *cdata);
    const void *context; /* cdata; see pen_reduction_call */
    bool takes_itself;   /* pass the collective's copy of this struct as cdata */
    int argument;        /* for a function with takes_itself */
    unsigned together;   /* PEN_COLL_..._TOGETHER */
    bool is_barrier; /* its end implies that messages sent before members began it are handled */
} pen_reduction;

/* Calls the client's function. reduction is valid as long as the collective. */
static inline void pen_reduction_call(const pen_reduction *reduction, const void *left, void *right,
                                      size_t count)
{
    reduction->function(left, right, count,
                        reduction->takes_itself ? reduction : reduction->context);
}

/* Does the engine support this type, and this operation on it? */
bool pen_coll_can_combine(uint32_t type, uint32_t operation);

typedef enum pen_coll_kind {
    PEN_COLL_BARRIER,
    PEN_COLL_BROADCAST,
    PEN_COLL_REDUCE,
    PEN_COLL_SCAN,
    PEN_COLL_GATHER,
    PEN_COLL_SCATTER,
    PEN_COLL_EXCHANGE,
    PEN_COLL_KINDS
} pen_coll_kind;

/* A broadcast, gather, scatter or exchange. */
typedef struct pen_coll_move {
    pen_coll_kind kind;
    uint32_t root;
    void *dest;
    const void *source;
    size_t len;        /* of a part */
    unsigned together; /* PEN_COLL_..._TOGETHER */
} pen_coll_move;

/* Each of these returns an event, which is DONE if the collective is already complete. dest and
 * source may be equal if they have the same length; otherwise they must not overlap. */
pen_event *pen_coll_barrier_nb(pen_thread *thread, pen_team *team);
pen_event *pen_coll_move_nb(pen_thread *thread, pen_team *team, const pen_coll_move *move);
pen_event *pen_coll_broadcast_nb(pen_thread *thread, pen_team *team, uint32_t root, void *dest,
                                 const void *source, size_t len);
/* root PEN_COLL_ALL: reduce to all. dest is used only on members that get the result. Elements
 * are combined in rank order, by the same tree on every member and in every run. */
pen_event *pen_coll_reduce_nb(pen_thread *thread, pen_team *team, uint32_t root, void *dest,
                              const void *source, const pen_reduction *reduction);
/* Combines the elements of ranks 0..mine. exclusive: of ranks 0..mine-1, and dest of rank 0 is
 * not written. */
pen_event *pen_coll_scan_nb(pen_thread *thread, pen_team *team, void *dest, const void *source,
                            const pen_reduction *reduction, bool exclusive);
/* len: bytes of each member's part. dest holds the parts in rank order. root PEN_COLL_ALL:
 * gather to all. */
pen_event *pen_coll_gather_nb(pen_thread *thread, pen_team *team, uint32_t root, void *dest,
                              const void *source, size_t len);
pen_event *pen_coll_scatter_nb(pen_thread *thread, pen_team *team, uint32_t root, void *dest,
                               const void *source, size_t len);
/* Part i of source becomes part (my rank) of member i's dest. */
pen_event *pen_coll_exchange_nb(pen_thread *thread, pen_team *team, void *dest, const void *source,
                                size_t len);

#endif
