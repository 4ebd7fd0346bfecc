/* SPDX-License-Identifier: BSD-3-Clause */
/* job.h: the ranks of ofi.played, all in one process: their links, segments, and operations. Each
 * frame must come once, and each put or get must have moved its data when it ends. */
#ifndef PEN_TESTS_OFI_JOB_H
#define PEN_TESTS_OFI_JOB_H

#include "conduits/ofi/ofi.h"
#include "diag/counters.h"
#include "diag/log.h"
#include "ofi/fake_ofi.h"
#include "ofi/fake_ofi_objects.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum {
    HEAD_LEN = 16,
    BODY_MAX = 400,
    FRAMES_MAX = 256, /* in one run */
    PLACES = 6,       /* in each segment for each rank that puts there */
    PLACE_LEN = 1500,
    OPS = 12, /* for each rank at once */
};

extern const pen_conduit pen_conduit_ofi;

/* ---- the job -----------------------------------------------------------------------------------
 */

typedef struct place { /* memory of a segment that one rank puts to */
    bool is_busy;
    unsigned char fill; /* its contents follow from this */
    uint32_t len;
} place;

typedef struct client_op {
    pen_op op; /* first: `then` names it */
    struct rank *rank;
    bool is_free_now, is_put;
    unsigned to, place;
    unsigned char fill;
    uint32_t len;
    unsigned char memory[PLACE_LEN];
} client_op;

typedef struct frame_note {
    unsigned from, to, times;
    pen_lane lane;
    uint32_t body_len;
    int place; /* where the put goes that it stays behind; -1: it stays behind none */
    unsigned char fill;
} frame_note;

static struct rank {
    pen_link *link;
    pen_host host;
    pen_region *region;
    pen_rkey key[RANKS];
    unsigned char segment[RANKS * PLACES * PLACE_LEN];
    place places[RANKS][PLACES]; /* here, by the rank that puts there */
    client_op ops[OPS];
    unsigned lanes_asked, lost[RANKS];
    bool has_behind; /* a put behind which a frame still has to be posted, to ... */
    unsigned behind_to, behind_place;
} ranks[RANKS];

static frame_note frames[FRAMES_MAX];
static unsigned frame_count, blocks, warned, errors;
static pen_counters counters;
static bool is_orderly;

static void *take(void *ctx, size_t len, size_t align)
{
    (void)ctx;
    blocks++;
    return aligned_alloc(align, (len + align - 1) / align * align);
}

static void give(void *ctx, void *memory)
{
    (void)ctx;
    blocks -= memory != NULL;
    free(memory);
}

static bool is_filled(const unsigned char *memory, unsigned char fill, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (memory[i] != (unsigned char)(fill + i))
            return false;
    return true;
}

static void fill_with(unsigned char *memory, unsigned char fill, size_t len)
{
    for (size_t i = 0; i < len; i++)
        memory[i] = (unsigned char)(fill + i);
}

static unsigned char *memory_at(unsigned of, unsigned by, unsigned at)
{
    return ranks[of].segment + (size_t)(by * PLACES + at) * PLACE_LEN;
}

static void deliver(void *ctx, pen_peer from, pen_lane lane, const void *head, uint32_t head_len,
                    void *body, uint32_t body_len)
{
    struct rank *rank = ctx;
    uint64_t serial;
    memcpy(&serial, head, sizeof serial);
    assert_true(serial < frame_count && head_len == HEAD_LEN);
    frame_note *note = &frames[serial];
    assert_true(note->from == from && &ranks[note->to] == rank && note->lane == lane);
    assert_true((rank->lanes_asked & PEN_LANE_BIT(lane)) != 0 && note->body_len == body_len);
    assert_true(body_len == 0 || ((uintptr_t)body % PEN_NET_ALIGN == 0 &&
                                  is_filled(body, (unsigned char)serial, body_len)));
    if (note->place >= 0) { /* the put has landed */
        place *at = &rank->places[from][note->place];
        assert_true(
            is_filled(memory_at(note->to, from, (unsigned)note->place), note->fill, at->len));
        at->is_busy = false;
    }
    note->times++;
}

static void peer_lost(void *ctx, pen_peer peer, pen_status why)
{
    struct rank *rank = ctx;
    assert_int_equal(why, PEN_ERR_PEER_LOST);
    rank->lost[peer]++;
}

static uint64_t clock_ns;

static uint64_t now_ns(void *ctx)
{
    (void)ctx;
    return clock_ns += 1000000;
}

/* Lets the time pass that the launcher has to notice a lost peer. */
static void time_passes(void) { clock_ns += PEN_NET_GRACE_NS; }

