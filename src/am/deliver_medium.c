/* SPDX-License-Identifier: BSD-3-Clause */
/* deliver_medium.c: the fast path of an arriving Medium. There is one function for each number
 * of arguments and lane; it compares everything with constants. If a comparison fails,
 * pen_am_deliver_slow examines the frame and reports the reason. */
#include "am/am.h"

#include "am/am_arity.h"
#include "am/am_internal.h"
#include "base/compiler.h"
#include "conduit/conduit.h"
#include "job/job.h"
#include "pen_config.h"

/* Runs a Medium whose head word is `head`, which contains its body's length. If the frame is not
 * valid, passes it to pen_am_deliver_slow. */
typedef void (*am_run_medium)(pen_job *job, pen_peer from, const uint64_t *words, uint32_t head_len,
                              void *body, uint64_t head);

/* lane and count are constants in each inlined copy. */
static inline __attribute__((always_inline)) void am_run(pen_job *job, pen_peer from, pen_lane lane,
                                                         const uint64_t *words, uint32_t head_len,
                                                         void *body, uint64_t head, unsigned count)
{
    uint32_t handler = pen_wire_handler(head), len = pen_wire_payload_len(head);
    void (*function)(void) = pen_am_function(job->am, handler);
    if (pen_unlikely(head_len != pen_wire_head_len(count)) || pen_unlikely(function == NULL)) {
        pen_am_deliver_slow(job, from, lane, words, head_len, body, len);
        return;
    }
    pen_token token = pen_am_token_of(job, from, lane, (uint8_t)handler);
    job->counters.am_handled++;
    pen_am_call_payload(function, &token, body, len, count, (const pen_am_arg *)&words[1]);
}

#define AM_RUN_MEDIUM(n)                                                               \
    static void am_run_request_##n(pen_job *job, pen_peer from, const uint64_t *words, \
                                   uint32_t head_len, void *body, uint64_t head)       \
    {                                                                                  \
        am_run(job, from, PEN_LANE_REQUEST, words, head_len, body, head, n);           \
    }                                                                                  \
    static void am_run_reply_##n(pen_job *job, pen_peer from, const uint64_t *words,   \
                                 uint32_t head_len, void *body, uint64_t head)         \
    {                                                                                  \
        am_run(job, from, PEN_LANE_REPLY, words, head_len, body, head, n);             \
    }
AM_ARITY_LIST(AM_RUN_MEDIUM)

/* Handle an argument count above the limit. */
static void am_run_no_request(pen_job *job, pen_peer from, const uint64_t *words, uint32_t head_len,
                              void *body, uint64_t head)
{
    pen_am_deliver_slow(job, from, PEN_LANE_REQUEST, words, head_len, body,
                        pen_wire_payload_len(head));
}

static void am_run_no_reply(pen_job *job, pen_peer from, const uint64_t *words, uint32_t head_len,
                            void *body, uint64_t head)
{
    pen_am_deliver_slow(job, from, PEN_LANE_REPLY, words, head_len, body,
                        pen_wire_payload_len(head));
}

#define AM_RUN_REQUEST_NAME(n) am_run_request_##n,
#define AM_RUN_REPLY_NAME(n)   am_run_reply_##n,
static const am_run_medium runs[2][PEN_AM_COUNTS] = {
    [PEN_LANE_REQUEST] = { AM_ARITY_LIST(AM_RUN_REQUEST_NAME) AM_ABOVE_LIST(am_run_no_request) },
    [PEN_LANE_REPLY] = { AM_ARITY_LIST(AM_RUN_REPLY_NAME) AM_ABOVE_LIST(am_run_no_reply) },
};

void pen_am_deliver(void *ctx, pen_peer from, pen_lane lane, const void *head, uint32_t head_len,
                    void *body, uint32_t body_len)
{
    pen_job *job = ctx;
    uint64_t word = pen_wire_load(head); /* loaded once: its writer may change it later */
    if (pen_likely(from < job->size && lane <= PEN_LANE_REPLY &&
                   pen_am_is_plain(word, PEN_AM_MEDIUM, lane, body_len)) &&
        !PEN_CHECKED)
        runs[lane][pen_wire_arg_count(word)](job, from, head, head_len, body, word);
    else
        pen_am_deliver_slow(job, from, lane, head, head_len, body, body_len);
}
