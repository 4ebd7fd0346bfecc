/* SPDX-License-Identifier: BSD-3-Clause */
/* link_window.c: the window: credits of each lane, the word behind each head, and notes.
 *
 * The lock guards the credits and all that is owed to peers. The engine's poll lock guards the
 * arguments of the present poll and the kept frames. */
#include "link/window.h"

#include "base/status.h"
#include "conduit/conduit.h"
#include "credit/credit.h"
#include "diag/counters.h"
#include "diag/log.h"
#include "link/host.h"
#include "link/mailbox.h"
#include "link/turns.h"
#include "link/window_internal.h"
#include "os/lock.h"

#include <string.h>

/* ---- units and words ------------------------------------------------------------------------- */

/* Credits for a frame of the inner link with this many bytes of head and body. */
uint32_t window_units(const window_link *link, size_t len)
{
    size_t charge = len + link->overhead;
    if (link->grain > 1)
        charge = (charge + link->grain - 1) / link->grain * link->grain;
    return (uint32_t)((charge + link->unit_len - 1) / link->unit_len);
}

static window_word word_at_end(const void *head, uint32_t head_len)
{
    window_word word;
    memcpy(&word, (const char *)head + head_len - sizeof word, sizeof word);
    return word;
}

bool pen_window_is_note(const pen_frame *frame)
{
    const window_word word = word_at_end(frame->head, frame->head_len);
    return frame->head_len == sizeof word && window_word_kind(&word) != WORD_FRAME;
}

/* ---- what is owed to a peer ------------------------------------------------------------------ */

/* Notes what a message of the receiver tells the peer. */
static void note_message(window_link *link, pen_peer to, unsigned lane,
                         const pen_credit_message *message)
{
    window_peer *peer = &link->peer[to];
    peer->raised[lane] += (uint32_t)message->raised;
    if (message->kind == PEN_CREDIT_RECALL) {
        peer->recalled[lane] = (uint16_t)message->count;
        peer->recalls |= (uint8_t)PEN_LANE_BIT(lane);
        return;
    }
    peer->owed[lane] += message->count;
    if (message->epoch)
        peer->epochs |= (uint8_t)PEN_LANE_BIT(lane);
}

/* Takes the grants that a frame to the peer may carry: those of its own lane and the lanes before.
 * A peer that waits to send replies reads no requests, so a request must not carry their grants. */
static void collect_rides(window_link *link, pen_peer to, pen_lane carrier)
{
    for (unsigned lane = 0; lane <= carrier; lane++) {
        pen_credit_receiver *receiver = link->lanes[lane].receiver;
        pen_credit_message message;
        if (pen_credit_receiver_is_worth_a_ride(receiver, to) &&
            pen_credit_receiver_ride(receiver, to, UINT32_MAX, &message))
            note_message(link, to, lane, &message);
    }
}

/* Takes the grants that are due, whether a frame goes to the peer or not. */
static void collect_due(window_link *link, unsigned lane)
{
    pen_credit_receiver *receiver = link->lanes[lane].receiver;
    pen_credit_message message;
    uint32_t peer;
    while (pen_credit_receiver_has_next(receiver) &&
           pen_credit_receiver_next(receiver, &peer, &message)) {
        note_message(link, peer, lane, &message);
        (void)pen_turns_add(&link->debts, peer);
    }
}

/* Takes the answers to recalls. */
static void collect_answers(window_link *link, unsigned lane)
{
    pen_credit_sender *sender = link->lanes[lane].sender;
    pen_credit_message message;
    uint32_t peer;
    while (pen_credit_sender_has_next(sender) && pen_credit_sender_next(sender, &peer, &message)) {
        link->peer[peer].given[lane] = (uint16_t)message.count;
        link->peer[peer].gives |= (uint8_t)PEN_LANE_BIT(lane);
        (void)pen_turns_add(&link->debts, peer);
    }
}

static uint32_t least_of(uint32_t a, uint32_t b) { return a < b ? a : b; }

