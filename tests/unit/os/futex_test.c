/* SPDX-License-Identifier: BSD-3-Clause */
/* futex_test.c: sleeping and waking across processes, and the asymmetric fence. */
#include "os/os.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <limits.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

static _Atomic uint32_t *shared_word(void)
{
    void *page =
        mmap(NULL, sizeof(uint32_t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(page != MAP_FAILED);
    return page;
}

static void a_changed_word_is_not_slept_on(void **state)
{
    (void)state;
    _Atomic uint32_t word = 1;
    uint64_t before = pen_now_ns();
    pen_futex_wait(&word, 0, 10000000000u);
    assert_true(pen_now_ns() - before < 5000000000u);
}

static void sleep_ends_with_the_time_out(void **state)
{
    (void)state;
    _Atomic uint32_t word = 0;
    uint64_t before = pen_now_ns();
    pen_futex_wait(&word, 0, 3000000);
    assert_true(pen_now_ns() - before >= 3000000);
}

static void a_sleeper_is_woken_by_another_process(void **state)
{
    (void)state;
    _Atomic uint32_t *word = shared_word();
    pid_t pid = fork();
    if (pid == 0) {
        uint64_t before = pen_now_ns();
        while (atomic_load(word) == 0)
            pen_futex_wait(word, 0, 20000000000u);
        _exit(pen_now_ns() - before < 10000000000u ? 0 : 1);
    }
    usleep(20000); /* it sleeps by now, most likely */
    atomic_store(word, 1);
    pen_futex_wake(word, INT_MAX);
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    munmap(word, sizeof(uint32_t));
}

static void a_granted_fence_keeps_being_granted(void **state)
{
    (void)state;
    if (!pen_membarrier_register())
        skip();
    for (int i = 0; i < 10; i++)
        assert_true(pen_membarrier());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_changed_word_is_not_slept_on),
        cmocka_unit_test(sleep_ends_with_the_time_out),
        cmocka_unit_test(a_sleeper_is_woken_by_another_process),
        cmocka_unit_test(a_granted_fence_keeps_being_granted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
