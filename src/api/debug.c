/* SPDX-License-Identifier: BSD-3-Clause */
/* debug.c: variables that help to find a mistake: they make a rank print its stack, or stop for a
 * debugger, when the job starts, at an error, or on a signal. */
#include "api/tools.h"

#include "api/api.h"
#include "base/status.h"
#include "boot/signal_name.h"
#include "diag/log.h"
#include "job/job.h"
#include "knob/knob.h"

#include <errno.h>
#include <gasnet.h>
#include <gasnet_tools.h>
#include <signal.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/* ---- reading the variables ------------------------------------------------------------------ */

static bool can_be_caught(int64_t number)
{
    return number > 0 && number < NSIG && number != SIGKILL && number != SIGSTOP;
}

/* Reads a signal: "SIGUSR1", "usr1" or "10"; 0: no signal that can be caught. */
static int signal_of(const char *text)
{
    const size_t prefix_len = sizeof "SIG" - 1;
    int64_t number;
    if (pen_knob_parse(PEN_KNOB_INT, text, &number))
        return can_be_caught(number) ? (int)number : 0;
    for (int i = 1; i < NSIG; i++) {
        const pen_signal_text known = pen_signal_name(i);
        if (can_be_caught(i) &&
            (strcasecmp(text, known.name) == 0 || strcasecmp(text, known.name + prefix_len) == 0))
            return i;
    }
    return 0;
}

static pen_status read_signal(pen_log *log, const char *variable, const char *text, int *number)
{
    *number = 0;
    if (text == NULL || *text == '\0')
        return PEN_OK;
    *number = signal_of(text);
    if (*number != 0)
        return PEN_OK;
    pen_log_error(log, "cannot use %s=%s: it is no signal that can be caught; say SIGUSR1 or 10",
                  variable, text);
    return PEN_ERR_ARGUMENT;
}

/* Whether this rank prints stacks. */
static pen_status read_ranks(pen_job *job, const char *text, bool *is_one)
{
    *is_one = true;
    if (text == NULL || *text == '\0' || strcmp(text, "*") == 0 ||
        pen_knob_parse_ranges(text, job->rank, is_one))
        return PEN_OK;
    pen_log_error(&job->log, "cannot use GASNET_BACKTRACE_NODES=%s: name ranks like 0,4-7, or *",
                  text);
    return PEN_ERR_ARGUMENT;
}

/* ---- on a signal ---------------------------------------------------------------------------- */

static void on_debug(int number)
{
    const pen_root *root = &pen_api_root;
    const int kept = errno;
    if (root->job == NULL || getpid() != root->pid)
        return;
    if (number == root->backtrace_signal && root->prints_stacks) {
        pen_log_warn(&root->job->log, "a signal asks for the stack of process %d:", (int)getpid());
        (void)gasnett_print_backtrace(STDERR_FILENO);
    }
    if (number == root->freeze_signal)
        pen_api_freeze();
    errno = kept;
}

/* Replaces any earlier handler, because the user asked for this use of the signal. */
static pen_status catch_one(pen_log *log, int number)
{
    struct sigaction action = { .sa_handler = on_debug, .sa_flags = SA_RESTART };
    (void)sigemptyset(&action.sa_mask);
    if (number == 0 || sigaction(number, &action, NULL) == 0)
        return PEN_OK;
    pen_log_error(log, "cannot catch signal %d: sigaction: %m; choose another one", number);
    return PEN_ERR_ARGUMENT;
}

static void uncatch_one(int number)
{
    struct sigaction now, plain = { .sa_handler = SIG_DFL };
    if (number != 0 && sigaction(number, NULL, &now) == 0 && now.sa_handler == on_debug)
        (void)sigaction(number, &plain, NULL);
}

/* ---- at an error ---------------------------------------------------------------------------- */

void pen_api_debug_error(pen_job *job)
{
    pen_root *root = &pen_api_root;
    (void)job;
    if (getpid() != root->pid ||
        atomic_exchange_explicit(&root->error_shown, true, memory_order_relaxed)) /* a flag */
        return;
    if (root->backtrace && root->prints_stacks)
        (void)gasnett_print_backtrace(STDERR_FILENO);
    gasnett_freezeForDebuggerErr();
}

/* ---- start and end -------------------------------------------------------------------------- */

pen_status pen_api_debug_open(pen_job *job, const pen_api_config *config)
{
    pen_root *root = &pen_api_root;
    pen_log *log = &job->log;
    pen_status status =
        pen_api_tools_open(); /* copied, because signal handlers cannot read variables */
    if (status == PEN_OK)
        status = read_ranks(job, config->backtrace_nodes, &root->prints_stacks);
    if (status == PEN_OK)
        status = read_signal(log, "GASNET_BACKTRACE_SIGNAL", config->backtrace_signal,
                             &root->backtrace_signal);
    if (status == PEN_OK)
        status =
            read_signal(log, "GASNET_FREEZE_SIGNAL", config->freeze_signal, &root->freeze_signal);
    if (status == PEN_OK)
        status = catch_one(log, root->backtrace_signal);
    if (status == PEN_OK)
        status = catch_one(log, root->freeze_signal);
    if (status != PEN_OK)
        return status;
    if (root->backtrace || root->backtrace_signal != 0)
        gasnett_backtrace_init(NULL);
    if (config->freeze)
        pen_api_freeze();
    return PEN_OK;
}

void pen_api_debug_close(void)
{
    uncatch_one(pen_api_root.backtrace_signal);
    uncatch_one(pen_api_root.freeze_signal);
}
