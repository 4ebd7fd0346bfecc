/* SPDX-License-Identifier: BSD-3-Clause */
/* tools_debug.c: fatal errors of the client, waiting for the debugger, stacks, signals. */
#include "api/tools.h"

#include "api/api.h"
#include "base/compiler.h"
#include "diag/log.h"
#include "knob/knob.h"
#include "os/os.h"

#include <gasnet.h>
#include <gasnet_tools.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { CAUSE_LEN_MAX = 1024 };

/* Weak: a client may define it instead. */
__attribute__((weak)) gasnett_backtrace_type_t gasnett_backtrace_user = { NULL, NULL, 0 };

/* ---- stacks ---------------------------------------------------------------------------------- */

/* The function that prints a stack loads a library at its first use, so use it once here. */
void gasnett_backtrace_init(const char *program)
{
    (void)program;
    (void)pen_backtrace(-1);
}

static bool by_gdb(int fd)
{
    return pen_backtrace_by_gdb(fd, pen_api_tools_config()->backtrace_threads);
}

static const struct {
    const char *name;
    bool (*print)(int fd);
} ways[] = { { "EXECINFO", pen_backtrace }, { "GDB", by_gdb } };

/* Prints by a method that GASNET_BACKTRACE_TYPE names. Returns false if this build does not have
 * it. */
static bool print_by(const char *name, size_t len, int fd)
{
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++)
        if (strlen(ways[i].name) == len && strncasecmp(name, ways[i].name, len) == 0)
            return ways[i].print(fd);
    return false;
}

int gasnett_print_backtrace(int fd)
{
    static const char between[] = ", ";
    const gasnett_backtrace_type_t *user = &gasnett_backtrace_user;
    if (user->fnp != NULL && user->fnp(fd) == 0)
        return 0;
    const char *at = pen_api_tools_config()->backtrace_types;
    while (*at != '\0') {
        const size_t len = strcspn(at, between);
        if (print_by(at, len, fd))
            return 0;
        at += len;
        at += strspn(at, between);
    }
    return 1;
}

static bool backtrace_wanted(void)
{
    if (pen_api_root.job != NULL)
        return pen_api_root.backtrace && pen_api_root.prints_stacks;
    const char *value = pen_api_tools_getenv("GASNET_BACKTRACE");
    bool wanted = false;
    return value != NULL && pen_knob_parse(PEN_KNOB_BOOL, value, &wanted) && wanted;
}

static int print_if_wanted(int fd)
{
    if (backtrace_wanted())
        return gasnett_print_backtrace(fd);
    pen_log_line(pen_api_tools_log(), PEN_LOG_WARN, "GASNET_BACKTRACE=1 shows where this was");
    return 0;
}

int (*gasnett_print_backtrace_ifenabled)(int fd) = print_if_wanted;

/* ---- fatal errors ---------------------------------------------------------------------------- */

static _Noreturn void PEN_PRINTF(1, 0) end_by(const char *format, va_list arguments)
{
    char cause[CAUSE_LEN_MAX];
    (void)vsnprintf(cause, sizeof cause, format, arguments);
    gasnett_flush_streams();
    pen_log_error(pen_api_tools_log(), "%s", cause);
    if (pen_api_root.job != NULL) {
        pen_api_debug_error(pen_api_root.job);
    } else {
        gasnett_freezeForDebuggerErr();
        if (gasnett_print_backtrace_ifenabled != NULL)
            (void)gasnett_print_backtrace_ifenabled(STDERR_FILENO);
    }
    abort(); /* a rank's handler tells the supervisor */
}

void pen_api_tools_fatal(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    end_by(format, arguments);
}

void gasnett_fatalerror_nopos(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    end_by(format, arguments);
}

void(gasnett_fatalerror)(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    end_by(format, arguments);
}

void pen_api_fatal_at(const char *function, const char *file, int line, const char *format, ...)
{
    char cause[CAUSE_LEN_MAX];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(cause, sizeof cause, format, arguments);
    va_end(arguments);
    pen_api_tools_fatal("%s (in %s at %s:%d)", cause, function, file, line);
}

void gasnett_killmyprocess(int code) { _exit(code); }

/* ---- the debugger ---------------------------------------------------------------------------- */

static volatile int go_on;
static _Atomic unsigned continued; /* how often SIGCONT arrived */

static void on_continue(int number)
{
    (void)number;
    atomic_fetch_add_explicit(&continued, 1,
                              memory_order_relaxed); /* relaxed: no other data depends on it */
}

/* Catches SIGCONT. Returns false if the client handles the signal. */
static bool catch_continue(struct sigaction *kept)
{
    struct sigaction action = { .sa_handler = on_continue };
    (void)sigemptyset(&action.sa_mask);
    return sigaction(SIGCONT, NULL, kept) == 0 && kept->sa_handler == SIG_DFL &&
           sigaction(SIGCONT, &action, NULL) == 0;
}

/* NOLINTNEXTLINE(readability-non-const-parameter): the builtin writes there */
void gasnett_freezeForDebuggerNow(volatile int *flag, const char *name)
{
    /* relaxed, all accesses: no other data depends on them, and a debugger gives no order */
    const unsigned before = atomic_load_explicit(&continued, memory_order_relaxed);
    struct sigaction kept;
    const bool caught = catch_continue(&kept);
    __atomic_store_n(flag, 0, __ATOMIC_RELAXED);
    pen_log_line(pen_api_tools_log(), PEN_LOG_WARN,
                 "process %d on %s waits for a debugger; attach one and set %s to 1, or send the "
                 "process SIGCONT",
                 (int)getpid(), gasnett_gethostname(), name);
    while (__atomic_load_n(flag, __ATOMIC_RELAXED) == 0 &&
           atomic_load_explicit(&continued, memory_order_relaxed) == before)
        (void)sleep(1);
    if (caught)
        (void)sigaction(SIGCONT, &kept, NULL);
}

void pen_api_freeze(void) { gasnett_freezeForDebuggerNow(&go_on, "go_on"); }

void gasnett_freezeForDebuggerErr(void)
{
    if (pen_api_tools_config()->freeze_on_error)
        pen_api_freeze();
}

/* ---- streams and signals --------------------------------------------------------------------- */

void gasnett_flush_streams(void)
{
    (void)fflush(stdout);
    (void)fflush(stderr);
}

void gasnett_close_streams(void)
{
    gasnett_flush_streams();
    (void)fclose(stdin);
    (void)fclose(stdout);
    (void)fclose(stderr);
}

gasnett_sighandlerfn_t gasnett_reghandler(int number, gasnett_sighandlerfn_t handler)
{
    struct sigaction action = { .sa_handler = handler, .sa_flags = SA_RESTART }, before;
    (void)sigemptyset(&action.sa_mask);
    if (sigaction(number, &action, &before) != 0)
        return SIG_ERR;
    return (before.sa_flags & SA_SIGINFO) != 0 ? SIG_DFL : before.sa_handler;
}
