/* SPDX-License-Identifier: BSD-3-Clause */
/* host.h: helpers for every link and the host that it was lent: memory, delivering frames, waking a
 * peer that sleeps, and, for a link around a link, lending the inner link a host. */
#ifndef PEN_LINK_HOST_H
#define PEN_LINK_HOST_H

#include "base/compiler.h"
#include "conduit/conduit.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- memory ---------------------------------------------------------------------------------- */

/* Allocates memory that is zero and begins with a cache line. Returns NULL if there is none. */
void *pen_host_alloc_zeroed(const pen_host *host, size_t len);

/* Releases memory of the host; NULL is allowed. */
void pen_host_release(const pen_host *host, void *memory);

/* Finds this host's shared memory, at least `needed` bytes of it. user: what needs it, for the
 * message. Fails: returns NULL; the reason is logged. */
void *pen_host_find_shared(const pen_host *host, size_t needed, const char *user, size_t *len);

/* ---- delivering ------------------------------------------------------------------------------ */

/* Delivers a frame by the cheaper of the host's two functions. The caller is inside its poll.
 * body may be anything when body_len is 0. */
static inline void pen_host_hand(const pen_host *host, pen_peer from, pen_lane lane,
                                 const void *head, uint32_t head_len, void *body, uint32_t body_len)
{
    if (body_len == 0 && lane != PEN_LANE_CONTROL && host->deliver_head[lane] != NULL)
        host->deliver_head[lane](host->ctx, from, head, head_len);
    else
        host->deliver(host->ctx, from, lane, head, head_len, body_len == 0 ? NULL : body, body_len);
}

/* ---- waking ---------------------------------------------------------------------------------- */

/* Returns the word that tells whether the peer sleeps. If the host has no such word, returns
 * `always`: it holds 1, so that the peer is woken after every frame. */
static inline const _Atomic uint32_t *pen_host_sleep_word(const pen_host *host, pen_peer peer,
                                                          const _Atomic uint32_t *always)
{
    const _Atomic uint32_t *word = host->sleeping != NULL ? host->sleeping(host->ctx, peer) : NULL;
    return word != NULL ? word : always;
}

/* Wakes the peer if it sleeps; call it after a frame for the peer was published. is_fenced: the
 * kernel of some rank has no membarrier, so every sender fences between its store and this load. */
static inline void pen_host_wake_sleeper(const pen_host *host, pen_peer peer,
                                         const _Atomic uint32_t *sleeping, bool is_fenced)
{
    if (pen_unlikely(is_fenced))
        pen_fence();                           /* pairs with the sleeper's */
    atomic_signal_fence(memory_order_seq_cst); /* the frame is written before the load */
    /* relaxed: pairs with the sleeper's membarrier, or with its fence */
    if (pen_unlikely(atomic_load_explicit(sleeping, memory_order_relaxed) != 0))
        host->wake(host->ctx, peer);
}

/* ---- lending --------------------------------------------------------------------------------- */

/* Context of the host that a wrapping link lends its inner link. It lives as long as that link. */
typedef struct pen_lender {
    const pen_host *above; /* the host of the wrapping link */
    void *owner;           /* the wrapping link, for the calls that it has replaced */
    pen_peer first;        /* added to a peer's number on its way up */
} pen_lender;

static inline void pen_lender_init(pen_lender *lender, const pen_host *above, void *owner)
{
    *lender = (pen_lender){ .above = above, .owner = owner };
}

/* Fills *out with calls that pass on to the host above, with `first` added to the numbers of
 * peers. The caller may then replace calls in *out; their context is the lender. There is no
 * poll_view, because a view shows the polls of one link only. */
void pen_host_lend(const pen_lender *lender, pen_host *out);

typedef void pen_deliver(void *ctx, pen_peer from, pen_lane lane, const void *head,
                         uint32_t head_len, void *body, uint32_t body_len);

/* Fills *out as pen_host_lend does, but frames go to the wrapping link's own function, whose
 * context is the lender. `owner` is the wrapping link. */
void pen_host_intercept(pen_lender *lender, const pen_host *above, void *owner,
                        pen_deliver *deliver, pen_host *out);

#endif
