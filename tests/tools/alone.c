/* SPDX-License-Identifier: BSD-3-Clause */
/* alone.c: the tools library in a process that has no job and never starts one. Compiled with
 * threads, without, and as headers only; as C and as C++. With an argument: one of the ends. */
#include <gasnet_tools.h>

#include <gasnet_portable_platform.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef _GASNETEX_H
#    error the tools alone do not need gasnetex.h
#endif

GASNETT_IDENT(alone_ident, "$Alone: " GASNETT_CONFIG_STRING "$");

GASNETT_BEGIN_EXTERNC
GASNETT_EXTERNC int alone_failures;
int alone_failures;
GASNETT_END_EXTERNC

static void expect(int good, const char *what)
{
    if (!good) {
        fprintf(stderr, "alone: %s: not so\n", what);
        alone_failures++;
    }
}

GASNETT_INLINE(twice) int twice(int value) { return 2 * value; }

GASNETT_NEVER_INLINE(thrice, static int thrice(int value));
static int thrice(int value) { return 3 * value; }

static gasnett_atomic_t counter = gasnett_atomic_init(3);
static gasnett_strongatomic32_t word = gasnett_strongatomic32_init(0);

/* Tools that need no library. */
static void check_lite(void)
{
    gasnett_tick_t start = gasnett_ticks_now();
    expect(gasnett_atomic_add(&counter, 4, GASNETT_ATOMIC_REL) == 7, "atomics add");
    gasnett_strongatomic32_set(&word, 9, GASNETT_ATOMIC_ACQ | GASNETT_ATOMIC_REL);
    expect(gasnett_strongatomic32_swap(&word, 1, 0) == 9, "atomics swap");
    gasnett_weak_mb();
    gasnett_local_wmb();
    gasnett_spinloop_hint();
    expect(twice(2) == 4 && thrice(2) == 6, "functions with attributes work");
    expect(gasnett_count0s_uint32_t(0xff) == 3, "zero bytes are counted");
    expect(gasnett_ticks_to_us(gasnett_ticks_now() - start) < 10000000, "time passes slowly");
    expect(alone_ident[0] == '$' && GASNETT_PAGESIZE >= 4096, "constants are there");
    expect(PLATFORM_COMPILER_VERSION_GE(1, 0, 0) && sizeof(PLATFORM_COMPILER_IDSTR) > 1,
           "the compiler is known");
}

#if PEN_TOOLS_LITE

static void check_library(void) {}
static void end_by(const char *how) { (void)how; }

#else

static gasnett_mutex_t mutex = GASNETT_MUTEX_INITIALIZER;

static void check_library(void)
{
    char text[32];
    gasnett_mutex_lock(&mutex);
    expect(gasnett_mutex_trylock(&mutex) == (PEN_TOOLS_THREADED ? 16 : 0),
           "locks are real where there are threads"); /* 16: EBUSY */
    gasnett_mutex_unlock(&mutex);
    gasnett_setenv("ALONE", "2K");
    expect(gasnett_getenv_int_withdefault("ALONE", 7, 1) == 2048, "the environment is there");
    gasnett_unsetenv("ALONE");
    expect(gasnett_getenv("ALONE") == NULL, "and can be changed");
    expect(strcmp(gasnett_format_number(1 << 20, text, sizeof(text), 1), "1 MB") == 0, "numbers");
    expect(gasnett_cpu_count() >= 1 && gasnett_gethostname()[0] != '\0', "the machine is known");
    expect(strcmp(gasnett_exe_name(), "unknown") != 0, "the program is known");
    expect(gasnett_nsleep(1000) == 0 && gasnett_ticks_to_ns(0) == 0, "time");
    gasnett_sched_yield();
    GASNETT_TRACE_PRINTF("%d", 1);
}

/* Clients take these addresses in order to avoid warnings. */
GASNETT_EXTERNC void (*alone_key)(void **);
GASNETT_EXTERNC void (*alone_printf)(const char *, ...);
void (*alone_key)(void **) = &_gasneti_threadkey_init;
void (*alone_printf)(const char *, ...) = &_gasnett_trace_printf_noop;

static void fail_at(void) { gasnett_fatalerror("the number %d", 7); }

static void wait_twice(void)
{
    gasnett_mutex_lock(&mutex);
    gasnett_mutex_lock(&mutex);
}

static void end_by(const char *how)
{
    if (strcmp(how, "fatal") == 0)
        fail_at();
    if (strcmp(how, "nopos") == 0)
        gasnett_fatalerror_nopos("no place, %s", "please");
    if (strcmp(how, "number") == 0)
        (void)gasnett_getenv_int_withdefault("ALONE_NUMBER", 0, 0);
    if (strcmp(how, "lock") == 0)
        wait_twice();
    if (strcmp(how, "unlock") == 0)
        gasnett_mutex_unlock(&mutex);
    if (strcmp(how, "reader") == 0) {
        gasnett_rwlock_t lock = GASNETT_RWLOCK_INITIALIZER;
        gasnett_rwlock_assertrdlocked(&lock);
    }
    if (strcmp(how, "kill") == 0) {
        printf("not written out");
        gasnett_killmyprocess(23);
    }
    if (strcmp(how, "show") == 0)
        (void)gasnett_getenv_withdefault("ALONE_SHOWN", "by default");
    if (strcmp(how, "freeze") == 0)
        gasnett_fatalerror_nopos("freezing");
    if (strcmp(how, "ticks") == 0)
        printf("%.0f\n", (double)gasnett_ticks_to_us(UINT64_C(1000000000000)));
}

#endif

int main(int argc, char **argv)
{
    if (argc > 1) {
        end_by(argv[1]);
        return 0;
    }
    check_lite();
    check_library();
    return alone_failures == 0 ? 0 : 1;
}