/* Packs the numbers of a word for a link that lends. What does not fit goes with the next word. */
static void add_loans(const window_peer *peer, pen_lane carrier, window_word *word)
{
    for (unsigned lane = 0; lane <= carrier; lane++)
        word->granted[lane] =
            (uint16_t)(least_of(peer->owed[lane], WORD_COUNT_MAX) |
                       least_of(peer->raised[lane], WORD_RAISED_MAX) << WORD_COUNT_BITS);
    const unsigned lanes = (2U << carrier) - 1;
    word->kind |= (uint8_t)((peer->epochs & lanes) << WORD_KIND_BITS);
}

static window_word word_for(const window_link *link, pen_peer to, pen_lane carrier,
                            enum word_kind kind, pen_credit_tag tag)
{
    const window_peer *peer = &link->peer[to];
    window_word word = { (uint8_t)kind, tag.need, { 0 } };
    for (unsigned lane = 0; lane <= carrier; lane++)
        word.granted[lane] = (uint16_t)peer->owed[lane];
    if (link->lends)
        add_loans(peer, carrier, &word);
    return word;
}

static void settle_debts(const window_link *link, pen_peer to, const window_word *word)
{
    window_peer *peer = &link->peer[to];
    for (unsigned lane = 0; lane < PEN_LANES; lane++) {
        const uint32_t granted = word->granted[lane];
        peer->owed[lane] -= link->lends ? granted & WORD_COUNT_MAX : granted;
        if (link->lends)
            peer->raised[lane] -= granted >> WORD_COUNT_BITS;
    }
    peer->epochs &= (uint8_t)~window_word_epochs(word);
}

/* Returns whether a note has grants to carry. */
static bool is_owed(const window_peer *peer)
{
    uint32_t owed = peer->epochs;
    for (unsigned lane = 0; lane < PEN_LANES; lane++)
        owed |= peer->owed[lane] | peer->raised[lane];
    return owed != 0;
}

/* Returns false if the inner link has no room for the note now. */
static bool post_note(const window_link *link, pen_peer to, const window_word *word)
{
    pen_link *inner = link->pass.inner;
    const pen_frame note = { word, NULL, sizeof *word, 0 };
    inner->may_gather = false;
    return inner->ops->post(inner, to, PEN_LANE_CONTROL, &note, NULL) != PEN_POST_AGAIN;
}

static bool post_counts(const window_link *link, pen_peer to, enum word_kind kind, uint8_t *lanes,
                        const uint16_t *counts)
{
    window_word word = { (uint8_t)kind, *lanes, { 0 } };
    for (unsigned lane = 0; lane < PEN_LANES; lane++)
        word.granted[lane] = (*lanes & PEN_LANE_BIT(lane)) != 0 ? counts[lane] : 0;
    if (*lanes != 0 && !post_note(link, to, &word))
        return false;
    *lanes = 0;
    return true;
}

/* Sends all that is owed to the peer. Returns false if the inner link has no room for it now. */
static bool send_note(const window_link *link, pen_peer to)
{
    window_peer *peer = &link->peer[to];
    while (is_owed(peer)) {
        const window_word word =
            word_for(link, to, PEN_LANE_CONTROL, WORD_NOTE, (pen_credit_tag){ 0 });
        if (!post_note(link, to, &word))
            return false;
        settle_debts(link, to, &word);
    }
    return post_counts(link, to, WORD_RECALL, &peer->recalls, peer->recalled) &&
           post_counts(link, to, WORD_GIVE, &peer->gives, peer->given);
}

/* Sends a note to each peer whose grants no frame has carried. */
static void send_notes(window_link *link)
{
    pen_lock_take(&link->pass.lock);
    for (uint32_t left = link->debts.count; left > 0; left--) {
        const pen_peer peer = pen_turns_take(&link->debts);
        if (!link->peer[peer].is_lost && !send_note(link, peer))
            (void)pen_turns_add(&link->debts, peer);
    }
    pen_lock_drop(&link->pass.lock);
}

/* ---- posting --------------------------------------------------------------------------------- */

typedef struct window_post {
    pen_peer to;
    pen_lane lane;
    uint32_t units;
    pen_credit_tag tag;
    window_word word;
    uint64_t head[PEN_FRAME_HEAD_COUNTED_MAX / 8];
} window_post;

