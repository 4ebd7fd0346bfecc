/* SPDX-License-Identifier: BSD-3-Clause */
/* deliver.c: handling of an arriving frame: check everything, then run the handler on the
 * frame's memory. A malformed frame is counted and dropped; only the client's own mistakes end
 * the job. The token is on the stack. No lock is held, except the link's poll lock that its
 * poller holds. Most Shorts take the fast path of deliver_head.c, most Mediums that of
 * deliver_medium.c. */
#include "am/am.h"

#include "am/am_arity.h"
#include "am/am_internal.h"
#include "base/compiler.h"
#include "base/copy.h"
#include "boot/wait_state.h"
#include "conduit/conduit.h"
#include "diag/log.h"
#include "job/checks.h"
#include "job/fatal.h"
#include "job/job.h"
#include "job/thread.h"
#include "mem/mem.h"
#include "os/lock.h"
#include "pen_config.h"
#include "progress/progress.h"

#include <string.h>

typedef struct am_frame { /* a decoded frame; its head word was loaded once */
    const uint64_t *words;
    void *body;
    uint32_t head_len, body_len;
    uint64_t head;
    pen_peer from;
    pen_lane lane;
    bool here; /* sent by this rank to itself, without a link */
} am_frame;

/* ---- what is wrong with a frame -------------------------------------------------------------- */

static PEN_COLD void am_drop(pen_job *job, const am_frame *frame, const char *why)
{
    bool is_first = job->counters.frame_dropped == 0;
    pen_job_count(job, &job->counters.frame_dropped);
    if (is_first) /* later ones are only counted */
        pen_log_warn(&job->log,
                     "dropped a malformed frame from rank %u (%s, head %016llx); are all ranks the "
                     "same build? Further ones are only counted",
                     frame->from, why, (unsigned long long)frame->head);
}

static PEN_COLD void am_unregistered(pen_job *job, const am_frame *frame)
{
    uint8_t index = pen_wire_handler(frame->head);
    if (index < PEN_AM_HANDLER_FIRST) { /* a mistake in a client, or a sender that is no client */
        am_drop(job, frame, "its handler's index is below 128, which the library keeps");
        return;
    }
    pen_job_fatal(job,
                  "rank %u sent an active message for handler %u, which is not registered here: "
                  "register it before peers may send (a barrier after registering is enough)",
                  frame->from, index);
}

/* Checked builds: tests the message against the client's promises at registration. */
static PEN_COLD void am_check_promise(pen_job *job, const pen_token *token,
                                      pen_am_category category, unsigned arg_count)
{
    static const char *const names[] = { "Short", "Medium", "Long" };
    const pen_am_entry *entry = pen_am_token_entry(token);
    const uint32_t categories = PEN_AM_PROMISE_SHORT | PEN_AM_PROMISE_MEDIUM | PEN_AM_PROMISE_LONG;
    const uint32_t roles = PEN_AM_PROMISE_REQUEST | PEN_AM_PROMISE_REPLY;
    if ((job->checks_off & PEN_CHECK_ARGUMENT) != 0)
        return;
    uint32_t role = token->is_request ? PEN_AM_PROMISE_REQUEST : PEN_AM_PROMISE_REPLY;
    const char *name = entry->name != NULL ? entry->name : "unnamed";
    if ((entry->flags & categories) != 0 && (entry->flags & 1u << category) == 0)
        pen_job_fatal(job,
                      "rank %u sent handler %u (%s) a %s message, which its registration excludes; "
                      "mend the sender or the flags",
                      token->from, entry->index, name, names[category]);
    if ((entry->flags & roles) != 0 && (entry->flags & role) == 0)
        pen_job_fatal(
            job,
            "rank %u sent handler %u (%s) a %s, which its registration excludes; mend the "
            "sender or the flags",
            token->from, entry->index, name, token->is_request ? "request" : "reply");
    if (entry->arg_count != PEN_AM_ARGS_UNKNOWN && entry->arg_count != arg_count)
        pen_job_fatal(
            job,
            "rank %u sent handler %u (%s) %u arguments, and it is registered with %u; mend "
            "the sender or the registration",
            token->from, entry->index, name, arg_count, entry->arg_count);
}

/* ---- running --------------------------------------------------------------------------------- */

/* Checked builds: records that the thread runs a handler, so that calls which handlers may not
 * make are refused. Release builds skip the test. */
typedef struct am_scope {
    pen_thread *thread;
    bool outer_is_request;
    const void *outer_token;
} am_scope;

static am_scope am_scope_enter(pen_job *job, const pen_token *token)
{
    am_scope scope = { NULL, false, NULL };
    if (job->this_thread != NULL)
        scope.thread = job->this_thread(job);
    else if (job->concurrency == PEN_ALONE)
        scope.thread = &job->first_thread;
    if (scope.thread != NULL) {
        scope.outer_is_request = scope.thread->handler_is_request;
        scope.outer_token = scope.thread->handler_token;
        scope.thread->handler_token = token;
        scope.thread->handler_is_request = token->is_request;
        scope.thread->handler_depth++;
    }
    return scope;
}

