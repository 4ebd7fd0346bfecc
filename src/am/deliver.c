/* SPDX-License-Identifier: BSD-3-Clause */
/* deliver.c: handling of an arriving frame: check everything, then run the handler on the
 * frame's memory. A malformed frame is counted and dropped; only the client's own mistakes end
 * the job. The token is on the stack. No lock is held, except the link's poll lock that its
 * poller holds. One table says for each kind of frame what has to hold and which function runs it.
 * Most Shorts take the fast path of deliver_head.c, most Mediums that of deliver_medium.c. */
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

/* Runs the client's handler. payload: where the handler reads it; a Short has no payload. */
static void am_run(pen_job *job, const am_frame *frame, pen_am_category category, void *payload,
                   size_t len)
{
    pen_token token = pen_am_token_of(job, frame->from, frame->lane, pen_wire_handler(frame->head));
    void (*function)(void) = pen_am_function(job->am, token.handler);
    unsigned arg_count = pen_wire_arg_count(frame->head);
    const pen_am_arg *args = (const pen_am_arg *)&frame->words[1];
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
    if (category == PEN_AM_SHORT)
        pen_am_call_short(function, &token, arg_count, args);
    else
        pen_am_call_payload(function, &token, payload, len, arg_count, args);
    if (PEN_CHECKED)
        am_scope_leave(&scope);
}

/* ---- one function for each kind -------------------------------------------------------------- */

static void am_run_short(pen_job *job, const am_frame *frame)
{
    am_run(job, frame, PEN_AM_SHORT, NULL, 0);
}

static void am_run_medium(pen_job *job, const am_frame *frame)
{
    am_run(job, frame, PEN_AM_MEDIUM, frame->body, frame->body_len);
}

typedef struct am_target { /* the last words of a Long's head */
    uint64_t segment, offset;
} am_target;

static am_target am_target_of(const am_frame *frame)
{
    const uint64_t *tail = frame->words + frame->head_len / sizeof(uint64_t) - PEN_WIRE_LONG_WORDS;
    return (am_target){ pen_wire_load(&tail[0]), pen_wire_load(&tail[1]) };
}

/* A Long whose payload is in the body, or already at its destination. */
static void am_run_long(pen_job *job, const am_frame *frame)
{
    am_target target = am_target_of(frame);
    uint32_t len = pen_wire_payload_len(frame->head);
    if (target.segment > UINT32_MAX) {
        am_drop(job, frame, "segment number");
        return;
    }
    void *dest = pen_mem_resolve(&job->mem, (uint32_t)target.segment, target.offset, len);
    if (dest == NULL) {
        am_drop(job, frame, "destination of a Long");
        return;
    }
    if (frame->body_len != 0)
        pen_copy(&job->copies, dest, frame->body, len);
    am_run(job, frame, PEN_AM_LONG, dest, len);
}

static void am_run_long_opaque(pen_job *job, const am_frame *frame)
{
    am_target target = am_target_of(frame);
    if (target.segment != 0)
        am_drop(job, frame, "segment number of an empty Long");
    else
        am_run(job, frame, PEN_AM_LONG, (void *)(uintptr_t)target.offset, 0);
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

/* ---- the table of kinds ---------------------------------------------------------------------- */

typedef struct am_kind {
    void (*run)(pen_job *job, const am_frame *frame); /* all the row's conditions hold */
    uint8_t lanes;      /* bits of lanes on which it may come; 0: there is no such kind */
    uint8_t tail_words; /* words of the head behind the arguments */
    bool has_body;      /* the payload is in the body; otherwise the frame has no body */
    uint32_t payload_min, payload_max;
} am_kind;

enum {
    CLIENT_LANES = PEN_LANE_BIT(PEN_LANE_REQUEST) | PEN_LANE_BIT(PEN_LANE_REPLY),
    ALL_LANES = CLIENT_LANES | PEN_LANE_BIT(PEN_LANE_CONTROL),
    CATEGORIES = 4,
};

/* clang-format off */
static const am_kind am_kinds[CATEGORIES][PEN_WIRE_PLACES] = {
    [PEN_AM_SHORT][PEN_WIRE_BODY]    = { am_run_short,       CLIENT_LANES, 0, true, 0, 0 },
    [PEN_AM_MEDIUM][PEN_WIRE_BODY]   = { am_run_medium,      CLIENT_LANES, 0, true, 0, UINT32_MAX },
    [PEN_AM_LONG][PEN_WIRE_BODY]     = { am_run_long,        CLIENT_LANES, PEN_WIRE_LONG_WORDS, true, 1, UINT32_MAX },
    [PEN_AM_LONG][PEN_WIRE_PLACED]   = { am_run_long,        CLIENT_LANES, PEN_WIRE_LONG_WORDS, false, 1, UINT32_MAX },
    [PEN_AM_LONG][PEN_WIRE_OPAQUE]   = { am_run_long_opaque, CLIENT_LANES, PEN_WIRE_LONG_WORDS, false, 0, 0 },
    [PEN_AM_INTERNAL][PEN_WIRE_BODY] = { am_run_internal,    ALL_LANES,    0, true, 0, UINT32_MAX },
};
/* clang-format on */

/* Returns the frame's row, or NULL if no such frame may come on its lane. Every bit of the kind is
 * compared: the reserved bits stand above the place. */
static const am_kind *am_kind_of(const am_frame *frame)
{
    uint32_t kind = pen_wire_kind_of(frame->head);
    uint32_t category = kind % CATEGORIES, place = kind >> PEN_WIRE_PLACE_SHIFT;
    if (place >= PEN_WIRE_PLACES ||
        kind != pen_wire_kind((pen_am_category)category, frame->lane, (pen_wire_place)place))
        return NULL;
    const am_kind *row = &am_kinds[category][place];
    return (row->lanes & PEN_LANE_BIT(frame->lane)) != 0 ? row : NULL;
}

static bool am_head_fits(const am_kind *row, const am_frame *frame)
{
    unsigned arg_count = pen_wire_arg_count(frame->head);
    return arg_count <= PEN_AM_ARGS_MAX &&
           frame->head_len == pen_wire_head_len(arg_count) + row->tail_words * sizeof(uint64_t);
}

static bool am_payload_fits(const am_kind *row, const am_frame *frame)
{
    uint32_t len = pen_wire_payload_len(frame->head);
    return len >= row->payload_min && len <= row->payload_max &&
           frame->body_len == (row->has_body ? len : 0);
}

static void am_deliver(pen_job *job, const am_frame *frame)
{
    const am_kind *row = am_kind_of(frame);
    if (frame->from >= job->size)
        am_drop(job, frame, "sender");
    else if (row == NULL)
        am_drop(job, frame, "kind or lane");
    else if (!am_head_fits(row, frame))
        am_drop(job, frame, "length");
    else if (!am_payload_fits(row, frame))
        am_drop(job, frame, "payload length");
    else
        row->run(job, frame);
}

void pen_am_deliver_slow(pen_job *job, pen_peer from, pen_lane lane, const void *head,
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
    am_run_medium(job, &frame);
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
