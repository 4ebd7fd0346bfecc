/* SPDX-License-Identifier: BSD-3-Clause */
/* host_test.c: a lent host passes every call on, with the peers' numbers of the host above. */
#include "link/host.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct above {
    pen_host host;
    pen_peer peer; /* as the last call named it */
    int lane, heads, frames, lost, wakes;
    char line[100];
    _Atomic uint32_t sleeping;
} above;

static void on_deliver(void *ctx, pen_peer from, pen_lane lane, const void *head, uint32_t head_len,
                       void *body, uint32_t body_len)
{
    above *a = (above *)ctx;
    (void)head, (void)head_len;
    assert_int_equal(body == NULL, body_len == 0);
    a->peer = from;
    a->lane = (int)lane;
    a->frames++;
}

static void on_request(void *ctx, pen_peer from, const void *head, uint32_t head_len)
{
    (void)head, (void)head_len;
    ((above *)ctx)->peer = from;
    ((above *)ctx)->lane = PEN_LANE_REQUEST;
    ((above *)ctx)->heads++;
}

static void on_reply(void *ctx, pen_peer from, const void *head, uint32_t head_len)
{
    on_request(ctx, from, head, head_len);
    ((above *)ctx)->lane = PEN_LANE_REPLY;
}

static void on_lost(void *ctx, pen_peer peer, pen_status why)
{
    (void)why;
    ((above *)ctx)->peer = peer;
    ((above *)ctx)->lost++;
}

static uint64_t on_now(void *ctx)
{
    (void)ctx;
    return 77;
}

