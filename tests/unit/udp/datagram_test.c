/* SPDX-License-Identifier: BSD-3-Clause */
/* datagram_test.c: a datagram that was written can be read; a stranger's datagram fails at the
 * expected stage, and is not read beyond its end. Datagrams lie at the end of memory of exactly
 * their
 * length, so that the address sanitizer sees a step too far. */
#include "conduits/udp/datagram.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { RANKS = 3, US = 1, PEER = 2, EPOCH = 0x12345678, FUZZ_ROUNDS = 20000 };

static const udp_expect us = { EPOCH, US, RANKS }, peer = { EPOCH, PEER, RANKS };

typedef struct bench {
    pen_seal *ours, *theirs;
} bench;

static void bench_open(bench *b, pen_seal_mode mode)
{
    static const uint8_t key[PEN_SEAL_KEY_LEN] = { 1 }, salts[RANKS][PEN_SEAL_SALT_LEN];
    bool has_aes;
    assert_true(pen_seal_start(&has_aes));
    pen_seal_params params = { .job_key = key,
                               .purpose = "test",
                               .mode = mode,
                               .library = PEN_SEAL_LIBRARY_LIBSODIUM,
                               .self = US,
                               .peers = RANKS };
    assert_int_equal(pen_seal_open(&params, salts, sizeof salts[0], &b->ours), PEN_OK);
    params.self = PEER;
    assert_int_equal(pen_seal_open(&params, salts, sizeof salts[0], &b->theirs), PEN_OK);
}

static void bench_close(bench *b)
{
    pen_seal_close(b->ours);
    pen_seal_close(b->theirs);
}

static uint8_t *exactly(size_t len)
{
    void *memory = NULL;
    assert_int_equal(posix_memalign(&memory, UDP_ALIGN, len), 0);
    return memory;
}

/* Header, the given bytes as frames, tag. */
static uint8_t *sealed(bench *b, const void *frames, size_t frames_len)
{
    uint8_t *bytes = exactly(UDP_DATAGRAM_EXTRA + frames_len);
    udp_header_write(bytes, &peer, US);
    memcpy(bytes + UDP_HEADER_LEN, frames, frames_len);
    assert_true(pen_seal_protect(b->theirs, US, bytes, UDP_HEADER_LEN, frames_len));
    return bytes;
}

static udp_verdict judge(bench *b, uint8_t *bytes, size_t len)
{
    pen_peer from;
    size_t payload_len;
    return udp_datagram_open(b->ours, &us, bytes, len, &from, &payload_len);
}

static udp_verdict judge_frames(bench *b, const void *frames, size_t frames_len)
{
    uint8_t *bytes = sealed(b, frames, frames_len);
    udp_verdict verdict = judge(b, bytes, UDP_DATAGRAM_EXTRA + frames_len);
    free(bytes);
    return verdict;
}

/* One frame with a head of one word. */
typedef struct short_frame {
    uint32_t body_len;
    uint8_t lane, head_words;
    uint16_t zero;
    uint64_t head;
    uint8_t body[24]; /* 8 of them padding */
} short_frame;

static const short_frame plain = { .head_words = 1, .head = 7 };
enum { PLAIN_LEN = 16, WITH_BODY = 40 };

static void frames_come_back_as_they_were_written(void **state)
{
    (void)state;
    uint64_t heads[PEN_FRAME_HEAD_MAX / 8];
    uint8_t bodies[300], *bytes = exactly(8192);
    for (unsigned i = 0; i < sizeof bodies; i++)
        bodies[i] = (uint8_t)(i + 1);
    for (unsigned i = 0; i < PEN_FRAME_HEAD_MAX / 8; i++)
        heads[i] = i + 1000;
    size_t off = UDP_HEADER_LEN, at = UDP_HEADER_LEN;
    memset(bytes, 0xff, 8192);
    for (uint32_t i = 0; i < 26; i++) {
        pen_frame frame = { heads, bodies, 8 + 8 * (i % 13), i < 13 ? 0 : i * 11 };
        size_t end = udp_frame_end(off, frame.head_len, frame.body_len);
        assert_int_equal(udp_frame_write(bytes, off, (pen_lane)(i % PEN_LANES), &frame), end);
        assert_true(end - off <= UDP_FRAME_EXTRA_MAX + frame.body_len);
        off = end;
    }
    for (uint32_t i = 0; i < 26; i++) {
        udp_frame frame;
        assert_true(udp_frame_read(bytes, off, &at, &frame));
        assert_int_equal(frame.lane, i % PEN_LANES);
        assert_int_equal(frame.head_len, 8 + 8 * (i % 13));
        assert_int_equal(frame.body_len, i < 13 ? 0 : i * 11);
        assert_memory_equal(frame.head, heads, frame.head_len);
        assert_int_equal((uintptr_t)frame.head % 8, 0);
        assert_int_equal((uintptr_t)frame.body % 16, 0);
        assert_int_equal(frame.body == NULL, frame.body_len == 0);
        if (frame.body_len != 0)
            assert_memory_equal(frame.body, bodies, frame.body_len);
    }
    assert_int_equal(at, off);
    free(bytes);
}

