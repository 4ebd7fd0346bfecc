/* SPDX-License-Identifier: BSD-3-Clause */
/* am_send.c: outgoing requests, replies and internal messages. The first try runs straight through;
 * all exceptions are out of line. */
#include "am/am.h"

#include "am/am_internal.h"
#include "base/compiler.h"
#include "base/status.h"
#include "conduit/conduit.h"
#include "job/fatal.h"
#include "job/job.h"
#include "job/team.h"
#include "os/lock.h"
#include "progress/progress.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- bodies that a link keeps busy ----------------------------------------------------------- */

typedef struct am_copy { /* freed when it is reported done */
    pen_op op;
    _Alignas(16) char body[];
} am_copy;

static void am_copy_done(pen_op *op) { free(pen_container_of(op, am_copy, op)); }

static PEN_COLD pen_post am_post_copy(pen_job *job, const pen_route *route, pen_lane lane,
                                      const pen_frame *frame)
{
    am_copy *copy = malloc(sizeof *copy + frame->body_len);
    if (copy == NULL)
        pen_job_fatal(job,
                      "cannot send %u bytes to rank %u: malloc: %s; send smaller messages or start "
                      "fewer ranks",
                      frame->body_len, route->peer, strerror(errno));
    memcpy(copy->body, frame->body, frame->body_len);
    atomic_init(&copy->op.source_busy, 1);
    atomic_init(&copy->op.incomplete, 1);
    copy->op.shared = job->concurrency != PEN_ALONE;
    copy->op.then = am_copy_done;
    pen_frame own = *frame;
    own.body = copy->body;
    pen_post result = pen_port_post(route->port, route->peer, lane, &own, &copy->op);
    if (result != PEN_POST_PENDING) /* the link will not report it, so the copy is freed here */
        free(copy);
    return result == PEN_POST_PENDING ? PEN_POST_DONE : result;
}

pen_post pen_am_post_any(pen_job *job, const pen_route *route, pen_lane lane,
                         const pen_frame *frame)
{
    const pen_caps *caps = &route->port->link->caps;
    if (pen_unlikely(frame->body_len > caps->frame_copy_max) && !(caps->flags & PEN_CAP_COPIES))
        return am_post_copy(job, route, lane, frame);
    return pen_port_post(route->port, route->peer, lane, frame, NULL);
}

/* The lock also guards the counters of its route. */
pen_post pen_am_post_locked(pen_job *job, const pen_route *route, pen_lane lane,
                            const pen_frame *frame)
{
    pen_port *port = route->port;
    pen_lock_take_shared(&port->post_lock);
    pen_post result = port->link->ops->post(port->link, route->peer, lane, frame, NULL);
    if (pen_likely(result != PEN_POST_AGAIN))
        pen_am_count_sent(job, route, 1, frame->body_len);
    pen_lock_drop_shared(&port->post_lock);
    return result;
}

void pen_am_count_pushed(pen_job *job, const pen_route *route, size_t len)
{
    pen_lock_take(&route->port->post_lock);
    pen_am_count_sent(job, route, 1, len);
    pen_lock_drop(&route->port->post_lock);
}

/* ---- when the first try found no room -------------------------------------------------------- */

static void am_wait_for_room(pen_job *job, const pen_route *route, const pen_frame *frame)
{
    /* A peer that makes room does not wake this rank. So yield, but do not sleep. */
    pen_wait what = pen_am_wait_for_room(job, route);
    pen_waiter waiter = pen_waiter_for(&job->progress, false, &what);
    pen_job_count(job, &job->counters.again_room);
    pen_progress_publish(&job->progress); /* a rank that only sends shows itself here */
    do {
        pen_wait_step(&waiter);
    } while (pen_am_post_any(job, route, PEN_LANE_REQUEST, frame) == PEN_POST_AGAIN);
    pen_wait_end(&waiter);
}

void pen_am_queue(pen_job *job, const pen_route *route, pen_lane lane, const pen_frame *frame)
{
    pen_status status =
        pen_port_post_or_queue(route->port, &job->counters, route->peer, lane, frame);
    if (status == PEN_ERR_MEMORY)
        pen_job_fatal(job,
                      "cannot queue a reply of %u bytes to rank %u: malloc: %s; send smaller "
                      "messages or start fewer ranks",
                      frame->body_len, route->peer, strerror(errno));
    /* A reply to a lost peer is dropped: peer_lost has ended the job or is about to. */
}