static bool orderly(void *ctx)
{
    (void)ctx;
    return is_orderly;
}

static __attribute__((format(printf, 3, 4))) void log_line(void *ctx, int level, const char *format,
                                                           ...)
{
    (void)ctx;
    assert_true(format[0] != '\0');
    warned += level == PEN_LOG_WARN;
    errors += level == PEN_LOG_ERROR;
}

static void begin(const manner *is)
{
    fake = (struct fake){ .dice = 1, .manner = *is };
    memset(ranks, 0, sizeof ranks);
    memset(frames, 0, sizeof frames);
    counters = (pen_counters){ 0 };
    frame_count = blocks = warned = errors = 0;
    is_orderly = false;
}

static pen_status open_rank(unsigned number, bool wants_rma)
{
    static ofi_config config;
    struct rank *rank = &ranks[number];
    config = (ofi_config){ "libfabric.so.1", fake.manner.name, NULL, 65536, wants_rma, true };
    rank->host = (pen_host){ .ctx = rank,
                             .alloc = take,
                             .release = give,
                             .deliver = deliver,
                             .peer_lost = peer_lost,
                             .now_ns = now_ns,
                             .orderly = orderly,
                             .log = log_line,
                             .counters = &counters };
    const pen_link_params params = {
        .host = &rank->host, .self = number, .peers = RANKS, .config = &config
    };
    return pen_conduit_ofi.open(&params, &rank->link);
}

static pen_status connect_all(void)
{
    static ofi_address blobs[RANKS];
    pen_status status = PEN_OK;
    for (unsigned i = 0; i < RANKS; i++)
        assert_int_equal(ranks[i].link->ops->address(ranks[i].link, &blobs[i]), PEN_OK);
    for (unsigned i = 0; i < RANKS && status == PEN_OK; i++)
        status = ranks[i].link->ops->connect(ranks[i].link, blobs, RANKS);
    return status;
}

static bool has_rma(void) { return ranks[0].link->rma != NULL; }

static void exchange_keys(void)
{
    unsigned char blob[OFI_KEY_LEN];
    for (unsigned i = 0; i < RANKS && has_rma(); i++) {
        pen_link *link = ranks[i].link;
        assert_int_equal(link->caps.rkey_len, sizeof blob);
        assert_int_equal(link->rma->register_region(link, ranks[i].segment, sizeof ranks[i].segment,
                                                    &ranks[i].region),
                         PEN_OK);
        assert_int_equal(link->rma->export_region(link, ranks[i].region, blob), PEN_OK);
        for (unsigned k = 0; k < RANKS; k++)
            assert_int_equal(
                ranks[k].link->rma->import_region(ranks[k].link, i, blob, &ranks[k].key[i]),
                PEN_OK);
    }
}

static void open_all(const manner *is)
{
    begin(is);
    for (unsigned i = 0; i < RANKS; i++)
        assert_int_equal(open_rank(i, true), PEN_OK);
    assert_int_equal(connect_all(), PEN_OK);
    exchange_keys();
}

static void close_all(void)
{
    for (unsigned i = 0; i < RANKS; i++) {
        pen_link *link = ranks[i].link;
        for (unsigned k = 0; k < RANKS && ranks[i].region != NULL; k++)
            link->rma->release_region(link, k, ranks[i].key[k]);
        if (ranks[i].region != NULL)
            link->rma->deregister_region(link, ranks[i].region);
    }
    for (unsigned i = 0; i < RANKS; i++)
        ranks[i].link->ops->close(ranks[i].link);
    assert_int_equal(fake.fabrics + fake.infos + fake.deed_count + blocks, 0);
}

static unsigned poll_rank(unsigned number, unsigned lanes, unsigned budget)
{
    ranks[number].lanes_asked = lanes;
    return ranks[number].link->ops->poll(ranks[number].link, lanes, budget);
}

static void poll_all(unsigned rounds)
{
    for (unsigned i = 0; i < rounds; i++)
        for (unsigned k = 0; k < RANKS; k++)
            (void)poll_rank(k, PEN_LANES_ALL, 100);
}

/* ---- operations of the engine ------------------------------------------------------------------
 */

static pen_post post_frame(unsigned from, unsigned to, pen_lane lane, uint32_t body_len)
{
    const uint64_t head[2] = { frame_count, 7 };
    unsigned char body[BODY_MAX];
    if (frame_count == FRAMES_MAX)
        return PEN_POST_AGAIN;
    fill_with(body, (unsigned char)frame_count, body_len);
    frames[frame_count++] =
        (frame_note){ .from = from, .to = to, .lane = lane, .body_len = body_len, .place = -1 };
    const pen_frame frame = { head, body, HEAD_LEN, body_len };
    return ranks[from].link->ops->post(ranks[from].link, to, lane, &frame, NULL);
}

