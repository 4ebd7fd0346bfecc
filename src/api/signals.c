/* SPDX-License-Identifier: BSD-3-Clause */
/* signals.c: a rank that crashes or is told to stop.
 *
 * Signals that the client or a tool handles already keep their handlers. There is one exception:
 * SIGQUIT ends the ranks of a job, and gfortran's run-time library has a handler for it that
 * reports a crash. That handler is replaced while the job lasts.
 *
 * A crash prints one line, tells the supervisor, and continues with the default action, so that the
 * exit status is the true one and a core dump is made. A request to stop is recorded. A thread that
 * waits in the library sees it and leaves in an orderly way. If no thread does so within a moment,
 * the process is computing; the handler of the deadline then writes the buffers it can. */
#include "api/api.h"

#include "boot/boot.h"
#include "diag/log.h"
#include "job/job.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#define NOTICE_S 0.25 /* time for a waiting thread to see that a signal asked for the end */
#define FLUSH_S  1.0  /* time for writing buffers from a handler */
enum { CRASH_STACK_LEN = 64 * 1024, US_PER_S = 1000000, LOW_ADDRESS = 4096 };

#define SIGNAL_LIST(X) \
    X(SIGABRT, true)   \
    X(SIGILL, true)    \
    X(SIGSEGV, true)   \
    X(SIGBUS, true)    \
    X(SIGFPE, true)    \
    X(SIGINT, false) X(SIGTERM, false) X(SIGHUP, false) X(SIGPIPE, false) X(SIGQUIT, false)

typedef struct caught {
    int number;
    bool crash;
    const char *name;
} caught;

static const caught signals[] = {
#define SIGNAL_ROW(number, crash) { number, crash, #number },
    SIGNAL_LIST(SIGNAL_ROW)
#undef SIGNAL_ROW
};
enum { SIGNALS = sizeof signals / sizeof signals[0] };

static const char *name_of(int number)
{
    for (size_t i = 0; i < SIGNALS; i++)
        if (signals[i].number == number)
            return signals[i].name;
    return "a signal";
}

static void reset(int number)
{
    struct sigaction action = { .sa_handler = SIG_DFL };
    (void)sigaction(number, &action, NULL);
}

/* ---- crashes -------------------------------------------------------------------------------- */

/* Prints what happened. Returns the signal to end by. */
static int say_crash(pen_job *job, int number, const siginfo_t *info, const void *context)
{
    const char *hint = pen_api_root.backtrace ? "" : "; GASNET_BACKTRACE=1 shows where";
    bool has_address = info->si_code > 0 && number != SIGABRT;
    bool is_access = has_address && number == SIGSEGV;
    pen_api_bad_call bad;
    if (is_access && pen_api_find_bad_call(context, &bad)) {
        pen_log_error(&job->log,
                      "%s: the %s does not exist or has ended, or the call was given memory that "
                      "is not mapped: "
                      "bad access at address %p; the checked build says which",
                      bad.call, bad.argument, info->si_addr);
        return SIGABRT; /* as for misuse in other calls */
    }
    if (is_access && (uintptr_t)info->si_addr < LOW_ADDRESS)
        pen_log_error(&job->log,
                      "caught SIGSEGV: bad access or instruction, address %p: a pointer is NULL, "
                      "or the team, domain or event of a call is GEX_..._INVALID%s",
                      info->si_addr, hint);
    else if (has_address)
        pen_log_error(&job->log, "caught %s: bad access or instruction, address %p%s",
                      name_of(number), info->si_addr, hint);
    else
        pen_log_error(&job->log, "caught %s%s", name_of(number), hint);
    return number;
}

static void on_crash(int number, siginfo_t *info, void *context)
{
    for (size_t i = 0; i < SIGNALS;
         i++) /* a crash in this handler, or of another thread, ends the process at once */
        if (signals[i].crash)
            reset(signals[i].number);
    pen_job *job = pen_api_root.job;
    if (job != NULL && getpid() == pen_api_root.pid) {
        number = say_crash(job, number, info, context);
        pen_api_debug_error(job);
        pen_boot_abort_note(&job->boot, "see its message above");
    }
    (void)raise(number); /* blocked until the handler returns, except for another signal */
}