static void am_scope_leave(const am_scope *scope)
{
    if (scope->thread == NULL)
        return;
    const pen_source_desc *prepared = scope->thread->prepared;
    if (prepared != NULL && prepared->live && prepared->token == scope->thread->handler_token &&
        (scope->thread->job->checks_off & PEN_CHECK_PREPARE) == 0)
        pen_job_fatal(scope->thread->job,
                      "a handler returns after preparing a reply to rank %u: commit or cancel it "
                      "first",
                      prepared->jobrank);
    scope->thread->handler_depth--;
    scope->thread->handler_token = scope->outer_token;
    scope->thread->handler_is_request = scope->outer_is_request;
}

/* Frames from a link are counted under its poll lock. */
static void am_count(pen_job *job, const am_frame *frame)
{
    if (frame->here)
        pen_job_count(job, &job->counters.am_self);
    else
        job->counters.am_handled++;
}

/* Medium and Long: the payload is where the handler reads it. */
static void am_run_payload(pen_job *job, const am_frame *frame, pen_am_category category,
                           void *payload, size_t len)
{
    pen_token token = pen_am_token_of(job, frame->from, frame->lane, pen_wire_handler(frame->head));
    void (*function)(void) = pen_am_function(job->am, token.handler);
    unsigned arg_count = pen_wire_arg_count(frame->head);
    if (pen_unlikely(function == NULL)) {
        am_unregistered(job, frame);
        return;
    }
    token.is_long = category == PEN_AM_LONG;
    am_count(job, frame);
    am_scope scope = { NULL, false, NULL };
    if (PEN_CHECKED) {
        am_check_promise(job, &token, category, arg_count);
        scope = am_scope_enter(job, &token);
    }
    pen_am_call_payload(function, &token, payload, len, arg_count,
                        (const pen_am_arg *)&frame->words[1]);
    if (PEN_CHECKED)
        am_scope_leave(&scope);
}

static void am_run_internal(pen_job *job, const am_frame *frame)
{
    unsigned index = pen_wire_handler(frame->head);
    unsigned arg_count = pen_wire_arg_count(frame->head);
    pen_am_internal_fn function = index < PEN_AM_INT_COUNT ? job->am->internal[index] : NULL;
    if (function == NULL) {
        am_drop(job, frame, "internal handler");
        return;
    }
    int32_t args[PEN_AM_ARGS_MAX]; /* a copy, because these words are checked and then used; the
                                    * sender may change the frame */
    memcpy(args, &frame->words[1], arg_count * sizeof *args);
    pen_token token = pen_am_token_of(job, frame->from, frame->lane, 0);
    function(&token, args, arg_count, frame->body, frame->body_len);
}

/* The destination of a Long whose payload has arrived. Returns NULL, and drops the frame, if the
 * frame names a wrong place. */
static void *am_long_land(pen_job *job, const am_frame *frame, pen_wire_place place,
                          uint32_t number, uint64_t offset)
{
    uint32_t len = pen_wire_payload_len(frame->head);
    if (len == 0 || frame->body_len != (place == PEN_WIRE_BODY ? len : 0)) {
        am_drop(job, frame, "payload length");
        return NULL;
    }
    void *dest = pen_mem_resolve(&job->mem, number, offset, len);
    if (dest == NULL)
        am_drop(job, frame, "destination of a Long");
    else if (place == PEN_WIRE_BODY)
        pen_copy(dest, frame->body, len);
    return dest;
}

static void am_run_long(pen_job *job, const am_frame *frame, pen_wire_place place)
{
    const uint64_t *tail = frame->words + frame->head_len / sizeof(uint64_t) - PEN_WIRE_LONG_WORDS;
    uint64_t number = pen_wire_load(&tail[0]), offset = pen_wire_load(&tail[1]);
    if (number > UINT32_MAX) {
        am_drop(job, frame, "segment number");
        return;
    }
    if (place != PEN_WIRE_OPAQUE) {
        void *dest = am_long_land(job, frame, place, (uint32_t)number, offset);
        if (dest != NULL)
            am_run_payload(job, frame, PEN_AM_LONG, dest, pen_wire_payload_len(frame->head));
    } else if (number != 0 || pen_wire_payload_len(frame->head) != 0 || frame->body_len != 0) {
        am_drop(job, frame, "payload of an empty Long");
    } else {
        am_run_payload(job, frame, PEN_AM_LONG, (void *)(uintptr_t)offset, 0);
    }
}

static bool am_lengths_fit(const am_frame *frame, pen_am_category category)
{
    unsigned arg_count = pen_wire_arg_count(frame->head);
    uint32_t tail_words = category == PEN_AM_LONG ? PEN_WIRE_LONG_WORDS : 0;
    return arg_count <= PEN_AM_ARGS_MAX &&
           frame->head_len == pen_wire_head_len(arg_count) + tail_words * sizeof(uint64_t);
}

