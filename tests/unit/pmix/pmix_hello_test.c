/* SPDX-License-Identifier: BSD-3-Clause */
/* pmix_hello_test.c: greetings in a PMIx job, and which ranks share memory. */
#include "pmix/pmix_hello.h"

#include "pen_config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static pen_pmix_hello sample(void)
{
    pen_pmix_hello hello = { .first = 4, .count = 3, .host = "n17", .cores = 2 };
    CPU_ZERO(&hello.cpus);
    CPU_SET(1, &hello.cpus);
    memset(hello.door, 1, sizeof(hello.door));
    memset(hello.ticket, 2, sizeof(hello.ticket));
    memset(hello.job_key, 3, sizeof(hello.job_key));
    return hello;
}

static void greeting_survives_the_way(void **state)
{
    (void)state;
    const pen_pmix_hello sent = sample();
    pen_pmix_hello got;
    const char *version;
    pen_pack bytes = { .bytes = NULL };
    pen_pmix_hello_pack(&sent, &bytes);
    assert_true(pen_pmix_hello_unpack(bytes.bytes, bytes.len, &got, &version));
    assert_string_equal(version, PEN_VERSION_STRING);
    assert_string_equal(got.host, sent.host);
    assert_int_equal(got.first, sent.first);
    assert_int_equal(got.count, sent.count);
    assert_int_equal(got.cores, sent.cores);
    assert_true(CPU_EQUAL(&got.cpus, &sent.cpus));
    assert_memory_equal(got.door, sent.door, sizeof(sent.door));
    assert_memory_equal(got.ticket, sent.ticket, sizeof(sent.ticket));
    assert_memory_equal(got.job_key, sent.job_key, sizeof(sent.job_key));
    pen_pack_free(&bytes);
}

static void greeting_cut_anywhere_is_none(void **state)
{
    (void)state;
    const pen_pmix_hello sent = sample();
    pen_pmix_hello got;
    const char *version;
    pen_pack bytes = { .bytes = NULL };
    pen_pmix_hello_pack(&sent, &bytes);
    for (size_t len = 0; len < bytes.len; len++) {
        char *cut = malloc(len + 1); /* a copy of exact length: a sanitizer then sees reads beyond
                                      * its end */
        assert_non_null(cut);
        memcpy(cut, bytes.bytes, len);
        assert_false(pen_pmix_hello_unpack(cut, len, &got, &version));
        free(cut);
    }
    pen_pack_bytes(&bytes, "x", 1);
    assert_false(pen_pmix_hello_unpack(bytes.bytes, bytes.len, &got, &version));
    pen_pack_free(&bytes);
}

static void another_version_is_named(void **state)
{
    (void)state;
    static const char later[] = PEN_PMIX_HELLO_MARK "77.1\0whatever it has to say";
    pen_pmix_hello got;
    const char *version;
    assert_false(pen_pmix_hello_unpack(later, sizeof(later), &got, &version));
    assert_string_equal(version, "77.1");
    assert_false(pen_pmix_hello_unpack("nonsense", sizeof("nonsense"), &got, &version));
    assert_string_equal(version, "");
}

typedef struct block_case {
    const char *peers;
    uint32_t rank, most;
    bool valid;
    uint32_t first, end;
    bool all;
} block_case;

