/* SPDX-License-Identifier: BSD-3-Clause */
/* window.h: bounded posting to a network that never says "full": a link around a reliable link
 * that declares an inbox_len. It posts a frame only if the receiver has granted room for it, and
 * otherwise answers AGAIN, so that the inner link never holds more than it declared. A rank that
 * floods a peer that does not poll stops after the peer's share of the inbox.
 *
 * Each lane has credits of its own (src/credit), so that replies find room behind any number of
 * requests, and control behind both. One credit is a unit of the inbox; a frame takes as many as
 * its bytes need. Of the inbox, CONTROL gets the least share that lets the longest frame pass,
 * and REQUEST and REPLY get half of the rest each. Every peer has the same share of a lane, which
 * never changes (policy "static"). If the inner link asks for it (caps.inbox_lends), REQUEST and
 * REPLY use policy "loan" instead: peers begin with a part of their share, and the rest is a
 * reserve that is lent to peers that stall, and asked back from peers that do not. The least share
 * lets the longest frame pass. Neither policy needs order among frames: each message about credits
 * changes sums by a number, whichever comes first.
 *
 * Grants travel in a word of 8 bytes behind the head of each frame, which the contract makes room
 * for (PEN_FRAME_HEAD_COUNTED_MAX). A frame carries grants of its lane and the lanes before only:
 * a rank whose replies wait for grants reads no requests. The engine's head keeps its place, so
 * neither side copies a body. If no frame goes to a peer that needs grants, the link sends a note
 * at the end of a poll: a frame in CONTROL that is nothing but the word. Notes take no credits; at
 * most PEN_WINDOW_NOTES of them from each peer are in an inbox, or PEN_WINDOW_NOTES_LENT: notes
 * also carry recalls and their answers, which never ride on frames. */
#ifndef PEN_LINK_WINDOW_H
#define PEN_LINK_WINDOW_H

#include "base/status.h"
#include "conduit/conduit.h"
#include "os/lock.h"

enum {
    PEN_WINDOW_CONTROL = 2, /* unconsumed grants in notes, for each peer and lane */
    PEN_WINDOW_NOTES = PEN_WINDOW_CONTROL * PEN_LANES,
    /* ... if room is lent: a recall and an answer of each lane may be under way, too. */
    PEN_WINDOW_NOTES_LENT = PEN_WINDOW_NOTES + 2 * PEN_LANES,
    PEN_WINDOW_WORD_LEN = 8,
};

/* Returns whether the link has to be wrapped. */
static inline bool pen_window_is_needed(const pen_link *link)
{
    return (link->caps.flags & PEN_CAP_RELIABLE) != 0 && link->caps.inbox_len != 0;
}

/* Makes the link around `inner`, which it owns from then on, and closes with itself. `lent` is the
 * host that inner was opened with; it is changed, so that inner delivers to the new link. `host`
 * is the engine's. Fails: the reason is logged; the caller still owns inner. */
pen_status pen_window_open(pen_link *inner, pen_host *lent, const pen_host *host, pen_peer peers,
                           pen_concurrency concurrency, pen_link **out);

/* Returns whether a frame of the inner link is a note. For networks made for tests. */
bool pen_window_is_note(const pen_frame *frame);

#endif