/* The counts are raised first, and lowered again unless the link keeps the body; see pen_op. */
static pen_post am_post_for(const pen_route *route, pen_lane lane, const pen_frame *frame,
                            pen_op *op)
{
    pen_am_op_raise(op);
    pen_post result = pen_port_post(route->port, route->peer, lane, frame, op);
    if (result != PEN_POST_PENDING)
        pen_am_op_drop(op);
    return result;
}

int pen_am_push_for(pen_job *job, const pen_route *route, pen_lane lane, const pen_frame *frame,
                    uint32_t flags, pen_op *op)
{
    const pen_caps *caps = &route->port->link->caps;
    if (op == NULL || (flags & PEN_AM_COPY) != 0 || frame->body_len > caps->frame_max ||
        frame->body_len <= caps->frame_copy_max)
        return pen_am_push(job, route, lane, frame, flags);
    pen_wait what = pen_am_wait_for_room(job, route);
    pen_waiter waiter = pen_waiter_for(&job->progress, false, &what);
    while (am_post_for(route, lane, frame, op) == PEN_POST_AGAIN) {
        if ((flags & PEN_AM_IMMEDIATE) != 0)
            return 1;
        pen_wait_step(&waiter);
    }
    pen_wait_end(&waiter);
    pen_am_count_pushed(job, route, frame->body_len);
    return 0;
}

int pen_am_push_uncounted(pen_job *job, const pen_route *route, pen_lane lane,
                          const pen_frame *frame, uint32_t flags)
{
    if (pen_am_post_any(job, route, lane, frame) == PEN_POST_AGAIN) {
        if ((flags & PEN_AM_IMMEDIATE) != 0)
            return 1;
        if (lane == PEN_LANE_REQUEST)
            am_wait_for_room(job, route, frame);
        else
            pen_am_queue(job, route, lane, frame);
    }
    return 0;
}

int pen_am_push(pen_job *job, const pen_route *route, pen_lane lane, const pen_frame *frame,
                uint32_t flags)
{
    int refused = pen_unlikely(frame->body_len > route->port->link->caps.frame_max)
                      ? pen_am_push_parts(job, route, lane, frame, flags)
                      : pen_am_push_uncounted(job, route, lane, frame, flags);
    if (refused == 0)
        pen_am_count_pushed(job, route, frame->body_len);
    return refused;
}

/* ---- misuse, in every build ------------------------------------------------------------------ */

void pen_am_bad_handler(pen_job *job, uint8_t handler)
{
    pen_job_fatal(
        job,
        "an active message names handler %u: the library keeps indices below 128; use one "
        "that was registered",
        handler);
}

void pen_am_bad_rank(const pen_team *team, uint32_t rank, const char *call)
{
    pen_job_fatal(team->job, "%s: there is no rank %u in a team of %u; ranks count from 0", call,
                  rank, pen_am_ranks_of(team));
}

void pen_am_bad_len(pen_job *job, const char *what, uint8_t handler, size_t len, size_t len_max)
{
    pen_job_fatal(
        job,
        "a %s for handler %u has a payload of %zu bytes: at most %zu may be sent; ask the "
        "limit queries and send pieces",
        what, handler, len, len_max);
}

void pen_am_bad_reply(pen_token *token)
{
    const pen_am_entry *entry = pen_am_token_entry(token);
    const char *name = entry->name != NULL ? entry->name : "unnamed";
    pen_job_fatal(
        token->job, "handler %u (%s) replies %s", entry->index, name,
        token->is_request
            ? "a second time: one request may have one reply"
            : "to a reply: only the handler of a request may reply; send a request later");
}

/* ---- requests -------------------------------------------------------------------------------- */

static inline pen_lane am_lane(const pen_am_call *call)
{
    return call->token == NULL ? PEN_LANE_REQUEST : PEN_LANE_REPLY;
}

int pen_am_push_call(pen_am_call *call)
{
    int refused = pen_am_push(call->job, call->route, am_lane(call), &call->frame, call->flags);
    if (call->token != NULL)
        call->token->replied = refused == 0;
    return refused;
}

int pen_am_send_locked(pen_am_call *call)
{
    if (pen_likely(pen_am_post_locked(call->job, call->route, am_lane(call), &call->frame) !=
                   PEN_POST_AGAIN))
        return 0;
    return pen_am_push_call(call);
}

int pen_am_send_slow(pen_am_call *call)
{
    pen_am_count_sent(call->job, call->route, -1, call->frame.body_len);
    return pen_am_push_call(call);
}

