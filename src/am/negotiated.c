/* SPDX-License-Identifier: BSD-3-Clause */
/* negotiated.c: messages whose length and buffer are agreed on before the payload is made.
 *
 * If the link can reserve frames, a library buffer is the body of a frame. The client then writes
 * the payload where the peer reads it. The target of a Long moves it to its destination when it
 * arrives. The buffer is never the destination itself, even if that is mapped, for four reasons.
 * The commit may be shorter than the buffer. It may be the first to name the destination. It may
 * never come. And until the handler runs, the target may use its memory. If the link cannot reserve
 * frames, or if the least length of a Long exceeds a frame, the buffer is library memory, kept with
 * the thread.
 *
 * A message from a client's buffer is sent as the calls without negotiation do. */
#include "am/am_internal.h"

#include "base/compiler.h"
#include "boot/wait_state.h"
#include "conduit/conduit.h"
#include "job/fatal.h"
#include "job/job.h"
#include "job/team.h"
#include "job/thread.h"
#include "os/lock.h"
#include "progress/progress.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Number of attempts to get a frame. Different threads of this rank may hold all frames, and
 * wait for this one before they commit. After that many attempts, a copy is used. */
enum { NP_TRIES_MAX = 1024 };

/* ---- descriptors ----------------------------------------------------------------------------- */

static pen_source_desc *np_desc(pen_thread *thread)
{
    if (thread->prepared == NULL)
        thread->prepared = calloc(1, sizeof *thread->prepared);
    if (thread->prepared == NULL)
        pen_job_fatal(thread->job,
                      "cannot prepare a thread's first message: calloc: %s; use fewer threads or "
                      "ranks",
                      strerror(errno));
    if (thread->prepared->live)
        pen_job_fatal(thread->job,
                      "gex_AM_Prepare...: this thread has neither committed nor cancelled the "
                      "message that it prepared before; do one of these first");
    return thread->prepared;
}

/* Long buffers are freed after each message; shorter ones stay for the next. */
static void np_end(pen_source_desc *desc)
{
    desc->live = false;
    if (desc->own_len <= desc->job->frame_max)
        return;
    free(desc->own);
    desc->own = NULL;
    desc->own_len = 0;
}

void pen_am_negotiated_close(pen_job *job)
{
    for (pen_thread *thread = &job->first_thread; thread != NULL; thread = thread->next) {
        if (thread->prepared == NULL)
            continue;
        free(thread->prepared->own);
        free(thread->prepared);
        thread->prepared = NULL;
    }
}

/* ---- buffers --------------------------------------------------------------------------------- */

static void np_use_own(pen_source_desc *desc, size_t len)
{
    if (desc->own == NULL || desc->own_len < len) {
        size_t new_len = len < desc->job->frame_max ? desc->job->frame_max : len;
        free(desc->own);
        desc->own = malloc(new_len);
        if (desc->own == NULL)
            pen_job_fatal(desc->job,
                          "cannot prepare a message of %zu bytes to rank %u: malloc: %s; prepare "
                          "smaller ones or start fewer ranks",
                          len, desc->jobrank, strerror(errno));
        desc->own_len = new_len;
    }
    desc->place = PEN_AM_PLACE_OWN;
    desc->address = desc->own;
    desc->size = len;
}

static bool np_reserve(pen_source_desc *desc, size_t len)
{
    pen_port *port = desc->route->port;
    pen_lock_take(&port->post_lock);
    void *body =
        port->link->zcopy->reserve(port->link, desc->route->peer, desc->lane, (uint32_t)len);
    pen_lock_drop(&port->post_lock);
    if (body == NULL)
        return false;
    desc->place = PEN_AM_PLACE_FRAME;
    desc->address = body;
    desc->size = len;
    return true;
}

/* Reserves the wanted length. If there is no room for it, reserves a shorter one that still
 * suffices. */
static bool np_reserve_between(pen_source_desc *desc, size_t least, size_t want)
{
    size_t less = want < PEN_AM_MEDIUM_LEAST ? want : PEN_AM_MEDIUM_LEAST;
    if (less < least)
        less = least;
    return np_reserve(desc, want) || (less < want && np_reserve(desc, less));
}

