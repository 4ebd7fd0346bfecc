/* SPDX-License-Identifier: BSD-3-Clause */
/* am_internal.h: functions shared by the files of am/: posting a frame, and handling each result
 * of the post. */
#ifndef PEN_AM_AM_INTERNAL_H
#define PEN_AM_AM_INTERNAL_H

#include "am/wire.h"
#include "base/compiler.h"
#include "boot/wait_state.h"
#include "conduit/conduit.h"
#include "job/job.h"
#include "job/team.h"
#include "mem/mem.h"
#include "progress/progress.h"
#include "reach/reach.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Counts a sent message and its payload. The caller holds the port's post lock. count: 1, or -1 to
 * undo. */
static inline void pen_am_count_sent(pen_job *job, const pen_route *route, int count, size_t len)
{
    const uint64_t by = (uint64_t)(int64_t)count;
    if (pen_likely(route->same_host)) {
        job->counters.am_sent_shm += by;
        job->counters.am_bytes_shm += by * len;
    } else {
        job->counters.am_sent_net += by;
        job->counters.am_bytes_net += by * len;
    }
}

pen_post pen_am_post_locked(pen_job *job, const pen_route *route, pen_lane lane,
                            const pen_frame *frame);

/* Posts a client's frame whose body the link copies, and counts it. The count comes first, so
 * that no value has to survive the call; AGAIN undoes it. */
static inline pen_post pen_am_post(pen_job *job, const pen_route *route, pen_lane lane,
                                   const pen_frame *frame)
{
    pen_port *port = route->port;
    if (pen_unlikely(port->post_lock.shared))
        return pen_am_post_locked(job, route, lane, frame);
    pen_am_count_sent(job, route, 1, frame->body_len);
    pen_post result = port->link->ops->post(port->link, route->peer, lane, frame, NULL);
    if (pen_unlikely(result == PEN_POST_AGAIN))
        pen_am_count_sent(job, route, -1, frame->body_len);
    return result;
}

/* Posts a frame of any length. If the link would keep the body busy, a copy is posted, so that
 * no caller has to wait. Not counted. */
pen_post pen_am_post_any(pen_job *job, const pen_route *route, pen_lane lane,
                         const pen_frame *frame);

/* Counts as pen_am_count_sent does, and takes the post lock. */
void pen_am_count_pushed(pen_job *job, const pen_route *route, size_t len);

/* Queues a copy of a frame of lane REPLY or CONTROL that found no room. */
void pen_am_queue(pen_job *job, const pen_route *route, pen_lane lane, const pen_frame *frame);

/* Builds the frame of an internal message. words: room for PEN_AM_WORDS_MAX. */
pen_frame pen_am_internal_frame(uint64_t *words, pen_lane lane, pen_am_internal index,
                                unsigned arg_count, const int32_t *args, const void *body,
                                uint32_t body_len);

/* Sends a client's frame. A request polls until there is room; a reply is queued. With
 * PEN_AM_IMMEDIATE it returns non-zero, without any effect, if there is no room. */
int pen_am_push(pen_job *job, const pen_route *route, pen_lane lane, const pen_frame *frame,
                uint32_t flags);

/* Sends a frame as pen_am_push does, but does not count it as a message. */
int pen_am_push_uncounted(pen_job *job, const pen_route *route, pen_lane lane,
                          const pen_frame *frame, uint32_t flags);

/* Sends a Medium that is too long for a frame of the link: parts.c. */
PEN_COLD int pen_am_push_parts(pen_job *job, const pen_route *route, pen_lane lane,
                               const pen_frame *whole, uint32_t flags);
void pen_am_parts_open(pen_job *job);
void pen_am_parts_close(pen_am *am);

/* Sends a frame as pen_am_push does. op counts the body as busy while the link reads it. If op
 * is NULL, the link reads a copy. */
int pen_am_push_for(pen_job *job, const pen_route *route, pen_lane lane, const pen_frame *frame,
                    uint32_t flags, pen_op *op);

static inline void pen_am_op_raise(pen_op *op)
{
    /* relaxed: the code that lowers the counts gets the op through a lock or a release */
    atomic_fetch_add_explicit(&op->source_busy, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&op->incomplete, 1, memory_order_relaxed);
}

