/* SPDX-License-Identifier: BSD-3-Clause */
/* deliver_head.c: the fast path of an arriving Short. There is one function for each number of
 * arguments and lane, selected by a byte of the head; it compares everything with constants. If
 * a comparison fails, pen_am_deliver_slow examines the frame and reports the reason. */
#include "am/am.h"

#include "am/am_arity.h"
#include "am/am_internal.h"
#include "base/compiler.h"
#include "conduit/conduit.h"
#include "job/job.h"

/* Runs a Short whose head word is `head`. If the head is not valid, passes the frame to
 * pen_am_deliver_slow. */
typedef void (*am_run_short)(pen_job *job, pen_peer from, const uint64_t *words, uint32_t head_len,
                             uint64_t head);

/* lane and count are constants in each inlined copy. */
static inline __attribute__((always_inline)) void am_run_head(pen_job *job, pen_peer from,
                                                              pen_lane lane, const uint64_t *words,
                                                              uint32_t head_len, uint64_t head,
                                                              unsigned count)
{
    uint32_t handler = pen_wire_handler(head);
    void (*function)(void) = pen_am_function(job->am, handler);
    if (pen_unlikely(head_len != pen_wire_head_len(count)) || pen_unlikely(function == NULL)) {
        pen_am_deliver_slow(job, from, lane, words, head_len, NULL, 0);
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
    pen_am_deliver_slow(job, from, PEN_LANE_REQUEST, words, head_len, NULL, 0);
}

static void am_run_no_reply(pen_job *job, pen_peer from, const uint64_t *words, uint32_t head_len,
                            uint64_t head)
{
    (void)head;
    pen_am_deliver_slow(job, from, PEN_LANE_REPLY, words, head_len, NULL, 0);
}

#define AM_RUN_REQUEST_NAME(n) am_run_request_##n,
#define AM_RUN_REPLY_NAME(n)   am_run_reply_##n,
static const am_run_short runs[2][PEN_AM_COUNTS] = {
    [PEN_LANE_REQUEST] = { AM_ARITY_LIST(AM_RUN_REQUEST_NAME) AM_ABOVE_LIST(am_run_no_request) },
    [PEN_LANE_REPLY] = { AM_ARITY_LIST(AM_RUN_REPLY_NAME) AM_ABOVE_LIST(am_run_no_reply) },
};

static inline void am_deliver_head(pen_job *job, pen_peer from, pen_lane lane, const void *head,
                                   uint32_t head_len)
{
    uint64_t word = pen_wire_load(head); /* loaded once: its writer may change it later */
    if (pen_likely(pen_am_is_plain(word, PEN_AM_SHORT, lane, 0)))
        runs[lane][pen_wire_arg_count(word)](job, from, head, head_len, word);
    else
        pen_am_deliver_slow(job, from, lane, head, head_len, NULL, 0);
}

void pen_am_deliver_request(void *ctx, pen_peer from, const void *head, uint32_t head_len)
{
    am_deliver_head(ctx, from, PEN_LANE_REQUEST, head, head_len);
}

void pen_am_deliver_reply(void *ctx, pen_peer from, const void *head, uint32_t head_len)
{
    am_deliver_head(ctx, from, PEN_LANE_REPLY, head, head_len);
}