/* Returns false if the message is immediate and there is no room. */
static bool np_find_buffer(pen_source_desc *desc, const pen_am_terms *terms)
{
    pen_job *job = desc->job;
    size_t want = terms->most < job->frame_max ? terms->most : job->frame_max;
    if (terms->least > want) { /* a Long */
        np_use_own(desc, terms->least);
        return true;
    }
    if (desc->route->port->link->zcopy == NULL || pen_am_is_self(job, desc->route)) {
        np_use_own(desc, want);
        return true;
    }
    if (np_reserve_between(desc, terms->least, want))
        return true;
    if ((terms->flags & PEN_AM_IMMEDIATE) != 0)
        return false;
    if (desc->lane != PEN_LANE_REQUEST) { /* never waits */
        np_use_own(desc, want);
        return true;
    }
    pen_wait what = pen_wait_for(PEN_CALL_PREPARE, PEN_AWAITED_ROOM, desc->jobrank, NULL);
    pen_waiter waiter = pen_waiter_for(&job->progress, false, &what);
    pen_source_desc waiting = *desc; /* handlers that run in these polls may prepare replies */
    bool reserved;
    unsigned tries = 0;
    do {
        pen_wait_step(&waiter);
        reserved = np_reserve_between(&waiting, terms->least, want);
    } while (!reserved && ++tries < NP_TRIES_MAX);
    pen_wait_end(&waiter);
    waiting.own = desc->own;
    waiting.own_len = desc->own_len;
    *desc = waiting;
    if (!reserved)
        np_use_own(desc, want);
    return true;
}

static size_t np_len_max(const pen_source_desc *desc)
{
    const pen_am *am = desc->job->am;
    if (desc->category == PEN_AM_MEDIUM)
        return am->medium_long_max;
    return desc->lane == PEN_LANE_REQUEST ? am->long_request_max : am->long_reply_max;
}

static pen_source_desc *np_prepare(pen_source_desc *desc, const pen_am_terms *terms)
{
    size_t len_max = np_len_max(desc);
    if (terms->least > len_max || terms->least > terms->most)
        pen_job_fatal(desc->job,
                      "a message is prepared for %zu to %zu bytes: the least may be no more than "
                      "the most, and at most %zu; ask the limit queries",
                      terms->least, terms->most, len_max);
    desc->category = terms->category;
    desc->dest = terms->dest;
    desc->flags = terms->flags;
    if (terms->buffer != NULL) {
        desc->place = PEN_AM_PLACE_CLIENT;
        desc->address = (void *)(uintptr_t)terms->buffer;
        desc->size = terms->most < len_max ? terms->most : len_max;
    } else if (!np_find_buffer(desc, terms)) {
        return NULL;
    }
    desc->live = true;
    return desc;
}

pen_source_desc *pen_am_prepare_request(pen_thread *thread, pen_team *team, uint32_t rank,
                                        const pen_am_terms *terms)
{
    pen_am_check_rank(team, rank, "AMPrepareRequest");
    pen_am_check_member(team, rank);
    pen_source_desc *desc = np_desc(thread);
    desc->job = team->job;
    desc->category = terms->category;
    desc->jobrank = pen_team_jobrank(team, rank);
    desc->route = &team->job->routes[desc->jobrank];
    desc->lane = PEN_LANE_REQUEST;
    desc->token = NULL;
    return np_prepare(desc, terms);
}

pen_source_desc *pen_am_prepare_reply(pen_thread *thread, pen_token *token,
                                      const pen_am_terms *terms)
{
    if (pen_unlikely(token->replied))
        pen_am_bad_reply(token);
    pen_source_desc *desc = np_desc(thread);
    desc->job = token->job;
    desc->category = terms->category;
    desc->jobrank = token->from;
    desc->route = &token->job->routes[token->from];
    desc->lane = PEN_LANE_REPLY;
    desc->token = token;
    desc = np_prepare(desc, terms);
    token->replied = desc != NULL;
    return desc;
}

/* ---- committing ------------------------------------------------------------------------------ */

static pen_am_long np_long(const pen_source_desc *desc, const pen_am_commit_terms *terms)
{
    return (pen_am_long){ .job = desc->job,
                          .source = desc->address,
                          .len = terms->len,
                          .dest = terms->dest,
                          .op = terms->op,
                          .jobrank = desc->jobrank,
                          .flags = terms->flags,
                          .lane = desc->lane,
                          .handler = terms->handler,
                          .arg_count = terms->arg_count };
}

