/* SPDX-License-Identifier: BSD-3-Clause */
/* stranger_test.c: a stranger without the key has no effect. Its datagrams are dropped, counted
 * under the stage at which they fail, and not answered. It can deliver a captured datagram once, to
 * the intended receiver, and can do nothing more. */
#include "udp_job.h"

#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <cmocka.h>

enum { ROUNDS = 10000, ROUND_LEN = 20, CATCH_LEN = 65536 };

static uint64_t random_state = 7;

static uint32_t random_below(uint32_t below)
{
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(random_state >> 33) % below;
}

/* One of the datagrams that a stranger may think of; answers its length. */
static size_t make_up(uint8_t *bytes, const uint8_t *captured, size_t captured_len,
                      const udp_expect *us)
{
    size_t len = random_below(8) == 0 ? random_below(60000) : random_below(300);
    for (size_t i = 0; i < len; i++)
        bytes[i] = (uint8_t)random_below(256);
    uint32_t kind = random_below(4);
    if (kind == 0)
        return len;
    if (kind == 1) { /* a header like the job's own */
        len = (len & ~(size_t)7) + UDP_DATAGRAM_MIN;
        udp_header_write(bytes, us, 1);
        return len;
    }
    memcpy(bytes, captured, captured_len); /* a genuine one, cut or with a bit changed */
    if (kind == 2)
        return random_below((uint32_t)captured_len);
    bytes[random_below((uint32_t)captured_len)] ^= (uint8_t)(1u << random_below(8));
    return captured_len;
}

static void no_stranger_has_an_effect_or_an_answer(void **state)
{
    (void)state;
    static uint8_t captured[CATCH_LEN], bytes[CATCH_LEN], body[100];
    udp_job job = { 0 };
    udp_job_open(&job, 3);
    udp_job_connect(&job, 1);
    assert_int_equal(udp_job_post(&job, 0, 1, PEN_LANE_REQUEST, 5, body, sizeof body),
                     PEN_POST_DONE);
    ssize_t captured_len = udp_job_catch(&job, captured, sizeof captured);
    assert_true(captured_len > 0);
    udp_expect forged = udp_of(job.ranks[0].link)->us;
    for (unsigned i = 0; i < ROUNDS; i++) {
        udp_job_throw(&job, 1, bytes, make_up(bytes, captured, (size_t)captured_len, &forged));
        (void)udp_job_poll(&job, 1, PEN_LANES_ALL);
        if (i % ROUND_LEN != ROUND_LEN - 1)
            continue;
        uint64_t head = 1000 + i; /* and one valid datagram among them */
        assert_int_equal(udp_job_post(&job, 1, 1, PEN_LANE_REQUEST, head, NULL, 0), PEN_POST_DONE);
        uint8_t ours[512];
        ssize_t ours_len = udp_job_catch(&job, ours, sizeof ours);
        assert_true(ours_len > 0);
        udp_job_throw(&job, 1, ours, (size_t)ours_len);
        assert_true(udp_job_await(&job, 1, i / ROUND_LEN + 1));
        assert_int_equal(job.ranks[1].head, head);
        assert_int_equal(job.ranks[1].from, 1);
    }
    assert_int_equal(udp_job_poll(&job, 1, PEN_LANES_ALL), 0);
    assert_int_equal(job.ranks[1].delivered, ROUNDS / ROUND_LEN);
    assert_int_equal(udp_job_drops(&job, 1), ROUNDS);
    assert_true(job.ranks[1].counters.net_bad_length > 100);
    assert_true(job.ranks[1].counters.net_bad_version > 100);
    assert_true(job.ranks[1].counters.net_bad_seal > 100);
    assert_int_equal(job.ranks[1].lines, 0);
    assert_int_equal(udp_job_catch(&job, bytes, sizeof bytes), -1);
    udp_job_close(&job);
}

