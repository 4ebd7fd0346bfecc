/* SPDX-License-Identifier: BSD-3-Clause */
/* memory_test.c: how much memory there is, memory files, another process's memory. */
#include "os/os.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

static void available_memory_is_part_of_physical(void **state)
{
    (void)state;
    uint64_t physical = pen_memory_physical(), available = pen_memory_available();
    assert_true(physical >= 16u << 20);
    assert_true(available > 0 && available <= physical);
}

static void a_memory_file_is_shared_sealed_and_not_inherited(void **state)
{
    (void)state;
    size_t len = 1 << 20;
    const char *call;
    int fd = pen_memfd("test", len, &call);
    assert_true(fd >= 0);
    assert_int_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    assert_int_equal(ftruncate(fd, 0), -1);
    assert_int_equal(ftruncate(fd, (off_t)len * 2), -1);
    char *a = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    char *b = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_true(a != MAP_FAILED && b != MAP_FAILED);
    a[len - 1] = 42;
    assert_int_equal(b[len - 1], 42);
    munmap(a, len);
    munmap(b, len);
    close(fd);
}

static void a_memory_file_that_cannot_be_leaves_no_descriptor(void **state)
{
    (void)state;
    int next = dup(0);
    close(next);
    const char *call = NULL;
    assert_int_equal(pen_memfd("test", SIZE_MAX, &call), -1);
    assert_string_equal(call, "ftruncate");
    int after = dup(0);
    close(after);
    assert_int_equal(after, next);
}

static void another_process_is_read_and_written_where_allowed(void **state)
{
    (void)state;
    static char text[16] = "before";
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) { /* ends when the parent closes its end; tells whether it was written to */
        char byte;
        close(ends[1]);
        (void)!read(ends[0], &byte, 1);
        _exit(strcmp(text, "after") == 0 ? 0 : 1);
    }
    close(ends[0]);
    bool usable = pen_cma_usable(pid, text);
    if (usable) {
        char copy[sizeof text] = "";
        assert_int_equal(pen_cma_read(pid, copy, text, sizeof text), PEN_OK);
        assert_string_equal(copy, "before");
        assert_int_equal(pen_cma_write(pid, "after", text, 6), PEN_OK);
        assert_int_equal(pen_cma_read(pid, copy, (void *)8, 8), PEN_ERR_SYSTEM);
    }
    close(ends[1]);
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(WEXITSTATUS(status), usable ? 0 : 1);
    if (usable) {
        char byte;
        assert_int_equal(pen_cma_read(pid, &byte, text, 1), PEN_ERR_PEER_LOST);
    }
    assert_false(pen_cma_usable(pid, text));
    if (!usable)
        skip();
}

static void another_process_is_read_and_written_by_lists(void **state)
{
    (void)state;
    static char text[] = "abcdefghijklmnop";
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        char byte;
        close(ends[1]);
        (void)!read(ends[0], &byte, 1);
        _exit(strcmp(text, "YbcZXfghijklmnop") == 0 ? 0 : 1);
    }
    close(ends[0]);
    bool usable = pen_cma_usable(pid, text);
    if (usable) {
        char copy[8] = "-------";
        struct iovec here[] = { { copy, 1 }, { NULL, 0 }, { copy + 3, 3 } };
        struct iovec there[] = { { text, 0 }, { text + 2, 2 }, { text + 8, 1 }, { text + 5, 1 } };
        assert_int_equal(pen_cma_read_list(pid, here, 3, there, 4), PEN_OK);
        assert_string_equal(copy, "c--dif-");
        char letters[] = "XYZ";
        struct iovec from[] = { { letters, 3 } };
        struct iovec to[] = { { text + 4, 1 }, { text, 1 }, { text + 3, 1 } };
        assert_int_equal(pen_cma_write_list(pid, from, 1, to, 3), PEN_OK);
        struct iovec some[] = { { copy, 4 } }, absent[] = { { text, 2 }, { (void *)8, 2 } };
        assert_int_equal(pen_cma_read_list(pid, some, 1, absent, 2), PEN_ERR_SYSTEM);
        assert_int_equal(errno, EFAULT);
        assert_int_equal(pen_cma_read_list(pid, NULL, 0, NULL, 0), PEN_OK);
    }
    close(ends[1]);
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(WEXITSTATUS(status), usable ? 0 : 1);
    if (!usable)
        skip();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(available_memory_is_part_of_physical),
        cmocka_unit_test(a_memory_file_is_shared_sealed_and_not_inherited),
        cmocka_unit_test(a_memory_file_that_cannot_be_leaves_no_descriptor),
        cmocka_unit_test(another_process_is_read_and_written_where_allowed),
        cmocka_unit_test(another_process_is_read_and_written_by_lists),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
