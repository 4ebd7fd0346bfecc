/* SPDX-License-Identifier: BSD-3-Clause */
/* message.c: frames as the engine receives them from a link: any heads, arguments, addresses and
 * bodies, on every lane, for handlers of the client, puts, gets and atomics. A frame that does not
 * fit is dropped and counted; memory outside of the segment does not change. */
#include "am/wire.h"
#include "atomic/atomic.h"
#include "support/rma_ranks.h"

#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

enum { VICTIM, VILLAIN, RANKS, SEGMENT_LEN = 4096, FRAMES_MAX = 16 };

typedef struct reader {
    const uint8_t *at, *end;
} reader;

static uint8_t next(reader *in) { return in->at != in->end ? *in->at++ : 0; }

static void on_any(pen_token *token) { (void)token; }

static void open_ranks(ranks *world)
{
    const ranks_params params = {
        .size = RANKS, .seed = 1, .frame_max = 1024, .segment_len = SEGMENT_LEN
    };
    rma_ranks_open(world, &params);
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        pen_am_entry entries[PEN_AM_HANDLERS -
                             PEN_AM_HANDLER_FIRST]; /* an id that was not registered ends a job */
        for (unsigned i = 0; i < sizeof entries / sizeof entries[0]; i++)
            entries[i] = (pen_am_entry){ (uint8_t)(PEN_AM_HANDLER_FIRST + i),
                                         (void (*)(void))on_any,
                                         0,
                                         PEN_AM_ARGS_UNKNOWN,
                                         NULL,
                                         "any" };
        world->jobs[rank].log.fd = -1;
        if (pen_am_register(&world->jobs[rank], &world->jobs[rank].log, entries,
                            sizeof entries / sizeof entries[0]) != PEN_OK ||
            pen_atomic_open(&world->jobs[rank]) != PEN_OK)
            abort();
    }
}

/* Makes a first word that fits the frame's lengths, so that the decoder reads on, or that is wrong
 * in one field. */
static uint64_t fitting_head(reader *in, pen_lane lane, uint32_t *head_len, uint32_t body_len)
{
    enum { WRONG_LANE = 1, WRONG_HEAD_LEN, WRONG_PAYLOAD_LEN, WRONG_HANDLER, LIES = 16 };
    uint8_t what = next(in), handler = next(in), count_and_lie = next(in);
    unsigned arg_count = what / 16 + count_and_lie / 128 * 2; /* up to one more than the limit */
    unsigned lie = count_and_lie % LIES;
    pen_am_category category = (pen_am_category)(what % 4);
    pen_wire_place place = category == PEN_AM_LONG ? (pen_wire_place)(what / 4 % 4) : PEN_WIRE_BODY;
    if (category == PEN_AM_INTERNAL && lie != WRONG_HANDLER)
        handler %= PEN_AM_INT_COUNT;
    else if (category != PEN_AM_INTERNAL)
        handler =
            lie == WRONG_HANDLER ? handler % PEN_AM_HANDLER_FIRST : handler | PEN_AM_HANDLER_FIRST;
    *head_len = pen_wire_head_len(arg_count) +
                (category == PEN_AM_LONG ? PEN_WIRE_LONG_WORDS * (uint32_t)sizeof(uint64_t) : 0);
    if (lie == WRONG_HEAD_LEN)
        *head_len += sizeof(uint64_t);
    if (lie == WRONG_LANE)
        lane = (lane + 1) % PEN_LANES;
    /* the payload of a Long need not be in the frame */
    uint32_t payload_len = category == PEN_AM_LONG && place == PEN_WIRE_PLACED ? next(in) * 16u
                           : lie == WRONG_PAYLOAD_LEN                          ? body_len + 4
                                                                               : body_len;
    return pen_wire_head(pen_wire_kind(category, lane, place), handler, arg_count, payload_len);
}

/* Draws the target of a Long: inside the segment, or not far from it. */
static void aim(reader *in, uint8_t *head, uint32_t head_len, uint64_t first)
{
    uint8_t how = next(in);
    uint64_t tail[PEN_WIRE_LONG_WORDS] = { how % 4, (uint64_t)next(in) * (SEGMENT_LEN / 128) };
    bool is_long = (pen_wire_kind_of(first) & 3) == PEN_AM_LONG;
    if (how < 64 && is_long && head_len >= sizeof first + sizeof tail)
        memcpy(head + head_len - sizeof tail, tail, sizeof tail);
}

/* Delivers as links do. straight: the frame has a head only. */
static void hand_over(pen_job *job, pen_peer from, pen_lane lane, const pen_frame *frame,
                      bool straight)
{
    if (frame->body_len != 0 || lane == PEN_LANE_CONTROL || !straight)
        pen_am_deliver(job, from, lane, frame->head, frame->head_len,
                       (void *)(uintptr_t)frame->body, frame->body_len);
    else if (lane == PEN_LANE_REQUEST)
        pen_am_deliver_request(job, from, frame->head, frame->head_len);
    else
        pen_am_deliver_reply(job, from, frame->head, frame->head_len);
}

/* Delivers from memory of exactly the frame's length. */
static void deliver(ranks *world, reader *in)
{
    uint8_t what = next(in);
    pen_lane lane = (pen_lane)(what % PEN_LANES);
    uint32_t head_len = 8 * (1 + next(in) % (PEN_FRAME_HEAD_MAX / 8u)), body_len = next(in) * 4u;
    bool fits = what >= 128;
    pen_peer from = what / PEN_LANES % 8 == 7 ? (pen_peer)RANKS : (pen_peer)VILLAIN;
    uint64_t first = fits ? fitting_head(in, lane, &head_len, body_len) : 0;
    uint8_t *head = malloc(head_len);
    void *body = NULL;
    if (head == NULL || posix_memalign(&body, 16, body_len + 1) != 0)
        abort();
    for (uint32_t i = 0; i < head_len; i++)
        head[i] = next(in);
    if (fits) {
        aim(in, head, head_len, first);
        memcpy(head, &first, sizeof first);
    }
    for (uint32_t i = 0; i < body_len; i++)
        ((uint8_t *)body)[i] = next(in);
    const pen_frame frame = { head, body_len != 0 ? body : NULL, head_len, body_len };
    hand_over(&world->jobs[VICTIM], from, lane, &frame, what % 64 >= 32);
    free(head);
    free(body);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    static ranks
        world; /* lives as long as the program: opening it takes longer than a thousand frames */
    reader in = { bytes, bytes + len };
    if (world.jobs == NULL)
        open_ranks(&world);
    for (unsigned i = 0; i < FRAMES_MAX && in.at != in.end; i++) {
        deliver(&world, &in);
        (void)pen_progress_poll(&world.jobs[VICTIM].progress);
    }
    for (unsigned i = 0; i < 4; i++) /* replies are dropped */
        (void)pen_progress_poll(&world.jobs[VILLAIN].progress);
    return 0;
}
