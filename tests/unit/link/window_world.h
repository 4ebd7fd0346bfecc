/* SPDX-License-Identifier: BSD-3-Clause */
/* window_world.h: a world of ranks whose links have a window, over a network that never says
 * "full".
 */
#ifndef PEN_TEST_LINK_WINDOW_WORLD_H
#define PEN_TEST_LINK_WINDOW_WORLD_H

#include "link/window.h"
#include "support/bounded.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { RANKS_MAX = 12, STEPS_MAX = 400000 };

typedef struct test_rank {
    struct world *world;
    pen_host host, lent;
    pen_link *link, *inner;
    uint32_t backlog[RANKS_MAX]; /* replies that found no room, by peer */
    uint32_t requests_left;
    uint32_t got[PEN_LANES], lost;
} test_rank;

typedef struct world {
    pen_peer size;
    test_rank ranks[RANKS_MAX];
    uint64_t dice;
    uint32_t body_max;
    size_t memory; /* bytes that the links have */
    bool answers;
    bool refills; /* while rank 1 takes a frame, rank 0 hears grants and posts what it may */
} world;

static inline uint32_t roll(world *w, uint32_t below)
{
    w->dice = w->dice * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(w->dice >> 33) % below;
}

/* ---- a host ---------------------------------------------------------------------------------- */

static inline pen_post post(test_rank *rank, pen_peer to, pen_lane lane, uint32_t head_len,
                            uint32_t body_len)
{
    static const char zeros[65536];
    uint64_t head[PEN_FRAME_HEAD_MAX / 8] = { (uint64_t)lane << 32 | body_len, head_len };
    const pen_frame frame = { head, body_len != 0 ? zeros : NULL, head_len, body_len };
    return rank->link->ops->post(rank->link, to, lane, &frame, NULL);
}

static inline bool reply(test_rank *rank, pen_peer to)
{
    world *w = rank->world;
    uint32_t body_len = roll(w, 3) == 0 ? roll(w, w->body_max + 1) : 0;
    return post(rank, to, PEN_LANE_REPLY, 16 + 8 * roll(w, 12), body_len) == PEN_POST_DONE;
}

static inline uint32_t fill(world *w, pen_peer from, pen_peer to, pen_lane lane, uint32_t body_len)
{
    uint32_t count = 0;
    while (post(&w->ranks[from], to, lane, 16, body_len) == PEN_POST_DONE)
        assert_true(++count < 1000000);
    return count;
}

static inline void take_frame(void *ctx, pen_peer from, pen_lane lane, const void *head,
                              uint32_t head_len, void *body, uint32_t body_len)
{
    test_rank *rank = (test_rank *)ctx;
    const uint64_t *words = (const uint64_t *)head;
    assert_int_equal(words[0], (uint64_t)lane << 32 | body_len);
    assert_int_equal(words[1], head_len);
    assert_int_equal(body != NULL, body_len != 0);
    rank->got[lane]++;
    if (rank->world->refills && rank == &rank->world->ranks[1]) {
        pen_link *sender = rank->world->ranks[0].link;
        (void)sender->ops->poll(sender, PEN_LANES_ALL, 64);
        (void)fill(rank->world, 0, 1, lane, 0);
    }
    if (lane == PEN_LANE_REQUEST && rank->world->answers && !reply(rank, from))
        rank->backlog[from]++;
}

static inline void note_loss(void *ctx, pen_peer peer, pen_status why)
{
    (void)peer;
    assert_int_equal(why, PEN_ERR_PROTOCOL);
    ((test_rank *)ctx)->lost++;
}

static inline uint64_t no_time(void *ctx)
{
    (void)ctx;
    return 0;
}

static inline void no_log(void *ctx, int level, const char *format, ...)
{
    (void)ctx, (void)level, (void)format;
}

static inline void *take_memory(void *ctx, size_t len, size_t align)
{
    ((test_rank *)ctx)->world->memory += len;
    return aligned_alloc(align, (len + align - 1) / align * align);
}

static inline void give_memory(void *ctx, void *memory)
{
    (void)ctx;
    free(memory);
}

static inline void no_wake(void *ctx, pen_peer peer) { (void)ctx, (void)peer; }

/* ---- a world --------------------------------------------------------------------------------- */

static inline pen_status open_rank(world *w, pen_peer self, const bounded_config *config)
{
    test_rank *rank = &w->ranks[self];
    rank->world = w;
    rank->host = (pen_host){ .ctx = rank,
                             .deliver = take_frame,
                             .peer_lost = note_loss,
                             .now_ns = no_time,
                             .log = no_log,
                             .alloc = take_memory,
                             .release = give_memory,
                             .wake = no_wake };
    rank->lent = rank->host;
    pen_link_params params = {
        .host = &rank->lent, .self = self, .peers = w->size, .config = config
    };
    assert_int_equal(pen_conduit_bounded.open(&params, &rank->inner), PEN_OK);
    assert_true(pen_window_is_needed(rank->inner));
    return pen_window_open(rank->inner, &rank->lent, &rank->host, w->size, PEN_ALONE, &rank->link);
}

static inline world *open_world(pen_peer size, const bounded_config *config, uint64_t seed)
{
    world *w = (world *)calloc(1, sizeof *w);
    unsigned char blobs[RANKS_MAX * sizeof(pen_link *)];
    assert_non_null(w);
    w->size = size;
    w->dice = seed;
    for (pen_peer self = 0; self < size; self++) {
        assert_int_equal(open_rank(w, self, config), PEN_OK);
        pen_link *link = w->ranks[self].link;
        assert_false(pen_window_is_needed(link));
        assert_int_equal(link->ops->address(link, blobs + self * sizeof(pen_link *)), PEN_OK);
    }
    for (pen_peer self = 0; self < size; self++) {
        pen_link *link = w->ranks[self].link;
        assert_int_equal(link->ops->connect(link, blobs, size), PEN_OK);
    }
    w->body_max = w->ranks[0].link->caps.frame_max;
    return w;
}

static inline void close_world(world *w)
{
    for (pen_peer self = 0; self < w->size; self++) {
        assert_int_equal(bounded_overruns(w->ranks[self].inner), 0);
        w->ranks[self].link->ops->close(w->ranks[self].link);
    }
    free(w);
}

/* As the engine: a rank that has replies left takes no requests. */
static inline bool send_backlog(test_rank *rank)
{
    bool is_empty = true;
    for (pen_peer to = 0; to < rank->world->size; to++) {
        while (rank->backlog[to] != 0 && reply(rank, to))
            rank->backlog[to]--;
        is_empty = is_empty && rank->backlog[to] == 0;
    }
    return is_empty;
}

static inline unsigned poll_as_the_engine(test_rank *rank)
{
    unsigned lanes = PEN_LANES_ALL;
    if (!send_backlog(rank))
        lanes &= ~PEN_LANE_BIT(PEN_LANE_REQUEST);
    return rank->link->ops->poll(rank->link, lanes, 1 + roll(rank->world, 16));
}

static inline uint32_t drain_all(world *w, unsigned lanes)
{
    uint32_t count = 0;
    for (unsigned round = 0; round < 100; round++)
        for (pen_peer self = 0; self < w->size; self++)
            count += w->ranks[self].link->ops->poll(w->ranks[self].link, lanes, 64);
    return count;
}

#endif
