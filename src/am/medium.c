/* SPDX-License-Identifier: BSD-3-Clause */
/* medium.c: outgoing Mediums. If the link's express entry takes the message, it is used, under
 * the lock if threads share the link. Otherwise the message is posted as a frame. */
#include "am/am.h"

#include "am/am_internal.h"
#include "base/compiler.h"
#include "conduit/conduit.h"
#include "job/express.h"
#include "job/job.h"
#include "job/team.h"
#include "os/lock.h"
#include "pen_config.h"

/* A body that the link copies is posted at once. All other bodies, and those that found no
 * room, are pushed. */
static int am_send_body(pen_job *job, const pen_route *route, pen_lane lane, const pen_frame *frame,
                        uint32_t flags)
{
    if (pen_likely(frame->body_len <= route->port->link->caps.frame_copy_max) &&
        pen_likely(pen_am_post(job, route, lane, frame) != PEN_POST_AGAIN))
        return 0;
    return pen_am_push(job, route, lane, frame, flags);
}

static inline uint64_t am_medium_head(pen_lane lane, uint32_t handler, unsigned arg_count,
                                      size_t len)
{
    return pen_wire_head(pen_wire_kind(PEN_AM_MEDIUM, lane, PEN_WIRE_BODY), handler, arg_count,
                         (uint32_t)len);
}

/* Ends the job if the message cannot be sent. */
static inline pen_frame am_medium_frame(pen_job *job, pen_lane lane, uint8_t handler,
                                        const void *source, size_t len, unsigned arg_count,
                                        uint64_t *words)
{
    if (pen_unlikely(len > job->am->medium_long_max))
        pen_am_bad_len(job, lane == PEN_LANE_REQUEST ? "Medium request" : "Medium reply", handler,
                       len, job->am->medium_long_max);
    pen_am_check_handler(job, handler);
    words[0] = am_medium_head(lane, handler, arg_count, len);
    return (pen_frame){ words, source, pen_wire_head_len(arg_count), (uint32_t)len };
}

int pen_am_medium_send(const pen_am_medium *message, unsigned arg_count, uint64_t *words)
{
    pen_job *job = message->job;
    pen_frame frame = am_medium_frame(job, message->lane, message->handler, message->source,
                                      message->len, arg_count, words);
    if (pen_unlikely(pen_am_is_self(job, message->route)))
        return pen_am_run_here(job, message->lane, &frame);
    if (pen_unlikely(message->op != NULL))
        return pen_am_push_for(job, message->route, message->lane, &frame, message->flags,
                               message->op);
    return am_send_body(job, message->route, message->lane, &frame, message->flags);
}

/* Builds the frame, and sends it. */
static inline int am_send_medium(pen_am_call *call, pen_lane lane)
{
    if (pen_unlikely(pen_am_is_self(call->job, call->route)))
        return pen_am_run_here(call->job, lane, &call->frame);
    if (pen_unlikely(call->frame.body_len > call->route->port->link->caps.frame_copy_max))
        return pen_am_push_call(call);
    return pen_am_send(call, lane);
}

/* Sends through an express entry that takes it, and counts. words[0] is complete. */
static inline int am_medium_express(pen_job *job, const pen_express_table *table,
                                    pen_express *entry, const uint64_t *words, uint32_t head_len,
                                    const void *source, size_t len)
{
    job->counters.am_sent_shm++;
    job->counters.am_bytes_shm += len;
    return table->ops.body(entry, words, head_len, source, (uint32_t)len);
}

/* Express path under the lock, if several threads share the link. Returns false without any
 * effect if it cannot send. */
static inline bool am_medium_locked(pen_job *job, pen_express *entry, const uint64_t *words,
                                    const void *source, size_t len)
{
    pen_lock *lock = &job->progress.ports[0].post_lock;
    uint32_t head_len = pen_wire_head_len(pen_wire_arg_count(words[0]));
    if (!pen_lock_try_shared(lock))
        return false;
    bool is_taken = pen_express_takes(entry, head_len, len);
    if (pen_likely(is_taken))
        (void)am_medium_express(job, &job->shared_express, entry, words, head_len, source, len);
    pen_lock_drop_shared(lock);
    return is_taken;
}

static __attribute__((noinline)) int am_request_medium_slow(pen_team *team, uint32_t rank,
                                                            uint8_t handler, const void *source,
                                                            size_t len, uint32_t flags,
                                                            unsigned arg_count, uint64_t *words)
{
    pen_am_call call;
    pen_am_check_rank(team, rank, "AMRequestMedium");
    call.job = team->job;
    call.route = pen_team_route(team, rank);
    pen_am_go_on_with(call.job, call.route, len);
    call.token = NULL;
    call.flags = flags;
    call.frame =
        am_medium_frame(call.job, PEN_LANE_REQUEST, handler, source, len, arg_count, words);
    return am_send_medium(&call, PEN_LANE_REQUEST);
}

/* Out of line, so that the fast path stays short. */
static PEN_COLD int am_request_medium_elsewhere(pen_team *team, uint32_t rank, uint8_t handler,
                                                const void *source, size_t len, uint32_t flags,
                                                unsigned arg_count, uint64_t *words)
{
    pen_am_check_rank(team, rank, "AMRequestMedium");
    pen_am_check_member(team, rank);
    return am_request_medium_slow(team, rank, handler, source, len, flags, arg_count, words);
}

