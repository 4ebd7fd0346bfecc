/* SPDX-License-Identifier: BSD-3-Clause */
/* coll.h: collectives on any team. Each is a state machine of its own, driven by polling and by the
 * engine's messages; any number may be in flight, on the same team too, in the order in which its
 * members begin them. Members need not begin at the same time: what arrives for a collective that
 * is not begun here yet, or for a team that is not made here yet, is kept.
 *
 * A message names its team (pen_team.id), the number of its collective on that team, and a digest
 * of what the sender believes it to be: members that disagree (another call, root, length, type)
 * end the job with a line that names both.
 *
 * Nothing is copied into memory without bound on behalf of a peer: beyond a piece, senders wait
 * until the receiver has begun. Arguments are checked by api/. No function here may be called from
 * a handler; buffers belong to the collective until its event is done. */
#ifndef PEN_COLL_COLL_H
#define PEN_COLL_COLL_H

#include "job/job.h"
#include "rma/event.h"

#define PEN_COLL_ALL UINT32_MAX /* in place of a root: every member gets the result */

/* What a rank offers who makes a team with it: scratch that all members can read. They tell each
 * other, and whoever finds that not all have any, or that not all are on one host, goes on without;
 * all come to the same verdict. */
typedef struct pen_coll_offer {
    uint32_t share; /* its number, from 1 on; 0: none */
    uint32_t unused;
    uint64_t turn; /* the first number that it may be used for */
} pen_coll_offer;

void pen_coll_offer_make(pen_job *job, pen_coll_offer *out);
void pen_coll_offer_withdraw(pen_job *job, const pen_coll_offer *offer); /* no team came of it */
/* After pen_coll_team_open, before the first collective: by rank, our own included. PEN_ERR_MEMORY:
 * said in a line. Otherwise what was offered belongs to the team, or is withdrawn. */
pen_status pen_coll_team_share(pen_team *team, const pen_coll_offer *offers);
/* Nobody uses the team any more: gives back what it took of the scratch. Before _close. */
void pen_coll_team_quiesced(const pen_team *team);

/* This rank leaves: writes down which collectives it has entered. Not from a reduction's function.
 */
struct pen_departed;
void pen_coll_depart(pen_job *job, struct pen_departed *out);

/* Makes team->coll. Not collective; messages that came before are taken up. The primordial team's
 * is made by pen_coll_open. */
pen_status pen_coll_team_open(pen_team *team);
/* All of its collectives are done, on all members: a barrier was. */
void pen_coll_team_close(pen_team *team);

/* No data moves before all members have begun; nobody is done before everybody's part is. */
enum { PEN_COLL_ENTER_TOGETHER = 1u << 0, PEN_COLL_LEAVE_TOGETHER = 1u << 1 };

/* How elements are combined. Layout and values of type and operation: gex_DT_t, gex_OP_t. */
typedef struct pen_reduction {
    uint32_t type, operation;
    size_t element_len; /* bytes */
    size_t count;       /* elements */
    /* of GEX_OP_USER and GEX_OP_USER_NC: combines count elements, left (lower ranks') with right,
     * into right; may run in any poll, under the rules of a handler */
    void (*function)(const void *left, void *right_and_result, size_t count, const void *cdata);
    const void *context; /* cdata; see pen_reduction_call */
    bool takes_itself;   /* cdata is the collective's own copy of this struct, for what it holds */
    int argument;        /* for such a function */
    unsigned together;   /* PEN_COLL_..._TOGETHER */
    bool is_barrier; /* when it is done, what members sent before they began it has been handled */
} pen_reduction;

/* The client's function; reduction lives as long as the collective. */
static inline void pen_reduction_call(const pen_reduction *reduction, const void *left, void *right,
                                      size_t count)
{
    reduction->function(left, right, count,
                        reduction->takes_itself ? reduction : reduction->context);
}

/* Is that a type of ours, and an operation that it has? */
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

/* Each answers an event; DONE when it is over already. dest and source may be the same address
 * where they have the same length; else they do not overlap. */
pen_event *pen_coll_barrier_nb(pen_thread *thread, pen_team *team);
pen_event *pen_coll_move_nb(pen_thread *thread, pen_team *team, const pen_coll_move *move);
pen_event *pen_coll_broadcast_nb(pen_thread *thread, pen_team *team, uint32_t root, void *dest,
                                 const void *source, size_t len);
/* root PEN_COLL_ALL: reduce to all; dest counts only where the result goes. Elements are combined
 * in rank order, by the same tree on every member and in every run. */
pen_event *pen_coll_reduce_nb(pen_thread *thread, pen_team *team, uint32_t root, void *dest,
                              const void *source, const pen_reduction *reduction);
/* Of ranks 0..mine; exclusive: of 0..mine-1, and rank 0's dest is not written. */
pen_event *pen_coll_scan_nb(pen_thread *thread, pen_team *team, void *dest, const void *source,
                            const pen_reduction *reduction, bool exclusive);
/* len: bytes of each member's part; dest has the parts in rank order. root PEN_COLL_ALL: to all. */
pen_event *pen_coll_gather_nb(pen_thread *thread, pen_team *team, uint32_t root, void *dest,
                              const void *source, size_t len);
pen_event *pen_coll_scatter_nb(pen_thread *thread, pen_team *team, uint32_t root, void *dest,
                               const void *source, size_t len);
/* Part i of source becomes part (my rank) of member i's dest. */
pen_event *pen_coll_exchange_nb(pen_thread *thread, pen_team *team, void *dest, const void *source,
                                size_t len);

#endif
