/* SPDX-License-Identifier: BSD-3-Clause */
/* deliver_head.c: the fast path of an arriving Short. There is one function for each number of
 * arguments and lane, selected by a byte of the head; it compares everything with constants. If
 * a comparison fails, pen_am_deliver_any examines the frame and reports the reason. */
#include "am/am.h"

#include "am/am_arity.h"
#include "am/am_internal.h"
#include "base/compiler.h"
#include "conduit/conduit.h"
#include "job/job.h"

/* lane and count are constants in each inlined copy. */
static inline __attribute__((always_inline)) void am_run_head(pen_job *job, pen_peer from,
                                                              pen_lane lane, const uint64_t *words,
                                                              uint32_t head_len, uint64_t head,
                                                              unsigned count)
{
    uint32_t handler = pen_wire_handler(head);
    void (*function)(void) = pen_am_function(job->am, handler);
    if (pen_unlikely(head_len != pen_wire_head_len(count)) || pen_unlikely(function == NULL)) {
        pen_am_deliver_any(job, from, lane, words, head_len, NULL, 0);
        return;
    }
    pen_token token = pen_am_token_of(job, from, lane, (uint8_t)handler);
    job->counters.am_handled++;
    pen_am_call_short(function, &token, count, (const pen_am_arg *)&words[1]);
}

#define AM_RUN_HEAD(n)                                                                 \
    static void am_run_request_##n(pen_job *job, pen_peer from, const uint64_t *words, \
                                   uint32_t head_len, uint64_t head)                   \
    {                                                                                  \
        am_run_head(job, from, PEN_LANE_REQUEST, words, head_len, head, n);            \
    }                                                                                  \
    static void am_run_reply_##n(pen_job *job, pen_peer from, const uint64_t *words,   \
                                 uint32_t head_len, uint64_t head)                     \
    {                                                                                  \
        am_run_head(job, from, PEN_LANE_REPLY, words, head_len, head, n);              \
    }
AM_ARITY_LIST(AM_RUN_HEAD)

/* Handles an argument count above the limit. */
static void am_run_no_request(pen_job *job, pen_peer from, const uint64_t *words, uint32_t head_len,
                              uint64_t head)
{
    (void)head;
    pen_am_deliver_any(job, from, PEN_LANE_REQUEST, words, head_len, NULL, 0);
}

static void am_run_no_reply(pen_job *job, pen_peer from, const uint64_t *words, uint32_t head_len,
                            uint64_t head)
{
    (void)head;
    pen_am_deliver_any(job, from, PEN_LANE_REPLY, words, head_len, NULL, 0);
}

void pen_am_fill_runs(pen_am *am)
{
#define AM_RUN_REQUEST_NAME(n) am_run_request_##n,
#define AM_RUN_REPLY_NAME(n)   am_run_reply_##n,
    static const pen_am_run_head requests[] = { AM_ARITY_LIST(AM_RUN_REQUEST_NAME) };
    static const pen_am_run_head replies[] = { AM_ARITY_LIST(AM_RUN_REPLY_NAME) };
    for (unsigned count = 0; count < 256; count++) {
        bool is_legal = count <= PEN_AM_ARGS_MAX;
        am->run[PEN_LANE_REQUEST][count] = is_legal ? requests[count] : am_run_no_request;
        am->run[PEN_LANE_REPLY][count] = is_legal ? replies[count] : am_run_no_reply;
    }
}

/* In the head of a valid Short of this lane, only handler and argument count vary. */
static inline void am_deliver_head(pen_job *job, pen_peer from, pen_lane lane, const void *head,
                                   uint32_t head_len)
{
    uint64_t kind = pen_wire_kind(PEN_AM_SHORT, lane, PEN_WIRE_BODY);
    uint64_t word = pen_wire_load(head); /* loaded once: its writer may change it later */
    if (pen_likely(word >> PEN_WIRE_KIND_SHIFT == kind))
        job->am->run[lane][pen_wire_arg_count(word)](job, from, head, head_len, word);
    else
        pen_am_deliver_any(job, from, lane, head, head_len, NULL, 0);
}

void pen_am_deliver_request(void *ctx, pen_peer from, const void *head, uint32_t head_len)
{
    am_deliver_head(ctx, from, PEN_LANE_REQUEST, head, head_len);
}

void pen_am_deliver_reply(void *ctx, pen_peer from, const void *head, uint32_t head_len)
{
    am_deliver_head(ctx, from, PEN_LANE_REPLY, head, head_len);
}
