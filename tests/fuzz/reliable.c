/* SPDX-License-Identifier: BSD-3-Clause */
/* reliable.c: the reliable link's protocol, with frames of untrusted peers: the input is a list of
 * events. Checked: delivered data lies in the frame, memory has bounds, and only sent frames are
 * acknowledged. */
#include "reliable/protocol.h"

#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

enum { PEERS = 3, FRAME_MAX = 1024, MEMORY_MAX = 1 << 16, SESSION = 7, EVENTS_MAX = 64 };

typedef enum what { RECEIVE, RECEIVE_SOUND, POST, TICK, TAKE_HELD, HAPPENINGS } what;

typedef struct reader {
    const uint8_t *at, *end;
} reader;

typedef struct bench {
    pen_rel_core core;
    uint64_t now_ns;
    unsigned allocated; /* how often */
    bool is_short;      /* memory is short: some allocations fail */
} bench;

static uint8_t next(reader *in) { return in->at != in->end ? *in->at++ : 0; }

static pen_post send(void *ctx, pen_peer to, pen_lane lane, const pen_frame *frame, pen_op *op)
{
    (void)ctx, (void)op;
    if (to >= PEERS || lane >= PEN_LANES || frame->head_len > PEN_FRAME_HEAD_MAX ||
        frame->head_len % 8 != 0 || frame->body_len > FRAME_MAX)
        abort();
    return PEN_POST_DONE;
}

static void *take_memory(void *ctx, size_t len, size_t align)
{
    bench *b = (bench *)ctx;
    if (b->is_short && ++b->allocated % 4 == 0)
        return NULL;
    return aligned_alloc(align, pen_align_up(len, align));
}

static void give_back(void *ctx, void *memory)
{
    (void)ctx;
    free(memory);
}

static void look_at(const pen_rel_delivery *in, const uint8_t *body, size_t body_len)
{
    const uint8_t *at = in->body;
    unsigned sum = 0;
    if (in->from >= PEERS || in->lane >= PEN_LANES || in->head_len > sizeof in->head ||
        in->head_len % 8 != 0)
        abort();
    if (in->body_len != 0 && body != NULL && (at < body || at + in->body_len > body + body_len))
        abort();
    for (uint32_t i = 0; i < in->body_len; i++)
        sum += at[i];
    if (sum > 255 * in->body_len)
        abort();
}

/* Makes a frame in memory of exactly its length. sound: with the fields that a peer of this
 * session knows. */
static void receive(bench *b, reader *in, bool is_sound)
{
    uint8_t peer = next(in), lanes = next(in);
    size_t head_len = next(in) % (PEN_FRAME_HEAD_MAX + 9), body_len = (size_t)next(in) * 4;
    uint64_t head[(PEN_FRAME_HEAD_MAX + 8) / 8 + 1] = { 0 };
    void *body = NULL;
    if (is_sound)
        head_len &= ~(size_t)7;
    for (size_t i = 0; i < head_len; i++)
        ((uint8_t *)head)[i] = next(in);
    if (posix_memalign(&body, 16, body_len + 1) != 0)
        return;
    for (size_t i = 0; i < body_len; i++)
        ((uint8_t *)body)[i] = i < 16 ? next(in) : (uint8_t)i;
    if (is_sound && head_len >= PEN_REL_HEAD_LEN) {
        static const uint32_t session = SESSION;
        memcpy((uint8_t *)head + 12, &session, sizeof session);
        pen_rel_sum_write(head, pen_rel_sum(head, head_len, body_len != 0 ? body : NULL, body_len));
    }
    pen_frame frame = { head, body_len != 0 ? body : NULL, (uint32_t)head_len, (uint32_t)body_len };
    pen_rel_delivery delivery;
    if (pen_rel_receive(&b->core, b->now_ns, peer % (PEERS + 1), &frame, lanes, &delivery) ==
        PEN_REL_DELIVER) {
        look_at(&delivery, body, body_len);
        pen_rel_consumed(&b->core, b->now_ns, &delivery);
    }
    free(body);
}

static void post(bench *b, reader *in)
{
    static const uint64_t words[32]; /* as long as the longest body */
    uint8_t where = next(in);
    pen_frame frame = { words, words, 8 + 8 * (where % 12u), next(in) };
    (void)pen_rel_post(&b->core, b->now_ns, where % PEERS, (pen_lane)(where / 16 % PEN_LANES),
                       &frame, NULL);
}

static void take_held(bench *b, unsigned lanes)
{
    pen_rel_delivery delivery;
    pen_kept *held = pen_rel_next_kept(&b->core, lanes, &delivery);
    if (held == NULL)
        return;
    look_at(&delivery, NULL, 0);
    pen_rel_kept_consumed(&b->core, b->now_ns, held, &delivery);
}

static void happen(bench *b, reader *in)
{
    uint8_t kind = next(in);
    b->now_ns += (uint64_t)kind / HAPPENINGS * 20000;
    if (kind % HAPPENINGS == RECEIVE || kind % HAPPENINGS == RECEIVE_SOUND)
        receive(b, in, kind % HAPPENINGS == RECEIVE_SOUND);
    else if (kind % HAPPENINGS == POST)
        post(b, in);
    else if (kind % HAPPENINGS == TICK)
        pen_rel_tick(&b->core, b->now_ns += (uint64_t)next(in) * 1000000, next(in) % 2 != 0);
    else
        take_held(b, next(in));
    if (b->core.record_bytes > MEMORY_MAX || b->core.kept.len > MEMORY_MAX)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    bench b = { .now_ns = 1000000000 };
    reader in = { bytes, bytes + len };
    uint8_t how = next(&in);
    const pen_rel_config config = { .self = 0,
                                    .peers = PEERS,
                                    .frame_max = FRAME_MAX,
                                    .overhead = 64,
                                    .grain = 64,
                                    .inbox_len = (how & 1) != 0   ? 0
                                                 : (how & 4) != 0 ? 1 << 12
                                                                  : 1 << 16,
                                    .memory_max = (how & 8) != 0 ? MEMORY_MAX / 16 : MEMORY_MAX,
                                    .borrow_len = 4096,
                                    .intact = (how & 2) != 0,
                                    .session = SESSION };
    const pen_rel_out out = { &b, send, take_memory, give_back };
    if (pen_rel_init(&b.core, &config, &out) != PEN_OK)
        abort();
    for (pen_peer peer = 0; peer < PEERS; peer++)
        pen_rel_meet(&b.core, peer, SESSION);
    b.is_short = (how & 16) != 0;
    for (unsigned i = 0; i < EVENTS_MAX && in.at != in.end; i++)
        happen(&b, &in);
    pen_rel_close(&b.core);
    return 0;
}
