/* SPDX-License-Identifier: BSD-3-Clause */
/* pair_test.c: frames go over the first link of a pair and puts over the second; links that cannot
 * be a pair are refused. */
#include "link/pair.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { PEERS = 3 };

typedef struct one_link {
    pen_link base;
    char name; /* its address for peer p is this letter, p + 1 times */
    unsigned posts, puts, polls, closes;
    uint64_t due_ns;
    bool may_gather;
} one_link;

static one_link *one_of(pen_link *link) { return (one_link *)(void *)link; }

static void one_close(pen_link *link) { one_of(link)->closes++; }

static pen_status one_address(pen_link *link, void *blob)
{
    memset(blob, one_of(link)->name, link->caps.addr_len);
    return PEN_OK;
}

/* Checks that the link gets its own part of each address. */
static pen_status one_connect(pen_link *link, const void *blobs, pen_peer count)
{
    assert_int_equal(count, PEERS);
    for (size_t i = 0; i < (size_t)PEERS * link->caps.addr_len; i++)
        assert_int_equal(((const char *)blobs)[i], one_of(link)->name);
    return PEN_OK;
}

static pen_post one_post(pen_link *link, pen_peer to, pen_lane lane, const pen_frame *frame,
                         pen_op *op)
{
    (void)to, (void)lane, (void)frame, (void)op;
    one_of(link)->posts++;
    one_of(link)->may_gather = link->may_gather;
    return PEN_POST_DONE;
}

static unsigned one_poll(pen_link *link, unsigned lanes, unsigned budget)
{
    assert_int_equal(lanes, PEN_LANES_ALL);
    assert_int_equal(budget, 32);
    return ++one_of(link)->polls;
}

static const pen_link_ops one_ops = { one_close, one_address, one_connect, one_post, one_poll };

static pen_post one_put(pen_link *link, pen_peer peer, uint64_t offset, pen_rkey key,
                        const void *local, pen_region *region, size_t len, pen_op *op)
{
    (void)peer, (void)offset, (void)key, (void)local, (void)region, (void)len, (void)op;
    one_of(link)->puts++;
    return PEN_POST_AGAIN;
}

static const pen_rma_ops one_rma = { .put = one_put };

static uint64_t one_due_ns(pen_link *link) { return one_of(link)->due_ns; }

static const pen_due_ops one_due = { one_due_ns };

static void no_log(void *ctx, int level, const char *format, ...)
{
    (void)level, (void)format;
    ++*(unsigned *)ctx;
}

static void *take_memory(void *ctx, size_t len, size_t align)
{
    (void)ctx;
    return aligned_alloc(align, (len + align - 1) / align * align);
}

static void give_memory(void *ctx, void *memory)
{
    (void)ctx;
    free(memory);
}

static unsigned lines;
static const pen_host host = {
    .ctx = &lines, .log = no_log, .alloc = take_memory, .release = give_memory
};

static one_link make(char name, uint32_t addr_len, bool has_rma)
{
    one_link link = { .name = name };
    link.base.ops = &one_ops;
    link.base.rma = has_rma ? &one_rma : NULL;
    link.base.host = &host;
    link.base.self = 1;
    link.base.caps = (pen_caps){ .flags = PEN_CAP_RELIABLE,
                                 .frame_max = 1000u + (uint32_t)name,
                                 .frame_copy_max = 900,
                                 .addr_len = addr_len,
                                 .rkey_len = has_rma ? 24 : 0,
                                 .put_max = has_rma ? 4096 : 0,
                                 .get_max = has_rma ? 2048 : 0 };
    return link;
}

