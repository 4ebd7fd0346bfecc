/* SPDX-License-Identifier: BSD-3-Clause */
/* wire_test.c: a reader believes nothing about a ring that its writer, another process, may have
 * written wrongly. */
#include "softnic/portals/wire.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct bench {
    pen_portals_config config;
    void *memory;
    p4_side writer, reader;
} bench;

static void bench_open(bench *b)
{
    pen_portals_config_default(&b->config);
    b->config.processes = 2;
    size_t len = pen_portals_len(&b->config);
    b->memory = aligned_alloc(4096, len);
    assert_non_null(b->memory);
    memset(b->memory, 0, len);
    p4_side_open(&b->writer, b->memory, &b->config, 0, 1, 0);
    p4_side_open(&b->reader, b->memory, &b->config, 0, 1, 0);
}

static void bench_close(bench *b) { free(b->memory); }

/* Publishes a packet of `bytes` bytes whose head claims `claimed`. */
static void publish(bench *b, uint32_t bytes, uint32_t claimed)
{
    size_t first;
    const p4_packet head = { .bytes = claimed };
    assert_int_equal(p4_ring_has_room(&b->writer, b->config.ring_len, bytes), P4_RING_YES);
    memcpy(p4_ring_at(&b->writer, b->config.ring_len, 0, sizeof head, &first), &head, sizeof head);
    p4_ring_push(&b->writer, bytes);
}

static p4_ring_state peek(bench *b)
{
    p4_packet head;
    return p4_ring_peek(&b->reader, b->config.ring_len, p4_payload_max(&b->config), &head);
}

static void a_packet_is_no_longer_than_what_was_published(void **state)
{
    (void)state;
    static const struct {
        uint32_t bytes, claimed;
        p4_ring_state found;
    } rows[] = {
        { 0, 0, P4_RING_YES },
        { 64, 64, P4_RING_YES },
        { 64, 65, P4_RING_BROKEN },
        { 0, 1, P4_RING_BROKEN },
        { 0, 64, P4_RING_BROKEN },
        { 128, 8128, P4_RING_BROKEN },
        { 8128, 8128, P4_RING_YES },
        { 64, UINT32_MAX, P4_RING_BROKEN },
        { 64, UINT32_MAX - 63, P4_RING_BROKEN },
    };
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        bench b;
        bench_open(&b);
        assert_int_equal(peek(&b), P4_RING_NO);
        publish(&b, rows[i].bytes, rows[i].claimed);
        assert_int_equal(peek(&b), rows[i].found);
        bench_close(&b);
    }
}

static void a_packet_is_no_longer_than_any_correct_one(void **state)
{
    (void)state;
    bench b;
    bench_open(&b);
    for (unsigned i = 0; i < 3; i++)
        publish(&b, 8128, i == 0 ? 8129 : 0); /* enough bytes are there */
    assert_int_equal(peek(&b), P4_RING_BROKEN);
    bench_close(&b);
}

static void positions_are_plausible(void **state)
{
    (void)state;
    static const uint64_t written[] = { 1, 63, 65, 65536 + 64, UINT64_MAX, UINT64_MAX - 63 };
    for (unsigned i = 0; i < sizeof written / sizeof written[0]; i++) {
        bench b;
        bench_open(&b);
        atomic_store(&b.reader.ring->write, written[i]);
        assert_int_equal(peek(&b), P4_RING_BROKEN);
        bench_close(&b);
    }
    bench b;
    bench_open(&b);
    for (unsigned i = 0; i < 8; i++) /* the ring is full */
        publish(&b, 8128, 8128);
    atomic_store(&b.writer.ring->read, UINT64_C(1) << 40); /* more than was written */
    assert_int_equal(p4_ring_has_room(&b.writer, b.config.ring_len, 8128), P4_RING_BROKEN);
    bench_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_packet_is_no_longer_than_what_was_published),
        cmocka_unit_test(a_packet_is_no_longer_than_any_correct_one),
        cmocka_unit_test(positions_are_plausible),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