static void a_genuine_datagram_tells_its_sender_once(void **state)
{
    (void)state;
    bench b;
    bench_open(&b, PEN_SEAL_AUTH);
    pen_peer from = 99;
    size_t payload_len = 0, len = UDP_DATAGRAM_EXTRA + PLAIN_LEN;
    uint8_t *bytes = sealed(&b, &plain, PLAIN_LEN);
    assert_int_equal(udp_datagram_open(b.ours, &us, bytes, len, &from, &payload_len), UDP_GENUINE);
    assert_int_equal(from, PEER);
    assert_int_equal(payload_len, PLAIN_LEN);
    assert_int_equal(judge(&b, bytes, len), UDP_REPLAYED);
    free(bytes);
    bench_close(&b);
}

/* Each stage fails although all later stages would fail, too: so no later stage was reached. */
static void stages_are_in_the_order_that_is_safe(void **state)
{
    (void)state;
    bench b;
    bench_open(&b, PEN_SEAL_AUTH);
    const size_t len = UDP_DATAGRAM_EXTRA + PLAIN_LEN;
    const struct {
        size_t off;
        udp_verdict verdict;
    } stages[] = { { 0, UDP_BAD_VERSION },   { 4, UDP_BAD_EPOCH }, { 8, UDP_BAD_SOURCE },
                   { 12, UDP_BAD_SOURCE },   { 16, UDP_BAD_SEAL }, { UDP_HEADER_LEN, UDP_BAD_SEAL },
                   { len - 1, UDP_BAD_SEAL } };
    for (unsigned i = 0; i < sizeof stages / sizeof stages[0]; i++) {
        uint8_t *bytes = sealed(&b, &plain, PLAIN_LEN);
        for (unsigned k = i; k < sizeof stages / sizeof stages[0]; k++)
            bytes[stages[k].off] ^= 0x80;
        assert_int_equal(judge(&b, bytes, len), stages[i].verdict);
        free(bytes);
    }
    uint8_t *bytes = exactly(len + 1);
    memset(bytes, 0, len + 1);
    assert_int_equal(judge(&b, bytes, len + 1), UDP_BAD_LENGTH);
    free(bytes);
    bench_close(&b);
}

static void lengths_that_no_datagram_has_are_not_looked_into(void **state)
{
    (void)state;
    bench b;
    bench_open(&b, PEN_SEAL_NONE);
    for (size_t len = 0; len < 200; len++) {
        uint8_t *bytes = exactly(len + (len == 0));
        memset(bytes, 0, len);
        if (len >= UDP_HEADER_LEN)
            udp_header_write(bytes, &peer, US);
        bool may_be = len >= UDP_DATAGRAM_MIN && len % 8 == 0;
        udp_verdict verdict = judge(&b, bytes, len);
        assert_true(may_be ? verdict == UDP_BAD_FRAME : verdict == UDP_BAD_LENGTH);
        free(bytes);
    }
    bench_close(&b);
}

static void check_bad(bench *b, short_frame frame, size_t len)
{
    assert_int_equal(judge_frames(b, &frame, len), UDP_BAD_FRAME);
}

static void every_field_of_a_frame_is_checked(void **state)
{
    (void)state;
    bench b;
    bench_open(&b, PEN_SEAL_AUTH);
    short_frame f = plain;
    assert_int_equal(judge_frames(&b, &f, PLAIN_LEN), UDP_GENUINE);
    f.lane = PEN_LANES - 1;
    assert_int_equal(judge_frames(&b, &f, PLAIN_LEN), UDP_GENUINE);
    f.lane = PEN_LANES;
    check_bad(&b, f, PLAIN_LEN);
    f.lane = UINT8_MAX;
    check_bad(&b, f, PLAIN_LEN);
    f = plain;
    f.zero = 0x0100;
    check_bad(&b, f, PLAIN_LEN);
    f = plain;
    f.head_words = 0;
    check_bad(&b, f, PLAIN_LEN);
    f.head_words = 2; /* beyond the end */
    check_bad(&b, f, PLAIN_LEN);
    f.head_words = PEN_FRAME_HEAD_MAX / 8 + 1;
    check_bad(&b, f, WITH_BODY);
    f = plain;
    f.body_len = 16;
    assert_int_equal(judge_frames(&b, &f, WITH_BODY), UDP_GENUINE);
    f.body_len = 9; /* padded to 16 */
    assert_int_equal(judge_frames(&b, &f, WITH_BODY), UDP_GENUINE);
    f.body_len = 17;
    check_bad(&b, f, WITH_BODY);
    f.body_len = UINT32_MAX;
    check_bad(&b, f, WITH_BODY);
    f.body_len = UINT32_MAX - 47; /* with what precedes it, 0 in 32 bits */
    check_bad(&b, f, WITH_BODY);
    f.body_len = 8; /* and then half a frame */
    check_bad(&b, f, WITH_BODY);
    bench_close(&b);
}