/* Takes the credits of a frame and writes its head. Returns the answer if it cannot go. */
static pen_post begin_post(window_link *link, window_post *post, const void *head,
                           uint32_t head_len, uint32_t body_len)
{
    if (link->peer[post->to].is_lost)
        return PEN_POST_FAILED;
    post->units = window_units(link, (size_t)head_len + sizeof post->word + body_len);
    /* Lanes have credits of their own, so that no frame has to leave some for another lane. */
    if (!pen_credit_sender_take_slots(link->lanes[post->lane].sender, post->to, PEN_CREDIT_REPLY,
                                      post->units, &post->tag))
        return PEN_POST_AGAIN;
    collect_rides(link, post->to, post->lane);
    post->word = word_for(link, post->to, post->lane, WORD_FRAME, post->tag);
    memcpy(post->head, head, head_len);
    memcpy((char *)post->head + head_len, &post->word, sizeof post->word);
    return PEN_POST_DONE;
}

static pen_post end_post(window_link *link, const window_post *post, pen_post result)
{
    if (result == PEN_POST_DONE || result == PEN_POST_PENDING) {
        settle_debts(link, post->to, &post->word);
        if (link->lends && is_owed(&link->peer[post->to])) /* more than a word holds */
            (void)pen_turns_add(&link->debts, post->to);
        return result;
    }
    pen_credit_sender_untake(link->lanes[post->lane].sender, post->to, post->units, post->tag);
    if (is_owed(&link->peer[post->to])) /* the grants that were to ride */
        (void)pen_turns_add(&link->debts, post->to);
    return result;
}

static pen_post window_post_frame(pen_link *base, pen_peer to, pen_lane lane,
                                  const pen_frame *frame, pen_op *op)
{
    window_link *link = window_of(base);
    pen_link *inner = link->pass.inner;
    window_post post;
    post.to = to;
    post.lane = lane;
    pen_lock_take(&link->pass.lock);
    pen_post result = begin_post(link, &post, frame->head, frame->head_len, frame->body_len);
    if (result == PEN_POST_DONE) {
        const pen_frame longer = { post.head, frame->body,
                                   frame->head_len + (uint32_t)sizeof post.word, frame->body_len };
        inner->may_gather = base->may_gather;
        result = end_post(link, &post, inner->ops->post(inner, to, lane, &longer, op));
    }
    pen_lock_drop(&link->pass.lock);
    return result;
}

static pen_post window_post_behind(pen_link *base, pen_peer to, pen_lane lane, const void *head,
                                   uint32_t head_len)
{
    window_link *link = window_of(base);
    pen_link *inner = link->pass.inner;
    window_post post;
    post.to = to;
    post.lane = lane;
    pen_lock_take(&link->pass.lock);
    pen_post result = begin_post(link, &post, head, head_len, 0);
    if (result == PEN_POST_DONE)
        result = end_post(
            link, &post,
            inner->behind->post(inner, to, lane, post.head, head_len + (uint32_t)sizeof post.word));
    pen_lock_drop(&link->pass.lock);
    return result;
}

/* ---- receiving ------------------------------------------------------------------------------- */

static pen_status hear_grant(const window_link *link, pen_peer from, unsigned lane,
                             const window_word *word)
{
    pen_credit_message grant = { PEN_CREDIT_GRANT, word->granted[lane], 0, false };
    if (link->lends) {
        grant.count = word->granted[lane] & WORD_COUNT_MAX;
        grant.raised = word->granted[lane] >> WORD_COUNT_BITS;
        grant.epoch = (window_word_epochs(word) & PEN_LANE_BIT(lane)) != 0;
    }
    if (grant.count == 0 && grant.raised == 0 && !grant.epoch)
        return PEN_OK;
    return pen_credit_sender_hear(link->lanes[lane].sender, from, &grant);
}

static pen_status hear_recall(window_link *link, pen_peer from, unsigned lane, uint16_t count)
{
    const pen_credit_message recall = { PEN_CREDIT_RECALL, count, 0, false };
    pen_status status = pen_credit_sender_hear(link->lanes[lane].sender, from, &recall);
    collect_answers(link, lane);
    return status;
}

static pen_status hear_answer(window_link *link, pen_peer from, unsigned lane, uint16_t count)
{
    const pen_credit_message answer = { PEN_CREDIT_GIVE, count, 0, false };
    pen_status status = pen_credit_receiver_hear(link->lanes[lane].receiver, from, &answer);
    collect_due(link, lane);
    return status;
}

