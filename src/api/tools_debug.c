/* SPDX-License-Identifier: BSD-3-Clause */
/* tools_debug.c: fatal errors of the client's, waiting for the debugger, stacks, signals. */
#include "api/tools.h"

#include "os/os.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { CAUSE_LEN_MAX = 1024 };

/* Weak: a client may define it instead. */
__attribute__((weak)) gasnett_backtrace_type_t gasnett_backtrace_user = { NULL, NULL, 0 };

/* ---- stacks ---------------------------------------------------------------------------------- */

/* What prints a stack loads a library when it is first used, so it is used once before. */
void gasnett_backtrace_init(const char *program)
{
    (void)program;
    pen_backtrace(-1);
}

int gasnett_print_backtrace(int fd)
{
    const gasnett_backtrace_type_t *user = &gasnett_backtrace_user;
    if (user->fnp != NULL && user->fnp(fd) == 0)
        return 0;
    pen_backtrace(fd);
    return 0;
}

static bool backtrace_wanted(void)
{
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
    gasnett_freezeForDebuggerErr();
    /* A rank's handler of SIGABRT prints its stack and tells the supervisor. */
    if (pen_api_root.job == NULL && gasnett_print_backtrace_ifenabled != NULL)
        (void)gasnett_print_backtrace_ifenabled(STDERR_FILENO);
    abort();
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

/* NOLINTNEXTLINE(readability-non-const-parameter): the builtin writes there */
void gasnett_freezeForDebuggerNow(volatile int *flag, const char *name)
{
    /* relaxed, both: it stands for itself, and a debugger knows no order */
    __atomic_store_n(flag, 0, __ATOMIC_RELAXED);
    pen_log_line(pen_api_tools_log(), PEN_LOG_WARN,
                 "process %d on %s waits for a debugger; attach one and set %s to 1", (int)getpid(),
                 gasnett_gethostname(), name);
    while (__atomic_load_n(flag, __ATOMIC_RELAXED) == 0)
        (void)sleep(1);
}

void gasnett_freezeForDebuggerErr(void)
{
    if (pen_api_tools_config()->freeze_on_error)
        gasnett_freezeForDebuggerNow(&go_on, "go_on");
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