static bool am_kind_fits(const am_frame *frame, pen_am_category category, pen_wire_place place)
{
    if (category != PEN_AM_LONG)
        place = PEN_WIRE_BODY;
    return place < PEN_WIRE_PLACES &&
           pen_wire_kind_of(frame->head) == pen_wire_kind(category, frame->lane, place) &&
           (frame->lane <= PEN_LANE_REPLY ||
            (frame->lane == PEN_LANE_CONTROL && category == PEN_AM_INTERNAL));
}

static void am_run_short(pen_job *job, const am_frame *frame)
{
    pen_token token = pen_am_token_of(job, frame->from, frame->lane, pen_wire_handler(frame->head));
    void (*function)(void) = pen_am_function(job->am, token.handler);
    unsigned arg_count = pen_wire_arg_count(frame->head);
    if (function == NULL) {
        am_unregistered(job, frame);
        return;
    }
    am_count(job, frame);
    am_scope scope = { NULL, false, NULL };
    if (PEN_CHECKED) {
        am_check_promise(job, &token, PEN_AM_SHORT, arg_count);
        scope = am_scope_enter(job, &token);
    }
    pen_am_call_short(function, &token, arg_count, (const pen_am_arg *)&frame->words[1]);
    if (PEN_CHECKED)
        am_scope_leave(&scope);
}

static void am_deliver(pen_job *job, const am_frame *frame)
{
    pen_am_category category = (pen_am_category)(pen_wire_kind_of(frame->head) & 3);
    pen_wire_place place = (pen_wire_place)(pen_wire_kind_of(frame->head) >> PEN_WIRE_PLACE_SHIFT);
    if (frame->from >= job->size || !am_lengths_fit(frame, category))
        am_drop(job, frame, "length");
    else if (!am_kind_fits(frame, category, place))
        am_drop(job, frame, "kind or lane");
    else if (category == PEN_AM_LONG)
        am_run_long(job, frame, place);
    else if (frame->body_len != pen_wire_payload_len(frame->head) ||
             (category == PEN_AM_SHORT && frame->body_len != 0))
        am_drop(job, frame, "payload length");
    else if (category == PEN_AM_MEDIUM)
        am_run_payload(job, frame, PEN_AM_MEDIUM, frame->body, frame->body_len);
    else if (category == PEN_AM_SHORT)
        am_run_short(job, frame);
    else
        am_run_internal(job, frame);
}

void pen_am_deliver_any(pen_job *job, pen_peer from, pen_lane lane, const void *head,
                        uint32_t head_len, void *body, uint32_t body_len)
{
    /* Links carry no client messages of a rank to itself: see self.c. */
    const am_frame frame = { head, body, head_len,         body_len, pen_wire_load(head),
                             from, lane, from == job->rank };
    am_deliver(job, &frame);
}

/* ---- a reply that nobody asked for ----------------------------------------------------------- */

static void am_run_tell(pen_job *job, pen_peer from, uint8_t handler, void *payload, uint32_t len)
{
    am_frame frame = { .body = payload, .body_len = len, .from = from, .lane = PEN_LANE_REPLY };
    frame.here = from == job->rank; /* links carry only peers' messages */
    uint64_t word =
        pen_wire_head(pen_wire_kind(PEN_AM_MEDIUM, PEN_LANE_REPLY, PEN_WIRE_BODY), handler, 0, len);
    frame.words = &word;
    frame.head_len = sizeof word;
    frame.head = word;
    am_run_payload(job, &frame, PEN_AM_MEDIUM, payload, len);
}

static void am_handle_tell(pen_token *token, const int32_t *args, unsigned arg_count, void *body,
                           uint32_t body_len)
{
    if (arg_count != 1 || args[0] < PEN_AM_HANDLER_FIRST || args[0] >= PEN_AM_HANDLERS)
        pen_am_drop(token->job);
    else
        am_run_tell(token->job, token->from, (uint8_t)args[0], body, body_len);
}

void pen_am_register_tell(pen_job *job)
{
    pen_am_register_internal(job, PEN_AM_INT_TELL, am_handle_tell);
}

void pen_am_tell(pen_job *job, uint32_t jobrank, uint8_t handler, void *payload, uint32_t len)
{
    if (jobrank == job->rank) {
        am_run_tell(job, job->rank, handler, payload, len);
        return;
    }
    const int32_t args[] = { handler };
    pen_wait what = pen_wait_for(PEN_CALL_VIS, PEN_AWAITED_ROOM, jobrank, NULL);
    pen_waiter waiter = pen_waiter_for(&job->progress, false, &what);
    while (pen_am_send_internal(job, jobrank, PEN_LANE_REQUEST, PEN_AM_INT_TELL, 1, args, payload,
                                len) != 0) {
        pen_job_count(job, &job->counters.again_room);
        pen_wait_step(&waiter);
    }
    pen_wait_end(&waiter);
}