/* Reads what the word says about credits. */
static pen_status hear_word(window_link *link, pen_peer from, const window_word *word)
{
    const unsigned kind = window_word_kind(word);
    pen_status status = PEN_OK;
    for (unsigned lane = 0; lane < PEN_LANES && status == PEN_OK; lane++) {
        bool is_named = (word->need & PEN_LANE_BIT(lane)) != 0;
        if (kind == WORD_RECALL && is_named)
            status = hear_recall(link, from, lane, word->granted[lane]);
        else if (kind == WORD_GIVE && is_named)
            status = hear_answer(link, from, lane, word->granted[lane]);
        else if (kind == WORD_FRAME || kind == WORD_NOTE)
            status = hear_grant(link, from, lane, word);
    }
    return status;
}

/* Counts a frame that has come. */
static pen_status count_arrival(const window_link *link, pen_peer from, pen_lane lane,
                                uint32_t units, uint8_t need)
{
    pen_credit_receiver *receiver = link->lanes[lane].receiver;
    pen_credit_tag tag = { .need = need };
    pen_status status = PEN_OK;
    for (uint32_t i = 0; i < units && status == PEN_OK; i++) {
        status = pen_credit_receiver_arrived(receiver, from, tag);
        tag.need = 0;
    }
    return status;
}

/* Reports that the inner link has room again for a frame that was taken. */
static void count_freed(window_link *link, pen_peer from, pen_lane lane, uint32_t units)
{
    pen_lock_take(&link->pass.lock);
    for (uint32_t i = 0; i < units; i++)
        pen_credit_receiver_freed(link->lanes[lane].receiver, from);
    collect_due(link, lane);
    pen_lock_drop(&link->pass.lock);
}

static bool is_well_formed(const window_link *link, pen_lane lane, uint32_t head_len,
                           const window_word *word)
{
    const unsigned kind = window_word_kind(word), epochs = window_word_epochs(word);
    if (epochs != 0 && (!link->lends || epochs > PEN_LANES_ALL))
        return false;
    if (kind == WORD_NOTE || (link->lends && (kind == WORD_RECALL || kind == WORD_GIVE)))
        return head_len == sizeof *word && lane == PEN_LANE_CONTROL;
    return kind == WORD_FRAME && head_len >= 8 + sizeof *word &&
           head_len <= PEN_FRAME_HEAD_COUNTED_MAX;
}

static pen_status hear_frame(window_link *link, pen_peer from, pen_lane lane,
                             const pen_frame *frame, const window_word *word, uint32_t units)
{
    if (!is_well_formed(link, lane, frame->head_len, word))
        return PEN_ERR_PROTOCOL;
    pen_status status = hear_word(link, from, word);
    return status == PEN_OK ? count_arrival(link, from, lane, units, word->need) : status;
}

static void lose(const window_link *link, pen_peer from, pen_status why)
{
    const pen_host *host = link->pass.base.host;
    host->log(host->ctx, PEN_LOG_ERROR, "cannot take frames of rank %u any longer: %s", from,
              why == PEN_ERR_PROTOCOL ? "it sent one without credit, or granted impossible credits"
                                      : "there is no memory to keep one");
    host->peer_lost(host->ctx, from, why);
}

/* Takes the word of a frame that has come. Returns whether the frame is to be delivered. */
static bool take_word(window_link *link, pen_peer from, pen_lane lane, const pen_frame *frame,
                      uint32_t *units)
{
    const window_word word = word_at_end(frame->head, frame->head_len);
    bool is_frame = window_word_kind(&word) == WORD_FRAME;
    *units = is_frame ? window_units(link, (size_t)frame->head_len + frame->body_len) : 0;
    pen_lock_take(&link->pass.lock);
    bool was_lost = link->peer[from].is_lost;
    pen_status status = was_lost ? PEN_OK : hear_frame(link, from, lane, frame, &word, *units);
    link->peer[from].is_lost = was_lost || status != PEN_OK;
    pen_lock_drop(&link->pass.lock);
    if (status != PEN_OK)
        lose(link, from, status);
    return status == PEN_OK && !was_lost && is_frame;
}

