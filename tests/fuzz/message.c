/* SPDX-License-Identifier: BSD-3-Clause */
/* message.c: frames as they come to the engine from a link: heads, arguments, addresses and bodies
 * of anybody, on every lane, for handlers of the client, puts, gets and atomics. What does not fit
 * is dropped and counted; nothing outside the segment changes. */
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
        pen_am_entry
            entries[PEN_AM_HANDLERS - PEN_AM_HANDLER_FIRST]; /* one that nobody made ends a job */
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

/* A first word that goes with the frame's lengths, so that what is behind it is looked at. */
static uint64_t fitting_head(reader *in, pen_lane lane, uint32_t *head_len, uint32_t body_len)
{
    uint8_t what = next(in), handler = next(in);
    unsigned arg_count = what / 16;
    pen_am_category category = (pen_am_category)(what % 4);
    pen_wire_place place =
        category == PEN_AM_LONG ? (pen_wire_place)(what / 4 % PEN_WIRE_PLACES) : PEN_WIRE_BODY;
    if (category == PEN_AM_INTERNAL)
        handler %= PEN_AM_INT_COUNT;
    else
        handler |= PEN_AM_HANDLER_FIRST;
    *head_len = pen_wire_head_len(arg_count) +
                (category == PEN_AM_LONG ? PEN_WIRE_LONG_WORDS * (uint32_t)sizeof(uint64_t) : 0);
    return pen_wire_head(pen_wire_kind(category, lane, place), handler, arg_count, body_len);
}

/* From memory of exactly its length. */
static void deliver(ranks *world, reader *in)
{
    uint8_t what = next(in);
    pen_lane lane = (pen_lane)(what % PEN_LANES);
    uint32_t head_len = 8 * (1 + next(in) % (PEN_FRAME_HEAD_MAX / 8u)), body_len = next(in) * 4u;
    bool fits = what >= 128;
    uint64_t first = fits ? fitting_head(in, lane, &head_len, body_len) : 0;
    uint8_t *head = malloc(head_len);
    void *body = NULL;
    if (head == NULL || posix_memalign(&body, 16, body_len + 1) != 0)
        abort();
    for (uint32_t i = 0; i < head_len; i++)
        head[i] = next(in);
    if (fits)
        memcpy(head, &first, sizeof first);
    for (uint32_t i = 0; i < body_len; i++)
        ((uint8_t *)body)[i] = next(in);
    pen_am_deliver(&world->jobs[VICTIM], VILLAIN, lane, head, head_len, body_len != 0 ? body : NULL,
                   body_len);
    free(head);
    free(body);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    static ranks world; /* as long as the program: opening it takes longer than a thousand frames */
    reader in = { bytes, bytes + len };
    if (world.jobs == NULL)
        open_ranks(&world);
    for (unsigned i = 0; i < FRAMES_MAX && in.at != in.end; i++) {
        deliver(&world, &in);
        (void)pen_progress_poll(&world.jobs[VICTIM].progress);
    }
    for (unsigned i = 0; i < 4; i++) /* what it answered is not kept */
        (void)pen_progress_poll(&world.jobs[VILLAIN].progress);
    return 0;
}