/* words[0] is complete, here and in the callers. */
static inline int am_send_short(pen_am_call *call, pen_lane lane, const uint64_t *words)
{
    pen_am_check_handler(call->job, pen_wire_handler(words[0]));
    call->frame = (pen_frame){ words, NULL, pen_wire_head_len(pen_wire_arg_count(words[0])), 0 };
    if (pen_unlikely(pen_am_is_self(call->job, call->route)))
        return pen_am_run_here(call->job, lane, &call->frame);
    return pen_am_send(call, lane);
}

void pen_am_check_member_slow(const pen_team *team, uint32_t rank)
{
    const uint16_t index = pen_team_ep_index(team, rank);
    if ((index | team->endpoint->index) != 0)
        pen_job_fatal(
            team->job,
            "an active message from endpoint %u to endpoint %u of rank %u: only primordial "
            "endpoints (0) have GEX_EP_CAPABILITY_AM; use a pair or team of those",
            team->endpoint->index, index, pen_team_jobrank(team, rank));
}

/* Out of line, so that the fast path stays short. */
static __attribute__((noinline)) int am_request_short_slow(const pen_team *team, uint32_t rank,
                                                           uint32_t flags, const uint64_t *words)
{
    pen_am_check_member(team, rank);
    pen_am_call call;
    call.job = team->job;
    call.route = pen_team_route(team, rank);
    call.token = NULL;
    call.flags = flags;
    return am_send_short(&call, PEN_LANE_REQUEST, words);
}

static inline int am_request_short(const pen_team *team, uint32_t rank, uint32_t flags,
                                   const uint64_t *words)
{
    pen_am_check_rank(team, rank, "AMRequestShort");
    pen_am_go_on(team->job);
    if (pen_unlikely(team->special != 0))
        return am_request_short_slow(team, rank, flags, words);
    pen_am_call call;
    call.job = team->job;
    call.route = &team->job->routes[team->first + rank * team->stride];
    call.token = NULL;
    call.flags = flags;
    return am_send_short(&call, PEN_LANE_REQUEST, words);
}

int pen_am_request_short(pen_team *team, uint32_t rank, uint8_t handler, uint32_t flags,
                         unsigned arg_count, uint64_t *words)
{
    words[0] = pen_wire_head(pen_wire_kind(PEN_AM_SHORT, PEN_LANE_REQUEST, PEN_WIRE_BODY), handler,
                             arg_count, 0);
    return am_request_short(team, rank, flags, words);
}

int pen_am_request_words(uint32_t rank, uint64_t head, uint64_t a, uint64_t b, uint64_t c,
                         const pen_team *team)
{
    const uint64_t words[] = { (uint32_t)head, a, b, c };
    return am_request_short(team, rank, (uint32_t)(head >> 32), words);
}

static int am_request_long(pen_team *team, uint32_t rank, uint8_t handler,
                           const pen_am_payload *payload, uint32_t flags, unsigned arg_count,
                           const uint64_t *words)
{
    pen_job *job = team->job;
    pen_am_check_rank(team, rank, "AMRequestLong");
    pen_am_go_on(job);
    pen_am_check_member(team, rank);
    if (pen_unlikely(payload->len > job->am->long_request_max))
        pen_am_bad_len(job, "Long request", handler, payload->len, job->am->long_request_max);
    pen_am_check_handler(job, handler);
    pen_am_long message;
    message.job = job;
    message.jobrank = pen_team_jobrank(team, rank);
    message.lane = PEN_LANE_REQUEST;
    message.source = payload->source;
    message.len = payload->len;
    message.dest = payload->dest;
    message.op = payload->op;
    message.flags = flags;
    message.handler = handler;
    message.arg_count = arg_count;
    return pen_am_long_send(&message, words);
}

int pen_am_request_long(pen_team *team, uint32_t rank, uint8_t handler, const void *source,
                        size_t len, void *dest, uint32_t flags, unsigned arg_count, uint64_t *words)
{
    pen_am_payload payload = { source, len, dest, NULL };
    return am_request_long(team, rank, handler, &payload, flags, arg_count, words);
}

int pen_am_request_payload(pen_team *team, uint32_t rank, pen_am_category category, uint8_t handler,
                           const pen_am_payload *payload, uint32_t flags, unsigned arg_count,
                           uint64_t *words)
{
    if (category == PEN_AM_LONG)
        return am_request_long(team, rank, handler, payload, flags, arg_count, words);
    pen_am_check_rank(team, rank, "AMRequestMedium");
    pen_am_go_on(team->job);
    pen_am_check_member(team, rank);
    pen_am_medium message = { team->job,        pen_team_route(team, rank),
                              payload->source,  payload->len,
                              payload->op,      flags,
                              PEN_LANE_REQUEST, handler };
    return pen_am_medium_send(&message, arg_count, words);
}