static void what_is_captured_works_once_and_for_its_receiver_only(void **state)
{
    (void)state;
    uint8_t bytes[512];
    udp_job job = { 0 };
    udp_job_open(&job, 3);
    udp_job_connect(&job, 1);
    assert_int_equal(udp_job_post(&job, 0, 1, PEN_LANE_REPLY, 77, NULL, 0), PEN_POST_DONE);
    ssize_t len = udp_job_catch(&job, bytes, sizeof bytes);
    assert_true(len > 0);
    udp_job_throw(&job, 2, bytes, (size_t)len);
    udp_job_throw(&job, 0, bytes, (size_t)len);
    udp_job_throw(&job, 1, bytes, (size_t)len);
    assert_true(udp_job_await(&job, 1, 1));
    for (unsigned i = 0; i < 3; i++)
        udp_job_throw(&job, 1, bytes, (size_t)len);
    for (pen_peer self = 0; self < 3; self++)
        assert_int_equal(udp_job_poll(&job, self, PEN_LANES_ALL), 0);
    assert_int_equal(job.ranks[1].head, 77);
    assert_int_equal(job.ranks[1].counters.net_replayed, 3);
    assert_int_equal(job.ranks[0].counters.net_bad_source, 1);
    assert_int_equal(job.ranks[2].counters.net_bad_source, 1);
    bytes[12] = 2; /* readdressed */
    udp_job_throw(&job, 2, bytes, (size_t)len);
    assert_int_equal(udp_job_poll(&job, 2, PEN_LANES_ALL), 0);
    assert_int_equal(job.ranks[2].counters.net_bad_seal, 1);
    bytes[8] = 200; /* a rank that does not exist */
    udp_job_throw(&job, 2, bytes, (size_t)len);
    bytes[4] ^= 1; /* a datagram of another launch */
    udp_job_throw(&job, 2, bytes, (size_t)len);
    assert_int_equal(udp_job_poll(&job, 2, PEN_LANES_ALL), 0);
    assert_int_equal(job.ranks[2].counters.net_bad_source, 2);
    assert_int_equal(job.ranks[2].counters.net_bad_epoch, 1);
    udp_job_close(&job);
}

static bool holds(const uint8_t *bytes, size_t len, const void *secret, size_t secret_len)
{
    for (size_t i = 0; i + secret_len <= len; i++)
        if (memcmp(bytes + i, secret, secret_len) == 0)
            return true;
    return false;
}

static void bodies_are_hidden_where_that_is_asked_for(void **state)
{
    (void)state;
    static const char secret[] = "what nobody else may read";
    for (unsigned hidden = 0; hidden < 2; hidden++) {
        uint8_t bytes[512];
        udp_job job = { .environment = { hidden ? "PENSTOCK_UDP_SECURITY=encrypt"
                                                : "PENSTOCK_UDP_SECURITY=auth" } };
        udp_job_open(&job, 2);
        udp_job_connect(&job, 1);
        assert_int_equal(udp_job_post(&job, 0, 1, PEN_LANE_REQUEST, 1, secret, sizeof secret),
                         PEN_POST_DONE);
        ssize_t len = udp_job_catch(&job, bytes, sizeof bytes);
        assert_true(len > 0);
        assert_int_equal(holds(bytes, (size_t)len, secret, sizeof secret), !hidden);
        assert_false(holds(bytes, (size_t)len, udp_job_key, 8));
        udp_job_throw(&job, 1, bytes, (size_t)len);
        assert_true(udp_job_await(&job, 1, 1));
        assert_memory_equal(job.ranks[1].body, secret, sizeof secret);
        udp_job_close(&job);
    }
}