static inline void pen_am_op_drop(pen_op *op)
{
    pen_op_source_done(op);
    pen_op_done(op);
}

/* A client's frame in flight. Fields that only a second try needs are kept in memory beside the
 * frame, so that the first try holds no registers across the link's call. */
typedef struct pen_am_call {
    pen_frame frame;
    pen_job *job;
    const pen_route *route;
    pen_token *token; /* a reply counts as sent unless refused; NULL: a request */
    uint32_t flags;
} pen_am_call;

int pen_am_push_call(pen_am_call *call);
int pen_am_send_locked(pen_am_call *call);
PEN_COLD int pen_am_send_slow(pen_am_call *call); /* undoes the count */

/* Sends a frame without a body, or whose body the link copies. */
static inline int pen_am_send(pen_am_call *call, pen_lane lane)
{
    pen_port *port = call->route->port;
    if (pen_unlikely(port->post_lock.shared))
        return pen_am_send_locked(call);
    pen_am_count_sent(call->job, call->route, 1, call->frame.body_len);
    pen_link *link = port->link;
    if (pen_likely(link->ops->post(link, call->route->peer, lane, &call->frame, NULL) !=
                   PEN_POST_AGAIN))
        return 0;
    return pen_am_send_slow(call);
}

/* A Medium to any rank, whether request or reply. */
typedef struct pen_am_medium {
    pen_job *job;
    const pen_route *route;
    const void *source;
    size_t len;
    pen_op *op; /* see pen_am_payload */
    uint32_t flags;
    pen_lane lane;
    uint8_t handler;
} pen_am_medium;

int pen_am_medium_send(const pen_am_medium *message, unsigned arg_count, uint64_t *words);

/* Ends the job if this member cannot get requests: only primordial endpoints have messages. */
PEN_COLD void pen_am_check_member_slow(const pen_team *team, uint32_t rank);
static inline void pen_am_check_member(const pen_team *team, uint32_t rank)
{
    if (pen_unlikely((team->special & PEN_TEAM_ELSEWHERE) != 0))
        pen_am_check_member_slow(team, rank);
}

static inline uint32_t pen_am_ranks_of(const pen_team *team)
{
    return team->view.size != 0 ? team->view.size : team->job->size; /* 0: a pair */
}

PEN_COLD _Noreturn void pen_am_bad_rank(const pen_team *team, uint32_t rank, const char *call);
static inline void pen_am_check_rank(const pen_team *team, uint32_t rank, const char *call)
{
    if (pen_unlikely(rank >= pen_am_ranks_of(team)))
        pen_am_bad_rank(team, rank, call);
}

/* Lets a thread that only sends poll as well, so that messages to this rank are handled. */
static inline void pen_am_go_on(pen_job *job)
{
    enum { REQUEST_WEIGHT = PEN_GO_ON_EVERY / 8 }; /* express sends rarely get here */
    pen_progress_go_on(&job->progress, REQUEST_WEIGHT);
}

/* Does what pen_am_go_on does, for a message with a payload of len bytes. Between ranks of one
 * host, replies with long payloads soon find no more room, so this rank polls more often. */
static inline void pen_am_go_on_with(pen_job *job, const pen_route *route, size_t len)
{
    enum { REQUEST_WEIGHT = PEN_GO_ON_EVERY / 8, POLL_LEN = 8192 };
    const size_t more = len < POLL_LEN ? len / (POLL_LEN / PEN_GO_ON_EVERY) : PEN_GO_ON_EVERY;
    pen_progress_go_on(&job->progress, REQUEST_WEIGHT + (route->same_host ? (int32_t)more : 0));
}

/* ---- messages of a rank to itself (self.c) --------------------------------------------------- */

static inline bool pen_am_is_self(const pen_job *job, const pen_route *route)
{
    return route == &job->routes[job->rank];
}

/* Runs the handler at once, on a copy of the body. Returns 0. */
int pen_am_run_here(pen_job *job, pen_lane lane, const pen_frame *frame);
/* Runs the handler on the body itself, which is library memory that the handler may write to. */
int pen_am_run_in_place(pen_job *job, pen_lane lane, const pen_frame *frame);

PEN_COLD _Noreturn void pen_am_bad_len(pen_job *job, const char *what, uint8_t handler, size_t len,
                                       size_t len_max);