static void on_log(void *ctx, int level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void on_log(void *ctx, int level, const char *format, ...)
{
    va_list args;
    (void)level;
    va_start(args, format);
    (void)vsnprintf(((above *)ctx)->line, sizeof((above *)ctx)->line, format, args);
    va_end(args);
}

static void *on_alloc(void *ctx, size_t len, size_t align)
{
    (void)ctx;
    return aligned_alloc(align, (len + align - 1) / align * align);
}

static void on_release(void *ctx, void *memory)
{
    (void)ctx;
    free(memory);
}

static void on_wake(void *ctx, pen_peer peer)
{
    ((above *)ctx)->peer = peer;
    ((above *)ctx)->wakes++;
}

static const _Atomic uint32_t *on_sleeping(void *ctx, pen_peer peer)
{
    ((above *)ctx)->peer = peer;
    return &((above *)ctx)->sleeping;
}

static above above_made(void)
{
    return (above){ .host = { .deliver = on_deliver,
                              .deliver_head = { on_request, on_reply },
                              .peer_lost = on_lost,
                              .now_ns = on_now,
                              .log = on_log,
                              .alloc = on_alloc,
                              .release = on_release,
                              .wake = on_wake,
                              .sleeping = on_sleeping } };
}

static void frames_go_by_the_shorter_way(void **state)
{
    above a = above_made();
    uint64_t head = 1, body[2] = { 0 };
    (void)state;
    a.host.ctx = &a;
    for (unsigned lane = 0; lane < PEN_LANES; lane++) {
        pen_host_hand(&a.host, 3, (pen_lane)lane, &head, 8, body, 0);
        assert_int_equal(a.lane, lane);
        pen_host_hand(&a.host, 3, (pen_lane)lane, &head, 8, body, 16);
        assert_int_equal(a.lane, lane);
    }
    assert_int_equal(a.heads, 2);
    assert_int_equal(a.frames, 4);
    a.host.deliver_head[0] = a.host.deliver_head[1] = NULL;
    pen_host_hand(&a.host, 3, PEN_LANE_REPLY, &head, 8, body, 0);
    assert_int_equal(a.frames, 5);
}

static void a_sleeper_is_woken_and_nobody_else(void **state)
{
    above a = above_made();
    const _Atomic uint32_t always = 1;
    (void)state;
    a.host.ctx = &a;
    const _Atomic uint32_t *word = pen_host_sleep_word(&a.host, 4, &always);
    assert_ptr_equal(word, &a.sleeping);
    pen_host_wake_sleeper(&a.host, 4, word, false);
    assert_int_equal(a.wakes, 0);
    atomic_store(&a.sleeping, 1);
    pen_host_wake_sleeper(&a.host, 4, word, true);
    assert_int_equal(a.wakes, 1);
    a.host.sleeping = NULL; /* the state is unknown: always */
    assert_ptr_equal(pen_host_sleep_word(&a.host, 4, &always), &always);
}

static void a_lent_host_passes_everything_on(void **state)
{
    above a = above_made();
    pen_lender lender;
    pen_host lent;
    uint64_t head = 1;
    (void)state;
    a.host.ctx = &a;
    pen_lender_init(&lender, &a.host, NULL);
    lender.first = 10;
    pen_host_lend(&lender, &lent);
    lent.deliver(lent.ctx, 2, PEN_LANE_CONTROL, &head, 8, NULL, 0);
    assert_int_equal(a.peer, 12);
    assert_int_equal(a.lane, PEN_LANE_CONTROL);
    for (unsigned lane = 0; lane < PEN_LANE_CONTROL; lane++) {
        lent.deliver_head[lane](lent.ctx, lane, &head, 8);
        assert_int_equal(a.peer, 10 + lane);
        assert_int_equal(a.lane, lane);
    }
    lent.peer_lost(lent.ctx, 5, PEN_ERR_PROTOCOL);
    assert_int_equal(a.peer, 15);
    lent.peer_lost(lent.ctx, PEN_PEER_ANY, PEN_ERR_PROTOCOL);
    assert_true(a.peer == PEN_PEER_ANY);
    lent.wake(lent.ctx, 1);
    assert_int_equal(a.peer, 11);
    assert_ptr_equal(lent.sleeping(lent.ctx, 6), &a.sleeping);
    assert_int_equal(a.peer, 16);
    assert_int_equal(lent.now_ns(lent.ctx), 77);
    lent.log(lent.ctx, PEN_LOG_INFO, "%s %d", "line", 3);
    assert_string_equal(a.line, "line 3");
    void *memory = lent.alloc(lent.ctx, 100, 64);
    assert_non_null(memory);
    lent.release(lent.ctx, memory);
    assert_null(lent.shared);    /* the host has no shared memory */
    assert_null(lent.poll_view); /* a view shows one link's polls */
}

static unsigned taken;

static void take(void *ctx, pen_peer from, pen_lane lane, const void *head, uint32_t head_len,
                 void *body, uint32_t body_len)
{
    (void)from, (void)lane, (void)head, (void)head_len, (void)body, (void)body_len;
    assert_ptr_equal(((pen_lender *)ctx)->owner, &taken);
    taken++;
}

static void a_wrapping_link_takes_all_frames_and_nothing_else(void **state)
{
    above a = above_made();
    pen_lender lender;
    pen_host lent;
    uint64_t head = 1;
    (void)state;
    a.host.ctx = &a;
    pen_host_intercept(&lender, &a.host, &taken, take, &lent);
    for (pen_lane lane = 0; lane < PEN_LANES; lane++)
        pen_host_hand(&lent, 2, lane, &head, 8, NULL, 0);
    assert_int_equal(taken, PEN_LANES);
    assert_int_equal(a.frames + a.heads, 0);
    lent.peer_lost(lent.ctx, 5, PEN_ERR_PROTOCOL);
    assert_int_equal(a.peer, 5);
}

/* ---- memory ---------------------------------------------------------------------------------- */

typedef struct owner {
    void *shared;
    size_t len;
    unsigned lines;
} owner;

static void *share_some(void *ctx, size_t *len_out)
{
    *len_out = ((owner *)ctx)->len;
    return ((owner *)ctx)->shared;
}

static void count_line(void *ctx, int level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void count_line(void *ctx, int level, const char *format, ...)
{
    (void)level, (void)format;
    ((owner *)ctx)->lines++;
}

static void *fill_memory(void *ctx, size_t len, size_t align)
{
    (void)ctx;
    void *memory = aligned_alloc(align, len);
    return memory != NULL ? memset(memory, 0xcd, len) : NULL;
}

static void *no_memory(void *ctx, size_t len, size_t align)
{
    (void)ctx, (void)len, (void)align;
    return NULL;
}

static void free_memory(void *ctx, void *memory)
{
    (void)ctx;
    assert_non_null(memory);
    free(memory);
}

static void zeroed_memory_is_zero_and_may_be_absent(void **state)
{
    (void)state;
    pen_host host = { .alloc = fill_memory, .release = free_memory };
    unsigned char *memory = pen_host_alloc_zeroed(&host, 70);
    assert_non_null(memory);
    assert_int_equal((uintptr_t)memory % 64, 0);
    for (unsigned i = 0; i < 70; i++)
        assert_int_equal(memory[i], 0);
    pen_host_release(&host, memory);
    pen_host_release(&host, NULL);
    host.alloc = no_memory;
    assert_null(pen_host_alloc_zeroed(&host, 70));
}

static void shared_memory_has_to_be_long_enough(void **state)
{
    (void)state;
    char memory[8];
    owner o = { memory, sizeof memory, 0 };
    pen_host host = { .ctx = &o, .shared = share_some, .log = count_line };
    size_t len = 0;
    assert_ptr_equal(pen_host_find_shared(&host, 8, "a test", &len), memory);
    assert_int_equal(len, 8);
    assert_int_equal(o.lines, 0);
    assert_null(pen_host_find_shared(&host, 9, "a test", &len));
    assert_int_equal(o.lines, 1);
    host.shared = NULL;
    assert_null(pen_host_find_shared(&host, 1, "a test", &len));
    assert_int_equal(o.lines, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_go_by_the_shorter_way),
        cmocka_unit_test(a_sleeper_is_woken_and_nobody_else),
        cmocka_unit_test(a_lent_host_passes_everything_on),
        cmocka_unit_test(a_wrapping_link_takes_all_frames_and_nothing_else),
        cmocka_unit_test(zeroed_memory_is_zero_and_may_be_absent),
        cmocka_unit_test(shared_memory_has_to_be_long_enough),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