static void frames_go_over_one_and_puts_over_the_next(void **state)
{
    (void)state;
    one_link a = make('a', 5, false), b = make('b', 7, true);
    pen_link *pair = NULL;
    unsigned char blobs[PEERS * 12];
    a.base.due = b.base.due = &one_due;
    a.due_ns = 700;
    b.due_ns = 500;
    b.base.caps.flags |= PEN_CAP_LOCAL_REGION;
    assert_int_equal(pen_pair_open(&a.base, &b.base, &host, PEERS, PEN_ALONE, &pair), PEN_OK);
    assert_int_equal(pair->caps.flags, PEN_CAP_RELIABLE | PEN_CAP_LOCAL_REGION);
    assert_int_equal(pair->caps.frame_max, 1000 + 'a');
    assert_int_equal(pair->caps.addr_len, 12);
    assert_int_equal(pair->caps.rkey_len, 24);
    assert_int_equal(pair->caps.put_max, 4096);
    assert_int_equal(pair->caps.get_max, 2048);
    assert_int_equal(pair->self, 1);
    for (unsigned peer = 0; peer < PEERS; peer++)
        assert_int_equal(pair->ops->address(pair, blobs + peer * 12), PEN_OK);
    assert_memory_equal(blobs + 12, "aaaaabbbbbbb", 12);
    assert_int_equal(pair->ops->connect(pair, blobs, PEERS), PEN_OK);
    assert_int_equal(pair->ops->connect(pair, blobs, PEERS + 1), PEN_ERR_ARGUMENT);

    const uint64_t head = 1;
    const pen_frame frame = { &head, NULL, 8, 0 };
    pair->may_gather = true;
    assert_int_equal(pair->ops->post(pair, 2, PEN_LANE_REPLY, &frame, NULL), PEN_POST_DONE);
    assert_true(a.may_gather);
    assert_int_equal(pair->rma->put(pair, 2, 0, 1, &head, NULL, 8, NULL), PEN_POST_AGAIN);
    assert_int_equal(pair->ops->poll(pair, PEN_LANES_ALL, 32), 2); /* one event of each */
    assert_int_equal(a.posts + b.puts, 2);
    assert_int_equal(b.posts + a.puts, 0);
    assert_int_equal(pair->due->due_ns(pair), 500);
    a.due_ns = 0;
    assert_int_equal(pair->due->due_ns(pair), 0);
    pair->ops->close(pair);
    assert_int_equal(a.closes, 1);
    assert_int_equal(b.closes, 1);
}

static void links_that_cannot_be_a_pair_are_refused(void **state)
{
    (void)state;
    pen_link *pair = NULL;
    one_link a = make('a', 1000, false), b = make('b', 24, true);
    lines = 0;
    assert_int_equal(pen_pair_open(&a.base, &a.base, &host, PEERS, PEN_ALONE, &pair),
                     PEN_ERR_UNUSABLE);
    b.base.caps.flags = 0;
    assert_int_equal(pen_pair_open(&a.base, &b.base, &host, PEERS, PEN_ALONE, &pair),
                     PEN_ERR_UNUSABLE);
    b = make('b', 25, true); /* 1025 bytes together */
    assert_int_equal(pen_pair_open(&a.base, &b.base, &host, PEERS, PEN_ALONE, &pair),
                     PEN_ERR_UNUSABLE);
    assert_int_equal(lines, 3);
    assert_null(pair);
    b = make('b', 24, true);
    assert_int_equal(pen_pair_open(&a.base, &b.base, &host, PEERS, PEN_ALONE, &pair), PEN_OK);
    assert_null(pair->due);
    assert_null(pair->wait);
    assert_null(pair->behind);
    pair->ops->close(pair);
}

static void names_are_split_at_the_plus_sign(void **state)
{
    (void)state;
    char frames[4];
    assert_string_equal(pen_pair_split("udp+extoll", frames, sizeof frames), "extoll");
    assert_string_equal(frames, "udp");
    assert_string_equal(pen_pair_split("a+b+c", frames, sizeof frames), "b+c");
    assert_null(pen_pair_split("udp", frames, sizeof frames));
    assert_null(pen_pair_split("+b", frames, sizeof frames));
    assert_null(pen_pair_split("a+", frames, sizeof frames));
    assert_null(pen_pair_split("loop+b", frames, sizeof frames)); /* too long */
    assert_null(pen_pair_split(NULL, frames, sizeof frames));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_go_over_one_and_puts_over_the_next),
        cmocka_unit_test(links_that_cannot_be_a_pair_are_refused),
        cmocka_unit_test(names_are_split_at_the_plus_sign),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