/* ---- requests to stop ----------------------------------------------------------------------- */

static int status_now(void)
{
    int asked = atomic_load_explicit(&pen_api_root.end_asked, memory_order_relaxed);
    return asked != 0 ? asked - 1
                      : atomic_load_explicit(&pen_api_root.end_code, memory_order_relaxed);
}

/* Ends a process without a supervisor by this signal, from its handler. */
static void stop_alone(int number)
{
    atomic_store_explicit(&pen_api_root.end, PEN_END_FORCED, memory_order_relaxed);
    pen_api_set_deadline(FLUSH_S); /* the interrupted thread may have locked the stream */
    (void)fflush(stdout);
    reset(number);
    (void)raise(number);
}

static void on_stop(int number)
{
    int kept = errno, none = PEN_END_NONE;
    if (pen_api_root.job == NULL || getpid() != pen_api_root.pid) {
        reset(number);
        (void)raise(number);
    } else if (atomic_compare_exchange_strong_explicit(&pen_api_root.end, &none, PEN_END_ASKED,
                                                       memory_order_relaxed,
                                                       memory_order_relaxed)) {
        pen_job *job = pen_api_root.job;
        int code = 128 + number;
        (void)pen_boot_check(&job->boot,
                             &code); /* the job's status, if the supervisor decides it */
        atomic_store_explicit(&pen_api_root.end_asked, code + 1, memory_order_relaxed);
        atomic_store_explicit(&job->ending, true, memory_order_relaxed);
        if (job->boot.control_fd < 0) {
            stop_alone(number);
        } else {
            /* If the supervisor sent the signal, it has decided the status already. */
            pen_boot_abort_note(&job->boot, name_of(number));
            pen_boot_exit_job(&job->boot, 128 + number);
            pen_api_set_deadline(NOTICE_S);
            /* relaxed: a waiting thread should look soon */
            atomic_store_explicit(&job->progress.on_idle_next_ns, 0, memory_order_relaxed);
        }
    }
    errno = kept;
}

static void on_deadline(int number)
{
    (void)number;
    int asked = PEN_END_ASKED;
    if (getpid() != pen_api_root.pid)
        return;
    if (atomic_compare_exchange_strong_explicit(&pen_api_root.end, &asked, PEN_END_FORCED,
                                                memory_order_relaxed, memory_order_relaxed)) {
        pen_api_set_deadline(FLUSH_S);
        if (pen_api_root.job != NULL && pen_api_root.job->config.stats)
            pen_job_print_counters(pen_api_root.job); /* first: the stream may be locked */
        (void)fflush(stdout);
    }
    _exit(status_now());
}

void pen_api_set_deadline(double seconds)
{
    struct sigaction action = { .sa_handler = on_deadline, .sa_flags = SA_RESTART | SA_NODEFER };
    long us = (long)(seconds * US_PER_S);
    struct itimerval timer = { .it_value = { .tv_sec = us / US_PER_S, .tv_usec = us % US_PER_S } };
    sigset_t alarm_set;
    (void)sigemptyset(&alarm_set);
    (void)sigaddset(&alarm_set, SIGALRM);
    (void)sigaction(SIGALRM, &action, NULL);
    (void)pthread_sigmask(SIG_UNBLOCK, &alarm_set, NULL);
    (void)setitimer(ITIMER_REAL, &timer, NULL);
}

/* ---- installing ----------------------------------------------------------------------------- */

/* Whether the signal is in a list like "SEGV,SIGBUS,15", or the list is "*". */
static bool listed(const char *list, const caught *row)
{
    char number[12];
    (void)snprintf(number, sizeof number, "%d", row->number);
    const char *const names[] = { "*", row->name, row->name + strlen("SIG"), number };
    while (list != NULL && *list != '\0') {
        size_t len = strcspn(list, ", ");
        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
            if (len == strlen(names[i]) && strncmp(list, names[i], len) == 0)
                return true;
        list += len;
        list += strspn(list, ", ");
    }
    return false;
}