/* Nothing of what lay in a bundle before leaves with a later frame. */
static void paddings_are_zero(void **state)
{
    (void)state;
    uint8_t bytes[4096], body[1000];
    udp_job job = { 0 };
    memset(body, 0xee, sizeof body);
    udp_job_open(&job, 2);
    udp_job_connect(&job, 1);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(udp_job_post(&job, 0, 1, PEN_LANE_REQUEST, 1, body, i == 0 ? 1000 : 1),
                         PEN_POST_DONE);
        ssize_t len = udp_job_catch(&job, bytes, sizeof bytes);
        assert_int_equal(len, i == 0 ? 24 + 16 + 8 + 1000 + 16 : 24 + 16 + 8 + 8 + 16);
    }
    static const uint8_t zero[8];
    assert_memory_equal(bytes + 40, zero, 8); /* up to the body ... */
    assert_int_equal(bytes[48], 0xee);
    assert_memory_equal(bytes + 49, zero, 7); /* ... and behind it */
    udp_job_close(&job);
}

/* A message to rank 0 as rank 1 would send it without protection; answers its length. */
static size_t forge(udp_job *job, uint8_t *bytes)
{
    static const uint64_t head = 666;
    const pen_frame frame = { .head = &head, .head_len = sizeof head };
    udp_header_write(bytes, &udp_of(job->ranks[1].link)->us, 0);
    size_t end = udp_frame_write(bytes, UDP_HEADER_LEN, PEN_LANE_REQUEST, &frame);
    memset(bytes + end, 0, PEN_SEAL_TAG_LEN);
    return end + PEN_SEAL_TAG_LEN;
}

/* The actions of a forked child of rank 0; returns an exit status: 0 if it has no effect. */
static int act_as_child(udp_job *job)
{
    for (unsigned i = 0; i < 3 * UDP_HOT_AFTER; i++)
        (void)udp_job_post(job, 0, 1, PEN_LANE_REQUEST, i, NULL, 0);
    udp_flush(udp_of(job->ranks[0].link)); /* also data that the parent has not sent */
    for (unsigned i = 0; i < 10; i++)
        if (udp_job_poll(job, 0, PEN_LANES_ALL) != 0)
            return 1;
    return job->ranks[0].delivered == 0 && udp_job_drops(job, 0) == 0 ? 0 : 2;
}

static void check_child(const char *security, unsigned accepted)
{
    _Alignas(UDP_ALIGN) uint8_t forged[512];
    uint8_t bytes[512];
    udp_job job = { .environment = { security } };
    int status = -1;
    udp_job_open(&job, 2);
    udp_job_connect(&job, 1); /* the stranger sees datagrams to rank 1 */
    job.ranks[0].link->may_gather = true;
    assert_int_equal(udp_job_post(&job, 0, 1, PEN_LANE_REQUEST, 1, NULL, 0), PEN_POST_DONE);
    udp_job_throw(&job, 0, forged, forge(&job, forged));
    pid_t child = fork();
    if (child == 0)
        _exit(act_as_child(&job));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(udp_job_catch(&job, bytes, sizeof bytes), -1);
    /* The parent goes on: it finds the datagrams that came, and sends those that it has kept. */
    for (unsigned i = 0; i < 3; i++)
        (void)udp_job_poll(&job, 0, PEN_LANES_ALL);
    assert_int_equal(job.ranks[0].delivered, accepted);
    assert_int_equal(job.ranks[0].counters.net_bad_seal, 1 - accepted);
    assert_true(udp_job_catch(&job, bytes, sizeof bytes) > 0);
    udp_job_close(&job);
}

static void a_forked_child_neither_sends_nor_takes_anything(void **state)
{
    (void)state;
    void *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    bool is_emptied = madvise(page, 4096, MADV_WIPEONFORK) == 0;
    (void)munmap(page, 4096);
    if (!is_emptied)
        skip(); /* by a kernel before 4.14 */
    check_child("PENSTOCK_UDP_SECURITY=none", 1);
    check_child("PENSTOCK_UDP_SECURITY=auth", 0);
    check_child("PENSTOCK_UDP_SECURITY=encrypt", 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_stranger_has_an_effect_or_an_answer),
        cmocka_unit_test(what_is_captured_works_once_and_for_its_receiver_only),
        cmocka_unit_test(bodies_are_hidden_where_that_is_asked_for),
        cmocka_unit_test(paddings_are_zero),
        cmocka_unit_test(a_forked_child_neither_sends_nor_takes_anything),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
