/* SPDX-License-Identifier: BSD-3-Clause */
/* g1_misc.c: GASNet-1, what belongs to no other chapter: names of errors, the environment, wait
 * modes, hints about threads, waiting for a condition, and the hook for new segments.
 *
 * TESTS: gasnet_ErrorName gasnet_ErrorDesc gasnet_getenv gasnet_set_waitmode GASNET_WAIT_SPIN
 * TESTS: GASNET_WAIT_BLOCK GASNET_WAIT_SPINBLOCK GASNET_BEGIN_FUNCTION GASNET_GET_THREADINFO
 * TESTS: GASNET_POST_THREADINFO gasnet_threadinfo_t GASNET_BLOCKUNTIL gasnet_AMPoll
 * TESTS: gasnet_client_attach_hook gasnet_memvec_t
 */
#include <gasnet.h>

#include "conformance/check.h"

#include "conformance/g1.h"

#include <stddef.h>

_Static_assert(sizeof(gasnet_memvec_t) == sizeof(void *) + sizeof(size_t) &&
                   offsetof(gasnet_memvec_t, addr) == 0 &&
                   offsetof(gasnet_memvec_t, len) == sizeof(void *),
               "GASNet-1 Extended, VIS: a memory vector is an address and a length");
_Static_assert(GASNET_WAIT_SPIN == 0 && GASNET_WAIT_BLOCK == 1 && GASNET_WAIT_SPINBLOCK == 2,
               "GASNet-1 Core, wait modes: the numbers are fixed");

enum { POKE = 130 };

static check_count pokes;
static void *hook_base;
static uintptr_t hook_len;

static void poke(gasnet_token_t token)
{
    (void)token;
    check_add(&pokes, 1);
}

static gasnet_handlerentry_t table[] = { { POKE, (gex_AM_Fn_t)poke } };

static void remember_segment(void *base, uintptr_t len)
{
    hook_base = base;
    hook_len = len;
}

static void check_errors(void)
{
    static const struct {
        int code;
        const char *name;
    } errors[] = {
        { GASNET_OK, "GASNET_OK" },
        { GASNET_ERR_NOT_INIT, "GASNET_ERR_NOT_INIT" },
        { GASNET_ERR_RESOURCE, "GASNET_ERR_RESOURCE" },
        { GASNET_ERR_BAD_ARG, "GASNET_ERR_BAD_ARG" },
        { GASNET_ERR_NOT_READY, "GASNET_ERR_NOT_READY" },
        { GASNET_ERR_BARRIER_MISMATCH, "GASNET_ERR_BARRIER_MISMATCH" },
    };
    for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
        CHECK(strcmp(gasnet_ErrorName(errors[i].code), errors[i].name) == 0,
              "GASNet-1 Core, errors: ErrorName gives the constant's name");
        CHECK(strlen(gasnet_ErrorDesc(errors[i].code)) > 3,
              "GASNet-1 Core, errors: ErrorDesc gives a description");
        CHECK(gasnet_ErrorName(errors[i].code) == gasnet_ErrorName(errors[i].code),
              "GASNet-1 Core, errors: the strings are static");
    }
    static const int unknown[] = { -1, 1, 10000, 10006, 123456 };
    for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++)
        CHECK(gasnet_ErrorName(unknown[i]) != NULL && gasnet_ErrorDesc(unknown[i]) != NULL,
              "GASNet-1 Core, errors: any number has a name");
}

static void check_environment(void)
{
    const char *path = gasnet_getenv("PATH"), *own = getenv("PATH");
    CHECK(path != NULL && own != NULL && strcmp(path, own) == 0,
          "GASNet-1 Core, environment: the console's variables are seen by every rank");
    CHECK(gasnet_getenv("PENSTOCK_TEST_THAT_NOBODY_SETS") == NULL,
          "GASNet-1 Core, environment: an unset variable is NULL");
}

static void poke_next(unsigned round_i)
{
    check_barrier();
    gasnet_AMRequestShort0(check_next(1), POKE);
    CHECK_WAIT(pokes, round_i + 1);
}

