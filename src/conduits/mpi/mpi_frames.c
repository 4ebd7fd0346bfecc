/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi_frames.c: sends frames as messages of MPI, takes those that have come into the rings, and
 * delivers them. A test of MPI makes progress, which is expensive. So one test covers the oldest
 * receive of each lane and the oldest send. Only if that finds nothing for many polls, all are
 * tested: a message of a peer that is slow may hold up the oldest one. */
#include "base/compiler.h"
#include "base/status.h"
#include "conduit/conduit.h"
#include "conduits/mpi/mpi_link.h"
#include "diag/log.h"
#include "link/netlib.h"
#include "os/lock.h"

#include <stddef.h>

enum {
    TAG = 0,
    NAP_NS = 50000,    /* a sleeper polls again after this time */
    SWEEP_POLLS = 128, /* that find nothing, before all are tested */
    SENT_MOST = 64,    /* sends under way, from which on posts look for some that are done */
};

/* ---- sending --------------------------------------------------------------------------------- */

/* Tests a send. Returns whether MPI no longer reads its buffer. */
static bool is_sent(mpi_link *link, pen_net_buffer *buffer)
{
    int is_done = 0;
    if (link->mpi.test(mpi_request_of(buffer), &is_done, MPI_STATUS_IGNORE) == MPI_SUCCESS)
        return is_done != 0;
    pen_net_lose(&link->net, buffer->to);
    return true;
}

static void end_first_sent(mpi_link *link)
{
    pen_net_buffer *buffer = link->first_sent;
    if (buffer == NULL)
        return;
    link->first_sent = buffer->next;
    if (link->first_sent == NULL)
        link->last_sent = &link->first_sent;
    link->net.pending--;
    pen_net_give(&link->net, buffer);
}

/* Ends the sends that are done, in their order. */
static void take_first_sent(mpi_link *link)
{
    while (link->first_sent != NULL && is_sent(link, link->first_sent))
        end_first_sent(link);
}

void mpi_take_sent(mpi_link *link)
{
    pen_net_buffer *rest = NULL, **last = &rest;
    while (link->first_sent != NULL) {
        pen_net_buffer *buffer = link->first_sent;
        link->first_sent = buffer->next;
        if (is_sent(link, buffer)) {
            link->net.pending--;
            pen_net_give(&link->net, buffer);
            continue;
        }
        *last = buffer;
        last = &buffer->next;
    }
    *last = NULL;
    link->first_sent = rest;
    link->last_sent = rest != NULL ? last : &link->first_sent;
}

static pen_post post_locked(mpi_link *link, pen_peer to, pen_lane lane, const pen_frame *frame)
{
    size_t len = 0;
    if (pen_unlikely(link->is_over)) {
        link->is_missed = true;
        return PEN_POST_FAILED;
    }
    if (pen_net_is_lost(&link->net, to))
        return PEN_POST_FAILED;
    if (pen_unlikely(link->net.pending >= SENT_MOST))
        take_first_sent(link);
    pen_net_buffer *buffer = pen_net_pack(&link->net, to, lane, frame, &len);
    if (buffer == NULL)
        return PEN_POST_AGAIN;
    if (link->mpi.isend(buffer->bytes, (int)len, link->mpi.byte, (int)to, TAG,
                        link->rings[lane].comm, mpi_request_of(buffer)) != MPI_SUCCESS) {
        pen_net_lose(&link->net, to);
        pen_net_give(&link->net, buffer);
        return PEN_POST_FAILED;
    }
    buffer->next = NULL;
    *link->last_sent = buffer;
    link->last_sent = &buffer->next;
    link->net.pending++;
    return PEN_POST_DONE;
}

pen_post mpi_post(pen_link *base, pen_peer to, pen_lane lane, const pen_frame *frame, pen_op *op)
{
    (void)op; /* the frame is copied */
    mpi_link *link = mpi_of(base);
    pen_lock_take(&link->lock);
    const pen_post result = post_locked(link, to, lane, frame);
    pen_lock_drop(&link->lock);
    return result;
}

/* ---- arriving -------------------------------------------------------------------------------- */

int mpi_slot_start(mpi_link *link, mpi_ring *ring, unsigned slot)
{
    ring->next[slot] = MPI_CONDUIT_NO_SLOT;
    if (ring->first == MPI_CONDUIT_NO_SLOT)
        ring->first = (uint16_t)slot;
    else
        ring->next[ring->last] = (uint16_t)slot;
    ring->last = (uint16_t)slot;
    return link->mpi.start(&ring->requests[slot]);
}

/* Takes a slot that MPI has filled out of the list. */
static void unlist(mpi_ring *ring, unsigned slot)
{
    uint16_t before = MPI_CONDUIT_NO_SLOT;
    for (uint16_t at = ring->first; at != slot; at = ring->next[at])
        before = at;
    if (before == MPI_CONDUIT_NO_SLOT)
        ring->first = ring->next[slot];
    else
        ring->next[before] = ring->next[slot];
    if (ring->last == slot)
        ring->last = before;
}

typedef struct mpi_arrival {
    mpi_ring *ring; /* NULL: nothing has come */
    unsigned slot;
    int error;
    MPI_Status status;
} mpi_arrival;