/* Gives the first thread an alternate stack, which the handler of a stack overflow needs. Further
 * threads get no alternate stack. */
static void give_crashes_a_stack(pen_log *log)
{
    stack_t now;
    const char *call = sigaltstack(NULL, &now) != 0 ? "sigaltstack" : NULL;
    if (call == NULL && (now.ss_flags & SS_DISABLE) == 0)
        return; /* the program has installed a stack already */
    void *memory = call == NULL ? malloc(CRASH_STACK_LEN) : NULL;
    stack_t stack = { .ss_sp = memory, .ss_size = CRASH_STACK_LEN };
    if (call == NULL && memory == NULL)
        call = "malloc";
    else if (call == NULL && sigaltstack(&stack, NULL) != 0)
        call = "sigaltstack";
    if (call == NULL) {
        pen_api_root.crash_stack = memory;
        return;
    }
    pen_log_warn(log, "a stack that runs over will end this rank without a message: %s: %m", call);
    free(memory);
}

/* Whether a handler is that of gfortran's run-time library, which prints a stack and aborts. A
 * program does not ask for it: every program in Fortran has it from its start on. */
static bool is_of_fortran(const struct sigaction *action)
{
    Dl_info at;
    return (action->sa_flags & SA_SIGINFO) == 0 &&
           dladdr((const void *)(uintptr_t)action->sa_handler, &at) != 0 && at.dli_fname != NULL &&
           strstr(at.dli_fname, "libgfortran") != NULL;
}

static int catch_signal(const caught *row)
{
    struct sigaction now, action = { .sa_flags = SA_RESTART | SA_ONSTACK };
    if (sigaction(row->number, NULL, &now) != 0)
        return -1;
    bool has_handler = (now.sa_flags & SA_SIGINFO) != 0 ||
                       (now.sa_handler != SIG_DFL && now.sa_handler != SIG_IGN);
    if (row->number == SIGQUIT && has_handler && is_of_fortran(&now))
        pen_api_root.earlier_quit = now;
    else if (has_handler || now.sa_handler != SIG_DFL)
        return 0;
    if (row->crash) {
        action.sa_sigaction = on_crash;
        action.sa_flags |= SA_SIGINFO;
    } else {
        action.sa_handler = on_stop;
    }
    (void)sigemptyset(&action.sa_mask);
    return sigaction(row->number, &action, NULL);
}

void pen_api_catch_signals(pen_log *log, const char *except)
{
    give_crashes_a_stack(log);
    for (size_t i = 0; i < SIGNALS; i++)
        if (!listed(except, &signals[i]) && catch_signal(&signals[i]) != 0)
            pen_log_warn(log, "%s will end this rank without a message: sigaction: %m",
                         signals[i].name);
}

/* ---- removing ------------------------------------------------------------------------------- */

static void take_back_stack(void)
{
    stack_t now;
    const stack_t none = { .ss_flags = SS_DISABLE };
    /* If another thread calls this, the stack stays installed on the first thread, for the next
     * job. */
    if (pen_api_root.crash_stack == NULL || sigaltstack(NULL, &now) != 0 ||
        now.ss_sp != pen_api_root.crash_stack || sigaltstack(&none, NULL) != 0)
        return;
    free(pen_api_root.crash_stack);
    pen_api_root.crash_stack = NULL;
}

void pen_api_uncatch_signals(void)
{
    for (size_t i = 0; i < SIGNALS; i++) {
        struct sigaction now;
        if (sigaction(signals[i].number, NULL, &now) != 0)
            continue;
        bool ours = signals[i].crash
                        ? (now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == on_crash
                        : (now.sa_flags & SA_SIGINFO) == 0 && now.sa_handler == on_stop;
        if (ours && signals[i].number == SIGQUIT) /* zeros mean the default action */
            (void)sigaction(SIGQUIT, &pen_api_root.earlier_quit, NULL);
        else if (ours) /* before the job it had the default action */
            reset(signals[i].number);
    }
    take_back_stack();
}