static void check_waitmodes(void)
{
    static const int modes[] = { GASNET_WAIT_BLOCK, GASNET_WAIT_SPINBLOCK, GASNET_WAIT_SPIN };
    for (unsigned round_i = 0; round_i < 60; round_i++) {
        gasnet_set_waitmode(modes[round_i / 20]);
        poke_next(round_i);
    }
    CHECK_EQ(gasnet_set_waitmode(GASNET_WAIT_BLOCK + 100), GASNET_ERR_BAD_ARG,
             "GASNet-1 Core, set_waitmode: a mode that is none is refused");
}

/* ---- hints about threads --------------------------------------------------------------------- */

static gasnet_threadinfo_t infos[CHECK_THREADS];

static unsigned sum_with_hints(gasnet_threadinfo_t info, unsigned to, unsigned thread_i)
{
    GASNET_POST_THREADINFO(info);
    uint32_t one = 1, back = 0;
    void *there = g1_at(to, 8 * ((size_t)check_rank * CHECK_THREADS + thread_i));
    gasnet_put(to, there, &one, sizeof(one));
    gasnet_get(&back, to, there, sizeof(back));
    return back;
}

static void use_hints(unsigned thread_i)
{
    GASNET_BEGIN_FUNCTION();
    gasnet_threadinfo_t info = GASNET_GET_THREADINFO();
    infos[thread_i] = info;
    CHECK(info == GASNET_GET_THREADINFO(),
          "GASNet-1 Extended, threads: a thread's information does not change");
    CHECK_EQ(sum_with_hints(info, check_next(1), thread_i), 1,
             "GASNet-1 Extended, threads: calls work under the hint");
#ifdef GASNET_PAR
    static atomic_uint here; /* all live at once, so that no thread's information is used again */
    atomic_fetch_add(&here, 1);
    while (atomic_load(&here) < CHECK_THREADS)
        gasnet_AMPoll();
#endif
}

static void check_thread_hints(void)
{
    check_on_threads(use_hints);
#ifdef GASNET_PAR
    for (int i = 0; i < CHECK_THREADS; i++)
        for (int j = 0; j < i; j++)
            CHECK(infos[i] != infos[j],
                  "GASNet-1 Extended, threads: the information differs between threads");
#endif
}

/* ---- waiting for memory ---------------------------------------------------------------------- */

/* The condition may be memory that a put changes, without any handler; and have side effects. */
static void check_blockuntil(void)
{
    volatile uint32_t *flag = (volatile uint32_t *)g1_mine(4096 - 8);
    unsigned looks = 0;
    *flag = 0;
    check_barrier();
    const unsigned to = check_next(1);
    gasnet_put_val(to, g1_at(to, 4096 - 8), 5, 4);
    GASNET_BLOCKUNTIL(++looks && *flag == 5);
    CHECK(looks >= 1, "GASNet-1 Core, BLOCKUNTIL: the condition is evaluated, each time anew");
    if (check_rank >= 0)
        GASNET_BLOCKUNTIL(1);
    else
        CHECK(0, "GASNet-1 Core, BLOCKUNTIL: is one statement");
    looks = 0;
    GASNET_BLOCKUNTIL(++looks == 1000);
    CHECK_EQ(looks, 1000, "GASNet-1 Core, BLOCKUNTIL: not evaluated after it was true");
    check_barrier();
}

int main(int argc, char **argv)
{
    gasnet_client_attach_hook = remember_segment;
    g1_open(&argc, &argv, table, 1, 2 * (uintptr_t)GASNET_PAGESIZE);
    CHECK(hook_base == g1_segments[check_rank].addr && hook_len == g1_segments[check_rank].size,
          "GASNet-EX, an addition: the hook is told each new segment");
    memset(g1_mine(0), 0, 4096);
    check_barrier();
    check_errors();
    check_environment();
    CHECK_EQ(gasnet_AMPoll(), GASNET_OK, "GASNet-1 Core, AM: AMPoll succeeds with nothing to do");
    check_waitmodes();
    check_thread_hints();
    check_blockuntil();
    return check_end();
}
