/* SPDX-License-Identifier: BSD-3-Clause */
/* start_order_test.c: greetings and orders come back as they were, and one that was cut short,
 * holds too much, or finds no memory is refused and leaves nothing behind (leaks are the
 * sanitizer's to see). tests/fuzz/record.c reads bytes that no sender packed. */
#include "remote/start_order.h"

#include "launch/supervisor.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Calls of calloc that still succeed; -1: all do. The linker sends the library's calls here. */
static int callocs_left = -1;

void *real_calloc(size_t count, size_t size) __asm__("__real_calloc");
void *wrap_calloc(size_t count, size_t size) __asm__("__wrap_calloc");
void *wrap_calloc(size_t count, size_t size)
{
    if (callocs_left == 0)
        return NULL;
    if (callocs_left > 0)
        callocs_left--;
    return real_calloc(count, size);
}

enum {
    CALLOCS = 5
}; /* allocations of an order: hosts' first ranks, addresses, three lists of texts */

static char *argv[] = { (char *)(uintptr_t) "./x", (char *)(uintptr_t) "one word", NULL };
static char *handed[] = { (char *)(uintptr_t) "GASNET_A=1", NULL };
static char *none[] = { NULL };

/* Two hosts with three ranks and one. */
static pen_pack packed_order(char *const *words, uint32_t second_host_ranks)
{
    uint32_t firsts[] = { 0, 3, 3 + second_host_ranks };
    const char *addresses[] = { "10.0.0.1", "" };
    pen_start start = { .host_count = 2,
                        .firsts = firsts,
                        .addresses = addresses,
                        .flags = PEN_START_BIND,
                        .folder = "/tmp",
                        .argv = (char **)(uintptr_t)words,
                        .handed = handed,
                        .console = none };
    memset(start.job_key, 7, sizeof(start.job_key));
    pen_pack pack = { .bytes = NULL };
    pen_start_pack(&start, &pack);
    assert_false(pack.failed);
    return pack;
}

static bool is_read(const pen_pack *pack, size_t len)
{
    pen_start start;
    bool sound = pen_start_unpack(pack->bytes, len, &start);
    if (sound)
        pen_start_free(&start);
    return sound;
}

static void orders_come_back(void **state)
{
    (void)state;
    pen_pack pack = packed_order(argv, 1);
    pen_start start;
    assert_true(pen_start_unpack(pack.bytes, pack.len, &start));
    assert_int_equal(start.host_count, 2);
    assert_int_equal(start.job_size, 4);
    assert_int_equal(start.firsts[1], 3);
    assert_string_equal(start.addresses[0], "10.0.0.1");
    assert_string_equal(start.addresses[1], "");
    assert_int_equal(start.job_key[PEN_HOST_KEY_LEN - 1], 7);
    assert_int_equal(start.flags, PEN_START_BIND);
    assert_string_equal(start.folder, "/tmp");
    assert_string_equal(start.argv[1], argv[1]);
    assert_null(start.argv[2]);
    assert_string_equal(start.handed[0], handed[0]);
    assert_null(start.console[0]);
    pen_start_free(&start);
    pen_pack_free(&pack);
}

static void what_is_cut_short_or_too_long_is_refused(void **state)
{
    (void)state;
    pen_pack pack = packed_order(argv, 1);
    for (size_t len = 0; len < pack.len; len++)
        assert_false(is_read(&pack, len));
    assert_true(is_read(&pack, pack.len));
    pen_pack_bytes(&pack, "", 1);
    assert_false(is_read(&pack, pack.len));
    pen_pack_free(&pack);
}

static void orders_that_make_no_job_are_refused(void **state)
{
    (void)state;
    pen_pack no_program = packed_order(none, 1);
    assert_false(is_read(&no_program, no_program.len));
    pen_pack_free(&no_program);
    pen_pack most = packed_order(argv, PEN_BOOT_RANKS_MAX - 3);
    assert_true(is_read(&most, most.len));
    pen_pack_free(&most);
    pen_pack too_many = packed_order(argv, PEN_BOOT_RANKS_MAX - 2);
    assert_false(is_read(&too_many, too_many.len));
    pen_pack_free(&too_many);
}

static void without_memory_an_order_is_refused(void **state)
{
    (void)state;
    pen_pack pack = packed_order(argv, 1);
    for (int some = 0; some < CALLOCS; some++) {
        callocs_left = some;
        bool sound = is_read(&pack, pack.len);
        callocs_left = -1;
        assert_false(sound);
    }
    callocs_left = CALLOCS;
    bool sound = is_read(&pack, pack.len);
    callocs_left = -1;
    assert_true(sound);
    pen_pack_free(&pack);
}

static void greetings_come_back(void **state)
{
    (void)state;
    const pen_hello hello = { .version = "1", .cores = 5, .from = "10.0.0.1", .at = "fd00::2" };
    pen_pack pack = { .bytes = NULL };
    pen_hello_pack(&hello, &pack);
    pen_hello got;
    assert_true(pen_hello_unpack(pack.bytes, pack.len, &got));
    assert_string_equal(got.version, "1");
    assert_int_equal(got.cores, 5);
    assert_string_equal(got.from, "10.0.0.1");
    assert_string_equal(got.at, "fd00::2");
    for (size_t len = 0; len < pack.len; len++)
        assert_false(pen_hello_unpack(pack.bytes, len, &got));
    pen_pack_free(&pack);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(orders_come_back),
        cmocka_unit_test(what_is_cut_short_or_too_long_is_refused),
        cmocka_unit_test(orders_that_make_no_job_are_refused),
        cmocka_unit_test(without_memory_an_order_is_refused),
        cmocka_unit_test(greetings_come_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