/* ---- replies --------------------------------------------------------------------------------- */

static inline int am_reply_short(pen_token *token, uint32_t flags, const uint64_t *words)
{
    pen_am_call call;
    if (pen_unlikely(token->replied))
        pen_am_bad_reply(token);
    token->replied = true; /* unless refused */
    call.job = token->job;
    call.route = &token->job->routes[token->from];
    call.token = token;
    call.flags = flags;
    return am_send_short(&call, PEN_LANE_REPLY, words);
}

int pen_am_reply_short(pen_token *token, uint8_t handler, uint32_t flags, unsigned arg_count,
                       uint64_t *words)
{
    words[0] = pen_wire_head(pen_wire_kind(PEN_AM_SHORT, PEN_LANE_REPLY, PEN_WIRE_BODY), handler,
                             arg_count, 0);
    return am_reply_short(token, flags, words);
}

int pen_am_reply_words(pen_token *token, uint64_t head, uint64_t a, uint64_t b, uint64_t c)
{
    const uint64_t words[] = { (uint32_t)head | PEN_AM_REPLY_BITS, a, b, c };
    return am_reply_short(token, (uint32_t)(head >> 32), words);
}

int pen_am_reply_long(pen_token *token, uint8_t handler, const void *source, size_t len, void *dest,
                      uint32_t flags, unsigned arg_count, uint64_t *words)
{
    pen_job *job = token->job;
    if (pen_unlikely(token->replied))
        pen_am_bad_reply(token);
    if (pen_unlikely(len > job->am->long_reply_max))
        pen_am_bad_len(job, "Long reply", handler, len, job->am->long_reply_max);
    pen_am_check_handler(job, handler);
    pen_am_long message;
    message.job = job;
    message.jobrank = token->from;
    message.lane = PEN_LANE_REPLY;
    message.source = source;
    message.len = len;
    message.dest = dest;
    message.op = NULL; /* a reply that cannot be sent is copied */
    message.flags = flags;
    message.handler = handler;
    message.arg_count = arg_count;
    int refused = pen_am_long_send(&message, words);
    token->replied = refused == 0;
    return refused;
}

/* ---- the engine's own ------------------------------------------------------------------------ */

pen_frame pen_am_internal_frame(uint64_t *words, pen_lane lane, pen_am_internal index,
                                unsigned arg_count, const int32_t *args, const void *body,
                                uint32_t body_len)
{
    words[PEN_AM_WORDS(arg_count) - 1] = 0; /* the unused half if the count is odd; or the head */
    if (arg_count != 0)
        memcpy(&words[1], args, arg_count * sizeof *args);
    words[0] = pen_wire_head(pen_wire_kind(PEN_AM_INTERNAL, lane, PEN_WIRE_BODY), (uint8_t)index,
                             arg_count, body_len);
    return (pen_frame){ words, body_len == 0 ? NULL : body, pen_wire_head_len(arg_count),
                        body_len };
}

int pen_am_send_internal_for(pen_job *job, uint32_t jobrank, pen_am_internal index,
                             unsigned arg_count, const int32_t *args, const void *body,
                             uint32_t body_len, pen_op *op)
{
    const pen_route *route = &job->routes[jobrank];
    if (body_len <= route->port->link->caps.frame_copy_max)
        return pen_am_send_internal(job, jobrank, PEN_LANE_REQUEST, index, arg_count, args, body,
                                    body_len);
    uint64_t words[PEN_AM_WORDS_MAX];
    pen_frame frame =
        pen_am_internal_frame(words, PEN_LANE_REQUEST, index, arg_count, args, body, body_len);
    return am_post_for(route, PEN_LANE_REQUEST, &frame, op) == PEN_POST_AGAIN;
}

int pen_am_send_internal(pen_job *job, uint32_t jobrank, pen_lane lane, pen_am_internal index,
                         unsigned arg_count, const int32_t *args, const void *body,
                         uint32_t body_len)
{
    PEN_INVARIANT(arg_count <= PEN_AM_ARGS_MAX && body_len <= job->am->medium_max);
    uint64_t words[PEN_AM_WORDS_MAX];
    pen_frame frame = pen_am_internal_frame(words, lane, index, arg_count, args, body, body_len);
    const pen_route *route = &job->routes[jobrank];
    if (pen_am_post_any(job, route, lane, &frame) != PEN_POST_AGAIN)
        return 0;
    if (lane == PEN_LANE_REQUEST)
        return 1;
    pen_am_queue(job, route, lane, &frame);
    return 0;
}
