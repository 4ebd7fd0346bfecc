/* SPDX-License-Identifier: BSD-3-Clause */
/* g1_exit_codes.c: GASNet-1 Core, job control: the ways in which a job may end. Without argument
 * all ranks end with 0; exit_codes.py plays the remaining cases and looks at the status of the job.
 *
 *     g1_exit_codes [CASE CODE]
 *
 * PEN_RANKS: 1 3
 * TESTS: gasnet_exit
 */
#include <gasnet.h>

#include "conformance/check.h"

#include <unistd.h>

enum { LEAVE = 130, RETURN };

static gasnet_hsl_t lock = GASNET_HSL_INITIALIZER;
static int code;

static void leave(gasnet_token_t token, gasnet_handlerarg_t status)
{
    (void)token;
    gasnet_exit(status);
}

/* While the rank waits for its peers to leave, no message is delivered below it, least of all this
 * one again. */
static void return_once(gasnet_token_t token, gasnet_handlerarg_t status)
{
    static int times;
    (void)token;
    if (times++ != 0)
        abort();
    exit(status);
}

static gasnet_handlerentry_t table[] = { { LEAVE, (gex_AM_Fn_t)leave },
                                         { RETURN, (gex_AM_Fn_t)return_once } };

static int is_last(void) { return check_rank == check_size - 1; }

/* The rank that left does not notify, so this barrier never ends. */
static void wait_for_the_end(void)
{
    gasnet_barrier_notify(99, 0);
    gasnet_barrier_wait(99, 0);
    fprintf(stderr, "rank %d outlived its job\n", check_rank);
    abort();
}

static void case_all(void) { gasnet_exit(code); }

static void case_one(void)
{
    if (is_last())
        gasnet_exit(code);
    wait_for_the_end();
}

static void case_handler(void)
{
    if (is_last())
        gasnet_AMRequestShort1(0, LEAVE, code);
    GASNET_BLOCKUNTIL(0);
}

static void case_locked(void)
{
    if (is_last()) {
        gasnet_hsl_lock(&lock);
        gasnet_exit(code);
    }
    wait_for_the_end();
}

static void case_return(void)
{
    if (is_last())
        exit(code);
    wait_for_the_end();
}

static void case_handler_returns(void)
{
    enum { AFTER_US = 200000 }; /* long enough for rank 0 to wait for us */
    if (is_last())
        gasnet_AMRequestShort1(0, RETURN, code);
    if (check_rank == 0)
        GASNET_BLOCKUNTIL(0);
    (void)usleep(AFTER_US);
    exit(code);
}

static void *leaving_thread(void *unused)
{
    (void)unused;
    gasnet_exit(code);
}

/* Another thread ends the job while the first waits. Only PAR may do this. */
static void case_thread(void)
{
#ifdef GASNET_PAR
    pthread_t thread;
    if (is_last() && pthread_create(&thread, NULL, leaving_thread, NULL) == 0)
        pthread_detach(thread);
    GASNET_BLOCKUNTIL(0);
#else
    leaving_thread(NULL);
#endif
}

/* Output printed before the end is not lost, whether the line is complete or not. */
static void case_output(void)
{
    printf("last words of rank %d", check_rank);
    check_barrier(); /* the first rank to exit ends its peers, wherever they are */
    gasnet_exit(code);
}

/* A program's own exit handlers, registered after init, can still communicate. */
static void communicate_at_exit(void)
{
    check_barrier();
    if (check_rank == 0)
        printf("all ranks met at exit\n");
}

static void case_atexit(void)
{
    atexit(communicate_at_exit);
    exit(code);
}

static const struct {
    const char *name;
    void (*play)(void);
    int before_attach;
} cases[] = {
    { "all", case_all, 0 },         { "one", case_one, 0 },
    { "handler", case_handler, 0 }, { "locked", case_locked, 0 },
    { "return", case_return, 0 },   { "thread", case_thread, 0 },
    { "output", case_output, 0 },   { "unattached", case_all, 1 },
    { "atexit", case_atexit, 0 },   { "handler-returns", case_handler_returns, 0 },
};

int main(int argc, char **argv)
{
    CHECK_EQ(gasnet_init(&argc, &argv), GASNET_OK, "GASNet-1 Core, job control: init succeeds");
    check_begin();
    const char *name = argc > 1 ? argv[1] : "all";
    code = argc > 2 ? atoi(argv[2]) : 0;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (strcmp(cases[i].name, name) != 0)
            continue;
        if (!cases[i].before_attach)
            CHECK_EQ(gasnet_attach(table, 2, GASNET_PAGESIZE, 0), GASNET_OK,
                     "GASNet-1 Core, job control: attach succeeds");
        cases[i].play();
    }
    fprintf(stderr, "no such case: %s\n", name);
    return 99;
}