/* A put or get is over: the data is where it belongs. */
static void op_ends(pen_op *base)
{
    client_op *op = (client_op *)(void *)base;
    const unsigned by = (unsigned)(op->rank - ranks);
    place *at = &ranks[op->to].places[by][op->place];
    assert_int_equal(atomic_load(&base->source_busy), 0);
    if (!op->is_put)
        assert_true(is_filled(op->memory, at->fill, op->len));
    else if (!base->local)
        assert_true(is_filled(memory_at(op->to, by, op->place), op->fill, op->len));
    memset(op->memory, 0xee, sizeof op->memory); /* the client uses it again */
    if (!base->local)
        at->is_busy = false;
    op->rank = NULL;
}

static client_op *op_free(struct rank *rank)
{
    for (unsigned i = 0; i < OPS; i++)
        if (rank->ops[i].rank == NULL)
            return &rank->ops[i];
    return NULL;
}

static pen_post call_link(client_op *op, uint64_t offset)
{
    struct rank *rank = op->rank;
    pen_link *link = rank->link;
    const pen_rkey key = rank->key[op->to];
    if (!op->is_put)
        return link->rma->get(link, op->to, offset, key, op->memory, NULL, op->len, &op->op);
    fill_with(op->memory, op->fill, op->len);
    return link->rma->put(link, op->to, offset, key, op->memory, NULL, op->len, &op->op);
}

/* Takes note of an operation that the link has accepted. */
static void moved(client_op *op, place *at, pen_post answer)
{
    struct rank *rank = op->rank;
    at->is_busy = true;
    if (op->is_put) {
        at->fill = op->fill;
        at->len = op->len;
    }
    if (op->op.local) {
        rank->has_behind = true;
        rank->behind_to = op->to;
        rank->behind_place = op->place;
    }
    if (answer == PEN_POST_DONE) {
        assert_int_equal(atomic_load(&op->op.incomplete) + atomic_load(&op->op.source_busy), 2);
        atomic_store(&op->op.source_busy, 0);
        op_ends(&op->op);
    } else if (atomic_load(&op->op.source_busy) == 0)
        memset(op->memory, 0xdd, sizeof op->memory); /* the client uses it again */
}

/* Puts to a place, or gets from it. Returns the answer; AGAIN also if the place is in use. */
static pen_post move(unsigned by, unsigned to, unsigned where, bool is_put, bool is_local,
                     uint32_t len)
{
    struct rank *rank = &ranks[by];
    place *at = &ranks[to].places[by][where];
    client_op *op = op_free(rank);
    const bool is_possible = is_put ? !is_local || !rank->has_behind : at->len != 0;
    if (op == NULL || at->is_busy || !is_possible)
        return PEN_POST_AGAIN;
    *op = (client_op){
        .op = { .source_busy = 1, .incomplete = 1, .local = is_local, .then = op_ends },
        .rank = rank,
        .is_put = is_put,
        .to = to,
        .place = where,
        .fill = (unsigned char)dice(256),
        .len = is_put ? len : at->len
    };
    const pen_post answer = call_link(op, (uint64_t)(memory_at(to, by, where) - ranks[to].segment));
    if (answer == PEN_POST_DONE || answer == PEN_POST_PENDING)
        moved(op, at, answer);
    else {
        assert_int_equal(atomic_load(&op->op.incomplete) + atomic_load(&op->op.source_busy), 2);
        op->rank = NULL;
    }
    return answer;
}

/* Posts the frame behind the last local put. */
static void post_behind(unsigned by)
{
    struct rank *rank = &ranks[by];
    const unsigned to = rank->behind_to, at = rank->behind_place;
    const uint64_t head[2] = { frame_count, 7 };
    const pen_lane lane = (pen_lane)dice(PEN_LANES);
    if (!rank->has_behind || frame_count == FRAMES_MAX)
        return;
    const pen_post answer = rank->link->behind->post(rank->link, to, lane, head, sizeof head);
    assert_int_not_equal(answer, PEN_POST_FAILED);
    if (answer == PEN_POST_AGAIN)
        return;
    frames[frame_count++] = (frame_note){
        .from = by, .to = to, .lane = lane, .place = (int)at, .fill = ranks[to].places[by][at].fill
    };
    rank->has_behind = false;
}

#endif