/* The frame was reserved, so this cannot fail. */
static void np_commit_frame(const pen_source_desc *desc, const pen_am_commit_terms *terms,
                            uint64_t *words)
{
    pen_port *port = desc->route->port;
    uint32_t len = (uint32_t)terms->len;
    pen_am_long message;
    pen_frame frame;
    if (desc->category == PEN_AM_LONG) {
        message = np_long(desc, terms);
        pen_am_long_aim(&message, words);
        frame = pen_am_long_frame(&message, len == 0 ? PEN_WIRE_OPAQUE : PEN_WIRE_BODY, len);
    } else {
        words[0] = pen_wire_head(pen_wire_kind(PEN_AM_MEDIUM, desc->lane, PEN_WIRE_BODY),
                                 terms->handler, terms->arg_count, len);
        frame = (pen_frame){ words, NULL, pen_wire_head_len(terms->arg_count), len };
    }
    pen_lock_take(&port->post_lock);
    port->link->zcopy->commit(port->link, desc->route->peer, desc->lane, desc->address, frame.head,
                              frame.head_len, len);
    pen_am_count_sent(desc->job, desc->route, 1, len);
    pen_lock_drop(&port->post_lock);
}

static int np_commit_copy(const pen_source_desc *desc, const pen_am_commit_terms *terms,
                          uint64_t *words)
{
    if (desc->category == PEN_AM_LONG) {
        pen_am_long message = np_long(desc, terms);
        return pen_am_long_send(&message, words);
    }
    if (desc->place == PEN_AM_PLACE_OWN && pen_am_is_self(desc->job, desc->route)) {
        words[0] = pen_wire_head(pen_wire_kind(PEN_AM_MEDIUM, desc->lane, PEN_WIRE_BODY),
                                 terms->handler, terms->arg_count, (uint32_t)terms->len);
        pen_frame frame = { words, desc->address, pen_wire_head_len(terms->arg_count),
                            (uint32_t)terms->len };
        return pen_am_run_in_place(desc->job, desc->lane, &frame);
    }
    pen_am_medium message = { desc->job, desc->route,  desc->address, terms->len,
                              terms->op, terms->flags, desc->lane,    terms->handler };
    return pen_am_medium_send(&message, terms->arg_count, words);
}

static void np_check(const pen_source_desc *desc, const pen_am_commit_terms *terms)
{
    if (pen_unlikely(terms->handler < PEN_AM_HANDLER_FIRST))
        pen_am_bad_handler(desc->job, terms->handler);
    if (pen_unlikely(terms->len > desc->size))
        pen_job_fatal(desc->job,
                      "a message is committed with %zu bytes: %zu were prepared; commit no more "
                      "than gex_AM_SrcDescSize",
                      terms->len, desc->size);
    if (pen_unlikely(desc->dest != NULL && terms->dest != desc->dest))
        pen_job_fatal(desc->job,
                      "a Long is committed to %p and was prepared for %p: give the same "
                      "destination, or none when preparing",
                      terms->dest, desc->dest);
}

int pen_am_commit(pen_source_desc *desc, const pen_am_commit_terms *terms, uint64_t *words)
{
    np_check(desc, terms);
    /* While a request waits for room, handlers run here and may prepare replies. */
    pen_source_desc mine = *desc;
    if (mine.place == PEN_AM_PLACE_FRAME) {
        np_commit_frame(&mine, terms, words);
        desc->live = false;
        return 0;
    }
    bool owns = mine.place == PEN_AM_PLACE_OWN;
    desc->live = mine.lane != PEN_LANE_REQUEST;
    if (owns)
        desc->own = NULL, desc->own_len = 0;
    int refused = np_commit_copy(&mine, terms, words);
    if (owns) {
        free(desc->own);
    } else {
        mine.own = desc->own;
        mine.own_len = desc->own_len;
    }
    *desc = mine;
    if (refused == 0)
        np_end(desc);
    return refused;
}

void pen_am_cancel(pen_source_desc *desc)
{
    if (desc->place == PEN_AM_PLACE_FRAME) {
        pen_port *port = desc->route->port;
        pen_lock_take(&port->post_lock);
        port->link->zcopy->cancel(port->link, desc->route->peer, desc->lane, desc->address);
        pen_lock_drop(&port->post_lock);
    }
    if (desc->token != NULL)
        desc->token->replied = false;
    np_end(desc);
}
