/* SPDX-License-Identifier: BSD-3-Clause */
/* tools_annotations.c: GASNet tools, compiler annotations and debugging: promises to the compiler
 * change no result, an annotated value is that value, a process that waits for a debugger goes on
 * when it is told to; and the constants that describe the library to clients.
 *
 * TESTS: GASNETT_NORETURN GASNETT_MALLOC GASNETT_PURE GASNETT_CONST GASNETT_HOT GASNETT_COLD
 * TESTS: GASNETT_DEPRECATED GASNETT_WARN_UNUSED_RESULT GASNETT_USED GASNETT_NORETURNP
 * TESTS: GASNETT_MALLOCP GASNETT_PUREP GASNETT_CONSTP GASNETT_RESTRICT GASNETT_CURRENT_FUNCTION
 * TESTS: GASNETT_FORMAT_PRINTF GASNETT_FORMAT_PRINTF_FUNCPTR GASNETT_PREDICT_FALSE
 * TESTS: GASNETT_UNUSED_ARGS1 GASNETT_UNUSED_ARGS2 GASNETT_UNUSED_ARGS4 GASNETT_UNUSED_ARGS5
 * TESTS: GASNETT_UNUSED_ARGS6 GASNETT_UNUSED_ARGS7 GASNETT_UNUSED_ARGS8 GASNETT_CACHE_LINE_BYTES
 * TESTS: GASNETT_SET_AFFINITY_SUPPORT gasnett_freezeForDebuggerNow gasnett_freezeForDebuggerErr
 * TESTS: gasnett_close_streams GASNET_CORE_NAME GASNET_CORE_NAME_STR GASNET_CORE_VERSION
 * TESTS: GASNET_CORE_VERSION_STR GASNET_EXTENDED_NAME GASNET_EXTENDED_NAME_STR
 * TESTS: GASNET_EXTENDED_VERSION GASNET_EXTENDED_VERSION_STR GASNET_PSHM GASNET_SUPPORTS_TI_ENTRY
 * TESTS: GASNET_SUPPORTS_TI_IS_REQ GASNET_SUPPORTS_TI_IS_LONG GASNET_RELEASE_VERSION_MINOR
 * TESTS: GASNET_RELEASE_VERSION_PATCH GASNETT_RELEASE_VERSION_MINOR GASNETT_RELEASE_VERSION_PATCH
 */
/* PEN_RANKS: 1 3 */
#include <gasnet.h>

#include "conformance/check.h"

#include <fcntl.h>
#include <stdarg.h>
#include <sys/wait.h>
#include <unistd.h>

static const char rule[] = "GASNet tools, compiler annotations: they change no result";

/* ---- functions ------------------------------------------------------------------------------- */

GASNETT_PURE static int doubled(const int *value) { return 2 * *value; }
GASNETT_PUREP(doubled)
GASNETT_CONST static int tripled(int value) { return 3 * value; }
GASNETT_CONSTP(tripled)
GASNETT_HOT static int next(int value) { return value + 1; }
GASNETT_COLD static int previous(int value) { return value - 1; }
GASNETT_DEPRECATED GASNETT_USED static int never_called(void) { return 1; }
GASNETT_WARN_UNUSED_RESULT static int looked_at(void) { return 7; }
GASNETT_MALLOC static void *fresh(size_t len) { return malloc(len); }
GASNETT_MALLOCP(fresh)
GASNETT_NORETURN static void leave(int status) { _exit(status); }
GASNETT_NORETURNP(leave)

static void copy(char *GASNETT_RESTRICT to, const char *GASNETT_RESTRICT from, size_t len)
{
    memcpy(to, from, len);
}

GASNETT_FORMAT_PRINTF(print, 3, 4,
                      static int print(char *out, size_t out_len, const char *format, ...));
static int print(char *out, size_t out_len, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    /* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): it is, by the line above */
    int len = vsnprintf(out, out_len, format, arguments);
    va_end(arguments);
    return len;
}
typedef struct printer {
    GASNETT_FORMAT_PRINTF_FUNCPTR(call, 3, 4, int (*call)(char *, size_t, const char *, ...));
} printer;

static void check_functions(void)
{
    int value = 21;
    char text[16] = "";
    printer prints = { print };
    void *memory = fresh(8);
    CHECK(doubled(&value) == 42 && tripled(5) == 15 && next(1) == 2 && previous(1) == 0, rule);
    CHECK(looked_at() == 7 && memory != NULL, rule);
    free(memory);
    CHECK(prints.call(text, sizeof(text), "%d", 42) == 2 && strcmp(text, "42") == 0, rule);
    copy(text, "43", 3);
    CHECK(strcmp(text, "43") == 0, rule);
    CHECK(strcmp(GASNETT_CURRENT_FUNCTION, "check_functions") == 0,
          "GASNet tools, compiler annotations: the function's name");
    CHECK(GASNETT_PREDICT_FALSE(value == 0) == 0 && GASNETT_PREDICT_FALSE(value) == 1, rule);
}

static int evaluations;
static int one(void) { return ++evaluations; }