static __attribute__((noinline)) int am_request_medium_locked(pen_team *team, uint32_t rank,
                                                              uint32_t handler, const void *source,
                                                              size_t len, uint32_t flags,
                                                              unsigned arg_count, uint64_t *words)
{
    words[0] = am_medium_head(PEN_LANE_REQUEST, handler, arg_count, len);
    if (pen_likely(am_medium_locked(team->job, pen_express_at(&team->shared_express, rank), words,
                                    source, len)))
        return 0;
    return am_request_medium_slow(team, rank, (uint8_t)handler, source, len, flags, arg_count,
                                  words);
}

/* For links that threads share. */
static __attribute__((noinline)) int am_request_medium_shared(pen_team *team, uint32_t rank,
                                                              uint32_t handler, const void *source,
                                                              size_t len, uint32_t flags,
                                                              unsigned arg_count, uint64_t *words)
{
    if (!pen_is_only_thread())
        return am_request_medium_locked(team, rank, handler, source, len, flags, arg_count, words);
    pen_express *entry = pen_express_at(&team->shared_express, rank);
    uint32_t head_len = pen_wire_head_len(arg_count);
    if (!pen_express_takes(entry, head_len, len))
        return am_request_medium_slow(team, rank, (uint8_t)handler, source, len, flags, arg_count,
                                      words);
    words[0] = am_medium_head(PEN_LANE_REQUEST, handler, arg_count, len);
    return am_medium_express(team->job, &team->job->shared_express, entry, words, head_len, source,
                             len);
}

int pen_am_request_medium(pen_team *team, uint32_t rank, uint32_t handler, const void *source,
                          size_t len, uint32_t flags, unsigned arg_count, uint64_t *words)
{
    if (PEN_CHECKED)
        pen_am_check_handler(team->job, (uint8_t)handler);
    if (pen_likely(rank < team->express.count)) {
        pen_express *entry = pen_express_at(&team->express, rank);
        uint32_t head_len = pen_wire_head_len(arg_count);
        if (pen_likely(pen_express_takes(entry, head_len, len))) {
            words[0] = am_medium_head(PEN_LANE_REQUEST, handler, arg_count, len);
            return am_medium_express(team->job, &team->job->express, entry, words, head_len, source,
                                     len);
        }
    }
    if (rank < team->shared_express.count)
        return am_request_medium_shared(team, rank, handler, source, len, flags, arg_count, words);
    if (pen_unlikely((team->special & PEN_TEAM_ELSEWHERE) != 0))
        return am_request_medium_elsewhere(team, rank, (uint8_t)handler, source, len, flags,
                                           arg_count, words);
    return am_request_medium_slow(team, rank, (uint8_t)handler, source, len, flags, arg_count,
                                  words);
}

/* ---- replies --------------------------------------------------------------------------------- */

static __attribute__((noinline)) int am_reply_medium_slow(pen_token *token, uint8_t handler,
                                                          const void *source, size_t len,
                                                          uint32_t flags, unsigned arg_count,
                                                          uint64_t *words)
{
    pen_am_call call;
    if (pen_unlikely(token->replied))
        pen_am_bad_reply(token);
    call.job = token->job;
    call.route = &token->job->routes[token->from];
    call.token = token;
    call.flags = flags;
    call.frame = am_medium_frame(call.job, PEN_LANE_REPLY, handler, source, len, arg_count, words);
    token->replied = true; /* unless refused */
    return am_send_medium(&call, PEN_LANE_REPLY);
}

static __attribute__((noinline)) int am_reply_medium_locked(pen_token *token, uint8_t handler,
                                                            const void *source, size_t len,
                                                            uint32_t flags, unsigned arg_count,
                                                            uint64_t *words)
{
    pen_job *job = token->job;
    words[0] = am_medium_head(PEN_LANE_REPLY, handler, arg_count, len);
    if (pen_unlikely(!am_medium_locked(
            job, pen_express_at(&job->shared_express_replies, token->from), words, source, len)))
        return am_reply_medium_slow(token, handler, source, len, flags, arg_count, words);
    token->replied = true;
    return 0;
}

static __attribute__((noinline)) int am_reply_medium_shared(pen_token *token, uint8_t handler,
                                                            const void *source, size_t len,
                                                            uint32_t flags, unsigned arg_count,
                                                            uint64_t *words)
{
    pen_job *job = token->job;
    if (!pen_is_only_thread())
        return am_reply_medium_locked(token, handler, source, len, flags, arg_count, words);
    pen_express *entry = pen_express_at(&job->shared_express_replies, token->from);
    uint32_t head_len = pen_wire_head_len(arg_count);
    if (!pen_express_takes(entry, head_len, len))
        return am_reply_medium_slow(token, handler, source, len, flags, arg_count, words);
    words[0] = am_medium_head(PEN_LANE_REPLY, handler, arg_count, len);
    token->replied = true;
    return am_medium_express(job, &job->shared_express, entry, words, head_len, source, len);
}

int pen_am_reply_medium(pen_token *token, uint8_t handler, const void *source, size_t len,
                        uint32_t flags, unsigned arg_count, uint64_t *words)
{
    pen_job *job = token->job;
    pen_express *entry = pen_express_at(&job->express_replies, token->from);
    uint32_t head_len = pen_wire_head_len(arg_count);
    if (pen_unlikely(token->replied || handler < PEN_AM_HANDLER_FIRST))
        return am_reply_medium_slow(token, handler, source, len, flags, arg_count, words);
    if (pen_likely(pen_express_takes(entry, head_len, len))) {
        words[0] = am_medium_head(PEN_LANE_REPLY, handler, arg_count, len);
        token->replied = true;
        return am_medium_express(job, &job->express, entry, words, head_len, source, len);
    }
    if (job->shared_express_replies.step != 0)
        return am_reply_medium_shared(token, handler, source, len, flags, arg_count, words);
    return am_reply_medium_slow(token, handler, source, len, flags, arg_count, words);
}