static void frames_fill_their_datagram_exactly(void **state)
{
    (void)state;
    bench b;
    uint8_t long_head[UDP_RECORD_LEN + PEN_FRAME_HEAD_MAX + 8] = { 0 };
    bench_open(&b, PEN_SEAL_AUTH);
    long_head[5] = PEN_FRAME_HEAD_MAX / 8;
    assert_int_equal(judge_frames(&b, long_head, sizeof long_head - 8), UDP_GENUINE);
    assert_int_equal(judge_frames(&b, long_head, sizeof long_head), UDP_BAD_FRAME);
    long_head[5]++; /* one word too long, though it is there */
    assert_int_equal(judge_frames(&b, long_head, sizeof long_head), UDP_BAD_FRAME);
    bench_close(&b);
}

static void a_frame_that_cannot_be_read_moves_nothing(void **state)
{
    (void)state;
    uint8_t *bytes = exactly(32);
    udp_frame frame = { .lane = PEN_LANE_CONTROL };
    size_t off = UDP_HEADER_LEN;
    memset(bytes, 0xff, 32);
    assert_false(udp_frame_read(bytes, 32, &off, &frame));
    assert_int_equal(off, UDP_HEADER_LEN);
    assert_int_equal(frame.lane, PEN_LANE_CONTROL);
    off = 40; /* past the end */
    assert_false(udp_frame_read(bytes, 32, &off, &frame));
    free(bytes);
}

/* A peer that has the key may send any bytes; the reader reads only the datagram's bytes. */
static void sealed_nonsense_is_refused_or_read_within_its_bounds(void **state)
{
    (void)state;
    bench b;
    uint64_t random = 5;
    unsigned genuine = 0, bad = 0;
    bench_open(&b, PEN_SEAL_AUTH);
    for (unsigned i = 0; i < FUZZ_ROUNDS; i++) {
        uint8_t frames[128] = { 0 };
        random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        size_t len = 16 + (random >> 40) % 14 * 8;
        for (unsigned k = 0; k < len; k += 8) { /* mostly plausible */
            random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            frames[k] = (uint8_t)((random >> 33) % 40);
            frames[k + 4] = (uint8_t)((random >> 40) % 4);
            frames[k + 5] = (uint8_t)((random >> 45) % 5);
        }
        uint8_t *bytes = sealed(&b, frames, len);
        udp_verdict verdict = judge(&b, bytes, UDP_DATAGRAM_EXTRA + len);
        assert_true(verdict == UDP_GENUINE || verdict == UDP_BAD_FRAME);
        size_t off = UDP_HEADER_LEN;
        udp_frame frame;
        while (verdict == UDP_GENUINE && off < UDP_HEADER_LEN + len) {
            assert_true(udp_frame_read(bytes, UDP_HEADER_LEN + len, &off, &frame));
            if (frame.body_len != 0)
                memset(frame.body, 0, frame.body_len);
        }
        genuine += verdict == UDP_GENUINE;
        bad += verdict == UDP_BAD_FRAME;
        free(bytes);
    }
    assert_true(genuine > 100 && bad > 100);
    bench_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_come_back_as_they_were_written),
        cmocka_unit_test(a_genuine_datagram_tells_its_sender_once),
        cmocka_unit_test(stages_are_in_the_order_that_is_safe),
        cmocka_unit_test(lengths_that_no_datagram_has_are_not_looked_into),
        cmocka_unit_test(every_field_of_a_frame_is_checked),
        cmocka_unit_test(frames_fill_their_datagram_exactly),
        cmocka_unit_test(a_frame_that_cannot_be_read_moves_nothing),
        cmocka_unit_test(sealed_nonsense_is_refused_or_read_within_its_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
