/* SPDX-License-Identifier: BSD-3-Clause */
/* kind_test.c: the stand-in device: its addresses cannot be touched, its copies can; segments on it
 * that come and go. */
#include "mem/kind.h"

#include "mem/mem.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { LEN = 10000 };

static pen_mem mem;
static pen_log log_off;
static pen_device *device;

static int open_device(void **state)
{
    static const pen_device_args args = { .class = PEN_KIND_CUDA_UVA, .ordinal = 3 };
    (void)state;
    pen_log_init(&log_off, "");
    log_off.fd = -1;
    assert_int_equal(pen_mem_init(&mem, &log_off, PEN_ALONE, NULL, 0, 2, true, UINT64_MAX), PEN_OK);
    assert_int_equal(pen_mem_device_open(&mem, &log_off, pen_kind_find("standin"), &args, &device),
                     PEN_OK);
    return 0;
}

static int close_device(void **state)
{
    (void)state;
    pen_mem_close(&mem);
    return 0;
}

static void there_is_a_standin_and_nothing_of_no_name(void **state)
{
    (void)state;
    assert_non_null(pen_kind_find("standin"));
    assert_null(pen_kind_find("none"));
    assert_null(pen_kind_find(""));
}

static void a_device_that_is_not_there_is_refused(void **state)
{
    (void)state;
    const pen_device_args args = { .class = PEN_KIND_HIP, .ordinal = 16 };
    pen_device *none = NULL;
    assert_int_equal(pen_mem_device_open(&mem, &log_off, pen_kind_find("standin"), &args, &none),
                     PEN_ERR_ARGUMENT);
    assert_null(none);
}

/* How a child ends that loads from there. */
static int end_of_load(const volatile char *at)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        (void)signal(SIGSEGV, SIG_DFL);
        _exit(*at == 0 ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void device_memory_is_reached_by_copies_only(void **state)
{
    (void)state;
    char out[100], in[100];
    char *at = device->kind->alloc(device, LEN);
    assert_non_null(at);
    memset(out, 0x5a, sizeof out);
    assert_int_equal(device->kind->write(device, at + 77, out, sizeof out), PEN_OK);
    assert_int_equal(device->kind->copy(device, at + 5001, at + 77, sizeof out), PEN_OK);
    assert_int_equal(device->kind->read(device, in, at + 5001, sizeof in), PEN_OK);
    assert_memory_equal(in, out, sizeof in);
    assert_int_not_equal(end_of_load(at), 0);
    assert_true(device->kind->holds(device, at, LEN));
    assert_false(device->kind->holds(device, at - 1, 2));
    assert_int_equal(device->kind->read(device, in, at + 12280, 20), PEN_ERR_ARGUMENT);
    device->kind->release(device, at);
    assert_false(device->kind->holds(device, at, 1));
}

static void a_segment_on_a_device_is_never_resolved_to_a_pointer(void **state)
{
    (void)state;
    pen_segment *segment, *part;
    char *at = NULL;
    assert_int_equal(pen_mem_create_on(&mem, &log_off, device, NULL, LEN, &segment), PEN_OK);
    assert_null(pen_mem_resolve_device(&mem, segment->number, 0, 1, &at)); /* not exposed */
    pen_mem_expose(&mem, segment);
    assert_null(pen_mem_resolve(&mem, segment->number, 0, 1));
    assert_null(pen_mem_resolve(&mem, 0, (uintptr_t)segment->base + 5, 1)); /* by address */
    assert_null(pen_mem_resolve(&mem, 0, (uintptr_t)segment->base - 5, 6));
    assert_non_null(pen_mem_resolve(&mem, 0, (uintptr_t)&at, 8));
    assert_ptr_equal(pen_mem_resolve_device(&mem, segment->number, 9, LEN - 9, &at), device);
    assert_ptr_equal(at, segment->base + 9);
    assert_null(pen_mem_resolve_device(&mem, segment->number, 9, LEN - 8, &at));
    assert_null(pen_mem_resolve_device(&mem, 0, (uintptr_t)segment->base, 1, &at));
    assert_int_equal(pen_mem_create_on(&mem, &log_off, device, segment->base + 100, 50, &part),
                     PEN_OK); /* an allocation that is there */
    assert_int_equal(device->segments, 2);
    pen_mem_destroy(&mem, part);
    pen_mem_destroy(&mem, segment);
    assert_int_equal(device->segments, 0);
    assert_int_equal(atomic_load(&mem.device_segments), 0);
    assert_int_equal(pen_mem_create_on(&mem, &log_off, device, &at, 8, &part), PEN_ERR_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(there_is_a_standin_and_nothing_of_no_name),
        cmocka_unit_test(a_device_that_is_not_there_is_refused),
        cmocka_unit_test(device_memory_is_reached_by_copies_only),
        cmocka_unit_test(a_segment_on_a_device_is_never_resolved_to_a_pointer),
    };
    return cmocka_run_group_tests(tests, open_device, close_device);
}