PEN_COLD _Noreturn void pen_am_bad_reply(pen_token *token);

/* ---- Longs ----------------------------------------------------------------------------------- */

typedef struct pen_am_long { /* an outgoing Long; words hold the head, arguments and destination */
    pen_job *job;
    const pen_route *route;
    const pen_remote_segment *segment;
    const void *source;
    size_t len;
    void *dest; /* an address of the target */
    pen_op *op; /* see pen_am_payload */
    uint64_t offset;
    uint32_t jobrank, flags;
    pen_lane lane;
    uint8_t handler;
    unsigned arg_count;
    uint64_t words[PEN_WIRE_WORDS_MAX];
} pen_am_long;

/* Runs an aimed Long of a rank to itself: moves the payload and runs the handler at once.
 * Returns 0. */
int pen_am_run_long_here(pen_am_long *message);

/* words: the caller's, as for a request. Returns as pen_am_request_long does. */
int pen_am_long_send(pen_am_long *message, const uint64_t *words);

/* Finds the route and, unless the Long is empty, the segment. Copies the words. Ends the job if
 * the destination is not valid. */
void pen_am_long_aim(pen_am_long *message, const uint64_t *words);

/* Builds the frame that runs the handler, without its body. */
pen_frame pen_am_long_frame(pen_am_long *message, pen_wire_place place, uint32_t body_len);

/* Posts that frame when the payload is at its destination. Returns false if a request found no
 * room. */
bool pen_am_long_last(pen_am_long *message);
/* Posts that frame behind puts that may be in flight. Requests only. */
bool pen_am_long_last_behind(pen_am_long *message);

PEN_COLD _Noreturn void pen_am_no_memory(const pen_am_long *message);

/* flight.c: sends a Long that fits no frame and that no single store or copy can move. reach: parts
 * use the link's put, which was chosen; NULL: internal messages. Returns as pen_am_request_long
 * does. */
int pen_am_flight_send(pen_am_long *message, const pen_reach *reach);
void pen_am_flights_open(pen_job *job);
void pen_am_flights_close(pen_am *am);

static inline void (*pen_am_function(const pen_am *am, uint32_t handler))(void)
{
    /* acquire: pairs with the release in am_enter; the entry comes with it */
    return __atomic_load_n(&am->functions[handler], __ATOMIC_ACQUIRE);
}

/* Builds the token of an arrived frame. The caller completes the token of a Long. */
static inline pen_token pen_am_token_of(pen_job *job, pen_peer from, pen_lane lane, uint8_t handler)
{
    bool is_request = lane == PEN_LANE_REQUEST;
    return (pen_token){ .job = job,
                        .from = from,
                        .handler = handler,
                        .is_request = is_request,
                        .replied = !is_request };
}

void pen_am_register_tell(pen_job *job);

/* Fast paths look their function up by the argument count, which has five bits then. */
enum { PEN_AM_COUNT_BITS = 5, PEN_AM_COUNTS = 1 << PEN_AM_COUNT_BITS };

/* Is this the head of a valid Short or Medium of this lane and body length? Only handler and
 * argument count may vary, and the count is below PEN_AM_COUNTS. */
static inline bool pen_am_is_plain(uint64_t head, pen_am_category category, pen_lane lane,
                                   uint32_t body_len)
{
    unsigned shift = PEN_WIRE_ARGS_SHIFT + PEN_AM_COUNT_BITS;
    uint32_t kind = pen_wire_kind(category, lane, PEN_WIRE_BODY);
    return head >> shift == pen_wire_head(kind, 0, 0, body_len) >> shift;
}

/* deliver.c: runs any valid frame, and reports a frame that is not valid. */
void pen_am_deliver_slow(pen_job *job, pen_peer from, pen_lane lane, const void *head,
                         uint32_t head_len, void *body, uint32_t body_len);

void pen_am_negotiated_close(pen_job *job); /* negotiated.c */

/* A wait of a request for room on its route, for reports. */
static inline pen_wait pen_am_wait_for_room(const pen_job *job, const pen_route *route)
{
    return pen_wait_for(PEN_CALL_REQUEST, PEN_AWAITED_ROOM, (uint32_t)(route - job->routes), NULL);
}

#endif