/* Keeps a frame of CONTROL for a later poll. */
static void keep(window_link *link, pen_peer from, const pen_frame *frame, uint32_t units)
{
    if (pen_lanes_keep(&link->kept, from, PEN_LANE_CONTROL, frame, units))
        return;
    pen_lock_take(&link->pass.lock);
    link->peer[from].is_lost = true;
    pen_lock_drop(&link->pass.lock);
    lose(link, from, PEN_ERR_MEMORY);
}

void window_deliver(void *ctx, pen_peer from, pen_lane lane, const void *head, uint32_t head_len,
                    void *body, uint32_t body_len)
{
    window_link *link = (window_link *)((const pen_lender *)ctx)->owner;
    pen_frame frame = { head, body, head_len, body_len };
    uint32_t units;
    if (!take_word(link, from, lane, &frame, &units))
        return;
    frame.head_len -= (uint32_t)sizeof(window_word);
    /* Only CONTROL comes though the engine did not ask for it. */
    if ((link->asked & PEN_LANE_BIT(lane)) == 0) {
        keep(link, from, &frame, units);
        return;
    }
    pen_host_hand(link->pass.base.host, from, lane, head, frame.head_len, body, body_len);
    count_freed(link, from, lane, units);
}

/* Delivers frames of CONTROL that were kept; returns how many. */
static unsigned deliver_kept(window_link *link, unsigned budget)
{
    unsigned count = 0;
    pen_kept *kept;
    while (count < budget && (kept = pen_lanes_take(&link->kept, link->asked)) != NULL) {
        pen_host_hand(link->pass.base.host, kept->from, kept->lane, pen_kept_head(kept),
                      kept->head_len, pen_kept_body(kept), kept->body_len);
        count_freed(link, kept->from, kept->lane, (uint32_t)kept->tag);
        pen_lanes_give(&link->kept, kept);
        count++;
    }
    return count;
}

/* Notes travel in CONTROL, so the inner link is always asked for it. While the budget leaves kept
 * frames, it is not polled, so that none overtakes them. */
static unsigned window_poll(pen_link *base, unsigned lanes, unsigned budget)
{
    window_link *link = window_of(base);
    pen_link *inner = link->pass.inner;
    link->asked = lanes;
    unsigned count = link->kept.total != 0 ? deliver_kept(link, budget) : 0;
    if (count < budget)
        count += inner->ops->poll(inner, lanes | PEN_LANE_BIT(PEN_LANE_CONTROL), budget - count);
    send_notes(link);
    return count;
}

/* ---- families -------------------------------------------------------------------------------- */

const pen_behind_ops window_behind = { .post = window_post_behind };

/* A note that found no room has to be tried again, and a kept frame may be asked for next. */
static uint64_t window_due_ns(pen_link *base)
{
    window_link *link = window_of(base);
    pen_lock_take(&link->pass.lock);
    bool has_work = link->debts.count != 0;
    pen_lock_drop(&link->pass.lock);
    return has_work || link->kept.total != 0 ? 0 : pen_passing_due_ns(&link->pass);
}

const pen_due_ops window_due = { .due_ns = window_due_ns };

/* Does not wait for the lock: a signal handler may call it while its thread holds the lock. The
 * sums are over all lanes. */
static bool window_count_peer(pen_link *base, pen_peer peer, pen_peer_counters *out)
{
    window_link *link = window_of(base);
    if (peer >= link->peers || !pen_lock_try(&link->pass.lock))
        return false;
    *out = (pen_peer_counters){ 0 };
    for (unsigned lane = 0; lane < PEN_LANES; lane++)
        pen_credits_count(link->lanes[lane].sender, link->lanes[lane].receiver, peer, out);
    pen_lock_drop(&link->pass.lock);
    return true;
}

const pen_count_ops window_count = { .peer = window_count_peer };

/* ---- the five calls every link has ----------------------------------------------------------- */

static void window_close(pen_link *base)
{
    window_link *link = window_of(base);
    link->pass.inner->ops->close(link->pass.inner);
    window_free(link);
}

const pen_link_ops window_ops = {
    .close = window_close,
    .address = pen_passing_address,
    .connect = pen_passing_connect,
    .post = window_post_frame,
    .poll = window_poll,
};