/* Tests the oldest receive of each lane that is asked for, and the oldest send. */
static mpi_arrival test_oldest(mpi_link *link, unsigned lanes)
{
    MPI_Request requests[PEN_LANES + 1];
    mpi_ring *rings[PEN_LANES];
    mpi_arrival arrival = { .ring = NULL };
    int count = 0, done = MPI_UNDEFINED, is_done = 0;
    for (unsigned lane = PEN_LANES; lane-- > 0;) { /* CONTROL first */
        mpi_ring *ring = &link->rings[lane];
        if ((lanes & PEN_LANE_BIT(lane)) == 0 || ring->first == MPI_CONDUIT_NO_SLOT)
            continue;
        rings[count] = ring;
        requests[count++] = ring->requests[ring->first];
    }
    const int receives = count;
    if (link->first_sent != NULL)
        requests[count++] = *mpi_request_of(link->first_sent);
    arrival.error = link->mpi.testany(count, requests, &done, &is_done, &arrival.status);
    if (is_done == 0 || done == MPI_UNDEFINED)
        return arrival;
    if (done < receives) {
        arrival.ring = rings[done];
        arrival.slot = rings[done]->first;
        return arrival;
    }
    if (arrival.error != MPI_SUCCESS && link->first_sent != NULL)
        pen_net_lose(&link->net, link->first_sent->to);
    end_first_sent(link);
    take_first_sent(link);
    return arrival;
}

/* Tests all receives of the lanes that are asked for. */
static mpi_arrival test_all(mpi_link *link, unsigned lanes)
{
    mpi_arrival arrival = { .ring = NULL };
    for (unsigned lane = PEN_LANES; lane-- > 0;) {
        mpi_ring *ring = &link->rings[lane];
        int done = MPI_UNDEFINED, is_done = 0;
        if ((lanes & PEN_LANE_BIT(lane)) == 0)
            continue;
        arrival.error =
            link->mpi.testany(ring->count, ring->requests, &done, &is_done, &arrival.status);
        if (is_done == 0 || done == MPI_UNDEFINED)
            continue;
        arrival.ring = ring;
        arrival.slot = (unsigned)done;
        break;
    }
    return arrival;
}

static mpi_arrival find_arrival(mpi_link *link, unsigned lanes)
{
    mpi_arrival arrival = test_oldest(link, lanes);
    if (arrival.ring != NULL) {
        link->empty_polls = 0;
    } else if (++link->empty_polls >= SWEEP_POLLS) {
        mpi_take_sent(link);
        arrival = test_all(link, lanes);
        if (arrival.ring == NULL)
            link->empty_polls = 0; /* else the next poll tests all, too */
    }
    if (arrival.ring != NULL)
        unlist(arrival.ring, arrival.slot);
    return arrival;
}

/* Reads the word of a message. Returns false if it is no frame of this job. */
static bool read_arrival(mpi_link *link, mpi_arrival *arrival, pen_net_word *word)
{
    int len = 0;
    if (arrival->error != MPI_SUCCESS ||
        link->mpi.get_count(&arrival->status, link->mpi.byte, &len) != MPI_SUCCESS || len < 0) {
        link->net.bad_frame++;
        return false;
    }
    if (!pen_net_unpack(&link->net, mpi_slot(arrival->ring, arrival->slot), (size_t)len, word))
        return false;
    if ((int)word->from == arrival->status.MPI_SOURCE)
        return true;
    link->net.bad_source++;
    return false;
}

/* Delivers a frame, without the lock, and gives its slot back. Returns frames delivered. */
static unsigned hand(mpi_link *link, mpi_arrival *arrival)
{
    pen_net_word word;
    unsigned delivered = 0;
    if (pen_likely(read_arrival(link, arrival, &word))) {
        pen_lock_drop(&link->lock);
        pen_net_hand(link->base.host, &word, mpi_slot(arrival->ring, arrival->slot));
        pen_lock_take(&link->lock);
        delivered = 1;
    }
    if (!link->is_over && mpi_slot_start(link, arrival->ring, arrival->slot) != MPI_SUCCESS)
        link->is_missed = true;
    return delivered;
}

/* Tells the engine that no frame comes or goes any more. Under the lock. */
static void tell_end(mpi_link *link)
{
    const pen_host *host = link->base.host;
    const bool is_over = link->is_over;
    link->is_told = true;
    pen_lock_drop(&link->lock);
    host->log(host->ctx, PEN_LOG_ERROR,
              is_over ? "cannot send: MPI has ended; call MPI_Finalize after the last call of "
                        "Penstock"
                      : "cannot receive: MPI_Start has failed; see MPI's own message");
    host->peer_lost(host->ctx, PEN_PEER_ANY, PEN_ERR_PEER_LOST);
    pen_lock_take(&link->lock);
}

unsigned mpi_poll(pen_link *base, unsigned lanes, unsigned budget)
{
    mpi_link *link = mpi_of(base);
    unsigned delivered = 0;
    pen_lock_take(&link->lock);
    if (pen_unlikely(link->is_missed && !link->is_told))
        tell_end(link);
    if (pen_unlikely(pen_net_has_news(&link->net)))
        pen_net_tell(&link->net, &link->lock);
    while (delivered < budget && !link->is_over) {
        mpi_arrival arrival = find_arrival(link, lanes);
        if (arrival.ring == NULL)
            break;
        delivered += hand(link, &arrival);
    }
    pen_lock_drop(&link->lock);
    return delivered;
}

/* ---- waiting --------------------------------------------------------------------------------- */

static int wait_fd(pen_link *base) { return mpi_of(base)->fd; }

static bool wait_arm(pen_link *base)
{
    (void)base;
    return true; /* MPI has no descriptor: the sleeper polls when due */
}

static uint64_t due_ns(pen_link *base)
{
    const pen_host *host = base->host;
    return host->now_ns(host->ctx) + NAP_NS;
}

const pen_wait_ops mpi_wait = { .fd = wait_fd, .arm = wait_arm };
const pen_due_ops mpi_due = { .due_ns = due_ns };