static void check_unused(void)
{
    GASNETT_UNUSED_ARGS1(one());
    GASNETT_UNUSED_ARGS2(one(), one());
    GASNETT_UNUSED_ARGS4(one(), one(), one(), one());
    GASNETT_UNUSED_ARGS5(one(), one(), one(), one(), one());
    GASNETT_UNUSED_ARGS6(one(), one(), one(), one(), one(), one());
    GASNETT_UNUSED_ARGS7(one(), one(), one(), one(), one(), one(), one());
    GASNETT_UNUSED_ARGS8(one(), one(), one(), one(), one(), one(), one(), one());
    CHECK_EQ(evaluations, 33, "GASNet tools: unused values are evaluated once each");
}

/* ---- the debugger, and the streams ----------------------------------------------------------- */

static volatile int flag;
static gasnett_strongatomic32_t done = gasnett_strongatomic32_init(0);

/* Acts like a user with a debugger; repeats, because the call clears the flag first. */
static void *debugger(void *unused)
{
    (void)unused;
    while (gasnett_strongatomic32_read(&done, GASNETT_ATOMIC_ACQ) == 0) {
        __atomic_store_n(&flag, 1, __ATOMIC_RELAXED);
        (void)gasnett_nsleep(1000000);
    }
    return NULL;
}

static void check_freeze(void)
{
    gasnett_freezeForDebuggerErr(); /* GASNET_FREEZE_ON_ERROR is not set: no wait */
    pthread_t thread;
    CHECK_EQ(pthread_create(&thread, NULL, debugger, NULL), 0, "threads can be made");
    gasnett_freezeForDebuggerNow(&flag, "flag");
    gasnett_strongatomic32_set(&done, 1, GASNETT_ATOMIC_REL);
    pthread_join(thread, NULL);
    CHECK_EQ(flag, 1, "GASNet tools, debugging: goes on when the flag is set");
}

/* Reads the stdout of a child, which is a pipe: its output arrives, and then the end of file. */
static void check_streams(void)
{
    int ends[2];
    CHECK_EQ(pipe(ends), 0, "a pipe can be made");
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        setvbuf(stdout, NULL, _IOFBF, 4096);
        printf("kept");
        gasnett_close_streams();
        leave(fcntl(STDOUT_FILENO, F_GETFD) == -1 && fcntl(STDIN_FILENO, F_GETFD) == -1 ? 0 : 1);
    }
    close(ends[1]);
    char text[16] = "";
    int status = -1;
    CHECK_EQ(read(ends[0], text, sizeof(text) - 1), 4, "GASNet tools: streams are written out");
    close(ends[0]);
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status), "the child ends");
    CHECK(WEXITSTATUS(status) == 0 && strcmp(text, "kept") == 0, "GASNet tools: and closed");
}

/* ---- constants ------------------------------------------------------------------------------- */

#define TEXT_OF(token) #token
#define TEXT(token)    TEXT_OF(token)

static void check_constants(void)
{
    static const char about[] = "GASNet-1, build-time identification: names and their texts agree";
    CHECK(strcmp(TEXT(GASNET_CORE_NAME), GASNET_CORE_NAME_STR) == 0, about);
    CHECK(strcmp(TEXT(GASNET_CORE_VERSION), GASNET_CORE_VERSION_STR) == 0, about);
    CHECK(strcmp(TEXT(GASNET_EXTENDED_NAME), GASNET_EXTENDED_NAME_STR) == 0, about);
    CHECK(strcmp(TEXT(GASNET_EXTENDED_VERSION), GASNET_EXTENDED_VERSION_STR) == 0, about);
    CHECK(GASNET_PSHM == 1 && GASNET_SUPPORTS_TI_ENTRY && GASNET_SUPPORTS_TI_IS_REQ &&
              GASNET_SUPPORTS_TI_IS_LONG && GASNETT_SET_AFFINITY_SUPPORT,
          "GASNet-EX, feature macros: what is offered is 1");
    char release[64];
    print(release, sizeof(release), "%d.%d.%d", GASNET_RELEASE_VERSION_MAJOR,
          GASNET_RELEASE_VERSION_MINOR, GASNET_RELEASE_VERSION_PATCH);
    CHECK(strcmp(release, GASNETI_RELEASE_VERSION) == 0, about);
    CHECK(GASNETT_RELEASE_VERSION_MINOR == GASNET_RELEASE_VERSION_MINOR &&
              GASNETT_RELEASE_VERSION_PATCH == GASNET_RELEASE_VERSION_PATCH,
          "GASNet tools: of the same release");
    CHECK(GASNETT_CACHE_LINE_BYTES >= 16 &&
              (GASNETT_CACHE_LINE_BYTES & (GASNETT_CACHE_LINE_BYTES - 1)) == 0,
          "GASNet tools, platform: a line is a power of two");
}

int main(int argc, char **argv)
{
    CHECK_EQ(gasnet_init(&argc, &argv), GASNET_OK, "the job starts");
    check_begin();
    CHECK_EQ(gasnet_attach(NULL, 0, GASNET_PAGESIZE, 0), GASNET_OK, "the job starts");
    check_functions();
    check_unused();
    check_freeze();
    check_streams();
    check_constants();
    return check_end();
}
