/* SPDX-License-Identifier: BSD-3-Clause */
/* end_test.c: every way in which a process without a launcher can end: its status, its buffered
 * output, and that exit handlers of the client still find communication alive. */
#define GASNET_PAR 1
#include "unit/api/child.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { HANDLER = 200 };

static void assert_ends(void (*play)(void), int status, const char *said)
{
    child_end end = child_run(play);
    if (end.status != status || strstr(end.said, said) == NULL)
        (void)fprintf(stderr, "status %d, wanted %d and \"%s\", got:\n%s\n", end.status, status,
                      said, end.said);
    assert_int_equal(end.status, status);
    assert_non_null(strstr(end.said, said));
}

static void say_and(void) { printf("buffered words"); }

/* ---- orderly --------------------------------------------------------------------------------- */

static void exit_call(void)
{
    (void)child_attach();
    say_and();
    gasnet_exit(7);
}

static void exit_by_libc(void)
{
    (void)child_attach();
    say_and();
    exit(9);
}

static void leave_main(void)
{
    (void)child_attach();
    say_and();
}

static void exit_in_handler(gex_Token_t token)
{
    (void)token;
    say_and();
    gasnet_exit(5);
}

static void exit_from_handler(void)
{
    child_job job = child_attach();
    gex_AM_Entry_t entry = {
        HANDLER, (gex_AM_Fn_t)exit_in_handler, GEX_FLAG_AM_SHORT | GEX_FLAG_AM_REQUEST, 0, NULL,
        "exit"
    };
    (void)gex_EP_RegisterHandlers(job.endpoint, &entry, 1);
    (void)gex_AM_RequestShort0(job.team, 0, HANDLER, 0);
    GASNET_BLOCKUNTIL(0);
}

static void exit_with_lock(void)
{
    static gex_HSL_t lock = GEX_HSL_INITIALIZER;
    (void)child_join();
    gex_HSL_Lock(&lock);
    say_and();
    gasnet_exit(4);
}

static void *exit_here(void *unused)
{
    (void)unused;
    say_and();
    gasnet_exit(3);
}

static void exit_by_thread(void)
{
    pthread_t thread;
    (void)child_attach();
    (void)pthread_create(&thread, NULL, exit_here, NULL);
    GASNET_BLOCKUNTIL(0);
}

static void every_orderly_end_keeps_status_and_output(void **state)
{
    (void)state;
    assert_ends(exit_call, 7, "buffered words");
    assert_ends(exit_by_libc, 9, "buffered words");
    assert_ends(leave_main, 0, "buffered words");
    assert_ends(exit_from_handler, 5, "buffered words");
    assert_ends(exit_with_lock, 4, "buffered words");
    assert_ends(exit_by_thread, 3, "buffered words");
}

/* ---- exit handlers --------------------------------------------------------------------------- */

static child_job at_exit_job;

static void communicate(void)
{
    gex_RMA_PutBlockingVal(at_exit_job.team, 0, gex_Segment_QueryAddr(at_exit_job.segment), 42, 8,
                           0);
    gex_Coll_BarrierBlocking(at_exit_job.team, 0);
    printf("got %d at exit", *(volatile int *)gex_Segment_QueryAddr(at_exit_job.segment));
}

static void register_and_leave(void)
{
    at_exit_job = child_attach();
    (void)atexit(communicate);
}

static void exit_again(void) { gasnet_exit(6); }

static void exit_in_exit(void)
{
    (void)child_attach();
    (void)atexit(exit_again);
    say_and();
    gasnet_exit(8);
}

static void handlers_registered_after_the_start_can_communicate(void **state)
{
    (void)state;
    assert_ends(register_and_leave, 0, "got 42 at exit");
    assert_ends(exit_in_exit, 8, "buffered words");
}

/* ---- signals --------------------------------------------------------------------------------- */

static void crash(void)
{
    (void)child_join();
    (void)raise(SIGSEGV);
}

static void stop(void)
{
    (void)child_join();
    say_and();
    (void)raise(SIGTERM);
}

static void crash_uncaught(void)
{
    (void)setenv("GASNET_NO_CATCH_SIGNAL", "SEGV,15", 1);
    (void)child_join();
    (void)raise(SIGSEGV);
}

static void own_handler(int number)
{
    (void)number;
    gasnet_exit(11); /* NOLINT(cert-msc54-cpp): it may be called from anywhere */
}

static void handle_quit(void)
{
    (void)signal(SIGQUIT, own_handler);
    (void)child_join();
    (void)raise(SIGQUIT);
}

static void signals_end_the_process_as_signals(void **state)
{
    (void)state;
    assert_ends(crash, 128 + SIGSEGV, "caught SIGSEGV");
    assert_ends(stop, 128 + SIGTERM, "buffered words");
    assert_ends(handle_quit, 11, "");
    child_end end = child_run(crash_uncaught);
    assert_int_equal(end.status, 128 + SIGSEGV);
    assert_string_equal(end.said, "");
}

/* ---- children of a rank ---------------------------------------------------------------------- */

static void fork_and_leave(void)
{
    (void)child_attach();
    pid_t pid = fork();
    if (pid == 0)
        exit(33);
    int status = 0;
    (void)waitpid(pid, &status, 0);
    printf("child %d", WEXITSTATUS(status));
}

static void a_child_that_a_rank_forks_is_no_rank(void **state)
{
    (void)state;
    assert_ends(fork_and_leave, 0, "child 33");
}

/* ---- threads --------------------------------------------------------------------------------- */

static void *poll_once(void *seen)
{
    (void)gasnet_AMPoll();
    *(void **)seen = GASNET_GET_THREADINFO();
    return NULL;
}

static void many_threads(void)
{
    void *first = NULL, *seen = NULL;
    (void)setenv("GASNET_MAX_THREADS", "2", 1);
    (void)child_join();
    (void)poll_once(&first);
    for (int i = 0; i < 20; i++) {
        pthread_t thread;
        (void)pthread_create(&thread, NULL, poll_once, &seen);
        (void)pthread_join(thread, NULL);
        if (seen == NULL || seen == first)
            exit(50);
    }
    printf("%d threads", (int)gex_System_QueryMaxThreads());
}

static void threads_that_end_make_room_for_others(void **state)
{
    (void)state;
    assert_ends(many_threads, 0, "2 threads");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_orderly_end_keeps_status_and_output),
        cmocka_unit_test(handlers_registered_after_the_start_can_communicate),
        cmocka_unit_test(signals_end_the_process_as_signals),
        cmocka_unit_test(a_child_that_a_rank_forks_is_no_rank),
        cmocka_unit_test(threads_that_end_make_room_for_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
