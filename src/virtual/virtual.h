/* SPDX-License-Identifier: BSD-3-Clause */
/* virtual.h: virtual time for the processes of one job. Each rank has a clock, which moves when the
 * rank pays for something and when it waits. One rank at a time has the *turn*: it runs, and it
 * alone uses what this module shares. It runs until it observes the network. Then the events of
 * the network are carried out up to its clock, and if another rank's clock is behind, that rank
 * gets the turn. So all that a rank can observe at a time has happened before that time, and a run
 * depends on nothing but its inputs. docs/design/virtual-time.md explains the reasons.
 *
 * The shared state, a *world*, is an anonymous file without pointers in it, made by `penstock sim`
 * before the ranks start. Each rank maps it. Ranks sleep on a futex while they have no turn.
 *
 * Caller of all functions below pen_virtual_begin: the rank's only thread, or another thread of it
 * while that one is in none of them. None of them may be called by a rank without the turn, except
 * pen_virtual_now_ns. */
#ifndef PEN_VIRTUAL_VIRTUAL_H
#define PEN_VIRTUAL_VIRTUAL_H

#include "base/status.h"
#include "virtual/machine.h"
#include "virtual/net.h"
#include "virtual/shape.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PEN_VIRTUAL_NEVER UINT64_MAX

/* The environment variable that holds the descriptor of the world; boot/ reads and removes it. */
#define PEN_VIRTUAL_VARIABLE "PENSTOCK_WORLD_FD"

typedef struct pen_virtual_world pen_virtual_world;

/* A process's view of a world. */
typedef struct pen_virtual {
    pen_virtual_world *world;
    size_t len;
    struct pen_virtual_rank *ranks;
    uint32_t *heap;
    uint32_t rank;
    pen_virtual_net net;
    uint32_t fruitless; /* looks in a row that found nothing */
    bool is_full;       /* the card has refused a packet since the last look that waited for room */
    /* Set by the rank's card, or NULL: takes the packets that have arrived, and returns how many.
     * Called when the rank has observed the network. */
    uint32_t (*take)(void *ctx);
    void *take_ctx;
} pen_virtual;

/* ---- the maker of the world ------------------------------------------------------------------ */

typedef struct pen_virtual_params {
    pen_virtual_machine machine;
    pen_virtual_shape shape;
    uint32_t ranks;
    const uint32_t *nodes; /* the node of each rank */
} pen_virtual_params;

/* Makes a world, and maps it. *fd is its descriptor, which programs inherit. Returns NULL, or the
 * name of the system call that failed, with errno. */
const char *pen_virtual_make(const pen_virtual_params *params, int *fd, pen_virtual *out);
void pen_virtual_unmap(pen_virtual *view);

/* Figures of the run so far. May be read at any time, by any process. */
typedef struct pen_virtual_figures {
    uint64_t end_ns;     /* the latest clock at which a rank began to leave the job */
    uint64_t hand_overs; /* turns that went to another rank */
    uint64_t looks;      /* observations of the network */
    uint32_t turn;       /* the rank that has the turn */
    uint32_t left;       /* ranks that have left */
} pen_virtual_figures;

pen_virtual_figures pen_virtual_read(const pen_virtual *view);

/* ---- a rank ---------------------------------------------------------------------------------- */

/* Maps the world for this rank. ERR_ARGUMENT: the descriptor is not that of a world with this rank.
 * ERR_SYSTEM: errno has the reason. */
pen_status pen_virtual_map(int fd, uint32_t rank, pen_virtual *out);

/* Waits for the first turn. */
void pen_virtual_begin(pen_virtual *view);

/* Notes that the rank begins to leave the job now; it may still serve its peers. When all ranks
 * have done so, or when one of them ends the job for all, figures are final. */
void pen_virtual_note_end(pen_virtual *view, bool for_all);

/* Gives the turn away for good. Does nothing without the turn. */
void pen_virtual_end(pen_virtual *view);

/* Whether the rank has begun and not ended. */
bool pen_virtual_runs(const pen_virtual *view);

uint64_t pen_virtual_now_ns(const pen_virtual *view);

/* Moves the rank's clock. */
void pen_virtual_charge(pen_virtual *view, uint64_t ns);

/* Lets everything happen that happens up to the rank's clock, then takes packets that have arrived.
 * Returns how many. If none has arrived, charges a look; the card charges for what it takes. */
uint32_t pen_virtual_observe(pen_virtual *view);

/* A look of a client's own loop found nothing. After some of these in a row the rank
 * waits for the next packet instead, each time for twice as long, so that a loop of looks costs
 * few turns. */
void pen_virtual_look_was_empty(pen_virtual *view);

/* A look found no packet, and the card has refused one: waits until it has room, a packet comes, or
 * some looks would have passed. */
void pen_virtual_await_room(pen_virtual *view);

/* Waits until a packet comes, a card has room again, another rank calls pen_virtual_wake, or until
 * this time. It may also return for no reason: the caller looks again. */
void pen_virtual_wait(pen_virtual *view, uint64_t until_ns);

/* Whether all ranks wait, and nothing is under way: only the launcher can change that. */
bool pen_virtual_all_wait(const pen_virtual *view);

/* Ends the waits of all other ranks, which look again at this rank's time. The caller has changed
 * memory that they may wait for. */
void pen_virtual_wake(pen_virtual *view);

/* Moves the clock on by this time, as a sleep does: other ranks run meanwhile. */
void pen_virtual_sleep(pen_virtual *view, uint64_t ns);

#endif