static void blocks_are_consecutive_ranks(void **state)
{
    (void)state;
    static const block_case cases[] = {
        { "0,1,2,3", 2, 0, true, 0, 4, true },
        { "4,5,6,7", 4, 0, true, 4, 8, true },
        { "7,5,4,6", 7, 0, true, 4, 8, true },
        { "0,2,4", 2, 0, true, 2, 3, false },
        { "0,1,4,5", 5, 0, true, 4, 6, false },
        { "0,1,2,3,4", 4, 2, true, 4, 5, true },
        { "0,1,2,3,4", 1, 2, true, 0, 2, true },
        { "3,4,5,6", 6, 3, true, 6, 7, true },
        { "3,4,5,6", 3, 1, true, 3, 4, true },
        { "9", 9, 0, true, 9, 10, true },
        { "0,1,2", 3, 0, false, 0, 0, false },
        { "", 0, 0, false, 0, 0, false },
        { "0,x", 0, 0, false, 0, 0, false },
        { "0,99999999999999999999", 0, 0, false, 0, 0, false },
        { "0,-1", 0, 0, false, 0, 0, false },
        { "0 1", 0, 0, false, 0, 0, false },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const block_case *c = &cases[i];
        uint32_t first = 0, end = 0;
        bool all = false;
        bool valid = pen_pmix_block(c->peers, c->rank, c->most, &first, &end, &all);
        assert_int_equal(valid, c->valid);
        if (!valid)
            continue;
        assert_int_equal(first, c->first);
        assert_int_equal(end, c->end);
        assert_int_equal(all, c->all);
    }
}

enum { RANKS = 6 };

static uint32_t blocks_of(const uint32_t (*said)[2], uint32_t size, uint32_t *firsts)
{
    pen_pmix_hello hellos[RANKS];
    for (uint32_t rank = 0; rank < size; rank++) {
        hellos[rank] = sample();
        hellos[rank].first = said[rank][0];
        hellos[rank].count = said[rank][1];
    }
    return pen_pmix_blocks(hellos, size, firsts);
}

static void firsts_of_blocks_agree_or_are_refused(void **state)
{
    (void)state;
    uint32_t firsts[RANKS + 1];
    const uint32_t good[][2] = { { 0, 2 }, { 0, 2 }, { 2, 3 }, { 2, 3 }, { 2, 3 }, { 5, 1 } };
    assert_int_equal(blocks_of(good, 6, firsts), 3);
    assert_int_equal(firsts[1], 2);
    assert_int_equal(firsts[2], 5);
    assert_int_equal(firsts[3], 6);
    assert_int_equal(blocks_of(good, 5, firsts), 2);
    assert_int_equal(blocks_of(good, 4, firsts), 0); /* a rank of the second block is missing */
    const uint32_t astray[][2] = { { 0, 2 }, { 0, 2 }, { 2, 2 }, { 0, 2 } };
    const uint32_t headless[][2] = { { 1, 2 }, { 1, 2 } };
    const uint32_t lengths[][2] = { { 0, 1 }, { 0, 3 }, { 0, 3 } };
    const uint32_t empty[][2] = { { 0, 0 }, { 1, 1 } };
    assert_int_equal(blocks_of(astray, 4, firsts), 0);
    assert_int_equal(blocks_of(headless, 2, firsts), 0);
    assert_int_equal(blocks_of(lengths, 3, firsts), 0);
    assert_int_equal(blocks_of(empty, 2, firsts), 0);
}

static void ranks_bound_to_a_core_each_have_them_all(void **state)
{
    (void)state;
    pen_pmix_hello hellos[3] = { sample(), sample(), sample() };
    for (int i = 0; i < 3; i++) {
        CPU_ZERO(&hellos[i].cpus);
        CPU_SET(i, &hellos[i].cpus);
        hellos[i].cores = 1;
    }
    assert_int_equal(pen_pmix_cores(hellos, 3), 3);
    for (int i = 0; i < 3; i++) { /* all may use eight, of which the cgroup grants two */
        for (int cpu = 0; cpu < 8; cpu++)
            CPU_SET(cpu, &hellos[i].cpus);
        hellos[i].cores = 2;
    }
    assert_int_equal(pen_pmix_cores(hellos, 3), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(greeting_survives_the_way),
        cmocka_unit_test(greeting_cut_anywhere_is_none),
        cmocka_unit_test(another_version_is_named),
        cmocka_unit_test(blocks_are_consecutive_ranks),
        cmocka_unit_test(firsts_of_blocks_agree_or_are_refused),
        cmocka_unit_test(ranks_bound_to_a_core_each_have_them_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
